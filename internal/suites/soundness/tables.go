package soundness

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// The names of columns that code reads.
const (
	columnID             = "fragment_id"
	columnText           = "fragment_text"
	columnReport         = "report_id"
	columnCriterion      = "criterion_addressed"
	columnParagraphs     = "paragraph_count"
	columnLabel          = "expert_classification"
	columnRationale      = "expert_rationale"
	columnSalient        = "salient_domains"
	columnBoundary       = "boundary_case_flag"
	columnBoundaryWhy    = "boundary_case_notes"
	columnCalibration    = "calibration_id"
	columnClass          = "classification"
	columnWhy            = "rationale"
	columnCharacteristic = "primary_characteristic"
	columnComplexity     = "complexity_level"
	columnCluster        = "cluster" // of imported data
	columnGroup          = "group"   // of imported data
)

// A kind is the type of a column.
type kind int

const (
	asText kind = iota
	asInteger
	asBoolean
	asDate
	asURL
	asLabel
	asDomains
	asSentences // text whose sentences are counted
)

// A column of a schema.
type column struct {
	name      string
	kind      kind
	optional  bool // may be empty
	essential bool // must exist in every file
}

// The schemas of the three files.
var (
	corpusSchema = []column{
		{columnID, asText, false, true}, {columnReport, asInteger, false, false}, {"report_title", asText, false, false}, {"report_url", asURL, false, false},
		{"report_type", asText, false, false}, {"country", asText, false, false}, {"year", asInteger, false, false}, {"budget", asText, true, false},
		{"joint_evaluation", asBoolean, false, false}, {"gef_evaluation", asBoolean, false, false}, {columnCriterion, asText, false, false},
		{columnText, asText, false, true}, {columnParagraphs, asInteger, false, false}, {"extraction_date", asDate, false, false}, {"extraction_notes", asText, true, false},
	}
	goldSchema = []column{
		{columnID, asText, false, true}, {columnLabel, asLabel, false, true}, {columnRationale, asSentences, false, false}, {columnSalient, asDomains, false, false},
		{columnBoundary, asBoolean, false, false}, {columnBoundaryWhy, asText, true, false}, {"session_id", asInteger, false, false}, {"assessment_date", asDate, false, false},
	}
	examplesSchema = []column{
		{columnCalibration, asText, false, true}, {columnID, asText, false, false}, {columnText, asText, false, true}, {columnClass, asLabel, false, true},
		{columnWhy, asSentences, false, true}, {"selection_rationale", asText, false, false}, {columnComplexity, asText, false, false}, {columnCharacteristic, asText, false, false},
	}
)

// A loader reads the files of a study and collects what is wrong with them.
type loader struct {
	file     *study.File
	labels   []string
	domains  int
	errs     *study.Errors
	warnings []string
	notes    []string
}

// finding adds what is wrong with a cell.
func (l *loader) finding(severity string, s *table.Columns, r table.Row, column, format string, args ...any) {
	switch err := s.Errorf(r, column, column+": "+format, args...); severity {
	case "ignore":
	case "warning":
		l.warnings = append(l.warnings, err.Error())
	default:
		l.errs.Add(err)
	}
}

// read reads one file and checks its columns and values. It returns nil if there is
// nothing to read.
func (l *loader) read(key string, t Table, schema []column) *table.Columns {
	if t.Path == "" {
		return nil
	}
	resolve := l.file.Resolve
	if key == "examples" { // they are parts of prompts
		resolve = l.file.Prompt
	}
	file, err := table.Read(resolve(t.Path))
	if errors.Is(err, fs.ErrNotExist) {
		l.errs.Add(l.file.Errorf(key+".path", "%w", err))
		return nil
	}
	kit.AddAll(l.errs, err)
	if file == nil {
		return nil
	}
	names := table.Names{Known: []string{columnCluster, columnGroup}, Remedy: func(known, _ string) string { return "rename it" }}
	for _, c := range schema {
		names.Known = append(names.Known, c.name)
	}
	s := file.Bind(names, func(_ string, err error) { l.errs.Add(err) })
	kit.CheckStrata(l.file, key+".strata", t.Strata, []string{"criterion", "group", "expert", "boundary", "length"}, s, l.errs)
	if key != "data" && len(t.Strata) > 0 {
		l.errs.Add(l.file.Errorf(key+".strata", "results are broken down by columns of the corpus"))
	}
	if !l.header(key, t, s, schema) {
		return nil
	}
	idOf := schema[0].name
	ids, err := parseIDs(t.IDs)
	if err != nil {
		l.errs.Add(l.file.Errorf(key+".ids", "%w", err))
	}
	seen := map[string]int{}
	for _, r := range file.Rows {
		for _, c := range schema {
			if s.Has(c.name) {
				l.value(s, r, c, t)
			}
		}
		id := s.Text(r, idOf)
		if line, ok := seen[id]; ok {
			l.finding("error", s, r, idOf, "duplicate %q, also in line %d", id, line)
		}
		seen[id] = r.Line
		if ids != nil && id != "" && !ids.has(id) {
			l.finding("error", s, r, idOf, "%q is outside of %s", id, t.IDs)
		}
	}
	if t.Count > 0 && len(file.Rows) != t.Count {
		l.errs.Add(fmt.Errorf("%s: %s, the study expects %d", file.File, text.Plural(len(file.Rows), "record", "records"), t.Count))
	}
	if len(file.Rows) == 0 {
		l.errs.Add(fmt.Errorf("%s has no records", file.File))
	}
	return s
}

// header checks the columns of a file. It returns false if the records cannot be read
// without them.
func (l *loader) header(key string, t Table, s *table.Columns, schema []column) bool {
	known := make([]string, len(schema))
	ok := true
	for i, c := range schema {
		known[i] = c.name
		if s.Has(c.name) || !c.essential && t.Columns == "essential" {
			continue
		}
		ok = ok && !c.essential
		hint := ""
		if near, found := text.Nearest(c.name, s.Table.Header); found {
			hint = fmt.Sprintf(" (%q is not the same)", near)
		}
		if !c.essential {
			hint += fmt.Sprintf("; set %s.columns to essential if it is not needed", key)
		}
		l.errs.Add(fmt.Errorf("%s:1:1: column %q is missing%s", s.Table.File, c.name, hint))
	}
	l.notes = append(l.notes, kit.OtherColumns(s, t.Strata, "data.strata")...)
	for i, c := range t.Checks {
		if !slices.Contains(known, c.Column) {
			l.errs.Add(l.file.Errorf(fmt.Sprintf("%s.checks[%d].column", key, i), "the schema has no column %q%s", c.Column, text.DidYouMean(c.Column, known)))
		}
	}
	return ok
}

// value checks one cell.
func (l *loader) value(s *table.Columns, r table.Row, c column, t Table) {
	cell := s.Text(r, c.name)
	fault := func(format string, args ...any) {
		l.finding("error", s, r, c.name, format, args...)
	}
	switch trimmed := strings.TrimSpace(cell); {
	case trimmed == "":
		if !c.optional && (c.essential || t.Columns != "essential") {
			fault("empty value")
		}
		return
	case trimmed != cell && c.kind != asSentences && c.name != columnText:
		fault("%q has white space around it: remove it", cell)
		return
	}
	number, numeric := 0.0, false
	switch c.kind {
	case asInteger:
		n, err := strconv.Atoi(cell)
		if err != nil {
			fault("want a whole number, got %q", cell)
			return
		}
		number, numeric = float64(n), true
	case asBoolean:
		if _, ok := parseBoolean(cell); !ok {
			fault("want True or False, got %q", cell)
			return
		}
	case asDate:
		if _, err := text.ParseDate(cell); err != nil || !isoDate.MatchString(cell) {
			fault("want a date such as 2026-01-31, got %q", cell)
			return
		}
	case asURL:
		if !validURL.MatchString(cell) {
			fault("want a URL that begins with http:// or https://, got %q", cell)
			return
		}
	case asLabel:
		if !slices.Contains(l.labels, cell) {
			fault("unknown label %q: want one of %s%s", cell, strings.Join(l.labels, ", "), text.DidYouMean(cell, l.labels))
			return
		}
	case asDomains:
		if _, err := l.parseDomains(cell); err != nil {
			fault("%w", err)
			return
		}
	case asSentences:
		number, numeric = float64(sentences(cell)), true
	}
	for _, check := range t.Checks {
		if check.Column != c.name {
			continue
		}
		unit := ""
		if c.kind == asSentences {
			unit = " sentences"
		}
		out := func(format string, args ...any) {
			l.finding(check.Severity, s, r, c.name, format, args...)
		}
		if numeric && check.Min != nil && number < *check.Min {
			out("want at least %v%s, got %v", *check.Min, unit, number)
		}
		if numeric && check.Max != nil && number > *check.Max {
			out("want at most %v%s, got %v", *check.Max, unit, number)
		}
		if len(check.Values) > 0 && !slices.Contains(check.Values, cell) {
			out("%q is none of %s%s", cell, strings.Join(check.Values, ", "), text.DidYouMean(cell, check.Values))
		}
	}
}

// parseBoolean reads what spreadsheets and programs write.
func parseBoolean(s string) (value, ok bool) {
	switch s {
	case "True", "true", "TRUE":
		return true, true
	case "False", "false", "FALSE":
		return false, true
	}
	return false, false
}

// parseDomains reads the numbers of domains, separated by commas.
func (l *loader) parseDomains(s string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || l.domains > 0 && n > l.domains {
			return nil, fmt.Errorf("want numbers of domains from 1 to %d separated by commas, got %q", l.domains, s)
		}
		if slices.Contains(list, n) {
			return nil, fmt.Errorf("duplicate domain %d in %q", n, s)
		}
		list = append(list, n)
	}
	return list, nil
}

var isoDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

var validURL = regexp.MustCompile(`^https?://[^/\s]+(/\S*)?$`)

// sentences counts the sentences of a text.
func sentences(s string) (n int) {
	open := false
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case (r == '.' || r == '!' || r == '?') && open && (i+1 == len(runes) || unicode.IsSpace(runes[i+1]) || strings.ContainsRune(`"')”’`, runes[i+1])):
			n++
			open = false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			open = true
		}
	}
	if open {
		n++
	}
	return n
}

// paragraphs counts the paragraphs of a text: blocks between empty lines, or lines if
// there is no empty line.
func paragraphs(s string) (n int) {
	separator := "\n"
	if emptyLine.MatchString(s) {
		s, separator = emptyLine.ReplaceAllString(s, "\x00"), "\x00"
	}
	for part := range strings.SplitSeq(s, separator) {
		if strings.TrimSpace(part) != "" {
			n++
		}
	}
	return n
}

var emptyLine = regexp.MustCompile(`\n[ \t\r]*\n`)

// idRange is a range of ids that differ in a number.
type idRange struct {
	prefix      string
	width       int
	first, last int
}

var idsPattern = regexp.MustCompile(`^(.*?)(\d+)\s*[–-]\s*(.*?)(\d+)$`)

// parseIDs parses a range such as F_001–F_150. An empty text has none.
func parseIDs(s string) (*idRange, error) {
	if s == "" {
		return nil, nil
	}
	m := idsPattern.FindStringSubmatch(s)
	if m == nil || m[1] != m[3] || len(m[2]) != len(m[4]) {
		return nil, fmt.Errorf("%q: want the first and the last id, as in F_001–F_150", s)
	}
	r := &idRange{prefix: m[1], width: len(m[2])}
	var err error
	if r.first, err = strconv.Atoi(m[2]); err == nil {
		r.last, err = strconv.Atoi(m[4])
	}
	if err != nil || r.last < r.first {
		return nil, fmt.Errorf("%q: the last id must not be before the first", s)
	}
	return r, nil
}

func (r *idRange) has(id string) bool {
	digits, ok := strings.CutPrefix(id, r.prefix)
	n, err := strconv.Atoi(digits)
	return ok && err == nil && len(digits) == r.width && n >= r.first && n <= r.last
}
