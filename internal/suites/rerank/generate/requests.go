package generate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// requester finds requests that exactly one item satisfies.
type requester struct {
	*generator
	plain, credibility pool
	menu               map[int]set       // dish → items whose reviews mention it
	dishes             [][]int           // item → dishes that its reviews mention
	byDish             map[int][]mention // dish → its mentions
}

// requests generates requests, taking the groups in turn, and avoids duplicate
// meanings and texts; repeated counts those that remain. Gold is an item that has
// been gold of the group least often.
func (g *generator) requests(c *catalog.Catalog) (list []request.Request, repeated int, err error) {
	r := g.requester(c)
	golds, before := g.golds(), asked{}
	groups := request.Groups()
	width := max(2, len(strconv.Itoa(g.options.Requests)))
	for n := range g.options.Requests {
		id := fmt.Sprintf("R%0*d", width, n+1)
		group := groups[n%len(groups)].ID
		made, gold, ok := r.next(id, group, golds.turns(group), before)
		if !ok {
			return nil, 0, fmt.Errorf("request %s: found no request of group %s that only one item satisfies: use more reviews or fewer items", id, group)
		}
		if before.has(made) {
			repeated++
		}
		before.add(made)
		golds.took(group, gold)
		made.ID, made.Group, made.Gold = id, group, c.Items[gold].ID
		made.Scenario = pick(g.stream("scenario", id), g.words.Scenarios)
		made.Shorthand = made.Structure.Shorthand()
		list = append(list, made)
	}
	return list, repeated, nil
}

func (g *generator) requester(c *catalog.Catalog) *requester {
	r := &requester{generator: g, menu: map[int]set{}, dishes: make([][]int, len(c.Items)), byDish: map[int][]mention{}}
	if g.options.Requests > 0 {
		r.plain, r.credibility = g.pools(c)
	}
	for _, m := range g.told {
		if r.menu[m.dish].Int == nil {
			r.menu[m.dish] = newSet()
		}
		if !r.menu[m.dish].has(m.item) {
			r.menu[m.dish].add(m.item)
			r.dishes[m.item] = append(r.dishes[m.item], m.dish)
		}
		r.byDish[m.dish] = append(r.byDish[m.dish], m)
	}
	return r
}

// How often a duplicate request is drawn again, and how many items are tried that
// have only duplicates.
const (
	redraws   = 12
	exhausted = 4
)

// next returns a new request of the first item that has one. If several items in
// a row have none, it returns a duplicate.
func (r *requester) next(id, group string, turns []int, before asked) (made request.Request, gold int, ok bool) {
	repeats := 0
	for k, item := range turns {
		for redraw := range redraws {
			drawn, fits := r.make(r.stream("request", id, strconv.Itoa(k), strconv.Itoa(redraw)), group, item)
			if !fits {
				break
			}
			if !before.has(drawn) {
				return drawn, item, true
			}
			if !ok {
				made, gold, ok = drawn, item, true
			}
			if redraw == 0 {
				repeats++
			}
		}
		if repeats == exhausted {
			break
		}
	}
	return made, gold, ok
}

// attempts is the number of draws before another item is tried.
const attempts = 40

// make tries to build a request of a group that only gold satisfies.
func (r *requester) make(s *stable.Stream, group string, gold int) (request.Request, bool) {
	if group == "G09" || group == "G10" {
		return r.social(s, gold, map[string]int{"G09": 1, "G10": 2}[group])
	}
	for attempt := range attempts {
		d := &draft{requester: r, s: s, gold: gold, used: map[string]bool{}}
		if d.draw(group) && (d.alternativesMatter() || attempt > attempts/2) {
			return request.Request{Text: d.text(), Structure: d.structure()}, true
		}
	}
	return request.Request{}, false
}

// A draft is an incomplete request: anchors, and parts with alternatives.
type draft struct {
	*requester
	s       *stable.Stream
	gold    int
	used    map[string]bool // topics used so far
	anchors []condition
	parts   []part
}

// A part is a disjunction of conjunctions.
type part struct{ branches [][]condition }

func (p part) holds() set {
	all := newSet()
	for _, branch := range p.branches {
		b := branch[0].holds
		for _, c := range branch[1:] {
			b = b.and(c.holds)
		}
		all = all.or(b)
	}
	return all
}

// draw draws the parts of a group, then anchors until only gold is left.
func (d *draft) draw(group string) bool {
	shapes := map[string][][]int{
		"G02": {{1, 1}}, "G03": {{1, 1}}, "G05": {{1, 1, 1}},
		"G06": {{2, 2}}, "G07": {{1, 1}, {1, 1}}, "G08": {{1, 2}},
	}
	for _, shape := range shapes[group] {
		if !d.part(shape) {
			return false
		}
	}
	least := 1
	switch group {
	case "G01":
		least = 3
	case "G04":
		least = 2
		c, ok := d.condition(d.credibility, true)
		if !ok {
			return false
		}
		d.anchors = append(d.anchors, c)
	}
	return d.narrow(least)
}

// part draws a disjunction of branches of these sizes. One random branch holds for
// gold; the others may or may not.
func (d *draft) part(shape []int) bool {
	right := d.s.IntN(len(shape))
	var p part
	for k, size := range shape {
		var branch []condition
		for range size {
			c, ok := d.condition(d.plain, k == right)
			if !ok {
				return false
			}
			branch = append(branch, c)
		}
		p.branches = append(p.branches, branch)
	}
	d.parts = append(d.parts, p)
	return true
}

// condition draws a condition on a new topic that holds for some items but not
// all, and for gold if required.
func (d *draft) condition(from pool, must bool) (condition, bool) {
	for range 60 {
		c, ok := from.draw(d.s)
		if !ok || d.used[c.about] || (must && !c.holds.has(d.gold)) {
			continue
		}
		if n := c.holds.count(); n > 0 && n < len(d.list) {
			d.used[c.about] = true
			return c, true
		}
	}
	return condition{}, false
}

// left returns the items that satisfy everything except these anchors.
func (d *draft) left(without int) set {
	all := newSet()
	for i := range d.list {
		all.add(i)
	}
	for _, p := range d.parts {
		all = all.and(p.holds())
	}
	for k, a := range d.anchors {
		if k != without {
			all = all.and(a.holds)
		}
	}
	return all
}

// The maximum number of anchors, and the number of options tried for each.
const (
	maxAnchors  = 5
	looks       = 6
	dishPercent = 25 // of options that are a dish
)

// narrow adds anchors until only gold is left, each the best of a few options,
// then removes the redundant ones.
func (d *draft) narrow(least int) bool {
	for left := d.left(-1); len(d.anchors) < least || left.count() > 1; left = d.left(-1) {
		if len(d.anchors) == maxAnchors {
			return false
		}
		best, fewest := condition{}, len(d.list)+1
		for range looks {
			c, ok := d.look()
			if !ok {
				continue
			}
			delete(d.used, c.about) // unless it is taken
			if n := left.and(c.holds).count(); n < fewest {
				best, fewest = c, n
			}
		}
		if best.node == nil {
			return false
		}
		d.used[best.about] = true
		d.anchors = append(d.anchors, best)
	}
	for k := 0; k < len(d.anchors) && len(d.anchors) > least; {
		if d.left(k).count() == 1 && !strings.HasPrefix(d.anchors[k].node.Leaves()[0].Aspect, "review_meta_") {
			d.anchors = slices.Delete(d.anchors, k, k+1)
		} else {
			k++
		}
	}
	stable.Shuffle(d.s, d.anchors)
	return true
}

// look draws an anchor that holds for gold, sometimes a dish.
func (d *draft) look() (condition, bool) {
	if mentioned := d.dishes[d.gold]; len(mentioned) > 0 && !d.used["dish"] && chance(d.s, dishPercent) {
		dish := pick(d.s, mentioned)
		return d.dishCondition(dish, d.menu[dish]), true
	}
	return d.condition(d.plain, true)
}

// alternativesMatter reports whether the anchors alone do not determine gold.
func (d *draft) alternativesMatter() bool {
	if len(d.parts) == 0 {
		return true
	}
	parts := d.parts
	d.parts = nil
	defer func() { d.parts = parts }()
	return d.left(-1).count() > 1
}

func (d *draft) structure() *request.Node {
	n := &request.Node{Op: request.And, Args: nodes(d.anchors)}
	for _, p := range d.parts {
		or := &request.Node{Op: request.Or}
		for _, branch := range p.branches {
			and := &request.Node{Op: request.And, Args: nodes(branch)}
			if len(branch) == 1 {
				and = branch[0].node
			}
			or.Args = append(or.Args, and)
		}
		n.Args = append(n.Args, or)
	}
	return n
}

func nodes(conditions []condition) (list []*request.Node) {
	for _, c := range conditions {
		list = append(list, c.node)
	}
	return list
}

// phrases draws the words of conditions.
func (d *draft) phrases(conditions []condition) (list []string) {
	for _, c := range conditions {
		list = append(list, pick(d.s, c.says))
	}
	return list
}

// text formats the request in words: the anchors in one sentence, the
// alternatives in another.
func (d *draft) text() string {
	anchors := enumerate(d.phrases(d.anchors), "and")
	text := fill(pick(d.s, d.words.Frames), "that", anchors)
	if len(d.parts) == 0 {
		return text
	}
	var parts []string
	for _, p := range d.parts {
		var branches []string
		simple := true
		for _, branch := range p.branches {
			says := strings.Join(d.phrases(branch), " and ")
			if len(branch) > 1 {
				simple, says = false, "both "+says
			}
			branches = append(branches, says)
		}
		if simple {
			parts = append(parts, "either "+enumerate(branches, "or"))
		} else {
			parts = append(parts, "either "+strings.Join(branches, ", or "))
		}
	}
	return text + " " + fill(pick(d.s, d.words.Further), "that", strings.Join(parts, ", and that "))
}

// social requires a dish that a friend of a person wrote about, or for two hops a
// friend of a friend who is not a friend.
func (r *requester) social(s *stable.Stream, gold, hops int) (request.Request, bool) {
	mentioned := slices.Clone(r.dishes[gold])
	stable.Shuffle(s, mentioned)
	frames := map[int][]string{1: r.words.Friends, 2: r.words.FriendsOfFriends}[hops]
	for _, dish := range mentioned {
		for _, m := range r.byDish[dish] {
			if m.item != gold {
				continue
			}
			if name, ok := r.near(s, m, hops); ok {
				what := r.words.dish(dish)
				c := leaf("social_"+slug(what), "", request.Evidence{Kind: request.SocialFilter, Names: []string{name}, Hops: hops, Pattern: what})
				return request.Request{Text: fill(fill(pick(s, frames), "name", name), "dish", what), Structure: c.node}, true
			}
		}
	}
	return request.Request{}, false
}

// near finds the name of a user exactly hops friendships away from the writer of a
// mention. Nobody in the user's circle mentions the dish for another item, and nobody
// closer mentions it for this one.
func (r *requester) near(s *stable.Stream, m mention, hops int) (string, bool) {
	circle := func(id string, hops int) map[string]bool { return r.graph.Within(r.users[id].Name, hops) }
	writer := r.byIndex[m.user].ID
	around, closer := circle(writer, hops), circle(writer, hops-1)
	people := slices.DeleteFunc(slices.Sorted(maps.Keys(around)), func(id string) bool { return closer[id] })
	stable.Shuffle(s, people)
	for _, id := range people {
		within, closest := circle(id, hops), circle(id, hops-1)
		if !slices.ContainsFunc(r.byDish[m.dish], func(o mention) bool {
			by := r.byIndex[o.user].ID
			return o.item != m.item && within[by] || o.item == m.item && closest[by]
		}) {
			return r.users[id].Name, true
		}
	}
	return "", false
}

// slug converts a name to an aspect: lower-case letters and underscores.
func slug(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "_")
}

// fill replaces {name} by a text.
func fill(template, name, text string) string {
	return strings.ReplaceAll(template, "{"+name+"}", text)
}

// enumerate formats a list as "a, b and c".
func enumerate(list []string, word string) string {
	if len(list) == 1 {
		return list[0]
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}
