package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/text"
)

// Files lists what [Place.Verify] reads, files and folders relative to that of the study.
func (p Place) Files() (list []string, err error) {
	draws, errDraws := entriesOf[drawn](p, drawEntry, "")
	locks, errLocks := p.locksHere()
	if err := errors.Join(errDraws, errLocks); err != nil {
		return nil, err
	}
	var paths []string
	for _, d := range draws {
		paths = append(paths, filepath.Join(p.Dir, d.Task))
	}
	for _, l := range locks {
		paths = append(paths, p.lockedPath(l))
	}
	for i := range paths {
		if paths[i], err = filepath.Rel(filepath.Dir(p.Dir), paths[i]); err != nil {
			return nil, err
		}
	}
	return paths, nil
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
		if err == nil && hashOf(data) != d.Queue {
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
			if people, err := p.people(e.Name()); err != nil || len(people) > 0 {
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
	var d drawn
	var h head
	var s starter
	var f leading
	var l Lock
	switch {
	case e.Kind == drawEntry && e.Decode(&d) == nil:
		return fmt.Sprintf("task %s of study %s: %s drawn; queue has SHA-256 %s",
			d.Task, d.Study, text.Plural(d.Subjects, "subject", "subjects"), d.Queue)
	case e.Kind == personEntry && e.Decode(&s) == nil:
		began := map[bool]string{false: "%s began", true: "the file of %s, made elsewhere, was adopted"}[s.Adopted]
		return fmt.Sprintf("task %s of study %s: "+began, s.Task, s.Study, s.Person)
	case e.Kind == firstEntry && e.Decode(&f) == nil:
		return fmt.Sprintf("task %s of study %s: %s answers all subjects", f.Task, f.Study, f.Person)
	case e.Kind == headEntry && e.Decode(&h) == nil:
		return fmt.Sprintf("task %s of study %s: the file of %s has %s, the last with SHA-256 %s",
			h.Task, h.Study, h.Person, text.Plural(h.Seq, "line", "lines"), h.Hash)
	case e.Kind == LockEntry && e.Decode(&l) == nil:
		return fmt.Sprintf("task %s of study %s: %s locked by %s in %s, SHA-256 %s",
			l.Task, l.Study, text.Plural(l.Subjects, "subject", "subjects"), l.Name, cmp.Or(l.Path, l.File), l.SHA256)
	}
	return ""
}
