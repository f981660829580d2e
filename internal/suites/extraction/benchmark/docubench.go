package benchmark

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
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
		if info, err := os.Lstat(filepath.Join(dir, "guidelines", id+".txt")); err == nil && info.Size() > 0 {
			c.leave("guidelines that the systems were given: add them to prompts that are compared with them")
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
		for _, d := range c.documents {
			if s.answers[d.id] == nil && len(s.answers) > 0 {
				s.scores[d.id], s.answers[d.id] = 0, emptyAnswer
				c.leave("a document without an answer of " + s.name + ", which is empty here and scores 0")
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
	switch {
	case errors.Is(err, errTooLong):
		c.leave("an answer without a score of DocuBench: " + err.Error())
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	default:
		s.scores[id] = score
	}
	if err == nil && r.Score != nil && math.Abs(*r.Score-score) > 1e-6 {
		c.leave(fmt.Sprintf("its published score differs from that of docs/scoring.md by %.3g or more: %s of %s", 1e-6, id, s.name))
	}
	if r.Status == "failed" {
		c.leave("a failed answer, which scores as what it has under data")
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
	err := errors.Join(jsonv2.Unmarshal(answer, &a, lenient), jsonv2.Unmarshal(label, &l, lenient), jsonv2.Unmarshal(schema, &s, lenient))
	if err != nil {
		return 0, err
	}
	t := &docuTotal{}
	t.walk(s, normal(a), normal(l), true)
	if t.weight == 0 {
		return 1, t.err
	}
	return t.sum / t.weight, t.err
}

type docuTotal struct {
	sum, weight float64
	err         error
}

// walk adds the lists in a value, and its leaves outside of lists, unless a nullable object around
// it is one leaf.
func (t *docuTotal) walk(schema map[string]any, answer, label any, leaves bool) {
	properties, isObject := schema["properties"].(map[string]any)
	switch {
	case docuType(schema, "array"):
		a, _ := answer.([]any)
		l, _ := label.([]any)
		leaves := 0.0 // of an item, in the mean
		for _, item := range l {
			given := maps.Clone(flat(item))
			maps.DeleteFunc(given, func(_ string, v any) bool { return empty(v) })
			leaves += max(float64(len(given)), 1) / float64(len(l))
		}
		if len(a)*len(l) > mostPairs {
			t.err = errTooLong
			return
		}
		n := float64(float64(max(len(a), len(l))) * max(leaves, 1)) // not fused: one score on all processors
		t.sum += float64(greedy(l, a) * n)
		t.weight += n
	case isObject:
		for _, name := range sortedKeys(properties) {
			if p, ok := properties[name].(map[string]any); ok {
				t.walk(p, object(answer)[name], object(label)[name], leaves && schema["type"] == "object")
			}
		}
	}
	if leaves && schema["type"] != "object" && hasLeaf(schema) && !(empty(answer) && empty(label)) {
		if t.weight++; reflect.DeepEqual(answer, label) {
			t.sum++
		}
	}
}

// hasLeaf reports whether a schema has more than lists; an object without properties has nothing.
func hasLeaf(schema any) bool {
	s, _ := schema.(map[string]any)
	switch {
	case docuType(s, "array"):
		return false
	case docuType(s, "object"):
		properties, _ := s["properties"].(map[string]any)
		return slices.ContainsFunc(slices.Collect(maps.Values(properties)), hasLeaf)
	}
	return true
}

func docuType(schema map[string]any, want string) bool {
	return slices.Contains(typesOf(schema), any(want))
}

// greedy is the mean similarity of items, of which the most similar are paired first.
func greedy(label, answer []any) float64 {
	if len(label) == 0 && len(answer) == 0 {
		return 1
	}
	type pair struct {
		score float64
		l, a  int32
	}
	var pairs []pair
	of, in := each(label, flat), each(answer, flat)
	for i := range of {
		for j := range in {
			if score := similar(of[i], in[j]); score > 0 {
				pairs = append(pairs, pair{score, int32(i), int32(j)})
			}
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return cmp.Compare(y.score, x.score) })
	usedL, usedA, sum := map[int32]bool{}, map[int32]bool{}, 0.0
	for _, p := range pairs {
		if !usedL[p.l] && !usedA[p.a] {
			usedL[p.l], usedA[p.a] = true, true
			sum += p.score
		}
	}
	return sum / float64(max(len(label), len(answer)))
}

func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

func similar(a, b map[string]any) float64 {
	all := maps.Clone(a)
	maps.Copy(all, b)
	n, right := 0.0, 0.0
	for k := range all {
		if empty(a[k]) && empty(b[k]) {
			continue
		}
		if n++; reflect.DeepEqual(a[k], b[k]) {
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
	m, isObject := item.(map[string]any)
	if !isObject {
		return map[string]any{"": item}
	}
	leaves := map[string]any{}
	for name, inner := range m {
		for path, leaf := range flat(inner) {
			leaves[strings.TrimSuffix(name+"."+path, ".")] = leaf
		}
	}
	return leaves
}

func empty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return v == nil || v == any("")
}

var notWord = regexp.MustCompile(`[^\p{L}\p{N}_]`)

// normal rounds numbers to six decimals, of which true and false are 1 and 0 as in Python, folds texts to their letters and digits, and removes empty
// members from the inside out.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, inner := range v {
			if cleaned := normal(inner); inner == nil || !empty(cleaned) {
				m[name] = cleaned
			}
		}
		return m
	case []any:
		return each(v, normal)
	case float64:
		return math.Round(v*1e6) / 1e6
	case bool:
		return map[bool]float64{true: 1}[v]
	case string:
		return notWord.ReplaceAllString(strings.ToLower(norm.NFKC.String(v)), "")
	}
	return v
}
