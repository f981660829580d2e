package soundness

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
)

const codingTasks = `annotation:
 - {name: failures, queue: failures, again: {share: 0.2}}
`

// coder opens the starter study with a task about failures and its questions about
// validity.
func coder(t *testing.T) *bench {
	t.Helper()
	path := starter(t)
	write(t, path, "study.yaml", func(text string) string {
		i := strings.Index(text, "# People at work")
		return text[:i] + codingTasks + "validity: {harder_domain: Synthesis and integration, easier_domain: Evidence base, tacit_domain: \"Qualifications, transparency, limits\"}\n"
	})
	return opened(t, path)
}

const (
	strong = "The evidence is sufficient and the criteria are explicit; the argument is clear, well supported and coherent with the conclusion."
	poor   = "The evidence is insufficient and the criteria are missing; the argument is weak, unsupported and fails to justify the conclusion."
)

// answered is the trial of an answer that is right or wrong, coherently.
func answered(b *bench, f *Fragment, arm string, run int, right bool, vs ...eval.Verdict) eval.Judged {
	label := f.Gold.Label
	if !right {
		label = 1 - label
	}
	rationale := strong
	if b.labels[label].Side == "weakness" {
		rationale = poor
	}
	data, _ := json.Marshal(map[string]string{"classification": b.labels[label].Name, "label": b.labels[label].Name, "rationale": rationale})
	return eval.Judged{Trial: eval.Trial{Item: f.ID, Arm: arm, Replicate: run}, Outcome: eval.Outcome{Kind: eval.OK, Data: data}, Verdicts: vs}
}

func said(task string, round int, answer string) eval.Verdict {
	return eval.Verdict{Step: task, Source: eval.ByHuman, By: "anna", Round: round, At: "2026-03-04T10:00:00Z", Data: []byte(`{"answer":` + answer + `,"label":"x","session":2}`)}
}

// panel has an outcome of each fragment under each arm: fails says which fail.
func panel(b *bench, fails func(f *Fragment, a *arm) bool, codes map[string]string) []eval.Case {
	var list []eval.Case
	for _, f := range b.Data {
		for _, a := range b.OwnArms {
			c := eval.Case{Item: f.ID, Arm: a.ID}
			for run := 1; run <= 3; run++ {
				var vs []eval.Verdict
				if answer := codes[f.ID+" "+a.ID]; answer != "" && run == 1 {
					vs = append(vs, said("failures", 1, answer), said("failures", 2, `{"primary":"F6.6","run":1}`))
				}
				c.Trials = append(c.Trials, answered(b, f, a.ID, run, !fails(f, a), vs...))
			}
			list = append(list, c)
		}
	}
	return list
}

// outcomes are the cases of a run, with the statistics of the analysis.
type outcomes struct {
	eval.Results
	list []eval.Case
}

func (o outcomes) Cases() iter.Seq2[eval.Case, error] {
	return func(yield func(eval.Case, error) bool) {
		for _, c := range o.list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (o outcomes) Associate(tables [][2][2]int) (list []eval.Association) {
	for _, t := range tables {
		p, err := stats.Fisher([][]int{t[0][:], t[1][:]})
		if err != nil {
			p = 1
		}
		m, err := stats.McNemarTable(t, 0.95)
		if err != nil {
			panic(err)
		}
		n := float64(t[0][0]+t[0][1]+t[1][0]+t[1][1]) * float64(t[0][0])
		list = append(list, eval.Association{P: eval.Number(p), Paired: eval.Number(m.PExact), Lift: eval.Number(n / float64((t[0][0]+t[0][1])*(t[0][0]+t[1][0])))})
	}
	return list
}

func tables(t *testing.T, b *bench, list []eval.Case) map[string]*eval.Table {
	t.Helper()
	s := newSynthesis(b)
	for _, c := range list {
		s.add(b.cell(c))
	}
	by := map[string]*eval.Table{}
	for _, x := range s.blocks(outcomes{list: list}) {
		by[x.Table.Name] = x.Table
	}
	return by
}

// The main model fails on F_001 to F_004 without examples and on F_001 with them; the
// other model fails on all of these and on F_008.
func failing(b *bench) func(f *Fragment, a *arm) bool {
	return func(f *Fragment, a *arm) bool {
		switch {
		case a.Settings.ID != b.main:
			return f.ID <= "F_004" || f.ID == "F_008"
		case a.condition == "few_shot":
			return f.ID == "F_001"
		}
		return f.ID <= "F_004"
	}
}

// TestCodesOfAppendices: the codes of people alone have definitions to write, and an example has the
// answer that they coded, which need not be that of the first run.
func TestCodesOfAppendices(t *testing.T) {
	b := coder(t)
	s := newSynthesis(b)
	for _, c := range panel(b, failing(b), map[string]string{
		"F_001 zero_shot@able": `{"primary":"F4.1","secondary":"F2.2","run":2,"justification":"because"}`,
		"F_001 few_shot@able":  `{"primary":"emergent","emergent":"reads the title only","run":1,"justification":"because"}`,
	}) {
		s.add(b.cell(c))
	}
	s.order()
	if parts := s.emergentCodes(); len(parts) != 1 || parts[0].Heading != "reads the title only" || parts[0].Ask == "" {
		t.Errorf("codes of people: %+v", parts)
	}
	var names []string
	for _, p := range s.codePart("F4.1").Texts {
		names = append(names, p.Name)
	}
	if all := strings.Join(names, "; "); !strings.Contains(all, "zero_shot, run 2: ") || strings.Contains(all, "run 1") || !strings.HasSuffix(all, "; Coded F4.1, F2.2") {
		t.Errorf("the example of F4.1 has %s", all)
	}
}

func TestSynthesis(t *testing.T) {
	b := coder(t)
	codes := map[string]string{
		"F_001 zero_shot@able": `{"primary":"F4.1","secondary":"F2.2","run":1,"justification":"because"}`,
		"F_002 zero_shot@able": `{"primary":"F4.1","secondary":"F2.2","tertiary":"F6.3","run":2,"justification":"because"}`,
		"F_003 zero_shot@able": `{"primary":"F4.2","run":1,"justification":"because"}`,
		"F_001 few_shot@able":  `{"primary":"emergent","emergent":"reads the title only","run":1,"justification":"because"}`,
	}
	by := tables(t, b, panel(b, failing(b), codes))
	row := func(table, first string) []string {
		t.Helper()
		if by[table] == nil {
			t.Fatalf("no table %s", table)
		}
		for _, r := range by[table].Strings() {
			if r[0] == first {
				return r
			}
		}
		t.Fatalf("%s has no row %q: %q", table, first, by[table].Strings())
		return nil
	}
	for _, tt := range []struct {
		table string
		want  []string
	}{
		{"fragment_failures", []string{"zero_shot", "8", "4", "4", "0", "0", "3"}},
		{"fragment_failures", []string{"few_shot", "8", "1", "1", "0", "0", "1"}},
		{"failure_codes", []string{"F4.1", "criteria and evidence stand side by side", "2", "2", "50.0 %", "66.7 %", "0.0 %"}},
		{"failure_codes", []string{"reads the title only", "emergent: appendix D.2 has its definition", "1", "1", "25.0 %", "0.0 %", "100.0 %"}},
		{"failure_domains", []string{"Synthesis and integration", "3", "60.0 %", "F4.1 (2)", "100.0 %", "0.0 %", "0.250"}}, // Fisher of 3 of 3 and 0 of 1
		{"failure_origin", []string{"deductive", "3", "75.0 %", "6", "4"}},
		{"failure_origin", []string{"inductive", "1", "25.0 %", "1", "1"}},
		{"failure_signature", []string{"sequences of codes", "F4.1 → F2.2 (1), F4.1 → F2.2 → F6.3 (1)"}},
		// F4.1 and F2.2 are together in 2 of 4, never apart: lift 4·2/(2·2), Fisher 1/6·2.
		{"failure_co_occurrence", []string{"F2.2", "F4.1", "2", "0", "0", "2", "2.000", "0.333"}},
		// Domain 4 in 3 of 4, domain 2 in 2 of 4, one failure has only the first: exact 1.
		{"validity_questions", []string{"more failures in the first domain?", "Synthesis and integration: 3 of 4 (75.0 %)", "Evidence base: 2 of 4 (50.0 %)", "1.000"}},
		{"challenge_overlap", []string{"0", "4", "0", "4", "0.000"}}, // the panel has one other model
		{"gold_defensibility", []string{"F_001", b.labels[b.Datum("F_001").Gold.Label].Name, "False", "4 of 4", "2", ""}},
	} {
		if got := row(tt.table, tt.want[0]); !slices.Equal(got[:len(tt.want)], tt.want) {
			t.Errorf("%s\ngot  %q\nwant %q", tt.table, got, tt.want)
		}
	}
	if n := len(by["gold_defensibility"].Rows); n != 5 { // F_001–F_004, and F_008: 2 of 4
		t.Errorf("%d rows about gold, want 5", n)
	}
	if r := row("challenge_cases", "F_003"); r[2] != "2" || r[8] != "F4.2" || r[3] != "1: weak" {
		t.Errorf("%q", r)
	}
}

// Without a failure, or without codes, there are no shares of nothing.
func TestSynthesisOfNothing(t *testing.T) {
	b := coder(t)
	by := tables(t, b, panel(b, func(*Fragment, *arm) bool { return false }, nil))
	if by["failure_codes"] != nil || by["failure_co_occurrence"] != nil || len(by["challenge_cases"].Rows) != 0 || by["challenge_overlap"].Strings()[0][4] != "–" {
		t.Errorf("%+v", by)
	}
	by = tables(t, b, panel(b, func(f *Fragment, _ *arm) bool { return f.ID == "F_001" }, nil))
	if want := []string{"0", "– (not coded)", "–", "–", "–"}; !slices.Equal(by["challenge_overlap"].Strings()[0], want) {
		t.Errorf("overlap without codes: %q, want %q", by["challenge_overlap"].Strings()[0], want)
	}
}

func TestQueues(t *testing.T) {
	b := coder(t)
	cases := panel(b, failing(b), nil)
	queue, err := b.Queue(queueFailures, outcomes{list: cases}.Cases())
	if err != nil || len(queue) != 5 {
		t.Fatalf("%v (%v), want the five failures of the main model", queue, err)
	}
	for _, q := range queue {
		if !strings.HasSuffix(q.Trial.Arm, "@able") || q.Trial.Replicate != 1 {
			t.Errorf("%+v", q)
		}
	}
	all, err := b.Queue(queueCoherence, outcomes{list: cases}.Cases())
	if err != nil || len(all) != len(cases)*3 {
		t.Fatalf("%d answers (%v), want %d", len(all), err, len(cases)*3)
	}
	if _, err := b.Queue("nosuch", nil); err == nil || !strings.Contains(err.Error(), "label, coherence, failures, single") {
		t.Error(err)
	}
	c := cases[slices.IndexFunc(cases, func(c eval.Case) bool { return c.Item == "F_001" && c.Arm == "zero_shot@able" })]
	text := func(name string) string {
		t.Helper()
		parts, err := b.ShowQueued(name, c, 1)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(parts)
	}
	f := b.Datum("F_001")
	if s := text(queueCoherence); strings.Contains(s, f.Text) || strings.Contains(s, f.Gold.Rationale) || strings.Contains(s, "able") || strings.Contains(s, "shot") {
		t.Errorf("a blind page shows too much: %s", s)
	}
	if s := text(queueFailures); !strings.Contains(s, f.Text) || !strings.Contains(s, f.Gold.Rationale) || !strings.Contains(s, "Run 1, suggested") || !strings.Contains(s, "Run 3") || strings.Contains(s, "zero_shot") {
		t.Errorf("the page of a failure shows %s", s)
	}
}

// A label in doubt is undecided until people read it: then it is theirs, and the indicators
// or people decide on its coherence, since the judge was not asked. An answer in which they
// read no single label fails. Labels that are read surely stay.
func TestPeopleReadLabels(t *testing.T) {
	b := opened(t, starter(t), "annotation=[{name: labels, queue: label}, {name: coherence, queue: coherence}]")
	f := b.Datum("F_001")
	f.Gold.Label = 0
	text := func(s string) eval.Judged {
		return eval.Judged{Trial: eval.Trial{Item: f.ID, Arm: b.OwnArms[0].ID, Replicate: 1}, Outcome: b.outcome(eval.Response{Text: s, Stop: eval.StopEnd}, "")}
	}
	doubt := "It would be unfair to call this unsound. " + praise
	for name, test := range map[string]struct {
		answer   string
		verdicts []eval.Verdict
		want     string // label, reason, outcome, queue
	}{
		"in doubt":               {doubt, nil, "-1 unresolved_labels excluded in doubt"},
		"a person reads it":      {doubt, []eval.Verdict{human("labels", "a", "sound", 1)}, "0  pass in doubt"},
		"people differ":          {doubt, []eval.Verdict{human("labels", "a", "sound", 1), human("labels", "b", noLabel, 1)}, "-1 unresolved_labels excluded in doubt"},
		"a decision":             {doubt, []eval.Verdict{human("labels", "a", "sound", 1), human("labels", "b", noLabel, 1), human("labels", "c", "sound", 3)}, "0  pass in doubt"},
		"the other label":        {doubt, []eval.Verdict{human("labels", "a", "not_sound", 1)}, "1 unjudged excluded in doubt"},
		"and coherence":          {doubt, []eval.Verdict{human("labels", "a", "not_sound", 1), human("coherence", "a", incoherent, 1)}, "1  fail in doubt"},
		"no single label":        {doubt, []eval.Verdict{human("labels", "a", noLabel, 1)}, "-1 unresolved_labels fail in doubt"},
		"of another language":    {`{"classification": "fundiert", "rationale": "` + praise + `"}`, []eval.Verdict{human("labels", "a", "sound", 1)}, "0  pass in doubt"},
		"without a label":        {"All domains were weighed.", []eval.Verdict{human("labels", "a", noLabel, 1)}, "-1 broken_format excluded in doubt"},
		"too short":              {"One would call it sound.", []eval.Verdict{human("labels", "a", "sound", 1)}, "0 not_substantive fail in doubt"},
		"a sure one stays":       {"Sound. " + praise, []eval.Verdict{human("labels", "a", "not_sound", 1)}, "0  pass sound"},
		"a refusal has no label": {"I cannot evaluate this.", []eval.Verdict{human("labels", "a", "sound", 1)}, "-1 substantive_refusal fail "},
	} {
		j := text(test.answer)
		j.Verdicts = test.verdicts
		a := b.assess(f, &j)
		if got := fmt.Sprint(a.Label, " ", a.Reason, " ", a.outcome(), " ", b.readAs(&j.Outcome)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		c := eval.CaseOf(j.Trial, j.Outcome, j.Verdicts)
		parts, err := b.ShowQueued(queueLabel, c, 1)
		if err != nil || len(parts) != 1 || parts[0].Text != test.answer {
			t.Errorf("%s: the page shows %v, %v", name, parts, err)
		}
	}
	j := text(doubt)
	cases := outcomes{list: []eval.Case{eval.CaseOf(j.Trial, j.Outcome, nil)}}
	queue, err := b.Queue(queueLabel, cases.Cases())
	if err != nil || len(queue) != 1 || queue[0].Stratum != stratumDoubt {
		t.Errorf("%v, %v", queue, err)
	}
	if _, err := b.Queue(queueCoherence, cases.Cases()); err == nil || !strings.Contains(err.Error(), "the label of 1 run is in doubt: answer task labels") {
		t.Errorf("got %v", err)
	}
	task := b.complete(study.Task{Name: "labels", Queue: queueLabel})
	if f := task.Faults(); len(f) > 0 || !slices.Equal(task.Full().Ask[0].Options, []string{"sound", "not_sound", noLabel}) {
		t.Errorf("%v %+v", f, task)
	}
}

// Failures are drawn once, so they wait until people have decided on the ambiguous runs
// of the main model that can change them.
func TestFailuresWaitForCoherence(t *testing.T) {
	b := coder(t)
	f := b.Datum("F_001")
	ambiguousRun := func(arm string, run int, vs ...eval.Verdict) eval.Judged {
		j := answerOf(b, f.Gold.Label, mixed)
		j.Trial, j.Verdicts = eval.Trial{Item: f.ID, Arm: arm, Replicate: run}, vs
		return j
	}
	fails := func(arm string, run int) eval.Judged { return answered(b, f, arm, run, false) }
	passes := func(arm string, run int) eval.Judged { return answered(b, f, arm, run, true) }
	const main, other = "zero_shot@able", "zero_shot@weak"
	for name, test := range map[string]struct {
		arm    string
		trials []eval.Judged
		queue  int
		words  string // of the refusal
	}{
		"ambiguous":               {main, []eval.Judged{fails(main, 1), fails(main, 2), ambiguousRun(main, 3)}, 0, "1 run of able ambiguous; answer them in task coherence"},
		"decided":                 {main, []eval.Judged{fails(main, 1), fails(main, 2), ambiguousRun(main, 3, human(b.tasks.coherence, "anna", coherent, 1))}, 1, ""},
		"of another model":        {other, []eval.Judged{fails(other, 1), fails(other, 2), ambiguousRun(other, 3)}, 0, ""},
		"the others pass already": {main, []eval.Judged{passes(main, 1), passes(main, 2), ambiguousRun(main, 3)}, 0, ""},
	} {
		cases := outcomes{list: []eval.Case{{Item: f.ID, Arm: test.arm, Trials: test.trials}}}
		queue, err := b.Queue(queueFailures, cases.Cases())
		if len(queue) != test.queue || (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, %v", name, queue, err)
		}
	}
	doubts := eval.Verdict{Step: judgeStep, Source: eval.ByModel, Data: []byte(incoherent)}
	trials := []eval.Judged{ambiguousRun(main, 1, doubts), ambiguousRun(main, 2, doubts), ambiguousRun(main, 3, doubts)}
	if x := b.failed(b.cell(eval.Case{Item: f.ID, Arm: main, Trials: trials})); x == nil || x.kind != "" {
		t.Errorf("a failure whose runs are all ambiguous has no type yet: %+v", x)
	}
}

// Failures without codes may be in the tacit domain: the note says how many there are.
func TestUncodedFailuresAreNoted(t *testing.T) {
	b := coder(t)
	codes := map[string]string{
		"F_001 zero_shot@able": `{"primary":"F4.1","run":1,"justification":"because"}`,
		"F_001 few_shot@able":  `{"primary":"F4.1","run":1,"justification":"because"}`,
	}
	table := tables(t, b, panel(b, failing(b), codes))["validity_questions"]
	if table == nil || !strings.Contains(table.Note, "3 failures count without codes, which may be in that domain or not, as fragments without a failure in it.") {
		t.Errorf("%+v", table)
	}
}

// Criterion 2 and the shares of domains are of all failures, also of those without codes.
func TestSharesOfAllFailures(t *testing.T) {
	b := coder(t)
	codes := map[string]string{"F_001 zero_shot@able": `{"primary":"F4.1","run":1,"justification":"because"}`}
	by := tables(t, b, panel(b, func(_ *Fragment, a *arm) bool { return a.ID == "zero_shot@able" || a.ID == "few_shot@able" }, codes))
	if n := len(by["challenge_cases"].Rows); n != 0 { // one of 16 is less than 10 %
		t.Errorf("%d challenge cases: %q", n, by["challenge_cases"].Strings())
	}
	if got := by["failure_domains"].Strings()[3][2]; got != "6.2 %" || !strings.Contains(by["failure_domains"].Note, "15 failures have no codes yet") {
		t.Errorf("share %s; %s", got, by["failure_domains"].Note)
	}
}

// The suggested run is the one with the largest difference of indicators.
func TestRepresentativeRun(t *testing.T) {
	b := coder(t)
	f := b.Datum("F_001")
	c := eval.Case{Item: f.ID, Arm: "zero_shot@able"}
	for run := 1; run <= 3; run++ {
		c.Trials = append(c.Trials, answered(b, f, c.Arm, run, false))
	}
	long := string(c.Trials[1].Outcome.Data)
	for _, s := range []string{strong, poor} {
		long = strings.Replace(long, s, s+" "+s, 1)
	}
	c.Trials[1].Outcome.Data = []byte(long)
	if run := b.representative(b.cell(c), queueFailures); run != 2 {
		t.Errorf("run %d is suggested, want 2", run)
	}
	c.Trials[0] = answered(b, f, c.Arm, 1, true)
	c.Trials[2] = answered(b, f, c.Arm, 3, true)
	if run := b.representative(b.cell(c), queueFailures); run != 0 {
		t.Errorf("run %d of a fragment that passes is suggested", run)
	}
}

// The tasks get labels, checklist and codes from the study.
func TestTasks(t *testing.T) {
	b := coder(t)
	gold := b.complete(study.Task{Name: "gold", Kind: "assessment"})
	if f := gold.Faults(); len(f) > 0 || len(gold.Checklist) != 6 || len(gold.Full().Ask) != 5 {
		t.Errorf("%v %+v", f, gold.Full().Ask)
	}
	failures := b.complete(study.Task{Name: "failures", Queue: queueFailures})
	full := failures.Full()
	if f := failures.Faults(); len(f) > 0 || len(full.Ask[0].Options) != 23 || len(full.Ask[0].Notes) != 23 || full.Of != "trial" {
		t.Errorf("%v %+v", f, full)
	}
	coherence := b.complete(study.Task{Name: "coherence", Queue: queueCoherence})
	if f := coherence.Faults(); len(f) > 0 || len(coherence.Strata) != 3 {
		t.Errorf("%v %+v", f, coherence)
	}
}

// The gold that a lock writes is gold that the study reads.
func TestGoldFile(t *testing.T) {
	path := starter(t)
	b := opened(t, path)
	var settled []eval.ItemGold
	for i := range b.Data {
		boundary := `"no"`
		notes := ""
		if i == 2 {
			boundary, notes = `"yes"`, "evidence and warrant pull apart, \"strongly\""
		}
		note, _ := json.Marshal(notes)
		settled = append(settled, eval.ItemGold{Item: b.Data[i].ID, Session: 1 + i/4, At: "2026-03-04T23:00:00Z", Answer: map[string]json.RawMessage{
			"label": json.RawMessage(`"not_sound"`), "rationale": json.RawMessage(`" The evidence is thin. It does not carry the claim. "`),
			"domains": json.RawMessage(`["Argument structure","Evidence base"]`), "boundary": json.RawMessage(boundary), "boundary_notes": note}})
	}
	slices.Reverse(settled)
	name, data, err := b.GoldFile("2026-03-05", settled)
	if err != nil || name != "gold_standard_locked_2026-03-05.csv" {
		t.Fatal(name, err)
	}
	want := "fragment_id,expert_classification,expert_rationale,salient_domains,boundary_case_flag,boundary_case_notes,session_id,assessment_date\n" +
		"F_001,not_sound,The evidence is thin. It does not carry the claim.,\"2,3\",False,,1,2026-03-04\n"
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("got\n%s", data)
	}
	// A spreadsheet saves it with a byte order mark and CRLF.
	for _, form := range []string{string(data), "\ufeff" + strings.ReplaceAll(string(data), "\n", "\r\n")} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "data", name), []byte(form), 0o600); err != nil {
			t.Fatal(err)
		}
		again := opened(t, path, "gold.path=data/"+name)
		g := again.Datum("F_003").Gold
		if !g.Boundary || g.Notes != "evidence and warrant pull apart, \"strongly\"" {
			t.Errorf("%+v", g)
		}
	}
}

// A study without a checklist has no domains in its gold.
func TestGoldFileWithoutDomains(t *testing.T) {
	b := opened(t, starter(t))
	b.domains = nil
	_, data, err := b.GoldFile("2026-03-05", []eval.ItemGold{{Item: "F_001", Session: 1, At: "2026-03-04T23:00:00Z", Answer: map[string]json.RawMessage{
		"label": json.RawMessage(`"sound"`), "rationale": json.RawMessage(`"Evidence."`), "boundary": json.RawMessage(`"no"`)}}})
	want := "fragment_id,expert_classification,expert_rationale,boundary_case_flag,boundary_case_notes,session_id,assessment_date\n" +
		"F_001,sound,Evidence.,False,,1,2026-03-04\n"
	if err != nil || string(data) != want {
		t.Errorf("got %v\n%s", err, data)
	}
}

// What people write is no formula in the file of gold, and the study reads it as it was.
func TestGoldFileHasNoFormulas(t *testing.T) {
	path := starter(t)
	b := opened(t, path)
	texts := []string{"=HYPERLINK(\"http://x\")", "+ evidence", "-1", "@expert", "'=quoted", "'plain", "plain"}
	var settled []eval.ItemGold
	for i := range b.Data {
		rationale, _ := json.Marshal(texts[i%len(texts)])
		settled = append(settled, eval.ItemGold{Item: b.Data[i].ID, Session: 1, At: "2026-03-04T23:00:00Z", Answer: map[string]json.RawMessage{
			"label": json.RawMessage(`"not_sound"`), "rationale": rationale, "domains": json.RawMessage(`["Evidence base"]`), "boundary": json.RawMessage(`"no"`), "boundary_notes": json.RawMessage(`""`)}})
	}
	name, data, err := b.GoldFile("2026-03-05", settled)
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`(?m)(^|,)"?[=+@-]`).Match(data) {
		t.Errorf("a cell is a formula:\n%s", data)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "data", name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	again := opened(t, path, "gold.path=data/"+name)
	for i := range b.Data {
		if got := again.Datum(b.Data[i].ID).Gold.Rationale; got != texts[i%len(texts)] {
			t.Errorf("%q is read as %q", texts[i%len(texts)], got)
		}
	}
}

// A checklist of its own would lead to gold that the study cannot read: it is refused when
// the study is loaded, and answers to it before anything is locked.
func TestChecklistOfItsOwn(t *testing.T) {
	path := starter(t)
	_, err := openAt(t, path, `annotation=[{name: gold, kind: assessment, checklist: [{name: Argument structure}, {name: Style}]}]`)
	if err == nil || !strings.Contains(err.Error(), `the study has no domain "Style"`) {
		t.Errorf("got %v", err)
	}
	if _, err = openAt(t, path, `annotation=[{name: try, kind: assessment, practice: true, checklist: [{name: Style}, {name: Length}]}]`); err != nil && strings.Contains(err.Error(), "domain") {
		t.Error(err)
	}
	b := opened(t, path)
	for domains, want := range map[string]string{
		`["Argument structure","Style"]`: `the domains of F_001: the study has no domain "Style": give the headings of the task's checklist the names of domains`,
		`[]`:                             "the domains of F_001: no domain was chosen: revise the answer",
	} {
		_, data, err := b.GoldFile("2026-03-05", []eval.ItemGold{{Item: "F_001", Answer: map[string]json.RawMessage{"label": json.RawMessage(`"sound"`), "domains": json.RawMessage(domains)}}})
		if err == nil || err.Error() != want || data != nil {
			t.Errorf("%s: got %q and %v, want %s", domains, data, err, want)
		}
	}
}

// Several wrong names of domains are always listed in the same order.
func TestValidityInOrder(t *testing.T) {
	path := starter(t)
	for range 20 {
		_, err := openAt(t, path, "validity={harder_domain: x, easier_domain: y, tacit_domain: z}")
		if err == nil || !(strings.Index(err.Error(), `"x"`) < strings.Index(err.Error(), `"y"`) && strings.Index(err.Error(), `"y"`) < strings.Index(err.Error(), `"z"`)) {
			t.Fatal(err)
		}
	}
}

// Practice fragments are outside of the corpus, by id and by text.
func TestPractice(t *testing.T) {
	path := starter(t)
	corpus, err := os.ReadFile(filepath.Join(filepath.Dir(path), "data", "fragment_corpus.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"apart", strings.NewReplacer("F_0", "P_0", " the ", " this ", "The ", "That ").Replace(string(corpus)), ""},
		{"an id of the corpus", string(corpus), "is in the range of the corpus: practice is apart from gold"},
		{"a text of the corpus", strings.ReplaceAll(string(corpus), "F_0", "P_0"), "the text of F_001 of the corpus: practice is apart from gold"},
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "practice.csv"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openAt(t, path, "practice.path=practice.csv")
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v", tt.name, err)
		case tt.want == "":
			items := b.Practice()
			x, err := b.Show(eval.CaseOf(eval.Trial{Item: items[0].ID}, eval.Outcome{Kind: eval.Failed}, nil))
			if err != nil || len(items) != 8 || !strings.HasPrefix(x.Pages[0].Text, "") || x.Item != "P_001" || x.Pages[0].Text == "" {
				t.Errorf("%d items, %+v, %v", len(items), x, err)
			}
		}
	}
}

// The representative run is one of the runs that there are.
func TestRepresentativeRunIsChecked(t *testing.T) {
	b := coder(t)
	task := b.complete(study.Task{Name: "failures", Queue: queueFailures})
	i := slices.IndexFunc(task.Ask, func(q study.Question) bool { return q.Name == "run" })
	if q := task.Ask[i]; q.Type != "choice" || !slices.Equal(q.Options, []string{"1", "2", "3"}) {
		t.Errorf("%+v", q)
	}
	f := b.Datum("F_002")
	for run, want := range map[string]string{`"3"`: "", `3`: "", `"1"`: "", `9`: "is 9: want one of 1, 2, 3: revise the answer of anna in task failures",
		`1.5`: "is 1.5: want one of", `0`: "is 0: want one of", `""`: "is missing: want one of"} {
		c := eval.Case{Item: f.ID, Arm: "few_shot@able"}
		for r := 1; r <= 3; r++ {
			c.Trials = append(c.Trials, answered(b, f, c.Arm, r, false))
		}
		c.Trials[0].Verdicts = []eval.Verdict{said("failures", 1, `{"primary":"F4.1","run":`+run+`,"justification":"x"}`)}
		if err := b.checkRun(b.failed(b.cell(c))); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("run %s: got %v, want %q", run, err, want)
		}
	}
}

// The rows of schema 7.
func TestFailureCells(t *testing.T) {
	b := coder(t)
	f := b.Datum("F_002")
	c := eval.Case{Item: f.ID, Arm: "few_shot@able"}
	for run := 1; run <= 3; run++ {
		c.Trials = append(c.Trials, answered(b, f, c.Arm, run, false))
	}
	first := said("failures", 1, `{"primary":"F4.1","secondary":"emergent","emergent":" counts words ","run":3,"justification":"It counts."}`)
	c.Trials[2].Verdicts = []eval.Verdict{first, said("failures", 2, `{"primary":"F1.1","run":1}`), said("other", 1, `{"primary":"F1.2","run":1}`)}
	want := []string{"F_002", "few_shot", "3", "F4.1", "counts words", "None", "4", "deductive", "It counts.", "2026-03-04", "2"}
	if got := b.failureCells(b.failed(b.cell(c))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	c.Trials[2].Verdicts = append(c.Trials[2].Verdicts, said("failures", 3, `{"primary":"emergent","run":1,"justification":"x"}`))
	if got := b.failureCells(b.failed(b.cell(c))); got[3] != "emergent" || got[6] != "0" || got[7] != "inductive" {
		t.Errorf("a decision counts: %q", got)
	}
}

// Of people who give the same codes the one who answered first is quoted, whatever their names. A
// failure with different codes has none until somebody decides.
func TestCodingOfTwoPeople(t *testing.T) {
	by := func(person, at string, round int, primary string) eval.Verdict {
		v := said("failures", round, fmt.Sprintf(`{"primary":%q,"run":1}`, primary))
		v.By, v.At = person, at
		return v
	}
	zoe, ben := by("zoe", "2026-03-04T10:00:00Z", 1, "F1.1"), by("ben", "2026-03-04T11:00:00Z", 1, "F1.1")
	other, decided := by("ben", "2026-03-04T11:00:00Z", 1, "F6.6"), by("carol", "2026-03-05T11:00:00Z", 3, "F6.6")
	named := func(v eval.Verdict, name string) eval.Verdict {
		v.Data = said("failures", 1, fmt.Sprintf(`{"primary":"emergent","emergent":%q,"run":1}`, name)).Data
		return v
	}
	for name, c := range map[string]struct {
		vs   []eval.Verdict
		want string
	}{"same": {[]eval.Verdict{ben, zoe}, "zoe F1.1"}, "one": {[]eval.Verdict{other}, "ben F6.6"}, "differ": {[]eval.Verdict{other, zoe}, ""}, "decided": {[]eval.Verdict{other, decided, zoe}, "carol F6.6"},
		"one name": {[]eval.Verdict{named(ben, " tone"), named(zoe, "Tone")}, "zoe Tone"}, "two names": {[]eval.Verdict{named(ben, "tone"), named(zoe, "terms")}, ""}} {
		got := ""
		if x := codingOf("failures", c.vs); x != nil {
			got = x.by + " " + strings.Join(x.codes, " ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A failed run of a fragment that passes is coded apart: its codes count for no table of
// failures. It is in the queue only when nothing can change it any more.
func TestSingleFailures(t *testing.T) {
	path := starter(t)
	write(t, path, "study.yaml", func(text string) string {
		i := strings.Index(text, "# People at work")
		return text[:i] + codingTasks + " - {name: one, queue: single}\n"
	})
	b := opened(t, path)
	cases := panel(b, func(*Fragment, *arm) bool { return false }, nil)
	i := slices.IndexFunc(cases, func(c eval.Case) bool { return c.Item == "F_002" && c.Arm == "few_shot@able" })
	f := b.Datum("F_002")
	cases[i].Trials[1] = answered(b, f, "few_shot@able", 2, false)
	queue, err := b.Queue(queueSingle, outcomes{list: cases}.Cases())
	if want := (eval.Trial{Item: "F_002", Arm: "few_shot@able", Replicate: 2}); err != nil || len(queue) != 1 || queue[0].Trial != want {
		t.Fatalf("%v (%v), want the one failed run", queue, err)
	}
	if list, err := b.Queue(queueFailures, outcomes{list: cases}.Cases()); err != nil || len(list) != 0 {
		t.Errorf("failures: %v (%v)", list, err)
	}
	parts, err := b.ShowQueued(queueSingle, cases[i], 2)
	if s := fmt.Sprint(parts); err != nil || !strings.Contains(s, f.Gold.Rationale) || !strings.Contains(s, "Run 2, suggested") {
		t.Errorf("%s (%v)", s, err)
	}
	if task := b.complete(study.Task{Name: "one", Queue: queueSingle}); task.Kind != "failure" || !slices.Contains(task.Labels, "F6.6") {
		t.Errorf("%+v", task)
	}
	cases[i].Trials[1].Verdicts = []eval.Verdict{said("one", 1, `{"primary":"F2.1","secondary":"F4.1","run":2,"justification":"x"}`), said("failures", 1, `{"primary":"F1.1","run":2}`)}
	by := tables(t, b, cases)
	var got []string
	for _, row := range by["single_failures"].Strings() {
		got = append(got, strings.Join(row, "|"))
	}
	if want := []string{"zero_shot|8|0|0|", "few_shot|8|1|1|F2.1 (1), F4.1 (1)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if by["failure_codes"] != nil {
		t.Error("a single failure counts as one of the fragment")
	}
	b = coder(t)
	if by := tables(t, b, cases); by["single_failures"] != nil {
		t.Error("a study that does not code single failures has a table of them")
	}
}
