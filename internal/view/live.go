package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

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
