package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/scruple-eval/scruple/internal/procedure"
)

func (a *app) stats(o *opened) error {
	switch {
	case o.is("list") && len(o.args) == 0:
		return a.listProcedures()
	case o.text("case") != "" && len(o.args) == 0:
		return a.statsCase(o.text("case"))
	case len(o.args) == 0:
		return errors.New("stats: give a method, --list or --case FILE")
	}
	p, err := procedure.Find(o.arg)
	if err != nil {
		return err
	}
	switch {
	case o.text("csv") != "":
		return a.statsTable(p, o)
	case len(o.list("set")) == 0 && len(o.list("cols")) == 0 && o.text("formula") == "":
		return a.describe(p)
	case len(p.Columns) > 0 || len(o.list("cols")) > 0:
		return fmt.Errorf("stats %s: --set, --cols and --formula are for data: give a table with --csv FILE, or a case with --case FILE", p.Name)
	}
	return a.statsNumbers(p, o)
}

// statsNumbers runs a method that needs no table on the numbers of --set.
func (a *app) statsNumbers(p procedure.Procedure, o *opened) error {
	given, err := settings(o)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(given, &all); err != nil {
		return err
	}
	params, input := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range all {
		if slices.ContainsFunc(p.Params, func(o procedure.Param) bool { return o.Name == name }) {
			params[name] = value
		} else {
			input[name] = value
		}
	}
	c := procedure.Case{Method: p.Name}
	if c.Params, err = json.Marshal(params); err == nil {
		c.Input, err = json.Marshal(input)
	}
	if err != nil {
		return err
	}
	result, err := c.Run()
	if err != nil {
		return err
	}
	return a.found(p, result)
}

// found prints the result of a procedure.
func (a *app) found(p procedure.Procedure, result procedure.Result) error {
	if a.json {
		return printJSON(a.out, result)
	}
	return procedure.Render(a.out, p, result)
}

// statsCase runs a case. An error is also printed as one JSON object, so a
// program needs to read only standard output.
func (a *app) statsCase(file string) error {
	result, err := a.runCase(file)
	if err == nil {
		err = json.NewEncoder(a.out).Encode(result)
	}
	if err == nil {
		return nil
	}
	_ = json.NewEncoder(a.out).Encode(map[string]any{"error": true, "reason": err.Error()})
	return exit(exitUsage, nil)
}

func (a *app) runCase(file string) (any, error) {
	r, err := a.open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := procedure.ReadCase(r)
	if err != nil {
		return nil, err
	}
	return c.Run()
}

func (a *app) statsTable(p procedure.Procedure, o *opened) error {
	params, err := settings(o)
	if err != nil {
		return err
	}
	if len(p.Columns) == 0 {
		return fmt.Errorf("stats: %s does not accept a table; write a case and run --case FILE", p.Name)
	}
	r, err := a.open(o.text("csv"))
	if err != nil {
		return err
	}
	defer r.Close()
	cols := o.list("cols")
	if len(cols) == 0 {
		if cols, err = p.DefaultColumns(params); err != nil {
			return err
		}
	}
	name := o.text("csv")
	if name == "-" {
		name = "stdin"
	}
	result, err := p.RunTable(r, name, cols, params)
	if err != nil {
		return err
	}
	return a.found(p, result)
}

// settings returns --set and --formula as a JSON object.
func settings(o *opened) ([]byte, error) {
	params := map[string]any{}
	for _, s := range o.list("set") {
		name, text, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: expected name=value", s)
		}
		params[name] = text
		if digits, ok := strings.CutPrefix(text, "−"); ok { // pasted from a report
			text = "-" + digits
		}
		if json.Valid([]byte(text)) {
			params[name] = json.RawMessage(text)
		}
	}
	if o.text("formula") != "" {
		params["formula"] = o.text("formula")
	}
	return json.Marshal(params)
}

func (a *app) listProcedures() error {
	all := procedure.All()
	if a.json {
		type entry struct {
			Name    string `json:"name"`
			Title   string `json:"title"`
			Summary string `json:"summary"`
			Source  string `json:"source"`
		}
		return printJSON(a.out, mapped(all, func(p procedure.Procedure) entry {
			return entry{p.Name, p.Title, p.Summary, p.Source}
		}))
	}
	return a.columns("methods", all)
}

func (a *app) describe(p procedure.Procedure) error {
	if a.json {
		return printJSON(a.out, p)
	}
	return a.columns("method", p)
}

// columns prints one of the texts, whose tabs set off columns.
func (a *app) columns(name string, data any) error {
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, filled(name, data)) // Flush returns its error
	return t.Flush()
}
