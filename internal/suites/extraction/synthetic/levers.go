package synthetic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// Levers change what is generated. The zero value changes nothing.
type Levers struct {
	Pages      int            `json:"pages,omitempty" jsonschema:"minimum=0,maximum=20,description=Pages of each document\\, of about 400 words (default: one to three short ones)"`
	Types      TypeShares     `json:"types,omitzero"`
	Difficulty map[string]int `json:"difficulty,omitempty" jsonschema:"description=Shares of easy\\, medium\\, hard and adversarial documents\\, such as {hard: 2\\, adversarial: 1} (default 40 : 30 : 20 : 10)"`
	Tables     float64        `json:"tables,omitempty" jsonschema:"minimum=0,maximum=1,description=Share of the documents in which a field stands in a table (default 0)"`
	Locale     string         `json:"locale,omitempty" jsonschema:"enum=en-US,enum=en-GB,enum=de-DE,enum=fr-FR,description=How amounts and dates are written (default: US dollars\\, and dates in several English ways)"`
}

// TypeShares are types of documents: a list, in the proportions of a set without levers, or
// shares by name.
type TypeShares struct {
	List   []string
	Shares map[string]int
}

// IsZero reports whether all types are meant.
func (s TypeShares) IsZero() bool { return len(s.List) == 0 && len(s.Shares) == 0 }

// MarshalJSON writes what was given.
func (s TypeShares) MarshalJSON() ([]byte, error) {
	if s.Shares != nil {
		return json.Marshal(s.Shares)
	}
	return json.Marshal(s.List)
}

// UnmarshalJSON reads a list or shares.
func (s *TypeShares) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		return json.Unmarshal(data, &s.Shares)
	}
	return json.Unmarshal(data, &s.List)
}

// JSONSchema describes both.
func (TypeShares) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "array", Items: &jsonschema.Schema{Type: "string"}, UniqueItems: true},
			{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer"}},
		},
		Description: "Types of documents: invoice, contract, medical, receipt, resume (default all), as a list, or with shares, such as {invoice: 2, contract: 1}",
		Extras:      map[string]any{"errorMessage": "want a list of types such as [invoice, contract], or shares such as {invoice: 2, contract: 1}"},
	}
}

// The limits of the levers.
const (
	mostPages = 20
	pageWords = 400
	ofASet    = 100 // documents
)

// Zero reports whether no lever is used.
func (l Levers) Zero() bool {
	return l.Pages == 0 && l.Types.IsZero() && len(l.Difficulty) == 0 && l.Tables == 0 && l.Locale == ""
}

// Check returns an error for a lever that cannot be used.
func (l Levers) Check() error {
	if l.Pages < 0 || l.Pages > mostPages {
		return fmt.Errorf("pages: %d: want 1 to %d", l.Pages, mostPages)
	}
	for _, name := range l.Types.List {
		if !slices.Contains(Types(), name) {
			return fmt.Errorf("types: there is no type %q: want some of %s", name, strings.Join(Types(), ", "))
		}
	}
	for _, of := range []struct {
		key    string
		shares map[string]int
		names  []string
	}{{"types", l.Types.Shares, Types()}, {"difficulty", l.Difficulty, Difficulties}} {
		sum := 0
		for _, name := range slices.Sorted(maps.Keys(of.shares)) {
			if share := of.shares[name]; !slices.Contains(of.names, name) || share < 0 {
				return fmt.Errorf("%s: %s: %d: want shares of %s, of at least 0", of.key, name, share, strings.Join(of.names, ", "))
			}
			sum += of.shares[name]
		}
		if len(of.shares) > 0 && sum == 0 {
			return fmt.Errorf("%s: the shares are all 0: give one of %s a share", of.key, strings.Join(of.names, ", "))
		}
	}
	if !(l.Tables >= 0 && l.Tables <= 1) {
		return fmt.Errorf("tables: %v: want a share from 0 to 1", l.Tables)
	}
	if _, known := locales[l.Locale]; !known {
		names := slices.Sorted(maps.Keys(locales))
		return fmt.Errorf("locale: %q: want one of %s", l.Locale, strings.Join(names[1:], ", "))
	}
	return nil
}

// A cellCount is the documents of a set of a type by difficulty.
type cellCount struct {
	name string
	of   [4]int
}

// counted spreads the documents of a set over types and difficulties by the levers.
func (l Levers) counted() []cellCount {
	if l.Types.IsZero() && len(l.Difficulty) == 0 {
		return counts
	}
	list, weights, total := []cellCount{}, []float64{}, 0.0
	for _, c := range counts {
		share := l.Types.Shares[c.name]
		if !l.Types.IsZero() && !slices.Contains(l.Types.List, c.name) && share == 0 {
			continue
		}
		list = append(list, cellCount{name: c.name})
		ofType, shares := 0, 0
		for difficulty, n := range c.of {
			ofType, shares = ofType+n, shares+l.Difficulty[Difficulties[difficulty]]
		}
		for difficulty, n := range c.of {
			w := float64(n)
			if len(l.Difficulty) > 0 {
				w = float64(ofType * l.Difficulty[Difficulties[difficulty]])
			}
			if share > 0 { // instead of the usual share of the type
				w *= float64(share) / float64(ofType*max(1, shares))
			}
			weights, total = append(weights, w), total+w
		}
	}
	for i, n := range parts(ofASet, weights, total) {
		list[i/4].of[i%4] = n
	}
	return list
}

// parts splits a number by weights; those that lose most by rounding down get what is left.
func parts(n int, weights []float64, total float64) []int {
	list, order := make([]int, len(weights)), make([]int, len(weights))
	lost := make([]float64, len(weights))
	left := n
	for i, w := range weights {
		exact := float64(n) * w / total
		list[i], order[i] = int(math.Floor(exact)), i
		lost[i] = exact - math.Floor(exact)
		left -= list[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lost[b], lost[a]) })
	for _, i := range order[:left] {
		list[i]++
	}
	return list
}

// quota is how many of the fields of a difficulty are missing and ambiguous: as many as in
// a set without levers, in proportion.
func quota(v *vocabulary, difficulty, fields int) (missing, ambiguous int) {
	usual := 0
	for _, c := range counts {
		usual += c.of[difficulty] * len(v.Types[c.name].Fields)
	}
	q := quotas[difficulty]
	of := func(n int) int { return int(math.Round(float64(n) * float64(fields) / float64(usual))) }
	return of(q.missing), min(of(q.ambiguous), fields-of(q.missing))
}

// tabled has a field of some documents stand in a table.
func (m *maker) tabled(list []design) {
	if m.levers.Tables == 0 {
		return
	}
	var can []*design
	for i := range list {
		if slices.ContainsFunc(list[i].fates, func(f fate) bool { return f != missing }) {
			can = append(can, &list[i])
		}
	}
	shuffle(m, can)
	for _, d := range can[:min(len(can), int(math.Round(m.levers.Tables*float64(len(list)))))] {
		d.table = true
	}
}

// A locale is how amounts and dates are written; documents that are not easy have more ways.
type locale struct {
	amounts, moreAmounts []string // G is the number with groups of thousands, w without, C the cents
	by                   string   // separates groups
	dates, moreDates     []string // layouts of package time, with the names of months in English
	numbers              []string // more layouts, of a day after the twelfth
	months               []string
}

var locales = map[string]locale{
	"": {amounts: []string{"$G.C", "USD w.C"}, moreAmounts: []string{"w.C", "$ G.C"}, by: ",",
		dates:     []string{"2 January 2006", "January 2, 2006", "2006-01-02"},
		moreDates: []string{"2 Jan 2006", "Jan 2, 2006"}, numbers: []string{"02/01/2006", "02.01.2006"}},
	"en-US": {amounts: []string{"$G.C", "$w.C"}, by: ",",
		dates: []string{"January 2, 2006", "Jan 2, 2006"}, numbers: []string{"01/02/2006"}},
	"en-GB": {amounts: []string{"£G.C", "£w.C"}, by: ",",
		dates: []string{"2 January 2006", "2 Jan 2006"}, numbers: []string{"02/01/2006"}},
	"de-DE": {amounts: []string{"G,C €", "G,C EUR"}, by: ".",
		dates: []string{"2. January 2006"}, numbers: []string{"02.01.2006"},
		months: []string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
			"Oktober", "November", "Dezember"}},
	"fr-FR": {amounts: []string{"G,C €", "w,C EUR"}, by: " ",
		dates: []string{"2 January 2006"}, numbers: []string{"02/01/2006"},
		months: []string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
			"octobre", "novembre", "décembre"}},
}

// inTable writes a table with the field's value in the row of this document. Documents that
// are not easy have rows of others, with other values.
func (w *writer) inTable(f field, label, shown string) (quote string) {
	rows := []string{"This document | " + shown}
	if difficulty := w.design.difficulty; difficulty != easy {
		for _, other := range []string{"Earlier version", "Draft"} {
			rows = append(rows, other+" | "+w.decoy(f.Kind, f.Name, difficulty))
			w.wrong[len(w.wrong)-1].field = "" // it may stand beside the value
		}
	}
	shuffle(w.maker, rows)
	w.line("| Entry | " + strings.TrimRight(label, " :|.") + " | Remark |")
	w.line("|---|---|---|")
	for _, row := range rows {
		w.line("| " + row + " | " + pick(w.maker, []string{"filed", "copied", "on paper"}) + " |")
	}
	return "This document | " + shown
}
