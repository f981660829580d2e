package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/kaptinlin/jsonrepair"
)

// A Reading is the JSON object found in an answer.
type Reading struct {
	JSON     []byte // one valid JSON object, white space around it left out
	Repaired bool   // it was not JSON as it stood
	Cut      bool   // the answer ends inside the object
	Wrapped  bool   // it was in another object or in an array
	// Others are the other objects of the answer that differ from it, see [Others]: with the key, or,
	// if the one that was read lacks it, whatever they have. Where the object has
	// duplicate keys with different values, it is among them as the first of each key says.
	Others [][]byte
}

// Agrees reports whether all objects of an answer say the same: a judge that contradicts itself
// says nothing.
func (r *Reading) Agrees(says func(object []byte) string) bool {
	first := says(r.JSON)
	return !slices.ContainsFunc(r.Others, func(other []byte) bool { return says(other) != first })
}

// A Loose is a number in a model's answer, which may be written as text: 4, "4", "0.9". Any
// other text is not a number (NaN).
type Loose float64

// UnmarshalJSON reads a number, or a text that is one.
func (l *Loose) UnmarshalJSON(data []byte) error {
	var quoted string
	if json.Unmarshal(data, &quoted) != nil {
		return json.Unmarshal(data, (*float64)(l))
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(quoted), 64)
	if *l = Loose(x); err != nil {
		*l = Loose(math.NaN())
	}
	return nil
}

// maxAnswer is the most bytes an answer can have.
const maxAnswer = 16 << 20

// Why an answer has no object.
var (
	ErrNoObject = errors.New("no JSON object found")
	ErrArray    = errors.New("a JSON array, not an object")
	ErrTooLong  = errors.New("too long")
	ErrTooDeep  = errors.New("nested too deeply")
)

// ReadObject finds the JSON object in a model's answer, with the first of these
// steps that succeeds:
//
//  1. the whole text, white space aside, is the object;
//  2. the first balanced and valid object in the text, ignoring prose and code
//     fences around it; an empty one counts only if there is no other. An object
//     starts with a brace followed by a quotation mark, a comment or a closing
//     brace, so braces in prose do not count. Objects inside a balanced invalid
//     object are ignored, since a part is not the answer;
//  3. the first invalid or truncated object, repaired once: its structure by the
//     jsonrepair library; well-formed strings are not changed. Repaired is set.
//
// Text before a leading <think> tag, or one of its kind, closes is reasoning and is
// skipped. An array of objects is an error, rather than its first element an answer.
// Typographic quotation marks count as quotation marks in a repair.
//
// Valid means valid for [encoding/json]: of two equal keys a decoder takes the
// last, bytes that are not UTF-8 and lone surrogates become U+FFFD when
// decoded, and nesting is at most 10000 deep.
func ReadObject(answer string) (Reading, error) { return ReadObjectWith(answer, "") }

// ReadObjectWith is as [ReadObject], but prefers the first valid object that
// has the key to one that comes before it. An object without the key may be a
// wrapper, such as {"answer": {…}} or [{…}]: if exactly one object in it has the
// key, the answer is that one.
func ReadObjectWith(answer, key string) (Reading, error) {
	if len(answer) > maxAnswer {
		return Reading{}, fmt.Errorf("reading the answer's JSON: %w: %d bytes, at most %d", ErrTooLong, len(answer), maxAnswer)
	}
	text := bytes.TrimFunc([]byte(answer), isSpace)
	if len(text) > 0 && text[0] == '{' && json.Valid(text) {
		r := Reading{JSON: text}
		if key == "" {
			return r, nil
		}
		if !hasKey(text, key) {
			if inner := unwrap(text, key, maxWrappers); inner != nil {
				r.JSON, r.Wrapped = inner, true
			}
		}
		r.Others = firsts(r.JSON)
		return r, nil
	}
	r, err := searchObject(skipReasoning(text), key)
	if err != nil {
		return Reading{}, fmt.Errorf("reading the answer's JSON: %w", err)
	}
	if key != "" {
		keyed := hasKey(r.JSON, key)
		r.Others = Others(answer, r.JSON, func(object []byte) []byte {
			switch {
			case keyed && !hasKey(object, key):
				return unwrap(object, key, maxWrappers)
			case isBlank(string(object[1:len(object)-1])) && !keyed:
				return nil
			}
			return object
		})
	}
	return r, nil
}

// Others are the answers in the objects of a text that differ, but for white space, from the one
// that was read. Where that has duplicate keys, it is among them as the first of each key says. in is
// the answer in an object, which may be the object; nil if it has none.
func Others(answer string, read []byte, in func(object []byte) []byte) (others [][]byte) {
	others = firsts(read)
	if strings.TrimSpace(answer) == string(read) {
		return others
	}
	known := spaceless(read)
	for _, at := range Objects(answer) {
		if other := in([]byte(answer[at[0]:at[1]])); other != nil && !bytes.Equal(spaceless(other), known) {
			others = append(others, other)
		}
	}
	return others
}

// firsts is a valid value without duplicate keys, each with its first value, if a decoder, which takes
// the last, reads another thing; nil otherwise.
func firsts(value []byte) [][]byte {
	if len(value) == 0 || jsontext.Value(value).IsValid(jsontext.AllowInvalidUTF8(true)) { // without duplicate keys
		return nil
	}
	first := appendFirst(nil, value)
	var by [2]any
	if json.Unmarshal(value, &by[0]) != nil || json.Unmarshal(first, &by[1]) != nil || reflect.DeepEqual(by[0], by[1]) {
		return nil
	}
	return [][]byte{first}
}

// appendFirst appends a valid value, of duplicate keys only the first.
func appendFirst(b, value []byte) []byte {
	value = bytes.TrimFunc(value, isSpace)
	switch value[0] {
	case '{':
		b = append(b, '{')
		seen := map[string]bool{}
		for name, v := range Members(value) {
			if !seen[name] {
				if len(seen) > 0 {
					b = append(b, ',')
				}
				seen[name] = true
				b, _ = jsontext.AppendQuote(b, name) // an error is text that is not UTF-8
				b = appendFirst(append(b, ':'), v)
			}
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, v := range Elements(value) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendFirst(b, v)
		}
		return append(b, ']')
	}
	return append(b, value...)
}

// spaceless is a value without white space, nil of what is not valid.
func spaceless(value []byte) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, value) // which leaves nothing of a value that is not valid
	return b.Bytes()
}

// reasoning has what models put before and after it. Under <reasoning> they give the reasons that
// they were asked for. The last ones are those of gpt-oss, and
// what is left of them where tokens are not shown.
var reasoning = [][2]string{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"},
	{"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}, {"◁think▷", "◁/think▷"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, {"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"<|channel|>analysis", "<|channel|>final<|message|>"}, {"<|channel|>analysis", "<|channel|>final <|constrain|>json<|message|>"},
	{"analysis", "assistantfinal"},
}

// skipReasoning drops a block of reasoning that some servers leave in front. The
// prompt may have opened it. One that does not end is kept, as the answer may be in it.
func skipReasoning(text []byte) []byte {
	for _, mark := range reasoning {
		closing := []byte(mark[1])
		before, after, ok := bytes.Cut(text, closing)
		late := !strings.HasSuffix(mark[0], "analysis") && bytes.Contains(before, []byte(mark[0])) // behind an answer
		if ok && (!late || bytes.HasPrefix(text, []byte(mark[0]))) && (bytes.HasPrefix(text, []byte(mark[0])) ||
			!bytes.Contains(after, closing) && nextStart(before, 0) < 0 && len(bytes.TrimFunc(after, isSpace)) > 0) {
			text = bytes.TrimLeftFunc(after, isSpace)
		}
	}
	return text
}

// OpensReasoning reports whether a text begins with a mark of reasoning. The bare word "analysis" is
// none, as answers begin with it too.
func OpensReasoning(s string) bool {
	return slices.ContainsFunc(reasoning, func(mark [2]string) bool { return mark[0] != "analysis" && strings.HasPrefix(s, mark[0]) })
}

// maxWrappers is how many wrappers an object can be in.
const maxWrappers = 3

// wrappers are the names under which models wrap an answer. What is under another
// name, such as "example", is not the answer.
var wrappers = map[string]bool{"answer": true, "finalanswer": true, "final": true, "result": true, "results": true, "response": true,
	"output": true, "data": true, "json": true, "object": true, "arguments": true, "args": true, "parameters": true, "input": true, "content": true}

// Unwrap returns the only object with the key in a wrapper such as {"answer": {…}}, nil
// if there is none or there are several.
func Unwrap(object []byte, key string) []byte { return unwrap(object, key, maxWrappers) }

func unwrap(value []byte, key string, depth int) (found []byte) {
	value = bytes.TrimFunc(value, isSpace)
	if depth == 0 || len(value) == 0 || !bytes.Contains(value, []byte(key)) {
		return nil
	}
	var inside [][]byte
	switch value[0] {
	case '[':
		inside = Elements(value)
	case '{':
		for name, v := range maps.Collect(Members(value)) {
			if name = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)); wrappers[name] {
				inside = append(inside, v)
			}
		}
	}
	for _, v := range inside {
		var encoded string
		if v[0] == '"' && json.Unmarshal(v, &encoded) == nil && json.Valid([]byte(encoded)) {
			v = []byte(encoded) // JSON in a string
		}
		v = bytes.TrimFunc(v, isSpace)
		if len(v) == 0 || v[0] != '{' || !hasKey(v, key) {
			v = unwrap(v, key, depth-1)
		}
		if v == nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = v
	}
	return found
}

// searchObject finds the object in a text that is not plain JSON.
func searchObject(text []byte, key string) (Reading, error) {
	var broken, empty, other []byte // the first that is not valid, that is empty, that lacks the key
	array := false                  // an array of objects came before that
	for i := nextStart(text, 0); i >= 0; {
		end, _ := Balanced(text[i:])
		if end < 0 {
			if broken == nil {
				broken = text[i:]
			}
			break
		}
		body := text[i : i+end]
		blank := isBlank(string(body[1 : len(body)-1]))
		switch {
		case !json.Valid(body):
			if broken == nil {
				broken = text[i:]
			}
		case body[0] == '[':
			if inner := unwrap(body, key, maxWrappers); key != "" && inner != nil {
				return Reading{JSON: inner, Wrapped: true}, nil
			}
			array = array || other == nil
		case key != "" && !hasKey(body, key):
			if inner := unwrap(body, key, maxWrappers); inner != nil {
				return Reading{JSON: inner, Wrapped: true}, nil
			}
			if other == nil && !blank {
				other = body
			}
		case blank:
			if empty == nil {
				empty = body
			}
		default:
			return Reading{JSON: body}, nil
		}
		i = nextStart(text, i+end)
	}
	switch {
	case array:
		return Reading{}, ErrArray
	case other != nil:
		return Reading{JSON: other}, nil
	case broken != nil:
		return repair(broken)
	case empty != nil:
		return Reading{JSON: empty}, nil
	}
	return Reading{}, ErrNoObject
}

// Objects returns the places of all valid JSON objects in an answer that are in no other
// object: first byte and the one behind the last. Reasoning before them is skipped as in
// [ReadObject].
func Objects(answer string) (places [][2]int) {
	if len(answer) > maxAnswer {
		return nil
	}
	text := skipReasoning(bytes.TrimLeftFunc([]byte(answer), isSpace))
	before := len(answer) - len(text)
	for i := nextStart(text, 0); i >= 0; {
		if text[i] == '[' { // the objects of an array
			i = nextStart(text, i+1)
			continue
		}
		end, _ := Balanced(text[i:])
		if end < 0 {
			break
		}
		if json.Valid(text[i : i+end]) {
			places = append(places, [2]int{before + i, before + i + end})
		}
		i = nextStart(text, i+end)
	}
	return places
}

// hasKey reports whether an object has the key at its top.
func hasKey(object []byte, key string) bool {
	if !bytes.Contains(object, []byte(`"`+key+`"`)) {
		return false
	}
	for name := range Members(object) {
		if name == key {
			return true
		}
	}
	return false
}

// Members are the names and values of a valid JSON object, in its order and with those that it
// has twice; none of another value. The values share its memory.
func Members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		name, named := "", false
		for v := range values(object, '{') {
			if named = !named; named {
				name = Unquote(v)
			} else if !yield(name, v) {
				return
			}
		}
	}
}

// Elements are those of a valid JSON array, nil of another value. They share its memory.
func Elements(array []byte) [][]byte {
	if len(array) == 0 || array[0] != '[' {
		return nil
	}
	return slices.AppendSeq([][]byte{}, values(array, '['))
}

// values are those in a valid object or array, names among them.
func values(valid []byte, open byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(valid) == 0 || valid[0] != open {
			return
		}
		for rest := valid[1:]; ; {
			for len(rest) > 0 && strings.IndexByte(jsonSpace+",:", rest[0]) >= 0 { // TrimLeft makes a set of these each time
				rest = rest[1:]
			}
			if len(rest) == 0 || rest[0] == ']' || rest[0] == '}' {
				return
			}
			n := valueLen(rest)
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Unquote is the text of a valid JSON string. What is not UTF-8 in it is U+FFFD.
func Unquote(quoted []byte) string {
	if inside := quoted[min(1, len(quoted)-1) : len(quoted)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside)
	}
	s, _ := jsontext.AppendUnquote(nil, quoted) // an error is text that is not UTF-8
	return string(s)
}

// valueLen is the length of the first value of valid JSON. What is not valid ends with the text.
func valueLen(valid []byte) (n int) {
	switch valid[0] {
	case '{', '[':
		n, _ = Balanced(valid)
	case '"':
		for n = 1; n < len(valid) && valid[n] != '"'; n++ {
			if valid[n] == '\\' {
				n++
			}
		}
		n++
	default:
		n = bytes.IndexAny(valid, jsonSpace+",]}")
	}
	if n < 0 || n > len(valid) {
		return len(valid)
	}
	return n
}

// startForm matches what an object, or an array of objects, begins with.
var startForm = regexp.MustCompile(`\{[ \t\n\r]*["'/}“”„]|\[[ \t\n\r]*\{`)

// nextStart is where the next object, or array of objects, may begin; -1 if
// none does.
func nextStart(text []byte, from int) int {
	if at := startForm.FindIndex(text[from:]); at != nil {
		return from + at[0]
	}
	return -1
}

// Balanced is the length of the object or array that text begins with, braces
// in strings not counted; -1 if the text ends first, and then whether it does
// so inside a string.
func Balanced(text []byte) (length int, inString bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case inString:
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			if depth--; depth == 0 {
				return i + 1, false
			}
		}
	}
	return -1, inString
}

// Limits on repairs. The library takes quadratic time and a stack frame per open
// bracket.
const (
	maxRepair      = 64 << 10
	maxRepairDepth = 256
)

// repair reads the broken object that text begins with.
func repair(text []byte) (Reading, error) {
	if text[0] == '[' {
		return Reading{}, ErrArray
	}
	text, r := extent(text)
	if len(text) > maxRepair {
		return Reading{}, fmt.Errorf("%w for a repair: %d bytes, at most %d", ErrTooLong, len(text), maxRepair)
	}
	if openBrackets(text) > maxRepairDepth {
		return Reading{}, fmt.Errorf("%w for a repair: more than %d open brackets", ErrTooDeep, maxRepairDepth)
	}
	word := "kept"
	for bytes.Contains(text, []byte(word)) {
		word += "x"
	}
	safe, kept := keepStrings(text, word, r.Cut)
	fixed, err := callRepair(safe)
	if err != nil {
		return Reading{}, fmt.Errorf("%w that can be repaired: %w", ErrNoObject, err)
	}
	fixed = regexp.MustCompile(word+`\d+\.`).ReplaceAllStringFunc(fixed, func(m string) string {
		if n, err := strconv.Atoi(m[len(word) : len(m)-1]); err == nil && n < len(kept) {
			return kept[n]
		}
		return m
	})
	r.JSON = bytes.TrimSpace([]byte(fixed))
	if len(r.JSON) == 0 || r.JSON[0] != '{' || !json.Valid(r.JSON) {
		return Reading{}, fmt.Errorf("%w that can be repaired", ErrNoObject)
	}
	return r, nil
}

// extent is the part of the text that is the broken object: up to the brace
// that balances its first, else to the end of its code fence, else to the end
// of the text, which is then cut.
func extent(text []byte) ([]byte, Reading) {
	r := Reading{Repaired: true}
	end, inString := Balanced(text)
	if end >= 0 {
		return text[:end], r
	}
	if fence := bytes.Index(text, []byte("\n```")); fence >= 0 {
		return text[:fence], r
	}
	text = bytes.TrimRightFunc(text, isSpace)
	// With a quotation mark too many the scan ends in a string though the
	// text ends with the brace.
	r.Cut = !inString || text[len(text)-1] != '}'
	return text, r
}

// openBrackets is the most brackets that are open at once, counted without
// regard to strings, whose borders are in doubt in a broken text.
func openBrackets(text []byte) int {
	depth, most := 0, 0
	for _, b := range text {
		switch b {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return most
}

// callRepair asks the library, which is not trusted with what models write.
func callRepair(s string) (fixed string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the repair library failed: %v", p)
		}
	}()
	return jsonrepair.Repair(s)
}

// keepStrings keeps strings from the repair library, which takes escapes for
// Windows paths, stops at commas in a string that was cut and drops them at
// the end of others. A quote has to come through unchanged, so every string
// whose borders are not in doubt is replaced by the word and its number, to be put
// back after. Where the text is cut, a string it ends in is closed and kept too.
func keepStrings(text []byte, word string, cut bool) (safe string, kept []string) {
	var b strings.Builder
	opens := true // whether a string can begin here
	for i := 0; i < len(text); {
		c := text[i]
		if c != '"' {
			opens = strings.IndexByte("{[,:", c) >= 0 || opens && strings.IndexByte(jsonSpace, c) >= 0
			b.WriteByte(c)
			i++
			continue
		}
		content, n, closed := stringAt(text[i:])
		certain := opens && (closed && endForm.Match(text[i+n:]) || !closed && cut)
		switch {
		case certain && harmless.MatchString(content):
			b.WriteString(`"` + content + `"`)
		case certain && utf8.ValidString(content) && json.Valid([]byte(`"`+content+`"`)):
			fmt.Fprintf(&b, `"%s%d."`, word, len(kept))
			kept = append(kept, content)
		default:
			b.Write(bytes.ToValidUTF8(text[i:i+n], []byte("\uFFFD")))
			opens = false
		}
		i += n
	}
	return b.String(), kept
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\n\r"

var (
	// endForm matches what shows that a quotation mark before it ended a string:
	// punctuation of JSON, the end, or after white space the next string.
	endForm = regexp.MustCompile(`^[ \t\n\r]*(?:[,:}\]\x00]|$)|^[ \t\n\r]+"`)
	// harmless matches a string that the library leaves alone.
	harmless = regexp.MustCompile(`^[0-9A-Za-z_]*$`)

	stringForm = regexp.MustCompile(`(?s)^"((?:[^"\\]|\\.)*)"`)
	cutEscape  = regexp.MustCompile(`(?s)^((?:[^\\]|\\.)*)\\(?:u[0-9A-Fa-f]{0,3})?$`)
	escaped    = regexp.MustCompile(`(?s)\\.|[\x00-\x1f]`)
)

// stringAt reads the string that text begins with: its content, with control
// characters escaped and without backslashes that escape nothing; how many bytes it takes;
// and whether its end is there. An escape that is cut is left out. A backslash before a
// letter that makes no escape stays, which leaves the string to the library: it may be a path.
func stringAt(text []byte) (content string, n int, closed bool) {
	if m := stringForm.FindSubmatch(text); m != nil {
		content, n, closed = string(m[1]), len(m[0]), true
	} else {
		content, n = cutEscape.ReplaceAllString(string(text[1:]), "$1"), len(text)
	}
	return escaped.ReplaceAllStringFunc(content, func(s string) string {
		r, _ := utf8.DecodeLastRuneInString(s)
		switch {
		case s == "\n":
			return `\n`
		case len(s) == 1:
			return fmt.Sprintf(`\u%04x`, r)
		case r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(`"\/`, r):
			return string(r)
		}
		return s
	}), n, closed
}
