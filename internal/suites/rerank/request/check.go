package request

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// Check validates a tree and returns all errors, each with its path: empty nodes,
// unknown operators, trees nested too deep, conditions without evidence, and
// incomplete or invalid evidence. A tree without errors can be evaluated.
func Check(n *Node) []error {
	var c checker
	c.node(n, "structure", 1)
	return c
}

type checker []error

func (c *checker) fault(where, format string, args ...any) {
	*c = append(*c, fmt.Errorf("%s: "+format, append([]any{where}, args...)...))
}

func (c *checker) node(n *Node, where string, depth int) {
	switch {
	case n == nil:
		c.fault(where, "empty node")
	case depth > MaxDepth:
		c.fault(where, "nested more than %d levels deep", MaxDepth)
	case n.Op == "" && len(n.Args) > 0:
		c.fault(where, "args without op: want AND, OR or NOT")
	case n.Op == "" && n.Evidence == nil && n.Aspect == "":
		c.fault(where, "empty node: want op and args, or aspect and evidence")
	case n.Op == "" && n.Evidence == nil:
		c.fault(where, "%q has no evidence", n.Aspect)
	case n.Op == "":
		if n.Aspect == "" && n.Evidence.Kind != SocialFilter {
			c.fault(where, "%s: the condition has no aspect (its name)", n.Evidence.Kind)
		}
		if err := CheckEvidence(n.Evidence); err != nil {
			c.fault(where, "%s: %w", n.Evidence.Kind, err)
		}
	case n.Op != And && n.Op != Or && n.Op != Not:
		c.fault(where, "unknown operator %q: want AND, OR or NOT", n.Op)
	case n.Evidence != nil || n.Aspect != "":
		c.fault(where, "a node is an operator or a condition, not both")
	case len(n.Args) == 0:
		c.fault(where, "empty node: %s of 0 conditions: want %s", n.Op, arity(n.Op))
	case n.Op == Not && len(n.Args) > 1:
		c.fault(where, "NOT of %d conditions: want %s", len(n.Args), arity(Not))
	default:
		for i, a := range n.Args {
			c.node(a, fmt.Sprintf("%s.args[%d]", where, i), depth+1)
		}
	}
}

// CheckEvidence validates evidence. Valid evidence can be evaluated.
func CheckEvidence(e *Evidence) error {
	switch {
	case e.err != nil:
		return e.err
	case e.Missing < -1 || e.Missing > 1:
		return fmt.Errorf("invalid missing %d: want -1, 0 or 1", e.Missing)
	}
	switch e.Kind {
	case ItemMeta:
		return checkItemMeta(e)
	case ItemMetaHours:
		return checkHours(e)
	case ReviewText:
		return checkReviewText(e)
	case ReviewMeta:
		return checkReviewMeta(e)
	case SocialFilter:
		return checkSocial(e)
	}
	return fmt.Errorf("unknown kind of evidence: want %s, %s, %s, %s, %s", ItemMeta, ItemMetaHours, ReviewText, ReviewMeta, SocialFilter)
}

func checkItemMeta(e *Evidence) error {
	switch {
	case e.Path == "":
		return errors.New("missing path")
	case (e.Test == AtLeast || e.Test == AtMost) && catalog.Kind(e.Value) != "number":
		return fmt.Errorf("%s needs a number, got %q", e.Test, catalog.Text(e.Value))
	case e.Test == Between:
		low, high, ok := e.Bounds()
		if !ok {
			return fmt.Errorf("between needs two numbers, got %q", catalog.Text(e.Value))
		}
		if low > high {
			return fmt.Errorf("between %v and %v is empty: the first must not be larger than the second", low, high)
		}
	}
	return nil
}

// Bounds returns the two numbers of the test [Between], and whether there are
// two.
func (e *Evidence) Bounds() (low, high float64, ok bool) {
	list, _ := e.Value.([]any)
	if len(list) != 2 {
		return 0, 0, false
	}
	low, first := list[0].(float64)
	high, second := list[1].(float64)
	return low, high, first && second
}

func checkHours(e *Evidence) error {
	if catalog.Weekday(e.Day) < 0 {
		return fmt.Errorf("%q is not a day: want Monday to Sunday", e.Day)
	}
	_, _, err := Span(e)
	return err
}

// Span returns the time span of evidence on hours, in minutes after midnight. An
// end that is not after the start is on the next day.
func Span(e *Evidence) (from, to int, err error) {
	if from, err = catalog.ParseClock(e.From); err != nil {
		return 0, 0, fmt.Errorf("from: %w", err)
	}
	if to, err = catalog.ParseClock(e.To); err != nil {
		return 0, 0, fmt.Errorf("to: %w", err)
	}
	if from == catalog.Day || (from == to && from != 0) {
		return 0, 0, fmt.Errorf("%s-%s is empty: use 0:00-24:00 for a whole day", e.From, e.To)
	}
	return from, to, nil
}

// Compile compiles a pattern as a case-insensitive regular expression.
func Compile(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil { // this error quotes the pattern without (?i)
		return nil, fmt.Errorf("pattern does not compile: %w", err)
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern does not compile: %w", err)
	}
	return re, nil
}

func checkReviewText(e *Evidence) error {
	switch {
	case e.Pattern == "":
		return errors.New("missing pattern")
	case e.WeightBy == "" && (e.Percentile != 0 || e.MinCredible != 0):
		return errors.New("percentile and min_credible_matches require weight_by")
	case e.Percentile < 0 || e.Percentile > 100:
		return fmt.Errorf("invalid percentile %v: want 0 to 100", e.Percentile)
	}
	_, err := Compile(e.Pattern)
	return err
}

func checkReviewMeta(e *Evidence) error {
	switch {
	case e.Path == "":
		return errors.New("missing path")
	case e.Test != NotEmpty && catalog.Kind(e.Value) != "number":
		return fmt.Errorf("%s needs a number, got %q", e.Test, catalog.Text(e.Value))
	case e.Aggregate != "" && e.Aggregate != Any && e.Aggregate != All && e.Aggregate != Count:
		return fmt.Errorf("unknown aggregation %q: want any, all or count", e.Aggregate)
	case e.Count > 0 && e.Aggregate != Count:
		return errors.New("count requires agg count")
	}
	return nil
}

func checkSocial(e *Evidence) error {
	switch {
	case len(e.Names) == 0:
		return errors.New("missing names")
	case slices.Contains(e.Names, ""):
		return errors.New("a name is empty")
	case e.Hops < 0 || e.Hops > 2:
		return fmt.Errorf("invalid hops %d: want 0, 1 or 2", e.Hops)
	}
	_, err := Compile(e.Pattern)
	return err
}
