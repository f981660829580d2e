package evidence

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

func text(s string) any { return s }
func num(n float64) any { return float64(n) }

var yes, no = true, false

func hold(t *testing.T, e *request.Evidence, item *catalog.Item, graph *catalog.Graph) Truth {
	t.Helper()
	if err := request.CheckEvidence(e); err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	return New(graph).Leaf(e, item)
}

func flags(set ...string) any {
	m := map[string]any{"casual": no, "hipster": no, "romantic": no}
	for _, f := range set {
		m[f] = yes
	}
	return m
}

// The table of itemMeta's comment, test by test.
func TestItemMeta(t *testing.T) {
	item := &catalog.Item{Name: "Blue Door", Categories: []string{"Cafes", "Bubble Tea"}, Attributes: map[string]any{
		"WiFi": text("free"), "Price": num(1), "Ten": num(10), "OneText": text("1"), "TV": no, "Dogs": yes, "Ambience": flags("hipster"), "None": flags(),
		"Tags": []any{text("Late Night"), num(2)}, "Empty": text(""), "Mixed": map[string]any{"a": num(1)},
	}, Fields: map[string]any{"zip": text("19107"), "price": num(999.5)}}
	type ev = request.Evidence
	tests := []struct {
		e    ev
		want Truth
	}{
		{ev{Path: "attributes.WiFi", Test: "true", Value: text("Free")}, True},
		{ev{Path: "attributes.WiFi", Test: "true", Value: text("u'free'")}, True},
		{ev{Path: "attributes.WiFi", Test: "true", Value: text("fre")}, False},
		{ev{Path: "attributes.WiFi", Test: "true", Value: []any{text("paid"), text("free")}}, True},
		{ev{Path: "attributes.Price", Test: "true", Value: text("1")}, True},
		{ev{Path: "attributes.Price", Test: "true", Value: num(1)}, True},
		{ev{Path: "attributes.Ten", Test: "true", Value: text("1")}, False}, // never by substring
		{ev{Path: "attributes.Ten", Test: "contains", Value: text("1")}, False},
		{ev{Path: "attributes.OneText", Test: "true", Value: num(1)}, False}, // a text is not a number
		{ev{Path: "attributes.OneText", Test: "true", Value: text("1")}, True},
		{ev{Path: "zip", Test: "true", Value: text("19107")}, True},
		{ev{Path: "attributes.TV", Test: "true", Value: text("False")}, True},
		{ev{Path: "attributes.TV", Test: "true", Value: no}, True},
		{ev{Path: "attributes.TV", Test: "true", Value: yes}, False},
		{ev{Path: "attributes.TV", Test: "true", Value: num(0)}, False},
		{ev{Path: "attributes.Ambience", Test: "true", Value: yes}, False},
		{ev{Path: "attributes.Ambience.hipster", Test: "true", Value: yes}, True},
		{ev{Path: "categories", Test: "true", Value: text("Cafes")}, False}, // a list is not its element
		{ev{Path: "name", Test: "true", Value: text("blue door")}, True},

		{ev{Path: "attributes.WiFi", Test: "false", Value: text("free")}, False},
		{ev{Path: "attributes.WiFi", Test: "false", Value: text("no")}, True},
		{ev{Path: "attributes.WiFi", Test: "not_true", Value: text("free")}, False},
		{ev{Path: "attributes.WiFi", Test: "not_true", Value: text("no")}, True},
		{ev{Path: "attributes.WiFi", Test: "not_true", Value: []any{text("no"), text("free")}}, False},

		{ev{Path: "categories", Test: "contains", Value: text("bubble tea")}, True},
		{ev{Path: "categories", Test: "contains", Value: text("Tea")}, False},
		{ev{Path: "attributes.Tags", Test: "contains", Value: num(2)}, True},
		{ev{Path: "attributes.Tags", Test: "contains", Value: text("2")}, True},
		{ev{Path: "attributes.Ambience", Test: "contains", Value: text("hipster")}, True},
		{ev{Path: "attributes.Ambience", Test: "contains", Value: text("'hipster': True")}, True},
		{ev{Path: "attributes.Ambience", Test: "contains", Value: text("'casual': False")}, True},
		{ev{Path: "attributes.Ambience", Test: "contains", Value: text("casual")}, False}, // there, but not set
		{ev{Path: "attributes.Ambience", Test: "contains", Value: text("classy")}, False},
		{ev{Path: "attributes.WiFi", Test: "contains", Value: text("FREE")}, True},
		{ev{Path: "attributes.WiFi", Test: "contains", Value: text("REE")}, False}, // a part of a word
		{ev{Path: "zip", Test: "contains", Value: text("910")}, False},
		{ev{Path: "zip", Test: "not_contains", Value: text("910")}, True},
		{ev{Path: "zip", Test: "contains", Value: num(19107)}, True},
		{ev{Path: "name", Test: "contains", Value: text("door")}, True},
		{ev{Path: "name", Test: "contains", Value: []any{text("window"), text("BLUE")}}, True},
		{ev{Path: "attributes.TV", Test: "contains", Value: no}, True},
		{ev{Path: "categories", Test: "not_contains", Value: text("Tea")}, True},
		{ev{Path: "attributes.Ambience", Test: "not_contains", Value: text("hipster")}, False},

		{ev{Path: "attributes.WiFi", Test: "true", Value: text("paid"), False: text("free")}, False},
		{ev{Path: "attributes.WiFi", Test: "true", Value: text("paid"), False: text("no")}, Unknown},
		{ev{Path: "attributes.WiFi", Test: "true", Value: text("paid"), Neutral: text("free")}, Unknown},
		{ev{Path: "attributes.WiFi", Test: "true", Value: text("free"), False: text("no"), Neutral: text("paid")}, True},
		{ev{Path: "attributes.WiFi", Test: "neutral", Value: text("free")}, Unknown},

		{ev{Path: "attributes.Dogs"}, True},
		{ev{Path: "attributes.TV"}, False},
		{ev{Path: "attributes.Ambience"}, True},
		{ev{Path: "attributes.None"}, False},
		{ev{Path: "attributes.Mixed"}, Unknown},
		{ev{Path: "attributes.WiFi"}, Unknown},

		{ev{Path: "price", Test: "gte", Value: num(999.5)}, True}, // numbers
		{ev{Path: "price", Test: "gte", Value: num(999.51)}, False},
		{ev{Path: "price", Test: "lte", Value: num(999.5)}, True},
		{ev{Path: "price", Test: "lte", Value: num(100)}, False}, // not as texts, where "999.5" > "1000"
		{ev{Path: "price", Test: "lte", Value: num(1000)}, True},
		{ev{Path: "price", Test: "between", Value: []any{num(999.5), num(1000)}}, True},
		{ev{Path: "price", Test: "between", Value: []any{num(9), num(999.5)}}, True},
		{ev{Path: "price", Test: "between", Value: []any{num(9), num(999)}}, False},
		{ev{Path: "zip", Test: "gte", Value: num(19000)}, True}, // a text that is a number
		{ev{Path: "name", Test: "gte", Value: num(0)}, False},   // neither is a number
		{ev{Path: "categories", Test: "lte", Value: num(9)}, False},
		{ev{Path: "nothing", Test: "gte", Value: num(0)}, Unknown},
		{ev{Path: "nothing", Test: "between", Value: []any{num(0), num(1)}, Missing: -1}, False},

		{ev{Path: "attributes.X"}, Unknown},
		{ev{Path: "attributes.X", Test: "true", Value: yes}, Unknown},
		{ev{Path: "attributes.X", Test: "true", Value: yes, Missing: -1}, False},
		{ev{Path: "attributes.X", Test: "false", Value: yes, Missing: 1}, True},
		{ev{Path: "attributes.X", Test: "false", Value: yes}, Unknown},
		{ev{Path: "attributes.X", Test: "contains", Value: yes, Missing: -1}, False},
		{ev{Path: "attributes.X", Test: "neutral", Value: yes}, Unknown},
		{ev{Path: "attributes.X", Test: "not_true", Value: yes, Missing: -1}, True}, // missing does not matter to these
		{ev{Path: "attributes.X", Test: "not_contains", Value: yes, Missing: -1}, True},
		{ev{Path: "attributes.Empty", Test: "true", Value: text("")}, True}, // an empty text is a value
	}
	for _, tt := range tests {
		tt.e.Kind = request.ItemMeta
		if got := hold(t, &tt.e, item, nil); got != tt.want {
			t.Errorf("%s %s %s: %v, want %v", tt.e.Path, tt.e.Test, tt.e.Value, got, tt.want)
		}
	}
}

func TestHours(t *testing.T) {
	item := &catalog.Item{}
	item.Hours.Set(0, catalog.Interval{From: 11 * 60, To: 14 * 60}, catalog.Interval{From: 18 * 60, To: 26 * 60})
	item.Hours.Set(1)
	tests := []struct {
		day, from, to string
		missing       int8
		want          Truth
	}{
		{"Monday", "11:30", "13:00", 0, True}, {"monday", "12:00", "15:00", 0, False}, {"Monday", "22:00", "1:30", 0, True}, {"Monday", "22:00", "3:00", 0, False},
		{"Tuesday", "1:00", "2:00", 0, True}, {"Tuesday", "1:00", "2:30", 0, False}, {"Tuesday", "12:00", "13:00", 1, False}, // closed is known
		{"Tuesday", "23:00", "1:00", 1, False},
		{"Sunday", "23:00", "1:00", 0, Unknown}, {"Sunday", "23:00", "1:00", 1, True}, {"Sunday", "23:00", "1:00", -1, False}, // Sunday's hours may pass midnight
		{"Sunday", "12:00", "13:00", 0, Unknown}, {"Sunday", "12:00", "13:00", -1, False}, {"Sunday", "12:00", "13:00", 1, True},
	}
	for _, tt := range tests {
		e := &request.Evidence{Kind: request.ItemMetaHours, Day: tt.day, From: tt.from, To: tt.to, Missing: tt.missing}
		if got := hold(t, e, item, nil); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// Monday evening, and nothing known of Tuesday.
func TestHoursIntoADayThatIsNotKnown(t *testing.T) {
	item := &catalog.Item{}
	item.Hours.Set(0, catalog.Interval{From: 18 * 60, To: 24 * 60})
	for _, tt := range []struct {
		from, to string
		missing  int8
		want     Truth
		why      string
	}{
		{"23:00", "1:00", 0, Unknown, "Monday: 18:00-24:00; hours of Tuesday are unknown"},
		{"23:00", "1:00", 1, True, "Monday: 18:00-24:00; hours of Tuesday are unknown"},
		{"23:00", "24:00", 0, True, "Monday: 18:00-24:00"},
		{"17:00", "1:00", 1, False, "Monday: 18:00-24:00; hours of Tuesday are unknown"},
	} {
		e := &request.Evidence{Kind: request.ItemMetaHours, Day: "Monday", From: tt.from, To: tt.to, Missing: tt.missing}
		x := New(nil).Explain(&request.Node{Aspect: "x", Evidence: e}, item)
		if x.Truth != tt.want || x.Reason != tt.why {
			t.Errorf("%+v: %v, %s", tt, x.Truth, x.Reason)
		}
	}
	item.Hours.Set(1, catalog.Interval{From: 0, To: 120})
	if got := hold(t, &request.Evidence{Kind: request.ItemMetaHours, Day: "Monday", From: "23:00", To: "1:00"}, item, nil); got != True {
		t.Error(got)
	}
}

func reviewed(texts ...string) *catalog.Item {
	item := &catalog.Item{}
	for i, s := range texts {
		item.Reviews = append(item.Reviews, catalog.Review{ID: fmt.Sprint(i), UserID: fmt.Sprint("u", i), Stars: float64(i + 1), Text: s})
	}
	return item
}

func TestReviewText(t *testing.T) {
	item := reviewed("A COZY room.", "We waited; 10 minutes.")
	for pattern, want := range map[string]Truth{"cozy": True, "(?-i)cozy": False, `\bcoz\b`: False, "snug|10 min": True, "^we": True, `1\d+`: True, "dull": False} {
		if got := hold(t, &request.Evidence{Kind: request.ReviewText, Pattern: pattern}, item, nil); got != want {
			t.Errorf("/%s/: %v", pattern, got)
		}
		if got := hold(t, &request.Evidence{Kind: request.ReviewText, Pattern: pattern}, reviewed(), nil); got != Unknown {
			t.Errorf("/%s/ without reviews: %v", pattern, got)
		}
	}
}

// Values of fans by hand: the median of the non-zero 1, 2, 3, 10 is 2.5, their
// 90th percentile 3 + 0.7 · 7 = 7.9.
func TestWeighted(t *testing.T) {
	item := reviewed("cozy", "cozy", "plain", "cozy", "cozy")
	for i, fans := range []float64{0, 1, 2, 3, 10} {
		item.Reviews[i].User = map[string]any{"fans": num(fans)}
	}
	tests := []struct {
		percentile float64
		need       int
		want       Truth
	}{
		{50, 2, True}, {50, 3, False}, {90, 1, True}, {90, 2, False}, {0, 3, True}, {0, 4, False}, {100, 1, True},
		{33.333333, 2, True}, // falls on 2: the one with 2 fans counts, and is plain
		{50, 5, False},       // there are four with fans
	}
	for _, tt := range tests {
		e := &request.Evidence{Kind: request.ReviewText, Pattern: "cozy", WeightBy: "user.fans", Percentile: tt.percentile, MinCredible: tt.need}
		if got := hold(t, e, item, nil); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	e := &request.Evidence{Kind: request.ReviewText, Pattern: "cozy", WeightBy: "fans", Percentile: 50}
	if got := hold(t, e, item, nil); got != True {
		t.Error("the default of two credible reviews is not enough")
	}
	if got := hold(t, e, reviewed(), nil); got != Unknown {
		t.Errorf("without reviews it is %v", got)
	}
	if got := hold(t, e, reviewed("cozy", "cozy"), nil); got != False {
		t.Errorf("without any fans it is %v", got)
	}
}

// Expected values are those of numpy.percentile.
func TestPercentile(t *testing.T) {
	for _, tt := range []struct {
		sorted  []float64
		percent float64
		want    float64
	}{
		{[]float64{1, 2, 3, 4}, 50, 2.5}, {[]float64{1, 2, 3}, 50, 2}, {[]float64{7}, 50, 7}, {[]float64{1, 2, 3, 4}, 25, 1.75}, {[]float64{1, 2}, 0, 1}, {[]float64{1, 2}, 100, 2},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 70, 7},
	} {
		if got := percentile(tt.sorted, tt.percent); got != tt.want {
			t.Errorf("%v at %v is %v", tt.sorted, tt.percent, got)
		}
	}
}

func TestAmount(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want float64
	}{
		{num(3.5), 3.5}, {yes, 1}, {no, 0}, {nil, 0}, {text(""), 0}, {text("None"), 0}, {text("12"), 12}, {text("2015,2016,2017"), 3}, {text("2015"), 2015}, {map[string]any{"a": yes}, 0},
		{[]any{num(2015), num(2016)}, 2}, {[]any{text("None"), text("")}, 0}, {[]any{}, 0}, {text("NaN"), 1},
	} {
		if got := amount(tt.v); got != tt.want {
			t.Errorf("%v is %v, want %v", tt.v, got, tt.want)
		}
	}
}

func TestReviewMeta(t *testing.T) {
	item := reviewed("a", "b", "c") // of 1, 2 and 3 stars
	for i, fans := range []float64{10, 0, 50} {
		item.Reviews[i].User = map[string]any{"fans": num(fans), "elite": []any{}}
	}
	item.Reviews[1].User["elite"] = []any{num(2020)}
	item.Reviews[0].Fields = map[string]any{"useful": num(4), "votes": text("12"), "seen": no, "flags": flags()}
	for i := range item.Reviews {
		item.Reviews[i].Date = "2015-03-04"
	}
	type ev = request.Evidence
	tests := []struct {
		e    ev
		want Truth
	}{
		{ev{Path: "user.elite", Test: "not_empty"}, True},
		{ev{Path: "user.elite", Test: "not_empty", Aggregate: "any", MinStars: 3}, False},
		{ev{Path: "user.elite", Test: "not_empty", Aggregate: "all"}, False},
		{ev{Path: "user.fans", Test: "gte", Value: num(10), Aggregate: "count", Count: 2}, True},
		{ev{Path: "user.fans", Test: "gte", Value: num(10), Aggregate: "count", Count: 3}, False},
		{ev{Path: "user.fans", Test: "gte", Value: num(11), Aggregate: "count"}, True},
		{ev{Path: "user.fans", Test: "gte", Value: num(50), MinStars: 3, Aggregate: "all"}, True},
		{ev{Path: "user.fans", Test: "lte", Value: num(0)}, True},
		{ev{Path: "useful", Test: "lte", Value: num(5), Aggregate: "all"}, False}, // two reviews do not have it
		{ev{Path: "useful", Test: "lte", Value: num(5)}, True},
		{ev{Path: "stars", Test: "gte", Value: num(1), Aggregate: "all"}, True},
		{ev{Path: "date", Test: "lte", Value: num(2000)}, False}, // a text is not a number
		{ev{Path: "date", Test: "gte", Value: num(1)}, False},
		{ev{Path: "date", Test: "gte", Value: num(0)}, False},
		{ev{Path: "text", Test: "lte", Value: num(5)}, False},
		{ev{Path: "date", Test: "not_empty"}, True},
		{ev{Path: "votes", Test: "gte", Value: num(12)}, True}, // one that writes a number is
		{ev{Path: "votes", Test: "lte", Value: num(11)}, False},
		{ev{Path: "seen", Test: "lte", Value: num(1)}, False}, // nor are yes and no, or flags
		{ev{Path: "flags", Test: "lte", Value: num(1)}, False},
		{ev{Path: "user.elite", Test: "gte", Value: num(1), Aggregate: "count", Count: 1}, True}, // a list counts
		{ev{Path: "user.elite", Test: "gte", Value: num(2)}, False},
		{ev{Path: "user.elite", Test: "lte", Value: num(0), Aggregate: "count", Count: 2}, True},
		{ev{Path: "nothing", Test: "not_empty"}, False},
		{ev{Path: "user.fans", Test: "not_empty", MinStars: 4}, False}, // no such review
		{ev{Path: "user.fans", Test: "not_empty", MinStars: 4, Missing: 1}, False},
		{ev{Path: "user.fans", Test: "gte", Value: num(0), MinStars: 4, Aggregate: "count", Count: 1}, False},
		{ev{Path: "user.fans", Test: "not_empty", MinStars: 4, Aggregate: "all"}, Unknown}, // nothing to hold for
	}
	for _, tt := range tests {
		tt.e.Kind = request.ReviewMeta
		if got := hold(t, &tt.e, item, nil); got != tt.want {
			t.Errorf("%+v: %v", tt.e, got)
		}
		if got := hold(t, &tt.e, reviewed(), nil); got != Truth(tt.e.Missing) {
			t.Errorf("without reviews %+v: %v", tt.e, got)
		}
	}
}

// A review without stars has none, and that is not few.
func TestReviewsWithoutStars(t *testing.T) {
	item := reviewed("a", "b", "c")
	item.Reviews[1].Stars = 0
	type ev = request.Evidence
	for _, tt := range []struct {
		e    ev
		want Truth
	}{
		{ev{Path: "stars", Test: "lte", Value: num(5), Aggregate: "all"}, False},
		{ev{Path: "stars", Test: "lte", Value: num(5), Aggregate: "count", Count: 2}, True},
		{ev{Path: "stars", Test: "lte", Value: num(0)}, False},
		{ev{Path: "stars", Test: "gte", Value: num(0), Aggregate: "all"}, False},
		{ev{Path: "stars", Test: "lte", Value: num(5), Aggregate: "all", MinStars: 1}, True}, // it is not asked
	} {
		tt.e.Kind = request.ReviewMeta
		if got := hold(t, &tt.e, item, nil); got != tt.want {
			t.Errorf("%+v: %v", tt.e, got)
		}
	}
}

// Values of items as they were read: a number in a text is the number, and the
// text still equals it.
func TestReadValuesMatchAsWritten(t *testing.T) {
	dir := t.TempDir()
	files := catalog.Files{Items: dir + "/items.jsonl", Reviews: dir + "/reviews.jsonl"}
	for path, line := range map[string]string{
		files.Items:   `{"id":"a","name":"A","attributes":{"Zip":"68159","Code":"01234","Flags":{},"Blank":"","Note":"(cash only)"}}`,
		files.Reviews: `{"id":"r","item_id":"a","user_id":"u","text":"x","user":{"elite":"2018"}}`,
	} {
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, findings, err := catalog.Load(files)
	if faults, _ := catalog.Split(findings); err != nil || len(faults) > 0 {
		t.Fatal(err, findings)
	}
	type ev = request.Evidence
	for _, tt := range []struct {
		e    ev
		want Truth
	}{
		{ev{Path: "attributes.Zip", Test: "true", Value: text("68159")}, True},
		{ev{Path: "attributes.Zip", Test: "true", Value: num(68159)}, True},
		{ev{Path: "attributes.Zip", Test: "true", Value: text("681")}, False},
		{ev{Path: "attributes.Zip", Test: "contains", Value: text("68159")}, True},
		{ev{Path: "attributes.Zip", Test: "contains", Value: text("681")}, False},
		{ev{Path: "attributes.Code", Test: "true", Value: text("01234")}, True},
		{ev{Path: "attributes.Code", Test: "true", Value: text("1234")}, False},
		{ev{Path: "attributes.Flags", Test: "true", Value: text("")}, False}, // nothing is not no flags
		{ev{Path: "attributes.Flags", Test: "true", Value: text("  ")}, False},
		{ev{Path: "attributes.Flags", Test: "true", Value: text("{}")}, True},
		{ev{Path: "attributes.Blank", Test: "true", Value: text("")}, True},
		{ev{Path: "attributes.Note", Test: "true", Value: text("(Cash only)")}, True},
		{ev{Kind: request.ReviewMeta, Path: "user.elite", Test: "gte", Value: num(2)}, False}, // one year, not 2018 of them
		{ev{Kind: request.ReviewMeta, Path: "user.elite", Test: "gte", Value: num(1)}, True},
	} {
		if tt.e.Kind == "" {
			tt.e.Kind = request.ItemMeta
		}
		if got := hold(t, &tt.e, c.Items[0], nil); got != tt.want {
			t.Errorf("%s %s %q: %v", tt.e.Path, tt.e.Test, tt.e.Value, got)
		}
	}
}

func TestContainsOnText(t *testing.T) {
	flag := map[string]any{"a": yes}
	for _, tt := range []struct {
		text string
		want any
		in   bool
	}{
		{"Beer and Wine", text("wine"), true}, {"Beer and Wine", text("beer AND"), true}, {"Beer and Wine", text("win"), false}, {"Beer and Wine", text("eer"), false},
		{"beer_and_wine", text("wine"), true}, {"wine-bar", text("bar"), true}, {"barbar bar", text("bar"), true}, {"O'Neil", text("neil"), true},
		{"68159", text("681"), false}, {"68159", text("159"), false}, {"D-68159", text("68159"), true}, {"68159 Mannheim", num(68159), true}, {"4.5 stars", text("5"), false}, {"4.5 stars", text("4"), false},
		{"4.5 stars", text("4.5"), true}, {"1,000 seats", text("000"), false}, {"seats 4, 5", text("4"), true}, {"seats 4.", text("4"), true}, {"B2", text("2"), false},
		{"Café Ümit", text("ümit"), true}, {"Cafés", text("café"), false}, {"ΣΊΣΥΦΟΣ", text("σίσυφος"), true}, {"cafe\u0301 x", text("cafe"), false},
		{"a", text(""), false}, {"a b", text(" "), false}, {"a (b)", text("(b)"), true}, {"x {} [] y", []any{}, false}, {`say {"a":true} now`, flag, false}, {`{"a":true}`, flag, false},
	} {
		if got := contains(text(tt.text), []any{tt.want}); got != tt.in {
			t.Errorf("%q contains %q: %v", tt.text, tt.want, got)
		}
	}
}

// Ann – Bob – Cid – Dee, each friendship stated by one side only; the item is
// reviewed by Cid (u0) and by Eve, whom nobody knows (u1).
func TestSocial(t *testing.T) {
	graph := &catalog.Graph{Users: map[string]*catalog.User{
		"ann": {ID: "ann", Name: "Ann", Friends: []string{"bob"}}, "bob": {ID: "bob", Name: "Bob"},
		"u0": {ID: "u0", Name: "Cid", Friends: []string{"bob", "dee"}}, "dee": {ID: "dee", Name: "Dee"}, "u1": {ID: "u1", Name: "Eve"},
	}}
	item := reviewed("a cozy room", "noisy")
	tests := []struct {
		names   string
		hops    int
		pattern string
		need    int
		want    Truth
	}{
		{"Cid", 0, "cozy", 0, True}, {"cid", 0, "cozy", 0, True}, {"Bob", 0, "cozy", 0, False}, {"Bob", 1, "cozy", 0, True}, {"Dee", 1, "cozy", 0, True},
		{"Ann", 1, "cozy", 0, False}, {"Ann", 2, "cozy", 0, True}, {"Bob", 2, "cozy", 0, True}, {"Dee", 2, "cozy", 0, True}, {"Cid", 2, "cozy", 0, True}, // friends and oneself too
		{"Ann", 2, "noisy", 0, False}, {"Ann", 2, "", 0, True}, {"Eve", 2, "cozy", 0, False},
		{"Eve,Bob", 1, "cozy", 0, True}, {"Eve,Bob", 1, "cozy|noisy", 2, True}, {"Bob", 1, "cozy", 2, False}, {"Nobody", 2, "cozy", 0, False}, {"u0", 0, "cozy", 0, True},
	}
	for _, tt := range tests {
		e := &request.Evidence{Kind: request.SocialFilter, Names: strings.Split(tt.names, ","), Hops: tt.hops, Pattern: tt.pattern, MinMatches: tt.need}
		if got := hold(t, e, item, graph); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
		if got := hold(t, e, reviewed(), graph); got != Unknown {
			t.Errorf("without reviews %+v: %v", tt, got)
		}
		if got := hold(t, e, item, nil); got != False {
			t.Errorf("without people %+v: %v", tt, got)
		}
	}
}

func given(truth Truth) *request.Node {
	return &request.Node{Aspect: truth.String(), Evidence: &request.Evidence{Kind: request.ItemMeta, Path: "x", Missing: int8(truth)}}
}

func join(op string, args ...*request.Node) *request.Node { return &request.Node{Op: op, Args: args} }

var truths = []Truth{False, Unknown, True}

// Kleene's tables, written out.
func TestThreeValues(t *testing.T) {
	and := map[[2]Truth]Truth{
		{True, True}: True, {True, Unknown}: Unknown, {True, False}: False,
		{Unknown, True}: Unknown, {Unknown, Unknown}: Unknown, {Unknown, False}: False,
		{False, True}: False, {False, Unknown}: False, {False, False}: False,
	}
	or := map[[2]Truth]Truth{
		{True, True}: True, {True, Unknown}: True, {True, False}: True,
		{Unknown, True}: True, {Unknown, Unknown}: Unknown, {Unknown, False}: Unknown,
		{False, True}: True, {False, Unknown}: Unknown, {False, False}: False,
	}
	e, item := New(nil), &catalog.Item{}
	for _, a := range truths {
		if got := e.Evaluate(join(request.Not, given(a)), item); got != -a {
			t.Errorf("NOT %v is %v", a, got)
		}
		for _, b := range truths {
			if got := e.Evaluate(join(request.And, given(a), given(b)), item); got != and[[2]Truth{a, b}] {
				t.Errorf("%v AND %v is %v", a, b, got)
			}
			if got := e.Evaluate(join(request.Or, given(a), given(b)), item); got != or[[2]Truth{a, b}] {
				t.Errorf("%v OR %v is %v", a, b, got)
			}
		}
	}
}

func TestEmptyNodesAreNoTruth(t *testing.T) {
	for _, n := range []*request.Node{join(request.And), join(request.Or), join(request.Not), join("XOR", given(True))} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s has a truth", n.Op)
				}
			}()
			New(nil).Evaluate(n, &catalog.Item{})
		}()
	}
	for _, e := range []*request.Evidence{nil, {}, {Kind: request.ReviewText, Pattern: "("}, {Kind: request.ItemMetaHours, Day: "Monday", From: "25:00", To: "x"}} {
		if got := New(nil).Leaf(e, reviewed("x")); got != Unknown {
			t.Errorf("%+v is %v", e, got)
		}
	}
}

// drawTree draws a tree of given truths, at most so deep.
func drawTree(t *rapid.T, depth int) *request.Node {
	ops := []string{"", ""}
	if depth > 0 {
		ops = []string{"", request.And, request.Or, request.Not}
	}
	op := rapid.SampledFrom(ops).Draw(t, "op")
	switch op {
	case "":
		return given(rapid.SampledFrom(truths).Draw(t, "truth"))
	case request.Not:
		return join(op, drawTree(t, depth-1))
	}
	n := join(op)
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		n.Args = append(n.Args, drawTree(t, depth-1))
	}
	return n
}

func TestLaws(t *testing.T) {
	e, item := New(nil), &catalog.Item{}
	value := func(n *request.Node) Truth { return e.Evaluate(n, item) }
	not := func(n *request.Node) *request.Node { return join(request.Not, n) }
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawTree(t, 3), drawTree(t, 3), drawTree(t, 3)
		if value(not(not(a))) != value(a) {
			t.Fatal("NOT NOT")
		}
		if value(not(join(request.And, a, b))) != value(join(request.Or, not(a), not(b))) {
			t.Fatal("De Morgan")
		}
		if value(join(request.And, a, join(request.Or, b, c))) != value(join(request.Or, join(request.And, a, b), join(request.And, a, c))) {
			t.Fatal("distribution")
		}
		if value(join(request.And, a, b, c)) != value(join(request.And, c, join(request.And, b, a))) {
			t.Fatal("order and grouping")
		}
	})
}

// Learning what was unknown never turns what was known: each tree is monotone
// in the order of information.
func TestMoreKnowledgeChangesNoAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawTree(t, 4)
		before := New(nil).Evaluate(n, &catalog.Item{})
		for _, leaf := range n.Leaves() {
			if leaf.Evidence.Missing == 0 {
				leaf.Evidence.Missing = int8(rapid.SampledFrom(truths).Draw(t, "learned"))
			}
		}
		after := New(nil).Evaluate(n, &catalog.Item{})
		if before != Unknown && after != before {
			t.Fatalf("%s was %v and is %v", n.Shorthand(), before, after)
		}
	})
}

func TestExplain(t *testing.T) {
	item := reviewed("Such a cozy room, we stayed for hours and hours and hours until they closed.", "meh")
	item.Attributes = map[string]any{"WiFi": text("free")}
	item.Hours.Set(0, catalog.Interval{From: 600, To: 1200})
	item.Reviews[0].User = map[string]any{"fans": num(3)}
	node := func(aspect string, e request.Evidence) *request.Node {
		return &request.Node{Aspect: aspect, Evidence: &e}
	}
	graph := &catalog.Graph{Users: map[string]*catalog.User{"u0": {ID: "u0", Name: "Cid"}}}
	n := join(request.And,
		node("wifi", request.Evidence{Kind: request.ItemMeta, Path: "attributes.WiFi", Test: "true", Value: text("free")}),
		join(request.Or,
			node("tv", request.Evidence{Kind: request.ItemMeta, Path: "attributes.HasTV", Test: "true", Value: yes}),
			join(request.Not, node("open", request.Evidence{Kind: request.ItemMetaHours, Day: "Monday", From: "9:00", To: "11:00"})),
			node("cozy", request.Evidence{Kind: request.ReviewText, Pattern: "room"})),
		node("fans", request.Evidence{Kind: request.ReviewMeta, Path: "user.fans", Test: "gte", Value: num(2)}),
		&request.Node{Evidence: &request.Evidence{Kind: request.SocialFilter, Names: []string{"Cid"}, Hops: 1, Pattern: "cozy"}},
		node("fans_cozy", request.Evidence{Kind: request.ReviewText, Pattern: "cozy", WeightBy: "fans", Percentile: 50, MinCredible: 1}),
	)
	want := `+ AND
  + wifi: attributes.WiFi is "free"
  + OR
    ? tv: attributes.HasTV has no value
    + NOT
      - open: Monday: 10:00-20:00
    + cozy: review 1 says "Such a cozy room, we stayed for hours and hours and hour…"
  + fans: 1 of 2 reviews with user.fans ≥ 2, want 1
  + 1HOP(['Cid'], 'cozy'): 1 of 2 reviews by people within 1 friendship of Cid, 1 of them matching /cozy/: review 1 by Cid says "Such a cozy room, we stayed for hours and hours and…"
  + fans_cozy: 1 of 1 review with fans of at least 3 matching /cozy/, want 1
`
	x := New(graph).Explain(n, item)
	if got := x.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	rows := New(graph).Table(n, []*catalog.Item{item, reviewed()})
	if rows[0].Truth != True || rows[1].Truth != Unknown || fmt.Sprint(rows[0].Conditions) != "[true unknown false true true true true]" {
		t.Errorf("%+v", rows)
	}
}

// Searching with folded literal texts first finds what the expression alone finds.
func TestSaysIsTheExpression(t *testing.T) {
	patterns := []string{"cozy", "wi-?fi", "(?:free|no) wifi", "ſtraße", "K", "a+b", "^x", "x$", `\bcafé\b`, "[a-c]", "", "x*", "(?-i:Cozy)", "İ", "ΣΣ", "�"}
	texts := []string{"", "COZY", "a Cozy place", "Wi-Fi", "free WIFI", "STRASSE", "\u212a", "k", "AAB", "Xx", "CAFÉ", "ſ", "ß", "i̇", "σς", "\xff", "no\x00wifi"}
	rapid.Check(t, func(t *rapid.T) {
		p := newPattern(rapid.SampledFrom(patterns).Draw(t, "pattern"))
		s := &subject{Item: &catalog.Item{}}
		for range 3 {
			text := rapid.SampledFrom(texts).Draw(t, "text") + rapid.SampledFrom(texts).Draw(t, "more")
			s.Reviews = append(s.Reviews, catalog.Review{Text: text})
		}
		for i := range s.Reviews {
			if got, want := s.says(p, i), regexp.MustCompile("(?i)"+p.String()).MatchString(s.Reviews[i].Text); got != want {
				t.Fatalf("%v in %q: %v, want %v", p, s.Reviews[i].Text, got, want)
			}
		}
	})
}
