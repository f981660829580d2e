package wiretest

import (
	"encoding/json"
	"strings"
	"testing"
)

// Parse reads JSON into maps and lists, keeping numbers as they are written.
func Parse(t testing.TB, body string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("parsing %.80q: %v", body, err)
	}
	return v
}

// Dig follows names and places into a tree; what is not there is nil.
func Dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// Text is the string at a path, "" where there is none.
func Text(v any, path ...any) string {
	s, _ := Dig(v, path...).(string)
	return s
}

// Int is the number at a path, 0 where there is none.
func Int(v any, path ...any) int {
	n, _ := Dig(v, path...).(json.Number)
	i, _ := n.Int64()
	return int(i)
}

// List is the list at a path, nil where there is none.
func List(v any, path ...any) []any {
	l, _ := Dig(v, path...).([]any)
	return l
}
