package kit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Result is what one pre-flight case came to: an answer whose scores are
// known is put through a suite's reader and scorer before a cent is spent.
type Result struct {
	Name  string   `json:"name"`            // of its file, without .json, unless the case has one
	Wrong []string `json:"wrong,omitempty"` // what is not as expected; none when the case passed
}

// OK reports that nothing was wrong.
func (r Result) OK() bool { return len(r.Wrong) == 0 }

// Preflight checks the cases that ship with the suite, and those of a folder of
// the user's own, which need not exist. An error is about a case that cannot be
// read, not about one that failed.
func (s *Suite) Preflight(own string) ([]Result, error) {
	if s.Check == nil {
		return nil, nil // a suite without cases
	}
	shipped, err := fs.Sub(s.Cases, "preflight")
	if err != nil {
		return nil, err
	}
	results, err := checkAll(shipped, "preflight", s.Check)
	if err != nil || own == "" {
		return results, err
	}
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	more, err := checkAll(os.DirFS(own), own, s.Check)
	return append(results, more...), err
}

func checkAll(dir fs.FS, name string, check func(data []byte) (Result, error)) ([]Result, error) {
	files, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("listing pre-flight cases: %w", err)
	}
	var results []Result
	var errs []error
	for _, file := range files {
		r := Result{}
		data, err := fs.ReadFile(dir, file)
		if err == nil {
			r, err = check(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(name, file), err))
			continue
		}
		if r.Name == "" {
			r.Name = strings.TrimSuffix(file, ".json")
		}
		results = append(results, r)
	}
	return results, errors.Join(errs...)
}
