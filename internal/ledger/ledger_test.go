package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// written returns the bytes of a ledger with one entry for each text.
func written(t interface{ Fatal(...any) }, dir string, texts ...string) (path string, data []byte) {
	path = filepath.Join(dir, Name)
	os.Remove(path)
	os.Remove(headPath(path))
	for _, s := range texts {
		if _, err := Add(path, noon, "anna", "note", map[string]string{"text": s}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func TestAppendedEntriesAreRead(t *testing.T) {
	path, _ := written(t, t.TempDir(), "one", "two")
	entries, err := Read(path)
	if err != nil || len(entries) != 2 || entries[1].Prev != entries[0].Hash || entries[1].By != "anna" {
		t.Fatalf("%+v, %v", entries, err)
	}
	var data struct{ Text string }
	if err := entries[1].Decode(&data); err == nil {
		t.Error("a key in another case was decoded")
	}
}

func TestLineEndsOfAnotherSystem(t *testing.T) {
	path, data := written(t, t.TempDir(), "one", "two")
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), `ledger.jsonl:1: the line ends as on Windows: Git does this where core.autocrlf is set: put the line "* -text"`) {
		t.Error(err)
	}
}

// An append checks the file and its recorded head.
func TestAddChecks(t *testing.T) {
	path, data := written(t, t.TempDir(), "one", "two", "three")
	lines := bytes.SplitAfter(data, []byte("\n"))[:3]
	head, err := os.ReadFile(headPath(path))
	if err != nil {
		t.Fatal(err)
	}
	old, err := json.Marshal(Head{Seq: 2, Hash: string(tail.FindSubmatch(bytes.TrimSpace(lines[1]))[1])})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name       string
		data, head []byte
		refused    bool
		seq        int
	}{
		{"the end is the head", data, head, false, 4},
		{"no file", nil, nil, false, 1},
		{"an edit before the end", bytes.Replace(data, []byte("one"), []byte("1ne"), 1), head, true, 0},
		{"an interrupted append", append(bytes.Clone(data), `{"seq":4`...), head, false, 4},
		{"a head that was not written", data, old, false, 4},
		{"no head", data, nil, false, 4},
		{"an edit of the end", bytes.Replace(data, []byte("three"), []byte("3hree"), 1), head, true, 0},
		{"a cut end", bytes.Join(lines[:2], nil), head, true, 0},
	} {
		os.WriteFile(path, test.data, 0o600)
		os.Remove(headPath(path))
		if test.head != nil {
			os.WriteFile(headPath(path), test.head, 0o600)
		}
		e, err := Add(path, noon, "anna", "note", nil)
		var broken *BrokenError
		if test.refused != errors.As(err, &broken) || !test.refused && (err != nil || e.Seq != test.seq) {
			t.Errorf("%s: %+v, %v", test.name, e, err)
		}
		if _, err := Read(path); (err != nil) != test.refused {
			t.Errorf("%s: then reading gives %v", test.name, err)
		}
	}
}

// Each kind of change is reported with its line.
func TestChangesAreDetected(t *testing.T) {
	path, data := written(t, t.TempDir(), "one", "two", "three")
	lines := bytes.SplitAfter(data, []byte("\n"))[:3]
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	for _, test := range []struct {
		name string
		data []byte
		line int
	}{
		{"an edit", bytes.Replace(data, []byte("two"), []byte("2wo"), 1), 2},
		{"an edit of the last line", bytes.Replace(data, []byte("three"), []byte("thirty"), 1), 3},
		{"a missing line", join(lines[0], lines[2]), 2},
		{"a missing first line", join(lines[1], lines[2]), 1},
		{"another order", join(lines[0], lines[2], lines[1]), 2},
		{"a line twice", join(lines[0], lines[0], lines[1], lines[2]), 2},
		{"a cut end", join(lines[0], lines[1]), 3},
		{"a line cut in half", data[:len(data)-20], 3},
		{"no lines", nil, 1},
		{"an empty line", join(lines[0], []byte("\n"), lines[1], lines[2]), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(path, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			var broken *BrokenError
			if _, err := Read(path); !errors.As(err, &broken) || broken.Line != test.line {
				t.Errorf("read: %v, want line %d", err, test.line)
			}
			if _, err := Open(path); !errors.As(err, &broken) {
				t.Errorf("open: %v", err)
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, test.data) {
				t.Error("opening changed the file")
			}
		})
	}
}

// The end of a chain without a head beside it can be cut; a head recorded elsewhere
// shows that.
func TestRecordedHeadShowsACut(t *testing.T) {
	path, data := written(t, t.TempDir(), "one", "two")
	entries, _ := Read(path)
	head := HeadOf(entries)
	os.Remove(headPath(path))
	os.WriteFile(path, data[:bytes.IndexByte(data, '\n')+1], 0o600)
	entries, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := head.Check(path, entries); err == nil || !strings.Contains(err.Error(), ":2: the file ends after line 1") {
		t.Error(err)
	}
}

// An append that a crash interrupted was not confirmed: the next one replaces it.
func TestInterruptedAppend(t *testing.T) {
	path, data := written(t, t.TempDir(), "one")
	os.WriteFile(path, append(bytes.Clone(data), data[:40]...), 0o600)
	if _, err := Add(path, noon, "anna", "note", "two"); err != nil {
		t.Fatal(err)
	}
	if entries, err := Read(path); err != nil || len(entries) != 2 {
		t.Error(len(entries), err)
	}
}

// A writer that holds the file for a moment is waited for.
func TestSecondWriterWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.jsonl")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { first.Close() })
	second, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

func TestSecondWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "work.jsonl")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "another scruple process") {
		t.Error(err)
	}
	os.WriteFile(path, []byte("x\n"), 0o600)
	if _, err := first.Append(noon, "anna", "note", 1); err == nil || !strings.Contains(err.Error(), "changed by another program") {
		t.Error(err)
	}
}

// Any text is read back, and any change of any byte is an error.
func TestAnyByteCounts(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "texts")
		path, data := written(t, dir, texts...)
		if entries, err := Read(path); err != nil || len(entries) != len(texts) {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		with := rapid.Byte().Filter(func(b byte) bool { return b != data[at] }).Draw(t, "with")
		changed := bytes.Clone(data)
		changed[at] = with
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Fatalf("byte %d changed from %q to %q, and the file was read", at, data[at], with)
		}
	})
}

func FuzzParse(f *testing.F) {
	_, data := written(f, f.TempDir(), "one", "two")
	f.Add(data)
	f.Add([]byte(`{"seq":1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, whole, err := parse("x", data)
		if err == nil && (whole > len(data) || bytes.Count(data[:whole], []byte("\n")) != len(entries)) {
			t.Fatalf("%d entries in %d bytes", len(entries), whole)
		}
	})
}

// An entry is stored though its head could not be written, as on a full disk; the head comes
// first the next time, so that it never is more than a line behind, also after a crash.
func TestAHeadThatCouldNotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	head := path + HeadSuffix
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	say := func(what string, stored bool) {
		t.Helper()
		if e, err := log.Append(time.Unix(9, 0), "anna", "note", what); (err == nil) != stored || (e.Hash != "") != stored {
			t.Errorf("%s: %v, want stored %v", what, err, stored)
		}
	}
	block := func() { // no file can take the place of a folder
		if err := errors.Join(os.RemoveAll(head), os.MkdirAll(filepath.Join(head, "x"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	say("one", true)
	kept, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	block()
	say("two", true)
	say("refused", false)
	crash := func() {
		log.Close()
		if err := errors.Join(os.RemoveAll(head), os.WriteFile(head, kept, 0o600)); err != nil {
			t.Fatal(err)
		}
		if log, err = Open(path); err != nil {
			t.Fatal(err)
		}
	}
	crash()
	block()
	say("refused", false)
	crash()
	say("three", true)
	entries, err := Read(path)
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries: %v", len(entries), err)
	}
	if err := CheckHead(path, entries); err != nil {
		t.Error(err)
	}
	log.Close()
}
