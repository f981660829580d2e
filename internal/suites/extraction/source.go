package extraction

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/dataset/pdf"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A source reads documents by index. It is safe for concurrent use.
type source interface {
	Len() int
	// read reads document i. Without gold it may leave ground_truth out, which takes as long to
	// decode as the rest.
	read(i int, gold bool) (Document, error)
	// Locate prefixes an error with the position of document i.
	Locate(i int, err error) error
	Close() error
}

// A place is a document of a source.
type place struct {
	source
	at int
}

func (p place) read(gold bool) (Document, error) { return p.source.read(p.at, gold) }

func (p place) locate(err error) error { return p.Locate(p.at, err) }

// lines are the records of a JSON Lines file.
type lines struct {
	*dataset.Lines
	mapping *Mapping
}

// buffers are of raw records: a document does not share their memory.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (l lines) read(i int, gold bool) (Document, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	data, err := l.Lines.Read(i, *buf)
	if err != nil {
		return Document{}, err
	}
	*buf = data
	d, err := l.mapping.decode(data, gold)
	if err != nil {
		return Document{}, l.Locate(i, err)
	}
	return d, nil
}

// made are synthetic documents.
type made []Document

func openSynthetic(options Synthetic) (source, error) {
	seed := uint64(defaultSeed)
	if options.Seed != nil {
		seed = *options.Seed
	}
	sets, err := synthetic.Generate(seed, options.Levers)
	if err != nil {
		return nil, err
	}
	var m made
	for _, s := range sets {
		if options.Split != "" && options.Split != s.Split {
			continue
		}
		for i := range s.Documents {
			var d Document
			if err := dataset.DecodeStrict(s.Documents[i].Record(), &d); err != nil {
				return nil, err
			}
			m = append(m, d)
		}
	}
	return m, nil
}

func (m made) Len() int                             { return len(m) }
func (m made) Close() error                         { return nil }
func (m made) read(i int, _ bool) (Document, error) { return m[i], nil }

func (m made) Locate(i int, err error) error {
	return fmt.Errorf("synthetic document %d: %w", i+1, err)
}

// A folder has pairs of NAME.txt or NAME.pdf, the text of a document, and NAME.json,
// its record without text.
type folder struct {
	files   []folderFile
	records *joined // of documents without a record of their own, if the study has a table
	unused  []int   // records of the table that belong to no document
	mapping *Mapping
}

type folderFile struct {
	name   string                 // path in the folder without extension
	path   string                 // of the document
	record string                 // path of its own record, "" if it has none
	pdf    func() (string, error) // nil for a text; a PDF is read once, as that takes a process
}

// nameOf is the name of a document, without the extension that a file in a folder has.
func nameOf(file string) (name, ext string) {
	file = filepath.ToSlash(file)
	switch ext = strings.ToLower(path.Ext(file)); ext {
	case ".json", ".pdf", ".txt":
		return file[:len(file)-len(ext)], ext
	}
	return file, ""
}

// openFolder lists the documents of a folder and of those in it. Without a record of its own, a
// document needs one in the table, or gold of the study's file.
func openFolder(dir string, m *Mapping, records *joined, bare bool) (source, error) {
	has := map[string]map[string]string{} // paths by name and extension
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		inside, relErr := filepath.Rel(dir, file)
		name, ext := nameOf(inside)
		switch {
		case err != nil:
			return fmt.Errorf("opening data: %w", err)
		case strings.HasPrefix(e.Name(), ".") && e.IsDir() && file != dir:
			return filepath.SkipDir
		case relErr != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") || ext == "":
			return relErr
		case has[name] == nil:
			has[name] = map[string]string{}
		case has[name][ext] != "":
			return fmt.Errorf("%s: the folder also has %s: keep one of them", file, has[name][ext])
		}
		has[name][ext] = file
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := &folder{records: records, mapping: m}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(has)) {
		of := has[name]
		document := folderFile{name: name, path: cmp.Or(of[".txt"], of[".pdf"]), record: of[".json"]}
		_, listed := records.find(name)
		switch {
		case of[".pdf"] != "" && of[".txt"] != "":
			errs = append(errs, fmt.Errorf("%s: the folder also has %s: keep one of them", of[".pdf"], of[".txt"]))
		case document.path == "":
			errs = append(errs, fmt.Errorf("%s: its document, %[2]s.txt or %[2]s.pdf, does not exist", document.record, name))
		case document.record == "" && !bare && !listed:
			errs = append(errs, fmt.Errorf("%s: its gold, %s.json, does not exist", document.path, name))
		case of[".pdf"] != "":
			document.pdf = sync.OnceValues(func() (string, error) { return pdf.Text(document.path) })
		}
		f.files = append(f.files, document)
	}
	f.unused = records.without(has)
	return f, errors.Join(errs...)
}

func (f *folder) Len() int     { return len(f.files) }
func (f *folder) Close() error { return nil }

func (f *folder) Locate(i int, err error) error {
	file := f.files[i]
	if at, ok := f.records.find(file.name); ok && file.record == "" {
		return f.records.Locate(at, err)
	}
	return fmt.Errorf("%s: %w", cmp.Or(file.record, file.path), err)
}

func (f *folder) read(i int, gold bool) (d Document, err error) {
	file := f.files[i]
	at, listed := f.records.find(file.name)
	switch {
	case file.record != "" && listed:
		err = f.records.Locate(at, fmt.Errorf("document %q has a record of its own, %s: remove one of them", file.name, file.record))
	case file.record != "":
		var data []byte
		if data, err = dataset.ReadFile(file.record); err == nil {
			if d, err = f.mapping.decode(bytes.TrimPrefix(data, []byte("\ufeff")), gold); err != nil {
				err = dataset.Locate(file.record, data, err)
			}
		}
	case listed:
		d, err = f.records.read(at, gold)
		d.ID = file.name
	}
	if err == nil && d.Text != "" {
		err = f.Locate(i, errors.New("text is set, but the text of this document is in a file of its own: remove text"))
	}
	if err != nil {
		return d, err
	}
	d.ID = cmp.Or(d.ID, file.name)
	d.Text, err = f.text(file)
	return d, err
}

// text reads the text of a document. That of a PDF is what models are sent and what
// quotes are compared with.
func (f *folder) text(file folderFile) (content string, err error) {
	if file.pdf != nil {
		content, err = file.pdf()
	} else {
		var data []byte
		data, err = dataset.ReadFile(file.path)
		content = strings.TrimPrefix(string(data), "\ufeff")
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("reading document: %w", err)
	case !utf8.ValidString(content):
		return "", fmt.Errorf("%s: the document is not UTF-8: save it as UTF-8", file.path)
	}
	return content, nil
}

// A goldLine is a line of a gold file: gold of a document that replaces its own.
type goldLine struct {
	ID    dataset.ID `json:"document_id"`
	Truth []Gold     `json:"ground_truth"`
}

// An overlay is the documents of a source that a gold file names, with its gold.
type overlay struct {
	source
	at    []int // index in the source
	truth [][]Gold
}

// overlaid reads the gold file and finds its documents in the source.
func overlaid(src source, path string) (*overlay, error) {
	gold, err := table.OpenLines(path, new(Mapping).texts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data.gold: %s does not exist: people make it with `scruple annotate`, and its --lock writes it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("data.gold: %w", err)
	}
	defer gold.Close()
	lineOf, truth := map[string]int{}, map[string][]Gold{}
	for i := range gold.Len() {
		var g goldLine
		if _, err := gold.Decode(i, nil, &g); err != nil {
			return nil, err
		}
		id := string(g.ID)
		if _, twice := lineOf[id]; twice {
			return nil, gold.Errorf(i, "duplicate document_id %q", id)
		}
		lineOf[id], truth[id] = i, g.Truth
	}
	o := &overlay{source: src}
	for i := range src.Len() {
		d, err := src.read(i, true)
		if err != nil {
			return nil, err
		}
		if _, ok := lineOf[d.ID]; ok {
			o.at, o.truth = append(o.at, i), append(o.truth, truth[d.ID])
			delete(lineOf, d.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lineOf)) {
		return nil, gold.Errorf(lineOf[id], "the documents have no %q", id)
	}
	return o, nil
}

func (o *overlay) Len() int { return len(o.at) }

func (o *overlay) Locate(i int, err error) error { return o.source.Locate(o.at[i], err) }

func (o *overlay) read(i int, gold bool) (Document, error) {
	d, err := o.source.read(o.at[i], gold)
	d.Truth, d.Gold = o.truth[i], nil
	return d, err
}

// draw draws count documents so that each type, difficulty and split has its share, as
// nearly as whole documents allow. A larger count keeps the documents of a smaller one, and
// the order of a file has no effect.
func draw(src source, count int, seed int64) (used []int, err error) {
	if count == 0 || count >= src.Len() {
		return measure.UpTo(src.Len()), nil
	}
	type drawn struct {
		at    int
		hash  string
		place float64 // in the order in which all strata fill up evenly
	}
	strata := map[string][]*drawn{}
	var all []*drawn
	for i := range src.Len() {
		d, err := src.read(i, true)
		if err != nil {
			return nil, err
		}
		key := strings.Join([]string{cmp.Or(d.DocType, d.Schema), d.Difficulty, d.Split}, "\x00")
		all = append(all, &drawn{at: i, hash: kit.Hash(fmt.Sprint(seed), d.ID).String()})
		strata[key] = append(strata[key], all[i])
	}
	order := func(a, b *drawn) int {
		return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.hash, b.hash), a.at-b.at)
	}
	for _, list := range strata {
		slices.SortFunc(list, order)
		for k, x := range list {
			x.place = (float64(k) + 0.5) / float64(len(list))
		}
	}
	slices.SortFunc(all, order)
	for _, x := range all[:count] {
		used = append(used, x.at)
	}
	slices.Sort(used)
	return used, nil
}

// A part is documents of a source that a study uses.
type part struct {
	source
	name string // the stratum of a part of a mixed source, else ""
	set  string // split of documents that have none
	used []int  // in the order of the source
}

// open opens the sources of a study. It reports errors to fault with the key
// they concern.
func (s *Study) open(resolve func(string) string, fault func(key, format string, args ...any)) (opened []part) {
	d := &s.Documents
	parts, mixed := d.Parts, d.Source == "mixed"
	switch {
	case !mixed && len(parts) > 0:
		fault("data.parts", "parts need source: mixed, not source: %s", d.Source)
	case mixed && d.Gold != "":
		fault("data.gold", "a file of gold needs source jsonl or directory, not mixed")
		return nil
	case mixed && len(parts) == 0:
		fault("data.parts", "a mixed source needs parts, each with source and path")
	case mixed && (d.Path != "" || d.Count != 0 || !d.Synthetic.zero()):
		fault("data", "path, count, seed and split of a mixed source belong to its parts")
	}
	if !mixed {
		parts = []Part{{Source: d.Source, Path: d.Path, Synthetic: d.Synthetic, Count: d.Count}}
	}
	for i, p := range parts {
		key, name, from := "data", "", cmp.Or(p.Path, p.Source)
		if mixed {
			key = fmt.Sprintf("data.parts[%d]", i)
			file := filepath.Base(from)
			name = cmp.Or(p.Name, strings.TrimSuffix(file, filepath.Ext(file)))
		}
		src, err := s.openPart(p, name, resolve)
		var used []int
		if err == nil {
			used, err = draw(src, p.Count, s.Execution.Seed)
		}
		for _, e := range kit.Unjoin(err) {
			fault(key, "%w", e)
		}
		switch {
		case src == nil:
			continue
		case err != nil:
			src.Close()
			continue
		case src.Len() == 0:
			fault(key+".path", "%s has no documents", from)
		case p.Count > src.Len():
			fault(key+".count", "count is %d, but %s has %s", p.Count, from, text.Plural(src.Len(), "document", "documents"))
		}
		opened = append(opened, part{src, name, p.Set, used})
	}
	return opened
}

// openPart opens a source, with the gold of the study's file in place of its own.
func (s *Study) openPart(p Part, name string, resolve func(string) string) (source, error) {
	src, err := s.openSource(p, resolve)
	if m, ok := src.(made); ok && name != "" {
		for i := range m {
			m[i].ID = name + "-" + m[i].ID // seeds share the ids of documents
		}
	}
	if err != nil || s.Documents.Gold == "" {
		return src, err
	}
	gold := resolve(s.Documents.Gold)
	if _, err := os.Stat(gold); s.forPeople && errors.Is(err, fs.ErrNotExist) {
		return src, nil
	}
	with, err := overlaid(src, gold)
	if err != nil {
		return src, err
	}
	return with, nil
}

func (s *Study) openSource(p Part, resolve func(string) string) (source, error) {
	m := &s.Documents.Mapping
	switch {
	case p.Source == "synthetic" && p.Path != "":
		return nil, errors.New("source synthetic has no path: its documents are generated from seed")
	case p.Source == "synthetic":
		return openSynthetic(p.Synthetic)
	case !p.Synthetic.zero():
		return nil, fmt.Errorf("seed and split need source: synthetic, as the other keys of synthetic documents do, not source: %s", p.Source)
	case p.Path == "":
		return nil, fmt.Errorf("source %s needs a path", p.Source)
	}
	full := resolve(p.Path)
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("path: %s does not exist; paths are relative to the study file", full)
	case err != nil:
		return nil, fmt.Errorf("path: %w", err)
	case p.Source == "jsonl" && info.IsDir():
		return nil, fmt.Errorf("path: %s is a folder: write source: directory, or name a file", full)
	case p.Source == "directory" && !info.IsDir():
		return nil, fmt.Errorf("path: %s is a file: write source: jsonl, or name a folder", full)
	case p.Source == "directory":
		var records *joined
		if m.Records != "" {
			if records, err = m.openRecords(resolve(m.Records)); err != nil {
				return nil, err
			}
		}
		return openFolder(full, m, records, s.Documents.Gold != "" || s.forPeople)
	case m.Records != "":
		return nil, errors.New("records needs source: directory")
	}
	l, err := table.OpenLines(full, m.texts())
	if err != nil {
		return nil, err
	}
	return lines{l, m}, nil
}
