//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites"
)

// Every suite's starting study is packed with all that it reads, twice to the same
// bytes, and verified from the bundle alone. Changed content is named, also if someone
// changed its checksum with it.
func TestBundleOfEverySuite(t *testing.T) {
	t.Parallel()
	for _, suite := range suites.All() {
		t.Run(suite.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
			do := func(want int, args ...string) string {
				t.Helper()
				var out bytes.Buffer
				if code := execute(t.Context(), args, strings.NewReader(""), &out, &out); code != want {
					t.Fatalf("scruple %s: exit %d, want %d\n%s", strings.Join(args, " "), code, want, &out)
				}
				return out.String()
			}
			do(0, "init", suite.Name, in("mine"))
			do(0, "run", in("mine/study.yaml"))
			for _, out := range []string{"a.zip", "b.zip"} {
				do(0, "bundle", in("mine/study.yaml"), "--out", in(out))
			}
			a, err := os.ReadFile(in("a.zip"))
			must(t, err)
			b, err := os.ReadFile(in("b.zip"))
			must(t, err)
			if !bytes.Equal(a, b) {
				t.Error("the same run gave two bundles")
			}
			// An outcome that its answers do not give, in the bundle and then in the store.
			rewrite(t, in("a.zip"), in("altered.zip"), func(files map[string][]byte) {
				packed := "files/study/.scruple/scruple.db"
				was := files[packed]
				writeTestFile(t, in("packed.db"), string(was))
				alterOutcome(t, in("packed.db"))
				files[packed], err = os.ReadFile(in("packed.db"))
				must(t, err)
				swap(files, "MANIFEST.json", sumOf(was), sumOf(files[packed]))
				swap(files, "MANIFEST.json", fmt.Sprintf(`"size": %d`, len(was)), fmt.Sprintf(`"size": %d`, len(files[packed])))
				swap(files, "SHA256SUMS", sumOf(was), sumOf(files[packed]))
				swap(files, "SHA256SUMS", string(files["SHA256SUMS"][:64]), sumOf(files["MANIFEST.json"]))
			})
			if out := do(1, "verify", in("altered.zip")); !strings.Contains(out, "scruple.db: not what the stored answers give: outcome of ") {
				t.Errorf("verify of an altered outcome says\n%s", out)
			}
			alterOutcome(t, in("mine/.scruple/scruple.db"))
			do(0, "score", in("mine/study.yaml"))
			if out := do(2, "bundle", in("mine/study.yaml"), "--out", in("none.zip")); !strings.Contains(out, "would not verify") || !strings.Contains(out, "not what the stored answers give: outcome of ") {
				t.Errorf("bundle of an altered outcome says\n%s", out)
			}
			if left, _ := filepath.Glob(in("*none.zip*")); len(left) > 0 {
				t.Errorf("a bundle that does not verify left %v", left)
			}
			if err := os.RemoveAll(in("mine")); err != nil {
				t.Fatal(err)
			}
			if out := do(0, "verify", in("a.zip")); !strings.Contains(out, "the same bytes") || !strings.Contains(out, "outcomes of trials, derived from the answers again") {
				t.Errorf("verify says\n%s", out)
			}
			if suite.Name != "extraction" { // the rest does not depend on the suite
				return
			}
			rewrite(t, in("a.zip"), in("c.zip"), func(files map[string][]byte) { files["report/scores.jsonl"][10] ^= 1 })
			if out := do(1, "verify", in("c.zip")); !strings.Contains(out, "DIFFERS: report/scores.jsonl: was changed") {
				t.Errorf("verify of a changed bundle says\n%s", out)
			}
			rewrite(t, in("a.zip"), in("d.zip"), func(files map[string][]byte) {
				// As someone would who wants better results and knows the format.
				old := sumOf(files["report/report.md"])
				files["report/report.md"][10] ^= 1
				swap(files, "MANIFEST.json", old, sumOf(files["report/report.md"]))
				swap(files, "SHA256SUMS", old, sumOf(files["report/report.md"]))
				swap(files, "SHA256SUMS", string(files["SHA256SUMS"][:64]), sumOf(files["MANIFEST.json"]))
			})
			if out := do(1, "verify", in("d.zip")); !strings.Contains(out, "DIFFERS: report/report.md: the packed answers give another file, from byte 10") {
				t.Errorf("verify of a forged bundle says\n%s", out)
			}
			for old, want := range map[string]string{
				`"trials": `: "DIFFERS: MANIFEST.json: its versions, study, arms or counts are not those of the packed run",
				`"run": "`:   "scoring the packed answers: run 1mine-1 in ",
			} {
				rewrite(t, in("a.zip"), in("e.zip"), func(files map[string][]byte) {
					swap(files, "MANIFEST.json", old, old+"1")
					swap(files, "SHA256SUMS", string(files["SHA256SUMS"][:64]), sumOf(files["MANIFEST.json"]))
				})
				if out := do(1, "verify", in("e.zip")); !strings.Contains(out, want) {
					t.Errorf("verify of a forged manifest says\n%s", out)
				}
			}
		})
	}
}

// A program that is installed is not packed. Where another version is installed, the
// bundle is intact all the same.
func TestBundleOfAnInstalledProgram(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"study.yaml": "name: s\nsuite: qa\ndata: {path: q.csv}\narms: [{name: program, exec: /bin/sh answer.sh}]\ncomparisons: [{a: program, b: most_common}]\nexecution: {retries: [10ms]}\n",
		"q.csv":      "id,question,answer\n1,2 + 2?,4\n2,1 + 3?,4\n",
		"answer.sh":  "while read line; do id=${line#*'\"id\":\"'}; echo \"{\\\"id\\\": \\\"${id%%'\"'*}\\\", \\\"output\\\": \\\"4\\\"}\"; done\n",
	} {
		must(t, os.WriteFile(in(name), []byte(text), 0o600))
	}
	ok(t, "run", in("study.yaml"))
	ok(t, "bundle", in("study.yaml"), "--out", in("a.zip"))
	ok(t, "verify", in("a.zip"))
	rewrite(t, in("a.zip"), in("elsewhere.zip"), func(files map[string][]byte) {
		_, hash, _ := strings.Cut(string(files["MANIFEST.json"]), `"hash": "`)
		hash, _, _ = strings.Cut(hash, `"`)
		swap(files, "MANIFEST.json", hash, strings.Repeat("0", len(hash)))
		swap(files, "SHA256SUMS", string(files["SHA256SUMS"][:64]), sumOf(files["MANIFEST.json"]))
	})
	ok(t, "verify", in("elsewhere.zip"))
}

// alterOutcome appends a space to what was answered in the first trial that has an answer.
func alterOutcome(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.Exec(`UPDATE outcomes SET data = CAST(coalesce(CAST(data AS TEXT), (SELECT c.text FROM calls c WHERE c.trial = outcomes.trial AND c.step = outcomes.step)) || ' ' AS BLOB), step = NULL WHERE trial = (SELECT min(trial) FROM outcomes WHERE kind = 'ok')`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if n, _ := r.RowsAffected(); n != 1 {
		t.Fatalf("%d outcomes altered, want 1", n)
	}
}

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func swap(files map[string][]byte, name, old, now string) {
	files[name] = bytes.Replace(files[name], []byte(old), []byte(now), 1)
}

// rewrite copies an archive with edited files.
func rewrite(t *testing.T, from, to string, edit func(map[string][]byte)) {
	t.Helper()
	z, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, e := range z.File {
		if files[e.Name], err = fs.ReadFile(z, e.Name); err != nil {
			t.Fatal(err)
		}
	}
	edit(files)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range z.File {
		h := &zip.FileHeader{Name: e.Name, Method: e.Method, Modified: e.Modified}
		h.SetMode(e.Mode())
		out, err := w.CreateHeader(h)
		if err == nil {
			_, err = out.Write(files[e.Name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(to, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}
