package evidence

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// Looking for literals first finds what matching finds, whatever pattern and text.
func FuzzSays(f *testing.F) {
	for _, pattern := range []string{"co[sz]y|snug", "(?i)k(?-i)K", "straße", "(?-i)WiFi", `\bjazz\b`, "(home-?made|sour) bread", "(ab|c)+x{2}", "(a|)b*", "[^x]|Σ", "(x|y|z){2}$", "(?:)"} {
		for _, text := range []string{"A COZY room", "kK", "STRAẞE ſ", "wifi WiFi", "Jazz", "homemade bread", "ABABxx c", "ς xyz İ", ""} {
			f.Add(pattern, text)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if request.CheckEvidence(&request.Evidence{Kind: request.ReviewText, Pattern: pattern}) != nil {
			return
		}
		text = strings.ToValidUTF8(text, "?") // as the loader sees to
		p := newPattern(pattern)
		if got, want := (&subject{Item: reviewed(text)}).says(p, 0), p.MatchString(text); got != want {
			t.Fatalf("/%s/ in %q: %v with the literals %q, %v without", pattern, text, got, p.holds, want)
		}
	})
}

func TestLiterals(t *testing.T) {
	for pattern, want := range map[string]string{
		"cozy": `["cozy"]`, "co[sz]y": `["co"]`, "garden|courtyard": `["garden" "courtyard"]`, `\bjazz\b`: `["jazz"]`, "(home-?made|sour) bread": `[" bread"]`,
		"a.*bcd": `["bcd"]`, `\w+`: "[]", "x?": "[]", "a|b?": "[]", "(?-i)WiFi": `["wifi"]`,
	} {
		if got := fmt.Sprintf("%q", newPattern(pattern).holds); got != want {
			t.Errorf("/%s/: %s, want %s", pattern, got, want)
		}
	}
}

func small() *catalog.Catalog {
	item := func(id, wifi string, texts ...string) *catalog.Item {
		i := reviewed(texts...)
		i.ID = id
		if wifi != "" {
			i.Attributes = map[string]any{"WiFi": wifi}
		}
		return i
	}
	return catalog.New([]*catalog.Item{item("a", "free", "cozy"), item("b", "free", "dull"), item("c", "no", "cozy"), item("d", "", "cozy")}, nil)
}

func several(id string, n *request.Node, right ...string) request.Request {
	r := request.Request{ID: id, Gold: right[0], Structure: n}
	for _, g := range right {
		r.Right = append(r.Right, request.Graded{ID: g, Grade: 1})
	}
	return r
}

func TestValidate(t *testing.T) {
	wifi := &request.Node{Aspect: "w", Evidence: &request.Evidence{Kind: request.ItemMeta, Path: "attributes.WiFi", Test: "true", Value: "free"}}
	cozy := &request.Node{Aspect: "c", Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: "cozy"}}
	again := *wifi
	bad := &request.Node{Aspect: "x", Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: "nothing"}}
	requests := []request.Request{
		{ID: "R1", Gold: "a", Line: 1, Structure: join(request.And, wifi, cozy)},
		{ID: "R2", Gold: "a", Line: 2, Structure: join(request.And, &again)},
		{ID: "R3", Gold: "c", Line: 3, Structure: join(request.And, wifi, cozy)},
		{ID: "R4", Gold: "a", Line: 4, Structure: bad},
		{ID: "R5", Gold: "d", Line: 5, Structure: wifi},
		several("R6", wifi, "a", "b"),
		several("R7", wifi, "b"),
		several("R8", wifi, "b", "a", "c"),
	}
	want := []Status{
		{"R1", 1, OK, True, []string{"a"}, 1, 1, nil},
		{"R2", 2, MultiMatch, True, []string{"a", "b"}, 1, 1, nil},
		{"R3", 3, GoldNotMatch, False, []string{"a"}, 1, 1, nil},
		{"R4", 4, NoMatch, False, []string{}, 0, 1, nil},
		{"R5", 5, GoldNotMatch, Unknown, []string{"a", "b"}, 0, 1, nil},
		{"R6", 0, OK, True, []string{"a", "b"}, 1, 2, nil},
		{"R7", 0, MultiMatch, True, []string{"a", "b"}, 1, 1, nil},
		{"R8", 0, GoldNotMatch, False, []string{"a", "b"}, 1, 3, []string{"c"}},
	}
	if diff := cmp.Diff(want, Validate(small(), requests)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(want, Validate(small(), requests)); diff != "" {
		t.Errorf("on one core (-want +got):\n%s", diff)
	}
	if got := Validate(small(), nil); len(got) != 0 {
		t.Error(got)
	}
}

// An evaluator is made once and asked from many places.
func TestConcurrentUse(t *testing.T) {
	e, c := New(nil), small()
	n := &request.Node{Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: "cozy"}}
	done := make(chan Truth)
	for range 8 {
		go func() { done <- e.Evaluate(n, c.Items[0]) }()
	}
	for range 8 {
		if <-done != True {
			t.Error("it is not true everywhere")
		}
	}
}

// Values that are no numbers are said, once for each path; texts of numbers are read.
func TestUnread(t *testing.T) {
	var items []*catalog.Item
	for i, price := range []any{950.0, "1,009", " 800 ", "950 €", "950 each", "on request", nil} {
		items = append(items, &catalog.Item{ID: fmt.Sprint(i), Line: i + 2, Fields: map[string]any{"price": price}})
	}
	node := func(test string, value any) *request.Node {
		return &request.Node{Evidence: &request.Evidence{Kind: request.ItemMeta, Path: "price", Test: test, Value: value}}
	}
	got := Unread(catalog.New(items, nil), "items.csv", []request.Request{several("x", node(request.IsTrue, "1,009"), "1"), several("q", node(request.AtMost, 1100.0), "0"), several("r", node(request.Between, []any{1.0, 2.0}), "0")})
	want := []catalog.Finding{{File: "items.csv", Warning: true, Text: `price of 2 items is no number, as "950 each" of item 4: conditions such as that of request q are false for them; write numbers`}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
