package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Finding is something wrong with the data. A warning is something that may
// be meant.
type Finding struct {
	File    string
	Line    int // from 1; 0 for the file as a whole
	Text    string
	Warning bool
}

// Error writes file:line: text.
func (f Finding) Error() string {
	if f.Line == 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text)
}

// A Log gathers findings about a file.
type Log struct {
	File     string
	Findings []Finding
}

// Fault adds an error.
func (l *Log) Fault(line int, format string, args ...any) {
	l.Findings = append(l.Findings, Finding{File: l.File, Line: line, Text: fmt.Sprintf(format, args...)})
}

// Warn adds a warning.
func (l *Log) Warn(line int, format string, args ...any) {
	l.Fault(line, format, args...)
	l.Findings[len(l.Findings)-1].Warning = true
}

// Split parts errors from warnings.
func Split(findings []Finding) (errs []error, warnings []string) {
	for _, f := range findings {
		if f.Warning {
			warnings = append(warnings, f.Error())
		} else {
			errs = append(errs, f)
		}
	}
	return errs, warnings
}

// SortFindings puts findings in the order of files and lines, those of one
// line as they were found.
func SortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
