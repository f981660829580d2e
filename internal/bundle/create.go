package bundle

import (
	"context"
	"crypto/sha256"
	_ "embed" // the readme
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Source is what to pack: a run in a store, and its study with the overrides that it
// was loaded with.
type Source struct {
	Experiment *experiment.Experiment
	Overrides  []string
	Store      *store.DB
	Run        *store.Run
}

// Create packs a run of a study into a file. It refuses a run whose results are not
// those of its stored answers, and a study that needs what cannot be packed, with all
// reasons. The file is replaced only when the bundle is whole and [Verify] finds nothing
// in it.
func Create(ctx context.Context, file string, s Source, env Env) (_ *Manifest, err error) {
	kept, err := experiment.Kept(ctx, s.Store, s.Run)
	if err != nil {
		return nil, err
	}
	dir, remove, err := disk.Temp("bundle", s.Run.ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	book, origin, entries, err := ledgerOf(s)
	if err != nil {
		return nil, err
	}
	studyFile, err := gather(s.Experiment, book, dir)
	if err != nil {
		return nil, err
	}
	m := newManifest(s, kept.Analysis.Run.Version, studyFile)
	gathered, err := list(dir)
	if err != nil {
		return nil, err
	}
	reasons, err := leaks(dir, gathered, env.Private)
	if err != nil {
		return nil, err
	}
	more, err := addStore(ctx, dir, m, s, env)
	if err != nil {
		return nil, err
	}
	if reasons = append(reasons, more...); len(reasons) > 0 {
		return nil, &RefusedError{reasons}
	}
	if len(entries) > 0 {
		m.Ledger = ledger.HeadOf(entries)
	}
	if err := addLedger(dir, m, book, origin, entries); err != nil {
		return nil, err
	}
	if err := addReport(ctx, dir, m, env); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, readmeName), []byte(readme(m)), 0o600); err != nil {
		return nil, err
	}
	if m.Files, err = list(dir); err != nil {
		return nil, err
	}
	if reasons, err = leaks(dir, m.Files, env.Private); err != nil {
		return nil, err
	}
	if len(reasons) > 0 {
		return nil, &RefusedError{reasons}
	}
	return m, writeBundle(file, dir, m, func(written string) error { return verifies(ctx, written, env) })
}

// verifies returns an error that names what differs if a bundle does not verify.
func verifies(ctx context.Context, file string, env Env) error {
	v, err := Verify(ctx, file, env)
	if err != nil {
		return fmt.Errorf("verifying the bundle before it gets its name: %w", err)
	}
	if v.OK() {
		return nil
	}
	reasons := []string{"the bundle would not verify, so no file was written; `scruple doctor` checks the store, and `scruple run --new` makes a new run with the stored answers:"}
	for _, f := range v.Findings {
		reasons = append(reasons, f.String())
	}
	return &RefusedError{reasons}
}

// addStore extracts the run from the store. Reasons are private texts in it.
func addStore(ctx context.Context, dir string, m *Manifest, s Source, env Env) (reasons []string, err error) {
	file := filepath.Join(dir, filepath.FromSlash(m.store()))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	what := store.Extraction{Run: s.Run.ID, StudyPath: path.Base(m.StudyFile), Process: "bundle:1"}
	for _, p := range s.Experiment.Bench.Pipelines() {
		if id, _, ok := strings.Cut(p.Target, ":"); p.Kind == "run" && ok {
			what.Others = append(what.Others, id)
		}
	}
	earlier, err := s.Experiment.Replicated(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	if earlier != nil {
		what.Others = append(what.Others, earlier.ID)
	}
	for _, p := range env.Private {
		if p.Path {
			what.Hide = append(what.Hide, p.Text)
		}
	}
	if err := s.Store.Extract(ctx, file, what); err != nil {
		return nil, err
	}
	packed, err := store.OpenRead(ctx, file)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	for _, p := range env.Private {
		found, err := packed.Mentions(ctx, p.Text)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			reasons = append(reasons, fmt.Sprintf("the store: %s %s in %s of %s: what models and programs were asked and answered cannot be edited", text.Plural(f.Rows, "row has", "rows have"), p.What, f.Column, f.Table))
		}
	}
	again, err := packed.Run(ctx, s.Run.ID)
	if err != nil {
		return nil, err
	}
	progress, err := packed.Progress(ctx, again)
	m.Calls = progress.Calls
	return reasons, err
}

// ledgerOf finds the ledger of a study. It is beside the store or, with --store elsewhere,
// that of the study; in a bundle these are one place.
func ledgerOf(s Source) (file, origin string, entries []ledger.Entry, err error) {
	file = filepath.Join(filepath.Dir(s.Store.Path()), ledger.Name)
	if entries, err = ledger.Read(file); err != nil {
		return "", "", nil, err
	}
	own, origin := ledger.Find(s.Experiment.File.Dir)
	other, err := ledger.Read(own)
	switch {
	case err != nil:
		return "", "", nil, err
	case len(entries) == 0:
		return own, origin, other, nil
	case len(other) > 0 && ledger.HeadOf(other) != ledger.HeadOf(entries):
		return "", "", nil, refused("%s and %s are two ledgers of the study, and a bundle has one: use the store beside the study, without --store", own, file)
	}
	return file, origin, entries, nil
}

// addLedger copies the ledger, with a file that says where the study was seen from it.
func addLedger(dir string, m *Manifest, from, origin string, entries []ledger.Entry) error {
	to := filepath.Join(dir, filepath.FromSlash(m.folder()), storeDir, ledger.Name)
	if err := os.WriteFile(filepath.Join(filepath.Dir(to), ledger.OriginName), []byte(origin), 0o600); err != nil || len(entries) == 0 {
		return err
	}
	for _, suffix := range []string{"", ledger.HeadSuffix} {
		if err := copyFile(from+suffix, to+suffix); err != nil && !(suffix != "" && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// addReport renders the report from the files of the bundle, which shows that they
// suffice, and refuses a run whose stored results are others.
func addReport(ctx context.Context, dir string, m *Manifest, env Env) error {
	again, err := reproduce(ctx, dir, m, env)
	if err != nil {
		return fmt.Errorf("scoring run %s with the packed files alone: %w", m.Run, err)
	}
	defer again.Close()
	if again.other != nil {
		return refused("the stored results of run %s are not those of its answers, study and people's work as they are now: bring them up to date with `scruple score`, which asks nothing (%v)", m.Run, again.other)
	}
	if err := os.MkdirAll(filepath.Join(dir, reportDir), 0o700); err != nil {
		return err
	}
	for _, o := range again.outputs {
		if err := disk.Create(filepath.Join(dir, reportDir, o.Name), o.Write); err != nil {
			return err
		}
	}
	return nil
}

// list lists the files of a folder with their checksums, sorted by path.
func list(dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		f := File{Path: filepath.ToSlash(rel)}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f.Size, f.Exec = info.Size(), info.Mode().Perm()&0o100 != 0
		f.SHA256, err = sumFile(p)
		files = append(files, f)
		return err
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(files); i++ {
		if strings.EqualFold(files[i-1].Path, files[i].Path) {
			return nil, refused("%s and %s are the same file on some systems: rename one", files[i-1].Path, files[i].Path)
		}
	}
	return files, err
}

func sumFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// writeBundle replaces a file with the archive of a folder, durably, if check returns nil
// for what was written, which is in the folder first.
func writeBundle(file, dir string, m *Manifest, check func(written string) error) error {
	packed := filepath.Join(dir, ".bundle.zip")
	err := disk.Create(packed, func(w io.Writer) error { return writeArchive(w, dir, m) })
	if err == nil {
		err = check(packed)
	}
	if err != nil {
		return err
	}
	in, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer in.Close()
	return disk.File{Path: file}.Write(func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

//go:embed readme.md
var readmeText string

// readme tells a reader without Scruple what the bundle is.
func readme(m *Manifest) string {
	return strings.NewReplacer("RUN", m.Run, "STUDY", m.Study, "SUITE", m.Suite, "VERSION", m.Scruple, "FOLDER", m.folder(), "FILE", m.StudyFile).Replace(readmeText)
}
