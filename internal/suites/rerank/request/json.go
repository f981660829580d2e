package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// record is a request as it stands in a file.
type record struct {
	ID        string      `json:"id"`
	Group     string      `json:"group"`
	Scenario  string      `json:"scenario,omitempty"`
	Text      string      `json:"text"`
	Shorthand string      `json:"shorthand"`
	Structure *nodeRecord `json:"structure"`
	Gold      string      `json:"gold"`
	// Other data sets' name of gold.
	GoldRestaurant string `json:"gold_restaurant,omitempty"`
}

// nodeRecord is a node as it stands in a file.
type nodeRecord struct {
	Name     string          `json:"id,omitempty"`
	Ref      string          `json:"ref,omitempty"`
	Op       *string         `json:"op,omitempty"`
	Args     []*nodeRecord   `json:"args,omitempty"`
	Aspect   string          `json:"aspect,omitempty"`
	Evidence *evidenceRecord `json:"evidence,omitempty"`
}

// evidenceRecord is evidence as it stands in a file; [Evidence] says what the
// fields mean. Several have two names, of which the second is read only.
type evidenceRecord struct {
	Kind string   `json:"kind"`
	Path pathText `json:"path,omitempty"`

	True        *catalog.Value `json:"true,omitempty"` // of hours: the interval
	False       *catalog.Value `json:"false,omitempty"`
	NotTrue     *catalog.Value `json:"not_true,omitempty"`
	TrueNot     *catalog.Value `json:"true_not,omitempty"`
	Contains    *catalog.Value `json:"contains,omitempty"`
	NotContains *catalog.Value `json:"not_contains,omitempty"`
	Neutral     *catalog.Value `json:"neutral,omitempty"`
	Missing     *int           `json:"missing,omitempty"`

	Day  string `json:"day,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`

	Pattern               *string   `json:"pattern,omitempty"`
	WeightBy              *weightBy `json:"weight_by,omitempty"`
	Percentile            *float64  `json:"percentile,omitempty"`
	CredibilityPercentile *float64  `json:"credibility_percentile,omitempty"`
	MinCredibleMatches    *int      `json:"min_credible_matches,omitempty"`
	SocialFilter          *circle   `json:"social_filter,omitempty"`

	Op       *string        `json:"op,omitempty"`
	Value    *catalog.Value `json:"value,omitempty"`
	NotEmpty *bool          `json:"not_empty,omitempty"`
	AtLeast  *float64       `json:"gte,omitempty"`
	AtMost   *float64       `json:"lte,omitempty"`
	MinStars *float64       `json:"min_stars,omitempty"`
	Agg      *string        `json:"agg,omitempty"`
	Count    *int           `json:"count,omitempty"`

	Names      []string `json:"names,omitempty"`
	Friends    []string `json:"friends,omitempty"`
	Hops       *int     `json:"hops,omitempty"`
	MinMatches *int     `json:"min_matches,omitempty"`
}

// circle is a social filter inside review_text.
type circle struct {
	Names      []string `json:"names,omitempty"`
	Friends    []string `json:"friends,omitempty"`
	Hops       *int     `json:"hops,omitempty"`
	MinMatches *int     `json:"min_matches,omitempty"`
}

// pathText is a path with dots; a list of keys is joined.
type pathText string

func (p *pathText) UnmarshalJSON(data []byte) error {
	var keys []string
	if data[0] == '[' {
		if err := json.Unmarshal(data, &keys); err != nil {
			return errors.New("path: want a text or a list of texts")
		}
		*p = pathText(strings.Join(keys, "."))
		return nil
	}
	if err := json.Unmarshal(data, (*string)(p)); err != nil {
		return errors.New("path: want a text or a list of texts")
	}
	return nil
}

// weightBy is the path of a field, or an object that holds it.
type weightBy string

func (w *weightBy) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return (*pathText)(w).UnmarshalJSON(data)
	}
	var o struct {
		Field pathText `json:"field"`
	}
	if err := dataset.DecodeStrict(data, &o); err != nil {
		return fmt.Errorf("weight_by: %w", err)
	}
	*w = weightBy(o.Field)
	return nil
}

// decode reads a request from a line. The errors are all that is wrong with
// it; the request is usable only if there is none.
func decode(line []byte) (Request, []error) {
	var raw record
	if err := dataset.DecodeStrict(line, &raw); err != nil {
		return Request{}, []error{err}
	}
	r := Request{ID: raw.ID, Group: raw.Group, Scenario: raw.Scenario, Text: raw.Text, Shorthand: raw.Shorthand, Gold: raw.Gold}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Gold == "" {
		r.Gold = raw.GoldRestaurant
	}
	for _, f := range [][2]string{{"id", r.ID}, {"text", r.Text}, {"gold", r.Gold}} {
		if strings.TrimSpace(f[1]) == "" {
			fault("%s is not given", f[0])
		}
	}
	switch {
	case raw.Structure != nil:
		g := grower{fault: fault, named: map[string]*nodeRecord{}, path: map[*nodeRecord]bool{}}
		g.name(raw.Structure, 1)
		r.Structure = g.node(raw.Structure, "structure", 1)
	case r.Shorthand == "":
		fault("structure is not given")
	default:
		n, err := ParseShorthand(r.Shorthand)
		if err != nil {
			fault("shorthand: %w", err)
		} else {
			r.Structure = n
		}
	}
	if len(errs) == 0 {
		errs = Check(r.Structure)
	}
	return r, errs
}

// A grower makes a tree of a file's nodes and says what is wrong with them.
type grower struct {
	fault func(format string, args ...any)
	named map[string]*nodeRecord
	path  map[*nodeRecord]bool // nodes that the one in hand is part of
	grown int
}

// maxNodes bounds a tree: references could blow it up without end.
const maxNodes = 10_000

// name lists the nodes that can be referred to.
func (g *grower) name(n *nodeRecord, depth int) {
	if n == nil || depth > MaxDepth {
		return
	}
	if n.Name != "" {
		if g.named[n.Name] != nil {
			g.fault("structure: two nodes have the id %q", n.Name)
		}
		g.named[n.Name] = n
	}
	for _, a := range n.Args {
		g.name(a, depth+1)
	}
}

// node grows a node, nil if something is wrong with it, which it has said.
func (g *grower) node(n *nodeRecord, where string, depth int) *Node {
	g.grown++
	switch {
	case depth > MaxDepth:
		g.fault("%s: nested more than %d deep", where, MaxDepth)
	case g.grown == maxNodes+1:
		g.fault("%s: the tree has more than %d nodes", where, maxNodes)
	case g.grown > maxNodes:
	case n == nil:
		g.fault("%s: empty node", where)
	case n.Ref != "":
		return g.reference(n, where, depth)
	case n.Op != nil:
		return g.operator(n, where, depth)
	case len(n.Args) > 0:
		g.fault("%s: args without op: want AND, OR or NOT", where)
	case n.Evidence == nil && n.Aspect == "":
		g.fault("%s: empty node: want op and args, or aspect and evidence", where)
	case n.Evidence == nil:
		g.fault("%s: %q has no evidence", where, n.Aspect)
	default:
		e, err := n.Evidence.typed()
		if err == nil {
			err = CheckEvidence(e)
		}
		if err != nil {
			g.fault("%s: %s: %w", where, n.Evidence.Kind, err)
			return nil
		}
		return &Node{Aspect: n.Aspect, Evidence: e}
	}
	return nil
}

func (g *grower) reference(n *nodeRecord, where string, depth int) *Node {
	target := g.named[n.Ref]
	switch {
	case n.Op != nil || len(n.Args) > 0 || n.Evidence != nil:
		g.fault("%s: a ref is a node of its own: it has no op, args or evidence", where)
	case target == nil:
		g.fault("%s: no node has the id %q%s", where, n.Ref, known(g.named))
	case g.path[target] || target == n:
		g.fault("%s: cycle: the node %q is part of itself", where, n.Ref)
	default:
		return g.node(target, where, depth+1)
	}
	return nil
}

func known[V any](m map[string]V) string {
	if len(m) == 0 {
		return ""
	}
	return ": ids are " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

func (g *grower) operator(n *nodeRecord, where string, depth int) *Node {
	op := *n.Op
	switch {
	case op != And && op != Or && op != Not:
		g.fault("%s: unknown operator %q: want AND, OR or NOT", where, op)
		return nil
	case n.Evidence != nil || n.Aspect != "":
		g.fault("%s: a node is an operator or a condition, not both", where)
		return nil
	case len(n.Args) == 0 || (op == Not && len(n.Args) > 1):
		what := "empty node: "
		if len(n.Args) > 0 {
			what = ""
		}
		g.fault("%s: %s%s of %d conditions: want %s", where, what, op, len(n.Args), arity(op))
		return nil
	}
	g.path[n] = true
	defer delete(g.path, n)
	grown := &Node{Op: op}
	for i, a := range n.Args {
		grown.Args = append(grown.Args, g.node(a, fmt.Sprintf("%s.args[%d]", where, i), depth+1))
	}
	if slices.Contains(grown.Args, nil) {
		return nil
	}
	return grown
}

// Marshal writes a request as one line of a file, in the form [Load] reads.
func Marshal(r Request) ([]byte, error) {
	raw := record{ID: r.ID, Group: r.Group, Scenario: r.Scenario, Text: r.Text, Shorthand: r.Shorthand, Gold: r.Gold}
	if r.Structure != nil {
		raw.Structure = nodeOf(r.Structure)
		if raw.Shorthand == "" {
			raw.Shorthand = r.Structure.Shorthand()
		}
	}
	return marshal(raw)
}

// MarshalJSON writes a tree as it stands in a file, references resolved.
func (n *Node) MarshalJSON() ([]byte, error) { return marshal(nodeOf(n)) }

// marshal leaves <, > and & as they are: a file is read by people too.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("writing request: %w", err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

func nodeOf(n *Node) *nodeRecord {
	if n.Op == "" {
		r := &nodeRecord{Aspect: n.Aspect}
		if n.Evidence != nil {
			r.Evidence = recordOf(n.Evidence)
		}
		return r
	}
	r := &nodeRecord{Op: &n.Op}
	for _, a := range n.Args {
		r.Args = append(r.Args, nodeOf(a))
	}
	return r
}
