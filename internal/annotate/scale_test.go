package annotate

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// looked counts how often it shows anything.
type looked struct {
	corpus
	n int
}

func (c *looked) Show(t eval.Trial) (eval.Exhibit, error) {
	c.n++
	return c.corpus.Show(t)
}

// A decision looks at the subjects that it is about, and reads no file that did not change.
func TestDecisionsReadOnce(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p, source := at(t, &clock), &looked{corpus: corpus{30}}
	task := label.Full()
	task.Again = study.Again{}
	if _, err := p.queue(task, source); err != nil {
		t.Fatal(err)
	}
	for _, person := range []string{"anna", "ben"} {
		d := open(t, p, task, person)
		for i := range 30 {
			if err := d.say(t, map[bool]string{true: "yes", false: "no"}[person == "anna" || i == 0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(p, []study.Task{task}, source, "test", true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "carol")
	var works map[string]other
	for n := range 5 {
		source.n = 0
		_, key := do("carol", "GET", "t/t/", "")
		_, page := do("carol", "GET", "t/t/"+key, "")
		if want := fmt.Sprintf("%d of 29", n+1); !strings.Contains(page, want) {
			t.Fatalf("decision %d: no %q in\n%s", n, want, page)
		}
		code, said := do("carol", "POST", "event", fmt.Sprintf(`{"id":"0123456789abcde%d","task":"t","kind":"adjudicate","key":%q,"shown":%q,"answer":{"q":"yes"},"reason":"it is"}`, n, key, shownHash.FindStringSubmatch(page)[1]))
		if code != 200 {
			t.Fatalf("%d %s", code, said)
		}
		others := s.desks[[2]string{"t", "carol"}].others
		switch {
		case n == 0:
			works = map[string]other{"anna": others["anna"], "ben": others["ben"]}
		case source.n > 8:
			t.Errorf("decision %d looked %d times at subjects", n, source.n)
		case others["anna"].work != works["anna"].work || others["ben"].work != works["ben"].work:
			t.Errorf("decision %d read a file again that did not change", n)
		}
	}
}

// Whatever a browser can send fits into the line that keeps it, where JSON writes < as six bytes.
func TestTheLargestAnswerIsKept(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := study.Task{Name: "t", Of: "item", Ask: []study.Question{{Name: "q", Type: "text", Text: "Q"}}}
	s, err := Open(p, []study.Task{task}, corpus{1}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do := talking(t, s, "anna")
	_, key := do("anna", "GET", "t/t/", "")
	_, page := do("anna", "GET", "t/t/"+key, "")
	head := fmt.Sprintf(`{"id":"0123456789abcdef","task":"t","kind":"submit","key":%q,"shown":%q,"answer":{"q":"`, key, shownHash.FindStringSubmatch(page)[1])
	text := strings.Repeat("<", serve.MaxBody-len(head)-len(`"}}`))
	if code, said := do("anna", "POST", "event", head+text+`"}}`); code != 200 {
		t.Fatalf("%d %s", code, said)
	}
	w, err := p.ReadWork("t", "anna")
	if err != nil || w.Answers()[0].Answer.Text("q") != text {
		t.Errorf("the answer is not what was sent: %v", err)
	}
}

// What an answer takes does not grow with its passages times the text, nor with their square.
func TestManyPassages(t *testing.T) {
	const n = 40_000
	q := study.Question{Name: "q", Type: "span", Options: []string{"name"}, Values: true}
	// took reads and compares n passages in a text; the least of three times.
	took := func(n, length int) (least time.Duration) {
		shown := Shown{Pages: []Page{{1, strings.Repeat("ä word ", length)}}, Ask: []study.Question{q}}
		var spans, others []Span
		for i := range n {
			spans = append(spans, Span{Page: 1, Start: 7, End: 13, Text: "ä word", Label: "name", Value: fmt.Sprintf("%06d", i), Record: i + 1})
			others = append(others, Span{Page: 1, Start: 7, End: 13, Label: fmt.Sprintf("%06d", i)})
		}
		given, reversed := Answer{"q": encoded(spans)}, slices.Clone(others)
		slices.Reverse(reversed)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			if err := given.check(shown, false); err != nil {
				t.Fatal(err)
			}
			a := given.exact(shown)
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > uint64(n)*4<<10+1<<20 || len(a.Spans("q")) != n {
				t.Errorf("%d passages took %d MB", len(a.Spans("q")), (after.TotalAlloc-before.TotalAlloc)>>20)
			}
			if both := borders(others, reversed); both != n {
				t.Errorf("%d passages of %d are the same", both, n)
			}
			if d := time.Since(begin); least == 0 || d < least {
				least = d
			}
		}
		return least
	}
	// With each passage compared with all others many take 64 times as long as an eighth of them, and
	// with the text read for each passage a long text takes 10 times as long.
	few, short, long := took(n/8, 30_000), took(n, 3_000), took(n, 30_000)
	if long > 32*few || long > 5*short {
		t.Errorf("%d passages took %v, an eighth of them %v, and in a text of a tenth %v", n, long, few, short)
	}
}

// Of many drafts of an answer the server keeps the last one in memory.
func TestOldDraftsAreNotInMemory(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	d := open(t, at(t, &clock), study.Task{Name: "t", Of: "item", Ask: []study.Question{{Name: "q", Type: "text", Text: "Q"}}}, "anna")
	defer d.close()
	subject := d.queue.Subjects[0]
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	for i := range 40 {
		ev := Event{ID: fmt.Sprintf("%016d", i), Subject: &subject, Pass: passFirst, Answer: Answer{"q": encoded(strings.Repeat("x", 1<<20))}}
		if _, err := d.append(eventDraft, ev); err != nil {
			t.Fatal(err)
		}
	}
	if after := live(); after > before+20<<20 {
		t.Errorf("40 drafts of 1 MB take %d MB", (after-before)>>20)
	}
	runtime.KeepAlive(d)
}
