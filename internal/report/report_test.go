package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/gate"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fixtures are reports in testdata. "study" is a typical study: four arms, three
// document types, undefined values, warnings, a simulated arm. "hostile" is the
// same with texts that try to become markup or to control a terminal.
func fixtures() []string { return []string{"study", "hostile"} }

func load(t testing.TB, name string) Report {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Analysis *analyse.Analysis
		Verdict  *gate.Verdict
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatalf("reading fixture %s: %v", name, err)
	}
	return Report{Analysis: f.Analysis, Verdict: f.Verdict}
}

func render(t testing.TB, r Report, write func(io.Writer, Report) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func onTerminal(opt TerminalOptions) func(io.Writer, Report) error {
	return func(w io.Writer, r Report) error { return Terminal(w, r, opt) }
}

// TestGolden writes every format twice: writing one changes neither the report nor
// the output of the others.
func TestGolden(t *testing.T) {
	formats := append(Formats(),
		Format{"terminal verbose", ".verbose.txt", onTerminal(TerminalOptions{Verbose: true})},
		Format{"terminal in colour", ".colour.txt", onTerminal(TerminalOptions{Verbose: true, Color: true, Width: 100})})
	for _, name := range fixtures() {
		r := load(t, name)
		for _, f := range append(formats, formats...) {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				golden(t, name+f.Ext, render(t, r, f.Render))
			})
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", file)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if it should:\n%s", path, diff)
	}
}

func TestNothingToReport(t *testing.T) {
	for _, f := range Formats() {
		if err := f.Render(io.Discard, Report{}); err == nil {
			t.Errorf("%s of no analysis: want an error", f.Name)
		}
		empty := Report{Analysis: &analyse.Analysis{}}
		if got := render(t, empty, f.Render); got == "" {
			t.Errorf("%s of an empty analysis is empty", f.Name)
		}
	}
}

// JSON decodes to the same analysis and verdict.
func TestJSONReadsBack(t *testing.T) {
	for _, name := range fixtures() {
		first := render(t, load(t, name), JSON)
		var back struct {
			Analysis *analyse.Analysis
			Verdict  *gate.Verdict
		}
		if err := json.Unmarshal([]byte(first), &back); err != nil {
			t.Fatal(err)
		}
		if again := render(t, Report{Analysis: back.Analysis, Verdict: back.Verdict}, JSON); again != first {
			t.Errorf("JSON of %s is not the same after reading it back", name)
		}
	}
}
