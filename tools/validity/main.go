// Command validity measures how often verdicts are wrong. It simulates studies
// with known true differences and takes each through the whole program, from the
// study file to the gate, with a real store and no model.
//
//	go run ./tools/validity -reps 1000
//	go run ./tools/validity cells/*.json
//
// The second form prints the tables of results that -json wrote, such as one file a cell.
// A cell is a planned test, a design of clusters, a kind of score, a number of
// comparisons and a truth; -list names them. The exit status is 1 if a cell
// misses a goal by more than the error of the simulation, and 2 if the
// simulation fails.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute is the command without the process.
func execute(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("validity", flag.ContinueOnError)
	flags.SetOutput(errs)
	reps := flags.Int("reps", 1000, "repetitions of each cell")
	match := flags.String("cells", "", "regular expression: simulate only cells whose name matches")
	seed := flags.Uint64("seed", 1, "random seed")
	workers := flags.Int("workers", runtime.GOMAXPROCS(0), "repetitions at the same time; they do not change the results")
	jsonFile := flags.String("json", "", "write the results as JSON to this `file`")
	others := flags.Bool("peers", false, "compare the gate with the rules of other tools instead")
	list := flags.Bool("list", false, "list the cells and exit")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen, err := choose(*match)
	if err == nil && (*reps < 1 || *workers < 1) {
		err = errors.New("want at least 1 for -reps and -workers")
	}
	if err == nil && *list {
		for _, c := range chosen {
			fmt.Fprintln(out, c.name)
		}
		return 0
	}
	if err == nil && *others {
		err = withBenches(*workers, func(benches []*bench) error { return comparePeers(ctx, *reps, *seed, benches, out, errs) })
		if err == nil {
			return 0
		}
	}
	var t table
	switch {
	case err != nil:
	case flags.NArg() > 0:
		t, err = join(flags.Args())
	default:
		t, err = simulate(ctx, chosen, *reps, *seed, *workers, errs)
	}
	if len(t.Cells) > 0 {
		if err != nil {
			err = fmt.Errorf("%w; the tables have the first %d of %d cells", err, len(t.Cells), len(chosen))
		}
		if *jsonFile != "" {
			data, problem := json.MarshalIndent(t, "", "  ")
			err = errors.Join(err, problem, os.WriteFile(*jsonFile, append(data, '\n'), 0o644))
		}
		io.WriteString(out, t.markdown())
	}
	switch {
	case err != nil:
		fmt.Fprintln(errs, "validity:", err)
		return 2
	case t.flagged() > 0:
		return 1
	}
	return 0
}

// choose returns the cells whose name matches.
func choose(match string) ([]cell, error) {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return nil, fmt.Errorf("-cells: %w", err)
	}
	var chosen []cell
	for _, c := range cells() {
		if pattern.MatchString(c.name) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-cells: no cell matches %q; -list lists them", match)
	}
	return chosen, nil
}

// join reads the results of files, in the order of the cells.
func join(files []string) (t table, err error) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return t, err
		}
		var one table
		if err := json.Unmarshal(data, &one); err != nil {
			return t, fmt.Errorf("%s: %w", file, err)
		}
		one.Cells = append(t.Cells, one.Cells...)
		t = one
	}
	at := map[string]int{}
	for i, c := range cells() {
		at[c.name] = i
	}
	slices.SortStableFunc(t.Cells, func(x, y summary) int { return at[x.Cell] - at[y.Cell] })
	return t, nil
}

// simulate simulates the cells one after the other and reports their time. With
// an error it returns the cells before it.
func simulate(ctx context.Context, chosen []cell, reps int, seed uint64, workers int, progress io.Writer) (table, error) {
	t := table{Seed: seed, Repetitions: reps}
	err := withBenches(workers, func(benches []*bench) error {
		for k, c := range chosen {
			begun := time.Now()
			results, err := repetitions(ctx, c, reps, seed, benches)
			if err != nil {
				return err
			}
			promised, promises, err := benches[0].promise(c, seed)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			s := summarise(c, results, promised, promises)
			t.Cells = append(t.Cells, s)
			fmt.Fprintf(progress, "%3d/%d %-42s %5.1f ms  %v\n", k+1, len(chosen), c.name,
				time.Since(begun).Seconds()*1000*float64(workers)/float64(reps), s.Flags)
		}
		return nil
	})
	return t, err
}

// withBenches calls with a bench for each worker.
func withBenches(workers int, with func([]*bench) error) (err error) {
	// A repetition allocates much and keeps nothing.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	dir, err := os.MkdirTemp("/dev/shm", "scruple-validity") // the store waits for the disk after every commit
	if err != nil {
		dir, err = os.MkdirTemp("", "scruple-validity")
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var benches []*bench
	for range workers {
		b, err := newBench(dir)
		if err != nil {
			return err
		}
		defer b.close()
		benches = append(benches, b)
	}
	return with(benches)
}

// repetitions simulates one cell on all benches.
func repetitions(ctx context.Context, c cell, reps int, seed uint64, benches []*bench) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, reps)
	draw := c.source()
	next := make(chan int)
	var wait sync.WaitGroup
	for _, b := range benches {
		wait.Go(func() {
			for i := range next {
				r, err := b.repeat(ctx, c, draw(stream(seed, c.name, i)), i)
				if err != nil {
					cancel(fmt.Errorf("%s, repetition %d: %w", c.name, i, err))
				}
				results[i] = r
			}
		})
	}
	for i := range reps {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	return results, context.Cause(ctx)
}
