package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Graph is an undirected graph of friendships: a friendship stated by one side
// counts for both. A nil Graph is empty. It is safe for concurrent use if Users
// does not change.
type Graph struct {
	Users map[string]*User

	once    sync.Once
	names   map[string][]string // ids by name in lower case
	friends map[string][]string // ids by id, both directions; includes unlisted people
}

func (g *Graph) build() {
	g.names, g.friends = map[string][]string{}, map[string][]string{}
	for id, u := range g.Users {
		name := foldName(u.Name)
		g.names[name] = append(g.names[name], id)
		for _, friend := range u.Friends {
			if friend == id {
				continue
			}
			g.friends[id] = append(g.friends[id], friend)
			g.friends[friend] = append(g.friends[friend], id)
		}
	}
	for id, list := range g.friends {
		slices.Sort(list)
		g.friends[id] = slices.Compact(list)
	}
}

func foldName(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// Knows reports whether a user has this name or id.
func (g *Graph) Knows(name string) bool { return len(g.Within(name, 0)) > 0 }

// Friends lists the ids of a person's friends, sorted.
func (g *Graph) Friends(id string) []string {
	g.once.Do(g.build)
	return g.friends[id]
}

// Within returns the ids of the people with a name, ignoring case, and of all
// people at most hops friendships away: 0 is the people alone, 1 adds their
// friends, 2 the friends of friends. If no user has the name, it is taken as an
// id. The set is empty if there is no match.
func (g *Graph) Within(name string, hops int) map[string]bool {
	people := map[string]bool{}
	if g == nil {
		return people
	}
	g.once.Do(g.build)
	frontier := g.names[foldName(name)]
	if len(frontier) == 0 && g.Users[name] != nil {
		frontier = []string{name}
	}
	for _, id := range frontier {
		people[id] = true
	}
	g.Around(people, hops)
	return people
}

// Around adds to people everyone at most hops friendships away from one of them.
func (g *Graph) Around(people map[string]bool, hops int) {
	g.once.Do(g.build)
	frontier := slices.Collect(maps.Keys(people))
	for range hops {
		var next []string
		for _, id := range frontier {
			for _, friend := range g.friends[id] {
				if !people[friend] {
					people[friend] = true
					next = append(next, friend)
				}
			}
		}
		frontier = next
	}
}

// symmetrize makes friendships among listed users mutual and returns how many
// were stated by one side only.
func symmetrize(users map[string]*User) (oneSided int) {
	type edge struct{ a, b string }
	stated := map[edge]bool{}
	for id, u := range users {
		for _, friend := range u.Friends {
			stated[edge{id, friend}] = true
		}
	}
	for e := range stated {
		friend := users[e.b]
		if friend == nil || stated[edge{e.b, e.a}] {
			continue
		}
		oneSided++
		friend.Friends = append(friend.Friends, e.a)
	}
	for _, u := range users {
		slices.Sort(u.Friends)
		u.Friends = slices.Compact(u.Friends)
	}
	return oneSided
}
