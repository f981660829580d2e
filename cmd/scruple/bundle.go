package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/appendix"
	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) bundle(o *opened) error {
	output := o.text("out")
	if output == "" {
		return errors.New("bundle: give the file to write with --out, such as --out study.zip")
	}
	if err := a.opens(o, aRun); err != nil {
		return err
	}
	ctx, db, r, from := o.ctx, o.db, o.run, o.from
	from.overrides = slices.Clone(r.Overrides)
	for _, o := range a.overrides {
		if !slices.Contains(from.overrides, o) {
			from.overrides = append(from.overrides, o)
		}
	}
	x, err := from.load()
	if err != nil {
		return err
	}
	defer x.Close()
	if err := checkOut(output, from); err != nil {
		return err
	}
	var missing []appendix.Missing
	env := a.bundleEnv(&missing)
	if env.Private, err = a.private(x, from); err != nil {
		return err
	}
	m, err := bundle.Create(ctx, output, bundle.Source{Experiment: x, Overrides: from.overrides, Store: db, Run: r}, env)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", r.ID, err)
	}
	if x.Study.Split == study.SplitDev {
		if err := a.noteTest(ctx, db, x.Study.Name); err != nil {
			return err
		}
	}
	return a.result(map[string]any{"file": output, "sha256": m.Sum(), "manifest": m}, func() {
		split := ""
		if x.Study.Split != "" {
			split = " on " + strings.ToUpper(x.Study.Split)
		}
		a.say("wrote %s: run %s%s, %s", output, m.Run, split, text.Plural(len(m.Files), "file", "files"))
		a.say("SHA-256 of its manifest: %s", m.Sum())
		a.sayMissing(missing)
	})
}

// noteTest says that the study has a TEST run, which a bundle of its DEV run lacks.
func (a *app) noteTest(ctx context.Context, db *store.DB, name string) error {
	test, err := db.LastRun(ctx, name, study.SplitTest)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		a.warn("note: the bundle has the DEV run; TEST ran, too, as %s: `%s` packs that", test.ID, commandOf([]string{"bundle", test.ID, "--out", "test.zip"}, nil, db.Path()))
	}
	return err
}

// bundleEnv says how bundles are made. missing gets what people have not written.
func (a *app) bundleEnv(missing *[]appendix.Missing) bundle.Env {
	return bundle.Env{Experiment: experimentEnv(), Samples: samplesPerArm, Agree: a.agree,
		Outputs: func(ctx context.Context, db *store.DB, r *experiment.Run, result experiment.Result) (list []bundle.Output, err error) {
			list, *missing, err = bundleOutputs(ctx, db, r, result)
			return list, err
		}}
}

// bundleOutputs lists the report in all formats, the tables of a run, and its appendices with
// what people have not written.
func bundleOutputs(ctx context.Context, db *store.DB, r *experiment.Run, result experiment.Result) ([]bundle.Output, []appendix.Missing, error) {
	shown := report.Report{Analysis: result.Analysis, Verdict: result.Verdict}
	list := outputsOf(ctx, db, r.Record, shown, experiment.TableNames())
	packed, err := packedExports(ctx, db, r)
	if err != nil {
		return nil, nil, err
	}
	appendices, missing, err := bundledAppendices(ctx, db, r, result)
	return slices.Concat(list, packed, appendices), missing, err
}

// packedExports lists the files of a suite's formats that bundles have.
func packedExports(ctx context.Context, db *store.DB, r *experiment.Run) (list []bundle.Output, err error) {
	dir, remove, err := disk.Temp("exports", r.Record.ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	for _, e := range r.Suite.Exports {
		if !e.Packed {
			continue
		}
		if _, err := e.Write(kit.Suited(r.Bench), keptRun{ctx, db, r.Record, r.Study}, dir); err != nil {
			return nil, err
		}
	}
	files, err := os.ReadDir(dir)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, bundle.Output{Name: f.Name(), Write: disk.Bytes(data)})
	}
	return list, err
}

// private lists what no bundle may contain: keys, and the folders of this machine.
func (a *app) private(x *experiment.Experiment, from source) ([]bundle.Private, error) {
	env := filepath.Join(x.File.Dir, ".env")
	getenv, err := study.DotEnv(env, a.getenv)
	if err != nil {
		return nil, err
	}
	var list []bundle.Private
	for _, name := range secrets(x, getenv) {
		for _, form := range model.Forms(keyOf(name, getenv)) {
			list = append(list, bundle.Private{What: "the key in " + name, Text: form})
		}
	}
	var folders []string
	for _, dir := range []string{x.File.Dir, filepath.Dir(from.store)} {
		if dir, err := filepath.Abs(dir); err == nil {
			folders = append(folders, dir)
		}
	}
	home, err := os.UserHomeDir()
	if err == nil && !slices.Contains(folders, home) {
		folders = append(folders, home)
	}
	for _, dir := range folders {
		if strings.Count(dir, string(filepath.Separator)) > 1 || len(dir) > 8 || dir == home && len(dir) > 1 { // not / or /tmp
			list = append(list, bundle.Private{What: "the path " + dir, Text: dir + string(filepath.Separator), Path: true})
		}
	}
	return list, nil
}

func (a *app) verify(o *opened) error {
	expect := o.text("expect")
	if sum, err := hex.DecodeString(expect); err != nil || expect != "" && len(sum) != sha256.Size {
		return fmt.Errorf("verify: --expect %s: want a SHA-256, %d hexadecimal digits, as bundle printed it", text.Shorten(expect, 100), 2*sha256.Size)
	}
	v, err := bundle.Verify(o.ctx, o.arg, a.bundleEnv(new([]appendix.Missing)))
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if expect != "" && !strings.EqualFold(expect, v.Sum) {
		v.Findings = append(v.Findings, bundle.Finding{File: "MANIFEST.json", Text: "its SHA-256 is " + v.Sum + ", not the expected one"})
	}
	err = a.answer(map[string]any{"ok": v.OK(), "verification": v, "verified_by": version()}, "verified", v)
	if err == nil && !v.OK() {
		err = exit(exitFail, nil)
	}
	return err
}
