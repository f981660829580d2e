package soundness

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
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

// A column of a schema.
type column struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`      // what its values are, as in [loader.parse]: default any text
	Optional  bool   `json:"optional"`  // may be empty
	Essential bool   `json:"essential"` // must exist in every file
}

//go:embed schemas.json
var schemasJSON []byte

// The schemas of the three files.
var schemas = kit.Embedded[struct{ Data, Gold, Examples []column }](schemasJSON)

// A loader reads the files of a study and collects what is wrong with them.
type loader struct {
	*bench // with labels, domains and the reader
	file   *study.File
	errs   *study.Errors
	warned study.Errors // listed with errors, if there are any
}

// finding adds what is wrong with a cell.
func (l *loader) finding(severity string, s *table.Columns, r table.Row, column, format string, args ...any) {
	switch err := s.Errorf(r, column, column+": "+format, args...); severity {
	case "ignore":
	case "warning":
		l.Warn("%v", err)
		l.warned.Add(fmt.Errorf("%w (a warning)", err))
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
	if errors.As(err, new(dataset.OpenError)) {
		l.errs.Add(l.file.Errorf(key+".path", "%w", err))
		return nil
	}
	kit.AddAll(l.errs, err)
	if file == nil {
		return nil
	}
	if said := file.Escaped(); said != "" {
		l.Warn("%s", said)
	}
	names := table.Names{Known: []string{columnCluster, columnGroup}, Keys: []string{columnCluster, columnGroup}, Remedy: func(known, _ string) string { return "rename it" }}
	names.Known = append(names.Known, namesOf(schema, func(c column) string { return c.Name })...)
	s := file.Bind(names, func(_ string, err error) { l.errs.Add(err) })
	kit.CheckStrata(l.file, kit.TableKeys{Key: key, Strata: t.Strata, Own: []string{"criterion", "group", "expert", "boundary", "length"}}, s, l.errs)
	if key != "data" && len(t.Strata) > 0 {
		l.errs.Add(l.file.Errorf(key+".strata", "results are broken down by columns of the corpus"))
	}
	if !l.header(key, t, s, schema) {
		return nil
	}
	idOf := schema[0].Name
	ids, err := parseIDs(t.IDs)
	if err != nil {
		l.errs.Add(l.file.Errorf(key+".ids", "%w", err))
	}
	seen := map[string]int{}
	for _, r := range file.Rows {
		for _, c := range schema {
			if s.Has(c.Name) {
				l.value(s, r, c, t)
			}
		}
		id := s.ID(r, idOf)
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
	known, ok := namesOf(schema, func(c column) string { return c.Name }), true
	for _, c := range schema {
		if s.Has(c.Name) || !c.Essential && t.Columns == "essential" {
			continue
		}
		ok = ok && !c.Essential
		hint := ""
		if near, found := text.Nearest(c.Name, s.Table.Header); found {
			hint = fmt.Sprintf(" (%q is not the same)", near)
		}
		if !c.Essential {
			hint += fmt.Sprintf("; set %s.columns to essential if it is not needed", key)
		}
		l.errs.Add(fmt.Errorf("%s:1:1: column %q is missing%s", s.Table.File, c.Name, hint))
	}
	l.Note(kit.OtherColumns(s, t.Strata)...)
	for i, c := range t.Checks {
		if !slices.Contains(known, c.Column) {
			l.errs.Add(l.file.Errorf(fmt.Sprintf("%s.checks[%d].column", key, i), "the schema has no column %q%s", c.Column, text.DidYouMean(c.Column, known)))
		}
	}
	return ok
}

// value checks one cell.
func (l *loader) value(s *table.Columns, r table.Row, c column, t Table) {
	cell := s.Text(r, c.Name)
	fault := func(format string, args ...any) {
		l.finding("error", s, r, c.Name, format, args...)
	}
	switch trimmed := strings.TrimSpace(cell); {
	case trimmed == "":
		if !c.Optional && (c.Essential || t.Columns != "essential") {
			fault("empty value")
		}
		return
	case trimmed != cell && c.Kind != "sentences" && c.Name != columnText:
		fault("%q has white space around it: remove it", cell)
		return
	}
	number, unit, err := l.parse(c.Kind, cell)
	if err != nil {
		fault("%w", err)
		return
	}
	for _, check := range t.Checks {
		if check.Column != c.Name {
			continue
		}
		out := func(format string, args ...any) { l.finding(check.Severity, s, r, c.Name, format, args...) }
		if check.Min != nil && number < *check.Min { // not of text, which is no number
			out("want at least %v%s, got %v", *check.Min, unit, number)
		}
		if check.Max != nil && number > *check.Max {
			out("want at most %v%s, got %v", *check.Max, unit, number)
		}
		if len(check.Values) > 0 && !slices.Contains(check.Values, cell) {
			out("%q is none of %s%s", cell, strings.Join(check.Values, ", "), text.DidYouMean(cell, check.Values))
		}
	}
}

// parse reads a value of a kind: its number, or that of its sentences, with the unit; NaN of
// any other.
func (l *loader) parse(kind, cell string) (number float64, unit string, err error) {
	number = math.NaN()
	ok, want := true, ""
	switch kind {
	case "integer":
		var n int
		n, err = strconv.Atoi(cell)
		number, ok, want = float64(n), err == nil, "a whole number"
	case "boolean":
		_, ok = table.Truth(cell)
		want = "True or False"
	case "date":
		_, err = text.ParseDate(cell)
		ok, want = err == nil && isoDate.MatchString(cell), "a date such as 2026-01-31"
	case "url":
		ok, want = validURL.MatchString(cell), "a URL that begins with http:// or https://"
	case "label":
		if !slices.Contains(l.names(), cell) {
			meant := "" // by its phrasing: unsound is one letter nearer to sound than to not_sound
			if i := l.reader.labels.Value(cell).Label; i != wording.None {
				meant = fmt.Sprintf(": did you mean %q?", l.labels[i].Name)
			}
			err = fmt.Errorf("unknown label %q: want one of %s%s", cell, strings.Join(l.names(), ", "), meant)
		}
	case "domains":
		err = l.checkDomains(cell)
	case "sentences":
		number, unit = float64(sentences(cell)), " sentences"
	}
	if !ok {
		err = fmt.Errorf("want %s, got %q", want, cell)
	}
	return number, unit, err
}

// checkDomains checks the numbers of domains, separated by commas.
func (l *loader) checkDomains(s string) error {
	var list []int
	most := len(l.domains)
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || most > 0 && n > most {
			return fmt.Errorf("want numbers of domains from 1 to %d separated by commas, got %q", most, s)
		}
		if slices.Contains(list, n) {
			return fmt.Errorf("duplicate domain %d in %q", n, s)
		}
		list = append(list, n)
	}
	return nil
}

var isoDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

var validURL = regexp.MustCompile(`^https?://[^/\s]+(/\S*)?$`)

var sentenceEnd = regexp.MustCompile(`[.!?](?:[\s\pZ\x{85}"')”’]|$)`)

// sentences counts the sentences of a text.
func sentences(s string) (n int) {
	for _, part := range sentenceEnd.Split(s, -1) {
		n += indicator(strings.ContainsFunc(part, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }))
	}
	return n
}

var emptyLine = regexp.MustCompile(`\n[ \t\r]*\n`)

// paragraphs counts the paragraphs of a text: blocks between empty lines, or lines if
// there is no empty line.
func paragraphs(s string) (n int) {
	parts := emptyLine.Split(s, -1)
	if len(parts) == 1 {
		parts = strings.Split(s, "\n")
	}
	for _, part := range parts {
		n += indicator(strings.TrimSpace(part) != "")
	}
	return n
}

// idRange is a range of ids that differ in a number. All have as many digits, so that the
// order of texts is that of numbers.
type idRange struct{ prefix, first, last string }

var idsPattern = regexp.MustCompile(`^(.*?)(\d+)\s*[–-]\s*(.*?)(\d+)$`)

// parseIDs parses a range such as F_001–F_150. An empty text has none.
func parseIDs(s string) (*idRange, error) {
	if s == "" {
		return nil, nil
	}
	m := idsPattern.FindStringSubmatch(s)
	switch {
	case m == nil || m[1] != m[3] || len(m[2]) != len(m[4]):
		return nil, fmt.Errorf("%q: want the first and the last id, as in F_001–F_150", s)
	case m[4] < m[2]:
		return nil, fmt.Errorf("%q: the last id must not be before the first", s)
	}
	return &idRange{m[1], m[2], m[4]}, nil
}

func (r *idRange) has(id string) bool {
	digits, ok := strings.CutPrefix(id, r.prefix)
	return ok && len(digits) == len(r.first) && strings.Trim(digits, "0123456789") == "" && digits >= r.first && digits <= r.last
}
