package snapshot

import (
	"math"

	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/stats"
)

// A Quality collects the errors that a judge found, and those that people found on
// a sample of the same spans.
type Quality struct {
	clusters map[string]int
	units    []unit
}

// A unit is a span in its cluster, with its errors as bits in the order of [verdict.Kinds].
type unit struct {
	cluster      int
	judge, human int16 // -1 for unknown ones
}

// Add adds the spans of a text: their errors by the judge and by people, as bits in
// the order of [verdict.Kinds]. Human is nil if the text is unchecked.
func (q *Quality) Add(cluster string, judge, human []uint8) {
	for i, flags := range judge {
		u := unit{judge: int16(flags), human: -1}
		if i < len(human) {
			u.human = int16(human[i])
		}
		q.add(cluster, u)
	}
}

// AddWrong adds spans that are wrong whoever judges, such as those of an answer that cannot be
// read. They have an error, but none of a kind.
func (q *Quality) AddWrong(cluster string, spans int) {
	for range spans {
		q.add(cluster, unit{judge: -1, human: everyKind})
	}
}

func (q *Quality) add(cluster string, u unit) {
	if q.clusters == nil {
		q.clusters = map[string]int{}
	}
	at, ok := q.clusters[cluster]
	if !ok {
		at = len(q.clusters)
		q.clusters[cluster] = at
	}
	u.cluster = at
	q.units = append(q.units, u)
}

// A Rate is a judge's error rate, corrected with people's.
type Rate struct {
	Kind string // of error, or "any"
	stats.JudgedRate
}

const everyKind = 1<<len(verdict.Kinds) - 1

// Corrected are the prediction-powered rates of each kind of error and of any; nil
// if people checked nothing.
func (q *Quality) Corrected() []Rate {
	var rates []Rate
	for k, kind := range append([]string{"any"}, verdict.Kinds[:]...) {
		mask := int16(everyKind)
		if k > 0 {
			mask = 1 << (k - 1)
		}
		has := func(errors int16) float64 {
			if errors < 0 {
				return math.NaN()
			}
			return bit(errors&mask != 0)
		}
		var units stats.Judged
		for _, u := range q.units {
			if k == 0 || u.judge >= 0 {
				units.Add(u.cluster, has(u.judge), has(u.human))
			}
		}
		r, err := stats.CorrectedRate(units, stats.Judged{}, level)
		if err != nil || r.Labelled == 0 {
			return nil
		}
		rates = append(rates, Rate{kind, r})
	}
	return rates
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
