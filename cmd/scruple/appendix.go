package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/appendix"
	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) appendix(o *opened) error {
	ctx, x, from := o.ctx, o.x, o.from
	if len(x.Suite.Appendices) == 0 {
		return fmt.Errorf("appendix: suite %s declares no appendices; scruple report has the tables", x.Suite.Name)
	}
	subjects, err := a.subjects(o)
	if err != nil {
		return err
	}
	s := sourceOf(x, annotationsOf(x, from), subjects)
	if o.run != nil { // people work before any run
		if err := ofRun(ctx, &s, o.db, x, o.run); err != nil {
			return err
		}
	}
	made := []string{}
	if o.is("pages") {
		if made, err = writePages(x, s); err != nil {
			return err
		}
	}
	if s.Outdated {
		a.warn("warning: these are the results as last analysed, and the study changed since: scruple report says what")
	}
	set, err := appendix.Make(x.Suite.Appendices, s)
	if err != nil {
		return err
	}
	dir := cmp.Or(o.text("out"), filepath.Join(resultsDir(x), "appendices"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the folder of appendices: %w", err)
	}
	var names []string
	for _, f := range set.Files {
		name := filepath.Join(dir, f.Name)
		if err := (disk.File{Path: name, Allow: from.keeps(x)}).Write(disk.Bytes(f.Data)); err != nil {
			return err
		}
		names = append(names, name)
	}
	return a.result(map[string]any{"files": names, "pages": made, "missing": set.Missing}, func() {
		for _, name := range made {
			a.say("made %s, for people to write", name)
		}
		a.say("wrote %s to %s", text.Plural(len(names), "appendix", "appendices"), dir)
		a.sayMissing(set.Missing)
	})
}

// sayMissing counts what people have not written, by page.
func (a *app) sayMissing(list []appendix.Missing) {
	if len(list) == 0 {
		return
	}
	a.say("not written yet: %s", text.Plural(len(list), "section", "sections"))
	for len(list) > 0 {
		page, n := list[0].Page, 0
		for n < len(list) && list[n].Page == page {
			n++
		}
		a.say("  %-28s %d", page, n)
		list = list[n:]
	}
}

// sourceOf is what appendices are made of before any run.
func sourceOf(x *experiment.Experiment, place annotate.Place, subjects annotate.Source) appendix.Source {
	return appendix.Source{Study: x.Study, File: x.File, Bench: kit.Suited(x.Bench), Place: place, Subjects: subjects,
		Page: func(path string) (string, bool, error) {
			if err := x.File.Contained(path); err != nil {
				return "", false, err
			}
			data, err := dataset.ReadFile(x.File.Place(path))
			if errors.Is(err, fs.ErrNotExist) {
				return "", false, nil
			}
			return string(data), err == nil, err
		}}
}

// ofRun adds a run. What is not shown of one on TEST is not added.
func ofRun(ctx context.Context, s *appendix.Source, db *store.DB, x *experiment.Experiment, found *store.Run) error {
	kept := keptRun{ctx, db, found, x.Study}
	var err error
	s.Time = kept.Time
	if s.Sessions, err = kept.Sessions(); err != nil {
		return err
	}
	if err := experiment.CheckShown(ctx, db, found); errors.As(err, new(*experiment.NotAllowedError)) {
		return nil
	} else if err != nil {
		return err
	}
	result, err := experiment.Kept(ctx, db, found)
	if errors.Is(err, store.ErrNotFound) { // the run was never analysed
		return nil
	}
	if err := cmp.Or(err, x.CheckGold(ctx, db, found)); err != nil {
		return err
	}
	s.Analysis, s.Kept = result.Analysis, kept
	if err := x.Current(ctx, db, found, result); errors.As(err, new(*experiment.NotAllowedError)) {
		s.Outdated = true
	} else if err != nil {
		return err
	}
	r, err := x.Attach(ctx, db, found)
	s.Prompts = func(t eval.Trial) (map[string]string, error) {
		if err != nil { // the study changed: they cannot be built
			return nil, err
		}
		return r.Prompts(ctx, t, eval.StageRun)
	}
	return nil
}

// writePages makes the pages that do not exist.
func writePages(x *experiment.Experiment, s appendix.Source) (made []string, err error) {
	pages, err := appendix.Pages(x.Suite.Appendices, s)
	if err != nil {
		return nil, err
	}
	made = []string{}
	for _, p := range pages {
		if _, exists, err := s.Page(p.Name); exists || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		paths, err := kit.WriteFiles(x.File.Dir, []kit.File{kit.Bytes(p.Name, p.Data)})
		if err != nil {
			return nil, err
		}
		made = append(made, paths...)
	}
	return made, nil
}

// bundledAppendices lists the appendices of a run for a bundle, and what people have not
// written.
func bundledAppendices(ctx context.Context, db *store.DB, r *experiment.Run, result experiment.Result) (list []bundle.Output, missing []appendix.Missing, err error) {
	if len(r.Suite.Appendices) == 0 {
		return nil, nil, nil
	}
	s := sourceOf(r.Experiment, annotate.At(r.File, r.Study, time.Now), r.Subjects(ctx))
	if err := ofRun(ctx, &s, db, r.Experiment, r.Record); err != nil {
		return nil, nil, err
	}
	s.Analysis, s.Outdated = result.Analysis, false // as computed, not as stored
	set, err := appendix.Make(r.Suite.Appendices, s)
	for _, f := range set.Files {
		list = append(list, bundle.Output{Name: "appendix_" + f.Name, Write: disk.Bytes(f.Data)})
	}
	return list, set.Missing, err
}
