package procedure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/text"
)

// A Case is a question to a procedure as a file holds it. Params and Input are
// JSON objects.
type Case struct {
	Method string
	Params jsontext.Value
	Input  jsontext.Value
}

// ReadCase reads a case: a JSON object with method, params and input. Other
// keys are left alone.
func ReadCase(r io.Reader) (Case, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return Case{}, err
	}
	var raw struct {
		Method *string        `json:"method"`
		Params jsontext.Value `json:"params"`
		Input  jsontext.Value `json:"input"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			return Case{}, fmt.Errorf("reading the case: line %d: %w", 1+bytes.Count(b[:syntax.ByteOffset], []byte("\n")), syntax.Err)
		}
		return Case{}, fmt.Errorf("reading the case: %w", mistake("the case", b, reflect.TypeOf(raw), err))
	}
	if raw.Method == nil {
		return Case{}, fmt.Errorf("reading the case: missing \"method\"; a case is an object with method, params and input")
	}
	return Case{*raw.Method, raw.Params, raw.Input}, nil
}

// decodeParams decodes params over their defaults. A case's params may hold
// notes on its conventions, as those of stats/testdata do: there an unknown key
// is refused only if it is nearly a known one, or another word for it.
func decodeParams(raw jsontext.Value, params any, notes bool) {
	t := reflect.TypeOf(params).Elem()
	read("params", raw, params, false)
	missing("params", reflect.ValueOf(params).Elem(), true)
	var given map[string]jsontext.Value
	read("params", raw, &given, false)
	known := fieldNames(t)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		near, ok := meant(name, known)
		refuse(ok, "unknown params.%s; did you mean %q?", name, near)
		if !notes {
			fail(fmt.Errorf("unknown params.%s; %s", name, expectedNames(known)))
		}
	}
}

// synonyms are names that other programs give to options.
var synonyms = map[string]string{
	"confidence": "conf", "confidence_level": "conf", "conf_level": "conf", "ci_level": "conf", "level": "conf",
	"correct": "continuity", "correction": "continuity", "yates": "continuity",
	"tail": "alternative", "tails": "alternative", "sided": "alternative",
	"n_resamples": "resamples", "n_boot": "resamples", "random_state": "seed",
}

// meant is the known option that an unknown name stands for. Short synonyms are
// taken as they are: they resemble too many words.
func meant(name string, known []string) (string, bool) {
	if near, ok := text.Nearest(name, known); ok {
		return near, true
	}
	var words []string
	for word, option := range synonyms {
		if slices.Contains(known, option) && (len(word) > 6 || strings.EqualFold(word, name)) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	near, ok := text.Nearest(name, words)
	return synonyms[near], ok
}

// decode decodes a JSON value. Keys that the type does not know, and lists
// that are missing, are errors, which give the value and its path from name.
func decode(name string, raw jsontext.Value, into any) {
	read(name, raw, into, true)
	missing(name, reflect.ValueOf(into).Elem(), false)
}

// read decodes a JSON value; nothing and null are an empty object.
func read(name string, raw jsontext.Value, into any, strict bool) {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return
	}
	err := json.Unmarshal(raw, into, json.RejectUnknownMembers(strict), json.WithUnmarshalers(readers))
	if err != nil {
		fail(mistake(name, raw, reflect.TypeOf(into).Elem(), err))
	}
}

// decodeList decodes a list that was kept as JSON.
func decodeList[T any](path string, raw jsontext.Value) (list T) {
	refuse(len(raw) == 0, "%s is missing", path)
	refuse(raw.Kind() != '[', "%s is %s, expected a list", path, found(raw))
	decode(path, raw, &list)
	return list
}

// mistake says where the decoder stopped in a value called name, and why.
func mistake(name string, raw []byte, t reflect.Type, err error) error {
	var at *json.SemanticError
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %w", name, err)
	}
	place := name + path(at.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		if at.JSONPointer.Parent() != "" {
			return fmt.Errorf("%s is unknown", place)
		}
		return fmt.Errorf("%s is unknown; %s", place, expectedNames(fieldNames(t)))
	}
	// The offset may stand before the separator.
	rest := bytes.TrimLeft(raw[at.ByteOffset:], " \t\r\n,:")
	value, err := jsontext.NewDecoder(bytes.NewReader(rest)).ReadValue()
	if err != nil {
		return fmt.Errorf("%s: %w", name, at)
	}
	of := at.GoType
	if of.Kind() == reflect.Pointer { // of a reader
		of = of.Elem()
	}
	expected := expectations[of.Kind()]
	if name == "params" && value.Kind() == '"' { // the text of --set
		expected += map[string]string{"a list": ` in JSON: ["x", "y"]`, "an object": ` in JSON: {"x": ["y", "z"]}`}[expected]
	}
	return fmt.Errorf("%s is %s, expected %s", place, found(value), expected)
}

// expectations name what a value of a type is made of.
var expectations = map[reflect.Kind]string{reflect.Float64: "a number", reflect.Int: "a whole number", reflect.Bool: "0 or 1",
	reflect.String: "a label", reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object"}

func expectedNames(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	return "expected " + strings.Join(names, ", ")
}

// path writes /a/3 as .a[3].
func path(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 64); err == nil {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// found names a value in an error, cut short.
func found(v jsontext.Value) string {
	switch v.Kind() {
	case '[':
		return "a list"
	case '{':
		return "an object"
	case '"':
		s, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return string(v)
		}
		return quoted(string(s))
	}
	if _, err := strconv.ParseFloat(string(v), 64); errors.Is(err, strconv.ErrRange) {
		return string(v) + " (out of range for float64)"
	}
	return string(v)
}

// quoted quotes a text, cut short.
func quoted(s string) string { return strconv.Quote(text.Shorten(s, 40)) }

// fieldNames lists the keys of a struct.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || options == "inline" {
			names = append(names, fieldNames(f.Type)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// missing finds a list or pointer that is nil where the type has no omitempty,
// unless everything is optional, and a list in a list that is null.
func missing(path string, v reflect.Value, optional bool) {
	switch v.Kind() {
	case reflect.Struct:
		oneWay(path, v)
		for i := range v.NumField() {
			f, x := v.Type().Field(i), v.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			inner := path + "." + name
			if f.Anonymous || options == "inline" {
				inner = path
			}
			none := (x.Kind() == reflect.Slice || x.Kind() == reflect.Pointer) && x.IsNil()
			refuse(none && options != "omitempty" && !optional, "%s is missing", inner)
			missing(inner, x, optional)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Struct && k != reflect.Slice {
			return
		}
		for i := range v.Len() {
			x, inner := v.Index(i), fmt.Sprintf("%s[%d]", path, i)
			refuse(x.Kind() == reflect.Slice && x.IsNil(), "%s is null, expected a list", inner)
			missing(inner, x, optional)
		}
	}
}

// oneWay refuses a struct that has values of fields whose tags way differ: the same
// data given twice.
func oneWay(path string, v reflect.Value) {
	first := ""
	for i := range v.NumField() {
		way := v.Type().Field(i).Tag.Get("way")
		if way == "" || v.Field(i).IsZero() {
			continue
		}
		refuse(first != "" && way != first, "%s has %s and %s, expected one of them", path, first, way)
		first = way
	}
}

// reader decodes values of one type, which convert makes of JSON. A member that
// is null leaves its field as it is.
func reader[T any](convert func(jsontext.Value) (T, bool)) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, x *T) error {
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		if in, _ := d.StackIndex(d.StackDepth()); in == '{' && v.Kind() == 'n' {
			return nil
		}
		y, ok := convert(v)
		if !ok {
			return errors.New("unexpected") // see mistake
		}
		*x = y
		return nil
	})
}

var readers = json.JoinUnmarshalers(reader(number), reader(whole), reader(binary), reader(label), json.UnmarshalFromFunc(readGaps))

// number takes numbers that a float64 can hold; truth values are 0 and 1.
func number(v jsontext.Value) (float64, bool) {
	switch v.Kind() {
	case '0':
		x, err := strconv.ParseFloat(string(v), 64)
		return x, err == nil
	case 't':
		return 1, true
	case 'f':
		return 0, true
	}
	return 0, false
}

func whole(v jsontext.Value) (int, bool) {
	x, ok := number(v)
	return int(x), ok && x == math.Trunc(x) && math.Abs(x) <= 1<<53
}

// binary takes truth values, 0 and 1, and words for them.
func binary(v jsontext.Value) (is, ok bool) {
	word, ok := label(v)
	if ok {
		is, ok = binaryWords[word]
	}
	return is, ok
}

var binaryWords = map[string]bool{"0": false, "1": true, "false": false, "true": true, "FALSE": false, "TRUE": true,
	"False": false, "True": true, "no": false, "yes": true, "fail": false, "pass": true}

// label takes text, and numbers and truth values as text; 1, 1.0 and "1.0" are one
// label.
func label(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		s, err := jsontext.AppendUnquote(nil, v)
		return textLabel(string(s)), err == nil
	case 't', 'f':
		return string(v), true
	case '0':
		return numberLabel(string(v)), true
	}
	return "", false
}

// numberLabel writes a JSON number in one way: digits, and a fraction without
// zeros at its end. Digits are kept as they are, since a float64 has not enough
// for long identifiers.
func numberLabel(s string) string {
	if strings.ContainsAny(s, "eE") {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		if s = strconv.FormatFloat(x, 'f', -1, 64); len(s) > 25 {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
	}
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

var wholeNumber = regexp.MustCompile(`^(-?(?:0|[1-9][0-9]*))\.0+$`)

// textLabel is a label that was read as text: 1.0 is 1, as programs write whole
// numbers of columns with gaps. Other fractions keep their zeros, because sections
// 1.1 and 1.10 of a document are different ones.
func textLabel(s string) string {
	if m := wholeNumber.FindStringSubmatch(s); m != nil {
		return numberLabel(m[1])
	}
	return s
}

// gaps are numbers with missing values: NaN, or null in JSON.
type gaps []float64

func readGaps(d *jsontext.Decoder, g *gaps) error {
	var xs []*float64
	if err := json.UnmarshalDecode(d, &xs); err != nil || xs == nil {
		return err
	}
	*g = make(gaps, len(xs))
	for i, x := range xs {
		(*g)[i] = given(x, math.NaN())
	}
	return nil
}

// given returns a value, or its default if it is not set.
func given[T any](x *T, otherwise T) T {
	if x == nil {
		return otherwise
	}
	return *x
}

// needed returns the value of a key, which must be set.
func needed[T any](key string, x *T) T {
	refuse(x == nil, "%s is missing", key)
	return *x
}

// within checks a whole number against its limits.
func within(path string, n, low, high int) {
	refuse(n < low || n > high, "%s is %d, expected %d to %d", path, n, low, high)
}

// choice checks a word.
func choice(path, word string, words ...string) {
	refuse(!slices.Contains(words, word), "%s is %q, expected one of %q", path, word, words)
}
