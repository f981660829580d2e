//go:build unix

package process

import (
	"os"
	"testing"
)

// BenchmarkExec is what asking a command costs beside its own work.
func BenchmarkExec(b *testing.B) {
	e, err := NewExec("'"+os.Args[0]+"'", ExecOptions{Env: append(os.Environ(), part+"=echo"), Pass: []string{part}})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	r := ask("doc")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Complete(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
