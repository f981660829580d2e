// Package benchmark makes a study of a public benchmark of document extraction: its documents,
// JSON Schemas and gold, with the published answers of systems as arms.
//
// docubench.go and extractbench.go know the layout of a benchmark each, and find its documents
// and answers; this file writes them. docubench.go has the score of DocuBench, unified.go that of
// ExtractBench, with its values in unified_values.go and its dates in dates.go. Files of a
// benchmark are not trusted. The package must not know the suite's study, the store or providers.
package benchmark

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/dataset/pdf"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// Imports are the benchmarks that can be imported.
func Imports() []kit.Import {
	return []kit.Import{
		{Name: "extractbench", Doc: "folder of ExtractBench (of 2026 by LlamaIndex, or the older one by Contextual AI)", Folder: importer("extractbench", extractBench)},
		{Name: "docubench", Doc: "folder of DocuBench, with the published answers as arms", Folder: importer("docubench", docuBench)},
	}
}

// A corpus is what a benchmark has.
type corpus struct {
	name      string
	schemas   map[string]jsontext.Value
	documents []document
	systems   []system
	metric    string // of the benchmark itself, whose scores the systems bring; may be empty
	left      map[string]int
}

type document struct {
	id, schema string
	file       string // with the text; may be missing
	gold       jsontext.Value
	extra      map[string]string
}

type system struct {
	name    string
	answers map[string]jsontext.Value // by document
	scores  map[string]float64        // by the benchmark's own definition
}

func (c *corpus) leave(why string) {
	if c.left == nil {
		c.left = map[string]int{}
	}
	c.left[why]++
}

// importer writes what a reader finds.
func importer(name string, read func(dir string) (*corpus, error)) func(files []string, to string) (fmt.Stringer, error) {
	return func(files []string, to string) (fmt.Stringer, error) {
		if len(files) != 1 {
			return nil, fmt.Errorf("%s: give its folder alone, not %s", name, text.Plural(len(files), "file", "files"))
		}
		c, err := read(files[0])
		if err != nil {
			return nil, err
		}
		if c.name = name; len(c.documents) == 0 {
			return nil, fmt.Errorf("%s: no documents with gold found", files[0])
		}
		for _, s := range c.systems { // its name becomes that of files and of an arm
			if !kit.ValidName(s.name) {
				return nil, fmt.Errorf("%s: the system %q: want letters, digits, dots, dashes and underscores: rename it", files[0], s.name)
			}
		}
		c.systems = slices.DeleteFunc(c.systems, func(s system) bool {
			if len(s.answers) == 0 { // an arm without answers is an error
				c.leave("all of system " + s.name + ", which has no answer that can be read")
			}
			return len(s.answers) == 0
		})
		written, err := kit.WriteFiles(to, c.files(kit.StudyName(to, name)))
		if err != nil {
			return nil, err
		}
		return report{c, written}, nil
	}
}

// files are those of the study.
func (c *corpus) files(name string) []kit.File {
	files := []kit.File{{Path: "documents.jsonl", Write: c.writeDocuments}}
	for _, schema := range sortedKeys(c.schemas) {
		files = append(files, kit.Bytes("schemas/"+schema+".json", append(slices.Clone(c.schemas[schema]), '\n')))
	}
	for _, s := range c.systems {
		files = append(files, kit.File{Path: "outputs/" + s.name + ".jsonl", Write: s.writeAnswers})
		if len(s.scores) > 0 {
			files = append(files, kit.File{Path: "scores/" + s.name + ".csv", Write: func(w io.Writer) error { return s.writeScores(w, c.metric) }})
		}
	}
	return append(files, kit.File{Path: "study.yaml", Write: func(w io.Writer) error {
		_, err := io.WriteString(w, c.study(name))
		return err
	}})
}

func (c *corpus) writeDocuments(w io.Writer) error {
	for _, d := range c.documents {
		content, err := d.text()
		if err != nil {
			c.leave("the text of the file cannot be read, so the study has its name alone: " + err.Error())
			content = "[" + d.id + "]" // equal texts would be one observation
		}
		row := map[string]any{"document_id": d.id, "schema": d.schema, "text": content, "gold": json.RawMessage(d.gold)}
		for name, value := range d.extra {
			row[name] = value
		}
		if err := writeLine(w, row); err != nil {
			return fmt.Errorf("document %s: %w", d.id, err)
		}
	}
	return nil
}

func writeLine(w io.Writer, row map[string]any) error {
	line := json.NewEncoder(w)
	line.SetEscapeHTML(false)
	return line.Encode(row)
}

// text is the text of a document's file: of a PDF its text layer, of others the file itself.
func (d document) text() (string, error) {
	switch ext := strings.ToLower(filepath.Ext(d.file)); ext {
	case "":
		return "", fmt.Errorf("no file")
	case ".pdf":
		content, err := pdf.Text(d.file)
		if err != nil {
			return "", fmt.Errorf("a PDF without text that can be read")
		}
		return content, nil
	case ".txt", ".csv", ".xml", ".html", ".md":
		data, err := dataset.ReadFile(d.file)
		if content := strings.ToValidUTF8(string(data), "\ufffd"); err != nil || strings.TrimSpace(content) != "" {
			return content, err
		}
		return "", fmt.Errorf("an empty file")
	default:
		return "", fmt.Errorf("a file %s", ext)
	}
}

func (s system) writeAnswers(w io.Writer) error {
	for _, id := range sortedKeys(s.answers) {
		if err := writeLine(w, map[string]any{"item": id, "output": json.RawMessage(s.answers[id])}); err != nil {
			return fmt.Errorf("answer of %s about %s: %w", s.name, id, err)
		}
	}
	return nil
}

func (s system) writeScores(w io.Writer, metric string) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"item", metric}}
	for _, id := range sortedKeys(s.scores) {
		rows = append(rows, []string{id, strconv.FormatFloat(s.scores[id], 'g', -1, 64)})
	}
	return c.WriteAll(rows)
}

// study is the study file.
func (c *corpus) study(name string) string {
	arms, secondary, own := "", "precision, recall, value", ""
	for _, s := range c.systems {
		scores := ""
		if len(s.scores) > 0 {
			scores = ", scores: scores/" + s.name + ".csv"
			own = fmt.Sprintf("  own: [{name: %s, title: %q}]\n", c.metric, "Score of "+c.name)
		}
		arms += fmt.Sprintf("  - {name: %s, outputs: outputs/%s.jsonl%s}\n", s.name, s.name, scores)
	}
	if arms == "" {
		arms = "  - {name: heuristic} # rules of Scruple, to begin with: add your own answers, or a model and a prompt\n"
	}
	if own != "" {
		secondary += ", " + c.metric
	}
	return fmt.Sprintf(`# Made by scruple import %s.
name: %s
suite: extraction
data: {source: jsonl, path: documents.jsonl}
schemas: schemas
answers: plain
arms:
%smetrics:
  primary: [f1]
  secondary: [%s]
%scomparisons: all
`, c.name, name, arms, secondary, own)
}

// A report says what an import kept.
type report struct {
	c     *corpus
	files []string
}

func (r report) MarshalJSON() ([]byte, error) {
	var systems []string
	for _, s := range r.c.systems {
		systems = append(systems, s.name)
	}
	return json.Marshal(map[string]any{"documents": len(r.c.documents), "schemas": len(r.c.schemas), "systems": systems, "left_out": r.c.left, "files": r.files})
}

func (r report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s\n", text.Plural(len(r.c.documents), "document", "documents"), text.Plural(len(r.c.schemas), "schema", "schemas"), text.Plural(len(r.c.systems), "system", "systems"))
	for _, s := range r.c.systems {
		fmt.Fprintf(&b, "system %s: %s\n", s.name, text.Plural(len(s.answers), "answer", "answers"))
	}
	for _, why := range sortedKeys(r.c.left) {
		fmt.Fprintf(&b, "note: %s: %s\n", text.Plural(r.c.left[why], "document or answer", "documents or answers"), why)
	}
	for _, f := range r.files {
		b.WriteString("wrote " + f + "\n")
	}
	return b.String()
}

// mostFile limits a JSON file of a benchmark.
const mostFile = 64 << 20

// readJSON reads a file that is one JSON value, as one line with the members in their order. It
// refuses links and what is not a regular file.
func readJSON(path string) (jsontext.Value, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case info.Size() > mostFile:
		return nil, fmt.Errorf("%s has more than %d MB", path, mostFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(strings.TrimPrefix(string(data), "\ufeff"))
	if err := value.Compact(); err != nil {
		return nil, fmt.Errorf("%s: not valid JSON: %w", path, err)
	}
	return value, nil
}

// lenient are the options by which files of benchmarks are read.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// into decodes a file.
func into(path string, v any) error {
	value, err := readJSON(path)
	if err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(value, v, lenient); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// names lists the files of a folder with an extension, without it.
func names(dir, ext string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ext); ok && !e.IsDir() {
			list = append(list, name)
		}
	}
	return list, nil
}

// beside finds a file with a name and one of the extensions of documents, in any case.
func beside(dir, name string) string {
	entries, _ := os.ReadDir(dir)
	for _, ext := range []string{".txt", ".pdf", ".csv", ".xml", ".html", ".md", ".docx", ".xlsx", ".png", ".jpg", ".jpeg", ".jfif", ".tiff"} {
		for _, e := range entries {
			if its, ok := strings.CutPrefix(e.Name(), name); ok && strings.EqualFold(its, ext) && e.Type().IsRegular() {
				return filepath.Join(dir, e.Name())
			}
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
