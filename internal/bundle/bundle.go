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
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/store"
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
	// People gives a run the agreement of people. It returns how many of their verdicts the
	// store lacks.
	People func(ctx context.Context, db *store.DB, r *experiment.Run) (int, error)
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
	return fmt.Sprintf("%x", sha256.Sum256(b))
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
