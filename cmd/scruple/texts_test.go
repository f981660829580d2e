package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/bundle"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/worker"
)

// What scripts rarely meet is printed too: a template is not checked when the program is built.
func TestTexts(t *testing.T) {
	one, half := 1, 0.5
	command := func(words ...string) string { return strings.Join(words, " ") }
	var entry discipline.Entry[discipline.Registration]
	for _, c := range []struct {
		name string
		data any
		want string
	}{
		{"status", map[string]any{"Run": "r", "Suite": "qa", "CreatedAt": "today", "File": "study.yaml", "State": "failures", "Done": 1, "Trials": 2, "Failed": 1, "ToJudge": 1, "JudgeFailed": 2,
			"JudgeErrors": []eval.JudgeError{{Judge: "j", Verdicts: 1, Reason: "late\nanswer"}}, "Calls": 1, "Tokens": 2, "CostUSD": 0.5, "Unpriced": 1, "Estimated": 1,
			"Reused":   []eval.Reuse{{Run: "r", Answers: 2}, {Run: "s", Answers: 1, CostUSD: 1}},
			"Sessions": []eval.Session{{N: 1, Requests: 2, Errors: []eval.SessionError{{Requests: 1}, {Kind: "timeout", Requests: 2}}}}, "Errors": []store.ErrorCount{{Calls: 3, Text: "no"}},
			"Warnings": []string{"cut"}, "Events": []store.Event{{At: time.Unix(0, 0).UTC(), What: "begun", Note: "x"}},
			"Trend":  []experiment.TrendPoint{{Run: "r", Created: "2026-01-02T03", Metric: "m", Tags: []string{"a", "b"}, Arms: make([]experiment.TrendOfAnArm, 2)}},
			"Unread": 1, "Command": command, "Arg": "s.yaml"},
			`run      r (qa), started today
study    study.yaml
state    failures: 1 of 2 trials done, 1 failed
judging  1 trial pending, 2 failed
         judge j, 1 verdict: late answer
spent    1 call, 2 tokens, ≥ $0.5000 (1 call of unknown cost)
         of which the usage of 1 answer is estimated, on the high side: the provider sent no token counts
reused   2 answers of this run (equal questions to a judge, or trials that had left the plan), $0.0000 not paid again
reused   1 answer of s, $1.0000 not paid again
session  1, 1970-01-01 00:00 to 1970-01-01 00:00: 2 requests, of which 0 retries; 0 items, 0 of them new, 0 since the start; interrupted 1; timeout 2
error    3 calls: no
warning  cut
1970-01-01T00:00:00Z  begun: x
trend of m, newest first:
  r  2026-01-02   0 (0 to 0, n = 0),  0 (0 to 0, n = 0)  [a, b]
  without 1 run, whose analysis is of another version or damaged: ` + "`scruple score RUN`" + ` analyses one again at no cost
retry failed trials with ` + "`run s.yaml --retry-failed`\n"},
		{"status", map[string]any{"Run": "r", "Suite": "qa", "CreatedAt": "today", "File": "s.yaml", "State": "started", "Done": 0, "Trials": 2, "Failed": 0, "ToJudge": 0, "JudgeFailed": 0, "Calls": 0, "Tokens": 0, "CostUSD": 0.0, "Unpriced": 0,
			"Sessions": []eval.Session{{N: 1, Requests: 1, Errors: []eval.SessionError{{Requests: 1}}}}},
			"run      r (qa), started today\nstudy    s.yaml\nstate    started: 0 of 2 trials done, 0 failed\nspent    0 calls, 0 tokens, $0.0000\n" +
				"session  1, 1970-01-01 00:00 to 1970-01-01 00:00: 1 request, of which 0 retries; 0 items, 0 of them new, 0 since the start; unanswered 1\n"},
		{"workers", map[string]any{"Command": command}, "workers have no run\nno worker is there: start some with `worker`\n"},
		{"workers", map[string]any{"Runs": []worker.State{{Run: "r", Step: "run", Done: 1, InHand: 1}}, "Workers": []worker.Hand{{Process: "p", Shards: 1, Note: "s"}}},
			"r                        run: 1 of 2 shards done, 1 in hand, 0 waiting; then 0 shards\np                        1 shard in hand, seen 0001-01-01T00:00:00Z; not taking part in s\n"},
		{"plan", map[string]any{"Study": "s", "Items": 1, "Arms": 1, "Replicates": 1, "Trials": 1, "Calls": 0, "MostCalls": &one, "MostJudge": &one, "HasJudge": true, "JudgeCalls": 1, "Keys": []string{"K to h", "L to i"}, "Assumed": []string{"m", "n"},
			"Rows": []experiment.ArmEstimate{{Arm: "all"}}, "Standing": &experiment.Standing{New: 2, Calls: 1, CostUSD: &half},
			"Demands":    &experiment.Demands{Trials: 1, Hours: 200, Answers: []experiment.Pace{{Model: "m", Seconds: 1, Bytes: 2, Known: 1}, {Model: "n"}}},
			"Detectable": &experiment.Detectable{Clusters: 3, Tests: 1, Alpha: 0.05, Power: 0.8, DZ: 0.5}, "Correction": "holm", "CostUSD": (*float64)(nil),
			"Rules": []experiment.RulePlan{{Name: "a", Kind: "require", Items: 1, Power: []experiment.Power{{Assumption: "x", Missing: "no model"}, {Assumption: "y", Studies: 9, Pass: &half, Low: &half, High: &half, Undecided: &half}}}}},
			`s: 1 item × 1 arm × 1 replicate = 1 trial

arm                            trials    calls        input      ±     output ~     cost ~
all                                 0        0            0                   0    unknown

No limit of output is known (` + "`max_tokens`" + `) of m, n: 1024 tokens an answer are assumed, and it may be more, as may the cost.

New: 2 trials, about 1 call; cost ~ $0.5000.
This is their share of the estimate. Answers that other runs of the store have may be taken free, which makes it less.

Time: about 200 hours (8.3 days) with 0 calls in flight and the limits of the study. The store grows by about 0.0 kB.
By the latest calls in the store: m 1 s and 2 bytes an answer.
Assumed, with answers at their limit: n 0 s and 0 bytes an answer.

Smallest detectable effect: d = 0.500 with 3 independent items or clusters, power 80 %, two-sided α = 0.05 (1 primary test, correction: holm).
That is a mean difference of 0.050, 0.100 or 0.150 if the standard deviation of the differences is 0.1, 0.2 or 0.3.

Rules:
  a (require): cannot be met with 1 item, nor with any number up to 5000
    x: no model
    y: met in 50.0 % of 9 simulated studies (95 % CI 50.0 to 50.0 %), undecided in 50.0 %

A cost is unknown: give the ` + "`price:`" + ` of a model in the study for an estimate. What a program takes, only its answers say.

1 of the calls are the judge's, estimated for right answers; other answers may need more.

At most 1 calls, of which 1 of the judge: answers that cannot be read are asked for again, and the judge is asked where rules do not decide. Retries of failed requests come on top.

Keys that a run sends: K to h, L to i.
`},
		{"needed", experiment.RulePlan{Opportunities: []string{"m"}, Scores: true, Differ: true, Items: 10},
			"asks for a difference: `assume` in the study says how large it may be, and plan then how often 10 items show it"},
		{"needed", experiment.RulePlan{Scores: true, Differ: true, Items: 10},
			"asks for a difference: `assume` in the study says how large it may be, and plan then how often 10 items show it"},
		{"needed", experiment.RulePlan{Opportunities: []string{"m"}, Perfect: &one, Items: 2}, "can be met with 2 items; items without an opportunity for m do not count"},
		{"needed", experiment.RulePlan{Scores: true, Other: true, Items: 10},
			"asks for other than the best scores: `assume` in the study says for which, and plan then how often 10 items show it"},
		{"needed", experiment.RulePlan{Perfect: &one, Items: 2, Test: true}, "can be met with 2 items of TEST"},
		{"width", struct {
			*experiment.Widths
			Confidence float64
		}{&experiment.Widths{Run: "r", Metric: "m", Wanted: 0.1, Items: 2, Replicates: 2, Of: []experiment.Width{{Of: "a", Now: 0.25, Replicates: 3},
			{Of: "b", Now: 1, Least: 0.5}, {Of: "c", Now: 0.4, NoSpread: true}, {Of: "d", Now: analyse.Undefined()},
			{Of: "f", Now: 0.05, Replicates: 1}, {Of: "g", Now: 0.1, NoSpread: true}, {Of: "h", NoSpread: true}}}, 0.95},
			"m: 95 % intervals of a width of 0.1, by run r: 2 items, 2 replicates\n\n" +
				"                                              now  takes\n" +
				"a                                           0.250  3 replicates\n" +
				"b                                           1.000  more items: more replicates lead to 0.500 at best\n" +
				"c                                           0.400  unknown: the run shows no spread between items\n" +
				"d                                               -  unknown: the run has no interval\n" +
				"f                                           0.050  no more; 1 replicate would be enough\n" +
				"g                                           0.100  no more\n" +
				"h                                           0.000  unknown: the run shows no spread between items\n"},
		{"registered", map[string]any{"Known": true, "At": "2026-01-02T03:04:05Z", "Seq": 1, "Hash": "h", "Data": entry.Data, "OnTest": "the judge had no DEV run", "Command": command, "Arg": "s"},
			"registered already, on 2026-01-02; nothing changed since, and nothing was recorded\nregistered TEST of : 0 items, \n" +
				"judge   the judge had no DEV run, so TEST measures the judge on its own gold: to use its accuracy on DEV, finish `run s --split dev` and register again\n" +
				"SHA-256 \nledger  entry 1, SHA-256 h\nrun it once with `run s --split test`\n"},
		{"verified", &bundle.Verification{Manifest: &bundle.Manifest{Run: "r", Study: "s", Suite: "qa", Scruple: "old"}, Findings: []bundle.Finding{{File: "f", Text: "is missing"}}},
			"run r of study s (qa), packed by scruple old, checked by " + version() + "\nDIFFERS: f: is missing\n1 difference; another version of scruple may compute other bytes: old packed it\n"},
	} {
		var b bytes.Buffer
		a := &app{out: &b}
		a.tell(c.name, c.data)
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, b.String(), c.want)
		}
	}
}
