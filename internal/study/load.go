package study

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
)

// A File is a loaded study file, with positions for later errors and the data to
// record.
type File struct {
	Path string // as it was given
	Dir  string // the folder of the file; paths in the study are relative to it
	// Tagged returns the id of the newest run with a tag, "" if there is none; nil where no
	// store is known.
	Tagged func(tag string) string

	root      *node
	canonical []byte
	sum       [sha256.Size]byte // of the bytes of the file

	mu   sync.Mutex
	used map[string]use // paths that were resolved
}

// A use of a file by a study. One file may have several.
type use int

const (
	asData use = 1 << iota
	asPrompt
	asProgram
)

// SHA256 returns the SHA-256 of the bytes of the file in hexadecimal.
func (f *File) SHA256() string { return hex.EncodeToString(f.sum[:]) }

// Load reads the study at path, applies overrides such as
// "execution.concurrency=8", fills in defaults, decodes it, and validates what
// is common to all suites. The error is [Errors], all findings of the first step
// that has any: syntax, then keys and types, then semantics.
//
// Keys are those of the json tags; the jsonschema tags define constraints and
// defaults.
func Load(path string, overrides []string, into Any) (*File, error) {
	f, err := read(path, overrides)
	if err != nil {
		return nil, err
	}
	return f, f.load(into)
}

// load validates a study and decodes it.
func (f *File) load(into Any) error {
	s := schemaOf(reflect.TypeOf(into))
	if err := check(f.root, s); err != nil {
		return err
	}
	values := f.root.plain()
	s.fill(values)
	if err := f.decode(values, into); err != nil {
		return err
	}
	return f.validate(into.Common())
}

// Suite reads only the suite of the study at path, so that the caller can choose
// the type to [Load] it into. The file is for errors about it.
func Suite(path string, overrides []string) (f *File, name string, err error) {
	remedy := "name the suite, as in suite: NAME"
	if strings.HasSuffix(path, ".json") {
		remedy += "; or " + imports
	}
	return peek(path, overrides, "suite", remedy)
}

// Name reads only the name of the study at path, and its split, "" if it has none.
func Name(path string, overrides []string) (name, split string, err error) {
	f, name, err := peek(path, overrides, "name", "name the study, as in name: my study")
	if err != nil {
		return "", "", err
	}
	if n := f.root.get("split"); n != nil && n.kind == str {
		split = n.text
	}
	return name, split, nil
}

// peek reads one text of a study without validating the rest.
func peek(path string, overrides []string, key, remedy string) (f *File, value string, err error) {
	if f, err = read(path, overrides); err != nil {
		return nil, "", err
	}
	switch n := f.root.get(key); {
	case n == nil:
		err = Errors{f.Errorf("", "%q is missing: %s", key, remedy)}
	case n.kind != str:
		err = Errors{f.Errorf(key, "%s", mismatch(n, []string{"string"}, n.shown()))}
	case n.text == "":
		err = Errors{f.Errorf(key, "empty value: %s", remedy)}
	default:
		value = n.text
	}
	return f, value, err
}

// read reads a study without validating it.
func read(path string, overrides []string) (*File, error) {
	data, err := readFile(path, maxBytes)
	if err != nil {
		return nil, Errors{fmt.Errorf("reading the study: %w", err)}
	}
	return parse(path, data, overrides)
}

// parse reads the text of a study and applies the overrides.
func parse(path string, data []byte, overrides []string) (*File, error) {
	root, err := parseYAML(data, func(line, column int) Position {
		return Position{File: path, Line: line, Column: column}
	})
	var errs Errors
	switch {
	case err != nil:
		errs.Add(err)
	case root == nil || root.kind == nothing:
		errs.Add(&Error{Pos: Position{File: path}, Err: errors.New("the file has no study: it needs at least the keys name and suite")})
	case root.kind != section:
		errs.Add(&Error{Pos: root.at, Err: fmt.Errorf("a study is a section of keys such as name: and suite:, not %s", root.shown())})
	default:
		had := hasSplit(root)
		for _, o := range overrides {
			errs.Add(override(root, o))
		}
		if had && !hasSplit(root) {
			errs.Add(errors.New("the study has a split and an override removes it, so that DEV would have tests and TEST no registration: use --split dev or --split test"))
		}
	}
	return &File{Path: path, Dir: filepath.Dir(path), root: root, sum: sha256.Sum256(data)}, errs.Err()
}

// YAML writes a study as YAML. Some texts, such as one that begins with a tab, the library writes
// as what reads differently or not at all: then the JSON stays, which is YAML too.
func YAML(data []byte) ([]byte, error) {
	want, err := parse("", data, nil)
	if err != nil {
		return nil, err
	}
	text, err := yaml.JSONToYAML(data)
	if err == nil {
		var have *File
		if have, err = parse("", text, nil); err == nil && reflect.DeepEqual(have.root.plain(), want.root.plain()) {
			return text, nil
		}
	}
	return append(data, '\n'), nil
}

func hasSplit(root *node) bool {
	n := root.get("split")
	return n != nil && n.text != ""
}

// readFile reads a file of at most limit bytes and one more, so that a larger
// one can be told.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: give the path of a file in it", path)
	}
	return io.ReadAll(io.LimitReader(file, limit+1))
}

// decode fills the struct from the checked values, and keeps the canonical form
// of the result.
func (f *File) decode(values, into any) error {
	data, err := json.Marshal(values)
	if err != nil {
		return Errors{f.Errorf("", "%w", err)}
	}
	if err := json.Unmarshal(data, into); err != nil {
		var misfit *json.UnmarshalTypeError
		if errors.As(err, &misfit) { // a number in range of its schema, but not of its Go type
			path := strings.TrimPrefix(misfit.Field, "Study.")
			return Errors{f.Errorf(path, "want a value of type %s, got %s", misfit.Type, misfit.Value)}
		}
		return Errors{f.Errorf("", "%w", err)}
	}
	if f.canonical, err = CanonicalJSON(into); err != nil {
		return Errors{f.Errorf("", "%w", err)}
	}
	return nil
}

// CanonicalJSON writes a value with sorted keys, without white space, and with
// every character as itself.
func CanonicalJSON(v any) (jsontext.Value, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	canonical := jsontext.Value(data)
	err = canonical.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false))
	return canonical, err
}

// Canonical is the study after overrides and defaults as JSON with sorted
// keys: the same bytes for every way of writing the same study.
func (f *File) Canonical() []byte { return slices.Clone(f.canonical) }

// Keys are the top keys of the canonical form.
func (f *File) Keys() (keys map[string]json.RawMessage) {
	if err := json.Unmarshal(f.canonical, &keys); err != nil {
		panic("study: the canonical form is not an object: " + err.Error())
	}
	return keys
}

// Pos returns the position of the value at a path such as "kernels[2].path". For a
// default it is the position of the nearest section in the file.
func (f *File) Pos(path string) Position {
	n := f.root
	steps, _ := parsePath(path)
	for _, s := range steps {
		next := n.child(s)
		if next == nil {
			break
		}
		n = next
	}
	return n.at
}

// Errorf is a finding about the value at a path: it prints as
// "study.yaml:14:5: kernels[2].path: …".
func (f *File) Errorf(path, format string, args ...any) error {
	return &Error{Pos: f.Pos(path), Path: path, Err: fmt.Errorf(format, args...)}
}

// Resolve makes the path of a file or folder that the study reads one that can be
// opened: relative paths are relative to the study file. [File.Used] lists these
// paths.
func (f *File) Resolve(rel string) string { return f.use(rel, asData) }

func (f *File) use(rel string, as use) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used == nil {
		f.used = map[string]use{}
	}
	f.used[rel] |= as
	return f.Place(rel)
}

// Prompt is Resolve for a file whose text is part of what models are asked, such as a
// prompt, or otherwise defines an arm. [File.Prompts] lists these paths.
func (f *File) Prompt(rel string) string { return f.use(rel, asPrompt) }

// Program is Resolve for a file of a program that the study runs, to which links may lead anywhere.
func (f *File) Program(rel string) string { return f.use(rel, asProgram) }

// Prompts lists the paths of prompts, as the study has them, sorted.
func (f *File) Prompts() []string { return f.paths(asPrompt) }

// paths lists the paths that have one of some uses, sorted.
func (f *File) paths(as use) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.used)), func(rel string) bool { return f.used[rel]&as == 0 })
}

// Place is Resolve for a path that the study does not read, such as one that it
// writes.
func (f *File) Place(rel string) string {
	if filepath.IsAbs(rel) {
		return filepath.Clean(rel)
	}
	return filepath.Join(f.Dir, rel)
}

// Walk calls with the file at a path of the study, or with every file in the folder there: where
// it is, and its path in the study. Hidden files in folders are left out, and so are those of the
// study's own folder as a whole. What does not exist is optional.
func (f *File) Walk(rel string, do func(path, rel string, d fs.DirEntry) error) error {
	if rel == "" || filepath.Clean(rel) == "." {
		return nil
	}
	from, err := filepath.EvalSymlinks(f.Place(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			hidden := err == nil && path != from && strings.HasPrefix(d.Name(), ".")
			switch {
			case hidden && d.IsDir():
				return fs.SkipDir
			case err != nil, hidden, d.IsDir():
				return err
			}
			below, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			return do(path, filepath.ToSlash(filepath.Join(rel, below)), d)
		})
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", rel, err)
	}
	return nil
}

// walk is Walk for all paths that were resolved.
func (f *File) walk(do func(path, rel string, d fs.DirEntry) error) error {
	for _, rel := range f.Used() {
		if err := f.Walk(rel, do); err != nil {
			return err
		}
	}
	return nil
}

// Stamp tells one state of the study file, and of the files of [File.Sums], from another, by
// their sizes and times.
func (f *File) Stamp() string {
	h := sha256.New()
	add := func(path, _ string, _ fs.DirEntry) error {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(h, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	}
	_ = add(f.Path, "", nil)
	_ = f.walk(add) // an error ends a state too
	return hex.EncodeToString(h.Sum(nil))
}

// Sums returns the SHA-256 of every file that the study reads, by path, sorted; see walk.
func (f *File) Sums() ([]Sum, error) {
	var list []Sum
	err := f.walk(func(path, rel string, _ fs.DirEntry) error {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // reading a pipe waits for its writer
			return fmt.Errorf("%s is not a regular file: remove it", path)
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		list = append(list, Sum{rel, hex.EncodeToString(sum[:])})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Sum) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(list), nil
}

// A Sum is the SHA-256 of a file in hexadecimal.
type Sum struct{ Path, SHA256 string }

// Used lists the paths that were resolved, as the study has them, sorted. Not all of
// them exist.
func (f *File) Used() []string { return f.paths(asData | asPrompt | asProgram) }

// CheckLinks refuses links that lead out of the study's folder, on the way to a file that
// the study reads or in a folder that it reads, except those to the files of programs. A study of
// someone else could so show any file of this machine to a model. A path such as ../data,
// which a reader of the study sees, is allowed; links in that folder must lead into it or into the
// study's folder.
func (f *File) CheckLinks() error {
	var errs []error
	programs := f.paths(asProgram)
	for _, rel := range f.Used() {
		if rel == "" || filepath.Clean(rel) == "." || slices.Contains(programs, rel) {
			continue
		}
		errs = append(errs, f.Contained(rel))
		if info, err := os.Stat(f.Place(rel)); err != nil || !info.IsDir() { // opening a pipe waits for its writer
			continue
		}
		root, err := os.OpenRoot(f.Place(rel))
		if err != nil {
			continue
		}
		_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				errs = append(errs, f.linked(rel, name))
			}
			return nil
		})
		root.Close()
	}
	return errors.Join(errs...)
}

// Contained returns an error if a path relative to the study's folder, below it as written,
// is or passes a link that leads out of the folder.
func (f *File) Contained(rel string) error {
	if !filepath.IsLocal(rel) {
		return nil
	}
	return f.contained(f.Dir, rel, "the study's folder")
}

// linked is Contained for what stands in a folder that the study reads.
func (f *File) linked(folder, name string) error {
	if filepath.IsLocal(folder) {
		return f.Contained(filepath.Join(folder, name))
	}
	return f.contained(f.Place(folder), name, "the folder "+folder)
}

// contained returns an error if rel, below dir as written, is elsewhere than in dir or in the
// study's folder.
func (f *File) contained(dir, rel, called string) error {
	for path := filepath.Clean(rel); path != "."; path = filepath.Dir(path) { // what does not exist yet may be below a link
		place := filepath.Join(dir, path)
		target, err := realPath(place)
		if err != nil {
			continue
		}
		for _, folder := range []string{dir, f.Dir} {
			folder, _ = realPath(folder)
			if below, err := filepath.Rel(folder, target); err == nil && filepath.IsLocal(below) {
				return nil
			}
		}
		return fmt.Errorf("%s leads out of %s by a link, to %s: write that path in the study, or its variables in the environment if it is .env, or replace the link by what it leads to", place, called, target)
	}
	return nil
}

// realPath is the absolute path of what exists at a path, without links.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
