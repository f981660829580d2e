package soundness

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// A failure is a fragment on which the main model fails under a condition.
type failure struct {
	*cell
	condition string
	kind      string // of its clearest failed run, a type of failure
	coding    *coding
	others    []string // the other models that fail under the same condition
}

// A coding is what a person says of a failure.
type coding struct {
	task, by, at  string
	session       int
	run           string
	codes         []string // one to three, the primary one first
	justification string
	memo          string
}

// A codedAnswer is the data of a person's verdict on a failure.
type codedAnswer struct {
	Answer struct {
		Primary       string          `json:"primary"`
		Secondary     string          `json:"secondary"`
		Tertiary      string          `json:"tertiary"`
		Run           json.RawMessage `json:"run"` // a text, or the number of a task of its own
		Emergent      string          `json:"emergent"`
		Justification string          `json:"justification"`
		Memo          string          `json:"memo"`
	} `json:"answer"`
	Session int `json:"session"`
}

// codingOf returns what people say of a failure in a task: the decision, or the earliest of first
// answers with the same codes; nil if the codes differ. The second round measures a person alone.
func codingOf(task string, vs []eval.Verdict) *coding {
	var found *coding
	differ := false
	for _, v := range vs {
		if v.Source != eval.ByHuman || v.Step != task || task == "" || v.Round > roundFirst && v.Round != roundDecision {
			continue
		}
		var a codedAnswer
		if json.Unmarshal(v.Data, &a) != nil || a.Answer.Primary == "" {
			continue
		}
		c := &coding{task: task, by: v.By, at: v.At, session: a.Session, run: strings.Trim(string(a.Answer.Run), `"`), justification: a.Answer.Justification, memo: a.Answer.Memo}
		for _, name := range []string{a.Answer.Primary, a.Answer.Secondary, a.Answer.Tertiary} {
			if name == emergent {
				name = cmp.Or(strings.TrimSpace(a.Answer.Emergent), emergent)
			}
			if name != "" && !slices.Contains(c.codes, name) {
				c.codes = append(c.codes, name)
			}
		}
		if v.Round == roundDecision {
			return c
		}
		differ = differ || found != nil && !slices.EqualFunc(found.codes, c.codes, strings.EqualFold)
		if found == nil || c.at < found.at {
			found = c
		}
	}
	if differ {
		return nil
	}
	return found
}

// failed returns the failure of the main model in a cell, or nil.
func (b *bench) failed(c *cell) *failure { return b.failureIn(c, outcomeFail, b.tasks.failures) }

// single returns the run of type 1 in a cell that the main model passes, or nil: its coding
// is exploratory and counts for no table of failures.
func (b *bench) single(c *cell) *failure {
	if x := b.failureIn(c, outcomePass, b.tasks.single); x != nil && x.kind == failureType1 {
		return x
	}
	return nil
}

func (b *bench) failureIn(c *cell, outcome, task string) *failure {
	if c == nil || c.Outcome != outcome || !b.isMain(c.arm) || c.fragment.Gold == nil {
		return nil
	}
	x := &failure{cell: c, condition: c.arm.condition}
	kinds := map[string]bool{}
	for _, a := range c.runs {
		kinds[a.Failure] = true
		if x.coding == nil {
			x.coding = codingOf(task, a.Verdicts)
		}
	}
	for _, kind := range []string{failureType2, failureType3, failureType1} { // a run of type 1 can be diagnosed
		if kinds[kind] {
			x.kind = kind
		}
	}
	return x
}

// codeType is deductive for a code of the checklist, else inductive.
func (b *bench) codeType(name string) string {
	if b.domainOf(name) > 0 {
		return "deductive"
	}
	return "inductive"
}

// checkRun checks that the representative run of a failure exists. A task of the study's own
// may ask for any number.
func (b *bench) checkRun(x *failure) error {
	if slices.Contains(b.runs(), x.coding.run) {
		return nil
	}
	return fmt.Errorf("the representative run of %s, %s, is %s: want one of %s: revise the answer of %s in task %s",
		x.fragment.ID, x.condition, cmp.Or(x.coding.run, "missing"), strings.Join(b.runs(), ", "), x.coding.by, x.coding.task)
}

// failureCells are the cells of schema 7.
func (b *bench) failureCells(x *failure) []string {
	c := x.coding
	day, _, _ := strings.Cut(c.at, "T")
	codes := append(slices.Clone(c.codes), none, none)
	return cellsOf(x.fragment.ID, x.condition, c.run, codes[0], codes[1], codes[2], b.domainOf(codes[0]), b.codeType(codes[0]),
		c.justification, day, c.session)
}

// checkValidity checks that the questions about validity name domains of the study.
func (b *bench) checkValidity(f *study.File, s *Study, errs *study.Errors) {
	v, names := s.Validity, b.domainNames()
	for _, named := range [][2]string{{"harder_domain", v.Harder}, {"easier_domain", v.Easier}, {"tacit_domain", v.Tacit}} {
		key, name := named[0], named[1]
		if name != "" && !slices.Contains(names, name) {
			errs.Add(f.Errorf("validity."+key, "the study has no domain %q%s", name, text.DidYouMean(name, names)))
		}
	}
	if (v.Harder == "") != (v.Easier == "") {
		errs.Add(f.Errorf("validity", "want harder_domain and easier_domain together: they are compared"))
	}
	b.validity = v
}

//go:embed tables.json
var tablesJSON []byte

var tableOf = eval.Tables(tablesJSON)
