package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// strip removes paths that reveal the answer, and counts the removals.
type strip struct {
	items, reviews, users []string // paths within each, the longest first
	count                 map[string]int
}

const (
	ofReviews = "reviews."
	ofUsers   = "reviews.user."
)

// required lists the paths that cannot be stripped.
var required = []string{"id", "business_id", "name", "reviews", "reviews.id", "reviews.review_id",
	"reviews.item_id", "reviews.business_id", "reviews.user_id", "reviews.text"}

func stripping(paths []string) *strip {
	s := &strip{count: map[string]int{}}
	for _, p := range paths {
		if _, twice := s.count[p]; twice {
			continue
		}
		s.count[p] = 0
		switch {
		case slices.Contains(required, p):
		case strings.HasPrefix(p, ofUsers):
			s.users = append(s.users, p[len(ofUsers):])
		case strings.HasPrefix(p, ofReviews):
			s.reviews = append(s.reviews, p[len(ofReviews):])
		default:
			s.items = append(s.items, p)
		}
	}
	// Nested paths come before the path that contains them.
	for _, list := range [][]string{s.items, s.reviews, s.users} {
		slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	}
	return s
}

// findings reports paths that stripped nothing, each with its file.
func (s *strip) findings(files Files) []Finding {
	var list []Finding
	for _, path := range slices.Sorted(maps.Keys(s.count)) {
		f, none := Finding{File: files.Items}, `no item has it; paths in reviews begin with "reviews."`
		if path == "reviews" || strings.HasPrefix(path, ofReviews) {
			f.File, none = files.Reviews, "no review has it"
		}
		switch {
		case slices.Contains(required, path):
			f.Text = fmt.Sprintf("cannot strip %q: it is required", path)
		case s.count[path] == 0:
			f.Text = fmt.Sprintf("cannot strip %q: %s", path, none)
		default:
			continue
		}
		list = append(list, f)
	}
	return list
}

// met counts a removed path.
func (s *strip) met(path string, there bool) {
	if there {
		s.count[path]++
	}
}

func (s *strip) item(i *Item) {
	for _, path := range s.items {
		s.met(path, i.without(path))
	}
}

// without removes the value at a path of [Item.At] and reports whether there was
// one.
func (i *Item) without(path string) bool {
	there := false
	switch path {
	case "attributes":
		there, i.Attributes = len(i.Attributes) > 0, map[string]Value{}
	case "categories":
		there, i.Categories = len(i.Categories) > 0, nil
	case "hours":
		there, i.Hours = !i.Hours.IsZero(), Hours{}
	default:
		if name, ok := strings.CutPrefix(path, "attributes."); ok {
			return cutField(i.Attributes, name)
		}
		if name, ok := strings.CutPrefix(path, "hours."); ok {
			day := Weekday(name)
			if there = day >= 0 && i.Hours.Known[day]; there {
				i.Hours.Known[day], i.Hours.Days[day] = false, nil
			}
			return there
		}
		return cutField(i.Fields, path)
	}
	return there
}

func (s *strip) review(r *Review) {
	for _, path := range s.reviews {
		there := false
		switch path {
		case "stars":
			there, r.Stars = r.Stars != 0, 0
		case "date":
			there, r.Date = r.Date != "", ""
		case "user":
			there, r.User = len(r.User) > 0, nil
		default:
			there = cutField(r.Fields, path)
		}
		s.met(ofReviews+path, there)
	}
}

// user strips the data about a writer in place.
func (s *strip) user(m map[string]Value) map[string]Value {
	for _, path := range s.users {
		s.met(ofUsers+path, cutField(m, path))
	}
	return m
}

// cutField removes the value at a path from a map, matching the longest key first
// as [Value.At] does, and reports whether there was one.
func cutField(m map[string]Value, path string) bool {
	if _, ok := m[path]; ok {
		there := !m[path].IsZero()
		delete(m, path)
		return there
	}
	for end := strings.LastIndexByte(path, '.'); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		inner := m[path[:end]]
		if inner.Kind() != Map {
			continue
		}
		rest := make(map[string]Value, len(inner.Keys()))
		for _, key := range inner.Keys() {
			rest[key] = inner.Get(key)
		}
		if cutField(rest, path[end+1:]) {
			m[path[:end]] = MapValue(rest)
			return true
		}
	}
	return false
}
