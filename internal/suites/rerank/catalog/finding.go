package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Finding is an error in the data, or a warning about data that look wrong but
// are legal.
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

// A Log collects findings about a file.
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

// Split separates errors from warnings.
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

// SortFindings sorts findings by file and line; the sort is stable.
func SortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
