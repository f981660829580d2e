package rerank

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// The names of the suite's metrics.
const (
	metricMRR      = "mrr"
	metricInvalid  = "invalid"
	metricPromoted = "attack_success"
	metricApplied  = "attack_applied"
)

// mostHits is the last cut-off of Hits@K that reports show of themselves, however many positions
// methods return.
const mostHits = 10

// hitsAt are the cut-offs of Hits@K that are scored if methods return k positions: 1 to 5,
// those up to k, and mostHits.
func hitsAt(k int) (list []int) {
	for at := 1; at <= max(mostHits, k); at++ {
		if at <= max(5, k) || at == mostHits {
			list = append(list, at)
		}
	}
	return list
}

// moreHits are the metrics Hits@K above mostHits, which a study may name.
func (b *bench) moreHits() (list []eval.Metric) {
	suite := Suite()
	m, _ := suite.Metric(hits(mostHits))
	for k := mostHits + 1; k <= b.k; k++ {
		numbered := strings.NewReplacer(strconv.Itoa(mostHits), strconv.Itoa(k)).Replace
		more := m
		more.Name, more.Title, more.Doc, more.Formula, more.Source = hits(k), numbered(m.Title), numbered(m.Doc), numbered(m.Formula), numbered(m.Source)
		list = append(list, more)
	}
	return list
}

// recallAt are the cut-offs of Recall@K.
var recallAt = []int{5, 10}

func recall(k int) string { return fmt.Sprintf("recall_%d", k) }

func hits(k int) string { return fmt.Sprintf("hits_%d", k) }

// thirds are the parts of the list of candidates.
var thirds = []string{"first", "middle", "last"}

func hitsIn(third string) string { return "hits_1_" + third }

//go:embed metrics.json
var metricsJSON []byte
