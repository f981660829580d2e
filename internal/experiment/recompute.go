package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
)

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
