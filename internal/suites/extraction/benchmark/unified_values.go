package benchmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
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
	if v.folded == nil || w.folded == nil {
		return v.id == w.id
	}
	return slices.Equal(v.folded, w.folded) || len(v.folded) > 0 && len(w.folded) > 0 && alike(v.folded, w.folded, v.similarFrom)
}

// equality is the same for values that are equal, as Python has it: true is 1.
func equality(v any) string {
	if s, ok := v.(string); ok {
		return "text " + foldSpace(s)
	}
	return exactly(v)
}

// exactly is the same for values that are equal to the character.
func exactly(v any) string {
	var b strings.Builder
	var write func(v any)
	write = func(v any) {
		switch v := v.(type) {
		case nil:
			b.WriteString("null")
		case missing:
			b.WriteString("missing")
		case bool:
			b.WriteString(map[bool]string{false: "0", true: "1"}[v])
		case json.Number:
			b.WriteString(numeral(string(v)))
		case string:
			b.WriteString(strconv.Quote(v))
		case []any:
			b.WriteByte('[')
			for _, inner := range v {
				write(inner)
				b.WriteByte(',')
			}
			b.WriteByte(']')
		case map[string]any:
			b.WriteByte('{')
			for _, name := range sortedKeys(v) {
				b.WriteString(strconv.Quote(name) + ":")
				write(v[name])
				b.WriteByte(',')
			}
			b.WriteByte('}')
		}
	}
	write(v)
	return b.String()
}

// numeral is a number as the digits of its value: an integer of any size, or a float64.
func numeral(literal string) string {
	if !strings.ContainsAny(literal, ".eE") {
		if literal == "-0" {
			return "0"
		}
		return literal
	}
	f, _ := strconv.ParseFloat(literal, 64)
	if f == math.Trunc(f) && !math.IsInf(f, 0) {
		whole, _ := big.NewFloat(f).Int(nil)
		return whole.String()
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
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

// alike compares the similarity of two texts, that of RapidFuzz by insertions and deletions, with
// the least one.
func alike(a, b []rune, from float64) bool {
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
	if len(c.normalizers) == 0 {
		return false
	}
	has := func(name string) bool { return slices.Contains(c.normalizers, name) }
	blank := func(v any) bool { return v == nil || v == any(false) }
	if has("null_equals_false") && blank(gold.raw) && blank(answer.raw) {
		return true
	}
	g, isText := gold.raw.(string)
	a, both := answer.raw.(string)
	if !isText || !both {
		return false
	}
	same := func(g, a string) bool {
		x, y := value{similarFrom: gold.similarFrom}, value{}
		if gold.similarFrom > 0 {
			x.folded, y.folded = []rune(fold(g)), []rune(fold(a))
			return x.same(&y)
		}
		return foldSpace(g) == foldSpace(a)
	}
	if has("optional_terminal_punctuation") {
		g, a := terminalPunctuation.ReplaceAllString(strings.TrimFunc(g, isSpace), ""), terminalPunctuation.ReplaceAllString(strings.TrimFunc(a, isSpace), "")
		if g != "" && a != "" && same(g, a) {
			return true
		}
	}
	if has("punctuation_spacing") && same(spacedPunctuation.ReplaceAllString(g, "$1"), spacedPunctuation.ReplaceAllString(a, "$1")) {
		return true
	}
	if has("case_insensitive") && caseFold.String(foldSpace(g)) == caseFold.String(foldSpace(a)) {
		return true
	}
	if has("phone_digits") {
		g, a := noDigits.ReplaceAllString(g, ""), noDigits.ReplaceAllString(a, "")
		if len(g) >= 10 && len(a) >= 10 {
			g, a = g[len(g)-10:], a[len(a)-10:]
		}
		if g != "" && g == a {
			return true
		}
	}
	if has("lenient_date") {
		of := lenientDates(g)
		for date := range lenientDates(a) {
			if of[date] {
				return true
			}
		}
	}
	return false
}

// lenientDates are the dates that a text of a form may be: "June 19 55" with a printed 19, and a
// year of two digits in either century.
func lenientDates(s string) map[string]bool {
	dates := map[string]bool{isoDate(s): true}
	readings := []string{s}
	if at := splitYear.FindStringIndex(s); at != nil && strings.ContainsAny(s[:at[0]], "0123456789") {
		readings = append(readings, splitYear.ReplaceAllString(s, "$1$2"))
	}
	for _, base := range readings {
		if m := shortYear.FindStringSubmatch(base); m != nil && strings.ContainsAny(m[1], "0123456789") {
			readings = append(readings, m[1]+"19"+m[2], m[1]+"20"+m[2])
		}
	}
	for _, r := range readings[1:] {
		if date := isoDate(r); isISODate.MatchString(date) {
			dates[date] = true
		}
	}
	return dates
}

var isISODate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

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
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = dated(inner)
		}
		return list
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
	if m, ok := schema.(map[string]any); ok {
		if v, ok := m["default"]; ok {
			f.fallback = v
		}
	}
	members := properties(schema)
	if isArray(schema) {
		if members, f.isList = properties(items(schema)), isObjectArray(schema); !f.isList {
			members = nil
		}
	}
	for _, name := range sortedKeys(members) {
		f.deep = f.deep || isObjectArray(members[name]) || isObject(members[name])
		f.members = append(f.members, newField(name, members[name]))
	}
	return f
}

// alternatives are the schemas under anyOf, oneOf and allOf.
func alternatives(schema any) (list []any) {
	m, _ := schema.(map[string]any)
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		of, _ := m[key].([]any)
		list = append(list, of...)
	}
	return list
}

// properties are those of a schema and its alternatives; a later one wins.
func properties(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	of, _ := m["properties"].(map[string]any)
	all := maps.Clone(of)
	if all == nil {
		all = map[string]any{}
	}
	for _, alternative := range alternatives(schema) {
		maps.Copy(all, properties(alternative))
	}
	return all
}

func items(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	if of, ok := m["items"].(map[string]any); ok {
		return of
	}
	for _, alternative := range alternatives(schema) {
		if of := items(alternative); len(of) > 0 {
			return of
		}
	}
	return nil
}

func isArray(schema any) bool {
	m, _ := schema.(map[string]any)
	_, has := m["items"].(map[string]any)
	return has || docuType(m, "array") || slices.ContainsFunc(alternatives(schema), isArray)
}

func isObject(schema any) bool {
	m, _ := schema.(map[string]any)
	return len(properties(schema)) > 0 || docuType(m, "object") || slices.ContainsFunc(alternatives(schema), isObject)
}

func isObjectArray(schema any) bool {
	of := items(schema)
	return len(properties(of)) > 0 || docuType(of, "object")
}

// mostNodes limits a schema whose references are written out.
const mostNodes = 1 << 20

// inlined is a schema with its references written out; one to itself is an empty schema.
func inlined(raw jsontext.Value) (any, error) {
	root, err := decode(raw)
	if err != nil {
		return nil, err
	}
	nodes, seen := 0, map[string]bool{}
	var inline func(v any) any
	inline = func(v any) any {
		if nodes++; nodes > mostNodes {
			return nil
		}
		switch v := v.(type) {
		case []any:
			list := make([]any, len(v))
			for i, inner := range v {
				list[i] = inline(inner)
			}
			return list
		case map[string]any:
			out := map[string]any{}
			ref, _ := v["$ref"].(string)
			path, isLocal := strings.CutPrefix(ref, "#/")
			if isLocal {
				if seen[ref] {
					return out
				}
				var target any = root
				for step := range strings.SplitSeq(path, "/") {
					m, _ := target.(map[string]any)
					if target = m[step]; target == nil {
						target = map[string]any{}
					}
				}
				seen[ref] = true
				if m, ok := inline(target).(map[string]any); ok {
					out = m
				}
				delete(seen, ref)
			}
			for name, inner := range v {
				if name != "$ref" || !isLocal {
					out[name] = inline(inner)
				}
			}
			return out
		}
		return v
	}
	schema := inline(root)
	if nodes > mostNodes {
		return nil, fmt.Errorf("data_schema: more than %d nodes with its references written out", mostNodes)
	}
	return schema, nil
}
