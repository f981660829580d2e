package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Place is where the annotations of a study are, and its ledger.
type Place struct {
	Study  string // name
	Dir    string // the folder annotations
	Ledger string // file
	Seed   int64
	Now    func() time.Time
	// Check loads the study with gold that a lock would write, and returns its items. nil checks nothing.
	Check func(file string, gold []byte) ([]eval.Item, error)
	// Report gets warnings, and the errors that people are not told, since they can name items and
	// arms. nil drops them.
	Report func(error)

	from string // of [ledger.Find]
}

// At is the place of a study.
func At(f *study.File, s *study.Study, now func() time.Time) Place {
	p := Of(f.Path, s.Name, now)
	p.Seed = s.Execution.Seed
	return p
}

// Of is the place of a study that is not loaded: nothing can be drawn there.
func Of(path, name string, now func() time.Time) Place {
	own, from := ledger.Find(filepath.Dir(path))
	return Place{Study: name, Dir: filepath.Join(filepath.Dir(path), "annotations"), Ledger: own, Now: now, from: from}
}

func (p Place) report(err error) {
	if p.Report != nil {
		p.Report(err)
	}
}

func (p Place) queuePath(task string) string { return filepath.Join(p.Dir, task, "queue.json") }

func (p Place) workPath(task, person string) string {
	return filepath.Join(p.Dir, task, person+".jsonl")
}

// folder is the folder of the study, seen from that of the ledger.
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

func relative(dir, path string) (string, error) {
	from, err := filepath.Abs(dir)
	to, errTo := filepath.Abs(path)
	if err := cmp.Or(err, errTo); err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}

var personName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// CheckPerson rejects names that some system does not allow as a file name.
func CheckPerson(name string) error {
	if !personName.MatchString(name) {
		return fmt.Errorf("name %q: want lower-case letters and digits, with - or _ inside", name)
	}
	return nil
}

// mayAnswer reports whether a person is one of those whom the study lets answer a task.
func mayAnswer(t study.Task, person string) bool {
	return len(t.People) == 0 || slices.Contains(t.People, person)
}

// checkMay refuses answers of a person who may not give any, and all to a locked task.
func (p Place) checkMay(t study.Task, person string) error {
	if err := CheckPerson(person); err != nil {
		return err
	}
	if !mayAnswer(t, person) {
		return ledger.NotAllowed("task %s: the study names others to answer it: %s is not one of people: [%s]", t.Name, person, strings.Join(t.People, ", "))
	}
	return p.checkOpen(t.Name)
}

// People lists who has a file in a task.
func (p Place) People(task string) ([]string, error) {
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

// Kinds of ledger entries.
const (
	drawEntry   = "draw"
	personEntry = "annotator"
	firstEntry  = "annotator-first"
	headEntry   = "annotation-head"
	LockEntry   = "lock"
)

// taskOf is the task that an entry of the ledger is about. Studies in several folders have
// one ledger and may have one name.
type taskOf struct {
	Study  string `json:"study"`
	Folder string `json:"folder,omitempty"` // of [Place.folder]; "" if it is not known
	Task   string `json:"task"`
}

func (t taskOf) about() taskOf { return t }

// The data of entries.
type (
	drawn struct {
		taskOf
		Queue    string `json:"queue"` // SHA-256 of the file
		Subjects int    `json:"subjects"`
	}
	// A starter gives a first answer.
	starter struct {
		taskOf
		Person string `json:"person"`
		Head   bool   `json:"head,omitempty"` // the file has its newest hash in a file beside it
		// Adopted says that the file was made elsewhere.
		Adopted bool `json:"adopted,omitempty"`
	}
	// A leading person answers all subjects, though another began.
	leading struct {
		taskOf
		Person string `json:"person"`
	}
	// A head is the newest line of a person's file.
	head struct {
		taskOf
		Person string `json:"person"`
		ledger.Head
	}
)

func (p Place) taskOf(task string) taskOf { return taskOf{p.Study, p.folder(), task} }

// owns reports whether an entry is about the study, as far as is known.
func (p Place) owns(t taskOf) bool {
	here := p.folder()
	return t.Study == p.Study && (t.Folder == here || t.Folder == "" || here == "")
}

func (p Place) add(by, kind string, data any) error {
	_, err := ledger.Add(p.Ledger, p.Now(), by, kind, data)
	return err
}

// each visits the ledger's entries of a kind, whatever study they are about.
func each[T any](p Place, kind string, visit func(ledger.Entry, T)) error {
	lines, err := ledger.Read(p.Ledger)
	entries, _ := ledger.Flat(lines)
	for _, e := range entries {
		if e.Kind != kind {
			continue
		}
		var data T
		if err := e.Decode(&data); err != nil {
			return fmt.Errorf("%s: %w", p.Ledger, err)
		}
		visit(e, data)
	}
	return err
}

// entriesOf lists the ledger's entries of a kind about a task of the study; task "" means
// all tasks.
func entriesOf[T interface{ about() taskOf }](p Place, kind, task string) (list []T, err error) {
	err = each(p, kind, func(_ ledger.Entry, data T) {
		if t := data.about(); p.owns(t) && (task == "" || t.Task == task) {
			list = append(list, data)
		}
	})
	return list, err
}

// Started reports whether the subjects of a task were drawn.
func (p Place) Started(task string) (bool, error) {
	draws, err := entriesOf[drawn](p, drawEntry, task)
	return len(draws) > 0, err
}

// leader is who answers all subjects of a task, "" if nobody answered yet.
func (p Place) leader(t study.Task) (string, error) {
	if len(t.People) > 0 {
		return t.People[0], nil
	}
	if list, err := entriesOf[leading](p, firstEntry, t.Name); err != nil || len(list) > 0 {
		return append(list, leading{})[0].Person, err
	}
	names, err := p.starters(t.Name)
	return append(names, "")[0], err
}

// starters lists who answers a task, in the order of their first answers.
func (p Place) starters(task string) (names []string, err error) {
	list, err := entriesOf[starter](p, personEntry, task)
	for _, s := range list {
		if !slices.Contains(names, s.Person) {
			names = append(names, s.Person)
		}
	}
	return names, err
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

// taskHash covers what changes the meaning of answers.
func taskHash(t study.Task) string {
	t.Title, t.Guide, t.Session, t.Judge, t.Labels, t.Kind = "", "", 0, false, nil, ""
	t.Target, t.Memo, t.People, t.Adjudicator = nil, nil, nil, ""
	t.Ask = withoutKeys(t.Ask)
	return hashOfJSON(t)
}

// draw draws the subjects of a task: whole items or trials, then the double share.
func draw(t study.Task, seed int64, source Source) (*Queue, error) {
	if t.Seed != nil {
		seed = *t.Seed
	}
	q := &Queue{Task: t.Name, Hash: taskHash(t), Seed: seed, Double: []int{}}
	from := q.drawGroups
	if t.Queue != "" {
		from = q.drawStrata
	}
	if err := from(t, source); err != nil {
		return nil, err
	}
	share := 1.0
	if t.Double != nil {
		share = *t.Double
	}
	n := int(math.Round(share * float64(len(q.Subjects))))
	q.Double = append(q.Double, stable.Random(q.Seed, "double", t.Name).Perm(len(q.Subjects))[:n]...)
	slices.Sort(q.Double)
	return q, nil
}

// drawGroups draws items or trials.
func (q *Queue) drawGroups(t study.Task, source Source) error {
	groups, err := candidates(t, source)
	if err != nil {
		return err
	}
	if t.Draw > len(groups) {
		return fmt.Errorf("task %s draws %d, but there are %d to draw from", t.Name, t.Draw, len(groups))
	}
	order := stable.Random(q.Seed, "draw", t.Name).Perm(len(groups))
	if t.Draw > 0 {
		order = order[:t.Draw]
	}
	slices.Sort(order)
	for _, i := range order {
		q.Subjects = append(q.Subjects, groups[i]...)
	}
	return nil
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
	chosen, check := map[int]bool{}, map[int]bool{}
	for name, members := range of {
		var spec study.Stratum
		for _, s := range t.Strata {
			if s.Name == name {
				spec = s
			}
		}
		n := len(members)
		if spec.Draw > 0 {
			n = min(n, spec.Draw)
		}
		for rank, i := range stable.Random(q.Seed, "stratum", t.Name, name).Perm(len(members))[:n] {
			chosen[members[i]], check[members[i]] = true, rank < spec.Check
		}
	}
	for i, x := range all {
		if !chosen[i] {
			continue
		}
		if check[i] {
			q.Check = append(q.Check, len(q.Subjects))
		}
		q.Subjects = append(q.Subjects, subjectOf(x.Trial))
		q.Strata = append(q.Strata, x.Stratum)
	}
	return nil
}

// candidates lists all subjects of a task in groups of one item or trial.
func candidates(t study.Task, source Source) ([][]Subject, error) {
	if t.Of == "item" || t.Of == "unit" && len(t.Arms) == 0 {
		return ofItems(t, source)
	}
	trials, err := source.Trials()
	if err != nil {
		return nil, err
	}
	have := map[eval.Trial]bool{}
	for _, tr := range trials {
		have[tr] = true
	}
	var groups [][]Subject
	for _, tr := range trials {
		s := subjectOf(tr)
		group := []Subject{s}
		switch {
		case t.Of == "pair":
			s.Other = t.Arms[1]
			if group[0] = s; tr.Arm != t.Arms[0] || !have[s.second().trial()] {
				continue
			}
		case len(t.Arms) > 0 && !slices.Contains(t.Arms, tr.Arm):
			continue
		case t.Of == "unit":
			x, err := source.Show(tr)
			if err != nil {
				return nil, err
			}
			group = nil
			for _, u := range claimed(t, x) {
				s.Unit = u.ID
				group = append(group, s)
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	if len(groups) == 0 {
		of := strings.TrimSuffix(" of "+strings.Join(t.Arms, " and "), " of ")
		return nil, fmt.Errorf("task %s: no run of the study has answers to judge%s: run the study first", t.Name, of)
	}
	return groups, nil
}

// itemsOf are the items of the study, or those for practice.
func itemsOf(t study.Task, source Source) ([]eval.Item, error) {
	if !t.Practice {
		return source.Items(), nil
	}
	items, err := source.Practice()
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Name, err)
	}
	return items, nil
}

func ofItems(t study.Task, source Source) (groups [][]Subject, err error) {
	items, err := itemsOf(t, source)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		group := []Subject{{Item: it.ID}}
		if t.Of == "unit" {
			units, err := source.Units(it.ID)
			if err != nil {
				return nil, err
			}
			group = nil
			for _, u := range units {
				group = append(group, Subject{Item: it.ID, Unit: u})
			}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// queue reads the queue of a task, and draws it first if it has none.
func (p Place) queue(t study.Task, source Source) (*Queue, error) {
	q, err := p.readQueue(t)
	if err != nil {
		return nil, err
	}
	if q != nil {
		return q, q.checkItems(t, source)
	}
	if q, err = draw(t, p.Seed, source); err != nil {
		return nil, err
	}
	if n := len(q.Subjects); t.Again.After > n {
		return nil, fmt.Errorf("task %s: again.after is %d, but the task has only %s, so that the second round never begins: want at most %d",
			t.Name, t.Again.After, text.Plural(n, "subject", "subjects"), n)
	}
	data, _ := json.MarshalIndent(q, "", " ") // of strings and numbers, which always encode
	data = append(data, '\n')
	path := p.queuePath(t.Name)
	if old, err := os.ReadFile(path); err == nil && !bytes.Equal(old, data) { // equal: the process ended between the two files
		return nil, fmt.Errorf("%s has other subjects than would be drawn, and the ledger %s has no draw of this task: restore the ledger, or move the file away to draw anew", path, p.Ledger)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of task %s: %w", t.Name, err)
	}
	if err := (disk.File{Path: path, Mode: 0o600}).Write(disk.Bytes(data)); err != nil {
		return nil, err
	}
	return q, p.add("", drawEntry, drawn{p.taskOf(t.Name), dataset.SHA256(data), len(q.Subjects)})
}

// checkItems refuses a queue of which the study has no item: those of the other split.
func (q *Queue) checkItems(t study.Task, source Source) error {
	items, err := itemsOf(t, source)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, it := range items {
		has[it.ID] = true
	}
	if len(q.Subjects) == 0 || slices.ContainsFunc(q.Subjects, func(s Subject) bool { return has[s.Item] }) {
		return nil
	}
	return fmt.Errorf("task %s was drawn from other items, such as %s: give the --split on which it was drawn, or copy the task under another name for this one (for TEST before it is registered: its tasks are registered with it)", q.Task, q.Subjects[0].Item)
}

// CheckQueues returns the first error of the queues of tasks, so that a run ends before its first
// call and not behind its last.
func (p Place) CheckQueues(tasks []study.Task) error {
	for _, t := range tasks {
		if _, err := p.readQueue(t.Full()); err != nil {
			return err
		}
	}
	return nil
}

// readQueue returns nil if the task was not drawn. It refuses a file that is not the
// one in the ledger, and a task that asks or shows something else now.
func (p Place) readQueue(t study.Task) (*Queue, error) {
	path := p.queuePath(t.Name)
	recorded, err := entriesOf[drawn](p, drawEntry, t.Name)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(recorded) == 0:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("task %s was drawn, but %s does not exist: put the folder back from where the task was drawn, or give the task another name", t.Name, path)
	case err != nil:
		return nil, fmt.Errorf("reading the queue of task %s, which was drawn: %w", t.Name, err)
	case len(recorded) == 0:
		return nil, p.checkUndrawn(t.Name, path, dataset.SHA256(data))
	case recorded[len(recorded)-1].Queue != dataset.SHA256(data):
		return nil, notRecorded(path)
	}
	var q Queue
	if err := dataset.DecodeStrict(data, &q); err != nil {
		return nil, dataset.Locate(path, data, err)
	}
	if q.Hash != taskHash(t) {
		return nil, fmt.Errorf("task %s changed since its subjects were drawn, or another version drew them: undo the change, or give the task another name", t.Name)
	}
	return &q, nil
}

func notRecorded(path string) error {
	return fmt.Errorf("%s is not the file that the ledger recorded: restore it", path)
}

// checkUndrawn refuses a queue that the ledger does not have, unless the process ended
// between the two files.
func (p Place) checkUndrawn(task, path, hash string) error {
	other := ""
	err := each(p, drawEntry, func(_ ledger.Entry, d drawn) {
		if other == "" && d.Task == task && d.Queue == hash {
			other = d.Study
		}
	})
	switch {
	case err != nil:
		return err
	case other != "":
		return fmt.Errorf("%s has the subjects of study %s: give the task of study %s another name, or the study a folder of its own", path, other, p.Study)
	}
	if people, err := p.People(task); err != nil || len(people) > 0 {
		return errors.Join(err, fmt.Errorf("%s: the ledger %s has no draw of this task: restore the ledger, or move the folder away to draw again", path, p.Ledger))
	}
	return nil
}
