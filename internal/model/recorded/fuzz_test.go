package recorded_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/internal/model/recorded"
)

// Whatever a file holds, it is a cassette or an error.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		"---\nversion: 2\ninteractions:\n" + exchange(chatURL, chatBody, 200, answer("a")),
		"version: 1\n", "version: 2\ninteractions: [null]\n", "version: 2\ninteractions:\n- request: {url: ':'}\n", "&a [*a]", "\t",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := recorded.Open(file, "some-model"); err == nil && (c.Format() == "" || c.BaseURL() == "") {
			t.Errorf("%q was read as a cassette without an endpoint", text)
		}
	})
}
