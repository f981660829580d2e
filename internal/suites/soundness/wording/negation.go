package wording

import (
	"slices"
	"strings"
)

// A Negation says what turns a phrase into its opposite, and what leaves open whether it
// is stated at all. Its lists are of one language.
type Negation struct {
	Words       []string `json:"words" jsonschema:"description=Words that negate what follows in the same clause\\, such as not and fails"`
	Scope       int      `json:"scope" jsonschema:"minimum=1,description=Number of words that a negation reaches"`
	Contrasts   []string `json:"contrasts,omitempty" jsonschema:"description=Words after which a sentence says what it is about\\, such as but"`
	Concessions []string `json:"concessions,omitempty" jsonschema:"description=Words that concede a clause and leave the weight to the rest of the sentence\\, such as while and although"`
	Breaks      []string `json:"breaks" jsonschema:"description=Other words that begin a clause\\, such as because"`
	Skip        []string `json:"skip" jsonschema:"description=Phrases with a negation in them that negate nothing\\, such as not only"`
	Prefixes    []string `json:"prefixes,omitempty" jsonschema:"description=Parts of words that negate the next word only\\, such as un and non"`
	Uncertain   []string `json:"uncertain,omitempty" jsonschema:"description=Words that leave open whether a sentence states what stands in it\\, such as if and the authors claim"`
}

// The kinds of tokens: the operators in the order of [newFinder], then the others.
const (
	negates = iota
	contrasts
	concedes
	breaks
	skips
	leavesOpen
	plain
	mentions
)

// A token is a phrase, an operator or a word without either meaning.
type token struct {
	kind     int
	class    int // of a phrase
	from, to int // words
	ends     bool
}

// A finder divides texts into tokens.
type finder struct {
	phrases   *trie
	operators *trie
	scope     int
}

// newFinder makes a finder of two classes of phrases that are opposites.
func newFinder(n Negation, first, second []string) *finder {
	f := &finder{phrases: trieOf(first, second), operators: trieOf(n.Words, n.Contrasts, n.Concessions, n.Breaks, n.Skip, n.Uncertain), scope: max(1, n.Scope)}
	for class, list := range [][]string{first, second} { // "NotSound"
		for _, p := range list {
			f.phrases.add(oneWord(p), class)
		}
	}
	for class, list := range [][]string{first, second} {
		for _, p := range list {
			for _, prefix := range n.Prefixes { // such as unsound, if the study does not list it
				f.phrases.add(oneWord(prefix+p), 1-class)
			}
		}
	}
	return f
}

// sentences divides a text into tokens by sentence. The longest phrase or operator that
// begins first counts.
func (f *finder) sentences(words []word) (list [][]token) {
	for i := 0; i < len(words); {
		t := token{kind: mentions, from: i}
		class, n := f.phrases.longest(words[i:])
		if n < 2 && i+1 < len(words) && words[i].hyphen { // as in un-sound
			if joined := f.phrases.next[words[i].text+words[i+1].text]; joined != nil && joined.class >= 0 {
				class, n = joined.class, 2
			}
		}
		t.class = class
		if kind, m := f.operators.longest(words[i:]); m > n {
			t.kind, n = kind, m
		}
		if n == 0 {
			t.kind, n = plain, 1
		}
		t.to = i + n
		t.ends = words[t.to-1].ends
		if i == 0 || words[i].sentence != words[i-1].sentence {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], t)
		i = t.to
	}
	return list
}

// Indicators are the phrases by which a rationale speaks for strength or weakness.
type Indicators struct{ finder *finder }

// NewIndicators makes indicators of two lists.
func NewIndicators(n Negation, strength, weakness []string) *Indicators {
	return &Indicators{newFinder(n, strength, weakness)}
}

// Count counts the phrases of both kinds. A negation turns the next phrase into the other
// side: "no fatal flaws" is a strength. What may count for either side is unsure: the
// phrases that follow in the reach of a comma, those that nobody states, and what a
// sentence concedes, as in "while the criteria are explicit, the conclusion is overstated".
func (x *Indicators) Count(rationale string) (strength, weakness, unsure int) {
	words := split(rationale)
	for _, tokens := range x.finder.sentences(words) {
		conceded := conceded(tokens)
		open := false // nobody states the rest of the sentence
		negations, reach, waits := 0, 0, false
		for i, t := range tokens {
			switch t.kind {
			case negates:
				if !waits {
					negations = 0
				}
				negations, reach, waits = negations+1, t.to+x.finder.scope, true
			case contrasts, concedes, breaks:
				negations = 0
			case leavesOpen:
				open = true
			case mentions:
				switch {
				case open || conceded[i] || negations > 0 && (!waits || t.from >= reach):
					unsure++
				case (t.class == 0) == (negations%2 == 0):
					strength++
				default:
					weakness++
				}
				waits = false
			}
			if t.ends && !words[t.to-1].soft {
				negations = 0
			} else if t.ends {
				waits = false
			}
		}
	}
	return strength, weakness, unsure
}

// conceded marks what a sentence says before a contrast, and what it concedes: the clause
// behind the word, or all but the last clause if the sentence begins with it.
func conceded(tokens []token) []bool {
	marks := make([]bool, len(tokens))
	mark := func(from, to int) {
		for i := from; i < to; i++ {
			marks[i] = true
		}
	}
	for i, t := range tokens {
		switch {
		case t.kind == contrasts:
			mark(0, i)
		case t.kind == concedes && i == 0:
			for k := len(tokens) - 2; k > 0; k-- {
				if tokens[k].ends {
					mark(0, k+1)
					break
				}
			}
		case t.kind == concedes:
			mark(i, len(tokens))
		}
	}
	return marks
}

// oneWord writes a phrase in one word, as in NotSound.
func oneWord(phrase string) string { return strings.Join(Words(phrase), "") }

// SetOf makes a set of the words of phrases.
func SetOf(phrases []string) map[string]bool {
	set := map[string]bool{}
	for _, p := range phrases {
		for _, w := range Words(p) {
			set[w] = true
		}
	}
	return set
}

func has(tokens []token, kind int) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.kind == kind })
}
