package wording

import (
	"slices"
	"strings"
)

// A Negation says what turns a phrase into its opposite, and what leaves open whether it
// is stated at all. Its lists are of one language.
type Negation struct {
	Words    []string `json:"words" jsonschema:"description=Words that negate what follows in the same clause\\, such as not and fails"`
	Near     []string `json:"near,omitempty" jsonschema:"description=Words that negate what follows up to the next verb\\, such as without and lack of"`
	Whole    []string `json:"whole,omitempty" jsonschema:"description=Negations that reach beyond verbs if they begin a clause\\, such as nothing"`
	Scope    int      `json:"scope" jsonschema:"minimum=1,description=Number of words that a negation reaches"`
	Breaks   []string `json:"breaks" jsonschema:"description=Words that end its reach\\, such as but"`
	Skip     []string `json:"skip" jsonschema:"description=Phrases with a negation in them that negate nothing\\, such as not only"`
	Again    []string `json:"again,omitempty" jsonschema:"description=Phrases that negate again what follows\\, and do not undo a negation before them\\, such as nor and and not"`
	Prefixes []string `json:"prefixes,omitempty" jsonschema:"description=Parts of words that negate the next word only\\, such as un and non"`
	Replies  []string `json:"replies,omitempty" jsonschema:"description=Words that negate nothing if they begin a sentence before a comma\\, such as no"`
	Joins    []string `json:"joins,omitempty" jsonschema:"description=Words that join the items of a list\\, such as and"`
	Either   []string `json:"either,omitempty" jsonschema:"description=Words that join alternatives\\, all of which a negation before them reaches\\, such as or"`
	Verbs    []string `json:"verbs,omitempty" jsonschema:"description=Forms of verbs that have a subject before them\\, such as is and gives: what follows them may be another statement than the one negated before"`
	Thinking []string `json:"thinking,omitempty" jsonschema:"description=Words after which a negation reaches the next statement\\, such as think and that"`
	Asides   []string `json:"asides,omitempty" jsonschema:"description=Phrases between commas that do not end the reach of a negation\\, such as in my view"`

	Supposing []string `json:"supposing,omitempty" jsonschema:"description=Words that make the rest of a sentence a supposition\\, such as if"`
	Uncertain []string `json:"uncertain,omitempty" jsonschema:"description=Words that leave open whether the rest of a clause is meant\\, such as whether and the authors claim"`
	Seeming   []string `json:"seeming,omitempty" jsonschema:"description=Words after which a clause counts only if no contrast follows\\, such as looks"`
	Contrasts []string `json:"contrasts,omitempty" jsonschema:"description=Words of a contrast\\, such as but"`
	After     []string `json:"after,omitempty" jsonschema:"description=Words right after a phrase that leave it open\\, such as only if and at first sight"`
	Denials   []string `json:"denials,omitempty" jsonschema:"description=Words that leave open what stands before them if they end a clause\\, such as false and no"`
}

// The classes of words that change the reading of others, in the order of [newFinder].
const (
	negates = iota
	negatesNear
	negatesAgain
	breaksReach
	changesNothing
	supposes
	leavesOpen
)

// A mention is an occurrence of a phrase.
type mention struct {
	class    int
	from, to int // words
	negated  bool
	seems    bool // it is said to seem so
	unsure   bool // it may be negated or not, or nobody states it
}

// A finder finds the phrases of some classes.
type finder struct {
	phrases   *trie
	operators *trie
	scope     int
	whole     *trie
	seeming   map[string]bool
	contrasts map[string]bool
	asides    *trie
	after     *trie
	denials   *trie
	thinking  *trie
	joins     map[string]bool // those of alternatives among them
	either    map[string]bool
	beside    *trie // as after, but no other word comes between
	verbs     map[string]bool
	prefixes  map[string]bool
	replies   map[string]bool
	light     map[string]bool // words that do not count in the reach of a negation
	numbers   bool            // a number behind a phrase leaves it open, as a probability does
}

func newFinder(n Negation, classes ...[]string) *finder {
	return &finder{phrases: trieOf(classes...), operators: trieOf(n.Words, n.Near, n.Again, n.Breaks, n.Skip, n.Supposing, n.Uncertain), scope: max(1, n.Scope),
		whole: trieOf(n.Whole), seeming: setOf(n.Seeming), contrasts: setOf(n.Contrasts), asides: trieOf(n.Asides), after: trieOf(n.After), denials: trieOf(n.Denials),
		thinking: trieOf(n.Thinking), joins: setOf(append(n.Either, n.Joins...)), either: setOf(n.Either), beside: newTrie(), verbs: setOf(n.Verbs), prefixes: setOf(n.Prefixes), replies: setOf(n.Replies)}
}

// setOf makes a set of the words of phrases.
func setOf(phrases []string) map[string]bool {
	set := map[string]bool{}
	for _, p := range phrases {
		for _, w := range Words(p) {
			set[w] = true
		}
	}
	return set
}

// negating reports whether a word negates by itself.
func (f *finder) negating(w word) bool {
	class, n := f.operators.longest([]word{w})
	return n > 0 && class <= negatesAgain
}

// phrase returns the class and length of the longest phrase that begins the words, which
// may have a hyphen in a word of it, as in un-sound. A prefix negates it.
func (f *finder) phrase(words []word) (class, length int, opposite bool) {
	class, length = f.phrases.longest(words)
	if length < 2 && len(words) > 1 && words[0].hyphen {
		if t := f.phrases.next[words[0].text+words[1].text]; t != nil && t.class >= 0 {
			return t.class, 2, false
		}
	}
	if length == 0 && len(words) > 1 && f.prefixes[words[0].text] && !words[0].ends && !f.negating(words[0]) {
		if class, n := f.phrases.longest(words[1:]); n > 0 {
			return class, n + 1, true
		}
	}
	return class, length, false
}

// find returns the mentions in order. Each word belongs to at most one: the longest
// that begins first. What stands in parentheses is read by itself.
func (f *finder) find(words []word) []mention {
	var found []mention
	streams := [][]int{nil} // indices of words: the text, and each aside
	for i, w := range words {
		for w.aside >= len(streams) {
			streams = append(streams, nil)
		}
		streams[w.aside] = append(streams[w.aside], i)
	}
	for _, at := range streams {
		s := scan{finder: f, words: make([]word, len(at))}
		for k, i := range at {
			s.words[k] = words[i]
		}
		s.run()
		for _, m := range s.found {
			m.from, m.to = at[m.from], at[m.to-1]+1
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(x, y mention) int { return x.from - y.from })
	return found
}

// within returns the mentions among the words [from, to).
func within(mentions []mention, from, to int) (inside []mention) {
	for _, m := range mentions {
		if m.from >= from && m.to <= to {
			inside = append(inside, m)
		}
	}
	return inside
}

// oneWord writes a phrase in one word, as in NotSound.
func oneWord(phrase string) string { return strings.Join(Words(phrase), "") }
