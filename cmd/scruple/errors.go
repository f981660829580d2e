package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
)

// An errorObject is an error as --json prints it: one line on standard error,
// {"error": {…}}, and the last one there.
type errorObject struct {
	ExitCode int      `json:"exit_code"`
	Kind     string   `json:"kind"`
	Message  string   `json:"message"`
	Findings []string `json:"findings,omitempty"` // of a study, each with file and line
}

// kinds name the exit codes.
var kinds = map[int]string{exitFail: "failed", exitUsage: "usage", exitNotAllowed: "not_allowed", exitInfrastructure: "infrastructure", exitInterrupted: "interrupted"}

// printError prints an error, as text or as JSON.
func printError(w io.Writer, err error, code int, asJSON bool) {
	message := say.PlainLines(strings.TrimSpace(err.Error()))
	if !asJSON {
		fmt.Fprintf(w, "scruple: %s\n", message)
		return
	}
	o := errorObject{ExitCode: code, Kind: kinds[code], Message: message}
	var findings study.Errors
	if errors.As(err, &findings) {
		for _, f := range findings {
			o.Findings = append(o.Findings, say.PlainLines(f.Error()))
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]errorObject{"error": o}) // an error of stderr cannot be reported
}

// asksJSON reports whether a command line has --json, which is not known if another
// flag before it is wrong.
func asksJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--json", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}
