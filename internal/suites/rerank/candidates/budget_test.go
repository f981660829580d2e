package candidates_test

import (
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/candidates"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"pgregory.net/rapid"
)

func texts(list ...string) []catalog.Review {
	reviews := make([]catalog.Review, len(list))
	for i, s := range list {
		reviews[i] = catalog.Review{ID: s, Text: s}
	}
	return reviews
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name   string
		budget candidates.Budget
		in     []catalog.Review
		want   candidates.Coverage
	}{
		{"no limit", candidates.Budget{}, texts("one", "two"), candidates.Coverage{2, 2, 6, 6}},
		{"by number", candidates.Budget{Reviews: 1}, texts("one", "two"), candidates.Coverage{2, 1, 6, 3}},
		{"by characters, not bytes", candidates.Budget{Chars: 4}, texts("äöüß", "x"), candidates.Coverage{2, 1, 5, 4}},
		{"none after the first that is too long", candidates.Budget{Chars: 5}, texts("one", "three", "x"), candidates.Coverage{3, 1, 9, 3}},
		{"the first is too long", candidates.Budget{Chars: 2}, texts("one", "x"), candidates.Coverage{2, 0, 4, 0}},
		{"no reviews", candidates.Budget{Reviews: 3, Chars: 3}, nil, candidates.Coverage{}},
	} {
		kept, got := c.budget.Apply(c.in)
		if got != c.want || len(kept) != c.want.Kept {
			t.Errorf("%s: %+v with %d reviews, want %+v", c.name, got, len(kept), c.want)
		}
	}
}

func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := texts(rapid.SliceOf(rapid.StringN(0, 20, 60)).Draw(t, "texts")...)
		b := candidates.Budget{Reviews: rapid.IntRange(0, 10).Draw(t, "reviews"), Chars: rapid.IntRange(0, 100).Draw(t, "chars")}
		kept, c := b.Apply(in)
		if b.Reviews > 0 && len(kept) > b.Reviews || b.Chars > 0 && c.KeptChars > b.Chars {
			t.Fatalf("%+v lets %d reviews with %d characters through", b, len(kept), c.KeptChars)
		}
		for i := range kept {
			if kept[i].Text != in[i].Text {
				t.Fatal("what is kept is not the beginning of the list")
			}
		}
		if c.Lost() != len(in)-len(kept) || c.Reviews != len(in) {
			t.Fatalf("%+v of %d reviews", c, len(in))
		}
		_ = append(kept, catalog.Review{Text: "new"}) // must not reach into the data
		if slices.ContainsFunc(in, func(r catalog.Review) bool { return r.Text == "new" && r.ID != "new" }) {
			t.Fatal("appending to what is kept changes the data")
		}
	})
}
