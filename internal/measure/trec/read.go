package trec

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Run holds the documents of each query with their scores.
type Run struct{ table }

// Qrels holds the judged documents of each query and their relevance; below 1
// is not relevant, below 0 not judged.
type Qrels struct{ table }

// A table is what both kinds of file are: values of documents, by query.
type table struct {
	Notes   []string // what was ignored or changed on reading
	queries map[string]*query
}

type query struct {
	entries []entry // by document
	twice   []error // documents that stand there more than once
}

type entry struct {
	doc   string
	line  int
	value float64 // score or relevance
}

// ReadRun reads a run. It reports all errors by line, except
// duplicate documents, which Evaluate reports if the query counts.
func ReadRun(r io.Reader, name string) (*Run, error) {
	t, err := read(r, format{
		file: name, form: "query Q0 document rank score tag", value: 4, more: true,
		parse: parseScore, twice: "ranked",
	})
	return &Run{t}, err
}

// ReadQrels reads judgements as ReadRun does.
func ReadQrels(r io.Reader, name string) (*Qrels, error) {
	t, err := read(r, format{
		file: name, form: "query iter document relevance", value: 3,
		parse: parseRelevance, twice: "judged",
	})
	return &Qrels{t}, err
}

// parseScore parses a float64; a number out of range is infinite.
func parseScore(s string) (float64, error) {
	score, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("invalid score %q: want a number", s)
	case math.IsNaN(score):
		return 0, fmt.Errorf("the score %q cannot be ranked: remove the document or set a number", s)
	}
	return score, nil
}

// maxRelevance keeps sums of gains exact in float64.
const maxRelevance = 1 << 30

// parseRelevance reads a whole number, which may be written 1.0.
func parseRelevance(s string) (float64, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	n, err := strconv.Atoi(whole)
	switch {
	case err == nil && strings.Trim(fraction, "0123456789") == "" && strings.Trim(fraction, "0") != "":
		return 0, fmt.Errorf("invalid relevance %q: want a whole number (trec_eval would use %d); scale or round the judgements", s, n)
	case err != nil || strings.Trim(fraction, "0") != "" || n > maxRelevance:
		return 0, fmt.Errorf("invalid relevance %q: want a whole number up to %d", s, maxRelevance)
	}
	return float64(n), nil
}

// A format defines the fields of a line and how to parse the value.
type format struct {
	file, form string
	value      int  // field of the value, the first is 0; the document is the third of both
	more       bool // fields beyond those of the form are passed over
	parse      func(string) (float64, error)
	twice      string // verb for errors about duplicate documents
}

// maxFindings is how many wrong lines are reported of a file.
const maxFindings = 20

// maxLine is the maximum length of a line.
const maxLine = 16 << 20

// read collects the entries of each query, and all errors.
func read(r io.Reader, f format) (table, error) {
	t := table{queries: map[string]*query{}}
	text, bom, err := plain(r)
	if err != nil {
		return t, fmt.Errorf("%s: %w", f.file, err)
	}
	s := bufio.NewScanner(text)
	s.Buffer(make([]byte, 256<<10), maxLine)
	p := parser{format: f, table: &t}
	n := 0
	for s.Scan() && len(p.wrong) < maxFindings {
		n++
		p.line(n, s.Bytes())
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line longer than %d MB", maxLine>>20)
		}
		p.wrong = append(p.wrong, fmt.Errorf("%s:%d: %w", f.file, n+1, err))
	}
	switch {
	case len(p.wrong) == maxFindings:
		p.wrong = append(p.wrong, fmt.Errorf("%s: these are the first %d errors; there may be more", f.file, maxFindings))
	case len(p.wrong) == 0 && p.read == 0:
		return t, fmt.Errorf("%s: empty file; want lines of %s", f.file, f.form)
	}
	t.Notes = note(t.Notes, f.file+": lines that begin with # are ignored as comments", p.comments)
	t.Notes = note(t.Notes, f.file+": fields after the tag are ignored", p.longer)
	if bom {
		t.Notes = append(t.Notes, f.file+": the byte order mark is ignored")
	}
	for _, q := range t.queries {
		q.sort(f)
	}
	return t, errors.Join(p.wrong...)
}

type parser struct {
	format
	table                  *table
	name                   string // of the query of the line before
	query                  *query
	read, comments, longer int
	wrong                  []error
}

// line reads one line. It skips blank lines and comments.
func (p *parser) line(n int, text []byte) {
	text = bytes.Trim(text, blanks)
	switch {
	case len(text) == 0:
		return
	case text[0] == '#':
		p.comments++
		return
	}
	p.read++
	if err := p.entry(n, text); err != nil {
		p.wrong = append(p.wrong, fmt.Errorf("%s:%d: %w", p.file, n, err))
	}
}

func (p *parser) entry(n int, text []byte) error {
	switch {
	case bytes.IndexByte(text, '\r') >= 0:
		return errors.New("a carriage return inside the line; end lines with \\n or \\r\\n")
	case bytes.IndexByte(text, 0) >= 0:
		return errors.New("NUL byte; want text")
	}
	var fields [6][]byte
	want := p.value + 1
	if p.more {
		want++
	}
	found := split(text, fields[:want])
	if found > want && p.more {
		p.longer++
	} else if found != want {
		return fmt.Errorf("%d fields, want %d: %s", found, want, p.form)
	}
	if !utf8.Valid(fields[0]) {
		return fmt.Errorf("the query %q is not valid UTF-8", fields[0])
	}
	value, err := p.parse(string(fields[p.value]))
	if err != nil {
		return err
	}
	if p.query == nil || p.name != string(fields[0]) {
		p.name = string(fields[0])
		if p.query = p.table.queries[p.name]; p.query == nil {
			p.query = &query{}
			p.table.queries[p.name] = p.query
		}
	}
	p.query.entries = append(p.query.entries, entry{string(fields[2]), n, value})
	return nil
}

// blanks are what C calls white space: others are part of a name.
const blanks = " \t\n\v\f\r"

// split fills fields and says how many there are in the text.
func split(text []byte, fields [][]byte) int {
	n := 0
	for len(text) > 0 {
		end := bytes.IndexAny(text, blanks)
		if end < 0 {
			end = len(text)
		}
		if n < len(fields) {
			fields[n] = text[:end]
		}
		n++
		text = bytes.TrimLeft(text[end:], blanks)
	}
	return n
}

// sort sorts by document and finds duplicates.
func (q *query) sort(f format) {
	slices.SortFunc(q.entries, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.doc, b.doc), cmp.Compare(a.line, b.line))
	})
	for i, e := range q.entries[1:] {
		if before := q.entries[i]; before.doc == e.doc {
			q.twice = append(q.twice, fmt.Errorf("%s:%d: document %s is %s more than once, first on line %d; keep one", f.file, e.line, e.doc, f.twice, before.line))
		}
	}
}

// plain skips a byte order mark, and tells whether there was one.
func plain(r io.Reader) (text io.Reader, bom bool, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	first, _ := b.Peek(3)
	switch {
	case string(first) == "\xef\xbb\xbf":
		_, err = b.Discard(len(first))
		return b, true, err
	case bytes.HasPrefix(first, []byte("\xff\xfe")), bytes.HasPrefix(first, []byte("\xfe\xff")):
		return nil, false, errors.New("UTF-16; convert it to UTF-8")
	}
	return b, false, nil
}
