package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// A DecodeError says what is wrong with a JSON text and where: the column of
// the character, from 1, on the line the text is; 0 where no place is known.
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

// DecodeStrict reads one JSON value into a pointer the way encoding/json does,
// and refuses what that package lets pass in silence: keys the type does not
// know, keys given twice, null for the whole value, and anything after the
// value. Every error is a [*DecodeError].
func DecodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return explain(data, reflect.TypeOf(into).Elem(), err)
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(data[end:], space); len(rest) > 0 {
		return faultf(data, len(data)-len(rest), "%s follows the value: one line holds one value", excerpt(rest))
	}
	value := bytes.TrimLeft(data[:end], space)
	if string(value) == "null" {
		return faultf(data, end-len(value), "want %s, got null", kind(reflect.TypeOf(into).Elem()))
	}
	var keys keyStack
	if at, key := keys.duplicate(data[:end]); at >= 0 {
		return faultf(data, at, "key %s is given twice in one object", excerpt(key))
	}
	return nil
}

const space = " \t\r\n" // JSON's white space

// faultf is an error about the byte at offset.
func faultf(data []byte, offset int, format string, args ...any) error {
	offset = min(max(offset, 0), len(data))
	return &DecodeError{utf8.RuneCount(data[:offset]) + 1, fmt.Errorf(format, args...)}
}

// explain turns the decoder's error into one that names place and remedy. It
// runs only when a record is refused, so it may take its time.
func explain(data []byte, t reflect.Type, err error) error {
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
		inner  *DecodeError
	)
	switch {
	case errors.As(err, &inner): // of a type that decodes itself: its columns are not the line's
		return &DecodeError{Err: inner.Err}
	case errors.Is(err, io.EOF):
		return faultf(data, 0, "want %s, got nothing", kind(t))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return faultf(data, len(data), "the JSON ends too early: is the line cut off, or one value spread over several lines?")
	case errors.As(err, &syntax):
		return faultf(data, int(syntax.Offset)-1, "reading JSON: %w", err)
	case errors.As(err, &typed):
		return explainType(data, typed)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		if unknown := findUnknownKey(data, t); unknown != nil {
			return unknown
		}
	}
	return &DecodeError{Err: err}
}

// explainType says which kind of value was wanted, at the value's first byte.
func explainType(data []byte, e *json.UnmarshalTypeError) error {
	at := tokenAt(data, int(e.Offset))
	if e.Field == "" {
		return faultf(data, at, "want %s, got %s", kind(e.Type), got(e.Value))
	}
	return faultf(data, at, "%s: want %s, got %s", e.Field, kind(e.Type), got(e.Value))
}

// kind names what JSON holds for a Go type, in a reader's words.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kind(t.Elem())
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

// got names what the decoder found, in the same words as kind.
func got(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	}
	return value // "number" or "number 1.5"
}

// excerpt quotes the start of data, short enough for an error message.
func excerpt(data []byte) string {
	const most = 40
	s := string(data)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
