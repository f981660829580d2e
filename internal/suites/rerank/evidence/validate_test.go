package evidence

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A folded search finds what matching finds, whatever pattern and text.
func TestFoldedMatchIsMatch(t *testing.T) {
	atoms := []string{"cozy", "co[sz]y", "K", "ſ", "s", "straße", "(?-i)WiFi", "1", ".", `\b`, "a*", "b+", "(ab|c)", "(a|)", "[^x]", "Σ", "(x|y|z){2}", "^", "$", `\d`, "(?:)", "é"}
	words := []string{"cozy", "COSY", "k", "K", "S", "ſ", "STRASSE", "STRAẞE", "wifi", "WiFi", "1", "abab", "c", "xyz", "ς", "É", " ", "\n", "İ"}
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 1, 5).Draw(t, "pattern"), "")
		if rapid.Bool().Draw(t, "alternative") {
			expr += "|" + rapid.SampledFrom(atoms).Draw(t, "other")
		}
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "text"), "")
		p := newPattern(expr)
		if got, want := p.matchFolded(text, fold(text)), p.regexp.MatchString(text); got != want {
			t.Fatalf("/%s/ in %q: %v folded (%q, exact %v), %v matched", expr, text, got, p.literals, p.exact, want)
		}
	})
}

func FuzzFoldedMatch(f *testing.F) {
	f.Add("co[sz]y|snug", "A COZY room")
	f.Add("(?i)k(?-i)K", "kK")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if request.CheckEvidence(&request.Evidence{Kind: request.ReviewText, Pattern: expr}) != nil {
			return
		}
		text = strings.ToValidUTF8(text, "?") // as the loader sees to
		p := newPattern(expr)
		if got, want := p.matchFolded(text, fold(text)), p.regexp.MatchString(text); got != want {
			t.Fatalf("/%s/ in %q: %v folded (%q, exact %v), %v matched", expr, text, got, p.literals, p.exact, want)
		}
	})
}

func TestLiterals(t *testing.T) {
	for expr, want := range map[string]string{
		"cozy":                    `["cozy"] true`,
		"co[sz]y":                 `["cosy" "cozy"] true`,
		"cozy|comfortable":        `["cozy" "comfortable"] true`,
		`\bjazz\b`:                `["jazz"] false`,
		"(home-?made|sour) bread": `[" bread"] false`,
		"a.*bcd":                  `["bcd"] false`,
		`\w+`:                     `[] false`,
		"x?":                      `[] false`,
		"(?-i)WiFi":               `["wifi"] false`,
	} {
		p := newPattern(expr)
		if got := fmt.Sprintf("%q %v", p.literals, p.exact); got != want {
			t.Errorf("/%s/: %s, want %s", expr, got, want)
		}
	}
}

func small() *catalog.Catalog {
	item := func(id, wifi string, texts ...string) *catalog.Item {
		i := reviewed(texts...)
		i.ID = id
		if wifi != "" {
			i.Attributes = map[string]catalog.Value{"WiFi": catalog.TextValue(wifi)}
		}
		return i
	}
	return catalog.New([]*catalog.Item{item("a", "free", "cozy"), item("b", "free", "dull"), item("c", "no", "cozy"), item("d", "", "cozy")}, nil)
}

func TestValidate(t *testing.T) {
	wifi := &request.Node{Aspect: "w", Evidence: &request.Evidence{Kind: request.ItemMeta, Path: "attributes.WiFi", Test: "true", Value: catalog.TextValue("free")}}
	cozy := &request.Node{Aspect: "c", Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: "cozy"}}
	again := *wifi
	bad := &request.Node{Aspect: "x", Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: "nothing"}}
	requests := []request.Request{
		{ID: "R1", Gold: "a", Line: 1, Structure: join(request.And, wifi, cozy)},
		{ID: "R2", Gold: "a", Line: 2, Structure: join(request.And, &again)},
		{ID: "R3", Gold: "c", Line: 3, Structure: join(request.And, wifi, cozy)},
		{ID: "R4", Gold: "a", Line: 4, Structure: bad},
		{ID: "R5", Gold: "d", Line: 5, Structure: wifi},
	}
	want := []Status{
		{"R1", 1, OK, True, []string{"a"}, 1},
		{"R2", 2, MultiMatch, True, []string{"a", "b"}, 1},
		{"R3", 3, GoldNotMatch, False, []string{"a"}, 1},
		{"R4", 4, NoMatch, False, []string{}, 0},
		{"R5", 5, GoldNotMatch, Unknown, []string{"a", "b"}, 0},
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
