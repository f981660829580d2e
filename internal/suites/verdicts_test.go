package suites

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
)

// asListed is the order of the list.
type asListed map[string]int

func (o asListed) Position(item string) (int, bool) { i, ok := o[item]; return i, ok }
func (asListed) At(position int) int                { return position }

// simulatedAsker answers every request with a simulated model of many errors.
type simulatedAsker struct{ *simulated.Client }

func (a simulatedAsker) Ask(ctx context.Context, _ string, r eval.Request) (eval.Response, error) {
	if len(r.Payload) == 0 && r.Foreseen != nil {
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	}
	return a.Complete(ctx, &r)
}

// TestDifferencesAgreeWithTheTable: of every suite and metric, a comparison of two arms
// says what the two figures in the table say, though many answers are malformed or refused
// and many items have nothing to count for one of the arms. Pooled values differ by exactly
// the difference; where every item has a score, so do means. With missing scores the figures
// of the table are between the least and the most.
func TestDifferencesAgreeWithTheTable(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Suite.Name, func(t *testing.T) {
			files, err := e.Init(filepath.Join(t.TempDir(), "starter"))
			if err != nil {
				t.Fatal(err)
			}
			mine := e.Study()
			f, err := study.Load(files[0], nil, mine)
			if err != nil {
				t.Fatal(err)
			}
			b, err := e.Open(f, mine)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if metrics := b.Capabilities().Metrics; metrics != nil {
				e.Suite.Metrics = append(metrics(), effort.Offered(metrics()[0], 1)...)
			}
			checked, uneven, bounded := 0, 0, 0
			for seed := range uint64(4) {
				a := randomAnalysis(t, &e.Suite, b, seed)
				for _, c := range a.Comparisons {
					x, _ := a.Estimate(c.A, c.Metric)
					y, _ := a.Estimate(c.B, c.Metric)
					m, _ := a.Metric(c.Metric)
					if !x.Value.Defined() || !y.Value.Defined() {
						continue
					}
					if x.Unscored+y.Unscored > 0 {
						if diff := x.Value - y.Value; c.Least == nil || c.Least.Diff > diff+1e-9 || c.Most.Diff < diff-1e-9 {
							t.Errorf("%s − %s by %s is %v in the table, not between %+v and %+v with missing scores", c.A, c.B, c.Metric, diff, c.Least, c.Most)
						}
						bounded++
						continue
					}
					if m.Pooling == eval.MeanOfItems && (x.Items != y.Items || x.Items != c.Pairs) {
						continue // an item without a score for one arm has no mean
					}
					checked++
					if x.Items != y.Items {
						uneven++
					}
					if want := float64(x.Value - y.Value); !(math.Abs(float64(c.Diff)-want) <= 1e-9) {
						t.Errorf("%s − %s by %s is %v, in the table %v − %v", c.A, c.B, c.Metric, c.Diff, x.Value, y.Value)
					}
				}
			}
			t.Logf("%d comparisons, %d with items on which one arm has nothing to count; %d with missing scores", checked, uneven, bounded)
			if checked+bounded < 8 {
				t.Errorf("only %d comparisons", checked+bounded)
			}
		})
	}
}

// randomAnalysis analyses answers of simulated models, of which three in ten are replaced
// by malformed and refused ones.
func randomAnalysis(t *testing.T, suite *eval.Suite, b eval.Bench, seed uint64) *analyse.Analysis {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	items := b.Items()
	items = items[:min(len(items), 25)]
	order := asListed{}
	for i, it := range items {
		order[it.ID] = i
	}
	var arms []eval.Arm
	for _, arm := range b.Arms() {
		if arm.Role != eval.RoleCalibration && len(arms) < 4 {
			arms = append(arms, arm)
		}
	}
	asker := simulatedAsker{simulated.New(simulated.Skill{Miss: 0.3, Wrong: 0.3, Invent: 0.3}, int64(seed))}
	c := analyse.NewCollector(suite, items, arms, order)
	for _, it := range items {
		for _, arm := range arms {
			tr := eval.Trial{Item: it.ID, Arm: arm.ID, Replicate: 1}
			o, err := b.Perform(t.Context(), tr, asker)
			if err != nil {
				t.Fatal(err)
			}
			switch p := r.Float64(); {
			case p < 0.2:
				o = eval.Outcome{Kind: eval.Malformed, Reason: "unreadable", Data: []byte("no")}
			case p < 0.3:
				o = eval.Outcome{Kind: eval.Refused, Reason: "declined"}
			}
			vs, err := b.Judge(t.Context(), tr, o, asker)
			if err != nil {
				t.Fatal(err)
			}
			x := eval.CaseOf(tr, o, vs)
			c.Add(eval.Scored{Case: x, Scores: b.Score(nil, x)})
		}
	}
	q := analyse.Question{Study: analyse.Study{Alpha: 0.05, Correction: "none", Method: "auto", Resamples: 1000}, Overall: true,
		Run: analyse.Run{Items: len(items), Replicates: 1, Planned: len(items) * len(arms), Done: len(items) * len(arms), MaxFailed: 1}}
	var metrics []string
	for _, m := range suite.Metrics {
		if m.Kind == eval.Scoring {
			metrics = append(metrics, m.Name)
		}
	}
	for i, x := range arms {
		for _, y := range arms[:i] {
			q.Comparisons = append(q.Comparisons, analyse.Pair{A: x.ID, B: y.ID, Metrics: metrics})
		}
	}
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
