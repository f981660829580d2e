package run

import (
	"context"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

// posed returns a request as a trial asks it in a stage, and whether its answer is shared:
// equal questions to a judge at temperature 0, which asks for the most likely answer, are one,
// whatever the item and replicate. External pipelines receive both.
func posed(r eval.Request, t eval.Trial, stage eval.Stage) (_ eval.Request, shared bool) {
	r.Replicate = t.Replicate
	likeliest := r.Sampling.Temperature != nil && *r.Sampling.Temperature == 0
	if shared = stage == eval.StageJudge && likeliest && len(r.Payload) == 0; shared {
		r.Item, r.Replicate = "", 0 // not sent: what is sent is one question
	}
	return r, shared
}

// Matches reports whether a journalled call has the answer to a request of its trial, and
// what differs if not.
func Matches(c *eval.Call, r eval.Request) (same bool, diff []string) {
	r, shared := posed(r, c.Trial, c.Stage)
	if sameRequest(c, r.Key(), shared) {
		return true, nil
	}
	return false, eval.DiffParts(c.Parts, r.Parts())
}

// SupersedingStep is the name of the step of a judge whose request changed, because gold, a
// rubric or an outcome did: the journal keeps the answer to the former request under the
// step's own name, in case that it is asked again.
func SupersedingStep(step string, r eval.Request, t eval.Trial) string {
	r, _ = posed(r, t, eval.StageJudge)
	return step + " " + r.Key()[:8]
}

// RepeatedStep is the name of a step of a judge when it is asked again because its answer could not
// be read: the journal keeps that answer under the step's own name.
func RepeatedStep(step string) string { return step + eval.AskedAgain }

// sameRequest reports whether a journalled call has the request with this key.
// Earlier versions had the port of endpoints in keys, the item in all of them, and the
// item and replicate in those of shared requests.
func sameRequest(c *eval.Call, key string, shared bool) bool {
	if c.Key == key {
		return true
	}
	var parts []eval.Part
	for _, p := range c.Parts {
		if p.Name != "item" && (!shared || p.Name != "replicate") {
			parts = append(parts, p)
		}
	}
	return eval.KeyOf(parts) == key || eval.KeyOf(c.Parts) == key
}

// take answers a call from another one and records it, if there is one.
func (a *asker) take(ctx context.Context, call *eval.Call, other, shared bool) (bool, error) {
	found, err := a.engine.journal.Take(ctx, call, other, shared)
	if err != nil || !found {
		return false, err
	}
	a.note(nil)
	a.engine.watch.reused()
	return true, a.engine.journal.Append(call)
}

// shared makes equal questions wait for each other: the first is sent, and the
// others take its answer.
type shared struct {
	mu     sync.Mutex
	asking map[string]chan struct{} // by key
}

// begin waits until no other call has the key, and then holds it until the
// returned function is called.
func (s *shared) begin(place *seat, key string) (end func()) {
	for {
		s.mu.Lock()
		other, busy := s.asking[key]
		if !busy {
			if s.asking == nil {
				s.asking = map[string]chan struct{}{}
			}
			over := make(chan struct{})
			s.asking[key] = over
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.asking, key)
				s.mu.Unlock()
				close(over)
			}
		}
		s.mu.Unlock()
		place.park(func() bool { <-other; return true })
	}
}
