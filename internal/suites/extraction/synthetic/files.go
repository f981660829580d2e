package synthetic

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Record is a document as a line of data.
func (d *Document) Record() []byte {
	b, err := json.Marshal(d)
	if err != nil {
		panic("synthetic: " + err.Error()) // strings always marshal
	}
	return b
}

// Summary describes the fields of a set in a line.
func (s *Set) Summary() string {
	var of [3]int // by fate
	for _, d := range s.Documents {
		for _, g := range d.Truth {
			of[g.fate()]++
		}
	}
	all := of[present] + of[missing] + of[ambiguous]
	share := func(f fate) float64 { return 100 * float64(of[f]) / float64(all) }
	return fmt.Sprintf("%s: %d documents, %d fields: %.1f %% present, %.1f %% missing, %.1f %% ambiguous",
		s.Split, len(s.Documents), all, share(present), share(missing), share(ambiguous))
}

func (g *Gold) fate() fate {
	switch {
	case g.Ambiguous:
		return ambiguous
	case g.Exists:
		return present
	}
	return missing
}

// perCell is the number of documents of a type and difficulty that are verified.
const perCell = 2

// Drawn draws the documents of a set that a second person verifies.
func (s *Set) Drawn(seed uint64) []*Document {
	m := &maker{random: rand.NewPCG(seed, uint64(2+slices.Index(Splits, s.Split)))}
	var drawn []*Document
	for _, name := range Types() {
		for _, difficulty := range Difficulties {
			var cell []*Document
			for i := range s.Documents {
				if d := &s.Documents[i]; d.Schema == name && d.Difficulty == difficulty {
					cell = append(cell, d)
				}
			}
			shuffle(m, cell)
			drawn = append(drawn, cell[:min(perCell, len(cell))]...)
		}
	}
	return drawn
}

// WriteDrawn writes documents with their gold for a reader.
func WriteDrawn(w io.Writer, documents []*Document) error {
	var b strings.Builder
	b.WriteString("# Documents to verify\n\nCompare the gold of each document with its text and fill in its row of verification.csv.\n")
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s (%s, %s)\n\n```text\n%s```\n\n", d.ID, d.Schema, d.Difficulty, d.Text)
		for _, g := range d.Truth {
			switch {
			case g.Ambiguous:
				fmt.Fprintf(&b, "- %s: ambiguous, `%s`\n", g.Field, strings.Join(g.Candidates, "` or `"))
			case g.Exists:
				fmt.Fprintf(&b, "- %s: `%s`, page %d, quote `%s`\n", g.Field, g.Correct, g.Page, g.Quote)
			default:
				fmt.Fprintf(&b, "- %s: missing\n", g.Field)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
