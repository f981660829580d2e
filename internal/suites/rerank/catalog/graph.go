package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A Graph is an undirected graph of friendships: a friendship stated by one side
// counts for both. A nil Graph is empty. It is safe for concurrent use if Users
// does not change.
type Graph struct {
	Users map[string]*User

	once    sync.Once
	names   map[string][]string // sorted ids by the key of the name, and of its words
	longest int                 // words in the longest name
	friends map[string][]string // ids by id, both directions; includes unlisted people
}

func (g *Graph) build() {
	g.names, g.friends = map[string][]string{}, map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(g.Users)) {
		u := g.Users[id]
		name, said := key(u.Name), words(u.Name)
		g.names[name] = append(g.names[name], id)
		if plain := key(strings.Join(said, " ")); plain != name {
			g.names[plain] = append(g.names[plain], id)
		}
		g.longest = max(g.longest, len(said))
		for _, friend := range u.Friends {
			if friend != id {
				g.friends[id] = append(g.friends[id], friend)
				g.friends[friend] = append(g.friends[friend], id)
			}
		}
	}
	for id, list := range g.friends {
		slices.Sort(list)
		g.friends[id] = slices.Compact(list)
	}
}

// key folds case and white space of a name, and leaves out what may follow it in a text.
func key(name string) string { return foldName(unpossessed(name)) }

func foldName(name string) string { return strings.ToLower(oneSpace(name)) }

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// words are the words of a text, with what may be part of a name.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._'’", r)
	})
}

// unpossessed strips punctuation and a possessive ending from a name.
func unpossessed(s string) string {
	const ends = ".-'’"
	s = strings.TrimRight(strings.TrimSpace(s), ends)
	return strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s"), ends) // Bob B.'s
}

// Knows reports whether a user has this name or id.
func (g *Graph) Knows(name string) bool { return len(g.Within(name, 0)) > 0 }

// Friends lists the ids of a person's friends, sorted.
func (g *Graph) Friends(id string) []string {
	if g == nil {
		return nil
	}
	g.once.Do(g.build)
	return g.friends[id]
}

// Name returns a person's name, or "".
func (g *Graph) Name(id string) string {
	if g == nil || g.Users[id] == nil {
		return ""
	}
	return g.Users[id].Name
}

// Within returns the ids of the people with a name, ignoring case, and of all
// people at most hops friendships away: 0 is the people alone, 1 adds their
// friends, 2 the friends of friends. If no user has the name, it is taken as an
// id. The set is empty if there is no match.
func (g *Graph) Within(name string, hops int) map[string]bool {
	return g.Around(g.called(name, func(o string) bool { return foldName(o) == foldName(name) }), hops)
}

// Meant is [Graph.Within] of several names as people write them: a possessive ending or
// punctuation at the end of a name does not count. Other characters, as in "Anna ❤", may be
// missing where the name is not that of somebody else.
func (g *Graph) Meant(names []string, hops int) map[string]bool {
	people := map[string]bool{}
	for _, name := range names {
		found := g.called(name, func(other string) bool { return key(other) == key(name) })
		if len(found) == 0 {
			found = g.called(name, func(string) bool { return true })
			names := map[string]bool{}
			for id := range found {
				names[key(g.Name(id))] = true
			}
			if len(names) > 1 {
				continue
			}
		}
		maps.Copy(people, found)
	}
	return g.Around(people, hops)
}

// called returns the ids of the people with a name, if it is right.
func (g *Graph) called(name string, right func(name string) bool) map[string]bool {
	people := map[string]bool{}
	if g == nil {
		return people
	}
	g.once.Do(g.build)
	for _, id := range g.names[key(name)] {
		if right(g.Users[id].Name) {
			people[id] = true
		}
	}
	if len(people) == 0 && g.Users[name] != nil {
		people[name] = true
	}
	return people
}

// Mentioned lists the ids of people whose names occur in a text. The match is
// case-sensitive, so that a common word is not mistaken for a name.
func (g *Graph) Mentioned(text string) []string {
	if g == nil {
		return nil
	}
	g.once.Do(g.build)
	list, text := words(text), oneSpace(text)
	var found []string
	for i := range list {
		for n := 1; n <= min(g.longest, len(list)-i); n++ {
			said := unpossessed(strings.Join(list[i:i+n], " "))
			for _, id := range g.names[key(said)] {
				// Between its words, a name may have other characters.
				if name := g.Users[id].Name; unpossessed(strings.Join(words(name), " ")) == said && strings.Contains(text, unpossessed(oneSpace(name))) {
					found = append(found, id)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Around adds to people everyone at most hops friendships away from one of them.
func (g *Graph) Around(people map[string]bool, hops int) map[string]bool {
	frontier := slices.Collect(maps.Keys(people))
	for range hops {
		var next []string
		for _, id := range frontier {
			for _, friend := range g.Friends(id) {
				if !people[friend] {
					people[friend] = true
					next = append(next, friend)
				}
			}
		}
		frontier = next
	}
	return people
}

// Symmetrize makes friendships among users mutual and returns how many were stated by one
// side only. Nobody stays their own friend.
func (g *Graph) Symmetrize() (oneSided int) {
	for id, u := range g.Users {
		stated := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(u.Friends))), func(f string) bool { return f == id })
		u.Friends = g.Friends(id)
		oneSided += len(u.Friends) - len(stated)
	}
	return oneSided
}
