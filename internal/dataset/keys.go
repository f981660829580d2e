package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// A walker goes through a JSON text token by token and knows where each starts.
type walker struct {
	*json.Decoder
	data []byte
}

func newWalker(data []byte) walker {
	return walker{json.NewDecoder(bytes.NewReader(data)), data}
}

// start is the offset of the first byte of the next token.
func (w walker) start() int {
	at := int(w.InputOffset())
	return len(w.data) - len(bytes.TrimLeft(w.data[at:], space+",:"))
}

// tokenAt is the offset of the first byte of the token that the decoder had
// just read when it stood at offset.
func tokenAt(data []byte, offset int) int {
	w := newWalker(data)
	for {
		at := w.start()
		if _, err := w.Token(); err != nil || int(w.InputOffset()) >= offset {
			return at
		}
	}
}

// findUnknownKey is an error about the first key that type t does not know,
// nil when there is none. The text is known to be valid JSON.
func findUnknownKey(data []byte, t reflect.Type) error {
	return newWalker(data).value(t, "")
}

// value reads one value of type t, nil for a type that takes any key.
func (w walker) value(t reflect.Type, path string) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		t = nil
	}
	token, err := w.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		err = w.object(t, path)
	case json.Delim('['):
		err = w.list(t, path)
	default:
		return nil
	}
	if err == nil {
		_, _ = w.Token() // the closing bracket
	}
	return err
}

func (w walker) list(t reflect.Type, path string) error {
	var elem reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		elem = t.Elem()
	}
	for i := 0; w.More(); i++ {
		if err := w.value(elem, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func (w walker) object(t reflect.Type, path string) error {
	var (
		known map[string]reflect.Type
		elem  reflect.Type
	)
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct:
		known = keysOf(t)
	case t.Kind() == reflect.Map:
		elem = t.Elem()
	}
	for w.More() {
		at := w.start()
		token, err := w.Token()
		name, isKey := token.(string)
		if err != nil || !isKey {
			return nil
		}
		of := elem
		if known != nil {
			var ok bool
			if of, ok = lookUp(known, name); !ok {
				return faultf(w.data, at, "unknown key %q%s: %s", name, within(path), suggest(name, known))
			}
		}
		if err := w.value(of, strings.TrimPrefix(path+"."+name, ".")); err != nil {
			return err
		}
	}
	return nil
}

func within(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// keysOf lists the keys encoding/json knows for a struct, with their types.
func keysOf(t reflect.Type) map[string]reflect.Type {
	keys := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inlined := f.Anonymous && name == ""
		if tag == "-" || inlined || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		keys[name] = f.Type
	}
	return keys
}

// lookUp finds a key as encoding/json does: as written, else in any case.
func lookUp(known map[string]reflect.Type, name string) (reflect.Type, bool) {
	if t, ok := known[name]; ok {
		return t, true
	}
	for key, t := range known {
		if strings.EqualFold(key, name) {
			return t, true
		}
	}
	return nil, false
}

// suggest names the nearest known key, or all of them when none is near.
func suggest(name string, known map[string]reflect.Type) string {
	keys := slices.Sorted(maps.Keys(known))
	best, least := "", max(2, len(name)/3)+1
	for _, key := range keys {
		if d := levenshtein.Distance(strings.ToLower(name), key, nil); d < least {
			best, least = key, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known keys are " + strings.Join(keys, ", ")
}

// A keyStack finds keys that a JSON object holds twice, of which encoding/json
// would keep the last and say nothing. It holds the keys read so far of every
// object that is still open, outermost first.
type keyStack struct {
	open []container
	keys [][]byte
}

// A container is an object or a list that is still open.
type container struct {
	isObject bool
	atKey    bool            // a string that comes now is a key
	first    int             // index of its first key in keyStack.keys
	set      map[string]bool // all its keys, once there are many
}

// duplicate returns offset and text of the first key given twice, or -1. The
// text is known to be valid JSON.
func (s *keyStack) duplicate(data []byte) (int, []byte) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			isObject := data[i] == '{'
			s.open = append(s.open, container{isObject: isObject, atKey: isObject, first: len(s.keys)})
		case '}', ']':
			top := len(s.open) - 1
			s.keys = s.keys[:s.open[top].first]
			s.open = s.open[:top]
		case ',':
			top := &s.open[len(s.open)-1]
			top.atKey = top.isObject
		case '"':
			end := stringEnd(data, i)
			if s.isKey() && s.seen(plainKey(data[i:end])) {
				return i, data[i+1 : end-1]
			}
			i = end - 1
		}
	}
	return -1, nil
}

// isKey reports whether the string that comes now is a key; the next is not.
func (s *keyStack) isKey() bool {
	if len(s.open) == 0 {
		return false
	}
	top := &s.open[len(s.open)-1]
	is := top.atKey
	top.atKey = false
	return is
}

// seen adds a key to the innermost object and reports whether it was there. A
// few keys are compared one by one, which allocates nothing; many go into a
// set, so that no record can make the search quadratic.
func (s *keyStack) seen(key []byte) bool {
	const few = 32
	top := &s.open[len(s.open)-1]
	mine := s.keys[top.first:]
	if top.set == nil {
		for _, k := range mine {
			if bytes.Equal(k, key) {
				return true
			}
		}
		s.keys = append(s.keys, key)
		if len(mine) == few {
			top.set = make(map[string]bool, 4*few)
			for _, k := range s.keys[top.first:] {
				top.set[string(k)] = true
			}
		}
		return false
	}
	if top.set[string(key)] {
		return true
	}
	top.set[string(key)] = true
	return false
}

// plainKey is the key a string literal stands for.
func plainKey(literal []byte) []byte {
	key := literal[1 : len(literal)-1]
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	var s string
	if json.Unmarshal(literal, &s) != nil {
		return key
	}
	return []byte(s)
}

// stringEnd is the offset after the string literal that starts at i: after the
// next quote that an even number of backslashes precedes.
func stringEnd(data []byte, i int) int {
	for first := i + 1; ; {
		quote := i + 1 + bytes.IndexByte(data[i+1:], '"')
		escapes := quote
		for escapes > first && data[escapes-1] == '\\' {
			escapes--
		}
		if (quote-escapes)%2 == 0 {
			return quote + 1
		}
		i = quote
	}
}
