package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

func (a *app) validate(o *opened) error {
	if isDir(o.arg) {
		if err := isFolder(o.arg); err != nil {
			return err
		}
		return a.validateFolder(o.arg)
	}
	if err := a.opens(o, theStudy); err != nil {
		return err
	}
	x := o.x
	noKeys, err := a.checkModels(o.ctx, x)
	if err := errors.Join(x.CheckScorer(), annotationsOf(x, o.from).CheckQueues(x.Study.Annotation), err); err != nil {
		return err
	}
	unmeetable, err := x.Unmeetable()
	if err != nil {
		return err
	}
	warnings := slices.Concat(x.Warnings(), noKeys, mapped(unmeetable, unmet))
	v := validation{Study: x.Study.Name, Suite: x.Study.Suite, Path: o.arg,
		Items: len(x.Items()), Arms: x.ArmIDs(), Trials: x.Plan.Len(), Data: x.Facts(), Keys: a.keysSent(x),
		Notes: append([]string{}, x.Notes()...), Warnings: append([]string{}, warnings...)}
	if v.Data != nil {
		v.Facts = map[string]int{}
	}
	for _, f := range v.Data {
		v.Facts[f.Name] = f.N
	}
	if v.Many = len(v.Arms) > mostArms; v.Many {
		v.Factors = factorsOf(x.Bench.Arms())
	}
	return a.answer(v, "valid", v)
}

// unmet says why a rule cannot be met.
func unmet(r experiment.RulePlan) string { return filled("unmet", r) }

// A validation is what validate says of a study.
type validation struct {
	Arms     []string       `json:"arms"`
	Facts    map[string]int `json:"facts,omitzero"`
	Items    int            `json:"items"`
	Keys     []string       `json:"keys,omitzero"`
	Notes    []string       `json:"notes"`
	Study    string         `json:"study"`
	Suite    string         `json:"suite"`
	Trials   int            `json:"trials"`
	Warnings []string       `json:"warnings"`
	Path     string         `json:"-"`
	Data     []eval.Fact    `json:"-"` // the facts in their order
	Many     bool           `json:"-"` // of arms: their ids are not listed, but their factors
	Factors  []factor       `json:"-"`
}

// A factor of arms, with its values.
type factor struct {
	Name   string
	Values []string
}

// mostArms is the number of arms that one line lists, mostValues that of the values of a
// factor.
const (
	mostArms   = 12
	mostValues = 24
)

func (f factor) String() string {
	list, more := f.Values, ""
	if n := len(list) - mostValues; n > 0 {
		list, more = list[:mostValues], fmt.Sprintf(", … and %d more", n)
	}
	return f.Name + ": " + say.PlainLine(strings.Join(list, ", ")) + more
}

// factorsOf lists the factors of arms in the order in which they come.
func factorsOf(arms []eval.Arm) (list []factor) {
	for _, arm := range arms {
		for _, l := range arm.Levels {
			i := slices.IndexFunc(list, func(f factor) bool { return f.Name == l.Name })
			if i < 0 && l.Value != "" {
				i, list = len(list), append(list, factor{Name: l.Name})
			}
			if l.Value != "" && !slices.Contains(list[i].Values, l.Value) {
				list[i].Values = append(list[i].Values, l.Value)
			}
		}
	}
	return list
}

// validateFolder checks a folder with the suite that reads such folders.
func (a *app) validateFolder(dir string) error {
	for _, s := range suites.All() {
		if s.CheckFolder == nil {
			continue
		}
		c, err := s.CheckFolder(dir)
		if err != nil {
			return fmt.Errorf("validate: %w", err)
		}
		err = a.result(c, func() {
			for line := range strings.Lines(c.String()) {
				a.say("%s", say.PlainLine(strings.TrimSuffix(line, "\n")))
			}
		})
		if err == nil && !c.OK() {
			err = fmt.Errorf("validate: %s has errors, listed above", dir)
		}
		return err
	}
	return fmt.Errorf("validate %s: no suite checks folders", dir)
}

func (a *app) preflight(o *opened) error {
	results, err := o.x.Preflight()
	if err != nil {
		return err
	}
	wrong := experiment.CheckCases(results)
	cases := []preflightCase{}
	for _, r := range results {
		cases = append(cases, preflightCase{r.OK(), r})
	}
	err = a.result(struct {
		OK    bool            `json:"ok"`
		Cases []preflightCase `json:"cases"`
	}{wrong == nil, cases}, func() {
		a.tell("preflight", cases)
		a.sayCells(results)
	})
	return cmp.Or(err, wrong)
}

type preflightCase struct {
	OK bool `json:"ok"`
	kit.Result
}

// sayCells prints the cases with cells as tables, one for each list of columns.
func (a *app) sayCells(results []kit.Result) {
	var last string
	for _, r := range results {
		if len(r.Cells) == 0 {
			continue
		}
		head, row := fmt.Sprintf("%-40s", "case"), fmt.Sprintf("%-40s", r.Name)
		for _, c := range r.Cells {
			width := max(len(c.Name), cellWidth)
			head += fmt.Sprintf("  %-*s", width, c.Name)
			row += fmt.Sprintf("  %-*s", width, c.Value)
		}
		if head != last {
			a.say("\n%s", strings.TrimRight(head, " "))
			last = head
		}
		a.say("%s", strings.TrimRight(row, " "))
	}
}

// cellWidth is the width of a cell such as "0.75 worse".
const cellWidth = 10

func (a *app) init(o *opened) error {
	entry, err := suiteCalled(o.arg)
	if err != nil {
		return err
	}
	if store.IsAddress(o.rest[0]) {
		return fmt.Errorf("init: %s is the address of a store: give a folder", o.rest[0])
	}
	files, err := entry.Init(o.rest[0])
	if err != nil {
		return err
	}
	return a.result(map[string]any{"suite": entry.Name, "files": files}, func() {
		for _, f := range files {
			a.say("wrote %s", f)
		}
		a.say("\nRun it:  scruple run %s", files[0])
	})
}

func (a *app) schema(o *opened) error {
	const ids = "https://scruple.invalid/schema/"
	if len(o.args) == 0 {
		all := map[string]any{}
		for _, s := range suites.All() {
			all[s.Name] = s.Study()
		}
		return a.raw(study.SchemaOfAll(all, ids+"study.json", "Scruple study"))
	}
	entry, err := suiteCalled(o.arg)
	if err != nil {
		return err
	}
	return a.raw(study.Schema(entry.Study(), ids+entry.Name+".json", "Scruple study: "+entry.Title))
}

// raw prints data as they are.
func (a *app) raw(data []byte, err error) error {
	if err == nil {
		_, err = a.out.Write(data)
	}
	return err
}
