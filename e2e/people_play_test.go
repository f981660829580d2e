//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
)

// A play is a study whose people answer while things break.
type play struct {
	t          *testing.T
	dir, study string
	home       string            // of the settings, not on the disk that gets full
	names      map[string]string // of people, by role
	tell       *regexp.Regexp
	length     time.Duration
	ended      atomic.Bool

	mu        sync.Mutex
	confirmed map[string]string // task and person by the id of an event
	counts    map[string]int
}

func (p *play) count(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
}

// A host is a server that is killed and started again.
type host struct {
	p    *play
	args []string

	mu   sync.Mutex
	c    *exec.Cmd
	errs []*lockedBuffer // of all starts
	urls atomic.Pointer[map[string]string]
}

// start starts the server, as often as it takes: the disk can be full.
func (h *host) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.p.ended.Load() {
		c := exec.Command("scruple", h.args...)
		c.Env = environment(h.p.home)
		var out, errs lockedBuffer
		c.Stdout, c.Stderr = &out, &errs
		h.errs = append(h.errs, &errs)
		must(h.p.t, c.Start())
		gone := make(chan struct{})
		go func() { c.Wait(); close(gone) }()
		for up := true; up && !strings.Contains(out.String(), "Ctrl-C"); {
			select {
			case <-gone:
				up = false
			case <-time.After(10 * time.Millisecond):
			}
		}
		if !strings.Contains(out.String(), "Ctrl-C") {
			if !strings.Contains(errs.String(), "no space left") {
				h.p.t.Errorf("the server does not start: %s", errs.String())
			}
			h.p.count("starts refused by a full disk")
			time.Sleep(200 * time.Millisecond)
			continue
		}
		urls := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^(\S+): (http://\S+)$`).FindAllStringSubmatch(out.String(), -1) {
			urls[m[1]] = m[2]
		}
		if before := h.urls.Swap(&urls); before != nil {
			for name, url := range *before {
				if urls[name] != url {
					h.p.t.Errorf("the address of %s changed", name)
				}
			}
		}
		h.c = c
		return
	}
}

// stop ends the server by a signal.
func (h *host) stop(by os.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.c != nil {
		h.c.Process.Signal(by)
		for range 600 { // its end is waited for by start
			if h.c.Process.Signal(syscall.Signal(0)) != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// answers are how people answer the tasks of the play.
var answers = map[string]func(f form) map[string]any{
	"fields": func(f form) map[string]any {
		if at := valueIn(f, "Agreement"); at != nil && strings.Contains(f.unit, "name") {
			return map[string]any{"exists": "present", "value": "Agreement", "quote": []any{at}}
		}
		return map[string]any{"exists": "missing"}
	},
	"claims": func(form) map[string]any { return map[string]any{"grounded": either("grounded", "not grounded")} },
	"marks": func(f form) map[string]any {
		answer := map[string]any{"rating": 1 + rand.IntN(5)}
		if at := valueIn(f, either("the", "and")); at != nil {
			at["label"] = either("odd", "wrong")
			answer["errors"] = []any{at}
		}
		return answer
	},
	"labels": func(form) map[string]any {
		return map[string]any{"label": either("lease", "other"), "rationale": "The first page says so, in its title."}
	},
	"pairs": func(form) map[string]any { return map[string]any{"better": either("A", "B")} },
	"codes": func(form) map[string]any {
		return map[string]any{"codes": []string{either("C1", "C2")}, "reason": "The wording says so."}
	},
	"verdict": func(form) map[string]any { return map[string]any{"label": either("sound", "not_sound")} },
}

func either(a, b string) string { return []string{a, b}[rand.IntN(2)] }

// person answers tasks until the play ends: each answer is sent until there is a reply, and
// again while the disk is full.
func (p *play) person(h *host, name string, tasks []string) {
	for !p.ended.Load() {
		base := (*h.urls.Load())[name]
		task := tasks[rand.IntN(len(tasks))]
		f, err := formAt(base + "t/" + task + "/")
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		for role, other := range p.names {
			if other != name && strings.Contains(f.body, other) {
				p.t.Errorf("a page of %s names %s (%s)", name, other, role)
			}
		}
		if found := p.tell.FindString(f.body); found != "" {
			p.t.Errorf("a page of %s in %s tells %q", name, task, found)
		}
		for other, url := range *h.urls.Load() {
			if secret := strings.Split(strings.TrimSuffix(url, "/"), "/")[3]; other != name && strings.Contains(f.body, secret) {
				p.t.Errorf("a page of %s has the address of %s", name, other)
			}
		}
		switch {
		case strings.Contains(f.body, `id="continue"`):
			post(p.t, base, form{task: task, kind: "break"}, nil)
			continue
		case f.shown == "" && f.status != 200:
			p.count(fmt.Sprintf("pages refused (%d)", f.status))
			if f.status != 500 || !strings.Contains(f.body, "says why") { // a full disk; the terminal has the reason
				p.t.Errorf("%s cannot open %s: %d %s", name, task, f.status, html.UnescapeString(f.body))
			}
			time.Sleep(50 * time.Millisecond)
			continue
		case f.shown == "":
			p.count("visits of a finished task")
			time.Sleep(50 * time.Millisecond)
			continue
		}
		with := map[string]any{"id": freshID(), "answer": answers[task](f), "reason": "as the text says"}
		if rand.IntN(3) == 0 {
			post(p.t, base, f, map[string]any{"kind": "draft", "answer": with["answer"]})
		}
		time.Sleep(rand.N(p.length / 500)) // a kill can come between page and answer
		for {
			status, said := post(p.t, base, f, with)
			switch {
			case status == 0 || strings.Contains(said, "no space left"):
				if p.count("answers sent again"); p.ended.Load() {
					return
				}
				time.Sleep(50 * time.Millisecond)
				continue
			case status == 200:
				p.mu.Lock()
				p.confirmed[with["id"].(string)] = task + " " + name
				p.counts["confirmed "+task]++
				p.mu.Unlock()
			case status == 409 && strings.Contains(said, "out of date"): // a corrected text: it was judged by another
				p.count("answers to a text that was corrected meanwhile")
			default:
				p.t.Errorf("%s was shown a subject of %s, and the answer is refused: %d %s", name, task, status, said)
			}
			break
		}
	}
}

// TestPeopleWhileThingsBreak lets two people answer tasks of every kind, and a third decide, while
// their servers are stopped and killed, the disk is full and the studies change. Nothing that was
// shown is refused, nothing is lost or stored twice, and no page tells of another person or an arm.
// SCRUPLE_PLAY is how long it takes, such as 10m. Without root the disk does not get full.
func TestPeopleWhileThingsBreak(t *testing.T) {
	t.Parallel()
	length := 40 * time.Second
	if d, err := time.ParseDuration(os.Getenv("SCRUPLE_PLAY")); err == nil {
		length = d
	}
	disk := t.TempDir()
	full := syscall.Mount("none", disk, "tmpfs", 0, "size=48m") == nil
	if full {
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	}
	p := &play{t: t, length: length, dir: filepath.Join(disk, "contracts"), home: t.TempDir(), confirmed: map[string]string{}, counts: map[string]int{},
		names: map[string]string{"first": "person-anna", "second": "person-ben", "adjudicator": "person-carol"},
		tell:  regexp.MustCompile(`null_baseline|calibration:|gpt_5|claude_opus|gemini_3|deepseek|kimi_k2|glm_4|zero_shot|few_shot`)}
	anna, ben, carol := p.names["first"], p.names["second"], p.names["adjudicator"]
	must(t, os.CopyFS(p.dir, shipped("contracts")))
	p.study = filepath.Join(p.dir, "study.yaml")
	edit(t, p.study, "annotation:\n", fmt.Sprintf(`annotation:
  - {name: marks, kind: spans, arms: [heuristic], labels: [odd, wrong], double: 0.5, people: [%s, %s]}
  - {name: labels, kind: label, labels: [lease, other], adjudicator: %s}
  - {name: pairs, kind: pair, arms: [heuristic, null_baseline], adjudicator: %s}
  - {name: codes, kind: codes, arms: [heuristic], labels: [C1, C2], session: 7}
`, anna, ben, carol, carol))
	edit(t, p.study, "    draw: 10\n    again: {count: 15}\n", "")
	edit(t, p.study, "    draw: 20\n", "")
	ok(t, "run", p.study)
	panel := filepath.Join(disk, "panel")
	ok(t, "init", "soundness", panel)
	ok(t, "run", filepath.Join(panel, "study.yaml"))
	queue := filepath.Join(panel, "study.yaml")
	edit(t, queue, "  - {name: labels, queue: label, target: 0.8,", "  - {name: verdict, queue: label, target: 0.8,")

	hosts := []*host{
		{p: p, args: []string{"annotate", p.study, "--as", anna, "--as", ben}},
		{p: p, args: []string{"annotate", p.study, "--task", "labels", "--as", carol, "--adjudicate"}},
		{p: p, args: []string{"annotate", p.study, "--task", "pairs", "--as", carol, "--adjudicate"}},
		{p: p, args: []string{"annotate", queue, "--task", "verdict", "--as", anna, "--as", ben}},
	}
	var people sync.WaitGroup
	for i, h := range hosts {
		h.start()
		who, tasks := []string{anna, ben}, [][]string{{"fields", "claims", "marks", "labels", "pairs", "codes"}, {"labels"}, {"pairs"}, {"verdict"}}[i]
		if i == 1 || i == 2 {
			who = []string{carol}
		}
		for _, name := range who {
			people.Go(func() { p.person(h, name, tasks) })
		}
	}
	filler := filepath.Join(disk, "filler")
	changes := []func(){
		func() { edit(t, p.study, "Fields of contracts", "Fields of the contracts") },
		func() { edit(t, p.study, "title: Quotes", "title: Quotes\n    guide: Read twice.") },
		func() { edit(t, p.study, "session: 7", "session: 9") },
		func() { // a text is corrected, and documents come to it
			path := filepath.Join(p.dir, "data", "contracts.jsonl")
			data, err := os.ReadFile(path)
			must(t, err)
			first, rest, _ := bytes.Cut(data, []byte("\n"))
			more := bytes.Replace(first, []byte(`"document_id":"`), []byte(`"document_id":"copy-`), 1)
			must(t, os.WriteFile(path, bytes.Join([][]byte{bytes.Replace(first, []byte("---PAGE 1---\\n"), []byte("---PAGE 1---\\nCorrected. "), 1), rest, more}, []byte("\n")), 0o600))
			ok(t, "run", p.study) // which asks what is new
		},
	}
	for begin := time.Now(); time.Since(begin) < length; time.Sleep(time.Duration(300+rand.IntN(1200)) * time.Millisecond) {
		h := hosts[rand.IntN(len(hosts))]
		switch n := rand.IntN(10); {
		case n < 4:
			p.count("kills")
			h.stop(os.Kill)
			h.start()
		case n < 7:
			p.count("restarts")
			h.stop(os.Interrupt)
			h.start()
		case n < 9 && full:
			p.count("full disks")
			f, err := os.Create(filler)
			must(t, err)
			for chunk := make([]byte, 1<<16); err == nil; {
				_, err = f.Write(chunk)
			}
			f.Close()
			if rand.IntN(2) == 0 { // and a kill on top
				h.stop(os.Kill)
				restarted := make(chan struct{})
				go func() { h.start(); close(restarted) }()
				time.Sleep(time.Second)
				must(t, os.Remove(filler))
				<-restarted
			} else {
				time.Sleep(time.Second)
				must(t, os.Remove(filler))
			}
		case len(changes) > 0:
			p.count("changes of the study")
			for _, h := range hosts[:3] {
				h.stop(os.Interrupt)
			}
			changes[0]()
			changes = changes[1:]
			for _, h := range hosts[:3] {
				h.start()
			}
		}
	}
	p.ended.Store(true)
	people.Wait()
	for _, h := range hosts {
		h.stop(os.Interrupt)
		for _, errs := range h.errs {
			if said := errs.String(); t.Failed() && said != "" {
				t.Logf("%v: %s", h.args[1:], said)
			}
		}
	}

	// Every confirmed answer is in the file of its person, once.
	stored := map[string]int{}
	for _, dir := range []string{p.dir, panel} {
		files, err := filepath.Glob(filepath.Join(dir, "annotations", "*", "*.jsonl"))
		must(t, err)
		for _, file := range files {
			entries, err := ledger.Read(file)
			must(t, err)
			for _, e := range entries {
				var data struct{ ID string }
				if must(t, json.Unmarshal(e.Data, &data)); data.ID != "" && e.Kind != "draft" && e.Kind != "break" {
					stored[data.ID]++
				}
			}
		}
	}
	for id, what := range p.confirmed {
		if stored[id] != 1 {
			t.Errorf("an answer to %s was confirmed and is stored %d times", what, stored[id])
		}
	}
	if lost := len(stored) - len(p.confirmed); lost < 0 || lost > 5*len(hosts) { // the last of each may be stored without a reply
		t.Errorf("%d answers are confirmed and %d stored", len(p.confirmed), len(stored))
	}
	var failed error
	for _, study := range []string{p.study, queue} {
		for _, args := range [][]string{{"test", "ledger", "verify", study}, {"annotate", study, "--agreement"}, {"score", study}} {
			if _, errs, code := line(t, args...); code != exitOK {
				failed = errors.Join(failed, fmt.Errorf("%v: exit code %d: %s", args, code, errs))
			}
		}
	}
	must(t, failed)
	if len(p.confirmed) == 0 {
		t.Error("nobody answered")
	}
	t.Logf("%v: %v; %d answers confirmed and stored", length, p.counts, len(p.confirmed))
}
