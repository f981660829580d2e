package annotate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Place is where the annotations of a study are, and its ledger.
type Place struct {
	Study  string // name
	Dir    string // the folder annotations
	Ledger string // file
	Beside string // the ledger of the store if that is another, which may have locks
	Seed   int64
	Now    func() time.Time
	// Check returns what the study says of gold that a lock would write. nil checks nothing.
	Check func(file string, gold []byte) error

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
	if same, err := relative(own, beside); store != "" && (err != nil || same != ".") && !ledger.Missing(beside) {
		p.Beside = beside
	}
	return p
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
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.Rel(dir, path)
}

var personName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// CheckPerson rejects names that some system does not allow as a file name.
func CheckPerson(name string) error {
	if !personName.MatchString(name) {
		return fmt.Errorf("name %q: want lower-case letters and digits, with - or _ inside", name)
	}
	return nil
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
	entries, err := ledger.Read(p.Ledger)
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
