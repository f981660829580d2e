//go:build e2e

package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/scruple-eval/scruple/internal/ledger"
)

// panelStudy copies the example with a second round that opens at once.
func panelStudy(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, shipped("soundness")))
	file = filepath.Join(dir, "study.yaml")
	edit(t, file, "again: {count: 10, after: 12, gap: 24h}", "again: {count: 10, after: 20, gap: 1ms}\n    memo: [Time taken, Boundary cases]")
	edit(t, file, "session: 12 ", "session: 20 ")
	edit(t, file, "again: {share: 0.2, gap: 24h}", "again: {share: 0.2, gap: 1ms}")
	return dir, file
}

const rationale = "The criteria are named. The evidence carries the conclusion, and limits are stated."

// judged gives the answer of a person on the page of an assessment by keys alone.
func (p *reader) judge(label string) {
	p.t.Helper()
	p.keys(label)
	p.until("document.querySelector('[data-name=label] input:checked')")
	p.press("w")
	p.write(rationale)
	p.until("document.querySelector('[data-name=rationale] .count').textContent.includes('2 sentences')")
	p.keys(kb.Escape)
	p.press("d")
	p.keys("2")
	p.keys("4")
	p.press("b")
	p.keys("1")
	p.until("document.querySelectorAll('.answer input:checked').length === 4")
}

// next submits and waits for the next page.
func (p *reader) next() {
	p.t.Helper()
	before := is[string](p, "location.href")
	p.submit()
	p.until(fmt.Sprintf("location.href !== %q", before))
}

// The expert's work in a browser: twenty fragments by keyboard alone, with a reload in
// the middle that loses nothing, a break, ten fragments again without the first answers,
// the rest, notes, and the lock. Kappa is that of `scruple stats`, and locked gold cannot
// be changed.
func TestExpertAtTheKeyboard(t *testing.T) {
	t.Parallel()
	dir, study := panelStudy(t)
	urls, end := startServer(t, "annotate", study, "--task", "gold", "--as", "anna")
	p := newReader(t, urls["anna"])
	p.open(urls["anna"] + "t/gold/")
	for i := range 20 {
		if h := p.heading(); !strings.Contains(h, fmt.Sprintf("? %d of 24", i+1)) {
			t.Fatalf("page %d is %q", i+1, h)
		}
		if i == 10 {
			p.judge("2")
			p.until("document.querySelector('#status').textContent.startsWith('Draft saved')")
			must(t, chromedp.Do(p.ctx, chromedp.Reload()))
			p.until("document.querySelectorAll('.answer input:checked').length === 4")
			if text := is[string](p, "document.querySelector('[name=rationale]').value"); text != rationale {
				t.Errorf("after a reload the rationale is %q", text)
			}
		} else {
			if n := is[int](p, "document.querySelectorAll('.answer input:checked').length"); n != 0 {
				t.Fatalf("page %d: an answer is filled in", i+1)
			}
			p.judge([]string{"1", "2"}[i%2])
		}
		if i == 0 {
			if n := is[int](p, "document.querySelectorAll('.checklist li').length"); n != 22 {
				t.Errorf("the checklist has %d points, want 22", n)
			}
			p.shot("soundness-gold.png")
		}
		p.next()
	}
	if h := p.heading(); h != "Time for a break" {
		t.Fatalf("after twenty answers the page is %q", h)
	}
	p.shot("soundness-break.png")
	is[bool](p, "(document.querySelector('#continue').focus(), true)")
	p.keys(kb.Enter)
	for i := range 10 {
		p.until("document.querySelector('#heading')?.textContent.includes('second round')")
		p.heading()
		body := is[string](p, "document.documentElement.outerHTML")
		filled := is[int](p, "document.querySelectorAll('.answer input:checked').length + [...document.querySelectorAll('.answer textarea')].filter(a => a.value).length")
		if filled != 0 || strings.Contains(body, rationale) || is[bool](p, "!!document.querySelector('#back')") && i == 0 {
			t.Fatalf("the second round shows a first answer (%d fields)", filled)
		}
		p.judge([]string{"1", "2", "2"}[i%3])
		p.next()
	}
	for range 4 {
		p.until("document.querySelector('#heading') && !document.querySelector('#heading').textContent.includes('second round')")
		p.heading()
		p.judge("1")
		p.next()
	}
	if h := p.heading(); h != "Done" {
		t.Errorf("at the end the page is %q", h)
	}

	// Notes: on a topic, on the session, and on an answer that differs.
	p.open(urls["anna"] + "t/gold/notes")
	areas := is[int](p, "document.querySelectorAll('.note textarea').length")
	for i := range areas {
		is[bool](p, fmt.Sprintf("(document.querySelectorAll('.note textarea')[%d].focus(), true)", i))
		p.keys(fmt.Sprintf("Note %d.", i))
		p.until("document.querySelector('#status').textContent.startsWith('Saved')")
	}
	p.fits("notes")
	p.shot("soundness-notes.png")
	p.open(urls["anna"] + "t/gold/notes")
	if text := is[string](p, fmt.Sprintf("document.querySelectorAll('.note textarea')[%d].value", areas-1)); text != fmt.Sprintf("Note %d.", areas-1) {
		t.Errorf("the last note is %q", text)
	}
	p.content("the expert's pages")
	end()

	kappaIsTheOracle(t, dir, study)

	// Only complete gold is locked; then the study reads this gold or none.
	refusedWith(t, exitUsage, "declaration", "annotate", study, "--task", "gold", "--lock", "--as", "anna")
	out := ok(t, "annotate", study, "--task", "gold", "--lock", "--as", "anna", "--sign", "Anna Example", "--declare", "Judgements established. They will not be revised based on model outputs.")
	gold := filepath.Join(dir, "annotations", lockedName(t, out))
	refusedWith(t, exitNotAllowed, "name the locked file in the study", "validate", study)
	edit(t, study, "path: data/gold_standard.csv", "path: annotations/"+filepath.Base(gold))
	ok(t, "validate", study)
	data, err := os.ReadFile(gold)
	must(t, err)
	if info, err := os.Stat(gold); err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("the gold can be written: %v", info.Mode())
	}
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	must(t, err)
	if len(rows) != 25 || !slices.Equal(rows[1][2:5], []string{rationale, "2,4", "False"}) {
		t.Errorf("%d rows, the first %q", len(rows), rows[1])
	}
	refusedWith(t, exitNotAllowed, "locked", "annotate", study, "--task", "gold", "--as", "anna")
	for _, change := range []string{strings.Replace(string(data), "sound", "not_sound", 1), "\ufeff" + strings.ReplaceAll(string(data), "\n", "\r\n")} {
		must(t, os.Chmod(gold, 0o600))
		must(t, os.WriteFile(gold, []byte(change), 0o600))
		for _, verb := range []string{"validate", "run", "annotate"} {
			refusedWith(t, exitNotAllowed, "locked gold is never revised", verb, study)
			refusedWith(t, exitNotAllowed, "locked gold is never revised", verb, study, "-o", "name=other")
		}
	}
	must(t, os.WriteFile(gold, data, 0o600))
	ok(t, "validate", study)

	ok(t, "soundness", "appendix", study) // beside the reports
	appendices, err := filepath.Glob(filepath.Join(dir, "results", "*", "appendices"))
	must(t, err)
	if len(appendices) != 1 {
		t.Fatalf("the appendices are in %q", appendices)
	}
	for name, want := range map[string][]string{
		"E2_session_log.md":       {"| 1 | 20", "| 20 | 0 | 0 | 1 |", "| 4 | 10 | 0 | 0 |", "Note "}, // a break ends a session,
		"E3_consistency_check.md": {"Cohen's kappa", "target of 0.80", "First answer", "Note\nNote "},
		"E4_lock_declaration.md":  {"They will not be revised based on model outputs.", "Anna Example", hashOfBytes(data), "| MD5 |"},
	} {
		text, err := os.ReadFile(filepath.Join(appendices[0], name))
		must(t, err)
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s has no %q:\n%s", name, w, text)
			}
		}
	}
}

func lockedName(t *testing.T, out string) string {
	t.Helper()
	name := regexp.MustCompile(`gold_standard_locked_\d{4}-\d\d-\d\d\.csv`).FindString(out)
	if name == "" {
		t.Fatal(out)
	}
	return name
}

// kappaIsTheOracle compares the agreement of the two rounds with `scruple stats`.
func kappaIsTheOracle(t *testing.T, dir, study string) {
	t.Helper()
	entries, err := ledger.Read(filepath.Join(dir, "annotations", "gold", "anna.jsonl"))
	must(t, err)
	label := map[[2]string]string{}
	for _, e := range entries {
		var data struct {
			Pass    int
			Subject struct{ Item string }
			Answer  struct{ Label string }
		}
		must(t, json.Unmarshal(e.Data, &data))
		if e.Kind == "submit" {
			label[[2]string{data.Subject.Item, fmt.Sprint(data.Pass)}] = data.Answer.Label
		}
	}
	table := "item,a,b\n"
	n := 0
	for k, second := range label {
		if k[1] == "2" {
			table += k[0] + "," + label[[2]string{k[0], "1"}] + "," + second + "\n"
			n++
		}
	}
	file := filepath.Join(dir, "rounds.csv")
	must(t, os.WriteFile(file, []byte(table), 0o600))
	var oracle struct{ Unweighted struct{ Kappa float64 } }
	must(t, json.Unmarshal([]byte(ok(t, "stats", "cohen_kappa", "--csv", file, "--cols", "rater_a=a,rater_b=b", "--json")), &oracle))
	type compared struct {
		Question string
		N        int
		Again    bool
		Target   float64
		Cohen    struct{ Value float64 } `json:"cohen_kappa"`
	}
	var said struct{ Agreements []compared }
	must(t, json.Unmarshal([]byte(ok(t, "annotate", study, "--task", "gold", "--agreement", "--json")), &said))
	list := said.Agreements
	i := slices.IndexFunc(list, func(g compared) bool { return g.Question == "Label" })
	if i < 0 || list[i].N != 10 || n != 10 || !list[i].Again || list[i].Target != 0.8 {
		t.Fatalf("%d pairs, %+v", n, list)
	}
	want := oracle.Unweighted.Kappa
	if got := list[i].Cohen.Value; got-want > 1e-12 || want-got > 1e-12 || want == 1 {
		t.Errorf("kappa %v, oracle %v", got, want)
	}
}

// The whole study: two sessions of models, ambiguous runs decided, failures coded, a fifth
// of them twice, and a deposit that scores to the same bytes.
func TestPanelStudyIsCodedDecidedAndDeposited(t *testing.T) {
	t.Parallel()
	dir, study := panelStudy(t)
	ok(t, "test", "lock", study, "--sign", "Anna Example", "--declare", "Judgements established. They will not be revised based on model outputs.")
	ok(t, "run", study, "--max-calls", "440")
	ok(t, "run", study)

	// Labels that the reader leaves to people, and some that it read, by the answer alone. The
	// queue of coherence waits for them.
	urls, end := startServer(t, "annotate", study, "--task", "labels", "--as", "anna")
	labels := answerAll(t, urls["anna"], "labels", func(f form) map[string]any {
		switch {
		case strings.Contains(f.body, "not_sound&#34;"):
			return map[string]any{"label": "not_sound"}
		case strings.Contains(f.body, "sound&#34;"):
			return map[string]any{"label": "sound"}
		}
		return map[string]any{"label": "no single label"}
	})
	end()
	if labels < 41 {
		t.Errorf("%d answers were to be read", labels)
	}
	ok(t, "score", study)
	if said := ok(t, "annotate", study, "--task", "labels", "--agreement"); !strings.Contains(said, "kappa") {
		t.Errorf("RC0 is\n%s", said)
	}

	// Coherence, blind: label and rationale, and nothing that says who wrote them.
	urls, end = startServer(t, "annotate", study, "--as", "anna")
	if n := answerAll(t, urls["anna"], "practice", func(f form) map[string]any {
		return map[string]any{"label": "sound", "rationale": rationale, "domains": []string{"Evidence base"}, "boundary": "yes", "boundary_notes": "Standards are a matter of degree."}
	}); n != 3 {
		t.Errorf("%d practice fragments, want 3", n)
	}
	for topic, note := range map[string]string{"memo: Time taken": "Ten minutes a fragment.", "session 1": "Tired."} {
		if status, said := post(t, urls["anna"], form{task: "practice", kind: "note"}, map[string]any{"topic": topic, "reason": note}); status != 200 {
			t.Error(said)
		}
	}
	read(t, urls["anna"]) // draws nothing from the queue of failures, which depends on this task
	hidden := regexp.MustCompile(`gpt_5|claude|gemini|deepseek|kimi|glm_4|zero_shot|few_shot|F_0\d\d`)
	decided := answerAll(t, urls["anna"], "coherence", func(f form) map[string]any {
		if found := hidden.FindString(f.body); found != "" {
			t.Errorf("the page shows %q", found)
		}
		if strings.Contains(f.body, "weaknesses are acknowledged") { // an ambiguous run
			return map[string]any{"coherence": "coherent"}
		}
		return map[string]any{"coherence": []string{"coherent", "incoherent"}[f.shown[0]%2]}
	})
	if decided < 40 {
		t.Errorf("%d runs were to be judged", decided)
	}
	if notes, status := read(t, urls["anna"]+"t/coherence/notes"); status != 200 || !strings.Contains(notes.body, "first subject ") || hidden.MatchString(notes.body) {
		t.Errorf("the notes of a blind queue (%d) are\n%s", status, notes.body)
	}
	end()
	before := exportedRows(t, study, "scored_database.csv")
	ok(t, "score", study)
	after := exportedRows(t, study, "scored_database.csv")
	if n := len(after); n != 1+864 {
		t.Errorf("%d rows", n)
	}
	manual, changed := slices.Index(after[0], "manual_coherence"), 0
	outcome := slices.Index(after[0], "run_outcome")
	for i := range after {
		if before[i][manual] != "None" && i > 0 {
			t.Errorf("row %d has a manual code before the score", i)
		}
		if after[i][outcome] != before[i][outcome] {
			changed++
		}
	}
	if changed == 0 {
		t.Error("manual codes change no outcome")
	}

	// Failures of the main model.
	urls, end = startServer(t, "annotate", study, "--task", "failures", "--as", "anna")
	run := regexp.MustCompile(`Run (\d), suggested`)
	n := 0
	code := func(f form) map[string]any {
		m := run.FindStringSubmatch(html.UnescapeString(f.body))
		if m == nil || !strings.Contains(f.body, "The expert&#39;s rationale") || strings.Contains(f.body, "zero_shot") {
			t.Fatalf("the page of a failure is %s", f.body)
		}
		n++
		return map[string]any{"primary": []string{"F4.1", "F2.2", "emergent"}[n%3], "secondary": "F6.3", "emergent": "reads the title only", "run": m[1], "justification": "The step is missing."}
	}
	coded := answerAll(t, urls["anna"], "failures", code)
	coded += answerAll(t, urls["anna"], "failures", code) // the second round has opened
	end()
	ok(t, "score", study)
	failures := exportedRows(t, study, "failure_codes_gpt_5.csv")
	again := (len(failures) - 1 + 4) / 5
	if len(failures) < 3 || coded != len(failures)-1+again {
		t.Errorf("%d answers, %d rows, want a fifth of them twice", coded, len(failures)-1)
	}
	if !slices.Equal(failures[0], strings.Split("fragment_id,prompt_condition,representative_run,primary_code,secondary_code,tertiary_code,domain,code_type,coding_justification,coding_date,coding_session", ",")) {
		t.Errorf("%q", failures[0])
	}

	ok(t, "soundness", "appendix", study, "--out", filepath.Join(dir, "appendices"))
	for name, want := range map[string][]string{
		"E1_calibration_memo.md":         {"3 practice items in 1 session", "P_001", "Standards are a matter of degree.", "Ten minutes a fragment.", "| 1 | 20", "| P_001 | P_003 | 3 | 0 | 0 | 0 |", "| Tired. |"},
		"F1_execution_log.md":            {"| 1 |", "| 2 |"},
		"H1_performance.md":              {"Executive summary", "glm_4_7"},
		"H3_failure_patterns.md":         {"Signature of the failures of gpt_5", "reads the title only", "Codes that occur together"},
		"H4_challenge_cases.md":          {"Jaccard"},
		"H5_validity_and_reliability.md": {"Reliability", "automatic / anna", "anna, first / anna, again", "Construct validity", "Gold to read again"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, "appendices", name))
		must(t, err)
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s has no %q:\n%s", name, w, text)
			}
		}
	}

	deposit := filepath.Join(dir, "deposit.zip")
	ok(t, "bundle", study, "--out", deposit)
	if out := ok(t, "verify", deposit); !strings.Contains(out, "the bundle is intact and its answers give its report") {
		t.Error(out)
	}
}

// exportedRows exports the study and reads one of the files.
func exportedRows(t *testing.T, study, name string) [][]string {
	t.Helper()
	dir := t.TempDir()
	ok(t, "export", study, "--format", "schemas", "--out", dir)
	f, err := os.Open(filepath.Join(dir, name))
	must(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	must(t, err)
	return rows
}
