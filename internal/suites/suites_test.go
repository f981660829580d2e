package suites

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// Every suite satisfies what the command relies on: the starter study loads and
// opens, the schema is valid, the pre-flight passes, and the default metrics
// exist.
func TestEntries(t *testing.T) {
	names := map[string]bool{}
	for _, e := range All() {
		if readable := e.Name != "given"; readable != (e.Reads > 0) { // given reads no answers
			t.Errorf("%s: the version of what reads its answers is %d", e.Name, e.Reads)
		}
		t.Run(e.Suite.Name, func(t *testing.T) {
			if names[e.Suite.Name] {
				t.Error("duplicate name")
			}
			names[e.Suite.Name] = true
			for _, name := range append(e.Primary, e.Secondary...) {
				if _, ok := e.Suite.Metric(name); !ok {
					t.Errorf("%s is reported by default but is not a metric", name)
				}
			}
			dir := filepath.Join(t.TempDir(), "starter")
			files, err := e.Init(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Init(dir); err == nil {
				t.Error("the starter study is written over itself")
			}
			mine := e.Study()
			f, err := study.Load(files[0], nil, mine)
			if err != nil {
				t.Fatal(err)
			}
			if common := mine.Common(); common.Suite != e.Suite.Name || common.Name != "starter" {
				t.Errorf("the common part is not the study's: %+v", common)
			}
			b, err := e.Open(f, mine)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if len(b.Items()) == 0 || len(b.Arms()) < 2 {
				t.Errorf("%d items, %d arms", len(b.Items()), len(b.Arms()))
			}
			if len(e.Blind.Data) == 0 || e.Blind.Arms == "" {
				t.Error("a blind kit has no data, so its commitment covers nothing")
			}
			if b.Capabilities().Facts == nil {
				t.Error("the bench's capabilities are lost on the way")
			}
			schema, err := study.Schema(mine, "https://example.org/s.json", e.Suite.Title)
			if err != nil || !strings.Contains(string(schema), `"suite"`) {
				t.Errorf("schema: %v", err)
			}
			results, err := e.Preflight(filepath.Join(dir, "preflight"))
			if err != nil || len(results) == 0 && e.Check != nil {
				t.Fatalf("pre-flight: %d cases, %v", len(results), err)
			}
			for _, r := range results {
				if !r.OK() {
					t.Errorf("%s: %v", r.Name, r.Wrong)
				}
			}
		})
	}
}

// TestPreflightNotices: a case that expects another score fails.
func TestPreflightNotices(t *testing.T) {
	for _, e := range All() {
		if e.Check == nil {
			continue
		}
		files, err := fs.Glob(e.Cases, "preflight/*.json")
		expects := 0
		for _, file := range files {
			data, errRead := fs.ReadFile(e.Cases, file)
			c := map[string]any{}
			if err = errors.Join(err, errRead, json.Unmarshal(data, &c)); err != nil {
				t.Fatal(err)
			}
			expected, _ := cmp.Or(c["expected"], c["expect"]).(map[string]any)
			for metric, v := range expected {
				score, ok := v.(float64)
				if !ok {
					continue
				}
				expects++
				expected[metric] = score + 0.25
				other, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				if r, err := e.Check(other); err == nil && r.OK() {
					t.Errorf("%s, %s: %s is %v and passes as %v", e.Suite.Name, file, metric, score, score+0.25)
				}
				expected[metric] = score
			}
		}
		if expects == 0 {
			t.Errorf("%s: no case expects a score", e.Suite.Name)
		}
	}
}

func TestPipelinesComeThrough(t *testing.T) {
	list := All()
	e := list[slices.IndexFunc(list, func(s kit.Suite) bool { return s.Name == "extraction" })]
	dir := t.TempDir()
	files, err := e.Init(dir)
	if err != nil {
		t.Fatal(err)
	}
	own := e.Study()
	f, err := study.Load(files[0], []string{"arms[heuristic].builtin=", "arms[heuristic].exec=cat -"}, own)
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Open(f, own)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if p := b.Pipelines(); len(p) != 1 || p[0].Model != "arm:heuristic" || p[0].Kind != "exec" || p[0].Target != "cat -" || p[0].Version != "" {
		t.Errorf("%+v", p)
	}
}

// TestChangedPipelines: in every suite with such arms, another program, version or file of
// answers makes another arm.
func TestChangedPipelines(t *testing.T) {
	extra := map[string]string{"rerank": "candidates.sizes=[10]", "soundness": "main_model="} // answers are of one size
	for _, s := range All() {
		if s.Name == "given" {
			continue // its arms are in the data
		}
		t.Run(s.Name, func(t *testing.T) {
			files, err := s.Init(filepath.Join(t.TempDir(), "starter"))
			if err != nil {
				t.Fatal(err)
			}
			hashes := func(content, is string) map[string]string {
				write(t, filepath.Join(filepath.Dir(files[0]), "pipe.py"), []byte(content))
				own := s.Study()
				overrides := []string{"comparisons=[]", "decide.require=[]", "arms=[{name: mine, " + is + "}]"}
				if more := extra[s.Name]; more != "" {
					overrides = append(overrides, more)
				}
				f, err := study.Load(files[0], overrides, own)
				if err != nil {
					t.Fatal(err)
				}
				b, err := s.Open(f, own)
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				all := map[string]string{}
				for _, a := range b.Arms() {
					if strings.HasPrefix(a.ID, "mine") {
						all[a.ID] = a.Hash
					}
				}
				return all
			}
			for _, is := range []string{"exec: ./pipe.py", "outputs: pipe.py", "http: http://localhost, watch: [pipe.py]", "exec: pipe, version: v1", "http: http://localhost, version: v1"} {
				was, now := hashes("{}", is), hashes(`{"item": "1"}`, strings.Replace(is, "version: v1", "version: v2", 1))
				for id, hash := range was {
					if now[id] == hash {
						t.Errorf("%s: arm %s is the same after a change", is, id)
					}
				}
				if len(was) == 0 || !maps.Equal(was, hashes("{}", is)) {
					t.Errorf("%s: arms %v are others without a change", is, was)
				}
			}
		})
	}
}

// A key of one suite is unknown to another, and the error has its position.
func TestKeysOfOneSuite(t *testing.T) {
	for _, s := range All() {
		path := filepath.Join(t.TempDir(), "study.yaml")
		if err := os.WriteFile(path, []byte("name: n\nsuite: s\nmetrics: {composite_weights: {value: 1}}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := study.Load(path, nil, s.Study())
		unknown := err != nil && strings.Contains(err.Error(), `study.yaml:3:11: unknown key "composite_weights" in metrics`)
		if unknown == (s.Name == "extraction") {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// Every suite has its data under data and what it compares under arms. The keys of before
// are unknown, and the error names the new one.
func TestFormerKeys(t *testing.T) {
	former := map[string]map[string]string{
		"qa": {"questions": "data", "prompts": "arms"}, "extraction": {"documents": "data", "kernels": "arms"},
		"atoms": {"corpus": "data", "extractors": "arms"}, "soundness": {"corpus": "data", "conditions": "arms"},
		"spans": {"records": "data", "labellers": "arms"}, "rerank": {"methods": "arms"},
	}
	for _, s := range All() {
		for was, now := range former[s.Name] {
			path := filepath.Join(t.TempDir(), "study.yaml")
			if err := os.WriteFile(path, []byte("name: n\nsuite: s\n"+was+": []\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := study.Load(path, nil, s.Study())
			want := fmt.Sprintf("study.yaml:3:1: unknown key %q in study: it is now %q", was, now)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", s.Name, err, want)
			}
		}
	}
}

// The schema of all suites takes every starter study, and refuses it under the name of
// another suite.
func TestSchemaOfAll(t *testing.T) {
	own := map[string]any{}
	for _, s := range All() {
		own[s.Name] = s.Study()
	}
	data, err := study.SchemaOfAll(own, "https://example.org/s.json", "Study")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("s.json")
	for i, s := range All() {
		files, err := s.Starter()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := files[0].Write(&file); err != nil {
			t.Fatal(err)
		}
		var mine map[string]any
		if err := yaml.Unmarshal(file.Bytes(), &mine); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(mine); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		mine["suite"] = All()[(i+1)%len(All())].Name
		if schema.Validate(mine) == nil {
			t.Errorf("the study of %s is one of %s too", s.Name, mine["suite"])
		}
	}
}
