package request

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Set is the content of a file of requests.
type Set struct {
	Requests []Request
	Hash     string // SHA-256 of the file's bytes, in hexadecimal
}

// Load reads requests from a JSON Lines file, plain or gzip, and returns all
// findings. Requests with errors are left out. Gold must be in the catalog. A name
// that no user has, a shorthand that does not match the tree, and a group that
// looks like one of the [Groups] but is none are warnings.
func Load(path string, c *catalog.Catalog) (Set, []catalog.Finding, error) {
	l := loader{Log: catalog.Log{File: path}, catalog: c, lines: map[string]int{}}
	hash, err := dataset.Scan(path, func(line int, text []byte, err error) {
		if err != nil {
			l.Fault(line, "%v", err)
			return
		}
		l.request(line, text)
	})
	if err != nil {
		return Set{}, nil, err
	}
	if len(l.lines) == 0 {
		l.Fault(0, "no requests")
	}
	catalog.SortFindings(l.Findings)
	return Set{l.requests, hash}, l.Findings, nil
}

type loader struct {
	catalog.Log
	catalog  *catalog.Catalog
	lines    map[string]int
	requests []Request
}

func (l *loader) request(line int, text []byte) {
	r, errs := decode(text)
	r.Line = line
	if r.ID != "" {
		if first, ok := l.lines[r.ID]; ok {
			errs = append(errs, fmt.Errorf("duplicate id: first on line %d", first))
		} else {
			l.lines[r.ID] = line
		}
	} else {
		l.lines[fmt.Sprintf("line %d", line)] = line // counts as a request
	}
	for _, right := range r.Answers() {
		if right.ID != "" && l.catalog.Item(right.ID) == nil {
			errs = append(errs, fmt.Errorf("gold %q is not an item", right.ID))
		}
	}
	if len(errs) == 0 {
		if err := Lint(r); err != nil {
			errs = append(errs, err)
		}
	}
	for _, err := range errs {
		l.Fault(line, "%s%v", called(r.ID), err)
	}
	if len(errs) > 0 {
		return
	}
	l.doubts(&r)
	l.requests = append(l.requests, r)
}

func called(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf("request %q: ", id)
}

// doubts adds warnings and fills in a missing shorthand.
func (l *loader) doubts(r *Request) {
	printed := r.Structure.Shorthand()
	if r.Shorthand == "" {
		r.Shorthand = printed
	} else if n, err := ParseShorthand(r.Shorthand); err != nil {
		l.Warn(r.Line, "%sshorthand: %v", called(r.ID), err)
	} else if bareNode(n).flat() != bareNode(r.Structure).flat() {
		l.Warn(r.Line, "%sthe shorthand %s does not match the structure: %s", called(r.ID), r.Shorthand, printed)
	}
	if likeGroup.MatchString(r.Group) && !slices.ContainsFunc(Groups(), func(g Group) bool { return g.ID == r.Group }) {
		l.Warn(r.Line, "%sgroup %q is not one of G01 to G10: its shape is not checked", called(r.ID), r.Group)
	}
	for _, leaf := range r.Structure.Leaves() {
		for _, name := range leaf.Evidence.Names {
			if !l.catalog.Graph.Knows(name) {
				l.Warn(r.Line, "%sno user is named %q", called(r.ID), name)
			}
		}
	}
}

var likeGroup = regexp.MustCompile(`(?i)^G\d+$`)

// flat returns the shorthand with case and white space normalised.
func (n *Node) flat() string {
	return strings.ToLower(strings.Join(strings.Fields(n.Shorthand()), " "))
}
