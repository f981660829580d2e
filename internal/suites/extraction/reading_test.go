package extraction

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

func onPage(n int) PageRef { return PageRef{Number: n, Given: true} }

func TestReadAnswer(t *testing.T) {
	entry := Entry{Field: "f", Value: given("v"), Evidence: Evidence{given("q"), onPage(1)}, Status: "ok", Confidence: "high"}
	one := ok("v", "q", "1")
	tests := []struct {
		name   string
		answer string
		want   Answer
	}{
		{"an object", `{"extractions":[` + one + `]}`, Answer{Entries: []Entry{entry}}},
		{"nothing in it", `{"extractions":[]}`, Answer{}},
		{"a list alone", `[` + one + `]`, Answer{Entries: []Entry{entry}}},
		{"an empty list", `[]`, Answer{}},
		{"in a code fence", "```json\n{\"extractions\":[" + one + "]}\n```", Answer{Entries: []Entry{entry}}},
		{"a list in prose", "Here is [1] what I found:\n[" + one + "]\nHope this helps!", Answer{Entries: []Entry{entry}}},
		{"after reasoning", "<think>[{}] maybe?</think>[" + one + "]", Answer{Entries: []Entry{entry}}},
		{"other keys beside it", `{"note":{"extractions":[1]},"extractions":[` + one + `],"x":[[],{}]}`, Answer{Entries: []Entry{entry}}},
		{"cut off inside the second entry", `{"extractions":[` + one + `,{"field":"g","val`,
			Answer{Repaired: true, Cut: true, Entries: []Entry{entry, {Field: "g", Fault: "no value: want a value or null"}}}},
		{"in a wrapper", `{"answer":{"extractions":[` + one + `]}}`, Answer{Wrapped: true, Entries: []Entry{entry}}},
		{"in a list", `[{"extractions":[` + one + `]}]`, Answer{Wrapped: true, Entries: []Entry{entry}}},
		{"trailing comma", `{"extractions":[` + one + `,]}`, Answer{Repaired: true, Entries: []Entry{entry}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readAnswer(tt.answer, noSchema)
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == "cut off inside the second entry" && len(got.Entries) == 2 {
				// How a truncated entry is repaired is up to the library. It
				// must name the field and have a fault.
				if got.Entries[1].Fault == "" {
					t.Error("a half-written entry has no fault")
				}
				got.Entries[1] = tt.want.Entries[1]
			}
			if d := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestReadAnswerErrors(t *testing.T) {
	for answer, reason := range map[string]string{
		"":                               reasonEmpty,
		" \n\t":                          reasonEmpty,
		"none":                           reasonNotJSON,
		`{"fields": {"f": "v"}}`:         reasonNoList,
		`{"extractions": {"f":1}}`:       reasonNoList,
		`{"extractions": null}`:          reasonNoList,
		`{"Invoice Number":"A-17"}`:      reasonNoList,
		`{"example":{"extractions":[]}}`: reasonNoList,
	} {
		_, err := readAnswer(answer, noSchema)
		if err == nil || err.(*readError).reason != reason {
			t.Errorf("readAnswer(%q): %v, want %s", answer, err, reason)
		}
		if o := outcomeOf(answer, eval.StopEnd, noSchema); o.Kind != eval.Malformed || o.Reason != reason || string(o.Data) != answer {
			t.Errorf("outcome of %q is %+v", answer, o)
		}
	}
}

// Every valid and invalid entry by status (X3.1).
func TestFault(t *testing.T) {
	two := candidate("a", "qa", "1") + "," + candidate("b", "qb", "2")
	tests := []struct{ entry, fault string }{
		{ok("v", "q", "1"), ""},
		{missing(), ""},
		{ambiguous(candidate("a", "qa", "1"), candidate("b", "qb", "2")), ""},
		{`{"field":"f","value":7,"evidence":{"quote":"q","page":1},"status":"ok"}`, ""},
		{`{"field":"f","value":true,"evidence":{"quote":"q","page":1},"status":"ok"}`, ""},
		{`{"field":"f","value":"v","evidence":{"quote":"q","page":1},"status":"ok","candidates":[` + two + `]}`, ""},
		{`{"field":"f","value":null,"evidence":null,"status":"missing"}`, ""},
		{`{"field":"f","value":null,"evidence":null,"status":"missing","candidates":null}`, ""},
		{`{"field":"f","value":"v","evidence":{"quote":"q","page":1.0},"status":"ok"}`, ""},
		{`{"field":"f","value":null,"evidence":null,"status":"ambiguous","candidates":[{"value":"a","quote":"qa"},{"value":"b","quote":"qb","page":null}]}`, ""},

		{ok("v", "q", `"1"`), `evidence.page is "1", not an integer`},
		{ok("v", "q", "1.5"), "evidence.page is 1.5, not an integer"},
		{ok("v", "q", "[1]"), "evidence.page is [1], not an integer"},
		{ok("v", "q", "null"), "ok without a page"},
		{ok("v", "null", "1"), "ok without a quote"},
		{ok("null", "q", "1"), "ok without a value"},
		{ok(" ", "q", "1"), "ok without a value"},
		{entryJSON("v", "null", "null", "missing"), "missing with a value"},
		{entryJSON("null", "q", "null", "missing"), "missing with a quote"},
		{entryJSON("null", "", "null", "missing"), "missing with a quote"},
		{entryJSON("null", "null", "1", "missing"), "missing with a page"},
		{entryJSON("null", "null", "null", "missing", candidate("a", "q", "1")), "missing with candidates"},
		{entryJSON("v", "null", "null", "ambiguous", two), "ambiguous with a value"},
		{entryJSON("null", "q", "null", "ambiguous", two), "ambiguous with a quote"},
		{entryJSON("null", "null", "1", "ambiguous", two), "ambiguous with a page"},
		{ambiguous(candidate("a", "q", "1")), "ambiguous with fewer than two candidates"},
		{ambiguous(), "ambiguous with fewer than two candidates"},
		{ambiguous(candidate("a", "q", `"1"`), candidate("b", "q", "1")), `a candidate's page is "1", not an integer`},
		{ambiguous(candidate("null", "q", "1"), candidate("b", "q", "1")), "a candidate has no value"},
		{ambiguous(`"a"`, `"b"`), "candidates[0] is not an object"},
		{entryJSON("v", "q", "1", "OK"), `status is "OK", not ok, missing or ambiguous`},
		{entryJSON("v", "q", "1", ""), "no status"},
		{`{"field":"f","value":["v"],"evidence":{"quote":"q","page":1},"status":"ok"}`, "value is not a string, number or boolean"},
		{`{"field":"f","value":{"x":1},"evidence":{"quote":"q","page":1},"status":"ok"}`, "value is not a string, number or boolean"},
		{`{"field":"f","value":"v","evidence":{"quote":["q"],"page":1},"status":"ok"}`, "evidence.quote is not a string"},
		{`{"field":"f","value":"v","evidence":"q","status":"ok"}`, "evidence is not an object"},
		{`{"field":"f","value":"v","evidence":{"quote":"q","page":1},"status":"ok","candidates":{}}`, "candidates is not a list"},
		{`{"field":"f","evidence":null,"status":"missing"}`, "no value: want a value or null"},
		{`{"field":"f","value":null,"status":"missing"}`, "no evidence"},
		{`{"field":"f","value":null,"evidence":{"page":null},"status":"missing"}`, "no evidence.quote: want a quote or null"},
		{`{"field":"f","value":null,"evidence":{"quote":null},"status":"missing"}`, "no evidence.page: want a page or null"},
		{`{"value":null,"evidence":null,"status":"missing"}`, "no field name"},
		{`{"field":7,"value":null,"evidence":null,"status":"missing"}`, "field is not a string"},
		{`"f"`, "the entry is not an object"},
	}
	for _, tt := range tests {
		a, err := readAnswer(extractions(tt.entry), noSchema)
		if err != nil || len(a.Entries) != 1 {
			t.Errorf("%s: %v, %d entries", tt.entry, err, len(a.Entries))
			continue
		}
		if got := a.Entries[0].Fault; got != tt.fault {
			t.Errorf("%s\n got %q\nwant %q", tt.entry, got, tt.fault)
		}
	}
}

func TestOutcomeNotes(t *testing.T) {
	whole := extractions(missing())
	tests := []struct {
		answer string
		stop   eval.Stop
		want   string
	}{
		{whole, eval.StopEnd, ""},
		{whole, eval.StopLength, "truncated"},
		{whole[:len(whole)-4], eval.StopEnd, "repaired,truncated"},
		{"[" + missing() + ",]", eval.StopEnd, "repaired"},
		{`{"result": ` + whole + "}", eval.StopEnd, eval.NoteLenient},
	}
	for _, tt := range tests {
		if got := strings.Join(outcomeOf(tt.answer, tt.stop, noSchema).Notes, ","); got != tt.want {
			t.Errorf("%q, %s: notes %q, want %q", tt.answer, tt.stop, got, tt.want)
		}
	}
}

// Strings are read as encoding/json reads them, numbers and booleans kept as
// they are written.
func TestReadAnswerValues(t *testing.T) {
	value := func(written string) string {
		a, err := readAnswer(`{"extractions":[{"value":`+written+`}]}`, noSchema)
		if err != nil || len(a.Entries) != 1 {
			return fmt.Sprintf("%v, %d entries", err, len(a.Entries))
		}
		return a.Entries[0].Value.Text
	}
	same := func(t interface{ Fatalf(string, ...any) }, written string) {
		var want string
		if err := json.Unmarshal([]byte(written), &want); err != nil {
			t.Fatalf("%v", err)
		}
		if got := value(written); got != want {
			t.Fatalf("%s is read as %q, want %q", written, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b, err := json.Marshal(rapid.String().Draw(t, "s"))
		if err != nil {
			t.Skip()
		}
		same(t, string(b))
	})
	for _, s := range []string{`"\u00e9\ud83d\ude00\n\t\r\b\f\/\\\""`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00x"`, `""`} {
		same(t, s)
	}
	for _, s := range []string{"0", "-0", "10", "1.5", "1e9", "1E+2", "-1.5e-3", "true", "false"} {
		if got := value(s); got != s {
			t.Errorf("%s is read as %q", s, got)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	for _, tt := range scoreTests {
		f.Add(extractions(tt.answer))
	}
	f.Add("```json\n[{\"field\":\"f\",\"value\":\"x\"")
	f.Add(`{"extractions":[[[[{"a":"\ud800"}]]],{"field":"f","candidates":[1,{"page":1e400}]}]}`)
	f.Add(strings.Repeat("[", 5000) + "{")
	d := prepare("string", twoPages, presentGold("INV-7"))
	f.Fuzz(func(t *testing.T, answer string) {
		a, err := readAnswer(answer, noSchema)
		if err != nil {
			if len(a.Entries) > 0 || err.(*readError).reason == "" {
				t.Fatalf("%v, but %d entries", err, len(a.Entries))
			}
			return
		}
		again, err := readAnswer(answer, noSchema)
		if err != nil || !cmp.Equal(a, again) {
			t.Fatal("reading is not deterministic")
		}
		o := outcomeOf(answer, eval.StopEnd, noSchema)
		checkScores(t, plainBench.score(nil, d, &o, nil, eval.RoleArm))
	})
}
