package method

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Society is the graph of friendships with an index by name. All tasks of a
// study share one; it is safe for concurrent use. A nil Society is empty.
type Society struct {
	*catalog.Graph
	ids    map[string][]string // sorted ids of people by lower-case name, without a final dot
	length int                 // words in the longest name
}

// NewSociety indexes the graph of a catalog.
func NewSociety(g *catalog.Graph) *Society {
	s := &Society{Graph: g, ids: map[string][]string{}}
	for _, id := range slices.Sorted(maps.Keys(g.Users)) {
		name := g.Users[id].Name
		key := strings.ToLower(unpossessed(name))
		s.ids[key] = append(s.ids[key], id)
		s.length = max(s.length, len(strings.Fields(name)))
	}
	return s
}

// name returns a person's name and id, since names are not unique, or the id
// alone.
func (s *Society) name(id string) string {
	if s == nil || s.Users[id] == nil || s.Users[id].Name == "" {
		return id
	}
	return s.Users[id].Name + " (" + id + ")"
}

// mentioned lists the ids of people whose names occur in a text. The match is
// case-sensitive, so that a common word is not mistaken for a name.
func (s *Society) mentioned(text string) []string {
	if s == nil {
		return nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._'’", r)
	})
	var found []string
	for i := range words {
		for n := 1; n <= min(s.length, len(words)-i); n++ {
			said := unpossessed(strings.Join(words[i:i+n], " "))
			for _, id := range s.ids[strings.ToLower(said)] {
				if unpossessed(s.Users[id].Name) == said {
					found = append(found, id)
				}
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(found)))
}

// unpossessed strips punctuation and a possessive ending from a name.
func unpossessed(s string) string {
	s = strings.TrimRight(s, ".-'’")
	return strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
}

// within returns the people with these names, or else ids, and all people up to
// hops friendships away.
func (s *Society) within(names []string, hops int) map[string]bool {
	people := map[string]bool{}
	if s == nil {
		return people
	}
	for _, name := range names {
		ids := s.ids[strings.ToLower(unpossessed(strings.TrimSpace(name)))]
		for _, id := range ids {
			people[id] = true
		}
		if s.Users[name] != nil && len(ids) == 0 {
			people[name] = true
		}
	}
	s.Around(people, hops)
	return people
}

// The maximum numbers of friends listed per person, and of people described.
const (
	listedFriends = 60
	listedPeople  = 20
)

// describe lists people's friends, and which friends of those friends wrote
// reviews. It prefers people at most two friendships away from a writer.
func (s *Society) describe(ids []string, writers map[string]bool) string {
	near := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !s.reaches(id, writers, 2) })
	if len(near) == 0 {
		near = ids
	}
	left := len(ids) - min(len(near), listedPeople)
	var b strings.Builder
	b.WriteString("People and their friends:\n")
	for _, id := range near[:min(len(near), listedPeople)] {
		fmt.Fprintf(&b, "- %s: %s\n", s.name(id), s.list(s.Friends(id)))
		for _, friend := range s.Friends(id) {
			further := slices.DeleteFunc(slices.Clone(s.Friends(friend)), func(f string) bool { return f == id || !writers[f] })
			if len(further) > 0 {
				fmt.Fprintf(&b, "  - friends of %s who wrote reviews here: %s\n", s.name(friend), s.list(further))
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
func (s *Society) reaches(id string, others map[string]bool, hops int) bool {
	return others[id] || hops > 0 && slices.ContainsFunc(s.Friends(id), func(f string) bool { return s.reaches(f, others, hops-1) })
}

func (s *Society) list(ids []string) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids[:min(len(ids), listedFriends)] {
		names = append(names, s.name(id))
	}
	if more := len(ids) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// around describes the friends of the people with a name.
func (s *Society) around(name string, writers map[string]bool) string {
	if ids := slices.Sorted(maps.Keys(s.within([]string{name}, 0))); len(ids) > 0 {
		return s.describe(ids, writers)
	}
	return fmt.Sprintf("No person is named %q.", ellipsis(name, 60))
}
