package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/say"
)

// planWidth says what intervals of a width take.
func (a *app) planWidth(o *opened, wanted float64) error {
	w, err := o.x.Widths(o.ctx, o.db, wanted)
	if err != nil {
		return err
	}
	return a.answer(w, "width", struct {
		*experiment.Widths
		Confidence float64
	}{w, 1 - o.x.Study.Statistics.Alpha})
}

func (a *app) plan(o *opened) error {
	if width := valueOf(o.cmd.Flags().GetFloat64, "width"); width != 0 {
		return a.planWidth(o, width)
	}
	ctx, x := o.ctx, o.x
	a.warnOf(x)
	noKeys, err := a.checkModels(ctx, x)
	a.warnEach(noKeys)
	if err != nil {
		return err
	}
	defer a.collectLess()()
	p, err := x.Estimate(ctx, countTokens())
	if err != nil {
		return err
	}
	if o.db != nil {
		if p.Standing, err = x.Standing(ctx, o.db, p); err != nil {
			return err
		}
	}
	if p.Demands, err = x.Demands(ctx, o.db, o.from.store, p); err != nil {
		return err
	}
	return a.answer(p, "plan", struct {
		*experiment.Estimate
		Rows       []experiment.ArmEstimate
		Correction string
		HasJudge   bool
		Keys       []string
	}{p, append(slices.Clip(p.PerArm), experiment.ArmEstimate{Arm: "all", Quantities: p.Quantities}),
		x.Study.Statistics.Correction, x.HasJudge(), a.keysSent(x)})
}

// paces says how models answer, by calls in the store or assumed.
func paces(list []experiment.Pace, known bool) string {
	var said []string
	for _, p := range list {
		if p.Known > 0 == known {
			said = append(said, fmt.Sprintf("%s %.3g s and %.0f bytes an answer", p.Model, p.Seconds, p.Bytes))
		}
	}
	return strings.Join(said, "; ")
}

// hours says a time in a unit that suits it.
func hours(h float64) string {
	switch {
	case h < 1.0/60:
		return fmt.Sprintf("%.0f seconds", math.Ceil(3600*h))
	case h < 1:
		return fmt.Sprintf("%.0f minutes", 60*h)
	case h < 100:
		return fmt.Sprintf("%.1f hours", h)
	}
	return fmt.Sprintf("%.0f hours (%.1f days)", h, h/24)
}

// percentOf returns a margin in percent of its total.
func percentOf(margin *float64, total analyse.Tokens) string {
	switch {
	case total <= 0:
		return ""
	case margin == nil:
		return "?"
	}
	return fmt.Sprintf("%.1f%%", 100**margin/float64(total))
}

// counted is a number of tokens.
func counted(tokens analyse.Tokens) any {
	if tokens < 0 {
		return say.Dash
	}
	return int(tokens)
}

func dollars(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.4f", *v)
}

// countTokens counts with the vocabulary of current OpenAI models, which is
// within a few percent for others. If that fails it takes four bytes per token.
// Only this vocabulary is linked: the package above codec links four, 6 MB more.
func countTokens() plan.Counter {
	load := sync.OnceValue(codec.NewO200kBase)
	return func(text string) int {
		if n, err := load().Count(text); err == nil {
			return n
		}
		return (len(text) + 3) / 4
	}
}
