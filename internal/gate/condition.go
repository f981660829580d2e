package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"

	"github.com/scruple-eval/scruple/internal/analyse"
)

// A view is how a rule reads an analysis.
type view struct {
	*analyse.Analysis
	instead map[string]float64 // of results, by name
	// hopeful reads every result as if the truth were as good for the rule as its
	// interval allows: the other end of an interval, a p-value of 0, and for an estimate
	// beside such evidence the end of its interval.
	hopeful bool
	end     int // of the interval of estimates: 0 is the lower one
}

func (v view) arm(id string) (analyse.Arm, bool) {
	i := slices.IndexFunc(v.Arms, func(arm analyse.Arm) bool { return arm.ID == id })
	if i < 0 {
		return analyse.Arm{}, false
	}
	return v.Arms[i], true
}

// read returns a result, and a note if it is undefined.
func (v view) read(r rule, f function, args []string) (analyse.Number, string) {
	if x, ok := v.instead[resultName(f, args)]; ok {
		return analyse.Number(x), ""
	}
	switch {
	case v.hopeful && f.evidence:
		return f.other(v, args)
	case v.hopeful && r.evidence && f.ends[0] != "" && f.basis != nil:
		if i := f.basis(v, args).Interval; i != nil {
			return analyse.Number([2]float64{i.Low, i.High}[v.end]), ""
		}
	}
	return f.read(v, args)
}

// apply evaluates a rule: it passes if the intervals it reads lie within its limits and
// fails if they lie outside. Between the two it is undecided and open, and without a
// result it cannot be decided.
func (r rule) apply(kind string, a *analyse.Analysis) Condition {
	c := Condition{Name: r.name, Kind: kind, That: r.text, State: Pass}
	if r.program == nil {
		return c
	}
	r.settle(&c, a)
	if left := r.unscored(a, c.State); left != "" {
		c.State, c.Open, c.Reason = Undecided, false, left
	}
	return c
}

// settle decides a rule by an analysis without regard to missing scores.
func (r rule) settle(c *Condition, a *analyse.Analysis) {
	v := view{Analysis: a}
	if c.State, c.Values, c.Reason = r.evaluate(v); c.State == Fail && r.possible(v) {
		c.State, c.Open, c.Reason = Undecided, true, r.tooFew(v)
	}
}

// possible reports whether the rule could hold with what the intervals include.
func (r rule) possible(v view) bool {
	v.hopeful = true
	for v.end = range 2 {
		if state, _, _ := r.evaluate(v); state != Fail {
			return true
		}
	}
	return false
}

// tooFew says what the evidence that a rule reads leaves open.
func (r rule) tooFew(v view) string {
	var list []string
	for _, x := range r.calls {
		if !x.evidence {
			continue
		}
		s := "no interval excludes it"
		if x.basis != nil {
			if b := x.basis(v, x.args); b.Interval != nil {
				b.Interval.Of = ""
				s = fmt.Sprintf("%s may be %.4g to %.4g by its %s%s", resultName(x.subject(), x.args), b.Interval.Low, b.Interval.High, b.Interval.Name(), b.counted())
			}
		}
		list = with(list, s)
	}
	return "too few data to tell: " + strings.Join(list, "; ")
}

// subject is the function whose result an interval or a p-value is about.
func (f function) subject() function {
	for _, of := range functions {
		if f.name == of.ends[0] || f.name == of.ends[1] {
			return of
		}
	}
	if f.arms == 2 && !f.apart {
		f.name = "diff"
	}
	return f
}

// evaluate evaluates the rule on a view: the state, the values it read, and why it
// is undecided.
func (r rule) evaluate(v view) (state State, values []Used, reason string) {
	seen := map[string]bool{}
	result, err := expr.Run(r.program, environment(r.uses, func(f function, args []string) float64 {
		x, note := v.read(r, f, args)
		name := resultName(f, args)
		if !seen[name] {
			seen[name] = true
			u := Used{Name: name}
			if x.Defined() {
				value := float64(x)
				u.Value = &value
			} else {
				u.Note = note
				reason = strings.TrimSuffix(name+" is undefined: "+note, ": ")
			}
			values = append(values, u)
		}
		if !x.Defined() {
			return math.NaN()
		}
		return float64(x)
	}))
	holds, isBool := result.(bool)
	switch {
	case err != nil:
		return Undecided, values, firstLine(err)
	case reason != "" || !isBool:
		return Undecided, values, reason
	case holds:
		return Pass, values, ""
	}
	return Fail, values, ""
}
