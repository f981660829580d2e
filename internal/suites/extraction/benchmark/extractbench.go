package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// extractBench reads either benchmark of that name.
func extractBench(dir string) (*corpus, error) {
	c := &corpus{schemas: map[string]jsontext.Value{}}
	var tests, schemas, results []string
	dir, err := filepath.Abs(dir) // the name of a group is that of its folder
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil || e.IsDir():
			return err
		case strings.HasSuffix(name, ".test.json"):
			tests = append(tests, path)
		case strings.HasSuffix(name, "-schema.json"):
			schemas = append(schemas, path)
		case strings.HasSuffix(name, ".result.json"):
			results = append(results, path)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(tests) > 0:
		return c, c.testCases(tests, results)
	case len(schemas) > 0:
		return c, c.older(schemas)
	}
	return nil, fmt.Errorf("%s is not ExtractBench: want NAME.test.json beside each document, as `extract-bench download` writes them, or TYPE-schema.json with a folder pdf+gold", dir)
}

// older reads the benchmark of Contextual AI (github.com/ContextualAI/extract-bench at 88bc6ac0):
// TYPE-schema.json with pdf+gold/NAME.gold.json and NAME.pdf in its folder.
func (c *corpus) older(schemas []string) error {
	for _, path := range schemas {
		schema, err := readJSON(path)
		if err != nil {
			return err
		}
		name, folder := strings.TrimSuffix(filepath.Base(path), "-schema.json"), filepath.Join(filepath.Dir(path), "pdf+gold")
		c.schemas[name] = schema
		golds, err := names(folder, ".gold.json")
		if err != nil {
			return fmt.Errorf("%s has no folder pdf+gold: %w", path, err)
		}
		for _, id := range golds {
			gold, err := readJSON(filepath.Join(folder, id+".gold.json"))
			if err != nil {
				return err
			}
			c.documents = append(c.documents, document{id: id, schema: name, gold: gold, file: beside(folder, id), extra: map[string]string{"doc_type": name}})
		}
	}
	return c.unique()
}

// unique refuses two documents of one id.
func (c *corpus) unique() error {
	seen := map[string]bool{}
	for _, d := range c.documents {
		if seen[d.id] {
			return fmt.Errorf("duplicate document %q", d.id)
		}
		seen[d.id] = true
	}
	return nil
}

// A testCase is a NAME.test.json of the benchmark of 2026 (github.com/run-llama/ExtractBench at
// 0001a60e).
type testCase struct {
	Schema   jsontext.Value       `json:"data_schema"`
	Expected jsontext.Value       `json:"expected_output"`
	Tags     []string             `json:"tags"`
	Rules    map[string]fieldRule `json:"_field_rules"`
}

// A fieldRule has what is right at a path of the expected output.
type fieldRule struct {
	Evidence []struct {
		Value jsontext.Value `json:"value"`
		Page  *float64       `json:"page"`
	} `json:"evidence"`
	Normalizers []string `json:"normalizers"`
}

func (c *corpus) testCases(tests, results []string) error {
	c.metric = "extractbench"
	cases := map[string]testCase{}
	for _, path := range tests {
		var t testCase
		if err := into(path, &t); err != nil {
			return err
		}
		if t.Schema.Kind() != '{' || t.Expected.Kind() != '{' {
			c.leave("a test case without data_schema or expected_output")
			continue
		}
		gold, err := withOthers(t)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".test.json")
		id := filepath.Base(filepath.Dir(path)) + "/" + name
		cases[id] = t
		schema := "schema-" + kit.Hash(string(t.Schema)).String()[:8]
		c.schemas[schema] = t.Schema
		c.documents = append(c.documents, document{id: id, schema: schema, gold: gold, file: beside(filepath.Dir(path), name),
			extra: map[string]string{"length": filepath.Base(filepath.Dir(path)), "tags": strings.Join(t.Tags, ", ")}})
	}
	if err := c.unique(); err != nil {
		return err
	}
	systems := map[string]*system{}
	for _, path := range results {
		if err := c.extractBenchAnswer(systems, path, cases); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(systems) {
		s := systems[name]
		group := func(id string) string { before, _, _ := strings.Cut(id, "/"); return before }
		ran := map[string]bool{}
		for id := range s.scores {
			ran[group(id)] = true
		}
		for id := range cases { // of a group that was run, a document without an answer scores 0
			if _, read := s.scores[id]; !read && ran[group(id)] {
				s.scores[id], s.answers[id] = 0, emptyAnswer
				c.leave("a document without an answer of a system, which is empty here and scores 0")
			}
		}
		maps.DeleteFunc(s.scores, func(_ string, f1 float64) bool { return math.IsNaN(f1) })
		c.systems = append(c.systems, *s)
	}
	return nil
}

// emptyAnswer makes a run score what a system left unanswered: a trial without an answer fails.
var emptyAnswer = jsontext.Value(`""`)

// extractBenchAnswer reads a NAME.result.json: an InferenceResult whose output is an ExtractOutput
// (extract_bench/schemas/pipeline_io.py and parse_bench/schemas/extract_output.py; it is written by
// inference/runner.py). A score that is not defined is not a number.
func (c *corpus) extractBenchAnswer(systems map[string]*system, path string, cases map[string]testCase) error {
	var r struct {
		Request struct {
			ID string `json:"example_id"`
		} `json:"request"`
		Pipeline string `json:"pipeline_name"`
		Output   struct {
			Data  jsontext.Value `json:"extracted_data"`
			Cited []citation     `json:"field_citations"`
		} `json:"output"`
	}
	if err := into(path, &r); err != nil {
		return err
	}
	t, known := cases[r.Request.ID]
	switch {
	case r.Pipeline == "" || r.Request.ID == "":
		return fmt.Errorf("%s: unknown version of a result: want pipeline_name and request.example_id", path)
	case !known:
		c.leave("an answer about a document without a test case")
		return nil
	}
	s := systems[r.Pipeline]
	if s == nil {
		s = &system{name: r.Pipeline, answers: map[string]jsontext.Value{}, scores: map[string]float64{}}
		systems[r.Pipeline] = s
	}
	if _, twice := s.scores[r.Request.ID]; twice {
		return fmt.Errorf("%s: pipeline %q has a result about %s already: give a folder with the results of one run", path, r.Pipeline, r.Request.ID)
	}
	s.scores[r.Request.ID] = math.NaN()
	switch r.Output.Data.Kind() {
	case '{':
	case '[':
		c.leave("an answer that is a list of rows, which has no score here")
		return nil
	default:
		c.leave("an answer without output.extracted_data, which is empty here and scores 0")
		s.scores[r.Request.ID], s.answers[r.Request.ID] = 0, emptyAnswer
		return nil
	}
	s.answers[r.Request.ID] = r.Output.Data
	extracted, err := decode(r.Output.Data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch cells, err := unifiedCounts(t, extracted, r.Output.Cited); {
	case errors.Is(err, errTooLong):
		c.leave("an answer without a score of ExtractBench: " + err.Error())
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case cells.answered+cells.expected > 0:
		s.scores[r.Request.ID] = cells.f1()
	}
	return nil
}

// withOthers is the expected output with the other readings that the evidence accepts: a leaf with
// some is gold with acceptable values.
func withOthers(t testCase) (jsontext.Value, error) {
	var accept func(v any, path string) any
	accept = func(v any, path string) any {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				v[name] = accept(inner, strings.TrimPrefix(path+"."+name, "."))
			}
			return v
		case []any:
			for i, inner := range v {
				v[i] = accept(inner, fmt.Sprintf("%s[%d]", path, i))
			}
			return v
		}
		others := t.Rules[path].others()
		if v == nil || !slices.ContainsFunc(others, func(o any) bool { return o != v }) {
			return v
		}
		return map[string]any{"exists_in_document": true, "correct_value": v, "acceptable_values": others}
	}
	gold, err := decode(t.Expected) // large numbers keep their digits
	if err != nil {
		return nil, err
	}
	return jsontext.Value(kit.PlainJSON(accept(gold, ""))), nil
}

// others are the values of the evidence.
func (r fieldRule) others() (list []any) {
	for _, e := range r.Evidence {
		if kind := e.Value.Kind(); kind == '"' || kind == '0' || kind == 't' || kind == 'f' {
			if v, err := decode(e.Value); err == nil {
				list = append(list, v)
			}
		}
	}
	return list
}
