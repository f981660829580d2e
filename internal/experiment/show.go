package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// Exhibits returns a function that shows trials with an outcome one by one. It measures
// the judge only once.
func (r *Run) Exhibits(ctx context.Context) (func(context.Context, eval.Trial) (eval.Exhibit, error), error) {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, t eval.Trial) (eval.Exhibit, error) { return r.exhibit(ctx, scorer, t) }, nil
}

// Ratings are what the judge and people say of the same units, as the analysis compares
// them; nil if no task measures the judge.
func (r *Run) Ratings(ctx context.Context) (*analyse.Ratings, error) {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	return r.ratings(scorer, r.cases(ctx, r.db, r.Record, false))
}

// A Selection selects trials of one item to show.
type Selection struct {
	Item      string
	Arms      []string // empty: all with an outcome for the item
	Replicate int
	Prompts   bool // include prompts
}

// CheckSelection returns an error if the study does not have the item, an arm or
// the replicate.
func (x *Experiment) CheckSelection(s Selection) error {
	if err := cmp.Or(allKnown("show", "item", []string{s.Item}, x.itemIDs()), allKnown("show", "arm", s.Arms, x.ArmIDs())); err != nil {
		return err
	}
	if s.Replicate < 1 || s.Replicate > x.Study.Execution.Replicates {
		return fmt.Errorf("--replicate %d: study %s has %s", s.Replicate, x.Study.Name, text.Plural(x.Study.Execution.Replicates, "replicate", "replicates"))
	}
	return nil
}

// Show returns trials as the samples of an analysis without other content.
func (r *Run) Show(ctx context.Context, s Selection) (*analyse.Analysis, error) {
	if err := r.CheckSelection(s); err != nil {
		return nil, err
	}
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	q := r.runQuestion(&store.Progress{})
	shown := &analyse.Analysis{Format: analyse.Format, Study: q.Study, Run: q.Run}
	shown.Run.Done = shown.Run.Planned // pending trials of other items do not matter here
	for _, arm := range r.Bench.Arms() {
		if named := slices.Contains(s.Arms, arm.ID); !named && (arm.Role == eval.RoleCalibration || len(s.Arms) > 0) {
			continue
		}
		t := eval.Trial{Item: s.Item, Arm: arm.ID, Replicate: s.Replicate}
		c, err := r.db.Case(ctx, r.Record, t)
		if errors.Is(err, store.ErrNotFound) && len(s.Arms) == 0 {
			continue
		}
		var exhibit eval.Exhibit
		if err == nil {
			exhibit, err = shownBy(scorer, c)
		}
		if err != nil {
			return nil, err
		}
		if exhibit.Failed != "" { // reports have the reason alone: the words may have ids and addresses
			exhibit.Failed = strings.TrimSuffix(exhibit.Failed+": "+c.Trials[0].Outcome.Detail, ": ")
		}
		if s.Prompts {
			if exhibit.Steps, err = r.withPrompts(ctx, t, exhibit.Steps); err != nil {
				return nil, err
			}
		}
		shown.Arms = append(shown.Arms, analyse.Arm{ID: arm.ID, Role: arm.Role, Simulated: arm.Simulated})
		shown.Samples = append(shown.Samples, analyse.Sample{Show: exhibit})
	}
	if len(shown.Samples) == 0 {
		return nil, fmt.Errorf("show: run %s has no outcome for item %s yet", r.Record.ID, s.Item)
	}
	return shown, nil
}

// A Query selects items or trials of a run to list.
type Query struct {
	// Worst is how many items to list on which Arm loses most to Against by the first
	// primary metric, or has the worst scores if it loses on none or is compared with
	// no arm.
	Worst int
	// Outcomes lists the trials with these outcomes instead.
	Outcomes []eval.OutcomeKind
	// Arm is the arm to list; by default that of the first primary comparison for the
	// worst items, and all arms for outcomes. Against is by default the arm that the
	// study compares it with.
	Arm, Against string
}

// A List is the answer to a query.
type List struct {
	Run     string   `json:"run"`
	Metric  string   `json:"metric,omitempty"`
	Title   string   `json:"-"` // of the metric
	Arm     string   `json:"arm,omitempty"`
	Against string   `json:"against,omitempty"`
	Losses  *int     `json:"losses,omitempty"` // items on which the arm loses to the other
	Total   int      `json:"total"`            // items or trials to choose from; Entries may have fewer
	Without int      `json:"without_score,omitempty"`
	Entries []Listed `json:"entries"`
}

// A Listed is an item, or a trial with its outcome.
type Listed struct {
	Item       string           `json:"item"`
	Arms       []string         `json:"arms"`      // to show
	Replicate  int              `json:"replicate"` // of an item the one with the worst score
	Score      *float64         `json:"score,omitempty"`
	Other      *float64         `json:"against_score,omitempty"`
	Difference *float64         `json:"difference,omitempty"`
	Outcome    eval.OutcomeKind `json:"outcome,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	Detail     string           `json:"detail,omitempty"`
	Brief
	OtherAnswer string `json:"against_answer,omitempty"`
}

// List answers a query from stored scores and outcomes.
func (r *Run) List(ctx context.Context, q Query) (*List, error) {
	known := r.contestants()
	err := allKnown("show", "arm", said(q.Arm, q.Against), known)
	if err != nil {
		return nil, err
	}
	var list *List
	if len(q.Outcomes) > 0 {
		list, err = r.listOutcomes(ctx, q, known)
	} else {
		list, err = r.listWorst(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	return list, r.addBriefs(ctx, list.Entries)
}

// addBriefs adds to listed trials what was asked and answered. One that cannot be shown is listed
// without: its command says why.
func (r *Run) addBriefs(ctx context.Context, entries []Listed) error {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		for k, arm := range e.Arms {
			x, err := r.exhibit(ctx, scorer, eval.Trial{Item: e.Item, Arm: arm, Replicate: e.Replicate})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				continue
			}
			if b := BriefOf(x); k == 0 {
				e.Brief = b
			} else {
				e.OtherAnswer = b.Answer
			}
		}
	}
	return nil
}

// listOutcomes lists trials by arm, item and replicate.
func (r *Run) listOutcomes(ctx context.Context, q Query, arms []string) (list *List, err error) {
	list = &List{Run: r.Record.ID, Arm: q.Arm, Entries: []Listed{}}
	for j := range until(&err, r.db.Outcomes(ctx, r.Record)) {
		t, o := j.Trial, j.Outcome
		if !slices.Contains(q.Outcomes, o.Kind) || !slices.Contains(arms, t.Arm) || q.Arm != "" && t.Arm != q.Arm {
			continue
		}
		list.Entries = append(list.Entries, Listed{Item: t.Item, Arms: []string{t.Arm}, Replicate: t.Replicate, Outcome: o.Kind, Reason: o.Reason, Detail: o.Detail})
	}
	slices.SortFunc(list.Entries, func(x, y Listed) int {
		return cmp.Or(cmp.Compare(slices.Index(arms, x.Arms[0]), slices.Index(arms, y.Arms[0])), cmp.Compare(x.Item, y.Item), cmp.Compare(x.Replicate, y.Replicate))
	})
	list.Total = len(list.Entries)
	return list, err
}

// listWorst lists the items with the largest losses, or with the worst scores.
func (r *Run) listWorst(ctx context.Context, q Query) (*List, error) {
	metric, err := r.listedMetric()
	if err != nil {
		return nil, err
	}
	if q.Arm, q.Against, err = r.contest(q.Arm, q.Against); err != nil {
		return nil, err
	}
	list := &List{Run: r.Record.ID, Metric: metric.Name, Title: cmp.Or(metric.Title, metric.Name), Arm: q.Arm, Against: q.Against, Entries: []Listed{}}
	scores, err := scoreSums(ctx, r.db, r.Record, metric.Name)
	if err != nil {
		return nil, err
	}
	worse := 1.0 // what to multiply by so that less is worse
	if !metric.HigherIsBetter {
		worse = -1
	}
	var lost, all []Listed
	for _, it := range r.Items() {
		a, ok := scores.of(it.ID, q.Arm)
		b, okB := scores.of(it.ID, q.Against)
		if !ok || q.Against != "" && !okB {
			list.Without++
			continue
		}
		e := Listed{Item: it.ID, Arms: []string{q.Arm}, Replicate: scores.worst(it.ID, q.Arm, r.Record.Replicates, worse), Score: &a}
		all = append(all, e)
		if d := a - b; q.Against != "" && worse*d < -say.Noise {
			e.Arms, e.Other, e.Difference = []string{q.Arm, q.Against}, &b, &d
			lost = append(lost, e)
		}
	}
	if n := len(lost); q.Against != "" {
		list.Losses = &n
	}
	if len(lost) == 0 {
		lost = all
	}
	slices.SortFunc(lost, func(x, y Listed) int {
		return cmp.Or(cmp.Compare(worse**cmp.Or(x.Difference, x.Score), worse**cmp.Or(y.Difference, y.Score)), cmp.Compare(x.Item, y.Item))
	})
	list.Total = len(lost)
	list.Entries = append(list.Entries, lost[:min(q.Worst, len(lost))]...)
	return list, nil
}

// listedMetric returns the first primary metric whose items have scores of their own.
func (x *Experiment) listedMetric() (eval.Metric, error) {
	for _, name := range x.Primary {
		if m, ok := x.Suite.Metric(name); ok && m.Estimate == nil {
			return m, nil
		}
	}
	return eval.Metric{}, fmt.Errorf("show: no primary metric of study %s scores single items: name one under metrics.primary", x.Study.Name)
}

// contest completes the arms of a query from the comparisons of the study, primary
// ones first.
func (x *Experiment) contest(arm, against string) (a, b string, err error) {
	if arm != "" && arm == against {
		return "", "", fmt.Errorf("show: --arm and --against are both %s: name two arms", arm)
	}
	if arm != "" && against != "" {
		return arm, against, nil
	}
	pairs := slices.Clone(x.Pairs)
	PrimaryFirst(pairs)
	for _, p := range pairs {
		switch {
		case arm == "" && against == "", arm == p.A, against == p.B:
			return p.A, p.B, nil
		case arm == p.B || against == p.A:
			return p.B, p.A, nil
		}
	}
	switch arms := x.contestants(); {
	case arm == "" && against != "":
		return "", "", errors.New("show: --against needs --arm: the study compares it with no arm")
	case arm == "" && len(arms) == 1:
		arm = arms[0]
	case arm == "":
		return "", "", fmt.Errorf("show: the study has no comparison: name an arm with --arm, one of %s", strings.Join(arms, ", "))
	}
	return arm, against, nil
}

// PrimaryFirst sorts the study's primary comparisons first, and contrasts of suites last.
func PrimaryFirst(pairs []analyse.Pair) {
	rank := map[bool]int{true: 1}
	slices.SortStableFunc(pairs, func(p, q analyse.Pair) int {
		return cmp.Or(rank[q.Primary]-rank[p.Primary], rank[p.Contrast]-rank[q.Contrast])
	})
}

// trialSums are the sums of fractions by trial; those of all replicates are at replicate 0.
type trialSums map[eval.Trial]eval.Fraction

func (s trialSums) of(item, arm string) (float64, bool) {
	all := s[eval.Trial{Item: item, Arm: arm}]
	return all.Num / all.Den, all.Den > 0
}

// worst returns the replicate of an item with the worst score, the first of equal
// ones. Less is worse if worse is 1, and more if it is -1.
func (s trialSums) worst(item, arm string, replicates int, worse float64) int {
	worst, least := 1, math.Inf(1)
	for replicate := 1; replicate <= replicates; replicate++ {
		t := s[eval.Trial{Item: item, Arm: arm, Replicate: replicate}]
		if x := worse * t.Num / t.Den; x < least {
			worst, least = replicate, x
		}
	}
	return worst
}

// scoreSums reads the stored scores of a metric.
func scoreSums(ctx context.Context, db *store.DB, run *store.Run, metric string) (sums trialSums, err error) {
	sums = trialSums{}
	for s := range until(&err, db.Scores(ctx, run)) {
		for _, score := range s.Scores {
			if score.Metric != metric || score.Unscored != "" {
				continue
			}
			all := eval.Trial{Item: s.Trial.Item, Arm: s.Trial.Arm}
			for _, t := range slices.Compact([]eval.Trial{all, s.Trial}) {
				sums[t] = sums[t].Plus(score.Num, score.Den)
			}
		}
	}
	return sums, err
}
