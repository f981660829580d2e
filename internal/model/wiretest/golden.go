package wiretest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

var update = flag.Bool("update", false, "update the golden files")

// A Case is a request with a name.
type Case struct {
	Name    string
	Request eval.Request
}

// Cases are requests that hold everything a client has to send, for the given
// model. Each client's bodies for them are kept in golden files.
func Cases(name string) []Case {
	number := func(x float64) *float64 { return &x }
	seed := int64(7)
	user := []eval.Message{{Role: "user", Content: "Read <this> & answer."}}
	// Neither the order of the properties nor what is in them may change.
	schema := json.RawMessage(`{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"number","description":"a < b"}},"required":["zeta","alpha"],"additionalProperties":false}`)
	tools := []eval.Tool{{Name: "submit", Description: "Hand in the answer.", Parameters: schema}, {Name: "search", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)}}
	cases := []Case{
		{"plain", eval.Request{Messages: user}},
		{"system and turns", eval.Request{System: "Be exact.", Messages: []eval.Message{user[0], {Role: "assistant", Content: "Which?"}, {Role: "user", Content: "All."}}, MaxTokens: 500}},
		{"sampling", eval.Request{Messages: user, MaxTokens: 500, Sampling: eval.Sampling{Temperature: number(0), TopP: number(0.95), Seed: &seed, Stop: []string{"END", "###"}}}},
		{"schema", eval.Request{System: "Answer in JSON.", Messages: user, MaxTokens: 500, Schema: &eval.Schema{Name: "record", Strict: true, JSON: schema}}},
		{"forced tool", eval.Request{Messages: user, MaxTokens: 500, Tools: tools, Force: "submit"}},
		{"free tools", eval.Request{Messages: user, MaxTokens: 500, Tools: tools}},
		{"effort and allowance", eval.Request{Messages: user, MaxTokens: 500, Allowance: 2000, Reasoning: eval.Reasoning{Effort: "high"}}},
		{"thinking budget", eval.Request{Messages: user, MaxTokens: 500, Allowance: 2000, Reasoning: eval.Reasoning{Budget: 1024},
			Sampling: eval.Sampling{Temperature: number(0.5), TopP: number(0.9)}}},
		{"thinking budget above the limit, forced tool", eval.Request{Messages: user, MaxTokens: 500, Reasoning: eval.Reasoning{Budget: 4096}, Tools: tools[:1], Force: "submit"}},
	}
	for i := range cases {
		cases[i].Request.Model, cases[i].Request.Name = "m", name
	}
	return cases
}

// Golden compares what was sent for a case with the file kept for it, and
// writes the file when the tests run with -update.
func Golden(t *testing.T, name string, sent Request, adapted []string) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(sent.Method + " " + sent.Path + "\n")
	for _, a := range adapted {
		b.WriteString("adapted: " + a + "\n")
	}
	if err := json.Indent(&b, []byte(sent.Body), "", "  "); err != nil {
		t.Fatalf("%s: the body is not JSON: %v", name, err)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", strings.NewReplacer(" ", "_", ",", "").Replace(name)+".golden")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s: sent\n%s\nwant\n%s", name, b.Bytes(), want)
	}
}
