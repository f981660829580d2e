//go:build unix

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// part is the variable that turns this test binary into a pipeline.
const part = "SCRUPLE_TEST_PIPELINE"

func TestMain(m *testing.M) {
	if name := os.Getenv(part); name != "" {
		play, ok := parts[name]
		if !ok {
			panic("there is no part " + name)
		}
		play(&stage{in: bufio.NewReaderSize(os.Stdin, 1<<20)})
		os.Exit(0)
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	if fuzzing := flag.Lookup("test.fuzz"); fuzzing != nil && fuzzing.Value.String() != "" {
		os.Exit(code) // which has processes and goroutines of its own
	}
	if err := leaks(before); err != nil {
		fmt.Fprintln(os.Stderr, "after all tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// leaks reports what the tests have left behind: children, dead or alive, that
// nobody has waited for, and goroutines.
func leaks(before int) error {
	deadline := time.Now().Add(5 * time.Second)
	for ; runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines instead of %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		return fmt.Errorf("a child is left: pid %d, %v", pid, err)
	}
	return nil
}

// A stage is what a part plays on.
type stage struct {
	in    *bufio.Reader
	asked []asked
}

// next reads a request; it is false when there are no more.
func (s *stage) next() (asked, bool) {
	line, err := s.in.ReadString('\n')
	if err == io.EOF {
		return asked{}, false
	}
	var a asked
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		panic(err)
	}
	s.asked = append(s.asked, a)
	return a, true
}

func (s *stage) must() asked {
	a, ok := s.next()
	if !ok {
		os.Exit(0)
	}
	return a
}

// answerLine writes an answer line: keys and values, and the id.
func answerLine(id string, pairs ...any) {
	m := map[string]any{"id": id}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}

// each answers every request.
func each(do func(s *stage, a asked)) func(*stage) {
	return func(s *stage) {
		for {
			a, ok := s.next()
			if !ok {
				return
			}
			do(s, a)
		}
	}
}

// parts are the pipelines the tests run.
var parts = map[string]func(*stage){
	// echo says what it was asked, which process it is, and how many requests
	// it has had.
	"echo": each(func(s *stage, a asked) {
		answerLine(a.ID, "output", fmt.Sprintf("%s #%d %s", a.Item, a.Replicate, a.Input),
			"model", fmt.Sprintf("%d:%d", os.Getpid(), len(s.asked)), "usage", map[string]int{"input_tokens": 3, "output_tokens": 5})
	}),
	// says writes its input as it stands, with the id and a stray byte put in.
	"says": each(func(_ *stage, a asked) {
		var line string
		if err := json.Unmarshal(a.Input, &line); err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strings.NewReplacer("$ID", a.ID, "$E9", "\xe9").Replace(line) + "\n")
	}),
	"once": func(s *stage) {
		a := s.must()
		answerLine(a.ID, "output", a.Item)
	},
	"once, no line end": func(s *stage) {
		a := s.must()
		fmt.Printf(`{"id":%q,"output":%q}`, a.ID, a.Item)
	},
	"once, slow to go": func(s *stage) {
		a := s.must()
		answerLine(a.ID, "output", a.Item)
		time.Sleep(300 * time.Millisecond)
	},
	"dies at start": func(*stage) {
		fmt.Fprintln(os.Stderr, "Traceback (most recent call last):\n  cannot load the weights: 403 for https://x/v1?key=AIzaOther, sent "+secret)
		os.Exit(3)
	},
	"leaves at start": func(*stage) {},
	"dies when asked": each(func(s *stage, a asked) {
		if a.Item == "poison" {
			fmt.Fprintln(os.Stderr, "segmentation fault, more or less")
			os.Exit(139)
		}
		fmt.Fprintln(os.Stderr, "item", a.Item, "went well")
		answerLine(a.ID, "output", a.Item)
	}),
	"half a line": func(s *stage) {
		a := s.must()
		fmt.Printf(`{"id":%q,"output":"and then he sai`, a.ID)
		os.Exit(1)
	},
	// hangs answers with the pids of itself and of a child, then hangs.
	"hangs": func(s *stage) {
		a := s.must()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), part+"=sleeps")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr // so that it holds the pipes
		if err := child.Start(); err != nil {
			panic(err)
		}
		answerLine(a.ID, "output", fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid))
		s.must()
		fmt.Fprintln(os.Stderr, "thinking about it")
		time.Sleep(time.Hour)
	},
	// employs has a command that hangs, and says the pids that it got from it.
	"employs": func(*stage) {
		e, err := NewExec("'"+os.Args[0]+"'", ExecOptions{Env: []string{part + "=hangs"}, Pass: []string{part}})
		if err != nil {
			panic(err)
		}
		response, err := e.Complete(context.Background(), ask("doc"))
		if err != nil {
			panic(err)
		}
		fmt.Println(response.Text)
		_, err = e.Complete(context.Background(), ask("doc"))
		panic(err)
	},
	"sleeps": func(*stage) { time.Sleep(time.Hour) },
	// abandons exits while a child of it holds on to its pipes.
	"abandons": func(s *stage) {
		s.must()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), part+"=sleeps")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		os.Exit(4)
	},
	// stubborn does not end when its standard input does.
	"stubborn": func(s *stage) {
		a := s.must()
		answerLine(a.ID, "output", a.Item)
		if _, more := s.next(); !more {
			time.Sleep(time.Hour)
		}
	},
	"closes its output": func(s *stage) {
		s.must()
		os.Stdout.Close()
		time.Sleep(time.Hour)
	},
	// out of order answers a request nobody made, then the one that was.
	"out of order": func(s *stage) {
		first := s.must()
		answerLine("of-an-earlier-request", "output", "late")
		answerLine(first.ID, "output", first.Item)
		time.Sleep(time.Hour)
	},
	"floods stderr": each(func(_ *stage, a asked) {
		line := strings.Repeat("x", 1023) + "\n"
		for range 1024 { // more than any pipe holds
			os.Stderr.WriteString(line)
		}
		fmt.Fprintln(os.Stderr, "the last words")
		if a.Item == "poison" {
			os.Exit(1)
		}
		answerLine(a.ID, "output", a.Item)
	}),
	// complains of SAID, and then as many bytes as there are replicates.
	"complains": each(func(_ *stage, a asked) {
		end := "the end\n"
		fmt.Fprint(os.Stderr, strings.Repeat("before ", 1000)+os.Getenv("SAID")+strings.Repeat("x", a.Replicate-len(end))+end)
		os.Exit(1)
	}),
	// writes first more than a pipe holds, and reads then.
	"writes before it reads": each(func(_ *stage, a asked) {
		answerLine(a.ID, "output", strings.Repeat("long ", 1<<18))
	}),
	"eager": func(s *stage) {
		os.Stdout.WriteString(strings.Repeat("\n", 1<<18))
		each(func(_ *stage, a asked) { answerLine(a.ID, "output", strconv.Itoa(len(a.Input))) })(s)
	},
	"no end of line": func(s *stage) {
		s.must()
		for {
			os.Stdout.WriteString(strings.Repeat("na", 1<<15))
		}
	},
	"environment": each(func(_ *stage, a asked) {
		names := []string{}
		for _, v := range os.Environ() {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		dir, _ := os.Getwd()
		answerLine(a.ID, "output", map[string]any{"names": names, "dir": dir, "pwd": os.Getenv("PWD"), "args": os.Args[1:]})
	}),
	"wants a key": func(s *stage) {
		s.must()
		if os.Getenv("OPENAI_API_KEY") == "" {
			fmt.Fprintln(os.Stderr, "OPENAI_API_KEY is not set")
		}
		os.Exit(1)
	},
}
