package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// small writes a bundle of a few files, without a run.
func small(t testing.TB) (file string, m *Manifest) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"README.md":             "",
		"files/study/answer.sh": strings.Repeat("echo\n", 20),
		"report/a b ä.jsonl":    "{}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mode := fs.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o700
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), mode)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	m = &Manifest{Format: Format, Go: runtime.Version(), StudyFile: "files/study/study.yaml", Files: files, Overrides: []string{}}
	file = filepath.Join(t.TempDir(), "small.zip")
	if err := writeBundle(file, dir, m, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return file, m
}

func TestArchiveIsReadBack(t *testing.T) {
	file, want := small(t)
	dir := t.TempDir()
	m, findings, err := readArchive(file, dir)
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	if m.Sum() != want.Sum() {
		t.Error("the manifest was not read back")
	}
	if again, err := list(dir); err != nil || fmt.Sprint(again) != fmt.Sprint(want.Files) {
		t.Errorf("unpacked %v, want %v: %v", again, want.Files, err)
	}
}

// Every byte of an archive counts, also those that programs for ZIP do not read.
func TestEveryChangedByteIsFound(t *testing.T) {
	file, _ := small(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "changed.zip")
	for at := range data {
		data[at] ^= 0x20
		if err := os.WriteFile(changed, data, 0o600); err != nil {
			t.Fatal(err)
		}
		data[at] ^= 0x20
		_, findings, err := readArchive(changed, t.TempDir())
		if err == nil && len(findings) == 0 {
			t.Fatalf("byte %d of %d was changed, and nothing was found", at, len(data))
		}
		for _, f := range z.File {
			start, _ := f.DataOffset()
			inside := int64(at) >= start && int64(at) < start+int64(f.CompressedSize64)
			if inside && !strings.Contains(fmt.Sprint(err, findings), f.Name) {
				t.Fatalf("byte %d of %s was changed: %v %v", at, f.Name, findings, err)
			}
		}
	}
	for _, tail := range []string{"x", "PK"} {
		if err := os.WriteFile(changed, append(bytes.Clone(data), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, findings, err := readArchive(changed, t.TempDir()); err == nil && len(findings) == 0 {
			t.Errorf("%q after the archive was not found", tail)
		}
	}
}

// An entry of a hostile archive.
type entry struct {
	name, content string
	mode          fs.FileMode
}

func archiveOf(t testing.TB, entries ...entry) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hostile.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(max(e.mode, 0o644))
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHostileArchivesAreRefused(t *testing.T) {
	manifest := func(files ...File) entry {
		m := &Manifest{Format: Format, StudyFile: "files/study/study.yaml", Files: files}
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		return entry{name: manifestName, content: string(b)}
	}
	zeros := strings.Repeat("\x00", 80<<20)
	for _, tt := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"parent", []entry{manifest(), {name: "../x"}}, "leads out of the bundle"},
		{"parent inside", []entry{manifest(), {name: "files/../../x"}}, "leads out of the bundle"},
		{"absolute", []entry{manifest(), {name: "/etc/x"}}, "leads out of the bundle"},
		{"drive", []entry{manifest(), {name: "C:/x"}}, "leads out of the bundle"},
		{"backslash", []entry{manifest(), {name: `files\..\..\x`}}, "leads out of the bundle"},
		{"link", []entry{manifest(), {name: "files/x", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777}}, "files/x is not a file but L"},
		{"folder", []entry{manifest(), {name: "files/x/", mode: fs.ModeDir | 0o755}}, "leads out of the bundle"},
		{"device", []entry{manifest(), {name: "files/x", mode: fs.ModeDevice | 0o600}}, "files/x is not a file but D"},
		{"twice", []entry{manifest(), {name: "files/x"}, {name: "files/x"}}, "are the same file"},
		{"twice in other case", []entry{manifest(), {name: "files/x"}, {name: "files/X"}}, "are the same file"},
		{"no manifest", []entry{{name: "files/x"}}, "its first file is not MANIFEST.json"},
		{"empty", nil, "its first file is not MANIFEST.json"},
		{"no JSON", []entry{{name: manifestName, content: "{"}}, "was changed or is damaged"},
		{"other format", []entry{{name: manifestName, content: `{"format": "scruple-bundle-9", "new": 1}`}}, `has format "scruple-bundle-9"`},
		{"path in manifest", []entry{manifest(File{Path: "../x"})}, "invalid name, size or place"},
		{"study outside", []entry{{name: manifestName, content: `{"format": "` + Format + `", "study_file": "../../etc/study.yaml"}`}}, "the study file is"},
		{"bomb", []entry{manifest(File{Path: "files/x", Size: int64(len(zeros))}), {name: "files/x", content: zeros}}, "more than 200 times as large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "a", "b")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, findings, err := readArchive(archiveOf(t, tt.entries...), dir)
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v %v, want %q", err, findings, tt.want)
			}
			outside := 0
			filepath.WalkDir(root, func(p string, d fs.DirEntry, _ error) error {
				if !d.IsDir() && !strings.HasPrefix(p, dir) {
					outside++
				}
				return nil
			})
			if outside > 0 {
				t.Error("a file was written outside of the folder")
			}
		})
	}
}

// What the archive has and the manifest does not say, and the other way round.
func TestDifferencesFromTheManifest(t *testing.T) {
	bomb := strings.Repeat("\x00", 1<<20)
	m := &Manifest{Format: Format, StudyFile: "files/study/study.yaml", Files: []File{{Path: "files/a", Size: 3, SHA256: "00"}, {Path: "files/b", Size: 1, SHA256: "00"}}}
	b, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	file := archiveOf(t, entry{name: manifestName, content: string(b)}, entry{name: "files/a", content: bomb}, entry{name: "files/c"})
	dir := t.TempDir()
	_, findings, err := readArchive(file, dir)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(findings)
	for _, want := range []string{"SHA256SUMS: is missing", "files/a: was changed: it has more than the 3 bytes", "files/b: is missing", "files/c: is not in the manifest"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %q", got, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "files", "a")); err == nil && info.Size() > 4 {
		t.Errorf("%d bytes of a file of 3 were unpacked", info.Size())
	}
}

func FuzzReadArchive(f *testing.F) {
	file, _ := small(f)
	data, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		file := filepath.Join(root, "x.zip")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "out")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		_, _, _ = readArchive(file, dir)
		entries, err := os.ReadDir(root)
		if err != nil || len(entries) != 2 {
			t.Fatalf("files were written outside of the folder: %v %v", entries, err)
		}
	})
}
