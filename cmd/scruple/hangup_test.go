//go:build unix

package main

import (
	"errors"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A closed terminal stops a run as Ctrl-C does, so that the processes of pipelines end.
// The system may say so twice, which is no second Ctrl-C.
func TestAClosedTerminalStopsARun(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as under nohup")
	}
	ctx, stop, restore := interruptible(t.Context(), "start it again")
	defer restore()
	for range 3 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	select {
	case err := <-stop:
		if !errors.Is(err, errInterrupted) || err.Error() != "interrupted; start it again" {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the run was not stopped")
	}
	if ctx.Err() != nil {
		t.Errorf("calls in flight were cancelled: %v", ctx.Err())
	}
}
