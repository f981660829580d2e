package extraction

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// A fake answers requests and records them by step.
type fake struct {
	answer func(step string, r eval.Request) (eval.Response, error)
	asked  []eval.Request
	steps  []string
}

func (f *fake) Ask(_ context.Context, step string, r eval.Request) (eval.Response, error) {
	f.asked, f.steps = append(f.asked, r), append(f.steps, step)
	return f.answer(step, r)
}

func says(text string) *fake {
	return &fake{answer: func(string, eval.Request) (eval.Response, error) {
		return eval.Response{Text: text, Stop: eval.StopEnd}, nil
	}}
}

// write puts files into a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// open loads a study from a folder and binds the suite to it.
func openIn(t testing.TB, dir string) (*bench, error) {
	t.Helper()
	var s Study
	f, err := study.Load(filepath.Join(dir, "study.yaml"), nil, &s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := open(f, &s)
	if err == nil {
		t.Cleanup(func() { b.Close() })
	}
	return b, err
}

// mustOpen writes files and opens the study among them.
func mustOpen(t testing.TB, files map[string]string) *bench {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// starterBench opens the starter study.
func starterBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	suite := Suite()
	if _, err := suite.Init(dir); err != nil {
		t.Fatal(err)
	}
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const invoiceStudy = `name: test
suite: extraction
data: {source: jsonl, path: docs.jsonl}
models: [{id: m, provider: openai, name: any, base_url: "http://127.0.0.1:1/v1", temperature: 0, max_tokens: 256}]
arms:
  - {name: ctn, builtin: ctn_extraction}
  - {name: rules, builtin: heuristic}
`

// invoiceLine is a document of about size bytes with five fields of gold.
func invoiceLine(id string, size int) string {
	head := fmt.Sprintf(`---PAGE 1---\nINVOICE\nVendor: Acme Widgets Ltd\nInvoice Number: INV-%s\nInvoice Date: March 15, 2024\nDue Date: April 14, 2024\nTotal: $1,234.56\n`, id)
	filler := strings.Repeat(`Line item with a description, 4 pieces of something at 12.00 each\n`, max(0, size-len(head))/68)
	return fmt.Sprintf(`{"document_id":"doc-%[1]s","schema":"invoice","difficulty":"easy","text":"%[2]s%[3]s","ground_truth":[`+
		`{"field":"invoice_number","exists_in_document":true,"is_ambiguous":false,"correct_value":"INV-%[1]s","acceptable_values":["INV-%[1]s"],"evidence_quote":"Invoice Number: INV-%[1]s","page":1},`+
		`{"field":"invoice_date","exists_in_document":true,"is_ambiguous":false,"correct_value":"2024-03-15","acceptable_values":["2024-03-15","March 15, 2024"],"evidence_quote":"Invoice Date: March 15, 2024","page":1},`+
		`{"field":"due_date","exists_in_document":true,"is_ambiguous":false,"correct_value":"2024-04-14","acceptable_values":["2024-04-14"],"evidence_quote":"Due Date: April 14, 2024","page":1},`+
		`{"field":"total_amount","exists_in_document":true,"is_ambiguous":false,"correct_value":"1234.56","acceptable_values":["1234.56"],"evidence_quote":"Total: $1,234.56","page":1},`+
		`{"field":"vendor_name","exists_in_document":true,"is_ambiguous":false,"correct_value":"Acme Widgets Ltd","acceptable_values":["Acme Widgets Ltd"],"evidence_quote":"Vendor: Acme Widgets Ltd","page":1}]}`+"\n", id, head, filler)
}

func invoices(n, size int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(invoiceLine(fmt.Sprintf("%06d", i), size))
	}
	return b.String()
}

const invoiceAnswer = `{"extractions":[
{"field":"invoice_number","value":"INV-000000","evidence":{"quote":"Invoice Number: INV-000000","page":1},"status":"ok","confidence":"high","candidates":[]},
{"field":"invoice_date","value":"2024-03-15","evidence":{"quote":"Invoice Date: March 15, 2024","page":1},"status":"ok","confidence":"high","candidates":[]},
{"field":"due_date","value":"2024-04-14","evidence":{"quote":"Due Date: April 14, 2024","page":1},"status":"ok","confidence":"high","candidates":[]},
{"field":"total_amount","value":"1,234.56","evidence":{"quote":"Total: $1,234.56","page":1},"status":"ok","confidence":"high","candidates":[]},
{"field":"vendor_name","value":"Acme Widgets Ltd","evidence":{"quote":"Vendor: Acme Widgets Ltd","page":1},"status":"ok","confidence":"high","candidates":[]}]}`

// BenchmarkOpen is the cost of loading and checking a document.
func BenchmarkOpen(b *testing.B) {
	const n = 2000
	dir := b.TempDir()
	write(b, dir, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": invoices(n, 1000)})
	for b.Loop() {
		if _, err := openIn(b, dir); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/document")
}

// benchTrial cycles through documents the way a run does: three arms each.
func benchTrial(i int) eval.Trial {
	return eval.Trial{Item: fmt.Sprintf("doc-%06d", i/3%1000), Arm: "ctn", Replicate: 1}
}

func BenchmarkPerform(b *testing.B) {
	bench := mustOpen(b, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": invoices(1000, 1000)})
	ask := says(invoiceAnswer)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ask.asked, ask.steps = ask.asked[:0], ask.steps[:0]
		if _, err := bench.Perform(b.Context(), benchTrial(i), ask); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScore(b *testing.B) {
	bench := mustOpen(b, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": invoices(1000, 1000)})
	o := outcomeOf(invoiceAnswer, eval.StopEnd, noSchema)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if len(bench.Score(nil, eval.CaseOf(benchTrial(i), o, nil))) == 0 {
			b.Fatal("no scores")
		}
	}
}

// A million documents must fit in memory: position, strata and two hashes of
// each, at most 440 bytes.
func TestMemory(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	write(t, dir, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": invoices(n, 500)})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := float64(after.HeapAlloc-before.HeapAlloc) / n; each > 440 {
		t.Errorf("a document takes %.0f bytes of memory, want at most 440", each)
	} else {
		t.Logf("a document takes %.0f bytes of memory", each)
	}
	runtime.KeepAlive(b)
}

// testContext is for code without a testing.T.
var testContext = context.Background()
