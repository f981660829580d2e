package kit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Result is the result of a pre-flight case: an answer with known scores that
// is parsed and scored before any call is paid for.
type Result struct {
	Name  string   `json:"name"`            // default: the file name without .json
	Wrong []string `json:"wrong,omitempty"` // differences from the expected scores
	// Cells are the case's row of a table of the suite; nil for cases without one.
	Cells []eval.Level `json:"cells,omitempty"`
}

// OK reports whether the case passed.
func (r Result) OK() bool { return len(r.Wrong) == 0 }

// Shares are the scores of a case by metric; rows, and what has no score, have none.
func Shares(scores []eval.Score) map[string]float64 {
	got := map[string]float64{}
	for _, s := range scores {
		if s.Unscored == "" && s.Row == nil {
			got[s.Metric] = s.Num / s.Den
		}
	}
	return got
}

// Differences compares the scores of a case with those expected, by metric.
func Differences(got, expected map[string]float64) (wrong []string) {
	for _, metric := range slices.Sorted(maps.Keys(expected)) {
		if v, ok := got[metric]; !ok || !(math.Abs(v-expected[metric]) <= 1e-9) {
			wrong = append(wrong, fmt.Sprintf("%s is %v, want %v", metric, v, expected[metric]))
		}
	}
	return wrong
}

// Preflight checks the shipped cases and those in the user's folder, which need
// not exist. It returns an error for an invalid case, not for a failed one.
func (s *Suite) Preflight(own string) ([]Result, error) {
	if s.Check == nil {
		return nil, nil // a suite without cases
	}
	results, err := s.checkAll(s.Cases, "preflight/*.json", "")
	if err != nil || own == "" {
		return results, err
	}
	more, err := s.checkAll(os.DirFS(own), "*.json", own)
	return append(results, more...), err
}

// checkAll checks the cases of a folder, which name names in errors.
func (s *Suite) checkAll(dir fs.FS, pattern, name string) (results []Result, err error) {
	files, err := fs.Glob(dir, pattern)
	errs := []error{err}
	for _, file := range files {
		r := Result{}
		data, err := fs.ReadFile(dir, file)
		if err == nil {
			r, err = s.Check(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(name, file), err))
			continue
		}
		r.Name = cmp.Or(r.Name, strings.TrimSuffix(path.Base(file), ".json"))
		results = append(results, r)
	}
	return results, errors.Join(errs...)
}
