package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// strip lists paths that reveal the answer, the longest first: nested paths come
// before the path that contains them.
type strip []*stripped

type stripped struct {
	path     string // of and rest together
	of, rest string // a prefix below, and the path within
	count    int    // of removals
}

const (
	ofReviews = "reviews."
	ofUsers   = "reviews.user."
)

// required lists the paths that cannot be stripped.
var required = []string{"id", "business_id", "name", "reviews", "reviews.id", "reviews.review_id",
	"reviews.item_id", "reviews.business_id", "reviews.user_id", "reviews.text"}

func stripping(paths []string) (s strip) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		c := &stripped{path: p, rest: p}
		for _, prefix := range []string{ofReviews, ofUsers} {
			if rest, ok := strings.CutPrefix(p, prefix); ok {
				c.of, c.rest = prefix, rest
			}
		}
		s = append(s, c)
	}
	slices.SortStableFunc(s, func(a, b *stripped) int { return len(b.rest) - len(a.rest) })
	return s
}

// each removes the paths within a part of the data. Cut reports whether there was a
// value.
func (s strip) each(of string, cut func(path string) bool) {
	for _, c := range s {
		if c.of == of && !slices.Contains(required, c.path) && cut(c.rest) {
			c.count++
		}
	}
}

// findings reports paths that stripped nothing, each with its file.
func (s strip) findings(files Files) (list []Finding) {
	for _, c := range s {
		f, none := Finding{File: files.Items}, `no item has it; paths in reviews begin with "reviews."`
		if c.path == "reviews" || c.of != "" {
			f.File, none = files.Reviews, "no review has it"
		}
		switch {
		case slices.Contains(required, c.path):
			none = "it is required"
		case c.count > 0:
			continue
		}
		f.Text = fmt.Sprintf("cannot strip %q: %s", c.path, none)
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Finding) int { return strings.Compare(a.Text, b.Text) })
	return list
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

// without removes the value at a path of [Review.At], except the writer's data, and
// reports whether there was one.
func (r *Review) without(path string) bool {
	there := false
	switch path {
	case "stars":
		there, r.Stars = r.Stars != 0, 0
	case "date":
		there, r.Date = r.Date != "", ""
	case "user":
		there, r.User = len(r.User) > 0, nil
	default:
		return cutField(r.Fields, path)
	}
	return there
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
