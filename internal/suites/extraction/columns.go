package extraction

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// Mapping says what the members of the records of a corpus are, or the columns of a table.
type Mapping struct {
	Columns     map[string]string `json:"columns,omitempty" jsonschema:"description=Names of members or columns in the file if they differ\\, such as {document_id: id\\, text: ocr_text}"`
	Schema      string            `json:"schema,omitempty" jsonschema:"description=Schema of the documents that name none"`
	GoldColumns map[string]string `json:"gold_columns,omitempty" jsonschema:"description=Gold from flat members or columns\\, by field\\, such as {total_amount: total}; an empty value is not in the document"`
	Strata      []string          `json:"strata,omitempty" jsonschema:"uniqueItems=true,description=Further members or columns to break results down by"`
	Records     string            `json:"records,omitempty" jsonschema:"description=Table of the records of the documents of a folder\\, with the name of the file as document_id\\, with or without its extension"`
}

// ownKeys are the keys of a record that Scruple knows, beside gold.
var ownKeys = []string{"document_id", "text", "schema", "doc_type", "difficulty", "split", "cluster"}

// texts are the columns of a table of documents, or of their gold, that are no numbers.
func (m *Mapping) texts() table.Texts {
	return table.Texts{Names: slices.Concat(ownKeys, m.named()), Verbatim: cmp.Or(m.Columns["text"], "text"),
		Keys:   []string{cmp.Or(m.Columns["cluster"], "cluster"), cmp.Or(m.Columns["split"], "split")},
		Labels: slices.Concat([]string{cmp.Or(m.Columns["doc_type"], "doc_type")}, slices.Collect(maps.Values(m.GoldColumns)), m.Strata)}
}

// named are the members of the file that the mapping names.
func (m *Mapping) named() []string {
	return slices.Concat(slices.Collect(maps.Values(m.Columns)), slices.Collect(maps.Values(m.GoldColumns)), m.Strata)
}

// decode reads a record. What is neither a key of Scruple nor named by the mapping is kept.
func (m *Mapping) decode(data []byte, gold bool) (d Document, err error) {
	options := json.JoinOptions()
	if !gold {
		options = withoutGold
	}
	if err := dataset.DecodeStrict(data, &d, options); err != nil { // first without the rule, which takes time at every string
		if err := dataset.DecodeStrict(data, &d, lenient); err != nil {
			return d, err
		}
	}
	named := m.named()
	for _, name := range slices.Sorted(maps.Keys(d.Others)) {
		if !slices.Contains(named, name) && near(name) != "" {
			return Document{}, fmt.Errorf("unknown key %q: did you mean %q? A key that is meant so can be named in data.strata", name, near(name))
		}
	}
	d.members = slices.Collect(maps.Keys(d.Others))
	for _, key := range slices.Sorted(maps.Keys(m.Columns)) {
		value, ok := d.Others[m.Columns[key]]
		own := d.own(key)
		if !ok || own == nil { // an unknown key is reported once
			continue
		}
		if key == "text" && value.Kind() == '[' {
			if err := dataset.DecodeStrict(value, own, lenient); err != nil {
				return Document{}, err
			}
			continue
		}
		var l literal
		if err := l.UnmarshalJSON(value); err != nil {
			return Document{}, fmt.Errorf("%s: %w", m.Columns[key], err)
		}
		if *own = string(l); own == &d.ID {
			_ = (*dataset.ID)(own).UnmarshalJSON(value) // a literal is one
		}
	}
	if len(m.GoldColumns) > 0 {
		if len(d.Truth) > 0 || len(d.Gold) > 0 {
			return Document{}, errors.New("gold is in the record and in the columns of data.gold_columns: remove one of them")
		}
		for _, field := range slices.Sorted(maps.Keys(m.GoldColumns)) {
			g, err := goldOf(d.Others[m.GoldColumns[field]])
			if err != nil {
				return Document{}, fmt.Errorf("%s: %w", m.GoldColumns[field], err)
			}
			g.Field = field
			d.Truth = append(d.Truth, g)
		}
	}
	for _, name := range named { // one may be a value and gold
		if !slices.Contains(m.Strata, name) {
			delete(d.Others, name)
		}
	}
	return d, nil
}

var withoutGold = json.WithUnmarshalers(json.UnmarshalFromFunc(func(from *jsontext.Decoder, _ *[]Gold) error { return from.SkipValue() }))

// lenient reads an id that is a number, and a text that is a list of the texts of pages, which are
// numbered from 1.
var lenient = json.WithUnmarshalers(json.UnmarshalFromFunc(func(from *jsontext.Decoder, text *string) error {
	switch kind := from.PeekKind(); {
	case kind == '0' && from.StackPointer() == "/document_id":
		return json.UnmarshalDecode(from, (*dataset.ID)(text))
	case kind != '[' || from.StackPointer() != "/text" && from.StackPointer() != "":
		return json.SkipFunc
	}
	value, err := from.ReadValue()
	var pages []string
	if err == nil && json.Unmarshal(value, &pages) != nil {
		return &dataset.DecodeError{Err: errors.New("want a text, or a list of the texts of pages")}
	}
	var b strings.Builder
	for i, page := range pages {
		fmt.Fprintf(&b, "---PAGE %d---\n%s\n", i+1, strings.TrimSuffix(page, "\n"))
	}
	if *text = b.String(); strings.TrimSpace(strings.Join(pages, "")) == "" {
		*text = ""
	}
	return err
}))

// own is the place of the value of a key.
func (d *Document) own(key string) *string {
	return map[string]*string{"document_id": &d.ID, "text": &d.Text, "schema": &d.Schema, "doc_type": &d.DocType, "difficulty": &d.Difficulty, "split": &d.Split, "cluster": &d.Cluster}[key]
}

// near is the key of Scruple that a long name seems to mean, "" if none.
func near(name string) string {
	const long = 6 // shorter words are near to many others
	for _, key := range append([]string{"ground_truth"}, ownKeys...) {
		if n := len(name) - len(key); len(key) >= long && -2 <= n && n <= 2 && strings.Contains(text.DidYouMean(name, []string{key}), key) {
			return key
		}
	}
	return ""
}

// levels are the strata that the mapping names, and what else the record has.
func (m *Mapping) levels(d *Document) (strata, others []eval.Level) {
	var values []table.Value
	for _, name := range slices.Sorted(maps.Keys(d.Others)) {
		var l literal
		if l.UnmarshalJSON(d.Others[name]) != nil {
			l = literal(d.Others[name]) // a list or an object, as it is
		}
		if l != "" {
			values = append(values, table.Value{Column: name, Text: string(l)})
		}
	}
	return kit.SplitColumns(values, m.Strata)
}

// joined are the records of a table by document.
type joined struct {
	lines
	at map[string]int
}

// find finds the record of a document.
func (j *joined) find(name string) (int, bool) {
	if j == nil {
		return 0, false
	}
	at, ok := j.at[name]
	return at, ok
}

// without are the records of which documents have none, in the order of the table.
func (j *joined) without(documents map[string]map[string]string) (records []int) {
	if j == nil {
		return nil
	}
	used := map[int]bool{}
	for name := range documents {
		if at, ok := j.at[name]; ok {
			used[at] = true
		}
	}
	return slices.DeleteFunc(measure.UpTo(j.Len()), func(i int) bool { return used[i] })
}

// openRecords reads the table of the records of a folder.
func (m *Mapping) openRecords(path string) (*joined, error) {
	records, err := table.OpenLines(path, m.texts())
	if err != nil {
		return nil, fmt.Errorf("data.records: %w", err)
	}
	j := &joined{lines{records, m}, map[string]int{}}
	for i := range j.Len() {
		d, err := j.read(i, true)
		if err != nil {
			return nil, err
		}
		name, _ := nameOf(d.ID)
		for _, name := range []string{name, filepath.ToSlash(d.ID)} {
			if at, ok := j.at[name]; ok && at != i || name == "" {
				return nil, j.Errorf(i, "document_id %q is empty or a duplicate", d.ID)
			}
			j.at[name] = i
		}
	}
	return j, nil
}
