package method

import (
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

// tables returns the candidates as a database, with rows in a fixed order. Rows are
// made for the tables that a query names.
func (s *session) tables() []sqltable.Table {
	table := func(name, columns string, row func(n int, candidate *Candidate, add func(cells ...any))) sqltable.Table {
		return sqltable.Table{Name: name, Columns: strings.Fields(columns), Later: func() (rows [][]any) {
			for i := range s.Candidates {
				row(i+1, &s.Candidates[i], func(cells ...any) { rows = append(rows, cells) })
			}
			return rows
		}}
	}
	return []sqltable.Table{
		table("items", "item name", func(n int, c *Candidate, add func(...any)) { add(n, c.Item.Name) }),
		table("attributes", "item path value", func(n int, c *Candidate, add func(...any)) {
			for _, path := range pathsOf(c.Item) {
				if path != "categories" {
					cells(path, c.Item.At(path), func(path string, value any) { add(n, path, value) })
				}
			}
		}),
		table("categories", "item category", func(n int, c *Candidate, add func(...any)) {
			for _, category := range c.Item.Categories {
				add(n, category)
			}
		}),
		table("hours", "item day opens closes", func(n int, c *Candidate, add func(...any)) {
			for day, name := range catalog.Weekdays {
				for _, interval := range c.Item.Hours.Days[day] {
					add(n, name, interval.From, interval.To)
				}
				if c.Item.Hours.Known[day] && len(c.Item.Hours.Days[day]) == 0 {
					add(n, name, nil, nil)
				}
			}
		}),
		table("reviews", "item review reviewer_id reviewer stars date text", func(n int, candidate *Candidate, add func(...any)) {
			for k := range candidate.Reviews {
				r := &candidate.Reviews[k]
				var stars any // NULL if unknown
				if r.Stars > 0 {
					stars = r.Stars
				}
				add(n, k+1, r.UserID, s.bareName(r.UserID), stars, r.Date, r.Text)
			}
		}),
		table("review_fields", "item review field value", func(n int, c *Candidate, add func(...any)) {
			for k := range c.Reviews {
				for _, f := range reviewFields(&c.Reviews[k]) {
					cells(f.name, f.value, func(name string, value any) { add(n, k+1, name, value) })
				}
			}
		}),
		{Name: "friends", Columns: []string{"person_id", "person", "friend_id", "friend"}, Later: s.friends},
	}
}

// cells calls row for each value at a path.
func cells(path string, v any, row func(path string, value any)) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, e := range v {
			cells(path, e, row)
		}
	case map[string]any:
		for _, key := range catalog.Keys(v) {
			cells(path+"."+key, v[key], row)
		}
	case float64:
		row(path, v)
	default:
		row(path, catalog.Text(v))
	}
}

// friends returns the friendships of people who wrote a review or are named in
// the request.
func (s *session) friends() (rows [][]any) {
	people := s.writers(s.everyone())
	for _, id := range s.Graph.Mentioned(s.Text) {
		people[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(people)) {
		for _, friend := range s.Graph.Friends(id) {
			rows = append(rows, []any{id, s.bareName(id), friend, s.bareName(friend)})
		}
	}
	return rows
}

// bareName returns a person's name without the id, or "".
func (s *session) bareName(id string) string { return strings.TrimSpace(s.Graph.Name(id)) }
