package errno_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/internal/errno"
)

// What the system answers here, on each system that has tests.
func TestOfTheSystem(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, inUse := net.Listen("tcp4", l.Addr().String())
	l.Close()
	_, refused := net.Dial("tcp4", l.Addr().String())

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	_, closed := w.Write([]byte("x"))
	w.Close()

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, through := os.ReadDir(file)

	kinds := map[string]errno.Kind{"refused": errno.Refused, "port in use": errno.PortInUse, "pipe closed": errno.PipeClosed, "no folder": errno.NoFolder}
	for name, err := range map[string]error{"refused": refused, "port in use": inUse, "pipe closed": closed, "no folder": through} {
		for kind, k := range kinds {
			if k.Of(err) != (kind == name) {
				t.Errorf("%s: %v is %s: %v", name, err, kind, k.Of(err))
			}
		}
	}
	if errno.Refused.Of(nil) || errno.Refused.Of(fs.ErrNotExist) {
		t.Error("errors that are no numbers have a reason")
	}
}
