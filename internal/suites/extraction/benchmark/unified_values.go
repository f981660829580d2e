package benchmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/cases"
)

// The values of the unified value F1, and how ExtractBench compares them.

// missing is a member that is not there, which is not null.
type missing struct{}

type value struct {
	raw         any
	id          int // equal for equal values
	there       bool
	similarFrom float64 // of its field: texts from this similarity on are equal
	folded      []rune  // of a text of such a field
}

// longTexts are the names of fields with long texts (DEFAULT_FUZZY_FIELD_THRESHOLDS).
var longTexts = map[string]float64{"description": 0.95, "court": 0.85}

// same is cell_match: texts are equal but for white space, numbers exactly.
func (v *value) same(w *value) bool {
	return v.id == w.id || v.folded != nil && w.folded != nil && alike(v.folded, w.folded, v.similarFrom)
}

// equality is the same for values that are equal, as Python has it: true is 1.
func equality(v any) string {
	if s, ok := v.(string); ok {
		v = foldSpace(s)
	}
	return exactly(v)
}

// exactly is the same for values that are equal to the character.
func exactly(v any) string {
	if v == any(missing{}) {
		return ""
	}
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsonv2.WithMarshalers(asPython))
	if err != nil {
		return "error: " + err.Error() // equal for equal values, too
	}
	return string(b)
}

var asPython = jsonv2.JoinMarshalers(
	jsonv2.MarshalFunc(func(b bool) ([]byte, error) { return []byte(map[bool]string{false: "0", true: "1"}[b]), nil }),
	jsonv2.MarshalFunc(func(n json.Number) ([]byte, error) { return []byte(numeral(n)), nil }))

// numeral is a number as the digits of its value: an integer of any size, or a float64.
func numeral(n json.Number) string {
	f, err := n.Float64()
	switch {
	case n == "-0":
		return "0"
	case strings.ContainsAny(string(n), ".eE") && err == nil:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return string(n)
}

// space is white space of Python's regular expressions.
const space = `[\s\v\x{85}\x1c-\x1f\p{Z}]`

var (
	punctuation         = regexp.MustCompile(`[^\p{L}\p{N}_\s\v\x{85}\x1c-\x1f\p{Z}]`)
	terminalPunctuation = regexp.MustCompile(space + `*[.,;:]` + space + `*$`)
	spacedPunctuation   = regexp.MustCompile(space + `*([,.;:])` + space + `*`)
	noDigits            = regexp.MustCompile(`\P{Nd}+`)
	splitYear           = regexp.MustCompile(`\b(19|20)` + space + `+(\d{2})\b`)
	shortYear           = regexp.MustCompile(`^(.*[ ,/-])(\d{2})` + space + `*$`)
	caseFold            = cases.Fold()
)

func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func foldSpace(s string) string { return strings.Join(strings.FieldsFunc(s, isSpace), " ") }

// fold is a text without punctuation and case.
func fold(s string) string {
	return strings.ToLower(foldSpace(punctuation.ReplaceAllString(s, " ")))
}

// alike reports whether two texts are equal or have a similarity, that of RapidFuzz by insertions
// and deletions.
func alike(a, b []rune, from float64) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	all := float64(len(a) + len(b))
	reached := func(edits float64) bool { return (1-edits/all)*100 >= from*100 }
	if !reached(math.Abs(float64(len(a) - len(b)))) {
		return false
	}
	edits, _, _ := levenshtein.Calculate(a, b, 0, 1, 2, 1) // to substitute is to delete and insert
	return reached(float64(edits))
}

// lenient compares values by the normalizers of a field, which only forgive.
func (c *cell) lenient(gold, answer *value) bool {
	blank := func(v any) bool { return v == nil || v == any(false) }
	if slices.Contains(c.normalizers, "null_equals_false") && blank(gold.raw) && blank(answer.raw) {
		return true
	}
	g, isText := gold.raw.(string)
	a, both := answer.raw.(string)
	if !isText || !both {
		return false
	}
	for _, name := range c.normalizers {
		if forgive := forgiving[name]; forgive != nil {
			if x, y := forgive(g), forgive(a); x != "" && y != "" && sameText(x, y, gold.similarFrom) {
				return true
			}
		}
	}
	if !slices.Contains(c.normalizers, "lenient_date") {
		return false
	}
	dates := lenientDates(a)
	return slices.ContainsFunc(lenientDates(g), func(date string) bool { return slices.Contains(dates, date) })
}

// forgiving is what normalizers leave of a text.
var forgiving = map[string]func(string) string{
	"case_insensitive":    caseFold.String,
	"punctuation_spacing": func(s string) string { return spacedPunctuation.ReplaceAllString(s, "$1") },
	"optional_terminal_punctuation": func(s string) string {
		return terminalPunctuation.ReplaceAllString(strings.TrimFunc(s, isSpace), "")
	},
	"phone_digits": func(s string) string {
		s = noDigits.ReplaceAllString(s, "")
		return s[max(0, len(s)-10):]
	},
}

func sameText(a, b string, similarFrom float64) bool {
	if similarFrom == 0 {
		return foldSpace(a) == foldSpace(b)
	}
	return alike([]rune(fold(a)), []rune(fold(b)), similarFrom)
}

// lenientDates are the dates that a text of a form may be: "June 19 55" with a printed 19, and a
// year of two digits in either century.
func lenientDates(s string) []string {
	readings := []string{s}
	if at := splitYear.FindStringIndex(s); at != nil && strings.ContainsAny(s[:at[0]], "0123456789") {
		readings = append(readings, splitYear.ReplaceAllString(s, "$1$2"))
	}
	for _, base := range readings {
		if m := shortYear.FindStringSubmatch(base); m != nil && strings.ContainsAny(m[1], "0123456789") {
			readings = append(readings, m[1]+"19"+m[2], m[1]+"20"+m[2])
		}
	}
	dates := []string{isoDate(s)}
	for _, r := range readings[1:] {
		if date := isoDate(r); date != r {
			dates = append(dates, date)
		}
	}
	return dates
}

// decode reads JSON with its numbers as they are written; nothing is null.
func decode(raw jsontext.Value) (v any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// dated writes every date in a value as YYYY-MM-DD.
func dated(v any) any {
	switch v := v.(type) {
	case string:
		return isoDate(v)
	case []any:
		return each(v, dated)
	case map[string]any:
		m := map[string]any{}
		for name, inner := range v {
			m[name] = dated(inner)
		}
		return m
	}
	return v
}

// unwrapped is the value of {"value": …}.
func unwrapped(v any) any {
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		if inner, ok := m["value"]; ok {
			return inner
		}
	}
	return v
}

// withoutMembers is an object for members: what is no object has none.
func withoutMembers(v any) any {
	switch v.(type) {
	case map[string]any, missing:
		return v
	}
	return nil
}

// sameClaims brings the claims of remittances into one layout, if one side has them under payments
// and the other one beside (evaluators/extract.py, _normalize_eob_layouts).
func sameClaims(answer, gold any) (any, any) {
	a, isObject := answer.(map[string]any)
	g, both := gold.(map[string]any)
	if !isObject || !both {
		return answer, gold
	}
	a, g = maps.Clone(a), maps.Clone(g)
	for _, s := range [][2]map[string]any{{a, g}, {g, a}} {
		one, isOne := s[0]["payment_details"].(map[string]any)
		if _, several := s[1]["payment_details"].([]any); isOne && several {
			s[0]["payment_details"] = []any{one}
		}
	}
	beside := func(m map[string]any) bool { l, _ := m["claims"].([]any); return len(l) > 0 }
	for _, s := range [][2]map[string]any{{a, g}, {g, a}} {
		if beside(s[0]) && !beside(s[1]) {
			liftClaims(s[1])
		}
	}
	return a, g
}

// liftClaims moves the claims of payments beside them.
func liftClaims(m map[string]any) {
	payments, _ := m["payment_details"].([]any)
	var rest, claims []any
	lifted := false
	for _, p := range payments {
		if object, ok := p.(map[string]any); ok {
			if inner, ok := object["claims"].([]any); ok {
				object = maps.Clone(object)
				delete(object, "claims")
				p, claims, lifted = object, append(claims, inner...), true
			}
		}
		rest = append(rest, p)
	}
	if lifted {
		m["payment_details"], m["claims"] = rest, claims
	}
}

// A field is a member of a schema: an object with members, a list of records with members, or else
// a cell.
type field struct {
	name     string
	fallback any // the default of the schema, or missing
	isList   bool
	deep     bool // records of the list have objects or lists of records
	members  []*field
}

func newField(name string, schema any) *field {
	f := &field{name: name, fallback: missing{}}
	m, _ := schema.(map[string]any)
	if v, ok := m["default"]; ok {
		f.fallback = v
	}
	members := object(m["properties"])
	if items := object(m["items"]); len(items) > 0 || docuType(m, "array") {
		members, f.isList = object(items["properties"]), isObject(items)
	}
	for _, name := range sortedKeys(members) {
		member := newField(name, members[name])
		f.deep = f.deep || member.isList || isObject(object(members[name]))
		f.members = append(f.members, member)
	}
	return f
}

// object is an object, and an empty one for another value.
func object(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return m
	}
	return map[string]any{}
}

func isObject(schema map[string]any) bool {
	return len(object(schema["properties"])) > 0 || docuType(schema, "object")
}

// withAlternatives adds what the schemas under anyOf, oneOf and allOf say to a schema.
func withAlternatives(schema map[string]any) map[string]any {
	properties, types := maps.Clone(object(schema["properties"])), typesOf(schema)
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[key].([]any)
		for _, v := range list {
			alternative := object(v)
			maps.Copy(properties, object(alternative["properties"])) // a later one wins
			if of, ok := alternative["items"]; ok && len(object(schema["items"])) == 0 {
				schema["items"] = of
			}
			types = append(types, typesOf(alternative)...)
			schema["properties"], schema["type"] = properties, types
		}
	}
	return schema
}

// typesOf are the types of a schema.
func typesOf(schema map[string]any) []any {
	if list, ok := schema["type"].([]any); ok {
		return list
	}
	return []any{schema["type"]}
}

// mostNodes limits a schema whose references are written out.
const mostNodes = 1 << 20

// inlined is a schema with its references and alternatives written out; a reference to itself is an
// empty schema.
func inlined(raw jsontext.Value) (any, error) {
	root, err := decode(raw)
	if err != nil {
		return nil, err
	}
	nodes, open := 0, map[string]bool{}
	var inline func(v any) any
	inline = func(v any) any {
		if nodes++; nodes > mostNodes {
			return nil
		}
		out := map[string]any{}
		switch v := v.(type) {
		case []any:
			return each(v, inline)
		case map[string]any:
			ref, _ := v["$ref"].(string)
			path, isLocal := strings.CutPrefix(ref, "#/")
			if open[ref] {
				return out
			}
			if isLocal {
				target := root
				for step := range strings.SplitSeq(path, "/") {
					target = object(target)[step]
				}
				open[ref] = true
				maps.Copy(out, object(inline(object(target))))
				delete(open, ref)
			}
			for name, inner := range v {
				if name != "$ref" || !isLocal {
					out[name] = inline(inner)
				}
			}
			return withAlternatives(out)
		}
		return v
	}
	schema := inline(root)
	if nodes > mostNodes {
		return nil, fmt.Errorf("data_schema: more than %d nodes with its references written out", mostNodes)
	}
	return schema, nil
}
