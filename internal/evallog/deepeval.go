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
		Actual      *string  `json:"actualOutput"`
		Expected    string   `json:"expectedOutput"`
		Cost        *float64 `json:"tokenCost"`
		Time        *float64 `json:"completionTime"`
		MetricsData []struct {
			Name  string   `json:"name"`
			Score *float64 `json:"score"`
			Error string   `json:"error"`
		} `json:"metricsData"`
	} `json:"testCases"`
	Conversations []any  `json:"conversationalTestCases"`
	Identifier    string `json:"identifier"`
}

func readDeepEval(files []string, to *Import) error {
	for _, file := range files {
		var outer struct {
			deepEvalRun
			Data *deepEvalRun `json:"testRunData"` // of newer files
		}
		if err := decodeFile(file, 8*mostSample, &outer); err != nil {
			return err
		}
		run := cmp.Or(outer.Data, &outer.deepEvalRun)
		if len(run.Cases) == 0 {
			return fmt.Errorf("%s: unknown version of a test run: want test cases under testCases, or under testRunData", file)
		}
		arm := to.arm(cmp.Or(run.Identifier, strings.TrimSuffix(filepath.Base(file), ".json")), "", file)
		if n := len(run.Conversations); n > 0 {
			to.Note("%s: %d conversational test cases left out", file, n)
		}
		for _, c := range run.Cases {
			s := Sample{Item: "t-" + kit.Hash(c.Input, c.Expected).String(), Arm: arm, Input: c.Input, Expected: c.Expected, Used: map[string]float64{},
				Facts: []eval.Level{{Name: "name", Value: c.Name}}}
			if c.Actual != nil {
				s.Answer = *c.Actual
			}
			for _, m := range c.MetricsData {
				score := Score{Metric: m.Name, Value: math.NaN(), Unscored: firstLine(m.Error)}
				if m.Score != nil && m.Error == "" {
					score.Value = *m.Score
				} else if m.Error == "" {
					score.Unscored = "the metric has no score"
				}
				s.Scores = append(s.Scores, score)
			}
			s.use(effort.Cost, c.Cost)
			s.use(effort.Latency, c.Time)
			if err := to.Add(s); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}
