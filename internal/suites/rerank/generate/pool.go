package generate

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/suites/rerank/stable"
)

// A condition is a possible requirement with the items that satisfy it.
type condition struct {
	node  *request.Node
	about string   // its topic; a request has each topic at most once
	says  []string // phrases that follow "a place that"
	holds set      // items that satisfy it
}

// A set is a set of item indices.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// countAnd returns the size of the intersection.
func (s set) countAnd(o set) int {
	n := 0
	for i, word := range s {
		n += bits.OnesCount64(word & o[i])
	}
	return n
}

func (s set) and(o set) set {
	out := slices.Clone(s)
	for i := range out {
		out[i] &= o[i]
	}
	return out
}

func (s set) or(o set) set {
	out := slices.Clone(s)
	for i := range out {
		out[i] |= o[i]
	}
	return out
}

func (c *attributeCondition) evidence() *request.Evidence {
	return &request.Evidence{Kind: request.ItemMeta, Path: c.Path, Test: c.Test, Value: catalog.ValueOf(c.Value)}
}

// A pool holds conditions of several sorts, each with a share of the draws.
type pool []share

type share struct {
	percent    int
	conditions []condition
}

// draw draws a sort, then one of its conditions.
func (p pool) draw(s *stable.Stream) (condition, bool) {
	at := s.IntN(100)
	for _, k := range p {
		if at -= k.percent; at < 0 && len(k.conditions) > 0 {
			return pick(s, k.conditions), true
		}
	}
	return condition{}, false
}

// pools returns all conditions except those on dishes, evaluated on all items;
// conditions on the writers of reviews are in a separate pool.
func (g *generator) pools(c *catalog.Catalog) (plain, credibility pool) {
	plain = pool{{46, g.attributeConditions()}, {10, g.categoryConditions()}, {12, hourConditions()}, {32, g.themeConditions()}}
	credibility = pool{{60, g.credibleConditions()}, {40, g.reviewerConditions()}}
	for _, k := range slices.Concat(plain, credibility) {
		hold(k.conditions, c)
	}
	return plain, credibility
}

// hold evaluates conditions on all items.
func hold(all []condition, c *catalog.Catalog) {
	asked := make([]*request.Evidence, len(all))
	for k := range all {
		asked[k] = all[k].node.Leaves()[0].Evidence
	}
	truths := evidence.Truths(c, asked)
	for k := range all {
		want := evidence.True
		if all[k].node.Op == request.Not {
			want = evidence.False
		}
		all[k].holds = newSet(len(c.Items))
		for i, t := range truths[k] {
			if t == want {
				all[k].holds.add(i)
			}
		}
	}
}

func (g *generator) attributeConditions() []condition {
	var list []condition
	for _, c := range g.words.Conditions {
		node := &request.Node{Aspect: c.Aspect, Evidence: c.evidence()}
		if c.Negate {
			node = &request.Node{Op: request.Not, Args: []*request.Node{node}}
		}
		list = append(list, condition{node: node, about: c.Path, says: c.Says})
	}
	return list
}

// categoryConditions returns conditions on categories that some, but not most,
// items have.
func (g *generator) categoryConditions() []condition {
	count := map[string]int{}
	for _, item := range g.list {
		for _, c := range item.Categories {
			count[c]++
		}
	}
	var list []condition
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > len(g.list)/2 {
			continue
		}
		list = append(list, condition{
			node: &request.Node{Aspect: "category_" + slug(name), Evidence: &request.Evidence{
				Kind: request.ItemMeta, Path: "categories", Test: request.Contains, Value: catalog.TextValue(name)}},
			about: "categories", says: []string{"is listed under " + name, "has " + name + " among its categories"},
		})
	}
	return list
}

// windows are the times of day used in requests.
var windows = []struct{ from, to, name string }{
	{"8:00", "10:00", "early"}, {"10:00", "12:00", "morning"}, {"12:00", "14:00", "noon"}, {"15:00", "17:00", "afternoon"},
	{"18:00", "20:00", "evening"}, {"20:30", "22:30", "late"}, {"23:00", "1:00", "night"},
}

func hourConditions() []condition {
	var list []condition
	for _, day := range catalog.Weekdays {
		for _, w := range windows {
			list = append(list, condition{
				node: &request.Node{Aspect: slug(day) + "_" + w.name, Evidence: &request.Evidence{
					Kind: request.ItemMetaHours, Day: day, From: w.from, To: w.to}},
				about: "hours." + day,
				says: []string{
					fmt.Sprintf("is open on %s from %s to %s", day, w.from, w.to),
					fmt.Sprintf("has its doors open from %s to %s on %s", w.from, w.to, day),
				},
			})
		}
	}
	return list
}

func (g *generator) themeConditions() []condition {
	var list []condition
	for _, t := range g.words.Themes {
		var says []string
		for _, named := range t.Named {
			says = append(says, named+" in its reviews", named+" by people who review it")
		}
		list = append(list, condition{
			node:  &request.Node{Aspect: t.Aspect, Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: t.Pattern}},
			about: t.Aspect, says: says,
		})
	}
	return list
}

// credibleConditions returns conditions on themes in credible reviews.
func (g *generator) credibleConditions() []condition {
	var list []condition
	for _, c := range g.words.Credible {
		for _, t := range g.words.Themes {
			var says []string
			for _, named := range t.Named {
				for _, template := range c.Says {
					says = append(says, fill(template, "named", named))
				}
			}
			list = append(list, condition{
				node: &request.Node{Aspect: "review_meta_" + c.Aspect + "_" + t.Aspect, Evidence: &request.Evidence{
					Kind: request.ReviewText, Pattern: t.Pattern, WeightBy: c.Field,
					Percentile: request.DefaultPercentile, MinCredible: request.DefaultMinCredible}},
				about: t.Aspect, says: says,
			})
		}
	}
	return list
}

// reviewerConditions returns conditions on the reviewers.
func (g *generator) reviewerConditions() []condition {
	var list []condition
	for _, r := range g.words.Reviewers {
		e := &request.Evidence{Kind: request.ReviewMeta, Path: r.Path, Test: r.Test, MinStars: r.MinStars, Aggregate: r.Aggregate, Count: r.Count}
		if r.Test != request.NotEmpty {
			e.Value = catalog.NumberValue(r.Value)
		}
		list = append(list, condition{node: &request.Node{Aspect: "review_meta_" + r.Aspect, Evidence: e}, about: "reviews." + r.Path, says: r.Says})
	}
	return list
}

// dishCondition requires that a review mentions a dish.
func (g *generator) dishCondition(dish int, holds set) condition {
	name := g.words.Dishes.name(dish)
	return condition{
		node:  &request.Node{Aspect: slug(name) + "_reviews", Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: name}},
		about: "dish", holds: holds,
		says: []string{"is mentioned for its " + name + " in a review", "had its " + name + " mentioned by a guest", "serves the " + name + " that a review talks about"},
	}
}
