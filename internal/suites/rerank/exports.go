package rerank

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A resultLine is a trial in results_{n}.jsonl, where n is the replicate.
// Positions count from 1.
type resultLine struct {
	RequestID  string       `json:"request_id"`
	Arm        string       `json:"arm"`
	Levels     []eval.Level `json:"levels"`
	Candidates int          `json:"n_candidates"`
	Gold       int          `json:"gold_idx"`
	Right      []int        `json:"right_idx,omitempty"` // all right positions, if there are several
	Prediction *int         `json:"prediction"`          // null: no prediction
	Rank       int          `json:"rank"`                // of the first right candidate; N + 1 if none was ranked; 0 if the trial was not asked
	Hit1       bool         `json:"hit_at_1"`
	Hit5       bool         `json:"hit_at_5"`
	Outcome    string       `json:"outcome"`
	Reason     string       `json:"reason,omitempty"`
	LatencyMS  float64      `json:"latency_ms"` // steps in parallel count as the longest of them
	TokensIn   *int         `json:"tokens_in"`  // null, as those out: a program does not say
	TokensOut  *int         `json:"tokens_out"`
}

// A usageLine is a replicate of an arm in usage.jsonl.
type usageLine struct {
	Run       int      `json:"run"` // the replicate
	Arm       string   `json:"arm"`
	Calls     int      `json:"calls"`
	TokensIn  *int     `json:"total_tokens_in"`
	TokensOut *int     `json:"total_tokens_out"`
	LatencyMS float64  `json:"total_latency_ms"` // of all calls
	CostUSD   *float64 `json:"cost_usd"`         // null if a price is unknown

	steps map[string]float64 // latency by step, of a trial
}

// writeRun writes a run to a numbered folder below dir.
func writeRun(kb kit.Bench, k kit.Kept, dir string) (string, error) {
	b := kb.(*bench)
	trials, usage, err := tally(k)
	if err != nil {
		return "", err
	}
	w := exported{}
	for j, err := range k.Outcomes() {
		if err != nil {
			return "", err
		}
		t := j.Trial
		line, rec, err := b.result(t, j.Outcome)
		if err != nil {
			return "", err
		}
		if u := trials[t]; u != nil {
			line.LatencyMS, line.TokensIn, line.TokensOut = wallTime(u.steps, rec.Parallel), u.TokensIn, u.TokensOut
		}
		w.json(fmt.Sprintf("results_%d.jsonl", t.Replicate), line)
		w.text("debug.log", "== %v\n%s\n", t, traceText(&rec))
	}
	for _, u := range usage {
		w.json("usage.jsonl", u)
	}
	if err := b.summaries(k, w); err != nil {
		return "", err
	}
	into, err := numbered(dir, k.Run().Study)
	if err == nil {
		err = w.write(into)
	}
	if err != nil {
		return "", fmt.Errorf("exporting files: %w", err)
	}
	return into, nil
}

// result reads the result of a trial.
func (b *bench) result(t eval.Trial, o eval.Outcome) (resultLine, record, error) {
	r, a, err := b.Of(t)
	if err != nil {
		return resultLine{}, record{}, err
	}
	rec := b.recordOf(r, a, &o)
	n := len(rec.Candidates)
	line := resultLine{RequestID: t.Item, Arm: t.Arm, Levels: a.Levels, Candidates: n, Gold: rec.placeOf(r.Gold), Rank: n + 1,
		Outcome: string(o.Kind), Reason: o.Reason}
	for _, g := range r.Right {
		line.Right = append(line.Right, rec.placeOf(g.ID))
	}
	switch {
	case rec.untouched():
		line.Rank, line.Outcome, line.Reason = 0, "untouched", untouchedTrial
	case len(rec.Ranking) > 0:
		line.Prediction = &rec.Ranking[0]
		if at := slices.IndexFunc(rec.ranked(), r.IsRight); at >= 0 {
			line.Rank = at + 1
		}
	}
	line.Hit1, line.Hit5 = line.Rank == 1, line.Rank >= 1 && line.Rank <= min(5, n)
	return line, rec, nil
}

// wallTime is the latency of a request through the graph of its steps: steps in
// sequence add up, and of steps in parallel, each with its retries, the longest
// counts.
func wallTime(steps map[string]float64, parallel [][]string) float64 {
	left := slices.Sorted(maps.Keys(steps)) // sums do not depend on the order of a map
	take := func(of func(step string) bool) (sum float64) {
		left = slices.DeleteFunc(left, func(step string) bool {
			taken := of(step)
			if taken {
				sum += steps[step]
			}
			return taken
		})
		return sum
	}
	total := 0.0
	for _, group := range parallel {
		longest := 0.0
		for _, name := range group {
			longest = max(longest, take(func(step string) bool { return step == name || strings.HasPrefix(step, name+"/") }))
		}
		total += longest
	}
	return total + take(func(string) bool { return true })
}

// summaries writes config.json and scaling_summary.json.
func (b *bench) summaries(k kit.Kept, w exported) error {
	estimates, err := k.Estimates(hits(1), hits(5), metricMRR)
	if err != nil {
		return err
	}
	r := k.Run()
	w.json("config.json", map[string]any{"run": r.ID, "study": r.StudyJSON, "overrides": r.Overrides, "seed": r.Seed, "data": b.hashes,
		"started": r.Created, "scruple": r.Version, "exported_by": r.ExportedBy, "exported": r.Exported, "places": "counted from 1"})
	type point struct {
		Arm    string       `json:"arm"`
		Levels []eval.Level `json:"levels"`
		Metric string       `json:"metric"`
		Value  eval.Number  `json:"value"`
		Low    eval.Number  `json:"low"`
		High   eval.Number  `json:"high"`
		Items  int          `json:"n"`
	}
	var points []point
	for _, e := range estimates {
		if e.Stratum != nil {
			continue
		}
		points = append(points, point{e.Arm, e.Levels, e.Metric, e.Value, e.Low, e.High, e.N})
	}
	w.json("scaling_summary.json", points)
	return nil
}

// tally adds up the usage of trials, and of arms.
func tally(k kit.Kept) (trials map[eval.Trial]*usageLine, arms []*usageLine, err error) {
	trials = map[eval.Trial]*usageLine{}
	for c, err := range k.Calls() {
		if err != nil {
			return nil, nil, err
		}
		arm := eval.Trial{Arm: c.Trial.Arm, Replicate: c.Trial.Replicate} // an arm is a trial without an item here
		for _, t := range []eval.Trial{arm, c.Trial} {
			u := trials[t]
			if u == nil {
				u = &usageLine{Run: t.Replicate, Arm: t.Arm, TokensIn: new(int), TokensOut: new(int), CostUSD: new(float64), steps: map[string]float64{}}
				if trials[t] = u; t == arm {
					arms = append(arms, u)
				}
			}
			u.Calls++
			if used := c.Response.Usage; used.Uncounted {
				u.TokensIn, u.TokensOut = nil, nil
			} else if u.TokensIn != nil {
				*u.TokensIn += used.TotalInput()
				*u.TokensOut += used.TotalOutput()
			}
			u.LatencyMS += c.LatencyMS
			u.steps[c.Step] += c.LatencyMS
			if cost, known := c.KnownCost(); !known {
				u.CostUSD = nil
			} else if u.CostUSD != nil {
				*u.CostUSD += cost
			}
		}
	}
	return trials, arms, nil
}

// numbered creates the next folder NNN_name.
func numbered(dir, name string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	taken, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for n := 1; n < 1000; n++ {
		number := fmt.Sprintf("%03d_", n)
		if slices.ContainsFunc(taken, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), number) }) {
			continue
		}
		path := filepath.Join(dir, number+name)
		err = os.Mkdir(path, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("%s has 999 runs: move some elsewhere", dir)
}

// Exported are files of an export, by name.
type exported map[string]*bytes.Buffer

// text appends to a file.
func (e exported) text(name, format string, args ...any) {
	if e[name] == nil {
		e[name] = new(bytes.Buffer)
	}
	fmt.Fprintf(e[name], format, args...)
}

func (e exported) json(name string, v any) { e.text(name, "%s\n", kit.JSON(v)) }

// write writes the files into a folder, all or none.
func (e exported) write(dir string) error {
	var files []kit.File
	for _, name := range slices.Sorted(maps.Keys(e)) {
		files = append(files, kit.Bytes(name, e[name].Bytes()))
	}
	_, err := kit.WriteFiles(dir, files)
	return err
}

// noPrediction is the document of a query without a ranking: trec_eval scores
// the query as wrong and does not skip it.
const noPrediction = "NO_PREDICTION"

// writeTREC writes rankings for trec_eval: one run file for each arm and
// replicate, and judgements in which only right items are relevant, by their grade.
func writeTREC(kb kit.Bench, k kit.Kept, dir string) (string, error) {
	b := kb.(*bench)
	names, err := runNames(b.Arms(), k.Run().Replicates)
	if err != nil {
		return "", err
	}
	w := exported{}
	judged, unscored := map[string]bool{}, 0
	for j, err := range k.Outcomes() {
		if err != nil {
			return "", err
		}
		r, _, err := b.Of(j.Trial)
		if err != nil {
			return "", err
		}
		rec, _ := read(&j.Outcome)
		query, right := trecID(j.Trial.Item), r.Answers()
		if !judged[query] {
			judged[query] = true
			for _, g := range right {
				w.text("qrels.txt", "%s 0 %s %d\n", query, trecID(g.ID), g.Grade)
			}
		}
		switch {
		case rec.untouched():
			continue // not asked
		case j.Outcome.Kind == eval.Failed || rec.lacks(right):
			unscored++
			continue
		}
		ids := rec.ranked()
		if len(ids) == 0 {
			ids = []string{noPrediction}
		}
		name := names[eval.Trial{Arm: j.Trial.Arm, Replicate: j.Trial.Replicate}]
		for i, id := range ids {
			w.text(name+".run", "%s Q0 %s %d %d %s\n", query, trecID(id), i+1, len(ids)-i, name)
		}
	}
	if err := w.write(dir); err != nil {
		return "", fmt.Errorf("exporting runs: %w", err)
	}
	said := fmt.Sprintf("%s to %s", text.Plural(len(w), "file", "files"), dir)
	if unscored > 0 {
		said += fmt.Sprintf(", without %s that failed or lacked an item that is right now", text.Plural(unscored, "trial", "trials"))
	}
	return said, nil
}

// runNames names the run file of each arm and replicate, a trial without an item.
func runNames(arms []eval.Arm, replicates int) (map[eval.Trial]string, error) {
	names, taken := map[eval.Trial]string{}, map[string]string{}
	for _, arm := range arms {
		for n := 1; n <= replicates; n++ {
			name := strings.NewReplacer("/", "_", "@", "_").Replace(arm.ID)
			if n > 1 {
				name += fmt.Sprintf("_%d", n)
			}
			if other, ok := taken[name]; ok {
				return nil, fmt.Errorf("exporting runs: arms %s and %s both need the file %s.run: rename a method", other, arm.ID, name)
			}
			taken[name], names[eval.Trial{Arm: arm.ID, Replicate: n}] = arm.ID, name
		}
	}
	return names, nil
}

// trecID percent-encodes white space, control characters and % in an id: white
// space separates the fields of TREC files.
func trecID(id string) string {
	var b strings.Builder
	for _, r := range id {
		if r == '%' || unicode.IsSpace(r) || unicode.IsControl(r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
