package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func validateVerb(a *app) *cobra.Command {
	return a.verb("validate", func(c *cobra.Command, args []string) error {
		if isDir(args[0]) {
			if err := isFolder(args[0]); err != nil {
				return err
			}
			return a.validateFolder(args[0])
		}
		x, _, err := a.loadFor(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer x.Close()
		noKeys, err := a.checkModels(c.Context(), x)
		if err := errors.Join(x.CheckScorer(), err); err != nil {
			return err
		}
		summary := map[string]any{"study": x.Study.Name, "suite": x.Study.Suite, "items": len(x.Items()), "arms": x.ArmIDs(), "trials": x.Plan.Len()}
		sayValid(a, args[0], x)
		warnings, err := x.Unmeetable()
		if err != nil {
			return err
		}
		warnings = slices.Concat(x.Warnings(), noKeys, warnings)
		if list := x.Facts(); list != nil {
			facts := map[string]int{}
			var words []string
			for _, f := range list {
				facts[f.Name] = f.N
				words = append(words, fmt.Sprintf("%s %d", f.Name, f.N))
			}
			a.say("data: %s", strings.Join(words, ", "))
			summary["facts"] = facts
		}
		summary["notes"] = append([]string{}, x.Notes()...)
		for _, text := range x.Notes() {
			a.say("note: %s", say.PlainLine(text))
		}
		if keys := keysSent(x.Study.Models); keys != nil {
			a.say("keys that a run sends: %s", strings.Join(keys, ", "))
			summary["keys"] = keys
		}
		summary["warnings"] = append([]string{}, warnings...)
		for _, text := range warnings {
			a.say("warning: %s", say.PlainLine(text))
		}
		if a.json {
			return printJSON(a.out, summary)
		}
		return nil
	})
}

// mostArms is the number of arms that one line lists, mostValues that of the values of a
// factor.
const (
	mostArms   = 12
	mostValues = 24
)

// sayValid prints the size of a study. Many arms are listed by their factors.
func sayValid(a *app, path string, x *experiment.Experiment) {
	arms := x.Bench.Arms()
	list := " (" + strings.Join(x.ArmIDs(), ", ") + ")"
	if len(arms) > mostArms {
		list = ""
	}
	a.say("%s is valid: %s, %s%s, %s", path, text.Plural(len(x.Items()), "item", "items"), text.Plural(len(arms), "arm", "arms"), list, text.Plural(x.Plan.Len(), "trial", "trials"))
	if list != "" {
		return
	}
	var names []string
	values := map[string][]string{}
	for _, arm := range arms {
		for _, l := range arm.Levels {
			if l.Value == "" {
				continue
			}
			if values[l.Name] == nil {
				names = append(names, l.Name)
			}
			if !slices.Contains(values[l.Name], l.Value) {
				values[l.Name] = append(values[l.Name], l.Value)
			}
		}
	}
	for _, name := range names {
		list, more := values[name], ""
		if n := len(list) - mostValues; n > 0 {
			list, more = list[:mostValues], fmt.Sprintf(", … and %d more", n)
		}
		a.say("  %s: %s%s", name, say.PlainLine(strings.Join(list, ", ")), more)
	}
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
		if a.json {
			err = printJSON(a.out, c)
		} else {
			for line := range strings.Lines(c.String()) {
				a.say("%s", say.PlainLine(strings.TrimSuffix(line, "\n")))
			}
		}
		if err == nil && !c.OK() {
			err = fmt.Errorf("validate: %s has errors, listed above", dir)
		}
		return err
	}
	return fmt.Errorf("validate %s: no suite checks folders", dir)
}

func preflightVerb(a *app) *cobra.Command {
	return a.verb("preflight", a.on(theStudy, func(o *opened) error {
		results, err := o.x.Preflight()
		if err != nil {
			return err
		}
		wrong := experiment.CheckCases(results)
		if a.json {
			if err := printJSON(a.out, preflightResult(results, wrong == nil)); err != nil {
				return err
			}
		}
		for _, r := range results {
			state := "ok"
			if !r.OK() {
				state = "WRONG"
			}
			a.say("%-6s %s", state, r.Name)
			for _, w := range r.Wrong {
				a.say("         %s", w)
			}
		}
		a.sayCells(results)
		return wrong
	}))
}

// preflightResult is the result as JSON: whether all cases passed, and each case.
func preflightResult(results []kit.Result, ok bool) any {
	type preflightCase struct {
		OK bool `json:"ok"`
		kit.Result
	}
	cases := []preflightCase{}
	for _, r := range results {
		cases = append(cases, preflightCase{r.OK(), r})
	}
	return struct {
		OK    bool            `json:"ok"`
		Cases []preflightCase `json:"cases"`
	}{ok, cases}
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

func initVerb(a *app) *cobra.Command {
	return a.verb("init", func(_ *cobra.Command, args []string) error {
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		files, err := entry.Init(args[1])
		if err != nil {
			return err
		}
		return a.result(map[string]any{"suite": entry.Name, "files": files}, func() {
			for _, f := range files {
				a.say("wrote %s", f)
			}
			a.say("\nRun it:  scruple run %s", files[0])
		})
	})
}

func schemaVerb(a *app) *cobra.Command {
	return a.verb("schema", func(_ *cobra.Command, args []string) error {
		const ids = "https://scruple.invalid/schema/"
		if len(args) == 0 {
			all := map[string]any{}
			for _, s := range suites.All() {
				all[s.Name] = s.Study()
			}
			return a.raw(study.SchemaOfAll(all, ids+"study.json", "Scruple study"))
		}
		entry, err := suiteCalled(args[0])
		if err != nil {
			return err
		}
		return a.raw(study.Schema(entry.Study(), ids+entry.Name+".json", "Scruple study: "+entry.Title))
	})
}

// raw prints data as they are.
func (a *app) raw(data []byte, err error) error {
	if err == nil {
		_, err = a.out.Write(data)
	}
	return err
}
