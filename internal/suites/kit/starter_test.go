package kit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No file is written outside of the folder.
func TestWriteFilesStaysInItsFolder(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"../x", "a/../../x", "/x", ""} {
		_, err := WriteFiles(filepath.Join(dir, "to"), []File{Bytes("ok", nil), Bytes(path, []byte("x"))})
		if err == nil || !strings.Contains(err.Error(), "is not in") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// What a killed process wrote of the files is completed. Nothing else is, and nothing is replaced.
func TestWriteFilesGoesOn(t *testing.T) {
	files := []File{Bytes("a", []byte("first")), Bytes("b", []byte("second")), Bytes("c/d", []byte("third"))}
	for _, test := range []struct{ a, b, want string }{
		{"first", "second", ""},
		{"first", "other", "b already exists"},
		{"other", "second", "a already exists"},
		{"", "second", "b already exists"},
	} {
		dir := t.TempDir()
		for name, content := range map[string]string{"a": test.a, "b": test.b} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil || content == "" && os.Remove(filepath.Join(dir, name)) != nil {
				t.Fatal(err)
			}
		}
		paths, err := WriteFiles(dir, files)
		if test.want == "" && (err != nil || len(paths) != 3) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, %v", test, paths, err)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(kept) != test.b {
			t.Errorf("%+v: %s, %v", test, kept, err)
		}
		_, err = os.Stat(filepath.Join(dir, "c", "d"))
		if (err == nil) != (test.want == "") {
			t.Errorf("%+v: %v", test, err)
		}
		if _, err := WriteFiles(dir, files); err == nil {
			t.Errorf("%+v: written twice", test)
		}
	}
}
