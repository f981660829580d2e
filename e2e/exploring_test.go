//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inferential matches what only a test may say: p-values, and words that claim a result.
var inferential = regexp.MustCompile(`(?i)(^|[^</\w])p[\s\x{a0}]*(adjusted)?[\s\x{a0}]*([<=>≤]|&[lg]t;)[\s\x{a0}]*[0-9.]|p-value|"p(_adjusted)?":\s*[0-9]|"(t|low|high|equivalence_low)":\s*-?[0-9.]+,?\s*"level"|significan|p adjusted|rejects? 0|evidence of a difference|\bbeats\b|does worse than|interval (contains|excludes) 0`)

// A DEV run prints no p-value and claims no result, whatever shows it, and so does a run
// without a split that has items marked dev.
func TestExploringHasNoTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, method, data string) string {
		study := filepath.Join(dir, name+".yaml")
		writeTestFile(t, study, `name: `+name+`
suite: extraction
`+data+`
arms: [{name: ctn_extraction}, {name: idiomatic}]
models: [{id: m, provider: simulated, name: m, skill: {miss: 0.3, arms: {ctn_extraction: {miss: 0.1, wrong: 0.1}}}}]
comparisons: [{a: ctn_extraction, b: idiomatic, primary: true}, {a: ctn_extraction, b: null_baseline}]
metrics: {primary: [composite, hallucination], secondary: [value, fabrication, parse_failure]}
statistics: {method: `+method+`, correction: holm, resamples: 1000}
decide:
  require: [{name: better, that: "p('ctn_extraction','idiomatic','composite') < 0.05"}]
  outcomes: [{name: A, when: "diff_low('ctn_extraction','idiomatic','composite') > 0", verdict: pass}, {name: B, verdict: fail}]
  diagnose: [{name: Q1, when: "diff('ctn_extraction','idiomatic','composite') > 0"}]
`)
		return study
	}
	shown := 0
	check := func(what, text string) {
		t.Helper()
		shown += len(text)
		for _, found := range inferential.FindAllStringIndex(text, -1) {
			t.Errorf("%s: %q", what, text[max(0, found[0]-100):min(len(text), found[1]+60)])
		}
	}
	see := func(args ...string) {
		t.Helper()
		code, out, errs := scrupleIn(t, dir, args...)
		if code != exitOK && code != exitNotAllowed {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
		check(strings.Join(args, " "), out+errs)
	}
	const marked = "data: {source: synthetic, seed: 7, count: 60}"
	for _, study := range []string{write("paired_ttest", "auto", "split: dev\n"+marked), write("mixed_effects", "mixed_effects", "split: dev\n"+marked), write("whole", "auto", marked)} {
		see("run", study)
		see("run", study, "--json")
		see("gate", study)
		for _, format := range []string{"terminal", "markdown", "json", "html"} {
			see("report", study, "--format", format)
		}
		see("report", study, "--verbose")
		for _, format := range []string{"markdown", "junit", "json"} {
			see("gate", study, "--format", format)
		}
		see("compare", study)
		see("compare", study, "--json")
		see("show", study, "--worst", "5")
		see("score", study)
		see("status", study, "--json")
	}
	study := filepath.Join(dir, "paired_ttest.yaml")
	for _, table := range []string{"summary", "scores", "outcomes", "calls"} {
		see("export", study, "--table", table)
		see("export", study, "--table", table, "--format", "csv")
	}
	see("run", study, "--new", "--no-reuse", "-o", "execution.seed=9")
	see("compare", "paired_ttest-1", "paired_ttest-2", "--store", filepath.Join(dir, ".scruple", "scruple.db"))
	see("compare", "paired_ttest-1", "paired_ttest-2", "--store", filepath.Join(dir, ".scruple", "scruple.db"), "--json")
	see("run", filepath.Join(dir, "whole.yaml"), "--new", "--no-reuse", "-o", "execution.seed=9")
	see("compare", "whole-1", "whole-2", "--store", filepath.Join(dir, ".scruple", "scruple.db"))
	files, err := filepath.Glob(filepath.Join(dir, "results", "*", "dev", "*"))
	must(t, err)
	whole, err := filepath.Glob(filepath.Join(dir, "results", "whole", "*.*"))
	must(t, err)
	if files = append(files, whole...); len(files) != 9 {
		t.Errorf("%d files of reports, want 9", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		check(file, string(text))
	}
	base := startView(t, study)
	for _, at := range append(pagesOf(t, base, 3), "compare?a=paired_ttest-1%3Actn_extraction&b=paired_ttest-2%3Aidiomatic&analyse=1") {
		r, err := http.Get(base + at)
		must(t, err)
		body, err := io.ReadAll(r.Body)
		must(t, err)
		r.Body.Close()
		check("page "+at, string(body))
	}
	if shown < 1_000_000 {
		t.Errorf("only %d bytes were checked", shown)
	}
	// The pattern finds what it should: the same study on documents without marks.
	code, _, errs := scrupleIn(t, dir, "extraction", "generate", "marked", "--seed", "7")
	if code != exitOK {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "marked", "dev.jsonl"))
	must(t, err)
	unmarked := bytes.ReplaceAll(text, []byte(`"split":"dev"`), []byte(`"split":""`))
	if bytes.Equal(unmarked, text) {
		t.Fatal("the generated documents have no split")
	}
	writeTestFile(t, filepath.Join(dir, "unmarked.jsonl"), string(unmarked))
	study = write("unmarked", "auto", "data: {source: jsonl, path: unmarked.jsonl}")
	code, _, errs = scrupleIn(t, dir, "run", study)
	if code != exitOK {
		t.Fatal(errs)
	}
	pValue := regexp.MustCompile(strings.Split(inferential.String(), "|p-value")[0])
	for _, format := range []string{"terminal", "markdown", "html"} {
		if _, out, _ := scrupleIn(t, dir, "report", study, "--format", format); !pValue.MatchString(out) {
			t.Errorf("the pattern finds no p-value in a %s report with tests", format)
		}
	}
	if _, out, _ := scrupleIn(t, dir, "report", study, "--format", "json"); !inferential.MatchString(out) {
		t.Error("the pattern finds no p-value in a JSON report with tests")
	}
}
