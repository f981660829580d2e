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

	"github.com/clipperhouse/uax29/v2/words"
)

// A word is a run of letters, digits and apostrophes in lower case; in a script without
// blanks, a word of UAX #29, such as a character of Chinese. Everything else
// separates words, so that "Not_Sound", "**not** sound" and "not sound" are the same.
type word struct {
	text       string
	start, end int  // bytes of the original
	ends       bool // the end of a clause lies between this word and the next
	soft       bool // only a comma or a dash ends it
	question   bool // it ends a question
	hyphen     bool // a hyphen joins it to the next word
	sentence   int
}

// apostrophes are written as one.
var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "`", "'")

// split divides a text into words. A line that does not begin with a small letter begins a
// sentence.
func split(s string) []word {
	var list []word
	start, sentence, newline := -1, 0, false
	finish := func(end int) {
		if start < 0 {
			return
		}
		if first, _ := utf8.DecodeRuneInString(s[start:]); newline && !unicode.IsLower(first) {
			sentence++
		}
		newline = false
		add := func(from, to int) {
			if text := strings.Trim(apostrophes.Replace(strings.ToLower(s[from:to])), "'"); text != "" {
				list = append(list, word{text: text, start: from, end: to, sentence: sentence})
			}
		}
		if strings.IndexFunc(s[start:end], unspaced) < 0 {
			add(start, end)
		} else {
			for run := words.FromString(s[start:end]); run.Next(); {
				add(start+run.Start(), start+run.End())
			}
		}
		start = -1
	}
	ends := func(soft bool) {
		if n := len(list); n > 0 {
			list[n-1].soft = soft && (list[n-1].soft || !list[n-1].ends)
			list[n-1].ends = true
		}
	}
	breaks := 0
	for i, r := range s {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if inside || start >= 0 && strings.ContainsRune("'’‘ʼ`", r) {
			if start < 0 {
				start = i
			}
			breaks = 0
			continue
		}
		finish(i)
		switch r {
		case '.', '!', '?', '。', '！', '？':
			if r == '.' && (dotted(s[i+1:]) || abbreviates(s, list, i)) {
				continue
			}
			if (r == '?' || r == '？') && len(list) > 0 {
				list[len(list)-1].question = true
			}
			ends(false)
			sentence++
		case ';', ':', '{', '}', '[', ']', '；', '：':
			ends(false)
		case '✗', '✘', '✖', '✕', '❌', '❎', '☒', '👎': // "Sound: ✗" answers a question; "❌ Not sound" decorates an answer
			if n := len(list); n > 0 && strings.ContainsAny(s[list[n-1].end:i], ":：|=") {
				list[n-1].question = true
			}
		case ',', '—', '–', '，', '、':
			ends(true)
		case '-', '‐', '‑':
			follows := joins(s[i+utf8.RuneLen(r):])
			if n := len(list); n > 0 && list[n-1].end == i {
				list[n-1].hyphen = follows
			} else if !follows { // a dash between spaces
				ends(true)
			}
		case '\n':
			newline = true
			if breaks++; breaks > 1 {
				ends(false)
				sentence++
			}
		}
	}
	finish(len(s))
	return list
}

// unspaced reports whether a letter is of a script without blanks between words.
func unspaced(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
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

// joins reports whether a word begins right behind a hyphen.
func joins(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Words lists the words of a text in lower case.
func Words(s string) []string {
	all := split(s)
	list := make([]string, len(all))
	for i, w := range all {
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

// begins is the first of the first words at which a phrase begins, -1 if none does.
func (t *trie) begins(words []word, first int) int {
	for i := range min(first, len(words)) {
		if _, n := t.longest(words[i:]); n > 0 {
			return i
		}
	}
	return -1
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

// A Matcher finds phrases, negated or not.
type Matcher struct{ phrases *trie }

// NewMatcher makes a matcher of phrases.
func NewMatcher(phrases []string) *Matcher { return &Matcher{trieOf(phrases)} }
