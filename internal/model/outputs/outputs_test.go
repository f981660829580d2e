package outputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

func write(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, content string) *Client {
	t.Helper()
	c, err := Open(write(t, content))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func ask(item string, replicate int) *eval.Request {
	return &eval.Request{Model: "arm:other", Provider: "outputs", Item: item, Replicate: replicate}
}

func TestComplete(t *testing.T) {
	c := open(t, strings.Join([]string{
		`{"document_id":"a","output":"first\tanswer <é>"}`,
		``,
		`{"item":"a","replicate":2,"output":{ "x": 1.50 ,"y":"\u00e9"},"model":"mine 1.4","usage":{"input_tokens":8,"output_tokens":9}}`,
		`{"item":"b","document_id":"b","output":[ 1 ],"usage":{"output_tokens":3}}`,
		`{"output":"","item":"c","model":null,"usage":null,"replicate":null}`,
		`{"item":7.0,"output":"seven"}`,
	}, "\n"))
	tests := []struct {
		item      string
		replicate int
		want      eval.Response
	}{
		{"a", 1, eval.Response{Text: "first\tanswer <é>", Stop: eval.StopEnd, RequestID: "answers.jsonl:1"}},
		{"a", 2, eval.Response{Text: `{ "x": 1.50 ,"y":"\u00e9"}`, Stop: eval.StopEnd, RequestID: "answers.jsonl:3", ModelVersion: "mine 1.4", Usage: eval.Usage{Input: 8, Output: 9}}},
		{"b", 1, eval.Response{Text: "[ 1 ]", Stop: eval.StopEnd, RequestID: "answers.jsonl:4", Usage: eval.Usage{Output: 3}}},
		{"c", 0, eval.Response{Stop: eval.StopEnd, RequestID: "answers.jsonl:5"}}, // a request outside of a plan has no replicate
		{"7", 1, eval.Response{Text: "seven", Stop: eval.StopEnd, RequestID: "answers.jsonl:6"}},
	}
	for _, tt := range tests {
		got, err := c.Complete(t.Context(), ask(tt.item, tt.replicate))
		if err != nil {
			t.Errorf("%s #%d: %v", tt.item, tt.replicate, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s #%d: %s", tt.item, tt.replicate, diff)
		}
	}
}

// A table has the answers as they are written, and JSON is their text.
func TestCompleteFromATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.csv")
	content := "item,replicate,output,usage.output_tokens\n7,,\" two\nlines \",\n7,2,\"{ \"\"x\"\": 1.50 }\",9\n8,,\" \",\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, want := range []eval.Response{
		{Text: " two\nlines ", Stop: eval.StopEnd, RequestID: "answers.csv:2"},
		{Text: `{ "x": 1.50 }`, Stop: eval.StopEnd, RequestID: "answers.csv:4", Usage: eval.Usage{Output: 9}},
		{Text: " ", Stop: eval.StopEnd, RequestID: "answers.csv:5"},
	} {
		got, err := c.Complete(t.Context(), ask([]string{"7", "7", "8"}[i], 1+i%2))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// An empty cell of a table is no answer, which cannot be told from an empty one.
func TestOpenATableWithAnEmptyCell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.csv")
	if err := os.WriteFile(path, []byte("item,output\n7,x\n8,\n9,\"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if want := path + `:3: missing "output": set the model's answer, leave the line out if there is none, or write "" in JSON for an empty one (and on 1 line more)`; err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

func TestCompleteWithoutAnAnswer(t *testing.T) {
	c := open(t, `{"item":"a","output":"x"}`)
	for _, r := range []*eval.Request{ask("a", 2), ask("b", 1), ask("", 1)} {
		_, err := c.Complete(t.Context(), r)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != eval.ErrUnavailable {
			t.Fatalf("%s: got %v, want an error that leaves the run alone", r.Item, err)
		}
		if want := fmt.Sprintf("no answer for item %s replicate %d in %s", r.Item, r.Replicate, c.lines.Path()); e.Message != want {
			t.Errorf("message %q, want %q", e.Message, want)
		}
		if !e.Final {
			t.Error("a file that does not change would be asked again")
		}
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the run was stopped"))
	if _, err := c.Complete(stopped, ask("a", 1)); err == nil || !strings.Contains(err.Error(), "the run was stopped") {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestCompleteNoticesAChangedFile(t *testing.T) {
	path := write(t, `{"item":"a","output":"x"}`)
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for content, says := range map[string]string{
		`{"item":"b","output":"x"}`: `now about item "b" replicate 1`,
		`{"item":"a","ou`:           "truncated after it was opened",
		`{"item":"a","output":  7}`: `"output" is 7`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := c.Complete(t.Context(), ask("a", 1))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != eval.ErrUnavailable || !strings.Contains(err.Error(), says) || !strings.Contains(e.Remedy, "during a run") {
			t.Errorf("after the file became %s: %v", content, err)
		}
	}
}

func TestOpenListsMistakes(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string // FILE stands for the file's path
	}{
		{"both ids", `{"item":"a","document_id":"b","output":""}`, []string{`FILE:1: "item" is "a" and "document_id" is "b": they are aliases, use one`}},
		{"no id", `{"output":"x"}`, []string{`FILE:1: missing item id: set "document_id" or "item"`}},
		{"empty id", `{"item":"","output":"x"}`, []string{`FILE:1: missing item id: set "document_id" or "item"`}},
		{"one number as id in two forms", `{"item":17,"output":"x"}` + "\n" + `{"document_id":17.0,"output":"y"}`,
			[]string{`FILE:2: duplicate answer for item "17" replicate 1: first on line 1; keep one, or number replicates`}},
		{"a truth value as id", `{"item":true,"output":"x"}`, []string{`FILE:1:9: item: want a string, got true`}},
		{"no output", `{"item":"a"}`, []string{`FILE:1: missing "output": set the model's answer, leave the line out if there is none, or write "" in JSON for an empty one`}},
		{"null output", `{"item":"a","output":null}`, []string{`FILE:1: "output" is null: want a text, an object or a list`}},
		{"number output", `{"item":"a","output":0.50}`, []string{`FILE:1: "output" is 0.50: want a text, an object or a list`}},
		{"replicate 0", `{"item":"a","replicate":0,"output":""}`, []string{`FILE:1: invalid replicate 0: want at least 1`}},
		{"negative usage", `{"item":"a","output":"","usage":{"input_tokens":-1}}`, []string{`FILE:1: usage: invalid negative number of tokens`}},
		{"unknown key", `{"item":"a","ouput":"x"}`, []string{`FILE:1:13: unknown key "ouput": did you mean "output"?`}},
		{"unknown key in usage", `{"item":"a","output":"","usage":{"input_token":1}}`, []string{`FILE:1:34: unknown key "input_token" in usage: did you mean "input_tokens"?`}},
		{"case", `{"Item":"a","output":"x"}`, []string{`FILE:1:2: unknown key "Item": did you mean "item"?`}},
		{"key twice", `{"item":"a","output":"x","output":"y"}`, []string{`FILE:1:26: duplicate key "output"`}},
		{"cut off", `{"item":"a","output":"x`, []string{`FILE:1:24: unexpected end of JSON: the value is cut off; of JSON Lines each line must hold a whole one`}},
		{"not UTF-8", "{\"item\":\"a\",\"output\":\"x\"}\n{\"item\":\"\xe9\"}", []string{`FILE:2: byte 10 of the line is not UTF-8: save the file as UTF-8`}},
		{"duplicates", `{"item":"a","output":"x"}` + "\n\n" + `{"document_id":"a","replicate":1,"output":"y"}` + "\n" + `{"item":"a","replicate":2,"output":"y"}`,
			[]string{`FILE:3: duplicate answer for item "a" replicate 1: first on line 1; keep one, or number replicates`}},
		{"several", `{"item":"a","output":"x"}` + "\n{}\n" + `{"item":"b","output":"x"}` + "\n[]", []string{
			`FILE:2: missing item id: set "document_id" or "item"`, `FILE:4:1: want an object, got a list`}},
	}
	for _, tt := range tests {
		path := write(t, tt.content)
		c, err := Open(path)
		if err == nil || c != nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		if diff := cmp.Diff(tt.want, strings.Split(strings.ReplaceAll(err.Error(), path, "FILE"), "\n")); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A mistake on many lines is listed once, and of many mistakes the first twenty.
func TestOpenListsTwentyMistakes(t *testing.T) {
	mistakes := func(n int) (lines []string) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"item":"a","replicate":-%d,"output":""}`+"\n", i)
		}
		_, err := Open(write(t, b.String()))
		return strings.Split(err.Error(), "\n")
	}
	if lines := mistakes(33); len(lines) != 21 || !strings.Contains(lines[19], ".jsonl:20: ") || !strings.HasSuffix(lines[20], ": and 13 more") {
		t.Errorf("%d lines, the last two are %q", len(lines), lines[len(lines)-2:])
	}
	if lines := mistakes(20); len(lines) != 20 {
		t.Errorf("20 mistakes take %d lines", len(lines))
	}
	path := write(t, strings.Repeat("{}\n", 33))
	_, err := Open(path)
	if want := path + `:1: missing item id: set "document_id" or "item" (and on 32 lines more)`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestMissingAndUnknown(t *testing.T) {
	c := open(t, `{"item":"z","output":""}
{"item":"a","output":""}
{"item":"b","replicate":2,"output":""}
{"item":"a","replicate":2,"output":""}
{"item":"y","replicate":3,"output":""}`)
	for replicates, want := range map[int][]string{
		0: nil,
		1: {"c", "b"},
		2: {"c replicate 1", "c replicate 2", "b replicate 1"},
	} {
		if got := c.Missing([]string{"c", "a", "b"}, replicates); !slices.Equal(got, want) {
			t.Errorf("with %d replicates %q are missing, want %q", replicates, got, want)
		}
	}
	if got, want := c.Unknown([]string{"c", "a", "b"}), []string{"z", "y"}; !slices.Equal(got, want) {
		t.Errorf("unknown %q, want %q", got, want)
	}
	if got := c.Unknown([]string{"a", "b", "y", "z"}); got != nil {
		t.Errorf("unknown %q, want none", got)
	}
}

// TestEveryAnswerIsFound: whatever the answers and their order, each is found
// under its item and replicate, byte for byte, from many goroutines at once,
// and Missing and Complete agree.
func TestEveryAnswerIsFound(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.MapOfN(rapid.Custom(func(t *rapid.T) key {
			return key{rapid.SampledFrom([]string{"a", "b", "a/b", "é", " ", "\""}).Draw(t, "item"), rapid.IntRange(1, 3).Draw(t, "replicate")}
		}), rapid.String(), 0, 12).Draw(t, "answers")
		var content strings.Builder
		for k, text := range answers { // in any order
			line, err := json.Marshal(map[string]any{"item": k.item, "replicate": k.replicate, "output": text})
			if err != nil {
				t.Fatal(err)
			}
			content.Write(append(line, "\n\r\n"[:rapid.IntRange(1, 3).Draw(t, "end")]...))
		}
		n++
		path := filepath.Join(dir, strconv.Itoa(n))
		if err := os.WriteFile(path, []byte(content.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var wg sync.WaitGroup
		for k, want := range answers {
			wg.Go(func() {
				if got, err := c.Complete(context.Background(), ask(k.item, k.replicate)); err != nil || got.Text != want {
					t.Errorf("%v: got %q, %v, want %q", k, got.Text, err, want)
				}
			})
		}
		wg.Wait()
		if missing := c.Missing([]string{"a", "b", "a/b", "é", " ", "\""}, 3); len(missing) != 18-len(answers) {
			t.Errorf("%d answers, and of 18 %q are missing", len(answers), missing)
		}
	})
}

func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		`{"item":"a","output":"x"}`, `{"document_id":"a","replicate":2,"output":{"a":[1]},"usage":{"input_tokens":1},"model":"m"}`,
		"{\"item\":\"a\",\"output\":\"\\ud800\"}\n", "\ufeff{}\r\n\r\n[1]", `{"item":"a","output":null,"usage":7}`, "\x1f\x8b", "", `{"replicate":1e400}`,
	} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "answers.jsonl")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, path+":") {
					t.Errorf("the error does not say where: %q", line)
				}
			}
			return
		}
		defer c.Close()
		for item, answers := range c.index {
			for _, a := range answers {
				got, err := c.Complete(t.Context(), ask(item, int(a.replicate)))
				if err != nil || !utf8.ValidString(got.Text) {
					t.Errorf("item %q replicate %d was accepted and is answered with %q, %v", item, a.replicate, got.Text, err)
				}
			}
		}
	})
}
