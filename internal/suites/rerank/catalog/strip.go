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
	path  string
	count int // of removals
}

const (
	ofReviews = "reviews."
	ofUsers   = "reviews.user."
)

// required lists the paths that cannot be stripped.
var required = []string{"id", "business_id", "name", "reviews", "reviews.id", "reviews.review_id",
	"reviews.item_id", "reviews.business_id", "reviews.user_id", "reviews.text"}

func stripping(paths []string) (s strip) {
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if name, ok := strings.CutPrefix(path, "hours."); ok && Weekday(name) >= 0 {
			path = "hours." + Weekdays[Weekday(name)]
		}
		s = append(s, &stripped{path: path})
	}
	slices.SortStableFunc(s, func(a, b *stripped) int { return len(b.path) - len(a.path) })
	return s
}

// from removes from a record what the paths with this prefix name; "" is that of items.
func (s strip) from(data map[string]any, prefix string) {
	for _, c := range s {
		path, ok := strings.CutPrefix(c.path, prefix)
		switch {
		case slices.Contains(required, c.path):
		case prefix == ofUsers && c.path == "reviews.user":
			c.count += len(data)
			clear(data)
		case ok && (prefix != "" || !strings.HasPrefix(path, ofReviews)) && cut(data, path):
			c.count++
		}
	}
}

// findings reports paths that stripped nothing, each with its file.
func (s strip) findings(files Files) (list []Finding) {
	for _, c := range s {
		f, none := Finding{File: files.Items}, `no item has it; paths in reviews begin with "reviews."`
		if c.path == "reviews" || strings.HasPrefix(c.path, ofReviews) {
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

// cut removes the value at a path of [At] and reports whether there was one.
func cut(m map[string]any, path string) bool {
	if v, ok := m[path]; ok {
		delete(m, path)
		return v != nil
	}
	for end := strings.LastIndexByte(path, '.'); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		if inner, ok := m[path[:end]].(map[string]any); ok && cut(inner, path[end+1:]) {
			return true
		}
	}
	return false
}
