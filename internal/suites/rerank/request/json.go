package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// record is the file format of a request: of nodeRecord as it is read, of [Node] as
// it is written.
type record[N any] struct {
	ID        string `json:"id"`
	Group     string `json:"group"`
	Scenario  string `json:"scenario,omitempty"`
	Text      string `json:"text"`
	Shorthand string `json:"shorthand"`
	Structure *N     `json:"structure"`
	Gold      golds  `json:"gold"`
	// Other data sets' name of gold.
	GoldRestaurant string `json:"gold_restaurant,omitempty"`
}

// nodeRecord is a node whose evidence was not checked.
type nodeRecord struct {
	Op       string          `json:"op"`
	Args     []*nodeRecord   `json:"args"`
	Aspect   string          `json:"aspect"`
	Evidence *evidenceRecord `json:"evidence"`
}

// golds are the right items, best first. In a file they are one id, a list of
// ids, or an object of ids with their grades.
type golds []Graded

func (g *golds) UnmarshalJSON(data []byte) error {
	*g = nil
	switch data[0] {
	case '[':
		var ids []string
		if err := json.Unmarshal(data, &ids); err != nil {
			return errGold
		}
		for _, id := range ids {
			*g = append(*g, Graded{id, 1})
		}
	case '{':
		var grades map[string]int
		if err := json.Unmarshal(data, &grades); err != nil {
			return errGold
		}
		for id, grade := range grades {
			*g = append(*g, Graded{id, grade})
		}
		slices.SortFunc(*g, func(a, b Graded) int {
			return cmp.Or(cmp.Compare(b.Grade, a.Grade), strings.Compare(a.ID, b.ID))
		})
	default:
		var id string
		if err := json.Unmarshal(data, &id); err != nil {
			return errGold
		}
		if id != "" {
			*g = golds{{id, 1}}
		}
	}
	return nil
}

var errGold = errors.New("gold: want an id, a list of ids, or an object of ids and grades from 1")

func (g golds) MarshalJSON() ([]byte, error) {
	switch {
	case len(g) == 0:
		return []byte(`""`), nil
	case len(g) == 1 && g[0].Grade == 1:
		return marshal(g[0].ID)
	}
	grades, ids := map[string]int{}, []string{}
	graded := false
	for _, right := range g {
		grades[right.ID], ids, graded = right.Grade, append(ids, right.ID), graded || right.Grade != 1
	}
	if graded {
		return marshal(grades)
	}
	return marshal(ids)
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
	var raw record[nodeRecord]
	if err := dataset.DecodeStrict(line, &raw); err != nil {
		return Request{}, []error{err}
	}
	r := Request{ID: raw.ID, Group: raw.Group, Scenario: raw.Scenario, Text: raw.Text, Shorthand: raw.Shorthand}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(raw.Gold) == 0 && raw.GoldRestaurant != "" {
		raw.Gold = golds{{raw.GoldRestaurant, 1}}
	}
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
	switch {
	case raw.Structure != nil:
		c := checker{unread: map[*Node]error{}}
		r.Structure = c.grow(raw.Structure)
		errs = append(errs, c.check(r.Structure)...)
	case r.Shorthand == "":
		fault("structure is missing")
	default:
		n, err := ParseShorthand(r.Shorthand)
		if err != nil {
			fault("shorthand: %w", err)
			break
		}
		r.Structure = n
		errs = append(errs, Check(n)...)
	}
	return r, errs
}

// grow converts a file's nodes to a tree.
func (c *checker) grow(n *nodeRecord) *Node {
	if n == nil {
		return nil
	}
	grown := &Node{Op: n.Op, Aspect: n.Aspect}
	for _, a := range n.Args {
		grown.Args = append(grown.Args, c.grow(a))
	}
	if n.Evidence != nil {
		var err error
		if grown.Evidence, err = n.Evidence.typed(); err != nil {
			c.unread[grown] = err
			grown.Evidence = &Evidence{Kind: n.Evidence.Kind}
		}
	}
	return grown
}

// Marshal encodes a request as one line of a file for [Load].
func Marshal(r Request) ([]byte, error) {
	raw := record[Node]{ID: r.ID, Group: r.Group, Scenario: r.Scenario, Text: r.Text, Shorthand: r.Shorthand, Structure: r.Structure}
	if r.Gold != "" {
		raw.Gold = r.Answers()
	}
	if r.Structure != nil && raw.Shorthand == "" {
		raw.Shorthand = r.Structure.Shorthand()
	}
	return marshal(raw)
}

// MarshalJSON encodes evidence in its file format.
func (e *Evidence) MarshalJSON() ([]byte, error) { return marshal(recordOf(e)) }

// marshal does not escape <, > and &.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("writing request: %w", err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}
