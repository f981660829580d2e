package synthetic

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
)

// Shares, sizes and strata of both sets (X6.1), for many seeds. Generate proves gold.
func TestShares(t *testing.T) {
	for seed := range uint64(40) {
		sets, err := Generate(seed)
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
	sets, err := Generate(42)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(sets)
	if err != nil {
		t.Fatal(err)
	}
	const want = "0864b4b11949e14e"
	if got := fmt.Sprintf("%x", sha256.Sum256(b))[:16]; got != want {
		t.Errorf("hash %s, want %s: a changed generator needs a note in the changelog", got, want)
	}
	other, err := Generate(43)
	if err != nil {
		t.Fatal(err)
	}
	if other[0].Documents[0].Text == sets[0].Documents[0].Text {
		t.Error("another seed gives the same document")
	}
}
