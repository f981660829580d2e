package atoms

import (
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// The outline extractor needs no model. It reads headings, fields ("Owner: X") and
// lists:
//
//   - a heading "Type: Title", or one with a type as its last word, is an atom;
//   - below it a line "Field: a, b", or a list under "Field:", where the field is
//     the name of an edge in words, gives edges;
//   - a list or text under "Rationale", "Why" or "Because" gives claims.
var (
	heading = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*$`)
	field   = regexp.MustCompile(`^\s*(?:[-*]\s+)?(?:\*\*|__)?([A-Za-z][A-Za-z _-]{1,30})(?:\*\*|__)?\s*:(?:\*\*|__)?\s*(.*)$`)
	item    = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,3}[.)])\s+(.+)$`)
)

// synonyms are words for edges beside their names.
var synonyms = map[string]string{
	"owned by": "owner", "responsible": "owner", "accountable": "owner",
	"using": "uses", "tools": "uses", "systems": "uses", "inputs": "uses",
	"outputs": "produces", "output": "produces", "results": "produces",
	"policies": "governed_by", "rules": "governed_by", "governed by": "governed_by",
	"steps": "stages", "related to": "relates_to", "related": "relates_to", "see also": "relates_to",
	"deciders": "decided_by", "decided by": "decided_by",
}

var reasons = []string{"rationale", "why", "because", "reasons", "justification"}

func outline(sources []source, o *ontology.Ontology) []candidate {
	var list []candidate
	for _, d := range sources {
		list = append(list, outlineOf(d.Text, o)...)
	}
	// Every target of an edge is an atom of the first allowed type, unless it has a
	// heading.
	known := map[string]bool{}
	for _, c := range list {
		known[okf.Normal(c.Title)] = true
	}
	for i := range list {
		for _, e := range o.Edges {
			if len(e.To) == 0 {
				continue
			}
			for _, t := range list[i].Edges[e.Name] {
				if n := okf.Normal(t); n != "" && !known[n] {
					known[n] = true
					list = append(list, candidate{Type: e.To[0], Title: t})
				}
			}
		}
	}
	return list
}

func outlineOf(text string, o *ontology.Ontology) (list []candidate) {
	at := -1   // current candidate
	into := "" // edge or reason that a list belongs to
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if m := heading.FindStringSubmatch(line); m != nil {
			name := strings.ToLower(strings.TrimSuffix(m[1], ":"))
			if edge := edgeOf(name, o); at >= 0 && edge != "" {
				into = edge
				continue
			}
			into = ""
			if kind, title := typed(m[1], o); kind != "" {
				list = append(list, candidate{Type: kind, Title: title, Edges: map[string][]string{}})
				at = len(list) - 1
			} else {
				at = -1
			}
			continue
		}
		if at < 0 {
			continue
		}
		c := &list[at]
		if m := field.FindStringSubmatch(line); m != nil {
			if edge := edgeOf(strings.ToLower(m[1]), o); edge != "" {
				into = edge
				if m[2] != "" {
					c.put(edge, m[2], true)
				}
				continue
			}
		}
		if m := item.FindStringSubmatch(line); m != nil && into != "" {
			c.put(into, m[1], false)
		} else if strings.TrimSpace(line) != "" && into == ontology.KeyRationale {
			c.put(into, line, false)
		} else if strings.TrimSpace(line) != "" && item.FindString(line) == "" {
			into = ""
		}
	}
	return list
}

// put adds the targets or claims of a field.
func (c *candidate) put(edge, value string, split bool) {
	value = strings.Trim(strings.TrimSpace(value), "*_")
	if edge == ontology.KeyRationale {
		c.Rationale = append(c.Rationale, value)
		return
	}
	parts := []string{value}
	if split {
		parts = strings.FieldsFunc(strings.ReplaceAll(value, " and ", ","), func(r rune) bool { return r == ',' || r == ';' })
	}
	for _, p := range parts {
		p = strings.TrimPrefix(strings.TrimPrefix(strings.Trim(strings.TrimSpace(p), ".[]*_`"), "the "), "The ")
		if p != "" && !slices.Contains(c.Edges[edge], p) {
			c.Edges[edge] = append(c.Edges[edge], p)
		}
	}
}

// edgeOf is the edge that a field in lower case names, or the key of the rationale.
func edgeOf(name string, o *ontology.Ontology) string {
	name = strings.TrimSpace(name)
	if slices.Contains(reasons, name) {
		return ontology.KeyRationale
	}
	if s := synonyms[name]; s != "" {
		name = s
	}
	name = strings.ReplaceAll(name, " ", "_")
	if _, ok := o.Edge(name); ok {
		return name
	}
	return ""
}

// typed splits a heading into type and title.
func typed(heading string, o *ontology.Ontology) (kind, title string) {
	for _, t := range o.Types {
		before, after, ok := strings.Cut(heading, ":")
		if after = strings.TrimSpace(after); ok && after != "" && strings.EqualFold(strings.TrimSpace(before), t.Name) {
			return t.Name, after
		}
		if i := strings.LastIndexByte(heading, ' '); i > 0 && strings.EqualFold(heading[i+1:], t.Name) {
			return t.Name, heading
		}
	}
	return "", ""
}
