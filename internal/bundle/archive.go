package bundle

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
)

// Limits of an archive that is read. The store of a run compresses ten to thirty
// times; a deflated file cannot exceed a thousand times.
const (
	maxManifest = 64 << 20
	maxFiles    = 200_000
	maxRatio    = 200
	slack       = 64 << 20
)

// noTime is the first day that ZIP knows, as there is no time to record.
var noTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeArchive writes the files of a folder as a bundle. The order and the headers of
// entries are fixed.
func writeArchive(w io.Writer, dir string, m *Manifest) error {
	manifest, err := m.encode()
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	add := func(name string, exec bool, from io.Reader) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: noTime}
		h.SetMode(modeOf(exec))
		entry, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(entry, from)
		}
		if err != nil {
			return fmt.Errorf("packing %s: %w", name, err)
		}
		return nil
	}
	if err := errors.Join(add(manifestName, false, bytes.NewReader(manifest)), add(sumsName, false, bytes.NewReader(m.sums()))); err != nil {
		return err
	}
	for _, f := range m.Files {
		in, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			return fmt.Errorf("packing %s: %w", f.Path, err)
		}
		if err := errors.Join(add(f.Path, f.Exec, in), in.Close()); err != nil {
			return err
		}
	}
	return z.Close()
}

func modeOf(exec bool) fs.FileMode {
	if exec {
		return 0o755
	}
	return 0o644
}

// A Finding is a difference between a bundle and what it should be.
type Finding struct {
	File string `json:"file"`
	Text string `json:"text"`
}

func (f Finding) String() string { return f.File + ": " + f.Text }

// readArchive unpacks a bundle into a folder. The archive is not trusted: an error is
// returned for names that lead out of the folder, links, devices, duplicates, and
// archives that unpack to much more than their size. Findings are differences from
// the manifest.
func readArchive(file, dir string) (*Manifest, []Finding, error) {
	z, err := zip.OpenReader(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	case err != nil:
		return nil, nil, refused("%s is not a bundle, or is damaged: it is not a ZIP archive: %v", file, err)
	}
	defer z.Close()
	if err := checkNames(file, z.File); err != nil {
		return nil, nil, err
	}
	m, findings, err := readManifest(file, z.File)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, err
	}
	budget := slack + maxRatio*info.Size()
	missing := map[string]File{}
	for _, f := range m.Files {
		missing[f.Path] = f
	}
	for _, f := range z.File {
		if f.Name == manifestName || f.Name == sumsName {
			continue
		}
		want, ok := missing[f.Name]
		if !ok {
			findings = append(findings, Finding{f.Name, "is not in the manifest"})
			continue
		}
		delete(missing, f.Name)
		if budget -= want.Size; budget < 0 {
			return nil, nil, refused("%s: the files are more than %d times as large as the archive: not a bundle", file, maxRatio)
		}
		text, err := unpack(f, want, dir)
		if err != nil {
			return nil, nil, err
		}
		if text != "" {
			findings = append(findings, Finding{f.Name, text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		findings = append(findings, Finding{name, "is missing"})
	}
	if len(findings) == 0 {
		findings, err = compareArchive(file, dir, m, z.File)
	}
	return m, findings, err
}

// checkNames refuses entries that cannot be files of a bundle.
func checkNames(file string, entries []*zip.File) error {
	if len(entries) > maxFiles {
		return refused("%s has %d entries: a bundle has at most %d", file, len(entries), maxFiles)
	}
	seen := map[string]string{}
	for _, f := range entries {
		switch name := f.Name; {
		case !validName(name):
			return refused("%s: the name %q leads out of the bundle or is not portable: not a bundle that scruple wrote", file, name)
		case !f.Mode().IsRegular():
			return refused("%s: %s is not a file but %s: a bundle has no links, folders or devices", file, name, f.Mode().Type())
		case f.Flags&1 != 0:
			return refused("%s: %s is encrypted", file, name)
		case seen[strings.ToLower(name)] != "":
			return refused("%s: %s and %s are the same file on some systems", file, seen[strings.ToLower(name)], name)
		default:
			seen[strings.ToLower(name)] = name
		}
	}
	return nil
}

// validName reports whether a name is a relative path below the folder on every
// system.
func validName(name string) bool {
	return fs.ValidPath(name) && name != "." && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`\:*?"<>|`, r) })
}

// readManifest reads the manifest and compares the list of checksums with it.
func readManifest(file string, entries []*zip.File) (*Manifest, []Finding, error) {
	if len(entries) == 0 || entries[0].Name != manifestName {
		return nil, nil, refused("%s is not a bundle: its first file is not %s", file, manifestName)
	}
	data, err := readEntry(entries[0])
	if err != nil {
		return nil, nil, refused("%s: reading %s: %v", file, manifestName, err)
	}
	var kind struct {
		Format string `json:"format"`
	}
	m := &Manifest{}
	if err := dataset.DecodeStrict(data, m); err != nil {
		if dataset.DecodeLoose(data, &kind) == nil && kind.Format != "" && kind.Format != Format {
			return nil, nil, otherFormat(file, kind.Format)
		}
		return nil, nil, refused("%s: %s was changed or is damaged: %v", file, manifestName, err)
	}
	if m.Format != Format {
		return nil, nil, otherFormat(file, m.Format)
	}
	for i, f := range m.Files {
		if !validName(f.Path) || i > 0 && m.Files[i-1].Path >= f.Path || f.Size < 0 {
			return nil, nil, refused("%s: %s: %q has an invalid name, size or place", file, manifestName, f.Path)
		}
	}
	if !validName(m.StudyFile) || !strings.HasPrefix(m.StudyFile, filesDir+"/") {
		return nil, nil, refused("%s: %s: the study file is %q", file, manifestName, m.StudyFile)
	}
	var findings []Finding
	if written, err := m.encode(); err != nil || !bytes.Equal(written, data) {
		findings = append(findings, Finding{manifestName, "is not as scruple writes it: it was changed"})
	}
	at := slices.IndexFunc(entries, func(f *zip.File) bool { return f.Name == sumsName })
	if at < 0 {
		return m, append(findings, Finding{sumsName, "is missing"}), nil
	}
	sums, err := readEntry(entries[at])
	if err != nil || !bytes.Equal(sums, m.sums()) {
		findings = append(findings, Finding{sumsName, "differs from " + manifestName + ": one of them was changed"})
	}
	return m, findings, nil
}

func otherFormat(file, format string) error {
	return refused("%s has format %q, but this scruple reads %s: use the version that wrote it", file, format, Format)
}

func readEntry(f *zip.File) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	return data, err
}

// unpack writes an entry to a folder and says how it differs from the manifest, ""
// if it does not.
func unpack(f *zip.File, want File, dir string) (differs string, err error) {
	in, err := f.Open()
	if err != nil {
		return "cannot be read: " + err.Error(), nil
	}
	defer in.Close()
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("unpacking %s: %w", f.Name, err)
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, modeOf(want.Exec)&0o700)
	if err != nil {
		return "", fmt.Errorf("unpacking %s: %w", f.Name, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, want.Size+1))
	switch err := errors.Join(err, out.Close()); {
	case disk.Full(err):
		return "", fmt.Errorf("unpacking %s: %w", f.Name, err)
	case err != nil:
		return "was changed or is damaged: " + err.Error(), nil
	}
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case n > want.Size:
		return fmt.Sprintf("was changed: it has more than the %d bytes that the manifest says", want.Size), nil
	case got != want.SHA256:
		return fmt.Sprintf("was changed: its SHA-256 is %s…, but the manifest says %s…", got[:12], want.SHA256[:min(12, len(want.SHA256))]), nil
	case f.Mode().Perm()&0o100 != 0 != want.Exec:
		return "was changed: the permission to execute it", nil
	}
	return "", nil
}

// compareArchive packs the unpacked files again and finds the first byte at which the
// archive differs, such as one in a header that no program reads. Versions of Go
// compress differently, so it does nothing under another one.
func compareArchive(file, dir string, m *Manifest, entries []*zip.File) ([]Finding, error) {
	if m.Go != runtime.Version() {
		return nil, nil
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	at, err := differs(in, func(w io.Writer) error { return writeArchive(w, dir, m) })
	if err != nil || at < 0 {
		return nil, err
	}
	where := "the directory of the archive"
	for _, f := range slices.Backward(entries) {
		if start, err := f.DataOffset(); err == nil && at < start+int64(f.CompressedSize64) {
			where = f.Name
		}
	}
	return []Finding{{where, fmt.Sprintf("byte %d of the archive was changed", at)}}, nil
}

// differs returns the first byte at which a file differs from what write writes, -1 if none.
func differs(in io.Reader, write func(io.Writer) error) (int64, error) {
	c := &comparing{with: bufio.NewReaderSize(in, 1<<16)}
	err := write(c)
	if _, more := c.with.ReadByte(); c.differ || err == nil && more == nil {
		return c.at, nil
	}
	return -1, err
}

// comparing is a writer that compares what is written with what a reader has.
type comparing struct {
	with   *bufio.Reader
	at     int64
	differ bool // at the byte at; who writes may go on
}

var errDiffers = errors.New("the file differs")

func (c *comparing) Write(p []byte) (int, error) {
	for i := range p {
		if c.differ {
			return i, errDiffers
		}
		if b, err := c.with.ReadByte(); err != nil || b != p[i] {
			c.differ = true
			return i, errDiffers
		}
		c.at++
	}
	return len(p), nil
}
