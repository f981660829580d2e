package kit

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// While a run asks a program, its files are read again only if their size or time changed; at
// its end all are.
func TestProgramIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.bin")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(content string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	same := func(rel string) string { return rel }
	write("one", at)
	p := eval.Pipeline{Kind: kindExec}
	if err := (&Planner{Resolve: same, Program: same}).program(&p, Outside{Exec: "pipe", Watch: []string{path}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		content    string
		after      time.Duration
		some, then bool
	}{
		{"one", 0, false, false},
		{"two", 0, false, true},
		{"one", time.Minute, false, false},
		{"two", time.Hour, true, true},
		{"longer", time.Hour, true, true},
	} {
		write(c.content, at.Add(c.after))
		if some, all := p.Changed(false), p.Changed(true); some != c.some || all != c.then {
			t.Errorf("%q after %v changed: %v, and if all is read %v", c.content, c.after, some, all)
		}
	}
	if err := os.Remove(path); err != nil || !p.Changed(false) {
		t.Errorf("no file is as before, %v", err)
	}
}
