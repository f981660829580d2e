package procedure

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/stats"
)

// A Result is what a procedure found: rows in their order, which JSON and text show.
// Keys may depend on the data, and then be duplicate.
type Result []Row

// A Row is a value and its key. Once [settled], the value is nil (undefined), a bool,
// string, int or float64, a [stats.Interval], a list, a Result, a crosstab, or labels.
type Row struct {
	Key   string
	Value any
}

type (
	list []any
	// A crosstab has numbers under the labels of its rows and columns, which rows of the
	// same result have; text shows them as its margins.
	crosstab struct {
		rows, columns []string
		cells         any
	}
	// A margin labels the rows or columns of a table, and is only shown with it.
	margin []string
	// An enumeration is short: text shows it in one line.
	enumeration []string
)

// rowsOf has the fields of a result of stats, under the names in their JSON tags.
func rowsOf(result any) Result { return structRows(reflect.ValueOf(result)) }

func structRows(v reflect.Value) Result {
	r := Result{}
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		empty := x.IsZero() || x.Kind() == reflect.Slice && x.Len() == 0
		switch {
		case f.Anonymous:
			r = append(r, structRows(x)...)
		case f.IsExported() && name != "-" && (options == "" || !empty):
			r = append(r, Row{name, x.Interface()})
		}
	}
	return r
}

// The rows that say why a result is undefined and what to heed.
const (
	reasonKey   = "undefined_reason"
	warningsKey = "warnings"
)

// explain has the rows of a result of stats, [Result.explained].
func explain(result any, more ...string) Result { return rowsOf(result).explained(more...) }

// explained puts at the end the reason if the result is undefined and its warnings,
// with more of them.
func (r Result) explained(more ...string) Result {
	reason := ""
	var warnings []string
	var out Result
	for _, row := range r {
		switch row.Key {
		case reasonKey:
			reason = row.Value.(string)
		case warningsKey:
			warnings = row.Value.([]string)
		default:
			out = append(out, row)
		}
	}
	return out.undefined(reason).with(warningsKey, append(warnings, more...))
}

// undefined adds the reason for which a result is undefined, if there is one.
func (r Result) undefined(reason string) Result {
	if reason == "" {
		return r
	}
	return append(r, Row{"undefined", true}, Row{reasonKey, reason})
}

// with adds a list or text, unless it is empty.
func (r Result) with(key string, value any) Result {
	if reflect.ValueOf(value).Len() == 0 {
		return r
	}
	return append(r, Row{key, value})
}

// at adds the level of the intervals.
func (r Result) at(conf float64) Result { return append(r, Row{"conf", conf}) }

// after inserts rows behind the one of a key.
func (r Result) after(key string, more ...Row) Result {
	return slices.Insert(r, 1+slices.IndexFunc(r, func(row Row) bool { return row.Key == key }), more...)
}

// settled brings a value into the types that the writers know: an undefined number or
// interval is nil, a struct of stats a Result, a map one in the order of its keys.
func settled(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int, margin, enumeration:
		return v
	case crosstab:
		return crosstab{v.rows, v.columns, settled(v.cells)}
	case float64:
		if math.IsNaN(v) {
			return nil
		}
		return v
	case stats.Interval:
		if math.IsNaN(v.Low) && math.IsNaN(v.High) {
			return nil
		}
		return v
	case Result:
		out := make(Result, len(v))
		for i, row := range v {
			out[i] = Row{row.Key, settled(row.Value)}
		}
		return out
	}
	x := reflect.ValueOf(v)
	switch x.Kind() {
	case reflect.Struct:
		return settled(structRows(x))
	case reflect.Pointer:
		if x.IsNil() {
			return nil
		}
		return settled(x.Elem().Interface())
	case reflect.Map:
		r := Result{}
		for _, key := range x.MapKeys() {
			r = append(r, Row{key.String(), x.MapIndex(key).Interface()})
		}
		slices.SortFunc(r, func(a, b Row) int { return strings.Compare(a.Key, b.Key) })
		return settled(r)
	case reflect.Slice, reflect.Array:
		if x.Kind() == reflect.Slice && x.IsNil() {
			return nil
		}
		out := make(list, x.Len())
		for i := range out {
			out[i] = settled(x.Index(i).Interface())
		}
		return out
	}
	panic(fmt.Sprintf("procedure: a result has a %T", v))
}

// MarshalJSON writes the result with all digits.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r, asJSON) }

// asJSON writes an undefined number as null, an infinity as "Infinity" or "-Infinity",
// and an interval as [low, high].
var asJSON = json.JoinOptions(jsontext.AllowDuplicateNames(true), json.WithMarshalers(json.JoinMarshalers(
	json.MarshalToFunc(writeResult),
	json.MarshalToFunc(writeNumber),
	json.MarshalToFunc(func(e *jsontext.Encoder, iv stats.Interval) error {
		return json.MarshalEncode(e, [2]float64{iv.Low, iv.High})
	}),
	json.MarshalToFunc(func(e *jsontext.Encoder, t crosstab) error { return json.MarshalEncode(e, t.cells) }),
)))

func writeResult(e *jsontext.Encoder, r Result) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, row := range r {
		if err := e.WriteToken(jsontext.String(row.Key)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, row.Value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

func writeNumber(e *jsontext.Encoder, x float64) error {
	switch {
	case math.IsNaN(x):
		return e.WriteToken(jsontext.Null)
	case math.IsInf(x, 1):
		return e.WriteToken(jsontext.String("Infinity"))
	case math.IsInf(x, -1):
		return e.WriteToken(jsontext.String("-Infinity"))
	}
	return e.WriteToken(jsontext.Float(x))
}
