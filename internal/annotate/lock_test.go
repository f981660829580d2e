package annotate

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/study"
)

// daily is a corpus whose suite names gold by the day alone.
type daily struct{ corpus }

func (d daily) Keeper() eval.GoldKeeper { return d }
func (daily) GoldPath() string          { return "" }
func (daily) GoldFile(day string, settled []eval.ItemGold) (string, []byte, error) {
	var b strings.Builder
	for _, g := range settled {
		b.WriteString(g.Item + "," + string(g.Answer["q"]) + "\n")
	}
	return "gold_" + day + ".csv", []byte(b.String()), nil
}

// assessed has a task that a person answered with one option.
func assessed(t *testing.T, p Place, name, option string) study.Task {
	t.Helper()
	task := label
	task.Name, task.Kind, task.Again = name, "assessment", study.Again{}
	d := openOf(t, p, task, daily{corpus{6}}, "anna")
	for range 6 {
		if err := d.say(t, option); err != nil {
			t.Fatal(err)
		}
	}
	return task
}

func (p Place) lock(t *testing.T, task study.Task) (Lock, error) {
	t.Helper()
	r, err := p.Result(task, daily{corpus{6}})
	if err != nil {
		t.Fatal(err)
	}
	gold, err := r.Gold()
	if err != nil {
		t.Fatal(err)
	}
	return p.Lock(r, gold, "anna", "declared", nil)
}

// A lock needs a declaration. Judgements have the sentence that they will not be revised.
func TestSuggestedDeclaration(t *testing.T) {
	clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	task := assessed(t, p, "first", "yes")
	r, err := p.Result(task, daily{corpus{6}})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"assessment": "will not be revised based on model outputs", "label": "without seeing any answer of a model"} {
		r.Task.Kind = kind
		if _, err := p.Lock(r, nil, "anna", " ", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}

// Two tasks, and then two studies in one folder, lock gold on one day: no lock replaces a
// file that another one wrote.
func TestLocksReplaceNoFile(t *testing.T) {
	clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	other := p
	other.Study = "other"
	for _, step := range []struct {
		place                Place
		task, option, before string // before: content of the file with the task in its name
		file, err            string
	}{
		{place: p, task: "a", option: "yes", file: "gold_2026-03-05.csv"},
		{place: p, task: "b", option: "no", file: "gold_2026-03-05_b.csv"},
		{place: other, task: "c", option: "no", file: "gold_2026-03-05_c.csv"},
		{place: other, task: "d", option: "no", before: "somebody's notes\n", err: "a lock replaces no file"},
		{place: other, task: "e", option: "yes", before: all("yes"), file: "gold_2026-03-05_e.csv"}, // of a lock that was interrupted
	} {
		task := assessed(t, step.place, step.task, step.option)
		path := filepath.Join(p.Dir, "gold_2026-03-05_"+step.task+".csv")
		if step.before != "" {
			if err := os.WriteFile(path, []byte(step.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := step.place.lock(t, task)
		if step.err != "" {
			if data, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), step.err) || string(data) != step.before {
				t.Errorf("task %s: %v, the file is %q", step.task, err, data)
			}
			continue
		}
		info, statErr := os.Stat(filepath.Join(p.Dir, step.file))
		if err != nil || statErr != nil || l.File != step.file || info.Mode().Perm()&0o222 != 0 {
			t.Errorf("task %s: %+v, %v, %v", step.task, l, err, statErr)
		}
	}
	for _, place := range []Place{p, other} {
		if err := place.CheckLocks(); err != nil {
			t.Error(err)
		}
		if _, _, err := place.Verify(); err != nil {
			t.Error(err)
		}
	}
	if locks, err := p.locksHere(); err != nil || len(locks) != 4 {
		t.Errorf("%d locks, want 4: %v", len(locks), err)
	}
}

// all is the gold of six items with one answer.
func all(option string) string {
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "i%02d,%q\n", i, option)
	}
	return b.String()
}

// A study that gets another name keeps the locks of its folder. A study in another
// folder that shares the ledger has its own files.
func TestLocksAreOfTheFolder(t *testing.T) {
	clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	l, err := p.lock(t, assessed(t, p, "a", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	renamed, elsewhere := p, p
	renamed.Study, elsewhere.Study = "other", "other"
	elsewhere.Dir = filepath.Join(filepath.Dir(p.Dir), "sub", "annotations")
	if err := os.MkdirAll(elsewhere.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere.Dir, l.File), []byte(all("no")), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.Dir, l.File)
	for _, test := range []struct{ content, want string }{
		{all("yes"), ""}, {all("no"), "locked gold is never revised"}, {"", "restore it"}, {all("yes"), ""},
	} {
		_ = os.Remove(path) // it is read-only, or removed already
		if test.content != "" {
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, place := range []Place{p, renamed, {Dir: p.Dir, Ledger: p.Ledger, Now: p.Now}} {
			if err := place.CheckLocks(); (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("study %q, gold %q: %v, want %q", place.Study, test.content, err, test.want)
			}
		}
		if err := elsewhere.CheckLocks(); err != nil {
			t.Errorf("a study in another folder is refused: %v", err)
		}
	}
}

// The owner's page names the file that the lock writes.
func TestLockPageNamesTheFile(t *testing.T) {
	clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	var tasks []study.Task
	for _, name := range []string{"a", "b"} {
		tasks = append(tasks, assessed(t, p, name, "yes"))
	}
	s, err := Open(p, tasks, daily{corpus{6}}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	web, err := serve.Open(serve.Config{Holders: []string{Owner}})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	for _, step := range []struct{ task, file string }{{"a", "annotations/gold_2026-03-05.csv"}, {"b", "annotations/gold_2026-03-05_b.csv"}} {
		w := httptest.NewRecorder()
		web.Guard(s.Handler()).ServeHTTP(w, httptest.NewRequest("GET", web.URL(Owner)+"lock/"+step.task, nil))
		if !strings.Contains(w.Body.String(), step.file+",") {
			t.Errorf("the page of %s has no %s:\n%s", step.task, step.file, w.Body)
		}
		if l, err := p.lock(t, tasks[0]); step.task == "a" && (err != nil || "annotations/"+l.File != step.file) {
			t.Errorf("%+v, %v", l, err)
		}
	}
}
