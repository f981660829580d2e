// Package evalout writes runs in the formats of other tools: logs of Inspect, Every Eval Ever,
// and OTLP for traces.
//
// It gets the trials of a run in the order of the plan, one at a time, and holds none. It must
// not know the store, a suite or the command line.
package evalout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
)

// A Run is what formats say of a run.
type Run struct {
	Place            func(eval.Trial) int // of a trial in the plan
	ID, Study, Suite string
	Version          string // of the program
	Created          time.Time
	Replicates       int
	Items            int
	Unfinished       bool
	Arms             []Arm
	Metrics          []eval.Metric
	Alpha            float64 // intervals of estimates have the level 1 − α
	// Estimate is the estimate of a metric for an arm over all items.
	Estimate func(arm, metric string) (eval.Measured, bool)
}

// An Arm is an arm with what answered for it.
type Arm struct {
	ID, Model string
	Simulated bool // its answers, or the verdicts on them
}

// Trials are the trials of a run, in the order of the plan.
type Trials = iter.Seq2[eval.ScoredTrial, error]

// A value is the score of a trial by a metric: the sum of its fractions; NaN, with the reason,
// if one is missing.
type value struct {
	Metric string
	eval.Fraction
	Unscored string
	Units    int
}

func (v value) number() float64 {
	if v.Unscored != "" || v.Den == 0 {
		return math.NaN()
	}
	return v.Num / v.Den
}

// values are the scores of a trial, sorted by metric. Those of an estimator are no numbers of a trial.
func values(scores []eval.Score) []value {
	by := map[string]value{}
	for _, s := range scores {
		if s.Row != nil {
			continue
		}
		v := by[s.Metric]
		v.Metric = s.Metric
		if s.Unscored != "" {
			v.Unscored = s.Unscored
		}
		v.Num, v.Den, v.Units = v.Num+s.Num, v.Den+s.Den, v.Units+1
		by[s.Metric] = v
	}
	return slices.SortedFunc(maps.Values(by), func(a, b value) int { return cmp.Compare(a.Metric, b.Metric) })
}

// whole writes files that must not exist yet. They get their names when all of them are written.
func whole(paths []string, write func(to []io.Writer) error) error {
	to, written := make([]io.Writer, len(paths)), []string(nil)
	var open func(i int) error
	open = func(i int) error {
		if i == len(paths) {
			return write(to)
		}
		err := disk.File{Path: paths[i], New: true}.Write(func(w io.Writer) error {
			to[i] = w
			return open(i + 1)
		})
		if err == nil {
			written = append(written, paths[i])
		}
		return err
	}
	err := open(0)
	if err != nil { // the same command again finds no files in its way
		for _, path := range written {
			_ = os.Remove(path)
		}
	}
	return err
}

// input and gold are what an exhibit has of the item.
func input(x eval.Exhibit) string {
	text := x.Lead
	for _, p := range x.Pages {
		if !p.Gold {
			text = strings.TrimPrefix(text+"\n\n"+p.Text, "\n\n")
		}
	}
	return text
}

func gold(x eval.Exhibit) string {
	var lines []string
	for _, r := range x.Rows {
		switch {
		case r.Gold == "":
		case len(x.Rows) == 1:
			lines = append(lines, r.Gold)
		default:
			lines = append(lines, r.Unit+": "+r.Gold)
		}
	}
	return strings.Join(lines, "\n")
}

// id is a stable id of n bytes, in hexadecimal.
func id(n int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:n])
}

// usage is what is known of the tokens of a trial; nil is unknown, and no 0.
func usage(known map[string]float64) object {
	in, ok := known[effort.TokensIn]
	out, both := known[effort.TokensOut]
	if !ok || !both {
		return nil
	}
	return object{"input_tokens": in, "output_tokens": out, "total_tokens": in + out}
}

// orNil is a number for JSON, which has no NaN.
func orNil(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}
