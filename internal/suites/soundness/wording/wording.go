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
	question   bool // it ends a question
	hyphen     bool // a hyphen joins it to the next word
	sentence   int
	line       int
}

// apostrophes are written as one.
var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "`", "'")

// split divides a text into words.
func split(s string) []word {
	var words []word
	start, sentence, line, breaks := -1, 0, 0, 0
	finish := func(end int) {
		if start < 0 {
			return
		}
		text := strings.Trim(apostrophes.Replace(strings.ToLower(s[start:end])), "'")
		if text != "" {
			words = append(words, word{text: text, start: start, end: end, sentence: sentence, line: line})
		}
		start = -1
	}
	endClause := func() {
		if len(words) > 0 {
			words[len(words)-1].ends = true
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
			endClause()
			if r == '?' && len(words) > 0 {
				words[len(words)-1].question = true
			}
			if r != ':' && r != ';' {
				sentence++
			}
		case ',', '—', '–', '{', '}', '[', ']':
			endClause()
		case '-', '‐', '‑':
			if n := len(words); n > 0 && words[n-1].end == i {
				words[n-1].hyphen = joins(s[i+utf8.RuneLen(r):])
			}
		case '\n':
			line++
			if breaks++; breaks > 1 {
				endClause()
				sentence++
			}
		}
	}
	finish(len(s))
	return words
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

// A mention is an occurrence of a phrase.
type mention struct {
	class    int
	from, to int // words
	negated  bool
}

// A Negation says what negates a phrase.
type Negation struct {
	Words  []string `json:"words" jsonschema:"description=Words that negate what follows in the same clause\\, such as not and lacks"`
	Scope  int      `json:"scope" jsonschema:"minimum=1,description=Number of words that a negation reaches"`
	Breaks []string `json:"breaks" jsonschema:"description=Words that end its reach\\, such as but"`
	Skip   []string `json:"skip" jsonschema:"description=Phrases with a negation in them that negate nothing\\, such as not only"`
	Again  []string `json:"again,omitempty" jsonschema:"description=Phrases that negate again what follows\\, and do not undo a negation before them\\, such as nor and and not"`
}

// A finder finds the phrases of some classes.
type finder struct {
	phrases  *trie
	negation *trie // classes: 0 negates, 1 breaks, 2 neither, 3 negates again
	scope    int
	light    map[string]bool // words that do not count in the reach of a negation
}

func newFinder(n Negation, classes ...[]string) *finder {
	f := &finder{phrases: newTrie(), negation: newTrie(), scope: max(1, n.Scope)}
	for class, phrases := range classes {
		for _, p := range phrases {
			f.phrases.add(p, class)
		}
	}
	for class, phrases := range [][]string{n.Words, n.Breaks, n.Skip, n.Again} {
		for _, p := range phrases {
			f.negation.add(p, class)
		}
	}
	return f
}

// phrase returns the class and length of the longest phrase that begins the words, which
// may have a hyphen in a word of it, as in un-sound.
func (f *finder) phrase(words []word) (class, length int) {
	class, length = f.phrases.longest(words)
	if length < 2 && len(words) > 1 && words[0].hyphen {
		if t := f.phrases.next[words[0].text+words[1].text]; t != nil && t.class >= 0 {
			return t.class, 2
		}
	}
	return class, length
}

// find returns the mentions in order. Each word belongs to at most one: the longest
// that begins first. A phrase after a negation in the same clause that is out of its
// reach, and that negated nothing else, is left out: it may be negated or not.
func (f *finder) find(words []word) []mention {
	var found []mention
	until, negations := 0, 0 // words before until are in the reach of so many negations
	idle := false            // a negation of the clause has negated nothing yet
	for i := 0; i < len(words); {
		if i >= until {
			negations = 0
		}
		class, length := f.phrase(words[i:])
		n, width := f.negation.longest(words[i:])
		switch {
		case length > 0 && length >= width:
			if negations > 0 || !idle {
				found = append(found, mention{class, i, i + length, negations%2 == 1})
				idle = false
			}
		case width > 0:
			length = width
			switch n {
			case 0:
				negations++
				until, idle = i+width+f.scope, true
			case 1:
				negations, until, idle = 0, i, false
			case 3:
				negations, until, idle = 1, i+width+f.scope, true
			}
		default:
			length = 1
			if f.light[words[i].text] && i < until {
				until++
			}
		}
		i += length
		if words[i-1].ends {
			negations, until, idle = 0, i, false
		}
	}
	return found
}

// Indicators are the phrases by which a rationale speaks for strength or weakness.
type Indicators struct{ finder *finder }

// NewIndicators makes indicators of two lists.
func NewIndicators(n Negation, strength, weakness []string) *Indicators {
	return &Indicators{newFinder(n, strength, weakness)}
}

// Count counts the phrases of both kinds. A negated phrase counts for the other side:
// "no fatal flaws" is a strength.
func (x *Indicators) Count(rationale string) (strength, weakness int) {
	for _, m := range x.finder.find(split(rationale)) {
		if (m.class == 0) != m.negated {
			strength++
		} else {
			weakness++
		}
	}
	return strength, weakness
}

// A Matcher finds whether a text has one of some phrases, negated or not.
type Matcher struct{ phrases *trie }

// NewMatcher makes a matcher of phrases.
func NewMatcher(phrases []string) *Matcher {
	m := &Matcher{newTrie()}
	for _, p := range phrases {
		m.phrases.add(p, 0)
	}
	return m
}

// In reports whether one of the phrases is among the first words of a text. 0 means
// all words.
func (m *Matcher) In(s string, first int) bool {
	words := split(s)
	if first > 0 {
		words = words[:min(first, len(words))]
	}
	for i := range words {
		if _, length := m.phrases.longest(words[i:]); length > 0 {
			return true
		}
	}
	return false
}
