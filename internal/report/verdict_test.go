package report

import (
	"encoding/xml"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/gate"
)

func TestGateFormats(t *testing.T) {
	for _, name := range fixtures() {
		golden(t, name+".gate.md", render(t, load(t, name), GateMarkdown))
		golden(t, name+".gate.xml", render(t, load(t, name), GateJUnit))
	}
}

// A JUnit file is well-formed for any data, its counts are right, and it fails if and
// only if the gate does.
func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := hostile(rt, t)
		if r.Verdict == nil {
			return
		}
		var got junitSuites
		d := xml.NewDecoder(strings.NewReader(render(t, r, GateJUnit)))
		if err := d.Decode(&got); err != nil {
			rt.Fatal(err)
		}
		if rest, err := d.Token(); err != nil || strings.TrimSpace(string(rest.(xml.CharData))) != "" {
			rt.Fatalf("%v and %v behind the file", rest, err)
		}
		var failures, errors, skipped int
		for _, c := range got.Suite.Cases {
			switch {
			case c.Failure != nil:
				failures++
			case c.Error != nil:
				errors++
			case c.Skipped != nil:
				skipped++
			}
		}
		s := got.Suite
		if s.Failures != failures || s.Errors != errors || s.Skipped != skipped || s.Tests != len(s.Cases) || got.Tests != s.Tests || s.Tests != len(r.Verdict.Conditions)+1 {
			rt.Fatalf("the counts are wrong: %+v", got)
		}
		last := s.Cases[len(s.Cases)-1]
		if (last.Failure != nil) != (r.Verdict.State == gate.Fail) || (last.Failure == nil && last.Error == nil) != (r.Verdict.State == gate.Pass) {
			rt.Fatalf("the gate is %s, and its test case is %+v", r.Verdict.State, last)
		}
	})
}
