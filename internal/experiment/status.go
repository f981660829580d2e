package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Status is the progress and history of a run.
type Status struct {
	Run         string             `json:"run"`
	Study       string             `json:"study"`
	Suite       string             `json:"suite"`
	File        string             `json:"study_file"`
	CreatedAt   string             `json:"created_at"`
	State       string             `json:"state"` // started | interrupted | success | failures: all is done, and some trials failed | archived: it cannot be read
	Trials      int                `json:"trials"`
	Done        int                `json:"done"`
	Failed      int                `json:"failed"`
	ToJudge     int                `json:"to_judge"`     // trials whose judging is pending
	JudgeFailed int                `json:"judge_failed"` // trials of which a judge call failed
	JudgeErrors []eval.JudgeError  `json:"judge_errors,omitempty"`
	*Used                          // nil of an archive that cannot be read
	Exhausted   string             `json:"budget_exhausted,omitempty"` // of a run that has more to do, by its recorded study
	Unpriced    int                `json:"unpriced_calls,omitempty"`   // requests of unknown cost
	Uncounted   int                `json:"uncounted_calls,omitempty"`  // answered calls that do not say how many tokens they took
	Estimated   int                `json:"estimated_calls,omitempty"`  // answers whose tokens the provider did not count
	Reused      []eval.Reuse       `json:"reused,omitempty"`           // answers taken from runs, itself included
	Errors      []store.ErrorCount `json:"errors,omitempty"`           // the most frequent ones of failed calls
	Events      []store.Event      `json:"events,omitempty"`
	Sessions    []eval.Session     `json:"sessions,omitempty"`
	Warnings    []string           `json:"warnings,omitempty"`   // of prompts that a server cut
	Unreadable  string             `json:"unreadable,omitempty"` // why no more is known of an archived run than its trials
	Trend       []TrendPoint       `json:"trend,omitempty"`
	Unread      int                `json:"trend_unread,omitempty"` // runs left out: their analyses cannot be read
}

// Used is what a run used.
type Used struct {
	Calls   int     `json:"calls"`
	Tokens  int     `json:"tokens"`
	CostUSD float64 `json:"cost_usd"` // of the calls with a known cost
}

// A TrendPoint has the figures of the first primary metric of a run.
type TrendPoint struct {
	Run     string         `json:"run"`
	Created string         `json:"created_at"`
	Split   string         `json:"split,omitempty"`
	Items   int            `json:"items"`                 // planned
	Other   int            `json:"other_items,omitempty"` // of them, that the point below lacks or has with another input or gold
	Tags    []string       `json:"tags,omitempty"`
	Metric  string         `json:"metric"`
	Better  string         `json:"better,omitempty"` // higher or lower
	Judges  []string       `json:"judges,omitempty"` // with their models, if the metric depends on them
	Scorer  string         `json:"scorer,omitempty"` // which program gives the metric
	Arms    []TrendOfAnArm `json:"arms"`
	scale   say.Scale
}

// Of says what its figures are. Those of points that differ in it are not to be compared.
func (p TrendPoint) Of() string {
	said := p.Metric
	if p.Split != "" {
		said += " on " + strings.ToUpper(p.Split)
	}
	if p.Better != "" {
		said += ", " + p.Better + " is better"
	}
	if len(p.Judges) > 0 {
		said += ", judged by " + strings.Join(p.Judges, ", ")
	}
	if p.Scorer != "" {
		said += ", scored by " + p.Scorer
	}
	return said
}

// Say writes the figure of an arm with its interval and number of items, and what it lacks.
func (p TrendPoint) Say(of TrendOfAnArm) string {
	said := p.scale.Value(of.Value, false)
	if of.Value.Defined() {
		said += " (" + p.scale.Interval(of.Low, of.High, false) + ", n = " + say.Count(of.N) + ")"
	}
	if of.Unscored > 0 {
		said += fmt.Sprintf(", %d without a score", of.Unscored)
	}
	if of.Pending > 0 {
		said += fmt.Sprintf(", %d not asked", of.Pending)
	}
	return said
}

// A TrendOfAnArm is the estimate for an arm.
type TrendOfAnArm struct {
	Arm string `json:"arm"`
	eval.Measured
	Unscored  int  `json:"unscored,omitempty"`  // without a score, failed trials included
	Pending   int  `json:"pending,omitempty"`   // trials of the arm without an outcome
	Simulated bool `json:"simulated,omitempty"` // its answers or the verdicts on them
}

// PointOf returns the figures of a run, without arms if its study has no primary metric.
func PointOf(ctx context.Context, db *store.DB, r *store.Run, a *analyse.Analysis) (TrendPoint, error) {
	p := TrendPoint{Run: r.ID, Created: r.CreatedAt.UTC().Format(time.RFC3339), Split: r.Split(), Items: a.Run.Items}
	i := slices.IndexFunc(a.Metrics, func(m analyse.Metric) bool { return m.Rank == "primary" })
	if i >= 0 {
		m := a.Metrics[i]
		p.Metric, p.scale = m.Title, m.Scale()
		if !m.NoDirection {
			p.Better = map[bool]string{true: "higher", false: "lower"}[m.HigherIsBetter]
		}
		judged := slices.ContainsFunc(a.Estimates, func(e analyse.Estimate) bool { return e.Metric == m.Name && (e.JudgeAlone || e.ByJudge != nil) })
		if a.Asked != nil {
			for _, j := range a.Asked.Parties {
				switch scorer := j.Name == eval.ScorerModel; {
				case scorer && m.ByScorer:
					var is []string // the program, and the hash of its files
					for _, s := range j.Settings {
						for _, part := range programOf([]eval.Part{eval.Part(s)}) {
							is = append(is, part.Value)
						}
					}
					p.Scorer = strings.Join(is, ", ")
				case j.Judge && !scorer && judged:
					p.Judges = append(p.Judges, strings.TrimSuffix(j.Name+" ("+j.Model+")", " ()"))
				}
			}
		}
		for _, arm := range a.Arms {
			if e, ok := a.Estimate(arm.ID, m.Name); ok && arm.Role == eval.RoleArm {
				pending := arm.Planned - arm.OK - arm.Malformed - arm.Refused - arm.Failed
				p.Arms = append(p.Arms, TrendOfAnArm{arm.ID, e.Measured(), max(e.Unscored, arm.Failed), pending, arm.Simulated || arm.SimulatedJudge})
			}
		}
	}
	var err error
	p.Tags, err = db.Tags(ctx, r)
	return p, err
}

// Trend lists the figures of the newest runs of a study, newest first: those that are analysed
// and may be shown. It counts the runs whose analysis cannot be read, as one of another version.
func Trend(ctx context.Context, db *store.DB, name string, most int) (list []TrendPoint, unread int, err error) {
	runs, err := db.Runs(ctx)
	if err != nil {
		return nil, 0, err
	}
	var newer *store.Run           // of the point before
	var items map[string]eval.Item // of that run, once they are read
	for _, r := range slices.Backward(runs) {
		if r.Study != name || !r.Analysed || len(list) == most || CheckShown(ctx, db, r) != nil {
			continue
		}
		kept, err := Kept(ctx, db, r)
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) { // of a run that is in progress again
				unread++
			}
			continue
		}
		p, err := PointOf(ctx, db, r, kept.Analysis)
		if err != nil {
			return nil, 0, err
		}
		if p.Metric == "" {
			continue
		}
		if n := len(list); n > 0 && list[n-1].Of() == p.Of() {
			was, errWas := db.PlannedItems(ctx, r)
			if items == nil {
				items, err = db.PlannedItems(ctx, newer)
			}
			if err = cmp.Or(err, errWas); err != nil {
				return nil, 0, err
			}
			list[n-1].Other, items = otherItems(items, was), was
		} else {
			items = nil
		}
		list, newer = append(list, p), r
	}
	return list, unread, nil
}

// otherItems counts the items of a run that an older one lacks, or has with another input or gold.
func otherItems(now, was map[string]eval.Item) (n int) {
	for id, it := range now {
		if other, ok := was[id]; !ok || other.Input != it.Input || other.Gold != it.Gold {
			n++
		}
	}
	return n
}

// errorsShown is how many different errors a status has.
const errorsShown = 5

// longestError limits the text of an error in characters.
const longestError = 300

// StatusOf reads the status of a run. It needs no study file and works while the
// run is in progress.
func StatusOf(ctx context.Context, db *store.DB, r *store.Run) (Status, error) {
	s, err := shortStatus(ctx, db, r)
	from := &reader{ctx: ctx, run: r, err: err}
	cuts, events := read(from, db.Cuts), read(from, db.Events)
	s.Reused, s.Sessions, s.Events = read(from, db.Reused), read(from, db.Sessions), inWords(events)
	s.Errors = read(from, func(ctx context.Context, r *store.Run) ([]store.ErrorCount, error) {
		return db.Errors(ctx, r, errorsShown)
	})
	if judged := read(from, db.JudgeErrors); len(plan.JudgeParts(r.Treatment)) > 0 {
		s.JudgeErrors = judged
	}
	if from.err != nil {
		return Status{}, from.err
	}
	for i := range s.Errors {
		s.Errors[i].Text = text.Shorten(s.Errors[i].Text, longestError)
	}
	for _, c := range cuts {
		s.Warnings = append(s.Warnings, analyse.CutWarning(c))
	}
	return s, nil
}

// shortStatus is the status of a run without what only the page of one run shows, which takes longer
// to read than the rest.
func shortStatus(ctx context.Context, db *store.DB, r *store.Run) (Status, error) {
	p, err := db.Progress(ctx, r)
	if err != nil {
		return Status{}, err
	}
	s := identity(r)
	s.Done, s.Failed, s.Unpriced, s.Uncounted, s.Estimated = p.Done.Count(), p.Failed.Count(), p.Unpriced, p.Uncounted, p.Estimated
	s.Used = &Used{p.Calls, p.Tokens, p.Cost}
	if len(plan.JudgeParts(r.Treatment)) > 0 {
		s.ToJudge, s.JudgeFailed = p.ToJudge(), p.Unjudged.Count()
	}
	switch {
	case s.Done < s.Trials || s.ToJudge > 0:
		s.State = "interrupted"
		if db.Writing(ctx, r) {
			s.State = "started"
		}
		s.Exhausted = Exhausted(r, p.Spent)
	case s.Failed > 0 || s.JudgeFailed > 0:
		s.State = "failures"
	default:
		s.State = "success"
	}
	return s, nil
}

// Exhausted returns what was spent of the budget that a run was recorded with, "" if it is not
// used up. The study may have been given a larger one since: that changes no run.
func Exhausted(r *store.Run, spent run.Spent) string {
	var of struct {
		Execution struct {
			Calls  int     `json:"max_calls"`
			Tokens int     `json:"max_tokens"`
			Cost   float64 `json:"max_cost"`
		} `json:"execution"`
	}
	_ = json.Unmarshal(r.StudyJSON, &of) // a study that cannot be read has no limits that are known
	if most := run.Budget(of.Execution); most.UsedBy(spent) {
		return most.Of(spent)
	}
	return ""
}

func identity(r *store.Run) Status {
	return Status{Run: r.ID, Study: r.Study, Suite: r.Suite, File: r.StudyPath, CreatedAt: r.CreatedAt.Format(time.RFC3339), Trials: r.Trials}
}

// Statuses reads the status of every run of a store, oldest first; if not whole, without errors,
// events, sessions, warnings and reused answers. Of an archive that cannot be read it says why.
func Statuses(ctx context.Context, db *store.DB, whole bool) ([]Status, error) {
	runs, err := db.Runs(ctx)
	if err != nil {
		return nil, err
	}
	of := shortStatus
	if whole {
		of = StatusOf
	}
	list := []Status{}
	for _, r := range runs {
		s, err := of(ctx, db, r)
		if err != nil && r.Archive != nil && ctx.Err() == nil {
			s = identity(r)
			s.State, s.Unreadable, s.Done, s.Failed = "archived", err.Error(), r.Archive.Done, r.Archive.Failed
			err = nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
