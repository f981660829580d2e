package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a node. Error texts say section and list for YAML's mapping
// and sequence.
type kind int

const (
	nothing kind = iota
	truth
	number
	str
	list
	section
)

// A node is a value of a study with its position. Unlike a syntax tree it has
// aliases and merges resolved, and overrides can change it.
type node struct {
	kind   kind
	at     Position // of the key for values of a section, else of the value
	text   string   // of a scalar as it was written, unquoted
	number json.Number
	items  []*node
	fields []field
}

type field struct {
	key   string
	value *node
}

// get is the value of a key of a section, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// set gives a key of a section a value; nil removes the key.
func (n *node) set(key string, value *node) {
	i := slices.IndexFunc(n.fields, func(f field) bool { return f.key == key })
	switch {
	case i < 0 && value != nil:
		n.fields = append(n.fields, field{key, value})
	case i >= 0 && value != nil:
		n.fields[i].value = value
	case i >= 0:
		n.fields = slices.Delete(n.fields, i, i+1)
	}
}

// clone copies a tree; budget limits the number of nodes, so that nested aliases
// cannot exhaust memory.
func (n *node) clone(budget *int) *node {
	if *budget--; n == nil || *budget < 0 {
		return nil
	}
	c := *n
	c.items = make([]*node, len(n.items))
	for i, item := range n.items {
		if c.items[i] = item.clone(budget); c.items[i] == nil {
			return nil
		}
	}
	c.fields = make([]field, len(n.fields))
	for i, f := range n.fields {
		c.fields[i] = field{f.key, f.value.clone(budget)}
		if c.fields[i].value == nil {
			return nil
		}
	}
	return &c
}

// plain is the tree as encoding/json would decode it with UseNumber.
func (n *node) plain() any {
	switch n.kind {
	case truth:
		return strings.EqualFold(n.text, "true")
	case number:
		return n.number
	case str:
		return n.text
	case list:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = item.plain()
		}
		return l
	case section:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.key] = f.value.plain()
		}
		return m
	}
	return nil
}

// A step is one part of a path: .key or [key], where the brackets hold the
// number, id or name of an element, or a key that would not do without them.
type step struct {
	name      string
	bracketed bool
}

// index is the number of a list element.
func (s step) index() (int, bool) {
	i, err := strconv.ParseUint(s.name, 10, 31)
	return int(i), s.bracketed && err == nil
}

// maxSteps is far above the depth of any study.
const maxSteps = 64

// parsePath splits "models[fake].limits.concurrency" into its steps.
func parsePath(path string) ([]step, error) {
	if !isKey(path) {
		return nil, fmt.Errorf("path %s: want text on one line", quote(path))
	}
	var steps []step
	rest := path
	for first := true; rest != ""; first = false {
		var s step
		switch {
		case rest[0] == '[':
			name, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, fmt.Errorf("path %s: missing ]", quote(path))
			}
			s, rest = step{name, true}, after
		case rest[0] == '.' && !first, first && rest[0] != '.':
			rest = strings.TrimPrefix(rest, ".")
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			s, rest = step{name: rest[:end]}, rest[end:]
		default:
			return nil, fmt.Errorf("path %s: want a dot or [ before %s", quote(path), quote(rest))
		}
		if s.name == "" {
			return nil, fmt.Errorf("path %s: empty key", quote(path))
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, fmt.Errorf("path with more than %d levels", maxSteps)
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("empty path")
	}
	return steps, nil
}

// child follows one step, or is nil.
func (n *node) child(s step) *node {
	switch n.kind {
	case section:
		return n.get(s.name)
	case list:
		if i, err := elementFor(n, s, ""); err == nil && i < len(n.items) {
			return n.items[i]
		}
	}
	return nil
}

// named finds the one element of a list with this id or name.
func (n *node) named(name string) (int, error) {
	found := -1
	var all []string
	for i, item := range n.items {
		id := item.get("id")
		if id == nil {
			id = item.get("name")
		}
		if id == nil {
			continue
		}
		if all = append(all, id.text); id.text != name {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("%s is ambiguous: use the index, [%d] or [%d]", quote(name), found, i)
		}
		found = i
	}
	if found < 0 {
		return -1, fmt.Errorf("no element with the id or name %s: %s", quote(name), suggest(name, all))
	}
	return found, nil
}

// joinPath adds a key to a path, in brackets where a dot would be misread.
func joinPath(path, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]") || key == "":
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// Texts visits every text in a plain JSON value that stands at a path, in the order of keys.
func Texts(path string, v any, visit func(path, text string)) {
	switch v := v.(type) {
	case string:
		visit(path, v)
	case []any:
		for i, element := range v {
			Texts(elementPath(path, i), element, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			Texts(joinPath(path, key), v[key], visit)
		}
	}
}

// IsCommand reports whether the value at a path is a command, and IsProgram whether it is one or
// a file of a program.
func IsCommand(path string) bool { return strings.HasSuffix(path, ".exec") }

// IsProgram is described at [IsCommand].
func IsProgram(path string) bool { return IsCommand(path) || strings.Contains(path, ".watch[") }

func elementPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// override applies one KEY=VALUE to the tree. The value is YAML; an empty one
// removes the key. Missing keys are created; the schema checks them later.
func override(root *node, assignment string) error {
	path, value, ok := strings.Cut(assignment, "=")
	at := Position{Override: shownAssignment(assignment)}
	if len(findSecrets(assignment)) > 0 {
		return &Error{Pos: at, Err: errors.New(secretFound)}
	}
	fail := func(err error) error { return &Error{Pos: at, Err: err} }
	if !ok {
		return fail(errors.New("want KEY=VALUE, such as execution.concurrency=8"))
	}
	steps, err := parsePath(path)
	if err != nil {
		return fail(err)
	}
	v, err := parseYAML([]byte(value), func(int, int) Position { return at })
	if err != nil {
		return err
	}
	if v != nil && v.kind == nothing {
		v = nil
	}
	if err := assign(&root, "", steps, v, at); err != nil {
		return fail(err)
	}
	return nil
}

// shownAssignment formats an override for errors, without values that may be
// secret.
func shownAssignment(assignment string) string {
	path, _, ok := strings.Cut(assignment, "=")
	if ok && (strings.Contains(assignment, "api_key") || len(findSecrets(assignment)) > 0) {
		assignment = path + "=…"
	}
	quoted := quote(assignment)
	if assignment == "" {
		return quoted
	}
	return quoted[1 : len(quoted)-1]
}

// assign sets the value at the steps from a node, creating missing sections; nil
// removes the value. The path of the node is for errors.
func assign(n **node, path string, steps []step, value *node, at Position) error {
	if len(steps) == 0 {
		*n = value
		return nil
	}
	if *n == nil || (*n).kind == nothing {
		if value == nil || steps[0] == everyElement { // nothing to remove, or no elements
			return nil
		}
		*n = emptyFor(steps[0], at)
	}
	s, rest := steps[0], steps[1:]
	switch parent := *n; parent.kind {
	case section:
		child := parent.get(s.name)
		err := assign(&child, joinPath(path, s.name), rest, value, at)
		parent.set(s.name, child)
		return err
	case list:
		return assignElement(parent, path, s, rest, value, at)
	}
	return fmt.Errorf("%s holds %s, which has no keys", path, (*n).shown())
}

// everyElement stands for all elements of a list.
var everyElement = step{"*", true}

// assignElement assigns to one element of a list, or to all of them with separate
// copies.
func assignElement(l *node, path string, s step, rest []step, value *node, at Position) error {
	if s != everyElement {
		i, err := elementFor(l, s, path)
		switch {
		case err != nil:
			return err
		case len(rest) == 0 && value == nil:
			return errCannotRemove
		case i == len(l.items) && value == nil:
			return nil
		case i == len(l.items):
			l.items = append(l.items, nil)
		}
		return assign(&l.items[i], elementPath(path, i), rest, value, at)
	}
	switch {
	case len(l.items) == 0:
		return fmt.Errorf("%s has no elements", path)
	case len(rest) == 0 && value == nil:
		return errCannotRemove
	}
	for i := range l.items {
		budget := maxNodes
		if err := assign(&l.items[i], "", rest, value.clone(&budget), at); err != nil {
			return fmt.Errorf("%s: %w", elementPath(path, i), err)
		}
	}
	return nil
}

var errCannotRemove = errors.New("cannot remove a list element, since the others would be renumbered: set the whole list")

// emptyFor is what must be created for the next step to lead somewhere.
func emptyFor(next step, at Position) *node {
	if _, ok := next.index(); ok {
		return &node{kind: list, at: at}
	}
	return &node{kind: section, at: at}
}

// elementFor is the number of the element a step means. One past the end
// means a new one.
func elementFor(l *node, s step, path string) (int, error) {
	if !s.bracketed {
		return 0, fmt.Errorf("%s is a list: give the index of an element, as in %s[0].%s", path, path, s.name)
	}
	i, numbered := s.index()
	if !numbered {
		var err error
		if i, err = l.named(s.name); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	if i > len(l.items) {
		return 0, fmt.Errorf("%s has no element [%d]: indices start at 0, and the next new one is [%d]", path, i, len(l.items))
	}
	return i, nil
}
