package extraction

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	members []*tree // by member; nil if it says nothing of it
	records map[int]*tree
	point   int // in gold: 1 + the place of the point
	entries []*Entry
}

// numbers are those of the records of a list, in order.
func (p *tree) numbers() []int {
	if p == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(p.records))
}

// member is a member of an object, or nil if it is missing.
func (p *tree) member(i int) *tree {
	if p == nil || p.members == nil {
		return nil
	}
	return p.members[i]
}

// at finds or makes the tree of a path such as items[2].price.
func (p *tree) at(root *node, path string) (*tree, *node, error) {
	n := root
	for rest := path; rest != ""; {
		switch {
		case n.isObject():
			name, after, index := cutPath(rest)
			i := n.member(rest) // the name of a field of a flat schema may have dots
			if i >= 0 {
				after, index = "", false
			} else if i = n.member(name); i < 0 {
				return nil, nil, fmt.Errorf("has no such field%s", text.DidYouMean(name, n.names))
			}
			if p.members == nil {
				p.members = make([]*tree, len(n.members))
			}
			if p.members[i] == nil {
				p.members[i] = &tree{}
			}
			p, n = p.members[i], n.members[i]
			if rest = after; index && !n.isList() {
				return nil, nil, fmt.Errorf("has no list %s", n.name)
			}
		case n.isList():
			number, after, err := cutIndex(rest)
			if err != nil {
				return nil, nil, fmt.Errorf("has a list %s: want a number of a record, as in %s[0]: %w", n.name, n.name, err)
			}
			p, n, rest = p.record(number), n.records, after
		default:
			return nil, nil, fmt.Errorf("has a value %s, which has no %q", n.name, rest)
		}
	}
	if n.isObject() || n.isList() {
		return nil, nil, fmt.Errorf("has no value there, but %s", n.kind())
	}
	return p, n, nil
}

// record finds or makes a record of a list.
func (p *tree) record(number int) *tree {
	if p.records == nil {
		p.records = map[int]*tree{}
	}
	if p.records[number] == nil {
		p.records[number] = &tree{}
	}
	return p.records[number]
}

// cutPath cuts the first name from a path; index says that an index is next.
func cutPath(path string) (name, rest string, index bool) {
	i := strings.IndexAny(path, ".[")
	if i < 0 {
		return path, "", false
	}
	if path[i] == '[' {
		return path[:i], path[i:], true
	}
	return path[:i], path[i+1:], false
}

func cutIndex(path string) (number int, rest string, err error) {
	inside, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !ok || !strings.HasPrefix(path, "[") {
		return 0, "", errors.New("not [ and ]")
	}
	number, err = strconv.Atoi(inside)
	if err == nil && (number < 0 || number > 1<<30) {
		err = errors.New("out of range")
	}
	return number, strings.TrimPrefix(rest, "."), err
}

// pattern is a path without numbers of records: items[].price.
func pattern(path string) string {
	if !strings.Contains(path, "[") {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		b.WriteByte(path[i])
		if path[i] == '[' {
			for i+1 < len(path) && path[i+1] != ']' {
				i++
			}
		}
	}
	return b.String()
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

// expand makes gold of fields of the nested gold of a document. It passes to warn what the
// schema does not have, which is not asked for.
func (d *Document) expand(s *Schema, warn func(string)) error {
	if len(d.Gold) == 0 || d.Gold.Kind() == 'n' {
		return nil
	}
	if len(d.Truth) > 0 {
		return fmt.Errorf("document %q has gold and ground_truth: remove one of them", d.ID)
	}
	x := expander{schema: s, max: 20, gold: []Gold{}}
	x.expand(s.root, d.Gold, "", true)
	for _, text := range x.unknown {
		warn(fmt.Sprintf("document %q: gold: %s", d.ID, text))
	}
	if d.Truth = x.gold; len(x.errs) > 0 {
		for i, err := range x.errs {
			x.errs[i] = fmt.Errorf("document %q: gold: %w", d.ID, err)
		}
		return errors.Join(x.errs...)
	}
	d.Gold = nil
	return nil
}

type expander struct {
	schema  *Schema
	gold    []Gold
	errs    []error
	max     int
	unknown []string
}

func (x *expander) fault(format string, args ...any) {
	if len(x.errs) < x.max {
		x.errs = append(x.errs, fmt.Errorf(format, args...))
	}
}

// expand adds the gold of a node. What is null or not given does not exist in the document.
func (x *expander) expand(n *node, value jsontext.Value, path string, given bool) {
	null := value.Kind() == 'n' || len(value) == 0
	switch {
	case n.isObject() && (null || value.Kind() == '{'):
		var members map[string]jsontext.Value
		if !null {
			if err := json.Unmarshal(value, &members); err != nil {
				x.fault("%s: %w", cmp.Or(path, "the object"), err)
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if n.member(name) < 0 {
				x.unknown = append(x.unknown, fmt.Sprintf("schema %s has no %s, which is left out%s", x.schema.Name, join(path, name), text.DidYouMean(name, n.names)))
			}
		}
		for i, m := range n.members {
			x.expand(m, members[n.names[i]], join(path, n.names[i]), given && !null)
		}
	case n.isList() && null:
	case n.isList() && value.Kind() == '[':
		var records []jsontext.Value
		if err := json.Unmarshal(value, &records); err != nil {
			x.fault("%s: %w", path, err)
		}
		for i, r := range records {
			x.expand(n.records, r, fmt.Sprintf("%s[%d]", path, i), true)
		}
	case n.isObject() || n.isList():
		x.fault("%s: want %s, not %s", cmp.Or(path, "it"), n.kind(), shortJSON(value))
	default:
		x.leaf(n, value, path, null)
	}
}

// leaf adds the gold of a leaf: a value, null, or an object with the keys of ground_truth.
func (x *expander) leaf(n *node, value jsontext.Value, path string, null bool) {
	exists := !null
	g := Gold{Field: path, Exists: &exists}
	switch value.Kind() {
	case '{':
		if err := json.Unmarshal(value, &g, json.RejectUnknownMembers(true)); err != nil {
			x.fault("%s: want a value, or an object with the keys of ground_truth: %w", path, err)
			return
		}
		g.Field = path
	case '[':
		x.fault("%s: want a value, not a list", path)
		return
	default:
		if !null {
			if err := g.Correct.UnmarshalJSON(value); err != nil {
				x.fault("%s: %w", path, err)
			}
		}
		if blank(g.Correct) {
			exists, g.Correct = false, ""
		}
	}
	x.gold = append(x.gold, g)
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

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func shortJSON(value jsontext.Value) string {
	return map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a text", '0': "a number", 'n': "null", 't': "true", 'f': "false"}[value.Kind()]
}

// An answerReader makes the tree of an answer.
type answerReader struct {
	root   *tree
	cut    bool     // the answer ends early: what it does not have is not known
	faults []string // what has the wrong shape, with its path
	extra  []string // what the schema does not have
}

func (r *answerReader) fault(format string, args ...any) {
	const most = 10
	if len(r.faults) < most {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

// plain reads an answer that is a value in the shape of the schema. What it does not have,
// or has as null, it says not to be in the document, unless it is cut off; what has another
// shape says nothing.
func (r *answerReader) plain(n *node, value jsontext.Value, path string) *tree {
	p := &tree{}
	null := value.Kind() == 'n' || len(value) == 0
	switch {
	case n.isObject():
		var members map[string]jsontext.Value
		if !null && (value.Kind() != '{' || json.Unmarshal(value, &members, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil) {
			r.fault("%s: want an object, not %s", cmp.Or(path, "the answer"), shortJSON(value))
			return p
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if n.member(name) < 0 {
				r.extra = append(r.extra, join(path, name))
			}
		}
		p.members = make([]*tree, len(n.members))
		for i, m := range n.members {
			if value, ok := members[n.names[i]]; ok || !r.cut {
				p.members[i] = r.plain(m, value, join(path, n.names[i]))
			}
		}
	case n.isList() && null:
	case n.isList():
		records := []jsontext.Value{value}
		if value.Kind() != '[' || json.Unmarshal(value, &records, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
			r.fault("%s: want a list, not %s", path, shortJSON(value))
			if value.Kind() != '{' {
				return p
			}
			records = []jsontext.Value{value} // a list of one
		}
		for i, v := range records {
			at := fmt.Sprintf("%s[%d]", path, i)
			if n.records.isObject() && v.Kind() != '{' {
				r.fault("%s: want an object, not %s", at, shortJSON(v))
				continue
			}
			p.record(i)
			p.records[i] = r.plain(n.records, v, at)
		}
	default:
		e := &Entry{Field: path, Status: statusMissing}
		if e.Value = e.scalar([]byte(value), path); e.Value.Given {
			e.Status = statusOK
		}
		if e.Fault != "" {
			r.fault("%s: want a value, not %s", path, shortJSON(value))
		}
		p.entries = []*Entry{e}
	}
	return p
}

// listed reads entries whose fields are paths.
func (r *answerReader) listed(root *node, entries []Entry) {
	for i := range entries {
		e := &entries[i]
		p, _, err := r.root.at(root, e.Field)
		if err != nil {
			r.extra = append(r.extra, e.Field)
			continue
		}
		p.entries = append(p.entries, e)
	}
}
