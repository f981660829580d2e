package rerank

import (
	_ "embed"
	"fmt"
)

// The names of the suite's metrics.
const (
	metricMRR      = "mrr"
	metricInvalid  = "invalid"
	metricPromoted = "attack_success"
	metricApplied  = "attack_applied"
)

// mostHits is the last cut-off of Hits@K, however many positions methods return: reports stay short.
const mostHits = 10

// hitsAt are the cut-offs of Hits@K that are scored if methods return k positions: 1 to 5,
// those up to k, and the last one.
func hitsAt(k int) (list []int) {
	for at := range mostHits - 1 {
		if at < max(5, k) {
			list = append(list, at+1)
		}
	}
	return append(list, mostHits)
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
