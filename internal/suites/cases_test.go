package suites

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
	"github.com/scruple-eval/scruple/internal/table"
)

// judged are the suites whose judge a study words and measures, with an answer that passes and
// one that fails for each of four items.
var judged = map[string]struct {
	overrides []string
	arm       string
	items     []string
	pass      string // with the text of an item for {}
	fail      string
	bad       string // an answer that the suite does not take
	words     []string
	claims    []string // in place of pass and fail
}{
	"qa": {nil, "direct", []string{"seasons", "sky", "ice", "vaccine"}, "Because of its reason.", "Because it wants to.", "",
		[]string{`judge.prompt="Grade {{ANSWER}}"`, "judge.criteria=[polite]", "judge.scale={min: 1, max: 5, pass: 4}"}, nil},
	"spans": {nil, "labeller", []string{"kite", "baker", "runner", "train"}, `{"spans": []}`, `[]`, `{"spans": [{"text": "nowhere", "role": "subject.identity"}]}`,
		[]string{"judge.prompt=Judge.", "judge.criteria=[strict]"}, nil},
	"atoms": {[]string{"judge_model=sim"}, "pipeline", []string{"hiring", "incident-review", "library-lending", "message-queue"}, "", "Whales sing.", " ",
		[]string{`judge.prompt="Is {{CLAIM}} in {{SOURCES}}?"`, `judge.coverage_prompt="Is {{REFERENCE}} in {{CLAIMS}}?"`, "judge.criteria=[literally]", "judge.scale={min: 0, max: 3, pass: 2}"},
		[]string{"All four steps follow the equal treatment policy.", "The payment gateway refused cards for 47 minutes.", "Fees kept families with small incomes away.", "The shop called the warehouse directly for each order."}},
	"soundness": {nil, "zero_shot@able", []string{"F_001", "F_002", "F_003", "F_004"},
		`{"classification": "sound", "rationale": "The question is stated, the measure of need is defined, and the conclusion follows from the data."}`,
		`{"classification": "sound", "rationale": "The question is missing, no measure of need is defined, and the conclusion contradicts the data."}`, "Perhaps.",
		[]string{`judge.prompt="Is {{RATIONALE}} for {{LABEL}}?"`, "judge.criteria=[charitable]", "judge.scale={min: 1, max: 7, pass: 4}"}, nil},
}

// A caseBook opens the starter of a suite with known cases.
type caseBook struct {
	t     *testing.T
	suite kit.Suite
	study string
}

func newCaseBook(t *testing.T, name string) *caseBook {
	all := All()
	s := all[slices.IndexFunc(all, func(s kit.Suite) bool { return s.Name == name })]
	files, err := s.Init(filepath.Join(t.TempDir(), "starter"))
	if err != nil {
		t.Fatal(err)
	}
	return &caseBook{t, s, files[0]}
}

func (b *caseBook) write(rows ...[]string) {
	b.t.Helper()
	data, err := table.CSV(append([][]string{{"item", "answer", "verdict"}}, rows...))
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(b.study), "cases.csv"), data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *caseBook) open(overrides ...string) (kit.Bench, error) {
	own := b.suite.Study()
	f, err := study.Load(b.study, append(append([]string{}, judged[b.suite.Name].overrides...), overrides...), own)
	if err != nil {
		return nil, err
	}
	return b.suite.Open(f, own)
}

func (b *caseBook) mustOpen(overrides ...string) kit.Bench {
	b.t.Helper()
	bench, err := b.open(overrides...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = bench.Close() })
	return bench
}

const withCases = "judge.cases={path: cases.csv}"

// rows has a case that passes and one that fails for each item.
func (b *caseBook) rows() (rows [][]string) {
	of := judged[b.suite.Name]
	for i, item := range of.items {
		pass, fail := of.pass, of.fail
		if of.claims != nil { // sentences of the sources, and some of their words
			pass, fail = of.claims[i], "Whales sing at night about "+of.claims[i][strings.LastIndex(of.claims[i], " ")+1:len(of.claims[i])-1]
		}
		rows = append(rows, []string{item, pass, "pass"}, []string{item, fail, "fail"})
	}
	return rows
}

// judge performs and judges the trials of all items and arms with a judge.
func (b *caseBook) judge(bench kit.Bench, asker eval.Asker) (cases []eval.Case) {
	b.t.Helper()
	for _, it := range bench.Items() {
		for _, a := range bench.Arms() {
			tr := eval.Trial{Item: it.ID, Arm: a.ID, Replicate: 1}
			o, err := bench.Perform(b.t.Context(), tr, asker)
			if err != nil {
				b.t.Fatal(err)
			}
			vs, err := bench.Judge(b.t.Context(), tr, o, asker)
			if err != nil {
				b.t.Fatal(err)
			}
			cases = append(cases, eval.CaseOf(tr, o, vs))
		}
	}
	return cases
}

func calibrated(t *testing.T, bench kit.Bench, cases []eval.Case) (eval.Scorer, eval.Calibration) {
	t.Helper()
	k := bench.Capabilities().Calibrator
	m, err := k.Measure(func(yield func(eval.Case, error) bool) {
		for _, c := range cases {
			if strings.HasPrefix(c.Arm, "calibration:") && !yield(c, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return k.Calibrate(m)
}

// TestKnownCases: in every suite with a judge, cases that people made measure it: it is right
// about all, or the wrong ones are listed; and the bench is like any other.
func TestKnownCases(t *testing.T) {
	for name, of := range judged {
		t.Run(name, func(t *testing.T) {
			b := newCaseBook(t, name)
			rows := b.rows()
			b.write(rows...)
			bench := b.mustOpen(withCases)
			suitetest.Bench(t, b.suite.Suite, bench, func(_ eval.Stage, step string, r eval.Request) (eval.Response, error) {
				return simulatedAsker{simulated.New(simulated.Skill{}, 1)}.Ask(t.Context(), step, r)
			})
			_, k := calibrated(t, bench, b.judge(bench, simulatedAsker{simulated.New(simulated.Skill{}, 1)}))
			var got []eval.Known
			for _, n := range k.Known {
				if strings.HasPrefix(n.Arm, "calibration:case:") {
					got = append(got, n)
				}
			}
			want := []eval.Known{{Arm: "calibration:case:1", Pass: true, Right: 4, Cases: 4}, {Arm: "calibration:case:2", Right: 4, Cases: 4}}
			if d := cmp.Diff(want, got); d != "" || k.Failed {
				t.Fatalf("a judge without errors (-want +got)\n%s\n%+v", d, k)
			}
			cases := b.judge(bench, simulatedAsker{simulated.New(simulated.Skill{Wrong: 1}, 1)})
			_, k = calibrated(t, bench, cases)
			table := k.Tables[len(k.Tables)-1]
			if !k.Failed || !strings.Contains(table.Note, "scruple show STUDY ITEM ARM") || !strings.Contains(table.Note, "judge.prompt") {
				t.Errorf("a judge that is always wrong: %+v", k)
			}
			for i, row := range rows {
				arm := fmt.Sprint("calibration:case:", i%2+1)
				listed := false
				for _, r := range table.Strings() {
					listed = listed || r[0] == row[0] && r[1] == arm && r[3] == row[2] && r[4] != ""
				}
				if !listed && (name != "spans" || row[2] == "fail") { // the simulated judge of spans overlooks errors and makes none up
					t.Errorf("%s × %s is not listed: %v", row[0], arm, table.Strings())
				}
			}
			for _, c := range cases {
				if c.Item == of.items[0] && c.Arm == "calibration:case:2" {
					if x, err := bench.Show(c); err != nil || x.Rows[0].Note != "the judge is wrong" || x.Lead != rows[1][1] {
						t.Errorf("%+v, %v", x, err)
					}
				}
			}
		})
	}
}

// TestCoinNeverDecides: in every suite with a judge, a judge that answers by coin is told from
// one that knows, and then no word of it changes a score: no rule can pass by it.
func TestCoinNeverDecides(t *testing.T) {
	const coins = 20
	for name := range judged {
		t.Run(name, func(t *testing.T) {
			b := newCaseBook(t, name)
			b.write(b.rows()...)
			bench := b.mustOpen(withCases)
			trusted := 0
			for seed := range int64(coins) {
				coin := coinOf(name, seed, 0.5)
				cases := b.judge(bench, coin)
				scorer, k := calibrated(t, bench, cases)
				if !k.Failed {
					trusted++
					continue
				}
				other := b.verdicts(bench, cases, coinOf(name, seed+coins, 0.3))
				for i, c := range cases {
					if d := cmp.Diff(scorer.Score(nil, c), scorer.Score(nil, other[i])); d != "" {
						t.Fatalf("%s × %s: the coin decides\n%s", c.Item, c.Arm, d)
					}
				}
			}
			t.Logf("%d of %d coins are trusted", trusted, coins)
			if trusted > coins/4 { // one in twenty is, if cases are many
				t.Errorf("%d of %d coins are trusted", trusted, coins)
			}
		})
	}
}

// A coin answers as a judge of spans that finds an error everywhere or nowhere; the
// simulated judges of other suites say the right or the wrong word.
type coin struct {
	simulatedAsker
	of    string
	wrong float64
	rand  *rand.Rand
}

func coinOf(suite string, seed int64, wrong float64) coin {
	return coin{simulatedAsker{simulated.New(simulated.Skill{Wrong: wrong}, seed)}, suite, wrong, rand.New(rand.NewPCG(uint64(seed), 1))}
}

func (c coin) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	if c.of != "spans" || step != "judge" {
		return c.simulatedAsker.Ask(ctx, step, r)
	}
	var errs []string
	for i := range 20 {
		if c.rand.Float64() < c.wrong || len(errs) > 0 {
			errs = append(errs, fmt.Sprintf(`{"spanIndex": %d, "text": "", "assignedRole": "", "reason": "other"}`, len(errs)))
		} else if i == 0 {
			break
		}
	}
	return eval.Response{Stop: eval.StopEnd, Text: `{"scores": {"coverage": 3, "precision": 3, "granularity": 3, "taxonomy": 3, "technicalSpecs": 3}, "totalScore": 15,
"missedElements": [], "falsePositives": [` + strings.Join(errs, ", ") + `], "taxonomyErrors": [], "granularityErrors": [], "categoryScores": {}, "notes": ""}`}, nil
}

// verdicts are the same cases with the verdicts of another judge.
func (b *caseBook) verdicts(bench kit.Bench, cases []eval.Case, asker eval.Asker) (other []eval.Case) {
	for _, c := range cases {
		t := c.Trials[0]
		vs, err := bench.Judge(b.t.Context(), t.Trial, t.Outcome, asker)
		if err != nil {
			b.t.Fatal(err)
		}
		other = append(other, eval.CaseOf(t.Trial, t.Outcome, vs))
	}
	return other
}

// TestWordsJudgeAgain: other words of the judge change what verdicts rest on, and nothing else;
// another answer of a case changes that case alone, and another name of the file nothing.
func TestWordsJudgeAgain(t *testing.T) {
	for name, of := range judged {
		t.Run(name, func(t *testing.T) {
			b := newCaseBook(t, name)
			rows := b.rows()
			b.write(rows...)
			basis := func(overrides ...string) map[eval.Trial]eval.Basis {
				bench, all := b.mustOpen(overrides...), map[eval.Trial]eval.Basis{}
				for _, item := range of.items {
					for _, a := range bench.Arms() {
						tr := eval.Trial{Item: item, Arm: a.ID, Replicate: 1}
						all[tr] = bench.Basis(tr)
					}
				}
				return all
			}
			was := basis(withCases)
			for _, words := range of.words {
				for tr, is := range basis(withCases, words) {
					if is.Judged == was[tr].Judged || is.Read != was[tr].Read || is.Asked != was[tr].Asked {
						t.Errorf("%s: %v rests on %+v, before on %+v", words, tr, is, was[tr])
					}
				}
			}
			plain := basis()
			for tr, is := range was {
				if on, had := plain[tr]; had && on != is || had == strings.HasPrefix(tr.Arm, "calibration:case:") {
					t.Errorf("with cases %v rests on %+v, without on %+v", tr, is, on)
				}
			}
			data, err := os.ReadFile(filepath.Join(filepath.Dir(b.study), "cases.csv"))
			if err == nil {
				err = os.WriteFile(filepath.Join(filepath.Dir(b.study), "again.csv"), data, 0o644)
			}
			if d := cmp.Diff(was, basis("judge.cases={path: again.csv}")); d != "" || err != nil {
				t.Errorf("another name of the file: %v\n%s", err, d)
			}
			rows[3][1] = strings.ReplaceAll(rows[3][1], " the ", " its ") + " "
			b.write(rows...)
			changed := eval.Trial{Item: rows[3][0], Arm: "calibration:case:2", Replicate: 1}
			for tr, is := range basis(withCases) {
				if (is == was[tr]) == (tr == changed) {
					t.Errorf("another answer to %v: %v rests on %+v, before on %+v", changed, tr, is, was[tr])
				}
			}
		})
	}
}

// TestCaseErrors: what is wrong with known cases, or what a suite cannot have, is said.
func TestCaseErrors(t *testing.T) {
	for name, of := range judged {
		t.Run(name, func(t *testing.T) {
			b := newCaseBook(t, name)
			for want, row := range map[string][]string{
				`cases.csv:2:1: the study has no item "x"`:         {"x", of.fail, "fail"},
				`verdict "maybe": want what the judge must say of`: {of.items[0], of.fail, "maybe"},
				"the answer to item " + of.items[0] + ": ":         {of.items[0], of.bad, "pass"},
			} {
				if b.write(row); row[1] == "" { // qa takes every text
					continue
				}
				if _, err := b.open(withCases); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %s, got %v", want, err)
				}
			}
			for _, again := range []string{of.fail, of.fail + " \n"} { // one observation, and one question to most judges
				b.write([]string{of.items[0], of.fail, "fail"}, []string{of.items[0], again, "pass"})
				if _, err := b.open(withCases); err == nil || !strings.Contains(err.Error(), "has the answer twice") {
					t.Errorf("%q: %v", again, err)
				}
			}
			_, err := b.open("judge.scale={min: 3, max: 5, pass: 3}")
			if want := map[bool]string{true: "remove it: a judgement has five scores", false: "want a grade above min (3)"}[name == "spans"]; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %s, got %v", want, err)
			}
		})
	}
}
