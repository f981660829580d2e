// Package attack adds noise, injected instructions and deception to the reviews
// of the candidates that do not satisfy the request; fake_negative blames those
// that do. Truth is computed from the unmodified data, so an attack changes what a
// method reads but not the right answer.
//
// An attack is a pure function of reviews, item, options and a seed. It counts
// its changes, so that an attack that changed nothing (such as a sarcastic review
// of an attribute the item does not have) is not mistaken for robustness. The
// texts are in templates.yaml.
//
// The package must not know any method, prompt or model, nor what a request
// asks for.
package attack

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// Version is part of the hash of every arm under an attack, so that a run never mixes trials of two
// kinds. It changes with what attacks change or report; a test compares it with both.
const Version = "3"

// Options set how strong an attack is. Zero values mean the default.
type Options struct {
	// Strength, default 1, scales the attack: the probability of a typo (at
	// most 1), the number of template texts per review, or the number of filler
	// sentences.
	Strength float64 `json:"strength,omitempty" jsonschema:"exclusiveMinimum=0,description=Strength of the attacks (default 1)"`
	// Reviews is how many reviews of an item are changed or added. The
	// default is all for noise and heterogeneity, and one for the others.
	Reviews int `json:"reviews,omitempty" jsonschema:"minimum=0,description=Number of reviews per item to change or add (default: all for noise and length\\, one for the others)"`
	// Promote is the name of the item that injections promote; the default is
	// the item itself. A [Plan] draws it.
	Promote string `json:"-"`
}

func (o Options) strength() float64 {
	if o.Strength <= 0 {
		return 1
	}
	return o.Strength
}

// Check validates the options.
func (o Options) Check() error {
	if o.Strength < 0 || math.IsNaN(o.Strength) || math.IsInf(o.Strength, 0) {
		return fmt.Errorf("attack strength %v: want a number above 0", o.Strength)
	}
	if o.Reviews < 0 {
		return fmt.Errorf("attack on %d reviews: want 0 or more", o.Reviews)
	}
	return nil
}

// A Change counts what an attack did to the reviews of one item.
type Change struct {
	Edited int // reviews with a changed text
	Added  int // new reviews
	// From is, for each attacked review, its index before the attack, or -1 for a
	// new one.
	From []int
}

// Any reports whether anything changed.
func (c Change) Any() bool { return c.Edited+c.Added > 0 }

// An Attack changes reviews.
type Attack struct {
	Name    string
	Injects bool // instructions to the model, which promote a candidate
	Blames  bool // the right candidates: the attack is on them, not on the others
	apply   func(w *work)
	// finds reports whether an item has something to change; nil means always.
	finds func(item *catalog.Item, reviews []catalog.Review) bool
}

// Finds reports whether the attack has something to change in an item with these
// reviews. By chance, such as that of a typo, it may still change nothing.
func (a *Attack) Finds(item *catalog.Item, reviews []catalog.Review) bool {
	return a.finds == nil || a.finds(item, reviews)
}

// run returns the attacked reviews and does not modify its arguments. Others are reviews of other
// items, in any order, which are collected only if needed; added reviews imitate them.
func (a *Attack) run(reviews []catalog.Review, item *catalog.Item, o Options, seed uint64, others func() []catalog.Review) ([]catalog.Review, Change) {
	w := &work{reviews: slices.Clone(reviews), others: others, item: item, options: o,
		draws: stable.NewStream(seed, "attack", a.Name, item.ID)}
	w.change.From = measure.UpTo(len(reviews))
	a.apply(w)
	return w.reviews, w.change
}

// A Plan is an attack on one request's candidates.
type Plan struct {
	Attack  *Attack
	Options Options
	Seed    uint64                 // of the run
	Request string                 // the request's text
	Right   func(item string) bool // reports whether an item satisfies the request
}

// A Report counts the changes of a plan.
type Report struct {
	Promoted  int      // place of the promoted candidate, from 0; -1 if the attack promotes none
	Namesakes []int    // places of the other candidates with its name
	Changes   []Change // of each candidate
}

// Run attacks the reviews of every candidate that is not right, or with an attack
// that blames of those that are. All injections promote the same candidate, drawn
// by the seed from those that neither are right nor have the name of one that is. A
// wrong answer drawn at random has it first in 1 of W cases, with W candidates that
// are not right. Without such a candidate Run changes nothing.
func (p Plan) Run(items []*catalog.Item, reviews [][]catalog.Review) ([][]catalog.Review, Report) {
	seed := stable.Seed(p.Seed, "attack", p.Request)
	o, report := p.Options, Report{Promoted: -1, Changes: make([]Change, len(items))}
	if p.Attack.Injects {
		report.Promoted = promoted(seed, p.Right, items)
		if report.Promoted < 0 {
			return slices.Clone(reviews), report
		}
		o.Promote = items[report.Promoted].Name
		for i, item := range items {
			if i != report.Promoted && sameName(item.Name, o.Promote) {
				report.Namesakes = append(report.Namesakes, i)
			}
		}
	}
	attacked := make([][]catalog.Review, len(items))
	for i, item := range items {
		attacked[i] = reviews[i]
		if p.Right(item.ID) == p.Attack.Blames {
			attacked[i], report.Changes[i] = p.Attack.run(reviews[i], item, o, seed, func() []catalog.Review {
				return slices.Concat(slices.Concat(reviews[:i]...), slices.Concat(reviews[i+1:]...))
			})
		}
	}
	return attacked, report
}

// promoted draws a candidate that neither is right nor has the name of one that
// is: the one with the smallest hash; -1 if there is none.
func promoted(seed uint64, right func(string) bool, items []*catalog.Item) int {
	var names []string
	for _, item := range items {
		if right(item.ID) {
			names = append(names, item.Name)
		}
	}
	at, least := -1, uint64(0)
	for i, item := range items {
		if slices.ContainsFunc(names, func(name string) bool { return sameName(name, item.Name) }) {
			continue
		}
		if h := stable.Seed(seed, "promote", item.ID); at < 0 || h < least {
			at, least = i, h
		}
	}
	return at
}

func sameName(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

// work is one application of an attack.
type work struct {
	reviews []catalog.Review
	others  func() []catalog.Review // of other items
	item    *catalog.Item
	options Options
	draws   *stable.Stream
	change  Change
}

// count returns the number of reviews to attack.
func (w *work) count(byDefault int) int {
	if w.options.Reviews > 0 {
		return w.options.Reviews
	}
	return byDefault
}

// some draws n review indices, or all if there are fewer, in ascending order.
func (w *work) some(n int) []int {
	order := measure.UpTo(len(w.reviews))
	stable.Shuffle(w.draws, order)
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}

// edit changes the text of a review.
func (w *work) edit(at int, text string) {
	if text == w.reviews[at].Text {
		return
	}
	w.reviews[at].Text = text
	w.change.Edited++
}

// add inserts a review by a stranger at a random position.
func (w *work) add(text string, stars float64) {
	at := w.draws.IntN(len(w.reviews) + 1)
	r := w.stranger(stars)
	r.Text = text
	w.reviews = slices.Insert(w.reviews, at, r)
	w.change.From = slices.Insert(w.change.From, at, -1)
	w.change.Added++
}

// write joins as many variants as the strength asks for and fills their
// placeholders. No variant repeats before all are used.
func (w *work) write(variants []string, value string) string {
	n := max(1, int(math.Round(w.options.strength())))
	fill := strings.NewReplacer("{name}", cmp.Or(w.options.Promote, w.item.Name), "{value}", value)
	first := w.draws.IntN(len(variants))
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fill.Replace(variants[(first+i)%len(variants)])
	}
	return strings.Join(texts, " ")
}
