package snapshot

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// Rules say what counts as a regression. A nil limit is not checked.
type Rules struct {
	TotalDown   *float64 `json:"total_down,omitempty" jsonschema:"minimum=0,default=3,description=A prompt's total falls by this much or more (default 3)"`
	AverageDown *float64 `json:"average_down,omitempty" jsonschema:"minimum=0,default=0.5,description=The average total falls by this much or more (default 0.5)"`
	NewErrors   *bool    `json:"new_errors,omitempty" jsonschema:"default=true,description=A prompt has an error that had none\\, or was not in the baseline (default true)"`
	// Missing is not checked by default: a comparison concerns the prompts of both.
	Missing *int `json:"missing_prompts,omitempty" jsonschema:"minimum=1,description=This many prompts of the baseline or more are not in current (default: not checked)"`
}

// DefaultRules are the rules of a study without its own.
func DefaultRules() Rules {
	total, average, errors := 3.0, 0.5, true
	return Rules{TotalDown: &total, AverageDown: &average, NewErrors: &errors}
}

// Or fills in rules that are not set.
func (r Rules) Or(d Rules) Rules {
	return Rules{cmp.Or(r.TotalDown, d.TotalDown), cmp.Or(r.AverageDown, d.AverageDown), cmp.Or(r.NewErrors, d.NewErrors), cmp.Or(r.Missing, d.Missing)}
}

// A Side is one of two snapshots: its summary and its results by prompt.
type Side struct {
	Name    string
	Header  *Header
	Summary *Summary
	entries map[string]outcome
	order   []string // ids, as in the file
}

// outcome is what a comparison needs of a result.
type outcome struct {
	state  State
	total  float64
	errors int
}

// ReadSide reads a snapshot for a comparison.
func (d *Reader) ReadSide(r io.Reader, name string) (*Side, error) {
	s := &Side{Name: name, entries: map[string]outcome{}}
	t := d.NewTally()
	var err error
	s.Header, err = read(r, name, decodeBrief, d.entry, func(i int, e Entry) error {
		if e.ID == "" {
			return fmt.Errorf("%s: results[%d] has no promptId", name, i)
		}
		if _, ok := s.entries[e.ID]; ok {
			return fmt.Errorf("%s: results[%d]: duplicate promptId %q", name, i, e.ID)
		}
		s.entries[e.ID] = outcome{e.State, e.Total, e.Errors}
		s.order = append(s.order, e.ID)
		t.Add(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Summary = t.Summary(1)
	return s, nil
}

// A Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	Improved   Verdict = "improved"
	Regressed  Verdict = "regressed"
	NoEvidence Verdict = "no evidence"
)

// A Comparison is current against baseline. All differences are current minus
// baseline.
type Comparison struct {
	Baseline           SideFacts        `json:"baseline"`
	Current            SideFacts        `json:"current"`
	Paired             Paired           `json:"paired"` // over prompts that both judged
	Categories         []CategoryChange `json:"categories"`
	NewConfusions      []Count          `json:"newConfusions"`      // in current only
	ResolvedConfusions []Count          `json:"resolvedConfusions"` // in baseline only
	Prompts            []PromptChange   `json:"prompts"`            // whose total or state differs, the worst first
	Unchanged          int              `json:"unchangedPrompts"`
	Regressions        []Regression     `json:"regressions"`
	Rules              Rules            `json:"rules"`
	Verdict            Verdict          `json:"verdict"`
	Reason             string           `json:"reason"`
}

// SideFacts are the figures of one snapshot.
type SideFacts struct {
	Name                 string  `json:"name"`
	Timestamp            string  `json:"timestamp"`
	JudgeModel           string  `json:"judgeModel"`
	Results              int     `json:"results"`
	Judged               int     `json:"judged"`
	JudgeFailures        int     `json:"judgeFailures"`
	NotJudged            int     `json:"notJudged"`
	Errors               int     `json:"errors"`
	AvgScore             float64 `json:"avgScore"`
	AvgScoreWithFailures float64 `json:"avgScoreWithFailures"`
	OnlyHere             int     `json:"onlyHere"` // prompts that the other does not have
}

// Paired is the paired t-test of the total.
type Paired struct {
	N         int         `json:"n"`
	Baseline  eval.Number `json:"baseline"` // means over the pairs
	Current   eval.Number `json:"current"`
	Diff      eval.Number `json:"diff"`
	Low       eval.Number `json:"low"` // 95 %
	High      eval.Number `json:"high"`
	P         eval.Number `json:"p"`
	Undefined string      `json:"undefined,omitempty"`
}

// A CategoryChange is the change of a category's average scores; undefined if one
// of the snapshots has none.
type CategoryChange struct {
	Category          string      `json:"category"`
	BaselineCoverage  eval.Number `json:"baselineCoverage"`
	CurrentCoverage   eval.Number `json:"currentCoverage"`
	Coverage          eval.Number `json:"coverageDelta"`
	BaselinePrecision eval.Number `json:"baselinePrecision"`
	CurrentPrecision  eval.Number `json:"currentPrecision"`
	Precision         eval.Number `json:"precisionDelta"`
}

// A PromptChange is a prompt that changed.
type PromptChange struct {
	ID       string      `json:"promptId"`
	Baseline eval.Number `json:"baseline"` // undefined unless judged
	Current  eval.Number `json:"current"`
	Delta    eval.Number `json:"delta"`
	Was      State       `json:"was"`
	Is       State       `json:"is"`
}

// A Regression is a rule that is broken.
type Regression struct {
	Rule     string `json:"rule"`
	PromptID string `json:"promptId,omitempty"`
	Detail   string `json:"detail"`
}

// Compare compares two snapshots by rules.
func (d *Reader) Compare(baseline, current *Side, rules Rules) *Comparison {
	rules = rules.Or(DefaultRules())
	c := &Comparison{Baseline: baseline.facts(current), Current: current.facts(baseline), Rules: rules,
		NewConfusions:      difference(current.Summary.confusions, baseline.Summary.confusions),
		ResolvedConfusions: difference(baseline.Summary.confusions, current.Summary.confusions),
		Prompts:            []PromptChange{}, Regressions: []Regression{}}
	for _, category := range d.Taxonomy.Categories {
		c.Categories = append(c.Categories, categoryChange(category.Name, baseline.Summary, current.Summary))
	}
	c.prompts(baseline, current)
	if rules.AverageDown != nil && c.Paired.N > 0 && -float64(c.Paired.Diff) >= *rules.AverageDown && c.Paired.Diff < 0 {
		c.Regressions = append(c.Regressions, Regression{Rule: "average_down", Detail: fmt.Sprintf("the average total of the %d prompts that both judged fell by %.2f", c.Paired.N, -float64(c.Paired.Diff))})
	}
	if n := c.Baseline.OnlyHere; rules.Missing != nil && n >= *rules.Missing {
		c.Regressions = append(c.Regressions, Regression{Rule: "missing_prompts", Detail: fmt.Sprintf("%s missing", text.Plural(n, "prompt of the baseline is", "prompts of the baseline are"))})
	}
	c.decide()
	if n := c.Baseline.OnlyHere; n > 0 {
		c.Reason += fmt.Sprintf("; %s missing and not compared", text.Plural(n, "prompt of the baseline is", "prompts of the baseline are"))
	}
	return c
}

func (s *Side) facts(other *Side) SideFacts {
	m := s.Summary
	f := SideFacts{Name: s.Name, Timestamp: s.Header.Timestamp, JudgeModel: s.Header.JudgeModel, Results: m.Results, Judged: m.JudgedResults,
		JudgeFailures: m.JudgeFailures, NotJudged: m.NotJudged, Errors: m.ErrorCount, AvgScore: m.AvgScore, AvgScoreWithFailures: m.AvgScoreWithFailures}
	for id := range s.entries {
		if _, ok := other.entries[id]; !ok {
			f.OnlyHere++
		}
	}
	return f
}

func difference(in, without map[[2]string]int) []Count {
	only := map[[2]string]int{}
	for pair, n := range in {
		if without[pair] == 0 {
			only[pair] = n
		}
	}
	return top(only, len(only))
}

func categoryChange(name string, was, is *Summary) CategoryChange {
	number := func(s *Summary, of func(verdict.CategoryScore) float64) eval.Number {
		score, ok := s.AvgCategoryScores[name]
		if n, counted := s.categories[name]; !ok || s.categories != nil && (!counted || n == 0) {
			return eval.Undefined()
		}
		return eval.Number(of(score))
	}
	coverage := func(s verdict.CategoryScore) float64 { return s.Coverage }
	precision := func(s verdict.CategoryScore) float64 { return s.Precision }
	c := CategoryChange{Category: name, BaselineCoverage: number(was, coverage), CurrentCoverage: number(is, coverage),
		BaselinePrecision: number(was, precision), CurrentPrecision: number(is, precision)}
	c.Coverage, c.Precision = c.CurrentCoverage-c.BaselineCoverage, c.CurrentPrecision-c.BaselinePrecision
	return c
}

// prompts compares the prompts that both snapshots have.
func (c *Comparison) prompts(baseline, current *Side) {
	var was, is []float64
	for _, id := range current.order {
		now := current.entries[id]
		before, ok := baseline.entries[id]
		failed := func(detail string) {
			if c.Rules.NewErrors != nil && *c.Rules.NewErrors && now.state == Errored && before.state != Errored {
				c.Regressions = append(c.Regressions, Regression{"new_errors", id, detail})
			}
		}
		if !ok {
			failed("the labeller failed on a prompt that the baseline does not have")
			continue
		}
		both := before.state == Judged && now.state == Judged
		if both {
			was, is = append(was, before.total), append(is, now.total)
		}
		if before.state == now.state && before.total == now.total {
			c.Unchanged++
			continue
		}
		p := PromptChange{ID: id, Was: before.state, Is: now.state, Baseline: totalOf(before), Current: totalOf(now)}
		p.Delta = p.Current - p.Baseline
		c.Prompts = append(c.Prompts, p)
		if limit := c.Rules.TotalDown; limit != nil && both && p.Delta < 0 && -float64(p.Delta) >= *limit {
			c.Regressions = append(c.Regressions, Regression{"total_down", id, fmt.Sprintf("the total fell from %s to %s", short(p.Baseline), short(p.Current))})
		}
		failed("the labeller failed, and did not before")
	}
	slices.SortStableFunc(c.Prompts, func(a, b PromptChange) int {
		da, db := a.Delta, b.Delta
		switch {
		case da.Defined() != db.Defined():
			if da.Defined() {
				return -1
			}
			return 1
		case da.Defined() && da != db:
			return cmp.Compare(da, db)
		}
		return strings.Compare(a.ID, b.ID)
	})
	c.Paired = paired(was, is)
}

func totalOf(o outcome) eval.Number {
	if o.state != Judged {
		return eval.Undefined()
	}
	return eval.Number(o.total)
}

func paired(was, is []float64) Paired {
	none := eval.Undefined()
	p := Paired{N: len(was), Baseline: none, Current: none, Diff: none, Low: none, High: none, P: none}
	if len(was) == 0 {
		p.Undefined = "no prompt was judged in both"
		return p
	}
	t, err := stats.PairedT(is, was, level)
	if err != nil {
		p.Undefined = err.Error()
		return p
	}
	p.Baseline, p.Current, p.Diff = eval.Number(t.MeanB), eval.Number(t.MeanA), eval.Number(t.MeanDiff)
	p.Low, p.High, p.P, p.Undefined = eval.Number(t.CI.Low), eval.Number(t.CI.High), eval.Number(t.P), t.Undefined
	return p
}

// decide reaches the verdict: a broken rule or an interval below 0 is a
// regression, an interval above 0 an improvement.
func (c *Comparison) decide() {
	switch p := c.Paired; {
	case len(c.Regressions) > 0:
		c.Verdict, c.Reason = Regressed, fmt.Sprintf("%d of the rules' conditions are met", len(c.Regressions))
		if len(c.Regressions) == 1 {
			c.Reason = "one of the rules' conditions is met"
		}
	case p.Low.Defined() && p.High < 0:
		c.Verdict, c.Reason = Regressed, "the interval of the paired difference is below 0"
	case p.Low.Defined() && p.Low > 0:
		c.Verdict, c.Reason = Improved, "the interval of the paired difference is above 0, and no rule is broken"
	case p.Undefined != "":
		c.Verdict, c.Reason = NoEvidence, "no interval: "+p.Undefined
	default:
		c.Verdict, c.Reason = NoEvidence, "the interval of the paired difference contains 0, and no rule is broken"
	}
}

// Regressed reports whether the verdict is a regression.
func (c *Comparison) Regressed() bool { return c.Verdict == Regressed }

func short(n eval.Number) string {
	switch {
	case !n.Defined():
		return "–"
	case n == eval.Number(math.Trunc(float64(n))):
		return fmt.Sprintf("%.0f", float64(n))
	}
	return fmt.Sprintf("%.2f", float64(n))
}
