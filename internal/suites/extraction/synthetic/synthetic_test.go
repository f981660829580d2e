package synthetic

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Shares, sizes and strata of both sets (X6.1), for many seeds. Generate proves gold.
func TestShares(t *testing.T) {
	seeds := []uint64{513} // both sets have a résumé without any field
	for seed := range uint64(40) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		sets, err := Generate(seed, Levers{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, s := range sets {
			n, byType, byDifficulty := map[string]int{}, map[string]int{}, map[string]int{}
			for _, d := range s.Documents {
				byType[d.Schema]++
				byDifficulty[d.Difficulty]++
				for _, g := range d.Truth {
					switch {
					case g.Ambiguous:
						n["ambiguous"]++
					case g.Exists:
						n["present"]++
					default:
						n["missing"]++
					}
					if d.Difficulty == "easy" && (g.Ambiguous || !g.Exists) {
						t.Errorf("%s is easy, but %s is not simply there", d.ID, g.Field)
					}
				}
			}
			got := fmt.Sprint(n, byType, byDifficulty)
			const want = "map[ambiguous:87 missing:145 present:348] map[contract:20 invoice:25 medical:20 receipt:20 resume:15] map[adversarial:10 easy:40 hard:20 medium:30]"
			if got != want {
				t.Errorf("seed %d, %s:\n%s, want\n%s", seed, s.Split, got, want)
			}
		}
	}
}

// The bytes of seed 42 are the same on every machine.
func TestSameBytes(t *testing.T) {
	sets, err := Generate(42, Levers{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(sets)
	if err != nil {
		t.Fatal(err)
	}
	const want = "7f7e9382cb247084"
	if got := fmt.Sprintf("%x", sha256.Sum256(b))[:16]; got != want {
		t.Errorf("hash %s, want %s: a changed generator needs a note in the changelog", got, want)
	}
	other, err := Generate(43, Levers{})
	if err != nil {
		t.Fatal(err)
	}
	if other[0].Documents[0].Text == sets[0].Documents[0].Text {
		t.Error("another seed gives the same document")
	}
}

// prove rejects gold that the text does not bear out.
func TestProve(t *testing.T) {
	tests := []struct {
		name, want string
		change     func(w *writer, d *Document)
	}{
		{"nothing", "", func(*writer, *Document) {}},
		{"a quote of another page", "is not on page 2", func(_ *writer, d *Document) { d.Truth[0].Page = 2 }},
		{"a reworded quote", "is not on page", func(_ *writer, d *Document) { d.Truth[0].Quote += " indeed" }},
		{"a quote of something else", "does not show", func(_ *writer, d *Document) {
			d.Truth[0].Quote = "---PAGE"
			d.Text = strings.ReplaceAll(d.Text, "---PAGE 1---\n", "---PAGE 1---\nsee ---PAGE\n")
		}},
		{"a missing field with a label", "it is missing, but 1 lines", func(_ *writer, d *Document) { d.Truth[1] = Gold{Field: d.Truth[1].Field} }},
		{"equal candidates", "are not different", func(_ *writer, d *Document) {
			d.Truth[0] = Gold{Field: d.Truth[0].Field, Exists: true, Ambiguous: true, Candidates: []string{"INV-1", "INV-1"}}
		}},
		{"a candidate from nowhere", "is not in the text", func(_ *writer, d *Document) {
			d.Truth[0] = Gold{Field: d.Truth[0].Field, Exists: true, Ambiguous: true, Candidates: []string{"INV-x", "INV-y"}}
		}},
		{"a second label", "lines have its label", func(w *writer, d *Document) {
			d.Text += strings.ReplaceAll(w.kind.Again["invoice_number"], "{invoice_number}", "INV-0") + "\n"
		}},
	}
	v, err := words()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sets, err := Generate(1, Levers{})
			if err != nil {
				t.Fatal(err)
			}
			w := &writer{kind: v.Types["invoice"]}
			d := &sets[0].Documents[0] // easy: every field is present
			tt.change(w, d)
			if err := w.prove(d); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Two documents of each type and difficulty are verified: 40 of each set (X6.4).
func TestDrawn(t *testing.T) {
	sets, err := Generate(3, Levers{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		cells, ids := map[string]int{}, map[string]bool{}
		for _, d := range s.Drawn(3) {
			cells[d.Schema+" "+d.Difficulty]++
			ids[d.ID] = true
		}
		if len(cells) != 20 || len(ids) != 40 {
			t.Errorf("%s: %d cells, %d documents", s.Split, len(cells), len(ids))
		}
		for c, n := range cells {
			if n != 2 {
				t.Errorf("%s: %d documents of %s", s.Split, n, c)
			}
		}
	}
}

// Sets that share a value are an error.
func TestDisjoint(t *testing.T) {
	sets, err := Generate(1, Levers{})
	if err != nil {
		t.Fatal(err)
	}
	sets[1].Documents[0].Truth[0].Acceptable = sets[0].Documents[0].Truth[0].Acceptable
	if err := disjoint(sets); err == nil {
		t.Error("a shared value is accepted")
	}
}
