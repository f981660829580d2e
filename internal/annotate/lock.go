package annotate

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/text"
)

// GoldFile is the name of the file that a lock makes, in the folder annotations. It is not in
// the folder of the task, where people's files are.
func GoldFile(task string) string { return task + ".gold.jsonl" }

// A Lock is the ledger's entry of gold that must not change any more.
type Lock struct {
	Study  string `json:"study"`
	Task   string `json:"task"`
	File   string `json:"file"` // in the folder of annotations
	MD5    string `json:"md5"`
	SHA256 string `json:"sha256"`
	// Gold says that the file is the gold of the study, and Path is set if the file is not
	// in the folder of annotations: it is relative to that of the study.
	Gold bool   `json:"gold,omitempty"`
	Path string `json:"path,omitempty"`
	// Folder is that of the study, relative to that of the ledger: studies with one ledger
	// can be in several folders.
	Folder      string `json:"folder"`
	Subjects    int    `json:"subjects"`
	Name        string `json:"name"` // who declares
	Declaration string `json:"declaration"`
	// Inputs are the hashes of the inputs of the items that the gold is about, sorted, and
	// Answers those of their gold, in the same order, where the study read it. Another
	// study with one of the items has this gold or none. Of more than [mostLocked] items
	// they are those of the first.
	Inputs  []string `json:"inputs,omitempty"`
	Answers []string `json:"answers,omitempty"`
	// Before are the hashes of the gold that the items had already, which is not revised either.
	Before map[string]string `json:"before,omitempty"`
}

// mostLocked bounds the hashes in a line of the ledger.
const mostLocked = 20_000

// cover puts the items that the gold is about into a lock; answers says whether they
// have it.
func (l *Lock) cover(items []eval.Item, answers bool) {
	gold := map[string]string{}
	for _, it := range items {
		if it.Gold != 0 || !answers {
			gold[it.Input.String()] = it.Gold.String()
		}
	}
	l.Inputs = slices.Sorted(maps.Keys(gold))
	l.Inputs = l.Inputs[:min(len(l.Inputs), mostLocked)]
	for _, in := range l.Inputs {
		if answers {
			l.Answers = append(l.Answers, gold[in])
		}
	}
}

// allows adds the gold that a lock lets its items have, by input and gold.
func (l Lock) allows(golds map[[2]string]bool) {
	for i, gold := range l.Answers {
		golds[[2]string{l.Inputs[i], gold}] = true
	}
	for input, gold := range l.Before {
		golds[[2]string{input, gold}] = true
	}
}

// shared counts the items that a lock is about, and lists those with another gold than allowed.
func (l Lock) shared(items []eval.Item, allowed map[[2]string]bool) (n int, changed []string) {
	for _, it := range items {
		at, found := slices.BinarySearch(l.Inputs, it.Input.String())
		if !found {
			continue
		}
		n++
		if at < len(l.Answers) && it.Gold != 0 && !allowed[[2]string{it.Input.String(), it.Gold.String()}] {
			changed = append(changed, it.ID)
		}
	}
	return n, changed
}

func (l Lock) about() taskOf { return taskOf{l.Study, l.Folder, l.Task} }

// allLocks lists the locks in the ledger of the study, and in those above.
func (p Place) allLocks() (list []Lock, err error) {
	err = each(p, LockEntry, func(_ ledger.Entry, l Lock) { list = append(list, l) })
	for _, other := range ledger.Above(filepath.Dir(p.Dir)) {
		err = cmp.Or(err, each(Place{Ledger: other}, LockEntry, func(_ ledger.Entry, l Lock) { // its folders are seen from there
			at := filepath.Join(filepath.Dir(other), filepath.FromSlash(l.Folder))
			if same, err := relative(at, filepath.Dir(p.Dir)); err == nil && same == "." {
				l.Folder = p.folder()
			} else if seen, err := relative(filepath.Dir(p.Ledger), at); err == nil {
				l.Folder = filepath.ToSlash(seen)
			}
			list = append(list, l)
		}))
	}
	return list, err
}

// A Declared is a lock with its place in the ledger.
type Declared struct {
	Lock
	Seq int
	At  string // RFC 3339, UTC
}

// Declared lists the locks of the study with their places in the ledger.
func (p Place) Declared() (list []Declared, err error) {
	err = each(p, LockEntry, func(e ledger.Entry, l Lock) {
		if p.owns(l.about()) {
			list = append(list, Declared{l, e.Seq, e.At})
		}
	})
	return list, err
}

// checkOpen refuses a locked task.
func (p Place) checkOpen(task string) error {
	locks, err := entriesOf[Lock](p, LockEntry, task)
	if err == nil && len(locks) > 0 {
		err = &ledger.NotAllowedError{Err: lockedError(task)}
	}
	return err
}

// locksHere lists the locks of files in the folder of the study, whatever study locked
// them: a file does not lose its lock when a study gets another name.
func (p Place) locksHere() ([]Lock, error) {
	here := p.folder()
	locks, err := p.allLocks()
	return slices.DeleteFunc(locks, func(l Lock) bool { return !p.owns(l.about()) && l.Folder != here }), err
}

// CheckLocks returns an error if the gold of a locked task, or a locked file, of any study
// in the folder is not what was locked.
func (p Place) CheckLocks() error {
	locks, err := p.locksHere()
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range locks {
		data, err := os.ReadFile(p.lockedPath(l))
		if err != nil {
			errs = append(errs, fmt.Errorf("reading the locked %s: %w: restore it; its SHA-256 is %s", l.what(), err, l.SHA256))
		} else if hash := dataset.SHA256(data); hash != l.SHA256 {
			errs = append(errs, fmt.Errorf("%s changed after %s was locked: its SHA-256 is %s, locked was %s (MD5 %s): restore the file from a copy; locked gold is never revised",
				p.lockedPath(l), l.what(), hash, l.SHA256, l.MD5))
		}
	}
	return errors.Join(errs...)
}

func (p Place) lockedPath(l Lock) string {
	study := filepath.Dir(p.Dir)
	if !p.owns(l.about()) && l.Folder != p.folder() {
		study = filepath.Join(filepath.Dir(p.Ledger), filepath.FromSlash(l.Folder))
	}
	if l.Path != "" {
		return filepath.Join(study, filepath.FromSlash(l.Path))
	}
	return filepath.Join(study, filepath.Base(p.Dir), filepath.Base(l.File))
}

func (l Lock) what() string {
	if l.Task == "" {
		return "the file"
	}
	return "the gold of task " + l.Task
}

// CheckGold returns an error if gold was locked of the study, or of some of its items by
// any study, and the study has other gold. path is the file that it reads gold from, or
// "" if the suite has none; items are those of the study.
func (p Place) CheckGold(path string, items []eval.Item) error {
	all, err := p.allLocks()
	if err != nil {
		return err
	}
	var locks []Lock
	allowed := map[[2]string]bool{} // by any lock, as two tasks can lock gold of one item
	for _, l := range all {
		l.allows(allowed)
	}
	for _, l := range all {
		n, changed := l.shared(items, allowed)
		if len(changed) > 0 {
			return fmt.Errorf("the gold of %s (%s of %s) was locked by %s in %s, and is another now: locked gold is never revised; restore it", text.Plural(len(changed), "item", "items"), text.Shorten(strings.Join(changed, ", "), 80), p.Study, l.Name, p.lockedPath(l))
		}
		if l.Gold && (n > 0 || p.owns(l.about())) {
			locks = append(locks, l)
		}
	}
	if len(locks) == 0 {
		return nil
	}
	last := locks[len(locks)-1]
	if path == "" {
		return fmt.Errorf("gold was locked as %s, but the study reads none: name this file in the study", p.lockedPath(last))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading gold: %w", err)
	}
	if hash := dataset.SHA256(data); !slices.ContainsFunc(locks, func(l Lock) bool { return l.SHA256 == hash }) {
		return fmt.Errorf("the study reads gold from %s (SHA-256 %s), but locked is %s of study %s (SHA-256 %s): name the locked file in the study", path, hash, p.lockedPath(last), last.Study, last.SHA256)
	}
	return nil
}

// vouch completes a lock of a file with this content, of which somebody declares something.
func (p Place) vouch(l Lock, data []byte, name, declaration string) Lock {
	sum := md5.Sum(data)
	l.Study, l.Folder, l.MD5, l.SHA256 = p.Study, p.folder(), hex.EncodeToString(sum[:]), dataset.SHA256(data)
	l.Name, l.Declaration = name, strings.TrimSpace(declaration)
	return l
}

// LockFile locks a file of the study that people made elsewhere. It makes it read-only.
// gold says that it is the file of gold of the suite, and items are those of the study.
func (p Place) LockFile(path, name, declaration string, gold bool, items []eval.Item) (Lock, error) {
	if strings.TrimSpace(declaration) == "" || strings.TrimSpace(name) == "" {
		return Lock{}, errors.New("a lock needs a name and a declaration: who vouches for the file, and for what")
	}
	rel, err := relative(filepath.Dir(p.Dir), path)
	if err != nil || !filepath.IsLocal(rel) {
		return Lock{}, fmt.Errorf("%s is not in the folder of the study: move it there", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Lock{}, fmt.Errorf("reading the file to lock: %w", err)
	}
	l := p.vouch(Lock{File: filepath.Base(path), Path: filepath.ToSlash(rel), Gold: gold}, data, strings.TrimSpace(name), declaration)
	l.cover(items, true)
	locks, err := entriesOf[Lock](p, LockEntry, "")
	if err != nil {
		return Lock{}, err
	}
	for _, old := range locks {
		if p.lockedPath(old) == p.lockedPath(l) {
			return Lock{}, fmt.Errorf("%s is locked already, by %s", path, old.Name)
		}
	}
	if err := os.Chmod(path, 0o444); err != nil {
		return Lock{}, fmt.Errorf("making the file read-only: %w", err)
	}
	return l, p.add(name, LockEntry, l)
}

// Lock writes the gold of a task to a read-only file and records its hashes with the
// declaration. gold is the file, and items are those of the study.
func (p Place) Lock(r *Result, gold []byte, name, declaration string, items []eval.Item) (Lock, error) {
	task := r.Task.Name
	if err := p.checkOpen(task); err != nil {
		return Lock{}, err
	}
	switch {
	case r.Task.Practice:
		return Lock{}, ledger.NotAllowed("task %s is practice, which is never gold", task)
	case len(r.Missing) > 0:
		return Lock{}, ledger.NotAllowed("task %s is not complete: %s", task, strings.Join(r.Missing, "; "))
	case len(r.Settled) == 0:
		return Lock{}, ledger.NotAllowed("task %s has no answer to lock", task)
	case strings.TrimSpace(declaration) == "":
		return Lock{}, fmt.Errorf("a lock needs a declaration, such as --declare %q", r.Task.Declaration())
	}
	file, err := p.freeFile(r, gold)
	var with []eval.Item
	if err == nil && p.Check != nil && r.StudyGold() {
		var wrong error
		if with, wrong = p.Check(file, gold); wrong != nil {
			err = fmt.Errorf("nothing was locked, since the study does not read this gold: %w", wrong)
		}
	}
	if err != nil {
		return Lock{}, err
	}
	if err := writeOnce(filepath.Join(p.Dir, file), gold); err != nil {
		return Lock{}, err
	}
	l := p.vouch(Lock{Task: task, File: file, Gold: r.file != "", Subjects: len(r.Settled)}, gold, name, declaration)
	if l.Gold {
		about := map[string]bool{}
		for _, s := range r.Settled {
			about[s.Subject.Item] = true
		}
		l.cover(slices.DeleteFunc(slices.Clone(items), func(it eval.Item) bool { return !about[it.ID] }), false)
	} else if l.cover(with, true); len(l.Inputs) > 0 {
		l.Before = map[string]string{}
		for _, it := range items {
			if _, found := slices.BinarySearch(l.Inputs, it.Input.String()); found && it.Gold != 0 {
				l.Before[it.Input.String()] = it.Gold.String()
			}
		}
	}
	for _, w := range r.Everyone {
		entries, err := ledger.Read(p.workPath(task, w.Person))
		if err == nil {
			err = p.add(w.Person, headEntry, head{p.taskOf(task), w.Person, ledger.HeadOf(entries)})
		}
		if err != nil {
			return Lock{}, err
		}
	}
	return l, p.add(name, LockEntry, l)
}

// freeFile returns the name of the file for the gold of a task. The suite's name is the
// same for all tasks of a day, so a second one has its task in the name. A file is never
// replaced, but one with this content that has no lock is left from a lock that was
// interrupted.
func (p Place) freeFile(r *Result, gold []byte) (string, error) {
	locks, err := p.locksHere()
	if err != nil {
		return "", err
	}
	names := []string{GoldFile(r.Task.Name)}
	if r.file != "" {
		ending := filepath.Ext(r.file)
		names = []string{r.file, strings.TrimSuffix(r.file, ending) + "_" + r.Task.Name + ending}
	}
	for _, name := range names {
		path := filepath.Join(p.Dir, name)
		if slices.ContainsFunc(locks, func(l Lock) bool { return p.lockedPath(l) == path }) {
			continue
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(data, gold) {
			return name, nil
		}
	}
	return "", fmt.Errorf("locking task %s: %s exists in %s, and a lock replaces no file: move the file away if no study needs it, or give the study a folder of its own", r.Task.Name, strings.Join(names, " or "), p.Dir)
}

// writeOnce writes a read-only file that does not exist, or makes it read-only if it has
// this content.
func writeOnce(path string, data []byte) error {
	err := disk.File{Path: path, New: true}.Write(disk.Bytes(data))
	if errors.Is(err, fs.ErrExist) {
		if old, errOld := os.ReadFile(path); errOld == nil && bytes.Equal(old, data) {
			err = nil
		}
	}
	if err == nil {
		err = os.Chmod(path, 0o444)
	}
	return err
}

// Files lists what [Place.Verify] reads, files and folders relative to that of the study.
func (p Place) Files() (list []string, err error) {
	draws, errDraws := entriesOf[drawn](p, drawEntry, "")
	locks, errLocks := p.locksHere()
	errs := []error{errDraws, errLocks}
	add := func(path string) {
		rel, err := filepath.Rel(filepath.Dir(p.Dir), path)
		list, errs = append(list, rel), append(errs, err)
	}
	for _, d := range draws {
		add(filepath.Join(p.Dir, d.Task))
	}
	for _, l := range locks {
		add(p.lockedPath(l))
	}
	return list, errors.Join(errs...)
}

// Verify compares the ledger with the folder, both ways: the queue, the files of all
// people and the gold of each task that the ledger has, and each such file that the
// folder has.
func (p Place) Verify() (entries int, files []string, err error) {
	list, err := ledger.Read(p.Ledger)
	if err != nil {
		return 0, nil, err
	}
	errs := []error{ledger.CheckHead(p.Ledger, list)}
	draws, err := entriesOf[drawn](p, drawEntry, "") // of tasks that the study no longer names, too
	if err != nil {
		return 0, nil, err
	}
	known := map[string]bool{} // tasks
	for _, d := range draws {
		known[d.Task] = true
		data, err := os.ReadFile(p.queuePath(d.Task))
		if err == nil && dataset.SHA256(data) != d.Queue {
			err = notRecorded(p.queuePath(d.Task))
		}
		everyone, err2 := p.Everyone(d.Task)
		errs = append(errs, err, err2, p.checkPeople(d.Task))
		files = append(files, p.queuePath(d.Task))
		for _, w := range everyone {
			files = append(files, p.workPath(d.Task, w.Person))
		}
	}
	return len(list), files, errors.Join(append(errs, p.checkUnknown(known), p.CheckLocks())...)
}

// checkPeople looks for the files of the people of a task that the ledger has.
func (p Place) checkPeople(task string) error {
	starters, err := entriesOf[starter](p, personEntry, task)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range starters {
		path := p.workPath(task, s.Person)
		if ledger.Missing(path) {
			errs = append(errs, fmt.Errorf("%s is missing, though the ledger has that %s began: restore it", path, s.Person))
		} else if entries, err := ledger.Read(path); err != nil {
			errs = append(errs, err)
		} else if s.Head {
			errs = append(errs, ledger.CheckHead(path, entries))
		}
	}
	return errors.Join(errs...)
}

// checkUnknown looks for people's files of tasks that the ledger does not have, and for
// gold in the form of a lock that nobody locked.
func (p Place) checkUnknown(known map[string]bool) error {
	entries, err := os.ReadDir(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = each(p, drawEntry, func(_ ledger.Entry, d drawn) { // studies in one folder have one folder of annotations
		if d.Folder == p.folder() || d.Folder == "" {
			known[d.Task] = true
		}
	})
	locks, errLocks := p.locksHere()
	if err := errors.Join(err, errLocks); err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(p.Dir, e.Name())
		switch {
		case e.IsDir() && !known[e.Name()]:
			if people, err := p.People(e.Name()); err != nil || len(people) > 0 {
				errs = append(errs, err, fmt.Errorf("%s has people's files, but the ledger %s has no draw of such a task: the ledger was replaced, or the folder was not made here", path, p.Ledger))
			}
		case strings.HasSuffix(e.Name(), GoldFile("")) && !slices.ContainsFunc(locks, func(l Lock) bool { return p.lockedPath(l) == path }):
			errs = append(errs, fmt.Errorf("%s has the name of locked gold, but the ledger has no lock of it", path))
		}
	}
	return errors.Join(errs...)
}

// Describe says what an entry of the ledger records, "" for entries of other packages.
func Describe(e ledger.Entry) string {
	data := map[string]any{drawEntry: new(drawn), personEntry: new(starter), firstEntry: new(leading),
		headEntry: new(head), LockEntry: new(Lock)}[e.Kind]
	if data == nil || e.Decode(data) != nil {
		return ""
	}
	return written("ledger "+e.Kind, data)
}
