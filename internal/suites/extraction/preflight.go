package extraction

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

//go:embed preflight/*.json
var shippedPreflight embed.FS

// A preflightCase is a hand-written answer with known scores. It is parsed and
// scored like a real answer.
type preflightCase struct {
	Scenario string          `json:"scenario"`
	Document string          `json:"document"`
	Schema   Schema          `json:"schema"`
	Gold     []Gold          `json:"gold"`
	Answer   json.RawMessage `json:"answer"` // a string is the raw answer; an object or list is its JSON
	// Field is the field whose scores are expected, by default the first. Scores
	// of the whole answer are also found.
	Field  string             `json:"field,omitempty"`
	Expect map[string]float64 `json:"expect"`               // metric → exact score
	Most   map[string]float64 `json:"expect_max,omitempty"` // metric → highest score allowed
}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	d := &prepared{Document: Document{ID: "preflight", Text: c.Document, Schema: c.Schema.Name, Truth: c.Gold}, schema: &c.Schema}
	switch {
	case len(c.Expect)+len(c.Most) == 0:
		return kit.Result{}, errors.New("the case has no expected scores: add expect or expect_max")
	case len(c.Answer) == 0:
		return kit.Result{}, errors.New("answer is missing")
	}
	var errs []error
	c.Schema.check(func(format string, args ...any) { errs = append(errs, fmt.Errorf("schema: "+format, args...)) })
	if err := errors.Join(append(errs, d.check(&c.Schema, goldRules{}, func(string) {}))...); err != nil {
		return kit.Result{}, err
	}
	if c.Field == "" && len(c.Gold) > 0 {
		c.Field = c.Gold[0].Field
	}
	answer := string(c.Answer)
	if answer[0] == '"' {
		if err := json.Unmarshal(c.Answer, &answer); err != nil {
			return kit.Result{}, err
		}
	}
	b := &bench{weights: DefaultWeights, mix: trustedJudge}
	o := outcomeOf(answer, eval.StopEnd, &c.Schema)
	got := map[string]float64{}
	for _, s := range b.score(nil, d.ready(), &o, nil, eval.RoleArm) {
		if _, dup := got[s.Metric]; !dup && s.Unscored == "" && (s.Unit == c.Field || s.Unit == "") {
			got[s.Metric] = s.Num / s.Den
		}
	}
	wrong := kit.Differences(got, c.Expect)
	for _, metric := range slices.Sorted(maps.Keys(c.Most)) {
		if score, ok := got[metric]; !ok || !(score <= c.Most[metric]+1e-9) {
			wrong = append(wrong, fmt.Sprintf("%s is %v, want at most %v", metric, score, c.Most[metric]))
		}
	}
	return kit.Result{Wrong: wrong}, nil
}
