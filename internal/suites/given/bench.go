package given

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A bench is the suite bound to one study. It is safe for concurrent use.
type bench struct {
	kit.Base[*item, *arm]
	metrics []study.Metric
	left    map[string]int // rows that are left out, by what they are about
}

type arm struct {
	kit.Arm
	n int
}

// The reasons of failed trials and of scores that are missing.
const (
	reasonAbsent = "not in the data"
	reasonError  = "error in the data"
	noScore      = "no score in the data"
)

// open binds the suite to a study: it reads and validates the table. The error is a
// [study.Errors].
func open(f *study.File, s *Study) (*bench, error) {
	var errs study.Errors
	b := &bench{metrics: s.Metrics.Own, left: map[string]int{}}
	if len(b.metrics) == 0 {
		b.metrics = []study.Metric{theScore}
	}
	for i, a := range s.Arms {
		if key := fmt.Sprintf("arms[%d].name", i); !kit.ValidName(a.Name) {
			errs.Add(f.Errorf(key, "name %q: want letters, digits, dots, dashes and underscores", a.Name))
		} else if a.Value != "" && a.Column != "" {
			errs.Add(f.Errorf(key, "arm %s has value and column: want one of them", a.Name))
		}
	}
	if errs.Err() == nil {
		b.load(f, s, &errs)
	}
	for _, what := range slices.Sorted(maps.Keys(b.left)) {
		b.Note(fmt.Sprintf("%s of %s left out: the study does not name it", text.Plural(b.left[what], "row", "rows"), strconv.Quote(what)))
	}
	for i, a := range b.OwnArms {
		if k := slices.IndexFunc(b.OwnArms[:i], func(o *arm) bool { return o.ID == a.ID }); k >= 0 {
			errs.Add(f.Errorf("arms", "the arms %q and %q would both be called %s: name them, as in arms: [{name: a, value: %q}, …]", b.OwnArms[k].Levels[0].Value, a.Levels[0].Value, a.ID, a.Levels[0].Value))
		}
	}
	return b, errs.Err()
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// armID makes an id of the value of the column arm.
func armID(value string) string {
	return cmp.Or(strings.Trim(unsafe.ReplaceAllString(value, "-"), "-._"), "arm")
}

// ArmIDs returns the ids of arms by the values of the column arm.
func ArmIDs(values []string) (ids []string) {
	for _, v := range values {
		ids = append(ids, armID(v))
	}
	return ids
}

// row returns what the table says of a trial; nil if it says nothing.
func (b *bench) row(t eval.Trial) (*item, *trial) {
	it, a, err := b.Of(t)
	if err != nil {
		return nil, nil
	}
	return it, it.of(cell{a.n, t.Replicate})
}

// Basis is all that the table says of the trial.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	_, given := b.row(t)
	if given == nil {
		return on
	}
	var reasons any = given.unscored
	if len(slices.Compact(slices.Clone(given.unscored))) == 1 {
		reasons = given.unscored[0] // as in the bases of existing runs
	}
	on.Read = kit.Hash(fmt.Sprintf("%q %q %q %v %v", given.answer, given.failed, reasons, given.scores, given.took))
	return on
}

// Perform takes the answer from the table.
func (b *bench) Perform(_ context.Context, t eval.Trial, _ eval.Asker) (eval.Outcome, error) {
	if _, _, err := b.Of(t); err != nil {
		return eval.Outcome{}, fmt.Errorf("given: %w", err)
	}
	switch _, given := b.row(t); {
	case given == nil:
		return eval.Outcome{Kind: eval.Failed, Reason: reasonAbsent, Detail: "the table has no score of this item, arm and replicate"}, nil
	case given.failed != "":
		return eval.Outcome{Kind: eval.Failed, Reason: reasonError, Detail: given.failed}, nil
	default:
		return eval.Outcome{Kind: eval.OK, Data: []byte(given.answer)}, nil
	}
}

// Score scores each replicate by the table.
func (b *bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		it, given := b.row(t.Trial)
		if given == nil { // the answer is of an earlier table
			return dst
		}
		for i, m := range b.metrics {
			if it.has[i] {
				dst = append(dst, number(m.Name, given.scores[i], given.unscored[i]))
			}
		}
		for i, name := range effort.Columns() {
			dst = append(dst, number(name, given.took[i], ""))
		}
		return dst
	})
}

// number is a score of a metric, which NaN says is missing.
func number(metric string, x float64, why string) eval.Score {
	if math.IsNaN(x) {
		return eval.Score{Metric: metric, Den: 1, Unscored: cmp.Or(why, noScore)}
	}
	return eval.Score{Metric: metric, Num: x, Den: 1}
}

// Show shows input, expected answer and answer of the first trial of a case.
func (b *bench) Show(c eval.Case) (eval.Exhibit, error) {
	it, t, x, err := b.Shown(c, "of")
	if err != nil {
		return x, fmt.Errorf("given: %w", err)
	}
	x.Lead, x.Facts = it.texts[input], slices.Concat(x.Facts, it.others)
	x.Rows = []eval.ExhibitRow{{Unit: "answer", Gold: it.texts[expected], Answer: string(t.Outcome.Data), Scores: b.Score(nil, eval.CaseOf(t.Trial, t.Outcome, nil))}}
	return x, nil
}

// Capabilities are the metrics of the study, and notes.
func (b *bench) Capabilities() eval.Capabilities {
	can := b.Base.Capabilities()
	can.Facts = b.facts
	can.Metrics = func() (list []eval.Metric) {
		for _, m := range b.metrics {
			list = append(list, kit.OwnMetric(m))
		}
		return list
	}
	return can
}

// facts count the trials of the table.
func (b *bench) facts() []eval.Fact {
	var all, failed, unscored int
	for _, it := range b.Data {
		for _, t := range it.trials {
			all++
			if t.failed != "" {
				failed++
			} else if slices.ContainsFunc(t.scores, math.IsNaN) {
				unscored++
			}
		}
	}
	return []eval.Fact{{Name: "trials in the table", N: all}, {Name: "with an error", N: failed}, {Name: "without a score", N: unscored}}
}
