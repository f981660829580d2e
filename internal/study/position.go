package study

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Position says where a value comes from: a place in the study file, or the
// override that set it.
type Position struct {
	File         string
	Line, Column int    // from 1; 0 when the value stands nowhere in the file
	Override     string // "execution.concurrency=8" for what -o set
}

func (p Position) String() string {
	switch {
	case p.Override != "":
		return "-o " + p.Override
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// compare orders the file's positions from top to bottom and leaves overrides
// after them in the order they were given.
func (p Position) compare(q Position) int {
	switch p, q := p.Override != "", q.Override != ""; {
	case p && q:
		return 0
	case p:
		return 1
	case q:
		return -1
	}
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// An Error is one finding about a study, with its position.
type Error struct {
	Pos  Position
	Path string // "kernels[2].path", "" for the study as a whole
	Err  error
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Pos.String() + ": " + e.Err.Error()
	}
	return e.Pos.String() + ": " + e.Path + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Errors are all findings about a study. They print one per line, in file order.
type Errors []error

// Add appends a finding; nil is ignored, and a list is appended element by
// element.
func (es *Errors) Add(err error) {
	var list Errors
	switch {
	case err == nil:
	case errors.As(err, &list):
		*es = append(*es, list...)
	default:
		*es = append(*es, err)
	}
}

// Err returns the findings in order, or nil if there are none.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	at := func(err error) Position {
		var e *Error
		if errors.As(err, &e) {
			return e.Pos
		}
		return Position{}
	}
	slices.SortStableFunc(es, func(a, b error) int { return at(a).compare(at(b)) })
	return es
}

// maxListed is the maximum number of findings printed.
const maxListed = 50

func (es Errors) Error() string {
	var b strings.Builder
	for i, e := range es {
		if i == maxListed {
			fmt.Fprintf(&b, "\n… and %d more", len(es)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// Unwrap lets errors.Is and errors.As look into every finding.
func (es Errors) Unwrap() []error { return es }
