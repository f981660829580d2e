package suites

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
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
