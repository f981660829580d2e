package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// Exit codes depend on error types, not on wrapping or text.
func TestExitCodes(t *testing.T) {
	broken := &store.Error{Path: "s.db", Err: errors.New("disk full")}
	tests := []struct {
		err  error
		want int
	}{
		{errors.New("no such study"), exitUsage},
		{errors.New("store is a word of the study"), exitUsage},
		{fmt.Errorf("exporting calls: %w", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}), exitInfrastructure},
		{broken, exitInfrastructure},
		{fmt.Errorf("reading run r: %w", broken), exitInfrastructure},
		{&store.Error{Path: "s.db", Err: store.ErrLocked}, exitInfrastructure},
		{&store.Error{Path: "s.db", Err: store.ErrNotFound}, exitUsage},
		{&run.CallError{Err: &model.Error{Kind: eval.ErrAuth}}, exitInfrastructure},
		{fmt.Errorf("%w: the budget is exhausted", run.ErrStopped), exitNotAllowed},
		{errors.Join(fmt.Errorf("%w: %w", run.ErrStopped, errInterrupted), exit(exitInfrastructure, nil)), exitInterrupted},
		{fmt.Errorf("gate: %w", exit(exitFail, nil)), exitFail},
		{fmt.Errorf("run r: %w", &experiment.NotAllowedError{Err: store.ErrNotFound}), exitNotAllowed},
		{fmt.Errorf("run r: %w", &experiment.TooManyFailedError{}), exitInfrastructure},
	}
	for _, tt := range tests {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%v ends with %d, want %d", tt.err, got, tt.want)
		}
	}
}

// An error that came twice, as of a full disk at a write and at closing, is printed once.
func TestAnErrorIsPrintedOnce(t *testing.T) {
	full := errors.New("store s.db: the disk is full")
	var b bytes.Buffer
	if printError(&b, errors.Join(errors.Join(full, errors.New("another")), full), exitInfrastructure, false); b.String() != "scruple: store s.db: the disk is full\nanother\n" {
		t.Errorf("printed %q", &b)
	}
}

// A refusing writer takes nothing.
type refusing struct{ err error }

func (w refusing) Write([]byte) (int, error) { return 0, w.err }

// Output that cannot be written is no success, unless its reader has seen enough of a text that
// nothing depends on. It is never bad input.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"stats", "--help"}, {"stats", "--list"}, {"stats", "--list", "--json"}} {
		for why, want := range map[error]int{syscall.ENOSPC: exitInfrastructure, syscall.EIO: exitInfrastructure, syscall.EPIPE: exitOK} {
			var said bytes.Buffer
			if slices.Contains(args, "--list") {
				want = exitInfrastructure
			}
			code := execute(t.Context(), args, strings.NewReader(""), refusing{why}, &said, func(string) string { return "" })
			if code != want || strings.Contains(said.String(), why.Error()) != (want != exitOK) || strings.Count(said.String(), "\n") > 1 {
				t.Errorf("%v, %v: exit code %d and %q, want %d", args, why, code, &said, want)
			}
		}
	}
}
