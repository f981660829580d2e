package annotate

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
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

// shared counts the items that a lock is about, and lists those with another gold.
func (l Lock) shared(items []eval.Item) (n int, changed []string) {
	for _, it := range items {
		at, found := slices.BinarySearch(l.Inputs, it.Input.String())
		if !found {
			continue
		}
		n++
		if at < len(l.Answers) && it.Gold != 0 && l.Answers[at] != it.Gold.String() {
			changed = append(changed, it.ID)
		}
	}
	return n, changed
}

// locks lists the locks of the study; task "" means all tasks.
func (p Place) locks(task string) ([]Lock, error) {
	return entriesOf(p, LockEntry, func(l Lock) bool { return p.owns(l.Study, l.Folder) && (task == "" || l.Task == task) })
}

// allLocks lists the locks in the ledger of the study, and in that of its store.
func (p Place) allLocks() ([]Lock, error) {
	any := func(Lock) bool { return true }
	list, err := entriesOf(p, LockEntry, any)
	if err != nil || p.Beside == "" {
		return list, err
	}
	beside := p
	beside.Ledger = p.Beside
	more, err := entriesOf(beside, LockEntry, any)
	for i := range more { // its folders are seen from there
		at := filepath.Join(filepath.Dir(p.Beside), filepath.FromSlash(more[i].Folder))
		if same, err := relative(at, filepath.Dir(p.Dir)); err == nil && same == "." {
			more[i].Folder = p.folder()
		}
	}
	return append(list, more...), err
}

// A Declared is a lock with its place in the ledger.
type Declared struct {
	Lock
	Seq int
	At  string // RFC 3339, UTC
}

// Declared lists the locks of the study with their places in the ledger.
func (p Place) Declared() (list []Declared, err error) {
	entries, err := ledger.Read(p.Ledger)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Kind != LockEntry {
			continue
		}
		var l Lock
		if err := e.Decode(&l); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Ledger, err)
		}
		if p.owns(l.Study, l.Folder) {
			list = append(list, Declared{l, e.Seq, e.At})
		}
	}
	return list, nil
}

// checkOpen refuses a locked task.
func (p Place) checkOpen(task string) error {
	locks, err := p.locks(task)
	if err == nil && len(locks) > 0 {
		err = fmt.Errorf("task %s is locked: its answers cannot change any more", task)
	}
	return err
}

// folder is the folder of the study as locks have it.
func (p Place) folder() string {
	if p.from != "" {
		return path.Join("..", p.from)
	}
	rel, err := relative(filepath.Dir(p.Ledger), filepath.Dir(p.Dir))
	if err != nil { // on another drive
		return ""
	}
	return filepath.ToSlash(rel)
}

// locksHere lists the locks of files in the folder of the study, whatever study locked
// them: a file does not lose its lock when a study gets another name.
func (p Place) locksHere() ([]Lock, error) {
	here := p.folder()
	locks, err := p.allLocks()
	return slices.DeleteFunc(locks, func(l Lock) bool { return !p.owns(l.Study, l.Folder) && l.Folder != here }), err
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
		} else if hashOf(data) != l.SHA256 {
			errs = append(errs, p.changed(l, data))
		}
	}
	return errors.Join(errs...)
}

func (p Place) changed(l Lock, data []byte) error {
	return fmt.Errorf("%s changed after %s was locked: its SHA-256 is %s, locked was %s (MD5 %s): restore the file from a copy; locked gold is never revised", p.lockedPath(l), l.what(), hashOf(data), l.SHA256, l.MD5)
}

func (p Place) lockedPath(l Lock) string {
	study := filepath.Dir(p.Dir)
	if !p.owns(l.Study, l.Folder) && l.Folder != p.folder() {
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
	for _, l := range all {
		n, changed := l.shared(items)
		if len(changed) > 0 {
			return fmt.Errorf("the gold of %s (%s of %s) was locked by %s in %s, and is another now: locked gold is never revised; restore it", text.Plural(len(changed), "item", "items"), named(changed), p.Study, l.Name, p.lockedPath(l))
		}
		if l.Gold && (n > 0 || p.owns(l.Study, l.Folder)) {
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
	if hash := hashOf(data); !slices.ContainsFunc(locks, func(l Lock) bool { return l.SHA256 == hash }) {
		return fmt.Errorf("the study reads gold from %s (SHA-256 %s), but locked is %s of study %s (SHA-256 %s): name the locked file in the study", path, hash, p.lockedPath(last), last.Study, last.SHA256)
	}
	return nil
}

// named lists the first few of some items.
func named(items []string) string {
	const few = 5
	if len(items) > few {
		return strings.Join(items[:few], ", ") + ", …"
	}
	return strings.Join(items, ", ")
}

func relative(dir, path string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.Rel(dir, path)
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
	sum := md5.Sum(data)
	l := Lock{Study: p.Study, Folder: p.folder(), File: filepath.Base(path), Path: filepath.ToSlash(rel), Gold: gold, MD5: hex.EncodeToString(sum[:]), SHA256: hashOf(data),
		Name: strings.TrimSpace(name), Declaration: strings.TrimSpace(declaration)}
	l.cover(items, true)
	locks, err := p.locks("")
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

// A Settled is the answer that counts for a subject.
type Settled struct {
	Subject     Subject `json:"subject"`
	Answer      Answer  `json:"answer"`
	Label       string  `json:"label"`
	By          string  `json:"by"`
	Adjudicated bool    `json:"adjudicated,omitempty"`
	Reason      string  `json:"reason,omitempty"`
	Shown       string  `json:"shown"`

	session int
	at      time.Time
}

// Result is the state of a task: what is settled, and what is missing for a lock.
type Result struct {
	Task     study.Task
	Settled  []Settled
	Missing  []string
	Everyone []*Work

	queue *Queue
	now   time.Time
	file  string // name of the gold, if the suite names it
}

// A NotStartedError says that the subjects of a task were not drawn.
type NotStartedError struct{ Task string }

func (e *NotStartedError) Error() string {
	return fmt.Sprintf("task %s is not started: start it with `scruple annotate`", e.Task)
}

// Result reads a task with everyone's answers. Answers to what the study no longer shows
// settle nothing.
func (p Place) Result(t study.Task, source Source) (*Result, error) {
	t = t.Full()
	q, err := p.readQueue(t)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, &NotStartedError{t.Name}
	}
	r := &Result{Task: t, queue: q, now: p.Now()}
	if r.Everyone, err = p.Everyone(t.Name); err != nil {
		return nil, err
	}
	skipped, open, differ := 0, 0, 0
	var stale []string
	fresh := newFreshness(t, source)
	for _, c := range codings(t, q, r.Everyone) {
		switch {
		case c.stale(fresh):
			stale = append(stale, c.Subject.String())
		case c.Final != nil:
			r.Settled = append(r.Settled, Settled{c.Subject, c.Final.Answer, c.Final.label(t, t.Ask[0]), c.By, c.Final.Pass == passAdjudicate, c.Final.Reason, c.Final.Shown, c.Final.Session, c.finalAt})
		case len(c.First) > 0:
			differ++
		case r.skipped(c.Subject):
			skipped++
		default:
			open++
		}
	}
	miss := func(n int, one, many, what string) {
		if n > 0 {
			r.Missing = append(r.Missing, text.Plural(n, one, many)+what)
		}
	}
	miss(open, "subject has", "subjects have", " no answer")
	miss(skipped, "subject was", "subjects were", " skipped: answer it, or draw the task anew under another name")
	miss(differ, "subject has", "subjects have", " answers that differ: decide with `scruple annotate --adjudicate`")
	if len(stale) > 0 {
		miss(len(stale), "subject was", "subjects were", ", such as "+stale[0]+", judged by a text that the study no longer shows: restore the text, or draw the task anew under another name")
	}
	if n := len(q.Subjects); t.Again.After > n {
		r.Missing = append(r.Missing, fmt.Sprintf("the second round begins after %d answers, but the task has only %s: draw it anew under another name with a smaller again.after", t.Again.After, text.Plural(n, "subject", "subjects")))
	}
	for _, w := range r.Everyone {
		d := &desk{place: p, task: t, queue: q, work: w, first: w == r.Everyone[0]}
		left := 0
		for _, s := range d.order(passAgain) {
			if w.given[slot{s, passAgain}] == nil {
				left++
			}
		}
		miss(left, "subject", "subjects", " left in the second round of "+w.Person)
	}
	return r, nil
}

func (r *Result) skipped(s Subject) bool {
	for _, w := range r.Everyone {
		if g := w.given[slot{s, passFirst}]; g != nil && g.Skip != "" {
			return true
		}
	}
	return false
}

// unitGold is an answer to the questions of kind gold.
func (a Answer) unitGold(unit string) eval.UnitGold {
	g := eval.UnitGold{Unit: unit}
	switch a.Text("exists") {
	case study.UnitMissing:
		g.Missing = true
	case study.UnitAmbiguous:
		for line := range strings.Lines(a.Text("candidates")) {
			if line = strings.TrimSpace(line); line != "" {
				g.Values = append(g.Values, line)
			}
		}
	default:
		g.Values = []string{strings.TrimSpace(a.Text("value"))}
		for _, s := range a.Spans("quote") {
			g.Quote, g.Page = s.Text, s.Page
		}
	}
	return g
}

// makesGold reports whether the answers to a task are gold in the suite's format.
func makesGold(t study.Task) bool { return t.Kind == "gold" && t.Of == "unit" && len(t.Arms) == 0 }

// keepsGold reports whether the answers are gold of whole items.
func (r *Result) keepsGold(source Source) bool {
	return r.Task.Kind == "assessment" && r.Task.Of == "item" && !r.Task.Practice && source.Keeper() != nil
}

// goldFile makes the gold of whole items, named for the day.
func (r *Result) goldFile(source Source) (name string, data []byte, err error) {
	var settled []eval.ItemGold
	for _, s := range r.Settled {
		g := eval.ItemGold{Item: s.Subject.Item, Answer: map[string]json.RawMessage{}, Session: s.session, At: s.at.UTC().Format(time.RFC3339)}
		for q, v := range s.Answer {
			g.Answer[q] = json.RawMessage(v)
		}
		settled = append(settled, g)
	}
	return source.Keeper().GoldFile(r.now.UTC().Format(time.DateOnly), settled)
}

// Gold is the file of the settled answers: gold in the suite's format if the task is
// of kind gold, else the answers as they are.
func (r *Result) Gold(source Source) ([]byte, error) {
	if r.keepsGold(source) {
		name, data, err := r.goldFile(source)
		r.file = name
		return data, err
	}
	if !makesGold(r.Task) {
		return r.JSONL()
	}
	var b bytes.Buffer
	for i := 0; i < len(r.Settled); {
		item := r.Settled[i].Subject.Item
		var of []eval.UnitGold
		for ; i < len(r.Settled) && r.Settled[i].Subject.Item == item; i++ {
			of = append(of, r.Settled[i].Answer.unitGold(r.Settled[i].Subject.Unit))
		}
		line, err := source.Gold(item, of)
		if err != nil {
			return nil, fmt.Errorf("the gold of %s: %w", item, err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// JSONL is the settled answers, one a line.
func (r *Result) JSONL() ([]byte, error) {
	var b bytes.Buffer
	for _, s := range r.Settled {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// Lock writes the gold of a task to a read-only file and records its hashes with the
// declaration. gold is the file, and items are those of the study.
func (p Place) Lock(r *Result, gold []byte, name, declaration string, items []eval.Item) (Lock, error) {
	task := r.Task.Name
	if err := p.checkOpen(task); err != nil {
		return Lock{}, err
	}
	if r.Task.Practice {
		return Lock{}, fmt.Errorf("task %s is practice, which is never gold", task)
	}
	if len(r.Missing) > 0 {
		return Lock{}, fmt.Errorf("task %s is not complete: %s", task, strings.Join(r.Missing, "; "))
	}
	if strings.TrimSpace(declaration) == "" {
		return Lock{}, errors.New("a lock needs a declaration, such as --declare \"I coded all documents without seeing any answer of a model\"")
	}
	file, err := p.freeFile(r, gold)
	if err != nil {
		return Lock{}, err
	}
	if err := writeOnce(filepath.Join(p.Dir, file), gold); err != nil {
		return Lock{}, err
	}
	sum := md5.Sum(gold)
	l := Lock{Study: p.Study, Folder: p.folder(), Task: task, File: file, Gold: r.file != "", MD5: hex.EncodeToString(sum[:]), SHA256: hashOf(gold),
		Subjects: len(r.Settled), Name: name, Declaration: strings.TrimSpace(declaration)}
	if l.Gold {
		about := map[string]bool{}
		for _, s := range r.Settled {
			about[s.Subject.Item] = true
		}
		l.cover(slices.DeleteFunc(slices.Clone(items), func(it eval.Item) bool { return !about[it.ID] }), false)
	}
	for _, w := range r.Everyone {
		entries, err := ledger.Read(p.workPath(task, w.Person))
		if err != nil {
			return Lock{}, err
		}
		if err := p.add(w.Person, headEntry, head{p.taskOf(task), w.Person, ledger.HeadOf(entries)}); err != nil {
			return Lock{}, err
		}
	}
	return l, p.add(name, LockEntry, l)
}

// goldFile is the name of the file that a lock of the task would write now.
func (p Place) goldFile(r *Result, source Source) (string, error) {
	gold, err := r.Gold(source)
	if err != nil {
		return "", err
	}
	return p.freeFile(r, gold)
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
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
			return os.Chmod(path, 0o444)
		}
	}
	if err != nil {
		return fmt.Errorf("writing gold: %w", err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o444), f.Sync(), f.Close(), disk.SyncFolder(filepath.Dir(path))); err != nil {
		return fmt.Errorf("writing gold: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// draws lists the queues of the study that the ledger has, those of tasks that had another
// name or are gone included.
func (p Place) draws() ([]drawn, error) {
	return entriesOf(p, drawEntry, func(d drawn) bool { return p.has(d.taskOf, "") })
}

// Files lists what [Place.Verify] reads, files and folders relative to that of the study.
func (p Place) Files() (list []string, err error) {
	draws, err := p.draws()
	if err != nil {
		return nil, err
	}
	locks, err := p.locksHere()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, d := range draws {
		paths = append(paths, filepath.Join(p.Dir, d.Task))
	}
	for _, l := range locks {
		paths = append(paths, p.lockedPath(l))
	}
	for _, path := range paths {
		rel, err := filepath.Rel(filepath.Dir(p.Dir), path)
		if err != nil {
			return nil, err
		}
		list = append(list, rel)
	}
	return list, nil
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
	draws, err := p.draws()
	if err != nil {
		return 0, nil, err
	}
	known := map[string]bool{} // tasks
	for _, d := range draws {
		known[d.Task] = true
		data, err := os.ReadFile(p.queuePath(d.Task))
		if err == nil && hashOf(data) != d.Queue {
			err = fmt.Errorf("%s is not the file that the ledger recorded: restore it", p.queuePath(d.Task))
		}
		var q Queue
		if err == nil {
			err = dataset.DecodeStrict(data, &q)
		}
		everyone, err2 := p.Everyone(d.Task)
		errs = append(errs, err, err2, p.checkPeople(d.Task, everyone))
		files = append(files, p.queuePath(d.Task))
		for _, w := range everyone {
			files = append(files, p.workPath(d.Task, w.Person))
		}
	}
	return len(list), files, errors.Join(append(errs, p.checkUnknown(known), p.CheckLocks())...)
}

// checkPeople compares the people whose files a task has with those in the ledger.
func (p Place) checkPeople(task string, everyone []*Work) error {
	starters, err := entriesOf(p, personEntry, func(s starter) bool { return p.has(s.taskOf, task) })
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
	for _, w := range everyone {
		if w.began() && !slices.ContainsFunc(starters, func(s starter) bool { return s.Person == w.Person }) {
			errs = append(errs, fmt.Errorf("%s has answers, but the ledger has no entry that %s began: it was not made here, or the ledger was replaced", p.workPath(task, w.Person), w.Person))
		}
	}
	return errors.Join(errs...)
}

// began reports whether a person answered as one of those whose answers are compared: who
// only decides about their answers is not in the ledger as an annotator.
func (w *Work) began() bool {
	return slices.ContainsFunc(w.order, func(k slot) bool { return k.pass != passAdjudicate })
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
	others, err := entriesOf(p, drawEntry, func(d drawn) bool { return true })
	if err != nil {
		return err
	}
	for _, d := range others { // studies in one folder have one folder of annotations
		if d.Folder == p.folder() || d.Folder == "" {
			known[d.Task] = true
		}
	}
	locks, err := p.locksHere()
	if err != nil {
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
