package atoms

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A source is a document that atoms are extracted from.
type source struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A sample is a case of the corpus: documents with their reference atoms.
type sample struct {
	id      string
	split   string
	group   string
	cluster string
	material
	goldFiles []okf.File
	gold      *okf.Base
	item      eval.Item
}

// A record is a case, or the ontology of all, as a line of JSON.
type record struct {
	ID       string             `json:"id,omitempty"`
	Split    string             `json:"split,omitempty"`
	Group    string             `json:"group,omitempty"`
	Cluster  string             `json:"cluster,omitempty"`
	Sources  []source           `json:"documents,omitempty"`
	Gold     map[string]string  `json:"gold,omitempty"` // files by path
	Ontology *ontology.Ontology `json:"ontology,omitempty"`
}

func (s *sample) asItem() eval.Item { return s.item }

// readCorpus reads the cases of a study.
func readCorpus(f *study.File, s *Study, errs *study.Errors) (samples []*sample, o *ontology.Ontology) {
	if s.Ontology != "" {
		data, err := dataset.ReadFile(f.Prompt(s.Ontology))
		if err == nil {
			o, err = ontology.Parse(data)
		}
		if err != nil {
			errs.Add(f.Errorf("ontology", "%w", err))
			return nil, nil
		}
	}
	where := f.Resolve(s.Corpus.Path)
	info, err := os.Stat(where)
	if err != nil {
		errs.Add(f.Errorf("data.path", "%w", err))
		return nil, nil
	}
	if info.IsDir() {
		root, openErr := os.OpenRoot(where)
		if openErr != nil {
			errs.Add(f.Errorf("data.path", "%w", openErr))
			return nil, nil
		}
		defer root.Close()
		samples, err = readFolders(root.FS())
		if o == nil {
			var ownErr error
			o, ownErr = ontologyOf(where)
			kit.AddAll(errs, ownErr)
		}
	} else {
		var own *ontology.Ontology
		samples, own, err = readRecords(where)
		if o == nil {
			o = own
		}
	}
	kit.AddAll(errs, err)
	if o == nil {
		o = ontology.Default()
	}
	slices.SortFunc(samples, func(a, b *sample) int { return strings.Compare(a.id, b.id) })
	if s.Corpus.Count > 0 {
		samples = samples[:min(s.Corpus.Count, len(samples))]
	}
	if len(samples) == 0 && err == nil {
		errs.Add(f.Errorf("data.path", "%s has no cases: want a folder for each, with the documents in source and the atoms in gold", where))
	}
	for _, c := range samples {
		c.prepare(where, o, errs)
	}
	return samples, o
}

// readFolders reads a folder of cases.
func readFolders(root fs.FS) ([]*sample, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, fmt.Errorf("reading the corpus: %w", err)
	}
	var samples []*sample
	var errs []error
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
			continue
		case e.Type()&fs.ModeSymlink != 0 && okf.LinksFolder(root, e.Name()):
			errs = append(errs, fmt.Errorf("case %s is a symbolic link, which is not followed: put the folder here", e.Name()))
			continue
		case !e.IsDir():
			continue
		}
		c := &sample{id: e.Name()}
		documents, findings, err := okf.ReadBelow(root, path.Join(e.Name(), "source"), func(name string) bool { return okf.IsMarkdown(name) || strings.HasSuffix(name, ".txt") })
		for _, d := range documents {
			c.sources = append(c.sources, source{d.Path, string(d.Data)})
		}
		gold, more, goldErr := okf.ReadBelow(root, path.Join(e.Name(), "gold"), okf.IsMarkdown)
		c.goldFiles = gold
		if err = errors.Join(err, goldErr); err != nil {
			errs = append(errs, fmt.Errorf("case %s: %w", e.Name(), err))
			continue
		}
		for _, f := range append(findings, more...) {
			errs = append(errs, fmt.Errorf("case %s: %s", e.Name(), f))
		}
		samples = append(samples, c)
	}
	return samples, errors.Join(errs...)
}

// readRecords reads cases from JSON Lines. A line with an ontology is not a case.
func readRecords(file string) (samples []*sample, o *ontology.Ontology, err error) {
	var errs study.Errors
	lineOf := map[string]int{}
	err = kit.Records(file, table.Texts{Names: []string{"id", "split", "group", "cluster"}}, &errs, func(line int, r *record) error {
		switch {
		case r.Ontology != nil && r.ID == "":
			err := r.Ontology.Check()
			if err == nil {
				o = r.Ontology
			}
			return err
		case r.ID == "":
			return errors.New("id is missing")
		case lineOf[r.ID] > 0:
			return fmt.Errorf("duplicate id %q: also in line %d", r.ID, lineOf[r.ID])
		case len(r.Sources) == 0:
			return fmt.Errorf("case %s: no documents", r.ID)
		}
		lineOf[r.ID] = line
		samples = append(samples, &sample{id: r.ID, split: r.Split, group: r.Group, cluster: r.Cluster, material: material{sources: r.Sources}, goldFiles: filesOf(r.Gold)})
		return nil
	})
	return samples, o, errors.Join(append(errs, err)...)
}

// filesOf are files of texts by path, in the order of the paths.
func filesOf(texts map[string]string) (files []okf.File) {
	for _, p := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, okf.File{Path: p, Data: []byte(texts[p])})
	}
	return files
}

// prepare parses the gold of a case. Gold must be valid.
func (c *sample) prepare(where string, o *ontology.Ontology, errs *study.Errors) {
	files, findings := okf.SortFiles(c.goldFiles)
	c.goldFiles, c.gold = files, okf.Load(files, findings, o)
	for _, f := range c.gold.Findings() {
		if f.Severity == okf.Error || f.Code == okf.CodeUnresolved {
			errs.Add(fmt.Errorf("%s: case %s: %s", where, c.id, f))
		}
	}
	switch {
	case len(c.sources) == 0:
		errs.Add(fmt.Errorf("%s: case %s has no documents: put Markdown or text files into %s/source", where, c.id, c.id))
	case len(c.gold.Atoms) == 0:
		errs.Add(fmt.Errorf("%s: case %s has no gold atoms: put them into %s/gold", where, c.id, c.id))
	}
	var input, texts, gold []string
	for i := range c.sources {
		s := &c.sources[i]
		if !utf8.ValidString(s.Text) {
			errs.Add(fmt.Errorf("%s: case %s: %s is not UTF-8", where, c.id, s.Name))
		}
		s.Text = strings.ReplaceAll(strings.TrimPrefix(s.Text, "\ufeff"), "\r\n", "\n")
		input, texts = append(input, s.Name, s.Text), append(texts, s.Text)
		c.sentences = append(c.sentences, sentencesOf(i, s.Text)...)
	}
	for _, f := range files {
		gold = append(gold, f.Path, string(f.Data))
	}
	c.item = eval.Item{ID: c.id, Split: c.split, Cluster: c.cluster, Input: kit.Hash(input...), Gold: kit.Hash(gold...),
		Material: kit.Hash(append([]string{"texts"}, slices.Sorted(slices.Values(texts))...)...)}
	if c.group != "" {
		c.item.Strata = []eval.Level{{Name: "group", Value: c.group}}
	}
}

// gaps lists the types and edges of the ontology that no gold atom has.
func gaps(samples []*sample, o *ontology.Ontology) []string {
	types, edges := map[string]int{}, map[string]int{}
	for _, c := range samples {
		for _, a := range c.gold.Atoms {
			types[a.Type]++
			for _, l := range a.Links {
				edges[l.Edge]++
			}
		}
	}
	var missing []string
	for _, t := range o.Types {
		if types[t.Name] == 0 && !t.Supporting {
			missing = append(missing, "type "+t.Name)
		}
	}
	for _, e := range o.Edges {
		if edges[e.Name] == 0 && !e.Supporting {
			missing = append(missing, "edge "+e.Name)
		}
	}
	return missing
}

// bundle is what an extractor wrote, as it is stored.
type bundle struct {
	Files      []okf.File    `json:"files"`
	Unrepaired []okf.File    `json:"unrepaired,omitempty"` // before a step that repairs
	Findings   []okf.Finding `json:"findings,omitempty"`   // files that could not be read
}

// An answer of a pipeline outside: files by path or as a list, or a folder.
type answer struct {
	Files      json.RawMessage `json:"files"`
	Unrepaired json.RawMessage `json:"unrepaired"`
	Folder     string          `json:"folder"`
}

// Reasons why an answer is malformed.
const (
	noFiles   = "no files"
	noJSON    = "no JSON object"
	badFolder = "folder not readable"
	cutOff    = "cut off"
	noAtoms   = "no atoms"
	declined  = "declined"
)

// readAnswer reads the answer of a pipeline outside. Folders are below root, the
// study's folder. Notes say how its object was found.
func readAnswer(reply, root string) (b *bundle, notes []string, reason, detail string) {
	found, err := text.ReadObjectWith(reply, "files")
	if err != nil {
		return nil, nil, noJSON, err.Error()
	}
	var a answer
	if err := json.Unmarshal(found.JSON, &a); err != nil {
		return nil, nil, noJSON, err.Error()
	}
	b = new(bundle)
	given := func(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }
	switch {
	case given(a.Files):
		if b.Files, err = readFiles(a.Files); err != nil {
			return nil, nil, noFiles, err.Error()
		}
	case a.Folder != "":
		files, findings, err := readBelow(root, a.Folder)
		if err != nil {
			return nil, nil, badFolder, err.Error()
		}
		b.Files, b.Findings = append([]okf.File{}, files...), findings
	default:
		return nil, nil, noFiles, `the answer has neither "files" nor "folder"`
	}
	if given(a.Unrepaired) {
		if b.Unrepaired, err = readFiles(a.Unrepaired); err != nil {
			return nil, nil, noFiles, err.Error()
		}
	}
	return b, notesOn(found), "", ""
}

// notesOn says how the object of an answer was found.
func notesOn(found text.Reading) (notes []string) {
	if found.Repaired || found.Wrapped {
		notes = append(notes, eval.NoteLenient)
	}
	if len(found.Others) > 0 {
		notes = append(notes, eval.NoteSeveral)
	}
	return notes
}

// readFiles reads files as an object of texts by path, or as a list as outcomes are stored, which
// the arms of other runs give. Files that are no Markdown are passed over, as in a folder.
func readFiles(data json.RawMessage) (files []okf.File, err error) {
	var byPath map[string]*string
	var list []map[string]*string
	if json.Unmarshal(data, &list) == nil {
		err = json.Unmarshal(data, &files)
	} else if err = json.Unmarshal(data, &byPath); err == nil {
		for _, p := range slices.Sorted(maps.Keys(byPath)) {
			list = append(list, map[string]*string{"path": &p, "text": byPath[p]})
			files = append(files, okf.File{Path: p})
		}
	}
	for i, f := range list {
		for key, value := range f {
			if value == nil || !slices.Contains([]string{"path", "text", "bytes"}, key) {
				err = fmt.Errorf("entry %d: %q is unknown or null", i+1, key)
			} else if key == "text" {
				files[i].Data = []byte(*value)
			}
		}
		if f["path"] == nil {
			err = fmt.Errorf("entry %d has no path", i+1)
		}
	}
	if err != nil {
		return nil, fmt.Errorf(`"files": want an object of texts by path, or a list of {"path", "text"}: %w`, err)
	}
	files = slices.DeleteFunc(files, func(f okf.File) bool { return !okf.IsMarkdown(f.Path) })
	return append([]okf.File{}, files...), nil
}

// readBelow reads a folder of atoms that must be below root.
func readBelow(root, dir string) ([]okf.File, []okf.Finding, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	return okf.ReadBelow(r.FS(), path.Clean(strings.ReplaceAll(dir, "\\", "/")), okf.IsMarkdown)
}

// load parses a stored bundle.
func load(data []byte, o *ontology.Ontology) (final, before *okf.Base) {
	var b bundle
	if json.Unmarshal(data, &b) != nil {
		b = bundle{}
	}
	parse := func(files []okf.File) *okf.Base {
		files, findings := okf.SortFiles(files)
		return okf.Load(files, append(findings, b.Findings...), o)
	}
	final = parse(b.Files)
	if before = final; b.Unrepaired != nil {
		before = parse(b.Unrepaired)
	}
	return final, before
}
