package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// notOurs refuses what only scruple writes: the files beside its store.
func notOurs(t disk.Target) error {
	if dir := filepath.Dir(discipline.StorePath(t.Path)); filepath.Base(filepath.Dir(t.Path)) == filepath.Base(dir) {
		return fmt.Errorf("%s has the store and the ledger: choose another folder", filepath.Dir(t.Path))
	}
	return nil
}

// keeps returns what [disk.File] asks before it writes a result of the study: it refuses
// the store, the ledger, people's answers, and what the study reads. x is nil if the
// study is not loaded; it is then read if a file exists.
func (s source) keeps(x *experiment.Experiment) func(disk.Target) error {
	return func(t disk.Target) error {
		if err := notOurs(t); err != nil {
			return err
		}
		for _, path := range storeFiles(s.store) {
			if leadsTo(t, path) {
				return errors.New("it belongs to the store: choose another name")
			}
		}
		if t.Info == nil {
			return nil
		}
		if within(filepath.Dir(filepath.Dir(t.Path)), annotate.Of(s.path, "", s.store, time.Now).Dir) {
			return errors.New("it has people's answers: choose another name")
		}
		for _, path := range s.reads(x) {
			if leadsTo(t, path) || within(t.Path, path) && !within(s.path, path) {
				return fmt.Errorf("the study %s reads it: choose another name", s.path)
			}
		}
		return nil
	}
}

// storeFiles lists the files of a store and of the ledger beside it.
func storeFiles(path string) []string {
	if path == "" {
		return nil
	}
	log := filepath.Join(filepath.Dir(path), ledger.Name)
	return []string{path, path + "-wal", path + "-shm", path + "-journal", path + ".lock", log, log + ledger.HeadSuffix}
}

// reads lists the files and folders that a study reads, itself included.
func (s source) reads(x *experiment.Experiment) []string {
	list := []string{s.path, filepath.Join(filepath.Dir(s.path), ".env")}
	var file *study.File
	var models []study.Model
	if x != nil {
		file, models = x.File, x.Study.Models
	} else {
		f, own, suite, err := experiment.Read(s.path, s.overrides, experimentEnv())
		if err != nil {
			return list
		}
		if bench, err := suite.Open(f, own); err == nil { // after an error, what was read up to it
			bench.Close()
		}
		file, models = f, own.Common().Models
	}
	for _, rel := range file.Used() {
		list = append(list, file.Place(rel))
	}
	for _, m := range models {
		if m.Cassette != "" {
			list = append(list, file.Place(m.Cassette))
		}
	}
	return list
}

// leadsTo reports whether a path leads to a target.
func leadsTo(t disk.Target, path string) bool {
	info, err := os.Stat(path)
	if err == nil && t.Info != nil {
		return os.SameFile(info, t.Info)
	}
	return withoutLinks(path) == t.Path
}

// within reports whether a file is in a folder or in one below.
func within(file, folder string) bool {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false
	}
	rel, err := filepath.Rel(withoutLinks(folder), withoutLinks(file))
	return err == nil && filepath.IsLocal(rel)
}

// withoutLinks is a path as [disk.Target] has it: the last part need not exist.
func withoutLinks(path string) string {
	if to, err := disk.Follow(path); err == nil {
		return to
	}
	return path
}

// notInput refuses to write over a file that the verb reads.
func notInput(inputs ...string) func(disk.Target) error {
	return func(t disk.Target) error {
		if err := notOurs(t); err != nil {
			return err
		}
		if slices.ContainsFunc(inputs, func(path string) bool { return leadsTo(t, path) }) {
			return errors.New("it is what is read: choose another name")
		}
		return nil
	}
}

// print writes to standard output or, if it is given, to the file of --out.
func (a *app) print(to string, from source, write func(io.Writer) error) error {
	if to == "" {
		return write(a.out)
	}
	return disk.File{Path: to, Allow: from.keeps(nil)}.Write(write)
}

// checkOut returns an error if --out cannot be written, for verbs that take long before.
func checkOut(to string, from source) error {
	if to == "" {
		return nil
	}
	return disk.File{Path: to, Allow: from.keeps(nil)}.Check()
}

// checkResults returns an error if the reports of a study cannot be written, before
// anything is paid.
func (s source) checkResults(x *experiment.Experiment) error {
	for _, f := range reportFiles(x) {
		if err := (disk.File{Path: f.path, Allow: s.keeps(x)}).Check(); err != nil {
			return x.File.Errorf("output.results_dir", "the results cannot be written: %w; give another folder, or output.generate_report: false", err)
		}
	}
	return nil
}
