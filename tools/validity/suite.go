package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The metrics of the suite. A study uses one of them.
const (
	passed   = "passed"
	score    = "score"
	rate     = "rate"
	mistakes = "mistakes"
	f1       = "f1"
)

// noScore in place of a score is a missing one.
const noScore = -1

// A scoresStudy is a study file of the suite: a file of scores and its arms.
type scoresStudy struct {
	study.Study
	Scores string   `json:"scores" jsonschema:"required,minLength=1,description=JSON Lines file with the scores of each item and arm"`
	Metric string   `json:"metric" jsonschema:"required,enum=passed,enum=score,enum=rate,enum=mistakes,enum=f1,description=What the scores are"`
	Arms   []string `json:"arms" jsonschema:"required,minItems=1,description=Names of the arms"`
}

// scoresSuite is a suite whose answers are scores from a file.
func scoresSuite() kit.Suite {
	return kit.Suite{
		Suite: eval.Suite{Name: "scores", Title: "Scores from a file", Primary: []string{passed}, Metrics: []eval.Metric{
			{Name: passed, Title: "Passed", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems, Binary: true},
			{Name: score, Title: "Score", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.MeanOfItems},
			{Name: rate, Title: "Rate", Min: 0, Max: 1, Kind: eval.Scoring, Pooling: eval.RatioOfSums, Binary: true},
			{Name: mistakes, Title: "Mistakes", Min: 0, Max: math.Inf(1), Kind: eval.Scoring, Pooling: eval.MeanOfItems, Counts: true},
			{Name: f1, Title: "F1", Min: 0, Max: 1, HigherIsBetter: true, Kind: eval.Scoring, Pooling: eval.RatioOfSums},
		}},
		Study: func() study.Any { return new(scoresStudy) },
		Open:  kit.Opener(openScores),
	}
}

// A record is a line of the file of scores.
type record struct {
	ID      string               `json:"id"`
	Cluster string               `json:"cluster,omitempty"`
	Scores  map[string][]float64 `json:"scores"` // by arm, one value per opportunity
}

// A scoresBench answers with the scores of the file.
type scoresBench struct {
	kit.Base[*record, *kit.Arm]
	metric string
}

func openScores(f *study.File, own *scoresStudy) (*scoresBench, error) {
	b := &scoresBench{metric: own.Metric}
	for _, id := range own.Arms {
		b.Use(&kit.Arm{Arm: eval.Arm{ID: id, Levels: []eval.Level{{Name: "arm", Value: id}}, Hash: id}})
	}
	path := f.Resolve(own.Scores)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, f.Errorf("scores", "%w", err)
	}
	var records []*record
	for line := range bytes.Lines(data) {
		r := new(record)
		records = append(records, r)
		if err := json.Unmarshal(line, r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(records), err)
		}
		for _, arm := range own.Arms {
			if len(r.Scores[arm]) == 0 {
				return nil, fmt.Errorf("%s:%d: item %q has no score of arm %q", path, len(records), r.ID, arm)
			}
		}
	}
	b.Fill(records, func(r *record) eval.Item {
		return eval.Item{ID: r.ID, Cluster: r.Cluster, Input: eval.HashOf([]byte(r.ID)), Gold: eval.HashOf(nil)}
	})
	return b, nil
}

// Basis is nothing: no arm asks.
func (b *scoresBench) Basis(eval.Trial) eval.Basis { return eval.Basis{} }

// Perform answers with the scores as JSON.
func (b *scoresBench) Perform(_ context.Context, t eval.Trial, _ eval.Asker) (eval.Outcome, error) {
	data, err := json.Marshal(b.Datum(t.Item).Scores[t.Arm])
	return eval.Outcome{Kind: eval.OK, Data: data}, err
}

// Judge is never called: no arm has judges.
func (b *scoresBench) Judge(context.Context, eval.Trial, eval.Outcome, eval.Asker) ([]eval.Verdict, error) {
	return nil, nil
}

// Score reads the scores from the answer, not from the file, so that they have
// been through the store.
func (b *scoresBench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		var values []float64
		if err := json.Unmarshal(t.Outcome.Data, &values); err != nil {
			return append(dst, eval.Score{Metric: b.metric, Unscored: err.Error()})
		}
		for i, x := range values {
			s := eval.Score{Metric: b.metric, Num: x, Den: 1}
			if x == noScore {
				s = kit.Unscored(b.metric, "no verdict")
			}
			if len(values) > 1 {
				s.Unit = strconv.Itoa(i + 1)
			}
			dst = append(dst, s)
		}
		return dst
	})
}

func (b *scoresBench) Show(c eval.Case) (eval.Exhibit, error) {
	return eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: c.Item}, nil
}
