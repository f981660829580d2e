package discipline

import (
	"path/filepath"
	"testing"
)

// A ledger can be packed wherever the store was: paths from the root have the names of
// people in them.
func TestRelative(t *testing.T) {
	for _, c := range []struct{ dir, path, want string }{
		{"/home/anna/study", "/home/anna/study/.scruple/scruple.db", ".scruple/scruple.db"},
		{"/home/anna/study", "/home/anna/runs/s.db", "../runs/s.db"},
		{"/data/study", "/home/anna/runs/s.db", "s.db"},
		{"/data", "/home/anna/s.db", "s.db"},
		{"/data", "/data/s.db", "s.db"},
	} {
		if got := relative(filepath.FromSlash(c.dir), filepath.FromSlash(c.path)); got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.path, c.dir, got, c.want)
		}
	}
}
