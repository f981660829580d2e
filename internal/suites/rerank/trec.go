package rerank

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/text"
)

// noPrediction is the document of a query without a ranking: trec_eval scores
// the query as wrong and does not skip it.
const noPrediction = "NO_PREDICTION"

// writeTREC writes rankings for trec_eval: one run file for each arm and
// replicate, and judgements in which only right items are relevant, by their grade.
func writeTREC(bench kit.Bench, k kit.Kept, dir string) (string, error) {
	b := bench.(*Bench)
	names, err := runNames(b.Arms(), k.Run().Replicates)
	if err != nil {
		return "", err
	}
	w := exported{}
	judged := map[string]bool{}
	for j, err := range k.Outcomes() {
		if err != nil {
			return "", err
		}
		ids, right, ranked := b.ranking(j.Trial, j.Outcome)
		query := trecID(j.Trial.Item)
		if !judged[query] {
			judged[query] = true
			for _, g := range right {
				w.text("qrels.txt", "%s 0 %s %d\n", query, trecID(g.ID), g.Grade)
			}
		}
		if rec, _ := read(&j.Outcome); rec.untouched() {
			continue // not asked
		}
		if !ranked || len(ids) == 0 {
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
	return fmt.Sprintf("%s to %s", text.Plural(len(w), "file", "files"), dir), nil
}

// ranking is a trial's ranking as ids, and the right items. It reports false
// without a prediction.
func (b *Bench) ranking(t eval.Trial, o eval.Outcome) (ids []string, right []request.Graded, ok bool) {
	_, r, err := b.find(t)
	if err != nil {
		return nil, nil, false
	}
	rec, found := read(&o)
	if !found || o.Kind != eval.OK {
		return nil, r.Answers(), false
	}
	for _, place := range rec.Ranking {
		if place < 1 || place > len(rec.Candidates) {
			return nil, r.Answers(), false
		}
		ids = append(ids, rec.Candidates[place-1])
	}
	return ids, r.Answers(), true
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
