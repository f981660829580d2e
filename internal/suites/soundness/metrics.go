package soundness

import (
	_ "embed"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The metrics.
const (
	metricFragment  = "fragment_pass"
	metricUnanimous = "unanimous_pass"
	metricAgreement = "unanimous_agreement"
	metricRun       = "run_pass"
	metricAccuracy  = "accuracy"
	metricMatch     = "label_match"
	metricCoherent  = "coherent"
	metricKappa     = "kappa_expert"
)

//go:embed metrics.json
var metricsJSON []byte

func metrics() []eval.Metric {
	return kit.Metrics(metricsJSON, map[string]func([]eval.Counted) float64{metricKappa: kappa})
}
