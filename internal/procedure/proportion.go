package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats"
)

// proportion is x of n, or outcomes to count.
type proportion struct {
	X    *int     `json:"x,omitempty"`
	N    *int     `json:"n,omitempty"`
	Pass []bool   `json:"pass,omitempty"`
	Conf *float64 `json:"conf,omitempty"`
}

func (q proportion) intervals(p level) (Result, error) {
	var x, n int
	conf := given(q.Conf, p.Conf)
	switch {
	case q.Pass != nil:
		n = len(q.Pass)
		for _, ok := range q.Pass {
			if ok {
				x++
			}
		}
	case q.X == nil || q.N == nil:
		return nil, errors.New("a proportion needs x and n")
	default:
		x, n = *q.X, *q.N
	}
	switch {
	case n < 0 || x < 0 || x > n:
		return nil, fmt.Errorf("%d of %d is not a proportion", x, n)
	case !(conf > 0 && conf < 1):
		return nil, fmt.Errorf("conf is %v, expected a level between 0 and 1", conf)
	}
	reason := ""
	if n == 0 {
		reason = "0 of 0 is not a proportion"
	}
	return Result{{"x", x}, {"n", n}, {"conf", conf}, {"proportion", float64(x) / float64(n)},
		{"wilson", stats.Wilson(x, n, conf)}, {"clopper_pearson", stats.ClopperPearson(x, n, conf)},
		{"jeffreys", stats.Jeffreys(x, n, conf)}, {"agresti_coull_unclipped", stats.AgrestiCoull(x, n, conf)}}.undefined(reason), nil
}

type proportionParams struct {
	level
	Pooled bool   `json:"pooled"`
	First  string `json:"first"`
}

// twoProportions holds passes and totals of two groups, perhaps with their names,
// or outcomes to count by group.
type twoProportions struct {
	X     []int    `json:"x,omitempty"`
	N     []int    `json:"n,omitempty"`
	Names []string `json:"groups,omitempty"`
	Pass  []bool   `json:"pass,omitempty"`
	Group []string `json:"group,omitempty"`
}

func (in *twoProportions) count() error {
	groups := distinct(in.Group)
	if len(groups) != 2 {
		return fmt.Errorf("input.group has %d groups, expected 2: %.80q", len(groups), groups)
	}
	in.Names = groups
	if len(in.Pass) != len(in.Group) {
		return fmt.Errorf("input.pass and input.group have %d and %d rows", len(in.Pass), len(in.Group))
	}
	in.X, in.N = make([]int, 2), make([]int, 2)
	at := indices(groups)
	for i, l := range in.Group {
		in.N[at[l]]++
		if in.Pass[i] {
			in.X[at[l]]++
		}
	}
	return nil
}

// order makes a group the first.
func (in *twoProportions) order(first string) error {
	switch at := slices.Index(in.Names, textLabel(first)); {
	case at < 0 || len(in.Names) != 2:
		return fmt.Errorf("params.first is %q, expected the name of one of two groups, which are %q", first, in.Names)
	case at == 1:
		slices.Reverse(in.Names)
		slices.Reverse(in.X)
		slices.Reverse(in.N)
	}
	return nil
}

func compared(p proportionParams, in twoProportions) (Result, error) {
	if in.Pass != nil && in.Group != nil {
		if err := in.count(); err != nil {
			return nil, err
		}
	}
	if len(in.X) != 2 || len(in.N) != 2 {
		return nil, fmt.Errorf("input.x and input.n have %d and %d entries, expected 2 each", len(in.X), len(in.N))
	}
	if p.First != "" {
		if err := in.order(p.First); err != nil {
			return nil, err
		}
	}
	r, err := stats.CompareProportions(in.X[0], in.N[0], in.X[1], in.N[1], p.Conf)
	if !p.Pooled {
		r.Z, r.P, r.PContinuity = r.ZUnpooled, r.PUnpooled, math.NaN()
		if r.Undefined == "" && math.IsNaN(r.Z) {
			r.Undefined = "both proportions are 0 or 1: the unpooled standard error is 0"
		}
	}
	groups := Result{}
	if len(in.Names) == 2 {
		groups = groups.with("group1", in.Names[0]).with("group2", in.Names[1])
	}
	groups = append(groups, Result{{"x1", in.X[0]}, {"n1", in.N[0]}, {"x2", in.X[1]}, {"n2", in.N[1]}, {"direction", "group1 - group2"}}...)
	return append(groups, explain(r)...).at(p.Conf), err
}
