package method

import (
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
)

// tables returns the candidates as a database, with rows in a fixed order. Rows are
// made for the tables that a query reads.
func (c *cards) tables() []sqltable.Table {
	table := func(name, columns string, row func(n int, candidate *Candidate, add func(cells ...any))) sqltable.Table {
		return sqltable.Table{Name: name, Columns: strings.Fields(columns), Later: func() (rows [][]any) {
			for i := range c.task.Candidates {
				row(i+1, &c.task.Candidates[i], func(cells ...any) { rows = append(rows, cells) })
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
			}
		}),
		table("reviews", "item review reviewer_id reviewer stars date text", func(n int, candidate *Candidate, add func(...any)) {
			for k := range candidate.Reviews {
				r := &candidate.Reviews[k]
				var stars any // NULL if unknown
				if r.Stars > 0 {
					stars = r.Stars
				}
				add(n, k+1, r.UserID, c.task.Society.bareName(r.UserID), stars, r.Date, r.Text)
			}
		}),
		table("review_fields", "item review field value", func(n int, c *Candidate, add func(...any)) {
			for k := range c.Reviews {
				for _, f := range reviewFields(&c.Reviews[k]) {
					cells(f.name, f.value, func(name string, value any) { add(n, k+1, name, value) })
				}
			}
		}),
		{Name: "friends", Columns: []string{"person_id", "person", "friend_id", "friend"}, Later: c.friends},
	}
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
func (c *cards) friends() (rows [][]any) {
	s := c.task.Society
	if s == nil {
		return nil
	}
	people := map[string]bool{}
	for _, id := range s.mentioned(c.task.Text) {
		people[id] = true
	}
	for i := range c.task.Candidates {
		for k := range c.task.Candidates[i].Reviews {
			people[c.task.Candidates[i].Reviews[k].UserID] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(people)) {
		for _, friend := range s.Friends(id) {
			rows = append(rows, []any{id, s.bareName(id), friend, s.bareName(friend)})
		}
	}
	return rows
}

// bareName returns a person's name without the id, or "".
func (s *Society) bareName(id string) string {
	if s == nil || s.Users[id] == nil {
		return ""
	}
	return strings.TrimSpace(s.Users[id].Name)
}
