package extraction

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed template
var template embed.FS

// Init writes a study that runs into a folder: study file, documents, schema
// and the shipped kernels. It returns what it wrote, the study file first. A
// file that is there already is an error, and then nothing is written.
func Init(dir string) ([]string, error) {
	files, order, err := starter(studyName(dir))
	if err != nil {
		return nil, err
	}
	var paths []string
	var errs []error
	for _, name := range order {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			errs = append(errs, fmt.Errorf("%s is there already: choose another folder, or move it away", path))
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		paths = append(paths, path)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, name := range order {
		if err := os.MkdirAll(filepath.Dir(paths[i]), 0o755); err != nil {
			return nil, fmt.Errorf("writing the study: %w", err)
		}
		if err := os.WriteFile(paths[i], files[name], 0o644); err != nil {
			return nil, fmt.Errorf("writing the study: %w", err)
		}
	}
	return paths, nil
}

// starter is the content of the files of a new study, and their order.
func starter(name string) (map[string][]byte, []string, error) {
	files := map[string][]byte{}
	order := []string{"study.yaml"}
	err := fs.WalkDir(template, "template", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(path, "template/")
		if files[rel], err = template.ReadFile(path); err == nil && rel != "study.yaml" {
			order = append(order, rel)
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading the template: %w", err)
	}
	files["study.yaml"] = []byte(strings.Replace(string(files["study.yaml"]), "NAME", name, 1))
	for _, k := range shippedKernelNames {
		path := "kernels/" + k + ".txt"
		files[path] = []byte(shippedKernel(k))
		order = append(order, path)
	}
	return files, order, nil
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
	return "contracts"
}
