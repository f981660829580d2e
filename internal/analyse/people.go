package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// A Rated is what a judge says of a unit, and what people say of it.
type Rated struct {
	eval.Rating
	Cluster string // of the item
	Human   *bool  // nil: no person said anything, or people differ
}

// Ratings are those of one judge.
type Ratings struct {
	Judge  string
	Rated  []Rated
	Differ int // units on which people differ and nobody decided
}

// byArm are the ratings of each arm.
func (r *Ratings) byArm() map[string][]Rated {
	of := map[string][]Rated{}
	for _, x := range r.Rated {
		of[x.Trial.Arm] = append(of[x.Trial.Arm], x)
	}
	return of
}

// JudgeAndPeople compares a judge with people who judged a sample of the same units.
type JudgeAndPeople struct {
	Judge      string `json:"judge"`
	Units      int    `json:"units"` // that the judge judged
	Both       int    `json:"both_yes"`
	JudgeOnly  int    `json:"judge_only_yes"`
	PeopleOnly int    `json:"people_only_yes"`
	Neither    int    `json:"both_no"`
	Agreement  Number `json:"agreement"`
	AgreeLow   Number `json:"agreement_low"`
	AgreeHigh  Number `json:"agreement_high"`
	Kappa      Number `json:"kappa"`
	Low        Number `json:"kappa_low"`
	High       Number `json:"kappa_high"`
	// Errors of the judge by type of unit.
	Types    []JudgeErrors   `json:"types,omitempty"`
	Rates    []CorrectedRate `json:"rates,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// N is the number of units that people and the judge judged.
func (j *JudgeAndPeople) N() int { return j.Both + j.JudgeOnly + j.PeopleOnly + j.Neither }

// JudgeErrors counts a judge's errors on units of a type.
type JudgeErrors struct {
	Type     string `json:"type"`
	N        int    `json:"n"`
	FalseYes int    `json:"false_yes"`
	FalseNo  int    `json:"false_no"`
}

// A CorrectedRate is the share of yes in all units of an arm: by the judge, by people
// in the sample, and by the judge corrected by the sample (PPI++).
type CorrectedRate struct {
	Arm       string   `json:"arm"`
	Units     int      `json:"units"`
	Labelled  int      `json:"labelled"`
	Judge     Number   `json:"judge"`
	People    Number   `json:"people"`
	Corrected Number   `json:"corrected"`
	Low       Number   `json:"low"`
	High      Number   `json:"high"`
	Warnings  []string `json:"warnings,omitempty"`
}

// judgeAndPeople returns nil if people judged none of the units.
func judgeAndPeople(r *Ratings, level float64) (*JudgeAndPeople, error) {
	j := &JudgeAndPeople{Judge: r.Judge, Units: len(r.Rated)}
	byType := map[string]*JudgeErrors{}
	byArm := map[string][]Rated{}
	var arms []string
	for _, x := range r.Rated {
		if byArm[x.Trial.Arm] == nil {
			arms = append(arms, x.Trial.Arm)
		}
		byArm[x.Trial.Arm] = append(byArm[x.Trial.Arm], x)
		if x.Human == nil {
			continue
		}
		t := byType[x.Type]
		if t == nil {
			t = &JudgeErrors{Type: x.Type}
			byType[x.Type] = t
		}
		t.N++
		switch {
		case x.Yes && *x.Human:
			j.Both++
		case x.Yes:
			j.JudgeOnly++
			t.FalseYes++
		case *x.Human:
			j.PeopleOnly++
			t.FalseNo++
		default:
			j.Neither++
		}
	}
	if j.N() == 0 {
		return nil, nil
	}
	kappa, err := stats.CohenKappa([][]int{{j.Both, j.JudgeOnly}, {j.PeopleOnly, j.Neither}}, stats.Unweighted, level)
	if err != nil {
		return nil, fmt.Errorf("comparing judge %s with people: %w", r.Judge, err)
	}
	ci := kappa.Interval().Clamp(-1, 1)
	j.Kappa, j.Low, j.High = Number(kappa.Kappa), Number(ci.Low), Number(ci.High)
	same := stats.Wilson(j.Both+j.Neither, j.N(), level)
	j.Agreement, j.AgreeLow, j.AgreeHigh = Number(kappa.Agreement), Number(same.Low), Number(same.High)
	if kappa.Undefined != "" {
		j.Warnings = append(j.Warnings, "kappa is undefined: "+kappa.Undefined)
	}
	if r.Differ > 0 {
		j.Warnings = append(j.Warnings, fmt.Sprintf("left out %s on which people differ: decide with `scruple annotate --adjudicate`", text.Plural(r.Differ, "unit", "units")))
	}
	for _, t := range byType {
		j.Types = append(j.Types, *t)
	}
	slices.SortFunc(j.Types, func(a, b JudgeErrors) int { return cmp.Compare(a.Type, b.Type) })
	for _, arm := range arms {
		rate, err := correctedRate(byArm[arm], level)
		if err != nil {
			return nil, fmt.Errorf("correcting the rate of arm %s: %w", arm, err)
		}
		if rate.Arm = arm; rate.Labelled > 0 {
			j.Rates = append(j.Rates, rate)
		}
	}
	return j, nil
}

func correctedRate(units []Rated, level float64) (CorrectedRate, error) {
	r, err := stats.CorrectedRate(judgedUnits(units), stats.Judged{}, level)
	rate := CorrectedRate{Units: len(units), Labelled: r.Labelled}
	if err != nil || rate.Labelled == 0 {
		return rate, err
	}
	rate.Judge, rate.People, rate.Corrected = Number(r.Judge), Number(r.People), Number(r.Value)
	rate.Low, rate.High, rate.Warnings = Number(r.CI.Low), Number(r.CI.High), r.Warnings
	if r.Undefined != "" {
		rate.Warnings = append(rate.Warnings, r.Undefined)
	}
	return rate, nil
}

// judgedUnits are units as verdicts of yes.
func judgedUnits(units []Rated) (j stats.Judged) {
	clusters := numbering{}
	for _, x := range units {
		human := math.NaN()
		if x.Human != nil {
			human = label(*x.Human, eval.JudgeYes)
		}
		j.Add(clusters.of(x.Cluster), label(x.Yes, eval.JudgeYes), human)
	}
	return j
}
