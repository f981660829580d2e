// Package wording finds phrases in the text of models by whole words, and reads
// whether they are negated. It reads which of two labels an answer gives, and how many
// phrases of a rationale speak for strength and for weakness.
//
// Phrases are data. The package must not name a label, and a text of any content must
// not make it fail.
package wording

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is a run of letters, digits and apostrophes in lower case. Everything else
// separates words, so that "Not_Sound", "**not** sound" and "not sound" are the same.
type word struct {
	text       string
	start, end int  // bytes of the original
	ends       bool // the end of a clause lies between this word and the next
	soft       bool // only a comma or a dash ends it
	question   bool // it ends a question
	hyphen     bool // a hyphen joins it to the next word
	aside      int  // number of the parentheses it stands in, 0 without
	optional   bool // it stands in parentheses alone, as in "(not) clear"
	sentence   int
	line       int
}

// apostrophes are written as one.
var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "`", "'")

// split divides a text into words.
func split(s string) []word {
	var words []word
	start, sentence, line, breaks := -1, 0, 0, 0
	aside, asides, closing := 0, 0, -1
	finish := func(end int) {
		if start < 0 {
			return
		}
		text := strings.Trim(apostrophes.Replace(strings.ToLower(s[start:end])), "'")
		if text != "" {
			words = append(words, word{text: text, start: start, end: end, sentence: sentence, line: line, aside: aside})
		}
		start = -1
	}
	endClause := func(soft bool) {
		if n := len(words); n > 0 {
			words[n-1].soft = soft && (words[n-1].soft || !words[n-1].ends)
			words[n-1].ends = true
		}
	}
	for i, r := range s {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		if apostrophe := strings.ContainsRune("'’‘ʼ`", r); inside || apostrophe && start >= 0 {
			if start < 0 {
				start = i
			}
			breaks = 0
			continue
		}
		finish(i)
		switch r {
		case '.', '!', '?', ';', ':', '。':
			if r == '.' && (dotted(s[i+1:]) || abbreviates(s, words, i)) {
				continue
			}
			if r == '?' && len(words) > 0 {
				words[len(words)-1].question = true
			}
			if endClause(false); r != ':' && r != ';' && aside == 0 {
				sentence++
			}
		case ',', '—', '–':
			endClause(true)
		case '{', '}', '[', ']':
			endClause(false)
		case '(':
			if n := closes(s[i+1:]); n > 0 && aside == 0 {
				asides++
				aside, closing = asides, i+1+n
			}
		case ')':
			if i == closing {
				if endClause := len(words) - 1; endClause > 0 && words[endClause].aside == aside && words[endClause-1].aside == aside {
					words[endClause].ends = true
				} else if endClause >= 0 && words[endClause].aside == aside {
					words[endClause].aside, words[endClause].optional = 0, true
				}
				aside = 0
			}
		case '-', '‐', '‑':
			if n := len(words); n > 0 && words[n-1].end == i {
				words[n-1].hyphen = joins(s[i+utf8.RuneLen(r):])
			} else if !joins(s[i+utf8.RuneLen(r):]) { // a dash between spaces
				endClause(true)
			}
		case '\n':
			line++
			if breaks++; breaks > 1 {
				endClause(false)
				sentence++
			}
		}
	}
	finish(len(s))
	return words
}

// dotted reports whether a dot before the rest of a text is part of a number or of an
// abbreviation such as e.g.
func dotted(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLower(r) || unicode.IsDigit(r)
}

// abbreviates reports whether a dot at i ends a single small letter, as in e.g.
func abbreviates(s string, words []word, i int) bool {
	n := len(words)
	return n > 1 && words[n-1].end == i && words[n-2].end == i-2 && s[i-2] == '.' && dotted(s[i-1:])
}

// An aside in parentheses has at most so many bytes.
const longestAside = 300

// closes returns the place of the parenthesis that closes the one before the text, 0 if
// none does in the same line.
func closes(rest string) int {
	i := strings.IndexAny(rest[:min(len(rest), longestAside)], "()\n")
	if i > 0 && rest[i] == ')' {
		return i
	}
	return 0
}

// joins reports whether a word begins right behind a hyphen.
func joins(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Words lists the words of a text in lower case.
func Words(s string) []string {
	words := split(s)
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.text
	}
	return list
}

// A trie holds phrases as lists of words.
type trie struct {
	next  map[string]*trie
	class int // of the phrase that ends here, −1 for none
}

func newTrie() *trie { return &trie{next: map[string]*trie{}, class: -1} }

// add adds a phrase. The first class of a phrase stays.
func (t *trie) add(phrase string, class int) {
	for _, w := range Words(phrase) {
		if t.next[w] == nil {
			t.next[w] = newTrie()
		}
		t = t.next[w]
	}
	if t.class < 0 {
		t.class = class
	}
}

// trieOf makes a trie of classes of phrases, numbered from 0.
func trieOf(classes ...[]string) *trie {
	t := newTrie()
	for class, phrases := range classes {
		for _, p := range phrases {
			t.add(p, class)
		}
	}
	return t
}

// begins reports whether a phrase begins at one of the first words.
func (t *trie) begins(words []word, first int) bool {
	for i := range min(first, len(words)) {
		if _, n := t.longest(words[i:]); n > 0 {
			return true
		}
	}
	return false
}

// longest returns the class and length of the longest phrase that begins the words.
// A phrase does not go beyond the end of a clause.
func (t *trie) longest(words []word) (class, length int) {
	class = -1
	for i, w := range words {
		if t = t.next[w.text]; t == nil {
			return class, length
		}
		if t.class >= 0 {
			class, length = t.class, i+1
		}
		if w.ends {
			return class, length
		}
	}
	return class, length
}

// Indicators are the phrases by which a rationale speaks for strength or weakness.
type Indicators struct{ finder *finder }

// NewIndicators makes indicators of two lists.
func NewIndicators(n Negation, strength, weakness []string) *Indicators {
	return &Indicators{newFinder(n, strength, weakness)}
}

// Count counts the phrases of both kinds. A negated phrase counts for the other side:
// "no fatal flaws" is a strength. What may count for either side is unsure.
func (x *Indicators) Count(rationale string) (strength, weakness, unsure int) {
	for _, m := range x.finder.find(split(rationale)) {
		switch {
		case m.unsure:
			unsure++
		case (m.class == 0) != m.negated:
			strength++
		default:
			weakness++
		}
	}
	return strength, weakness, unsure
}

// A Matcher finds whether a text has one of some phrases, negated or not.
type Matcher struct{ phrases *trie }

// NewMatcher makes a matcher of phrases.
func NewMatcher(phrases []string) *Matcher { return &Matcher{trieOf(phrases)} }

// In reports whether one of the phrases is among the first words of a text.
func (m *Matcher) In(s string, first int) bool {
	words := split(s)
	words = words[:min(first, len(words))]
	return m.phrases.begins(words, first)
}
