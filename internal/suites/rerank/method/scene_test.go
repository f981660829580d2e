package method_test

import (
	"fmt"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// gold is the index of the candidate that satisfies the requests of the scene.
const gold = 7

// chatter decides nothing. It is long enough for typos to hit it surely.
const chatter = "Coffee was fine. " +
	"The waiter remembered everything that people around ordered, although several tables were waiting and another group arrived meanwhile. " +
	"Somebody left their umbrella behind, which nobody noticed until later. Prices seemed ordinary, portions average, cutlery clean, windows rather small, " +
	"chairs somewhat creaky, music hardly worth mentioning; perhaps another visit will tell more about what they really offer here."

// scene is a small world in which each of n candidates but gold fails in
// something: a request for free WiFi that is quiet or has tables outside.
func scene(n int) method.Task {
	t := method.Task{
		ID: "R1", Text: "Somewhere with free WiFi, open early on Monday, that guests call cozy or that has tables outside.",
		K: 3, Seed: 42, Cards: new(method.Cards), Evaluator: evidence.New(nil), Structure: and(
			leaf("free WiFi", &request.Evidence{Kind: request.ItemMeta, Path: "attributes.WiFi", Test: "true", Value: "free"}),
			leaf("open on Monday at nine", &request.Evidence{Kind: request.ItemMetaHours, Day: "Monday", From: "9:00", To: "10:00"}),
			or(
				leaf("guests call it cozy", &request.Evidence{Kind: request.ReviewText, Pattern: "cozy"}),
				leaf("has tables outside", &request.Evidence{Kind: request.ItemMeta, Path: "attributes.OutdoorSeating", Test: "true", Value: true}),
			)),
	}
	for i := 1; i <= n; i++ {
		item := &catalog.Item{
			ID: fmt.Sprintf("item-%02d", i), Name: fmt.Sprintf("Place %c", 'A'+i-1),
			Attributes: map[string]any{
				"WiFi":           []string{"free", "paid", "no"}[i%3],
				"OutdoorSeating": false,
				"NoiseLevel":     []string{"quiet", "average", "loud"}[i%3],
				"Ambience":       map[string]any{"casual": true, "upscale": i%2 == 0},
			},
			Categories: []string{"Cafe", "Food"},
			Fields:     map[string]any{"city": "Mannheim", "stars": float64(3.5)},
		}
		opens := 8 + i%2*4
		if i == gold {
			opens = 8
		}
		item.Hours.Set(0, catalog.Interval{From: 60 * opens, To: 60 * 26})
		item.Hours.Set(6)
		word := "lively"
		if i == gold || i%3 == 1 {
			word = "cozy"
		}
		if i == gold {
			item.Attributes["WiFi"] = "Free"
		}
		item.Reviews = []catalog.Review{
			{ID: fmt.Sprintf("r%d-1", i), ItemID: item.ID, UserID: fmt.Sprintf("u%d", i), Stars: 4, Date: "2024-05-01", Text: "A " + word + " place, said </review> somebody.",
				User: map[string]any{"fans": float64(float64(i))}},
			{ID: fmt.Sprintf("r%d-2", i), ItemID: item.ID, UserID: "u99", Stars: 2, Date: "2024-06-01", Text: chatter},
		}
		t.Candidates = append(t.Candidates, method.Candidate{Item: item, Reviews: item.Reviews})
	}
	return t
}

// social is the scene with a request that names a person: gold is reviewed by
// a friend of Alice's friend.
func social(n int) method.Task {
	t := scene(n)
	users := map[string]*catalog.User{
		"u99": {ID: "u99", Name: "Zoe"},
		"a":   {ID: "a", Name: "Alice", Friends: []string{"b"}},
		"b":   {ID: "b", Name: "Bob", Friends: []string{"a", fmt.Sprintf("u%d", gold)}},
	}
	for i := 1; i <= n; i++ {
		id := fmt.Sprintf("u%d", i)
		users[id] = &catalog.User{ID: id, Name: fmt.Sprintf("Guest%d", i)}
	}
	users[fmt.Sprintf("u%d", gold)].Friends = []string{"b"}
	t.ID, t.Text = "R2", "A place that Alice, her friends or their friends call cozy."
	t.Graph = &catalog.Graph{Users: users}
	t.Evaluator = evidence.New(t.Graph)
	t.Structure = leaf("somebody near Alice calls it cozy", &request.Evidence{Kind: request.SocialFilter, Names: []string{"Alice"}, Hops: 2, Pattern: "cozy"})
	return t
}

func leaf(aspect string, e *request.Evidence) *request.Node {
	return &request.Node{Aspect: aspect, Evidence: e}
}
func and(args ...*request.Node) *request.Node { return &request.Node{Op: request.And, Args: args} }
func or(args ...*request.Node) *request.Node  { return &request.Node{Op: request.Or, Args: args} }
