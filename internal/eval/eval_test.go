package eval_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

func request() *eval.Request {
	zero, seed := 0.0, int64(7)
	return &eval.Request{Model: "m", Provider: "openai", Endpoint: "http://host", Name: "gpt", System: "be brief",
		Messages: []eval.Message{{Role: "user", Content: "hello"}}, Schema: &eval.Schema{Name: "s", JSON: json.RawMessage(`{}`)},
		Tools: []eval.Tool{{Name: "t"}}, Force: "t", Sampling: eval.Sampling{Temperature: &zero, Seed: &seed, Stop: []string{"a", "b"}},
		MaxTokens: 10, Allowance: 5, Reasoning: eval.Reasoning{Effort: "low", Budget: 3}, Item: "i", Replicate: 1, Payload: json.RawMessage(`{}`)}
}

// All fields that are sent are in the key: changing one changes the key.
func TestEveryFieldIsInTheKey(t *testing.T) {
	one := 1.0
	changes := map[string]func(*eval.Request){
		"model":       func(r *eval.Request) { r.Model = "n" },
		"provider":    func(r *eval.Request) { r.Provider = "google" },
		"endpoint":    func(r *eval.Request) { r.Endpoint = "" },
		"name":        func(r *eval.Request) { r.Name = "gpt2" },
		"system":      func(r *eval.Request) { r.System += " " },
		"role":        func(r *eval.Request) { r.Messages[0].Role = "assistant" },
		"content":     func(r *eval.Request) { r.Messages[0].Content = "hullo" },
		"messages":    func(r *eval.Request) { r.Messages = append(r.Messages, eval.Message{}) },
		"schema":      func(r *eval.Request) { r.Schema.JSON = json.RawMessage(`{"a":1}`) },
		"strict":      func(r *eval.Request) { r.Schema.Strict = true },
		"no schema":   func(r *eval.Request) { r.Schema = nil },
		"tool":        func(r *eval.Request) { r.Tools[0].Description = "d" },
		"force":       func(r *eval.Request) { r.Force = "" },
		"temperature": func(r *eval.Request) { r.Sampling.Temperature = &one },
		"not sent":    func(r *eval.Request) { r.Sampling.Temperature = nil },
		"top_p":       func(r *eval.Request) { r.Sampling.TopP = &one },
		"seed":        func(r *eval.Request) { r.Sampling.Seed = nil },
		"stop":        func(r *eval.Request) { r.Sampling.Stop = []string{"ab"} },
		"max":         func(r *eval.Request) { r.MaxTokens = 11 },
		"allowance":   func(r *eval.Request) { r.Allowance = 6 },
		"effort":      func(r *eval.Request) { r.Reasoning.Effort = "high" },
		"budget":      func(r *eval.Request) { r.Reasoning.Budget = 4 },
		"item":        func(r *eval.Request) { r.Item = "j" },
		"replicate":   func(r *eval.Request) { r.Replicate = 2 },
		"payload":     func(r *eval.Request) { r.Payload = json.RawMessage(`[]`) },
	}
	seen := map[string]string{request().Key(): "nothing"}
	for name, change := range changes {
		r := request()
		change(r)
		if other, dup := seen[r.Key()]; dup {
			t.Errorf("changing %s gives the key of changing %s", name, other)
		}
		seen[r.Key()] = name
		if sealed, parts := r.Sealed(); sealed.Key() != r.Key() || eval.KeyOf(parts) != r.Key() {
			t.Errorf("%s: sealed, the key is %s, not %s", name, sealed.Key(), r.Key())
		}
		if diff := eval.DiffParts(request().Parts(), r.Parts()); len(diff) != 1 {
			t.Errorf("changing %s is reported as %q", name, diff)
		}
	}
	if a, b := request(), request(); a.Key() != b.Key() {
		t.Error("the same request has two keys")
	}
}

// Moving text from one part to the next changes the key.
func TestKeysKnowBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}`), 0, 4)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		key := func(stop []string) string {
			return (&eval.Request{Sampling: eval.Sampling{Stop: stop}}).Key()
		}
		if same := slices.Equal(a, b); same != (key(a) == key(b)) {
			t.Fatalf("%q and %q: equal %v, keys %s and %s", a, b, same, key(a), key(b))
		}
	})
}

func TestPartsReadBackAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []eval.Part
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			parts = append(parts, eval.Part{Name: rapid.StringMatching(`[a-z. @]{1,8}`).Draw(t, "name"), Value: rapid.String().Draw(t, "value")})
		}
		if diff := cmp.Diff(parts, eval.DecodeParts(eval.EncodeParts(parts))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestItemIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`[a-c]{1,4}`), rapid.ID[string]).Draw(t, "ids")
		var items []eval.Item
		for _, id := range ids {
			items = append(items, eval.Item{ID: id})
		}
		x := eval.IndexItems(items)
		for i, id := range ids {
			if at, ok := x.Find(id); !ok || at != i {
				t.Fatalf("%s is at %d, %v; want %d", id, at, ok, i)
			}
		}
		if _, ok := x.Find("zzz"); ok {
			t.Fatal("found what is not there")
		}
		if _, _, dup := x.Duplicate(); dup {
			t.Fatal("a duplicate among different ids")
		}
	})
	if a, b, dup := eval.IndexItems([]eval.Item{{ID: "x"}, {ID: "y"}, {ID: "x"}}).Duplicate(); !dup || a != 0 || b != 2 {
		t.Errorf("duplicate at %d and %d, %v", a, b, dup)
	}
}

func TestHash(t *testing.T) {
	if got := eval.HashOf([]byte("abc")).String(); got != "ba7816bf8f01cfea" { // FIPS 180-2, appendix B.1
		t.Errorf("hash of abc: %s", got)
	}
	for _, h := range []eval.Hash{0, 1, 0xfedcba9876543210} {
		if back, err := eval.ParseHash(h.String()); err != nil || back != h || len(h.String()) != 16 {
			t.Errorf("%v parsed back as %v, %v", h, back, err)
		}
	}
	for _, s := range []string{"", "xyz", "123", strings.Repeat("g", 16), strings.Repeat("0", 17)} {
		if h, err := eval.ParseHash(s); err == nil {
			t.Errorf("%q was read as %v", s, h)
		}
	}
}

// No tokens are counted twice, for any provider.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		u       eval.Usage
		in, out int
	}{
		{eval.Usage{Input: 10, Cached: 4, Output: 5, Reasoning: 2, CachedInInput: true, ReasoningInOutput: true}, 10, 5},
		{eval.Usage{Input: 10, Cached: 4, CacheWrite: 3, Output: 5, ReasoningInOutput: true}, 17, 5},
		{eval.Usage{Input: 10, Output: 5, Reasoning: 2, CachedInInput: true}, 10, 7},
	} {
		if in, out := c.u.TotalInput(), c.u.TotalOutput(); in != c.in || out != c.out {
			t.Errorf("%+v: %d in, %d out; want %d and %d", c.u, in, out, c.in, c.out)
		}
	}
}

func ExampleTrial() {
	fmt.Println(eval.Trial{Item: "doc-1", Arm: "ctn@sonnet", Replicate: 2})
	// Output: doc-1 × ctn@sonnet #2
}
