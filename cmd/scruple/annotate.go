package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/serve"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// annotationsOf is where the annotations of a study are.
func annotationsOf(x *experiment.Experiment, from source) annotate.Place {
	return annotate.At(x.File, x.Study, time.Now)
}

func (a *app) annotate(o *opened) error {
	ctx := o.ctx
	if err := o.oneMode(); err != nil {
		return err
	}
	from, err := a.locate(ctx, o.arg)
	if err != nil {
		return err
	}
	env := experimentEnv()
	env.ForPeople = true // people may have still to make the gold
	if o.x, err = from.loadWith(env); err != nil {
		return err
	}
	x := o.x
	tasks, err := o.tasks(x)
	if err != nil {
		return err
	}
	place := annotationsOf(x, from)
	place.Report = func(err error) { a.warn("%v", err) }
	place.Check = func(file string, gold []byte) ([]eval.Item, error) {
		return from.readsGold(x.Suite.GoldKey, file, gold)
	}
	subjects, err := a.subjects(o)
	if err != nil {
		return err
	}
	switch {
	case o.is("agreement"):
		return a.agreement(place, tasks, subjects)
	case !o.is("lock") && o.text("export") != "":
		return a.exportAnnotations(o, from, place, tasks[0], subjects)
	}
	people, err := a.people(o.list("as"))
	switch {
	case err != nil:
		return err
	case o.is("lock"):
		return a.lockTask(o, x, place, tasks[0], subjects, people[0])
	case o.text("import") != "":
		defer a.sayUncounted(o, from)
		return a.importAnnotations(o, place, tasks[0], subjects, people[0])
	case o.text("adopt") != "":
		return a.adoptAnnotations(place, tasks[0], o.text("adopt"), people[0])
	}
	s, err := annotate.Open(place, tasks, subjects, version(), o.is("adjudicate"))
	if err != nil {
		return err
	}
	s.People = people
	server := o.serving()
	server.Holders, server.Writes, server.Errors = append(slices.Clone(people), annotate.Owner), true, a.err
	var keep func()
	server.Kept, keep = a.addresses(place, o.text("task"), o.is("new-addresses"))
	web, err := serve.Open(server)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	keep()
	for _, p := range people {
		a.say("%s: %s", p, web.URL(p))
	}
	a.say("%s: %s", annotate.Owner, web.URL(annotate.Owner))
	a.say("Answers are saved as they are given. The owner's pages have agreement, locks and the answers of all\npeople: people who still answer must not see them. Ctrl-C ends the session.")
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer a.sayUncounted(o, from)
	return errors.Join(web.Serve(ctx, s.Handler()), s.Close())
}

// sayUncounted names the command that counts answers of people that the results of the run lack.
// An error here would hide that the answers are stored: the command finds it again.
func (a *app) sayUncounted(o *opened, from source) {
	if o.run == nil || !o.run.Analysed {
		return
	}
	r, err := o.attached()
	if err != nil {
		return
	}
	if d, err := r.PeopleDiff(o.ctx); err == nil && d.Len() > 0 {
		line := from.again("score")
		if o.run.Archive != nil { // it stays as it is
			from.run = ""
			line = from.again("run", "--new")
		}
		a.say("the results of run %s are without answers of people that are here: `%s` counts them", o.run.ID, line)
	}
}

// oneMode refuses flags of which only one would have an effect.
func (o *opened) oneMode() error {
	given := o.cmd.Flags().Changed
	var mode string
	for _, m := range []string{"agreement", "lock", "export", "import", "adopt", "adjudicate"} {
		switch {
		case !given(m):
		case mode != "":
			return fmt.Errorf("--%s and --%s exclude each other: give one of them", mode, m)
		default:
			mode = m
		}
	}
	for _, f := range []struct {
		flag string
		of   []string
	}{{"declare", []string{"lock"}}, {"sign", []string{"lock"}}, {"format", []string{"import"}}, {"from", []string{"import"}}, {"reason", []string{"import"}}, {"out", []string{"export"}}, {"offsets", []string{"import", "export"}}} {
		if given(f.flag) && !slices.Contains(f.of, mode) {
			return fmt.Errorf("--%s has no effect without --%s", f.flag, strings.Join(f.of, " or --"))
		}
	}
	if as := o.list("as"); len(as) > 1 && slices.Contains([]string{"lock", "import", "adopt"}, mode) {
		return fmt.Errorf("--%s --as %s: want one name", mode, strings.Join(as, ","))
	}
	return nil
}

// addresses takes the port and the secrets of the last start of the task on this computer,
// so that a link is sent once. keep stores those of the server that was opened. They are in the
// user's folder for settings, since a folder of a study is shared.
func (a *app) addresses(place annotate.Place, task string, anew bool) (kept *serve.Kept, keep func()) {
	kept = &serve.Kept{}
	fail := func(err error) { a.warn("warning: the addresses are not kept for the next start: %v", err) }
	dir, err := os.UserConfigDir()
	folder, errAbs := filepath.Abs(place.Dir)
	if err := cmp.Or(err, errAbs); err != nil {
		return kept, func() { fail(err) }
	}
	name := sha256.Sum256([]byte(folder + "\x00" + task))
	path := filepath.Join(dir, "scruple", "annotate", hex.EncodeToString(name[:12])+".json")
	if data, err := os.ReadFile(path); err == nil && !anew && json.Unmarshal(data, kept) != nil {
		*kept = serve.Kept{} // not written by this program
	}
	return kept, func() {
		data, err := json.Marshal(kept)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = disk.File{Path: path, Mode: 0o600}.Write(disk.Bytes(data))
		}
		if err != nil {
			fail(err)
		}
	}
}

// readsGold loads the study with gold that is about to be locked: locked gold is never
// revised, so it must be gold that the study reads.
func (s source) readsGold(key, file string, gold []byte) ([]eval.Item, error) {
	if key == "" {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "scruple-gold-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, gold, 0o600); err != nil {
		return nil, err
	}
	env := experimentEnv()
	if s.store != "" {
		env.Tagged = s.tagged
	}
	x, err := experiment.Load(s.path, append(slices.Clone(s.overrides), key+"="+path), env)
	if err != nil { // the file has no such place yet
		return nil, errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	return x.Bench.Items(), x.Close()
}

// tasks returns the tasks of the study that are meant.
func (o *opened) tasks(x *experiment.Experiment) ([]study.Task, error) {
	all := x.Study.Annotation
	if len(all) == 0 {
		return nil, x.File.Errorf("", "the study has no tasks for people: add annotation:, such as\n  annotation:\n    - {name: gold, kind: gold, draw: 10}")
	}
	one, name := o.is("lock") || o.text("export")+o.text("import")+o.text("adopt") != "", o.text("task")
	if name == "" && (!one || len(all) == 1) {
		return all, nil
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return []study.Task{t}, nil
		}
		names = append(names, t.Name)
	}
	if name == "" {
		return nil, fmt.Errorf("name one task with --task: %s", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("--task %s: the tasks of the study are %s", name, strings.Join(names, ", "))
}

// user is the name of the user in the form of a person of a ledger, "" if unknown.
func (a *app) user() string {
	name := a.getenv("USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// people are those who answer: the user, unless others are named.
func (a *app) people(as []string) ([]string, error) {
	if len(as) > 0 {
		for _, name := range as {
			if err := annotate.CheckPerson(name); err != nil {
				return nil, fmt.Errorf("--as: %w", err)
			}
		}
		return as, nil
	}
	name := a.user()
	if err := annotate.CheckPerson(name); err != nil {
		return nil, errors.New("say who answers with --as NAME")
	}
	return []string{name}, nil
}

// subjects returns what people can judge: items, and the answers of the run, which it opens if
// there is one, and its results may be shown.
func (a *app) subjects(o *opened) (_ *experiment.Subjects, err error) {
	o.db, o.run, err = a.findRun(o.ctx, o.arg)
	if err == nil {
		err = experiment.CheckShown(o.ctx, o.db, o.run)
	}
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, new(*experiment.NotAllowedError)):
		return o.x.Subjects(o.ctx), nil
	case err != nil:
		return nil, err
	}
	r, err := o.attached()
	if err != nil { // the answers do not belong to the study as it is
		a.warn("warning: answers of run %s cannot be judged: %v", o.run.ID, err)
		return o.x.Subjects(o.ctx), nil
	}
	return r.Subjects(o.ctx), nil
}

// setPeoplesVerdicts makes the answers of people about the run its verdicts, with messages.
func (a *app) setPeoplesVerdicts(ctx context.Context, db *store.DB, r *experiment.Run) error {
	d, err := peoplesVerdicts(ctx, db, r, func(ctx context.Context, record *store.Run, list []eval.PersonVerdict, away func(step, person string) bool) (store.PeopleDiff, error) {
		return db.SetPeople(ctx, record, list, away, r.PeopleEvents)
	})
	if err != nil {
		return err
	}
	a.agree(ctx, db, r)
	for _, task := range slices.Sorted(maps.Keys(d.Lacking)) {
		a.say("task %s: %s of people added", task, text.Plural(d.Lacking[task], "verdict", "verdicts"))
	}
	for _, task := range slices.Sorted(maps.Keys(d.Outdated)) {
		a.say("task %s: %s: the study, or the answers in its folder, changed", task, text.Plural(d.Outdated[task], "verdict of people no longer counts", "verdicts of people no longer count"))
	}
	return nil
}

// peoplesVerdicts compares the answers of people about the run with its verdicts, or sets these. It
// says in the reports of the run what is not used, and what is only in the store.
func peoplesVerdicts(ctx context.Context, db *store.DB, r *experiment.Run,
	do func(context.Context, *store.Run, []eval.PersonVerdict, func(step, person string) bool) (store.PeopleDiff, error)) (store.PeopleDiff, error) {
	place := annotate.At(r.File, r.Study, time.Now)
	var all []eval.PersonVerdict
	here := map[string][]string{} // who has answers in the folder of the study, by task
	for _, t := range r.Study.Annotation {
		list, stale, err := place.Verdicts(t, r.Subjects(ctx))
		if err == nil {
			here[t.Name], err = place.People(t.Name)
		}
		if err != nil {
			return store.PeopleDiff{}, err
		}
		if stale > 0 {
			r.Unused = append(r.Unused, fmt.Sprintf("task %s: %s not used: the study shows something else now", t.Name, text.Plural(stale, "answer of people is", "answers of people are")))
		}
		all = append(all, list...)
	}
	d, err := do(ctx, r.Record, all, func(task, person string) bool {
		people, asked := here[task]
		return asked && !slices.Contains(people, person)
	})
	for _, task := range slices.Sorted(maps.Keys(d.Away)) {
		r.Unused = append(r.Unused, fmt.Sprintf("task %s: %s of the store alone: the files of these people are not in the folder of the study, so nothing shows whether they still say this", task, text.Plural(d.Away[task], "verdict of people is", "verdicts of people are")))
	}
	return d, err
}

// agree gives a run the agreement of people on the tasks of its study. A task without answers has
// none. What cannot be compared is a warning: it concerns no score.
func (a *app) agree(ctx context.Context, db *store.DB, r *experiment.Run) {
	place, subjects := annotate.At(r.File, r.Study, time.Now), r.Subjects(ctx)
	warn := func(err error) { a.warn("warning: no agreement of people: %v", err) }
	for _, t := range r.Study.Annotation {
		result, err := place.Result(t, subjects)
		if err != nil {
			continue
		}
		list, err := result.Agreements()
		if err != nil {
			warn(err)
			continue
		}
		for _, why := range result.Uncompared {
			if !t.Practice {
				warn(fmt.Errorf("task %s: %s", t.Name, why))
			}
		}
		r.Agreements = append(r.Agreements, ofTwoPeople(list)...)
	}
}

// ofTwoPeople are the agreements that rules and reports have: neither those of a person with
// themselves, nor those with the automatic result.
func ofTwoPeople(list []annotate.Agreement) (of []analyse.Agreement) {
	for _, g := range list {
		if !g.Again && !g.Automatic {
			of = append(of, analyse.Agreement{Task: g.Task, Question: g.Question, Same: g.Same, N: g.N})
		}
	}
	return of
}

func (a *app) agreement(place annotate.Place, tasks []study.Task, subjects annotate.Source) error {
	var all []annotate.Agreement
	var positions []annotate.Position
	var broken []error
	for _, t := range tasks {
		r, err := place.Result(t, subjects)
		var list []annotate.Agreement
		if err == nil {
			list, err = r.Agreements()
		}
		switch {
		case errors.As(err, new(*annotate.NotStartedError)) && len(tasks) > 1:
			a.warn("%v", err)
			continue
		case err != nil:
			broken = append(broken, err)
			continue
		case len(list)+len(r.Uncompared) == 0:
			a.warn("task %s: no subject has two answers to compare (imported answers, and decisions, do not count)", t.Name)
		}
		for _, why := range r.Uncompared {
			a.warn("task %s: %s", t.Name, why)
		}
		all, positions = append(all, list...), append(positions, r.Positions()...)
	}
	if a.json {
		return cmp.Or(errors.Join(broken...), printJSON(a.out, struct {
			Agreements []annotate.Agreement `json:"agreements"`
			Positions  []annotate.Position  `json:"positions"`
		}{append([]annotate.Agreement{}, all...), append([]annotate.Position{}, positions...)}))
	}
	for _, g := range all {
		fmt.Fprintln(a.out, say.PlainLines(g.String()))
	}
	for _, p := range positions {
		fmt.Fprintln(a.out, say.PlainLine(p.String()))
	}
	return errors.Join(broken...)
}

func (a *app) lockTask(o *opened, x *experiment.Experiment, place annotate.Place, task study.Task, subjects annotate.Source, person string) error {
	r, err := place.Result(task, subjects)
	if err != nil {
		return err
	}
	gold, err := r.Gold()
	if err != nil {
		return err
	}
	l, err := place.Lock(r, gold, cmp.Or(strings.TrimSpace(o.text("sign")), person), o.text("declare"), subjects.Items())
	if err != nil {
		return err
	}
	return a.result(l, func() {
		a.say("locked %s: annotations/%s\nMD5     %s\nSHA-256 %s", text.Plural(l.Subjects, "answer", "answers"), l.File, l.MD5, l.SHA256)
		for _, note := range r.Notes {
			a.say("%s", note)
		}
		if l.Gold {
			a.say("the file is read-only: name it in the study as the path of its gold")
		}
		if key := x.Suite.GoldKey; r.Task.Kind == "gold" && key != "" {
			verb := "run"
			if trials, err := subjects.Trials(); err == nil && len(trials) > 0 {
				verb = "score"
			}
			a.say("score against it: scruple %s %s -o %s=annotations/%s", verb, quoted(x.File.Path), key, l.File)
		}
	})
}

func (a *app) exportAnnotations(o *opened, from source, place annotate.Place, task study.Task, subjects annotate.Source) error {
	x, err := place.Export(task, subjects, o.text("export"), o.text("offsets"))
	if err != nil {
		return err
	}
	if x.Unanswered > 0 {
		a.warn("exported %s, and %s without an answer", text.Plural(x.Answers, "answer", "answers"), text.Plural(x.Unanswered, "subject", "subjects"))
	}
	if x.Withheld > 0 {
		a.warn("left out %s without an answer: the export would name their arms; judge them with `scruple annotate`", text.Plural(x.Withheld, "subject", "subjects"))
	}
	if x.Aside > 0 {
		a.warn("left out %s: the answers to judge failed or were replaced", text.Plural(x.Aside, "subject", "subjects"))
	}
	return a.print(o.text("out"), from, disk.Bytes(x.Data))
}

func (a *app) adoptAnnotations(place annotate.Place, task study.Task, of, person string) error {
	w, err := place.Adopt(task, of, person)
	if err == nil {
		a.say("the ledger has %s of %s in task %s now, on the word of %s", text.Plural(len(w.Answers()), "answer", "answers"), of, task.Name, person)
	}
	return err
}

func (a *app) importAnnotations(o *opened, place annotate.Place, task study.Task, subjects annotate.Source, person string) error {
	file := o.text("import")
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading answers: %w", err)
	}
	in, err := place.Import(task, subjects, annotate.File{Name: file, Data: data, Format: o.text("format"), Offsets: o.text("offsets"), Person: person, From: o.text("from"), Reason: strings.TrimSpace(o.text("reason")), Version: version()})
	if err != nil {
		return err
	}
	if in.Skipped > 0 {
		a.say("skipped %s without an answer", text.Plural(in.Skipped, "subject", "subjects"))
	}
	if in.Named != "" {
		a.say("%s has the answers under the name %s: they are taken for those of %s", file, say.PlainLine(in.Named), person)
	}
	if in.Others > 0 {
		a.say("left out %s of other people: import them with --from and --as", text.Plural(in.Others, "answer", "answers"))
	}
	if in.Unchecked > 0 {
		a.warn("warning: %s no text and no text_sha256, as an export has: whether people saw the text as the study has it now is not known", text.Plural(in.Unchecked, "answer has", "answers have"))
	}
	if in.Spaced > 0 {
		a.say("%s other white space than the text, as Label Studio writes it: the offsets count", text.Plural(in.Spaced, "passage has", "passages have"))
	}
	if in.Answers == 0 {
		a.say("nothing to import: task %s has all answers of %s in %s", task.Name, person, file)
		return nil
	}
	a.say("imported %s of %s to task %s", text.Plural(in.Answers, "answer", "answers"), person, task.Name)
	return nil
}
