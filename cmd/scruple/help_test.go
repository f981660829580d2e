package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The examples in the help of all verbs run in their order in an empty folder, with a
// tagged text, a list of reports, a study of synthetic documents and one of
// people's judgements.
func TestExamplesRun(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTestFile(t, "tagged.conll", "Anna\tB-person\nleft\tO\n")
	writeTestFile(t, "reports.csv", "id,title,type\n1,One,Impact\n2,Two,Other\n3,Three,Impact\n")
	writeTestFile(t, "phase1.yaml", "name: phase1\nsuite: extraction\ndata: {source: synthetic}\narms: [{name: heuristic}]\n")
	if code, _, errs := cli(t, "init", "soundness", "judged"); code != exitOK {
		t.Fatal(errs)
	}
	for _, c := range newRoot(&app{}).Commands() {
		lines := strings.Split(strings.TrimSpace(c.Example), "\n")
		if c.Name() == "help" || c.Name() == "completion" || !c.Runnable() { // a topic
			continue
		}
		if c.Example == "" || len(lines) > 2 {
			t.Errorf("the help of %s has %d examples, want one or two", c.Name(), len(lines))
			continue
		}
		for _, line := range lines {
			args := words(line)
			if len(args) < 2 || args[0] != "scruple" || args[1] != c.Name() {
				t.Errorf("%q is no example of %s", line, c.Name())
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

// Help lists the verbs in the order of work.
func TestVerbsInOrderOfWork(t *testing.T) {
	var got []string
	for _, c := range newRoot(&app{}).Commands() {
		got = append(got, c.Name())
	}
	want := []string{"init", "validate", "plan", "run", "status", "show", "report", "compare", "gate", "score", "export", "measure"}
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
