package annotate

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
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
	Gold        bool   `json:"gold,omitempty"`
	Path        string `json:"path,omitempty"`
	Subjects    int    `json:"subjects"`
	Name        string `json:"name"` // who declares
	Declaration string `json:"declaration"`
}

// locks lists the locks of the study; task "" means all tasks.
func (p Place) locks(task string) ([]Lock, error) {
	return entriesOf(p, LockEntry, func(l Lock) bool { return l.Study == p.Study && (task == "" || l.Task == task) })
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
		if l.Study == p.Study {
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

// CheckLocks returns an error if the gold of a locked task, or a locked file, is not what
// was locked.
func (p Place) CheckLocks() error {
	locks, err := p.locks("")
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

// LocksOf is CheckLocks for all studies of a folder that share a store, for a study that
// cannot be loaded.
func LocksOf(path, store string) error {
	p := Of(path, "", store, time.Now)
	locks, err := entriesOf(p, LockEntry, func(Lock) bool { return true })
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range locks {
		if data, err := os.ReadFile(p.lockedPath(l)); err == nil && hashOf(data) != l.SHA256 {
			errs = append(errs, p.changed(l, data))
		}
	}
	return errors.Join(errs...)
}

func (p Place) changed(l Lock, data []byte) error {
	return fmt.Errorf("%s changed after %s was locked: its SHA-256 is %s, locked was %s (MD5 %s): restore the file from a copy; locked gold is never revised", p.lockedPath(l), l.what(), hashOf(data), l.SHA256, l.MD5)
}

func (p Place) lockedPath(l Lock) string {
	if l.Path != "" {
		return filepath.Join(filepath.Dir(p.Dir), filepath.FromSlash(l.Path))
	}
	return filepath.Join(p.Dir, filepath.Base(l.File))
}

func (l Lock) what() string {
	if l.Task == "" {
		return "the file"
	}
	return "the gold of task " + l.Task
}

// CheckGold returns an error if the study has locked gold and reads gold from a file with
// other content. path is that file, or "".
func (p Place) CheckGold(path string) error {
	locks, err := p.locks("")
	if err != nil {
		return err
	}
	locks = slices.DeleteFunc(locks, func(l Lock) bool { return !l.Gold })
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
		return fmt.Errorf("the study reads gold from %s (SHA-256 %s), but locked is %s (SHA-256 %s): name the locked file in the study", path, hash, p.lockedPath(last), last.SHA256)
	}
	return nil
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
func (p Place) LockFile(path, name, declaration string, gold bool) (Lock, error) {
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
	l := Lock{Study: p.Study, File: filepath.Base(path), Path: filepath.ToSlash(rel), Gold: gold, MD5: hex.EncodeToString(sum[:]), SHA256: hashOf(data),
		Name: strings.TrimSpace(name), Declaration: strings.TrimSpace(declaration)}
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

// Result reads a task with everyone's answers.
func (p Place) Result(t study.Task) (*Result, error) {
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
	for _, c := range codings(t, q, r.Everyone) {
		switch {
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
	miss(skipped, "subject was", "subjects were", " skipped: another person must answer, or a task with another name draw other subjects")
	miss(differ, "subject has", "subjects have", " answers that differ: decide with `scruple annotate --adjudicate`")
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
// declaration. gold is the file.
func (p Place) Lock(r *Result, gold []byte, name, declaration string) (Lock, error) {
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
	file := cmp.Or(r.file, GoldFile(task))
	if err := writeFile(filepath.Join(p.Dir, file), gold, 0o444); err != nil {
		return Lock{}, err
	}
	sum := md5.Sum(gold)
	l := Lock{Study: p.Study, Task: task, File: file, Gold: r.file != "", MD5: hex.EncodeToString(sum[:]), SHA256: hashOf(gold),
		Subjects: len(r.Settled), Name: name, Declaration: strings.TrimSpace(declaration)}
	for _, w := range r.Everyone {
		entries, err := ledger.Read(p.workPath(task, w.Person))
		if err != nil {
			return Lock{}, err
		}
		if err := p.add(w.Person, headEntry, head{p.Study, task, w.Person, ledger.HeadOf(entries)}); err != nil {
			return Lock{}, err
		}
	}
	return l, p.add(name, LockEntry, l)
}

// Verify checks the ledger, and the queue, the files of all people and the gold of
// each task that it has.
func (p Place) Verify() (entries int, files []string, err error) {
	list, err := ledger.Read(p.Ledger)
	if err != nil {
		return 0, nil, err
	}
	draws, err := entriesOf(p, drawEntry, func(d drawn) bool { return d.Study == p.Study })
	if err != nil {
		return 0, nil, err
	}
	var errs []error
	for _, d := range draws {
		data, err := os.ReadFile(p.queuePath(d.Task))
		if err == nil && hashOf(data) != d.Queue {
			err = fmt.Errorf("%s is not the file that the ledger recorded: restore it", p.queuePath(d.Task))
		}
		var q Queue
		if err == nil {
			err = dataset.DecodeStrict(data, &q)
		}
		everyone, err2 := p.Everyone(d.Task)
		errs = append(errs, err, err2)
		files = append(files, p.queuePath(d.Task))
		for _, w := range everyone {
			files = append(files, p.workPath(d.Task, w.Person))
		}
	}
	return len(list), files, errors.Join(append(errs, p.CheckLocks())...)
}
