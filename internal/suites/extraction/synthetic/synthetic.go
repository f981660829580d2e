// Package synthetic generates documents with known gold for the extraction suite:
// a dev and a test set of invoices, contracts, medical records, receipts and
// resumes. The output depends only on the seed and the levers, byte for byte. The two sets share
// no document and no value of a field.
//
// Words and templates are in words.yaml, the prose of long documents in prose.yaml. [Set.prove] checks the gold of every
// document against its text; a failed check is an error of the generator.
//
// The package must not know kernels, answers or scores.
package synthetic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Document is a record in the format of the suite's data.
type Document struct {
	ID         string `json:"document_id"`
	Text       string `json:"text"`
	Schema     string `json:"schema"`
	Difficulty string `json:"difficulty"`
	Split      string `json:"split"`
	Truth      []Gold `json:"ground_truth"`

	decoys []decoy
}

// Gold is the truth of a field.
type Gold struct {
	Field      string   `json:"field"`
	Exists     bool     `json:"exists_in_document"`
	Ambiguous  bool     `json:"is_ambiguous"`
	Correct    string   `json:"correct_value,omitempty"`
	Acceptable []string `json:"acceptable_values,omitempty"`
	Candidates []string `json:"candidate_values,omitempty"`
	Quote      string   `json:"evidence_quote,omitempty"`
	Page       int      `json:"page,omitempty"`
	Note       string   `json:"note,omitempty"`
}

// The splits and difficulties.
var (
	Splits       = []string{"dev", "test"}
	Difficulties = []string{"easy", "medium", "hard", "adversarial"}
)

const easy, medium, hard, adversarial = 0, 1, 2, 3

// counts are the documents of a set by type and difficulty.
var counts = []cellCount{
	{"invoice", [4]int{10, 8, 5, 2}},
	{"contract", [4]int{8, 6, 4, 2}},
	{"medical", [4]int{8, 6, 4, 2}},
	{"receipt", [4]int{8, 6, 4, 2}},
	{"resume", [4]int{6, 4, 3, 2}},
}

// Types lists the types of document.
func Types() []string {
	var list []string
	for _, c := range counts {
		list = append(list, c.name)
	}
	return list
}

// quotas are the missing and ambiguous fields of a set by difficulty: over all 580
// fields, 25 % are missing and 15 % ambiguous, although easy documents have all
// their fields.
var quotas = [4]struct{ missing, ambiguous int }{medium: {78, 17}, hard: {41, 47}, adversarial: {26, 23}}

// The fates of a field.
type fate int

const (
	present fate = iota
	missing
	ambiguous
)

// A Set is the documents of a split.
type Set struct {
	Split     string
	Documents []Document
}

// Generate generates the two sets.
func Generate(seed uint64, levers Levers) ([]Set, error) {
	if err := levers.Check(); err != nil {
		return nil, err
	}
	w, err := words()
	if err != nil {
		return nil, err
	}
	// A few seeds in ten thousand give two documents with the same text, such as two
	// without any field. These are drawn again.
	const most = 10
	for again := uint64(0); ; again++ {
		sets, err := generate(w, levers, seed, again)
		if err != nil {
			return nil, err
		}
		if err = disjoint(sets); err == nil || again == most {
			return sets, err
		}
	}
}

// generate generates the sets of a seed from one of its streams of random numbers.
func generate(w *vocabulary, levers Levers, seed, again uint64) ([]Set, error) {
	var sets []Set
	for half, split := range Splits {
		m := &maker{words: w, levers: levers, half: half, random: rand.NewPCG(seed, uint64(half)+uint64(len(Splits))*again), used: map[string]bool{}}
		s := Set{Split: split}
		for _, p := range m.plan() {
			d, err := m.document(p)
			if err != nil {
				return nil, fmt.Errorf("generating %s: %w", d.ID, err)
			}
			s.Documents = append(s.Documents, d)
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// A design is a document before it has values.
type design struct {
	typeName   string
	difficulty int
	number     int // within its type
	fates      []fate
	table      bool // has a field in a table
}

// plan lists the documents of a set and draws the fates of their fields.
func (m *maker) plan() []design {
	var list []design
	for _, c := range m.levers.counted() {
		n := 0
		for difficulty, count := range c.of {
			for range count {
				n++
				list = append(list, design{typeName: c.name, difficulty: difficulty, number: n, fates: make([]fate, len(m.words.Types[c.name].Fields))})
			}
		}
	}
	for difficulty := range quotas {
		var slots []*fate
		for i := range list {
			if list[i].difficulty == difficulty {
				for k := range list[i].fates {
					slots = append(slots, &list[i].fates[k])
				}
			}
		}
		shuffle(m, slots)
		gone, twice := quota(m.words, difficulty, len(slots))
		for i, s := range slots[:gone+twice] {
			*s = ambiguous
			if i < gone {
				*s = missing
			}
		}
	}
	m.tabled(list)
	return list
}

// document generates a document and proves its gold.
func (m *maker) document(p design) (Document, error) {
	t := m.words.Types[p.typeName]
	d := Document{ID: fmt.Sprintf("%s-%s-%02d", Splits[m.half], p.typeName, p.number), Schema: p.typeName,
		Difficulty: Difficulties[p.difficulty], Split: Splits[m.half]}
	w := &writer{maker: m, design: p, kind: t, values: map[string][]value{}}
	for i, f := range t.Fields {
		if p.fates[i] != missing {
			w.values[f.Name] = append(w.values[f.Name], m.value(f, p.difficulty))
		}
		if p.fates[i] == ambiguous {
			w.values[f.Name] = append(w.values[f.Name], m.other(f, w.values[f.Name][0], p.difficulty))
		}
	}
	d.Text = w.write()
	d.decoys = w.wrong
	for i, f := range t.Fields {
		d.Truth = append(d.Truth, w.gold(f.Name, p.fates[i]))
	}
	return d, w.prove(&d)
}

// gold is the gold of a field as it was written.
func (w *writer) gold(field string, f fate) Gold {
	g := Gold{Field: field, Exists: f != missing}
	values := w.values[field]
	switch f {
	case present:
		v := values[0]
		g.Correct = v.correct
		g.Acceptable = []string{v.shown}
		g.Quote, g.Page = w.places[field][0].quote, w.places[field][0].page
		if v.correct != v.shown {
			g.Acceptable = []string{v.correct, v.shown}
		}
	case ambiguous:
		g.Ambiguous = true
		var where []string
		for i, v := range values {
			g.Candidates = append(g.Candidates, v.shown)
			where = append(where, fmt.Sprintf("%q on page %d", v.shown, w.places[field][i].page))
		}
		g.Note = "The document gives " + strings.Join(where, " and ") + " for " + strings.ReplaceAll(field, "_", " ") + ", and nothing says which one holds."
	}
	return g
}

// disjoint checks that no two sets share a text or a value.
func disjoint(sets []Set) error {
	seen := map[string]string{} // text or field and value to split
	for _, s := range sets {
		for _, d := range s.Documents {
			keys := []string{d.Text}
			for _, g := range d.Truth {
				for _, v := range slices.Concat(g.Acceptable, g.Candidates) {
					keys = append(keys, "value\x00"+v)
				}
			}
			for _, k := range keys {
				if other, ok := seen[k]; ok && other != s.Split {
					return fmt.Errorf("generating %s: the %s set has %q too", d.ID, other, strings.TrimPrefix(k, "value\x00"))
				}
				seen[k] = s.Split
			}
		}
	}
	return nil
}
