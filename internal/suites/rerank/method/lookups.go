package method

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

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
// are several pages, the text ends with the page number. Pages count from 1; a
// smaller number means 1.
func page(pieces []string, number int, what string) string {
	list := pages(pieces, observed)
	number = max(number, 1)
	if number > len(list) {
		return noPage(number, len(list))
	}
	text := strings.Join(list[number-1], "")
	if len(list) > 1 {
		text += fmt.Sprintf("\nPage %d of %d shows %d of %s.", number, len(list), len(list[number-1]), count(len(pieces), what))
		if number < len(list) {
			text += fmt.Sprintf(" Page %d continues.", number+1)
		}
	}
	return strings.TrimRight(text, "\n")
}

func noPage(number, of int) string {
	return fmt.Sprintf("Page %d does not exist. The result has %s.", number, count(of, "page"))
}

// reviewPage returns a page of a candidate's reviews.
func (s *session) reviewPage(i, number int) string {
	return page(s.reviews(i, i, nil), number, "review")
}

// cardPage returns the card of a candidate with a page of its reviews; only the
// first page has the facts.
func (s *session) cardPage(i, number int) string {
	reviews := s.reviewPage(i, number)
	if number > 1 {
		return s.title(i, i) + reviews
	}
	return s.title(i, i) + s.card(i).facts() + reviews
}

// attribute lists the values at a path, one line per candidate.
func (s *session) attribute(path string) string {
	return s.each(func(item *catalog.Item) string {
		for _, p := range []string{path, "attributes." + path} {
			if v := item.At(p); v != nil {
				return valueText(v)
			}
		}
		return "unknown"
	})
}

// hours lists the opening hours of a day, one line per candidate.
func (s *session) hours(day string) string {
	at := catalog.Weekday(day)
	if at < 0 {
		return fmt.Sprintf("%q is not a day: use Monday to Sunday.", ellipsis(day, 40))
	}
	return s.each(func(item *catalog.Item) string { return cmp.Or(item.Hours.On(at), "unknown") })
}

// each formats one line per candidate.
func (s *session) each(value func(item *catalog.Item) string) string {
	lines := make([]string, len(s.Candidates))
	for i, c := range s.Candidates {
		lines[i] = fmt.Sprintf("[%d] %s", i+1, value(c.Item))
	}
	return strings.Join(lines, "\n")
}

// The maximum number of characters that a search shows of a match, and on each
// side of it.
const (
	match  = 240
	margin = 60
)

// search returns a page of the reviews that match a pattern. An invalid pattern is searched for literally. Each candidate has a
// share of every page, so every candidate with a match is on the first.
func (s *session) search(pattern string, number int) string {
	if strings.TrimSpace(pattern) == "" {
		return "The search pattern is empty."
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		re = regexp.MustCompile("(?i)" + regexp.QuoteMeta(pattern))
	}
	number = max(number, 1)
	var b strings.Builder
	var more []string // counts on later pages
	last := 0
	for i, candidate := range s.Candidates {
		var found []string
		for k, r := range candidate.Reviews {
			if at := re.FindStringIndex(r.Text); at != nil {
				found = append(found, fmt.Sprintf("[%d] review %d by %s: <review>%s</review>\n", i+1, k+1, oneLine(nameOf(s.Graph, r.UserID)), oneLine(around(r.Text, at[0], at[1]))))
			}
		}
		list := pages(found, share)
		last = max(last, len(list))
		if number > len(list) {
			continue
		}
		b.WriteString(strings.Join(list[number-1], ""))
		if left := len(slices.Concat(list[number:]...)); left > 0 {
			more = append(more, fmt.Sprintf("[%d] %d", i+1, left))
		}
	}
	switch {
	case last == 0:
		return "No review matches."
	case number > last:
		return noPage(number, last)
	case last > 1:
		fmt.Fprintf(&b, "\nPage %d of %d.", number, last)
	}
	if len(more) > 0 {
		fmt.Fprintf(&b, " More matches from page %d on: %s.", number+1, strings.Join(more, ", "))
	}
	return strings.TrimRight(b.String(), "\n")
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

// listedValues is the maximum number of values listed per path.
const listedValues = 8

// schemaText describes the data without naming candidates, for steps that plan
// before they see a candidate.
func (s *session) schemaText() string {
	values := map[string]map[string]bool{} // by path
	for i := range s.Candidates {
		for v := range s.card(i + 1).values() {
			if values[v.path] == nil {
				values[v.path] = map[string]bool{}
			}
			values[v.path][v.value] = true
		}
	}
	var b strings.Builder
	b.WriteString("Data about the candidates (values may be unknown for some):\n")
	for _, path := range slices.Sorted(maps.Keys(values)) {
		list := slices.Sorted(maps.Keys(values[path]))
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

// A pathValue is a path with a value, or "" for a path whose values are not listed.
type pathValue struct{ path, value string }

// valuesOf returns the paths with values of a candidate and of its reviews.
func valuesOf(c *Candidate) map[pathValue]bool {
	values := map[pathValue]bool{}
	for _, path := range pathsOf(c.Item) {
		switch v := c.Item.At(path).(type) {
		case []any:
			for _, e := range v {
				values[pathValue{path + " (list)", ellipsis(valueText(e), 40)}] = true
			}
		case map[string]any:
			for key := range v {
				values[pathValue{path + " (flags)", ellipsis(key, 40)}] = true
			}
		default:
			if path != "name" {
				values[pathValue{path, ellipsis(valueText(v), 40)}] = true
			}
		}
	}
	for day, name := range catalog.Weekdays {
		if c.Item.Hours.Known[day] {
			values[pathValue{"hours." + name, ""}] = true
		}
	}
	for n := range c.Reviews {
		for _, f := range reviewFields(&c.Reviews[n]) {
			values[pathValue{"reviews: " + f.name, ""}] = true
		}
	}
	return values
}

// The maximum numbers of friends listed per person beside those who wrote reviews, and of
// people described.
const (
	listedFriends = 60
	listedPeople  = 20
)

// describe lists people's friends, and which friends of those friends wrote
// reviews. It prefers people at most two friendships away from a writer.
func describe(g *catalog.Graph, ids []string, writers map[string]bool) string {
	near := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !reaches(g, id, writers, 2) })
	if len(near) == 0 {
		near = ids
	}
	left := len(ids) - min(len(near), listedPeople)
	var b strings.Builder
	b.WriteString("People and their friends:\n")
	for _, id := range near[:min(len(near), listedPeople)] {
		fmt.Fprintf(&b, "- %s: %s\n", nameOf(g, id), namesOf(g, g.Friends(id), writers))
		for _, friend := range g.Friends(id) {
			further := slices.DeleteFunc(slices.Clone(g.Friends(friend)), func(f string) bool { return f == id || !writers[f] })
			if len(further) > 0 {
				fmt.Fprintf(&b, "  - friends of %s who wrote reviews here: %s\n", nameOf(g, friend), namesOf(g, further, writers))
			}
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "- and %d more with these names\n", left)
	}
	return strings.TrimRight(fence(b.String()), "\n")
}

// reaches reports whether a person is one of others or at most hops friendships
// away from one.
func reaches(g *catalog.Graph, id string, others map[string]bool, hops int) bool {
	return others[id] || hops > 0 && slices.ContainsFunc(g.Friends(id), func(f string) bool { return reaches(g, f, others, hops-1) })
}

// nameOf returns a person's name and id, since names are not unique, or the id
// alone.
func nameOf(g *catalog.Graph, id string) string {
	if name := g.Name(id); name != "" {
		return name + " (" + id + ")"
	}
	return id
}

// namesOf lists people: all who wrote reviews, on whom the request may depend, and some others.
func namesOf(g *catalog.Graph, ids []string, writers map[string]bool) string {
	names, others := make([]string, 0, len(ids)), 0
	for _, id := range ids {
		if !writers[id] {
			others++
		}
		if writers[id] || others <= listedFriends {
			names = append(names, nameOf(g, id))
		}
	}
	if more := len(ids) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// peopleCalled describes the friends of the people with a name.
func (s *session) peopleCalled(name string) string {
	if ids := slices.Sorted(maps.Keys(s.Graph.Meant([]string{name}, 0))); len(ids) > 0 {
		return describe(s.Graph, ids, s.writers(s.everyone()))
	}
	return fmt.Sprintf("No person is named %q.", ellipsis(name, 60))
}
