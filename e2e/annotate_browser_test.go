//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/scruple-eval/scruple/internal/ledger"
)

func (p *reader) heading() string {
	p.until("document.querySelector('h1') && document.activeElement === document.querySelector('#heading') || document.querySelector('#continue') || document.querySelector('main.narrow')")
	return is[string](p, "document.querySelector('h1').textContent")
}

// A session of twenty by keyboard alone, with a reload in the middle, in both colour
// schemes and on a phone.
func TestAnnotationByKeyboard(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	ok(t, "run", study)
	edit(t, study, "    again: {count: 15}\n", "")
	urls, end := startServer(t, "annotate", study, "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/claims/")
	for i := range 20 {
		if h := p.heading(); !strings.Contains(h, fmt.Sprintf(": %d of 60", i+1)) {
			t.Fatalf("page %d is %q", i+1, h)
		}
		if i == 10 { // a reload loses nothing
			p.keys("2")
			p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
			must(t, chromedp.Do(p.ctx, chromedp.Reload()))
			p.until("document.querySelector('input:checked')?.value === 'not grounded'")
		}
		if n := is[int](p, "document.querySelectorAll('.answer input:checked').length"); i != 10 && n != 0 {
			t.Fatalf("page %d: an answer is filled in", i+1)
		}
		p.keys("1")
		p.until("document.querySelector('input:checked')?.value === 'grounded'")
		before := is[string](p, "location.href")
		p.submit()
		p.until(fmt.Sprintf("location.href !== %q", before))
	}
	if h := p.heading(); h != "Time for a break" {
		t.Errorf("after twenty answers the page is %q", h)
	}

	// Gold with a quote that is found and marked by keys.
	p.open(urls["anna"] + "t/fields/")
	p.heading()
	p.keys("1")
	p.until("!document.querySelector('[data-name=quote]').hidden")
	word := is[string](p, `document.querySelector('.page').textContent.match(/[A-Za-z]{6,}/)[0]`)
	p.press("w")
	p.keys(word)
	p.keys(kb.Escape)
	p.press("/")
	p.keys(word)
	p.keys(kb.Enter)
	p.until("document.querySelector('#found').textContent.startsWith('found')")
	p.keys(kb.Escape)
	p.press("t")
	p.keys(kb.Enter)
	p.until("document.querySelectorAll('.spans li').length === 1")
	p.submit()
	p.until("document.querySelector('#heading')?.textContent.includes(': 2 of 70')")

	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		for _, width := range []int64{1280, 390, 320} {
			p.width(width)
			for _, page := range []string{"", "t/fields/", "t/claims/"} {
				p.open(urls["anna"] + page)
				p.fits(page)
				p.contrast(scheme + " " + page)
				p.shot(fmt.Sprintf("annotate-%s-%d-%s.png", scheme, width, strings.Trim(strings.ReplaceAll(page, "/", "-"), "-")))
			}
		}
	}
	unnamed := is[[]string](p, `[...document.querySelectorAll('button, input, textarea, select, a, [tabindex="0"]')].filter(e =>
		!(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("without a name: %q", unnamed)
	}
	p.content("annotation")
	end()
	submitted := submissions(t, filepath.Join(dir, "annotations", "claims", "anna.jsonl"))
	if len(submitted) != 20 {
		t.Errorf("%d answers are stored, want 20", len(submitted))
	}
}

// Options above the ninth have no digit: the list is narrowed by typing, and Enter chooses.
func TestLongListsAreNarrowed(t *testing.T) {
	t.Parallel()
	_, study := contracts(t)
	edit(t, study, "annotation:\n", `annotation:
  - name: long
    of: item
    show: [pages]
    draw: 2
    ask:
      - {name: month, type: choice, text: Month?, options: [January, February, March, April, May, June, July, August, September, October, November, December], notes: [cold]}
      - {name: why, type: text, text: Why?, optional: true}
`)
	urls, _ := startServer(t, "annotate", study, "--task", "long", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/long/")
	p.heading()
	shown := func() string {
		return is[string](p, "[...document.querySelectorAll('[data-name=month] label')].filter(l => l.offsetParent && l.querySelector('bdi')).map(l => l.querySelector('bdi').textContent).join()")
	}
	p.press("f")
	p.keys("embe")
	if got := shown(); got != "September,November,December" {
		t.Errorf("embe leaves %s", got)
	}
	if saved := is[string](p, "document.querySelector('#status').textContent"); saved != "" {
		t.Errorf("narrowing says %q", saved)
	}
	p.keys(kb.Enter)
	p.until("document.querySelector('[data-name=month] input:checked')?.value === 'September'")
	if got := strings.Count(shown(), ","); got != 11 {
		t.Errorf("after a choice the list has %d options", got+1)
	}
	p.keys(kb.Enter) // an Enter that is still held does not submit
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	p.submit()
	p.until("document.querySelector('#heading')?.textContent.includes(': 2 of 2')")
	p.content("a long list")
}

// A whole task by keyboard alone: a session of twenty answers, a break, the second
// round, a decision where two people differ, and the lock. What has the focus is read
// from the accessibility tree.
func TestATaskByKeyboardAlone(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	edit(t, study, "annotation:\n", `annotation:
  - name: kinds
    of: item
    show: [lead, pages]
    title: Kinds
    guide: Say what the text is.
    draw: 20
    again: {count: 2, gap: 1ms}
    ask:
      - {name: kind, type: choice, text: What is it?, options: [contract, exhibit, other]}
      - {name: parts, type: several, text: Which parts has it?, options: [prices, dates, names], key: d, optional: true}
      - {name: why, type: text, text: Why?, min: 3, max: 100, sentences: [1, 4]}
`)
	urls, end := startServer(t, "annotate", study, "--task", "kinds", "--as", "anna", "--as", "ben")
	answerAll(t, urls["ben"], "kinds", func(f form) map[string]any {
		kind := "contract"
		if f.shown[0] < '4' {
			kind = "other"
		}
		return map[string]any{"kind": kind, "parts": []string{"dates"}, "why": "so it says"}
	})
	p := newReader(t, urls["anna"])
	p.open(urls["anna"])
	p.tab("link Kinds")
	p.keys(kb.Enter)
	next := func(press func()) {
		t.Helper()
		before := is[string](p, "location.href")
		press()
		p.until(fmt.Sprintf("location.href !== %q", before))
	}
	for i := range 20 {
		if h := p.heading(); !strings.Contains(h, fmt.Sprintf(": %d of ", i+1)) {
			t.Fatalf("page %d is %q", i+1, h)
		}
		if i == 0 {
			if got := p.focused(); !strings.HasPrefix(got, "heading Kinds: 1 of") {
				t.Errorf("a new page has the focus on %q", got)
			}
			// Reading order: the text, then the questions as they are listed.
			got := strings.Join(append(p.tab("button Submit"), "button Submit"), "\n")
			want := []string{"DisclosureTriangle Instructions", "searchbox Find in the text", "radio contract", "checkbox prices", "checkbox dates", "checkbox names", "textbox Why?", "button Submit"}
			at := 0
			for _, w := range want {
				j := strings.Index(got[at:], w)
				if j < 0 {
					t.Errorf("after %q, Tab does not lead to %q in\n%s", got[:at], w, got)
					break
				}
				at += j
			}
			p.tab("") // from the button on: no trap
			is[bool](p, "document.getElementById('heading').focus(), true")
		}
		p.press("1")
		p.press("d") // digits now choose parts
		p.press("2")
		p.press("w")
		p.keys("it says so")
		if got := is[string](p, "[...document.querySelectorAll('.answer input:checked')].map(i => i.value).join()"); got != "contract,dates" {
			t.Fatalf("page %d has %q", i+1, got)
		}
		if i == 0 {
			if got := is[string](p, "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"); got != "10 characters, at least 3, at most 100 · 1 sentence" {
				t.Errorf("the text is described as %q", got)
			}
			if is[int](p, "[...document.querySelectorAll('.answer [role=status], .answer [aria-live]')].length") != 0 {
				t.Error("a count is read at every key")
			}
		}
		if got := p.focused(); got != "textbox Why?" {
			t.Errorf("w leads to %q", got)
		}
		next(p.submit)
	}
	p.until("document.querySelector('#continue')")
	p.shot("annotate-break.png")
	p.tab("button Continue")
	p.keys(kb.Enter)
	p.until("document.querySelector('#heading')")
	for range 2 { // the second round
		if !strings.Contains(is[string](p, "document.querySelector('#heading').textContent"), "second round") {
			t.Errorf("the page does not say that it is the second round: %q", p.heading())
		}
		p.heading()
		p.press("1")
		p.press("w")
		p.keys("as before")
		next(p.submit)
	}
	p.until("document.querySelector('h1').textContent === 'Done'")
	p.content("answers")

	owner := newReader(t, urls["Owner"])
	owner.open(urls["Owner"])
	owner.tab("link Lock Kinds")
	owner.keys(kb.Enter)
	owner.until("document.body.innerText.includes('cannot be locked') && document.body.innerText.includes('answers that differ')")
	end()

	urls, end = startServer(t, "annotate", study, "--task", "kinds", "--as", "carol", "--adjudicate")
	p = newReader(t, urls["carol"])
	p.open(urls["carol"])
	p.tab("link Kinds")
	p.keys(kb.Enter)
	decided := 0
	for p.heading() != "Nothing to decide" {
		p.press("1")
		p.press("w")
		p.keys("it is one")
		p.tab("textbox Reason for the verdict")
		p.keys("the title says so")
		where := is[string](p, "document.querySelector('article').innerText")
		if !strings.Contains(where, "Judgement A") || !strings.Contains(where, "Judgement B") {
			t.Errorf("the page has not both judgements: %q", where)
		}
		next(p.submit)
		decided++
	}
	if decided == 0 {
		t.Error("nothing was decided")
	}
	p.content("decisions")

	owner = newReader(t, urls["Owner"])
	for _, scheme := range []string{"light", "dark"} {
		owner.scheme(scheme)
		for _, width := range []int64{1280, 390, 320} {
			owner.width(width)
			for _, page := range []string{"", "reliability", "lock/kinds"} {
				owner.open(urls["Owner"] + page)
				owner.fits(page)
				owner.contrast(scheme + " " + page)
				owner.shot(fmt.Sprintf("owner-%s-%d-%s.png", scheme, width, strings.ReplaceAll(page, "/", "-")))
			}
		}
	}
	owner.open(urls["Owner"])
	owner.tab("link Lock Kinds")
	owner.keys(kb.Enter)
	owner.until("document.querySelector('#lock')")
	owner.tab("textbox Your name")
	owner.keys("carol")
	owner.tab("textbox Declaration")
	owner.keys("no coder saw an answer")
	owner.tab("button Lock")
	owner.keys(kb.Enter)
	owner.until("document.body.innerText.includes('SHA-256')")
	owner.shot("owner-locked.png")
	owner.content("owner")
	end()
	if _, err := os.Stat(filepath.Join(dir, "annotations", "kinds.gold.jsonl")); err != nil {
		t.Error(err)
	}
	ok(t, "test", "ledger", "verify", study)
}

// submissions returns the ids of the answers in a person's file.
func submissions(t *testing.T, file string) (ids []string) {
	t.Helper()
	entries, err := ledger.Read(file)
	must(t, err)
	for _, e := range entries {
		var data struct {
			ID string `json:"id"`
		}
		must(t, json.Unmarshal(e.Data, &data))
		if e.Kind == "submit" {
			ids = append(ids, data.ID)
		}
	}
	return ids
}

// Without the server the page says that nothing is saved, and sends the answer when it
// is back: it is stored once.
func TestAnnotationWithoutANetwork(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/fields/")
	p.heading()
	offline := func(off bool) {
		_, err := chromedp.Call(p.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: off, DownloadThroughput: -1, UploadThroughput: -1})
		must(t, err)
		var rules []*network.Conditions
		if off {
			rules = []*network.Conditions{{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}}
		}
		_, err = chromedp.Call(p.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: rules})
		must(t, err)
	}
	offline(true)
	p.keys("2")
	p.submit()
	p.until("document.querySelector('#status').textContent.startsWith('NOT SAVED') && document.querySelector('.problem').textContent.includes('tries again')")
	file := filepath.Join(dir, "annotations", "fields", "anna.jsonl")
	if n := len(submissions(t, file)); n != 0 {
		t.Fatalf("%d answers are stored", n)
	}
	offline(false)
	p.until("document.querySelector('#heading')?.textContent.includes(': 2 of 70')")
	end()
	if n := len(submissions(t, file)); n != 1 {
		t.Errorf("%d answers are stored, want 1", n)
	}
}

// Passages that are selected in the page are passages of the text, whatever
// characters it has.
func TestPassagesInABrowser(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	const text = "\nfirst\r\nsecond\rthird \u0000 nul \U0001F600\U0001F468\u200d\U0001F469 e\u0301 \u05d0\u05d1\u05d2 \u202eright to left\u202c <b>&amp;</b>\t\u0007 the end"
	data, err := json.Marshal(map[string]any{"document_id": "odd", "schema": "cuad", "text": text,
		"ground_truth": []any{map[string]any{"field": "document_name", "exists_in_document": false}}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "data", "odd.jsonl"), append(data, '\n'), 0o600))
	edit(t, study, "data/contracts.jsonl", "data/odd.jsonl")
	edit(t, study, "annotation:\n", "annotation:\n  - name: odd\n    of: item\n    show: [pages]\n    ask:\n      - {name: parts, type: span}\n")
	edit(t, study, "    draw: 10\n", "")
	urls, end := startServer(t, "annotate", study, "--task", "odd", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/odd/")
	p.heading()
	marked := is[int](p, `(() => {
		const page = document.querySelector('.page'), node = page.firstChild, text = node.nodeValue;
		const at = [0]; // borders of characters
		for (const c of text) at.push(at.at(-1) + c.length);
		let n = 0;
		for (let i = 0; i < at.length - 1; i += 3) {
			for (const j of new Set([i + 1, Math.min(i + 5, at.length - 1), at.length - 1])) {
				getSelection().setBaseAndExtent(node, at[j], node, at[i]);
				document.querySelector('.mark').click();
				n++;
			}
		}
		return n;
	})()`)
	if n := is[int](p, "document.querySelectorAll('.spans li').length"); n != marked || n < 30 {
		t.Fatalf("%d passages are marked of %d", n, marked)
	}
	p.submit()
	p.until("document.querySelector('h1')?.textContent === 'Done'")
	p.content("annotation")
	end()
	entries, err := ledger.Read(filepath.Join(dir, "annotations", "odd", "anna.jsonl"))
	must(t, err)
	runes := []rune(text)
	for _, e := range entries {
		if e.Kind != "submit" {
			continue
		}
		var data struct {
			Answer struct {
				Parts []struct {
					Start, End int
					Text       string
				}
			}
		}
		must(t, json.Unmarshal(e.Data, &data))
		if len(data.Answer.Parts) != marked {
			t.Errorf("%d passages are stored of %d", len(data.Answer.Parts), marked)
		}
		for _, s := range data.Answer.Parts {
			if want := string(runes[s.Start:s.End]); s.Text != want {
				t.Errorf("%d to %d is %q, want %q", s.Start, s.End, s.Text, want)
			}
		}
	}
}

// hold presses a key and holds it: the browser repeats it.
func (r *reader) hold(key string, modifiers int64) {
	r.t.Helper()
	for i := range 4 {
		k, again := *kb.Encode([]rune(key)[0])[0], i > 0
		k.Modifiers, k.AutoRepeat = modifiers, &again
		_, err := chromedp.Call(r.ctx, input.DispatchKeyEvent, k)
		must(r.t, err)
	}
}

// chord presses a key with modifiers: 2 is Ctrl, 8 is Shift.
func (r *reader) chord(key string, modifiers int64) {
	r.t.Helper()
	k := *kb.Encode([]rune(key)[0])[0]
	k.Modifiers = modifiers
	if modifiers == 2 {
		k.Text, k.UnmodifiedText = "", ""
	}
	_, err := chromedp.Call(r.ctx, input.DispatchKeyEvent, k)
	must(r.t, err)
}

// oddTask adds a task about whole documents to the example.
func oddTask(t *testing.T, study, name, ask string) {
	t.Helper()
	edit(t, study, "annotation:\n", "annotation:\n  - name: "+name+"\n    of: item\n    show: [pages]\n    draw: 3\n    ask:\n"+ask)
}

// A key that is held, or that ends a word of an input method, does no more than once what
// it is for.
func TestHeldKeysOfAnnotation(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	oddTask(t, study, "held", `      - {name: parts, type: several, options: [one, two, three, four, five, six, seven, eight, nine, ten, eleven], optional: true}
      - {name: marks, type: span, options: [good, bad], optional: true}
      - {name: why, type: text, optional: true}
`)
	urls, end := startServer(t, "annotate", study, "--task", "held", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/held/")
	p.heading()
	chosen := func() string {
		return is[string](p, "[...document.querySelectorAll('.answer input:checked')].map(i => i.value).join()")
	}
	marked := func() int { return is[int](p, "document.querySelectorAll('.spans li').length") }
	p.hold("1", 0)
	if got := chosen(); got != "one" {
		t.Errorf("a held 1 chooses %q", got)
	}
	p.press("f")
	is[bool](p, `(() => {
		const box = document.activeElement;
		box.value = 'ele';
		box.dispatchEvent(new InputEvent('input', {bubbles: true}));
		box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}));
		return true;
	})()`)
	p.keys(kb.Escape)
	p.press("2") // is not in the list, which has "one" and "eleven"
	if got := chosen(); got != "one" {
		t.Errorf("the end of a word, and the key of an option that is not shown, choose %q", got)
	}
	p.press("t")
	p.keys(kb.ArrowRight)
	p.hold(kb.Enter, 0)
	if n := marked(); n != 1 {
		t.Errorf("a held Enter marks %d passages", n)
	}
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')") // without its label
	p.keys(kb.ArrowRight)
	p.keys(kb.Enter)
	p.keys(kb.ArrowRight)
	p.keys(kb.Enter)
	p.hold("x", 0)
	if n := marked(); n != 2 {
		t.Errorf("of three passages a held x leaves %d", n)
	}
	p.keys("xx")
	before := is[string](p, "location.href")
	p.hold(kb.Enter, 2) // Ctrl
	p.until(fmt.Sprintf("location.href !== %q && document.activeElement.id === 'heading'", before))
	is[bool](p, "window.stayed = true")
	k, again := *kb.Encode([]rune(kb.Enter)[0])[0], true
	k.Modifiers, k.AutoRepeat = 2, &again
	_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, k)
	must(t, err)
	// A second press at once must not submit the next subject, which nobody has read. On a slow machine
	// the page is visited again until there is time for it.
	visit := func() {
		must(t, chromedp.Do(p.ctx, chromedp.Navigate(is[string](p, "location.href"))))
		p.until("!window.stayed && document.activeElement.id === 'heading'")
		is[bool](p, "window.stayed = true")
	}
	atOnce := func() {
		for !is[bool](p, "performance.now() < 900 && (document.querySelector('form.answer').requestSubmit(), true)") {
			visit()
		}
	}
	atOnce()
	p.press("1")
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	visit() // neither the draft of an earlier visit
	atOnce()

	p.press("s")
	p.keys("it is too long")
	p.submit()
	p.until("!window.stayed && document.querySelector('#heading')?.textContent.includes(': 3 of 3')")
	p.content("held keys")
	end()
	kinds := kindsOf(t, filepath.Join(dir, "annotations", "held", "anna.jsonl"))
	if kinds["submit"] != 1 || kinds["skip"] != 1 {
		t.Errorf("the file has %v, want an answer and a skip", kinds)
	}
}

// kindsOf counts the events of a person's file by their kind.
func kindsOf(t *testing.T, file string) map[string]int {
	t.Helper()
	entries, err := ledger.Read(file)
	must(t, err)
	kinds := map[string]int{}
	for _, e := range entries {
		kinds[e.Kind]++
	}
	return kinds
}

// What is typed is stored or said to be lost: by whoever leaves at once, comes back, or
// writes on while the server does not answer.
func TestNothingTypedIsLost(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	oddTask(t, study, "typed", `      - {name: kind, type: choice, options: [a, b]}
      - {name: sort, type: choice, options: [c, d], when: kind=a}
      - {name: size, type: number, max: 5, when: sort=c}
      - {name: why, type: text}
`)
	urls, end := startServer(t, "annotate", study, "--task", "typed", "--as", "anna")
	p := newReader(t, urls["anna"])
	page := func(n int) {
		t.Helper()
		p.until(fmt.Sprintf("document.querySelector('#heading')?.textContent.includes(': %d of 3')", n))
		p.heading()
	}
	leaves := func() bool {
		return is[bool](p, "dispatchEvent(new Event('beforeunload', {cancelable: true}))")
	}
	open := urls["anna"] + "t/typed/"
	p.open(open)
	page(1)

	// A draft of the last words, and a page that comes back from the browser's memory.
	p.press("1")
	p.press("w")
	p.keys("at once")
	p.open(urls["anna"])
	p.open(open)
	p.until("document.querySelector('[name=why]')?.value === 'at once'")
	is[bool](p, "window.stayed = true")
	is[bool](p, "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
	p.until("!window.stayed")
	page(1)

	// Questions that do not apply stop nothing.
	is[bool](p, `(() => {
		document.querySelector('[value=c]').click();
		const size = document.querySelector('[name=size]');
		size.value = 9;
		size.dispatchEvent(new InputEvent('input', {bubbles: true}));
		document.querySelector('[value=b]').click();
		return true;
	})()`)
	if !is[bool](p, "document.querySelector('[data-name=sort]').hidden && document.querySelector('[data-name=size]').hidden") {
		t.Error("a question about an answer that does not apply is asked")
	}
	// The computer slept for an hour, and an input wakes it.
	is[bool](p, "(() => { const now = performance.now.bind(performance); performance.now = () => now() + 3.6e6; return true; })()")
	p.press("2")
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	p.submit()
	page(2)

	// A page that is left cannot send a large draft any more, and drafts of one are rare.
	write := func(n int) {
		is[bool](p, fmt.Sprintf("(() => { const why = document.querySelector('[name=why]'); why.value = 'x'.repeat(%d); why.dispatchEvent(new InputEvent('input', {bubbles: true})); return true; })()", n))
	}
	saved := func() { p.until("document.querySelector('#status').textContent.startsWith('Draft saved')") }
	write(1000)
	if !leaves() {
		t.Error("a page whose draft is sent while it is left cannot be left")
	}
	saved()
	write(70_000)
	if leaves() {
		t.Error("a page with a large draft that was not sent can be left without a word")
	}
	saved()
	if !leaves() {
		t.Error("a page with a large draft that is stored cannot be left")
	}
	write(70_001)
	time.Sleep(1500 * time.Millisecond)
	if got := is[string](p, "document.querySelector('#status').textContent"); got != "Not saved yet" {
		t.Errorf("at once after a large draft, another one: %q", got)
	}
	if leaves() {
		t.Error("a page with a large draft that waits can be left without a word")
	}
	saved()
	write(0)
	leaves()
	saved()

	// A draft that the server refuses is no reason to let the page go.
	is[bool](p, "(() => { const ask = window.fetch; window.fetch = () => Promise.resolve(new Response('{\"error\": \"full\"}', {status: 500})); window.back = () => { window.fetch = ask; }; return true; })()")
	p.press("1")
	p.until("document.querySelector('#status').textContent === 'full'")
	if leaves() {
		t.Error("a page whose draft was refused can be left without a word")
	}
	is[bool](p, "(back(), true)")

	// A page whose answer is on its way cannot be changed.
	is[bool](p, "(() => { const ask = window.fetch; window.fetch = () => Promise.reject(new Error('gone')); window.back = () => { window.fetch = ask; }; return true; })()")
	p.press("2")
	p.press("w")
	p.keys("first")
	p.until("document.querySelector('#status').textContent.startsWith('NOT SAVED')")
	if leaves() {
		t.Error("a page without a stored draft can be left without a word")
	}
	p.submit()
	p.until("document.querySelector('.problem').textContent.startsWith('NOT SAVED')")
	p.keys(" and more")
	p.press("1")
	if got := is[string](p, "document.querySelector('[name=kind]:checked').value + document.querySelector('[name=why]').value"); got != "bfirst" {
		t.Errorf("a page whose answer is on its way became %q", got)
	}
	if leaves() {
		t.Error("the page can be left before its answer is stored")
	}
	is[bool](p, "(back(), dispatchEvent(new Event('online')))")
	page(3)

	// The wheel changes no number.
	p.press("1")
	is[bool](p, "document.querySelector('[value=c]').click(), document.querySelector('[name=size]').focus(), true")
	p.keys("3")
	at := is[struct{ X, Y float64 }](p, "(({x, y}) => ({X: x + 9, Y: y + 9}))(document.querySelector('[name=size]').getBoundingClientRect())")
	is[bool](p, "window.turned = false, addEventListener('wheel', () => setTimeout(() => { window.turned = true; }, 100)), true")
	_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseWheel", X: at.X, Y: at.Y, DeltaX: 1, DeltaY: 120})
	must(t, err)
	p.until("window.turned")
	if got := is[string](p, "document.querySelector('[name=size]').value"); got != "3" {
		t.Errorf("the wheel changes 3 to %s", got)
	}
	is[bool](p, "document.querySelector('#heading').focus(), true")

	// A change of an answer has no draft.
	p.keys(kb.Backspace)
	p.until("document.querySelector('.why:not([hidden])')")
	if h := p.heading(); h != "typed: change your answer" {
		t.Errorf("the page of an answer is %q", h)
	}
	if !leaves() {
		t.Error("a page without a change cannot be left")
	}
	p.press("w")
	p.keys("!")
	if leaves() {
		t.Error("a page with a change can be left without a word")
	}
	is[bool](p, "document.querySelector('[name=why]').value = '', true")
	p.submit() // without the text, and within a minute without a reason
	p.until("document.querySelector('.problem').textContent.includes('why')")
	if got := p.focused(); got != "textbox why" {
		t.Errorf("after a refusal the focus is on %q", got)
	}
	p.keys("another word")
	p.submit()
	page(3)

	// An answer that an earlier page kept, and that is refused now.
	is[bool](p, `(() => {
		const {task, key, person} = document.querySelector('.answer').dataset;
		localStorage.setItem('scruple/' + person + '/' + task, JSON.stringify([{id: '00000000-0000-0000-0000-000000000001', task, key, kind: 'submit', shown: 'another text', answer: {}, reason: '', active_ms: 0, wall_ms: 0}]));
		return true;
	})()`)
	p.open(open)
	p.until("document.querySelector('.problem').textContent.includes('could not be sent before was refused')")
	must(t, chromedp.Do(p.ctx, chromedp.Reload()))
	p.until("document.querySelector('.problem').textContent.includes('could not be sent before was refused')") // it is kept
	is[bool](p, "document.querySelector('.problem button').click(), true")
	must(t, chromedp.Do(p.ctx, chromedp.Reload()))
	page(3)
	if got := is[string](p, "document.querySelector('.problem').textContent"); got != "" {
		t.Errorf("a refusal that was discarded is shown again: %q", got)
	}
	p.open(open + "notes")
	p.until("document.querySelector('#notes textarea')")
	p.named()
	end()
	file := filepath.Join(dir, "annotations", "typed", "anna.jsonl")
	if kinds := kindsOf(t, file); kinds["submit"] != 2 || kinds["revise"] != 1 {
		t.Errorf("the file has %v, want two answers and a change", kinds)
	}
	entries, err := ledger.Read(file)
	must(t, err)
	for _, e := range entries {
		var data struct {
			Active int64 `json:"active_ms"`
		}
		must(t, json.Unmarshal(e.Data, &data))
		if data.Active > 600_000 {
			t.Errorf("%d ms of an hour asleep count as active", data.Active)
		}
	}
}

// The server was started anew while an answer waited: the page with the new address sends
// it, and the old page keeps it until then.
func TestAnswersSurviveANewAddress(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	oddTask(t, study, "moved", "      - {name: kind, type: choice, options: [a, b]}\n")
	urls, end := startServer(t, "annotate", study, "--task", "moved", "--as", "anna")
	at, err := neturl.Parse(urls["anna"])
	must(t, err)
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/moved/")
	p.heading()
	p.press("2")
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	end()
	p.submit()
	p.until("document.querySelector('.problem').textContent.includes('new address')")
	urls, end = startServer(t, "annotate", study, "--task", "moved", "--as", "anna", "--port", at.Port(), "--new-addresses")
	is[bool](p, "dispatchEvent(new Event('online'))") // it tries the old address
	p.until("document.querySelector('.problem').textContent.includes('new address')")
	tab, cancel := chromedp.NewContext(p.ctx)
	defer cancel()
	q := &reader{t: t, ctx: tab}
	q.open(urls["anna"] + "t/moved/")
	q.until("document.querySelector('#heading')?.textContent.includes(': 2 of 3')")
	end()
	if ids := submissions(t, filepath.Join(dir, "annotations", "moved", "anna.jsonl")); len(ids) != 1 {
		t.Errorf("%d answers are stored, want 1", len(ids))
	}
}

// A restart has the same address and port, so that the page that is open sends what it kept.
func TestARestartKeepsTheAddress(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	oddTask(t, study, "kept", "      - {name: kind, type: choice, options: [a, b]}\n")
	urls, end := startServer(t, "annotate", study, "--task", "kept", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/kept/")
	p.heading()
	end()
	p.press("2")
	p.submit()
	p.until("document.querySelector('.problem').textContent.includes('tries again')")
	again, end := startServer(t, "annotate", study, "--task", "kept", "--as", "anna")
	if again["anna"] != urls["anna"] {
		t.Fatalf("%s after %s", again["anna"], urls["anna"])
	}
	p.until("document.querySelector('#heading')?.textContent.includes(': 2 of 3')")
	end()
	if ids := submissions(t, filepath.Join(dir, "annotations", "kept", "anna.jsonl")); len(ids) != 1 {
		t.Errorf("%d answers are stored, want 1", len(ids))
	}
}

// Marks by keyboard: a word that is found on page 2 is extended there, words without blanks
// are words, Ctrl Z undoes, the value is taken from the passage, and the next field of the text
// begins where the last one was.
func TestMarksOverPages(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	text := "---PAGE 1---\n" + strings.Repeat("first page \U0001F600 ", 600) + "\n---PAGE 2---\nIt is signed on (March 1, 2030) by all. \u6771\u4eac\u90fd\u3067\u7f72\u540d\u3057\u305f\u3002"
	data, err := json.Marshal(map[string]any{"document_id": "odd", "schema": "cuad", "text": text,
		"ground_truth": []any{map[string]any{"field": "document_name", "exists_in_document": false}}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "data", "odd.jsonl"), append(data, '\n'), 0o600))
	edit(t, study, "data/contracts.jsonl", "data/odd.jsonl")
	edit(t, study, "    draw: 10\n", "")
	edit(t, study, "annotation:\n", "annotation:\n  - {name: odd, kind: gold}\n")
	urls, end := startServer(t, "annotate", study, "--task", "odd", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/odd/")
	p.heading()
	selected := func() string { return is[string](p, "String(getSelection())") }
	marked := func() string {
		return is[string](p, "[...document.querySelectorAll('.spans blockquote')].map(q => q.textContent).join('|')")
	}
	p.press("/")
	p.keys("March")
	p.keys(kb.Enter)
	p.until("document.querySelector('#found').textContent === 'found on page 2'")
	p.keys(kb.Escape)
	for range 3 {
		p.chord(kb.ArrowRight, 8)
	}
	if got := selected(); got != "March 1, 2030" {
		t.Errorf("the found word was extended to %q", got)
	}
	p.keys(kb.Enter)
	p.until("document.querySelector('[name=exists]:checked')?.value === 'present'")
	if got := is[string](p, "document.querySelector('[name=value]').value"); marked() != "March 1, 2030" || got != "March 1, 2030" {
		t.Errorf("marked is %q, and the value is %q", marked(), got)
	}
	p.press("x")
	p.chord("z", 2)
	if got := marked(); got != "March 1, 2030" {
		t.Errorf("after x and Ctrl Z marked is %q", got)
	}
	p.keys(kb.End)
	p.keys(kb.ArrowLeft)
	if got := []rune(selected()); len(got) == 0 || len(got) > 4 {
		t.Errorf("in a text without blanks a word is %q", string(got))
	}
	if n := is[int](p, "document.querySelectorAll('.page[tabindex=\"0\"]').length"); n != 1 {
		t.Errorf("the pages are %d stops of the Tab key", n)
	}
	y := is[float64](p, "scrollY")
	if y == 0 {
		t.Error("the page did not scroll to what was found")
	}
	// The other fields of the text are on the page, which stays as it is. Each is done, changed
	// and undone by itself.
	open := func() string {
		return is[string](p, "[...document.querySelectorAll('details.unit')].filter(d => d.open).map(d => d.querySelector('summary bdi').textContent).join()")
	}
	said := func(n int) string {
		return is[string](p, fmt.Sprintf("document.querySelectorAll('details.unit .said')[%d].textContent", n))
	}
	is[bool](p, "window.stays = true")
	fields := is[int](p, "document.querySelectorAll('details.unit form.answer').length")
	if fields < 5 || open() != "document_name" {
		t.Errorf("%d fields of the text are on the page, open is %s", fields, open())
	}
	p.submit()
	p.until("document.querySelector('#heading').textContent.includes(': 2 of')")
	if got := is[float64](p, "scrollY"); got < y/2 || !is[bool](p, "!!window.stays") {
		t.Errorf("the next field begins at %v, the last one was at %v", got, y)
	}
	if said(0) != "March 1, 2030" || open() != "agreement_date" || said(1) != "open" {
		t.Errorf("the first field says %q; %s is open and says %q", said(0), open(), said(1))
	}
	p.keys(kb.Backspace)
	p.until("document.querySelector('details.unit').open")
	p.press("2")
	p.submit() // a minute has not passed, so it needs no reason
	p.until("document.querySelector('details.unit .said').textContent === 'missing'")
	p.press("2")
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	must(t, chromedp.Do(p.ctx, chromedp.Reload()))
	p.heading()
	if said(0) != "missing" || said(1) != "draft" || open() != "agreement_date" {
		t.Errorf("after a reload the fields say %q and %q; open is %s", said(0), said(1), open())
	}
	p.content("annotation")
	for n := range fields - 1 {
		p.press("2")
		p.submit()
		p.until(fmt.Sprintf("document.querySelector('#heading')?.textContent.includes(': %d of') || document.querySelector('main.narrow')", n+3))
	}
	if h := p.heading(); h != "Done" {
		t.Errorf("after the last field the page is %q", h)
	}
	end()
	if kinds := kindsOf(t, filepath.Join(dir, "annotations", "odd", "anna.jsonl")); kinds["submit"] != fields || kinds["revise"] != 1 {
		t.Errorf("the file has %v, want %d answers and a change", kinds, fields)
	}
}

// Lists are filled in by marking their values, in records that begin by themselves; the study
// reads what was locked.
func TestGoldOfListsInABrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	study := filepath.Join(dir, "study.yaml")
	must(t, os.Mkdir(filepath.Join(dir, "schemas"), 0o700))
	for name, content := range map[string]string{
		"schemas/order.json": `{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}},
			"lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string", "format": "id"}, "price": {"type": "number"}}}}}}`,
		"d.jsonl": `{"document_id":"d","schema":"order","text":"red and blue. A-1 costs 3.50, B-2 costs 7.25."}` + "\n",
		"study.yaml": "suite: extraction\nname: s\ndata: {source: jsonl, path: d.jsonl, gold: annotations/fields.gold.jsonl}\nschemas: schemas\n" +
			"arms:\n  - {name: null_baseline, builtin: null_baseline}\nannotation:\n  - {name: fields, kind: gold}\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	urls, end := startServer(t, "annotate", study, "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/fields/")
	p.heading()
	mark := func(word string) {
		is[bool](p, fmt.Sprintf("(() => { const n = document.querySelector('.page').firstChild, i = n.nodeValue.indexOf(%q); getSelection().setBaseAndExtent(n, i, n, i + %d); document.querySelector('.page').focus(); return true; })()", word, len(word)))
		p.keys(kb.Enter)
		p.until(fmt.Sprintf("document.querySelector('#status').textContent === 'Marked: %s'", word))
	}
	label := func(n int, name string) {
		is[bool](p, fmt.Sprintf("(() => { const s = document.querySelectorAll('details[open] .spans select')[%d]; s.value = %q; s.dispatchEvent(new Event('change')); return true; })()", n, name))
	}
	mark("blue")
	mark("red")
	p.shot("gold-list.png")
	p.submit()
	p.until("document.querySelector('details.unit .said').textContent === 'blue; red'")
	for i, word := range []string{"A-1", "3.50", "B-2", "7.25"} {
		mark(word)
		label(i, []string{"sku", "price"}[i%2])
	}
	if got := is[string](p, "[...document.querySelectorAll('details[open] .record')].map(i => i.value).join()"); got != "1,1,2,2" {
		t.Errorf("the records are %s", got)
	}
	is[bool](p, "(() => { const i = document.querySelectorAll('details[open] .value')[3]; i.value = 'dear'; i.dispatchEvent(new Event('input', {bubbles: true})); return true; })()")
	p.shot("gold-records.png")
	p.submit()
	p.until("document.querySelector('details[open] .problem').textContent.includes('no value of type number')")
	is[bool](p, "(() => { const i = document.querySelectorAll('details[open] .value')[3]; i.value = '7.25'; i.dispatchEvent(new Event('input', {bubbles: true})); return true; })()")
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	must(t, chromedp.Do(p.ctx, chromedp.Reload()))
	p.heading()
	if got := is[string](p, "[...document.querySelectorAll('details[open] .record, details[open] .value')].map(i => i.value).join()"); got != "1,A-1,1,3.50,2,B-2,2,7.25" {
		t.Errorf("after a reload the records are %s", got)
	}
	p.fits("gold of lists")
	p.named()
	p.submit()
	p.until("document.querySelector('main.narrow')")
	end()
	ok(t, "annotate", study, "--task", "fields", "--lock", "--as", "anna", "--declare", "I saw no answer")
	if out := ok(t, "run", study, "--json"); !strings.Contains(out, `"items":1`) {
		t.Errorf("the run has not the document: %.300s", out)
	}
	if out := ok(t, "show", study, "d", "null_baseline"); !strings.Contains(out, "lines[1].price") || !strings.Contains(out, "7.25") {
		t.Errorf("the study did not read the lists:\n%s", out)
	}
}

// A text of 1 MB, in one page and in 300, with 40 fields and 15 marks: the test says how long a
// person waits, see docs/performance.md.
func TestMarkingALargeText(t *testing.T) {
	t.Parallel()
	for name, pages := range map[string]int{"one page": 1, "300 pages": 300} {
		dir := t.TempDir()
		study := filepath.Join(dir, "study.yaml")
		var fields []string
		for i := range 40 {
			fields = append(fields, fmt.Sprintf(`{"name":"field_%d","type":"string","description":"A field"}`, i))
		}
		var text strings.Builder
		for i := range pages {
			fmt.Fprintf(&text, "---PAGE %d---\n%s\n", i+1, strings.Repeat(strings.Repeat("Lorem ipsum \U0001F600 dolor sit amet. ", 10)+"\n", 1_000_000/361/pages))
		}
		text.WriteString("and the Needle is here\n")
		data, err := json.Marshal(map[string]any{"document_id": "d", "schema": "big", "text": text.String()})
		must(t, err)
		must(t, os.Mkdir(filepath.Join(dir, "schemas"), 0o700))
		for file, content := range map[string]string{"d.jsonl": string(data) + "\n", "schemas/big.json": `{"name":"big","fields":[` + strings.Join(fields, ",") + "]}",
			"study.yaml": "suite: extraction\nname: s\ndata: {source: jsonl, path: d.jsonl, gold: annotations/t.gold.jsonl}\nschemas: schemas\narms:\n  - {name: null_baseline, builtin: null_baseline}\n" +
				"annotation:\n  - {name: t, of: unit, show: [pages], ask: [{name: parts, type: span}]}\n"} {
			must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
		}
		urls, end := startServer(t, "annotate", study, "--as", "anna")
		p := newReader(t, urls["anna"])
		var figures []string
		figure := func(what string, since time.Time) {
			figures = append(figures, fmt.Sprintf("%s %d ms", what, time.Since(since).Milliseconds()))
		}
		// painted waits for the frame after the next one.
		painted := func() {
			p.until("(window.frames_ ??= (requestAnimationFrame(() => requestAnimationFrame(() => { window.frames_ = 'painted'; })), 1)) === 'painted' && (window.frames_ = undefined, true)")
		}
		begin := time.Now()
		resp, err := http.Get(urls["anna"] + "t/t/")
		must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must(t, errors.Join(err, resp.Body.Close()))
		figure("the server sends the page after", begin)
		begin = time.Now()
		p.open(urls["anna"] + "t/t/")
		p.heading()
		painted()
		figure("opened to painted", begin)
		begin = time.Now()
		p.press("/")
		p.keys("Needle")
		p.keys(kb.Enter)
		p.until(fmt.Sprintf("document.querySelector('#found').textContent === 'found on page %d'", pages))
		painted()
		figure("found in", begin)
		p.keys(kb.Escape)
		begin = time.Now()
		p.keys(kb.Enter)
		p.until("document.querySelectorAll('.spans li').length === 1")
		painted()
		figure("first mark in", begin)
		for i := range 14 {
			begin = time.Now()
			p.keys(kb.ArrowLeft)
			painted()
			if i == 13 {
				figure("arrow key in", begin)
			}
			begin = time.Now()
			p.keys(kb.Enter)
			p.until(fmt.Sprintf("document.querySelectorAll('.spans li').length === %d", i+2))
			painted()
		}
		figure("fifteenth mark in", begin)
		p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
		begin = time.Now()
		p.submit()
		p.until("document.querySelector('#heading')?.textContent.includes(': 2 of 40')")
		painted()
		figure("submitted to the next field in", begin)
		end()
		t.Logf("1 MB in %s: %s", name, strings.Join(figures, ", "))
	}
}

// On a phone texts are below each other, or wide enough to be read; a decision begins with the two
// answers that it is about.
func TestNarrowPages(t *testing.T) {
	t.Parallel()
	_, study := contracts(t)
	edit(t, study, "annotation:\n", "annotation:\n  - {name: marks, kind: spans, arms: [heuristic], labels: [odd, wrong], draw: 1}\n  - {name: pairs, kind: pair, arms: [heuristic, null_baseline], draw: 1}\n")
	ok(t, "run", study)
	urls, end := startServer(t, "annotate", study, "--as", "anna", "--as", "ben")
	for i, name := range []string{"anna", "ben"} {
		answerAll(t, urls[name], "marks", func(form) map[string]any { return map[string]any{"rating": 1 + i} })
	}
	p := newReader(t, urls["anna"])
	p.width(390)
	p.open(urls["anna"] + "t/pairs/")
	p.heading()
	if beside := is[bool](p, "(([a, b]) => a.getBoundingClientRect().bottom > b.getBoundingClientRect().top)([...document.querySelectorAll('.pair > div')])"); beside {
		t.Error("the answers of a pair are side by side")
	}
	p.fits("pair")
	end()
	urls, end = startServer(t, "annotate", study, "--as", "carol", "--adjudicate", "--task", "marks")
	p.open(urls["carol"] + "t/marks/")
	p.heading()
	if got := is[string](p, "document.querySelector('article h2').textContent"); got != "Judgement A" {
		t.Errorf("a decision begins with %q", got)
	}
	p.fits("decision")
	end()
	p.open(startView(t, study) + "r/contracts-1/samples")
	p.until("document.querySelector('.text-answer')")
	for _, width := range []int64{1440, 1024, 390} {
		p.width(width)
		p.fits("samples")
		if got := is[float64](p, "Math.min(...[...document.querySelectorAll('.text-answer, .text-problem')].map(c => c.getBoundingClientRect().width))"); got < 90 {
			t.Errorf("at %d pixels an answer has %v", width, got)
		}
		if over := is[int](p, "(r => r.scrollWidth - r.clientWidth)(document.querySelector('.scroll'))"); over > 0 {
			t.Errorf("at %d pixels the list is %d too wide", width, over)
		}
	}
}

// Notes are saved when all of them are: not if one is still on its way, or was refused, and whoever
// leaves at once does not lose the last words.
func TestNotesAreSavedBeforeTheySaySo(t *testing.T) {
	t.Parallel()
	_, study := panelStudy(t)
	urls, _ := startServer(t, "annotate", study, "--task", "practice", "--as", "anna")
	p := newReader(t, urls["anna"])
	open := func() {
		p.open(urls["anna"] + "t/practice/notes")
		p.until("document.querySelectorAll('#notes textarea').length > 1")
	}
	write := func(area int, text string) {
		is[bool](p, fmt.Sprintf("document.querySelectorAll('#notes textarea')[%d].focus(), true", area))
		p.keys(text)
	}
	leaves := func() bool {
		return is[bool](p, "dispatchEvent(new Event('beforeunload', {cancelable: true}))")
	}
	status := "document.querySelector('#status').textContent"
	open()
	is[bool](p, `(() => {
		const ask = window.fetch;
		window.held = [];
		window.fetch = async (...a) => { const reply = window.refuse ? new Response('{"error": "full"}', {status: 500}) : await ask(...a); await new Promise(r => held.push(r)); return reply; };
		return true;
	})()`)
	write(0, "first")
	p.until("held.length === 1")
	write(1, "second")
	is[bool](p, "held[0](), true")
	time.Sleep(100 * time.Millisecond)
	if got := is[string](p, status); got != "Not saved yet" {
		t.Errorf("with one of two notes stored the page says %q", got)
	}
	p.until("held.length === 2")
	if leaves() {
		t.Error("the page can be left while a note is on its way")
	}
	write(1, " thought") // while its first words are on their way
	is[bool](p, "held[1](), true")
	p.until("held.length === 3")
	if got := is[string](p, status); got != "Not saved yet" {
		t.Errorf("with half a note stored the page says %q", got)
	}
	is[bool](p, "held[2](), true")
	p.until(status + ".startsWith('Saved')")
	if !leaves() {
		t.Error("a page whose notes are stored cannot be left")
	}
	is[bool](p, "window.refuse = true")
	write(0, "!")
	p.until("held.length === 4")
	is[bool](p, "window.refuse = false, held[3](), true")
	p.until(status + " === 'full'")
	write(1, "!")
	p.until("held.length === 5")
	is[bool](p, "held[4](), true")
	time.Sleep(100 * time.Millisecond)
	if got := is[string](p, status); got != "Not saved yet" || leaves() {
		t.Errorf("with a refused note the page says %q", got)
	}
	write(0, "?")
	p.until("held.length === 6")
	is[bool](p, "held[5](), true")
	p.until(status + ".startsWith('Saved')")

	open() // fetch as it was
	write(1, "?")
	const stored = "document.querySelectorAll('#notes textarea')[1].value === '?second thought!'"
	open()
	for range 50 { // the page may be read before its last words came
		if is[bool](p, stored) {
			break
		}
		time.Sleep(100 * time.Millisecond)
		open()
	}
	p.until(stored)
	if got := is[string](p, "document.querySelector('#notes textarea').value"); got != "first!?" {
		t.Errorf("the first note is %q", got)
	}
	p.content("notes")
}

// holdSubmits makes a page's answers wait for their replies until it calls release.
const holdSubmits = `(() => {
	const ask = window.fetch, wait = new Promise(r => { window.release = () => (r(), true); });
	window.fetch = async (...a) => { const reply = await ask(...a); if (JSON.parse(a[1].body).kind === 'submit') await wait; return reply; };
	return true;
})()`

// Whoever goes on to another unit while an answer is on its way stays there when the reply comes:
// what is typed never becomes an answer to the next unit.
func TestALateReplyTakesNoFocus(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/fields/")
	p.heading()
	is[bool](p, holdSubmits)
	p.keys("2")
	p.until("document.querySelector('.unit[open] input:checked')?.value === 'missing'")
	p.submit()
	p.until("document.querySelector('#status').textContent === 'Saving'")
	third := "document.querySelectorAll('.unit')[2]"
	is[bool](p, third+".querySelector('summary').focus(), "+third+".open = true")
	p.keys("1")
	p.until(third + ".querySelector('input:checked')?.value === 'present'")
	is[bool](p, third+".querySelector('[data-name=value] textarea').focus(), true")
	p.keys("Decem")
	is[bool](p, "release()")
	p.until("document.querySelectorAll('.unit')[0].open === false")
	p.keys("ber 2, 2012")
	got := is[struct {
		Value      string
		Here, Next bool
		Second     int
	}](p, `({Value: `+third+`.querySelector('[data-name=value] textarea').value, Here: `+third+`.contains(document.activeElement), Next: document.querySelectorAll('.unit')[1].open,
		Second: document.querySelectorAll('.unit')[1].querySelectorAll('input:checked').length})`)
	if got.Value != "December 2, 2012" || !got.Here || got.Next || got.Second > 0 {
		t.Errorf("after the reply: %+v", got)
	}
	p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
	end()
	if n := kindsOf(t, filepath.Join(dir, "annotations", "fields", "anna.jsonl"))["submit"]; n != 1 {
		t.Errorf("%d answers are stored, want 1", n)
	}
}
