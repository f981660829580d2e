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
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.plain()) }

// plain is the value as encoding/json reads it into an any.
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

// ValueOf is the value of what a JSON or YAML decoder reads into an any.
func ValueOf(x any) Value {
	switch x := x.(type) {
	case nil:
		return Value{}
	case bool:
		return BoolValue(x)
	case float64:
		return NumberValue(x)
	case uint64: // of YAML
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

// UnmarshalJSONFrom reads any JSON value: texts stay texts. See [ParseLiteral].
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
