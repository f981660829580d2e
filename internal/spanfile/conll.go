package spanfile

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/measure/span"
)

// boundary is the token that conlleval takes for the end of a sentence.
const boundary = "-X-"

// DocStart is the token of a line that begins a document, with or without a blank line behind it.
const DocStart = "-DOCSTART-"

// isBoundary tells the end of a sentence from a token of that name: no column has a tag. A token
// and O alone are a token, as this program writes it.
func isBoundary(fields []string) bool {
	tagged := slices.ContainsFunc(fields, func(f string) bool { return f != boundary && f != "O" })
	return fields[0] == boundary && !tagged && !(len(fields) == 2 && fields[1] == "O")
}

// tagged reads a CoNLL file: a token per line, with its tag in the last column, and a blank
// line after each sentence. Columns are separated by tabs, or else by blanks. All lines
// must have the same number of columns, but for those that begin a document: each is a text of its own.
func (d *reader) tagged(data []byte) error {
	d.data.Format = CoNLL
	var doc Doc
	end := func() {
		if len(doc.Tokens) > 0 {
			d.sentence(doc)
		}
		doc = Doc{}
	}
	columns, line := 0, 0
	for raw := range bytes.Lines(data) {
		line++
		row := strings.TrimRight(string(raw), " \r\n")
		fields := strings.Fields(row)
		if strings.Contains(row, "\t") {
			fields = strings.Split(strings.TrimRight(row, "\t"), "\t")
		}
		n := len(fields)
		if n == 0 || isBoundary(fields) || n == 1 && fields[0] == "" {
			end()
			continue
		}
		if fields[0] == DocStart {
			end()
			d.sentence(Doc{Line: line, Tokens: fields[:1], Tags: []string{"O"}, Other: []string{"O"}})
			continue
		}
		columns = cmp.Or(columns, n)
		switch {
		case n < 2:
			return fmt.Errorf("%s:%d: %q has no tag: want a token and a tag, separated by a tab or blank", d.Name, line, row)
		case n != columns:
			return fmt.Errorf("%s:%d: %d columns, but %d in the first line: give every line the same columns", d.Name, line, n, columns)
		}
		if err := span.CheckTag(fields[n-1]); err != nil {
			return fmt.Errorf("%s:%d: %w", d.Name, line, err)
		}
		if len(doc.Tokens) == 0 {
			doc.Line = line
		}
		doc.Tokens, doc.Tags = append(doc.Tokens, fields[0]), append(doc.Tags, fields[n-1])
		if n > 2 {
			doc.Other = append(doc.Other, fields[n-2])
		}
	}
	end()
	if line := numbered(d.data.Docs); line > 0 {
		return fmt.Errorf("%s:%d: the first column numbers the tokens of each sentence: write the token first and its tag last", d.Name, line)
	}
	return nil
}

// numbered is the line of the first sentence of several tokens if the tokens of all sentences are 1,
// 2, 3 and so on, as those of GermEval 2014 and CoNLL-U would be, and else 0.
func numbered(docs []Doc) (line int) {
	for _, d := range docs {
		for i, token := range d.Tokens {
			if token != strconv.Itoa(i+1) && token != DocStart {
				return 0
			}
		}
		if len(d.Tokens) > 1 && line == 0 {
			line = d.Line
		}
	}
	return line
}

// sentence adds a sentence as its tokens with blanks between them.
func (d *reader) sentence(doc Doc) {
	chunks, err := span.Chunks(doc.Tags)
	if err != nil {
		d.fail(doc.Line, "%w", err)
		return
	}
	doc.Text, doc.Labelled = strings.Join(doc.Tokens, " "), true
	start, at := make([]int, len(doc.Tokens)), 0
	for i, t := range doc.Tokens {
		start[i] = at
		at += utf8.RuneCountInString(t) + 1
	}
	for _, c := range chunks {
		words := strings.Join(doc.Tokens[c.Start:c.End], " ")
		from := start[c.Start]
		doc.Spans = append(doc.Spans, Span{Text: words, Role: c.Label, Confidence: Unstated, Start: from, End: from + utf8.RuneCountInString(words)})
	}
	d.data.Docs = append(d.data.Docs, doc)
}

// errTokens is the error of files that cannot be compared.
var errTokens = errors.New("gold and prediction must have the same tokens in the same sentences")

// Align checks that two tagged files have the same sentences.
func Align(gold, predicted []Doc, goldName, predictedName string) error {
	for i := range min(len(gold), len(predicted)) {
		g, p := gold[i], predicted[i]
		if len(g.Tokens) != len(p.Tokens) {
			return fmt.Errorf("%s:%d: the sentence has %d tokens, that of %s:%d has %d: %w", predictedName, p.Line, len(p.Tokens), goldName, g.Line, len(g.Tokens), errTokens)
		}
		for k := range g.Tokens {
			if g.Tokens[k] != p.Tokens[k] {
				return fmt.Errorf("%s:%d: token %q, but %q in %s:%d: %w", predictedName, p.Line+k, p.Tokens[k], g.Tokens[k], goldName, g.Line+k, errTokens)
			}
		}
	}
	if len(gold) != len(predicted) {
		return fmt.Errorf("%s has %d sentences, %s has %d: %w", predictedName, len(predicted), goldName, len(gold), errTokens)
	}
	return nil
}

// bio returns the tokens that blanks separate, with BIO tags. A span is widened to
// whole tokens; of overlapping spans the first counts.
func bio(d *Doc) (tokens, tags []string, lost Loss) {
	r := NewRuler(d.Text)
	var starts, ends []int // of tokens, in code points
	at := 0
	for token := range strings.FieldsSeq(d.Text) {
		at += strings.Index(d.Text[at:], token)
		tokens, starts = append(tokens, token), append(starts, r.Point(at, Bytes))
		at += len(token)
		ends = append(ends, r.Point(at, Bytes))
	}
	var spans []span.Span
	widened := map[span.Span]bool{}
	for _, s := range d.Spans {
		first := slices.IndexFunc(ends, func(end int) bool { return end > s.Start })
		last := len(tokens)
		for last > 0 && starts[last-1] >= s.End {
			last--
		}
		if s.Placed() && first >= 0 && first < last {
			words := span.Span{Start: first, End: last, Label: s.Role}
			if spans = append(spans, words); s.Start != starts[first] || s.End != ends[last-1] {
				widened[words] = true
			}
		} else {
			lost.Dropped++
		}
	}
	tags, skipped := span.Tags(len(tokens), spans)
	lost.Dropped += skipped
	kept, _ := span.Chunks(tags)
	for _, words := range kept {
		if widened[words] {
			lost.Widened++
		}
	}
	return tokens, tags, lost
}

// writeCoNLL writes the tokens of each text with BIO tags.
func writeCoNLL(w io.Writer, docs []Doc) error {
	b := bufio.NewWriter(w)
	for i := range docs {
		if i > 0 {
			b.WriteByte('\n')
		}
		tokens, tags, _ := bio(&docs[i])
		for k, t := range tokens {
			fmt.Fprintf(b, "%s\t%s\n", t, tags[k])
		}
	}
	return b.Flush()
}
