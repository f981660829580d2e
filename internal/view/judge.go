package view

import (
	"html/template"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
)

// An agreement counts how often a judge gave the verdict of people.
type agreement struct {
	Judge    string
	Same, Of int
}

// A dissent is a verdict of a judge that differs from people's.
type dissent struct {
	Item, Arm, Unit, Said, People string
	Href                          string
}

// judgeData is the page of judges.
type judgeData struct {
	Calibration template.HTML
	Note        string
	Agreement   agreement
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
		data.Agreement, err = v.measured(r, differ)
	}
	if err != nil {
		data.Note = err.Error()
	}
	return v.render(r, "judge", r.run.ID+": judges", data)
}

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
	final := agreement{Judge: all.Judge}
	word := map[bool]string{true: "yes", false: "no"}
	for _, x := range all.Rated {
		if x.Human == nil {
			continue
		}
		final.Of++
		if *x.Human == x.Yes {
			final.Same++
		} else if err := differ(dissent{Unit: x.Unit, Said: word[x.Yes], People: word[*x.Human]}, x.Trial); err != nil {
			return final, err
		}
	}
	return final, nil
}
