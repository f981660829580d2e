package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites"
)

// noPrediction stands in a run file for an answer without a ranking, so that
// the query counts as answered wrongly and is not left out.
const noPrediction = "NO_PREDICTION"

// ranked opens a run whose outcomes are rankings, with the study it was made
// from: a study that has other items or arms by now is refused.
func (a *app) ranked(ctx context.Context, db *store.DB, r *store.Run, from source, format string) (*experiment.Experiment, suites.Ranker, error) {
	l, err := from.load()
	if err != nil {
		return nil, nil, err
	}
	ranker, ok := l.Bench.(suites.Ranker)
	if !ok {
		l.Close()
		return nil, nil, fmt.Errorf("--format %s: suite %s ranks nothing; `--table` has lines of every suite", format, l.Study.Suite)
	}
	if _, err := l.Attach(ctx, db, r); err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, ranker, nil
}

// exportTREC writes a run's rankings as trec_eval reads them: one run file an
// arm and replicate, and judgements in which the right item alone is relevant.
func (a *app) exportTREC(ctx context.Context, db *store.DB, r *store.Run, from source, dir string) error {
	l, ranker, err := a.ranked(ctx, db, r, from, "trec")
	if err != nil {
		return err
	}
	defer l.Close()
	names, err := runNames(l.Bench.Arms(), l.Study.Execution.Replicates)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("exporting runs: %w", err)
	}
	w := folder{dir: dir, files: map[string]*openFile{}}
	judged := map[string]bool{}
	for j, err := range db.Outcomes(ctx, r) {
		if err != nil {
			return errors.Join(err, w.close())
		}
		ids, gold, ranked := ranker.Ranking(j.Trial, j.Outcome)
		query := trecID(j.Trial.Item)
		if gold != "" && !judged[query] {
			judged[query] = true
			w.text("qrels.txt", fmt.Sprintf("%s 0 %s 1\n", query, trecID(gold)))
		}
		if !ranked || len(ids) == 0 {
			ids = []string{noPrediction}
		}
		name := names[replicateOf{j.Trial.Arm, j.Trial.Replicate}]
		for i, id := range ids {
			w.text(name+".run", fmt.Sprintf("%s Q0 %s %d %d %s\n", query, trecID(id), i+1, len(ids)-i, name))
		}
	}
	if err := w.close(); err != nil {
		return fmt.Errorf("exporting runs: %w", err)
	}
	a.say("wrote %d files to %s", len(w.files), dir)
	return nil
}

type replicateOf struct {
	arm string
	n   int
}

// runNames gives each arm and replicate the name of its run file.
func runNames(arms []eval.Arm, replicates int) (map[replicateOf]string, error) {
	names, taken := map[replicateOf]string{}, map[string]string{}
	for _, arm := range arms {
		for n := 1; n <= replicates; n++ {
			name := strings.NewReplacer("/", "_", "@", "_").Replace(arm.ID)
			if n > 1 {
				name += fmt.Sprintf("_%d", n)
			}
			if other, ok := taken[name]; ok {
				return nil, fmt.Errorf("exporting runs: arms %s and %s would share the file %s.run: rename a method", other, arm.ID, name)
			}
			taken[name], names[replicateOf{arm.ID, n}] = arm.ID, name
		}
	}
	return names, nil
}

// trecID is an id without the blanks that part the fields of TREC files; what
// is not a letter, digit or sign is written as in addresses, and so is %.
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
