package annotate

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// Kinds of ledger entries.
const (
	drawEntry   = "draw"
	personEntry = "annotator"
	headEntry   = "annotation-head"
	LockEntry   = "lock"
)

// taskOf is the task that an entry is about. Studies in several folders have one ledger
// and may have one name.
type taskOf struct {
	Study  string `json:"study"`
	Folder string `json:"folder,omitempty"` // as in [Lock]; "" if it is not known
	Task   string `json:"task"`
}

func (p Place) taskOf(task string) taskOf { return taskOf{p.Study, p.folder(), task} }

// has reports whether an entry is about a task of the study; task "" means all tasks.
func (p Place) has(t taskOf, task string) bool {
	return p.owns(t.Study, t.Folder) && (task == "" || t.Task == task)
}

// owns reports whether a name and a folder are those of the study, as far as is known.
func (p Place) owns(study, folder string) bool {
	here := p.folder()
	return study == p.Study && (folder == here || folder == "" || here == "")
}

// A Queue is the drawn subjects of a task.
type Queue struct {
	Task     string    `json:"task"`
	Hash     string    `json:"task_hash"` // of what the task asks and shows
	Seed     int64     `json:"seed"`
	Subjects []Subject `json:"subjects"`
	Double   []int     `json:"double"` // indexes of the subjects that everyone answers
	// Strata are the groups of the subjects of a queue of the suite when they were drawn,
	// and Check the indexes of those that are compared with them.
	Strata []string `json:"strata,omitempty"`
	Check  []int    `json:"check,omitempty"`
}

// drawn is the ledger's entry of a queue.
type drawn struct {
	taskOf
	Queue    string `json:"queue"` // SHA-256 of the file
	Subjects int    `json:"subjects"`
}

// Describe says what an entry of the ledger records, "" for entries of other packages.
func Describe(e ledger.Entry) string {
	var d drawn
	var h head
	var s starter
	var l Lock
	switch {
	case e.Kind == drawEntry && e.Decode(&d) == nil:
		return fmt.Sprintf("task %s of study %s: %s drawn; queue has SHA-256 %s", d.Task, d.Study, text.Plural(d.Subjects, "subject", "subjects"), d.Queue)
	case e.Kind == personEntry && e.Decode(&s) == nil:
		return fmt.Sprintf("task %s of study %s: %s began", s.Task, s.Study, s.Person)
	case e.Kind == headEntry && e.Decode(&h) == nil:
		return fmt.Sprintf("task %s of study %s: the file of %s has %s, the last with SHA-256 %s", h.Task, h.Study, h.Person, text.Plural(h.Seq, "line", "lines"), h.Hash)
	case e.Kind == LockEntry && e.Decode(&l) == nil:
		return fmt.Sprintf("task %s of study %s: %s locked by %s in %s, SHA-256 %s", l.Task, l.Study, text.Plural(l.Subjects, "subject", "subjects"), l.Name, cmp.Or(l.Path, l.File), l.SHA256)
	}
	return ""
}

// taskHash covers what changes the meaning of answers.
func taskHash(t study.Task) string {
	t.Title, t.Guide, t.Session, t.Judge, t.Labels, t.Kind = "", "", 0, false, nil, ""
	t.Target, t.Memo = nil, nil
	t.Ask = withoutKeys(t.Ask)
	data, err := json.Marshal(t)
	if err != nil {
		panic("annotate: encoding a task: " + err.Error()) // a study file was decoded into it
	}
	return hashOf(data)
}

// withoutKeys returns questions without the keys of the keyboard.
func withoutKeys(ask []study.Question) []study.Question {
	ask = slices.Clone(ask)
	for i := range ask {
		ask[i].Key = ""
	}
	return ask
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// draw draws the subjects of a task: whole items or trials, then the double share.
func draw(t study.Task, seed int64, source Source) (*Queue, error) {
	if t.Seed != nil {
		seed = *t.Seed
	}
	q := &Queue{Task: t.Name, Hash: taskHash(t), Seed: seed, Double: []int{}}
	if t.Queue != "" {
		if err := q.drawStrata(t, source); err != nil {
			return nil, err
		}
		q.drawDouble(t)
		return q, nil
	}
	groups, err := candidates(t, source)
	if err != nil {
		return nil, err
	}
	if t.Draw > len(groups) {
		return nil, fmt.Errorf("task %s draws %d, but there are %d to draw from", t.Name, t.Draw, len(groups))
	}
	order := stable.Random(seed, "draw", t.Name).Perm(len(groups))
	if t.Draw > 0 {
		order = order[:t.Draw]
	}
	slices.Sort(order)
	for _, i := range order {
		q.Subjects = append(q.Subjects, groups[i]...)
	}
	q.drawDouble(t)
	return q, nil
}

// drawDouble draws the subjects that everyone answers.
func (q *Queue) drawDouble(t study.Task) {
	share := 1.0
	if t.Double != nil {
		share = *t.Double
	}
	n := int(math.Round(share * float64(len(q.Subjects))))
	q.Double = append(q.Double, stable.Random(q.Seed, "double", t.Name).Perm(len(q.Subjects))[:n]...)
	slices.Sort(q.Double)
}

// drawStrata draws from the groups of a queue of the suite. The subjects stay in the
// order of the queue, so that the groups are mixed.
func (q *Queue) drawStrata(t study.Task, source Source) error {
	all, err := source.Queue(t.Queue)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.Name, err)
	}
	if len(all) == 0 {
		return fmt.Errorf("task %s: queue %s is empty: run the study first; a finished run with an empty queue has nothing to judge", t.Name, t.Queue)
	}
	of := map[string][]int{}
	for i, x := range all {
		of[x.Stratum] = append(of[x.Stratum], i)
	}
	spec := map[string]study.Stratum{}
	for _, s := range t.Strata {
		spec[s.Name] = s
	}
	chosen, check := map[int]bool{}, map[int]bool{}
	for name, members := range of {
		s := spec[name]
		n := len(members)
		if s.Draw > 0 {
			n = min(n, s.Draw)
		}
		for rank, i := range stable.Random(q.Seed, "stratum", t.Name, name).Perm(len(members))[:n] {
			chosen[members[i]] = true
			check[members[i]] = rank < s.Check
		}
	}
	for i, x := range all {
		if !chosen[i] {
			continue
		}
		if check[i] {
			q.Check = append(q.Check, len(q.Subjects))
		}
		q.Subjects = append(q.Subjects, Subject{Item: x.Trial.Item, Arm: x.Trial.Arm, Replicate: x.Trial.Replicate})
		q.Strata = append(q.Strata, x.Stratum)
	}
	return nil
}

// A Place is where the annotations of a study are, and its ledger.
type Place struct {
	Study  string // name
	Dir    string // the folder annotations
	Ledger string // file
	Beside string // the ledger of the store if that is another, which may have locks
	Seed   int64
	Now    func() time.Time

	from string // of [ledger.Find]
}

// At is the place of a study.
func At(f *study.File, s *study.Study, store string, now func() time.Time) Place {
	p := Of(f.Path, s.Name, store, now)
	p.Seed = s.Execution.Seed
	return p
}

// Of is the place of a study that is not loaded: nothing can be drawn there.
func Of(path, name, store string, now func() time.Time) Place {
	own, from := ledger.Find(filepath.Dir(path))
	p := Place{Study: name, Dir: filepath.Join(filepath.Dir(path), "annotations"), Ledger: own, Now: now, from: from}
	beside := filepath.Join(filepath.Dir(store), ledger.Name)
	if same, err := relative(own, beside); store == "" || err == nil && same == "." || ledger.Missing(beside) {
		return p
	}
	p.Beside = beside
	// Earlier versions put people's work in the ledger of the store.
	before := p
	before.Ledger = beside
	if names, err := before.Drawn(); err == nil && len(names) > 0 {
		if names, err := p.Drawn(); err == nil && len(names) == 0 {
			p.Ledger, p.Beside, p.from = beside, own, ""
		}
	}
	return p
}

// Drawn lists the tasks of the study that the ledger has, those that it no longer names
// included.
func (p Place) Drawn() (names []string, err error) {
	list, err := entriesOf(p, drawEntry, func(d drawn) bool { return p.has(d.taskOf, "") })
	for _, d := range list {
		if !slices.Contains(names, d.Task) {
			names = append(names, d.Task)
		}
	}
	return names, err
}

func (p Place) queuePath(task string) string { return filepath.Join(p.Dir, task, "queue.json") }

func (p Place) workPath(task, person string) string {
	return filepath.Join(p.Dir, task, person+".jsonl")
}

func (p Place) add(by, kind string, data any) error {
	_, err := ledger.Add(p.Ledger, p.Now(), by, kind, data)
	return err
}

// entriesOf decodes the data of the ledger's entries of a kind that keep selects.
func entriesOf[T any](p Place, kind string, keep func(T) bool) ([]T, error) {
	entries, err := ledger.Read(p.Ledger)
	if err != nil {
		return nil, err
	}
	var list []T
	for _, e := range entries {
		if e.Kind != kind {
			continue
		}
		var data T
		if err := e.Decode(&data); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Ledger, err)
		}
		if keep(data) {
			list = append(list, data)
		}
	}
	return list, nil
}

// queue reads the queue of a task, and draws it first if it has none.
func (p Place) queue(t study.Task, source Source) (*Queue, error) {
	q, err := p.readQueue(t)
	if err != nil {
		return nil, err
	}
	if q != nil {
		return q, q.checkItems(source)
	}
	if q, err = draw(t, p.Seed, source); err != nil {
		return nil, err
	}
	if n := len(q.Subjects); t.Again.After > n {
		return nil, fmt.Errorf("task %s: again.after is %d, but the task has only %s, so that the second round never begins: want at most %d", t.Name, t.Again.After, text.Plural(n, "subject", "subjects"), n)
	}
	data, err := json.MarshalIndent(q, "", " ")
	if err != nil {
		return nil, err
	}
	data = append(data, '\n')
	if old, err := os.ReadFile(p.queuePath(t.Name)); err == nil && !bytes.Equal(old, data) { // equal: the process ended between the two files
		return nil, fmt.Errorf("%s has other subjects than would be drawn, and the ledger %s has no draw of this task: restore the ledger, or move the file away to draw anew", p.queuePath(t.Name), p.Ledger)
	}
	if err := os.MkdirAll(filepath.Join(p.Dir, t.Name), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of task %s: %w", t.Name, err)
	}
	if err := (disk.File{Path: p.queuePath(t.Name), Mode: 0o600}).Write(disk.Bytes(data)); err != nil {
		return nil, err
	}
	return q, p.add("", drawEntry, drawn{p.taskOf(t.Name), hashOf(data), len(q.Subjects)})
}

// checkItems refuses a queue of which the study has no item: those of the other split.
func (q *Queue) checkItems(source Source) error {
	has := map[string]bool{}
	for _, it := range source.Items() {
		has[it.ID] = true
	}
	if len(q.Subjects) == 0 || slices.ContainsFunc(q.Subjects, func(s Subject) bool { return has[s.Item] }) {
		return nil
	}
	return fmt.Errorf("task %s was drawn from other items, such as %s: give the --split on which it was drawn, or copy the task under another name for this one", q.Task, q.Subjects[0].Item)
}

// readQueue returns nil if the task was not drawn. It refuses a file that is not the
// one in the ledger, and a task that asks or shows something else now.
func (p Place) readQueue(t study.Task) (*Queue, error) {
	path := p.queuePath(t.Name)
	recorded, err := entriesOf(p, drawEntry, func(d drawn) bool { return p.has(d.taskOf, t.Name) })
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(recorded) == 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the queue of task %s, which was drawn: %w", t.Name, err)
	case len(recorded) == 0:
		others, err := entriesOf(p, drawEntry, func(d drawn) bool { return d.Task == t.Name && d.Queue == hashOf(data) })
		if err != nil {
			return nil, err
		}
		if len(others) > 0 {
			return nil, fmt.Errorf("%s has the subjects of study %s: give the task of study %s another name, or the study a folder of its own", path, others[0].Study, p.Study)
		}
		if people, err := p.people(t.Name); err != nil || len(people) > 0 {
			return nil, errors.Join(err, fmt.Errorf("%s: the ledger %s has no draw of this task: restore the ledger, or move the folder away to draw again", path, p.Ledger))
		}
		return nil, nil // the process ended between the two files
	case recorded[len(recorded)-1].Queue != hashOf(data):
		return nil, fmt.Errorf("%s is not the file that the ledger recorded: restore it", path)
	}
	var q Queue
	if err := dataset.DecodeStrict(data, &q); err != nil {
		return nil, dataset.Locate(path, data, err)
	}
	if q.Hash != taskHash(t) {
		return nil, fmt.Errorf("task %s changed since its subjects were drawn: undo the change, or give the changed task another name", t.Name)
	}
	return &q, nil
}

// people lists who has a file in a task.
func (p Place) people(task string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(p.Dir, task))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the annotations of %s: %w", task, err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok && CheckPerson(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Started reports whether the subjects of a task were drawn.
func (p Place) Started(task string) (bool, error) {
	draws, err := entriesOf(p, drawEntry, func(d drawn) bool { return p.has(d.taskOf, task) })
	return len(draws) > 0, err
}
