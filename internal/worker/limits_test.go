package worker

import (
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/run"
)

// Of two models by one name of a provider, one may limit requests and the other tokens: neither
// gives back what the other has used.
func TestLimitsOfTwoModelsOfOneName(t *testing.T) {
	w := &Worker{Queue: opened(t, postgrestest.Address(t))}
	limited := func(requests, tokens float64) *pace {
		m := &run.Model{Group: "g", RequestsPerMinute: requests, TokensPerMinute: tokens}
		if err := w.limit(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return m.Pace.(*pace)
	}
	draw := func(p *pace, n int, used float64) int {
		granted, err := w.permits(t.Context(), p, n, used)
		if err != nil {
			t.Fatal(err)
		}
		return granted
	}
	requests, tokens := limited(1, 0), limited(0, 1)
	if _, err := w.pool.Exec(t.Context(), `UPDATE limits SET free = 1`); err != nil {
		t.Fatal(err)
	}
	if n := draw(requests, 5, 0); n != 1 {
		t.Errorf("%d requests of the one that is free", n)
	}
	if n := draw(tokens, 5, 1000); n != 0 {
		t.Errorf("%d requests after more tokens than allowed were used", n)
	}
	if n := draw(requests, 5, 0); n != 0 {
		t.Errorf("%d requests, and none is free: the model that has no such limit has given them back", n)
	}
	if n := draw(tokens, 5, 0); n != 0 {
		t.Errorf("%d requests: the model that does not limit tokens has forgotten those that were used", n)
	}
}

// A server whose clock was set back by an hour gives permits as before.
func TestLimitsAfterTheClockWasSetBack(t *testing.T) {
	w := &Worker{Queue: opened(t, postgrestest.Address(t))}
	m := &run.Model{Group: "g", RequestsPerMinute: 60_000}
	if err := w.limit(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), `UPDATE limits SET at = clock_timestamp() + interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	granted := 0
	for range 2 {
		n, err := w.permits(t.Context(), m.Pace.(*pace), 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		granted += n
		time.Sleep(50 * time.Millisecond)
	}
	if granted == 0 {
		t.Error("no permits until the clock is where it was")
	}
}

// What one worker was refused, the others learn for the runs that they take part in.
func TestAModelClosedForAll(t *testing.T) {
	w := &Worker{Queue: opened(t, postgrestest.Address(t))}
	var models [2]*run.Model // of two workers
	for i := range models {
		models[i] = &run.Model{Group: "g"}
		if err := w.limit(t.Context(), models[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.pool.Exec(t.Context(), `UPDATE limits SET closed = clock_timestamp() + interval '1 hour'`); err != nil { // the server's clock was set back
		t.Fatal(err)
	}
	w.sessions = map[int64]*session{1: {Loaded: &Loaded{Models: map[string]*run.Model{"m": models[1]}}}}
	if err := w.hear(t.Context()); err != nil || !models[1].Pace.Free() {
		t.Errorf("a time that no worker wrote closes a model (%v)", err)
	}
	models[0].Pace.Refused(time.Minute)
	for _, tt := range []struct {
		sessions map[int64]*session
		free     bool
	}{{nil, true}, {map[int64]*session{1: {Loaded: &Loaded{Models: map[string]*run.Model{"m": models[1]}}}}, false}} {
		w.sessions = tt.sessions
		if err := w.hear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if free := models[1].Pace.Free(); free != tt.free {
			t.Errorf("with %d runs, the model is free: %v", len(tt.sessions), free)
		}
	}
}
