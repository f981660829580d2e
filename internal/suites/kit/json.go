package kit

import (
	"encoding/json"
	"strings"
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
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("kit: encoding JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
