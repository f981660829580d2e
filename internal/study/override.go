package study

import (
	"errors"
	"fmt"
	"strings"
)

// override applies one KEY=VALUE to the tree. The value is YAML; an empty one
// removes the key. What is not there yet is created; whether it is known is
// the schema's to say.
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
	if err := assign(root, steps, v, at); err != nil {
		return fail(err)
	}
	return nil
}

// shownAssignment is an override as errors show it: what is set where people
// paste keys is left out.
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

// assign walks to where the steps lead, creating what is missing, and sets or
// removes the value there.
func assign(n *node, steps []step, value *node, at Position) error {
	path := ""
	for i, s := range steps {
		last := i == len(steps)-1
		switch n.kind {
		case section:
			path = joinPath(path, s.name)
			next := n.get(s.name)
			switch {
			case last && value == nil:
				n.remove(s.name)
				return nil
			case last:
				n.set(s.name, value)
				return nil
			case next == nil || next.kind == nothing:
				if value == nil || steps[i+1] == (step{everyElement, true}) { // nothing to remove, or no elements
					return nil
				}
				next = emptyFor(steps[i+1], at)
				n.set(s.name, next)
			}
			n = next
		case list:
			if s.bracketed && s.name == everyElement {
				return assignAll(n, steps[i:], value, at, path)
			}
			at, err := elementFor(n, s, path)
			if err != nil {
				return err
			}
			if n, err = setElement(n, at, steps[i:], value); n == nil {
				return err
			}
			path = elementPath(path, at)
		default:
			return fmt.Errorf("%s holds %s, which has no keys", path, n.shown())
		}
	}
	return nil
}

// everyElement stands for all elements of a list.
const everyElement = "*"

// assignAll assigns to every element of a list, each of which has a value of
// its own.
func assignAll(l *node, steps []step, value *node, at Position, path string) error {
	if len(l.items) == 0 {
		return fmt.Errorf("%s has no elements", path)
	}
	for i := range l.items {
		own := value
		if value != nil {
			budget := maxNodes
			own = value.clone(&budget)
		}
		switch {
		case len(steps) > 1:
			if err := assign(l.items[i], steps[1:], own, at); err != nil {
				return fmt.Errorf("%s: %w", elementPath(path, i), err)
			}
		case value == nil:
			return errCannotRemove
		default:
			l.items[i] = own
		}
	}
	return nil
}

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
		return 0, fmt.Errorf("%s is a list: name the element, as in %s[0].%s", path, path, s.name)
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
		return 0, fmt.Errorf("%s has no element [%d]: counted from 0, the next new one is [%d]", path, i, len(l.items))
	}
	return i, nil
}

var errCannotRemove = errors.New("an element of a list cannot be removed, since that would renumber the others: give the whole list")

// setElement sets element i when the steps end here (and returns nil), and
// else returns the element to go on from.
func setElement(l *node, i int, steps []step, value *node) (*node, error) {
	if len(steps) == 1 {
		if value == nil {
			return nil, errCannotRemove
		}
		if i == len(l.items) {
			l.items = append(l.items, value)
		} else {
			l.items[i] = value
		}
		return nil, nil
	}
	if i == len(l.items) {
		if value == nil {
			return nil, nil
		}
		l.items = append(l.items, emptyFor(steps[1], value.at))
	}
	return l.items[i], nil
}
