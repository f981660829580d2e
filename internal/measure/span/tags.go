package span

import (
	"fmt"
	"slices"
	"strings"
)

// outside is the tag of a token outside all spans.
const outside = "O"

// cutTag splits a tag at its first hyphen, as conlleval does: labels may have
// hyphens.
func cutTag(tag string) (prefix, label string) {
	prefix, label, _ = strings.Cut(tag, "-")
	return prefix, label
}

// CheckTag refuses what is no tag of BIO, IOB1 or BIOES.
func CheckTag(tag string) error {
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
			if err := CheckTag(tags[i]); err != nil {
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
