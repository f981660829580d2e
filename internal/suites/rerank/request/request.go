package request

import "github.com/scruple-eval/scruple/internal/suites/kit"

// A Request describes an item that a user looks for. Files have Gold and Right as gold.
type Request struct {
	ID        string `json:"id"`
	Group     string `json:"group"`              // G01 … G10, see [Groups]; one of the user's own, or ""
	Scenario  string `json:"scenario,omitempty"` // who asks
	Text      string `json:"text"`               // in words; methods see nothing else
	Shorthand string `json:"shorthand"`          // from the file, else formatted from Structure
	Structure *Node  `json:"structure"`
	Gold      string `json:"-"` // id of the item that satisfies it, the best if several do
	// Right holds all items that satisfy it, best first, beginning with Gold; nil
	// if Gold is the only one.
	Right []Graded `json:"-"`
	Line  int      `json:"-"` // in its file, from 1
	Rank  int      `json:"-"` // among the requests of its file, from 0
}

// A Graded is a right item with its grade of relevance, at least 1.
type Graded struct {
	ID    string `json:"id"`
	Grade int    `json:"grade"`
}

// Answers lists all items that satisfy a request, best first.
func (r *Request) Answers() []Graded {
	if r.Right == nil {
		return []Graded{{r.Gold, 1}}
	}
	return r.Right
}

// IDs lists the ids of all items that satisfy a request, best first.
func (r *Request) IDs() (list []string) {
	for _, g := range r.Answers() {
		list = append(list, g.ID)
	}
	return list
}

// Grade returns the grade of an item, 0 if it is not right.
func (r *Request) Grade(item string) int {
	for _, g := range r.Answers() {
		if g.ID == item {
			return g.Grade
		}
	}
	return 0
}

// IsRight reports whether an item satisfies a request.
func (r *Request) IsRight(item string) bool { return r.Grade(item) > 0 }

// The operators of a [Node].
const (
	And = "AND"
	Or  = "OR"
	Not = "NOT"
)

// A Node is a condition, or conditions joined by an operator.
type Node struct {
	Op       string    `json:"op,omitempty"` // And, Or, Not; "" for a condition
	Args     []*Node   `json:"args,omitempty"`
	Aspect   string    `json:"aspect,omitempty"`   // a condition's name
	Evidence *Evidence `json:"evidence,omitempty"` // nil if only the shape is known
}

// The kinds of [Evidence].
const (
	ItemMeta      = "item_meta"
	ItemMetaHours = "item_meta_hours"
	ReviewText    = "review_text"
	ReviewMeta    = "review_meta"
	SocialFilter  = "social_filter"
)

// The tests of [ItemMeta] and [ReviewMeta].
const (
	IsTrue      = "true"         // the value equals Value
	IsFalse     = "false"        // the value does not equal Value
	NotTrue     = "not_true"     // the value does not equal Value, or there is none
	Contains    = "contains"     // a list has the element, a set the flag, a text the words
	NotContains = "not_contains" // it does not, or there is no value
	IsNeutral   = "neutral"      // always unknown
	NotEmpty    = "not_empty"    // the value is not missing, empty, false or 0
	AtLeast     = "gte"          // the value is a number of at least Value
	AtMost      = "lte"          // the value is a number of at most Value
	Between     = "between"      // the value is a number from the first to the second of Value; only ItemMeta
)

// The aggregations of [ReviewMeta].
const (
	Any   = "any"
	All   = "all"
	Count = "count"
)

// Defaults.
const (
	DefaultPercentile  = 50
	DefaultMinCredible = 2
)

// Evidence defines how to evaluate a condition. Kind decides which fields are
// used; see package evidence.
type Evidence struct {
	Kind string `json:"kind"`

	// ItemMeta: Test of the value at Path. AtLeast and AtMost have a Value of one
	// number, Between of two. Test "" tests a bool, or whether any
	// flag of a map is set. False and Neutral are valid only with IsTrue: these
	// values make it false or unknown, and every other value is unknown.
	Path    string `json:"path"`
	Test    string `json:"-"`
	Value   any    `json:"-"` // a List with IsTrue, IsFalse, NotTrue: any of them
	False   any    `json:"-"`
	Neutral any    `json:"-"`
	// ItemMeta, ItemMetaHours, ReviewMeta: the truth of a missing value: -1, 0
	// or 1.
	Missing int8 `json:"missing"`

	// ItemMetaHours: whether it is open on Day from From to To, "H:M".
	Day  string `json:"day"`
	From string `json:"from"`
	To   string `json:"to"`

	// ReviewText, SocialFilter: a case-insensitive regular expression (RE2). For
	// SocialFilter "" matches any review.
	Pattern string `json:"pattern"`

	// ReviewText: with WeightBy, MinCredible reviews (0 means 2) must match whose
	// value of that field reaches the Percentile of the item's nonzero values.
	WeightBy    string  `json:"weight_by"`
	Percentile  float64 `json:"percentile"`
	MinCredible int     `json:"min_credible_matches"`

	// ReviewMeta: Test of the value at Path in reviews with at least MinStars:
	// Any (""), All, or Count (at least Count of them).
	MinStars  float64 `json:"min_stars"`
	Aggregate string  `json:"agg"`
	Count     int     `json:"count"`

	// SocialFilter: at least MinMatches reviews (0 means 1) by people with these
	// names or up to Hops friendships away.
	Names      []string `json:"names"`
	Hops       int      `json:"hops"`
	MinMatches int      `json:"min_matches"`

	err error // of reading it from a file
}

// Key returns equal strings for equal evidence.
func (e *Evidence) Key() string { return string(kit.JSON(e)) }

// AboutReviews reports whether a condition is about reviews, not attributes or hours.
func (e *Evidence) AboutReviews() bool { return e.Kind != ItemMeta && e.Kind != ItemMetaHours }

// Title returns the name of a condition: its aspect, or else its shorthand.
func (n *Node) Title() string {
	if n.Aspect != "" {
		return n.Aspect
	}
	return n.Shorthand()
}

// Leaves lists the conditions of a tree from left to right.
func (n *Node) Leaves() []*Node {
	if n.Op == "" {
		return []*Node{n}
	}
	var list []*Node
	for _, a := range n.Args {
		list = append(list, a.Leaves()...)
	}
	return list
}
