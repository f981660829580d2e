package analyse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// A CallPrice counts the calls of a model at one price.
type CallPrice struct {
	eval.Price
	Calls int `json:"calls"`
}

// markPrices gives costs the prices of models that had several, and marks the comparisons between
// them: a stored answer keeps its cost, so prices that change look like a change of the arm.
func (c *Collector) markPrices(a *Analysis, prices []eval.ArmPrice) {
	of := map[string]string{}
	several := map[string]bool{}
	for _, p := range prices {
		if _, isArm := c.armIdx[p.Arm]; !isArm {
			continue
		}
		if was, known := of[p.Model]; known && was != p.Price.Price {
			several[p.Model] = true
		}
		of[p.Model] = p.Price.Price
	}
	if len(several) == 0 {
		return
	}
	for i := range a.Estimates {
		e := &a.Estimates[i]
		if c.suite.Metrics[c.metric[e.Metric]].Priced {
			e.Prices = slices.DeleteFunc(pricesFor(e.Arm, prices), func(p CallPrice) bool { return !several[p.Model] })
		}
	}
	for i := range a.Comparisons {
		r := &a.Comparisons[i]
		x, _ := a.Estimate(r.A, r.Metric)
		y, _ := a.Estimate(r.B, r.Metric)
		if r.PricesDiffer = PricesDiffer(x, y); r.PricesDiffer != "" {
			r.Warnings = append(r.Warnings, r.PricesDiffer+noVerdict)
		}
	}
}

// pricesFor are the prices of the calls of an arm.
func pricesFor(arm string, prices []eval.ArmPrice) (list []CallPrice) {
	for _, p := range prices {
		if p.Arm == arm {
			list = append(list, CallPrice{p.Price, p.Calls})
		}
	}
	return list
}

// noVerdict follows [PricesDiffer] where two results are compared.
const noVerdict = ": the difference may be theirs, there is no verdict on it"

// PricesDiffer says that estimates of costs rest on several prices of one model, "" if they do not.
func PricesDiffer(list ...Estimate) string {
	for _, e := range list {
		for _, p := range e.Prices {
			other := func(q CallPrice) bool { return q.Model == p.Model && q.Price != p.Price }
			if slices.ContainsFunc(list, func(e Estimate) bool { return slices.ContainsFunc(e.Prices, other) }) {
				return "the prices differ (" + pricesOf(p.Model, list) + ")"
			}
		}
	}
	return ""
}

// pricesOf says at which prices the arms of estimates called a model.
func pricesOf(model string, list []Estimate) string {
	var arms []string
	for _, e := range list {
		var parts []string
		for _, p := range e.Prices {
			if p.Model == model {
				parts = append(parts, fmt.Sprintf("%s at %s", text.Plural(p.Calls, "call", "calls"), p.Price.Price))
			}
		}
		if said := e.Arm + " " + strings.Join(parts, " and "); len(parts) > 0 && !slices.Contains(arms, said) {
			arms = append(arms, said)
		}
	}
	id, _, _ := strings.Cut(model, " ")
	return "model " + id + ": " + strings.Join(arms, ", ")
}

// priceWarnings says which models had several prices, where costs rest on them.
func (a *Analysis) priceWarnings() (w []string) {
	var models []string
	for _, e := range a.Estimates {
		for _, p := range e.Prices {
			if !slices.Contains(models, p.Model) {
				models = append(models, p.Model)
				w = append(w, "costs are at several prices of a million tokens, and no rule decides on their mixture ("+pricesOf(p.Model, a.Estimates)+"); "+OnePrice)
			}
		}
	}
	return w
}

// OnePrice is what to do about costs at several prices.
const OnePrice = "compare tokens_in and tokens_out, or ask again, at one price, with `scruple run --new --no-reuse`"
