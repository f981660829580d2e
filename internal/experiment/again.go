package experiment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
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
	for last, more := c, ok; more && c.Stage == eval.StageJudge; last, more = calls[run.RepeatedStep(c.Step)] {
		c = last
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
	calls, err := r.db.CallsOf(ctx, r.Record, was.Trial, stage)
	if err != nil {
		return redone{}, err
	}
	return redoWith(ctx, calls, bench, stage, was)
}

func redoWith(ctx context.Context, calls journalled, bench eval.Bench, stage eval.Stage, was eval.Judged) (d redone, err error) {
	d.calls = calls
	l := &listener{answer: calls.answer}
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
	bench = r.judging(registered != nil)
	return bench, judgedArms(bench), err
}

func judgedArms(bench eval.Bench) map[string]bool {
	judged := map[string]bool{}
	for _, a := range bench.Arms() {
		judged[a.ID] = len(a.Judges) > 0
	}
	return judged
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
func (r *Run) renew(ctx context.Context, gold, judge []string, seen bool) error {
	onGold, regraded := text.SetOf(gold), ""
	if len(gold) > 0 {
		regraded = fmt.Sprintf("scored against changed gold of %s: %s", text.Plural(len(gold), "item", "items"), strings.Join(plan.Shorten(gold, 20), ", "))
	}
	r.add(regraded)
	n := renewed{brought: map[string]bool{}}
	bringing, reads := text.SetOf(r.bringing()), text.SetOf(r.arms(r.reads))
	marked := map[[2]string]bool{}
	late := func(what, arm string) []store.Event {
		if key := [2]string{what, arm}; seen && !marked[key] {
			marked[key] = true
			return r.eventsOf(what, arm)
		}
		return nil
	}
	err := r.derive(ctx, eval.StageRun, func(w store.Renewal, err error) (events []store.Event) {
		n.read++
		if other := !onGold[w.Trial.Item] && !r.Record.Reread; other && reads[w.Trial.Arm] && w.Derived && (w.Changed || bringing[w.Trial.Arm]) {
			if bringing[w.Trial.Arm] {
				n.brought[w.Trial.Item] = true
			}
			events = late(lateEvent, w.Trial.Arm)
		}
		switch {
		case errors.Is(err, errOtherRequest):
			n.retired = append(n.retired, w.Trial)
		case !w.Derived:
			n.pending++
		case w.Changed:
			n.changed++
		}
		return events
	})
	if err != nil {
		return err
	}
	if err := r.derive(ctx, eval.StageJudge, func(w store.Renewal, _ error) []store.Event {
		n.judged++
		if !w.Derived {
			n.unjudged++
		}
		if onGold[w.Trial.Item] || w.Derived && len(judge) == 0 { // judged by no other means
			return nil
		}
		return late(lateJudgeEvent, w.Trial.Arm)
	}); err != nil {
		return err
	}
	if err := r.db.Unfinished(ctx, r.Record); err != nil {
		return err
	}
	if notes := n.notes(judge); len(notes) > 0 {
		r.add(notes...)
		note := strings.Join(notes, "; ")
		if seen {
			note += "; " + hadShown
		}
		if err := r.db.AddEvents(ctx, r.Record, r.eventsOf(planEvent, note)...); err != nil {
			return err
		}
	}
	var last []store.Event // with the items, so that the next run after a kill finds the gold changed
	if len(gold) > 0 {
		last = r.eventsOf(goldEvent, regraded)
	}
	if len(n.retired) == 0 {
		if len(gold) > 0 {
			err = r.db.SetItems(ctx, r.Record, r.Items(), last)
		}
		return errors.Join(err, r.keepFirst(ctx))
	}
	err = r.db.Retire(ctx, r.Record, n.retired, store.Unusable)
	items, errItems := r.db.Items(ctx, r.Record)
	if err := cmp.Or(err, errItems); err != nil {
		return err
	}
	return r.amend(ctx, items, nil, last)
}

// bringing are the arms whose answers or scores are in a file.
func (x *Experiment) bringing() []string {
	scores := x.Bench.ScoreFiles()
	return x.arms(func(a eval.Arm) bool { return a.Given || scores[a.ID] != "" })
}

// reads reports whether an arm of the comparisons has answers to read: those that it brings, or those
// of a model or program. Other arms answer from the data.
func (x *Experiment) reads(a eval.Arm) bool {
	return a.Role != eval.RoleCalibration && (a.Model != "" || slices.Contains(x.bringing(), a.ID))
}

// renewed counts the trials whose outcomes and verdicts were derived again.
type renewed struct {
	read, changed, pending int             // outcomes; pending ones take an answer that the journal lacks
	brought                map[string]bool // items of which an arm brings other answers or scores
	judged, unjudged       int             // unjudged ones likewise
	retired                []eval.Trial
}

// notes says what was derived again, and why of the judge.
func (n renewed) notes(judge []string) (notes []string) {
	addBrought(&notes, n.brought)
	if n.changed+n.pending > 0 {
		text.AddCount(&notes, n.read-len(n.retired), "answer", "answers", " read again")
		text.AddCount(&notes, n.changed, "outcome", "outcomes", " changed")
		text.AddCount(&notes, n.pending, "trial needs", "trials need", " another answer")
	}
	if len(judge) > 0 {
		again := ""
		if n.judged > 0 {
			again = ": answers are kept and judged again"
		}
		notes = append(notes, judgeChanged(judge)+again)
	}
	if n.unjudged > 0 || len(judge) > 0 {
		text.AddCount(&notes, n.judged-n.unjudged, "judgement", "judgements", " kept, asked in the same words")
		text.AddCount(&notes, n.unjudged, "judgement is", "judgements are", " new")
	}
	return notes
}

// derive derives what is outdated in a stage again, several trials at a time. each is
// called in plan order; the events that it returns are recorded with what is derived.
func (r *Run) derive(ctx context.Context, stage eval.Stage, each func(store.Renewal, error) []store.Event) error {
	bench, judges, errBench := r.judgeBench()
	keep, err := r.keeper(ctx)
	if err := cmp.Or(errBench, err); err != nil {
		return err
	}
	if stage == eval.StageRun {
		bench = r.Bench
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
		var events []store.Event
		for i, w := range list {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errs[i] != nil && w.Trial == (eval.Trial{}): // the store could not be read
				return errs[i]
			}
			events = append(events, each(w, errs[i])...)
			if stage == eval.StageJudge || !errors.Is(errs[i], errOtherRequest) {
				known = append(known, w)
			}
		}
		return r.db.Renew(ctx, r.Record, known, events)
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
	if err != nil && was.Outcome.Kind == eval.Failed { // it is asked again only on demand
		d.outcome, err = was.Outcome, nil
	}
	w := store.Renewal{Trial: was.Trial, Stage: stage, Derived: err == nil, Outcome: d.outcome, Verdicts: d.verdicts}
	w.Changed = stage == eval.StageRun && !sameOutcome(d.outcome, was.Outcome)
	for _, h := range d.heard {
		w.Steps = append(w.Steps, h.from)
	}
	if w.Derived {
		w.Examples = keep.examples(d.heard, was.Trial, stage)
	}
	return w, err
}
