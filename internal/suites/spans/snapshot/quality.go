package snapshot

import (
	"math"

	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/stats"
)

// A Quality collects the errors that a judge found, and those that people found on
// a sample of the same spans.
type Quality struct {
	cluster  []int
	clusters map[string]int
	judge    []uint8
	human    []int16 // -1 for unchecked spans
}

// Add adds the spans of a text: their errors by the judge and by people, as bits in
// the order of [verdict.Kinds]. Human is nil if the text is unchecked.
func (q *Quality) Add(id string, judge, human []uint8) {
	if q.clusters == nil {
		q.clusters = map[string]int{}
	}
	at, ok := q.clusters[id]
	if !ok {
		at = len(q.clusters)
		q.clusters[id] = at
	}
	for i, flags := range judge {
		q.cluster, q.judge = append(q.cluster, at), append(q.judge, flags)
		if i < len(human) {
			q.human = append(q.human, int16(human[i]))
		} else {
			q.human = append(q.human, -1)
		}
	}
}

// A Rate is a judge's error rate, corrected with people's.
type Rate struct {
	Kind string // of error, or "any"
	stats.JudgedRate
}

// Corrected are the prediction-powered rates of each kind of error and of any; nil
// if people checked nothing.
func (q *Quality) Corrected() []Rate {
	var rates []Rate
	for k, kind := range append([]string{"any"}, verdict.Kinds[:]...) {
		mask := uint8(1<<len(verdict.Kinds) - 1)
		if k > 0 {
			mask = 1 << (k - 1)
		}
		var units stats.Judged
		for i := range q.judge {
			human := math.NaN()
			if q.human[i] >= 0 {
				human = bit(uint8(q.human[i])&mask != 0)
			}
			units.Add(q.cluster[i], bit(q.judge[i]&mask != 0), human)
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
