package study

import (
	"errors"
	"fmt"
	"strings"
)

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
	if v != nil {
		v.at = at
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
	i, ok := s.index()
	if !ok {
		i, err := l.named(s.name)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		return i, nil
	}
	if i > len(l.items) {
		return 0, fmt.Errorf("%s has no element [%d]: indices start at 0, and the next new one is [%d]", path, i, len(l.items))
	}
	return i, nil
}
