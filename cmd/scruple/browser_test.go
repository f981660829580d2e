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
	browse := browserTab(t)
	page := exampleReport(t, example)
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
	_, err := chromedp.Call(browse, network.Enable, network.EnableParams{})
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

// measureTables returns what is wrong with the tables of a page. A table is cut if it is wider
// than its place, or a cell's text wider than the cell; a table that must scroll shows it
// by a bar that takes room and by a shadow.
const measureTables = `(() => {
	for (const d of document.querySelectorAll('details')) d.open = true;
	const name = e => e.closest('figure')?.querySelector('caption, figcaption')?.textContent || 'a table';
	const found = {scrolled: 0, cut: [], hidden: []};
	for (const s of document.querySelectorAll('.scroll')) {
		if (s.scrollWidth <= s.clientWidth + 1) continue;
		found.cut.push(name(s) + ': ' + s.scrollWidth + ' px in ' + s.clientWidth);
		found.scrolled++;
		if (s.offsetHeight - s.clientHeight < 6 || !getComputedStyle(s).backgroundImage.includes('gradient')) found.hidden.push(name(s));
	}
	for (const e of document.querySelectorAll('main table, main th, main td')) {
		const box = e.closest('.scroll') ? null : e.getBoundingClientRect();
		if (box && box.right > document.documentElement.clientWidth + 1) found.cut.push(name(e) + ': ends at ' + Math.round(box.right));
		if (e.tagName != 'TABLE' && !e.classList.contains('plot') && e.scrollWidth > e.clientWidth + 1) found.cut.push(name(e) + ': text over the edge of a cell: ' + e.textContent.slice(0, 40));
	}
	return found;
})()`

// The tables of all examples, of a report with hostile names, and of one with many
// arms, use the screen: nothing is cut from 1280 pixels on, and on a phone wide tables
// scroll visibly while the page does not.
func TestTablesInABrowser(t *testing.T) {
	browse := browserTab(t)
	pages := map[string]string{"contracts": exampleReport(t, "contracts"), "rerank-laptops": exampleReport(t, "rerank-laptops")}
	for _, name := range []string{"study", "hostile"} {
		path, err := filepath.Abs(filepath.Join("..", "..", "internal", "report", "testdata", "golden", name+".html"))
		must(t, err)
		pages[name] = "file://" + path
	}
	for name, page := range pages {
		for _, width := range []int64{1280, 1440, 2560, 390} {
			must(t, chromedp.Do(browse, chromedp.EmulateViewport(width, 900)))
			must(t, chromedp.Do(browse, chromedp.Navigate(page)))
			found, err := chromedp.Run(browse, chromedp.Evaluate[struct {
				Scrolled    int
				Cut, Hidden []string
			}](measureTables))
			must(t, err)
			wide, err := chromedp.Run(browse, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > window.innerWidth + 1`))
			must(t, err)
			if wide {
				t.Errorf("%s at %d px: the page is wider than the screen", name, width)
			}
			if width >= 1280 && len(found.Cut) > 0 {
				t.Errorf("%s at %d px: %d tables are cut: %q", name, width, len(found.Cut), found.Cut)
			}
			if width == 390 && (found.Scrolled == 0 || len(found.Hidden) > 0) {
				t.Errorf("%s at 390 px: %d tables scroll, of these without a sign %q", name, found.Scrolled, found.Hidden)
			}
		}
	}
}

// exampleReport runs an example and returns the URL of its report.
func exampleReport(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", name))))
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"run", filepath.Join(dir, "study.yaml")}, nil, &out, &errs, func(string) string { return "" }); code != exitOK {
		t.Fatal(errs.String())
	}
	return "file://" + filepath.Join(dir, "results", name, "report.html")
}

// browserTab opens a tab in a new browser that is closed at the end of the test. It
// skips the test where there is no browser.
func browserTab(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is not installed; make deps installs it")
		}
		t.Skip("chromium is not installed")
	}
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
