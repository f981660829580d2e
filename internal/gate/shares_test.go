package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/gate"
)

// TestSharesOfTrials: shares of an unfinished run are of what is done, and malformed answers
// and refusals of the answers.
func TestSharesOfTrials(t *testing.T) {
	atLook := analyse.Arm{ID: "ctn", Planned: 1000, OK: 100, Malformed: 40, Refused: 60, Failed: 50}
	for that, want := range map[string]gate.State{
		"malformed('ctn') == 0.2": gate.Pass, "refused('ctn') == 0.3": gate.Pass, "failed('ctn') == 0.2": gate.Pass,
		"failed('plain') < 1": gate.Undecided, "malformed('plain') < 1": gate.Undecided, // nothing is done
	} {
		a := analysis(0.1, 0.01, 0.5)
		a.Arms, a.Run.MaxFailed = []analyse.Arm{atLook, {ID: "plain", Planned: 1000}}, 0.2
		if !strings.HasPrefix(that, "failed") {
			a.Arms[0].Failed = 0 // a share of answers is not known exactly if some trials failed
		}
		if v := compile(t, rule(that)).Decide(a); v.State != want || v.Broken {
			t.Errorf("%s: %s %v", that, v.State, v.Conditions)
		}
		a.Arms[0].Failed, a.Run.MaxFailed = 50, 0.19
		if v := compile(t, rule(that)).Decide(a); !v.Broken {
			t.Errorf("%s: 50 of 250 trials failed: %+v", that, v)
		}
	}
}

// TestMoreFaultsNeverHelp: a further trial that fails or is malformed makes no rule hold that
// did not.
func TestMoreFaultsNeverHelp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 8).Draw(rt, name) }
		arm := analyse.Arm{ID: "ctn", Planned: 100, OK: 1 + n("ok"), Malformed: n("malformed"), Refused: n("refused"), Failed: n("failed")}
		worse := arm
		if rapid.Bool().Draw(rt, "instead of a good answer") {
			worse.OK--
		}
		if rapid.Bool().Draw(rt, "fails") {
			worse.Failed++
		} else {
			worse.Malformed++
		}
		limit := rapid.IntRange(0, 100).Draw(rt, "limit")
		rules := compile(t, rule(fmt.Sprintf("malformed('ctn') < %d / 100", limit)))
		state := func(arm analyse.Arm) gate.State {
			a := analysis(0.1, 0.01, 0.5)
			a.Arms[0] = arm
			return rules.Decide(a).Conditions[0].State
		}
		if was, is := state(arm), state(worse); was == gate.Fail && is == gate.Pass {
			rt.Fatalf("%+v fails malformed < %d %%, and %+v passes", arm, limit, worse)
		}
	})
}
