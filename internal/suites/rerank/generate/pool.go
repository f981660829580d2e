package generate

import (
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"slices"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A condition is a possible requirement with the items that satisfy it.
type condition struct {
	node  *request.Node
	about string   // its topic; a request has each topic at most once
	says  []string // phrases that follow "a place that"
	holds set      // items that satisfy it
}

func leaf(aspect, about string, e request.Evidence, says ...string) condition {
	return condition{node: &request.Node{Aspect: aspect, Evidence: &e}, about: about, says: says}
}

// A set is a set of item indices. Sets do not change after they were filled.
type set struct{ *big.Int }

func newSet() set            { return set{new(big.Int)} }
func (s set) add(i int)      { s.SetBit(s.Int, i, 1) }
func (s set) has(i int) bool { return s.Bit(i) == 1 }
func (s set) and(o set) set  { return set{new(big.Int).And(s.Int, o.Int)} }
func (s set) or(o set) set   { return set{new(big.Int).Or(s.Int, o.Int)} }

func (s set) count() (n int) {
	for _, word := range s.Bits() {
		n += bits.OnesCount(uint(word))
	}
	return n
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

// The times of day used in requests.
var windows = [][3]string{
	{"8:00", "10:00", "early"}, {"10:00", "12:00", "morning"}, {"12:00", "14:00", "noon"}, {"15:00", "17:00", "afternoon"},
	{"18:00", "20:00", "evening"}, {"20:30", "22:30", "late"}, {"23:00", "1:00", "night"},
}

// pools returns all conditions except those on dishes, evaluated on all items;
// conditions on the writers of reviews are in a separate pool.
func (g *generator) pools(c *catalog.Catalog) (plain, credibility pool) {
	var attributes, categories, hours, themes, credible, reviewers []condition
	for _, w := range g.words.Conditions {
		made := leaf(w.Aspect, w.Path, w.evidence(request.ItemMeta), w.Says...)
		if w.Negate {
			made.node = &request.Node{Op: request.Not, Args: []*request.Node{made.node}}
		}
		attributes = append(attributes, made)
	}
	count := map[string]int{}
	for _, item := range g.list {
		for _, c := range item.Categories {
			count[c]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] <= len(g.list)/2 { // some items have it, but not most
			categories = append(categories, leaf("category_"+slug(name), "categories",
				request.Evidence{Kind: request.ItemMeta, Path: "categories", Test: request.Contains, Value: name},
				"is listed under "+name, "has "+name+" among its categories"))
		}
	}
	for _, day := range catalog.Weekdays {
		for _, w := range windows {
			hours = append(hours, leaf(slug(day)+"_"+w[2], "hours."+day, request.Evidence{Kind: request.ItemMetaHours, Day: day, From: w[0], To: w[1]},
				fmt.Sprintf("is open on %s from %s to %s", day, w[0], w[1]), fmt.Sprintf("has its doors open from %s to %s on %s", w[0], w[1], day)))
		}
	}
	for _, t := range g.words.Themes {
		made := leaf(t.Aspect, t.Aspect, t.evidence(request.ReviewText))
		for _, named := range t.Named {
			made.says = append(made.says, named+" in its reviews", named+" by people who review it")
		}
		themes = append(themes, made)
	}
	for _, w := range g.words.Credible { // themes in credible reviews
		for _, t := range g.words.Themes {
			made := leaf("review_meta_"+w.Aspect+"_"+t.Aspect, t.Aspect, t.evidence(request.ReviewText))
			e := made.node.Evidence
			e.WeightBy, e.Percentile, e.MinCredible = w.Path, request.DefaultPercentile, request.DefaultMinCredible
			for _, named := range t.Named {
				for _, template := range w.Says {
					made.says = append(made.says, fill(template, "named", named))
				}
			}
			credible = append(credible, made)
		}
	}
	for _, r := range g.words.Reviewers {
		reviewers = append(reviewers, leaf("review_meta_"+r.Aspect, "reviews."+r.Path, r.evidence(request.ReviewMeta), r.Says...))
	}
	plain = pool{{46, attributes}, {10, categories}, {12, hours}, {32, themes}}
	credibility = pool{{60, credible}, {40, reviewers}}
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
		all[k].holds = newSet()
		for i, t := range truths[k] {
			if t == want {
				all[k].holds.add(i)
			}
		}
	}
}

// dishCondition requires that a review mentions a dish.
func (g *generator) dishCondition(dish int, holds set) condition {
	name := g.words.dish(dish)
	c := leaf(slug(name)+"_reviews", "dish", request.Evidence{Kind: request.ReviewText, Pattern: name},
		"is mentioned for its "+name+" in a review", "had its "+name+" mentioned by a guest", "serves the "+name+" that a review talks about")
	c.holds = holds
	return c
}
