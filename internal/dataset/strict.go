package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/text"
)

// A DecodeError is an error in a JSON text, with the column of the character, from
// 1; 0 if unknown.
type DecodeError struct {
	Column int
	Err    error
}

func (e *DecodeError) Error() string {
	if e.Column == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("column %d: %v", e.Column, e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// ReadJSON decodes a file of one JSON value as [DecodeStrict] does. It may begin with a
// byte order mark, as some editors write one.
func ReadJSON(file string, into any, options ...json.Options) error {
	data, err := ReadFile(file)
	if err != nil {
		return err
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if err := DecodeStrict(data, into, options...); err != nil {
		return Locate(file, data, err)
	}
	return nil
}

// Locate prefixes an error of decoding a file of one JSON value with the file's name
// and, if they are known, line and column.
func Locate(file string, data []byte, err error) error {
	d, ok := errors.AsType[*DecodeError](err)
	if !ok || d.Column == 0 {
		return fmt.Errorf("%s: %w", file, err)
	}
	line, column, n := 1, 1, 1
	for _, r := range string(data) {
		if n == d.Column {
			break
		}
		n++
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Errorf("%s:%d:%d: %w", file, line, column, d.Err)
}

// DecodeStrict reads one JSON value into a pointer and refuses what
// encoding/json lets pass in silence: keys the type does not know (or knows in
// another case), keys given twice, text that is not UTF-8, and null for the
// whole value. Every error is a [*DecodeError], and leaves the zero value, never a part of
// the record.
//
// Options can say more of how values are decoded.
//
// It decodes with the implementation that is to be encoding/json/v2: a third of
// the time of encoding/json, and strict by itself.
func DecodeStrict(data []byte, into any, options ...json.Options) error {
	return decode(data, into, json.RejectUnknownMembers(true), json.JoinOptions(options...))
}

// DecodeLoose is [DecodeStrict] for third-party records: unknown keys go to an
// inline map of the type, or are ignored.
func DecodeLoose(data []byte, into any) error { return decode(data, into) }

func decode(data []byte, into any, options ...json.Options) error {
	t := reflect.TypeOf(into).Elem()
	if err := json.Unmarshal(data, into, options...); err != nil {
		reflect.ValueOf(into).Elem().SetZero()
		return explain(data, t, err)
	}
	if value := bytes.TrimLeft(data, space); value[0] == 'n' {
		reflect.ValueOf(into).Elem().SetZero()
		return faultf(data, len(data)-len(value), "want %s, got null", kindOf(t))
	}
	return nil
}

const space = " \t\r\n" // JSON's white space

// faultf is an error about the character at a byte offset.
func faultf(data []byte, offset int, format string, args ...any) error {
	offset = min(max(offset, 0), len(data))
	return &DecodeError{utf8.RuneCount(data[:offset]) + 1, fmt.Errorf(format, args...)}
}

// explain turns the decoder's error into one that names place and remedy. It
// runs only when a record is refused, so it may take its time.
func explain(data []byte, t reflect.Type, err error) error {
	if inner, ok := errors.AsType[*DecodeError](err); ok { // of a type that decodes itself: its columns are not the line's
		return &DecodeError{Err: inner.Err}
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return explainSyntax(data, t, syntax)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return explainMeaning(data, t, semantic)
	}
	return &DecodeError{Err: err}
}

func explainSyntax(data []byte, t reflect.Type, e *jsontext.SyntacticError) error {
	at := skipTo(data, int(e.ByteOffset), space)
	switch {
	case at == len(data) && len(bytes.TrimLeft(data, space)) == 0:
		return faultf(data, 0, "want %s, got an empty line", kindOf(t))
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return faultf(data, len(data), "unexpected end of JSON: the value is cut off; of JSON Lines each line must hold a whole one")
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		return faultf(data, at, "duplicate key %q%s", e.JSONPointer.LastToken(), within(t, e.JSONPointer.Parent()))
	case strings.HasSuffix(e.Err.Error(), "after top-level value"):
		return faultf(data, at, "%w: want one value per line", e.Err)
	}
	return faultf(data, at, "reading JSON: %w", e.Err)
}

func explainMeaning(data []byte, t reflect.Type, e *json.SemanticError) error {
	at := skipTo(data, int(e.ByteOffset), space+",:")
	if errors.Is(e.Err, json.ErrUnknownName) {
		name, parent := e.JSONPointer.LastToken(), e.JSONPointer.Parent()
		of, _ := resolve(t, parent)
		return faultf(data, at, "unknown key %q%s: %s", name, within(t, parent), suggest(name, keysOf(of)))
	}
	if e.GoType == nil || e.JSONKind == 0 {
		return faultf(data, at, "%w", e)
	}
	prefix := ""
	if _, path := resolve(t, e.JSONPointer); path != "" {
		prefix = path + ": "
	}
	return faultf(data, at, "%swant %s, got %s", prefix, kindOf(e.GoType), found(e))
}

// skipTo moves an offset, which may stand at the end of the token before, over
// the characters of between to what the error is about.
func skipTo(data []byte, offset int, between string) int {
	offset = min(max(offset, 0), len(data))
	return len(data) - len(bytes.TrimLeft(data[offset:], between))
}

// resolve finds the type a pointer leads to from t, nil for one that takes any
// key, and writes the way there as a person would: ground_truth[1].page.
// Where the type is unknown, digits are taken for a place in a list.
func resolve(t reflect.Type, pointer jsontext.Pointer) (reflect.Type, string) {
	path := ""
	for token := range pointer.Tokens() {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		kind := reflect.Interface
		if t != nil {
			kind = t.Kind()
		}
		inList := kind == reflect.Interface && strings.Trim(token, "0123456789") == ""
		switch kind {
		case reflect.Struct:
			t = keysOf(t)[token]
		case reflect.Map:
			t = t.Elem()
		case reflect.Slice, reflect.Array:
			t, inList = t.Elem(), true
		default:
			t = nil
		}
		if inList {
			path += "[" + token + "]"
		} else {
			path = strings.TrimPrefix(path+"."+token, ".")
		}
	}
	return t, path
}

func within(t reflect.Type, pointer jsontext.Pointer) string {
	if _, path := resolve(t, pointer); path != "" {
		return " in " + path
	}
	return ""
}

// keysOf lists the JSON keys of a struct, with their types.
func keysOf(t reflect.Type) map[string]reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	keys := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inlined := f.Anonymous && name == ""
		if tag == "-" || inlined || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		keys[name] = f.Type
	}
	return keys
}

// suggest names the nearest known key, or all of them when none is near.
func suggest(name string, known map[string]reflect.Type) string {
	keys := slices.Sorted(maps.Keys(known))
	if key, ok := text.Nearest(name, keys); ok {
		return fmt.Sprintf("did you mean %q?", key)
	}
	return "known keys are " + strings.Join(keys, ", ")
}

// kindOf names what JSON holds for a Go type, in a reader's words.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Interface:
		return "a value"
	}
	return "a whole number"
}

// found names what the decoder met instead, in the words of kindOf; a number
// or string by its start.
func found(e *json.SemanticError) string {
	if len(e.JSONValue) > 0 {
		const most = 40
		s := []rune(string(e.JSONValue))
		return string(s[:min(len(s), most)])
	}
	switch e.JSONKind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return e.JSONKind.String() // null, true, false
}
