package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

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
