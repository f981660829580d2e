// Package blind makes kits for blind validations. An outsider runs a study once on
// private documents, after committing to them, and sends back averages.
//
// A kit is a folder: study.yaml, the prompts, templates, instructions, and KIT.json with
// what must not change. Nothing else leaves the machine of the study's authors. The digest
// of a kit is the SHA-256 of KIT.json: the ledger of the study has it, and the result names
// it. The ledger of a kit has three entries: a hash of the data ([CommitEntry]), the run
// ([RunEntry]) and the result ([ResultEntry]).
//
// # The result
//
// The file blind-result.json has the averages of each comparison, and no document:
//
//	{
//	  "format": "scruple-blind/4",
//	  "by": "a group",
//	  "kit_sha256": "…64 digits…",
//	  "data_sha256": "…64 digits…",
//	  "documents": 41,
//	  "began_at": "2026-11-20T10:04:05Z",
//	  "comparisons": [
//	    {"a": "ctn", "b": "idiomatic", "metric": "composite",
//	     "diff": 0.08, "low": 0.05, "high": 0.11, "level": 0.95, "p": 0.001, "pairs": 40,
//	     "unscored": 1, "least": 0.06, "most": 0.1}
//	  ]
//	}
//
// diff is the mean of a − b over documents, low and high its interval of a level, p that of the
// planned test; least and most are the difference if the unscored answers were as bad
// or as good for a as possible. Numbers that do not exist are null, as are those of comparisons
// with fewer than five pairs or too many answers without a score. A key simulated lists the arms whose
// answers were simulated.
//
// The package must not know suites, models or stores: who calls it runs the study.
package blind

import (
	"bytes"
	_ "embed" // the instructions
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// The names of files of a kit.
const (
	StudyFile  = "study.yaml"
	ResultFile = "blind-result.json"
	kitFile    = ledger.KitFile
)

// kitFormat is the format of KIT.json.
const kitFormat = ledger.KitFormat + "3"

// The kinds of entries in the ledger of a kit.
const (
	CommitEntry = "blind data"
	RunEntry    = "blind run"
	ResultEntry = "blind result"
)

//go:embed template/README.md
var template string

// dropped are the keys of a study that a kit does not need.
var dropped = []string{"decide", "assume", "annotation", "output", "split", "budget", "replication_of", "blind"}

// free are the keys that an outsider may change.
var free = []string{"name", "description", "models", "execution"}

// A Spec says what a kit is made of.
type Spec struct {
	study.Blind
	// Files are the only files of the study that go out, by their paths: prompts and programs.
	Files   []string
	URLs    []string // to which the study sends data
	Version string   // of this program
	Program string   // a copy of it to add, "" for none
	// Record notes the kit before its files are written, so that none is without a note.
	Record func(Made) error
}

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
	Arms    string            `json:"arms"`   // key of the arms, whose models may change
	Data    map[string]string `json:"data"`   // the keys of data, as JSON
	Drop    []string          `json:"drop"`   // keys that the kit does not have
	Places  []string          `json:"places"` // files and folders of the data
	Fixed   map[string]string `json:"fixed"`  // hashes of keys of the study
	Files   map[string]string `json:"files"`  // hashes of files that must not change
}

// without leaves a key out of the objects of a list.
func without(list json.RawMessage, key string) (json.RawMessage, error) {
	var objects []map[string]json.RawMessage
	if err := json.Unmarshal(list, &objects); err != nil {
		return nil, err
	}
	for _, o := range objects {
		delete(o, key)
	}
	return json.Marshal(objects)
}

// A Made is a kit that was built.
type Made struct {
	Digest string   `json:"kit_sha256"`
	Files  []string `json:"files"` // all that it has, sorted
}

// Build writes a kit of a study into a new folder, or completes one that a killed process began.
// An error leaves none.
func Build(f *study.File, dir string, spec Spec) (m Made, err error) {
	notEmpty := fmt.Errorf("%s is not empty: choose another folder", dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	content, places, err := spec.content(f)
	if err != nil {
		return m, err
	}
	begun, err := os.ReadFile(filepath.Join(dir, kitFile))                                     // its first file
	other := func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), "."+kitFile+".") } // not what a killed process left of it
	if err != nil && slices.ContainsFunc(entries, other) || err == nil && !bytes.Equal(begun, content[kitFile]) {
		return m, notEmpty
	}
	m.Digest, m.Files = dataset.SHA256(content[kitFile]), slices.Sorted(maps.Keys(content))
	for i, at := range places {
		if filepath.Ext(at) != "" {
			places[i] = path.Dir(at)
		}
	}
	var files []disk.New
	for _, name := range m.Files {
		mode, from := fs.FileMode(0o644), f.Place(filepath.FromSlash(name))
		if name == filepath.Base(spec.Program) {
			from = spec.Program
		}
		if info, err := os.Stat(from); err == nil && info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files = append(files, disk.New{Path: name, Mode: mode, Write: disk.Bytes(content[name])})
	}
	if spec.Record != nil {
		if err := spec.Record(m); err != nil {
			return Made{}, err
		}
	}
	_, err = disk.CreateAll(dir, files)
	if errors.Is(err, fs.ErrExist) {
		return Made{}, notEmpty
	}
	for _, at := range places {
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, filepath.FromSlash(at)), 0o755)
		}
	}
	if err != nil && len(entries) == 0 {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return Made{}, err
	}
	return m, nil
}

// content returns the files of a kit, and where its data will be.
func (spec Spec) content(f *study.File) (content map[string][]byte, places []string, err error) {
	keys := f.Keys()
	var name string
	err = json.Unmarshal(keys["name"], &name)
	if list := keys["comparisons"]; err == nil && list != nil {
		// An outsider's data have other strata, and models of their own.
		keys["comparisons"], err = without(list, "across")
	}
	if err != nil {
		return nil, nil, err
	}
	k := kit{Format: kitFormat, Study: name, Scruple: spec.Version, Arms: spec.Arms, Drop: slices.Concat(dropped, spec.Drop), Data: map[string]string{}, Files: map[string]string{}}
	for _, key := range k.Drop {
		delete(keys, key)
	}
	for _, d := range spec.Data {
		if keys[d.Key] == nil && d.Kit == "" {
			continue
		}
		if err := set(keys, d); err != nil {
			return nil, nil, err
		}
		k.Data[d.Key], k.Places = string(keys[d.Key]), append(k.Places, d.Places...)
	}
	read, err := reads(f, keys, spec.Files, spec.Arms)
	if err != nil {
		return nil, nil, err
	}
	k.Places = slices.Compact(slices.Sorted(slices.Values(append(k.Places, read...))))
	if len(k.Places) == 0 {
		return nil, nil, errors.New("the kit has no data, so a commitment would cover nothing")
	}
	if k.Fixed, err = k.fixedOf(keys); err != nil {
		return nil, nil, err
	}
	keys["name"] = json.RawMessage(fmt.Sprintf("%q", name+"-blind"))
	text, err := json.MarshalIndent(keys, "", "  ")
	if err == nil {
		text, err = study.YAML(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("writing the study of the kit: %w", err)
	}
	ofArms, inReadme := "", ""
	if bytes.Contains(keys[spec.Arms], []byte(`"models":`)) {
		ofArms, inReadme = ", and where one of "+spec.Arms+" has models", ", and their names\n  where one of `"+spec.Arms+"` has `models`"
	}
	content = map[string][]byte{
		StudyFile:   append([]byte("# Set your models here"+ofArms+". The rest must stay.\n"), text...),
		"README.md": spec.readme(name, inReadme, k.Places),
	}
	if spec.Templates != nil {
		names, err := fs.Glob(spec.Templates, "*")
		for _, name := range names {
			if err == nil {
				content["templates/"+name], err = fs.ReadFile(spec.Templates, name)
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, file := range spec.Files {
		name := filepath.ToSlash(filepath.Clean(file))
		switch {
		case !filepath.IsLocal(file):
			return nil, nil, fmt.Errorf("%s: a kit has files of the study's folder only: move it there", file)
		case k.isData(name):
			return nil, nil, fmt.Errorf("%s is sent with the kit, but is where data of the study are: move it", file)
		}
		data, err := os.ReadFile(f.Place(file))
		if err != nil {
			return nil, nil, err
		}
		k.Files[name], content[name] = dataset.SHA256(data), data
	}
	if spec.Program != "" {
		if content[filepath.Base(spec.Program)], err = os.ReadFile(spec.Program); err != nil {
			return nil, nil, err
		}
	}
	content[kitFile], err = json.MarshalIndent(k, "", "  ")
	return content, k.Places, err
}

// isData reports whether a file is where data are.
func (k kit) isData(name string) bool {
	return slices.ContainsFunc(k.Places, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// set gives a key its value in a kit.
func set(keys map[string]json.RawMessage, d study.Datum) (err error) {
	if d.Kit != "" {
		keys[d.Key] = json.RawMessage(d.Kit)
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(keys[d.Key], &members); err != nil {
		return err
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !slices.Contains(d.Keep, name) })
	keys[d.Key], err = json.Marshal(members)
	return err
}

// reads returns the files and folders that keys of a study name and that it reads, but for programs
// and what is sent with a kit: they are the outsider's, and part of the commitment. What arms, the
// key with this name, read are answers, which an outsider has none of.
func reads(f *study.File, keys map[string]json.RawMessage, sent []string, arms string) (places []string, err error) {
	used := f.Used()
	clean := func(rel string) string { return filepath.ToSlash(filepath.Clean(rel)) }
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var value any
		if slices.Contains(free, key) || json.Unmarshal(keys[key], &value) != nil {
			continue
		}
		study.Texts(key, value, func(at, v string) {
			_, missing := os.Stat(f.Place(v))
			switch {
			case study.IsProgram(at), missing != nil, !slices.Contains(used, v), slices.ContainsFunc(sent, func(s string) bool { return clean(s) == clean(v) }):
			case arms != "" && strings.HasPrefix(at, arms+"["):
				err = errors.Join(err, f.Errorf(at, "%s has answers to the data of this study: leave the arm out of the kit with -o", v))
			case !filepath.IsLocal(v):
				err = errors.Join(err, f.Errorf(at, "a kit has its data in its own folder, at the paths of the study: %s leads out of it; move the data into the study's folder", v))
			default:
				places = append(places, clean(v))
			}
		})
	}
	return places, err
}

// readme is the outsider's instructions.
func (spec Spec) readme(name, ofArms string, places []string) []byte {
	install := "    go install github.com/scruple-eval/scruple/cmd/scruple@latest\n\nThe kit was made with version " + spec.Version + "; `scruple --version` shows yours."
	if spec.Program != "" {
		install = "The program is in this folder: write `./" + filepath.Base(spec.Program) + "` instead of `scruple`."
	}
	guide := spec.Guide
	for _, p := range places {
		if spec.Guide == "" || !slices.ContainsFunc(spec.Data, func(d study.Datum) bool { return slices.Contains(d.Places, p) }) {
			guide += "- `" + p + "`: your own data, in the format that `study.yaml` and the documentation of its suite describe.\n"
		}
	}
	sent := ""
	if len(spec.URLs) > 0 {
		sent = " But the study sends your data to these addresses,\nwhich its authors chose. Set other models, or do not run it, if your data must not go there:\n\n- <" + strings.Join(spec.URLs, ">\n- <") + ">"
	}
	return []byte(strings.NewReplacer("SENT", sent, "STUDY", name, "INSTALL", install, "GUIDE\n", guide, "OFARMS", ofArms).Replace(template))
}

// fixedOf hashes the keys that must not change: all but data and what is the outsider's.
// The models of an arm may.
func (k kit) fixedOf(keys map[string]json.RawMessage) (map[string]string, error) {
	hashes := map[string]string{}
	for key, value := range keys {
		if _, is := k.Data[key]; is || slices.Contains(free, key) || slices.Contains(k.Drop, key) {
			continue
		}
		if key == k.Arms {
			var err error
			if value, err = without(value, "models"); err != nil {
				return nil, err
			}
		}
		hashes[key] = dataset.SHA256(value)
	}
	return hashes, nil
}

// dropIn is a folder whose files are prompts, without a word in the study.
const dropIn = "kernels/"

// A Kit is a kit on the outsider's machine.
type Kit struct {
	Digest  string // of KIT.json
	Data    string // hash of the data as they are
	dir     string
	kit     kit
	entries []ledger.Entry
	now     func() time.Time
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
	k.Digest = dataset.SHA256(data)
	if k.kit.Format != kitFormat {
		return nil, fmt.Errorf("%s has format %q, but this scruple reads %s: use the version that made it, %s", filepath.Join(dir, kitFile), k.kit.Format, kitFormat, k.kit.Scruple)
	}
	keys := f.Keys()
	have, err := k.kit.fixedOf(keys)
	if err != nil {
		return nil, err
	}
	both := maps.Clone(have)
	maps.Copy(both, k.kit.Fixed)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if have[key] != k.kit.Fixed[key] {
			return nil, ledger.NotAllowed("%v", f.Errorf(key, "%s is not that of the kit: undo the change, or the result would not count", key))
		}
	}
	if err := k.ownData(f, keys); err != nil {
		return nil, err
	}
	read, err := reads(f, keys, slices.Collect(maps.Keys(k.kit.Files)), "")
	for _, at := range read {
		if !slices.Contains(k.kit.Places, at) {
			return nil, ledger.NotAllowed("the study reads %s, which is neither part of the kit nor among the data of the commitment, %s: ask whoever made the kit for a new one", at, strings.Join(k.kit.Places, " and "))
		}
	}
	if err != nil {
		return nil, err
	}
	for name, want := range k.kit.Files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("%s: %q leads out of the kit", filepath.Join(dir, kitFile), name)
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("%w: ask whoever made the kit for this file", err)
		}
		if dataset.SHA256(data) != want {
			return nil, ledger.NotAllowed("%s is not that of the kit: restore it from the kit, or the result would not count", filepath.Join(dir, name))
		}
	}
	if err := k.noOtherPrompts(f); err != nil {
		return nil, err
	}
	if k.Data, err = hashData(dir, k.kit.Places); err != nil {
		return nil, err
	}
	k.entries, err = ledger.Read(k.ledger())
	return k, err
}

// noOtherPrompts forbids prompts that the kit does not have.
func (k *Kit) noOtherPrompts(f *study.File) error {
	for _, name := range f.Used() {
		isPrompt := strings.HasPrefix(filepath.ToSlash(name), dropIn) || slices.Contains(f.Prompts(), name)
		if !isPrompt || k.kit.Files[filepath.ToSlash(filepath.Clean(name))] != "" {
			continue
		}
		if info, err := os.Stat(f.Place(name)); err == nil && info.Mode().IsRegular() {
			return ledger.NotAllowed("%s is not part of the kit and would be used as a prompt: remove it, or the result would not count", f.Place(name))
		}
	}
	return nil
}

// ownData checks that a study reads the data of the kit, all of them, and no other.
func (k *Kit) ownData(f *study.File, keys map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(k.kit.Data)) {
		var want, have any
		if json.Unmarshal([]byte(k.kit.Data[key]), &want) != nil {
			return fmt.Errorf("%s: data.%s is not JSON", filepath.Join(k.dir, kitFile), key)
		}
		if keys[key] != nil && json.Unmarshal(keys[key], &have) != nil || !reflect.DeepEqual(bare(have), bare(want)) {
			return ledger.NotAllowed("%v", f.Errorf(key, "the data of a kit are in %s, which the committed hash covers: write %s: %s", strings.Join(k.kit.Places, " and "), key, k.kit.Data[key]))
		}
	}
	if keys["split"] != nil {
		return ledger.NotAllowed("%v", f.Errorf("split", "a kit runs on all committed data: remove split"))
	}
	return nil
}

// bare is a value without the members of objects that were filled in with nothing.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, m any) bool { return m == nil || m == "" || m == false || m == 0.0 })
		for key := range v {
			v[key] = bare(v[key])
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
	}
	return v
}

// Ran reports whether the kit in a folder has a result in its ledger.
func Ran(dir string) bool {
	k := &Kit{dir: dir}
	k.entries, _ = ledger.Read(k.ledger()) // Open reports the error
	_, ran, _ := k.last(ResultEntry, nil)
	return ran
}

// StoreOf is the store of the run of the kit in a folder.
func StoreOf(dir string) string { return filepath.Join(dir, ".scruple", "kit.db") }

// KitOf is the folder of the kit whose store a file is, "" if it is of none.
func KitOf(store string) string {
	full, err := filepath.Abs(store)
	if dir := filepath.Dir(filepath.Dir(full)); err == nil && full == StoreOf(dir) && IsKit(dir) {
		return dir
	}
	return ""
}

func (k *Kit) ledger() string { return filepath.Join(k.dir, ".scruple", ledger.Name) }

// unread matches the hidden files that file managers and git make, and that no suite reads: atoms
// reads other hidden files.
var unread = regexp.MustCompile(`^\.(DS_Store|localized|directory|keep|git[a-z]*)$`)

// hashData hashes the names and contents of the data that a suite could read. None reads hidden
// folders and links.
func hashData(dir string, places []string) (string, error) {
	var lines []string
	for _, at := range places {
		if !filepath.IsLocal(filepath.FromSlash(at)) {
			return "", fmt.Errorf("%s: %q leads out of the kit", filepath.Join(dir, kitFile), at)
		}
		from := filepath.Join(dir, filepath.FromSlash(at))
		err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
			switch hidden := err == nil && p != from && strings.HasPrefix(d.Name(), "."); {
			case hidden && d.IsDir():
				return fs.SkipDir
			case err != nil, d.IsDir(), hidden && (!d.Type().IsRegular() || unread.MatchString(d.Name())):
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			lines = append(lines, dataset.SHA256(data)+"  "+filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			return "", fmt.Errorf("reading the data of the kit: %w", err)
		}
	}
	slices.Sort(lines)
	return dataset.SHA256([]byte(strings.Join(lines, "\n"))), nil
}

// committed is the data of a [CommitEntry].
type committed struct {
	Data      string `json:"data_sha256"`
	Documents int    `json:"documents"`
}

// last returns the newest entry of a kind, and decodes its data unless into is nil.
func (k *Kit) last(kind string, into any) (e ledger.Entry, ok bool, err error) {
	for _, e := range slices.Backward(k.entries) {
		if e.Kind != kind {
			continue
		}
		if into != nil {
			err = e.Decode(into)
		}
		return e, true, err
	}
	return e, false, nil
}

func (k *Kit) add(by, kind string, data any) error {
	e, err := ledger.Add(k.ledger(), k.now(), by, kind, data)
	k.entries = append(k.entries, e)
	return err
}

// A Commitment is one that another replaces.
type Commitment struct{ By, At, Data string }

// Commit records the hash of the data. It may be done again until the run begins; it
// returns the commitment that it replaces, nil for the first or if nothing changed.
func (k *Kit) Commit(by string, documents int) (*Commitment, error) {
	switch e, ran, _ := k.last(RunEntry, nil); {
	case ran:
		return nil, ledger.NotAllowed("the kit ran on %s: its data cannot be committed again", e.At)
	case strings.TrimSpace(by) == "":
		return nil, errors.New("kit commit: say who commits with --by")
	case documents < analyse.FewestBlind:
		return nil, fmt.Errorf("the kit has %d documents: want at least %d, so that averages say nothing of single documents", documents, analyse.FewestBlind)
	}
	var was committed
	e, again, err := k.last(CommitEntry, &was)
	switch {
	case err != nil || e.By == by && was.Data == k.Data:
		return nil, err
	case !again:
		return nil, k.add(by, CommitEntry, committed{k.Data, documents})
	}
	return &Commitment{e.By, e.At, was.Data}, k.add(by, CommitEntry, committed{k.Data, documents})
}

// began is the data of a [RunEntry].
type began struct {
	committed
	Settings string `json:"settings_sha256"` // what determines the requests
}

// Begin records that the kit runs with settings, of which it is given a hash. It refuses data that were
// not committed, and a second run; an interrupted run is continued, with the same settings: by others
// a result could be selected.
func (k *Kit) Begin(settings string) error {
	var was committed
	commit, ok, err := k.last(CommitEntry, &was)
	switch {
	case err != nil:
		return err
	case !ok:
		return ledger.NotAllowed("the data are not committed: run `scruple blind commit %s --by NAME`, and send the hash before you run the kit", k.dir)
	case was.Data != k.Data:
		return ledger.NotAllowed("the data changed after they were committed on %s: restore them, or use the version of Scruple that made the kit", commit.At)
	}
	if e, done, _ := k.last(ResultEntry, nil); done {
		return ledger.NotAllowed("the kit ran, and its result is of %s: a kit runs once", e.At)
	}
	var before began
	switch e, begun, err := k.last(RunEntry, &before); {
	case err != nil:
		return err
	case begun && before.Settings != settings:
		return ledger.NotAllowed("the run began on %s with other models, replicates or seed: restore them, or commit and run in a new copy of the kit. A run that an older version began is continued by that version", e.At)
	case begun:
		return nil
	}
	return k.add(commit.By, RunEntry, began{committed{k.Data, was.Documents}, settings})
}

// Finish writes the averages of the comparisons as [ResultFile], and then records it. A
// comparison of few documents, such as of a metric that most do not have, would tell of
// single ones: it has no numbers. simulated are the arms whose answers were simulated.
func (k *Kit) Finish(comparisons []analyse.BlindComparison, simulated []string) (analyse.BlindFile, error) {
	var of committed
	commit, _, err := k.last(CommitEntry, &of)
	if err != nil {
		return analyse.BlindFile{}, err
	}
	comparisons = slices.Clone(comparisons)
	for i := range comparisons {
		if comparisons[i].Pairs < analyse.FewestBlind {
			comparisons[i] = comparisons[i].WithoutNumbers()
		}
	}
	begun, _, _ := k.last(RunEntry, nil)
	r := analyse.BlindFile{Format: analyse.BlindFormat, BlindResult: analyse.BlindResult{By: commit.By, BeganAt: begun.At, Kit: k.Digest, Data: k.Data, Documents: of.Documents, Simulated: simulated, Comparisons: comparisons}}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, err
	}
	data = append(data, '\n')
	if err := (disk.File{Path: filepath.Join(k.dir, ResultFile)}).Write(disk.Bytes(data)); err != nil {
		return r, err
	}
	return r, k.add(commit.By, ResultEntry, map[string]string{"result_sha256": dataset.SHA256(data)})
}
