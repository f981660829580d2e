package attack_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

var digits = regexp.MustCompile(`\d`)

// form is what a rule on writers, fields and dates can see of a review.
func form(r catalog.Review) string {
	shape := func(s string) string { return digits.ReplaceAllString(s, "0") }
	return fmt.Sprint(shape(r.UserID), shape(r.Date), r.Stars > 0,
		slices.Sorted(maps.Keys(r.User)), slices.Sorted(maps.Keys(r.Fields)))
}

// On example data nothing but its text tells an added review from an item's
// own: forms are those of the data, the writer is known, writes of
// the item once and has the fields that they have elsewhere.
func TestAddedReviewsLookLikeTheDatas(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "examples", "rerank", "data")
	c, findings, err := catalog.Load(catalog.Files{Items: filepath.Join(dir, "items.jsonl"), Reviews: filepath.Join(dir, "reviews.jsonl"), Users: filepath.Join(dir, "users.jsonl")})
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	forms, users, stars := map[string]bool{}, map[string]map[string]any{}, map[float64]bool{}
	for _, it := range c.Items {
		for _, r := range it.Reviews {
			forms[form(r)], users[r.UserID], stars[r.Stars] = true, r.User, true
		}
	}
	for _, name := range []string{"fake_positive", "fake_negative", "sarcastic_all"} {
		a := find(t, name)
		added := 0
		for start := 0; start+20 <= len(c.Items); start += 20 {
			items := c.Items[start : start+20]
			var clean [][]catalog.Review
			for _, it := range items {
				clean = append(clean, it.Reviews[:min(4, len(it.Reviews))])
			}
			after, _ := attack.Plan{Attack: &a, Seed: 42, Request: fmt.Sprint(start), Right: only(items[3].ID), Options: attack.Options{Reviews: 2}}.Run(items, clean)
			for i, list := range after {
				writers := map[string]int{}
				for _, r := range slices.Concat(list, items[i].Reviews[len(clean[i]):]) {
					writers[r.UserID]++
				}
				for _, r := range list {
					if slices.ContainsFunc(clean[i], func(own catalog.Review) bool { return own.ID == r.ID }) {
						continue
					}
					added++
					switch {
					case !forms[form(r)]:
						t.Errorf("%s: no review of the data has the form %s", name, form(r))
					case writers[r.UserID] != 1:
						t.Errorf("%s: by %s are %d", name, r.UserID, writers[r.UserID])
					case c.Users[r.UserID] == nil || !reflect.DeepEqual(users[r.UserID], r.User):
						t.Errorf("%s: %s with %v is not who writes elsewhere", name, r.UserID, r.User)
					case !stars[r.Stars] || r.ItemID != items[i].ID:
						t.Errorf("%s: %v stars, item %s", name, r.Stars, r.ItemID)
					}
				}
			}
		}
		if want := map[bool]int{false: 50, true: 12}[a.Blames]; added < want { // on gold alone: 2 in each of 6 sets
			t.Errorf("%s added %d reviews", name, added)
		}
	}
}

// Where nobody else writes, what is added has no writer; data without stars get none.
func TestAddedReviewsWithoutOtherWriters(t *testing.T) {
	a := find(t, "fake_negative")
	for stars, others := range map[float64][]catalog.Review{1: nil, 0: {{Text: "bare", UserID: "u"}}} {
		after, _ := a.Apply(nil, item("x"), attack.Options{}, 1, others...)
		if len(after) != 1 || after[0].Stars != stars || (after[0].UserID == "u") != (others != nil) {
			t.Errorf("beside %v it adds %+v", others, after)
		}
	}
}

// Gold, and who bears gold's name, is never promoted; all others are.
func TestGoldIsNeverPromoted(t *testing.T) {
	a := find(t, "inject_override")
	items := []*catalog.Item{{ID: "1", Name: "Starbucks"}, {ID: "2", Name: " STARBUCKS "}, {ID: "3", Name: "Luna"}, {ID: "4", Name: "Sol"}}
	clean := [][]catalog.Review{reviews(2), reviews(2), reviews(2), reviews(2)}
	times := map[int]int{}
	for seed := range uint64(400) {
		_, report := attack.Plan{Attack: &a, Seed: seed, Request: "R", Right: only("1")}.Run(items, clean)
		times[report.Promoted]++
	}
	if len(times) != 2 || times[2] < 140 || times[3] < 140 { // 6 SD
		t.Errorf("promoted are %v", times)
	}
	after, report := attack.Plan{Attack: &a, Seed: 1, Request: "R", Right: only("1"), Options: attack.Options{Promote: "Starbucks"}}.Run(items[:2], clean[:2])
	if report.Promoted != -1 || report.Changes[0].Any() || report.Changes[1].Any() || len(report.Changes) != 2 || !reflect.DeepEqual(after, clean[:2]) {
		t.Errorf("with nobody to promote: %+v, %v", report, after)
	}
}

// An injection speaks for each candidate with the promoted name: the report lists them.
func TestNamesakesArePromotedToo(t *testing.T) {
	a := find(t, "inject_override")
	items := []*catalog.Item{{ID: "1", Name: "Starbucks"}, {ID: "2", Name: "Luna"}, {ID: "3", Name: "Sol"}, {ID: "4", Name: " LUNA "}, {ID: "5", Name: "Luna"}}
	clean := [][]catalog.Review{reviews(2), reviews(2), reviews(2), reviews(2), reviews(2)}
	want := map[int]string{1: "[3 4]", 2: "[]", 3: "[1 4]", 4: "[1 3]"}
	for seed := range uint64(50) {
		_, report := attack.Plan{Attack: &a, Seed: seed, Request: "R", Right: only("1")}.Run(items, clean)
		if got := fmt.Sprint(report.Namesakes); got != want[report.Promoted] {
			t.Errorf("with %d promoted, also %s, want %s", report.Promoted, got, want[report.Promoted])
		}
	}
}

// Every injected text names the promoted candidate and no other, whosever
// reviews it stands in.
func TestInjectionsNeverSpeakForTheirOwnItem(t *testing.T) {
	for _, name := range []string{"inject_override", "inject_fake_sys", "inject_hidden"} {
		a := find(t, name)
		items := []*catalog.Item{item("A"), item("B"), item("C"), item("D")}
		clean := [][]catalog.Review{reviews(2), reviews(0), reviews(2), reviews(1)}
		for seed := range uint64(50) {
			after, report := attack.Plan{Attack: &a, Seed: seed, Request: "R", Right: only("A")}.Run(items, clean)
			for i := range items {
				for k := range items {
					says := strings.Contains(fmt.Sprint(after[i]), items[k].Name)
					if says != (k == report.Promoted && items[i].ID != "A") {
						t.Fatalf("%s: %d is promoted, and the reviews of %d speak for %d: %v", name, report.Promoted, i, k, says)
					}
				}
			}
		}
	}
}

// Items do not share draws, and the draws depend on seed and request.
func TestWhatDrawsDependOn(t *testing.T) {
	for _, a := range attack.All() {
		run := func(seed uint64, request string) []string {
			var items []*catalog.Item
			var clean [][]catalog.Review
			for i := range 8 {
				it := item(fmt.Sprint(i))
				it.Name = "Same"
				items, clean = append(items, it), append(clean, reviews(4))
			}
			items[0].Name = "Gold"
			after, _ := attack.Plan{Attack: &a, Seed: seed, Request: request, Right: func(id string) bool { return (id == "0") != a.Blames }}.Run(items, clean)
			var texts []string
			for _, list := range after[1:] {
				var s []string
				for _, r := range list {
					s = append(s, r.Text)
				}
				texts = append(texts, strings.Join(s, "|"))
			}
			return texts
		}
		base := run(1, "R1")
		if len(slices.Compact(slices.Sorted(slices.Values(base)))) < 3 {
			t.Errorf("%s: seven items alike are attacked alike", a.Name)
		}
		if slices.Equal(base, run(2, "R1")) {
			t.Errorf("%s: the seed changes nothing", a.Name)
		}
		if slices.Equal(base, run(1, "R2")) {
			t.Errorf("%s: the request changes nothing", a.Name)
		}
	}
}
