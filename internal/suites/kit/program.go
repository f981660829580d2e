package kit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// program sets the version of a pipeline's program: what the study gives, and a hash
// of the files that it watches or that the command names.
func (p *Planner) program(pipeline *eval.Pipeline, o Outside) error {
	asks := pipeline.Kind == kindExec || pipeline.Kind == kindHTTP
	if !asks && len(o.Watch) > 0 || !asks && o.Version != "" {
		return fmt.Errorf("watch and version are for exec and http: remove them from an arm with %s", pipeline.Kind)
	}
	if !asks {
		return nil
	}
	watch := o.Watch
	var named []string
	if pipeline.Kind == kindExec {
		if named = p.namedFiles(o.Exec); len(named) > 0 {
			pipeline.Program = named[0]
		}
	}
	read := hashed{of: map[string]fileHash{}}
	current := func(all bool) (string, []string, error) {
		files, err := p.watched(watch)
		if err != nil {
			return "", nil, err
		}
		files = slices.Compact(slices.Sorted(slices.Values(append(files, named...))))
		version, err := p.versionOf(o.Version, files, &read, all)
		return version, files, err
	}
	var err error
	if pipeline.Watched, err = p.watched(watch); err == nil {
		pipeline.Version, pipeline.Files, err = current(true)
	}
	pipeline.Current = func(all bool) (string, error) {
		version, _, err := current(all)
		return version, err
	}
	return err
}

// versionOf joins the given version with a hash of the files' names and contents.
func (p *Planner) versionOf(given string, files []string, read *hashed, all bool) (string, error) {
	if len(files) == 0 {
		return given, nil
	}
	var parts []string
	for _, file := range files {
		sum, err := read.file(p.Program(file), all)
		if err != nil {
			return "", fmt.Errorf("reading %s of the pipeline's program: %w", file, err)
		}
		parts = append(parts, filepath.ToSlash(file), sum.String())
	}
	return strings.TrimPrefix(given+" "+Hash(parts...).String(), " "), nil
}

// hashed are hashes of files, with what tells that a file was written since.
type hashed struct {
	mu sync.Mutex
	of map[string]fileHash
}

type fileHash struct {
	fs.FileInfo
	sum eval.Hash
}

// file hashes a file, unless it has the size and time of the last one read, and not all are read.
func (h *hashed) file(path string, all bool) (eval.Hash, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	last, known := h.of[path]
	if !all && known && last.Size() == info.Size() && last.ModTime().Equal(info.ModTime()) {
		return last.sum, nil
	}
	sum, err := hashFile(path)
	if err == nil {
		h.of[path] = fileHash{info, sum}
	}
	return sum, err
}

// namedFiles lists the files that the words of a command name. A program found on the
// PATH is not among them: it is not the user's.
func (p *Planner) namedFiles(command string) (files []string) {
	words, err := text.SplitCommand(command)
	if err != nil {
		return nil // starting it will say so
	}
	base := p.Resolve(".")
	for i, w := range words {
		if i == 0 && !strings.ContainsAny(w, `/\`) {
			continue
		}
		full := w // not resolved: most words are not files that the study reads
		if !filepath.IsAbs(w) {
			full = filepath.Join(base, w)
		}
		if info, err := os.Stat(full); w != "" && err == nil && info.Mode().IsRegular() {
			files = append(files, w)
		}
	}
	return files
}

// watched lists the regular files that patterns match, those in matched folders
// included. Links are not followed out of a folder.
func (p *Planner) watched(patterns []string) (files []string, err error) {
	base := p.Resolve(".")
	for _, pattern := range patterns {
		found, err := filepath.Glob(p.Resolve(pattern))
		if err != nil {
			return nil, fmt.Errorf("watch: pattern %q: %w", pattern, err)
		}
		n := len(files)
		for _, path := range found {
			err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if relative, err := filepath.Rel(base, path); err == nil {
						path = relative
					}
					files = append(files, path)
				}
				return err
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("watch: %w", err)
			}
		}
		if len(files) == n {
			return nil, fmt.Errorf("watch: %q matches no file (relative paths begin in the study's folder)", pattern)
		}
	}
	return files, nil
}
