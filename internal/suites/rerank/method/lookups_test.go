package method_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

// alike is the scene with n candidates that are the same but for their ids.
func alike(n int) method.Task {
	task := scene(n)
	for i := range task.Candidates {
		item := *task.Candidates[0].Item
		item.ID = fmt.Sprintf("item-%02d", i+1)
		task.Candidates[i] = method.Candidate{Item: &item, Reviews: slices.Clone(task.Candidates[0].Reviews)}
	}
	return task
}

// Numbers and tags are no part of a candidate: what the request says of numbers,
// reviews, stars and dates must not meet them.
func TestBM25KnowsNoPlaces(t *testing.T) {
	for _, text := range []string{"A table for 3 people", "5 stars", "candidate number 12", "a review by somebody, of any date"} {
		task := alike(12)
		task.Text = text
		want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		if r := perform(t, find(t, "bm25"), task, &script{answer: right}); !slices.Equal(r.Ranking, want) {
			t.Errorf("%s: candidates that are alike are ranked %v", text, r.Ranking)
		}
	}
	// The number of reviews is not in the text either: "date", "by" and "stars"
	// of a review's tag would make the second win.
	task := alike(2)
	task.Text = "by stars, date, number, candidate, review"
	task.Candidates[1].Reviews = append(task.Candidates[1].Reviews, catalog.Review{UserID: "u", Text: "x", Stars: 1, Date: "2024-01-01"})
	for i := range task.Candidates {
		item := *task.Candidates[i].Item
		item.Fields = nil
		task.Candidates[i].Item = &item
	}
	if r := perform(t, find(t, "bm25"), task, &script{answer: right}); r.Ranking[0] != 1 {
		t.Errorf("tags are words: ranking %v", r.Ranking)
	}
}
