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
