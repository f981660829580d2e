package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Verification is what [Verify] checked and found.
type Verification struct {
	Manifest *Manifest `json:"manifest"`
	Sum      string    `json:"sha256"` // of the manifest
	Checked  []string  `json:"checked"`
	Findings []Finding `json:"findings"`

	dir string // where the files are while they are checked
}

// OK reports whether nothing differs.
func (v *Verification) OK() bool { return len(v.Findings) == 0 }

func (v *Verification) checked(format string, args ...any) {
	v.Checked = append(v.Checked, fmt.Sprintf(format, args...))
}

// found notes an error, with the paths that files have in the bundle.
func (v *Verification) found(file string, err error) {
	v.Findings = append(v.Findings, Finding{file, strings.ReplaceAll(err.Error(), v.dir+string(filepath.Separator), "")})
}

// Verify checks a bundle: every checksum, the ledger, and that its answers give its
// report. The error is for a file that is not a bundle or cannot be read by this version;
// differences are findings.
func Verify(ctx context.Context, file string, env Env) (_ *Verification, err error) {
	dir, remove, err := disk.Temp("verify", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	m, findings, err := readArchive(file, dir)
	if err != nil {
		return nil, err
	}
	v := &Verification{Manifest: m, Sum: m.Sum(), Findings: findings, dir: dir}
	if !v.OK() {
		return v, nil
	}
	v.checked("%s with the checksums of the manifest, and nothing else", text.Plural(len(m.Files), "file", "files"))
	if err := guard(dir, m, env); err != nil {
		return nil, err
	}
	if err := v.checkStore(ctx); err != nil {
		return nil, err
	}
	v.checkLedger()
	if !v.OK() {
		return v, nil
	}
	again, err := reproduce(ctx, dir, m, env)
	if ours(ctx, err) {
		return nil, err
	}
	if err != nil {
		v.found(m.StudyFile, fmt.Errorf("scoring the packed answers: %w", err))
		return v, nil
	}
	defer again.Close()
	place := annotate.At(again.x.File, again.x.Study, time.Now) // of people's work and the ledger
	if entries, files, err := place.Verify(); err != nil {
		v.found(path.Join(m.folder(), "annotations"), err)
	} else if len(files) > 0 {
		v.checked("%s of people, as the %s of the ledger recorded them", text.Plural(len(files), "file", "files"), text.Plural(entries, "entry", "entries"))
	}
	if again.other != nil {
		v.found(m.store(), again.other)
	}
	if err := v.compareManifest(ctx, again); err != nil {
		return nil, err
	}
	if err := v.checkOutcomes(ctx, again.run); err != nil {
		return nil, err
	}
	if err := v.compare(ctx, again); err != nil {
		return nil, err
	}
	return v, nil
}

// guard refuses a study that would read files outside of the bundle.
func guard(dir string, m *Manifest, env Env) error {
	f, _, _, err := experiment.Read(filepath.Join(dir, filepath.FromSlash(m.StudyFile)), m.Overrides, env.Experiment)
	if err != nil {
		return err
	}
	if reasons := localPaths(f, climbs(m.folder())); len(reasons) > 0 {
		return &RefusedError{reasons}
	}
	return nil
}

// ours reports whether an error says nothing about the bundle: this machine stopped, is full, or
// cannot read the store.
func ours(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || disk.Full(err) || store.Unread(err))
}

func (v *Verification) checkStore(ctx context.Context) error {
	name := v.Manifest.store()
	db, err := store.OpenRead(ctx, filepath.Join(v.dir, filepath.FromSlash(name)))
	if err == nil {
		err = errors.Join(db.Sound(ctx), db.Close())
	}
	if ours(ctx, err) {
		return err
	}
	if err != nil {
		v.found(name, err)
		return nil
	}
	v.checked("the store: its plan and answers have their checksums")
	return nil
}

func (v *Verification) checkLedger() {
	name := path.Join(v.Manifest.folder(), storeDir, ledger.Name)
	entries, err := ledger.Read(filepath.Join(v.dir, filepath.FromSlash(name)))
	switch {
	case err != nil:
		v.found(name, err)
	case ledger.HeadOf(entries) != v.Manifest.Ledger:
		v.found(name, fmt.Errorf("its head is entry %d, but the manifest says entry %d with another hash", len(entries), v.Manifest.Ledger.Seq))
	case len(entries) > 0:
		v.checked("the ledger: %s, chained", text.Plural(len(entries), "entry", "entries"))
	}
}

// checkOutcomes derives outcomes and verdicts from their answers: they have no checksum of
// their own.
func (v *Verification) checkOutcomes(ctx context.Context, run *experiment.Run) error {
	rep, err := run.Repeat(ctx)
	if err != nil {
		return err
	}
	if len(rep.Different) > 0 {
		v.found(v.Manifest.store(), rep.Err())
		return nil
	}
	note := ""
	for _, part := range []struct {
		n    int
		text string
	}{
		{rep.Earlier, "NOT CHECKED: " + text.Plural(rep.Earlier, "trial", "trials") + " of an earlier plan, the study moved on since"},
		{rep.Reread, "NOT CHECKED: " + text.Plural(rep.Reread, "trial", "trials") + " with another, as an earlier version of Scruple read the answers"},
		{rep.Left, "not of " + text.Plural(rep.Left, "trial", "trials") + " that left the plan"},
		{rep.Failed, text.Plural(rep.Failed, "failed trial", "failed trials") + " without one"},
		{rep.Unrepeated, fmt.Sprintf("NOT CHECKED: %s, such as %v", text.Plural(rep.Unrepeated, "trial", "trials"), rep.Why)},
	} {
		if part.n > 0 {
			note += "; " + part.text
		}
	}
	v.checked("%s of trials, derived from the answers again%s", text.Plural(rep.Outcomes, "outcome", "outcomes"), note)
	if rep.Verdicts > 0 {
		v.checked("%s of judges, derived from their answers again", text.Plural(rep.Verdicts, "verdict", "verdicts"))
	}
	return nil
}

// compareManifest compares what the manifest says of the run with the run. The hash of an
// arm covers a program that is installed on this machine: it can be another one here.
func (v *Verification) compareManifest(ctx context.Context, again *reproduction) error {
	m := v.Manifest
	progress, err := again.db.Progress(ctx, again.run.Record)
	if err != nil {
		return err
	}
	is := newManifest(Source{Experiment: again.x, Overrides: m.Overrides, Run: again.run.Record}, again.kept.Analysis.Run.Version, m.StudyFile)
	is.Go, is.Calls, is.Ledger, is.Files = m.Go, progress.Calls, m.Ledger, m.Files
	for _, p := range again.x.Bench.Pipelines() {
		if p.Kind != "exec" || !installed(p.Target) || len(is.Arms) != len(m.Arms) {
			continue
		}
		for i := range is.Arms {
			is.Arms[i].Hash = m.Arms[i].Hash
		}
	}
	if m.Sum() != is.Sum() {
		v.found(manifestName, errors.New("its versions, study, arms or counts are not those of the packed run"))
	}
	return nil
}

// installed reports whether a command names a file by its absolute path, which no bundle has.
func installed(command string) bool {
	words, _ := text.SplitCommand(command)
	return slices.ContainsFunc(words, func(w string) bool { return path.IsAbs(w) || filepath.IsAbs(w) })
}

// compare compares what the answers give with the files of the report.
func (v *Verification) compare(ctx context.Context, again *reproduction) error {
	made := map[string]bool{}
	for _, o := range again.outputs {
		name := path.Join(reportDir, o.Name)
		made[name] = true
		file, err := os.Open(filepath.Join(v.dir, filepath.FromSlash(name)))
		if err != nil {
			v.found(name, err)
			continue
		}
		at, err := differs(file, o.Write)
		file.Close()
		if ours(ctx, err) {
			return err
		}
		if err != nil {
			v.found(name, err)
		} else if at >= 0 {
			v.found(name, fmt.Errorf("the packed answers give another file, from byte %d", at))
		}
	}
	for _, f := range v.Manifest.Files {
		if path.Dir(f.Path) == reportDir && !made[f.Path] {
			v.found(f.Path, errors.New("the packed answers give no such file"))
		}
	}
	if v.OK() {
		v.checked("scores, analysis and report, computed again: %s, the same bytes", text.Plural(len(made), "file", "files"))
	}
	return nil
}

// A reproduction is a run scored and analysed again from the files of a bundle.
type reproduction struct {
	x       *experiment.Experiment
	db      *store.DB
	run     *experiment.Run
	kept    experiment.Result // as stored
	result  experiment.Result // as computed
	other   error             // how what is stored differs
	outputs []Output
}

// reproduce scores the packed answers. The files of the bundle do not change.
func reproduce(ctx context.Context, dir string, m *Manifest, env Env) (_ *reproduction, err error) {
	a := &reproduction{}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if a.db, err = store.OpenRead(ctx, filepath.Join(dir, filepath.FromSlash(m.store()))); err != nil {
		return nil, err
	}
	found, err := a.db.Run(ctx, m.Run)
	if err != nil {
		return nil, err
	}
	// The study of the store is beside the folder of the store.
	studyFile := filepath.Join(dir, filepath.FromSlash(m.StudyFile))
	if found.StudyPath != studyFile {
		return nil, fmt.Errorf("run %s is of the study %s, not of %s", m.Run, found.StudyPath, m.StudyFile)
	}
	if a.kept, err = experiment.Kept(ctx, a.db, found); err != nil {
		return nil, err
	}
	same := env.Experiment
	same.Version = m.Scruple // that analysed: the report names it
	same.Tagged = func(tag string) string {
		r, err := a.db.Tagged(ctx, tag, m.Run)
		if err != nil { // the arm says what is wrong
			return ""
		}
		return r.ID
	}
	if a.x, err = experiment.Load(studyFile, m.Overrides, same); err != nil {
		return nil, err
	}
	if err := a.x.CheckScorer(); err != nil {
		return nil, err
	}
	if a.run, err = a.x.Attach(ctx, a.db, found); err != nil {
		return nil, err
	}
	differ, err := a.run.PeopleDiff(ctx)
	if err != nil {
		return nil, err
	}
	if n := differ.Len(); n > 0 {
		return nil, fmt.Errorf("%s of people not as in the store: bring it up to date with `scruple score`", text.Plural(n, "verdict is", "verdicts are"))
	}
	env.Agree(ctx, a.db, a.run)
	if a.result, a.other, err = a.run.Recompute(ctx, env.Samples(len(a.x.Bench.Arms())), a.kept); err != nil {
		return nil, err
	}
	shown := a.kept // the same, in the bytes of the processor that computed it
	if a.other != nil {
		shown = a.result
	}
	a.outputs, err = env.Outputs(ctx, a.db, a.run, shown)
	return a, err
}

// Close closes the study and the store.
func (a *reproduction) Close() error {
	var errs []error
	if a.x != nil {
		errs = append(errs, a.x.Close())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	return errors.Join(errs...)
}

// Open unpacks a bundle whose files have the checksums of its manifest, and opens its store for
// reading. What the answers give is not computed again, as [Verify] does. close removes the
// files.
func Open(ctx context.Context, file string) (m *Manifest, db *store.DB, close func() error, err error) {
	dir, remove, err := disk.Temp("baseline", "")
	if err != nil {
		return nil, nil, nil, err
	}
	m, findings, err := readArchive(file, dir)
	if err == nil && len(findings) > 0 {
		err = refused("%s is damaged: %s: `scruple verify %s` lists what differs", file, findings[0], file)
	}
	if err == nil {
		db, err = store.OpenRead(ctx, filepath.Join(dir, filepath.FromSlash(m.store())))
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, remove())
	}
	return m, db, func() error { return errors.Join(db.Close(), remove()) }, nil
}
