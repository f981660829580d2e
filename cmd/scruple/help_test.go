package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/suites"
)

// The examples in the help of all verbs run in their order in an empty folder, with a
// tagged text, a list of reports, a study of synthetic documents and one of
// people's judgements.
func TestExamplesRun(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTestFile(t, "tagged.conll", "Anna\tB-person\nleft\tO\n")
	for _, model := range []string{"old", "new"} {
		writeTestFile(t, model+".eval", `{"version": 2, "status": "success", "eval": {"task": "t", "model": "`+model+`"}, "samples": [{"id": 1, "scores": {"match": {"value": "C"}}}]}`)
	}
	writeTestFile(t, "theirs.jsonl", "") // of a branch without entries
	writeTestFile(t, "reports.csv", "id,title,type\n1,One,Impact\n2,Two,Other\n3,Three,Impact\n")
	writeTestFile(t, "phase1.yaml", "name: phase1\nsuite: extraction\ndata: {source: synthetic}\narms: [{name: heuristic}]\n")
	if code, _, errs := cli(t, "init", "soundness", "judged"); code != exitOK {
		t.Fatal(errs)
	}
	for _, topic := range topics() {
		if n := len(topic.examples); n > 2 || n == 0 && len(topic.args) > 0 && topic.args[0] != "COMMAND" && !strings.HasPrefix(topic.path, "blind ") && topic.path != "stop" { // which needs workers
			t.Errorf("the help of %s has %d examples, want one or two", topic.path, n)
		}
		for _, line := range topic.examples {
			args := words(line)
			if !strings.HasPrefix(line+" ", "scruple "+topic.path+" ") {
				t.Errorf("%q is no example of %s", line, topic.path)
				continue
			}
			var errs bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			if code := execute(ctx, args[1:], strings.NewReader(""), untilServing(cancel), &errs, func(string) string { return "" }); code != exitOK {
				t.Errorf("%s: exit code %d\n%s", line, code, errs.String())
			}
			cancel()
		}
	}
}

// The front page has the twelve verbs of most studies, each with what it does.
func TestFrontPage(t *testing.T) {
	code, page, errs := cli(t, "--help")
	if code != exitOK || len(front) != 12 {
		t.Fatalf("exit code %d, %d verbs\n%s", code, len(front), errs)
	}
	for _, name := range front {
		if !strings.Contains(page, "\n  "+name+" ") {
			t.Errorf("no %s on the front page:\n%s", name, page)
		}
	}
	if lines := strings.Count(page, "\n"); lines > 40 {
		t.Errorf("the front page has %d lines", lines)
	}
}

// untilServing ends a verb that serves pages when it says how to end it.
type untilServing context.CancelFunc

func (end untilServing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("Ctrl-C")) {
		end()
	}
	return len(p), nil
}

// Every command is in help.md and everything there is a command: what suites declare, and
// groups. A name that a command had is an error that says the new one.
func TestHelpHasEveryCommand(t *testing.T) {
	described := map[string]topic{}
	for _, topic := range topics() {
		described[topic.path] = topic
	}
	for path := range verbs {
		if described[path].short == "" {
			t.Errorf("help.md does not describe %s", path)
		}
	}
	for _, s := range suites.All() {
		for _, own := range s.Commands {
			if _, ok := described[s.Name+" "+own.Name]; !ok {
				t.Errorf("help.md has no %s %s", s.Name, own.Name)
			}
		}
		if _, ok := described[s.Name+" explain"]; ok != (s.Explain != nil) {
			t.Errorf("help.md has %s explain: %v", s.Name, ok)
		}
		if _, ok := described[s.Name+" appendix"]; ok != (len(s.Appendices) > 0) {
			t.Errorf("help.md has %s appendix: %v", s.Name, ok)
		}
	}
	for _, path := range slices.Concat(asking, settable, looking) {
		if verbs[path].do == nil {
			t.Errorf("no command %s takes flags", path)
		}
	}
	for old, now := range moved {
		if code, _, errs := cli(t, old, "study.yaml", "--flag"); code != exitUsage || !strings.Contains(errs, "scruple "+now) {
			t.Errorf("%s: exit code %d: %s", old, code, errs)
		}
	}
}

// A verb asks only for flags that a command of help.md has, by their kind.
func TestFlagsAreInHelp(t *testing.T) {
	kinds := map[string]string{"is": "", "text": "string", "number": "int", "time": "duration", "list": "string"}
	has := map[string]bool{}
	for _, topic := range topics() {
		for _, line := range topic.flags {
			form := flagForm.FindStringSubmatch(line)
			has[form[2]+" "+strings.TrimRight(strings.TrimSuffix(form[3], "Array"), "s")] = true
		}
	}
	files, err := filepath.Glob("*.go")
	must(t, err)
	n := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		must(t, err)
		for _, m := range regexp.MustCompile(`\bo\.(is|text|number|time|list)\("([a-z-]+)"\)`).FindAllStringSubmatch(string(source), -1) {
			n++
			if !has[m[2]+" "+kinds[m[1]]] {
				t.Errorf("%s asks for --%s by %s: no command of help.md has such a flag", file, m[2], m[1])
			}
		}
	}
	if n < 80 {
		t.Errorf("%d flags are asked for, want them all", n)
	}
}

// Flags are only where they act: what looks at runs takes no settings.
func TestFlagsOfVerbs(t *testing.T) {
	for path, flags := range map[string][4]bool{"run": {true, true, true, true}, "show": {false, false, true, false}, "status": {false, false, true, false},
		"export": {true, false, true, false}, "test ledger show": {}, "view": {}, "test register": {true, true, true, true}} {
		c, _, err := newRoot(&app{}).Find(strings.Fields(path))
		must(t, err)
		for i, name := range []string{"override", "seed", "split", "temperature"} {
			if has := c.Flags().Lookup(name) != nil; has != flags[i] {
				t.Errorf("%s has --%s: %v", path, name, has)
			}
		}
	}
}

// Help lists the verbs in the order of work.
func TestVerbsInOrderOfWork(t *testing.T) {
	var got []string
	for _, c := range newRoot(&app{}).Commands() {
		got = append(got, c.Name())
	}
	want := []string{"init", "validate", "plan", "run", "status", "show", "report", "compare", "gate", "score", "export", "stats"}
	at := -1
	for _, name := range want {
		i := slices.Index(got, name)
		if i <= at {
			t.Errorf("%s is not in its place in %v", name, got)
		}
		at = i
	}
}

// No flag of a suite is in the help of a verb, and none but those of its verbs.
func TestHelpOfVerbsIsWithoutSuites(t *testing.T) {
	var every func(c *cobra.Command)
	every = func(c *cobra.Command) {
		usage := c.UsageString()
		for _, flag := range []string{"--attack", "--defence", "--shuffle"} {
			if strings.Contains(usage, flag) {
				t.Errorf("the help of %s shows %s", c.CommandPath(), flag)
			}
		}
		for _, sub := range c.Commands() {
			every(sub)
		}
	}
	every(newRoot(&app{}))
}

// The commands are made for every command line: that reads none of what a suite embeds, which
// took half of the time of a short command.
func TestCommandsAreMadeQuickly(t *testing.T) {
	newRoot(&app{}) // the suites are made once
	if n := testing.AllocsPerRun(3, func() { newRoot(&app{}) }); n > 5000 {
		t.Errorf("%.0f allocations, want at most 5,000 (there were 2,500)", n)
	}
}
