package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
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
type Value struct{ x any } // nil, bool, float64, string, []Value or *object

// An object has the values of a map in the order of its keys.
type object struct {
	keys   []string
	values []Value
}

// BoolValue returns a bool.
func BoolValue(b bool) Value { return Value{b} }

// NumberValue returns a number. NaN and infinities are missing values, since
// JSON cannot represent them.
func NumberValue(n float64) Value {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return Value{}
	}
	return Value{n}
}

// TextValue returns a text, which may be empty.
func TextValue(s string) Value { return Value{s} }

// ListValue returns a list of values.
func ListValue(list ...Value) Value { return Value{slices.Clone(list)} }

// MapValue returns a map of values, such as flags.
func MapValue(m map[string]Value) Value {
	o := &object{keys: slices.Sorted(maps.Keys(m)), values: make([]Value, 0, len(m))}
	for _, key := range o.keys {
		o.values = append(o.values, m[key])
	}
	return Value{o}
}

// Kind returns the type of the value.
func (v Value) Kind() Kind {
	switch v.x.(type) {
	case bool:
		return Bool
	case float64:
		return Number
	case string:
		return Text
	case []Value:
		return List
	case *object:
		return Map
	}
	return Missing
}

// as returns a value of this type, and the zero value for every other kind.
func as[T any](v Value) T {
	x, _ := v.x.(T)
	return x
}

// IsZero reports whether the value is missing.
func (v Value) IsZero() bool { return v.x == nil }

// Bool returns a Bool's value, and false for every other kind.
func (v Value) Bool() bool { return as[bool](v) }

// Number returns a Number's value, and 0 for every other kind.
func (v Value) Number() float64 { return as[float64](v) }

// Text returns a Text's value, and "" for every other kind. [Value.String]
// formats values of any kind.
func (v Value) Text() string { return as[string](v) }

// List returns the elements of a List; nil for every other kind. The caller must
// not modify them.
func (v Value) List() []Value { return as[[]Value](v) }

// Keys returns the sorted keys of a Map; nil for every other kind. The caller
// must not modify them.
func (v Value) Keys() []string {
	if o, ok := v.x.(*object); ok {
		return o.keys
	}
	return nil
}

// Get returns the value of a key in a Map, or a missing value.
func (v Value) Get(key string) Value {
	if o, ok := v.x.(*object); ok {
		if i, ok := slices.BinarySearch(o.keys, key); ok {
			return o.values[i]
		}
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
	if v.Kind() != o.Kind() {
		return false
	}
	switch x := v.x.(type) {
	case string:
		return strings.EqualFold(x, o.Text())
	case []Value:
		return slices.EqualFunc(x, o.List(), Value.Equal)
	case *object:
		return slices.Equal(x.keys, o.Keys()) && slices.EqualFunc(x.values, as[*object](o).values, Value.Equal)
	}
	return v.x == o.x
}

// String returns a text unchanged, "" for a missing value, and JSON otherwise.
func (v Value) String() string {
	switch x := v.x.(type) {
	case nil:
		return ""
	case string:
		return x
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
	switch x := v.x.(type) {
	case []Value:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = e.plain()
		}
		return list
	case *object:
		m := make(map[string]any, len(x.keys))
		for i, key := range x.keys {
			m[key] = x.values[i].plain()
		}
		return m
	}
	return v.x
}

// ValueOf converts a value that a JSON or YAML decoder stored in an any.
func ValueOf(x any) Value {
	switch x := x.(type) {
	case nil, bool, string:
		return Value{x}
	case float64:
		return NumberValue(x)
	case uint64: // from YAML
		return NumberValue(float64(x))
	case []any:
		list := make([]Value, len(x))
		for i, e := range x {
			list[i] = ValueOf(e)
		}
		return Value{list}
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
