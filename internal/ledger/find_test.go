package ledger_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
)

// The ledger of a folder is looked for upwards, as git looks for its repository.
func TestFind(t *testing.T) {
	make := func(t *testing.T, paths ...string) string {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			at := filepath.Join(dir, p)
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if filepath.Base(p) == ledger.Folder {
				if _, err := ledger.Add(filepath.Join(at, ledger.Name), time.Unix(0, 0), "a", "k", 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		return dir
	}
	for name, test := range map[string]struct {
		paths           []string
		dir, path, from string
	}{
		"no repository":              {[]string{"a/b"}, "a/b", "a/b", "."},
		"a ledger above":             {[]string{"a/b", ".scruple"}, "a/b", ".", "a/b"},
		"a repository":               {[]string{".git", "a/b"}, "a/b", ".", "a/b"},
		"a sibling in it":            {[]string{".git", "a/b", ".scruple"}, "a/c", ".", "a/c"},
		"its own folder":             {[]string{".git"}, ".", ".", "."},
		"the nearest":                {[]string{".git", "a/b", "a/.scruple", ".scruple"}, "a/b", "a", "b"},
		"none above the repository":  {[]string{"a/.git", "a/b", ".scruple"}, "a/b", "a", "b"},
		"a store alone is no ledger": {[]string{".git", "a/.scruple/x"}, "a", ".", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := make(t, append(test.paths, test.dir)...)
			path, from := ledger.Find(filepath.Join(dir, test.dir))
			if want := filepath.Join(dir, test.path, ledger.Folder, ledger.Name); path != want || from != test.from {
				t.Errorf("%s, %q; want %s, %q", path, from, want, test.from)
			}
		})
	}
	t.Run("an empty file is no ledger", func(t *testing.T) {
		dir := make(t, ".git", "a/.scruple/x")
		if err := os.WriteFile(filepath.Join(dir, "a", ledger.Folder, ledger.Name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if path, _ := ledger.Find(filepath.Join(dir, "a")); path != filepath.Join(dir, ledger.Folder, ledger.Name) {
			t.Error(path)
		}
	})
	t.Run("a bundle", func(t *testing.T) {
		dir := make(t, ".git", ".scruple", "files/study/.scruple/x")
		study := filepath.Join(dir, "files", "study")
		if err := os.WriteFile(filepath.Join(study, ledger.Folder, ledger.OriginName), []byte("experiments/a"), 0o600); err != nil {
			t.Fatal(err)
		}
		if path, from := ledger.Find(study); path != filepath.Join(study, ledger.Folder, ledger.Name) || from != "experiments/a" {
			t.Errorf("%s, %q", path, from)
		}
	})
	t.Run("relative", func(t *testing.T) {
		dir := make(t, ".git", "a/b")
		t.Chdir(filepath.Join(dir, "a"))
		if path, from := ledger.Find("b"); path != filepath.Join("..", ledger.Folder, ledger.Name) || from != "a/b" {
			t.Errorf("%s, %q", path, from)
		}
		if path, from := ledger.Find("."); path != filepath.Join("..", ledger.Folder, ledger.Name) || from != "a" {
			t.Errorf("%s, %q", path, from)
		}
	})
	t.Run("above", func(t *testing.T) {
		kit, origin := filepath.Join("a", "KIT.json"), filepath.Join("a", ledger.Folder, ledger.OriginName)
		for _, test := range []struct {
			name    string
			paths   []string
			file    string
			content string
			path    string // folders of the ledger of a, and of those above
			above   []string
		}{
			{"one ledger", []string{".git", ".scruple"}, "", "", ".", nil},
			{"a ledger of its own", []string{".git", ".scruple", "a/.scruple"}, "", "", "a", []string{"."}},
			{"a repository in a repository", []string{".git", ".scruple", "a/.git"}, "", "", "a", []string{"."}},
			{"a repository below a folder with a ledger", []string{".scruple", "a/.git"}, "", "", "a", nil},
			{"an empty .git", []string{".git", ".scruple"}, "a/.git", "", ".", nil},
			{"a working tree", []string{".git", ".scruple"}, "a/.git", "gitdir: /x\n", "a", []string{"."}},
			{"no kit", []string{".git", ".scruple"}, kit, "{}", ".", nil},
			{"a kit", []string{".git", ".scruple"}, kit, `{"format": "scruple-kit/3", "files": {"study.yaml": "1"}}`, "a", []string{"."}},
			{"a kit without a repository", []string{".scruple"}, kit, `{"format": "scruple-kit/3", "files": {"study.yaml": "1"}}`, "a", []string{"."}},
			{"a copy", []string{".git", ".scruple", "a/.scruple/x"}, origin, "b", "a", []string{"."}},
		} {
			dir := make(t, append(test.paths, "a")...)
			if test.file != "" {
				if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for _, at := range test.above {
				want = append(want, filepath.Join(dir, at, ledger.Folder, ledger.Name))
			}
			path, _ := ledger.Find(filepath.Join(dir, "a"))
			if got := ledger.Above(filepath.Join(dir, "a")); path != filepath.Join(dir, test.path, ledger.Folder, ledger.Name) || !slices.Equal(got, want) {
				t.Errorf("%s: %s, above %q", test.name, path, got)
			}
		}
	})
	t.Run("a link", func(t *testing.T) {
		dir, other := make(t, ".git", "a"), t.TempDir()
		if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(other, "l")); err != nil {
			t.Skip(err)
		}
		if path, from := ledger.Find(filepath.Join(other, "l")); path != filepath.Join(dir, ledger.Folder, ledger.Name) || from != "a" {
			t.Errorf("%s, %q", path, from)
		}
	})
}

// A head that is missing or older than the line before the newest is not what scruple
// leaves.
func TestCheckHead(t *testing.T) {
	path := filepath.Join(t.TempDir(), ledger.Name)
	log, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	heads := map[int][]byte{}
	for i := range 3 {
		if _, err := log.Append(time.Unix(int64(i), 0), "a", "k", i); err != nil {
			t.Fatal(err)
		}
		heads[i+1], _ = os.ReadFile(path + ledger.HeadSuffix)
	}
	log.Close()
	entries, err := ledger.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range map[int]bool{3: true, 2: true, 1: false, 0: false} {
		os.Remove(path + ledger.HeadSuffix)
		if n > 0 {
			os.WriteFile(path+ledger.HeadSuffix, heads[n], 0o600)
		}
		if err := ledger.CheckHead(path, entries); (err == nil) != ok {
			t.Errorf("head %d: %v", n, err)
		}
	}
}
