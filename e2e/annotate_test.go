//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/ledger"
)

// A lockedBuffer is written by a server and read by its test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startServer runs a verb that serves pages. It returns the addresses that it prints by
// the names before them, and a function that ends it as Ctrl-C does.
func startServer(t *testing.T, args ...string) (urls map[string]string, end func() (code int, errs string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs lockedBuffer
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, args, nil, &out, &errs)
	}()
	stopped := false
	end = func() (int, string) {
		if stopped {
			return exitOK, ""
		}
		stopped = true
		cancel()
		code := <-ended
		for _, url := range urls {
			if n := strings.Count(out.String()+errs.String(), url); n != 1 {
				t.Errorf("the address %s is printed %d times", url, n)
			}
		}
		return code, errs.String()
	}
	t.Cleanup(func() { end() })
	for !strings.Contains(out.String(), "Ctrl-C") {
		select {
		case code := <-ended:
			stopped = true
			t.Fatalf("the server ended with %d: %s", code, errs.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	urls = map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:(\S+): )?(http://\S+)$`).FindAllStringSubmatch(out.String(), -1) {
		urls[m[1]] = m[2]
	}
	return urls, end
}

// A form is a page of annotation as a program sees it.
type form struct {
	url, body                     string
	task, key, shown, kind, draft string
	unit                          string
	status                        int
}

func read(t *testing.T, url string) (form, int) {
	t.Helper()
	f, err := formAt(url)
	must(t, err)
	return f, f.status
}

func formAt(url string) (form, error) {
	resp, err := http.Get(url)
	if err != nil {
		return form{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return form{}, err
	}
	f := form{status: resp.StatusCode, url: resp.Request.URL.String(), body: string(data)}
	own := f.body // of the form in use: a page has one for each unit of its text
	if form := regexp.MustCompile(`<form[^>]* data-here="1"[^>]*>`).FindString(f.body); form != "" {
		own = form
	}
	for name, to := range map[string]*string{"task": &f.task, "key": &f.key, "shown": &f.shown, "kind": &f.kind, "draft": &f.draft} {
		if m := regexp.MustCompile(`data-` + name + `="([^"]*)"`).FindStringSubmatch(own); m != nil {
			*to = html.UnescapeString(m[1])
		}
	}
	if m := regexp.MustCompile(`(?:id="heading">[^<]*|<details class="unit" open><summary>)<bdi>([^<]*)</bdi>`).FindStringSubmatch(f.body); m != nil {
		f.unit = m[1]
	}
	return f, nil
}

var lastID atomic.Int64

func freshID() string { return fmt.Sprintf("00000000-0000-0000-0000-%012x", lastID.Add(1)) }

// post sends an event with the fields of a page, changed by with.
func post(t *testing.T, base string, f form, with map[string]any) (status int, said string) {
	t.Helper()
	event := map[string]any{"id": freshID(), "task": f.task, "key": f.key, "kind": f.kind, "shown": f.shown, "answer": map[string]any{}, "active_ms": 900, "wall_ms": 1000}
	for k, v := range with {
		event[k] = v
	}
	data, err := json.Marshal(event)
	must(t, err)
	resp, err := http.Post(base+"event", "application/json", bytes.NewReader(data))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// answerAll answers all subjects of a task; choose gives the answer, or nil to skip.
func answerAll(t *testing.T, base, task string, choose func(f form) map[string]any) (n int) {
	t.Helper()
	for range 1000 {
		f, _ := read(t, base+"t/"+task+"/")
		if strings.Contains(f.body, `id="continue"`) {
			if status, said := post(t, base, form{task: task, kind: "break"}, nil); status != 200 {
				t.Fatal(said)
			}
			continue
		}
		if f.shown == "" {
			return n
		}
		with := map[string]any{"kind": "skip", "reason": "not legible"}
		if answer := choose(f); answer != nil {
			with = map[string]any{"answer": answer, "reason": "as the text says"}
		}
		if status, said := post(t, base, f, with); status != 200 {
			t.Fatalf("%d: %s", status, said)
		}
		n++
	}
	t.Fatal("the task has no end")
	return 0
}

// contracts copies the example and runs it.
func contracts(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, shipped("contracts")))
	return dir, filepath.Join(dir, "study.yaml")
}

// goldOf are the answers of a person who knows the gold of the example: the units of
// each document by the start of its text.
func goldOf(t *testing.T, dir string) func(f form) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "data", "contracts.jsonl"))
	must(t, err)
	type field struct {
		Field      string `json:"field"`
		Exists     bool   `json:"exists_in_document"`
		Ambiguous  bool   `json:"is_ambiguous"`
		Correct    any    `json:"correct_value"`
		Candidates []any  `json:"candidate_values"`
	}
	type doc struct {
		Text  string  `json:"text"`
		Truth []field `json:"ground_truth"`
	}
	var docs []doc
	for l := range bytes.Lines(data) {
		var d doc
		must(t, json.Unmarshal(l, &d))
		docs = append(docs, d)
	}
	return func(f form) map[string]any {
		m := regexp.MustCompile(`(?s)data-page="1"[^>]*>(.*?)</div>`).FindStringSubmatch(f.body)
		for _, d := range docs {
			if !strings.Contains(d.Text, strings.TrimSpace(html.UnescapeString(m[1]))) {
				continue
			}
			for _, g := range d.Truth {
				if g.Field == f.unit && g.Exists && !g.Ambiguous {
					if at := valueIn(f, fmt.Sprint(g.Correct)); at != nil {
						return map[string]any{"exists": "present", "value": fmt.Sprint(g.Correct), "quote": []any{at}}
					}
				}
			}
			return map[string]any{"exists": "missing"}
		}
		t.Fatal("a text that the data do not have")
		return nil
	}
}

// valueIn finds a value in the pages of a form, as a span.
func valueIn(f form, value string) map[string]any {
	for _, m := range regexp.MustCompile(`(?s)data-page="(\d+)"[^>]*>(.*?)</div>`).FindAllStringSubmatch(f.body, -1) {
		text := html.UnescapeString(m[2])
		if i := strings.Index(text, value); i >= 0 {
			start := len([]rune(text[:i]))
			var page int
			fmt.Sscan(m[1], &page)
			return map[string]any{"page": page, "start": start, "end": start + len([]rune(value)), "text": value}
		}
	}
	return nil
}

// The path of a newcomer: ten documents are annotated, locked, and a run is scored
// against the gold; whoever changes the gold afterwards is refused.
func TestGoldByPeople(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna")
	know := goldOf(t, dir)
	if n := answerAll(t, urls["anna"], "fields", know); n != 70 {
		t.Errorf("answered %d, want 10 documents of 7 fields", n)
	}
	if code, errs := end(); code != exitOK {
		t.Fatal(errs)
	}
	refusedWith(t, exitNotAllowed, "second round of anna", "annotate", study, "--task", "fields", "--lock", "--as", "anna", "--declare", "mine")
	// Without the second round.
	edit(t, study, "    again: {count: 15}\n", "")
	refusedWith(t, exitUsage, "task fields changed since its subjects were drawn", "annotate", study, "--task", "fields", "--lock", "--as", "anna", "--declare", "mine")
}

// edit replaces text in a file.
func edit(t *testing.T, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(data, []byte(from)) {
		t.Fatalf("%s has no %q", path, from)
	}
	must(t, os.Chmod(path, 0o600))
	must(t, os.WriteFile(path, bytes.Replace(data, []byte(from), []byte(to), 1), 0o600))
}

func TestLockedGoldIsScoredAgainstAndCannotChange(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	edit(t, study, "    again: {count: 15}\n", "")
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna")
	answerAll(t, urls["anna"], "fields", goldOf(t, dir))
	end()
	refusedWith(t, exitUsage, "declaration", "annotate", study, "--task", "fields", "--lock", "--as", "anna")
	out := ok(t, "annotate", study, "--task", "fields", "--lock", "--as", "anna", "--declare", "I saw no answer of any arm")
	if !strings.Contains(out, "MD5") || !strings.Contains(out, "SHA-256") {
		t.Error(out)
	}
	gold := filepath.Join("annotations", annotate.GoldFile("fields"))
	out = ok(t, "run", study, "-o", "data.gold="+gold, "--json")
	if !strings.Contains(out, `"items":10`) {
		t.Errorf("the run has not the ten documents: %.300s", out)
	}
	refusedWith(t, exitNotAllowed, "locked", "annotate", study, "--task", "fields", "--as", "ben")
	ok(t, "test", "ledger", "verify", study)
	edit(t, filepath.Join(dir, gold), "exists_in_document\":true", "exists_in_document\":false")
	for _, verb := range []string{"score", "run", "report", "validate", "plan", "gate"} {
		if _, errs, code := line(t, verb, study); code == exitOK || !strings.Contains(errs, "changed after the gold of task fields was locked") {
			t.Errorf("%s: exit code %d: %s", verb, code, errs)
		}
	}
}

// A task cannot change once it was drawn: it gets another name. The bundle has the people's
// files of both, and gold that another study of the folder locked, as the ledger has them.
func TestBundleOfARenamedTask(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	edit(t, study, "    again: {count: 15}\n", "")
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna")
	answerAll(t, urls["anna"], "fields", goldOf(t, dir))
	end()
	writeTestFile(t, filepath.Join(dir, "seen.csv"), "gold of another study\n")
	ok(t, "test", "lock", study, filepath.Join(dir, "seen.csv"), "--sign", "Anna", "--declare", "I saw no answer of any arm", "-o", "name=other")
	edit(t, study, "name: fields", "name: fields2")
	ok(t, "run", study)
	zip := filepath.Join(dir, "b.zip")
	ok(t, "bundle", study, "--out", zip)
	if out := ok(t, "verify", zip); !strings.Contains(out, "of people, as the ") {
		t.Errorf("verify says\n%s", out)
	}
}

// Documents without any gold: people make it, and the study, which names the file from
// the start, runs against it. Until then only annotate opens the study.
func TestGoldOfDocumentsWithoutAny(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	know := goldOf(t, dir)
	path := filepath.Join(dir, "data", "contracts.jsonl")
	data, err := os.ReadFile(path)
	must(t, err)
	var bare bytes.Buffer
	for l := range bytes.Lines(data) {
		var d map[string]any
		must(t, json.Unmarshal(l, &d))
		delete(d, "ground_truth")
		line, err := json.Marshal(d)
		must(t, err)
		bare.Write(append(line, '\n'))
	}
	must(t, os.WriteFile(path, bare.Bytes(), 0o600))
	edit(t, study, "    again: {count: 15}\n", "")
	for _, verb := range []string{"validate", "run"} {
		refusedWith(t, exitUsage, "let people make gold with `scruple annotate`", verb, study)
	}
	edit(t, study, "path: data/contracts.jsonl}", "path: data/contracts.jsonl, gold: annotations/fields.gold.jsonl}")
	edit(t, study, "    draw: 20\n", "    draw: 5\n")
	refusedWith(t, exitUsage, "people make it with `scruple annotate`", "run", study)
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna")
	if n := answerAll(t, urls["anna"], "fields", know); n != 70 {
		t.Errorf("answered %d, want 10 documents of 7 fields", n)
	}
	end()
	ok(t, "annotate", study, "--task", "fields", "--lock", "--as", "anna", "--declare", "I saw no answer of any arm")
	out := ok(t, "run", study, "--json")
	if !strings.Contains(out, `"items":10`) || !strings.Contains(out, "composite") {
		t.Errorf("the run has not ten documents with scores: %.300s", out)
	}
	// The arms' answers to the same documents can be judged now.
	urls, end = startServer(t, "annotate", study, "--task", "claims", "--as", "anna")
	defer end()
	if f, status := read(t, urls["anna"]+"t/claims/"); status != 200 || f.shown == "" {
		t.Errorf("claims of the run: %d %.300s", status, f.body)
	}
}

// Two people code the same claims, differ, and a third decides; the numbers are those
// of scruple stats, and the report compares the judge with people.
func TestAgreementAdjudicationAndJudge(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	ok(t, "run", study)
	urls, end := startServer(t, "annotate", study, "--task", "claims", "--as", "anna", "--as", "ben")
	label := map[bool]string{true: "grounded", false: "not grounded"}
	// Answers depend on what is shown alone: the data have one document twice.
	says := func(f form, person string) bool {
		n := int(f.shown[0]) + int(f.shown[1])
		return (n%4 != 0) != (person == "ben" && f.shown[2] == '7')
	}
	answerAll(t, urls["anna"], "claims", func(f form) map[string]any {
		return map[string]any{"grounded": label[says(f, "anna")]}
	})
	var a, b []string
	differ := 0
	answerAll(t, urls["ben"], "claims", func(f form) map[string]any {
		a, b = append(a, label[says(f, "anna")]), append(b, label[says(f, "ben")])
		if a[len(a)-1] != b[len(b)-1] {
			differ++
		}
		return map[string]any{"grounded": label[says(f, "ben")]}
	})
	end()

	// Numbers of agreement are those of scruple stats.
	var printed struct {
		Agreements []struct {
			N     int `json:"n"`
			Cohen struct {
				Value float64 `json:"value"`
			} `json:"cohen_kappa"`
		} `json:"agreements"`
	}
	must(t, json.Unmarshal([]byte(ok(t, "annotate", study, "--task", "claims", "--agreement", "--json")), &printed))
	got := printed.Agreements
	csv := "a,b\n"
	for k := range a {
		csv += a[k] + "," + b[k] + "\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "both.csv"), []byte(csv), 0o600))
	var want map[string]any
	must(t, json.Unmarshal([]byte(ok(t, "stats", "cohen_kappa", "--csv", filepath.Join(dir, "both.csv"), "--cols", "a,b", "--json")), &want))
	if k := found(want, "kappa"); len(got) != 1 || got[0].N != len(a) || fmt.Sprintf("%.9f", got[0].Cohen.Value) != fmt.Sprintf("%.9f", k) {
		t.Errorf("%+v, want kappa %v of %d", got, k, len(a))
	}
	text := ok(t, "annotate", study, "--task", "claims", "--agreement")
	for _, words := range []string{"Cohen's kappa", "intraclass kappa", "Gwet's AC1", "anna and ben", "on grounded"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}

	urls, end = startServer(t, "annotate", study, "--task", "claims", "--as", "carol", "--adjudicate")
	decided := answerAll(t, urls["carol"], "claims", func(f form) map[string]any {
		for _, name := range []string{"anna", "ben"} {
			if regexp.MustCompile(`\b` + name + `\b`).MatchString(f.body) {
				t.Errorf("the page names %s", name)
			}
		}
		if !strings.Contains(f.body, "Judgement A") || !strings.Contains(f.body, "Judgement B") {
			t.Error("the page does not show both judgements")
		}
		return map[string]any{"grounded": "grounded"}
	})
	end()
	if decided != differ || differ == 0 {
		t.Errorf("decided %d, want %d", decided, differ)
	}
	ok(t, "test", "ledger", "verify", study)

	first := ok(t, "score", study)
	if !strings.Contains(first, "task claims: ") {
		t.Errorf("no verdicts were added: %s", first)
	}
	if again := ok(t, "score", study); strings.Contains(again, "verdicts of people added") {
		t.Errorf("verdicts were added twice: %s", again)
	}
	report := ok(t, "report", study, "--format", "markdown")
	for _, words := range []string{"Judge and people, on the same units", "Judged rates, corrected by people", "Errors of the judge by type"} {
		if !strings.Contains(report, words) {
			t.Errorf("the report has no %q", words)
		}
	}

	// The page of judges has the counts of the report, and where they differ.
	var stored struct {
		J struct {
			Both    int `json:"both_yes"`
			Judge   int `json:"judge_only_yes"`
			People  int `json:"people_only_yes"`
			Neither int `json:"both_no"`
		} `json:"judge_and_people"`
	}
	var whole map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(ok(t, "report", study, "--format", "json")), &whole))
	must(t, json.Unmarshal(whole["analysis"], &stored))
	page, status := read(t, startView(t, study)+"r/contracts-1/judge")
	same, differing := stored.J.Both+stored.J.Neither, stored.J.Judge+stored.J.People
	if said := fmt.Sprintf("%d of %d", same, same+differing); status != 200 || differing == 0 || !strings.Contains(page.body, said) || strings.Count(page.body, "<tr data-row>") != differing {
		t.Errorf("the page of judges has no %s, or not %d differences:\n%s", said, differing, page.body)
	}

	// A bundle has their work, and it is checked without the study.
	packed := filepath.Join(t.TempDir(), "people.zip")
	ok(t, "bundle", study, "--out", packed)
	must(t, os.RemoveAll(dir))
	verified := ok(t, "verify", packed)
	for _, words := range []string{"entries, chained", "files of people, as the ", "the same bytes"} {
		if !strings.Contains(verified, words) {
			t.Errorf("no %q in\n%s", words, verified)
		}
	}
}

// The owner's pages have the numbers of --agreement and of scruple stats, and nobody
// else can open them. The owner cannot answer.
func TestOwnersPages(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	edit(t, study, "    again: {count: 15}\n", "")
	edit(t, study, "    draw: 10\n", "    draw: 3\n")
	urls, end := startServer(t, "annotate", study, "--task", "fields", "--as", "anna", "--as", "ben")
	know := goldOf(t, dir)
	var exists [][2]string
	answerAll(t, urls["anna"], "fields", know)
	answerAll(t, urls["ben"], "fields", func(f form) map[string]any {
		right := know(f)
		said := right
		if len(exists)%5 == 0 {
			said = map[string]any{"exists": "missing"}
		}
		exists = append(exists, [2]string{fmt.Sprint(right["exists"]), fmt.Sprint(said["exists"])})
		return said
	})
	csv := "a,b\n"
	for _, e := range exists {
		csv += e[0] + "," + e[1] + "\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "both.csv"), []byte(csv), 0o600))
	var want map[string]any
	must(t, json.Unmarshal([]byte(ok(t, "stats", "cohen_kappa", "--csv", filepath.Join(dir, "both.csv"), "--cols", "a,b", "--json")), &want))
	kappa := fmt.Sprintf("%.3f", found(want, "kappa"))

	page, _ := read(t, urls["Owner"]+"reliability")
	text := html.UnescapeString(page.body)
	for _, words := range []string{"<th scope=\"row\">Cohen's kappa</th><td>" + kappa + "</td>", "n = 21", "anna and ben", "Gold: the same value, or none", "more than 80 %", "a screen, not a measurement"} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in the page", words)
		}
	}
	printed := ok(t, "annotate", study, "--task", "fields", "--agreement")
	if !strings.Contains(printed, kappa) || !strings.Contains(printed, "Gold: the same value, or none") {
		t.Errorf("no kappa of %s in\n%s", kappa, printed)
	}

	for _, path := range []string{"reliability", "lock/fields"} {
		if _, status := read(t, urls["anna"]+path); status != 404 {
			t.Errorf("anna gets %s: %d", path, status)
		}
	}
	lock := func(who, task string, body any) (int, string) {
		data, err := json.Marshal(body)
		must(t, err)
		resp, err := http.Post(urls[who]+"lock/"+task, "application/json", bytes.NewReader(data))
		must(t, err)
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, string(said)
	}
	good := map[string]string{"name": "anna", "declaration": "I saw no answer of any arm"}
	gold := filepath.Join(dir, "annotations", annotate.GoldFile("fields"))
	for _, test := range []struct {
		name, who, task string
		body            any
		status          int
		words           string
	}{
		{"not the owner", "anna", "fields", good, 404, ""},
		{"people differ", "Owner", "fields", good, 409, "answers that differ"},
		{"no task", "Owner", "claims", good, 404, "no such task"},
		{"a path", "Owner", "..%2f..%2fetc", good, 404, ""},
		{"no name", "Owner", "fields", map[string]string{"declaration": "x"}, 422, "name"},
		{"no JSON", "Owner", "fields", "x", 400, "not locked"},
		{"an unknown key", "Owner", "fields", map[string]string{"name": "anna", "declaration": "x", "force": "yes"}, 400, "force"},
	} {
		if status, said := lock(test.who, test.task, test.body); status != test.status || !strings.Contains(said, test.words) {
			t.Errorf("%s: %d %s", test.name, status, said)
		}
	}
	if _, status := read(t, urls["Owner"]+"t/fields/"); status != 404 {
		t.Errorf("the owner can answer: %d", status)
	}
	if status, _ := post(t, urls["Owner"], form{task: "fields", kind: "break"}, nil); status != 404 && status != 405 {
		t.Errorf("the owner can send events: %d", status)
	}
	if _, err := os.Stat(gold); err == nil {
		t.Error("a refused lock wrote gold")
	}
	end()

	urls, end = startServer(t, "annotate", study, "--task", "fields", "--as", "carol", "--adjudicate")
	answerAll(t, urls["carol"], "fields", know)
	if status, said := lock("Owner", "fields", map[string]string{"name": "carol", "declaration": " "}); status != 409 || !strings.Contains(said, "declaration") {
		t.Errorf("a lock without a declaration: %d %s", status, said)
	}
	if status, said := lock("Owner", "fields", good); status != 200 || !strings.Contains(said, "sha256") {
		t.Errorf("a lock: %d %s", status, said)
	}
	if status, said := lock("Owner", "fields", good); status != 409 || !strings.Contains(said, "locked") {
		t.Errorf("a second lock: %d %s", status, said)
	}
	if f, _ := read(t, urls["carol"]+"t/fields/"); !strings.Contains(f.body, "locked") {
		t.Error("the page of a locked task does not say so")
	}
	end()
	refusedWith(t, exitNotAllowed, "locked", "annotate", study, "--task", "fields", "--as", "anna")
	ok(t, "test", "ledger", "verify", study)
}

// A recorded judge of spans is measured by people, who see neither what it said nor gold.
func TestJudgeOfSpansAndPeople(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, shipped("spans")))
	study := filepath.Join(dir, "study.yaml")
	edit(t, study, "  secondary: [error_rate, false_positive_rate, confidence_ece, confidence_auroc, precision, recall, partial_f1, macro_f1]\n", "")
	data, err := os.ReadFile(study)
	must(t, err)
	must(t, os.WriteFile(study, append(data, `
statistics: {resamples: 1000}
annotation:
  - name: right
    of: unit
    arms: [run1]
    show: [lead, pages, answer]
    draw: 6
    judge: true
    ask:
      - {name: right, type: choice, text: Is the span right?, options: ["yes", "no"]}
`...), 0o600))
	ok(t, "run", study)
	urls, end := startServer(t, "annotate", study, "--as", "anna")
	n := answerAll(t, urls["anna"], "right", func(f form) map[string]any {
		for _, word := range []string{"run1", "false positive", "totalScore", "data-page=\"2\""} {
			if strings.Contains(f.body, word) {
				t.Errorf("the page has %q", word)
			}
		}
		if !strings.Contains(f.body, "data-page=\"1\"") || !regexp.MustCompile(`\[\d+\] `).MatchString(f.body) {
			t.Error("the page has not the text and the span")
		}
		return map[string]any{"right": map[bool]string{true: "yes", false: "no"}[f.shown[0] > '2']}
	})
	end()
	if n < 24 {
		t.Errorf("only %d spans of 6 texts", n)
	}
	ok(t, "score", study)
	report := ok(t, "report", study, "--format", "markdown")
	var judged int
	if at := strings.Index(report, "People judged "); at >= 0 {
		fmt.Sscanf(report[at:], "People judged %d of", &judged)
	}
	if judged < 12 || judged > n { // the recorded judge failed on some texts
		t.Errorf("%d of %d answers are compared with the judge", judged, n)
	}
	for _, words := range []string{"Judge and people, on the same units", "Judged rates, corrected by people"} {
		if !strings.Contains(report, words) {
			t.Errorf("the report has no %q", words)
		}
	}
}

// found returns the number of a key anywhere in a JSON value.
func found(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		if x, ok := v[key]; ok {
			return x
		}
		for _, x := range v {
			if y := found(x, key); y != nil {
				return y
			}
		}
	case []any:
		for _, x := range v {
			if y := found(x, key); y != nil {
				return y
			}
		}
	}
	return nil
}

// What a server refuses, it refuses in words, and nothing changes.
func TestAnnotationRefusals(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	ok(t, "run", study)
	urls, end := startServer(t, "annotate", study, "--as", "anna", "--as", "ben")
	base := urls["anna"]
	f, _ := read(t, base+"t/claims/")
	file := filepath.Join(dir, "annotations", "claims", "anna.jsonl")
	before, err := os.ReadFile(file)
	must(t, err)
	good := map[string]any{"grounded": "grounded"}
	for _, test := range []struct {
		name   string
		with   map[string]any
		status int
		words  string
	}{
		{"other text", map[string]any{"answer": good, "shown": strings.Repeat("0", 64)}, 409, "reload the page"},
		{"an answer that is no option", map[string]any{"answer": map[string]any{"grounded": "perhaps"}}, 422, `\"perhaps\" is not an option`},
		{"no answer", nil, 422, "missing answer"},
		{"an answer to no question", map[string]any{"answer": map[string]any{"grounded": "grounded", "x": 1}}, 422, `asks no \"x\"`},
		{"another type", map[string]any{"answer": map[string]any{"grounded": 1}}, 422, "want a string"},
		{"a key with a path", map[string]any{"answer": good, "key": "../../ben"}, 404, "not in your queue"},
		{"a task with a path", map[string]any{"answer": good, "task": "../claims"}, 404, "no such task"},
		{"an id with a path", map[string]any{"answer": good, "id": "../../../../etc/passwd"}, 400, "no valid id"},
		{"no reason to skip", map[string]any{"kind": "skip"}, 422, "reason"},
		{"another kind", map[string]any{"kind": "reveal"}, 400, "unknown event"},
		{"an unknown key of JSON", map[string]any{"admin": true}, 400, "admin"},
		{"more active time than time", map[string]any{"answer": good, "active_ms": 9000000}, 400, "active time"},
		{"a body that is too large", map[string]any{"reason": strings.Repeat("x", 1<<20)}, 413, "1048576"},
		{"a change of what was not answered", map[string]any{"kind": "revise", "answer": good, "reason": "better"}, 409, "cannot be changed"},
		{"a decision on a server of answers", map[string]any{"kind": "adjudicate", "answer": good, "reason": "better"}, 400, "--adjudicate"},
	} {
		if status, said := post(t, base, f, test.with); status != test.status || !strings.Contains(said, test.words) {
			t.Errorf("%s: %d %s, want %d %q", test.name, status, said, test.status, test.words)
		}
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("a refused event changed the file")
	}
	if _, status := read(t, urls["ben"]+"t/claims/"+f.key); status != 404 {
		t.Error("ben can open a page of anna")
	}
	if _, status := read(t, strings.TrimSuffix(base, "/")+"0/"+"t/claims/"); status != 404 {
		t.Error("a wrong secret is accepted")
	}

	for header, value := range map[string]string{"Origin": "http://evil.example", "Host": "evil.example", "Content-Type": "text/plain"} {
		r, err := http.NewRequest("POST", base+"event", strings.NewReader("{}"))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, value)
		if header == "Host" {
			r.Host = value
		}
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != 403 && resp.StatusCode != 415 {
			t.Errorf("%s %s: %d", header, value, resp.StatusCode)
		}
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("a request of another site changed the file")
	}

	// Nothing that can be reached with the address names an arm, an item, gold or a person
	// other than the own one.
	seen := map[string]bool{}
	var crawl func(url string)
	crawl = func(url string) {
		f, _ := read(t, url)
		if seen[f.url] || !strings.HasPrefix(f.url, base) {
			return
		}
		seen[f.url] = true
		for _, word := range []string{"heuristic", "null_baseline", "cuad-", "composite", "ground_truth", " ben", `"gold"`} {
			if strings.Contains(strings.ReplaceAll(f.body, "best", ""), word) && !strings.Contains(f.body, "data-page") {
				t.Errorf("%s says %q", f.url, word)
			} else if shell := regexp.MustCompile(`(?s)<div class="text.*?</div>`).ReplaceAllString(f.body, ""); strings.Contains(shell, word) {
				t.Errorf("%s says %q around the text", f.url, word)
			}
		}
		here, err := neturl.Parse(f.url)
		must(t, err)
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(f.body, -1) {
			to, err := here.Parse(html.UnescapeString(m[1]))
			must(t, err)
			crawl(to.String())
		}
	}
	crawl(base)
	if len(seen) < 5 {
		t.Errorf("the crawl found only %v", seen)
	}

	// A re-send is harmless; a second window is told.
	id := freshID()
	for range 2 {
		if status, said := post(t, base, f, map[string]any{"id": id, "answer": good}); status != 200 {
			t.Fatal(said)
		}
	}
	if status, said := post(t, base, f, map[string]any{"answer": good}); status != 409 || !strings.Contains(said, "another window") {
		t.Errorf("%d %s", status, said)
	}
	end()
	entries, err := ledger.Read(file)
	must(t, err)
	submitted := 0
	for _, e := range entries {
		if e.Kind == "submit" {
			submitted++
		}
	}
	if submitted != 1 {
		t.Errorf("%d answers are stored, want 1", submitted)
	}

	// Files that were tampered with are refused with the line, and stay as they are.
	data, err := os.ReadFile(file)
	must(t, err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for name, test := range map[string]struct {
		data  []byte
		words string
	}{
		"edited":    {bytes.Replace(data, []byte(`"grounded":"grounded"`), []byte(`"grounded":"not grounded"`), 1), "anna.jsonl:2:"},
		"cut":       {bytes.Join(lines[:len(lines)-2], nil), "anna.jsonl:3: the file ends"},
		"reordered": {bytes.Join([][]byte{lines[1], lines[0], lines[2]}, nil), "anna.jsonl:1:"},
	} {
		must(t, os.WriteFile(file, test.data, 0o600))
		refusedWith(t, exitUsage, test.words, "annotate", study, "--task", "claims", "--agreement")
		refusedWith(t, exitNotAllowed, test.words, "test", "ledger", "verify", study)
		if _, errs, code := line(t, "score", study); code == exitOK || !strings.Contains(errs, test.words) {
			t.Errorf("%s: score: %d %s", name, code, errs)
		}
	}
	must(t, os.WriteFile(file, data, 0o600))
	ok(t, "test", "ledger", "verify", study)

	refusedWith(t, exitUsage, "--as", "annotate", study, "--as", "../anna")
	refusedWith(t, exitUsage, "the tasks of the study are fields, claims", "annotate", study, "--task", "../claims")
	edit(t, study, "arms: [heuristic]", "arms: [heuristic, null_baseline]")
	refusedWith(t, exitUsage, "task claims changed since its subjects were drawn", "annotate", study, "--task", "claims", "--as", "anna")
}
