package view

import (
	"cmp"
	"encoding/json"
	"html/template"
	"reflect"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
)

// An agreement counts how often a judge and a person gave the same verdict.
type agreement struct {
	Judge, Person, Step string
	Same, Of            int
}

// A dissent is a verdict of a judge that differs from a person's.
type dissent struct {
	Item, Arm, Unit, Step, Judge, Person string
	Said, PersonSaid                     string
	Href                                 string
}

// judgeData is the page of judges.
type judgeData struct {
	Calibration template.HTML
	Note        string
	Agreements  []agreement
	Dissents    []dissent
	More        int
}

// mostDissents is how many differing verdicts the page of judges shows.
const mostDissents = 200

// judgePage shows how good the judges of a run are: on cases with known answers, and
// against people. It only counts: kappa and intervals are in the report.
func (v *Viewer) judgePage(r *request) error {
	data := judgeData{}
	differ := func(d dissent, t eval.Trial) error {
		if len(data.Dissents) == mostDissents {
			data.More++
			return nil
		}
		row, err := v.DB.PlaceOf(r.Context(), r.run, t)
		if err != nil {
			return err
		}
		d.Item, d.Arm, d.Href = t.Item, t.Arm, r.trialLink(r.run, row.ID)
		data.Dissents = append(data.Dissents, d)
		return nil
	}
	kept, err := v.analysis(r.Context(), r.run)
	if err == nil {
		data.Calibration, err = report.Judges(kept.Analysis)
	}
	if err == nil && kept.Analysis.JudgeAndPeople != nil {
		var final agreement
		if final, err = v.measured(r, differ); final.Of > 0 {
			data.Agreements = append(data.Agreements, final)
		}
	}
	if err != nil {
		data.Note = err.Error()
	}
	counts := map[agreement]*agreement{}
	for j, err := range v.DB.JudgedByPeople(r.Context(), r.run) {
		if err != nil {
			return err
		}
		for _, person := range j.Verdicts {
			if person.Source != eval.ByHuman || person.Round == secondRound {
				continue
			}
			for _, judge := range j.Verdicts {
				if judge.Source == eval.ByHuman || judge.Err != "" || judge.Unit != person.Unit || judge.Step != person.Step {
					continue
				}
				key := agreement{Judge: judge.By, Person: person.By, Step: person.Step}
				if counts[key] == nil {
					kept := key
					counts[key] = &kept
				}
				counts[key].Of++
				said, yes := choiceOf(person.Data)
				if same(judge.Data, said) || yes != nil && same(judge.Data, yes) {
					counts[key].Same++
					continue
				}
				if err := differ(dissent{Unit: person.Unit, Step: person.Step, Judge: judge.By, Person: person.By, Said: string(judge.Data), PersonSaid: string(said)}, j.Trial); err != nil {
					return err
				}
			}
		}
	}
	for _, a := range counts {
		data.Agreements = append(data.Agreements, *a)
	}
	slices.SortFunc(data.Agreements, func(a, b agreement) int {
		return cmp.Or(cmp.Compare(a.Judge, b.Judge), cmp.Compare(a.Person, b.Person), cmp.Compare(a.Step, b.Step))
	})
	return v.render(r, "judge", r.run.ID+": judges", data)
}

// secondRound is the round of a person's repeated answers, which measure the person.
const secondRound = 2

// measured compares the judge that a task measures with people's final answers, which the
// report does with intervals.
func (v *Viewer) measured(r *request, differ func(dissent, eval.Trial) error) (agreement, error) {
	l := r.study(v, r.run)
	if l.err != nil {
		return agreement{}, l.err
	}
	all, err := l.run.Ratings(r.Context())
	if err != nil || all == nil {
		return agreement{}, err
	}
	final := agreement{Judge: all.Judge, Person: "people", Step: "final answers"}
	word := map[bool]string{true: "yes", false: "no"}
	for _, x := range all.Rated {
		if x.Human == nil {
			continue
		}
		final.Of++
		if *x.Human == x.Yes {
			final.Same++
		} else if err := differ(dissent{Unit: x.Unit, Step: final.Step, Judge: final.Judge, Person: final.Person, Said: word[x.Yes], PersonSaid: word[*x.Human]}, x.Trial); err != nil {
			return final, err
		}
	}
	return final, nil
}

// choiceOf is the label that a person chose, and yes or no if a judge is measured by it, of
// a verdict as scruple annotate writes it; another verdict as it is.
func choiceOf(data []byte) (label, yes []byte) {
	var verdict struct {
		Answer json.RawMessage `json:"answer"`
		Label  string          `json:"label"`
		Yes    *bool           `json:"yes"`
	}
	if json.Unmarshal(data, &verdict) != nil || verdict.Answer == nil {
		return data, nil
	}
	if verdict.Yes != nil {
		yes = []byte(strconv.FormatBool(*verdict.Yes))
	}
	return []byte(verdict.Label), yes
}

// same reports whether two verdicts have the same content, as JSON or as text. A string of
// JSON is the text in it.
func same(a, b []byte) bool {
	content := func(data []byte) any {
		var x any
		if json.Unmarshal(data, &x) != nil {
			return string(data)
		}
		return x
	}
	return reflect.DeepEqual(content(a), content(b))
}
