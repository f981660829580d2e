package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

// mostStreams is how many pages can follow progress at a time.
const mostStreams = 8

// pollEvery is how often a stream looks whether the store changed, which takes
// microseconds.
const pollEvery = 500 * time.Millisecond

// events streams the counts of all runs: at once, and whenever a process changed the
// store.
func (v *Viewer) events(w http.ResponseWriter, r *http.Request) {
	select {
	case v.streams <- struct{}{}:
		defer func() { <-v.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d pages follow the store already: reload this one to see its state", mostStreams), http.StatusServiceUnavailable)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	last := int64(-1)
	told := map[string]store.Tally{}
	for beat := 0; ; beat++ {
		version, err := v.version(r.Context())
		if err != nil {
			return
		}
		began, said := time.Now(), false
		if version != last {
			last = version
			runs, err := v.DB.Runs(r.Context())
			if err != nil {
				return
			}
			for _, run := range runs {
				now, err := v.tally(r.Context(), run)
				if err != nil {
					return
				}
				if before, ok := told[run.ID]; ok && before == now {
					continue
				}
				told[run.ID] = now
				data, err := json.Marshal(struct {
					Run string `json:"run"`
					store.Tally
				}{run.ID, now})
				if err != nil {
					return
				}
				_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
				if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
					return
				}
				said = true
			}
		}
		if !said && beat%30 == 0 { // notices a browser that has gone
			_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if _, err := fmt.Fprint(w, ": here\n\n"); err != nil {
				return
			}
			said = true
		}
		if said && out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-v.ctx.Done():
			return
		case <-time.After(max(pollEvery, 4*time.Since(began))): // counting a large run takes a while
		}
	}
}

// A standing is what an unfinished run has so far.
type standing struct {
	Metrics []string
	Arms    []experiment.Interim
	Done    int // trials of which it is
	Missing string
}

// standings keeps the last standing of each run. Scoring reads all answers, so it is done in the
// background, and rests for a while after it.
type standings struct {
	mu   sync.Mutex
	last map[string]standing
	next map[string]time.Time // when to compute it again
	busy map[string]chan struct{}
}

// waitFor is how long a page waits for a standing.
const waitFor = time.Second

// standing returns the last standing of an unfinished run, computed again if it is old. ok is false
// if there is none yet.
func (v *Viewer) standing(ctx context.Context, run *store.Run) (now standing, ok bool) {
	s := &v.standings
	s.mu.Lock()
	done := s.busy[run.ID]
	if done == nil && time.Now().After(s.next[run.ID]) {
		done = make(chan struct{})
		s.busy[run.ID] = done
		go func() {
			began := time.Now()
			now := v.score(run)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.last[run.ID], s.next[run.ID] = now, time.Now().Add(pollEvery+4*time.Since(began))
			delete(s.busy, run.ID)
			close(done)
		}()
	}
	s.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-time.After(waitFor):
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok = s.last[run.ID]
	return now, ok
}

// score computes the standing of a run.
func (v *Viewer) score(run *store.Run) (s standing) {
	defer func() {
		if p := recover(); p != nil { // data that the store has and the study no longer knows
			s = standing{Missing: fmt.Sprint("the answers cannot be scored: ", p)}
		}
	}()
	err := experiment.CheckShown(v.ctx, v.DB, run)
	l := v.study(run)
	if err == nil {
		err = l.err
	}
	if err == nil {
		s.Metrics, s.Arms, err = l.run.Interims(v.ctx)
	}
	if err != nil {
		return standing{Missing: err.Error()}
	}
	for _, arm := range s.Arms {
		s.Done += arm.Done
	}
	return s
}
