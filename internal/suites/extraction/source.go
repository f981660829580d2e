package extraction

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/dataset/pdf"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A source reads documents by index. It is safe for concurrent use.
type source interface {
	Len() int
	// read decodes document i. It reuses buf if it is large enough.
	read(i int, buf []byte, d *Document, options json.Options) ([]byte, error)
	// Locate prefixes an error with the position of document i.
	Locate(i int, err error) error
	Close() error
}

// lines are the records of a JSON Lines file.
type lines struct{ *dataset.Lines }

// withGold and withoutGold are decoding options. Requests need no gold, and gold
// takes longer to decode than the rest of the document.
var (
	withGold    = json.JoinOptions()
	withoutGold = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *[]Gold) error { return d.SkipValue() }))
)

func (l lines) read(i int, buf []byte, d *Document, options json.Options) ([]byte, error) {
	buf, err := l.Read(i, buf)
	if err != nil {
		return buf, err
	}
	if err := dataset.DecodeStrict(buf, d, options); err != nil {
		return buf, l.Locate(i, err)
	}
	return buf, nil
}

// A folder has pairs of NAME.txt or NAME.pdf, the text of a document, and NAME.json,
// its record without text.
type folder struct {
	dir   string
	names []string
	pdf   map[string]func() (string, error) // by name; each is read once, as that takes a process
}

func openFolder(dir string) (source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("opening data: %w", err)
	}
	exists := map[string]bool{}
	for _, e := range entries {
		exists[e.Name()] = true
	}
	f := &folder{dir: dir, pdf: map[string]func() (string, error){}}
	var errs []error
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		ext := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext)
		switch ext {
		case ".txt", ".pdf":
			if ext == ".pdf" && exists[name+".txt"] {
				errs = append(errs, fmt.Errorf("%s: the folder also has %s.txt: keep one of them", file, name))
				continue
			}
			f.names = append(f.names, name)
			if ext == ".pdf" {
				f.pdf[name] = sync.OnceValues(func() (string, error) { return pdf.Text(file) })
			}
			if !exists[name+".json"] {
				errs = append(errs, fmt.Errorf("%s: its gold, %s.json, does not exist", file, name))
			}
		case ".json":
			if !exists[name+".txt"] && !exists[name+".pdf"] {
				errs = append(errs, fmt.Errorf("%s: its document, %s.txt or %s.pdf, does not exist", file, name, name))
			}
		}
	}
	slices.Sort(f.names)
	return f, errors.Join(errs...)
}

func (f *folder) Len() int     { return len(f.names) }
func (f *folder) Close() error { return nil }

func (f *folder) Locate(i int, err error) error {
	return fmt.Errorf("%s: %w", filepath.Join(f.dir, f.names[i]+".json"), err)
}

func (f *folder) read(i int, buf []byte, d *Document, options json.Options) ([]byte, error) {
	path := filepath.Join(f.dir, f.names[i])
	if err := dataset.ReadJSON(path+".json", d, options); err != nil {
		return buf, err
	}
	if d.Text != "" {
		return buf, f.Locate(i, errors.New("text is set, but the text of this document is in a file of its own: remove text"))
	}
	var err error
	if d.Text, err = f.text(i); err != nil {
		return buf, err
	}
	if d.ID == "" {
		d.ID = f.names[i]
	}
	return buf, nil
}

// text reads the text of a document. That of a PDF is what models are sent and what
// quotes are compared with.
func (f *folder) text(i int) (string, error) {
	path := filepath.Join(f.dir, f.names[i])
	if read := f.pdf[f.names[i]]; read != nil {
		content, err := read()
		if err != nil {
			err = fmt.Errorf("reading document: %w", err)
		}
		return content, err
	}
	content, err := dataset.ReadFile(path + ".txt")
	if err != nil {
		return "", fmt.Errorf("reading document: %w", err)
	}
	if !utf8.Valid(content) {
		return "", fmt.Errorf("%s.txt: the document is not UTF-8: save it as UTF-8", path)
	}
	return strings.TrimPrefix(string(content), "\ufeff"), nil
}

// A corpus is the documents of a study, from one or more sources.
type corpus struct {
	parts []corpusPart
}

type corpusPart struct {
	source
	name string // the stratum of a part of a mixed source, else ""
	set  string // split of documents that have none
	used []int  // documents, in the order of the source
}

// draw draws count documents so that each type, difficulty and split has its share, as
// nearly as whole documents allow. A larger count keeps the documents of a smaller one, and
// the order of a file has no effect.
func draw(src source, count int, seed int64) (used []int, err error) {
	type drawn struct {
		at   int
		hash string
		// place of the document in the order in which all strata fill up evenly
		place float64
	}
	strata := map[string][]drawn{}
	var buf []byte
	var d Document
	var errs []error
	for i := range src.Len() {
		used = append(used, i)
		if count == 0 || count >= src.Len() {
			continue
		}
		d = Document{}
		if buf, err = src.read(i, buf, &d, withoutGold); err != nil {
			errs = append(errs, err)
		}
		key := strings.Join([]string{cmp.Or(d.DocType, d.Schema), d.Difficulty, d.Split}, "\x00")
		strata[key] = append(strata[key], drawn{at: i, hash: kit.Hash(fmt.Sprint(seed), d.ID).String()})
	}
	switch {
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	case len(strata) == 0:
		return used, nil
	}
	var all []drawn
	for _, list := range strata {
		slices.SortFunc(list, func(a, b drawn) int { return cmp.Or(strings.Compare(a.hash, b.hash), a.at-b.at) })
		for k := range list {
			list[k].place = (float64(k) + 0.5) / float64(len(list))
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.hash, b.hash), a.at-b.at)
	})
	used = used[:0]
	for _, x := range all[:count] {
		used = append(used, x.at)
	}
	slices.Sort(used)
	return used, nil
}

// open opens the sources of a study. It reports errors to fault with the key
// they concern.
func (s *Study) open(resolve func(string) string, fault func(key, format string, args ...any)) *corpus {
	c := &corpus{}
	d := &s.Documents
	gold := d.Gold
	if s.forPeople && gold != "" {
		if _, err := os.Stat(resolve(gold)); errors.Is(err, fs.ErrNotExist) {
			gold = ""
		}
	}
	add := func(key, kind, path, name, set string, options Synthetic, count int) {
		src, err := openSource(kind, path, options, resolve)
		if m, ok := src.(made); ok && d.Source == "mixed" && err == nil {
			m.prefix = name + "-" // seeds share the ids of documents
			src = m
		}
		if err == nil && gold != "" {
			var with *overlay
			if with, err = overlaid(src, resolve(gold)); err == nil {
				src = with
			}
		}
		switch {
		case err != nil:
			for _, e := range kit.Unjoin(err) {
				fault(key, "%v", e)
			}
			if src != nil {
				src.Close()
			}
			return
		case src.Len() == 0:
			fault(key+".path", "%s has no documents", cmp.Or(path, kind))
		case count > src.Len():
			fault(key+".count", "count is %d, but %s has %s", count, cmp.Or(path, kind), text.Plural(src.Len(), "document", "documents"))
		}
		used, err := draw(src, count, s.Execution.Seed)
		for _, e := range kit.Unjoin(err) {
			fault(key, "%v", e)
		}
		c.parts = append(c.parts, corpusPart{src, name, set, used})
	}
	if d.Source != "mixed" {
		if len(d.Parts) > 0 {
			fault("data.parts", "parts need source: mixed, not source: %s", d.Source)
		}
		add("data", d.Source, d.Path, "", "", d.Synthetic, d.Count)
		return c
	}
	if d.Gold != "" {
		fault("data.gold", "a file of gold needs source jsonl or directory, not mixed")
		return c
	}
	if len(d.Parts) == 0 {
		fault("data.parts", "a mixed source needs parts, each with source and path")
	}
	if d.Path != "" || d.Count != 0 || d.Synthetic != (Synthetic{}) {
		fault("data", "path, count, seed and split of a mixed source belong to its parts")
	}
	for i, p := range d.Parts {
		name := p.Name
		if name == "" && p.Path == "" {
			name = p.Source
		} else if name == "" {
			name = strings.TrimSuffix(filepath.Base(p.Path), filepath.Ext(p.Path))
		}
		add(fmt.Sprintf("data.parts[%d]", i), p.Source, p.Path, name, p.Set, p.Synthetic, p.Count)
	}
	return c
}

// made are synthetic documents, as records.
type made struct {
	records [][]byte
	prefix  string // of their ids
}

func openSynthetic(options Synthetic) (source, error) {
	seed := uint64(defaultSeed)
	if options.Seed != nil {
		seed = *options.Seed
	}
	sets, err := synthetic.Generate(seed)
	if err != nil {
		return nil, err
	}
	var m made
	for _, s := range sets {
		for i := range s.Documents {
			if options.Split == "" || options.Split == s.Split {
				m.records = append(m.records, s.Documents[i].Record())
			}
		}
	}
	return m, nil
}

func (m made) Len() int     { return len(m.records) }
func (m made) Close() error { return nil }

func (m made) Locate(i int, err error) error {
	return fmt.Errorf("synthetic document %d: %w", i+1, err)
}

func (m made) read(i int, buf []byte, d *Document, options json.Options) ([]byte, error) {
	if err := dataset.DecodeStrict(m.records[i], d, options); err != nil {
		return buf, m.Locate(i, err)
	}
	d.ID = m.prefix + d.ID
	return buf, nil
}

func openSource(kind, path string, options Synthetic, resolve func(string) string) (source, error) {
	switch {
	case kind == "synthetic" && path != "":
		return nil, errors.New("source synthetic has no path: its documents are generated from seed")
	case kind == "synthetic":
		return openSynthetic(options)
	case options != (Synthetic{}):
		return nil, fmt.Errorf("seed and split need source: synthetic, not source: %s", kind)
	case kind != "jsonl" && kind != "directory":
		return nil, fmt.Errorf("source is %q: want jsonl, directory, mixed or synthetic", kind)
	case path == "":
		return nil, fmt.Errorf("source %s needs a path", kind)
	}
	full := resolve(path)
	info, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("path: %s does not exist; paths are relative to the study file", full)
	case err != nil:
		return nil, fmt.Errorf("path: %w", err)
	case kind == "jsonl" && info.IsDir():
		return nil, fmt.Errorf("path: %s is a folder: write source: directory, or name a file", full)
	case kind == "directory" && !info.IsDir():
		return nil, fmt.Errorf("path: %s is a file: write source: jsonl, or name a folder", full)
	case kind == "jsonl":
		l, err := dataset.OpenLines(full)
		if err != nil {
			return nil, err
		}
		return lines{l}, nil
	}
	return openFolder(full)
}

func (c *corpus) close() error {
	var errs []error
	for _, p := range c.parts {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// A place is the position of a document in a corpus.
type place struct {
	part   uint32
	record uint32
}

func (c *corpus) read(at place, buf []byte, d *Document, gold bool) ([]byte, error) {
	options := withGold
	if !gold {
		options = withoutGold
	}
	return c.parts[at.part].read(int(at.record), buf, d, options)
}

func (c *corpus) locate(at place, err error) error {
	return c.parts[at.part].Locate(int(at.record), err)
}
