package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/blind"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) blindCommitment(o *opened) error {
	from, withdrawn := o.text("from"), o.text("withdrawn")
	if err := o.x.RecordCommitment(o.rest[0], from, withdrawn, a.user()); err != nil {
		return err
	}
	done := map[string]string{"data_sha256": o.rest[0], "from": from}
	what := "commitment"
	if withdrawn != "" {
		done["withdrawn"], what = withdrawn, "withdrawal"
	}
	return a.result(done, func() { a.say("recorded the %s of %s", what, say.PlainLine(from)) })
}

func (a *app) blindResult(o *opened) error {
	r, err := o.x.RecordBlind(o.rest[0], a.user())
	if err != nil {
		return err
	}
	return a.result(r, func() {
		a.say("recorded the blind validation %s", r)
		if len(r.Simulated) > 0 {
			a.say("SIMULATED: the answers of %s were derived from gold and say nothing about real models", strings.Join(r.Simulated, ", "))
		}
	})
}

func (a *app) buildKit(o *opened) error {
	output := o.text("out")
	if output == "" {
		return errors.New("blind build: give the folder to make with --out")
	}
	x, err := source{path: o.arg, overrides: a.overrides}.load()
	if err != nil {
		return err
	}
	defer x.Close()
	spec, unsent, err := kitSpec(x)
	if err != nil {
		return err
	}
	if o.is("program") {
		if spec.Program, err = os.Executable(); err != nil {
			return err
		}
	}
	spec.Record = func(made blind.Made) error { return x.RecordKit(made.Digest, made.Files, a.user()) }
	made, err := blind.Build(x.File, output, spec)
	if err != nil {
		return fmt.Errorf("blind build: %w", err)
	}
	return a.answer(made, "kit", struct {
		blind.Made
		Dir, Study   string
		Unsent, URLs []string
	}{made, output, quoted(o.arg), unsent, spec.URLs})
}

// kitSpec says what a kit of a study is made of, and what the study reads that stays here.
// Only prompts and the first file of each program go out: other files may be data.
func kitSpec(x *experiment.Experiment) (spec blind.Spec, unsent []string, err error) {
	spec = blind.Spec{Blind: x.Suite.Blind, URLs: urls(x), Version: version()}
	send := x.File.Prompts()
	others := x.File.Used()
	for _, p := range x.Bench.Pipelines() {
		switch {
		case p.Kind != "exec" && p.Kind != "http":
			return spec, nil, x.File.Errorf(spec.Arms, "arm %s has answers to the data of this study: leave it out of the kit with -o", strings.TrimPrefix(p.Model, eval.PipelinePrefix))
		case p.Program != "" && !filepath.IsAbs(p.Program): // an absolute path is of this machine alone
			send = append(send, p.Program)
		}
		if i := slices.IndexFunc(p.Watched, func(rel string) bool { return !slices.Contains(send, rel) }); i >= 0 {
			return spec, nil, x.File.Errorf(spec.Arms, "arm %s watches %s, and of a program a kit has the first file alone: leave the arm out of the kit with -o", strings.TrimPrefix(p.Model, eval.PipelinePrefix), p.Watched[i])
		}
		others = append(others, p.Files...)
	}
	for _, rel := range slices.Compact(slices.Sorted(slices.Values(append(send, others...)))) {
		info, err := os.Stat(x.File.Place(rel))
		switch {
		case err != nil || filepath.Clean(rel) == ".":
		case slices.Contains(send, rel) && info.Mode().IsRegular():
			spec.Files = append(spec.Files, rel)
		case info.Mode().IsRegular() || info.IsDir():
			unsent = append(unsent, rel)
		}
	}
	return spec, unsent, nil
}

// urls are those to which a study sends its data, but for models on this machine.
func urls(x *experiment.Experiment) (list []string) {
	for _, p := range x.Bench.Pipelines() {
		if p.Kind == "http" {
			list = append(list, p.Target)
		}
	}
	used := x.UsedModels()
	for _, m := range x.Study.Models {
		p, ok := findPreset(m.Provider)
		if to := cmp.Or(m.BaseURL, p.baseURL); ok && used[m.ID] && !onLoopback(to) && !slices.Contains(list, to) {
			list = append(list, to)
		}
	}
	return list
}

// openKit opens a kit with its study.
func (a *app) openKit(dir string) (*experiment.Experiment, *blind.Kit, error) {
	if blind.Ran(dir) {
		// The run before was stopped after it had recorded its result.
		if err := removeStore(blind.StoreOf(dir)); err != nil {
			return nil, nil, err
		}
	}
	env := experimentEnv()
	env.Kit = true
	x, err := experiment.Load(filepath.Join(dir, blind.StudyFile), a.overrides, env)
	if err != nil {
		return nil, nil, err
	}
	k, err := blind.Open(dir, x.File, time.Now)
	if err != nil {
		return nil, nil, errors.Join(err, x.Close())
	}
	return x, k, nil
}

func (a *app) commitKit(o *opened) error {
	dir, by := o.arg, o.text("by")
	x, k, err := a.openKit(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	was, err := k.Commit(by, len(x.Items()))
	if err != nil {
		return err
	}
	if was != nil {
		a.warn("note: this replaces the commitment of %s by %s, SHA-256 %s; both stay in the ledger of the kit, and the result names %s", was.At, was.By, was.Data, by)
	}
	if to := urls(x); len(to) > 0 {
		a.warn("note: `scruple blind run` sends your data to %s: set other models, or do not run it, if they must not go there", strings.Join(to, " and "))
	}
	return a.result(map[string]any{"kit_sha256": k.Digest, "data_sha256": k.Data, "documents": len(x.Items())}, func() {
		a.say("committed to %s: SHA-256 %s", text.Plural(len(x.Items()), "document", "documents"), k.Data)
		a.say("send this hash to whoever made the kit and, when they have recorded it, run: scruple blind run %s", quoted(dir))
	})
}

func (a *app) runKit(o *opened) (err error) {
	ctx, dir := o.ctx, o.arg
	x, k, err := a.openKit(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := x.CheckScorer(); err != nil {
		return err
	}
	models, _, closeModels, err := a.models(ctx, x, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModels()) }()
	if err := k.Begin(discipline.DigestOf(x.Treatment)); err != nil {
		return err
	}
	db, err := store.Open(ctx, blind.StoreOf(dir))
	if err != nil {
		return err
	}
	done := false
	defer func() {
		err = errors.Join(err, db.Close())
		if done {
			err = errors.Join(err, removeStore(blind.StoreOf(dir)))
		}
	}()
	r, err := x.StartOrResume(ctx, db, "")
	if err != nil {
		return err
	}
	if err := a.ask(ctx, db, r, models, runOptions{part: experiment.Part{RetryFailed: true}}); err != nil {
		if errors.Is(err, run.ErrStopped) {
			a.warn("the kit is not done: run the same command to continue")
		}
		return err
	}
	result, err := r.Rescore(ctx, 0)
	if err != nil {
		return err
	}
	if share, of := result.Analysis.WorstFailures(); share > result.Analysis.Run.MaxFailed {
		return exit(exitInfrastructure, fmt.Errorf("%.1f %% of %s, the study allows %.1f %%: nothing was written: `scruple blind run %s` asks the failed trials again", 100*share, of, 100*result.Analysis.Run.MaxFailed, quoted(dir)))
	}
	rows, simulated := resultOf(result.Analysis)
	comparisons := append([]analyse.BlindComparison{}, mapped(rows, func(r blindRow) analyse.BlindComparison { return r.BlindComparison })...)
	written, err := k.Finish(comparisons, simulated)
	if err != nil {
		return err
	}
	done = true
	return a.result(written, func() {
		a.tell("blind", map[string]any{"Rows": rows, "Fewest": analyse.FewestBlind, "Simulated": simulated})
		a.say("wrote %s: look at it, and send it", filepath.Join(dir, blind.ResultFile))
	})
}

// A blindRow is a comparison of a kit as it is printed.
type blindRow struct {
	analyse.BlindComparison
	Primary     bool
	Better, Why string
	Percent     float64
}

// resultOf returns the comparisons over all documents, and the arms whose answers, or
// the verdicts on them, were simulated.
func resultOf(a *analyse.Analysis) (rows []blindRow, simulated []string) {
	for _, c := range a.Comparisons {
		if c.Stratum != nil {
			continue
		}
		r := blindRow{Primary: c.Primary, Percent: 100 * float64(c.Level)}
		r.BlindComparison, r.Why = a.ForBlind(c)
		if m, ok := a.Metric(c.Metric); ok && !m.NoDirection {
			r.Better = map[bool]string{true: "higher", false: "lower"}[m.HigherIsBetter]
		}
		rows = append(rows, r)
	}
	for _, arm := range a.Arms {
		if arm.Simulated || arm.SimulatedJudge {
			simulated = append(simulated, arm.ID)
		}
	}
	return rows, simulated
}

// removeStore deletes the answers of a kit.
func removeStore(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
