//go:build e2e

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/postgrestest"
)

// Whatever happens to the connection between a worker and the server, for less or more time
// than they wait for each other: no answer on record is asked again, at most what was in flight
// is, the scores are those of one process on a file, and the worker takes part again.
func TestPartitions(t *testing.T) {
	t.Parallel()
	const (
		documents, concurrency = 500, 8
		short                  = 4 * time.Second
		long                   = 80 * time.Second // a worker is lost after 30 s, and a link after a minute
	)
	s := postgrestest.Start(t, "max_connections=400")
	t.Cleanup(s.Stop)
	for name, c := range map[string]struct {
		fault postgrestest.Fault
		lasts time.Duration
		asked int // again, at most
	}{
		"silent for short":       {postgrestest.Fault{Requests: true, Answers: true}, short, 0},
		"silent for long":        {postgrestest.Fault{Requests: true, Answers: true}, long, concurrency},
		"without answers, short": {postgrestest.Fault{Answers: true}, short, 0},
		"without answers, long":  {postgrestest.Fault{Answers: true}, long, concurrency},
		"without requests, long": {postgrestest.Fault{Requests: true}, long, concurrency},
		"cut and back":           {postgrestest.Fault{Cut: true}, 0, concurrency},
		"cut for short":          {postgrestest.Fault{Cut: true}, short, concurrency},
		"cut for long":           {postgrestest.Fault{Cut: true}, long, concurrency},
		"slow from then on":      {postgrestest.Fault{Delay: 100 * time.Millisecond}, -1, 0},
		"slow for short":         {postgrestest.Fault{Delay: 300 * time.Millisecond}, short, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, soak := soaking()
			if c.lasts == long && !soak && name != "silent for long" {
				t.Skip("make soak has it")
			}
			if c.lasts != long || soak { // parallel parts begin after all other tests: the end of make e2e would be a wait
				t.Parallel()
			}
			m := newMemoStudyOf(t, documents, concurrency, "-latency", "150ms", "-wrong", "0.1")
			scruple, url, path, want, quiet := m.scruple, m.url, m.path, m.want, m.quiet
			w := &crew{t: t, scruple: scruple, store: s.Database(t)}
			p := s.Proxy(t)
			w.hands = append(w.hands, w.start("--store", p.Address(s, w.store)), w.start())
			defer w.end()
			output(t, scruple, "run", path, "--detach", "--store", w.store)
			for { // until both have shards
				if _, hands := w.status(); len(hands) == 2 && hands[0] > 0 && hands[1] > 0 && statsOf(t, url).Requests > quiet+50 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			begun := time.Now()
			p.Set(c.fault)
			if c.lasts >= 0 {
				time.Sleep(c.lasts)
				p.Set(postgrestest.Fault{})
			}
			w.done(4 * time.Minute)
			if got := figures(t, scruple, path, "--store", w.store); got != want {
				t.Error("the scores or the report differ from those of an undisturbed run")
			}
			repeated := statsOf(t, url).Requests - quiet - documents
			t.Logf("%d of %d requests repeated, %.0f s", repeated, documents, time.Since(begun).Seconds())
			if repeated < 0 || repeated > c.asked {
				t.Errorf("%d requests repeated, want at most %d of %d in flight", repeated, c.asked, concurrency)
			}
			output(t, scruple, "doctor", path, "--store", w.store)
			p.Set(postgrestest.Fault{})
			// The one behind the disturbed link is there for the next run.
			must(t, w.hands[1].Process.Signal(syscall.SIGTERM))
			_ = w.hands[1].Wait()
			output(t, scruple, "run", path, "--new", "--no-reuse", "--limit", "20", "--detach", "--store", w.store)
			w.done(time.Minute)
			if said := w.said.String(); strings.Contains(said, "not taking part") || strings.Contains(said, "secret-word") {
				t.Error(said)
			}
		})
	}
}
