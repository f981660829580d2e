package evallog

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// deepEval reads test runs of DeepEval: .deepeval/.latest_test_run.json, or a file of its
// results folder. Read with files of deepeval 4.3.1.
var deepEval = Format{Name: "deepeval", Doc: "test runs of DeepEval: .deepeval/.latest_test_run.json", Read: readDeepEval}

type deepEvalRun struct {
	Cases []struct {
		Name        string   `json:"name"`
		Input       string   `json:"input"`
		Actual      string   `json:"actualOutput"`
		Expected    string   `json:"expectedOutput"`
		Cost        *float64 `json:"tokenCost"`
		Time        *float64 `json:"completionTime"`
		TokensIn    *float64 `json:"inputTokenCount"`
		TokensOut   *float64 `json:"outputTokenCount"`
		MetricsData []struct {
			Name      string   `json:"name"`
			Score     *float64 `json:"score"`
			Threshold *float64 `json:"threshold"`
			Success   *bool    `json:"success"`
			Error     string   `json:"error"`
		} `json:"metricsData"`
	} `json:"testCases"`
	Conversations []any  `json:"conversationalTestCases"`
	Identifier    string `json:"identifier"`
}

// A deepEvalWay is the direction of a metric, which no file states. Before version 4 a case succeeded
// by Bias, Toxicity, Hallucination and Misuse with a score below the threshold, now above it.
type deepEvalWay struct {
	higher, lower bool // a success, or a failure, says so
	file          string
}

func readDeepEval(files []string, to *Import) error {
	known := map[string]deepEvalWay{}
	for _, file := range files {
		var outer struct {
			deepEvalRun
			Data *deepEvalRun `json:"testRunData"` // of newer files
		}
		if err := decodeFile(file, 8*mostSample, &outer); err != nil {
			return err
		}
		run := cmp.Or(outer.Data, &outer.deepEvalRun)
		if len(run.Cases) == 0 && len(run.Conversations) > 0 {
			return fmt.Errorf("%s: has conversational test cases alone, which are not read", file)
		}
		if len(run.Cases) == 0 {
			return fmt.Errorf("%s: unknown version of a test run: want test cases under testCases, or under testRunData", file)
		}
		arm := to.arm(cmp.Or(run.Identifier, strings.TrimSuffix(filepath.Base(file), ".json")), "", file)
		if n := len(run.Conversations); n > 0 {
			to.Note("%s: %d conversational test cases left out", file, n)
		}
		ways := map[string]deepEvalWay{}
		for _, c := range run.Cases {
			s := Sample{Item: "t-" + kit.Hash(c.Input, c.Expected).String(), Arm: arm, Input: c.Input, Expected: c.Expected, Answer: c.Actual, Used: map[string]float64{},
				Facts: []eval.Level{{Name: "name", Value: c.Name}}}
			for _, m := range c.MetricsData {
				score := Score{Metric: m.Name, Value: math.NaN(), Unscored: firstLine(m.Error)}
				if m.Score != nil && m.Error == "" {
					score.Value = *m.Score
					if m.Success != nil && m.Threshold != nil && *m.Score != *m.Threshold {
						w, up := ways[m.Name], *m.Success == (*m.Score > *m.Threshold)
						ways[m.Name] = deepEvalWay{w.higher || up, w.lower || !up, file}
					}
				} else if m.Error == "" {
					score.Unscored = "the metric has no score"
				}
				s.Scores = append(s.Scores, score)
			}
			s.use(effort.Cost, c.Cost)
			s.use(effort.Latency, c.Time)
			s.use(effort.TokensIn, c.TokensIn)
			s.use(effort.TokensOut, c.TokensOut)
			if err := to.Add(s); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		for _, name := range sortedKeys(ways) {
			w, other := ways[name], known[name]
			switch {
			case w.higher && w.lower:
				to.Note("%s: success by metric %q does not follow its threshold: higher is taken to be better", file, name)
			case w.higher && other.lower || w.lower && other.higher:
				return fmt.Errorf("higher is better by metric %q in one of %s and %s, and lower in the other, as in versions of DeepEval before 4: evaluate both with one version", name, other.file, file)
			default:
				known[name] = w
			}
			if known[name].lower {
				to.metric(name).Lower = true
				to.Note("metric %q: lower is better, by its threshold", name)
			}
		}
	}
	return nil
}
