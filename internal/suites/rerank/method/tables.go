package method

import (
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

// tables returns the candidates as a database, with rows in a fixed order.
func (c *cards) tables() []sqltable.Table {
	items := sqltable.Table{Name: "items", Columns: []string{"item", "name"}}
	attributes := sqltable.Table{Name: "attributes", Columns: []string{"item", "path", "value"}}
	categories := sqltable.Table{Name: "categories", Columns: []string{"item", "category"}}
	hours := sqltable.Table{Name: "hours", Columns: []string{"item", "day", "opens", "closes"}}
	reviews := sqltable.Table{Name: "reviews", Columns: []string{"item", "review", "reviewer_id", "reviewer", "stars", "date", "text"}}
	fields := sqltable.Table{Name: "review_fields", Columns: []string{"item", "review", "field", "value"}}
	for i, candidate := range c.task.Candidates {
		n, item := i+1, candidate.Item
		add := func(t *sqltable.Table, cells ...any) { t.Rows = append(t.Rows, append([]any{n}, cells...)) }
		add(&items, item.Name)
		for _, path := range pathsOf(item) {
			if path != "categories" {
				cells(path, item.At(path), func(path string, value any) { add(&attributes, path, value) })
			}
		}
		for _, category := range item.Categories {
			add(&categories, category)
		}
		for day, name := range catalog.Weekdays {
			for _, interval := range item.Hours.Days[day] {
				add(&hours, name, interval.From, interval.To)
			}
		}
		for k, r := range candidate.Reviews {
			var stars any // NULL if unknown
			if r.Stars > 0 {
				stars = r.Stars
			}
			add(&reviews, k+1, r.UserID, c.task.Society.bareName(r.UserID), stars, r.Date, r.Text)
			for _, f := range reviewFields(&r) {
				cells(f.name, f.value, func(name string, value any) { add(&fields, k+1, name, value) })
			}
		}
	}
	return []sqltable.Table{items, attributes, categories, hours, reviews, fields, c.friends()}
}

// cells calls row for each value at a path.
func cells(path string, v catalog.Value, row func(path string, value any)) {
	switch v.Kind() {
	case catalog.List:
		for _, e := range v.List() {
			cells(path, e, row)
		}
	case catalog.Map:
		for _, key := range v.Keys() {
			cells(path+"."+key, v.Get(key), row)
		}
	case catalog.Number:
		row(path, v.Number())
	default:
		if !v.IsZero() {
			row(path, v.String())
		}
	}
}

// friends returns the friendships of people who wrote a review or are named in
// the request.
func (c *cards) friends() sqltable.Table {
	t := sqltable.Table{Name: "friends", Columns: []string{"person_id", "person", "friend_id", "friend"}}
	s := c.task.Society
	if s == nil {
		return t
	}
	people := map[string]bool{}
	for _, id := range s.mentioned(c.task.Text) {
		people[id] = true
	}
	for _, candidate := range c.task.Candidates {
		for _, r := range candidate.Reviews {
			people[r.UserID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(people)) {
		for _, friend := range s.Friends(id) {
			t.Rows = append(t.Rows, []any{id, s.bareName(id), friend, s.bareName(friend)})
		}
	}
	return t
}

// bareName returns a person's name without the id, or "".
func (s *Society) bareName(id string) string {
	if s == nil || s.Users[id] == nil {
		return ""
	}
	return strings.TrimSpace(s.Users[id].Name)
}
