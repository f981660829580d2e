// Package blind makes kits for blind validations. An outsider runs a study once on
// private documents, after committing to them, and sends back averages.
//
// A kit is a folder: study.yaml, the prompts, templates, instructions, and KIT.json with
// what must not change. Its ledger has three entries: a hash of the data ([CommitEntry]),
// the run ([RunEntry]) and the result ([ResultEntry]).
//
// # The result
//
// The file blind-result.json has the averages of each comparison, and no document:
//
//	{
//	  "format": "scruple-blind/1",
//	  "by": "a group",
//	  "data_sha256": "…64 digits…",
//	  "comparisons": [
//	    {"a": "ctn", "b": "idiomatic", "metric": "composite",
//	     "diff": 0.08, "low": 0.05, "high": 0.11, "p": 0.001, "pairs": 40}
//	  ]
//	}
//
// diff is the mean of a − b over documents, low and high its interval, p that of the
// planned test; numbers that do not exist are null, as are those of comparisons with fewer
// than five pairs. A key simulated lists the arms whose
// answers were simulated.
//
// The package must not know suites, models or stores: who calls it runs the study.
package blind

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// The names of files of a kit.
const (
	StudyFile  = "study.yaml"
	ResultFile = "blind-result.json"
	DetailFile = "blind-detail.age"
	kitFile    = "KIT.json"
	documents  = "documents"
	schemas    = "schemas"
)

// kitFormat is the format of KIT.json.
const kitFormat = "scruple-kit/2"

// The kinds of entries in the ledger of a kit.
const (
	CommitEntry = "blind data"
	RunEntry    = "blind run"
	ResultEntry = "blind result"
)

//go:embed template
var template embed.FS

// fixed are the keys of a study that must not change, so that the result is one of the
// study that the kit was made of.
var fixed = []string{"suite", "kernels", "comparisons", "metrics", "statistics", "judge_model", "weights"}

// data are the keys of a study that say where its data are, as [Build] writes them. They
// must stay, so that what runs is what [hashData] covers.
var data = []struct{ key, value string }{
	{"documents", `{"source": "directory", "path": "` + documents + `"}`},
	{"schemas", `"` + schemas + `"`},
}

// dropped are the keys of a study that a kit does not need.
var dropped = []string{"decide", "assume", "annotation", "output", "documents", "schemas", "split", "budget", "replicates", "blind"}

// IsKit reports whether a folder is a kit.
func IsKit(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, kitFile))
	return err == nil
}

// A kit is the content of KIT.json.
type kit struct {
	Format  string            `json:"format"`
	Study   string            `json:"study"` // name of the study that it was made of
	Scruple string            `json:"scruple"`
	Fixed   map[string]string `json:"fixed"` // hashes of keys of the study
	Files   map[string]string `json:"files"` // hashes of files that must not change
}

// withoutAcross leaves out the factors across which a study compares differences: an
// outsider's data have other strata, and models of their own.
func withoutAcross(comparisons json.RawMessage) (json.RawMessage, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(comparisons, &list); err != nil {
		return nil, err
	}
	for _, c := range list {
		delete(c, "across")
	}
	return json.Marshal(list)
}

// Build writes a kit of a study into a new folder. files are those that the study
// reads besides its data, by their paths relative to the study; program is a copy of this
// program to add, "" for none.
func Build(f *study.File, dir string, files []string, version, program string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another folder", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(f.Canonical(), &keys); err != nil {
		return err
	}
	var name string
	if err := json.Unmarshal(keys["name"], &name); err != nil {
		return err
	}
	if keys["documents"] == nil {
		return f.Errorf("suite", "a kit is made of a study with documents, such as one of suite extraction")
	}
	if list := keys["comparisons"]; list != nil {
		list, err := withoutAcross(list)
		if err != nil {
			return err
		}
		keys["comparisons"] = list
	}
	held, err := fixedOf(keys)
	if err != nil {
		return err
	}
	k := kit{Format: kitFormat, Study: name, Scruple: version, Fixed: held, Files: map[string]string{}}
	for _, key := range dropped {
		delete(keys, key)
	}
	keys["name"] = json.RawMessage(fmt.Sprintf("%q", name+"-blind"))
	for _, d := range data {
		keys[d.key] = json.RawMessage(d.value)
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return fmt.Errorf("writing the study of the kit: %w", err)
	}
	install := "    go install github.com/scruple-eval/scruple/cmd/scruple@latest\n\nThe kit was made with version " + version + "; `scruple --version` shows yours."
	if program != "" {
		install = "The program is in this folder: write `./" + filepath.Base(program) + "` instead of `scruple`."
	}
	readme, err := template.ReadFile("template/README.md")
	if err != nil {
		return err
	}
	content := map[string][]byte{
		StudyFile:   append([]byte("# Set your models here, and where a kernel has models. The rest of kernels, comparisons, metrics and statistics must stay.\n"), text...),
		"README.md": []byte(strings.NewReplacer("STUDY", name, "INSTALL", install).Replace(string(readme))),
	}
	for _, name := range []string{"document.txt", "document.json", "schema.json"} {
		if content["templates/"+name], err = template.ReadFile("template/" + name); err != nil {
			return err
		}
	}
	for _, file := range files {
		if !filepath.IsLocal(file) {
			return fmt.Errorf("%s: a kit has files of the study's folder only: move it there", file)
		}
		if content[filepath.ToSlash(file)], err = os.ReadFile(f.Place(file)); err != nil {
			return err
		}
		k.Files[filepath.ToSlash(file)] = hashOf(content[filepath.ToSlash(file)])
	}
	if content[kitFile], err = json.MarshalIndent(k, "", "  "); err != nil {
		return err
	}
	for name, data := range content {
		if err := place(dir, name, data, 0o644); err != nil {
			return err
		}
	}
	for _, empty := range []string{documents, schemas} {
		if err := os.MkdirAll(filepath.Join(dir, empty), 0o755); err != nil {
			return err
		}
	}
	if program == "" {
		return nil
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return place(dir, filepath.Base(program), data, 0o755)
}

// place writes a file of a kit.
func place(dir, name string, data []byte, mode fs.FileMode) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fixedOf hashes the keys that must not change. The models of a kernel may.
func fixedOf(keys map[string]json.RawMessage) (map[string]string, error) {
	hashes := map[string]string{}
	for _, key := range fixed {
		value := []byte(keys[key])
		if value == nil {
			continue
		}
		if key == "kernels" {
			var kernels []map[string]json.RawMessage
			if err := json.Unmarshal(value, &kernels); err != nil {
				return nil, err
			}
			for _, k := range kernels {
				delete(k, "models")
			}
			var err error
			if value, err = json.Marshal(kernels); err != nil {
				return nil, err
			}
		}
		hashes[key] = hashOf(value)
	}
	return hashes, nil
}

// IsPrompt reports whether a file that a study reads is a prompt. A prompt in the folder
// of kernels comes before the shipped one with its name.
func IsPrompt(file string) bool {
	return strings.HasPrefix(filepath.ToSlash(file), "kernels/") || strings.HasSuffix(file, ".txt")
}

// A Kit is a kit on the outsider's machine.
type Kit struct {
	dir     string
	kit     kit
	data    string // hash of the data as they are
	entries []ledger.Entry
	now     func() time.Time
}

// A NotAllowedError reports that the protocol forbids what was asked for.
type NotAllowedError struct{ Reason string }

func (e *NotAllowedError) Error() string { return e.Reason }

func forbid(format string, args ...any) error {
	return &NotAllowedError{fmt.Sprintf(format, args...)}
}

// Open reads a kit and checks that its study and files are those that it was made with.
func Open(dir string, f *study.File, now func() time.Time) (*Kit, error) {
	k := &Kit{dir: dir, now: now}
	data, err := os.ReadFile(filepath.Join(dir, kitFile))
	if err != nil {
		return nil, fmt.Errorf("%s is not a kit: %w", dir, err)
	}
	if err := dataset.DecodeStrict(data, &k.kit); err != nil {
		return nil, dataset.Locate(filepath.Join(dir, kitFile), data, err)
	}
	if k.kit.Format != kitFormat {
		return nil, fmt.Errorf("%s has format %q, but this scruple reads %s: use the version that made it, %s", filepath.Join(dir, kitFile), k.kit.Format, kitFormat, k.kit.Scruple)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(f.Canonical(), &keys); err != nil {
		return nil, err
	}
	have, err := fixedOf(keys)
	if err != nil {
		return nil, err
	}
	for _, key := range fixed {
		if have[key] != k.kit.Fixed[key] {
			return nil, forbid("%v", f.Errorf(key, "%s is not that of the kit: undo the change, or the result would not count", key))
		}
	}
	if err := ownData(f, keys); err != nil {
		return nil, err
	}
	for name, want := range k.kit.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("%s: %q leads out of the kit", filepath.Join(dir, kitFile), name)
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		if hashOf(data) != want {
			return nil, forbid("%s is not that of the kit: restore it from the kit, or the result would not count", filepath.Join(dir, name))
		}
	}
	for _, name := range f.Used() {
		if name = filepath.ToSlash(name); !IsPrompt(name) || k.kit.Files[name] != "" || strings.HasPrefix(name, documents+"/") {
			continue
		}
		if info, err := os.Stat(f.Place(name)); err == nil && info.Mode().IsRegular() {
			return nil, forbid("%s is not part of the kit and would be used as a prompt: remove it, or the result would not count", f.Place(name))
		}
	}
	if k.data, err = hashData(dir); err != nil {
		return nil, err
	}
	k.entries, err = ledger.Read(k.ledger())
	return k, err
}

// ownData checks that a study reads the data of the kit, all of them, and no other.
func ownData(f *study.File, keys map[string]json.RawMessage) error {
	for _, d := range data {
		var want, have any
		if err := errors.Join(json.Unmarshal([]byte(d.value), &want), json.Unmarshal(keys[d.key], &have)); err != nil {
			return err
		}
		if !reflect.DeepEqual(have, want) {
			return forbid("%v", f.Errorf(d.key, "the data of a kit are in its folders %s and %s, which the committed hash covers: write %s: %s", documents, schemas, d.key, d.value))
		}
	}
	if keys["split"] != nil {
		return forbid("%v", f.Errorf("split", "a kit runs on all committed documents: remove split"))
	}
	return nil
}

// Ran reports whether the kit in a folder has a result in its ledger.
func Ran(dir string) bool {
	k := &Kit{dir: dir}
	k.entries, _ = ledger.Read(k.ledger()) // Open reports the error
	_, ran := k.last(ResultEntry)
	return ran
}

// StoreOf is the store of the run of the kit in a folder.
func StoreOf(dir string) string { return filepath.Join(dir, ".scruple", "kit.db") }

func (k *Kit) ledger() string { return filepath.Join(k.dir, ".scruple", ledger.Name) }

// Data is the hash of the data.
func (k *Kit) Data() string { return k.data }

// hashData hashes the names and contents of the documents and schemas.
func hashData(dir string) (string, error) {
	var lines []string
	for _, folder := range []string{documents, schemas} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			lines = append(lines, hashOf(data)+"  "+filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			return "", fmt.Errorf("reading the data of the kit: %w", err)
		}
	}
	slices.Sort(lines)
	return hashOf([]byte(strings.Join(lines, "\n"))), nil
}

// committed is the data of a [CommitEntry].
type committed struct {
	Data      string `json:"data_sha256"`
	Documents int    `json:"documents"`
}

// last returns the newest entry of a kind.
func (k *Kit) last(kind string) (ledger.Entry, bool) {
	for _, e := range slices.Backward(k.entries) {
		if e.Kind == kind {
			return e, true
		}
	}
	return ledger.Entry{}, false
}

func (k *Kit) add(by, kind string, data any) error {
	e, err := ledger.Add(k.ledger(), k.now(), by, kind, data)
	k.entries = append(k.entries, e)
	return err
}

// Fewest is the number of documents from which an average says little about each.
const Fewest = 5

// A Commitment is one that another replaces.
type Commitment struct{ By, At, Data string }

// Commit records the hash of the data. It may be done again until the run begins; it
// returns the commitment that it replaces, nil for the first or if nothing changed.
func (k *Kit) Commit(by string, documents int) (*Commitment, error) {
	switch e, ran := k.last(RunEntry); {
	case ran:
		return nil, forbid("the kit ran on %s: its data cannot be committed again", e.At)
	case strings.TrimSpace(by) == "":
		return nil, errors.New("kit commit: say who commits with --by")
	case documents < Fewest:
		return nil, fmt.Errorf("the kit has %d documents: want at least %d, so that averages say nothing of single documents", documents, Fewest)
	}
	e, again := k.last(CommitEntry)
	if !again {
		return nil, k.add(by, CommitEntry, committed{k.data, documents})
	}
	var was committed
	if err := e.Decode(&was); err != nil {
		return nil, err
	}
	if e.By == by && was.Data == k.data {
		return nil, nil
	}
	return &Commitment{e.By, e.At, was.Data}, k.add(by, CommitEntry, committed{k.data, documents})
}

// Begin records that the kit runs. It refuses data that were not committed, and a
// second run; a run that was interrupted goes on.
func (k *Kit) Begin() error {
	commit, ok := k.last(CommitEntry)
	if !ok {
		return forbid("the data are not committed: run `scruple kit commit %s --by NAME`, and send the hash before you run the kit", k.dir)
	}
	var was committed
	if err := commit.Decode(&was); err != nil {
		return err
	}
	if was.Data != k.data {
		return forbid("the data changed after they were committed on %s: restore them", commit.At)
	}
	if e, done := k.last(ResultEntry); done {
		return forbid("the kit ran, and its result is of %s: a kit runs once", e.At)
	}
	if _, begun := k.last(RunEntry); begun {
		return nil
	}
	return k.add(commit.By, RunEntry, committed{k.data, was.Documents})
}

// Finish writes the averages of the comparisons as [ResultFile], and then records it. write
// writes a file durably. A comparison of few documents, such as of a metric that most do
// not have, would tell of single ones: it has no numbers. simulated are the arms whose answers were simulated.
func (k *Kit) Finish(comparisons []analyse.BlindComparison, simulated []string, write func(path string, data []byte) error) (analyse.BlindFile, error) {
	commit, _ := k.last(CommitEntry)
	comparisons = slices.Clone(comparisons)
	for i := range comparisons {
		if c := &comparisons[i]; c.Pairs < Fewest {
			c.Diff, c.Low, c.High, c.P = analyse.Undefined(), analyse.Undefined(), analyse.Undefined(), analyse.Undefined()
		}
	}
	r := analyse.BlindFile{Format: analyse.BlindFormat, BlindResult: analyse.BlindResult{By: commit.By, Data: k.data, Simulated: simulated, Comparisons: comparisons}}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, err
	}
	data = append(data, '\n')
	if err := write(filepath.Join(k.dir, ResultFile), data); err != nil {
		return r, err
	}
	return r, k.add(commit.By, ResultEntry, struct {
		Result string `json:"result_sha256"`
	}{hashOf(data)})
}
