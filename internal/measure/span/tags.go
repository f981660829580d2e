package span

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Sentence is a list of tokens with the tags of one or two columns of a file.
type Sentence struct {
	Line   int // of the first token, from 1
	Tokens []string
	Tags   []string // last column
	Other  []string // second-last column; nil in a file of two columns
}

// outside is the tag of a token outside all spans.
const outside = "O"

// boundary is the token that conlleval takes for the end of a sentence.
const boundary = "-X-"

// ReadCoNLL reads a CoNLL file: a token per line, with its tag in the last
// column, and a blank line after each sentence. Columns are separated by tabs, or
// else by blanks. All lines must have the same number of columns.
func ReadCoNLL(r io.Reader, name string) ([]Sentence, error) {
	var (
		sentences []Sentence
		current   Sentence
		columns   int
	)
	end := func() {
		if len(current.Tokens) > 0 {
			sentences = append(sentences, current)
		}
		current = Sentence{}
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 16<<20)
	line := 0
	for scan.Scan() {
		line++
		text := strings.TrimRight(scan.Text(), " \r")
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		var fields []string
		if strings.Contains(text, "\t") {
			fields = strings.Split(text, "\t")
			for len(fields) > 0 && fields[len(fields)-1] == "" {
				fields = fields[:len(fields)-1]
			}
		} else {
			fields = strings.Fields(text)
		}
		if len(fields) == 0 || fields[0] == boundary {
			end()
			continue
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("%s:%d: %q has no tag: want a token and a tag, separated by a tab or blank", name, line, text)
		}
		if columns == 0 {
			columns = len(fields)
		}
		if len(fields) != columns {
			return nil, fmt.Errorf("%s:%d: %d columns, but %d in the first line: give every line the same columns", name, line, len(fields), columns)
		}
		tags := [2]string{fields[columns-1]}
		if columns > 2 {
			tags[1] = fields[columns-2]
		}
		if err := checkTag(tags[0]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if len(current.Tokens) == 0 {
			current.Line = line
		}
		current.Tokens, current.Tags = append(current.Tokens, fields[0]), append(current.Tags, tags[0])
		if columns > 2 {
			current.Other = append(current.Other, tags[1])
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: reading tags: %w", name, line+1, err)
	}
	end()
	return sentences, nil
}

// cutTag splits a tag at its first hyphen, as conlleval does: labels may have
// hyphens.
func cutTag(tag string) (prefix, label string) {
	prefix, label, _ = strings.Cut(tag, "-")
	return prefix, label
}

func checkTag(tag string) error {
	switch prefix, _ := cutTag(tag); prefix {
	case outside, "B", "I", "E", "S":
		return nil
	}
	return fmt.Errorf("tag %q: want O, or B-, I-, E- or S- and a label, as in B-person", tag)
}

// Chunks returns the spans of a sentence by its tags, with token indexes as
// offsets. It reads BIO, IOB1 and BIOES alike, with the rules of conlleval: a
// span also starts where the label changes, and at an I after O. conlleval itself
// reads E and S otherwise; for them the rules are those of seqeval.
func Chunks(tags []string) ([]Span, error) {
	var spans []Span
	before, label := outside, "" // of the previous token
	start := -1
	for i := 0; i <= len(tags); i++ {
		tag, own := outside, ""
		if i < len(tags) {
			if err := checkTag(tags[i]); err != nil {
				return nil, fmt.Errorf("token %d: %w", i+1, err)
			}
			tag, own = cutTag(tags[i])
			if tag == outside {
				own = ""
			}
		}
		begins := tag == "B" || tag == "S" || tag != outside && (before == outside || before == "E" || before == "S" || own != label)
		if start >= 0 && (begins || tag == outside) {
			spans = append(spans, Span{start, i, label})
			start = -1
		}
		if begins {
			start = i
		}
		before, label = tag, own
	}
	return spans, nil
}

// Tags returns the BIO tags of n tokens. Of overlapping spans the first counts;
// skipped is the number of the others.
func Tags(n int, spans []Span) (tags []string, skipped int) {
	tags = slices.Repeat([]string{outside}, n)
	sorted := slices.SortedFunc(slices.Values(spans), Compare)
	end := 0
	for _, s := range sorted {
		if s.Start < end || s.Start < 0 || s.End > n || s.Start >= s.End {
			skipped++
			continue
		}
		end = s.End
		for i := s.Start; i < end; i++ {
			tags[i] = "I-" + s.Label
		}
		tags[s.Start] = "B-" + s.Label
	}
	return tags, skipped
}

// Agreeing counts the tokens with the same tag, for the accuracy of conlleval.
func Agreeing(gold, predicted []string) (n int) {
	for i := range gold {
		if gold[i] == predicted[i] {
			n++
		}
	}
	return n
}

// errTokens is the error of files that cannot be compared.
var errTokens = errors.New("gold and prediction must have the same tokens in the same sentences")

// Align checks that two files have the same sentences.
func Align(gold, predicted []Sentence, goldName, predictedName string) error {
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
