package catalog

import (
	"maps"
	"slices"
)

// strip leaves out what gives answers away, and counts how often it did.
type strip map[string]int

func stripping(paths []string) strip {
	s := strip{}
	for _, p := range paths {
		s[p] = 0
	}
	return s
}

// unused lists the paths that were never met.
func (s strip) unused() []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(s)) {
		if s[path] == 0 {
			list = append(list, path)
		}
	}
	return list
}

// take reports that a path is to be left out, and counts it.
func (s strip) take(path string) bool {
	if _, ok := s[path]; !ok {
		return false
	}
	s[path]++
	return true
}

func (s strip) fields(prefix string, m map[string]Value) {
	for key := range m {
		if s.take(prefix + key) {
			delete(m, key)
		}
	}
}

func (s strip) item(i *Item) {
	if len(s) == 0 {
		return
	}
	s.fields("", i.Fields)
	s.fields("attributes.", i.Attributes)
	if len(i.Attributes) > 0 && s.take("attributes") {
		i.Attributes = map[string]Value{}
	}
	if len(i.Categories) > 0 && s.take("categories") {
		i.Categories = nil
	}
	if !i.Hours.IsZero() && s.take("hours") {
		i.Hours = Hours{}
	}
}

func (s strip) review(r *Review) {
	if len(s) == 0 {
		return
	}
	s.fields("reviews.", r.Fields)
	if r.Stars != 0 && s.take("reviews.stars") {
		r.Stars = 0
	}
	if r.Date != "" && s.take("reviews.date") {
		r.Date = ""
	}
}

// user leaves out what is not to be known of a writer; the map is changed.
func (s strip) user(m map[string]Value) map[string]Value {
	s.fields("reviews.user.", m)
	return m
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
