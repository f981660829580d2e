// Package columnar writes and reads tables as Parquet, compressed with Zstandard: columns keep their
// order, texts that repeat have a dictionary, and a value that is missing is null.
//
// It must not know what the columns mean.
package columnar

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// A Kind is the type of the values of a column.
type Kind int

// The kinds. Other values in a column of texts, such as lists, are written as JSON.
const (
	Text  Kind = iota
	ID         // a text that repeats
	Int        // 64 bits
	Float      // 64 bits
	Bool
	Vector // list of 32-bit floats
)

// A Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
}

var types = map[Kind]reflect.Type{Text: reflect.TypeFor[*string](), ID: reflect.TypeFor[*string](), Int: reflect.TypeFor[*int64](),
	Float: reflect.TypeFor[*float64](), Bool: reflect.TypeFor[*bool](), Vector: reflect.TypeFor[[]float32]()}

// rowsInGroup bounds what the writer holds: texts of models are long.
const rowsInGroup = 2000

// Write returns functions that write a row and that end the file. metadata are key-value pairs
// of the file; program is its name and version.
func Write(w io.Writer, columns []Column, metadata [][2]string, program, version string) (row func([]any) error, end func() error) {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		tag := c.Name
		switch c.Kind {
		case ID:
			tag += ",optional,dict"
		case Vector:
			tag += ",list"
		default:
			tag += ",optional"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: types[c.Kind], Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	of := reflect.StructOf(fields)
	options := []parquet.WriterOption{parquet.SchemaOf(reflect.New(of).Interface()), parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsInGroup), parquet.CreatedBy(program, version, "")}
	for _, m := range metadata {
		options = append(options, parquet.KeyValueMetadata(m[0], m[1]))
	}
	out := parquet.NewWriter(w, options...)
	row = func(values []any) error {
		r := reflect.New(of)
		for i, v := range values {
			if err := set(r.Elem().Field(i), columns[i], v); err != nil {
				return err
			}
		}
		return out.Write(r.Interface())
	}
	return row, out.Close
}

// set sets a field of a row. A value of another type than the column's is an error, but for
// lists and objects in texts.
func set(field reflect.Value, c Column, v any) error {
	if v == nil {
		return nil
	}
	if n, ok := v.(int); ok {
		v = int64(n)
	}
	if _, is := v.(string); !is && (c.Kind == Text || c.Kind == ID) {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		v = string(data)
	}
	value := reflect.ValueOf(v)
	if c.Kind != Vector { // others point to their value
		p := reflect.New(value.Type())
		p.Elem().Set(value)
		value = p
	}
	if value.Type() != types[c.Kind] {
		return fmt.Errorf("writing column %s: a value of type %T", c.Name, v)
	}
	field.Set(value)
	return nil
}

// Read reads a table without vectors: the names of its columns, and its rows, whose values are
// int64, float64, bool, string or nil. A row is valid until the next one.
func Read(r io.ReaderAt, size int64) (names []string, rows iter.Seq2[[]any, error], err error) {
	file, err := parquet.OpenFile(r, size, parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range file.Schema().Columns() {
		names = append(names, path[0])
	}
	return names, func(yield func([]any, error) bool) {
		in := parquet.NewReader(file)
		defer in.Close()
		few, values := make([]parquet.Row, 64), make([]any, len(names))
		for {
			n, err := in.ReadRows(few)
			for _, row := range few[:n] {
				for _, v := range row {
					values[v.Column()] = valueOf(v)
				}
				if !yield(values, nil) {
					return
				}
			}
			if err != nil || n == 0 {
				if err != nil && err != io.EOF {
					yield(nil, err)
				}
				return
			}
		}
	}, nil
}

func valueOf(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case v.Kind() == parquet.Double:
		return v.Double()
	case v.Kind() == parquet.Boolean:
		return v.Boolean()
	}
	return string(v.ByteArray())
}
