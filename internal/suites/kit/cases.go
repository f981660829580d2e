package kit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A CaseFile names a table of known cases.
type CaseFile struct {
	Path    string            `json:"path" jsonschema:"required,minLength=1,description=Table: CSV\\, XLSX\\, JSON or JSON Lines of item\\, answer and verdict (pass or fail)\\, relative to the study file"`
	Columns map[string]string `json:"columns,omitempty" jsonschema:"description=Names of columns in the file if they differ\\, such as {verdict: label}"`
}

// A KnownCase is an answer to an item of which people say whether the judge must pass it.
type KnownCase struct {
	Item, Answer string
	Pass         bool
}

// KnownCases are the cases of a study by item.
type KnownCases struct {
	of   map[string][]KnownCase
	most int // cases of an item
	// simulated is for a judge that says what the case says.
	simulated bool
	// Beside is a hash of another file that measures the judge, which only scores and the
	// analysis read; 0 if there is none. What is what it has, such as "verdicts of people on 30 answers".
	Beside eval.Hash
	What   string
}

// Any reports whether there is one.
func (k *KnownCases) Any() bool { return k.most > 0 }

// Part are the cases and what people say of them, for what depends on that.
func (k *KnownCases) Part() eval.Part {
	var said []string
	for _, item := range slices.Sorted(maps.Keys(k.of)) {
		for _, c := range k.of[item] {
			said = append(said, c.Item, c.Answer, passWord(c.Pass))
		}
	}
	return eval.Part{Name: "judge.cases", Value: Hash(said...).String()}
}

// Hashes has a hash of each case and of the file beside them, sorted.
func (k *KnownCases) Hashes() []string {
	hashes := []string{}
	for _, of := range k.of {
		for _, c := range of {
			hashes = append(hashes, shortHash(Hash(c.Item, c.Answer, passWord(c.Pass))))
		}
	}
	if beside := k.BesideHash(); beside != "" {
		hashes = append(hashes, beside)
	}
	slices.Sort(hashes)
	return hashes
}

// BesideHash is the hash of the file beside the cases in [KnownCases.Hashes], or "".
func (k *KnownCases) BesideHash() string {
	if k.Beside == 0 {
		return ""
	}
	return shortHash(k.Beside)
}

func shortHash(h eval.Hash) string { return h.String()[:8] }

// Add adds a case.
func (k *KnownCases) Add(c KnownCase) {
	if k.of == nil {
		k.of = map[string][]KnownCase{}
	}
	k.of[c.Item] = append(k.of[c.Item], c)
	k.most = max(k.most, len(k.of[c.Item]))
}

// Read reads the cases of a study about items. admit says what is wrong with an answer, if
// anything.
func (k *KnownCases) Read(f *study.File, j Judging, judge *study.Model, items []eval.Item, admit func(KnownCase) error, errs *study.Errors) {
	if j.Cases == nil {
		return
	}
	if judge == nil {
		errs.Add(f.Errorf("judge.cases", "the study has no judge to measure: name it in judge_model"))
		return
	}
	k.simulated = judge.Provider == SimulatedProvider
	names := []string{"item", "answer", "verdict"}
	t, known, ok := ReadTable(f, TableKeys{Key: "judge.cases", Path: j.Cases.Path, Columns: names, Renamed: j.Cases.Columns}, errs)
	if !ok {
		return
	}
	for _, name := range names {
		if !known.Has(name) {
			errs.Add(fmt.Errorf("%s: no column %q: give its name in judge.cases.columns, as in {%s: NAME}; the columns are %s", t.File, name, name, strings.Join(t.Header, ", ")))
			return
		}
	}
	var ids []string
	for _, it := range items {
		ids = append(ids, it.ID)
	}
	for _, row := range t.Rows {
		c := KnownCase{Item: strings.TrimSpace(known.ID(row, "item")), Answer: known.Text(row, "answer")}
		verdict := strings.ToLower(strings.TrimSpace(known.Text(row, "verdict")))
		c.Pass = verdict == passWord(true)
		switch {
		case !slices.Contains(ids, c.Item):
			errs.Add(known.Errorf(row, "item", "the study has no item %q%s", c.Item, text.DidYouMean(c.Item, ids)))
		case !c.Pass && verdict != passWord(false):
			errs.Add(known.Errorf(row, "verdict", "verdict %q: want what the judge must say of the answer, pass or fail", verdict))
		case slices.ContainsFunc(k.of[c.Item], func(o KnownCase) bool { return strings.TrimSpace(o.Answer) == strings.TrimSpace(c.Answer) }):
			errs.Add(known.Errorf(row, "answer", "item %s has the answer twice: remove one", c.Item))
		default:
			if err := admit(c); err != nil {
				errs.Add(known.Errorf(row, "answer", "the answer to item %s: %w", c.Item, err))
				continue
			}
			k.Add(c)
		}
	}
}

// A CaseJudge is a bench whose judge can be measured on known cases.
type CaseJudge interface {
	Bench
	Known() *KnownCases
	// JudgeCase asks the judge about a case, and CaseVerdict reads what it said, or why it
	// said nothing.
	JudgeCase(ctx context.Context, c KnownCase, ask eval.Asker) ([]eval.Verdict, error)
	CaseVerdict(c KnownCase, vs []eval.Verdict) (pass bool, missing string)
}

// calibrationCase is the arm of the first case of each item; others have a number behind it.
const calibrationCase = "calibration:case:"

// withCases is a bench with an arm for the first known case of each item, one for the second,
// and so on, which the judge is asked about and nobody else sees. Cases are shown and have no
// scores.
type withCases struct {
	CaseJudge
	scorer eval.Scorer // of the suite: the same, or what it was calibrated to
	arms   []eval.Arm
}

// WithCases adds the arms of the known cases of a study, if it has any.
func WithCases(b Bench) Bench {
	j, ok := b.(CaseJudge)
	if !ok || !j.Known().Any() {
		return b
	}
	w := &withCases{j, j, slices.Clone(b.Arms())}
	noun := w.arms[0].Levels[0].Name
	i := slices.IndexFunc(w.arms, func(a eval.Arm) bool { return len(a.Judges) > 0 })
	for n := range j.Known().most {
		a := Local(eval.RoleCalibration, calibrationCase, "1")
		a.ID = fmt.Sprint(calibrationCase, n+1)
		a.Place(noun, a.ID)
		if i >= 0 {
			a.Judges = w.arms[i].Judges
		}
		w.arms = append(w.arms, a.Arm)
	}
	return w
}

// caseOf is the case of a trial. own reports whether its arm is one of cases, of which an item
// need not have so many.
func (k *KnownCases) caseOf(item, arm string) (c KnownCase, has, own bool) {
	n := 0
	if _, err := fmt.Sscanf(arm, calibrationCase+"%d", &n); err != nil {
		return c, false, false
	}
	if all := k.of[item]; n >= 1 && n <= len(all) {
		return all[n-1], true, true
	}
	return c, false, true
}

func (w *withCases) Arms() []eval.Arm { return w.arms }

// Basis of a case is its answer, and what the judge is shown of the item.
func (w *withCases) Basis(t eval.Trial) (on eval.Basis) {
	c, has, own := w.Known().caseOf(t.Item, t.Arm)
	if !own {
		return w.CaseJudge.Basis(t)
	}
	on.Read = Hash(c.Answer)
	if i := slices.IndexFunc(w.arms, func(a eval.Arm) bool { return len(a.Judges) > 0 }); has && i >= 0 {
		on.Judged = w.CaseJudge.Basis(eval.Trial{Item: t.Item, Arm: w.arms[i].ID, Replicate: t.Replicate}).Judged
		if w.Known().simulated && c.Pass {
			on.Judged = Hash(on.Judged.String(), passWord(c.Pass))
		}
	}
	return on
}

func (w *withCases) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	c, _, own := w.Known().caseOf(t.Item, t.Arm)
	if !own {
		return w.CaseJudge.Perform(ctx, t, ask)
	}
	return eval.Outcome{Kind: eval.OK, Data: []byte(c.Answer)}, nil
}

func (w *withCases) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	c, has, own := w.Known().caseOf(t.Item, t.Arm)
	switch {
	case !own:
		return w.CaseJudge.Judge(ctx, t, o, ask)
	case !has || o.Kind != eval.OK:
		return nil, nil
	}
	return w.JudgeCase(ctx, c, ask)
}

func (w *withCases) Score(dst []eval.Score, c eval.Case) []eval.Score {
	if _, _, own := w.Known().caseOf(c.Item, c.Arm); own {
		return dst
	}
	return w.scorer.Score(dst, c)
}

func (w *withCases) Show(c eval.Case) (eval.Exhibit, error) {
	k, has, own := w.Known().caseOf(c.Item, c.Arm)
	switch {
	case !own:
		return w.scorer.Show(c)
	case len(c.Trials) == 0:
		return eval.Exhibit{}, fmt.Errorf("%s × %s cannot be shown: there is no trial", c.Item, c.Arm)
	case !has:
		return eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: c.Item + ": the item does not have so many known cases"}, nil
	}
	t := &c.Trials[0]
	row := eval.ExhibitRow{Unit: "verdict", Gold: passWord(k.Pass)}
	pass, missing := w.CaseVerdict(k, t.Verdicts)
	switch row.Answer = passWord(pass); {
	case missing != "":
		row.Answer, row.Note = "–", missing
	case pass != k.Pass:
		row.Note = "the judge is wrong"
	}
	return eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: c.Item + ", a known case", Lead: k.Answer, Rows: []eval.ExhibitRow{row}, Steps: Verdicts(t.Verdicts)}, nil
}

// Capabilities are those of the suite, which does not know the arms of cases.
func (w *withCases) Capabilities() eval.Capabilities {
	can := w.scorer.Capabilities()
	if can.Calibrator != nil {
		can.Calibrator = calibrator{can.Calibrator, func(suite eval.Scorer) eval.Scorer { return &withCases{w.CaseJudge, suite, w.arms} }}
	}
	if most := can.MostCalls; most != nil {
		can.MostCalls = func(arm string) (asked, judged int) {
			if _, _, own := w.Known().caseOf("", arm); own {
				return 0, 1
			}
			return most(arm)
		}
	}
	return can
}
