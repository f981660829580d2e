package extraction

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

const invoiceLines = `{
  "type": "object",
  "properties": {
    "number": {"type": "string", "description": "Invoice number"},
    "seller": {"$ref": "#/$defs/party"},
    "due": {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
    "currency": {"enum": ["EUR", "USD", null]},
    "paid": {"type": ["boolean", "null"]},
    "items": {"type": "array", "items": {"type": "object", "properties": {
      "sku": {"type": "string", "format": "id"},
      "count": {"type": "integer"},
      "price": {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]},
      "taxes": {"type": "array", "items": {"type": "object", "properties": {"rate": {"type": "number"}}}}
    }}},
    "tags": {"type": "array", "items": {"type": "string"}}
  },
  "$defs": {"party": {"type": "object", "properties": {"name": {"type": "string"}, "country": {"type": "string"}}}}
}`

func nestedSchema(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := parseSchema("s.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The fields of a JSON Schema are its leaves.
func TestJSONSchemaFields(t *testing.T) {
	s := nestedSchema(t, invoiceLines)
	var got []string
	for _, f := range s.Fields {
		got = append(got, fmt.Sprintf("%s %s %s", f.Name, f.Type, strings.Join(f.Enum, "|")))
	}
	want := []string{"number string ", "seller.name string ", "seller.country string ", "due date ", "currency enum EUR|USD", "paid boolean ",
		"items[].sku id ", "items[].count integer ", "items[].price number ", "items[].taxes[].rate number ", "tags[] string "}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if about := s.Fields[0].Description; about != "Invoice number" {
		t.Errorf("description %q", about)
	}
}

// What is not supported is named with its JSON pointer.
func TestJSONSchemaErrors(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"a cyclic reference", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}}`, `s.json: at #/$defs/n/properties/next: $ref "#/$defs/n" is cyclic`},
		{"itself", `{"type": "object", "properties": {"a/b": {"$ref": "#"}}}`, `is cyclic`},
		{"another file", `{"type": "object", "properties": {"a": {"$ref": "other.json"}}}`, `at #/properties/a: $ref "other.json": it leaves the file`},
		{"a missing definition", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}}`, `at #/properties/a: $ref "#/$defs/x": the file has no "$defs"`},
		{"a map", `{"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}}`, `at #/properties/a: an object without properties`},
		{"an untyped list", `{"type": "object", "properties": {"a/b": {"type": "array"}}}`, `at #/properties/a~1b: a list needs items with one schema`},
		{"two kinds of object", `{"type": "object", "properties": {"a": {"anyOf": [{"type": "object", "properties": {}}, {"type": "array", "items": {}}]}}}`, `at #/properties/a: anyOf of several objects or lists`},
		{"a name with a dot", `{"type": "object", "properties": {"a.b": {"type": "string"}}}`, `at #/properties/a.b: want a name without dots`},
		{"a list", `{"type": "array", "items": {"type": "string"}}`, `want an object with properties`},
		{"no fields", `{"type": "object", "properties": {}}`, `no fields`},
		{"allOf", `{"type": "object", "properties": {"a": {"allOf": [{"type": "string"}, {"minLength": 1}]}}}`, `at #/properties/a: allOf with several schemas`},
		{"too many", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {` + doubling(14) + `}}`, `more than 10000 fields`},
		{"no schema", `{"type": "object", "properties": {"a": 3}}`, `at #/properties/a: want a schema`},
	} {
		if _, err := parseSchema("s.json", []byte(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

// doubling has definitions of which each has the next one twice.
func doubling(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"d%d": {"type": "object", "properties": {"a": {"$ref": "#/$defs/d%d"}, "b": {"$ref": "#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	return strings.Join(append(list, fmt.Sprintf(`"d%d": {"type": "string"}`, n)), ", ")
}

// nestedDocument is a document with nested gold.
func nestedDocument(t testing.TB, s *Schema, gold string, lists map[string]List) *prepared {
	t.Helper()
	d := &prepared{Document: Document{ID: "d", Text: "x", Schema: s.Name, Gold: []byte(gold)}, schema: s, lists: lists}
	if err := d.expand(s, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return d.ready()
}

// valuesOf are precision, recall and F1 of an answer by list, and of all.
func valuesOf(d *prepared, answer string) map[string]float64 {
	b := &bench{weights: DefaultWeights, mix: trustedJudge, plain: true}
	o := outcomeOf(answer, eval.StopEnd, d.schema)
	got, num, den := map[string]float64{"kind " + string(o.Kind): 1}, map[string]float64{}, map[string]float64{}
	for _, s := range b.score(nil, d, &o, nil, eval.RoleArm) {
		if slices.Contains([]string{metricPrecision, metricRecall, metricF1, metricValue, "extra_field"}, s.Metric) {
			got[s.Metric+" "+s.Unit] = s.Num / s.Den
			num[s.Metric] += s.Num
			den[s.Metric] += s.Den
		}
	}
	for m := range num {
		got[m] = num[m] / den[m]
	}
	return got
}

const invoiceGold = `{"number": "77", "seller": {"name": "Ann Ltd", "country": null}, "due": "2024-03-15", "currency": "EUR", "paid": true,
  "items": [{"sku": "A-1", "count": 2, "price": 10.5, "taxes": [{"rate": 7}]}, {"sku": "B-2", "count": 1, "price": 3, "taxes": []},
            {"sku": "C-3", "count": 2, "price": 10.5, "taxes": [{"rate": 19}, {"rate": 7}]}], "tags": ["red", "blue"]}`

// Plain answers are read, records are aligned by their values, and each list has its precision
// and recall. The numbers are counted by hand: gold has 5 values in no list, 9 in items, 3
// rates and 2 tags.
func TestNestedAnswers(t *testing.T) {
	s := nestedSchema(t, invoiceLines)
	d := nestedDocument(t, s, invoiceGold, nil)
	for _, c := range []struct {
		name, answer string
		want         map[string]float64
	}{
		{"gold", invoiceGold, map[string]float64{"f1": 1, "value": 1, "precision items[]": 1, "recall items[].taxes[]": 1}},
		{"wrapped", "Here it is:\n```json\n{\"result\": " + invoiceGold + "}\n```", map[string]float64{"f1": 1}},
		{"reordered", strings.Replace(invoiceGold, `"red", "blue"`, `"blue", "red"`, 1), map[string]float64{"f1": 1}},
		{"nothing", `{"number": null}`, map[string]float64{"recall": 0, "value seller.country": 1}},
		{"one field", `{"number": "77"}`, map[string]float64{"recall": 1.0 / 19, "precision": 1}},
		{"a record less", strings.Replace(invoiceGold, `{"sku": "B-2", "count": 1, "price": 3, "taxes": []},`, "", 1), map[string]float64{"recall items[]": 6.0 / 9, "precision items[]": 1, "recall ": 1}},
		{"a record twice", strings.Replace(invoiceGold, `{"sku": "B-2"`, `{"sku": "B-2", "count": 1, "price": 3}, {"sku": "B-2"`, 1), map[string]float64{"recall items[]": 1, "precision items[]": 9.0 / 12}},
		{"a wrong price", strings.Replace(invoiceGold, `"price": 3,`, `"price": 4,`, 1), map[string]float64{"recall items[]": 8.0 / 9, "precision items[]": 8.0 / 9}},
		{"a list that is an object", strings.Replace(invoiceGold, `["red", "blue"]`, `"red"`, 1), map[string]float64{"recall tags[]": 0}},
		{"an object that is a list", strings.Replace(invoiceGold, `{"name": "Ann Ltd", "country": null}`, `["Ann Ltd"]`, 1), map[string]float64{"recall ": 4.0 / 5}},
		{"cut off", `{"number": "77", "seller": {"name": "Ann Ltd"`, map[string]float64{"recall ": 2.0 / 5, "value seller.country": 0}},
		{"no object at all", `{"number": "77", "seller": "Ann Ltd"}`, map[string]float64{"recall ": 1.0 / 5, "value seller.country": 0}},
		{"a value that is an object", strings.Replace(invoiceGold, `"77"`, `{"value": "77"}`, 1), map[string]float64{"recall ": 4.0 / 5, "precision ": 4.0 / 5}},
		{"another key", strings.Replace(invoiceGold, `"number": "77"`, `"Number": "77"`, 1), map[string]float64{"recall ": 4.0 / 5, "extra_field": 1.0 / 21}},
		{"paths", `{"extractions": [{"field": "items[5].sku", "value": "C-3", "evidence": null, "status": "ok"}, {"field": "items[5].taxes[0].rate", "value": "7", "evidence": null, "status": "ok"}, {"field": "seller.name", "value": "Ann Ltd", "evidence": null, "status": "ok"}]}`,
			map[string]float64{"precision": 1, "recall items[]": 1.0 / 9, "recall items[].taxes[]": 1.0 / 3, "recall ": 1.0 / 5}},
		{"no answer", `{"error": "no text"}`, map[string]float64{"kind malformed": 1, "recall": 0}},
		{"a list of lists", `{"items": [[{"sku": "A-1"}]], "number": "77"}`, map[string]float64{"recall items[]": 0, "recall ": 1.0 / 5}},
	} {
		got := valuesOf(d, c.answer)
		for name, want := range c.want {
			if x, ok := got[name]; !ok || !(math.Abs(x-want) <= 1e-12) {
				t.Errorf("%s: %s is %v, want %v in %v", c.name, name, x, want, got)
			}
		}
	}
}

// A leaf of gold with a value exists in the document, unless it says otherwise.
func TestGoldOfLeaf(t *testing.T) {
	for gold, exists := range map[string]bool{`3`: true, `null`: false, `""`: false, `{"correct_value": 3, "evidence_quote": "Total 3.00", "page": 1}`: true,
		`{"is_ambiguous": true, "candidate_values": ["3", "4"]}`: true, `{"correct_value": null}`: false, `{"exists_in_document": false}`: false,
		`{"exists_in_document": false, "correct_value": 3}`: false, `{"exists_in_document": true}`: true} {
		if g, err := goldOf([]byte(gold)); err != nil || g.missing() == exists {
			t.Errorf("%s: missing %v, %v", gold, g.missing(), err)
		}
	}
}

// Records agree in any acceptable value.
func TestAlignmentByOtherValues(t *testing.T) {
	s := nestedSchema(t, `{"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}}}`)
	d := nestedDocument(t, s, `{"rows": [{"id": "x"}, {"id": {"exists_in_document": true, "correct_value": "Pen", "acceptable_values": ["Pen, red"]}}]}`, nil)
	if got := valuesOf(d, `{"rows": [{"id": "pen, red"}, {"id": "x"}]}`)["f1"]; got != 1 {
		t.Errorf("F1 %v, want 1", got)
	}
}

// Keys decide which record is which; without them all values do. Ordered lists are not aligned.
func TestAlignment(t *testing.T) {
	s := nestedSchema(t, `{"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "a": {"type": "string"}, "b": {"type": "string"}}}}}}`)
	gold := `{"rows": [{"id": "1", "a": "x", "b": "y"}, {"id": "2", "a": "u", "b": "v"}]}`
	answer := `{"rows": [{"id": "2", "a": "x", "b": "y"}, {"id": "1", "a": "u", "b": "v"}]}`
	for _, c := range []struct {
		name  string
		lists map[string]List
		want  float64
	}{
		{"by all values", nil, 4.0 / 6},
		{"by the key", map[string]List{"rows": {Keys: []string{"id"}}}, 2.0 / 6},
		{"in order", map[string]List{"rows": {Ordered: true}}, 4.0 / 6},
	} {
		if got := valuesOf(nestedDocument(t, s, gold, c.lists), answer)["f1"]; !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("%s: F1 %v, want %v", c.name, got, c.want)
		}
	}
}

// Of gold that is fed back everything is right, in any order of records; a record that is
// dropped lowers recall, and one that is doubled precision, by exactly its share.
func TestRecordsProperty(t *testing.T) {
	s := nestedSchema(t, invoiceLines)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		type row map[string]any
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			return row{"sku": word.Draw(t, "sku"), "count": rapid.IntRange(1, 3).Draw(t, "count"), "price": rapid.IntRange(1, 3).Draw(t, "price")}
		}), 1, 8).Draw(t, "rows")
		text := func(rows []row) string {
			b, _ := json.Marshal(map[string]any{"number": "7", "items": rows})
			return string(b)
		}
		d := &prepared{Document: Document{ID: "d", Text: "x", Schema: s.Name, Gold: []byte(text(rows))}, schema: s}
		if err := d.expand(s, func(string) {}); err != nil {
			t.Fatal(err)
		}
		d.ready()
		shuffled := slices.Clone(rows)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		n := float64(len(rows))
		same := func(name string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		same("F1 of gold", valuesOf(d, text(shuffled))["f1"], 1)
		k := r.IntN(len(rows))
		dropped := valuesOf(d, text(slices.Delete(slices.Clone(shuffled), k, k+1)))
		same("recall without a record", dropped["recall items[]"], (n-1)/n)
		doubled := valuesOf(d, text(append(slices.Clone(shuffled), shuffled[k])))
		same("precision with a record twice", doubled["precision items[]"], n/(n+1))
		same("recall with a record twice", doubled["recall items[]"], 1)
		// One wrong value more never helps.
		worse := slices.Clone(shuffled)
		worse[k] = row{"sku": worse[k]["sku"], "count": worse[k]["count"], "price": 99}
		if got := valuesOf(d, text(worse))["f1 items[]"]; got >= 1 {
			t.Errorf("F1 with a wrong value is %v", got)
		}
	})
}

const sections = `{"type": "object", "properties": {"sections": {"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string"},
  "lines": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}}}}}}}}}}`

// A section of a document, or a line of it, or a tag.
type section struct {
	values []string
	inner  []section
}

func (s section) json(depth int) any {
	of := func(i int) any {
		if s.values[i] == "" {
			return nil
		}
		return s.values[i]
	}
	switch depth {
	case 0:
		return map[string]any{"sections": listed(s.inner, 1)}
	case 1:
		return map[string]any{"title": of(0), "lines": listed(s.inner, 2)}
	case 2:
		return map[string]any{"name": of(0), "count": of(1), "tags": listed(s.inner, 3)}
	}
	return of(0)
}

func listed(list []section, depth int) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s.json(depth))
	}
	return out
}

func (s section) text() string {
	b, _ := json.Marshal(s.json(0))
	return string(b)
}

// each calls for the section and what is in it.
func (s *section) each(do func(*section)) {
	do(s)
	for i := range s.inner {
		s.inner[i].each(do)
	}
}

func (s section) clone() section {
	s.values, s.inner = slices.Clone(s.values), slices.Clone(s.inner)
	for i := range s.inner {
		s.inner[i] = s.inner[i].clone()
	}
	return s
}

func drawSection(t *rapid.T, depth int) section {
	s := section{}
	for range []int{0, 1, 2, 1}[depth] {
		s.values = append(s.values, rapid.SampledFrom([]string{"1", "2", "3", ""}).Draw(t, "value"))
	}
	if depth < 3 {
		for range rapid.IntRange(0, 3).Draw(t, "records") {
			s.inner = append(s.inner, drawSection(t, depth+1))
		}
	}
	return s
}

// mostEqual tries all alignments.
func mostEqual(gold, answer section) (n int) {
	for i, v := range gold.values {
		if v != "" && v == answer.values[i] {
			n++
		}
	}
	var best func(i int, used int) int
	best = func(i, used int) int {
		if i == len(gold.inner) {
			return 0
		}
		most := best(i+1, used)
		for j := range answer.inner {
			if used&(1<<j) == 0 {
				most = max(most, mostEqual(gold.inner[i], answer.inner[j])+best(i+1, used|1<<j))
			}
		}
		return most
	}
	return n + best(0, 0)
}

// Records of lists in lists are aligned so that as many values as possible agree, in any order of
// them, and a worse answer scores no better.
func TestListsInListsProperty(t *testing.T) {
	s := nestedSchema(t, sections)
	rapid.Check(t, func(t *rapid.T) {
		gold, answer := drawSection(t, 0), drawSection(t, 0)
		if rapid.Bool().Draw(t, "alike") {
			answer = gold.clone()
			answer.each(func(s *section) {
				for i := range s.values {
					if rapid.IntRange(0, 4).Draw(t, "wrong") == 0 {
						s.values[i] = "3"
					}
				}
			})
		}
		d := &prepared{Document: Document{ID: "d", Text: "x", Schema: s.Name, Gold: []byte(gold.text())}, schema: s}
		if err := d.expand(s, func(string) {}); err != nil {
			t.Fatal(err)
		}
		d.ready()
		values := 0.0
		gold.each(func(s *section) {
			for _, v := range s.values {
				if v != "" {
					values++
				}
			}
		})
		right := func(answer section) float64 { return math.Round(valuesOf(d, answer.text())["recall"] * values) }
		if values == 0 {
			return
		}
		got, want := right(answer), float64(mostEqual(gold, answer))
		if got != want {
			t.Errorf("%v values are right, want %v\ngold %s\nanswer %s", got, want, gold.text(), answer.text())
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		shuffled := answer.clone()
		shuffled.each(func(s *section) {
			r.Shuffle(len(s.inner), func(i, j int) { s.inner[i], s.inner[j] = s.inner[j], s.inner[i] })
		})
		if got := right(shuffled); got != want {
			t.Errorf("%v values are right in another order, want %v\ngold %s\nanswer %s", got, want, gold.text(), shuffled.text())
		}
		shuffled.each(func(s *section) {
			for i := range s.values {
				if r.IntN(5) == 0 {
					s.values[i] = "99"
				}
			}
		})
		if got := right(shuffled); got > want {
			t.Errorf("%v values are right with wrong ones more, and %v without\ngold %s\nanswer %s", got, want, gold.text(), shuffled.text())
		}
	})
}

// Keys decide in lists that have lists, and in lists in lists, which may be ordered.
func TestAlignmentOfListsInLists(t *testing.T) {
	s := nestedSchema(t, sections)
	gold := `{"sections": [{"title": "A", "lines": [{"name": "x", "count": 1}, {"name": "y", "count": 2}]}, {"title": "B", "lines": [{"name": "u", "count": 3}]}]}`
	answer := `{"sections": [{"title": "B", "lines": [{"name": "y", "count": 1}, {"name": "x", "count": 2}]}, {"title": "C", "lines": [{"name": "u", "count": 3}]}]}`
	for _, c := range []struct {
		name  string
		lists map[string]List
		want  float64 // values that are right, of 8
	}{
		{"by all values", nil, 4},
		{"by the key of sections", map[string]List{"sections": {Keys: []string{"title"}}}, 1},
		{"by the key of lines", map[string]List{"sections[].lines": {Keys: []string{"name"}}}, 4},
		{"lines in order", map[string]List{"sections[].lines": {Ordered: true}}, 4},
		{"sections in order", map[string]List{"sections": {Ordered: true}}, 4},
	} {
		if got := valuesOf(nestedDocument(t, s, gold, c.lists), answer)["recall"] * 8; !(math.Abs(got-c.want) <= 1e-9) {
			t.Errorf("%s: %v values are right, want %v", c.name, got, c.want)
		}
	}
}

// Lists in lists take no more pairs than one list does, and beyond that values in them still say
// which record is which.
func TestLongListsInLists(t *testing.T) {
	s := nestedSchema(t, sections)
	text := func(n, lines, shift int, title string) string {
		var list []string
		for i := range n {
			var rows []string
			for k := range lines {
				rows = append(rows, fmt.Sprintf(`{"name": "n%d-%d", "count": %d, "tags": []}`, i, k, k+shift))
			}
			list = append(list, fmt.Sprintf(`{"title": "%s", "lines": [%s]}`, title, strings.Join(rows, ",")))
		}
		if shift > 0 {
			slices.Reverse(list)
		}
		return `{"sections": [` + strings.Join(list, ",") + `]}`
	}
	for _, c := range []struct {
		n, lines int
		long     bool
	}{{1, 1200, false}, {700, 1, false}, {30, 40, false}, {40, 40, true}, {1, 3000, true}, {1000, 2, true}} {
		d := nestedDocument(t, s, text(c.n, c.lines, 0, "A"), nil)
		o := outcomeOf(text(c.n, c.lines, 1, "B"), eval.StopEnd, s)
		b := &bench{weights: DefaultWeights, mix: trustedJudge, plain: true}
		began := time.Now()
		x, results := b.assess(d, &o, nil)
		took, right := time.Since(began), 0
		for i := range results {
			if results[i].Value == 1 && results[i].unit == "sections[].lines[].name" {
				right++
			}
		}
		if long := slices.Contains(x.long, "sections[]"); long != c.long || right != c.n*c.lines {
			t.Errorf("%d × %d: long %v, %d names are right", c.n, c.lines, long, right)
		}
		t.Logf("%d × %d: %v", c.n, c.lines, took)
	}
}

// Lists of ten thousand records do not take the square of their length.
func TestLongLists(t *testing.T) {
	s := nestedSchema(t, invoiceLines)
	list := func(n, shift int) string {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"sku": "s%d", "count": %d, "price": 1}`, i+shift, i))
		}
		return `{"number": "7", "items": [` + strings.Join(rows, ",") + `]}`
	}
	d := nestedDocument(t, s, list(10_000, 0), nil)
	began := time.Now()
	if got := valuesOf(d, list(10_000, 0)); got["f1"] != 1 {
		t.Errorf("equal lists: %v", got["f1"])
	}
	valuesOf(d, list(10_000, 7))
	t.Log(time.Since(began))
	// Their keys still say which record is which.
	d = nestedDocument(t, s, list(10_000, 0), map[string]List{"items": {Keys: []string{"sku"}}})
	wrong := strings.ReplaceAll(list(10_000, 0), `"price": 1}`, `"price": 2}`)
	if got := valuesOf(d, wrong)["recall items[]"]; !(math.Abs(got-2.0/3) <= 1e-9) {
		t.Errorf("recall with a wrong price in each record is %v", got)
	}
}

// Every gold of real filings that is fed back scores 1.
func TestRealFilings(t *testing.T) {
	for _, name := range []string{"10kq"} {
		data, err := os.ReadFile(filepath.Join("testdata", "extractbench", name+".schema.json"))
		if err != nil {
			t.Skip(err)
		}
		s := nestedSchema(t, string(data))
		gold, err := os.ReadFile(filepath.Join("testdata", "extractbench", name+".gold.json"))
		if err != nil {
			t.Fatal(err)
		}
		d := nestedDocument(t, s, string(gold), nil)
		if got := valuesOf(d, string(gold)); got["f1"] != 1 || got["value"] != 1 {
			t.Errorf("F1 %v, value %v", got["f1"], got["value"])
		}
	}
}

func BenchmarkScoreNested(b *testing.B) {
	s := nestedSchema(b, invoiceLines)
	var rows []string
	for i := range 350 {
		rows = append(rows, fmt.Sprintf(`{"sku": "s%d", "count": %d, "price": %d.5, "taxes": [{"rate": %d}]}`, i, i%7, i, i%3))
	}
	text := func() string { return `{"number": "7", "items": [` + strings.Join(rows, ",") + `]}` }
	d := nestedDocument(b, s, text(), nil)
	slices.Reverse(rows)
	answer := text()
	for b.Loop() {
		valuesOf(d, answer)
	}
}

// A quote in other typography is counted apart from fabrications. It is no evidence, unless the
// study says so.
func TestQuotesInOtherTypography(t *testing.T) {
	s := &Schema{Name: "s", Fields: []Field{{Name: "name", Type: "string"}}}
	exists := true
	const doc = "---PAGE 1---\nfirst\n---PAGE 2---\nThe “Seller” is O’Neill\u2014Brown Ltd, an agree-\nment.\n"
	answer := func(quote string) string {
		return answerText([]Entry{okEntry("name", cited("Brown Ltd", quote, 2))})
	}
	for _, c := range []struct {
		quote                             string
		loose                             bool
		evidence, page, typography, fraud float64
	}{
		{`“Seller” is O’Neill—Brown Ltd`, false, 1, 1, 0, 0},
		{`"Seller" is O'Neill-Brown Ltd`, false, 0, 0, 1, 0},
		{`"Seller" is O'Neill-Brown Ltd`, true, 1, 1, 1, 0},
		{`Brown Ltd, an agreement`, true, 1, 1, 1, 0},
		{`"Buyer" is O'Neill-Brown Ltd`, true, 0, 0, 0, 1},
	} {
		d := &prepared{Document: Document{ID: "d", Text: doc, Truth: []Gold{{Field: "name", Exists: &exists, Correct: "Brown Ltd"}}}, schema: s, loose: c.loose}
		b := &bench{weights: DefaultWeights, mix: trustedJudge}
		o := outcomeOf(answer(c.quote), eval.StopEnd, s)
		got := map[string]float64{}
		for _, x := range b.score(nil, d.ready(), &o, nil, eval.RoleArm) {
			got[x.Metric] = x.Num / x.Den
		}
		for name, want := range map[string]float64{metricEvidence: c.evidence, metricPage: c.page, "quote_typography": c.typography, metricFabrication: c.fraud} {
			if got[name] != want {
				t.Errorf("%s, loose %v: %s is %v, want %v", c.quote, c.loose, name, got[name], want)
			}
		}
	}
}

// A plain answer to a flat schema is read; what needs evidence is unscored, and not 0.
func TestPlainAnswerToFlatSchema(t *testing.T) {
	s := &Schema{Name: "s", Fields: []Field{{Name: "invoice_number", Type: "id"}, {Name: "kind", Type: "enum", Enum: []string{"a", "b"}}}}
	exists := true
	d := &prepared{Document: Document{ID: "d", Text: "No. 77, kind a", Truth: []Gold{{Field: "invoice_number", Exists: &exists, Correct: "77"}, {Field: "kind", Exists: &exists, Correct: "a"}}}, schema: s}
	b := &bench{weights: DefaultWeights, mix: trustedJudge}
	for _, answer := range []string{`{"invoice_number": "77", "kind": "c"}`, `[{"invoice_number": 77, "kind": "c"}]`, "```json\n{\"output\": {\"invoice_number\": \"77\", \"kind\": \"c\"}}\n```"} {
		o := outcomeOf(answer, eval.StopEnd, s)
		got := map[string]string{}
		for _, x := range b.score(nil, d.ready(), &o, nil, eval.RoleArm) {
			if x.Unit == "" || x.Unit == "invoice_number" || x.Metric == "out_of_list" {
				got[x.Metric] = fmt.Sprint(x.Num, "/", x.Den, " ", x.Unscored)
			}
		}
		for metric, want := range map[string]string{metricValue: "1/1 ", metricComposite: "0/1 " + noEvidence, metricEvidence: "0/1 " + noEvidence, metricPage: "0/1 " + noEvidence,
			metricStatus: "1/1 ", metricFabrication: "0/0 " + noEvidence, metricParseFailure: "0/1 ", "out_of_list": "1/1 "} {
			if got[metric] != want {
				t.Errorf("%s: %s is %q, want %q", answer, metric, got[metric], want)
			}
		}
		if o.Kind != eval.OK || !slices.Contains(o.Notes, notePlain) {
			t.Errorf("%s: %v", answer, o)
		}
	}
	for _, none := range []string{"null", `""`, `" \n"`} { // blank is no value, as in gold
		missing := false
		d.Truth[0] = Gold{Field: "invoice_number", Exists: &missing}
		o := outcomeOf(`{"invoice_number": `+none+`, "kind": "a"}`, eval.StopEnd, s)
		vague := 0
		for _, x := range b.score(nil, d.ready(), &o, nil, eval.RoleArm) {
			want := map[string]float64{metricValue: 1, metricStatus: 1, metricHallucination: 0}
			if num, ok := want[x.Metric]; ok && x.Unit == "invoice_number" && x.Num != num {
				t.Errorf("%s: %s is %v, want %v", none, x.Metric, x.Num, num)
			}
			if x.Metric == metricFabrication && x.Den == 0 {
				vague++
			}
		}
		if vague != 1 { // each stands for the quotes of a whole answer
			t.Errorf("%s: %d scores of fabrication are missing, want 1", none, vague)
		}
	}
	if o := outcomeOf(`{"a": {"a": {"a": {"a": {"invoice_number": "77"}}}}}`, eval.StopEnd, s); o.Kind != eval.Malformed {
		t.Errorf("five objects deep: %v", o.Kind)
	}
}

// Where values are asked for, an empty object says that there are none, and what names no field says so.
func TestEmptyPlainAnswer(t *testing.T) {
	s := &Schema{Name: "s", Fields: []Field{{Name: "iban", Type: "id"}}, ofValues: true}
	missing := false
	d := &prepared{Document: Document{ID: "d", Text: "x", Truth: []Gold{{Field: "iban", Exists: &missing}}}, schema: s}
	for answer, reason := range map[string]string{`{}`: "", "```json\n{}\n```": "", `{"iban": null}`: "", `{`: reasonNotJSON, `{"bic": null}`: reasonNoField} {
		o := outcomeOf(answer, eval.StopEnd, s)
		if o.Reason != reason {
			t.Errorf("%s: reason %q, want %q", answer, o.Reason, reason)
		}
		got := valuesOf(d.ready(), answer)
		if want := map[bool]float64{true: 1}[reason == ""]; got["value iban"] != want {
			t.Errorf("%s: value %v, want %v", answer, got["value iban"], want)
		}
	}
	s.ofValues = false
	if o := outcomeOf(`{}`, eval.StopEnd, s); o.Reason != reasonNoList {
		t.Errorf("where extractions are asked for: %q", o.Reason)
	}
}

// Of several objects the first is read, and a note says so if they differ.
func TestSeveralObjects(t *testing.T) {
	s := &Schema{Name: "s", Fields: []Field{{Name: "iban", Type: "id"}}}
	for answer, want := range map[string]bool{
		`Draft: {"iban": null} Final: {"iban": "CH1"}`:                               true,
		`{"iban": null}` + "\nCorrected:\n" + `{"answer": {"iban": "CH1"}}`:          true,
		`{"extractions": []} {"extractions": [{"field": "iban"}]}`:                   true,
		`{"extractions": []} {"answer": {"extractions": [{"field": "iban"}]}}`:       true,
		`{"extractions": [{"field": "iban"}]} or {"answer": {"iban": "CH1"}}`:        true,
		`[{"field": "iban", "value": "CH1"}] or [{"field": "iban", "value": "CH2"}]`: true,
		`[{"field": "iban", "value": "CH1"}] or {"iban": "CH2"}`:                     true,
		`[{"field": "iban", "value": "CH1"}] or [{"field": "iban", "value":"CH1"}]`:  false,
		`[{"iban": "CH1"}, {"iban": "CH2"}]`:                                         false, // two entries, neither with a field
		`{"iban": "CH1"} and again {"iban":"CH1"}`:                                   false,
		`{"iban": "CH1"} and again {"answer": {"iban": "CH1"}}`:                      false,
		`{"iban": "CH1"}`: false,
		`[{"field": "iban", "value": "CH1"}, {"field": "iban", "value": "CH2"}]`: false,
	} {
		o := outcomeOf(answer, eval.StopEnd, s)
		if got := slices.Contains(o.Notes, eval.NoteSeveral); got != want || o.Kind != eval.OK {
			t.Errorf("%s: %v %q", answer, o.Kind, o.Notes)
		}
	}
}

// No plain answer is right of ambiguous gold, which validation says.
func TestAmbiguousGoldOfPlainAnswers(t *testing.T) {
	for answers, want := range map[string]int{"": 0, "answers: plain\n": 1} {
		files := syntheticFilesOf("split: dev")
		files["study.yaml"] += answers
		if got := mustOpen(t, files).Warnings(); len(got) != want || want > 0 && !strings.HasPrefix(got[0], "87 of 580 fields with gold are ambiguous") {
			t.Errorf("%s%q", answers, got)
		}
	}
}

// FuzzNestedAnswer: no answer to a nested schema makes reading, alignment or scoring fail, and
// scores are in their range.
func FuzzNestedAnswer(f *testing.F) {
	s := nestedSchema(f, invoiceLines)
	d := nestedDocument(f, s, invoiceGold, map[string]List{"items": {Keys: []string{"sku"}}, "tags": {Ordered: true}})
	for _, seed := range []string{invoiceGold, `{"extractions": [{"field": "items[1].taxes[0].rate", "value": 7}]}`, `{"items": [[{}], {"taxes": {"rate": 7}}], "seller": 3}`,
		`{"items": ` + strings.Repeat(`[`, 2000), `{"extractions": [{"field": "items[-1].sku"}, {"field": "items[99999999999999999999].sku"}, {"field": "items[0]"}, {"field": "seller..name"}]}`} {
		f.Add(seed)
	}
	b := &bench{weights: DefaultWeights, mix: trustedJudge, plain: true}
	f.Fuzz(func(t *testing.T, answer string) {
		o := outcomeOf(answer, eval.StopEnd, s)
		for _, x := range b.score(nil, d, &o, nil, eval.RoleArm) {
			if bad := x.Num < 0 || x.Num > x.Den+1e-9; x.Unscored == "" && x.Metric != "quote_words" && x.Metric != "value_words" && x.Metric != "token_ratio" && bad {
				t.Errorf("%s of %q is %v/%v", x.Metric, x.Unit, x.Num, x.Den)
			}
		}
	})
}

// FuzzJSONSchema: no schema makes the compiler fail but with an error.
func FuzzJSONSchema(f *testing.F) {
	f.Add([]byte(invoiceLines))
	f.Add([]byte(`{"type": "object", "properties": {"a": {"$ref": "#/properties/a"}, "b": {"anyOf": [{}, {"type": "null"}]}}}`))
	f.Add([]byte(`{"$ref": "#"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseSchema("s.json", data); err == nil && len(s.Fields) == 0 {
			t.Error("a schema without fields is valid")
		}
	})
}

// A list that is too long to compare all pairs of its records is counted, and the report and the
// exhibit of the answer say so.
func TestLongListsAreSaid(t *testing.T) {
	s := nestedSchema(t, invoiceLines)
	answer := func(n, shift int) string {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"sku": "s%d", "count": %d, "price": 1}`, i+shift, i))
		}
		return `{"number": "7", "items": [` + strings.Join(rows, ",") + `]}`
	}
	const side = 1449 // its square is just above mostPairs
	d := nestedDocument(t, s, answer(side, 0), nil)
	for _, c := range []struct {
		answer string
		want   float64
	}{{answer(side, side), 1}, {answer(side-2, side), 0}, {answer(side, 0), 0}} { // the last is equal
		b := &bench{weights: DefaultWeights, mix: trustedJudge, plain: true}
		o := outcomeOf(c.answer, eval.StopEnd, s)
		got := -1.0
		for _, x := range b.score(nil, d, &o, nil, eval.RoleArm) {
			if x.Metric == metricLongList {
				got = x.Num
			}
		}
		if got != c.want {
			t.Errorf("long lists: %v, want %v", got, c.want)
		}
		if x, _ := b.assess(d, &o, nil); (c.want > 0) != slices.Equal(x.long, []string{"items[]"}) {
			t.Errorf("aligned by order: %v", x.long)
		}
	}
	b := mustOpen(t, syntheticFilesOf("split: dev"))
	blocks, err := b.Report(results{"heuristic long_list sum": 2, "heuristic recall items[]": 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(blocks, func(x eval.Block) bool {
		return x.Table != nil && x.Table.Name == "lists" && strings.Contains(x.Table.Note, "In 2 answers of heuristic a list is too long")
	}) {
		t.Error("the report does not say that lists are too long")
	}
}

// A const is a list of one value: it is in the prompt, and another value is out of the list.
func TestConst(t *testing.T) {
	s, err := parseJSONSchema("s.json", "s", []byte(`{"properties": {"currency": {"const": "USD"}, "version": {"type": "integer", "const": 3},
		"kind": {"anyOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]}, "nothing": {"const": null},
		"seller": {"anyOf": [{"properties": {"name": {"type": "string"}}}, {"const": null}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Fields {
		got = append(got, fmt.Sprintf("%s %s %s", f.Name, f.Type, strings.Join(f.Enum, "|")))
	}
	if want := []string{"currency enum USD", "version integer 3", "kind enum a|b", "nothing enum ", "seller.name string "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d := nestedDocument(t, s, `{"currency": "USD", "version": 3, "kind": "a"}`, nil)
	if prompt := s.prompt(); !strings.Contains(prompt, "one of USD") {
		t.Errorf("the prompt has no const: %s", prompt)
	}
	b := &bench{weights: DefaultWeights, mix: trustedJudge, plain: true}
	o := outcomeOf(`{"currency": "EUR", "version": 3, "kind": "b"}`, eval.StopEnd, s)
	out := map[string]float64{}
	for _, x := range b.score(nil, d, &o, nil, eval.RoleArm) {
		if x.Metric == "out_of_list" {
			out[x.Unit] = x.Num
		}
	}
	if out["currency"] != 1 || out["version"] != 0 || out["kind"] != 0 {
		t.Errorf("out of list: %v", out)
	}
}
