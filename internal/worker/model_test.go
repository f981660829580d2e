package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/postgrestest"
	"github.com/scruple-eval/scruple/internal/store"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.M{M: m}.Run()) }

// opened is one process of a store.
func opened(t testing.TB, address string) *Queue {
	t.Helper()
	db, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close(); db.Close() })
	return q
}

// A fewTrials plan has trials of one arm.
type fewTrials int

func (p fewTrials) Len() int { return int(p) }
func (p fewTrials) Trial(seq int) eval.Trial {
	return eval.Trial{Item: fmt.Sprint(seq), Arm: "a", Replicate: 1}
}
func (p fewTrials) Seq(t eval.Trial) (n int, ok bool) {
	_, err := fmt.Sscan(t.Item, &n)
	return n, err == nil && n < int(p)
}
func (p fewTrials) Question(int) int64          { return 1 }
func (p fewTrials) Basis(int) (int64, int64)    { return 1, 1 }
func (p fewTrials) ReadEarlier(int, int64) bool { return false }

// A process takes shards as River gives them, and may not know that it lost one.
type process struct {
	*session
	alive bool
}

// take takes a shard as River does.
func (p *process) take(t interface{ Context() context.Context }, of *store.Run) *hand {
	var row rivertype.JobRow
	var step experiment.Step
	err := p.w.pool.QueryRow(t.Context(), `UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = clock_timestamp(), attempted_by = array_append(attempted_by, $2)
		WHERE id = (SELECT id FROM river_job WHERE queue = $1 AND state = 'available' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, attempted_at, (args->>'step')::int`,
		queueOf(of.N), p.w.holder).Scan(&row.ID, &row.AttemptedAt, &step)
	if err != nil {
		return nil
	}
	h := &hand{job: &river.Job[Job]{JobRow: &row, Args: Job{Shard: experiment.Shard{Step: step}}}}
	p.hands[row.ID] = h
	return h
}

// Of any processes that take shards, write, give them back, are silent and have them taken,
// wake, and complete them, in any order: only one that has all its shards writes the run; each
// shard is completed once; no step begins before the one before it has ended; and workers
// have the run until the last shard is complete, and no other process writes it before.
func TestModelOfShards(t *testing.T) {
	address := postgrestest.Address(t)
	lead := opened(t, address)
	const processes = 3
	var queues []*Queue
	for range processes {
		queues = append(queues, opened(t, address))
	}
	rapid.Check(t, func(t *rapid.T) {
		r, err := lead.db.CreateRun(t.Context(), store.Run{Study: "s", CreatedAt: time.Now()}, nil, fewTrials(4))
		if err != nil {
			t.Fatal(err)
		}
		var jobs []Job
		for step := range experiment.Step(3) {
			for range rapid.IntRange(0, 3).Draw(t, "shards") {
				jobs = append(jobs, Job{Shard: experiment.Shard{Step: step}, Run: r.N})
			}
		}
		if len(jobs) == 0 {
			return
		}
		if err := lead.insert(t.Context(), r, jobs, "v"); err != nil {
			t.Fatal(err)
		}
		var ps []*process
		for _, q := range queues {
			p := &process{&session{Loaded: &Loaded{Run: &experiment.Run{Record: r}}, w: &Worker{Queue: q}, hands: map[int64]*hand{}}, true}
			q.db.Join(r, p.fence)
			defer q.db.Join(r, nil)
			ps = append(ps, p)
		}
		owner := map[int64]*process{} // of each running shard, by the model
		left := len(jobs)
		open := map[experiment.Step]int{}
		for _, j := range jobs {
			open[j.Step]++
		}
		has := func(p *process) bool { // all that it believes to have
			for id := range p.hands {
				if owner[id] != p {
					return false
				}
			}
			return len(p.hands) > 0
		}
		pick := func(p *process) *hand {
			var ids []int64
			for id := range p.hands {
				ids = append(ids, id)
			}
			if len(ids) == 0 {
				return nil
			}
			slices.Sort(ids)
			return p.hands[rapid.SampledFrom(ids).Draw(t, "shard")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				p := rapid.SampledFrom(ps).Draw(t, "process")
				h := p.take(t, r)
				if h == nil {
					return
				}
				for step := range h.job.Args.Step {
					if open[step] > 0 {
						t.Fatalf("step %v began while %d shards of %v are open", h.job.Args.Step, open[step], step)
					}
				}
				owner[h.job.ID] = p
			},
			"write": func(t *rapid.T) {
				p := rapid.SampledFrom(ps).Draw(t, "process")
				err := p.w.db.DropAnalysis(t.Context(), r)
				if has(p) != (err == nil) || err != nil && !errors.Is(err, errLost) {
					t.Fatalf("has all its shards: %v, writing: %v", has(p), err)
				}
			},
			"give back": func(t *rapid.T) {
				p := rapid.SampledFrom(ps).Draw(t, "process")
				if h := pick(p); h != nil {
					p.drop(h)
					// As River does it: it looks at no more than the state.
					_, _ = p.w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'available', attempt = attempt - 1 WHERE id = $1 AND state = 'running'`, h.job.ID)
					if owner[h.job.ID] == p {
						delete(owner, h.job.ID)
					}
				}
			},
			"silent": func(t *rapid.T) { // no process said that it is there
				if err := lead.rescue(t.Context()); err != nil {
					t.Fatal(err)
				}
				clear(owner)
			},
			"complete": func(t *rapid.T) {
				p := rapid.SampledFrom(ps).Draw(t, "process")
				h := pick(p)
				if h == nil {
					return
				}
				p.drop(h)
				mine := owner[h.job.ID] == p
				err := p.w.complete(t.Context(), r, h.job.ID, *h.job.AttemptedAt)
				if mine != (err == nil) || err != nil && !errors.Is(err, errLost) {
					t.Fatalf("has the shard: %v, completing it: %v", mine, err)
				}
				if mine {
					delete(owner, h.job.ID)
					left--
					open[h.job.Args.Step]--
				}
			},
			"": func(t *rapid.T) {
				entrusted, err := lead.db.Entrusted(t.Context(), r)
				if err != nil || entrusted != (left > 0) {
					t.Fatalf("%d shards are open, and workers have the run: %v, %v", left, entrusted, err)
				}
				if err := lead.db.DropAnalysis(t.Context(), r); left > 0 && !errors.Is(err, store.ErrEntrusted) {
					t.Fatalf("another process writes the run of workers: %v", err)
				}
			},
		})
	})
}
