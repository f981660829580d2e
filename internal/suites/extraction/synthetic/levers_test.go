package synthetic

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// For any levers: gold is proved by Generate; the same seed gives the same bytes; each document
// has its pages, of 400 words within 15 %; the shares of types, difficulties and tables are met;
// and no wrong value of a decoy is the right one, which prove checks by labels.
func TestLevers(t *testing.T) {
	levers := rapid.Custom(func(t *rapid.T) Levers {
		l := Levers{Pages: rapid.IntRange(0, 20).Draw(t, "pages"), Tables: float64(rapid.IntRange(0, 4).Draw(t, "tables")) / 4,
			Locale: rapid.SampledFrom([]string{"", "en-US", "en-GB", "de-DE", "fr-FR"}).Draw(t, "locale"),
			Types:  rapid.SliceOfNDistinct(rapid.SampledFrom(Types()), 0, 3, rapid.ID[string]).Draw(t, "types")}
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
			tables, hard := 0, 0
			for _, d := range s.Documents {
				if len(l.Types) > 0 && !slices.Contains(l.Types, d.Schema) {
					t.Fatalf("a document of type %s", d.Schema)
				}
				if d.Difficulty == "hard" {
					hard++
				}
				if strings.Contains(d.Text, "| Entry | Content |") {
					tables++
				}
				if pages := strings.Count(d.Text, "---PAGE "); l.Pages > 0 {
					words := float64(len(strings.Fields(d.Text)))
					if want := float64(l.Pages * pageWords); pages != l.Pages || math.Abs(words-want) > 0.15*want {
						t.Fatalf("%s has %d pages and %v words, want %d and %v", d.ID, pages, words, l.Pages, want)
					}
				}
			}
			if want := 100 * float64(l.Difficulty["hard"]) / math.Max(1, float64(l.Difficulty["hard"]+l.Difficulty["easy"])); l.Difficulty != nil && math.Abs(float64(hard)-want) > 3 {
				t.Fatalf("%d hard documents, want %v", hard, want)
			}
			if want := 100 * l.Tables; math.Abs(float64(tables)-want) > 10 { // a document may have no field with a label
				t.Fatalf("%d documents have a table, want %v", tables, want)
			}
		}
	}
}

func TestWrongLevers(t *testing.T) {
	for want, l := range map[string]Levers{
		"pages: 21: want 1 to 20":                              {Pages: 21},
		`there is no type "letter": want some of invoice`:      {Types: []string{"letter"}},
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
