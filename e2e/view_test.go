//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/view"
)

// startView runs scruple view and returns the address that it prints.
func startView(t *testing.T, args ...string) string {
	t.Helper()
	urls, _ := startServer(t, append([]string{"view"}, args...)...)
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$`).MatchString(urls[""]) {
		t.Fatalf("view prints %q", urls)
	}
	return urls[""]
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

// Every kind of page of two suites: no complaint of the browser, no foreign request, and
// it fits a phone. Pages and script are small, and there is no inline script or style.
func TestViewInABrowser(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"contracts", "rerank-laptops"} {
		base := startView(t, runExample(t, name))
		r := newReader(t, base)
		pages := pagesOf(t, base, 1)
		if len(pages) < 10 {
			t.Errorf("%s: only %d pages: %q", name, len(pages), pages)
		}
		for _, p := range pages {
			if strings.Contains(p, "/export") || strings.HasPrefix(p, "a/") {
				continue
			}
			r.width(390)
			r.open(base + p)
			for _, width := range []int64{390, 1280} {
				r.width(width)
				found := is[struct {
					Heading, Inline bool
					Script          string
				}](r, `({Heading: document.querySelectorAll('h1').length === 1,
					Inline: document.querySelectorAll('[style], style, script:not([src])').length > 0, Script: document.getElementById('keys').hidden ? 'off' : 'on'})`)
				if !found.Heading || found.Inline || found.Script != "on" {
					t.Errorf("%s %q at %d px: %+v", name, p, width, found)
				}
				r.fits(name + " " + p)
				r.content(name + " " + p)
			}
			a, err := http.Get(base + p)
			must(t, err)
			body, err := io.ReadAll(a.Body)
			a.Body.Close()
			must(t, err)
			if kb := len(body) / 1024; kb > 80 && !strings.HasSuffix(p, "/report") && !strings.Contains(p, "/t/") {
				t.Errorf("%s %q has %d KB", name, p, kb)
			}
		}
	}
}

// Compare opens what the study's first primary comparison says: its arms, and its metric, which
// need not be the suite's first.
func TestCompareOpensTheFirstComparison(t *testing.T) {
	t.Parallel()
	a, err := http.Get(startView(t, runExample(t, "spans")) + "c?r=spans-1")
	must(t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	must(t, err)
	page := string(body)
	for _, want := range []string{`value="judge_total" selected`, "beats"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "does not compare") {
		t.Error("the study does not compare what the page opens")
	}
}

// The pages answer reads only, whatever the path, and nothing without the secret.
func TestViewOnlyReads(t *testing.T) {
	t.Parallel()
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

// A list, its trials, marks and arms by keys; a typed letter is text, not a command.
func TestViewByKeys(t *testing.T) {
	t.Parallel()
	base := startView(t, runExample(t, "contracts"))
	r := newReader(t, base)
	r.open(base + "r/contracts-1/samples?" + `q=arm+%3D%3D+"heuristic"&sort=composite`)
	r.until(`document.querySelector('h1').textContent.includes('40 of 80 trials')`)
	press := func(key string) {
		t.Helper()
		r.until(`document.getElementById('keys')?.hidden === false`) // the script runs
		r.press(key)
	}
	press("jj")
	want := is[string](r, `document.activeElement.textContent`)
	press("o")
	r.until(`location.pathname.includes('/t/') && document.querySelector('h1 bdi').textContent === ` + jsString(want))
	r.until(`document.querySelector('[data-key=u]').textContent.startsWith('2 of 40')`)
	press("n")
	r.until(`document.querySelector('[data-key=u]')?.textContent.startsWith('3 of 40')`)

	item := is[string](r, `document.querySelector('h1 bdi').textContent`)
	press("]")
	first := is[string](r, `document.querySelector('mark.lit').textContent`)
	press("]")
	press("[")
	if again := is[string](r, `document.querySelector('mark.lit').textContent`); again != first {
		t.Errorf("] and [ lead from %q to %q", first, again)
	}
	press("f")
	r.keys("agree\r")
	r.until(`getSelection().toString().toLowerCase() === 'agree' && document.getElementById('said').textContent.startsWith('found on page')`)
	r.keys("\r")
	r.keys("\x1b")
	press("r")
	r.until(`document.getElementById('raw').open`)
	press("a")
	r.until(`location.pathname.includes('/t/') && document.querySelector('h1 .version')?.textContent.includes('null_baseline')`)
	if got := is[string](r, `document.querySelector('h1 bdi').textContent`); got != item {
		t.Errorf("the next arm is of %q, want %q", got, item)
	}
	press("A")
	r.until(`document.querySelector('h1 .version')?.textContent.includes('heuristic')`)
	press("i")
	r.until(`location.pathname.endsWith('/i') && document.querySelector('h1').textContent.includes('2 trials')`)
	if got := is[string](r, `document.querySelector('.units').innerText`); !strings.Contains(got, "heuristic") || !strings.Contains(got, "null_baseline") || !strings.Contains(got, "score") {
		t.Errorf("the page of an item has %q", got)
	}
	for _, scheme := range []string{"light", "dark"} {
		r.scheme(scheme)
		for _, width := range []int64{390, 1280} {
			r.width(width)
			r.fits("the page of an item")
			r.shot(fmt.Sprintf("view-item-%s-%d.png", scheme, width))
		}
	}
	press("j")
	press("o")
	r.until(`location.pathname.includes('/t/')`)
	press("l")
	r.until(`/copied|not allow/.test(document.getElementById('said').textContent)`)
	press("u")
	r.until(`location.pathname.endsWith('/samples')`)
	press("/")
	r.until(`document.activeElement.id === 'q'`)
	r.keys("u")
	r.until(`document.getElementById('q').value.endsWith('u') && location.pathname.endsWith('/samples')`)
	r.keys("\x1b")
	press("c")
	r.until(`location.pathname.endsWith('/c')`)
	if display := is[string](r, `getComputedStyle(document.querySelector('meter').parentElement).display`); display != "block" {
		t.Errorf("who is better where is no line but %s", display)
	}
	r.content("keys")

	a, err := http.Get(base + "r/contracts-1/samples?" + `q=arm+%3D%3D+"nobody"+%26%26`)
	must(t, err)
	body, err := io.ReadAll(a.Body)
	a.Body.Close()
	must(t, err)
	if !strings.Contains(string(body), "filter: ") || !strings.Contains(string(body), "The names are item, arm") {
		t.Errorf("a wrong filter is not explained:\n%s", body)
	}
}

// Keys can be changed and turned off; the browser keeps that.
func TestKeysCanBeChanged(t *testing.T) {
	t.Parallel()
	base := startView(t, runExample(t, "contracts"))
	r := newReader(t, base)
	list := base + "r/contracts-1/samples"
	row := func() int {
		return is[int](r, `[...document.querySelectorAll('[data-row]')].findIndex(e => e.classList.contains('here'))`)
	}
	open := func() {
		t.Helper()
		r.open(list)
		r.until(`document.getElementById('keys')?.hidden === false`)
	}
	key := func(name string) string { return is[string](r, `document.getElementById('key-`+name+`').value`) }
	open()
	if is[bool](r, `document.getElementById('help').getBoundingClientRect().height > 0`) {
		t.Error("the help is shown before anybody asks")
	}
	r.press("?")
	r.until(`document.getElementById('help').open`)
	for _, scheme := range []string{"light", "dark"} {
		r.scheme(scheme)
		for _, width := range []int64{390, 1280} {
			r.width(width)
			r.shot(fmt.Sprintf("view-help-%s-%d.png", scheme, width))
		}
	}
	r.fits("help")
	is[bool](r, `document.getElementById('key-next-row').focus(), true`)
	r.press("k") // which was another key: the two change places
	if key("next-row") != "k" || key("previous-row") != "j" {
		t.Errorf("next is %q, previous %q; want k and j", key("next-row"), key("previous-row"))
	}
	r.keys("\x1b")
	r.until(`!document.getElementById('help').open`)
	r.press("k")
	open()
	r.press("kkj")
	if got := row(); got != 0 {
		t.Errorf("after k k j the row is %d, want 0", got)
	}

	is[bool](r, `document.getElementById('keys').click(), document.getElementById('keys-on').click(), document.getElementById('help').close(), true`)
	open()
	r.press("k")
	if got := row(); got != -1 {
		t.Errorf("keys are off, and the row is %d", got)
	}
	is[bool](r, `document.getElementById('keys').click(), document.getElementById('keys-on').click(), [...document.querySelectorAll('#help button')].find(b => b.textContent === 'Reset keys').click(), document.getElementById('help').close(), true`)
	open()
	r.press("j")
	if got := row(); got != 0 || key("next-row") != "j" {
		t.Errorf("keys are as they were, and j leads to row %d", got)
	}

	// What the browser kept can be of another version, or nonsense.
	for _, kept := range []string{"on", `{"keys": 1}`, `{"off": 1, "keys": {"next-row": 7, "open": ""}}`, "null"} {
		is[bool](r, `localStorage.setItem('scruple-keys', `+jsString(kept)+`), true`)
		open()
		r.press("j")
		if got := row(); got != 0 {
			t.Errorf("with the setting %s, j leads to row %d", kept, got)
		}
	}
	r.content("keys")
}

// Pages can be read, and lists filtered, sorted and turned, without script.
func TestViewWithoutScript(t *testing.T) {
	t.Parallel()
	base := startView(t, runExample(t, "contracts"))
	r := newReader(t, base)
	r.scripts(false)
	r.width(390)
	for _, p := range pagesOf(t, base, 1) {
		if strings.Contains(p, "/export") || strings.HasPrefix(p, "a/") {
			continue
		}
		r.open(base + p)
		if !is[bool](r, `document.querySelectorAll('h1').length === 1 && document.querySelector('main').innerText.length > 20 && document.getElementById('keys').hidden`) {
			t.Errorf("%q shows nothing without script, or keys", p)
		}
		r.fits(p)
		r.content(p)
	}
	r.open(base + "r/contracts-1/samples")
	is[bool](r, `document.getElementById('q').focus(), true`)
	r.keys(`arm == "heuristic" && composite < 0.5` + "\r")
	r.until(`location.search.includes('composite') && document.querySelector('h1').textContent.includes(' of 80 trials')`)
	is[bool](r, `[...document.querySelectorAll('thead a')].find(a => a.textContent.startsWith('Composite')).click(), true`)
	r.until(`document.querySelector('[aria-sort=ascending]') && document.querySelector('h1').textContent.includes(' of 80 trials')`)
	is[bool](r, `document.querySelector('tbody a').click(), true`)
	r.until(`location.pathname.includes('/t/') && document.querySelector('[data-key=n]')`)
	is[bool](r, `document.querySelector('[data-key=n]').click(), true`)
	r.until(`document.querySelector('[data-key=u]')?.textContent.startsWith('2 of ')`)
	r.content("a list")
}

func jsString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// streams hides a page and shows it again, and returns what became of its stream of events.
func streams(r *reader) string {
	return is[string](r, `(() => {
		let said = '', hidden = false;
		Object.defineProperty(document, 'hidden', {get: () => hidden, configurable: true});
		const show = (is) => { hidden = !is; document.dispatchEvent(new Event('visibilitychange')); };
		window.EventSource = class { constructor() { said += 'opened '; } close() { said += 'closed '; } };
		show(true); show(false); show(true);
		return said;
	})()`)
}

// Another process runs a study: open pages follow its counts to the end.
func TestViewFollowsARun(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("scruple")
	if err != nil {
		t.Skip("the program is not on PATH")
	}
	study := runExample(t, "contracts")
	dir := filepath.Dir(study)
	steps := []string{"step10", "step20"} // the answers of these numbers wait for a file
	must(t, os.WriteFile(filepath.Join(dir, "slow.sh"), []byte(`n=0
while read -r line; do
	n=$((n+1))
	case $n in 10|20) while [ ! -e "step$n" ]; do sleep 0.02; done;; esac
	id=${line#*'"id":"'}
	echo "{\"id\": \"${id%%'"'*}\", \"output\": {}}"
done
`), 0o600))
	edit(t, study, "  - {name: heuristic, builtin: heuristic}\n", "  - {name: heuristic, builtin: heuristic}\n  - {name: slow, exec: sh slow.sh, version: a}\n")
	base := startView(t, study)
	runs := newReader(t, base)
	runs.open(base)
	runs.until(`document.getElementById('keys')?.hidden === false`)
	if streams(runs) != "" {
		t.Error("a page of finished runs holds a connection: six of them would stop the browser")
	}
	count := func(r *reader, of string) string {
		return is[string](r, `document.querySelector('[data-live="`+of+`"] .count')?.textContent ?? ''`)
	}
	if got := count(runs, "contracts-1"); got != "80 of 80" {
		t.Fatalf("the first run has %q", got)
	}
	c := exec.Command(program, "run", study, "--new", "-o", "execution.concurrency=1")
	var out lockedBuffer
	c.Stdout, c.Stderr = &out, &out
	must(t, c.Start())
	for end := time.Now().Add(time.Minute); count(runs, "contracts-2") == ""; runs.open(base) {
		if time.Now().After(end) {
			t.Fatalf("the run never appears: %s", out.String())
		}
		time.Sleep(50 * time.Millisecond)
	}
	run := newReader(t, base)
	run.open(base + "r/contracts-2")
	run.until(`document.getElementById('keys')?.hidden === false`)
	if got := streams(run); got != "opened closed opened " {
		t.Errorf("a page of a run in progress that is hidden and shown again has a stream: %q", got)
	}
	if got := is[string](run, `(() => {
		window.EventSource = class { constructor() { window.stream = this; } close() {} static CLOSED = 2; };
		document.dispatchEvent(new Event('visibilitychange'));
		stream.readyState = 2;
		stream.onerror();
		return document.getElementById('said').textContent;
	})()`); !strings.Contains(got, "does not follow the run") {
		t.Errorf("a page that is refused a stream says %q", got)
	}
	run.open(base + "r/contracts-2")
	var ended time.Time
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	seen := map[*reader][]string{}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		for _, r := range []*reader{runs, run} {
			if got := count(r, "contracts-2"); len(seen[r]) == 0 || seen[r][len(seen[r])-1] != got {
				seen[r] = append(seen[r], got)
			}
		}
		if len(steps) > 0 && min(len(seen[runs]), len(seen[run])) > 2-len(steps) { // both show a new count
			must(t, os.WriteFile(filepath.Join(dir, steps[0]), nil, 0o600))
			steps = steps[1:]
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			ended = time.Now()
		default:
		}
		last := func(r *reader) string { return seen[r][len(seen[r])-1] }
		if !ended.IsZero() && last(runs) == "120 of 120" && last(run) == "120 of 120" {
			t.Logf("the pages show the end of the run %d ms after the process ended, and %d and %d counts on the way", time.Since(ended).Milliseconds(), len(seen[runs]), len(seen[run]))
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the pages say %q and %q", seen[runs], seen[run])
		}
	}
	for _, r := range []*reader{runs, run} {
		if len(seen[r]) < 3 {
			t.Errorf("a page shows only %q", seen[r])
		}
		before := -1
		for _, text := range seen[r] {
			var n int
			if _, err := fmt.Sscanf(text, "%d of 120", &n); err != nil || n < before {
				t.Errorf("a page shows %q", seen[r])
			}
			before = n
		}
		r.content("live")
	}
	run.until(`!document.querySelector('.reload').hidden`)
	// A trial that is pending again, as when it takes another answer, is seen too.
	db, err := store.Open(t.Context(), filepath.Join(dir, ".scruple", "scruple.db"))
	must(t, err)
	defer db.Close()
	stored, err := db.Run(t.Context(), "contracts-2")
	must(t, err)
	x, err := experiment.Load(filepath.Join(dir, "study.yaml"), nil, experiment.Env{Suite: suiteCalled, Now: time.Now})
	must(t, err)
	defer x.Close()
	_, err = x.Attach(t.Context(), db, stored)
	must(t, err)
	must(t, db.Renew(t.Context(), stored, []store.Renewal{{Trial: x.Plan.Trial(0), Stage: eval.StageRun}}, nil))
	run.until(`document.querySelector('.live .count').textContent === '119 of 120'`)
}

// A study that changed since: the page says so and shows what the store holds.
func TestViewOfAChangedStudy(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
		{[]string{"view", "a", "b"}, exitUsage, "got 2 arguments; usage: scruple view [STUDY|STORE]"},
	} {
		var out, errs strings.Builder
		if code := execute(t.Context(), c.args, nil, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.want) {
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
		if code := execute(t.Context(), append([]string{"view", study}, c.flags...), nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
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
	t.Parallel()
	db := hostileStore(t)
	s, err := serve.Open(serve.Config{})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	v, err := view.New(ctx, view.Options{DB: db, Study: func(r *store.Run) string { return r.StudyPath }, Load: func(*store.Run, string) (*experiment.Experiment, error) {
		return nil, fmt.Errorf("no study: %s", hostile[0])
	},
		Command: func(r *store.Run, verb string, rest ...string) string {
			return verb + " " + r.ID + " " + strings.Join(rest, " ")
		}})
	must(t, err)
	var ended sync.WaitGroup
	ended.Go(func() { _ = s.Serve(ctx, v) })
	t.Cleanup(func() { stop(); ended.Wait(); v.Close() })
	base := s.URL("")
	r := newReader(t, base)
	r.width(1280)
	shown := 0
	for _, p := range pagesOf(t, base, 15) {
		if strings.Contains(p, "/export") || strings.HasPrefix(p, "a/") {
			continue
		}
		shown++
		r.open(base + p)
		if bad := is[string](r, `[...document.querySelectorAll('img, iframe, template, base, meta[http-equiv], svg[onload], [onerror], [hx-post], script:not([src]), textarea, a[href^="javascript"], [onmouseover]')].map(e => e.outerHTML).join()`); bad != "" {
			t.Errorf("%q has %s", p, bad)
		}
		r.fits(p)
		r.content(p)
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

func suiteCalled(name string) (kit.Suite, error) {
	all := suites.All()
	return all[slices.IndexFunc(all, func(s kit.Suite) bool { return s.Name == name })], nil
}
