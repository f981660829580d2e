//go:build unix

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
)

// pipeline starts a client whose processes play the part.
func pipeline(t *testing.T, name string, more ...string) *Exec {
	t.Helper()
	e, err := NewExec("'"+os.Args[0]+"'", ExecOptions{Dir: t.TempDir(), Env: append(os.Environ(), append(more, part+"="+name)...), Pass: []string{part}, Keys: model.NewKeys(secret)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// saying asks the part "says" to write a line.
func saying(line string) *eval.Request {
	b, err := eval.EncodeJSON(line)
	if err != nil {
		panic(err)
	}
	r := ask("doc")
	r.Payload = b
	return r
}

func mustAnswer(t *testing.T, e *Exec, r *eval.Request) eval.Response {
	t.Helper()
	response, err := e.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestExecAsksOneProcessAgainAndAgain(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "echo")
	first := mustAnswer(t, e, ask("doc <1>"))
	pid, _, _ := strings.Cut(first.ModelVersion, ":")
	want := eval.Response{Text: `doc <1> #1 {"text":"a b"}`, Stop: eval.StopEnd, ModelVersion: pid + ":1", Usage: eval.Usage{Input: 3, Output: 5}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	for i := 2; i < 20; i++ {
		if got := mustAnswer(t, e, ask("doc")).ModelVersion; got != fmt.Sprintf("%s:%d", pid, i) {
			t.Fatalf("request %d was answered by %s, want process %s to stay", i, got, pid)
		}
	}
}

func TestExecRunsAProcessForEachCallInFlight(t *testing.T) {
	t.Parallel()
	const inFlight, calls = 3, 20
	e := pipeline(t, "echo")
	pids := sync.Map{}
	var wg sync.WaitGroup
	for i := range inFlight {
		wg.Go(func() {
			for j := range calls {
				item := fmt.Sprintf("doc-%d-%d", i, j)
				response, err := e.Complete(t.Context(), ask(item))
				if err != nil || !strings.HasPrefix(response.Text, item+" #1") {
					t.Errorf("asked about %s, got %q, %v", item, response.Text, err)
				}
				pid, _, _ := strings.Cut(response.ModelVersion, ":")
				pids.Store(pid, true)
			}
		})
	}
	wg.Wait()
	n := 0
	pids.Range(func(any, any) bool { n++; return true })
	if n < 1 || n > inFlight {
		t.Errorf("%d processes answered, want at most %d", n, inFlight)
	}
}

func TestExecStartsOneShotProcessesAnew(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"once", "once, no line end", "once, slow to go"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := pipeline(t, name)
			for i := range 5 {
				item := fmt.Sprintf("doc-%d", i)
				if got := mustAnswer(t, e, ask(item)).Text; got != item {
					t.Errorf("got %q, want %q", got, item)
				}
			}
		})
	}
}

func TestExecReadsAnswers(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "says")
	tests := []struct{ name, line, text string }{
		{"text", `{"id":"$ID","output":"plain\ttext"}`, "plain\ttext"},
		{"empty text", `{"id":"$ID","output":""}`, ""},
		{"object", `{"id":"$ID","output":{ "b": 1.50, "a": [1, "<x>"] }}`, `{"b":1.50,"a":[1,"<x>"]}`},
		{"list", `{"id":"$ID","output":[ 1, 2 ]}`, `[1,2]`},
		{"other keys", `{"id":"$ID","output":"x","took_ms":12,"Output":"not me"}`, "x"},
		{"null error", `{"id":"$ID","output":"x","error":null}`, "x"},
		{"empty error", `{"id":"$ID","output":"x","error":""}`, "x"},
		{"unreadable usage", `{"id":"$ID","output":"x","usage":[1]}`, "x"},
		{"half a character", `{"id":"$ID","output":"\ud83d!"}`, "\ufffd!"},
		{"its key", `{"id":"$ID","output":"sent ` + secret + `"}`, "sent [key]"},
		{"blank lines and CRLF", "\n \r\n{\"id\":\"$ID\",\"output\":\"x\"}\r", "x"},
	}
	for _, tt := range tests {
		if got := mustAnswer(t, e, saying(tt.line)).Text; got != tt.text {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.text)
		}
	}
}

func TestExecRefusesWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "says")
	tests := []struct {
		name, line string
		kind       eval.ErrorKind
		says       string
		stays      bool // the process is still in step and is kept
	}{
		{"prose", "Loading model \x1b[32m100%\x1b[0m …", eval.ErrMalformed, "not JSON: Loading model 100% …", false},
		{"long prose is cut", strings.Repeat("äb", 200), eval.ErrMalformed, strings.Repeat("äb", 99) + "ä…", false},
		{"not UTF-8", `{"id":"$ID","output":"caf$E9"}`, eval.ErrMalformed, "not UTF-8", false},
		{"a list", `["$ID"]`, eval.ErrMalformed, `no object: ["`, false},
		{"a text", `"$ID"`, eval.ErrMalformed, `no object: "`, false},
		{"a key twice", `{"id":"$ID","output":"x","output":"y"}`, eval.ErrMalformed, "output", true},
		{"JSON logs", `{"level":"info","msg":"ready"}`, eval.ErrMalformed, `no "output": {"level":"info","msg":"ready"}`, false},
		{"no key at all", `{}`, eval.ErrMalformed, `no "output": {}`, false},
		{"no id", `{"output":"x"}`, eval.ErrMalformed, `no "id"`, false},
		{"another id", `{"id":"7","output":"x"}`, eval.ErrMalformed, `"id" "7"`, false},
		{"no output", `{"id":"$ID","result":"x"}`, eval.ErrMalformed, `no "output": {"id":`, true},
		{"null output", `{"id":"$ID","output":null}`, eval.ErrMalformed, `"output" is null`, true},
		{"number", `{"id":"$ID","output":0.5}`, eval.ErrMalformed, `"output" is 0.5`, true},
		{"true", `{"id":"$ID","output":true}`, eval.ErrMalformed, `"output" is true`, true},
		{"error", `{"id":"$ID","error":"out of\nmemory"}`, eval.ErrUnavailable, "the pipeline reported: out of memory", true},
		{"error with its key", `{"id":"$ID","error":"sent ` + secret + `"}`, eval.ErrUnavailable, "sent [key]", true},
		{"error beside output", `{"id":"$ID","error":"no","output":"x"}`, eval.ErrUnavailable, "no", true},
		{"error object", `{"id":"$ID","error":{"code":7}}`, eval.ErrUnavailable, `{"code":7}`, true},
		{"error without id", `{"error":"cannot read the request"}`, eval.ErrUnavailable, "cannot read the request", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := processOf(t, e)
			response, err := e.Complete(t.Context(), saying(tt.line))
			failure(t, err, tt.kind, tt.says)
			if diff := cmp.Diff(eval.Response{}, response); diff != "" {
				t.Errorf("an error came with a response: %s", diff)
			}
			if stays := processOf(t, e) == before; stays != tt.stays {
				t.Errorf("the process was kept: %v, want %v", stays, tt.stays)
			}
		})
	}
}

// processOf is the pid of the process that a client asked by nobody else would ask,
// which is started when there is none.
func processOf(t *testing.T, e *Exec) int {
	t.Helper()
	mustAnswer(t, e, saying(`{"id":"$ID","output":""}`))
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.idle) != 1 {
		t.Fatalf("%d processes wait, want 1", len(e.idle))
	}
	return e.idle[0].cmd.Process.Pid
}

func TestExecSaysHowAProcessEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		part string
		kind eval.ErrorKind
		says []string
	}{
		{"dies at start", eval.ErrUnavailable, []string{"exited without an answer (exit status 3)",
			"standard error: Traceback (most recent call last): cannot load the weights: 403 for https://x/v1?[key] sent [key]", "by hand"}},
		{"leaves at start", eval.ErrUnavailable, []string{"exited without an answer (exit status 0)"}},
		{"half a line", eval.ErrUnavailable, []string{"in the middle of its answer (exit status 1)", "and then he sai"}},
		{"abandons", eval.ErrUnavailable, []string{"exited without an answer (exit status 4)"}},
		{"closes its output", eval.ErrUnavailable, []string{"closed its standard output but is still running"}},
		{"out of order", eval.ErrMalformed, []string{`"of-an-earlier-request"`}},
	}
	for _, tt := range tests {
		t.Run(tt.part, func(t *testing.T) {
			t.Parallel()
			e := pipeline(t, tt.part)
			for range 2 { // another process takes its place, and no answer of before comes late
				_, err := e.Complete(t.Context(), ask("doc"))
				failure(t, err, tt.kind, tt.says...)
			}
		})
	}
}

func TestExecReportsTheDeathOfAProcessThatHasAnswered(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "dies when asked")
	for range 2 {
		mustAnswer(t, e, ask("doc"))
		for !strings.Contains(lastWords(e), "went well") { // they are read on the side
			time.Sleep(time.Millisecond)
		}
		_, err := e.Complete(t.Context(), ask("poison"))
		said := failure(t, err, eval.ErrUnavailable, "exit status 139", "segmentation fault, more or less")
		if strings.Contains(said.Message, "went well") {
			t.Errorf("the error repeats what was written about another request: %v", said)
		}
	}
}

func TestExecKillsWhatHangs(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "hangs")
	var parent, child int
	fmt.Sscan(mustAnswer(t, e, ask("doc")).Text, &parent, &child)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := e.Complete(ctx, ask("doc"))
	failure(t, err, eval.ErrTimeout, "no answer within the time limit", "thinking about it", "execution.timeout")
	for _, pid := range []int{parent, child} {
		if !gone(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if again := mustAnswer(t, e, ask("doc")).Text; strings.HasPrefix(again, fmt.Sprint(parent, " ")) {
		t.Error("no new process has taken its place")
	}
}

// Nobody can catch kill -9: the busy processes of a killed program, and what they
// started, end all the same.
func TestExecEndsWithAKilledProgram(t *testing.T) {
	t.Parallel()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), part+"=employs")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var busy, child int
	if _, err := fmt.Fscan(out, &busy, &child); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{busy, child} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Fatalf("process %d is not there yet: %v", pid, err)
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	for _, pid := range []int{busy, child} {
		if !gone(pid) {
			t.Errorf("process %d is still there", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// gone waits for a process to be no more than a zombie. A grandchild is reaped
// by whoever has adopted it.
func gone(pid int) bool {
	for range 200 {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestExecStopsWithTheContext(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "hangs")
	mustAnswer(t, e, ask("doc"))
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("the run was stopped")) })
	_, err := e.Complete(ctx, ask("doc"))
	failure(t, err, eval.ErrUnavailable, "the run was stopped")
	_, err = e.Complete(ctx, ask("doc"))
	failure(t, err, eval.ErrUnavailable, "the run was stopped")
}

func TestExecLimitsTheLine(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "no end of line")
	e.maxLine = 1 << 20
	_, err := e.Complete(t.Context(), ask("doc"))
	failure(t, err, eval.ErrMalformed, "longer than 1 MB: nananana")
	if maxAnswer != 64<<20 {
		t.Errorf("the limit is %d bytes, want 64 MB", maxAnswer)
	}
}

func TestExecKeepsTheEndOfStandardError(t *testing.T) {
	t.Parallel()
	e := pipeline(t, "floods stderr")
	if got := mustAnswer(t, e, ask("doc")).Text; got != "doc" {
		t.Errorf("got %q", got)
	}
	_, err := e.Complete(t.Context(), ask("poison"))
	said := failure(t, err, eval.ErrUnavailable, "the last words")
	if n := len(said.Message); n < 3<<10 || n > 5<<10 {
		t.Errorf("the message has %d bytes, want about 4096", n)
	}
}

// Keys are removed before lines are joined and before the end of standard error is taken.
func TestExecHidesKeysInStandardError(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\nggSjAgEAAoIBAQC7VJTUt9Us8cKBwmGm1a2b\n-----END PRIVATE KEY-----\n"
	e, err := NewExec("'"+os.Args[0]+"'", ExecOptions{Dir: t.TempDir(), Env: append(os.Environ(), part+"=complains", "SAID="+pem), Pass: []string{part, "SAID"}, Keys: model.NewKeys(pem)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for padding := 0; padding < 200; padding += 9 {
		r := ask("doc")
		r.Replicate = 4096 - padding // bytes that follow the key
		_, err := e.Complete(t.Context(), r)
		if said := failure(t, err, eval.ErrUnavailable, "the end"); strings.Contains(said.Message, "MIIE") || strings.Contains(said.Message, "Gm1a2b") {
			t.Fatalf("%d bytes after the key, it shows in %.300q", r.Replicate, said.Message)
		}
	}
}

func TestExecMovesMoreThanPipesHold(t *testing.T) {
	t.Parallel()
	long, err := json.Marshal(strings.Repeat("x", 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	r := ask("doc")
	r.Payload = long
	// The process writes 256 KB before it reads the first byte of 3 MB.
	if got, want := mustAnswer(t, pipeline(t, "eager"), r).Text, fmt.Sprint(3<<20+2); got != want {
		t.Errorf("the process read %s bytes, want %s", got, want)
	}
	if got := mustAnswer(t, pipeline(t, "writes before it reads"), ask("doc")).Text; got != strings.Repeat("long ", 1<<18) {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewExec(os.Args[0]+` --mode "two words"`, ExecOptions{Dir: dir, Env: []string{
		part + "=environment", "HOME=/home/u", "LC_ALL=C", "OPENAI_API_KEY=sk-0123456789", "COMPANY_LLM=0123456789", "HF_TOKEN=hf_0", "PYTHONPATH=lib", "PWD=/wrong",
	}, Pass: []string{part, "PYTHONPATH", "NOT_SET"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var got struct {
		Names, Args []string
		Dir, PWD    string
	}
	if err := json.Unmarshal([]byte(mustAnswer(t, e, ask("doc")).Text), &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"HOME", "LC_ALL", "PWD", "PYTHONPATH", part}; !slices.Equal(got.Names, want) {
		t.Errorf("environment %q, want %q", got.Names, want)
	}
	if want := []string{"--mode", "two words"}; !slices.Equal(got.Args, want) {
		t.Errorf("arguments %q, want %q", got.Args, want)
	}
	if got.Dir != dir || got.PWD != dir {
		t.Errorf("started in %s with PWD %s, want %s", got.Dir, got.PWD, dir)
	}
}

func TestExecSpeaksOfKeysOnlyByName(t *testing.T) {
	t.Parallel()
	key := "OPENAI_API_KEY=sk-0123456789"
	_, err := pipeline(t, "wants a key", key).Complete(t.Context(), ask("doc"))
	failure(t, err, eval.ErrUnavailable, "OPENAI_API_KEY is not set", "those in execution.environment")
}

func TestWhatCommandsGetOnWindows(t *testing.T) {
	for _, name := range []string{"Path", "SystemRoot", "TEMP", "named"} {
		if !passes(name, []string{"NAMED"}, true) {
			t.Errorf("%s is withheld", name)
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "Named2"} {
		if passes(name, []string{"NAMED"}, true) {
			t.Errorf("%s is passed", name)
		}
	}
	if passes("path", nil, false) {
		t.Error("names have a case elsewhere")
	}
}

func TestExecCloses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		part         string
		grace, least time.Duration
	}{
		{"echo", time.Hour, 0}, // it ends by itself
		{"stubborn", 500 * time.Millisecond, 500 * time.Millisecond},
		{"hangs", 500 * time.Millisecond, 500 * time.Millisecond}, // with a call in flight
	}
	for _, tt := range tests {
		t.Run(tt.part, func(t *testing.T) {
			t.Parallel()
			e := pipeline(t, tt.part)
			e.grace = tt.grace
			mustAnswer(t, e, ask("doc"))
			var inFlight sync.WaitGroup
			if tt.part == "hangs" {
				inFlight.Go(func() {
					_, err := e.Complete(t.Context(), ask("doc"))
					failure(t, err, eval.ErrUnavailable, "signal: killed", "thinking about it")
				})
				for !strings.Contains(lastWords(e), "thinking") {
					time.Sleep(time.Millisecond)
				}
			}
			begun := time.Now()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took < tt.least {
				t.Errorf("closing took %v, want at least %v", took, tt.least)
			}
			inFlight.Wait()
			_, err := e.Complete(t.Context(), ask("doc"))
			failure(t, err, eval.ErrUnavailable, "closed")
			if err := e.Close(); err != nil {
				t.Errorf("closing again: %v", err)
			}
		})
	}
}

// lastWords is what the processes have written to standard error.
func lastWords(e *Exec) (text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.live {
		text += w.stderr.String()
	}
	return text
}

// TestExecLeavesNothing runs everything that goes wrong many times over and
// counts. It does not run beside others.
func TestExecLeavesNothing(t *testing.T) {
	warm := pipeline(t, "echo") // the runtime opens files of its own for the first pipe
	mustAnswer(t, warm, ask("doc"))
	warm.Close()
	before, files := runtime.NumGoroutine(), openFiles(t)
	for _, name := range []string{"echo", "once", "dies at start", "half a line", "hangs", "out of order", "closes its output"} {
		e := pipeline(t, name)
		e.grace = 10 * time.Millisecond
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				_, _ = e.Complete(ctx, ask("doc"))
			})
		}
		wg.Wait()
		e.Close()
	}
	if err := leaks(before); err != nil {
		t.Error(err)
	}
	if now := openFiles(t); now > files {
		t.Errorf("%d files are open, %d were before", now, files)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("the open files cannot be counted here:", err)
	}
	return len(list)
}

func TestNewExecChecksTheProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.py"), []byte("#!/usr/bin/env python3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, says := range map[string]string{
		"":                           "no program",
		"no-such-program-here --x":   "install it, or write ./no-such-program-here",
		"./missing.py":               "no such file",
		"./run.py":                   "permission denied",
		"python3 run.py | tee x":     "needs a shell",
		filepath.Join(dir, "absent"): "no such file",
	} {
		if _, err := NewExec(command, ExecOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("command %q: got %v, want an error that says %q", command, err, says)
		}
	}
}

func TestExecNamesAProgramThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("print('no first line')\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := NewExec("./run", ExecOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Complete(t.Context(), ask("doc"))
	failure(t, err, eval.ErrBadRequest, `starting "./run"`, "#!/usr/bin/env python3")
}

func TestExecRefusesAPayloadThatIsNotJSON(t *testing.T) {
	e := pipeline(t, "echo")
	r := ask("doc")
	r.Payload = json.RawMessage(`{"cut`)
	_, err := e.Complete(t.Context(), r)
	failure(t, err, eval.ErrBadRequest, `item "doc"`)
	r.Payload = nil
	if got := mustAnswer(t, e, r).Text; got != "doc #1 null" {
		t.Errorf("without a payload: got %q", got)
	}
}

// Of large answers a few are in memory at a time, over all processes and services.
// Small ones do not wait for them.
func TestExecLargeAnswersWaitForEachOther(t *testing.T) {
	e := pipeline(t, "says")
	answer := func(size int) *eval.Request {
		return saying(`{"id": "$ID", "output": "` + strings.Repeat("x", size) + `"}`)
	}
	begin := time.Now()
	mustAnswer(t, e, answer(2<<20))
	limit := max(300*time.Millisecond, 3*time.Since(begin)) // it would be enough
	var held [4]model.Place
	for i := range held {
		if err := held[i].Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var failure *model.Error
	if _, err := e.Complete(short, answer(2<<20)); !errors.As(err, &failure) || failure.Kind != eval.ErrTimeout {
		t.Errorf("a fifth large answer was read: %v", err)
	}
	if got := mustAnswer(t, e, answer(100)); len(got.Text) != 100 {
		t.Errorf("a small answer has %d bytes", len(got.Text))
	}
	for i := range held {
		held[i].Leave()
	}
	for range 5 { // each leaves its place
		if got := mustAnswer(t, e, answer(2<<20)); len(got.Text) != 2<<20 {
			t.Errorf("a large answer has %d bytes", len(got.Text))
		}
	}
}

// A line asks for its place before more of it is kept than any answer may have, and is
// not read further without one.
func TestLongLinesAskForAPlace(t *testing.T) {
	line := strings.Repeat("x", 3*model.Ordinary/2) + "\n"
	for _, c := range []struct {
		text  string
		asked bool
	}{{"short\n", false}, {line[len(line)-model.Ordinary:], false}, {line, true}} {
		asked := false
		got, err := readLine(bufio.NewReaderSize(strings.NewReader(c.text), 64<<10), maxAnswer, func() error { asked = true; return nil })
		if err != nil || string(got) != c.text || asked != c.asked {
			t.Errorf("of %d bytes %d are read, %v, place %v", len(c.text), len(got), err, asked)
		}
	}
	none := errors.New("no place")
	if got, err := readLine(bufio.NewReaderSize(strings.NewReader(line), 64<<10), maxAnswer, func() error { return none }); err != none || len(got) > model.Ordinary {
		t.Errorf("without a place %d bytes are kept, %v", len(got), err)
	}
}

// What looks at the files of a program keeps no other call waiting.
func TestChangedHoldsNothing(t *testing.T) {
	e := pipeline(t, "echo")
	e.options.Changed = func() bool {
		free := e.mu.TryLock()
		if free {
			e.mu.Unlock()
		}
		return !free
	}
	mustAnswer(t, e, ask("doc"))
	e = pipeline(t, "echo")
	e.options.Changed = func() bool { return true }
	if _, err := e.Complete(t.Context(), ask("doc")); err == nil || !strings.Contains(err.Error(), "the program changed") {
		t.Errorf("a changed program answers: %v", err)
	}
}
