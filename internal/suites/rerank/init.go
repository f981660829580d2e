package rerank

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed template/study.yaml
var templateStudy string

// Init writes a study that runs into a folder: study file and a generated data
// set. It returns what it wrote, the study file first. A file that is there
// already is an error, and then nothing is written.
func Init(dir string) ([]string, error) {
	study, data := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "data")
	for _, path := range []string{study, data} {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is there already: choose another folder, or move it away", path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	files, _, err := Make(data, Making{Seed: 42, Items: 80, Reviews: 960, Requests: 60})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(study, []byte(strings.Replace(templateStudy, "NAME", studyName(dir), 1)), 0o644); err != nil {
		return nil, fmt.Errorf("writing the study: %w", err)
	}
	return append([]string{study}, files...), nil
}

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// studyName makes a study's name of the folder it is written to.
func studyName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if name := strings.Trim(unsafeName.ReplaceAllString(filepath.Base(dir), "-"), "-."); name != "" {
		return name
	}
	return "reranking"
}
