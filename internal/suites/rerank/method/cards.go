package method

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/text"
)

// A card is a candidate as text, which is always the same: keys are sorted and reviews keep
// their order. Every review is enclosed in tags, and the same tags inside it are escaped.
// Each part is made when a method first asks for it.
type card struct {
	facts   func() string   // attributes, categories, hours and other fields, one per line
	reviews func() []string // the part of each after the candidate's number
	values  func() map[pathValue]bool
}

// Cards keeps the cards of a study's items, so that one is made once for a study and not once
// for each prompt. Attacked reviews differ from request to request: their cards are not kept.
// The zero Cards is empty; it is safe for concurrent use.
type Cards struct {
	mu   sync.Mutex
	kept map[cardKey]*card
}

type cardKey struct {
	item    *catalog.Item
	reviews int
}

// mostCards are kept; then Cards starts over.
const mostCards = 4096

// card returns the card of a candidate.
func (s *session) card(i int) *card {
	c := &s.Candidates[i-1]
	if len(c.Reviews) > 0 && (len(c.Reviews) > len(c.Item.Reviews) || &c.Reviews[0] != &c.Item.Reviews[0]) {
		return newCard(*c, s.Graph)
	}
	s.Cards.mu.Lock()
	defer s.Cards.mu.Unlock()
	key := cardKey{c.Item, len(c.Reviews)}
	if s.Cards.kept[key] == nil {
		if s.Cards.kept == nil || len(s.Cards.kept) == mostCards {
			s.Cards.kept = map[cardKey]*card{}
		}
		s.Cards.kept[key] = newCard(*c, s.Graph)
	}
	return s.Cards.kept[key]
}

func newCard(c Candidate, g *catalog.Graph) *card {
	return &card{
		facts:  sync.OnceValue(func() string { return facts(c.Item) }),
		values: sync.OnceValue(func() map[pathValue]bool { return valuesOf(&c) }),
		reviews: sync.OnceValue(func() (list []string) {
			for n := range c.Reviews {
				r := &c.Reviews[n]
				list = append(list, fmt.Sprintf("\" number=\"%d\"%s>\n%s\n</review>\n", n+1, head(r, g), fence(r.Text)))
			}
			return list
		}),
	}
}

const reviewTag = `<review candidate="`

// reviews lists the reviews of a candidate by these people, or by everybody if people is
// nil, with this number of the candidate.
func (s *session) reviews(i, number int, people map[string]bool) (list []string) {
	for n, r := range s.card(i).reviews() {
		if people == nil || people[s.Candidates[i-1].Reviews[n].UserID] {
			list = append(list, reviewTag+strconv.Itoa(number)+r)
		}
	}
	if list == nil {
		return []string{"no reviews\n"}
	}
	return list
}

func (s *session) title(i, number int) string {
	return fmt.Sprintf("[%d] %s\n", number, oneLine(s.Candidates[i-1].Item.Name))
}

// show formats these candidates, numbered by their place in the list, and the
// people that the request names.
func (s *session) show(list []int) string {
	var b strings.Builder
	b.WriteString("Candidates:")
	for place, i := range list {
		b.WriteString("\n" + s.title(i, place+1) + s.card(i).facts())
		for _, r := range s.reviews(i, place+1, nil) {
			b.WriteString(r)
		}
	}
	shown := strings.TrimSuffix(b.String(), "\n")
	if people := s.people(list); people != "" {
		shown += "\n\n\n" + people
	}
	return shown
}

// reviewsBy formats the names and numbers of candidates and the reviews that
// these people wrote; nil means everybody.
func (s *session) reviewsBy(list []int, people map[string]bool) string {
	var parts []string
	for _, i := range list {
		parts = append(parts, strings.TrimSuffix(s.title(i, i)+strings.Join(s.reviews(i, i, people), ""), "\n"))
	}
	return strings.Join(parts, "\n\n")
}

// people describes the people that the request names: their friends, and which
// friends of those friends wrote a review that is shown.
func (s *session) people(list []int) string {
	named := s.Graph.Mentioned(s.Text)
	if len(named) == 0 {
		return ""
	}
	return describe(s.Graph, named, s.writers(list))
}

// writers returns the people who wrote a review of these candidates.
func (s *session) writers(list []int) map[string]bool {
	people := map[string]bool{}
	for _, i := range list {
		for _, r := range s.Candidates[i-1].Reviews {
			people[r.UserID] = true
		}
	}
	return people
}

// names lists the candidates by name alone.
func (s *session) names() string {
	var b strings.Builder
	b.WriteString("Candidates:\n")
	for i, c := range s.Candidates {
		fmt.Fprintf(&b, "[%d] %s, %s\n", i+1, oneLine(c.Item.Name), count(len(c.Reviews), "review"))
	}
	return strings.TrimRight(b.String(), "\n")
}

func count(n int, what string) string { return text.Plural(n, what, what+"s") }

// facts lists attributes, categories, hours and other fields, one per line.
func facts(item *catalog.Item) string {
	var b strings.Builder
	for _, path := range pathsOf(item) {
		if v := item.At(path); v != nil {
			fmt.Fprintf(&b, "%s: %s\n", path, valueText(v))
		}
	}
	for day, name := range catalog.Weekdays {
		if hours := item.Hours.On(day); hours != "" {
			fmt.Fprintf(&b, "hours.%s: %s\n", name, hours)
		}
	}
	return b.String()
}

// pathsOf lists the paths of an item's data except hours, sorted.
func pathsOf(item *catalog.Item) []string {
	var paths []string
	for name := range item.Attributes {
		paths = append(paths, "attributes."+name)
	}
	paths = slices.AppendSeq(paths, maps.Keys(item.Fields))
	if len(item.Categories) > 0 {
		paths = append(paths, "categories")
	}
	return slices.Sorted(slices.Values(paths))
}

// valueText formats a value for a prompt.
func valueText(v any) string {
	var parts []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			parts = append(parts, valueText(e))
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, key := range catalog.Keys(v) {
			parts = append(parts, key+"="+valueText(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return oneLine(catalog.Text(v))
}

// head formats the data about a review and its writer as attributes of the tag.
func head(r *catalog.Review, g *catalog.Graph) string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			b.WriteString(" " + name + "=" + strconv.Quote(fence(value)))
		}
	}
	add("by", nameOf(g, r.UserID))
	if r.Stars > 0 {
		add("stars", strconv.FormatFloat(r.Stars, 'g', -1, 64))
	}
	add("date", r.Date)
	for _, f := range reviewFields(r) {
		add(f.name, valueText(f.value))
	}
	return b.String()
}

type field struct {
	name  string
	value any
}

// reviewFields lists the other fields of a review and, with the prefix "user.",
// of its writer, sorted by name.
func reviewFields(r *catalog.Review) (list []field) {
	for name, v := range r.Fields {
		list = append(list, field{name, v})
	}
	for name, v := range r.User {
		list = append(list, field{"user." + name, v})
	}
	list = slices.DeleteFunc(list, func(f field) bool { return f.value == nil })
	slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return list
}

// fence escapes review tags in a text.
func fence(s string) string { return kit.Fence(s, "review") }

// oneLine collapses white space and escapes review tags.
func oneLine(s string) string {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		s = strings.Join(strings.Fields(s), " ")
	}
	return fence(s)
}
