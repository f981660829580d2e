package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// record is the file format of a request.
type record struct {
	Request
	Gold golds `json:"gold"`
}

// golds are the right items, best first. In a file they are one id, a list of
// ids, or an object of ids with their grades.
type golds []Graded

func (g *golds) UnmarshalJSON(data []byte) error {
	*g = nil
	var id string
	var ids []string
	var grades map[string]int
	switch {
	case json.Unmarshal(data, &id) == nil:
		if id != "" {
			ids = []string{id}
		}
	case json.Unmarshal(data, &ids) != nil && json.Unmarshal(data, &grades) != nil:
		return errors.New("gold: want an id, a list of ids, or an object of ids and grades from 1")
	}
	for _, id := range ids {
		*g = append(*g, Graded{id, 1})
	}
	for id, grade := range grades {
		*g = append(*g, Graded{id, grade})
	}
	if grades != nil {
		slices.SortFunc(*g, func(a, b Graded) int { return cmp.Or(b.Grade-a.Grade, strings.Compare(a.ID, b.ID)) })
	}
	return nil
}

func (g golds) MarshalJSON() ([]byte, error) {
	grades, ids := map[string]int{}, []string{}
	for _, right := range g {
		grades[right.ID], ids = right.Grade, append(ids, right.ID)
	}
	switch {
	case slices.ContainsFunc(g, func(right Graded) bool { return right.Grade != 1 }):
		return []byte(kit.PlainJSON(grades)), nil
	case len(g) > 1:
		return []byte(kit.PlainJSON(ids)), nil
	}
	return []byte(kit.PlainJSON(strings.Join(ids, ""))), nil
}

// check returns an error for an empty or repeated id and for a grade below 1.
func (g golds) check() error {
	seen := map[string]bool{}
	for _, right := range g {
		switch {
		case strings.TrimSpace(right.ID) == "":
			return errors.New("gold has an empty id")
		case seen[right.ID]:
			return fmt.Errorf("gold has %q twice", right.ID)
		case right.Grade < 1:
			return fmt.Errorf("gold %q has grade %d: want at least 1; leave out items that do not satisfy the request", right.ID, right.Grade)
		}
		seen[right.ID] = true
	}
	return nil
}

// decode parses a request from a line and returns all errors. The request is
// valid only if there are none.
func decode(line []byte) (Request, []error) {
	var raw record
	if err := dataset.DecodeStrict(line, &raw); err != nil {
		return Request{}, []error{err}
	}
	r := raw.Request
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := raw.Gold.check(); err != nil {
		errs = append(errs, err)
	} else if len(raw.Gold) > 0 {
		r.Gold = raw.Gold[0].ID
		if len(raw.Gold) > 1 {
			r.Right = raw.Gold
		}
	}
	for _, f := range [][2]string{{"id", r.ID}, {"text", r.Text}} {
		if strings.TrimSpace(f[1]) == "" {
			fault("%s is missing", f[0])
		}
	}
	if len(raw.Gold) == 0 {
		fault("gold is missing")
	}
	if r.Structure == nil && r.Shorthand == "" {
		fault("structure is missing")
		return r, errs
	}
	if r.Structure == nil {
		n, err := ParseShorthand(r.Shorthand)
		if err != nil {
			fault("shorthand: %w", err)
			return r, errs
		}
		r.Structure = n
	}
	return r, append(errs, Check(r.Structure)...)
}

// Line encodes a request as one line of a file for [Load].
func Line(r Request) string {
	raw := record{Request: r}
	if r.Gold != "" {
		raw.Gold = r.Answers()
	}
	if r.Structure != nil && raw.Shorthand == "" {
		raw.Shorthand = r.Structure.Shorthand()
	}
	return kit.PlainJSON(raw)
}
