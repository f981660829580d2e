package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/appendix"
	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func appendixVerb(a *app) *cobra.Command {
	var dir string
	c := a.verb("soundness appendix", a.on(theStudy, func(o *opened) error { return a.appendix(o.ctx, o.arg, o.x, o.from, dir) }))
	c.Flags().StringVar(&dir, "out", "", "folder to write to (default: appendices, beside the reports)")
	return c
}

func (a *app) appendix(ctx context.Context, arg string, x *experiment.Experiment, from source, dir string) error {
	if len(x.Suite.Appendices) == 0 {
		return fmt.Errorf("appendix: suite %s declares no appendices; scruple report has the tables", x.Suite.Name)
	}
	subjects, closeSubjects, err := a.subjects(ctx, arg, x)
	if err != nil {
		return err
	}
	defer closeSubjects()
	s := appendix.Source{Study: x.Study, Place: annotationsOf(x, from), Subjects: subjects}
	db, found, err := a.findRun(ctx, arg)
	switch {
	case errors.Is(err, store.ErrNotFound): // people work before any run
	case err != nil:
		return err
	default:
		defer db.Close()
		switch result, err := experiment.Kept(ctx, db, found); {
		case errors.Is(err, store.ErrNotFound): // the run was never analysed
		case err != nil:
			return err
		default:
			s.Analysis = result.Analysis
		}
		if s.Sessions, err = (keptRun{ctx, db, found, x.Study}).Sessions(); err != nil {
			return err
		}
	}
	files, err := appendix.Make(x.Suite.Appendices, s)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = filepath.Join(resultsDir(x), "appendices")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the folder of appendices: %w", err)
	}
	var names []string
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if err := (disk.File{Path: name, Allow: from.keeps(x)}).Write(disk.Bytes(f.Data)); err != nil {
			return err
		}
		names = append(names, name)
	}
	return a.result(names, func() { a.say("wrote %s to %s", text.Plural(len(names), "appendix", "appendices"), dir) })
}

// bundledAppendices lists the appendices of a run for a bundle.
func bundledAppendices(ctx context.Context, db *store.DB, r *experiment.Run, result experiment.Result) ([]bundle.Output, error) {
	s := appendix.Source{Study: r.Study, Place: annotate.At(r.File, r.Study, db.Path(), time.Now), Subjects: r.Subjects(ctx), Analysis: result.Analysis}
	var err error
	if s.Sessions, err = (keptRun{ctx, db, r.Record, r.Study}).Sessions(); err != nil {
		return nil, err
	}
	files, err := appendix.Make(r.Suite.Appendices, s)
	if err != nil {
		return nil, err
	}
	var list []bundle.Output
	for _, f := range files {
		list = append(list, bundle.Output{Name: "appendix_" + f.Name, Write: func(w io.Writer) error {
			_, err := w.Write(f.Data)
			return err
		}})
	}
	return list, nil
}
