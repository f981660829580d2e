package suites

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// withScorer opens the starter of a suite with a scorer.
func withScorer(t *testing.T, s kit.Suite) (suited, scored kit.Bench) {
	t.Helper()
	files, err := s.Init(filepath.Join(t.TempDir(), "starter"))
	if err != nil {
		t.Fatal(err)
	}
	own := s.Study()
	f, err := study.Load(files[0], []string{"scorer.exec=./score", "metrics.own=[{name: words, unbounded: true}]"}, own)
	if err != nil {
		t.Fatal(err)
	}
	suited, err = s.Open(f, own)
	if err != nil {
		t.Fatal(err)
	}
	if scored, err = kit.WithOwnScores(f, own.Common(), suited); err != nil || scored == suited {
		t.Fatal(err)
	}
	return suited, scored
}

// TestOwnScorer: of every suite, a scorer of the study gives its scores and changes none of the
// suite's; the bench with it passes the tests of every bench.
func TestOwnScorer(t *testing.T) {
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			suited, scored := withScorer(t, s)
			defer suited.Close()
			asked := 0
			asker := scorerAsker{simulatedAsker{simulated.New(simulated.Skill{Wrong: 0.3}, 1)}, &asked}
			n := 0
			for _, it := range suited.Items()[:min(4, len(suited.Items()))] {
				for _, a := range suited.Arms() {
					tr := eval.Trial{Item: it.ID, Arm: a.ID, Replicate: 1}
					o, err := suited.Perform(t.Context(), tr, asker)
					if err != nil {
						t.Fatal(err)
					}
					var before []eval.Verdict
					if len(a.Judges) > 0 {
						if before, err = suited.Judge(t.Context(), tr, o, asker); err != nil {
							t.Fatal(err)
						}
					}
					after, err := scored.Judge(t.Context(), tr, o, asker)
					if err != nil {
						t.Fatal(err)
					}
					var rest []eval.Score
					for _, x := range scored.Score(nil, eval.CaseOf(tr, o, after)) {
						if x.Metric != "words" {
							rest = append(rest, x)
						} else if x.Unscored == "" {
							n++
						}
					}
					if d := cmp.Diff(suited.Score(nil, eval.CaseOf(tr, o, before)), rest, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); d != "" {
						t.Fatalf("scores of the suite of %v (-without +with a scorer)\n%s", tr, d)
					}
				}
			}
			if n == 0 || n != asked {
				t.Errorf("%d scores of %d verdicts", n, asked)
			}
		})
	}
}

// scored opens a study of qa with what it says of its arm, the gold of its first question, the
// highest rating, and files.
func scored(t *testing.T, says, gold, most string, files map[string]string) kit.Bench {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "study.yaml")
	write(t, path, []byte("name: s\nsuite: qa\ndata: {path: q.csv}\nmetrics: {own: [{name: rating, min: 0, max: "+most+"}]}\n"+says))
	write(t, filepath.Join(dir, "q.csv"), []byte("id,question,answer\nq1,Who?,"+gold+"\nq2,Where?,Here\n"))
	for name, data := range files {
		write(t, filepath.Join(dir, name), []byte(data))
	}
	all := All()
	s := all[slices.IndexFunc(all, func(s kit.Suite) bool { return s.Name == "qa" })]
	own := s.Study()
	f, err := study.Load(path, nil, own)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Open(f, own)
	if err == nil {
		b, err = kit.WithOwnScores(f, own.Common(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEmptyScores: an empty cell in a file of scores is an answer without a score.
func TestEmptyScores(t *testing.T) {
	for _, cell := range []string{"", "n/a", "null", "-"} {
		b := scored(t, "arms: [{name: a, outputs: o.jsonl, scores: s.csv}]\n", "Ann", "5",
			map[string]string{"o.jsonl": `{"id": "q1", "answer": "Ann"}`, "s.csv": "item,rating\nq1,4\nq2," + cell + "\n"})
		for item, want := range map[string]string{"q1": "", "q2": "no score in s.csv"} {
			tr := eval.Trial{Item: item, Arm: "a", Replicate: 1}
			b.Basis(tr)
			for _, s := range b.Score(nil, eval.CaseOf(tr, eval.Outcome{Kind: eval.OK, Data: []byte("Ann")}, nil)) {
				if s.Metric == "rating" && (s.Unscored != want || want == "" && s.Num != 4) {
					t.Errorf("%q: %s is %+v, want %q", cell, item, s, want)
				}
			}
		}
	}
}

// TestScoresOfNumbers: an id that is a number is that of an item.
func TestScoresOfNumbers(t *testing.T) {
	b := scored(t, "arms: [{name: a, outputs: o.jsonl, scores: s.json}]\n", "Ann", "5",
		map[string]string{"o.jsonl": `{"id": "q1", "answer": "Ann"}`, "s.json": `[{"item": 7.0, "rating": 4}]`})
	tr := eval.Trial{Item: "7", Arm: "a", Replicate: 1}
	for _, s := range b.Score(nil, eval.CaseOf(tr, eval.Outcome{Kind: eval.OK, Data: []byte("Ann")}, nil)) {
		if s.Metric == "rating" && (s.Unscored != "" || s.Num != 4) {
			t.Errorf("%+v", s)
		}
	}
}

// TestScorerBasis: what a scorer is sent and how it is read are what its verdicts depend on.
func TestScorerBasis(t *testing.T) {
	judged := func(gold, most string) eval.Hash {
		b := scored(t, "scorer: {exec: ./score}\narms: [{name: a, outputs: o.jsonl}]\n", gold, most, map[string]string{"o.jsonl": `{"id": "q1", "answer": "Ann"}`})
		return b.Basis(eval.Trial{Item: "q1", Arm: "a", Replicate: 1}).Judged
	}
	was := judged("Ann", "5")
	if again := judged("Ann", "5"); again != was {
		t.Error("the same study has other verdicts")
	}
	if judged("Bob", "5") == was || judged("Ann", "9") == was {
		t.Error("verdicts outlive a change of gold or of the declared metrics")
	}
}

// scorerAsker answers for the scorer, and for all others as simulated models do.
type scorerAsker struct {
	simulatedAsker
	asked *int
}

func (a scorerAsker) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	if step != "scorer" {
		return a.simulatedAsker.Ask(ctx, step, r)
	}
	*a.asked++
	var in struct{ Answer, Outcome string }
	if err := json.Unmarshal(r.Payload, &in); err != nil || in.Outcome == "" {
		return eval.Response{}, fmt.Errorf("payload %s: %w", r.Payload, err)
	}
	return eval.Response{Text: fmt.Sprintf(`{"words": %d, "note": "counted"}`, len(strings.Fields(in.Answer))), Stop: eval.StopEnd}, nil
}
