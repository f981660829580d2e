package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// The HTML reports of example studies in a real browser: they load nothing, do not
// violate their own policy, mark quotes and spans, and fit a phone.
func TestReportInABrowser(t *testing.T) {
	for _, example := range []string{"contracts", "spans"} {
		t.Run(example, func(t *testing.T) { reportInABrowser(t, example) })
	}
}

func reportInABrowser(t *testing.T, example string) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		browser, err = exec.LookPath("google-chrome")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is not installed; make deps installs it")
		}
		t.Skip("chromium is not installed")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", example))); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"run", filepath.Join(dir, "study.yaml")}, nil, &out, &errs, func(string) string { return "" }); code != exitOK {
		t.Fatal(errs.String())
	}
	browse := browserTab(t, browser)
	page := "file://" + filepath.Join(dir, "results", example, "report.html")
	var mu sync.Mutex
	var complaints, requests []string
	must(t, chromedp.Listen(browse, func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *log.EventEntryAdded:
			complaints = append(complaints, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != page && !strings.HasPrefix(e.Request.URL, "data:") {
				requests = append(requests, e.Request.URL)
			}
		}
	}))
	_, err = chromedp.Call(browse, network.Enable, network.EnableParams{})
	must(t, err)
	_, err = chromedp.Call(browse, log.Enable, cdp.Empty{})
	must(t, err)
	must(t, chromedp.Do(browse, chromedp.Navigate(page)))

	count := func(selector string) int {
		n, err := chromedp.Run(browse, chromedp.Evaluate[int](`document.querySelectorAll("`+selector+`").length`))
		must(t, err)
		return n
	}
	title, err := chromedp.Run(browse, chromedp.Title())
	must(t, err)
	if headings, marks, figures := count("h2"), count("mark"), count("svg"); !strings.Contains(title, example) || headings < 5 || marks < 20 || figures < 5 {
		t.Errorf("title %q, %d headings, %d marks, %d figures", title, headings, marks, figures)
	}
	must(t, chromedp.Do(browse, chromedp.EmulateViewport(390, 844)))
	wide, err := chromedp.Run(browse, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > window.innerWidth + 1`))
	must(t, err)
	if wide {
		t.Error("the page is wider than a phone")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(complaints) > 0 || len(requests) > 0 {
		t.Errorf("the browser complains %q; the page asks for %q", complaints, requests)
	}
}

// browserTab opens a tab in a new browser that is closed at the end of the test.
func browserTab(t *testing.T, path string) context.Context {
	t.Helper()
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("headless", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	return tab
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
