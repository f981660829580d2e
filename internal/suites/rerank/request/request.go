package request

import (
	"encoding/json"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Request is something that somebody looks for, with the item that is it.
type Request struct {
	ID        string
	Group     string // G01 … G10, see [Groups]
	Scenario  string // who asks
	Text      string // what is asked, in words: all that a method is told
	Shorthand string // as it stands in the file, else printed from Structure
	Structure *Node
	Gold      string // id of the one item that is right
	Line      int    // of its file, from 1
}

// The operators of a [Node].
const (
	And = "AND"
	Or  = "OR"
	Not = "NOT"
)

// A Node is a condition, or conditions joined by an operator.
type Node struct {
	Op       string // And, Or, Not; "" for a condition
	Args     []*Node
	Aspect   string    // a condition's name
	Evidence *Evidence // nil where only the shape is known
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
	IsNeutral   = "neutral"      // never known where the value equals Value, nor where it does not
	NotEmpty    = "not_empty"    // there is a value that is not empty, no or 0
	AtLeast     = "gte"          // the value is a number of at least Value
	AtMost      = "lte"          // the value is a number of at most Value
)

// The aggregations of [ReviewMeta].
const (
	Any   = "any"
	All   = "all"
	Count = "count"
)

// Defaults of what a file need not say.
const (
	DefaultPercentile  = 50
	DefaultMinCredible = 2
)

// Evidence says where to look for the truth of a condition, and for what. Kind
// decides which of the fields count; package evidence says how.
type Evidence struct {
	Kind string

	// ItemMeta: Test of the value at Path. Test "" asks a bool, or whether any
	// of a set of flags is set. False and Neutral go with IsTrue only: values
	// that make it false or unknown, every other value then being unknown too.
	Path           string
	Test           string
	Value          catalog.Value // a List with IsTrue, IsFalse, NotTrue: any of them
	False, Neutral catalog.Value
	// ItemMeta, ItemMetaHours, ReviewMeta: the truth where there is nothing to
	// look at, -1, 0 or 1.
	Missing int8

	// ItemMetaHours: whether it is open on Day from From to To, "H:M".
	Day, From, To string

	// ReviewText, SocialFilter: a regular expression (RE2), in whatever case.
	// Of SocialFilter it may be "": any review will do.
	Pattern string

	// ReviewText: with WeightBy only reviews count in which that field reaches
	// the Percentile of the item's reviews where it is not 0, and it takes
	// MinCredible of them (0 means 2).
	WeightBy    string
	Percentile  float64
	MinCredible int

	// ReviewMeta: Test, if given, of the value at Path in reviews of at least
	// MinStars, of Any (""), All, or Count (at least Count of them).
	MinStars  float64
	Aggregate string
	Count     int

	// SocialFilter: reviews by people of these names, or up to Hops
	// friendships away; it takes MinMatches of them (0 means 1).
	Names      []string
	Hops       int
	MinMatches int
}

// Key is the same for evidence that asks the same.
func (e *Evidence) Key() string {
	b, err := json.Marshal(e)
	if err != nil {
		panic("request: " + err.Error()) // evidence holds what JSON can hold
	}
	return string(b)
}

// Title is what a condition is called: its aspect, or where it has none what it
// looks for.
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
