package main

import (
	"errors"
	"fmt"
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
