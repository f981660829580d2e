package plan

import (
	"fmt"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Of clusters it counts which items are together: other names, and items that are new, change none.
func TestRegrouped(t *testing.T) {
	item := func(id, cluster, group string) eval.Item {
		return eval.Item{ID: id, Cluster: cluster, Strata: []eval.Level{{Name: "group", Value: group}}}
	}
	was := map[string]eval.Item{}
	for _, it := range []eval.Item{item("p", "1", "easy"), item("q", "1", "hard"), item("r", "", "easy"), item("gone", "1", "easy")} {
		was[it.ID] = it
	}
	for _, test := range []struct {
		now  []eval.Item
		want string
	}{
		{[]eval.Item{item("p", "one", "easy"), item("q", "one", "hard"), item("r", "", "easy"), item("new", "one", "hard")}, "map[]"},
		{[]eval.Item{item("a", "r", "easy"), item("p", "1", "easy"), item("q", "1", "hard"), item("r", "r", "easy")}, "map[]"},
		{[]eval.Item{item("p", "", "easy"), item("q", "", "easy"), item("r", "", "easy")}, "map[clusters:[q] strata:[q]]"},
		{[]eval.Item{item("p", "1", "easy"), item("q", "1", "hard"), item("r", "1", "hard")}, "map[clusters:[r] strata:[r]]"},
		{[]eval.Item{item("p", "1", "easy"), {ID: "q", Split: "dev", Cluster: "1", Strata: was["q"].Strata}}, "map[split:[q]]"},
	} {
		if got := fmt.Sprint(Regrouped(was, test.now)); got != test.want {
			t.Errorf("%v: got %s, want %s", test.now, got, test.want)
		}
	}
}
