package method

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// listedValues is the maximum number of values listed per path.
const listedValues = 8

// schemaText describes the data without naming candidates, for steps that plan
// before they see a candidate.
func (s *session) schemaText() string {
	cards := make([]*card, len(s.Candidates))
	for i := range cards {
		cards[i] = s.cards.of(i + 1)
	}
	return s.Deck.describe(cards)
}

func schemaOf(cards []*card) string {
	at := map[string]map[string]bool{}
	note := func(path, value string) {
		if at[path] == nil {
			at[path] = map[string]bool{}
		}
		at[path][value] = true
	}
	for _, c := range cards {
		for _, v := range c.values {
			note(v.path, v.value)
		}
	}
	var b strings.Builder
	b.WriteString("Data about the candidates (values may be unknown for some):\n")
	for _, path := range slices.Sorted(maps.Keys(at)) {
		list := slices.Sorted(maps.Keys(at[path]))
		switch {
		case len(list) == 1 && list[0] == "":
			fmt.Fprintf(&b, "- %s\n", path)
		case len(list) > listedValues:
			fmt.Fprintf(&b, "- %s: %s, … (%d values)\n", path, strings.Join(list[:listedValues], ", "), len(list))
		default:
			fmt.Fprintf(&b, "- %s: %s\n", path, strings.Join(list, ", "))
		}
	}
	b.WriteString("- reviews: text, stars, date and who wrote them")
	return b.String()
}

// values lists the paths with values of a candidate and of its reviews, each once.
func values(c *Candidate) []pathValue {
	var list []pathValue
	seen := map[pathValue]bool{}
	note := func(path, value string) {
		if v := (pathValue{path, value}); !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	for _, path := range pathsOf(c.Item) {
		if path != "name" {
			noteValue(note, path, c.Item.At(path))
		}
	}
	for day, name := range catalog.Weekdays {
		if c.Item.Hours.Known[day] {
			note("hours."+name, "")
		}
	}
	for i := range c.Reviews {
		for _, f := range reviewFields(&c.Reviews[i]) {
			note("reviews: "+f.name, "")
		}
	}
	return list
}

// noteValue notes the values at a path: the elements of a list, the names of
// flags.
func noteValue(note func(path, value string), path string, v catalog.Value) {
	switch v.Kind() {
	case catalog.List:
		for _, e := range v.List() {
			note(path+" (list)", ellipsis(valueText(e), 40))
		}
	case catalog.Map:
		for _, key := range v.Keys() {
			note(path+" (flags)", ellipsis(key, 40))
		}
	default:
		note(path, ellipsis(valueText(v), 40))
	}
}
