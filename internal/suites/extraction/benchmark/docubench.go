package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// docuBench reads DocuBench, version 0.2 (github.com/DocuPipe/DocuBench at 1cbb12c9): documents/ID.EXT,
// schemas/ID.json, labels/ID.json and results/SYSTEM/ID.json with the answer under data.
func docuBench(dir string) (*corpus, error) {
	ids, err := names(filepath.Join(dir, "labels"), ".json")
	if err != nil {
		return nil, fmt.Errorf("%s is not DocuBench: want the folders labels, schemas, documents and results: %w", dir, err)
	}
	c := &corpus{schemas: map[string]jsontext.Value{}, metric: "docubench"}
	golds := map[string]jsontext.Value{}
	for _, id := range ids {
		schema, err := readJSON(filepath.Join(dir, "schemas", id+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			c.leave("no schema")
			continue
		}
		if err != nil {
			return nil, err
		}
		gold, err := readJSON(filepath.Join(dir, "labels", id+".json"))
		if err != nil {
			return nil, err
		}
		c.schemas[id], golds[id] = schema, gold
		c.documents = append(c.documents, document{id: id, schema: id, gold: gold, file: beside(filepath.Join(dir, "documents"), id)})
	}
	entries, err := os.ReadDir(filepath.Join(dir, "results"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s := system{name: e.Name(), answers: map[string]jsontext.Value{}, scores: map[string]float64{}}
		answered, err := names(filepath.Join(dir, "results", s.name), ".json")
		if err != nil {
			return nil, err
		}
		for _, id := range answered {
			if golds[id] == nil {
				c.leave("an answer about a document without a label")
				continue
			}
			if err := c.docuBenchAnswer(&s, filepath.Join(dir, "results", s.name, id+".json"), id, golds[id]); err != nil {
				return nil, err
			}
		}
		c.systems = append(c.systems, s)
	}
	return c, nil
}

func (c *corpus) docuBenchAnswer(s *system, path, id string, gold jsontext.Value) error {
	var r struct {
		Data   jsontext.Value `json:"data"`
		Status string         `json:"status"`
		Score  *float64       `json:"score"`
	}
	if err := into(path, &r); err != nil {
		return err
	}
	if r.Data.Kind() != '{' {
		return fmt.Errorf("%s: unknown version of a result: want an object under data", path)
	}
	score, err := docuBenchScore(r.Data, c.schemas[id], gold)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.scores[id] = score
	if r.Score != nil && math.Abs(*r.Score-score) > 1e-6 {
		c.leave(fmt.Sprintf("its published score differs from that of docs/scoring.md by %.3g or more: %s of %s", 1e-6, id, s.name))
	}
	if r.Status == "failed" { // it has a score of its own, and no answer
		c.leave("a failed answer")
		return nil
	}
	s.answers[id] = r.Data
	return nil
}

// docuBenchScore is the score of an answer by docs/scoring.md and the code of DocuBench 0.2:
// leaves outside of lists are equal or not, the items of a list are paired greedily, and all
// leaves weigh the same.
func docuBenchScore(answer, schema, label jsontext.Value) (float64, error) {
	var a, l any
	var s map[string]any
	for _, x := range []struct {
		value jsontext.Value
		into  any
	}{{answer, &a}, {label, &l}, {schema, &s}} {
		if err := jsonv2.Unmarshal(x.value, x.into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return 0, err
		}
	}
	t := &docuTotal{}
	t.walk(s, normal(strip(a)), normal(strip(l)))
	if t.weight == 0 {
		return 1, nil
	}
	return t.sum / t.weight, nil
}

type docuTotal struct{ sum, weight float64 }

func (t *docuTotal) walk(schema map[string]any, answer, label any) {
	properties, _ := schema["properties"].(map[string]any)
	switch {
	case docuType(schema, "array"):
		a, _ := answer.([]any)
		l, _ := label.([]any)
		leaves := 1.0
		if len(l) > 0 {
			leaves = 0
			for _, item := range l {
				n := 0.0
				for _, v := range flat(item) {
					if !empty(v) {
						n++
					}
				}
				leaves += max(n, 1) / float64(len(l))
			}
		}
		n := float64(max(len(a), len(l))) * leaves
		t.sum += greedy(l, a) * n
		t.weight += n
	case schema["type"] == "object" && properties != nil:
		of, _ := answer.(map[string]any)
		in, _ := label.(map[string]any)
		for _, name := range sortedKeys(properties) {
			if p, ok := properties[name].(map[string]any); ok {
				t.walk(p, of[name], in[name])
			}
		}
	case empty(answer) && empty(label):
	default:
		if t.weight++; same(answer, label) {
			t.sum++
		}
	}
}

func docuType(schema map[string]any, want string) bool {
	if list, ok := schema["type"].([]any); ok {
		return slices.Contains(list, any(want))
	}
	return schema["type"] == want
}

// greedy is the mean similarity of items, of which the most similar are paired first.
func greedy(label, answer []any) float64 {
	if len(label) == 0 && len(answer) == 0 {
		return 1
	}
	type pair struct {
		score float64
		l, a  int
	}
	var pairs []pair
	of, in := make([]map[string]any, len(label)), make([]map[string]any, len(answer))
	for i := range label {
		of[i] = flat(label[i])
	}
	for i := range answer {
		in[i] = flat(answer[i])
	}
	for i := range of {
		for j := range in {
			pairs = append(pairs, pair{similar(of[i], in[j]), i, j})
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int {
		switch {
		case x.score > y.score:
			return -1
		case x.score < y.score:
			return 1
		}
		return 0
	})
	usedL, usedA, sum := map[int]bool{}, map[int]bool{}, 0.0
	for _, p := range pairs {
		if !usedL[p.l] && !usedA[p.a] {
			usedL[p.l], usedA[p.a] = true, true
			sum += p.score
		}
	}
	return sum / float64(max(len(label), len(answer)))
}

func similar(a, b map[string]any) float64 {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	n, right := 0.0, 0.0
	for k := range keys {
		if empty(a[k]) && empty(b[k]) {
			continue
		}
		if n++; same(a[k], b[k]) {
			right++
		}
	}
	if n == 0 {
		return 1
	}
	return right / n
}

// flat are the leaves of an item by path; a list in it is one leaf.
func flat(item any) map[string]any {
	leaves := map[string]any{}
	var add func(path string, v any)
	add = func(path string, v any) {
		if m, ok := v.(map[string]any); ok {
			for name, inner := range m {
				add(strings.TrimPrefix(path+"."+name, "."), inner)
			}
			return
		}
		leaves[path] = v
	}
	add("", item)
	return leaves
}

func same(a, b any) bool {
	x, err := jsonv2.Marshal(a, jsonv2.Deterministic(true))
	y, other := jsonv2.Marshal(b, jsonv2.Deterministic(true))
	return errors.Join(err, other) == nil && string(x) == string(y)
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

var notWord = regexp.MustCompile(`[^\p{L}\p{N}_]`)

// normal rounds numbers to six decimals, and folds texts to their letters and digits.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = normal(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = normal(inner)
		}
	case float64:
		return math.Round(v*1e6) / 1e6
	case string:
		return notWord.ReplaceAllString(strings.ToLower(norm.NFKC.String(v)), "")
	}
	return v
}

// strip removes empty members from the inside out.
func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, inner := range v {
			if inner == nil {
				m[name] = nil
			} else if cleaned := strip(inner); !empty(cleaned) {
				m[name] = cleaned
			}
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			list[i] = strip(inner)
		}
		return list
	}
	return v
}
