package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is the type of a [Value].
type Kind uint8

// The kinds of values. Missing is the zero Value's: null, None, or no value.
const (
	Missing Kind = iota
	Bool
	Number
	Text
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"missing", "bool", "number", "text", "list", "map"}[k]
}

// A Value is what an attribute or field holds. Values are immutable; the zero
// Value is a missing one.
type Value struct {
	kind   Kind
	number float64 // of Number; of Bool 1 for true
	text   string
	parts  *parts // of List and Map
}

// parts are the elements of a list, or of a map in the order of its keys.
type parts struct {
	keys   []string
	values []Value
}

// BoolValue is true or false.
func BoolValue(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.number = 1
	}
	return v
}

// NumberValue is a number. One that is not finite is a missing value, since
// neither JSON nor a comparison could hold it.
func NumberValue(n float64) Value {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return Value{}
	}
	return Value{kind: Number, number: n}
}

// TextValue is a text, be it empty.
func TextValue(s string) Value { return Value{kind: Text, text: s} }

// ListValue is a list of values.
func ListValue(list ...Value) Value {
	return Value{kind: List, parts: &parts{values: slices.Clone(list)}}
}

// MapValue is a set of named values, such as flags.
func MapValue(m map[string]Value) Value {
	p := &parts{keys: slices.Sorted(maps.Keys(m)), values: make([]Value, 0, len(m))}
	for _, key := range p.keys {
		p.values = append(p.values, m[key])
	}
	return Value{kind: Map, parts: p}
}

// Kind is the type of the value.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports a missing value.
func (v Value) IsZero() bool { return v.kind == Missing }

// Bool is a Bool's value, and false for every other kind.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Number is a Number's value, and 0 for every other kind.
func (v Value) Number() float64 {
	if v.kind != Number {
		return 0
	}
	return v.number
}

// Text is a Text's value, and "" for every other kind. [Value.String] writes
// values of any kind.
func (v Value) Text() string { return v.text }

// List lists the elements of a List; nil for every other kind. The caller must
// not change it.
func (v Value) List() []Value {
	if v.kind != List {
		return nil
	}
	return v.parts.values
}

// Keys lists the keys of a Map, sorted; nil for every other kind. The caller
// must not change it.
func (v Value) Keys() []string {
	if v.kind != Map {
		return nil
	}
	return v.parts.keys
}

// Get is the value a Map has under a key, missing if it has none.
func (v Value) Get(key string) Value {
	if v.kind != Map {
		return Value{}
	}
	if i, ok := slices.BinarySearch(v.parts.keys, key); ok {
		return v.parts.values[i]
	}
	return Value{}
}

// At follows a path of keys joined by dots into nested maps. A key that holds
// dots itself is found where it stands as a whole. The empty path is v.
func (v Value) At(path string) Value {
	if path == "" {
		return v
	}
	return at(path, v.Get)
}

// at looks a path up where get knows the first key: the longest key first.
func at(path string, get func(key string) Value) Value {
	if v := get(path); !v.IsZero() {
		return v
	}
	for end := strings.LastIndexByte(path, '.'); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		if v := get(path[:end]); !v.IsZero() {
			return v.At(path[end+1:])
		}
	}
	return Value{}
}

// Equal reports values of the same kind that are the same: numbers by value,
// texts by simple case folding, lists in order, maps by keys as they are
// written. A missing value equals a missing one. "1", 1 and true are three
// different values.
func (v Value) Equal(o Value) bool {
	if v.kind != o.kind {
		return false
	}
	switch v.kind {
	case Bool, Number:
		return v.number == o.number
	case Text:
		return strings.EqualFold(v.text, o.text)
	case List, Map:
		return slices.Equal(v.parts.keys, o.parts.keys) && slices.EqualFunc(v.parts.values, o.parts.values, Value.Equal)
	}
	return true
}

// String writes a text as it is, a missing value as "", and all else as JSON.
func (v Value) String() string {
	switch v.kind {
	case Missing:
		return ""
	case Text:
		return v.text
	case Bool:
		return strconv.FormatBool(v.number != 0)
	}
	b, err := v.MarshalJSON()
	if err != nil {
		panic("catalog: " + err.Error()) // values hold what JSON can hold
	}
	return string(b)
}

// MarshalJSON writes a missing value as null. The same value gives the same
// bytes: keys are sorted.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(nil, v.number != 0), nil
	case Number:
		return json.Marshal(v.number)
	case Text:
		return json.Marshal(v.text)
	case List, Map:
		return v.appendParts(nil)
	}
	return []byte("null"), nil
}

func (v Value) appendParts(b []byte) ([]byte, error) {
	open, end := byte('['), byte(']')
	if v.kind == Map {
		open, end = '{', '}'
	}
	b = append(b, open)
	for i, e := range v.parts.values {
		if i > 0 {
			b = append(b, ',')
		}
		if v.kind == Map {
			key, err := json.Marshal(v.parts.keys[i])
			if err != nil {
				return nil, err
			}
			b = append(append(b, key...), ':')
		}
		part, err := e.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = append(b, part...)
	}
	return append(b, end), nil
}

// UnmarshalJSONFrom reads any JSON value: texts stay texts. See [ParseLiteral].
func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		*v = Value{}
	case 't', 'f':
		*v = BoolValue(token.Bool())
	case '0':
		*v = NumberValue(token.Float())
	case '"':
		*v = TextValue(token.String())
	case '[':
		return v.readList(d)
	case '{':
		return v.readMap(d)
	}
	return nil
}

func (v *Value) readList(d *jsontext.Decoder) error {
	p := new(parts)
	for d.PeekKind() != ']' {
		var e Value
		if err := e.UnmarshalJSONFrom(d); err != nil {
			return err
		}
		p.values = append(p.values, e)
	}
	*v = Value{kind: List, parts: p}
	_, err := d.ReadToken()
	return err
}

func (v *Value) readMap(d *jsontext.Decoder) error {
	m := map[string]Value{}
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := key.String() // the token does not outlive the next one
		var e Value
		if err := e.UnmarshalJSONFrom(d); err != nil {
			return err
		}
		m[name] = e
	}
	*v = MapValue(m)
	_, err := d.ReadToken()
	return err
}

// UnmarshalJSON is [Value.UnmarshalJSONFrom] for the standard library.
func (v *Value) UnmarshalJSON(data []byte) error {
	d := jsontext.NewDecoder(strings.NewReader(string(data)))
	if err := v.UnmarshalJSONFrom(d); err != nil {
		return fmt.Errorf("reading value: %w", err)
	}
	return nil
}
