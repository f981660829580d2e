package extraction

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/dataset"
)

func TestPreflight(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 10 {
		t.Errorf("%d cases, want the ten of the plan's §3.11", len(results))
	}
	for _, r := range results {
		var c preflightCase
		data, err := shippedPreflight.ReadFile("preflight/" + r.Name + ".json")
		if err != nil || dataset.DecodeStrict(data, &c) != nil || c.Scenario == "" {
			t.Errorf("%s has no scenario (%v)", r.Name, err)
		}
		for _, w := range r.Wrong {
			t.Errorf("%s: %s", r.Name, w)
		}
	}
}

const ownCase = `{
  "scenario": "a total with a currency in front",
  "document": "Total: RM 60.30\n",
  "schema": {"name": "receipt", "fields": [{"name": "total", "type": "money", "description": "Total"}, {"name": "day", "type": "date", "description": "Day"}]},
  "gold": [{"field": "total", "exists_in_document": true, "correct_value": "60.30"}, {"field": "day", "exists_in_document": false}],
  "answer": "Sure! [{\"field\":\"total\",\"value\":\"RM 60.30\",\"evidence\":{\"quote\":\"Total: RM 60.30\",\"page\":1},\"status\":\"ok\"}]",
  "expect": {"value": 1, "composite": 1, "repaired": 0},
  "expect_max": {"extra_field": 0}
}`

// A case whose lists are all empty has no scores of fields.
const emptyCase = `{
  "document": "Nothing\n",
  "schema": {"name": "list", "fields": [{"name": "items[].price", "type": "number", "description": ""}]},
  "gold": [],
  "answer": {"extractions": []},
  "expect": {"repaired": 0, "mode_wrong_value": 0, "evidence": 1},
  "expect_max": {"mode_missed": 1}
}`

// The user's cases run after the shipped ones. A failed case says which scores
// differ; an invalid file is an error with its name.
func TestOwnPreflightCases(t *testing.T) {
	suite := Suite()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.json":   ownCase,
		"b.json":   strings.NewReplacer(`"value": 1`, `"value": 0.5, "page": 1`, `"extra_field": 0`, `"status": 0.5, "no_such": 1`).Replace(ownCase),
		"c.json":   strings.Replace(ownCase, `"expect"`, `"field": "day", "expect"`, 1),
		"d.json":   emptyCase,
		"note.txt": "not a case",
	})
	results, err := suite.Preflight(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range results[10:] {
		got[r.Name] = strings.Join(r.Wrong, "; ")
	}
	want := map[string]string{
		"a": "",
		"b": "value is 1, want 0.5; no_such is 0, want at most 1; status is 1, want at most 0.5",
		"d": "evidence is 0, want 1; mode_wrong_value is NaN, want 0; mode_missed is NaN, want at most 1",
		"c": "composite is 0, want 1; value is 0, want 1",
	}
	for name, w := range want {
		if g, ok := got[name]; !ok || g != w {
			t.Errorf("%s: %q, want %q", name, g, w)
		}
	}

	for change, want := range map[[2]string]string{
		{`"scenario"`, `"scenaro"`}:                                    `did you mean "scenario"`,
		{`"correct_value": "60.30"`, `"page": 1`}:                      "has no correct_value",
		{`"type": "money"`, `"type": "euro"`}:                          `fields[0].type is "euro"`,
		{`"fields": [`, `"fields": [], "x": [`}:                        "x",
		{`"expect": {"value": 1, "composite": 1, "repaired": 0},`, ``}: "",
		{`{"value": 1, "composite": 1, "repaired": 0}`, `{}`}:          "",
	} {
		bad := t.TempDir()
		write(t, bad, map[string]string{"bad.json": strings.Replace(ownCase, change[0], change[1], 1)})
		_, err := suite.Preflight(bad)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "bad.json")) {
			t.Errorf("%v: %v, want %q", change, err, want)
		}
	}
	if results, err := suite.Preflight(dir + "/nowhere"); err != nil || len(results) != 10 {
		t.Errorf("a missing folder: %d results, %v", len(results), err)
	}
}
