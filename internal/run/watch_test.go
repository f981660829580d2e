package run

import (
	"testing"
	"time"
)

type told struct{ left time.Duration }

func (*told) Event(Event)           {}
func (l *told) Progress(p Progress) { l.left = p.Left }

// What is left is at least the longest wait for a retry.
func TestLeftHasTheWaitsForRetries(t *testing.T) {
	seen := &told{}
	w := &watch{observer: seen, begun: time.Now(), progress: Progress{Arms: []ArmPlan{{Arm: "a", Planned: 2, Done: 1}}}}
	w.event(Event{Kind: "retry", Wait: time.Hour})
	w.event(Event{Kind: "retry", Wait: time.Second})
	w.tell(&ledger{}, false)
	if seen.left < 59*time.Minute {
		t.Errorf("about %v left during a wait of an hour", seen.left)
	}
}
