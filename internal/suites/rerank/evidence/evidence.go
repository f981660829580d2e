package evidence

import (
	"fmt"
	"sync"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// Truth is a three-valued truth. AND is the minimum, OR the maximum, and NOT the
// change of sign.
type Truth int8

// The three values.
const (
	False   Truth = -1
	Unknown Truth = 0
	True    Truth = 1
)

func (t Truth) String() string { return t.as("false", "unknown", "true") }

// as is the word for a truth, of those for False, Unknown and True.
func (t Truth) as(words ...string) string { return words[t-False] }

// MarshalText encodes a truth as a word.
func (t Truth) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

// An Evaluator evaluates trees on items. It compiles a condition on first use and
// caches the result. It is safe for concurrent use. Conditions must not change
// after they have been evaluated.
type Evaluator struct {
	graph *catalog.Graph
	ready sync.Map // *request.Evidence → test
}

// New returns an evaluator with a graph of friendships, which may be nil.
func New(graph *catalog.Graph) *Evaluator { return &Evaluator{graph: graph} }

// Evaluate returns the truth of a tree for an item. The tree must pass
// [request.Check]; an empty node panics.
func (e *Evaluator) Evaluate(n *request.Node, item *catalog.Item) Truth {
	s := &subject{Item: item}
	return Combine(n, func(leaf *request.Node) Truth { return e.truth(leaf.Evidence, s) })
}

// Combine returns the truth of a tree, given the truth of its conditions. It
// short-circuits.
func Combine(n *request.Node, leaf func(*request.Node) Truth) Truth {
	end := True // what ends an OR
	switch {
	case n.Op == "":
		return leaf(n)
	case n.Op == request.Not && len(n.Args) == 1:
		return -Combine(n.Args[0], leaf)
	case n.Op == request.And && len(n.Args) > 0:
		end = False
	case n.Op == request.Or && len(n.Args) > 0:
	default:
		panic(fmt.Sprintf("evidence: %s of %d nodes: the tree was not checked", n.Op, len(n.Args)))
	}
	truth := -end
	for _, a := range n.Args {
		if t := Combine(a, leaf); t*end > truth*end {
			truth = t
		}
		if truth == end {
			break
		}
	}
	return truth
}

// Leaf returns the truth of a condition for an item. Evidence that fails
// [request.CheckEvidence] is unknown for every item.
func (e *Evaluator) Leaf(v *request.Evidence, item *catalog.Item) Truth {
	return e.truth(v, &subject{Item: item})
}

func (e *Evaluator) truth(v *request.Evidence, s *subject) Truth {
	t, _ := e.test(v)(s)
	return t
}

// A test is a compiled condition. It returns the truth for an item, and the
// reason.
type test func(item *subject) (Truth, reason)

// A reason formats the values that decided a test. It is called only when needed.
type reason func() string

func (e *Evaluator) test(v *request.Evidence) test {
	if t, ok := e.ready.Load(v); ok {
		return t.(test)
	}
	t, _ := e.ready.LoadOrStore(v, e.compile(v))
	return t.(test)
}

func (e *Evaluator) compile(v *request.Evidence) test {
	if v == nil {
		return broken("the condition has no evidence")
	}
	if err := request.CheckEvidence(v); err != nil {
		return broken(err.Error())
	}
	switch v.Kind {
	case request.ItemMeta:
		return itemMeta(v)
	case request.ItemMetaHours:
		return hours(v)
	case request.ReviewMeta:
		return reviewMeta(v)
	case request.SocialFilter:
		return e.social(v)
	}
	if v.WeightBy != "" {
		return weighted(v)
	}
	return reviewText(v)
}

func broken(why string) test {
	return func(*subject) (Truth, reason) {
		return Unknown, func() string { return "cannot be evaluated: " + why }
	}
}
