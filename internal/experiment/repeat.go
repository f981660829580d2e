package experiment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

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
	Reread     int   // an earlier version of Scruple read their answers otherwise
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
	_, judges, err := r.judgeBench()
	stored := &reader{ctx: ctx, run: r.Record, err: err}
	earlier, progress, kept := read(stored, r.db.Earlier), read(stored, r.db.Progress), read(stored, r.db.Examples)
	if stored.err != nil {
		return nil, stored.err
	}
	rep := &Repetition{Left: earlier.Left, Older: earlier.Older}
	// repeat redoes a stage, and compares the prompts that were kept of it.
	repeat := func(stage eval.Stage, was answered) (redone, error) {
		d, err := redoWith(ctx, was.calls[stage], r.Bench, stage, was.Judged)
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
	for was, err := range r.answered(ctx) {
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
		missing, known := (*missingAnswerError)(nil), len(rep.Different)
		d, err := repeat(eval.StageRun, was)
		switch {
		case err != nil:
		case sameOutcome(d.outcome, was.Outcome):
			rep.Outcomes++
		default:
			rep.differs("outcome of %v", was.Trial)
		}
		if earlier.Reread.Has(seq) && (len(rep.Different) > known || errors.As(err, &missing)) {
			rep.Different, err = rep.Different[:known], nil
			rep.Reread++
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

// An answered trial has an outcome, and calls by stage.
type answered struct {
	eval.Judged
	calls map[eval.Stage]journalled
}

// answered yields the trials with outcomes in plan order. It reads the calls of several at once,
// because a query of its own for each takes longer than performing it again.
func (r *Run) answered(ctx context.Context) iter.Seq2[answered, error] {
	const atOnce = 32
	return func(yield func(answered, error) bool) {
		for from := 0; from < r.Record.Trials; from += atOnce {
			list, err := store.Collect(r.db.OutcomesIn(ctx, r.Record, from, from+atOnce))
			calls := map[eval.Trial]map[eval.Stage]journalled{}
			for c, callErr := range r.db.CallsIn(ctx, r.Record, from, from+atOnce) {
				err = cmp.Or(err, callErr)
				if calls[c.Trial] == nil {
					calls[c.Trial] = map[eval.Stage]journalled{}
				}
				if calls[c.Trial][c.Stage] == nil {
					calls[c.Trial][c.Stage] = journalled{}
				}
				calls[c.Trial][c.Stage][c.Step] = c
			}
			if err != nil {
				yield(answered{}, err)
				return
			}
			for _, was := range list {
				if !yield(answered{was, calls[was.Trial]}, nil) {
					return
				}
			}
		}
	}
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
	result, err = r.compute(ctx, samples, &kept, func(list iter.Seq2[eval.Scored, error]) (err error) {
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

// Analysed reports whether an analysis is of the study, items, gold and arms as they are.
func (r *Run) Analysed(kept Result) bool {
	a := kept.Analysis.Asked
	inputs, gold := dataHashes(r.Items())
	return a != nil && kept.basis == r.basis() && a.Study == eval.HashOf(r.File.Canonical()).String() && a.Inputs == inputs && a.Gold == gold &&
		!slices.ContainsFunc(r.Bench.Arms(), func(arm eval.Arm) bool {
			return slices.ContainsFunc(a.Parties, func(p analyse.Party) bool { return !p.Judge && p.Name == arm.ID && p.Hash != arm.Hash })
		})
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
	case json.Number:
		if y, ok := b.(json.Number); ok && sameNumber(x, y) {
			return
		}
	default:
		if a == b {
			return
		}
	}
	*list = append(*list, path)
}

// sameNumber reports whether two numbers are the same but for what processors differ in. Counts are
// exact, also those that floats do not have.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if _, err := a.Int64(); err == nil {
		if _, err := b.Int64(); err == nil {
			return false
		}
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && eval.Same(x, y)
}
