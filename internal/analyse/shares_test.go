package analyse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// The interval of a share of trials or answers takes those of a cluster for dependent: replicates
// of an item, and items of one cluster. With one trial for each it is Wilson's.
func TestSharesAreOverClusters(t *testing.T) {
	for name, test := range map[string]struct {
		items, replicates, each int // each: items of a cluster
		clustered               bool
	}{"alone": {40, 1, 1, false}, "replicates": {20, 2, 1, true}, "clusters": {40, 1, 4, true}, "both": {20, 2, 2, true}} {
		t.Run(name, func(t *testing.T) {
			var list []eval.Item
			for i := range test.items {
				it := eval.Item{ID: fmt.Sprintf("q%02d", i)}
				if test.each > 1 {
					it.Cluster = fmt.Sprint("c", i/test.each)
				}
				list = append(list, it)
			}
			c := analyse.NewCollector(&suite, list, []eval.Arm{{ID: "x"}}, asListed(list))
			trials := test.items * test.replicates
			for i, it := range list {
				s := eval.Scored{Case: eval.Case{Item: it.ID, Arm: "x"}}
				for r := range test.replicates {
					kind := []eval.OutcomeKind{eval.Failed, eval.Malformed, eval.Refused, eval.OK, eval.OK, eval.OK, eval.OK, eval.OK, eval.OK, eval.OK}[10*i/test.items]
					s.Trials = append(s.Trials, eval.Judged{Trial: eval.Trial{Item: it.ID, Arm: "x", Replicate: r + 1}, Outcome: eval.Outcome{Kind: kind}})
				}
				c.Add(s)
			}
			a, err := c.Analyse(analyse.Question{Study: analyse.Study{Alpha: 0.05}, Run: analyse.Run{Items: test.items, Replicates: test.replicates, Planned: trials}}, analyse.Sources{})
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(a)
			var stored analyse.Analysis // what gate reads
			if err := errors.Join(err, json.Unmarshal(data, &stored)); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []eval.OutcomeKind{eval.Failed, eval.Malformed, eval.Refused} {
				all := trials
				if kind != eval.Failed {
					all -= trials / 10
				}
				got, alone := stored.Arms[0].Share(kind), stats.Wilson(trials/10, all, 0.95)
				if got.N != all || float64(got.Value) != float64(trials/10)/float64(all) {
					t.Errorf("%s: %v of %d, want %d of %d", kind, got.Value, got.N, trials/10, all)
				}
				same := float64(got.Low) == alone.Low && float64(got.High) == alone.High
				wider := float64(got.Low) < alone.Low && float64(got.High) > alone.High
				if test.clustered && !wider || !test.clustered && !same {
					t.Errorf("%s: interval %v to %v; of independent trials %v to %v", kind, got.Low, got.High, alone.Low, alone.High)
				}
			}
		})
	}
}
