package request

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/table"
)

// A Set is the content of a file of requests.
type Set struct {
	Requests []Request
	Hash     string // SHA-256 of the file's bytes, in hexadecimal
}

// Load reads requests from a file as [table.Records] does, and returns all
// findings. Requests with errors are left out. Gold must be in the catalog. A name
// that no user has, a shorthand that does not match the tree, and a group that
// looks like one of the [Groups] but is none are warnings.
func Load(path string, c *catalog.Catalog) (set Set, findings []catalog.Finding, err error) {
	l := catalog.Log{File: path}
	lines := map[string]int{} // by id
	n := 0
	set.Hash, err = table.Records(path, table.Texts{Names: []string{"id", "group", "gold", "text", "shorthand"}, Keys: []string{"group"}}, func(line int, text []byte, err error) {
		if n++; err != nil {
			l.Fault(line, "%v", err)
			return
		}
		r, errs := decode(text)
		r.Line = line
		if first := lines[r.ID]; first > 0 && r.ID != "" {
			errs = append(errs, fmt.Errorf("duplicate id: first on line %d", first))
		} else {
			lines[r.ID] = line
		}
		for _, id := range r.IDs() {
			if id != "" && c.Item(id) == nil {
				errs = append(errs, fmt.Errorf("gold %q is not an item", id))
			}
		}
		if len(errs) == 0 {
			if err := Lint(r); err != nil {
				errs = append(errs, err)
			}
		}
		name := ""
		if r.ID != "" {
			name = fmt.Sprintf("request %q: ", r.ID)
		}
		for _, err := range errs {
			l.Fault(line, "%s%v", name, err)
		}
		if len(errs) == 0 {
			for _, doubt := range doubts(&r, c.Graph) {
				l.Warn(line, "%s%s", name, doubt)
			}
			set.Requests = append(set.Requests, r)
		}
	})
	if n == 0 {
		l.Fault(0, "no requests")
	}
	catalog.SortFindings(l.Findings)
	return set, l.Findings, err
}

// doubts lists what looks wrong but is legal, and fills in a missing shorthand.
func doubts(r *Request, people *catalog.Graph) (list []string) {
	doubt := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	printed := r.Structure.Shorthand()
	if r.Shorthand == "" {
		r.Shorthand = printed
	} else if n, err := ParseShorthand(r.Shorthand); err != nil {
		doubt("shorthand: %v", err)
	} else if bareNode(n).flat() != bareNode(r.Structure).flat() {
		doubt("the shorthand %s does not match the structure: %s", r.Shorthand, printed)
	}
	if likeGroup.MatchString(r.Group) && !slices.ContainsFunc(Groups(), func(g Group) bool { return g.ID == r.Group }) {
		doubt("group %q is not one of G01 to G10: its shape is not checked", r.Group)
	}
	for _, leaf := range r.Structure.Leaves() {
		for _, name := range leaf.Evidence.Names {
			if !people.Knows(name) {
				doubt("no user is named %q", name)
			}
		}
	}
	return list
}

var likeGroup = regexp.MustCompile(`(?i)^G\d+$`)

// flat returns the shorthand with case and white space normalised.
func (n *Node) flat() string {
	return strings.ToLower(strings.Join(strings.Fields(n.Shorthand()), " "))
}
