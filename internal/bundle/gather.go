package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// gathering copies what a study reads into the folder of a bundle.
type gathering struct {
	x       *experiment.Experiment
	dir     string            // of the bundle
	folder  string            // of the study in it
	from    map[string]string // where the file of a place was
	reasons []string
	err     error // of a copy: no reason of the study
}

// gather copies the files of a study, those of people that its ledger has, and pages that
// people write. It returns
// the path of the study file in the bundle.
func gather(x *experiment.Experiment, book, dir string) (string, error) {
	g := &gathering{x: x, dir: dir, from: map[string]string{}}
	for _, m := range x.Study.Models {
		if m.Cassette != "" {
			x.File.Resolve(m.Cassette)
		}
	}
	used := x.File.Used()
	g.folder = path.Join(filesDir, path.Join(slices.Repeat([]string{"study"}, max(1, climb(used...)))...))
	g.reasons = localPaths(x.File, climbs(g.folder))
	for _, rel := range used {
		if !filepath.IsAbs(rel) {
			g.add(rel)
		}
	}
	place := annotate.At(x.File, x.Study, time.Now)
	place.Ledger = book
	people, err := place.Files()
	if err != nil {
		return "", err
	}
	for _, a := range x.Suite.Appendices {
		if a.Page == "" {
			continue
		}
		if err := x.File.Contained(a.Page); err != nil {
			return "", err
		}
		people = append(people, a.Page)
	}
	for _, rel := range people {
		g.add(rel)
	}
	name := filepath.Base(x.File.Path)
	if !validName(name) {
		name = "study.yaml"
	}
	g.file(x.File.Path, path.Join(g.folder, name))
	if g.err != nil {
		return "", fmt.Errorf("copying the files of the study: %w", g.err)
	}
	if len(g.reasons) > 0 {
		return "", &RefusedError{g.reasons}
	}
	return path.Join(g.folder, name), nil
}

// climb returns how many folders paths go up from where they begin.
func climb(paths ...string) (most int) {
	for _, p := range paths {
		up := 0
		for step := range strings.SplitSeq(path.Clean(filepath.ToSlash(p)), "/") {
			if step != ".." {
				break
			}
			up++
		}
		most = max(most, up)
	}
	return most
}

// climbs is how far paths may go up from the study's folder to stay in the bundle.
func climbs(folder string) int { return strings.Count(folder, "/") }

func (g *gathering) refuse(format string, args ...any) {
	g.reasons = append(g.reasons, fmt.Sprintf(format, args...))
}

// add copies a file or folder that the study names.
func (g *gathering) add(rel string) {
	err := g.x.File.Walk(rel, func(from, rel string, d fs.DirEntry) error {
		if d.Type().IsRegular() {
			g.file(from, path.Join(g.folder, rel))
		} else {
			g.refuse("%s is not a file but a link or device: put a copy in its place", rel)
		}
		return nil
	})
	if err != nil {
		g.refuse("%v", err)
	}
}

// file copies a file to its place in the bundle.
func (g *gathering) file(from, name string) {
	switch {
	case !validName(name):
		g.refuse("%s: a file with this name cannot be unpacked on every system: rename it", from)
		return
	case filepath.Base(from) == ".env":
		g.refuse("%s holds keys: the study must not read it", from)
		return
	}
	to := filepath.Join(g.dir, filepath.FromSlash(name))
	if earlier, taken := g.from[name]; taken {
		if earlier == from { // locked gold is read by the study too, and read-only
			return
		}
		a, _, errA := disk.Sum(earlier)
		b, _, errB := disk.Sum(from)
		if g.err = cmp.Or(g.err, errA, errB); a != b {
			g.refuse("%s and %s would both be %s in the bundle, where the study's folder is called study: rename one, or its folder", earlier, from, name)
		}
		return
	}
	if g.from[name] = from; g.err == nil {
		g.err = copyFile(from, to)
	}
}

// copyFile copies content and the permission to execute it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// systemFolders hold programs and devices that are installed, not written for a study.
var systemFolders = []string{"/dev/", "/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/etc/alternatives/"}

// localPaths lists the values of a study that are paths of one machine: absolute ones,
// and those that leave the folder by more than up steps.
func localPaths(f *study.File, up int) (reasons []string) {
	var tree any
	if err := json.Unmarshal(f.Canonical(), &tree); err != nil {
		panic("bundle: the canonical study is not JSON: " + err.Error()) // package study wrote it
	}
	study.Texts("", tree, func(key, value string) {
		words := []string{value}
		if split, err := text.SplitCommand(value); err == nil && study.IsCommand(key) {
			words = split
		}
		for _, w := range words {
			if isLocal(w, up, study.IsProgram(key)) {
				reasons = append(reasons, f.Errorf(key, "%s is a path of this machine: write it relative to the study file, with the file beside or below it", w).Error())
			}
		}
	})
	return reasons
}

// isLocal reports whether a text is a path of this machine. A program may be one that is installed.
func isLocal(w string, up int, program bool) bool {
	if w == "/" || strings.Contains(w, "\x00") {
		return false
	}
	w = filepath.Clean(w) // as it is when it is opened
	if !filepath.IsAbs(w) {
		return climb(w) > up
	}
	if program && slices.ContainsFunc(systemFolders, func(dir string) bool { return strings.HasPrefix(w+"/", dir) }) {
		return false
	}
	_, err := os.Stat(w)
	return err == nil
}

// leaks lists the files of a folder that contain private texts. The store is searched
// by its rows: SQLite may divide a text.
func leaks(dir string, files []File, store string, private []Private) (reasons []string, err error) {
	for _, f := range files {
		if f.Path == store {
			continue
		}
		data, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return nil, err
		}
		found, err := search(data, private)
		if err := errors.Join(err, data.Close()); err != nil {
			return nil, fmt.Errorf("searching %s: %w", f.Path, err)
		}
		for _, p := range found {
			reasons = append(reasons, fmt.Sprintf("%s contains %s: take it out", f.Path, p))
		}
	}
	return reasons, nil
}

// search returns which texts a file contains.
func search(in io.Reader, private []Private) (found []string, err error) {
	const chunk = 1 << 20
	longest := 0
	for _, p := range private {
		longest = max(longest, len(p.Text))
	}
	var b []byte
	for end := false; !end; {
		keep := b[max(0, len(b)-longest):]
		b = append(slices.Clone(keep), make([]byte, chunk)...)
		n, err := io.ReadFull(in, b[len(keep):])
		b = b[:len(keep)+n]
		if end = err != nil; end && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		for _, p := range private {
			if bytes.Contains(b, []byte(p.Text)) && !slices.Contains(found, p.What) {
				found = append(found, p.What)
			}
		}
	}
	return found, nil
}
