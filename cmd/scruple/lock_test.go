package main

import (
	"bytes"
	"strings"
	"testing"
)

// cli runs a command line and returns its exit code and what it printed.
func cli(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, strings.NewReader(""), &o, &e, func(string) string { return "" })
	return code, o.String(), e.String()
}
