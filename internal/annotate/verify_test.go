package annotate

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// Ledger and folder are compared both ways: what is missing, cut, forged or replaced in
// either is found.
func TestVerifyBothWays(t *testing.T) {
	remove := func(path string) error { return errors.Join(os.Remove(path), os.Remove(path+ledger.HeadSuffix)) }
	cut := func(path string) error { // as after a crash: the last line is gone
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data = bytes.TrimSuffix(data, []byte("\n"))
		return os.WriteFile(path, data[:bytes.LastIndexByte(data, '\n')+1], 0o600)
	}
	for name, test := range map[string]struct {
		change func(p Place, anna string) error
		want   string // "" for nothing
	}{
		"untouched":         {func(Place, string) error { return nil }, ""},
		"ledger's head":     {func(p Place, _ string) error { return os.Remove(p.Ledger + ledger.HeadSuffix) }, "the file with its head"},
		"ledger":            {func(p Place, _ string) error { return os.Remove(p.Ledger) }, "the file ends after line 0"},
		"ledger and head":   {func(p Place, _ string) error { return remove(p.Ledger) }, "no draw of such a task"},
		"ledger cut":        {func(p Place, _ string) error { return cut(p.Ledger) }, "the file ends after line"},
		"file":              {func(_ Place, anna string) error { return os.Remove(anna) }, "anna.jsonl:1: the file ends"},
		"file and head":     {func(_ Place, anna string) error { return remove(anna) }, "anna.jsonl is missing"},
		"file's head":       {func(_ Place, anna string) error { return os.Remove(anna + ledger.HeadSuffix) }, "the file with its head"},
		"file cut":          {func(_ Place, anna string) error { return cut(anna) }, "the file ends after line"},
		"file cut and head": {func(_ Place, anna string) error { return errors.Join(cut(anna), os.Remove(anna+ledger.HeadSuffix)) }, "the file with its head"},
		"queue":             {func(p Place, _ string) error { return os.Remove(p.queuePath("t")) }, "no such file"},
		"task that was forged": {func(p Place, anna string) error {
			data, err := os.ReadFile(anna)
			return errors.Join(err, os.Mkdir(filepath.Join(p.Dir, "b"), 0o700), os.WriteFile(p.workPath("b", "anna"), data, 0o600))
		}, "no draw of such a task"},
		"person who was forged": {func(p Place, _ string) error {
			log, err := ledger.Open(p.workPath("t", "eve"))
			if err != nil {
				return err
			}
			s := Subject{Item: "i00"}
			_, err = log.Append(p.Now(), "eve", eventSubmit, Event{Task: "t", Subject: &s, Pass: passFirst, Answer: Answer{"q": []byte(`"no"`)}})
			return errors.Join(err, log.Close())
		}, "no entry that eve began"},
		"gold that was forged": {func(p Place, _ string) error { return os.WriteFile(filepath.Join(p.Dir, GoldFile("t")), nil, 0o600) }, "no lock of it"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
			p := at(t, &clock)
			d := openOf(t, p, label, corpus{6}, "anna")
			for range 3 { // and a crash: the session has no end
				if err := d.say(t, "yes"); err != nil {
					t.Fatal(err)
				}
			}
			d.log.Close()
			if err := test.change(p, p.workPath("t", "anna")); err != nil {
				t.Fatal(err)
			}
			_, _, err := p.Verify()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A person whom the ledger does not have counts nowhere, until somebody answers for the file.
func TestFilesAreAdopted(t *testing.T) {
	clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	d := openOf(t, p, label, corpus{6}, "anna")
	if err := d.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	d.log.Close()
	forge := func(person string, of Subject, kind string) {
		log, err := ledger.Open(p.workPath("t", person))
		if err == nil {
			_, err = log.Append(p.Now(), person, kind, Event{Task: "t", Subject: &of, Pass: passFirst, Answer: Answer{"q": []byte(`"no"`)}})
		}
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	forge("zoe", d.queue.Subjects[0], eventSubmit)
	forge("sam", d.queue.Subjects[0], eventSkip) // skips are no answers
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "no entry that zoe began") || !strings.Contains(err.Error(), "--adopt zoe") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := p.Result(label, corpus{6})
	refused("the result", err)
	_, _, err = p.Verdicts(label, corpus{6})
	refused("verdicts", err)
	_, err = p.open(label.Full(), d.queue, corpus{6}, "zoe", "test")
	refused("her page", err)
	_, _, err = p.Verify()
	refused("verify", err)
	if _, err := p.Adopt(label, "zoe", "anna"); err != nil {
		t.Fatal(err)
	}
	unsaid(t, p.Ledger) // as if killed before it: the same command goes on
	w, err := p.Adopt(label, "zoe", "anna")
	if err != nil || len(w.Answers()) != 1 {
		t.Fatal(err)
	}
	if r, err := p.Result(label, corpus{6}); err != nil || len(r.Everyone) != 3 {
		t.Errorf("after the adoption: %v", err)
	}
	if _, _, err := p.Verify(); err != nil {
		t.Error(err)
	}
	entries, err := ledger.Read(p.Ledger)
	if err != nil || !strings.Contains(Describe(entries[len(entries)-1]), "the file of zoe, made elsewhere, was adopted") {
		t.Errorf("%v: %q", err, Describe(entries[len(entries)-1]))
	}
	forge("eve", Subject{Item: "elsewhere"}, eventSubmit)
	for person, want := range map[string]string{"zoe": "is in the ledger", "sam": "no answers", "eve": "of another draw", "max": "has no answers"} {
		if _, err := p.Adopt(label, person, "anna"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("adopting %s: %v, want %q", person, err, want)
		}
	}
}

// unsaid takes the last entry from a ledger.
func unsaid(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	entries, errEntries := ledger.Read(path)
	if err := errors.Join(err, errEntries); err != nil {
		t.Fatal(err)
	}
	n := len(entries) - 1
	head, err := json.Marshal(ledger.HeadOf(entries[:n]))
	data = bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:n], nil)
	if err := errors.Join(err, os.WriteFile(path, data, 0o600), os.WriteFile(path+ledger.HeadSuffix, head, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// Gold that was locked stays with its items: another name of the study, a copy of the
// gold or another folder of the repository do not end the lock.
func TestLocksAreOfTheItems(t *testing.T) {
	clock := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	item := func(id string, input, gold int) eval.Item {
		return eval.Item{ID: id, Input: eval.Hash(input), Gold: eval.Hash(gold)}
	}
	items := []eval.Item{item("i00", 1, 11), item("i01", 2, 12), item("i02", 3, 0)}
	dir := filepath.Dir(p.Dir)
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gold, same, changed := file("gold.csv", "a,b\n"), file("copy.csv", "a,b\n"), file("sibling/copy.csv", "a,c\n")
	if _, err := p.LockFile(gold, "Anna", "declared", true, items); err != nil {
		t.Fatal(err)
	}
	renamed := p
	renamed.Study = "panel9"
	sibling := renamed
	sibling.Dir = filepath.Join(dir, "sibling", "annotations")
	for _, other := range []Place{renamed, sibling} {
		for _, test := range []struct {
			path  string
			items []eval.Item
			want  string
		}{
			{same, items[:1], ""},
			{changed, []eval.Item{item("x", 9, 1)}, ""}, // other items
			{changed, items, "name the locked file in the study"},
			{changed, []eval.Item{item("x", 2, 12)}, "name the locked file in the study"},
			{"", items, "the study reads none"},
			{same, []eval.Item{item("x", 2, 99)}, "was locked by Anna in " + gold + ", and is another now"},
			{same, []eval.Item{item("x", 2, 0)}, ""}, // without gold
			{same, []eval.Item{item("x", 3, 7)}, ""}, // had none when the file was locked
		} {
			if err := other.CheckGold(test.path, test.items); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s in %s: %v, want %q", filepath.Base(test.path), other.Dir, err, test.want)
			}
		}
		if err := other.CheckLocks(); err != nil {
			t.Error(err)
		}
	}
	// Nor do they end one of a task of kind gold. Gold that the items had before it is not revised.
	judged, task := p, label
	judged.Check = func(string, []byte) ([]eval.Item, error) { return []eval.Item{item("i00", 21, 31)}, nil }
	task.Name, task.Kind, task.Of, task.Again = "fields", "gold", "unit", study.Again{}
	r := &Result{Task: task, Settled: []Settled{{Subject: Subject{Item: "i00"}}}}
	file("annotations/x", "")
	if l, err := judged.Lock(r, []byte("x\n"), "Ben", "declared", []eval.Item{item("i00", 21, 30), item("i01", 22, 40)}); err != nil || l.Gold {
		t.Fatalf("%+v, %v", l, err)
	}
	for i, want := range map[int]string{30: "", 31: "", 32: "was locked by Ben in "} {
		if err := sibling.CheckGold("", []eval.Item{item("x", 21, i), item("y", 22, 99)}); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("gold %d: %v, want %q", i, err, want)
		}
	}
	// A study of the same name in another folder has tasks of its own.
	mine, theirs := p, sibling
	theirs.Study = p.Study
	for _, place := range []Place{mine, theirs} {
		if d := openOf(t, place, label, corpus{6}, "anna"); d.say(t, "yes") != nil {
			t.Error("no answer")
		} else {
			d.log.Close()
		}
		if started, err := place.Started(label.Name); err != nil || !started {
			t.Errorf("%s has no draw: %v", place.Dir, err)
		}
		if _, files, err := place.Verify(); err != nil || len(files) != 2 {
			t.Errorf("%s: %q, %v", place.Dir, files, err)
		}
	}
}
