package plan

import (
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
)

// What binds is the calls in flight, of all or of a model, or a limit of the provider; the
// stages come one after the other.
func TestDuration(t *testing.T) {
	a, b, judge := Party{"a", eval.StageRun}, Party{"b", eval.StageRun}, Party{"a", eval.StageJudge}
	for name, c := range map[string]struct {
		loads  Loads
		limits map[string]Limit
		want   time.Duration
	}{
		"nothing":               {Loads{}, nil, 0},
		"calls in flight":       {Loads{a: {Calls: 1000}}, map[string]Limit{"a": {Latency: time.Second}}, 100 * time.Second},
		"of all models":         {Loads{a: {Calls: 1000}, b: {Calls: 1000}}, map[string]Limit{"a": {Latency: time.Second}, "b": {Latency: 2 * time.Second}}, 300 * time.Second},
		"the model's own":       {Loads{a: {Calls: 1000}}, map[string]Limit{"a": {Latency: time.Second, Concurrency: 2}}, 500 * time.Second},
		"requests a minute":     {Loads{a: {Calls: 1000}}, map[string]Limit{"a": {Latency: time.Second, RequestsPerMinute: 100}}, 10 * time.Minute},
		"tokens a minute":       {Loads{a: {Calls: 10, Input: 1000, Output: 500}}, map[string]Limit{"a": {TokensPerMinute: 500}}, 3 * time.Minute},
		"one after another":     {Loads{a: {Calls: 100}, judge: {Calls: 200}}, map[string]Limit{"a": {Latency: time.Second}}, 30 * time.Second},
		"the slower one counts": {Loads{a: {Calls: 100}, b: {Calls: 100}}, map[string]Limit{"a": {RequestsPerMinute: 100}, "b": {RequestsPerMinute: 50}}, 2 * time.Minute},
	} {
		if got := c.loads.Duration(10, c.limits); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
