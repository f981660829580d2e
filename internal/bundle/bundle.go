// Package bundle packs a run into one file that another person can check: the study
// with its data, prompts and programs, the answers, verdicts and people's work, the
// ledger, the report, and a checksum of each. [Create] writes it, and [Verify] checks
// it on another machine: it scores, analyses and renders again, and compares the
// bytes. Neither calls a model or starts a program of the study.
//
// # Format
//
// A bundle is a ZIP archive:
//
//	MANIFEST.json      a [Manifest]: format, versions, run, ledger head, files
//	README.md          how to check and use the bundle
//	SHA256SUMS         for sha256sum -c
//	files/study/…      the folder of the study, with what the study reads in it
//	files/study/.scruple/scruple.db      the store, with this run and those it took answers from
//	files/study/.scruple/ledger.jsonl    the ledger
//	files/study/.scruple/origin          where the study was, seen from it
//	files/study/annotations/…            people's work
//	report/…           the report and tables of the run
//
// The study file is packed as it is. If it reads files outside of its folder, such as
// ../data/x.jsonl, they are packed where this path leads from files/study, which is
// nested as deep as needed: names of folders above the study are not packed, apart from
// those below its repository, which the ledger has. An
// unpacked bundle is an ordinary study with its store: `scruple report` and `scruple
// run` work in it, and have all answers.
//
// The bytes depend on the content alone: no times of packing, names of machines or
// order of rows in the store. Only another version of Go may compress them otherwise.
//
// # What is refused
//
// A bundle contains no keys, absolute paths or files that the study does not name. A
// study that needs them is refused with the place. A bundle that is read is not
// trusted: see readArchive.
//
// The package must not know any suite, provider or format of reports: these are
// arguments.
package bundle

import (
	"context"
	_ "embed" // the readme
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// Format names the format of bundles that this version writes and reads.
const Format = "scruple-bundle-1"

// The names of files in a bundle.
const (
	manifestName = "MANIFEST.json"
	readmeName   = "README.md"
	sumsName     = "SHA256SUMS"
	filesDir     = "files"
	reportDir    = "report"
	storeDir     = ".scruple"
	storeName    = "scruple.db"
)

// A Manifest describes a bundle.
type Manifest struct {
	Format    string      `json:"format"`
	Scruple   string      `json:"scruple"` // version that analysed the run
	Go        string      `json:"go"`      // version that compressed the archive
	Analysis  string      `json:"analysis_format"`
	Suite     string      `json:"suite"`
	Study     string      `json:"study"`      // name
	StudyFile string      `json:"study_file"` // path in the bundle
	Overrides []string    `json:"overrides"`
	Run       string      `json:"run"`
	Trials    int         `json:"trials"`
	Calls     int         `json:"calls"`
	Arms      []Arm       `json:"arms"`
	Ledger    ledger.Head `json:"ledger"`
	Files     []File      `json:"files"` // all but the manifest and the list of checksums, sorted by path
}

// An Arm names the version of an arm: a hash of its prompt, settings or program.
type Arm struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`
}

// A File is a file of a bundle.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Exec   bool   `json:"executable,omitempty"`
}

// Env is what bundles need from the calling program.
type Env struct {
	Experiment experiment.Env
	// Outputs renders the report and the tables of a run.
	Outputs func(ctx context.Context, db *store.DB, r *experiment.Run, result experiment.Result) ([]Output, error)
	// Agree gives a run the agreement of people.
	Agree func(ctx context.Context, db *store.DB, r *experiment.Run)
	// Samples is how many of the best and of the worst trials of an arm a report shows.
	Samples func(arms int) int
	// Private are texts that no bundle contains, such as keys and the folder of the
	// user, by what they are.
	Private []Private
}

// A Private is a text that no bundle contains.
type Private struct {
	What string // such as "the key of model m"; printed instead of a secret
	Text string
	// Path texts are removed from messages of errors; others are only refused.
	Path bool
}

// An Output is a file that is computed from a run.
type Output struct {
	Name  string
	Write func(io.Writer) error
}

// A RefusedError reports why a run cannot be packed, or a bundle not be read.
type RefusedError struct{ Reasons []string }

func (e *RefusedError) Error() string { return strings.Join(e.Reasons, "\n") }

func refused(format string, args ...any) error {
	return &RefusedError{[]string{fmt.Sprintf(format, args...)}}
}

// encode writes the manifest as it stands in the bundle.
func (m *Manifest) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// Sum is the SHA-256 of the manifest. It covers all files.
func (m *Manifest) Sum() string {
	b, err := m.encode()
	if err != nil {
		panic("bundle: encoding a manifest: " + err.Error()) // plain strings and numbers
	}
	return dataset.SHA256(b)
}

// sums is the content of SHA256SUMS.
func (m *Manifest) sums() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", m.Sum(), manifestName)
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%s  %s\n", f.SHA256, f.Path)
	}
	return []byte(b.String())
}

// folder is the folder of the study in the bundle.
func (m *Manifest) folder() string { return path.Dir(m.StudyFile) }

// store is the store of the run in the bundle.
func (m *Manifest) store() string { return path.Join(m.folder(), storeDir, storeName) }

// newManifest describes a run, without files.
func newManifest(s Source, analysed, studyFile string) *Manifest {
	x, r := s.Experiment, s.Run
	m := &Manifest{Format: Format, Scruple: analysed, Go: runtime.Version(), Analysis: analyse.Format, Suite: x.Study.Suite,
		Study: x.Study.Name, StudyFile: studyFile, Overrides: append([]string{}, s.Overrides...), Run: r.ID, Trials: r.Trials}
	for _, arm := range x.Bench.Arms() {
		m.Arms = append(m.Arms, Arm{arm.ID, arm.Hash})
	}
	slices.SortFunc(m.Arms, func(a, b Arm) int { return strings.Compare(a.ID, b.ID) })
	return m
}

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
	book, origin := ledger.Find(s.Experiment.File.Dir)
	entries, err := ledger.Read(book)
	if err != nil {
		return nil, err
	}
	studyFile, err := gather(s.Experiment, book, dir)
	if err != nil {
		return nil, err
	}
	m := newManifest(s, kept.Analysis.Run.Version, studyFile)
	m.Ledger = ledger.HeadOf(entries)
	gathered, err := list(dir)
	if err != nil {
		return nil, err
	}
	reasons, err := leaks(dir, gathered, m.store(), env.Private)
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
	if err := addLedger(dir, m, book, origin); err != nil {
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
	if reasons, err = leaks(dir, m.Files, m.store(), env.Private); err != nil {
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
	if err != nil {
		return nil, err
	}
	m.Calls = progress.Calls
	return reasons, nil
}

// addLedger copies the ledger, with a file that says where the study was seen from it.
func addLedger(dir string, m *Manifest, from, origin string) error {
	files, err := ledger.Copy(from, origin)
	for _, f := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, filepath.FromSlash(m.folder()), storeDir, f.Name), f.Data, 0o600))
	}
	return err
}

// addReport renders the report from the files of the bundle, which shows that they
// suffice, and refuses a run whose stored results are others.
func addReport(ctx context.Context, dir string, m *Manifest, env Env) error {
	again, err := reproduce(ctx, dir, m, env)
	if err != nil {
		return fmt.Errorf("scoring run %s with the packed files alone: %w", m.Run, err)
	}
	defer again.Close()
	if tags, err := again.db.Tags(ctx, again.run.Record); err != nil {
		return err
	} else if again.other != nil && len(tags) > 0 {
		return refused("run %s has the tag %s and keeps its results, and the study, its files or people's work changed since: bundle it from the version of the folder that made it (%v)", m.Run, strings.Join(tags, ", "), again.other)
	}
	if again.other != nil {
		return refused("the stored results of run %s are not those of its answers, study and people's work as they are now: bring them up to date with `scruple score`, which asks nothing (%v)", m.Run, again.other)
	}
	if err := os.MkdirAll(filepath.Join(dir, reportDir), 0o700); err != nil {
		return err
	}
	for _, o := range again.outputs {
		if err := (disk.File{Path: filepath.Join(dir, reportDir, o.Name), New: true}).Write(o.Write); err != nil {
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
		f.Exec = info.Mode().Perm()&0o100 != 0
		f.SHA256, f.Size, err = disk.Sum(p)
		files = append(files, f)
		return err
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	seen := map[string]string{}
	for _, f := range files {
		name := strings.ToLower(f.Path)
		if earlier := seen[name]; earlier != "" {
			return nil, refused("%s and %s are the same file on some systems: rename one", earlier, f.Path)
		}
		seen[name] = f.Path
	}
	return files, err
}

// writeBundle replaces a file with the archive of a folder, durably, if check returns nil
// for what was written, which is in the folder first.
func writeBundle(file, dir string, m *Manifest, check func(written string) error) error {
	packed := filepath.Join(dir, ".bundle.zip")
	err := disk.File{Path: packed, New: true}.Write(func(w io.Writer) error { return writeArchive(w, dir, m) })
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
