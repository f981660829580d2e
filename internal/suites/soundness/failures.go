package soundness

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A failure is a fragment on which the main model fails under a condition.
type failure struct {
	fragment  *Fragment
	condition string
	kind      string // of its clearest failed run, a type of failure
	coding    *coding
	others    []string // the other models that fail under the same condition
}

// A coding is what a person says of a failure.
type coding struct {
	by, at        string
	session       int
	run           string
	codes         []string // one to three, the primary one first
	justification string
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
	} `json:"answer"`
	Session int `json:"session"`
}

// codingOf returns what people say of a failure: the decision, or the first answer of
// the person who started first. The second round measures that person alone.
func (b *Bench) codingOf(vs []eval.Verdict) *coding {
	var found *coding
	for _, v := range vs {
		if v.Source != eval.ByHuman || v.Step != b.coded || b.coded == "" || v.Round > roundFirst && v.Round != roundDecision {
			continue
		}
		var a codedAnswer
		if json.Unmarshal(v.Data, &a) != nil || a.Answer.Primary == "" {
			continue
		}
		c := &coding{by: v.By, at: v.At, session: a.Session, run: strings.Trim(string(a.Answer.Run), `"`), justification: a.Answer.Justification}
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
		if found == nil {
			found = c
		}
	}
	return found
}

// failed returns the failure of the main model in a case, or nil.
func (b *Bench) failed(f *Fragment, c eval.Case) *failure {
	if !b.isMain(c.Arm) || f.Gold == nil || b.adjudicated(f, c).Outcome != outcomeFail {
		return nil
	}
	x := &failure{fragment: f, condition: b.Arm(c.Arm).condition}
	kinds := map[string]int{}
	for t := range c.Answered() {
		a := b.assess(f, t)
		kinds[a.Failure]++
		if x.coding == nil {
			x.coding = b.codingOf(t.Verdicts)
		}
	}
	for _, kind := range []string{failureType1, failureType3, failureType2} { // a run of type 1 can be diagnosed
		if kinds[kind] > 0 {
			x.kind = kind
			break
		}
	}
	return x
}

// The columns of schema 7.
var failureColumns = strings.Fields(`fragment_id prompt_condition representative_run primary_code secondary_code tertiary_code domain code_type
	coding_justification coding_date coding_session`)

// codeType is deductive for a code of the checklist, else inductive.
func (b *Bench) codeType(name string) string {
	if b.domainOf(name) > 0 {
		return "deductive"
	}
	return "inductive"
}

// failureRows are the rows of schema 7.
func (b *Bench) failureRows(k kit.Kept) (rows [][]string, err error) {
	var c eval.Case
	var errs []error
	add := func() {
		f := b.Datum(c.Item)
		if f == nil {
			return
		}
		if x := b.failed(f, c); x != nil && x.coding != nil {
			errs = append(errs, b.checkRun(x))
			rows = append(rows, b.failureCells(x))
		}
	}
	for t, err := range k.Outcomes() { // those of a fragment and arm follow each other
		if err != nil {
			return nil, err
		}
		if c.Item != t.Trial.Item || c.Arm != t.Trial.Arm {
			add()
			c = eval.Case{Item: t.Trial.Item, Arm: t.Trial.Arm}
		}
		c.Trials = append(c.Trials, t)
	}
	add()
	return rows, errors.Join(errs...)
}

// checkRun checks that the representative run of a failure exists. A task of the study's own
// may ask for any number.
func (b *Bench) checkRun(x *failure) error {
	if slices.Contains(b.runs(), x.coding.run) {
		return nil
	}
	return fmt.Errorf("the representative run of %s, %s, is %s: want one of %s: revise the answer of %s in task %s",
		x.fragment.ID, x.condition, cmp.Or(x.coding.run, "missing"), strings.Join(b.runs(), ", "), x.coding.by, b.coded)
}

func (b *Bench) failureCells(x *failure) []string {
	c := x.coding
	at := func(i int) string {
		if i < len(c.codes) {
			return c.codes[i]
		}
		return none
	}
	day, _, _ := strings.Cut(c.at, "T")
	return []string{x.fragment.ID, x.condition, c.run, at(0), at(1), at(2), strconv.Itoa(b.domainOf(at(0))), b.codeType(at(0)),
		c.justification, day, strconv.Itoa(c.session)}
}

// checkValidity checks that the questions about validity name domains of the study.
func (b *Bench) checkValidity(f *study.File, s *Study, errs *study.Errors) {
	var names []string
	for _, d := range s.Domains {
		names = append(names, d.Name)
	}
	v := s.Validity
	for _, named := range [][2]string{{"harder_domain", v.Harder}, {"easier_domain", v.Easier}, {"tacit_domain", v.Tacit}} {
		key, name := named[0], named[1]
		if name != "" && !slices.Contains(names, name) {
			errs.Add(f.Errorf("validity."+key, "the study has no domain %q%s", name, kit.DidYouMean(name, names)))
		}
	}
	if (v.Harder == "") != (v.Easier == "") {
		errs.Add(f.Errorf("validity", "want harder_domain and easier_domain together: they are compared"))
	}
	b.validity = v
}
