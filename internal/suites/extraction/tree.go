package extraction

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/text"
)

// A tree is what gold or an answer says of a node: it has the members of an object, the
// records of a list, or the gold point or the entries of a leaf.
type tree struct {
	inner   map[int]*tree // members and records by number; what it says nothing of is not there
	point   int           // in gold: 1 + the place of the point
	entries []*Entry
}

// numbers are those of the records of a list, in order.
func (p *tree) numbers() []int {
	if p == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.inner))
}

// get is a member or a record, or nil.
func (p *tree) get(i int) *tree {
	if p == nil {
		return nil
	}
	return p.inner[i]
}

// at finds or makes the tree of a path such as items[2].price.
func (p *tree) at(n *node, path string) (*tree, *node, error) {
	for rest := path; rest != ""; {
		var number int
		var err error
		switch {
		case n.isObject():
			name := rest // that of a field of a flat schema may have dots
			if number = n.member(name); number < 0 {
				name, _, _ = strings.Cut(strings.ReplaceAll(rest, "[", "."), ".")
				number = n.member(name)
			}
			if number < 0 {
				return nil, nil, fmt.Errorf("has no such field%s", text.DidYouMean(name, n.names))
			}
			n, rest = n.members[number], rest[len(name):]
		case n.isList():
			inside, after, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]")
			if number, err = strconv.Atoi(inside); err != nil || !ok || rest[0] != '[' || number < 0 || number > 1<<30 {
				return nil, nil, fmt.Errorf("has a list %s: want the number of a record, as in %s[0]", n.name, n.name)
			}
			n, rest = n.records, after
		default:
			return nil, nil, fmt.Errorf("has a value %s, which has no %q", n.name, rest)
		}
		rest = strings.TrimPrefix(rest, ".")
		if p.inner == nil {
			p.inner = map[int]*tree{}
		}
		if p.inner[number] == nil {
			p.inner[number] = &tree{}
		}
		p = p.inner[number]
	}
	if n.isObject() || n.isList() {
		return nil, nil, fmt.Errorf("has no value there, but %s", n.kind())
	}
	return p, n, nil
}

func (n *node) kind() string {
	switch {
	case n.isObject():
		return "an object"
	case n.isList():
		return "a list"
	}
	return "a value"
}

var recordNumber = regexp.MustCompile(`\[[^]]*\]?`)

// pattern is a path without numbers of records: items[].price.
func pattern(path string) string {
	if !strings.Contains(path, "[") {
		return path
	}
	return recordNumber.ReplaceAllString(path, "[]")
}

// inList reports whether a field is in a list, by its name in the schema.
func inList(pattern string) bool { return strings.Contains(pattern, "[]") }

// listOf is the innermost list of a pattern, "" for a field that is in none.
func listOf(pattern string) string {
	if i := strings.LastIndex(pattern, "[]"); i >= 0 {
		return pattern[:i+2]
	}
	return ""
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// A reading goes through a value in the shape of a schema, which is gold or an answer.
type reading struct {
	leaf   func(path string, value jsontext.Value) // of every leaf; null and "" are no value
	cut    bool                                    // the value ends early: what it does not have is not known
	faults []string                                // what has the wrong shape, with its path
	extra  []string                                // what the schema does not have
}

func (r *reading) fault(path string, n *node, value jsontext.Value) {
	r.faultf("%s: want %s, not %s", cmp.Or(path, "the whole"), n.kind(), kindNames[value.Kind()])
}

func (r *reading) faultf(format string, args ...any) {
	const most = 10
	if len(r.faults) < most {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

var kindNames = map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a text", '0': "a number",
	'n': "null", 't': "true", 'f': "false"}

// read reads what a value says of a node. An object where a list belongs is a list of one, with a
// fault.
func (r *reading) read(n *node, value jsontext.Value, path string) {
	null := value.Kind() == 'n' || len(value) == 0
	switch {
	case n.isObject():
		members := membersOf(value)
		if !null && members == nil {
			r.fault(path, n, value)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if n.member(name) < 0 {
				r.extra = append(r.extra, join(path, name))
			}
		}
		for i, m := range n.members {
			if value, ok := members[n.names[i]]; ok || !r.cut {
				r.read(m, value, join(path, n.names[i]))
			}
		}
	case n.isList() && !null:
		records := text.Elements(value)
		if records == nil {
			if r.fault(path, n, value); value.Kind() == '{' {
				records = [][]byte{value}
			}
		}
		for i, v := range records {
			r.read(n.records, v, fmt.Sprintf("%s[%d]", path, i))
		}
	case !n.isList():
		r.leaf(path, value)
	}
}

// expand makes gold of fields of the nested gold of a document. It passes to warn what the
// schema does not have, which is not asked for.
func (d *Document) expand(s *Schema, warn func(string)) error {
	if len(d.Gold) == 0 || d.Gold.Kind() == 'n' {
		return nil
	}
	if len(d.Truth) > 0 {
		return fmt.Errorf("document %q has gold and ground_truth: remove one of them", d.ID)
	}
	d.Truth = []Gold{}
	var r reading
	r.leaf = func(path string, value jsontext.Value) {
		g, err := goldOf(value)
		if err != nil {
			r.faultf("%s: want a value, or an object with the keys of ground_truth: %v", path, err)
		}
		g.Field = path
		d.Truth = append(d.Truth, g)
	}
	r.read(s.root, d.Gold, "")
	for _, path := range r.extra {
		warn(fmt.Sprintf("document %q: gold: schema %s has no %s, which is left out%s", d.ID, s.Name, path,
			text.DidYouMean(pattern(path), s.names())))
	}
	d.Gold = nil
	var errs []error
	for _, fault := range r.faults {
		errs = append(errs, fmt.Errorf("document %q: gold: %s", d.ID, fault))
	}
	return errors.Join(errs...)
}

// goldOf is the gold of a leaf: a value, null, or an object with the keys of ground_truth. It exists
// in the document if it has a value, unless the object says.
func goldOf(value jsontext.Value) (g Gold, err error) {
	if value.Kind() == '{' {
		if err = json.Unmarshal(value, &g, json.RejectUnknownMembers(true)); err != nil || g.Exists != nil {
			return g, err
		}
	} else if len(value) > 0 {
		err = g.Correct.UnmarshalJSON(value)
	}
	exists := !blank(g.Correct) || g.Ambiguous
	if g.Exists = &exists; !exists {
		g.Correct = ""
	}
	return g, err
}

// plainEntries are those of an answer that is a value in the shape of the schema. What it does not
// have, or has as null or blank, it says not to be in the document, unless it is cut off; what has another
// shape says nothing.
func (r *reading) plainEntries(s *Schema, a Answer) (list []Entry) {
	r.cut = a.Cut
	r.leaf = func(path string, value jsontext.Value) {
		e := Entry{Field: path, Status: statusMissing}
		if v := e.scalar([]byte(value), path); !v.blank() {
			e.Value, e.Status = v, statusOK
		}
		if e.Fault != "" {
			r.fault(path, &node{}, value)
		}
		list = append(list, e)
	}
	r.read(s.root, jsontext.Value(a.Plain), "")
	return list
}
