package kit

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// SimulatedProvider is the provider of simulated models.
const SimulatedProvider = "simulated"

// The kinds of pipeline. They are also keys of a study.
const (
	kindOutputs = "outputs"
	kindExec    = "exec"
	kindHTTP    = "http"
	kindRun     = "run"
)

// Outside are the keys of an arm that is an external pipeline.
type Outside struct {
	Outputs string `json:"outputs,omitempty" jsonschema:"description=JSON Lines file of existing answers"`
	Exec    string `json:"exec,omitempty" jsonschema:"description=Command of a pipeline: one JSON request per line on stdin and one JSON answer per line on stdout"`
	HTTP    string `json:"http,omitempty" jsonschema:"description=URL of a pipeline: receives a POST of one JSON request"`
	// Watch and Version tell the program behind exec or http apart from a changed one.
	Watch   []string `json:"watch,omitempty" jsonschema:"description=files and folders of the pipeline's program\\, as patterns: if one changes\\, the arm is asked anew; the files that the command names are watched by default"`
	Version string   `json:"version,omitempty" jsonschema:"description=version of the pipeline's program: if it changes\\, the arm is asked anew"`
	Run     string   `json:"run,omitempty" jsonschema:"description=the answers of another run in the same store: its id\\, or a tag for the newest run that has it\\, with the arm under arm:\\, or RUN:ARM"`
	Arm     string   `json:"arm,omitempty" jsonschema:"description=arm of the run under run: (default: the only arm of this study that is asked)"`
}

// Given reports whether the arm is an external pipeline.
func (o Outside) Given() bool { return len(Given(o)) > 0 }

// given lists the keys that are set.
func (o Outside) given() []Way {
	run := strings.TrimSuffix(o.Run+":"+o.Arm, ":") // as RUN:ARM
	return []Way{{Key: kindOutputs, Value: o.Outputs}, {Key: kindExec, Value: o.Exec}, {Key: kindHTTP, Value: o.HTTP}, {Key: kindRun, Value: run}}
}

// An Entry is what the arms of a study have in common: what runs on models of the study, or
// an external pipeline. A suite embeds it in its type of arm, with the keys of its own.
type Entry struct {
	Name string `json:"name" jsonschema:"required,description=Name of the arm"`
	Outside
	Scores string   `json:"scores,omitempty" jsonschema:"description=File of scores of the arm's answers: a table with the columns item\\, replicate and those of metrics.own"`
	Models []string `json:"models,omitempty" jsonschema:"description=Ids of the models to run on (default: all but one that only judges)"`

	at int // in the list of the study
}

func (e *Entry) entry() *Entry { return e }

// An Arm is an arm with its model or pipeline, if any.
type Arm struct {
	eval.Arm
	Settings *study.Model   // of the model; nil for arms without one
	Pipeline *eval.Pipeline // nil for arms without one
	Target   string         // of the pipeline, as written in the study
	Scores   string         // file of scores of its answers, as written in the study
	answers  string         // hash of the answers of outputs: a request names which it was answered from
}

// Local is an arm that asks nothing. Its hash covers does.
func Local(role eval.Role, does ...string) Arm {
	return Arm{Arm: eval.Arm{Role: role, Hash: Hash(does...).String()}}
}

func (a *Arm) shared() *Arm { return a }

// Place sets the levels of an arm: the name of its entry, under noun, and its model. The
// id is the name, unless the arm has one.
func (a *Arm) Place(noun, name string) {
	a.ID = cmp.Or(a.ID, name)
	a.Levels = []eval.Level{{Name: noun, Value: name}}
	if a.Settings != nil {
		a.Levels = append(a.Levels, eval.Level{Name: "model", Value: a.Settings.ID})
	}
}

// Rename sets the id of the arm and of its pipeline.
func (a *Arm) Rename(id string) {
	a.ID = id
	if a.Pipeline != nil {
		own := *a.Pipeline // the arms of an entry share one until renamed
		own.Model = eval.PipelinePrefix + id
		a.Pipeline, a.Model = &own, own.Model
	}
}

// Armed is a suite's type of arm: a pointer to a struct that embeds [Arm].
type Armed interface{ shared() *Arm }

// Entries is the key of what a study compares.
const Entries = "arms"

// A Planner turns the entries of a list in the study into arms and reports errors.
// [NewPlanner] makes one.
type Planner struct {
	Noun    string        // for an entry, such as "method"
	List    string        // key of the entries
	Models  []study.Model // of the study
	Skip    string        // id of a model that is used only if an entry names it
	Offline string        // how to run without a model, to follow "or"
	Resolve func(path string) string
	Prompt  func(path string) string // Resolve of prompts
	Program func(path string) string // and of the files of programs
	Fault   func(key, format string, args ...any)
	Tagged  func(tag string) string // id of the newest run with a tag
	Skilled bool                    // a simulated model can have a skill with an entry

	own []string // names of the entries that take no answers of another run
}

// NewPlanner plans the arms of a study whose models run all entries, except the judge.
// It adds errors to errs.
func NewPlanner(f *study.File, s *study.Study, noun, offline string, errs *study.Errors) *Planner {
	return &Planner{Noun: noun, List: Entries, Models: s.Models, Skip: s.JudgeModel, Offline: offline, Resolve: f.Resolve, Prompt: f.Prompt, Program: f.Program, Tagged: f.Tagged,
		Fault: func(key, format string, args ...any) { errs.Add(f.Errorf(key, format, args...)) }}
}

// Key is the path of an entry in the study.
func (p *Planner) Key(e *Entry) string { return fmt.Sprintf("%s[%d]", p.List, e.at) }

func (p *Planner) fault(e *Entry, key, format string, args ...any) {
	p.Fault(p.Key(e)+key, p.Noun+" "+format, args...)
}

// entryName matches valid names. They appear in commands, file names and tables.
var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ValidName reports whether a name is valid for an arm.
func ValidName(name string) bool { return entryName.MatchString(name) }

// CheckNames numbers the entries of the study and checks their names, and those that skills
// of simulated models have.
func CheckNames[E any, P interface {
	*E
	entry() *Entry
}](p *Planner, entries []E) {
	var names []string
	for i := range entries {
		e := P(&entries[i]).entry()
		e.at = i
		if !ValidName(e.Name) {
			p.fault(e, ".name", "name %q: want letters, digits, dots, dashes and underscores", e.Name)
		}
		if slices.Contains(names, e.Name) {
			p.Fault(p.Key(e)+".name", "duplicate %s name %q", p.Noun, e.Name)
		}
		names = append(names, e.Name)
		if e.Run == "" {
			p.own = append(p.own, e.Name)
		}
	}
	for i, m := range p.Models {
		if m.Skill == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.Skill.Arms)) {
			key := fmt.Sprintf("models[%d].skill.arms.%s", i, name)
			if !p.Skilled {
				p.Fault(key, "remove it: in this suite a simulated model has the same skill with every %s", p.Noun)
			} else if !slices.Contains(names, name) {
				p.Fault(key, "the study has no %s %q%s: want one of %s", p.Noun, name, text.DidYouMean(name, names), strings.Join(names, ", "))
			}
		}
	}
}

// A Way is a key that defines an entry, with its value, and what makes arms of it.
type Way struct {
	Key, Value string
	Make       func(value string)
	builtins   []Way // what ships with the suite, by name
}

// Builtin is the way of what ships with the suite, under its name as the key. An entry
// without a key that defines it has its own name as that of the way builtin.
func Builtin(name string, of ...Way) Way { return Way{Key: "builtin", Value: name, builtins: of} }

// FromFile is the way of a prompt in a file, which what names in errors.
func (p *Planner) FromFile(e *Entry, path, what string, make func(text string)) Way {
	return Way{Key: "path", Value: path, Make: func(path string) {
		text, err := ReadText(p.Prompt(path))
		if err != nil {
			p.Fault(p.Key(e)+".path", "reading the %s: %v", what, err)
			return
		}
		make(text)
	}}
}

// Make makes the arms of an entry by the one key that defines it: pipeline gets the arm of
// an external pipeline, and a way its value.
func (p *Planner) Make(e *Entry, pipeline func(Arm), ways ...Way) {
	given := Given(e.Outside, ways...)
	if !p.One(e, given) {
		return
	}
	for _, w := range ways {
		if w.Value == "" && (len(given) > 0 || w.Key != "builtin") {
			continue
		}
		if name := cmp.Or(w.Value, e.Name); w.builtins != nil {
			p.builtin(e, name, w.builtins, ways)
		} else {
			w.Make(name)
		}
		return
	}
	if a, ok := p.Pipeline(e); ok {
		pipeline(a)
	}
}

func (p *Planner) builtin(e *Entry, name string, of, ways []Way) {
	var known, or []string
	for _, w := range of {
		if w.Key == name {
			w.Make(name)
			return
		}
		known = append(known, w.Key)
	}
	for _, w := range append(ways, e.given()...) {
		if w.builtins == nil {
			or = append(or, w.Key)
		}
	}
	p.fault(e, "", "%q: no built-in %s %q%s; the built-in %ss are %s; or give it one of %s",
		e.Name, p.Noun, name, text.DidYouMean(name, known), p.Noun, strings.Join(known, ", "), strings.Join(or, ", "))
}

// OneHole checks that a prompt has the place of what it is about once.
func (p *Planner) OneHole(e *Entry, prompt, hole, of string) bool {
	n := strings.Count(prompt, hole)
	if n != 1 {
		p.fault(e, "", "%q contains %s %s: want it once, in place of the %s", e.Name, hole, text.Plural(n, "time", "times"), of)
	}
	return n == 1
}

// Given lists the keys that are set, those of a pipeline last.
func Given(o Outside, ways ...Way) []string {
	var given []string
	for _, w := range append(ways, o.given()...) {
		if w.Value != "" {
			given = append(given, w.Key)
		}
	}
	return given
}

// One checks that at most one key that defines the entry is set.
func (p *Planner) One(e *Entry, given []string) bool {
	if len(given) > 1 {
		p.fault(e, "", "%q has %s: want exactly one of them", e.Name, strings.Join(given, " and "))
	}
	return len(given) <= 1
}

// NoModels rejects models for an entry that uses none.
func (p *Planner) NoModels(e *Entry) {
	if len(e.Models) > 0 {
		p.fault(e, ".models", "%q uses no model of the study: remove models", e.Name)
	}
}

// OnModels makes an arm for each model of an entry: the named ones, else all.
func (p *Planner) OnModels(e *Entry) []Arm {
	models := p.models(e)
	arms := make([]Arm, len(models))
	for k, m := range models {
		id := e.Name
		if len(models) > 1 {
			id += "@" + m.ID
		}
		arms[k] = Arm{Settings: m, Scores: e.Scores, Arm: eval.Arm{ID: id, Model: m.ID, Simulated: m.Provider == SimulatedProvider}}
	}
	return arms
}

func (p *Planner) models(e *Entry) []*study.Model {
	var list []*study.Model
	for k, id := range e.Models {
		at := slices.IndexFunc(p.Models, func(m study.Model) bool { return m.ID == id })
		key := fmt.Sprintf("%s.models[%d]", p.Key(e), k)
		switch {
		case at < 0:
			var known []string
			for _, m := range p.Models {
				known = append(known, m.ID)
			}
			p.Fault(key, "the study has no model %q%s", id, text.DidYouMean(id, known))
		case slices.Contains(e.Models[:k], id):
			p.Fault(key, "duplicate model %q", id)
		default:
			list = append(list, &p.Models[at])
		}
	}
	if len(e.Models) > 0 {
		return list
	}
	for k := range p.Models {
		if p.Models[k].ID != p.Skip {
			list = append(list, &p.Models[k])
		}
	}
	switch {
	case len(list) > 0:
	case len(p.Models) > 0:
		p.fault(e, "", "%q needs a model, and %s is the judge: add another model, or name this one under models of the %s", e.Name, p.Skip, p.Noun)
	default:
		p.fault(e, "", "%q needs a model, but the study has none: add one under models, or %s", e.Name, p.Offline)
	}
	return list
}

// ReadText reads a file in UTF-8, without its byte order mark. Lines end as on Unix, so that a
// prompt is the same in the repositories of all who work on it.
func ReadText(path string) (string, error) {
	data, err := dataset.ReadFile(path)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not UTF-8", path)
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), err
}

// Pipeline makes the arm of an entry that is a pipeline, which has no models. Its hash
// covers the command or URL with the version of its program, or the answers in the answer
// file.
func (p *Planner) Pipeline(e *Entry) (Arm, bool) {
	p.NoModels(e)
	way := e.given()[slices.IndexFunc(e.given(), func(w Way) bool { return w.Value != "" })]
	if way.Key == kindRun {
		run, arm, _ := strings.Cut(way.Value, ":")
		if arm == "" && len(p.own) == 1 {
			arm = p.own[0]
		}
		if run == "" || arm == "" {
			p.Fault(p.Key(e)+"."+kindRun, "%q: want the id or the tag of a run and an arm of it, such as run: contracts-1 with arm: heuristic", way.Value)
			return Arm{}, false
		}
		if p.Tagged != nil {
			run = cmp.Or(p.Tagged(run), run)
		}
		way.Value = run + ":" + arm
	}
	a := Arm{Target: way.Value, Scores: e.Scores, Pipeline: &eval.Pipeline{Kind: way.Key, Target: way.Value}}
	content := way.Value
	if way.Key == kindOutputs {
		a.Pipeline.Target = p.Resolve(way.Value)
		hash, err := hashAnswers(a.Pipeline.Target)
		if err != nil {
			p.Fault(p.Key(e)+"."+kindOutputs, "reading answers: %w", err)
			return Arm{}, false
		}
		content = hash.String()
		a.answers, a.Given = content, true
	}
	if err := p.program(a.Pipeline, e.Outside); err != nil {
		p.Fault(p.Key(e), "%w", err)
		return Arm{}, false
	}
	parts := []string{way.Key, content}
	if a.Pipeline.Version != "" {
		parts = append(parts, a.Pipeline.Version)
	}
	a.Hash = Hash(parts...).String()
	a.Rename(e.Name)
	return a, true
}

// Answered reports whether the arm's answers exist before the run.
func (a *Arm) Answered() bool {
	return a.Pipeline != nil && (a.Pipeline.Kind == kindOutputs || a.Pipeline.Kind == kindRun)
}
