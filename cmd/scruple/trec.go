package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites"
)

// exportTREC writes a run's rankings as trec_eval reads them: one run file an
// arm and replicate, and judgements in which the right item alone is relevant.
func (a *app) exportTREC(ctx context.Context, db *store.DB, r *store.Run, path, dir string) error {
	l, err := a.load(path)
	if err != nil {
		return err
	}
	defer l.close()
	ranker, ok := l.bench.(suites.Ranker)
	if !ok {
		return fmt.Errorf("--format trec: suite %s ranks nothing", l.study.Suite)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("exporting runs: %w", err)
	}
	w := folder{dir: dir, files: map[string]*openFile{}}
	qrels := map[string]bool{}
	for j, err := range db.Outcomes(ctx, r) {
		if err != nil {
			return errors.Join(err, w.close())
		}
		ids, gold, ranked := ranker.Ranking(j.Trial, j.Outcome)
		if gold != "" && !qrels[j.Trial.Item] {
			qrels[j.Trial.Item] = true
			w.text("qrels.txt", fmt.Sprintf("%s 0 %s 1\n", j.Trial.Item, gold))
		}
		if !ranked {
			continue // no line: trec_eval leaves the query out; judged queries without a run are said by `measure ranking`
		}
		name := strings.NewReplacer("/", "_", "@", "_").Replace(j.Trial.Arm)
		if j.Trial.Replicate > 1 {
			name += fmt.Sprintf("_%d", j.Trial.Replicate)
		}
		for i, id := range ids {
			w.text(name+".run", fmt.Sprintf("%s Q0 %s %d %d %s\n", j.Trial.Item, id, i+1, len(ids)-i, name))
		}
	}
	if err := w.close(); err != nil {
		return fmt.Errorf("exporting runs: %w", err)
	}
	a.say("wrote %d files to %s", len(w.files), dir)
	return nil
}
