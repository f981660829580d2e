package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// checkLoaded holds for every study that loads: its canonical form is JSON, is
// itself a study, and is the same one.
func checkLoaded(t *testing.T, f *File) {
	t.Helper()
	canonical := f.Canonical()
	if !json.Valid(canonical) {
		t.Fatalf("the canonical form is not JSON: %s", canonical)
	}
	var c contracts
	again, err := load("again.yaml", canonical, nil, &c)
	if err != nil {
		if len(canonical) > maxBytes {
			return
		}
		t.Fatalf("the canonical form does not load: %v\n%s", err, canonical)
	}
	if !bytes.Equal(canonical, again.Canonical()) {
		t.Fatalf("read again, the canonical form differs:\n%s\n%s", canonical, again.Canonical())
	}
}

// checkRefused holds for every error: it is a list of findings, each with its
// position, that can be printed on a terminal.
func checkRefused(t *testing.T, err error) {
	t.Helper()
	var list Errors
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("not a list of findings: %T %v", err, err)
	}
	for _, e := range list {
		s := e.Error()
		if !strings.HasPrefix(s, "study.yaml") && !strings.HasPrefix(s, "-o ") {
			t.Fatalf("no position: %q", s)
		}
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			t.Fatalf("not for a terminal: %q", s)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		contractsYAML, "", "a", "- a", "{", "a: &x [*x]", "? a\n: b", "a: |\n  b\n", "\ufeffname: n\r\nsuite: s\r\n",
		minimal("models: [&a {id: a, provider: p}, {<<: *a, id: b}]"), minimal("execution: {timeout: 1e1, retries: []}"),
		minimal("description: \"\\u2028\\t\\x85\""), minimal("metrics: {composite_weights: {'a.b': 1e-9, \"c]\": 0.999999999}}"),
		"a: !!str x", "---\n...\n---", "%YAML 1.2\n---\na: 1", "name: sk-proj-0123456789ab", "a:\n\tb", "0: 1\n00: 2",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c contracts
		file, err := load("study.yaml", data, nil, &c)
		if err != nil {
			checkRefused(t, err)
			return
		}
		checkLoaded(t, file)
	})
}

func FuzzOverride(f *testing.F) {
	for _, s := range []string{
		"execution.concurrency=8", "kernels[0].enabled=false", "models[fake].name=x", "models[1]={id: b, provider: p}", "a.b[0][0].c=1",
		"name=", "kernels[h]=", "=", "[", "a[b", "[a]=1", "execution.retries[0]=1", "metrics.composite_weights[x.y]=0", "name=\"\\n\"", "x=\x00", "\xff=1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, override string) {
		var c contracts
		file, err := load("study.yaml", []byte(contractsYAML), []string{override}, &c)
		if err != nil {
			checkRefused(t, err)
			return
		}
		checkLoaded(t, file)
	})
}

func FuzzDotEnv(f *testing.F) {
	for _, s := range []string{"A=b", "export A='b' # c", `A="\n\\"`, "A", "=", "A=\"", "A='", "\ufeffA=1\r\nB=2", "A=1\nA=2", "export=1", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parseDotEnv(".env", data); err != nil && !strings.HasPrefix(err.Error(), ".env") {
			t.Fatalf("no position: %v", err)
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"30s", "1m30s", "0.5", "-1", "1e3", "9999999h", ".", "s", "1.", ".5h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDuration(s)
		if err != nil {
			return
		}
		if again, err := parseDuration(d.String()); d < 0 || err != nil || again != d {
			t.Fatalf("%q is %v, which is read as %v, %v", s, d, again, err)
		}
	})
}
