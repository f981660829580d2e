package experiment

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

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
	var notes []string
	add := func(n int, one, many, what string) {
		if n > 0 {
			notes = append(notes, text.Plural(n, one, many)+" "+what)
		}
	}
	if changed+pending > 0 {
		add(read-len(retired), "answer", "answers", "read again")
		add(changed, "outcome", "outcomes", "changed")
		add(pending, "trial needs", "trials need", "another answer")
	}
	if len(judge) > 0 && judged > 0 {
		notes = append(notes, fmt.Sprintf("the judge changed (%s): answers are kept and judged again", strings.Join(judge, ", ")))
	}
	if unjudged > 0 || len(judge) > 0 {
		add(judged-unjudged, "judgement", "judgements", "kept, asked in the same words")
		add(unjudged, "judgement is", "judgements are", "new")
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
		for _, e := range events {
			if err := r.db.AddEvent(ctx, r.Record, e); err != nil {
				return err
			}
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
	bench := eval.Bench(r.Bench)
	if stage == eval.StageJudge {
		registered, _, err := r.registeredJudge()
		if err != nil {
			return err
		}
		bench = r.judging(registered != nil)
	}
	keep, err := r.keeper(ctx, nil)
	if err != nil {
		return err
	}
	judges := map[string]bool{}
	for _, a := range bench.Arms() {
		judges[a.ID] = len(a.Judges) > 0
	}
	batch := make([]eval.Judged, 0, renewedAtOnce)
	flush := func() error {
		list, errs := make([]store.Renewal, len(batch)), make([]error, len(batch))
		places := make(chan struct{}, runtime.GOMAXPROCS(0))
		var wg sync.WaitGroup
		for i, was := range batch {
			places <- struct{}{}
			wg.Go(func() {
				defer func() { <-places }()
				list[i], errs[i] = r.again(ctx, bench, stage, was, judges[was.Trial.Arm], keep)
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

// again performs or judges a trial with the answers of the journal. The error says why it
// cannot be derived from them. judged is whether the arm has judges.
func (r *Run) again(ctx context.Context, bench eval.Bench, stage eval.Stage, was eval.Judged, judged bool, keep *keeper) (w store.Renewal, err error) {
	answers, err := r.replay(ctx, was.Trial, stage)
	if err != nil {
		return w, err
	}
	asker := &listener{Asker: answers}
	w.Trial, w.Stage = was.Trial, stage
	switch {
	case stage == eval.StageJudge && judged:
		w.Verdicts, err = bench.Judge(ctx, was.Trial, was.Outcome, asker)
	case stage == eval.StageRun:
		w.Outcome, err = bench.Perform(ctx, was.Trial, asker)
		w.Changed = !reflect.DeepEqual(stored(w.Outcome), stored(was.Outcome))
	}
	answers.mu.Lock() // a suite that asks in parallel may still be at it
	defer answers.mu.Unlock()
	w.Derived, w.Steps = err == nil, slices.Clone(answers.used)
	if w.Derived && keep.wants(keep.party(was.Trial, stage), keep.place(was.Trial)) && (stage == eval.StageJudge || keep.shown[was.Trial.Arm]) {
		w.Examples = asker.examples(was.Trial, stage)
	}
	return w, err
}

// stored returns an outcome as a store gives it back.
func stored(o eval.Outcome) eval.Outcome {
	if len(o.Notes) == 0 {
		o.Notes = nil
	}
	if len(o.Data) == 0 {
		o.Data = nil
	}
	return o
}
