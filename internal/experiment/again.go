package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// A listener answers the requests of a trial and keeps them: the journal has only their hashes.
type listener struct {
	// answer also returns the step of the journal that the answer is from, "" for a new one.
	answer func(ctx context.Context, step string, r eval.Request) (response eval.Response, from string, err error)

	mu  sync.Mutex // a suite that asks in parallel may still be at it when it returns
	all []heard
}

// A heard request is one that was answered, or whose call in the journal failed.
type heard struct {
	step, from, model, text string
	failed                  bool
}

func (l *listener) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	response, from, err := l.answer(ctx, step, r)
	if err == nil || from != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, heard{step, from, r.Name, requestText(&r), err != nil})
	}
	return response, err
}

// heard returns the requests by step.
func (l *listener) heard() []heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(l.all), func(a, b heard) int { return strings.Compare(a.step, b.step) })
}

// requestText returns a request as readable text.
func requestText(r *eval.Request) string {
	var b strings.Builder
	if r.System != "" {
		b.WriteString(r.System + "\n\n")
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "[%s]\n%s\n\n", m.Role, m.Content)
	}
	if len(r.Messages) == 0 {
		b.Write(r.Payload) // of an external pipeline
	}
	return strings.TrimSpace(b.String())
}

// errOtherRequest is why the journal has no answer to a request: the step had another one.
var errOtherRequest = errors.New("had another request")

// A missingAnswerError is the error of a step that the journal has no call of.
type missingAnswerError struct{ step string }

func (e *missingAnswerError) Error() string {
	return fmt.Sprintf("step %s has no answer in the journal", e.step)
}

// A failedCallError is the error of a step whose call failed.
type failedCallError struct{ step, err string }

func (e *failedCallError) Error() string { return fmt.Sprintf("step %s failed: %s", e.step, e.err) }

// Fatal reports that the error concerns one call, as those of the engine do.
func (e *failedCallError) Fatal() bool { return false }

// A journalled trial is answered by its calls in the journal, by step.
type journalled map[string]eval.Call

func (calls journalled) answer(_ context.Context, step string, r eval.Request) (none eval.Response, from string, err error) {
	c, ok := calls[step]
	same, diff := false, []string(nil)
	if ok {
		if same, diff = run.Matches(&c, r); !same && c.Stage == eval.StageJudge {
			if c, ok = calls[run.SupersedingStep(step, r, c.Trial)]; ok {
				same, diff = run.Matches(&c, r)
			}
		}
	}
	switch {
	case !ok:
		return none, "", &missingAnswerError{step}
	case !same:
		return none, "", fmt.Errorf("step %s %w (%s): the study or its data changed since", step, errOtherRequest, strings.Join(diff, "; "))
	case c.ErrKind == "":
		return c.Response, c.Step, nil
	case r.Optional:
		return none, c.Step, &eval.NoAnswer{Kind: c.ErrKind}
	}
	return none, c.Step, &failedCallError{step, c.Err}
}

// A redone trial was performed or judged with the answers of the journal.
type redone struct {
	calls    journalled // nil if the store could not be read
	outcome  eval.Outcome
	verdicts []eval.Verdict
	heard    []heard
}

// redo performs or judges a trial with the answers of the journal. It asks nothing. The error
// says why it cannot be derived from them.
func (r *Run) redo(ctx context.Context, bench eval.Bench, stage eval.Stage, was eval.Judged) (d redone, err error) {
	if d.calls, err = r.db.CallsOf(ctx, r.Record, was.Trial, stage); err != nil {
		return redone{}, err
	}
	l := &listener{answer: d.calls.answer}
	if stage == eval.StageJudge {
		d.verdicts, err = bench.Judge(ctx, was.Trial, was.Outcome, l)
	} else {
		d.outcome, err = bench.Perform(ctx, was.Trial, l)
	}
	d.heard = l.heard()
	return d, err
}

// prompts returns what was asked, by step.
func (d *redone) prompts() map[string]string {
	texts := map[string]string{}
	for _, h := range d.heard {
		texts[h.step] = h.text
	}
	return texts
}

// sameOutcome reports whether two outcomes are one, as a store gives them back.
func sameOutcome(a, b eval.Outcome) bool {
	return a.Kind == b.Kind && a.Reason == b.Reason && a.Detail == b.Detail && slices.Equal(a.Notes, b.Notes) && bytes.Equal(a.Data, b.Data)
}

// judgeBench returns the bench for the judge, with whether it judges an arm.
func (r *Run) judgeBench() (bench eval.Bench, judges map[string]bool, err error) {
	registered, _, err := r.registeredJudge()
	bench, judges = r.judging(registered != nil), map[string]bool{}
	for _, a := range bench.Arms() {
		judges[a.ID] = len(a.Judges) > 0
	}
	return bench, judges, err
}

// Prompts builds the prompts of a trial again, by step, and checks them against the
// hashes in the journal. With an error it returns those built before it.
func (r *Run) Prompts(ctx context.Context, t eval.Trial, stage eval.Stage) (map[string]string, error) {
	was := eval.Judged{Trial: t}
	if stage == eval.StageJudge {
		var err error
		if was, err = r.db.Outcome(ctx, r.Record, t); err != nil {
			return nil, err
		}
	}
	d, err := r.redo(ctx, r.Bench, stage, was)
	if d.calls != nil && len(d.calls) == 0 {
		return nil, nil
	}
	return d.prompts(), err
}

// withPrompts adds the prompts to the steps of a trial.
func (r *Run) withPrompts(ctx context.Context, t eval.Trial, steps []eval.ExhibitStep) (list []eval.ExhibitStep, err error) {
	d, err := r.redo(ctx, r.Bench, eval.StageRun, eval.Judged{Trial: t})
	if err != nil {
		return nil, fmt.Errorf("rebuilding the prompts of %v: %w", t, err)
	}
	asked := d.prompts()
	show := func(step string) {
		if text, ok := asked[step]; ok {
			list = append(list, eval.ExhibitStep{Name: step + " asked", Text: text})
			delete(asked, step)
		}
	}
	for _, s := range steps {
		step, _, _ := strings.Cut(s.Name, " ")
		show(step)
		list = append(list, s)
	}
	for _, step := range slices.Sorted(maps.Keys(asked)) {
		show(step)
	}
	return list, nil
}

// renewedAtOnce is the number of trials that are derived again in one transaction.
const renewedAtOnce = 256

// renew derives outcomes and verdicts again that depend on something that changed. It asks
// nothing: what takes an answer that the journal does not have is pending. gold has the items
// whose gold changed, judge the settings of judges that did, and seen is whether results had
// been shown.
func (r *Run) renew(ctx context.Context, gold map[string]bool, judge []string, seen bool) error {
	var retired []eval.Trial
	read, changed, pending := 0, 0, 0
	err := r.derive(ctx, eval.StageRun, func(w store.Renewal, err error) {
		read++
		switch {
		case errors.Is(err, errOtherRequest):
			retired = append(retired, w.Trial)
		case !w.Derived:
			pending++
		case w.Changed:
			changed++
		}
	})
	if err != nil {
		return err
	}
	judged, unjudged := 0, 0
	var arms []string // judged by other means, not only against other gold
	if err := r.derive(ctx, eval.StageJudge, func(w store.Renewal, _ error) {
		judged++
		if !w.Derived {
			unjudged++
		}
		if !gold[w.Trial.Item] && !slices.Contains(arms, w.Trial.Arm) {
			arms = append(arms, w.Trial.Arm)
		}
	}); err != nil {
		return err
	}
	if err := r.db.Unfinished(ctx, r.Record); err != nil {
		return err
	}
	var notes counted
	if changed+pending > 0 {
		notes.add(read-len(retired), "answer", "answers", "read again")
		notes.add(changed, "outcome", "outcomes", "changed")
		notes.add(pending, "trial needs", "trials need", "another answer")
	}
	if len(judge) > 0 && judged > 0 {
		notes = append(notes, fmt.Sprintf("the judge changed (%s): answers are kept and judged again", strings.Join(judge, ", ")))
	}
	if unjudged > 0 || len(judge) > 0 {
		notes.add(judged-unjudged, "judgement", "judgements", "kept, asked in the same words")
		notes.add(unjudged, "judgement is", "judgements are", "new")
	}
	if len(notes) > 0 {
		r.add(notes...)
		note := strings.Join(notes, "; ")
		if seen {
			note += "; results had been shown"
		}
		events := []store.Event{{At: r.env.Now(), What: planEvent, Note: note}}
		if seen {
			slices.Sort(arms)
			events = append(events, r.eventsOf(lateJudgeEvent, arms)...)
		}
		if err := addEvents(ctx, r.db, r.Record, events); err != nil {
			return err
		}
	}
	if len(retired) == 0 {
		return r.keepFirst(ctx)
	}
	if err := r.db.Retire(ctx, r.Record, retired); err != nil {
		return err
	}
	items, err := r.db.Items(ctx, r.Record)
	if err != nil {
		return err
	}
	return r.amend(ctx, items, nil)
}

// derive derives what is outdated in a stage again, several trials at a time. each is
// called in plan order.
func (r *Run) derive(ctx context.Context, stage eval.Stage, each func(store.Renewal, error)) error {
	bench, judges, err := r.judgeBench()
	if err != nil {
		return err
	}
	if stage == eval.StageRun {
		bench = r.Bench
	}
	keep, err := r.keeper(ctx)
	if err != nil {
		return err
	}
	batch := make([]eval.Judged, 0, renewedAtOnce)
	flush := func() error {
		list, errs := make([]store.Renewal, len(batch)), make([]error, len(batch))
		places := make(chan struct{}, runtime.GOMAXPROCS(0))
		var wg sync.WaitGroup
		for i, was := range batch {
			if stage == eval.StageJudge && !judges[was.Trial.Arm] {
				list[i] = store.Renewal{Trial: was.Trial, Stage: stage, Derived: true} // without verdicts
				continue
			}
			places <- struct{}{}
			wg.Go(func() {
				defer func() { <-places }()
				list[i], errs[i] = r.renewal(ctx, bench, stage, was, keep)
			})
		}
		wg.Wait()
		batch = batch[:0]
		var known []store.Renewal
		for i, w := range list {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errs[i] != nil && w.Trial == (eval.Trial{}): // the store could not be read
				return errs[i]
			}
			each(w, errs[i])
			if stage == eval.StageJudge || !errors.Is(errs[i], errOtherRequest) {
				known = append(known, w)
			}
		}
		return r.db.Renew(ctx, r.Record, known)
	}
	for was, err := range r.db.Outdated(ctx, r.Record, stage) {
		if err != nil {
			return err
		}
		if batch = append(batch, was); len(batch) == renewedAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// renewal derives a trial again.
func (r *Run) renewal(ctx context.Context, bench eval.Bench, stage eval.Stage, was eval.Judged, keep *keeper) (store.Renewal, error) {
	d, err := r.redo(ctx, bench, stage, was)
	if d.calls == nil {
		return store.Renewal{}, err
	}
	w := store.Renewal{Trial: was.Trial, Stage: stage, Derived: err == nil, Outcome: d.outcome, Verdicts: d.verdicts}
	w.Changed = stage == eval.StageRun && !sameOutcome(d.outcome, was.Outcome)
	for _, h := range d.heard {
		w.Steps = append(w.Steps, h.from)
	}
	if w.Derived && keep.wants(was.Trial, stage) {
		w.Examples = examples(d.heard, was.Trial, stage)
	}
	return w, err
}

// A Repetition is what performing and judging the trials of a run again, with the answers
// of the journal, showed.
type Repetition struct {
	Outcomes, Verdicts int // that follow from their answers
	// Different names the outcomes and verdicts that do not, and those without their answers.
	Different []string
	Failed    int // trials without an outcome to compare
	// Earlier counts trials that the study has moved on from: their question, or what their
	// outcome or verdicts depend on, is that of an earlier plan and not known any more. Left
	// counts those that left the plan, on which no result depends.
	Earlier    int
	Left       int
	Older      bool  // an older version derived the outcomes
	Unrepeated int   // could not be performed again
	Why        error // the first of these
}

func (rep *Repetition) differs(format string, args ...any) {
	rep.Different = append(rep.Different, fmt.Sprintf(format, args...))
}

// mostNamed bounds the rows that an error names.
const mostNamed = 5

// Err names what does not follow from the stored answers, nil if all does.
func (rep *Repetition) Err() error {
	if len(rep.Different) == 0 {
		return nil
	}
	return fmt.Errorf("not what the stored answers give: %s", strings.Join(plan.Shorten(rep.Different, mostNamed), ", "))
}

// Repeat derives the stored outcomes and the verdicts of judges again from the answers of
// the journal. It asks nothing.
func (r *Run) Repeat(ctx context.Context) (*Repetition, error) {
	earlier, err := r.db.Earlier(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	progress, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	_, judges, err := r.judgeBench()
	if err != nil {
		return nil, err
	}
	kept, err := r.db.Examples(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	rep := &Repetition{Left: earlier.Left, Older: earlier.Older}
	// repeat redoes a stage, and compares the prompts that were kept of it.
	repeat := func(stage eval.Stage, was eval.Judged) (redone, error) {
		d, err := r.redo(ctx, r.Bench, stage, was)
		if err != nil {
			return d, err
		}
		asked := d.prompts()
		for _, e := range kept {
			for _, p := range e.Prompts {
				if e.Trial == was.Trial && e.Stage == stage && shortPrompt(asked[p.Step]) != p.Text {
					rep.differs("prompt of %v, step %s", was.Trial, p.Step)
				}
			}
		}
		return d, nil
	}
	for was, err := range r.db.Outcomes(ctx, r.Record) {
		if err != nil {
			return nil, err
		}
		seq, _ := r.Plan.Seq(was.Trial)
		switch {
		case earlier.Outcomes.Has(seq):
			rep.Earlier++
			continue
		case was.Outcome.Kind == eval.Failed:
			rep.Failed++
			continue
		}
		d, err := repeat(eval.StageRun, was)
		switch {
		case err != nil:
		case sameOutcome(d.outcome, was.Outcome):
			rep.Outcomes++
		default:
			rep.differs("outcome of %v", was.Trial)
		}
		switch {
		case err != nil || !judges[was.Trial.Arm] || !progress.Judged.Has(seq):
		case earlier.Verdicts.Has(seq):
			rep.Earlier++
		default:
			if d, err = repeat(eval.StageJudge, was); err != nil {
			} else if n, same := sameVerdicts(was.Verdicts, d.verdicts); same {
				rep.Verdicts += n
			} else {
				rep.differs("verdict on %v", was.Trial)
			}
		}
		var missing *missingAnswerError
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &missing):
			rep.differs("%v has no answer to step %s", was.Trial, missing.step)
		case err != nil:
			if rep.Unrepeated++; rep.Why == nil {
				rep.Why = fmt.Errorf("%v: %w", was.Trial, err)
			}
		}
	}
	return rep, nil
}

// sameVerdicts compares the verdicts in force, those of people left out, and counts them.
// Errors of calls have other words.
func sameVerdicts(was, now []eval.Verdict) (n int, same bool) {
	type key struct {
		unit, step, by string
		source         eval.Source
		round          int
	}
	keyed := func(list []eval.Verdict) map[key]eval.Verdict {
		m := map[key]eval.Verdict{}
		for _, v := range list {
			if v.Source != eval.ByHuman {
				m[key{v.Unit, v.Step, v.By, v.Source, max(1, v.Round)}] = v
			}
		}
		return m
	}
	in := keyed(now)
	return len(in), maps.EqualFunc(keyed(was), in, func(a, b eval.Verdict) bool {
		return (a.Err == "") == (b.Err == "") && (a.Err != "" || bytes.Equal(a.Data, b.Data))
	})
}

// Recompute computes scores, analysis and verdict as [Run.Rescore] does, and compares them
// with the stored ones, of which kept are the analysis and the verdict. It stores nothing.
// The error that it returns as other names what differs.
func (r *Run) Recompute(ctx context.Context, samples int, kept Result) (result Result, other, err error) {
	var scores []string
	result, err = r.compute(ctx, samples, func(list iter.Seq2[eval.Scored, error]) (err error) {
		scores, err = r.db.OtherScores(ctx, r.Record, list)
		return err
	})
	if err != nil {
		return Result{}, nil, err
	}
	if d, was := result.Analysis.Discipline, kept.Analysis.Discipline; d != nil && was != nil {
		d.Budget = was.Budget // it counts runs that began later, or are not packed
	}
	var differ []string
	if len(scores) > 0 {
		differ = append(differ, "scores of "+strings.Join(plan.Shorten(scores, mostNamed), ", "))
	}
	parts, err := otherPlaces(kept, result)
	if err != nil {
		return Result{}, nil, err
	}
	if differ = append(differ, plan.Shorten(parts, mostNamed)...); len(differ) > 0 {
		other = fmt.Errorf("not what the outcomes give: %s", strings.Join(differ, "; "))
	}
	return result, other, nil
}

// Analysed reports whether an analysis is of the study, items and gold as they are.
func (r *Run) Analysed(kept Result) bool {
	a := kept.Analysis.Asked
	inputs, gold := dataHashes(r.Items())
	return a != nil && kept.basis == r.basis() && a.Study == eval.HashOf(r.File.Canonical()).String() && a.Inputs == inputs && a.Gold == gold
}

// otherPlaces lists the places at which two results differ.
func otherPlaces(was, now Result) (list []string, err error) {
	var trees [2]any
	for i, r := range []Result{was, now} {
		data, err := json.Marshal(map[string]any{"analysis": r.Analysis, "verdict": r.Verdict})
		if err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err := d.Decode(&trees[i]); err != nil {
			return nil, err
		}
	}
	differ(trees[0], trees[1], "", &list)
	return list, nil
}

// differ appends the paths of the values that differ.
func differ(a, b any, path string, list *[]string) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				differ(x[k], y[k], strings.TrimPrefix(path+"."+k, "."), list)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				differ(x[i], y[i], path+"["+strconv.Itoa(i)+"]", list)
			}
			return
		}
	default:
		if a == b {
			return
		}
	}
	*list = append(*list, path)
}
