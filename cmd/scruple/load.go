package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/blind"
	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// experimentEnv returns what experiments need from this program.
func experimentEnv() experiment.Env {
	return experiment.Env{
		Suite:     suiteCalled,
		Price:     costOf,
		Now:       time.Now,
		Version:   version(),
		Variables: variables,
		People: func(ctx context.Context, db *store.DB, r *experiment.Run) (store.PeopleDiff, error) {
			return peoplesVerdicts(ctx, db, r, db.PeopleDiff)
		},
	}
}

// variables hashes the values that programs get. A key is not hashed: who has the ledger could try
// keys until one has its hash.
func variables(names []string) (list []eval.Part) {
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		said := dataset.SHA256([]byte(value))
		if model.HoldsKey(name, value) {
			said = discipline.Unrecorded
		} else if !ok {
			said = "not set"
		}
		list = append(list, eval.Part{Name: "environment variable " + name, Value: said})
	}
	return list
}

func suiteCalled(name string) (kit.Suite, error) {
	var known []string
	for _, e := range suites.All() {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return kit.Suite{}, fmt.Errorf("unknown suite %q; the suites are %s%s", name, strings.Join(known, ", "), text.DidYouMean(name, known))
}

// A source is the study that an argument STUDY|RUN names.
type source struct {
	path      string   // of the study file
	overrides []string // the run's come first
	asked     []string // those of them that are not the run's
	store     string   // file of the store
	run       string   // id; "" if the argument is a study file
	except    string   // id of the run with which the study goes on: tags are as it began
	fresh     bool     // the study is to have another run
}

// load loads the study. It refuses one whose gold changed after people locked it, and
// one that reads other gold than was locked.
func (s source) load() (*experiment.Experiment, error) {
	s.except = s.run
	x, err := s.loadWith(experimentEnv())
	if err != nil || s.store == "" || s.fresh || s.run != "" {
		return x, err
	}
	other := x
	err = s.withStore(func(ctx context.Context, db *store.DB) error {
		last, err := x.FromItself(ctx, db)
		if last == nil || err != nil {
			return err
		}
		s.except = last.ID
		before, err := s.loadWith(experimentEnv())
		if err != nil {
			return err
		}
		same, err := before.UpToDate(ctx, db, last)
		if other = before; same {
			x, other = before, x
		}
		return err
	})
	if other != x {
		err = errors.Join(err, other.Close())
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// withStore calls with the store of the study, if there is one.
func (s source) withStore(with func(ctx context.Context, db *store.DB) error) error {
	ctx := context.Background()
	db, err := store.OpenRead(ctx, s.store)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(with(ctx, db), db.Close())
}

// tagged returns the run that a tag names, "" if there is none.
func (s source) tagged(tag string) (id string) {
	_ = s.withStore(func(ctx context.Context, db *store.DB) error { // the arm says what is wrong
		if r, err := db.Tagged(ctx, tag, s.except); err == nil {
			id = r.ID
		}
		return nil
	})
	return id
}

func (s source) loadWith(env experiment.Env) (*experiment.Experiment, error) {
	if s.store != "" {
		env.Tagged, env.Again = s.tagged, s.again
	}
	x, err := experiment.Load(s.path, s.overrides, env)
	if err != nil {
		return nil, s.orLocked(err)
	}
	if len(x.Items()) > manyItems && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(60)
	}
	if s.store == "" {
		return x, nil
	}
	place := annotationsOf(x, s)
	gold := ""
	if k := x.Bench.Capabilities().GoldKeeper; k != nil {
		gold = k.GoldPath()
	}
	if err = place.CheckLocks(); err == nil {
		err = place.CheckGold(gold, x.Bench.Items())
	}
	if err != nil {
		x.Close()
		return nil, exit(exitNotAllowed, err)
	}
	return x, nil
}

// orLocked returns why a study that cannot be loaded is refused: a changed file that was
// locked comes before what is wrong with its content.
func (s source) orLocked(err error) error {
	if s.store == "" {
		return err
	}
	if locked := annotate.Of(s.path, "", time.Now).CheckLocks(); locked != nil {
		return exit(exitNotAllowed, locked)
	}
	return err
}

// find finds the run by its id, or the newest run of the study. Its study, and so its ledger,
// are where the study is now.
func (s source) find(ctx context.Context, db *store.DB) (run *store.Run, err error) {
	if s.run != "" {
		run, err = db.Run(ctx, s.run)
	} else {
		run, err = experiment.LastRun(ctx, db, s.path, s.overrides)
	}
	if err == nil {
		run.StudyPath, err = filepath.Abs(studyOf(run, s.path))
	}
	return run, err
}

// locate resolves an argument STUDY|RUN. Verbs that only look take the settings that the
// newest run of a study was made with.
func (a *app) locate(ctx context.Context, arg string) (source, error) {
	of := source{path: arg, overrides: a.overrides, store: a.storeFor(arg), fresh: a.fresh}
	if isStudyFile(arg) && !a.looks {
		return of, nil
	}
	db, run, err := a.findRun(ctx, arg)
	if isStudyFile(arg) && errors.Is(err, store.ErrNotFound) {
		return of, nil
	}
	if err != nil {
		return source{}, err
	}
	defer db.Close()
	if isStudyFile(arg) {
		of.overrides = run.Overrides
		return of, nil
	}
	return source{path: run.StudyPath, overrides: slices.Concat(run.Overrides, a.overrides), asked: a.overrides,
		store: db.Path(), run: run.ID}, nil
}

// studyOf returns the study file of a run: the one that the command names, if it has the name
// of the run's study.
func studyOf(run *store.Run, given string) string {
	if name, _, err := study.Name(given, run.Overrides); given != "" && err == nil && name == run.Study {
		return given
	}
	return run.StudyPath
}

// loadFor loads the study that an argument names.
func (a *app) loadFor(ctx context.Context, arg string) (*experiment.Experiment, source, error) {
	from, err := a.locate(ctx, arg)
	if err != nil {
		return nil, from, err
	}
	x, err := from.load()
	return x, from, err
}

// findRun finds the run that an argument names, in a store opened for reading.
func (a *app) findRun(ctx context.Context, arg string) (*store.DB, *store.Run, error) {
	from := source{store: a.storeFor(""), run: arg}
	if err := isFolder(arg); err != nil {
		return nil, nil, err
	}
	if isStudyFile(arg) {
		from = source{path: arg, overrides: a.overrides, store: a.storeFor(arg)}
		if _, _, err := study.Suite(arg, a.overrides); err != nil { // it is not a study
			return nil, nil, err
		}
	}
	db, err := store.OpenRead(ctx, from.store)
	if errors.Is(err, store.ErrNotFound) && a.storePath == "" && from.run != "" {
		return nil, nil, fmt.Errorf("%s is not a study file, and looking for a run with this id failed: %w, or give its store with --store", arg, err)
	}
	if errors.Is(err, store.ErrNotFound) && from.run == "" {
		if dir := filepath.Dir(arg); blind.IsKit(dir) {
			return nil, nil, fmt.Errorf("%s is the study of a kit, which keeps no answers: run it with `scruple blind run %s` and see %s", arg, quoted(dir), filepath.Join(dir, blind.ResultFile))
		}
		return nil, nil, fmt.Errorf("%w: `%s`", err, a.command("run", arg))
	}
	if err != nil {
		return nil, nil, err
	}
	run, err := from.find(ctx, db)
	if err != nil {
		db.Close()
		switch {
		case !errors.Is(err, store.ErrNotFound):
		case from.run != "" && isDir(arg):
			err = fmt.Errorf("%s is a folder without study.yaml, and no run has this id: name a study file", arg)
		case from.run != "":
			err = fmt.Errorf("%w: `scruple status --store %s` lists the runs", err, quoted(from.store))
		default:
			err = fmt.Errorf("%w: `%s` starts one", err, a.command("run", arg))
		}
		return nil, nil, err
	}
	if _, err := os.Stat(run.StudyPath); err == nil { // the study was not moved away
		if err := annotate.Of(run.StudyPath, run.Study, time.Now).CheckLocks(); err != nil {
			db.Close()
			return nil, nil, exit(exitNotAllowed, err)
		}
	}
	return db, run, nil
}

// findShown is findRun for verbs that show results: those of an unfinished TEST run are
// not shown.
func (a *app) findShown(ctx context.Context, arg string) (*store.DB, *store.Run, error) {
	db, run, err := a.findRun(ctx, arg)
	if err != nil {
		return nil, nil, err
	}
	if err := experiment.CheckShown(ctx, db, run); err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, run, nil
}

// storeFor returns the store of a study file: --store, or .scruple/scruple.db in
// the study's folder. The folder of path "" is the current one.
func (a *app) storeFor(studyPath string) string {
	if a.storePath != "" {
		return a.storePath
	}
	return discipline.StorePath(studyPath)
}

// again returns the command of a verb on the study or run of this command. With
// overrides it names the run, which has them.
func (a *app) again(verb, arg string, r *store.Run, path string, rest ...string) string {
	of := a.storePath
	if len(a.overrides) > 0 {
		arg, of = r.ID, path
	}
	return commandOf(append([]string{verb, arg}, rest...), nil, of)
}

// command returns a command line with the store and overrides of this command.
func (a *app) command(words ...string) string { return commandOf(words, a.overrides, a.storePath) }

// again returns the command line of a verb on the study or run, with flags behind its own.
func (s source) again(verb string, flags ...string) (line string) {
	switch {
	case s.run != "":
		line = commandOf([]string{verb, s.run}, s.asked, s.store)
	case s.store == discipline.StorePath(s.path):
		line = commandOf([]string{verb, s.path}, s.overrides, "")
	default:
		line = commandOf([]string{verb, s.path}, s.overrides, s.store)
	}
	for _, flag := range flags {
		line += " " + quoted(flag)
	}
	return line
}

func commandOf(words, overrides []string, store string) string {
	for _, o := range overrides {
		if split, ok := strings.CutPrefix(o, "split="); !ok {
			words = append(words, "-o", o)
		} else if !slices.Contains(words, "--split") {
			words = append(words, "--split", split)
		}
	}
	if store != "" {
		words = append(words, "--store", store)
	}
	command := "scruple"
	for _, w := range words {
		command += " " + quoted(w)
	}
	return command
}

// quoted returns a word as a shell takes it.
func quoted(word string) string {
	if word != "" && !special.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// special matches what a shell would not leave as it is.
var special = regexp.MustCompile(`[^A-Za-z0-9_@%+=:,./-]`)

// scheme matches the beginning of a URL. A drive of Windows has one letter.
var scheme = regexp.MustCompile(`^["'<]*([A-Za-z][A-Za-z0-9+.-]+):`)

// keywords matches the other form of an address that psql takes.
var keywords = regexp.MustCompile(`(^|\s)(host|hostaddr|dbname|password|service)\s*=`)

// storeNamed returns the name of a store by which output shows it and the program opens it:
// an address without its password, or a file. Other addresses are errors, which do not repeat the
// value: it may hold a password. The store of a kit is only for blind run: who sees results before
// all are there could go on with other models.
func storeNamed(path string) (string, error) {
	if path = strings.TrimSpace(path); store.IsAddress(path) {
		return store.Remember(path)
	}
	if keywords.MatchString(path) {
		return "", errors.New("--store: keywords such as dbname= are not supported: want postgres://USER@HOST:PORT/DATABASE (for a file with such a name, write ./ before it)")
	}
	if dir := blind.KitOf(path); dir != "" {
		return "", exit(exitNotAllowed, fmt.Errorf("%s has the answers of a kit, of which only the averages are shown, when it is done: `scruple blind run %s`", path, quoted(dir)))
	}
	m := scheme.FindStringSubmatch(path)
	if m == nil {
		return path, nil
	}
	return "", fmt.Errorf("--store: %s: is not supported: a store is a file, such as runs/scruple.db (for a file whose name has a colon, write ./ before it), or postgres://USER@HOST/DATABASE", m[1])
}

// withoutPasswords names stores among the arguments, in whatever place: errors repeat arguments.
// Values of other flags than --store may be any text, such as a prompt.
func withoutPasswords(args []string, valued map[string]bool) (named []string, err error) {
	named = slices.Clone(args)
	last := ""
	for i, arg := range args {
		flag := flagOf.FindString(arg)
		value, of := arg[len(flag):], cmp.Or(strings.TrimSuffix(flag, "="), last)
		if last = ""; valued[arg] {
			last = arg
		}
		if (address.MatchString(value) || (of == "" || of == "--store") && withPassword.MatchString(value)) && err == nil {
			value, err = storeNamed(value)
			named[i] = flag + value
		}
	}
	return named, err
}

// valued are the flags of a command and those below it that take a value.
func valued(c *cobra.Command) map[string]bool {
	flags := map[string]bool{}
	add := func(f *pflag.Flag) {
		if f.NoOptDefVal == "" {
			flags["--"+f.Name] = true
			flags["-"+f.Shorthand] = f.Shorthand != ""
		}
	}
	c.Flags().VisitAll(add)
	c.PersistentFlags().VisitAll(add)
	for _, sub := range c.Commands() {
		maps.Copy(flags, valued(sub))
	}
	return flags
}

var flagOf = regexp.MustCompile(`^--?[a-z-]+=`)

// address and withPassword match addresses of databases in both forms of psql, also such as are no
// stores.
var (
	address      = regexp.MustCompile(`(?i)^[\s"'<]*postgres(ql)?://`)
	withPassword = regexp.MustCompile(`(?is)=.*\spassword\s*=|^\s*password\s*=.*=`)
)

// isStudyFile reports whether an argument names a study file and not a run.
func isStudyFile(arg string) bool {
	if strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		return true
	}
	return isFile(arg)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func isDir(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && info.IsDir()
}

// isFolder returns an error if an argument is a folder with a study, and names its file.
// Ids of runs are names of folders only by chance.
func isFolder(arg string) error {
	inside := filepath.Join(arg, "study.yaml")
	if !isFile(inside) {
		return nil
	}
	return fmt.Errorf("%s is a folder, not a study file: did you mean %q?", arg, inside)
}

// manyItems is the number of items from which the garbage collector runs more
// often: the data kept for each item add up, and memory then matters more than
// collection time.
const manyItems = 20_000

// warnOf prints the first few warnings about a study's data on standard error.
func (a *app) warnOf(x *experiment.Experiment) {
	const few = 5
	list := x.Warnings()
	a.warnEach(list[:min(few, len(list))])
	if more := len(list) - few; more > 0 {
		a.warn("warning: and %d more; `scruple validate` lists them", more)
	}
}

func (a *app) warnEach(list []string) {
	for _, text := range list {
		a.warn("warning: %s", say.PlainLine(text))
	}
}
