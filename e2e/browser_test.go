//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The HTML reports of example studies in a real browser: they load nothing, do not
// violate their own policy, mark quotes and spans, and fit a phone.
func TestReportInABrowser(t *testing.T) {
	t.Parallel()
	for _, example := range []string{"contracts", "spans"} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			reportInABrowser(t, example)
		})
	}
}

func reportInABrowser(t *testing.T, example string) {
	page := exampleReport(t, example)
	r := newReader(t, page, "data:")
	r.open(page)
	count := func(selector string) int { return is[int](r, `document.querySelectorAll("`+selector+`").length`) }
	title := is[string](r, "document.title")
	if headings, marks, figures := count("h2"), count("mark"), count("svg"); !strings.Contains(title, example) || headings < 5 || marks < 20 || figures < 5 {
		t.Errorf("title %q, %d headings, %d marks, %d figures", title, headings, marks, figures)
	}
	r.width(390)
	r.fits(page)
	if example == "contracts" { // a print has all samples, whatever the filter
		is[bool](r, `(() => { const f = document.getElementById('filter'); f.elements.rank.value = 'best'; return f.dispatchEvent(new Event('change')); })()`)
		seen := "[...document.querySelectorAll('.sample')].filter(s => s.checkVisibility()).length"
		few := is[int](r, seen)
		_, err := chromedp.Call(r.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		must(t, err)
		if all := count(".sample"); few == 0 || few == all || is[int](r, seen) != all {
			t.Errorf("of %d samples the filter shows %d, and a print has %d", all, few, is[int](r, seen))
		}
	}
	r.content(page)
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
	t.Parallel()
	r := newReader(t, "file:")
	pages := map[string]string{"contracts": exampleReport(t, "contracts"), "rerank-laptops": exampleReport(t, "rerank-laptops")}
	for _, name := range []string{"study", "hostile"} {
		path, err := filepath.Abs(filepath.Join("..", "internal", "report", "testdata", "golden", name+".html"))
		must(t, err)
		pages[name] = "file://" + path
	}
	for name, page := range pages {
		for _, width := range []int64{1280, 1440, 2560, 390} {
			r.width(width)
			r.open(page)
			type measured struct {
				Scrolled    int
				Cut, Hidden []string
			}
			found := is[measured](r, measureTables)
			for end := time.Now().Add(time.Minute); len(found.Hidden) > 0 && time.Now().Before(end); { // the sign follows the width, on a loaded machine late
				time.Sleep(100 * time.Millisecond)
				is[int](r, "(() => { const b = document.body; b.style.display = 'none'; b.offsetHeight; b.style.display = ''; return b.offsetHeight; })()") // lay it out again
				found = is[measured](r, measureTables)
			}
			r.fits(name)
			if width == 1440 {
				r.scheme("dark")
				r.contrast(name + " in dark")
				r.scheme("light")
				r.contrast(name)
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
	return "file://" + filepath.Join(filepath.Dir(runExample(t, name)), "results", name, "report.html")
}

// runExample runs a study of examples in a folder of its own and returns the study file.
func runExample(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, shipped(name)))
	study := filepath.Join(dir, "study.yaml")
	ok(t, "run", study)
	return study
}

// A reader is someone at a keyboard in front of a browser. The browser's complaints are
// collected: messages of its console and policies, exceptions, dialogs, and requests to
// other addresses.
type reader struct {
	t          *testing.T
	ctx        context.Context
	mu         sync.Mutex
	complaints []string
	at         int64 // width
	wrote      bool
}

// newReader opens a tab. Requests may go to addresses with these beginnings.
func newReader(t *testing.T, bases ...string) *reader {
	t.Helper()
	r := &reader{t: t, ctx: browserTab(t)}
	must(t, chromedp.Listen(r.ctx, func(e any) {
		complaint := ""
		switch e := e.(type) {
		case *log.EventEntryAdded:
			complaint = e.Entry.Text + " " + e.Entry.URL
		case *runtime.EventExceptionThrown:
			complaint = e.ExceptionDetails.Text
		case *page.EventJavascriptDialogOpening:
			if e.Type == page.DialogTypeBeforeunload { // what is on its way may be lost: a reader who is in a hurry leaves
				go chromedp.Call(r.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			} else {
				complaint = "dialog: " + e.Message
			}
		case *network.EventRequestWillBeSent:
			if !slices.ContainsFunc(bases, func(base string) bool { return strings.HasPrefix(e.Request.URL, base) }) {
				complaint = "request: " + e.Request.Method + " " + e.Request.URL
			}
		}
		if complaint != "" {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.complaints = append(r.complaints, complaint)
		}
	}))
	_, err := chromedp.Call(r.ctx, network.Enable, network.EnableParams{})
	must(t, err)
	_, err = chromedp.Call(r.ctx, log.Enable, cdp.Empty{})
	must(t, err)
	// Readers of one test each have the focus of their own screen.
	_, err = chromedp.Call(r.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	must(t, err)
	return r
}

// open opens a page.
func (r *reader) open(url string) {
	r.t.Helper()
	must(r.t, chromedp.Do(r.ctx)) // a tab ends with the context of its first use
	ctx, stop := context.WithTimeout(r.ctx, 2*time.Minute)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.t.Fatalf("opening %s: %v; the browser complains: %q", url, err, r.complaints)
	}
}

// width sets the width of the screen.
func (r *reader) width(pixels int64) {
	r.t.Helper()
	r.at = pixels
	must(r.t, chromedp.Do(r.ctx, chromedp.EmulateViewport(pixels, 844)))
}

// scheme sets the colour scheme.
func (r *reader) scheme(name string) {
	r.t.Helper()
	_, err := chromedp.Call(r.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	must(r.t, err)
}

// scripts turns scripts on or off.
func (r *reader) scripts(on bool) {
	r.t.Helper()
	_, err := chromedp.Call(r.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
	must(r.t, err)
}

// keys types a text.
func (r *reader) keys(text string) {
	r.t.Helper()
	must(r.t, chromedp.Do(r.ctx, chromedp.KeyEvent(text)))
}

// write writes a long text: the first one key by key, the others at once, as from an
// input method.
func (r *reader) write(text string) {
	r.t.Helper()
	if !r.wrote {
		r.wrote = true
		r.keys(text)
		return
	}
	_, err := chromedp.Call(r.ctx, input.InsertText, input.InsertTextParams{Text: text})
	must(r.t, err)
}

// press presses keys that the page takes as commands: the protocol would type their
// characters all the same.
func (r *reader) press(keys string) {
	r.t.Helper()
	for _, key := range keys {
		for _, k := range kb.Encode(key) {
			if k.Type != kb.KeyChar {
				_, err := chromedp.Call(r.ctx, input.DispatchKeyEvent, *k)
				must(r.t, err)
			}
		}
	}
}

// submit presses Ctrl and Enter.
func (r *reader) submit() {
	r.t.Helper()
	must(r.t, chromedp.Do(r.ctx, chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))))
}

func is[T any](r *reader, expression string) T {
	r.t.Helper()
	v, err := chromedp.Run(r.ctx, chromedp.Evaluate[T](expression))
	must(r.t, err)
	return v
}

// until waits until a condition holds in a page that is loaded, whose scripts ran, through
// loads of other pages.
func (r *reader) until(condition string) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok, err := chromedp.Run(r.ctx, chromedp.Evaluate[bool]("document.readyState === 'complete' && Boolean("+condition+")")); err == nil && ok {
			return
		}
	}
	r.t.Fatalf("%s never came; the page says %q", condition, is[string](r, "document.body.innerText.slice(0, 500)"))
}

// accessible is an element as assistive technology is told of it: role and name.
func accessible(n *accessibility.Node) (role, name string) {
	word := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s)
		}
		return s
	}
	return word(n.Role), strings.Join(strings.Fields(word(n.Name)), " ")
}

func has(n *accessibility.Node, property accessibility.PropertyName) bool {
	return slices.ContainsFunc(n.Properties, func(p *accessibility.Property) bool { return p.Name == property && string(p.Value.Value) == "true" })
}

// named checks that everything that can have the focus has a name.
func (r *reader) named() {
	r.t.Helper()
	tree, err := chromedp.Call(r.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	must(r.t, err)
	for _, n := range tree.Nodes {
		if role, name := accessible(n); !n.Ignored && has(n, "focusable") && role != "RootWebArea" && name == "" {
			r.t.Errorf("a %s that can have the focus has no name", role)
		}
	}
}

// focused is the role and the name of the element in focus, "" for the page.
func (r *reader) focused() string {
	r.t.Helper()
	active, err := chromedp.Call(r.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement"})
	must(r.t, err)
	alone := false
	found, err := chromedp.Call(r.ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: active.Result.ObjectID, FetchRelatives: &alone})
	must(r.t, err)
	for _, n := range found.Nodes {
		if role, name := accessible(n); !n.Ignored && has(n, "focused") && role != "RootWebArea" {
			return role + " " + name
		}
	}
	return ""
}

// tab presses Tab until an element has the focus whose role and name begin with a text,
// and returns what had it on the way.
func (r *reader) tab(to string) (passed []string) {
	r.t.Helper()
	r.until("true")
	r.named()
	for range 60 {
		r.keys(kb.Tab)
		now := r.focused()
		if strings.HasPrefix(now, to) {
			return passed
		}
		passed = append(passed, now)
	}
	r.t.Fatalf("Tab never leads to %q: %q", to, passed)
	return nil
}

// fits reports a page that is wider than the screen.
func (r *reader) fits(where string) {
	r.t.Helper()
	if is[bool](r, `document.documentElement.scrollWidth > window.innerWidth + 1`) {
		r.t.Errorf("%s is wider than %d px", where, r.at)
	}
}

// contrast reports text with less than 4.5 : 1, or 3 : 1 if it is large (WCAG 2.2, 1.4.3).
func (r *reader) contrast(where string) {
	r.t.Helper()
	for _, pale := range is[[]string](r, `(() => {
		const rgba = s => { const n = s.match(/[\d.]+/g).map(Number), k = s.startsWith('color(') ? 255 : 1; return [n[0] * k, n[1] * k, n[2] * k, n[3] ?? 1]; };
		const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
		const light = c => [0.2126, 0.7152, 0.0722].reduce((sum, k, i) => sum + k * (c[i] <= 10 ? c[i] / 3294.6 : ((c[i] / 255 + 0.055) / 1.055) ** 2.4), 0);
		const back = e => { const own = rgba(getComputedStyle(e).backgroundColor); return own[3] === 1 ? own : over(own, e.parentElement ? back(e.parentElement) : [255, 255, 255, 1]); };
		const pale = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) {
			const e = texts.currentNode.parentElement, style = getComputedStyle(e), size = parseFloat(style.fontSize);
			if (!texts.currentNode.nodeValue.trim() || !e.checkVisibility({visibilityProperty: true}) || e.closest('svg, [disabled]')) continue;
			const b = back(e), [low, high] = [light(over(rgba(style.color), b)), light(b)].sort((x, y) => x - y), ratio = (high + 0.05) / (low + 0.05);
			if (ratio < (size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5)) pale.push(ratio.toFixed(2) + ' ' + texts.currentNode.nodeValue.trim().slice(0, 40));
		}
		return pale;
	})()`) {
		r.t.Errorf("%s: contrast %s", where, pale)
	}
}

// content reports what the browser complained about since the last time.
func (r *reader) content(where string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.complaints) > 0 {
		r.t.Errorf("%s: the browser complains: %q", where, r.complaints)
	}
	r.complaints = nil
}

// shot writes a screenshot to the folder SCRUPLE_SHOTS, to be looked at.
func (r *reader) shot(name string) {
	dir := os.Getenv("SCRUPLE_SHOTS")
	if dir == "" {
		return
	}
	data, err := chromedp.Run(r.ctx, chromedp.FullScreenshot(100))
	must(r.t, err)
	must(r.t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

// browserTab opens a tab of the tests' browser, with storage and cookies of its own. It
// skips the test where there is no browser.
func browserTab(t *testing.T) context.Context {
	t.Helper()
	browser, err := sharedBrowser()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skip("chromium is not installed")
	}
	must(t, err)
	tab, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return tab
}

// sharedBrowser starts a browser, which is closed after the last test.
var sharedBrowser = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	if err != nil {
		return nil, fmt.Errorf("%w; make chromium installs it", err)
	}
	dir, err := sharedDir("browser")
	if err != nil {
		return nil, err
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.UserDataDir(dir),
		chromedp.Flag("headless", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, _ := chromedp.NewContext(allocator)
	afterAll(func() { _ = chromedp.Cancel(ctx); stop() })
	return ctx, chromedp.Do(ctx)
})
