//go:build unix

package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

// cpu reports the processor time of an operation: wall time on a busy computer says
// little.
func cpu(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/1e3/float64(b.N), "cpu-ms/op") }
}

// BenchmarkView measures a run of 100,000 trials. The goals: first pages 50 ms, filter
// and sort 50 ms, an index of 60 MB in 2 s.
func BenchmarkView(b *testing.B) {
	db := bigStore(b, 25_000)
	run, err := db.Run(b.Context(), "big-1")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first page without index", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			if _, err := buildIndex(b.Context(), db, run, 0, rowsPerPage); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("index", func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var x *index
		done := cpu(b)
		for b.Loop() {
			x, err = buildIndex(b.Context(), db, run, 0, run.Trials)
			if err != nil {
				b.Fatal(err)
			}
		}
		done()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(x)
	})
	v := newViewer(b, db)
	for _, p := range []struct{ name, path string }{
		{"runs", "/"},
		{"samples", "/r/big-1/samples"},
		{"trial", "/r/big-1/t/50000"},
	} {
		get(b, v, p.path)
		b.Run("page "+p.name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				b.ReportMetric(float64(len(get(b, v, p.path)))/1e3, "KB")
			}
		})
	}
	get(b, v, "/r/big-1/samples?sort=arm")
	rounds := 0
	b.Run("page of a new filter and sort", func(b *testing.B) {
		defer cpu(b)()
		rounds++
		percentiles(b, v, 10_000*rounds)
	})
	b.Run("page of a comparison", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			get(b, v, "/c?r=big-1&a=ctn@a&b=ctn@b&metric=metric_0")
		}
	})
}

// BenchmarkReplicates measures a comparison of 50 items with many replicates.
func BenchmarkReplicates(b *testing.B) {
	for _, unit := range []string{"", "u"} {
		for _, n := range []int{100, 1000} {
			scores := map[string][2][][]fraction{}
			for i := range 50 {
				of := [2][][]fraction{slices.Repeat([][]fraction{{{unit, 1}}}, n), slices.Repeat([][]fraction{{{unit, 0}}}, n)}
				scores[fmt.Sprint(i)] = of
			}
			v := newViewer(b, scoredStore(b, scores))
			get(b, v, "/c?r=s-1")
			b.Run(fmt.Sprintf("unit %q, %d replicates", unit, n), func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					get(b, v, "/c?r=s-1")
				}
			})
		}
	}
}

// BenchmarkMillion measures a run of a million trials. The goal: first pages 300 ms, while
// the index is built.
func BenchmarkMillion(b *testing.B) {
	db := bigStore(b, 250_000)
	b.Run("first page in a new viewer", func(b *testing.B) {
		var slowest time.Duration
		for b.Loop() {
			ctx, stop := context.WithCancel(b.Context())
			v, err := New(ctx, Options{DB: db, Study: func(r *store.Run) string { return r.StudyPath }, Load: func(*store.Run, string) (*experiment.Experiment, error) { return nil, errors.New("no study here") },
				Command: func(r *store.Run, verb string, rest ...string) string { return verb }})
			if err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			get(b, v, "/r/big-1/samples")
			slowest = max(slowest, time.Since(began))
			stop()
			v.mu.Lock()
			held := v.indexes["big-1"]
			v.mu.Unlock()
			held.mu.Lock() // the work in the background has ended
			err = v.Close()
			held.mu.Unlock()
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(slowest.Microseconds())/1e3, "slowest-ms")
	})
	run, err := db.Run(b.Context(), "big-1")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("index", func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var x *index
		done := cpu(b)
		for b.Loop() {
			if x, err = buildIndex(b.Context(), db, run, 0, run.Trials); err != nil {
				b.Fatal(err)
			}
		}
		done()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(x)
	})
	v := newViewer(b, db)
	if _, err := v.index(b.Context(), run); err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"samples": "/r/big-1/samples", "runs": "/", "trial": "/r/big-1/t/500000", "item": "/r/big-1/i?item=doc-100000"} {
		get(b, v, path)
		b.Run("page "+name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				get(b, v, path)
			}
		})
	}
	b.Run("page of a new filter and sort", func(b *testing.B) {
		defer cpu(b)()
		percentiles(b, v, 0)
	})
}

// percentiles reports the 95th percentile of pages of new filters and sorts.
func percentiles(b *testing.B, v *Viewer, k int) {
	var times []float64
	for b.Loop() {
		k++
		began := time.Now()
		get(b, v, fmt.Sprintf("/r/big-1/samples?q=arm+%%3D%%3D+%%22ctn@a%%22+%%26%%26+metric_0+%%3C+0.7%05d&sort=-metric_1", k))
		times = append(times, float64(time.Since(began).Microseconds())/1e3)
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "p50-ms")
	b.ReportMetric(times[min(len(times)-1, len(times)*95/100)], "p95-ms")
}

// BenchmarkLongTrial renders a document of 300 KB with 500 marks, and a page of a
// transcript of 5,000 steps.
func BenchmarkLongTrial(b *testing.B) {
	x := longTrial()
	b.Run("document", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			html, err := report.Trial(x, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(html))/1e3, "KB")
		}
	})
	db := longStore(b, 5_000)
	v := newViewer(b, db)
	b.Run("transcript", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			b.ReportMetric(float64(len(get(b, v, "/r/long-1/t/1/calls?page=30")))/1e3, "KB")
		}
	})
}

// BenchmarkPaint measures the first contentful paint in a browser of the document and of
// the transcript of BenchmarkLongTrial, and of the first page of a list of 100,000 trials.
func BenchmarkPaint(b *testing.B) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		b.Skip("chromium is not installed")
	}
	html, err := report.Trial(longTrial(), nil)
	if err != nil {
		b.Fatal(err)
	}
	long, big := newViewer(b, longStore(b, 5_000)), newViewer(b, bigStore(b, 25_000))
	mux := http.NewServeMux()
	mux.HandleFunc("/document", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!DOCTYPE html><link rel="stylesheet" href="/long/%s"><main>%s</main>`, long.style, html)
	})
	mux.Handle("/long/", http.StripPrefix("/long", long))
	mux.Handle("/big/", http.StripPrefix("/big", big))
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	allocator, cancel := chromedp.NewExecAllocator(b.Context(), chromedp.ExecPath(browser), chromedp.UserDataDir(b.TempDir()), chromedp.Flag("headless", true), chromedp.Flag("disable-gpu", true))
	b.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	b.Cleanup(cancel)
	for name, path := range map[string]string{"document": "/document", "transcript": "/long/r/long-1/t/1/calls", "list": "/big/r/big-1/samples"} {
		b.Run(name, func(b *testing.B) {
			var times []float64
			for b.Loop() {
				if err := chromedp.Do(tab, chromedp.Navigate(server.URL+path)); err != nil {
					b.Fatal(err)
				}
				fcp, err := chromedp.Run(tab, chromedp.Evaluate[float64](`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`))
				if err != nil {
					b.Fatal(err)
				}
				if fcp > 0 {
					times = append(times, fcp)
				}
			}
			if len(times) > 0 {
				slices.Sort(times)
				b.ReportMetric(times[0], "min-ms")
				b.ReportMetric(times[len(times)/2], "median-ms")
			}
		})
	}
}
