package method

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Society is who knows whom, ready to be asked by name. One is made for all
// tasks of a study; it is safe for concurrent use. A nil Society knows nobody.
type Society struct {
	names  map[string]string   // of people by id
	ids    map[string][]string // of people by name in lower case, sorted
	know   map[string][]string // ids of friends by id, sorted, both ways
	length int                 // words in the longest name
}

// NewSociety takes the users of a catalog. Friendship goes both ways, whoever
// states it.
func NewSociety(users map[string]*catalog.User) *Society {
	s := &Society{names: map[string]string{}, ids: map[string][]string{}, know: map[string][]string{}}
	for _, id := range slices.Sorted(maps.Keys(users)) {
		u := users[id]
		s.names[id] = u.Name
		key := strings.ToLower(u.Name)
		s.ids[key] = append(s.ids[key], id)
		s.length = max(s.length, len(strings.Fields(u.Name)))
		for _, friend := range u.Friends {
			s.know[id] = append(s.know[id], friend)
			s.know[friend] = append(s.know[friend], id)
		}
	}
	for id, list := range s.know {
		s.know[id] = slices.Compact(slices.Sorted(slices.Values(list)))
	}
	return s
}

// name is how a person is called: by name and id, so that two of one name can
// be told apart, or by id alone.
func (s *Society) name(id string) string {
	if s == nil || s.names[id] == "" {
		return id
	}
	return s.names[id] + " (" + id + ")"
}

// mentioned lists the ids of people whose name stands in a text, in capitals as
// it is spelled, so that a word that happens to be a name is not taken for one.
func (s *Society) mentioned(text string) []string {
	if s == nil {
		return nil
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' && r != '_'
	})
	var found []string
	for i := range words {
		for n := 1; n <= min(s.length, len(words)-i); n++ {
			said := strings.TrimRight(strings.Join(words[i:i+n], " "), ".-")
			for _, id := range s.ids[strings.ToLower(said)] {
				if s.names[id] == said {
					found = append(found, id)
				}
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(found)))
}

// within is the people of these names (or ids), and those up to so many
// friendships away.
func (s *Society) within(names []string, hops int) map[string]bool {
	people := map[string]bool{}
	if s == nil {
		return people
	}
	for _, name := range names {
		for _, id := range s.ids[strings.ToLower(strings.TrimSpace(name))] {
			people[id] = true
		}
		if _, ok := s.names[name]; ok {
			people[name] = true
		}
	}
	for range hops {
		for _, id := range slices.Collect(maps.Keys(people)) {
			for _, friend := range s.know[id] {
				people[friend] = true
			}
		}
	}
	return people
}

// listedFriends is how many friends of one person are shown.
const listedFriends = 60

// describe tells of people who their friends are, and which friends of these
// are among some others.
func (s *Society) describe(ids []string, others map[string]bool) string {
	var b strings.Builder
	b.WriteString("People and their friends:\n")
	for _, id := range ids {
		fmt.Fprintf(&b, "- %s: %s\n", s.name(id), s.list(s.know[id]))
		for _, friend := range s.know[id] {
			further := slices.DeleteFunc(slices.Clone(s.know[friend]), func(f string) bool { return f == id || !others[f] })
			if len(further) > 0 {
				fmt.Fprintf(&b, "  - friends of %s who wrote reviews here: %s\n", s.name(friend), s.list(further))
			}
		}
	}
	return oneFence(b.String())
}

// oneFence makes names harmless as reviews are.
func oneFence(s string) string { return strings.TrimRight(fence(s), "\n") }

func (s *Society) list(ids []string) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids[:min(len(ids), listedFriends)] {
		names = append(names, s.name(id))
	}
	if more := len(ids) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}

// around tells of the people of a name who their friends are and who theirs.
func (s *Society) around(name string) string {
	var ids []string
	if s != nil {
		for id := range s.within([]string{name}, 0) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return fmt.Sprintf("Nobody is called %q.", ellipsis(name, 60))
	}
	slices.Sort(ids)
	all := map[string]bool{}
	for id := range s.names {
		all[id] = true
	}
	return s.describe(ids, all)
}
