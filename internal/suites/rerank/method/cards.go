package method

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/text"
)

// Cards format candidates as text. The text of a candidate is always the same:
// keys are sorted and reviews keep their order. Every review is enclosed in
// tags, and the same tags inside it are escaped.
type cards struct {
	task *Task
	mu   sync.Mutex
	made []*card // by candidate, nil before its first use
}

// of returns the card of a candidate. It is safe for concurrent use: prompts of
// parallel steps are built in parallel.
func (c *cards) of(i int) *card {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = make([]*card, len(c.task.Candidates))
	}
	if c.made[i-1] == nil {
		c.made[i-1] = c.task.Deck.card(&c.task.Candidates[i-1], c.task.Society)
	}
	return c.made[i-1]
}

// The maximum number of characters on a page. A look-up over all candidates
// gives each the same share, so that the text shown for one depends neither on
// its position nor on the number of candidates.
const (
	observed = 8000 // of one candidate
	share    = 800  // of each candidate, in a look-up over all
)

// pages distributes pieces over pages of at most most characters. Pieces are not
// split: a longer one gets its own page.
func pages(pieces []string, most int) [][]string {
	var list [][]string
	left := 0
	for _, piece := range pieces {
		length := utf8.RuneCountInString(piece)
		if len(list) == 0 || length > left {
			list, left = append(list, nil), most
		}
		list[len(list)-1] = append(list[len(list)-1], piece)
		left -= length
	}
	return list
}

// page returns one page of pieces, each of which ends in a line break. If there
// are several pages, the text ends with the page number; ok is false if the page
// does not exist. Pages count from 1; a smaller number means 1.
func page(pieces []string, number int, what string) (text string, ok bool) {
	list := pages(pieces, observed)
	number = max(number, 1)
	if number > len(list) {
		return noPage(number, len(list)), false
	}
	text = strings.Join(list[number-1], "")
	if len(list) > 1 {
		text += fmt.Sprintf("\nPage %d of %d shows %d of %s.", number, len(list), len(list[number-1]), count(len(pieces), what))
		if number < len(list) {
			text += fmt.Sprintf(" Page %d continues.", number+1)
		}
	}
	return strings.TrimRight(text, "\n"), true
}

func noPage(number, of int) string {
	return fmt.Sprintf("Page %d does not exist. The result has %s.", number, count(of, "page"))
}

// show formats these candidates, numbered by their place in the list, and the
// people that the request names.
func (s *session) show(list []int) block {
	people := s.people(list)
	return block{s.size(list) + len(people), func(b *strings.Builder) {
		b.WriteString("Candidates:")
		for place, i := range list {
			if place > 0 {
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
			b.WriteString(s.cards.title(i, place+1))
			b.WriteString(s.cards.of(i).facts)
			s.cards.of(i).write(b, strconv.Itoa(place+1), nil)
		}
		if people != "" {
			b.WriteString("\n\n\n")
			b.WriteString(people)
		}
	}}
}

// size estimates the bytes of these candidates in a prompt.
func (s *session) size(list []int) int {
	size := 256
	for _, i := range list {
		k := s.cards.of(i)
		size += k.size + len(k.reviews)*(len(reviewTag)+4) + len(s.Candidates[i-1].Item.Name) + 16
	}
	return size
}

// people describes the people that the request names: their friends, and which
// friends of those friends wrote a review that is shown.
func (s *session) people(list []int) string {
	named := s.Society.mentioned(s.Text)
	if len(named) == 0 {
		return ""
	}
	return s.Society.describe(named, s.cards.writers(list))
}

// writers returns the people who wrote a review of these candidates.
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

func count(n int, what string) string { return text.Plural(n, what, what+"s") }

// reviewsBy formats the names and numbers of candidates and the reviews that
// these people wrote; nil means everybody. Below is appended if it is not empty.
func (s *session) reviewsBy(list []int, people map[string]bool, below string) block {
	size := len(below)
	if people == nil {
		size += s.size(list)
	}
	return block{size, func(b *strings.Builder) {
		for at, i := range list {
			if at > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(s.cards.title(i, i))
			var wanted func(review int) bool
			if people != nil {
				wanted = func(k int) bool { return people[s.Candidates[i-1].Reviews[k].UserID] }
			}
			s.cards.of(i).write(b, strconv.Itoa(i), wanted)
		}
		if below != "" {
			b.WriteString("\n\n")
			b.WriteString(below)
		}
	}}
}

// plain lists the texts of a candidate's card without numbers and tags, so that they
// are independent of the other candidates and the order.
func (c *cards) plain(i int) []string {
	candidate := &c.task.Candidates[i-1]
	parts := []string{candidate.Item.Name, c.of(i).facts}
	for k := range candidate.Reviews {
		parts = append(parts, candidate.Reviews[k].Text)
	}
	return parts
}

func (c *cards) title(i, number int) string {
	return fmt.Sprintf("[%d] %s\n", number, oneLine(c.task.Candidates[i-1].Item.Name))
}

// facts lists attributes, categories, hours and other fields, one per line.
func facts(item *catalog.Item) string {
	var b strings.Builder
	for _, path := range pathsOf(item) {
		if v := item.At(path); !v.IsZero() {
			fmt.Fprintf(&b, "%s: %s\n", path, valueText(v))
		}
	}
	for day, name := range catalog.Weekdays {
		if v := item.Hours.On(day); !v.IsZero() {
			fmt.Fprintf(&b, "hours.%s: %s\n", name, v)
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
	paths = append(paths, slices.Collect(maps.Keys(item.Fields))...)
	if len(item.Categories) > 0 {
		paths = append(paths, "categories")
	}
	return slices.Sorted(slices.Values(paths))
}

// valueText formats a value for a prompt.
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

// reviewPage returns a page of a candidate's reviews.
func (c *cards) reviewPage(i, number int) (string, bool) {
	list := []string{noReviews}
	before, own := reviewTag+strconv.Itoa(i), c.of(i).reviews
	if len(own) > 0 {
		list = list[:0]
	}
	for k := range own {
		list = append(list, before+own[k])
	}
	return page(list, number, "review")
}

// cardPage returns the card of a candidate with a page of its reviews; only the
// first page has the facts.
func (c *cards) cardPage(i, number int) string {
	reviews, _ := c.reviewPage(i, number)
	if number > 1 {
		return c.title(i, i) + reviews
	}
	return c.title(i, i) + c.of(i).facts + reviews
}

// head formats the data about a review and its writer as attributes of the tag.
func head(r *catalog.Review, s *Society) string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			b.WriteString(" " + name + "=" + strconv.Quote(fence(value)))
		}
	}
	add("by", s.name(r.UserID))
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

// reviewFields lists the other fields of a review and, with the prefix "user.",
// of its writer, sorted by name.
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

// fence escapes review tags in a text: their opening angle bracket becomes
// another character.
func fence(s string) string {
	if !strings.Contains(s, "<") { // fast path
		return s
	}
	return fenceTag.ReplaceAllString(s, "‹$1")
}

// oneLine collapses white space and escapes review tags.
func oneLine(s string) string {
	if strings.ContainsFunc(s, unicode.IsSpace) {
		s = strings.Join(strings.Fields(s), " ")
	}
	return fence(s)
}

// hasReviewBy reports whether one of these people wrote a review.
func (c *cards) hasReviewBy(i int, people map[string]bool) bool {
	return slices.ContainsFunc(c.task.Candidates[i-1].Reviews, func(r catalog.Review) bool { return people[r.UserID] })
}

// attribute lists the values at a path, one line per candidate.
func (c *cards) attribute(path string) string {
	return c.each(func(item *catalog.Item) string {
		for _, p := range []string{path, "attributes." + path} {
			if v := item.At(p); !v.IsZero() {
				return valueText(v)
			}
		}
		return "unknown"
	})
}

// hours lists the opening hours of a day, one line per candidate.
func (c *cards) hours(day string) string {
	at := catalog.Weekday(day)
	if at < 0 {
		return fmt.Sprintf("%q is not a day: use Monday to Sunday.", ellipsis(day, 40))
	}
	return c.each(func(item *catalog.Item) string {
		if v := item.Hours.On(at); !v.IsZero() {
			return v.String()
		}
		return "unknown"
	})
}

// each formats one line per candidate.
func (c *cards) each(value func(item *catalog.Item) string) string {
	var b strings.Builder
	for i, candidate := range c.task.Candidates {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, value(candidate.Item))
	}
	return strings.TrimRight(b.String(), "\n")
}

// The maximum number of characters that a search shows of a match, and on each
// side of it.
const (
	match  = 240
	margin = 60
)

// search returns a page of the reviews that match a pattern, and the candidates
// on it. An invalid pattern is searched for literally. Each candidate has a
// share of every page, so every candidate with a match is on the first.
func (c *cards) search(pattern string, number int) (string, []int) {
	if strings.TrimSpace(pattern) == "" {
		return "The search pattern is empty.", nil
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		re = regexp.MustCompile("(?i)" + regexp.QuoteMeta(pattern))
	}
	number = max(number, 1)
	matches := evidence.NewSearch(re)
	var b strings.Builder
	var shown []int
	var more []string // counts on later pages
	last := 0
	for i, candidate := range c.task.Candidates {
		var found []string
		for k, r := range candidate.Reviews {
			if at := matches.Find(r.Text); at != nil {
				found = append(found, fmt.Sprintf("[%d] review %d by %s: <review>%s</review>\n", i+1, k+1, oneLine(c.task.Society.name(r.UserID)), oneLine(around(r.Text, at[0], at[1]))))
			}
		}
		list := pages(found, share)
		last = max(last, len(list))
		if number > len(list) {
			continue
		}
		shown = append(shown, i+1)
		b.WriteString(strings.Join(list[number-1], ""))
		if left := len(slices.Concat(list[number:]...)); left > 0 {
			more = append(more, fmt.Sprintf("[%d] %d", i+1, left))
		}
	}
	switch {
	case last == 0:
		return "No review matches.", nil
	case len(shown) == 0:
		return noPage(number, last), nil
	case last > 1:
		fmt.Fprintf(&b, "\nPage %d of %d.", number, last)
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, " More matches from page %d on: %s.", number+1, strings.Join(more, ", "))
	}
	return strings.TrimRight(b.String(), "\n"), shown
}

// around returns a piece of a text with margin characters on both sides; the
// middle of a long piece is left out.
func around(s string, from, to int) string {
	before, middle, after := []rune(s[:from]), []rune(s[from:to]), []rune(s[to:])
	if len(middle) > match {
		middle = slices.Concat(middle[:match/2], []rune(" … "), middle[len(middle)-match/2:])
	}
	piece := string(before[max(0, len(before)-margin):]) + string(middle) + string(after[:min(margin, len(after))])
	if len(before) > margin {
		piece = "…" + piece
	}
	if len(after) > margin {
		piece += "…"
	}
	return piece
}
