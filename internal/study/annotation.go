package study

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	yaml "github.com/goccy/go-yaml"
)

// A Task is something that people are asked about subjects of a study. A kind gives
// keys that are not set: what is judged, what is shown and what is asked.
type Task struct {
	Name  string `json:"name" jsonschema:"required,pattern=^[a-z0-9]([a-z0-9_-]{0\\,62}[a-z0-9])?$,description=Name of the task and of the folder of its answers below annotations/" jsonschema_extras:"errorMessage=want a name of lower-case letters and digits with - or _ inside"`
	Kind  string `json:"kind,omitempty" jsonschema:"enum=label,enum=assessment,enum=gold,enum=claim,enum=codes,enum=failure,enum=pair,enum=spans,description=label: one of labels with a rationale. assessment: the same\\, with the domains that decided and a flag for boundary cases. gold: whether a unit exists\\, its value and a quote. claim: whether the text supports an answer. codes: up to three of labels with a reason. failure: a run and one to three of labels in order\\, with a justification. pair: which of two answers is better. spans: marked errors of an answer and a rating"`
	Title string `json:"title,omitempty" jsonschema:"description=Heading of the page (default: the name)"`
	Guide string `json:"guide,omitempty" jsonschema:"description=Instructions for the people who answer"`
	Of    string `json:"of,omitempty" jsonschema:"enum=item,enum=trial,enum=unit,enum=pair,description=What is judged: items\\, answers of arms\\, units of either such as fields\\, or answers of two arms side by side"`
	// Queue is a queue of the suite: the suite picks the subjects and what is shown.
	Queue  string    `json:"queue,omitempty" jsonschema:"description=Queue of the suite: it picks the answers and shows them instead of show"`
	Strata []Stratum `json:"strata,omitempty" jsonschema:"description=How many are drawn of each group of a queue; all of those that are not named"`
	// Practice tasks are apart from gold and agreement.
	Practice bool     `json:"practice,omitempty" jsonschema:"description=Items for practice\\, which the suite keeps apart from those of the study"`
	Arms     []string `json:"arms,omitempty" jsonschema:"uniqueItems=true,description=Arms whose answers are judged (default all); none for units of items"`
	Show     []string `json:"show,omitempty" jsonschema:"uniqueItems=true,description=Parts that are shown: lead\\, pages\\, gold (to verify it)\\, answer\\, quote\\, raw. Nothing else reaches the browser"`
	Labels   []string `json:"labels,omitempty" jsonschema:"uniqueItems=true,description=Labels of the kinds label\\, assessment\\, codes\\, failure and spans"`
	// Checklist is shown beside what is judged. It does not score.
	Checklist   []Heading  `json:"checklist,omitempty" jsonschema:"description=Points to think of\\, under headings\\, shown as orientation"`
	Ask         []Question `json:"ask,omitempty" jsonschema:"description=The questions\\, instead of those of the kind"`
	Draw        int        `json:"draw,omitempty" jsonschema:"minimum=0,description=Number of items or trials to draw at random (default all)"`
	Seed        *int64     `json:"seed,omitempty" jsonschema:"description=Seed of the draw (default execution.seed)"`
	Double      *float64   `json:"double,omitempty" jsonschema:"minimum=0,maximum=1,description=Share of the subjects\\, drawn at random\\, that everyone after the first person answers too (default 1)"`
	People      []string   `json:"people,omitempty" jsonschema:"uniqueItems=true,pattern=^[a-z0-9]([a-z0-9_-]{0\\,62}[a-z0-9])?$,description=Who answers\\, and nobody else: the first one all subjects\\, the others the share double (default: the names of --as)"`
	Adjudicator string     `json:"adjudicator,omitempty" jsonschema:"pattern=^[a-z0-9]([a-z0-9_-]{0\\,62}[a-z0-9])?$,description=Who decides on answers that differ\\, and nobody else" jsonschema_extras:"errorMessage=want a name of lower-case letters and digits with - or _ inside"`

	Again   Again    `json:"again,omitempty" jsonschema:"description=Subjects that a person answers a second time"`
	Memo    []string `json:"memo,omitempty" jsonschema:"description=Topics on which the person writes notes beside the answers"`
	Target  *float64 `json:"target,omitempty" jsonschema:"minimum=-1,maximum=1,description=Kappa that is wanted of the second round\\, of two people\\, or of people and the automatic result"`
	Session int      `json:"session,omitempty" jsonschema:"minimum=0,description=Number of answers after which a break is suggested (default 20)"`
	// Judge says that the answers measure the judge of the suite.
	Judge bool `json:"judge,omitempty" jsonschema:"description=Compare the first question with the judge of the suite in the report; its first option is a yes"`
	// Criteria are those that the judge has beside its question, if the answers measure it.
	Criteria []string `json:"-"`
}

// Declaration is what is suggested to who locks the answers.
func (t Task) Declaration() string {
	if t.Kind == "assessment" {
		return "My judgements are established and will not be revised based on model outputs"
	}
	return "I coded all documents without seeing any answer of a model"
}

// A Heading is a heading of a checklist with its points.
type Heading struct {
	Name   string   `json:"name" jsonschema:"required,minLength=1"`
	Points []string `json:"points,omitempty"`
}

// A Stratum is a group of a queue.
type Stratum struct {
	Name  string `json:"name" jsonschema:"required,minLength=1"`
	Draw  int    `json:"draw,omitempty" jsonschema:"minimum=0,description=Number to draw at random (default all); all if there are fewer"`
	Check int    `json:"check,omitempty" jsonschema:"minimum=0,description=Number of the drawn ones that are compared with the automatic result"`
}

// Again configures a re-test.
type Again struct {
	Count int      `json:"count,omitempty" jsonschema:"minimum=0,description=Number of subjects\\, drawn at random"`
	Share float64  `json:"share,omitempty" jsonschema:"minimum=0,maximum=1,description=Share of the answered subjects\\, instead of count; rounded up"`
	After int      `json:"after,omitempty" jsonschema:"minimum=0,description=Number of answers after which they are drawn (default: all)"`
	Gap   Duration `json:"gap,omitempty" jsonschema:"description=Shortest time between the two answers (default 24h)"`
}

// A Question is one question of a task.
type Question struct {
	Name     string   `json:"name" jsonschema:"required,pattern=^[a-z][a-z0-9_]{0\\,40}$" jsonschema_extras:"errorMessage=want a name of lower-case letters\\, digits and _"`
	Type     string   `json:"type" jsonschema:"required,enum=choice,enum=several,enum=text,enum=number,enum=span,description=choice: one of options. several: some of them. text: min to max characters. number: min to max. span: marked passages\\, with options as their labels"`
	Text     string   `json:"text,omitempty" jsonschema:"description=The question (default: the name)"`
	Options  []string `json:"options,omitempty" jsonschema:"uniqueItems=true"`
	Min      *float64 `json:"min,omitempty" jsonschema:"description=Fewest characters\\, options or passages\\, or the smallest number"`
	Max      *float64 `json:"max,omitempty" jsonschema:"description=Most characters\\, options or passages\\, or the largest number"`
	Optional bool     `json:"optional,omitempty"`
	Key      string   `json:"key,omitempty" jsonschema:"pattern=^[a-z]$,description=Key that leads to the question; digits then choose its options" jsonschema_extras:"errorMessage=want one lower-case letter"`
	// Sentences are counted and warned about, never refused.
	Sentences []int    `json:"sentences,omitempty" jsonschema:"minItems=2,maxItems=2,description=Fewest and most sentences of a text; other numbers give a warning"`
	Notes     []string `json:"notes,omitempty" jsonschema:"description=Explanations of the options\\, in their order"`
	// Values says that each passage has a value and, if passages have labels, the number of a
	// record: of gold of lists, which the data tell.
	Values bool   `json:"-"`
	When   string `json:"when,omitempty" jsonschema:"pattern=^[a-z][a-z0-9_]{0\\,40}=.+$,description=Ask only after this answer to a choice: NAME=OPTION" jsonschema_extras:"errorMessage=want NAME=OPTION"`
}

// The parts that a task can show.
var exhibitParts = []string{"lead", "pages", "gold", "answer", "quote", "raw"}

// The units of gold can be these.
const (
	UnitPresent   = "present"
	UnitMissing   = "missing"
	UnitAmbiguous = "ambiguous"
)

// BoundaryYes is the answer of kind assessment that flags a boundary case.
const BoundaryYes = "yes"

const defaultSession = 20

// kindsFile says what each kind of task asks.
//
//go:embed kinds.yaml
var kindsFile []byte

var kinds = sync.OnceValue(func() map[string]Task {
	var all map[string]Task
	if err := yaml.UnmarshalWithOptions(kindsFile, &all, yaml.Strict()); err != nil {
		panic("study: kinds.yaml: " + err.Error())
	}
	return all
})

// Full is the task with the keys of its kind and its defaults.
func (t Task) Full() Task {
	kind := kinds()[t.Kind]
	if t.Queue != "" {
		kind.Of, kind.Show = "trial", []string{} // the queue says what is shown
	}
	t.Of = cmp.Or(t.Of, kind.Of)
	if t.Show == nil {
		t.Show = slices.Clone(kind.Show)
	}
	if t.Ask == nil {
		t.Ask = t.questions(kind.Ask)
	}
	t.Title, t.Session = cmp.Or(t.Title, t.Name), cmp.Or(t.Session, defaultSession)
	for i := range t.Ask {
		t.Ask[i].Text = cmp.Or(t.Ask[i].Text, t.Ask[i].Name)
	}
	return t
}

// questions are those of a kind with the labels and headings of the task as their options.
func (t Task) questions(ofKind []Question) (list []Question) {
	var headings []string
	for _, h := range t.Checklist {
		headings = append(headings, h.Name)
	}
	for _, q := range ofKind {
		switch {
		case slices.Contains(q.Options, "LABELS"):
			q.Options = t.Labels
		case slices.Contains(q.Options, "HEADINGS") && len(headings) < 2:
			continue
		case slices.Contains(q.Options, "HEADINGS"):
			q.Options = headings
		}
		list = append(list, q)
	}
	return list
}

// Applies reports whether a question is asked, given the choices so far.
func (q Question) Applies(choice func(name string) string) bool {
	name, option, conditional := strings.Cut(q.When, "=")
	return !conditional || choice(name) == option
}

func (v *validator) tasks(tasks []Task) {
	first := firsts(tasks, func(t Task) string { return t.Name })
	for i, t := range tasks {
		path := elementPath("annotation", i)
		if first[i] < i {
			v.errorf(path+".name", "duplicate name %s, also of annotation[%d]", quote(t.Name), first[i])
		}
		if t.suiteCompletes() {
			continue
		}
		for _, f := range t.Faults() {
			v.errorf(path+f.Key, "%s", f.Text)
		}
	}
}

// suiteCompletes reports whether the suite may give the labels of the task, so that it
// cannot be checked before the data are open.
func (t Task) suiteCompletes() bool {
	return t.Ask == nil && len(t.Labels) == 0 && (t.Kind == "assessment" || t.Kind == "failure" || t.Queue != "")
}

// A Fault is an error in a task.
type Fault struct{ Key, Text string }

// Faults returns the errors in a task whose labels and checklist are complete.
func (t Task) Faults() (list []Fault) {
	fault := func(key, format string, args ...any) { list = append(list, Fault{key, fmt.Sprintf(format, args...)}) }
	if needs := slices.Contains([]string{"label", "assessment", "codes", "failure"}, t.Kind); needs && len(t.Labels) < 2 && t.Ask == nil {
		fault("", "kind %s needs at least two labels", t.Kind)
		return list
	}
	full := t.Full()
	switch {
	case full.Of == "" || len(full.Ask) == 0:
		fault("", "the task asks nothing: give a kind, or of, show and ask")
	case full.Of == "pair" && len(t.Arms) != 2:
		fault("", "a pair needs two arms, got %d", len(t.Arms))
	case full.Of == "item" && len(t.Arms) > 0:
		fault(".arms", "items have no arms: remove them, or judge trials")
	case t.Judge && (full.Ask[0].Type != "choice" || full.Of != "unit" && full.Of != "trial"):
		fault(".judge", "a judge is compared with a first question of type choice about trials or units")
	case t.Again.Count > 0 && t.Again.Share > 0:
		fault(".again", "give count or share, not both")
	case t.Draw > 0 && t.Again.After > t.Draw && full.Of != "unit":
		fault(".again.after", "only %d are drawn, so that the second round never begins: want at most %d", t.Draw, t.Draw)
	case len(t.Strata) > 0 && t.Queue == "":
		fault(".strata", "only a queue of the suite has groups: name it with queue")
	case t.Queue != "" && (full.Of != "trial" || len(t.Arms) > 0 || t.Draw > 0):
		fault(".queue", "a queue picks answers itself: remove of, arms and draw")
	case t.Practice && (full.Of != "item" || t.Judge):
		fault(".practice", "practice is about items")
	case full.Of == "unit" && t.Kind == "claim" && len(t.Arms) == 0:
		fault("", "claims are those of answers: name the arms")
	case full.Of == "unit" && t.Judge && len(t.Arms) == 0:
		fault("", "a judge judges answers: name the arms")
	}
	for _, part := range full.Show {
		if !slices.Contains(exhibitParts, part) {
			fault(".show", "there is no part %s: %s", quote(part), suggest(part, exhibitParts))
		}
	}
	questionFaults(full.Ask, fault)
	return list
}

func questionFaults(ask []Question, fault func(key, format string, args ...any)) {
	for i, q := range ask {
		at := fmt.Sprintf(".ask[%d]", i)
		if slices.ContainsFunc(ask[:i], func(o Question) bool { return o.Name == q.Name }) {
			fault(at, "duplicate name %s", quote(q.Name))
		}
		if strings.Contains("wtxsf", q.Key) && q.Key != "" || q.Key != "" && slices.ContainsFunc(ask[:i], func(o Question) bool { return o.Key == q.Key }) {
			fault(at+".key", "key %s has another use: w, t, x, s and f are keys of every task", q.Key)
		}
		if len(q.Sentences) == 2 && (q.Type != "text" || q.Sentences[0] > q.Sentences[1]) {
			fault(at+".sentences", "want the fewest and the most sentences of a text")
		}
		if len(q.Notes) > len(q.Options) {
			fault(at+".notes", "%d notes for %d options", len(q.Notes), len(q.Options))
		}
		if q.Min != nil && q.Max != nil && *q.Min > *q.Max {
			fault(at, "min is %v and max %v: want min at most max", *q.Min, *q.Max)
		}
		if q.Type == "several" && q.Min != nil && *q.Min > float64(len(q.Options)) {
			fault(at, "min is %v: there are %d options", *q.Min, len(q.Options))
		}
		if (q.Type == "choice" || q.Type == "several") && len(q.Options) < 2 {
			fault(at, "a question of type %s needs at least two options", q.Type)
		}
		if name, option, ok := strings.Cut(q.When, "="); ok {
			j := slices.IndexFunc(ask[:i], func(o Question) bool { return o.Name == name && o.Type == "choice" })
			if j < 0 {
				fault(at+".when", "no earlier question of type choice is named %s", quote(name))
			} else if !slices.Contains(ask[j].Options, option) {
				fault(at+".when", "%s is not an option of %s: %s", quote(option), name, suggest(option, ask[j].Options))
			}
		}
	}
}
