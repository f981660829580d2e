package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is the type of a [Value].
type Kind uint8

// The kinds of values. The zero Value is Missing: null, None, or no value.
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

// A Value is the value of an attribute or field. Values are immutable; the zero
// Value is missing.
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

// BoolValue returns a bool.
func BoolValue(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.number = 1
	}
	return v
}

// NumberValue returns a number. NaN and infinities are missing values, since
// JSON cannot represent them.
func NumberValue(n float64) Value {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return Value{}
	}
	return Value{kind: Number, number: n}
}

// TextValue returns a text, which may be empty.
func TextValue(s string) Value { return Value{kind: Text, text: s} }

// ListValue returns a list of values.
func ListValue(list ...Value) Value {
	return Value{kind: List, parts: &parts{values: slices.Clone(list)}}
}

// MapValue returns a map of values, such as flags.
func MapValue(m map[string]Value) Value {
	p := &parts{keys: slices.Sorted(maps.Keys(m)), values: make([]Value, 0, len(m))}
	for _, key := range p.keys {
		p.values = append(p.values, m[key])
	}
	return Value{kind: Map, parts: p}
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether the value is missing.
func (v Value) IsZero() bool { return v.kind == Missing }

// Bool returns a Bool's value, and false for every other kind.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Number returns a Number's value, and 0 for every other kind.
func (v Value) Number() float64 {
	if v.kind != Number {
		return 0
	}
	return v.number
}

// Text returns a Text's value, and "" for every other kind. [Value.String]
// formats values of any kind.
func (v Value) Text() string { return v.text }

// List returns the elements of a List; nil for every other kind. The caller must
// not modify them.
func (v Value) List() []Value {
	if v.kind != List {
		return nil
	}
	return v.parts.values
}

// Keys returns the sorted keys of a Map; nil for every other kind. The caller
// must not modify them.
func (v Value) Keys() []string {
	if v.kind != Map {
		return nil
	}
	return v.parts.keys
}

// Get returns the value of a key in a Map, or a missing value.
func (v Value) Get(key string) Value {
	if v.kind != Map {
		return Value{}
	}
	if i, ok := slices.BinarySearch(v.parts.keys, key); ok {
		return v.parts.values[i]
	}
	return Value{}
}

// At follows a dot-separated path of keys into nested maps. Keys may contain
// dots. The empty path is v.
func (v Value) At(path string) Value {
	if path == "" {
		return v
	}
	return at(path, v.Get)
}

// at looks up a path, trying the longest first key first.
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

// Equal reports whether two values of the same kind are equal: texts under simple
// case folding, lists in order, maps with case-sensitive keys. Missing values are
// equal. "1", 1 and true are three different values.
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

// String returns a text unchanged, "" for a missing value, and JSON otherwise.
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
		panic("catalog: " + err.Error()) // values are valid JSON
	}
	return string(b)
}

// MarshalJSON encodes a missing value as null. Keys are sorted, so equal values
// have equal bytes.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.plain()) }

// plain returns the value as encoding/json decodes it into an any.
func (v Value) plain() any {
	switch v.kind {
	case Bool:
		return v.Bool()
	case Number:
		return v.number
	case Text:
		return v.text
	case List:
		list := make([]any, len(v.parts.values))
		for i, e := range v.parts.values {
			list[i] = e.plain()
		}
		return list
	case Map:
		m := make(map[string]any, len(v.parts.keys))
		for i, key := range v.parts.keys {
			m[key] = v.parts.values[i].plain()
		}
		return m
	}
	return nil
}

// ValueOf converts a value that a JSON or YAML decoder stored in an any.
func ValueOf(x any) Value {
	switch x := x.(type) {
	case nil:
		return Value{}
	case bool:
		return BoolValue(x)
	case float64:
		return NumberValue(x)
	case uint64: // from YAML
		return NumberValue(float64(x))
	case string:
		return TextValue(x)
	case []any:
		list := make([]Value, len(x))
		for i, e := range x {
			list[i] = ValueOf(e)
		}
		return Value{kind: List, parts: &parts{values: list}}
	case map[string]any:
		m := make(map[string]Value, len(x))
		for key, e := range x {
			m[key] = ValueOf(e)
		}
		return MapValue(m)
	}
	panic(fmt.Sprintf("catalog: a value of type %T", x))
}

// UnmarshalJSONFrom decodes any JSON value. It does not parse literals in texts;
// see [ParseLiteral].
func (v *Value) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var x any
	if err := jsonv2.UnmarshalDecode(d, &x); err != nil {
		return err
	}
	*v = ValueOf(x)
	return nil
}

// UnmarshalJSON is [Value.UnmarshalJSONFrom] for the standard library.
func (v *Value) UnmarshalJSON(data []byte) error { return jsonv2.Unmarshal(data, v) }
