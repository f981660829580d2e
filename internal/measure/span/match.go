package span

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
)

// A Scheme says which predicted spans are right.
type Scheme string

// The schemes. The first four are those of nervaluate; Conll is the scheme of
// conlleval and of seqeval's default mode.
const (
	Strict  Scheme = "strict"  // same borders and label
	Exact   Scheme = "exact"   // same borders, any label
	Partial Scheme = "partial" // overlap, any label; half a point unless the borders are the same
	Type    Scheme = "type"    // overlap and the same label
	Conll   Scheme = "conll"   // same borders and label; a span that overlaps another counts as missed and spurious
)

// Schemes lists all schemes.
var Schemes = []Scheme{Strict, Exact, Partial, Type, Conll}

// ParseScheme finds a scheme by name.
func ParseScheme(name string) (Scheme, error) {
	if s := Scheme(name); slices.Contains(Schemes, s) {
		return s, nil
	}
	return "", fmt.Errorf("unknown scheme %q: want one of %s", name, strings.Trim(strings.ReplaceAll(fmt.Sprint(Schemes), " ", ", "), "[]"))
}

// Counts are the five counts of the MUC scheme. Conll counts only correct, missed
// and spurious spans.
type Counts struct {
	Correct   int `json:"correct"`
	Incorrect int `json:"incorrect"`
	Partial   int `json:"partial"`
	Missed    int `json:"missed"`
	Spurious  int `json:"spurious"`
}

// Plus adds counts.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.Correct + d.Correct, c.Incorrect + d.Incorrect, c.Partial + d.Partial, c.Missed + d.Missed, c.Spurious + d.Spurious}
}

// Predicted counts the predicted spans.
func (c Counts) Predicted() int { return c.Correct + c.Incorrect + c.Partial + c.Spurious }

// Gold counts the gold spans.
func (c Counts) Gold() int { return c.Correct + c.Incorrect + c.Partial + c.Missed }

// Points are the correct spans, a partial one counting one half.
func (c Counts) Points() float64 { return float64(c.Correct) + float64(c.Partial)/2 }

// Precision is points over predicted spans; 0 without any, as in conlleval.
func (c Counts) Precision() float64 { return over(c.Points(), float64(c.Predicted())) }

// Recall is points over gold spans; 0 without any.
func (c Counts) Recall() float64 { return over(c.Points(), float64(c.Gold())) }

// F1 is the harmonic mean of precision and recall; 0 if both are.
func (c Counts) F1() float64 { return over(2*c.Points(), float64(c.Predicted()+c.Gold())) }

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Match compares the predicted spans of one text with its gold spans. Both must
// be sorted by [Compare], because a span matches the first it can. Matching is
// that of nervaluate 1.2: predictions are taken in order, a gold span is matched
// once, and spans overlap if they share at least 1 % of the gold span.
func Match(s Scheme, gold, predicted []Span) Counts {
	if s == Conll {
		return intersect(gold, predicted)
	}
	taken := make([]bool, len(gold))
	var c Counts
	for _, p := range predicted {
		right, other := -1, -1 // the gold span that matches, and the first that only overlaps
		nearest := 0           // distance of the borders of right, for Type
	search:
		for i, g := range gold {
			if taken[i] {
				continue
			}
			same := samePlace(g, p)
			shared := overlap(g, p)
			near := shared > 0 && 100*shared >= g.End-g.Start
			switch {
			case s == Strict && same && g.Label == p.Label, s == Exact && same, s == Partial && same && near:
				right = i
				break search
			case s == Type && near && g.Label == p.Label:
				distance := abs(g.Start-p.Start) + abs(g.End-p.End)
				if right < 0 || distance < nearest {
					right, nearest = i, distance
				}
			case near && other < 0:
				other = i
			}
		}
		switch {
		case right >= 0:
			c.Correct++
			taken[right] = true
		case other >= 0 && s == Partial:
			c.Partial++
			taken[other] = true
		case other >= 0:
			c.Incorrect++
			taken[other] = true
		default:
			c.Spurious++
		}
	}
	for _, taken := range taken {
		if !taken {
			c.Missed++
		}
	}
	return c
}

func abs(n int) int { return max(n, -n) }

// intersect counts the spans that both lists have.
func intersect(gold, predicted []Span) Counts {
	var c Counts
	i, j := 0, 0
	for i < len(gold) && j < len(predicted) {
		switch d := Compare(gold[i], predicted[j]); {
		case d == 0:
			if samePlace(gold[i], predicted[j]) {
				c.Correct++
			}
			i, j = i+1, j+1
		case d < 0:
			i++
		default:
			j++
		}
	}
	c.Missed, c.Spurious = len(gold)-c.Correct, len(predicted)-c.Correct
	return c
}

// Agree compares spans as multisets, whose result does not depend on an order: the spans
// that both lists have for [Strict], [Exact] and [Conll], and pairs that overlap, the largest
// overlap first, for [Type] and [Partial]. Both lists must be sorted by [Compare].
func Agree(s Scheme, gold, predicted []Span) Counts {
	switch s {
	case Exact:
		gold, predicted = unlabelled(gold), unlabelled(predicted)
	case Type, Partial:
		var c Counts
		for _, p := range pairs(gold, predicted, func(a, b Span) bool { return s == Partial || a.Label == b.Label }) {
			switch {
			case p.Predicted < 0:
				c.Missed++
			case p.Gold < 0:
				c.Spurious++
			case s == Partial && p.IoU < 1:
				c.Partial++
			default:
				c.Correct++
			}
		}
		return c
	}
	return intersect(gold, predicted)
}

func unlabelled(spans []Span) []Span {
	spans = slices.Clone(spans)
	for i := range spans {
		spans[i].Label = ""
	}
	return spans
}

// A Tally sums the counts of texts, over all labels and by label. The counts of a
// label compare only the spans that have it, as nervaluate does; so those of
// [Exact], [Partial] and [Type] do not sum to the counts over all labels.
type Tally struct {
	Scheme  Scheme
	Texts   int
	Overall Counts
	ByLabel map[string]Counts
}

// Add adds a text. It sorts the spans.
func (t *Tally) Add(gold, predicted []Span) {
	t.Texts++
	slices.SortFunc(gold, Compare)
	slices.SortFunc(predicted, Compare)
	t.Overall = t.Overall.Plus(Match(t.Scheme, gold, predicted))
	if t.ByLabel == nil {
		t.ByLabel = map[string]Counts{}
	}
	of := map[string]*[2][]Span{}
	for side, spans := range [2][]Span{gold, predicted} {
		for _, s := range spans {
			if of[s.Label] == nil {
				of[s.Label] = new([2][]Span)
			}
			of[s.Label][side] = append(of[s.Label][side], s)
		}
	}
	for label, own := range of {
		t.ByLabel[label] = t.ByLabel[label].Plus(Match(t.Scheme, own[0], own[1]))
	}
}

// Labels lists the labels, sorted.
func (t *Tally) Labels() []string {
	return slices.Sorted(maps.Keys(t.ByLabel))
}

// Macro is the mean of precision, recall and F1 over labels; 0 without any.
func (t *Tally) Macro() (precision, recall, f1 float64) {
	for _, label := range t.Labels() { // sorted, so that the sum does not depend on the map
		c := t.ByLabel[label]
		precision, recall, f1 = precision+c.Precision(), recall+c.Recall(), f1+c.F1()
	}
	n := float64(len(t.ByLabel))
	return over(precision, n), over(recall, n), over(f1, n)
}

// A Pair is a gold span and the predicted span that overlaps it most. Spans
// without a partner have a pair with -1.
type Pair struct {
	Gold, Predicted int // indexes, or -1
	IoU             float64
}

// Pairs matches spans one to one by their overlap, without regard to labels: the
// pair with the largest IoU first, of equal ones that with the same label, then
// the first. The result has every span once, in order of gold, then prediction.
func Pairs(gold, predicted []Span) []Pair {
	return pairs(gold, predicted, func(Span, Span) bool { return true })
}

// pairs are the pairs of spans that may be matched.
func pairs(gold, predicted []Span, may func(gold, predicted Span) bool) []Pair {
	order := measure.UpTo(len(predicted)) // by start
	slices.SortFunc(order, func(a, b int) int { return predicted[a].Start - predicted[b].Start })
	ends := make([]int, len(predicted)) // the largest end so far, in that order
	for k, j := range order {
		ends[k] = max(predicted[j].End, ends[max(k-1, 0)])
	}
	var candidates []Pair
	for i, g := range gold {
		first, _ := slices.BinarySearch(ends, g.Start+1)
		for _, j := range order[first:] {
			p := predicted[j]
			if p.Start >= g.End {
				break
			}
			if v := IoU(g, p); v > 0 && may(g, p) {
				candidates = append(candidates, Pair{i, j, v})
			}
		}
	}
	other := func(p Pair) int { // 0 for the same label
		return abs(strings.Compare(gold[p.Gold].Label, predicted[p.Predicted].Label))
	}
	slices.SortFunc(candidates, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(b.IoU, a.IoU), other(a)-other(b), a.Gold-b.Gold, a.Predicted-b.Predicted)
	})
	list := make([]Pair, len(gold), len(gold)+len(predicted))
	for i := range list {
		list[i] = Pair{Gold: i, Predicted: -1}
	}
	taken := make([]bool, len(predicted))
	for _, c := range candidates {
		if list[c.Gold].Predicted < 0 && !taken[c.Predicted] {
			list[c.Gold], taken[c.Predicted] = c, true
		}
	}
	for j := range predicted {
		if !taken[j] {
			list = append(list, Pair{Gold: -1, Predicted: j})
		}
	}
	return list
}
