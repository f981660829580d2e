package snapshot

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
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
	Kind      string      `json:"kind"` // of error, or "any"
	Judge     eval.Number `json:"judge"`
	People    eval.Number `json:"people"` // on the spans they checked
	Value     eval.Number `json:"corrected"`
	Low       eval.Number `json:"low"` // 95 %
	High      eval.Number `json:"high"`
	Labelled  int         `json:"checkedSpans"`
	Undefined string      `json:"undefined,omitempty"` // why there is no corrected rate
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
		judge, human := make([]float64, len(q.judge)), make([]float64, len(q.judge))
		labelled := 0
		for i := range q.judge {
			judge[i] = bit(q.judge[i]&mask != 0)
			human[i] = math.NaN()
			if q.human[i] >= 0 {
				human[i] = bit(uint8(q.human[i])&mask != 0)
				labelled++
			}
		}
		if labelled == 0 {
			return nil
		}
		p, err := stats.PredictionPoweredClusters(judge, human, q.cluster, level)
		if err != nil {
			continue
		}
		ci := p.CI.Clamp(0, 1)
		r := Rate{kind, eval.Number(p.JudgeMean), eval.Number(p.HumanMean), eval.Number(p.Estimate), eval.Number(ci.Low), eval.Number(ci.High), labelled, p.Undefined}
		if r.Undefined != "" { // without an interval, a corrected rate would look certain
			r.Value, r.Low, r.High = eval.Undefined(), eval.Undefined(), eval.Undefined()
		}
		rates = append(rates, r)
	}
	return rates
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
