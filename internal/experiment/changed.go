package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// ChangesOf compares two runs as [Experiment.CompareRuns] does and lists those of its
// items that changed by the first primary metric, with the answers of the first few.
func (x *Experiment) ChangesOf(ctx context.Context, older, newer Side, few int) (*analyse.Changes, error) {
	c, err := x.between(ctx, older, newer)
	if err != nil {
		return nil, err
	}
	compared, err := c.analyse(ctx)
	if err != nil {
		return nil, err
	}
	all := &analyse.Changes{Compared: compared}
	metric, _ := x.Suite.Metric(x.Primary[0])
	if metric.Estimate != nil {
		return all, nil
	}
	was, err := scoreSums(ctx, older.DB, older.Run, metric.Name)
	now, errNow := scoreSums(ctx, newer.DB, newer.Run, metric.Name)
	if err = cmp.Or(err, errNow); err != nil {
		return nil, err
	}
	gain := func(c analyse.Change) float64 {
		if metric.HigherIsBetter {
			return c.Now - c.Was
		}
		return c.Was - c.Now
	}
	for _, k := range compared.Comparisons {
		_, a, _ := strings.Cut(k.A, ":")
		_, b, _ := strings.Cut(k.B, ":")
		if k.Stratum != nil || k.Metric != metric.Name {
			continue
		}
		for _, it := range c.items {
			before, ok1 := was.of(it.ID, b)
			after, ok2 := now.of(it.ID, a)
			c := analyse.Change{Item: it.ID, Arm: a, Was: before, Now: after}
			switch g := gain(c); {
			case !ok1 || !ok2:
				if ok1 != ok2 {
					all.Unscored++
				}
				continue
			case math.Abs(g) < say.Noise:
				all.Equal++
				continue
			case g < 0:
				all.Worse++
			default:
				all.Better++
			}
			all.Items = append(all.Items, c)
		}
	}
	slices.SortStableFunc(all.Items, func(a, b analyse.Change) int {
		return cmp.Or(cmp.Compare(gain(a), gain(b)), strings.Compare(a.Item, b.Item), strings.Compare(a.Arm, b.Arm))
	})
	for i := range min(few, len(all.Items)) {
		c := &all.Items[i]
		if c.Before, err = answerOf(ctx, older, c.Item, cmp.Or(older.Arm, c.Arm)); err == nil {
			c.After, err = answerOf(ctx, newer, c.Item, c.Arm)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// answerOf is the answer of the first replicate.
func answerOf(ctx context.Context, s Side, item, arm string) (string, error) {
	answers, err := s.DB.Answers(ctx, s.Run, arm)
	if err != nil {
		return "", err
	}
	o, _, _, err := answers.Get(ctx, item, 1)
	switch {
	case err != nil:
		return "", err
	case o.Kind == eval.Failed || o.Kind == eval.Refused:
		return fmt.Sprintf("%s: %s", o.Kind, o.Reason), nil
	}
	return string(o.Data), nil
}
