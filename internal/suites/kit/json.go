package kit

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/scruple-eval/scruple/internal/eval"
)

// JSON encodes what a suite has made of texts and finite numbers, which always encodes.
func JSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("kit: encoding JSON: " + err.Error())
	}
	return data
}

// PlainJSON is [JSON] as people write it: <, > and & are not escaped.
func PlainJSON(v any) string {
	data, err := eval.EncodeJSON(v)
	if err != nil {
		panic("kit: encoding JSON: " + err.Error())
	}
	return string(data)
}

// Embedded decodes JSON that is part of the program. It panics if that has a field that T does not
// have: a misspelt one would be left out.
func Embedded[T any](data []byte) (v T) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		panic("kit: decoding JSON of the program: " + err.Error())
	}
	return v
}
