package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkScore100k scores, analyses and reports 104,400 field answers again: 18,000
// trials on the 200 synthetic documents. The goal is 5 s and 300 MB on two cores.
// peak-MB is the largest memory of this process, which also made the answers.
//
//	go test ./cmd/scruple -run xxx -bench Score100k -benchtime 3x
func BenchmarkScore100k(b *testing.B) {
	study := filepath.Join(b.TempDir(), "study.yaml")
	if err := os.WriteFile(study, []byte(`name: hundred
suite: extraction
data: {source: synthetic}
models:
  - {id: a, provider: simulated, skill: {miss: 0.05, wrong: 0.05, invent: 0.05, fabricate: 0.03}}
  - {id: b, provider: simulated, skill: {miss: 0.10, wrong: 0.08, invent: 0.10, fabricate: 0.06, malformed: 0.01}}
arms:
  - {name: ctn, builtin: ctn_extraction}
  - {name: idiomatic, builtin: idiomatic}
  - {name: literal, builtin: literal}
  - {name: long, builtin: idiomatic_long}
comparisons:
  - {a: ctn, b: idiomatic, primary: true}
  - {a: ctn, b: literal}
execution: {replicates: 10, concurrency: 8}
`), 0o600); err != nil {
		b.Fatal(err)
	}
	do := func(verb string) {
		var out bytes.Buffer
		if code := execute(b.Context(), []string{verb, study}, strings.NewReader(""), &out, &out, func(string) string { return "" }); code != exitOK {
			b.Fatalf("%s: exit %d\n%s", verb, code, &out)
		}
	}
	do("run")
	for b.Loop() {
		do("score")
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if found := regexp.MustCompile(`VmHWM:\s*(\d+)`).FindSubmatch(status); found != nil {
			kB, _ := strconv.ParseFloat(string(found[1]), 64)
			b.ReportMetric(kB/1024, "peak-MB")
		}
	}
}
