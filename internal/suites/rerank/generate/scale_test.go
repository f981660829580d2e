package generate

import (
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A data set of 10,000 items, 200,000 reviews and 1,000 requests is to be read
// and validated, every request on every item, in less than 30 s and 1 GB on
// two cores:
//
//	go test ./internal/suites/rerank/generate -run '^$' -bench Validate -benchtime 1x
//
// On two cores, shared with others, of the machine it was written on it took 8 s
// and 0.65 GB.
func BenchmarkValidate(b *testing.B) {
	dir := b.TempDir()
	d, err := Generate(Options{Seed: 1, Items: 10_000, Reviews: 200_000, Requests: 1_000})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := kit.WriteFiles(dir, d.Files()); err != nil {
		b.Fatal(err)
	}
	d = nil
	debug.FreeOSMemory()
	for b.Loop() {
		c, findings, err := catalog.Load(catalog.Files{Items: filepath.Join(dir, ItemsFile), Reviews: filepath.Join(dir, ReviewsFile), Users: filepath.Join(dir, UsersFile)})
		if err != nil || len(findings) > 0 {
			b.Fatal(err, findings)
		}
		set, findings, err := request.Load(filepath.Join(dir, RequestsFile), c)
		if err != nil || len(findings) > 0 {
			b.Fatal(err, findings)
		}
		for _, s := range evidence.Validate(c, set.Requests) {
			if s.Status != evidence.OK {
				b.Fatal(s)
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MB")
}

// BenchmarkGenerate makes the same data set.
func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		if _, err := Generate(Options{Seed: 1, Items: 10_000, Reviews: 200_000, Requests: 1_000}); err != nil {
			b.Fatal(err)
		}
	}
}
