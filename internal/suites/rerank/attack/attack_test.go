package attack_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"pgregory.net/rapid"
)

func item(id string) *catalog.Item {
	return &catalog.Item{ID: id, Name: "Place " + id, Attributes: map[string]any{
		"WiFi": "free", "NoiseLevel": "quiet", "OutdoorSeating": false,
	}}
}

func reviews(n int) []catalog.Review {
	list := make([]catalog.Review, n)
	for i := range list {
		list[i] = catalog.Review{ID: fmt.Sprint("r", i), UserID: fmt.Sprint("u", i), Stars: 3, Date: "2024-01-02",
			Text: "The waiter remembered everything we ordered, and the kitchen closed rather early that evening without telling anybody beforehand."}
	}
	return list
}

// TestVersion: attacks that change need another version, which makes trials under them others. Set
// the version and the hash together.
func TestVersion(t *testing.T) {
	const version, done = "3", "7a7cb021f2fa6613"
	items, clean := []*catalog.Item{item("0"), item("1"), item("2"), item("3")}, [][]catalog.Review{reviews(3), reviews(1), reviews(4), nil}
	items[2].Name = items[1].Name
	var all []byte
	for _, a := range attack.All() {
		for _, o := range []attack.Options{{}, {Strength: 2, Reviews: 2}} {
			after, report := attack.Plan{Attack: &a, Options: o, Seed: 42, Request: "R1", Right: only("0")}.Run(items, clean)
			all = fmt.Append(all, a.Name, after, report)
		}
	}
	if got := eval.HashOf(all).String(); got != done || attack.Version != version {
		t.Errorf("version %s with attacks %s, want %s with %s: raise Version when attacks change", attack.Version, got, version, done)
	}
}

// names are those of the specification, R6.1; a change breaks study files.
func TestNames(t *testing.T) {
	want := strings.Fields(`typo_10 typo_20 inject_override inject_fake_sys inject_hidden fake_positive fake_negative
		sarcastic_wifi sarcastic_noise sarcastic_outdoor sarcastic_all heterogeneity`)
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("attacks are %v", got)
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{"": "", "none": "", "typo_20, inject_hidden": "typo_20 inject_hidden", "inject_hidden,typo_20": "typo_20 inject_hidden", "all": strings.Join(names(), " ")} {
		list, err := attack.Parse(in)
		var names []string
		for _, a := range list {
			names = append(names, a.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%q reads as %v, %v", in, names, err)
		}
	}
	if _, err := attack.Parse("typo_20,typos"); err == nil || !strings.Contains(err.Error(), `"typos"`) {
		t.Errorf("an unknown attack: %v", err)
	}
}

// Every attack changes the text of every candidate but gold, or with fake_negative
// of gold alone, and says so.
func TestEveryAttackChangesItsCandidates(t *testing.T) {
	var items []*catalog.Item
	var clean [][]catalog.Review
	for i := range 10 {
		items, clean = append(items, item(fmt.Sprint(i))), append(clean, reviews(3))
	}
	before := fmt.Sprint(clean)
	for _, a := range attack.All() {
		p := attack.Plan{Attack: &a, Seed: 42, Request: "R1", Right: only("4")}
		after, report := p.Run(items, clean)
		for i := range items {
			changed := !reflect.DeepEqual(clean[i], after[i])
			want := (items[i].ID == "4") == (a.Name == "fake_negative")
			if changed != want || report.Changes[i].Any() != want {
				t.Errorf("%s: candidate %d (gold is 4): changed %v, reported %+v", a.Name, i, changed, report.Changes[i])
			}
		}
		if fmt.Sprint(clean) != before {
			t.Fatalf("%s changed what it was given", a.Name)
		}
		if a.Injects != (report.Promoted >= 0) || report.Promoted == 4 {
			t.Errorf("%s promotes %d", a.Name, report.Promoted)
		}
		again, _ := p.Run(items, clean)
		if !reflect.DeepEqual(after, again) {
			t.Errorf("%s does something else the second time", a.Name)
		}
		same := 0
		for range 5 { // one review of four texts may repeat
			p.Seed++
			if other, _ := p.Run(items, clean); reflect.DeepEqual(after, other) {
				same++
			}
		}
		if same == 5 || same > 0 && !a.Blames {
			t.Errorf("%s does the same for %d of 5 other seeds", a.Name, same)
		}
	}
}

// The attack on an item is the same wherever the item stands among others.
func TestAttacksDoNotDependOnTheOrder(t *testing.T) {
	items := []*catalog.Item{item("a"), item("b"), item("c")}
	clean := [][]catalog.Review{reviews(2), reviews(3), reviews(4)}
	for _, a := range attack.All() {
		p := attack.Plan{Attack: &a, Seed: 1, Request: "R", Right: only("a")}
		after, report := p.Run(items, clean)
		turned, other := p.Run([]*catalog.Item{items[2], items[0], items[1]}, [][]catalog.Review{clean[2], clean[0], clean[1]})
		if !reflect.DeepEqual(after, [][]catalog.Review{turned[1], turned[2], turned[0]}) {
			t.Errorf("%s depends on the order of the candidates", a.Name)
		}
		if report.Promoted >= 0 && (report.Promoted+1)%3 != other.Promoted {
			t.Errorf("%s promotes another candidate in another order", a.Name)
		}
	}
}

func only(gold string) func(string) bool { return func(id string) bool { return id == gold } }

func find(t *testing.T, name string) attack.Attack {
	t.Helper()
	list, err := attack.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// Of 4,000 words longer than three letters the stated share is swapped
// (binomial: SD 0.6 % at 20 %), by exchanging two neighbours, and no others.
func TestTyposAreSwapsAtTheStatedRate(t *testing.T) {
	text := strings.Repeat("alpha beta, the ox; Gänse-stall naïve 1234567 aaaa ", 800)
	for name, p := range map[string]float64{"typo_10": 0.10, "typo_20": 0.20} {
		for strength, factor := range map[float64]float64{0: 1, 2: 2, 100: 1 / p} {
			a := find(t, name)
			after, change := a.Apply([]catalog.Review{{Text: text}}, item("x"), attack.Options{Strength: strength}, 7)
			before, now := strings.FieldsFunc(text, notLetter), strings.FieldsFunc(after[0].Text, notLetter)
			swapped, possible := 0, 0
			for i := range before {
				if len([]rune(before[i])) > 3 && before[i] != "aaaa" {
					possible++
				}
				if before[i] != now[i] {
					swapped++
					if !neighbours([]rune(before[i]), []rune(now[i])) || len([]rune(before[i])) < 4 {
						t.Fatalf("%s became %s", before[i], now[i])
					}
				}
			}
			want := min(1, p*factor)
			if rate := float64(swapped) / float64(possible); !(math.Abs(rate-want) <= 0.03) {
				t.Errorf("%s, strength %v: %d of %d words swapped, reported %+v", name, strength, swapped, possible, change)
			}
			if strings.Map(punctuation, text) != strings.Map(punctuation, after[0].Text) {
				t.Errorf("%s changed more than letters", name)
			}
		}
	}
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

func punctuation(r rune) rune {
	if unicode.IsLetter(r) {
		return -1
	}
	return r
}

// neighbours reports words that differ by one exchange of neighbours.
func neighbours(a, b []rune) bool {
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return len(a) == len(b) && i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && slices.Equal(a[i+2:], b[i+2:])
}

func TestInjectionsSpeakForThePromoted(t *testing.T) {
	for _, name := range []string{"inject_override", "inject_fake_sys", "inject_hidden"} {
		a := find(t, name)
		for _, n := range []int{0, 3} {
			after, change := a.Apply(reviews(n), item("x"), attack.Options{Promote: "Café Ultra", Strength: 2}, 1)
			all := fmt.Sprint(after)
			if strings.Count(all, "Café Ultra") < 2 || strings.Contains(all, "{name}") {
				t.Errorf("%s with %d reviews writes %s", name, n, all)
			}
			if n > 0 && (change.Edited != 1 || change.Added != 0) {
				t.Errorf("%s reports %+v", name, change)
			}
			if n == 0 && (change.Added != 1 || len(after) != 1) {
				t.Errorf("%s without reviews reports %+v", name, change)
			}
		}
	}
}

func TestHowManyReviewsIsAnOption(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		edited int
		added  int
	}{
		{"typo_20", 0, 4, 0}, {"typo_20", 2, 2, 0}, {"inject_hidden", 0, 1, 0}, {"inject_hidden", 3, 3, 0}, {"inject_hidden", 9, 4, 0},
		{"fake_positive", 0, 0, 1}, {"fake_negative", 5, 0, 5}, {"sarcastic_wifi", 2, 0, 2}, {"sarcastic_all", 0, 0, 3}, {"heterogeneity", 0, 4, 0}, {"heterogeneity", 1, 1, 0},
	} {
		a := find(t, c.name)
		_, change := a.Apply(reviews(4), item("x"), attack.Options{Reviews: c.n, Strength: 10}, 3)
		if change.Edited != c.edited || change.Added != c.added {
			t.Errorf("%s on %d reviews: %+v", c.name, c.n, change)
		}
	}
}

func TestSarcasmStatesWhatIsTrue(t *testing.T) {
	quiet, loud := item("quiet"), item("loud")
	loud.Attributes["NoiseLevel"] = "Very_Loud"
	bare := &catalog.Item{ID: "bare", Name: "Bare"}
	odd := &catalog.Item{ID: "odd", Attributes: map[string]any{"NoiseLevel": "purple"}}
	a := find(t, "sarcastic_noise")
	text := func(it *catalog.Item) string {
		after, _ := a.Apply(nil, it, attack.Options{Strength: 3}, 5)
		return fmt.Sprint(after)
	}
	if s := strings.ToLower(text(quiet)); !strings.Contains(s, "quiet") || strings.Contains(s, "{value}") {
		t.Errorf("of a quiet place it says %s", s)
	}
	if s := strings.ToLower(text(loud)); !strings.Contains(s, "loud") || strings.Contains(s, "quiet, what") {
		t.Errorf("of a loud place it says %s", s)
	}
	for _, it := range []*catalog.Item{bare, odd} {
		after, change := a.Apply(reviews(2), it, attack.Options{}, 5)
		if change.Any() || !reflect.DeepEqual(after, reviews(2)) {
			t.Errorf("nothing true is known of %s, and it says %v", it.ID, after)
		}
	}
}

func TestHeterogeneityMakesLengthsUnequal(t *testing.T) {
	a := find(t, "heterogeneity")
	after, _ := a.Apply(reviews(50), item("x"), attack.Options{}, 5)
	least, most := math.MaxInt, 0
	for i, r := range after {
		if !strings.HasPrefix(r.Text, reviews(50)[i].Text) {
			t.Fatalf("review %d lost its text", i)
		}
		least, most = min(least, len(r.Text)), max(most, len(r.Text))
	}
	if most < 3*least {
		t.Errorf("lengths are from %d to %d", least, most)
	}
}

func TestVariantsAreAllUsed(t *testing.T) {
	for _, a := range attack.All() {
		if strings.HasPrefix(a.Name, "typo") || a.Name == "heterogeneity" {
			continue
		}
		texts := map[string]bool{}
		for seed := range 200 {
			after, _ := a.Apply(nil, item("x"), attack.Options{}, uint64(seed))
			texts[after[0].Text] = true
		}
		if len(texts) < 3 {
			t.Errorf("%s has %d variants", a.Name, len(texts))
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []attack.Options{{Strength: -1}, {Strength: math.NaN()}, {Strength: math.Inf(1)}, {Reviews: -1}} {
		if o.Check() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if err := (attack.Options{Strength: 0.5, Reviews: 2}).Check(); err != nil {
		t.Error(err)
	}
}

func TestAttacksTakeAnyText(t *testing.T) {
	all := attack.All()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(all).Draw(t, "attack")
		var list []catalog.Review
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "texts") {
			list = append(list, catalog.Review{Text: text})
		}
		o := attack.Options{Strength: rapid.Float64Range(0, 5).Draw(t, "strength"), Reviews: rapid.IntRange(0, 5).Draw(t, "reviews")}
		after, change := a.Apply(list, item("x"), o, rapid.Uint64().Draw(t, "seed"))
		if len(after) != len(list)+change.Added {
			t.Fatalf("%d reviews became %d, reported %+v", len(list), len(after), change)
		}
	})
}

func TestDefence(t *testing.T) {
	for _, want := range []string{"instruction", "sarcasm", "Praise"} {
		if !strings.Contains(attack.Defence(), want) {
			t.Errorf("the defence does not speak of %s", want)
		}
	}
}

func names() (list []string) {
	for _, a := range attack.All() {
		list = append(list, a.Name)
	}
	return list
}
