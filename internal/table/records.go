package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// Texts are columns whose values are no numbers and no booleans.
type Texts struct {
	Names    []string
	Verbatim string   // the one whose white space is kept, since others count its characters; it may be empty
	Keys     []string // those whose values are names, and
	Labels   []string // labels: see [Table.Gaps]
}

// Records gives visit the records of a file as JSON objects, each with its line: JSON Lines as
// [dataset.Scan] does, without keeping the file in memory, and a row of any other table as an
// object of the values that are not empty. A value of CSV or a workbook is JSON if it is a
// number, true, false, a list or an object, and else text without white space around it; see
// [Texts]. TRUE and True are true in a column that has nothing else than truth values. A column
// "hours.Monday" is the key Monday of the object hours. An error about the table, which names its
// place, ends the reading. The hash is the SHA-256 of the file.
func Records(path string, texts Texts, visit func(line int, record []byte, err error)) (hash string, err error) {
	if lines, err := isLines(path); err != nil {
		return "", err
	} else if lines {
		return dataset.Scan(path, visit)
	}
	data, err := dataset.ReadFile(path)
	if err != nil {
		return "", err
	}
	t, err := Parse(path, "", data)
	if err == nil {
		err = t.Gaps(texts.Keys, texts.Labels)
	}
	if err != nil {
		return "", err
	}
	for _, r := range t.Rows {
		object, err := t.record(r, texts)
		visit(r.Line, object, err)
	}
	return dataset.SHA256(data), nil
}

// OpenLines is an index over the records that [Records] gives.
func OpenLines(path string, texts Texts) (*dataset.Lines, error) {
	if lines, err := isLines(path); err != nil {
		return nil, err
	} else if lines {
		return dataset.OpenLines(path)
	}
	t, err := Read(path)
	if err == nil {
		err = t.Gaps(texts.Keys, texts.Labels)
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	made, err := dataset.MakeLines(path, func(yield func(int, []byte) bool) {
		for _, r := range t.Rows {
			object, err := t.record(r, texts)
			if err != nil {
				errs = append(errs, dataset.LocateLine(path, r.Line, err))
			}
			yield(r.Line, object) // MakeLines takes them all
		}
	})
	if err = errors.Join(append(errs, err)...); err != nil && made != nil {
		err = errors.Join(err, made.Close())
	}
	return made, err
}

// Lines writes the rows as [Records] does, each on its line: others are blank.
func (t *Table) Lines(texts Texts) ([]byte, error) {
	if err := t.Gaps(texts.Keys, texts.Labels); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	line := 1
	for _, r := range t.Rows {
		object, err := t.record(r, texts)
		if err != nil {
			return nil, dataset.LocateLine(t.File, r.Line, err)
		}
		for ; line < r.Line; line++ {
			b.WriteByte('\n')
		}
		b.Write(object)
	}
	return b.Bytes(), nil
}

// isLines reports whether a file begins like JSON Lines, or has their name.
func isLines(path string) (bool, error) {
	f, err := dataset.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if unpacked, err := gzip.NewReader(r); err == nil {
		r = bufio.NewReader(unpacked)
	} else if _, err := f.Seek(0, io.SeekStart); err == nil {
		r.Reset(f)
	}
	head, _ := r.Peek(512)
	start := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(start) == 0 || start[0] == '{' {
		return true, nil
	}
	name := strings.TrimSuffix(strings.ToLower(path), ".gz")
	return strings.IndexByte("[\xff\xfe", start[0]) < 0 && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")), nil
}

// record makes a JSON object of a row.
func (t *Table) record(r Row, texts Texts) ([]byte, error) {
	if t.text != nil && t.comma == 0 {
		return jsontext.NewDecoder(bytes.NewReader(t.text[r.at:])).ReadValue()
	}
	object := map[string]any{}
	for i, name := range t.Header {
		raw := r.Cells[i].Text
		if r.Cells[i].kind == quoted { // people's texts are as they are
			raw = "'" + raw
		}
		cell := strings.TrimSpace(raw)
		if raw == "" || cell == "" && name != texts.Verbatim {
			continue
		}
		within, keys := object, strings.Split(name, ".")
		for _, key := range keys[:len(keys)-1] {
			if within[key] == nil {
				within[key] = map[string]any{}
			}
			inner, ok := within[key].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("column %q beside a value of %s: use one of them", name, key)
			}
			within = inner
		}
		key := keys[len(keys)-1]
		if within[key] != nil {
			return nil, fmt.Errorf("a value of %s beside columns such as %q: use one of them", name, name+".…")
		}
		within[key] = raw
		if name != texts.Verbatim {
			within[key] = texts.value(name, cell, t.truths()[i])
		}
	}
	return json.Marshal(object, json.Deterministic(true))
}

// Truth reads a truth value as JSON, spreadsheets and Python write it: true, TRUE or True.
func Truth(s string) (value, ok bool) {
	value = s == "true" || s == "TRUE" || s == "True"
	return value, value || s == "false" || s == "FALSE" || s == "False"
}

// truths says which columns have no other values than truth values. In others TRUE may be a word.
func (t *Table) truths() []bool {
	if t.truth == nil {
		t.truth = make([]bool, len(t.Header))
		for i := range t.truth {
			t.truth[i] = !slices.ContainsFunc(t.Rows, func(r Row) bool {
				_, ok := Truth(r.Text(i))
				return !ok && r.Text(i) != ""
			})
		}
	}
	return t.truth
}

// value returns a cell as JSON; truths: of a column of truth values.
func (t Texts) value(name, cell string, truths bool) any {
	typed := !slices.Contains(t.Names, name)
	if is, ok := Truth(cell); ok && typed && truths {
		return is
	}
	switch v := jsontext.Value(cell); v.Kind() {
	case '[', '{':
		if v.IsValid() {
			return v
		}
	case '0', 't', 'f':
		if typed && v.IsValid() {
			return v
		}
	}
	return cell
}
