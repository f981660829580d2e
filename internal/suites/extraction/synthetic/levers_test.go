package synthetic

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/text"
)

// For any levers: gold is proved by Generate; the same seed gives the same bytes; each document
// has its pages, of 400 words within 15 %; the shares of types, difficulties and tables are met;
// no decoy has the value of a field, and in long documents none is on the page of its field.
func TestLevers(t *testing.T) {
	levers := rapid.Custom(func(t *rapid.T) Levers {
		l := Levers{Pages: rapid.IntRange(0, 20).Draw(t, "pages"), Tables: float64(rapid.IntRange(0, 4).Draw(t, "tables")) / 4,
			Locale: rapid.SampledFrom([]string{"", "en-US", "en-GB", "de-DE", "fr-FR"}).Draw(t, "locale"),
			Types:  TypeShares{List: rapid.SliceOfNDistinct(rapid.SampledFrom(Types()), 0, 3, rapid.ID[string]).Draw(t, "types")}}
		if rapid.Bool().Draw(t, "mixed") {
			l.Difficulty = map[string]int{"easy": rapid.IntRange(0, 3).Draw(t, "easy"), "hard": rapid.IntRange(1, 3).Draw(t, "hard")}
		}
		return l
	})
	for seed := range uint64(12) {
		l := levers.Example(int(seed))
		t.Logf("%+v", l)
		sets, err := Generate(seed, l)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Generate(seed, l)
		first, _ := json.Marshal(sets)
		if second, _ := json.Marshal(again); string(first) != string(second) {
			t.Fatal("the same seed gives other documents")
		}
		for _, s := range sets {
			if len(s.Documents) != ofASet {
				t.Fatalf("%d documents", len(s.Documents))
			}
			tables, hard, decoys := 0, 0, 0
			for _, d := range s.Documents {
				if len(l.Types.List) > 0 && !slices.Contains(l.Types.List, d.Schema) {
					t.Fatalf("a document of type %s", d.Schema)
				}
				if d.Difficulty == "hard" {
					hard++
				}
				if strings.Contains(d.Text, "| Entry | ") {
					tables++
				}
				wrongDecoys(t, &d, l.Pages > 1)
				if decoys += len(d.decoys); d.Difficulty == "easy" && len(d.decoys) > 0 {
					t.Fatalf("%s is easy and has the decoy %q", d.ID, d.decoys[0].shown)
				}
				if pages := strings.Count(d.Text, "---PAGE "); l.Pages > 0 {
					words := float64(len(strings.Fields(d.Text)))
					if want := float64(l.Pages * pageWords); pages != l.Pages || !(math.Abs(words-want) <= 0.15*want) {
						t.Fatalf("%s has %d pages and %v words, want %d and %v", d.ID, pages, words, l.Pages, want)
					}
				}
			}
			if l.Pages > 3 && decoys < 200 {
				t.Fatalf("%d decoys", decoys)
			}
			if want := 100 * float64(l.Difficulty["hard"]) / math.Max(1, float64(l.Difficulty["hard"]+l.Difficulty["easy"])); l.Difficulty != nil && !(math.Abs(float64(hard)-want) <= 3) {
				t.Fatalf("%d hard documents, want %v", hard, want)
			}
			if want := 100 * l.Tables; !(math.Abs(float64(tables)-want) <= 3) { // a few documents have no field
				t.Fatalf("%d documents have a table, want %v", tables, want)
			}
		}
	}
}

// wrongDecoys reports decoys that have the value of a field, or stand beside their own.
func wrongDecoys(t *testing.T, d *Document, far bool) {
	t.Helper()
	for _, x := range d.decoys {
		if !strings.Contains(d.Text, x.shown) {
			t.Fatalf("%s: the decoy %q is not in the text", d.ID, x.shown)
		}
		for _, g := range d.Truth {
			for _, v := range slices.Concat(g.Acceptable, g.Candidates) {
				if text.Equal(typeOf(x.kind), x.shown, v) {
					t.Fatalf("%s: the decoy %q is the value of %s", d.ID, x.shown, g.Field)
				}
			}
			if far && g.Field == x.field && g.Page == x.page {
				t.Fatalf("%s: the decoy %q is on page %d, as %s", d.ID, x.shown, x.page, g.Field)
			}
		}
	}
}

// No sentence of prose begins as the line of a field does, or names values easy documents lack.
func TestProse(t *testing.T) {
	v, err := words()
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range v.Types {
		w := &writer{kind: kind}
		p := v.prose[name]
		if len(p.Once) == 0 || len(p.Again) == 0 {
			t.Fatalf("%s has no prose", name)
		}
		for _, s := range slices.Concat(p.Once, p.Again) {
			plain := 0
			for _, line := range append([]string{s.Title, s.Open, s.Close}, s.Body...) {
				for _, f := range kind.Fields {
					if w.labelled(line, f.Name) > 0 {
						t.Errorf("%s: %q begins as a line of %s", name, line, f.Name)
					}
				}
				decoy := false
				for _, at := range slot.FindAllStringSubmatch(line, -1) {
					decoy = decoy || at[2] != ""
					if at[2] != "" && !slices.ContainsFunc(kind.Fields, func(f field) bool { return f.Name == at[2] && f.Kind == at[1] }) {
						t.Errorf("%s: %q has a decoy of no field", name, line)
					}
				}
				if !decoy {
					plain++
				}
			}
			if plain < 5 {
				t.Errorf("%s: %q has %d lines without values", name, s.Title, plain)
			}
		}
	}
}

// Shares of types are met by type and within each difficulty; a list is as the shares of a set
// without levers.
func TestTypeShares(t *testing.T) {
	for _, test := range []struct{ levers, want string }{
		{`{"types": {"invoice": 3, "contract": 1, "resume": 0}}`, "invoice [30 24 15 6], contract [10 8 5 2]"},
		{`{"types": {"invoice": 1, "receipt": 1}, "difficulty": {"easy": 1, "hard": 4}}`, "invoice [10 0 40 0], receipt [10 0 40 0]"},
		{`{"types": ["resume", "contract"]}`, "contract [23 17 11 6], resume [17 11 9 6]"},
		{`{"types": {"resume": 15, "contract": 20}}`, "contract [23 17 11 6], resume [17 11 9 6]"},
	} {
		var l Levers
		if err := json.Unmarshal([]byte(test.levers), &l); err != nil {
			t.Fatal(err)
		}
		sets, err := Generate(3, l)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]*[4]int{}
		for _, d := range sets[0].Documents {
			if got[d.Schema] == nil {
				got[d.Schema] = new([4]int)
			}
			got[d.Schema][slices.Index(Difficulties, d.Difficulty)]++
		}
		var list []string
		for _, name := range Types() {
			if of := got[name]; of != nil {
				list = append(list, fmt.Sprint(name, " ", *of))
			}
		}
		if got := strings.Join(list, ", "); got != test.want {
			t.Errorf("%s: %s, want %s", test.levers, got, test.want)
		}
		again, err := json.Marshal(l)
		if want := strings.ReplaceAll(test.levers, " ", ""); err != nil || len(again) != len(want) {
			t.Errorf("%s is written as %s, %v", test.levers, again, err)
		}
	}
	if none, err := json.Marshal(Levers{}); err != nil || string(none) != "{}" {
		t.Errorf("no levers are written as %s, %v", none, err)
	}
}

func TestWrongLevers(t *testing.T) {
	for want, l := range map[string]Levers{
		"pages: 21: want 1 to 20":                              {Pages: 21},
		`there is no type "letter": want some of invoice`:      {Types: TypeShares{List: []string{"letter"}}},
		"types: letter: 1: want shares of invoice":             {Types: TypeShares{Shares: map[string]int{"letter": 1}}},
		"types: the shares are all 0":                          {Types: TypeShares{Shares: map[string]int{"invoice": 0}}},
		"difficulty: harder: 1: want shares of easy":           {Difficulty: map[string]int{"harder": 1}},
		"difficulty: the shares are all 0":                     {Difficulty: map[string]int{"easy": 0}},
		"tables: 2: want a share from 0 to 1":                  {Tables: 2},
		`locale: "xx": want one of de-DE, en-GB, en-US, fr-FR`: {Locale: "xx"},
	} {
		if _, err := Generate(1, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
