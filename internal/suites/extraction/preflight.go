package extraction

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
)

//go:embed preflight/*.json
var shippedPreflight embed.FS

// A preflightCase is an answer made by hand whose scores are known. It goes
// through the reader and the scorer that real answers go through.
type preflightCase struct {
	Scenario string          `json:"scenario"`
	Document string          `json:"document"`
	Schema   Schema          `json:"schema"`
	Gold     []Gold          `json:"gold"`
	Answer   json.RawMessage `json:"answer"` // a string is the raw answer; an object or list is what it says
	// Field is the field whose scores are expected; the first when not given.
	// Scores of the answer as a whole are found by their names alike.
	Field  string             `json:"field,omitempty"`
	Expect map[string]float64 `json:"expect"`               // metric → exact score
	Most   map[string]float64 `json:"expect_max,omitempty"` // metric → highest score allowed
}

// A PreflightResult is what became of one case.
type PreflightResult struct {
	Case     string   // name of its file, without .json
	Scenario string   // what it tries
	Wrong    []string // what is not as expected; none when the case passed
}

// Preflight puts the shipped cases, and those of a folder of the user's own,
// through reader and scorer. The folder need not exist. An error is about a
// case that cannot be read, not about one that failed.
func Preflight(extra string) ([]PreflightResult, error) {
	shipped, err := fs.Sub(shippedPreflight, "preflight")
	if err != nil {
		panic("extraction: " + err.Error()) // the folder is embedded
	}
	results, err := preflightAll(shipped, "preflight")
	if err != nil || extra == "" {
		return results, err
	}
	if _, err := os.Stat(extra); errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	own, err := preflightAll(os.DirFS(extra), extra)
	return append(results, own...), err
}

func preflightAll(dir fs.FS, name string) ([]PreflightResult, error) {
	files, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("listing pre-flight cases: %w", err)
	}
	slices.Sort(files)
	var results []PreflightResult
	var errs []error
	for _, file := range files {
		data, err := fs.ReadFile(dir, file)
		if err == nil {
			var r PreflightResult
			if r, err = preflight(data); err == nil {
				r.Case = strings.TrimSuffix(file, ".json")
				results = append(results, r)
				continue
			}
		}
		errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(name, file), err))
	}
	return results, errors.Join(errs...)
}

func preflight(data []byte) (PreflightResult, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return PreflightResult{}, err
	}
	d := &prepared{Document: Document{ID: "preflight", Text: c.Document, Schema: c.Schema.Name, Truth: c.Gold}, schema: &c.Schema}
	switch {
	case len(c.Expect)+len(c.Most) == 0:
		return PreflightResult{}, errors.New("the case expects nothing: give expect or expect_max")
	case len(c.Answer) == 0:
		return PreflightResult{}, errors.New("answer is not given")
	}
	var errs []error
	c.Schema.check(func(format string, args ...any) { errs = append(errs, fmt.Errorf("schema: "+format, args...)) })
	if err := errors.Join(append(errs, d.check(&c.Schema))...); err != nil {
		return PreflightResult{}, err
	}
	if c.Field == "" {
		c.Field = c.Gold[0].Field
	}
	answer := string(c.Answer)
	if answer[0] == '"' {
		if err := json.Unmarshal(c.Answer, &answer); err != nil {
			return PreflightResult{}, err
		}
	}
	b := &Bench{weights: DefaultWeights, mix: trustedJudge}
	o := outcomeOf(answer, eval.StopEnd)
	scores := b.score(nil, d.ready(), &o, nil, eval.RoleArm)
	return PreflightResult{Scenario: c.Scenario, Wrong: c.compare(scores)}, nil
}

// sameScore is how far a score may be from what was worked out on paper.
const sameScore = 1e-9

func (c *preflightCase) compare(scores []eval.Score) []string {
	var wrong []string
	find := func(metric string) (float64, bool) {
		for _, s := range scores {
			if s.Metric == metric && (s.Unit == c.Field || s.Unit == "") && s.Unscored == "" {
				return s.Num / s.Den, true
			}
		}
		wrong = append(wrong, fmt.Sprintf("%s: there is no such score", metric))
		return 0, false
	}
	for _, metric := range slices.Sorted(maps.Keys(c.Expect)) {
		if got, ok := find(metric); ok && math.Abs(got-c.Expect[metric]) > sameScore {
			wrong = append(wrong, fmt.Sprintf("%s is %.10g, expected %.10g", metric, got, c.Expect[metric]))
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(c.Most)) {
		if got, ok := find(metric); ok && got > c.Most[metric]+sameScore {
			wrong = append(wrong, fmt.Sprintf("%s is %.10g, expected at most %.10g", metric, got, c.Most[metric]))
		}
	}
	return wrong
}
