package analyse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// A PairError reports a comparison that does not name pairs of arms. At is the
// place in the study, such as comparisons[0].a.
type PairError struct {
	At  string
	Err error
}

func (e *PairError) Error() string { return e.At + ": " + e.Err.Error() }

func (e *PairError) Unwrap() error { return e.Err }

// Pairs resolves the comparisons of a study to pairs of arms. A name that is not
// an arm's id selects every arm that has it as a level: a kernel that runs on
// three models selects three arms. Arms selected by two such names are paired if
// they differ in nothing else; an arm without a model pairs with each. An error is
// a [*PairError].
func Pairs(compare []study.Compare, arms []eval.Arm) ([]Pair, error) {
	var pairs []Pair
	for i, c := range compare {
		if c.A == study.AllArms && c.B == study.AllArms {
			pairs = append(pairs, allPairs(c, arms)...)
			continue
		}
		as, err := named(c.A, arms)
		if err != nil {
			return nil, &PairError{fmt.Sprintf("comparisons[%d].a", i), err}
		}
		bs, err := named(c.B, arms)
		if err != nil {
			return nil, &PairError{fmt.Sprintf("comparisons[%d].b", i), err}
		}
		before := len(pairs)
		for _, a := range as {
			for _, b := range bs {
				if a.ID != b.ID && alike(a, b, c) {
					pairs = append(pairs, Pair{A: a.ID, B: b.ID, Primary: c.Primary, Family: c.Family, Metrics: c.Metrics})
				}
			}
		}
		if len(pairs) == before {
			return nil, &PairError{fmt.Sprintf("comparisons[%d]", i),
				fmt.Errorf("no arm of %s and arm of %s use the same model: give the ids of the arms", c.A, c.B)}
		}
	}
	return pairs, nil
}

// allPairs compares each arm with those before it. A baseline, which many suites add by
// themselves, is compared where the study names it.
func allPairs(c study.Compare, arms []eval.Arm) (pairs []Pair) {
	arms = slices.DeleteFunc(slices.Clone(arms), func(a eval.Arm) bool { return a.Role != eval.RoleArm })
	for i, b := range arms {
		for _, a := range arms[i+1:] {
			pairs = append(pairs, Pair{A: a.ID, B: b.ID, Primary: c.Primary, Family: c.Family, Metrics: c.Metrics})
		}
	}
	return pairs
}

func named(name string, arms []eval.Arm) ([]eval.Arm, error) {
	var found []eval.Arm
	var ids []string
	for _, a := range arms {
		if a.Role == eval.RoleCalibration {
			continue
		}
		if a.ID == name {
			return []eval.Arm{a}, nil
		}
		ids = append(ids, a.ID)
		for _, l := range a.Levels {
			if l.Value == name {
				found = append(found, a)
				break
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("unknown arm %q; the arms are %s", name, strings.Join(ids, ", "))
	}
	return found, nil
}

// alike reports whether two arms differ only in the compared factor, or one of
// them has no model.
func alike(a, b eval.Arm, c study.Compare) bool {
	if a.ID == c.A && b.ID == c.B || a.Model == "" || b.Model == "" {
		return true
	}
	for _, l := range a.Levels {
		if l.Value != c.A && eval.LevelOf(b.Levels, l.Name) != l.Value {
			return false
		}
	}
	return true
}
