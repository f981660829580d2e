//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/discipline"
)

// A TEST run that was killed is the same run when it goes on; before it is finished,
// nothing shows its results; and after it there is no second one.
func TestKilledTestRun(t *testing.T) {
	t.Parallel()
	scruple, fake := findScruple(t), findFake(t)
	url, stop, err := startFake(fake, "-latency", "30ms")
	must(t, err)
	defer stop()
	dir := t.TempDir()
	study := invoices(t, dir, url, 120, "{concurrency: 4, retries: [10ms]}")
	data := filepath.Join(dir, "memos.jsonl")
	text, err := os.ReadFile(data)
	must(t, err)
	writeTestFile(t, data, strings.ReplaceAll(string(text), `{"document_id"`, `{"split":"test","document_id"`))
	output(t, scruple, "test", "register", study)
	run := []string{"run", study, "--split", "test"}
	kills := 0
	for kills < 3 {
		c := exec.Command(scruple, run...)
		must(t, c.Start())
		before := statsOf(t, url).Requests
		for statsOf(t, url).Requests < before+8 {
			time.Sleep(5 * time.Millisecond)
		}
		must(t, c.Process.Kill())
		_ = c.Wait()
		kills++
		for _, args := range [][]string{{"report", study}, {"gate", study}, {"score", study}, {"show", study, "--worst", "3"}, {"export", study, "--table", "outcomes"}, {"compare", study}} {
			if code, out, errs := scrupleIn(t, dir, append(args, "--split", "test")...); code != exitNotAllowed || !strings.Contains(errs, "not finished") {
				t.Errorf("%v of an unfinished TEST run: exit code %d: %s%s", args, code, out, errs)
			}
		}
	}
	// Nor do arms that take its answers for other items with the same ids.
	writeTestFile(t, filepath.Join(dir, "other.jsonl"), strings.ReplaceAll(string(text), "PAGE 1---", "PAGE 1--- "))
	peek := filepath.Join(dir, "peek.yaml")
	writeTestFile(t, peek, "name: peek\nsuite: extraction\ndata: {source: jsonl, path: other.jsonl}\narms: [{name: k, run: 'memos-1:k'}]\n")
	if code, out, errs := scrupleIn(t, dir, "run", peek); code != exitNotAllowed || !strings.Contains(errs, "not finished") {
		t.Errorf("answers of an unfinished TEST run: exit code %d: %s%s", code, out, errs)
	}
	base := startView(t, study)
	for _, page := range []string{"r/memos-1/samples", "r/memos-1/judge", "c?r=memos-1&a=k&b=null_baseline"} {
		r, err := http.Get(base + page)
		must(t, err)
		r.Body.Close()
		if r.StatusCode != http.StatusForbidden {
			t.Errorf("the viewer shows %s of an unfinished TEST run: status %d", page, r.StatusCode)
		}
	}
	out := output(t, scruple, run...)
	if !strings.Contains(out, "run memos-1") {
		t.Errorf("the run did not go on: %s", out)
	}
	book, err := discipline.Read(discipline.Path(study))
	must(t, err)
	if len(book.Tests) != 1 || len(book.Unblindings) != 0 {
		t.Errorf("the ledger has %d TEST runs and %d unblindings, want one and none", len(book.Tests), len(book.Unblindings))
	}
	if code, _, errs := scrupleIn(t, dir, run...); code != exitNotAllowed {
		t.Errorf("a second TEST run: exit code %d: %s", code, errs)
	}
}
