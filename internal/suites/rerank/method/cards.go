package method

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// Cards show candidates as text, always the same text for the same candidate:
// keys are sorted, reviews keep their order, and every review is fenced off as
// content, with the fence's own tags in it made harmless.
type cards struct{ task *Task }

func newCards(t *Task) *cards { return &cards{t} }

// observed is the most characters that one look-up shows.
const observed = 8000

// limit cuts what a look-up shows, and says so.
func limit(s string) string {
	letters := []rune(s)
	if len(letters) <= observed {
		return s
	}
	return string(letters[:observed]) + fmt.Sprintf("\n… cut: %d more characters", len(letters)-observed)
}

// candidates shows all of all candidates.
func (s *session) candidates() string { return s.show(s.everyone()) }

// show gives these candidates, numbered by their place in the list, and what is
// known of the people that the request names.
func (s *session) show(list []int) string {
	var b strings.Builder
	b.WriteString("Candidates:\n")
	for place, i := range list {
		b.WriteString(s.cards.card(i, place+1))
		b.WriteByte('\n')
	}
	if people := s.people(list); people != "" {
		b.WriteString("\n" + people + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// people is what is known of those whom the request names: their friends, and
// which friends of these wrote a review that is shown.
func (s *session) people(list []int) string {
	named := s.Society.mentioned(s.Text)
	if len(named) == 0 {
		return ""
	}
	return s.Society.describe(named, s.cards.writers(list))
}

// writers are the people who wrote a review of these candidates.
func (c *cards) writers(list []int) map[string]bool {
	people := map[string]bool{}
	for _, i := range list {
		for _, r := range c.task.Candidates[i-1].Reviews {
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

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// reviewsOf shows names and reviews of candidates under their own numbers.
func (s *session) reviewsOf(list []int) string { return s.reviewsBy(list, nil) }

// reviewsBy shows the reviews that these people wrote; nil is everybody.
func (s *session) reviewsBy(list []int, people map[string]bool) string {
	var b strings.Builder
	for _, i := range list {
		fmt.Fprintf(&b, "[%d] %s\n", i, oneLine(s.Candidates[i-1].Item.Name))
		b.WriteString(s.cards.reviewsBy(i, i, people))
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}

// plain is what a candidate's card says, without numbers and tags: nothing in it
// depends on where the candidate stands, or beside whom.
func (c *cards) plain(i int) string {
	candidate := c.task.Candidates[i-1]
	parts := []string{candidate.Item.Name, c.facts(i)}
	for _, r := range candidate.Reviews {
		parts = append(parts, r.Text)
	}
	return strings.Join(parts, "\n")
}

// whole is the card of a candidate under its own number.
func (c *cards) whole(i int) string { return c.card(i, i) }

func (c *cards) card(i, number int) string {
	return fmt.Sprintf("[%d] %s\n%s%s", number, oneLine(c.task.Candidates[i-1].Item.Name), c.facts(i), c.reviews(i, number))
}

// facts are attributes, categories, hours and other fields, one a line.
func (c *cards) facts(i int) string {
	item := c.task.Candidates[i-1].Item
	var b strings.Builder
	for _, path := range pathsOf(item) {
		if v := item.At(path); !v.IsZero() {
			fmt.Fprintf(&b, "%s: %s\n", path, valueText(v))
		}
	}
	for day, text := range hoursOf(item) {
		fmt.Fprintf(&b, "hours.%s: %s\n", catalog.Weekdays[day], text)
	}
	return b.String()
}

// pathsOf lists the paths of what an item has, hours aside, sorted.
func pathsOf(item *catalog.Item) []string {
	var paths []string
	for name := range item.Attributes {
		paths = append(paths, "attributes."+name)
	}
	paths = append(paths, slices.Collect(maps.Keys(item.Fields))...)
	if len(item.Categories) > 0 {
		paths = append(paths, "categories")
	}
	return slices.Sorted(slices.Values(paths))
}

// valueText writes a value for reading: flags that are set by name, lists with
// commas.
func valueText(v catalog.Value) string {
	switch v.Kind() {
	case catalog.List:
		return strings.Join(texts(v.List()), ", ")
	case catalog.Map:
		var parts []string
		for _, key := range v.Keys() {
			parts = append(parts, key+"="+valueText(v.Get(key)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return oneLine(v.String())
}

func texts(list []catalog.Value) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = valueText(v)
	}
	return out
}

// reviews shows the reviews of a candidate under a number.
func (c *cards) reviews(i, number int) string { return c.reviewsBy(i, number, nil) }

func (c *cards) reviewsBy(i, number int, people map[string]bool) string {
	var b strings.Builder
	for k, r := range c.task.Candidates[i-1].Reviews {
		if people != nil && !people[r.UserID] {
			continue
		}
		fmt.Fprintf(&b, "<review candidate=\"%d\" number=\"%d\"%s>\n%s\n</review>\n", number, k+1, c.head(&r), fence(r.Text))
	}
	if b.Len() == 0 {
		return "no reviews\n"
	}
	return b.String()
}

// head is what is known of a review and its writer, as attributes of the tag.
func (c *cards) head(r *catalog.Review) string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s=%q", name, fence(value))
		}
	}
	add("by", c.task.Society.name(r.UserID))
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
	value catalog.Value
}

// reviewFields lists what else is known of a review and, after "user.", of its
// writer, sorted by name.
func reviewFields(r *catalog.Review) []field {
	var list []field
	for name, v := range r.Fields {
		list = append(list, field{name, v})
	}
	for name, v := range r.User {
		list = append(list, field{"user." + name, v})
	}
	list = slices.DeleteFunc(list, func(f field) bool { return f.value.IsZero() })
	slices.SortFunc(list, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return list
}

var fenceTag = regexp.MustCompile(`(?i)<(\s*/?\s*review)`)

// fence keeps a text from ending the fence it stands in: an angle bracket that
// opens a review tag becomes another character. All else stays as it is.
func fence(s string) string { return fenceTag.ReplaceAllString(s, "‹$1") }

// oneLine keeps a text from ending the line it stands in.
func oneLine(s string) string { return fence(strings.Join(strings.Fields(s), " ")) }

// hasReviewBy reports a review by one of these people.
func (c *cards) hasReviewBy(i int, people map[string]bool) bool {
	return slices.ContainsFunc(c.task.Candidates[i-1].Reviews, func(r catalog.Review) bool { return people[r.UserID] })
}

// attribute lists the values at a path, one candidate a line.
func (c *cards) attribute(path string) string {
	return c.each(func(item *catalog.Item) string {
		for _, p := range []string{path, "attributes." + path} {
			if v := item.At(p); !v.IsZero() {
				return valueText(v)
			}
		}
		return "not known"
	})
}

// hours lists the opening hours of a day, one candidate a line.
func (c *cards) hours(day string) string {
	at := catalog.Weekday(day)
	if at < 0 {
		return fmt.Sprintf("%q is no day: want Monday to Sunday.", ellipsis(day, 40))
	}
	return c.each(func(item *catalog.Item) string {
		if text, ok := hoursOn(item, at); ok {
			return text
		}
		return "not known"
	})
}

func (c *cards) each(value func(item *catalog.Item) string) string {
	var b strings.Builder
	for i, candidate := range c.task.Candidates {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, value(candidate.Item))
	}
	return limit(strings.TrimRight(b.String(), "\n"))
}

// margin is how many characters a search shows on each side of what it found.
const margin = 60

// search shows where reviews hold a pattern, and which candidates' reviews were
// shown. What is no regular expression is looked for as it stands.
func (c *cards) search(pattern string) (string, []int) {
	if strings.TrimSpace(pattern) == "" {
		return "There is nothing to search for.", nil
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		re = regexp.MustCompile("(?i)" + regexp.QuoteMeta(pattern))
	}
	var b strings.Builder
	var shown []int
	for i, candidate := range c.task.Candidates {
		for k, r := range candidate.Reviews {
			if at := re.FindStringIndex(r.Text); at != nil {
				shown = append(shown, i+1)
				fmt.Fprintf(&b, "[%d] review %d by %s: <review>%s</review>\n", i+1, k+1, oneLine(c.task.Society.name(r.UserID)), oneLine(around(r.Text, at[0], at[1])))
			}
		}
	}
	if len(shown) == 0 {
		return "No review holds it.", nil
	}
	return limit(strings.TrimRight(b.String(), "\n")), slices.Compact(shown)
}

// around is the piece of a text with some characters on both sides.
func around(s string, from, to int) string {
	before, after := []rune(s[:from]), []rune(s[to:])
	piece := string(before[max(0, len(before)-margin):]) + s[from:to] + string(after[:min(margin, len(after))])
	if len(before) > margin {
		piece = "…" + piece
	}
	if len(after) > margin {
		piece += "…"
	}
	return piece
}
