package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/view"
)

// runExample runs a study of examples in a folder of its own and returns the study file.
func runExample(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", name))))
	study := filepath.Join(dir, "study.yaml")
	var errs strings.Builder
	if code := execute(t.Context(), []string{"run", study}, nil, io.Discard, &errs, func(string) string { return "" }); code != exitOK {
		t.Fatal(errs.String())
	}
	return study
}

// startView runs scruple view and returns the address that it prints. The server ends
// with the test.
func startView(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var ended sync.WaitGroup
	ended.Go(func() {
		var errs strings.Builder
		if code := execute(ctx, append([]string{"view"}, args...), nil, in, &errs, func(string) string { return "" }); code != exitOK {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
		in.Close()
	})
	t.Cleanup(func() { stop(); ended.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan()
	address := lines.Text()
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$`).MatchString(address) {
		t.Fatalf("view prints %q", address)
	}
	ended.Go(func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), address) {
				t.Errorf("the secret is printed twice: %s", lines.Text())
			}
		}
	})
	return address
}

// pagesOf follows all links of a viewer and returns the addresses of its pages without
// the base. Of lists it takes a few of each kind.
func pagesOf(t *testing.T, base string, most int) []string {
	t.Helper()
	seen := map[string]bool{"": true}
	kinds := map[string]int{}
	list := []string{""}
	href := regexp.MustCompile(`href="([^"#]*)"`)
	for i := 0; i < len(list); i++ {
		at := base + list[i]
		r, err := http.Get(at)
		must(t, err)
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		must(t, err)
		if r.StatusCode != 200 {
			t.Errorf("%s: status %d", list[i], r.StatusCode)
		}
		if strings.Contains(string(body), "ZgotmplZ") {
			t.Errorf("%s has an unsafe link or attribute", list[i])
		}
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range href.FindAllStringSubmatch(string(body), -1) {
			u, err := r.Request.URL.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			must(t, err)
			rest, ours := strings.CutPrefix(u.String(), base)
			if !ours {
				t.Errorf("%s has a link to %s", list[i], u)
				continue
			}
			kind := regexp.MustCompile(`[0-9]+|=[^&]*`).ReplaceAllString(rest, "*")
			if seen[rest] || kinds[kind] >= most {
				continue
			}
			seen[rest] = true
			kinds[kind]++
			list = append(list, rest)
		}
	}
	return list
}

// A spy collects what a page complains about and asks for.
type spy struct {
	mu                  sync.Mutex
	complaints, foreign []string
}

func spyOn(t *testing.T, tab context.Context, base string) *spy {
	t.Helper()
	s := &spy{}
	must(t, chromedp.Listen(tab, func(e any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch e := e.(type) {
		case *log.EventEntryAdded:
			s.complaints = append(s.complaints, e.Entry.Text+" "+e.Entry.URL)
		case *page.EventJavascriptDialogOpening:
			s.complaints = append(s.complaints, "dialog: "+e.Message)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, base) {
				s.foreign = append(s.foreign, e.Request.Method+" "+e.Request.URL)
			}
		}
	}))
	_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
	must(t, err)
	_, err = chromedp.Call(tab, log.Enable, cdp.Empty{})
	must(t, err)
	return s
}

func (s *spy) report(t *testing.T, where string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.complaints)+len(s.foreign) > 0 {
		t.Errorf("%s: the browser complains %q; foreign requests %q", where, s.complaints, s.foreign)
	}
	s.complaints, s.foreign = nil, nil
}

// Every kind of page of two suites: no complaint of the browser, no foreign request, and
// it fits a phone. Pages and script are small, and there is no inline script or style.
func TestViewInABrowser(t *testing.T) {
	for _, name := range []string{"contracts", "rerank-laptops"} {
		base := startView(t, runExample(t, name))
		tab := browserTab(t)
		spy := spyOn(t, tab, base)
		pages := pagesOf(t, base, 1)
		if len(pages) < 10 {
			t.Errorf("%s: only %d pages: %q", name, len(pages), pages)
		}
		for _, p := range pages {
			if strings.Contains(p, "/export") || strings.HasPrefix(p, "a/") {
				continue
			}
			for _, width := range []int64{1280, 390} {
				must(t, chromedp.Do(tab, chromedp.EmulateViewport(width, 844)))
				must(t, chromedp.Do(tab, chromedp.Navigate(base+p)))
				found, err := chromedp.Run(tab, chromedp.Evaluate[struct {
					Wide, Heading, Inline bool
					Script                string
				}](`({Wide: document.documentElement.scrollWidth > window.innerWidth + 1, Heading: document.querySelectorAll('h1').length === 1,
					Inline: document.querySelectorAll('[style], style, script:not([src])').length > 0, Script: document.getElementById('keys').hidden ? 'off' : 'on'})`))
				must(t, err)
				if found.Wide || !found.Heading || found.Inline || found.Script != "on" {
					t.Errorf("%s %q at %d px: %+v", name, p, width, found)
				}
				spy.report(t, name+" "+p)
			}
			r, err := http.Get(base + p)
			must(t, err)
			body, err := io.ReadAll(r.Body)
			r.Body.Close()
			must(t, err)
			if kb := len(body) / 1024; kb > 60 && !strings.HasSuffix(p, "/report") && !strings.Contains(p, "/t/") {
				t.Errorf("%s %q has %d KB", name, p, kb)
			}
		}
	}
}

// The pages answer reads only, whatever the path, and nothing without the secret.
func TestViewOnlyReads(t *testing.T) {
	base := startView(t, runExample(t, "contracts"))
	pages := pagesOf(t, base, 1)
	host := base[:strings.LastIndex(strings.TrimSuffix(base, "/"), "/")+1]
	for _, p := range pages {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			r, err := http.NewRequest(method, base+p, strings.NewReader("{}"))
			must(t, err)
			r.Header.Set("Content-Type", "application/json")
			a, err := http.DefaultClient.Do(r)
			must(t, err)
			a.Body.Close()
			if a.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: status %d", method, p, a.StatusCode)
			}
		}
		for secret, want := range map[string]int{"": 404, strings.Repeat("0", 32) + "/": 404} {
			a, err := http.Get(host + secret + p)
			must(t, err)
			a.Body.Close()
			if a.StatusCode != want {
				t.Errorf("%s with the secret %q: status %d", p, secret, a.StatusCode)
			}
		}
		r, err := http.NewRequest("GET", base+p, nil)
		must(t, err)
		r.Host = "evil.example"
		a, err := http.DefaultClient.Do(r)
		must(t, err)
		a.Body.Close()
		if a.StatusCode != http.StatusForbidden {
			t.Errorf("%s for another host: status %d", p, a.StatusCode)
		}
	}
}

// Filter, facet, sorting and the way through a list work without script, and with keys.
func TestViewWithoutScriptAndByKeys(t *testing.T) {
	base := startView(t, runExample(t, "contracts"))
	tab := browserTab(t)
	evaluate := func(js string) string {
		t.Helper()
		s, err := chromedp.Run(tab, chromedp.Evaluate[string](js))
		must(t, err)
		return s
	}
	must(t, chromedp.Do(tab, chromedp.Navigate(base+"r/contracts-1/samples?"+`q=arm+%3D%3D+"heuristic"&sort=composite`)))
	if got := evaluate(`document.querySelector('h1').textContent`); !strings.Contains(got, "40 of 80 trials") {
		t.Errorf("the list says %q", got)
	}
	wait := func(js string) {
		t.Helper()
		for range 100 {
			ok, err := chromedp.Run(tab, chromedp.Evaluate[bool](js))
			if err == nil && ok {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("never: %s", js)
	}
	// Keys: down twice, open, next, up.
	press := func(key string) {
		t.Helper()
		wait(`document.getElementById('keys')?.hidden === false`) // the script runs
		evaluate(`(document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: '` + key + `', bubbles: true})), ''`)
	}
	press("j")
	press("j")
	want := evaluate(`document.activeElement.textContent`)
	press("o")
	wait(`location.pathname.includes('/t/') && document.querySelector('h1 bdi').textContent === ` + jsString(want))
	wait(`document.querySelector('[data-key=u]').textContent.startsWith('2 of 40')`)
	press("n")
	wait(`document.querySelector('[data-key=u]')?.textContent.startsWith('3 of 40')`)
	press("u")
	wait(`location.pathname.endsWith('/samples')`)
	// A typed letter is text, not a command.
	press("/")
	wait(`document.activeElement.id === 'q'`)
	press("u")
	wait(`location.pathname.endsWith('/samples')`)

	r, err := http.Get(base + "r/contracts-1/samples?" + `q=arm+%3D%3D+"nobody"+%26%26`)
	must(t, err)
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	must(t, err)
	if !strings.Contains(string(body), "filter: ") || !strings.Contains(string(body), "The names are item, arm") {
		t.Errorf("a wrong filter is not explained:\n%s", body)
	}
}

func jsString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Another process runs a study: an open page follows.
func TestViewFollowsARun(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "contracts"))))
	study := filepath.Join(dir, "study.yaml")
	run := func(args ...string) {
		t.Helper()
		var errs strings.Builder
		if code := execute(t.Context(), append([]string{"run", study}, args...), nil, io.Discard, &errs, func(string) string { return "" }); code != exitOK {
			t.Fatal(errs.String())
		}
	}
	run()
	base := startView(t, study)
	tab := browserTab(t)
	must(t, chromedp.Do(tab, chromedp.Navigate(base)))
	run("--new")
	must(t, chromedp.Do(tab, chromedp.Navigate(base+"r/contracts-2")))
	count := func() string {
		s, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector('.live .count').textContent`))
		must(t, err)
		return s
	}
	if got := count(); got != "80 of 80" {
		t.Fatalf("the page says %q", got)
	}
	// The store changes under the page: a trial is lost, as when gold of its arm changed.
	db, err := store.Open(t.Context(), filepath.Join(dir, ".scruple", "scruple.db"))
	must(t, err)
	defer db.Close()
	r, err := db.Run(t.Context(), "contracts-2")
	must(t, err)
	items, err := db.Items(t.Context(), r)
	must(t, err)
	for _, it := range items {
		must(t, db.SetGold(t.Context(), r, []eval.Item{it}, []string{"heuristic"}))
		break
	}
	deadline := time.Now().Add(10 * time.Second)
	for count() != "79 of 80" {
		if time.Now().After(deadline) {
			t.Fatalf("the page still says %q", count())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A study that changed since: the page says so and shows what the store holds.
func TestViewOfAChangedStudy(t *testing.T) {
	study := runExample(t, "contracts")
	b, err := os.ReadFile(study)
	must(t, err)
	must(t, os.WriteFile(study, append([]byte("nonsense: true\n"), b...), 0o600))
	base := startView(t, study)
	for p, want := range map[string]string{
		"r/contracts-1":                     "Composite",
		"r/contracts-1/samples?sort=-arm":   "null_baseline",
		"r/contracts-1/t/1":                 "Stored scores",
		"c?r=contracts-1":                   "A better",
		"r/contracts-1/t/1/calls?prompts=1": "Not all prompts can be rebuilt",
	} {
		r, err := http.Get(base + p)
		must(t, err)
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		must(t, err)
		if r.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: status %d, without %q", p, r.StatusCode, want)
		}
	}
}

// A document that changed since it was asked is not shown beside old answers.
func TestViewOfChangedData(t *testing.T) {
	study := runExample(t, "contracts")
	path := filepath.Join(filepath.Dir(study), "data", "contracts.jsonl")
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(b), "EXECUTION COPY", "EXECUTION C0PY", 1)), 0o600))
	base := startView(t, study)
	changed, same := 0, 0
	for id := range 80 {
		r, err := http.Get(fmt.Sprintf("%sr/contracts-1/t/%d", base, id+1))
		must(t, err)
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		must(t, err)
		if strings.Contains(string(body), "the data of item cuad-00c463d350 changed since it was asked") {
			changed++
		} else if strings.Contains(string(body), `class="document"`) {
			same++
		}
	}
	if changed != 2 || same != 78 {
		t.Errorf("%d trials of changed data, %d of the same; want 2 and 78", changed, same)
	}
}

func TestViewErrors(t *testing.T) {
	study := runExample(t, "contracts")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"view"}, exitUsage, "run the study first"},
		{[]string{"view", "missing.db"}, exitUsage, "run the study first"},
		{[]string{"view", "a", "b"}, exitUsage, "view takes [STUDY|STORE]"},
	} {
		var out, errs strings.Builder
		if code := execute(t.Context(), c.args, nil, &out, &errs, func(string) string { return "" }); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, errs.String())
		}
	}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--listen", "0.0.0.0"}, "ssh -L"},
		{[]string{"--port", "70000"}, "between 0 and 65535"},
	} {
		var out, errs strings.Builder
		if code := execute(t.Context(), append([]string{"view", study}, c.flags...), nil, &out, &errs, func(string) string { return "" }); code != exitUsage || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %s%s", c.flags, code, errs.String(), out.String())
		}
	}
}

// hostile are texts that would do something in a page that does not escape.
var hostile = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(2)>`, `"><svg onload=alert(3)>`, `<template><script>alert(4)</script></template>`,
	`<a href="javascript:alert(5)">x</a>`, `<form action=/ method=post><button hx-post="/" hx-trigger="load">x</button></form>`, `</textarea></title></style><iframe srcdoc="<script>alert(6)</script>">`,
	`{{.}}`, `' onmouseover='alert(7)`, "\u202egnp.exe\u202c", "a\u0000b\r\nc", `<base href="https://evil.example/">`, `<meta http-equiv=refresh content="0;url=https://evil.example/">`,
}

// Hostile ids, answers, errors and quotes stay text on every page.
func TestViewOfHostileTexts(t *testing.T) {
	db := hostileStore(t)
	s, err := serve.Open(serve.Config{})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	v, err := view.New(ctx, view.Options{DB: db, Load: func(*store.Run) (*experiment.Experiment, error) { return nil, fmt.Errorf("no study: %s", hostile[0]) },
		Command: func(r *store.Run, verb string, rest ...string) string {
			return verb + " " + r.ID + " " + strings.Join(rest, " ")
		}})
	must(t, err)
	var ended sync.WaitGroup
	ended.Go(func() { _ = s.Serve(ctx, v) })
	t.Cleanup(func() { stop(); ended.Wait(); v.Close() })
	base := s.URL("")
	tab := browserTab(t)
	spy := spyOn(t, tab, base)
	shown := 0
	for _, p := range pagesOf(t, base, 15) {
		if strings.Contains(p, "/export") || strings.HasPrefix(p, "a/") {
			continue
		}
		shown++
		must(t, chromedp.Do(tab, chromedp.Navigate(base+p)))
		bad, err := chromedp.Run(tab, chromedp.Evaluate[string](`[...document.querySelectorAll('img, iframe, template, base, meta[http-equiv], svg[onload], [onerror], [hx-post], script:not([src]), textarea, a[href^="javascript"], [onmouseover]')].map(e => e.outerHTML).join()`))
		must(t, err)
		if bad != "" {
			t.Errorf("%q has %s", p, bad)
		}
		wide, err := chromedp.Run(tab, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > window.innerWidth + 1`))
		must(t, err)
		if wide {
			t.Errorf("%q is wider than the screen", p)
		}
		spy.report(t, p)
	}
	if shown < 20 {
		t.Errorf("only %d pages", shown)
	}
}

// hostileStore has a run whose every text is hostile.
func hostileStore(t *testing.T) *store.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(t.Context(), path)
	must(t, err)
	var items []eval.Item
	for i, h := range hostile {
		items = append(items, eval.Item{ID: fmt.Sprint(i, " ", h, " ../../etc/passwd"), Input: 1, Gold: 2})
	}
	arms := []eval.Arm{{ID: hostile[0]}, {ID: hostile[2]}}
	p, err := plan.New(items, arms, 1, 1)
	must(t, err)
	r, err := db.CreateRun(t.Context(), store.Run{Study: hostile[1], Suite: hostile[0], StudyPath: "/" + hostile[0], StudyJSON: []byte("{}"), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, items, p)
	must(t, err)
	j, err := db.Journal(t.Context(), r)
	must(t, err)
	for seq := range p.Len() {
		trial, h := p.Trial(seq), hostile[seq%len(hostile)]
		kind := []eval.OutcomeKind{eval.OK, eval.Malformed, eval.Failed}[seq%3]
		long := strings.Repeat(h, 5<<20/len(h)/p.Len())
		must(t, j.Append(&eval.Call{Trial: trial, Stage: eval.StageRun, Step: h, Key: "k", Parts: []eval.Part{{Name: "model", Value: h}}, Provider: h, Model: h, Attempts: 1,
			ErrKind: eval.ErrBadRequest, Err: h, Response: eval.Response{Text: long, Refusal: h, StopReason: h, ModelVersion: h, RequestID: h, Adapted: []string{h},
				ToolCalls: []eval.ToolCall{{ID: "1", Name: h, Arguments: []byte(h)}}}}))
		must(t, j.Outcome(trial, eval.Outcome{Kind: kind, Reason: h, Notes: []string{h}, Detail: h, Data: []byte(h)}))
	}
	must(t, j.Close())
	must(t, db.ReplaceScores(t.Context(), r, func(yield func(eval.Scored, error) bool) {
		for seq := range p.Len() {
			trial := p.Trial(seq)
			c := eval.CaseOf(trial, eval.Outcome{Kind: eval.OK}, nil)
			if !yield(eval.Scored{Case: c, Scores: []eval.Score{{Replicate: 1, Unit: hostile[seq%len(hostile)], Metric: "a<b>", Num: float64(seq % 2), Den: 1}, {Replicate: 1, Unit: "u", Metric: "n", Unscored: hostile[0]}}}, nil) {
				return
			}
		}
	}))
	must(t, db.Close())
	read, err := store.OpenRead(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { read.Close() })
	return read
}
