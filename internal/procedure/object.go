package procedure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// An Object is the params or the input of a case: named values, read with
// errors that name them.
type Object struct {
	name   string // "params", "input"
	fields map[string]any
}

// NewObject makes an object of values as encoding/json decodes them with
// UseNumber, or of []float64, []string and the like.
func NewObject(name string, fields map[string]any) Object { return Object{name, fields} }

// Has reports whether a field is there and not null.
func (o Object) Has(field string) bool { return o.fields[field] != nil }

// Names lists the fields in order.
func (o Object) Names() []string {
	var names []string
	for name := range o.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (o Object) path(field string) string { return o.name + "." + field }

// Number reads one number, or the default where the field is absent.
func (o Object) Number(field string, otherwise float64) (float64, error) {
	if !o.Has(field) {
		return otherwise, nil
	}
	return number(o.path(field), o.fields[field])
}

// Int reads one whole number, or the default where the field is absent.
func (o Object) Int(field string, otherwise int) (int, error) {
	x, err := o.Number(field, float64(otherwise))
	if err != nil {
		return 0, err
	}
	return whole(o.path(field), x)
}

// IntIn reads one whole number within limits, or the default.
func (o Object) IntIn(field string, otherwise, low, high int) (int, error) {
	n, err := o.Int(field, otherwise)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("%s is %d, expected %d to %d", o.path(field), n, low, high)
	}
	return n, err
}

// Text reads one string (or number, as text), or the default where the field
// is absent.
func (o Object) Text(field, otherwise string) (string, error) {
	if !o.Has(field) {
		return otherwise, nil
	}
	return label(o.path(field), o.fields[field])
}

// Choice reads one of the given words; the first is the default.
func (o Object) Choice(field string, words ...string) (string, error) {
	s, err := o.Text(field, words[0])
	if err == nil && !slices.Contains(words, s) {
		err = fmt.Errorf("%s is %q, expected one of %q", o.path(field), s, words)
	}
	return s, err
}

// Flag reads true or false, or the default where the field is absent.
func (o Object) Flag(field string, otherwise bool) (bool, error) {
	if !o.Has(field) {
		return otherwise, nil
	}
	return binary(o.path(field), o.fields[field])
}

// Len is the length of a list.
func (o Object) Len(field string) (int, error) {
	v := o.fields[field]
	if v == nil {
		return 0, fmt.Errorf("%s is missing", o.path(field))
	}
	switch v := v.(type) {
	case []any:
		return len(v), nil
	case []float64:
		return len(v), nil
	case []string:
		return len(v), nil
	}
	return 0, fmt.Errorf("%s is %s, expected a list", o.path(field), kind(v))
}

// Textual reports whether a list holds text, and so cannot be numbers.
func (o Object) Textual(field string) bool {
	switch v := o.fields[field].(type) {
	case []string:
		return true
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { _, text := x.(string); return text })
	}
	return false
}

// Numbers reads a list of finite numbers.
func (o Object) Numbers(field string) ([]float64, error) {
	return list(o, field, number)
}

// Ints reads a list of whole numbers.
func (o Object) Ints(field string) ([]int, error) {
	return list(o, field, integer)
}

// Labels reads a list of labels: strings, or numbers and truth values as text.
func (o Object) Labels(field string) ([]string, error) {
	return list(o, field, label)
}

// Binaries reads a list of outcomes, each 0/1 or true/false.
func (o Object) Binaries(field string) ([]bool, error) {
	return list(o, field, binary)
}

// Table reads a list of rows of finite numbers.
func (o Object) Table(field string) ([][]float64, error) {
	return table(o, field, number)
}

// Counts reads a list of rows of whole numbers.
func (o Object) Counts(field string) ([][]int, error) {
	return table(o, field, integer)
}

// BinaryTable reads a list of rows of outcomes.
func (o Object) BinaryTable(field string) ([][]bool, error) {
	return table(o, field, binary)
}

// TableWithGaps reads rows of numbers in which null is NaN.
func (o Object) TableWithGaps(field string) ([][]float64, error) {
	return table(o, field, numberOrGap)
}

// NumbersWithGaps reads a list of numbers in which null is NaN.
func (o Object) NumbersWithGaps(field string) ([]float64, error) {
	return list(o, field, numberOrGap)
}

func numberOrGap(path string, v any) (float64, error) {
	if v == nil {
		return math.NaN(), nil
	}
	return number(path, v)
}

// Objects reads a list of objects.
func (o Object) Objects(field string) ([]Object, error) {
	return list(o, field, func(path string, v any) (Object, error) {
		m, ok := v.(map[string]any)
		if !ok {
			return Object{}, fmt.Errorf("%s is %s, expected an object", path, kind(v))
		}
		return Object{path, m}, nil
	})
}

// Object reads an object; an absent one has no fields.
func (o Object) Object(field string) (Object, error) {
	if !o.Has(field) {
		return Object{o.path(field), nil}, nil
	}
	m, ok := o.fields[field].(map[string]any)
	if !ok {
		return Object{}, fmt.Errorf("%s is %s, expected an object", o.path(field), kind(o.fields[field]))
	}
	return Object{o.path(field), m}, nil
}

func list[T any](o Object, field string, read func(string, any) (T, error)) ([]T, error) {
	v := o.fields[field]
	if v == nil {
		return nil, fmt.Errorf("%s is missing", o.path(field))
	}
	return listAt(o.path(field), v, read)
}

func listAt[T any](path string, v any, read func(string, any) (T, error)) ([]T, error) {
	if typed, ok := v.([]T); ok {
		return typed, nil
	}
	vs, err := elements(path, v)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(vs))
	for i, v := range vs {
		if out[i], err = read(path, v); err != nil {
			// The path costs more than the value: it is made again with the
			// index only where it is needed.
			_, err = read(path+"["+strconv.Itoa(i)+"]", v)
			return nil, err
		}
	}
	return out, nil
}

func table[T any](o Object, field string, read func(string, any) (T, error)) ([][]T, error) {
	return list(o, field, func(path string, v any) ([]T, error) { return listAt(path, v, read) })
}

// elements gives a list's values; typed lists come from tables.
func elements(path string, v any) ([]any, error) {
	switch v := v.(type) {
	case []any:
		return v, nil
	case []float64:
		return boxed(v), nil
	case []string:
		return boxed(v), nil
	case []bool:
		return boxed(v), nil
	case [][]float64:
		return boxed(v), nil
	}
	return nil, fmt.Errorf("%s is %s, expected a list", path, kind(v))
}

func boxed[T any](xs []T) []any {
	out := make([]any, len(xs))
	for i, x := range xs {
		out[i] = x
	}
	return out
}

func number(path string, v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return finite(path, v)
	case int:
		return float64(v), nil
	case json.Number:
		x, err := v.Float64()
		if err != nil {
			return 0, fmt.Errorf("%s is %s, which no float64 can hold", path, v)
		}
		return finite(path, x)
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("%s is %s, expected a number", path, kind(v))
}

func finite(path string, x float64) (float64, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%s is %v, expected a finite number", path, x)
	}
	return x, nil
}

func whole(path string, x float64) (int, error) {
	if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return 0, fmt.Errorf("%s is %v, expected a whole number", path, x)
	}
	return int(x), nil
}

func integer(path string, v any) (int, error) {
	x, err := number(path, v)
	if err != nil {
		return 0, err
	}
	return whole(path, x)
}

func label(path string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		if x, err := v.Float64(); err == nil { // 1 and 1.0 are one label
			return strconv.FormatFloat(x, 'g', -1, 64), nil
		}
		return v.String(), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case int:
		return strconv.Itoa(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("%s is %s, expected a label", path, kind(v))
}

func binary(path string, v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if b, ok := binaryWords[v]; ok {
			return b, nil
		}
	case float64, int, json.Number:
		if x, err := number(path, v); err == nil && (x == 0 || x == 1) {
			return x == 1, nil
		}
	}
	return false, fmt.Errorf("%s is %s, expected 0 or 1", path, kind(v))
}

var binaryWords = map[string]bool{"0": false, "1": true, "false": false, "true": true, "FALSE": false, "TRUE": true,
	"False": false, "True": true, "no": false, "yes": true, "fail": false, "pass": true}

// kind names a value in an error, cut short.
func kind(v any) string {
	if v == nil {
		return "null"
	}
	switch v := v.(type) {
	case string:
		if len(v) > 40 {
			v = v[:40] + "…"
		}
		return strconv.Quote(v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

// A Case is a question to a procedure as a file holds it.
type Case struct {
	Method string
	Params Object
	Input  Object
}

// ReadCase reads a case: a JSON object with method, params and input. Other
// keys are left alone.
func ReadCase(r io.Reader) (Case, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return Case{}, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var raw struct {
		Method *string        `json:"method"`
		Params map[string]any `json:"params"`
		Input  map[string]any `json:"input"`
	}
	if err := d.Decode(&raw); err != nil {
		return Case{}, fmt.Errorf("reading the case: line %d: %w", line(b, d.InputOffset()), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Case{}, fmt.Errorf("reading the case: line %d: text after the JSON object", line(b, d.InputOffset()))
	}
	if raw.Method == nil {
		return Case{}, fmt.Errorf("reading the case: no \"method\"; a case is an object with method, params and input")
	}
	return Case{*raw.Method, Object{"params", raw.Params}, Object{"input", raw.Input}}, nil
}

func line(b []byte, offset int64) int {
	return 1 + bytes.Count(b[:min(int(offset), len(b))], []byte("\n"))
}

// Run answers the case.
func (c Case) Run() (any, error) {
	p, err := Find(c.Method)
	if err != nil {
		return nil, err
	}
	return p.Run(c.Params, c.Input)
}
