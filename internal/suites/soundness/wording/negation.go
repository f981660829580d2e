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

// The classes of words that change the reading of others.
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
	f := &finder{phrases: newTrie(), operators: newTrie(), scope: max(1, n.Scope), whole: trieOf(n.Whole),
		seeming: setOf(n.Seeming), contrasts: setOf(n.Contrasts), asides: trieOf(n.Asides), after: trieOf(n.After), denials: trieOf(n.Denials),
		thinking: trieOf(n.Thinking), joins: setOf(append(n.Either, n.Joins...)), either: setOf(n.Either), beside: newTrie(), verbs: setOf(n.Verbs), prefixes: setOf(n.Prefixes), replies: setOf(n.Replies)}
	for class, phrases := range classes {
		for _, p := range phrases {
			f.phrases.add(p, class)
		}
	}
	for class, phrases := range [][]string{negates: n.Words, negatesNear: n.Near, negatesAgain: n.Again, breaksReach: n.Breaks, changesNothing: n.Skip,
		supposes: n.Supposing, leavesOpen: n.Uncertain} {
		for _, p := range phrases {
			f.operators.add(p, class)
		}
	}
	return f
}

// trieOf makes a trie of one class.
func trieOf(phrases []string) *trie {
	t := newTrie()
	for _, p := range phrases {
		t.add(p, 0)
	}
	return t
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
	if length == 0 && len(words) > 1 && f.prefixes[words[0].text] && !words[0].ends {
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
		s := scan{finder: f, words: make([]word, len(at)), clause: -1}
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

// A reach is the state of the negations that may reach the next word.
type reach struct {
	count   int // negations in effect
	until   int // words before it are reached
	like    int // words before it are, if they belong to a phrase of the negated class
	since   int // the word after the last negation
	near    bool
	initial bool // nothing comes before it in its clause: it negates the whole
	idle    bool // it has negated nothing yet
	class   int  // of the phrase that it negated first, −1 before
	crossed bool // a verb came since: what follows may be another statement
	thought bool // a word of thinking came since: what follows is what is not thought
	joined  bool // so did a word that joins
	either  bool // which joins alternatives
	listed  bool // and a comma of a list
	open    bool // it stands in parentheses, or is in doubt by itself
}

// A scan is a way through the words.
type scan struct {
	*finder
	words     []word
	found     []mention
	reach     reach
	supposing bool // to the end of the sentence
	seems     bool // to the end of the clause
	doubt     bool // to the end of the clause
	start     int  // where the clause begins
	sentence  int  // where the sentence begins
	clause    int  // number of mentions before the clause
	before    int  // number of mentions before the sentence
	previous  int  // number of mentions before the previous sentence
	compared  int  // number of mentions before the last contrast
}

func (s *scan) run() {
	s.release()
	s.clause = 0
	for i := 0; i < len(s.words); {
		if i > 0 && s.words[i].sentence != s.words[i-1].sentence {
			s.endSentence(i)
		}
		length := s.step(i)
		last := i + length - 1
		i += length
		if s.words[last].ends {
			i = s.endClause(i)
		}
	}
	s.elliptic(len(s.words))
}

// release ends the reach of all negations.
func (s *scan) release() { s.reach = reach{class: None} }

// step reads the phrase, operator or word at i and returns its length.
func (s *scan) step(i int) int {
	w := s.words[i]
	if s.verbs[w.text] {
		s.verb(i)
	}
	class, length, opposite := s.phrase(s.words[i:])
	operator, width := s.operators.longest(s.words[i:])
	s.seems = s.seems || s.seeming[w.text]
	if s.contrasts[w.text] {
		s.contrast(i)
	}
	switch {
	case length > 0 && length >= width:
		s.mention(class, i, length, opposite)
		return length
	case width > 0:
		s.operator(operator, i, width)
		return width
	}
	r := &s.reach
	if _, n := s.thinking.longest(s.words[i:]); n > 0 && !r.joined {
		if r.thought = true; i < r.until {
			r.until = i + 1 + s.scope
		}
	}
	if s.joins[w.text] {
		r.joined, r.either, r.like = true, s.either[w.text], i+1+s.scope
	}
	if s.light[w.text] {
		if i <= r.until {
			r.until++
		}
		if i <= r.like {
			r.like++
		}
	}
	return 1
}

// verb takes note of a verb: what follows it may be another statement than the one that
// is negated.
func (s *scan) verb(i int) {
	r := &s.reach
	switch {
	case r.near, i > s.start && i != r.since && s.joins[s.words[i-1].text]: // "does not overstate and is clear"
		s.release()
	case r.count > 0 && (r.joined || !r.initial && !r.thought && i > r.since):
		r.crossed = true
	}
}

// mention adds a mention.
func (s *scan) mention(class, i, length int, opposite bool) {
	r := &s.reach
	m := mention{class: class, from: i, to: i + length, negated: opposite, seems: s.seems, unsure: s.supposing || s.doubt || s.followed(i+length)}
	same := class == r.class
	switch {
	case r.count > 0 && (i < r.until || same && i < r.like):
		m.negated = opposite != (r.count%2 == 1)
		m.unsure = m.unsure || r.crossed || r.open || r.near && s.numbers && !s.openBetween(r.since, i) || (r.joined || r.listed) && !same && !(r.either && r.class == None)
	case r.idle:
		m.unsure = true // out of reach: perhaps negated
	}
	if r.class == None && r.count > 0 {
		r.class = class
	}
	r.idle = false
	s.found = append(s.found, m)
}

// contrast leaves open what only seems so before a contrast: "it looks clear, but".
func (s *scan) contrast(i int) {
	from := max(s.before, s.compared)
	if i == s.sentence {
		from = s.previous
	}
	s.compared = len(s.found)
	for k := from; k < len(s.found); k++ {
		s.found[k].unsure = s.found[k].unsure || s.found[k].seems
	}
}

// operator applies an operator.
func (s *scan) operator(class, i, width int) {
	r := &s.reach
	switch class {
	case negates, negatesNear, negatesAgain:
		next := reach{count: 1, idle: true, class: None, near: class == negatesNear, initial: s.initial(i), open: s.words[i].optional}
		switch {
		case class == negatesAgain || r.count == 0:
		case (r.joined || r.listed) && !r.thought:
		case i == r.since, r.thought && (i < r.until || r.idle && !r.near):
			next.count, next.crossed = r.count+1, r.crossed || i >= r.until
		case r.near:
		case i < r.until || r.idle:
			next.crossed = true // one of two negations, and it is not clear which one counts
		}
		next.since, next.until = i+width, i+width+s.scope
		next.like = next.until
		*r = next
		if i == s.sentence && width == 1 && s.words[i].ends && s.replies[s.words[i].text] {
			s.release()
		}
	case breaksReach:
		if r.idle && i == r.since {
			r.crossed = true // "is not however clear"
			break
		}
		s.release()
		s.doubt = false
	case changesNothing:
		if i <= r.until {
			r.until += width
		}
	case supposes:
		s.supposing = true
	case leavesOpen:
		s.doubt = true
	}
}

// initial reports whether the negation at i is one of a whole clause: nothing but words
// without meaning comes before it.
func (s *scan) initial(i int) bool {
	if _, n := s.whole.longest(s.words[i:]); n == 0 {
		return false
	}
	for _, w := range s.words[s.start:i] {
		if s.verbs[w.text] {
			return false
		}
	}
	return s.lightBetween(s.start, i)
}

// lightBetween reports whether words have no meaning of their own.
func (s *scan) lightBetween(from, to int) bool {
	for i := from; i < to; i++ {
		if !s.light[s.words[i].text] {
			return false
		}
	}
	return true
}

// openBetween reports whether a negation still waits for what it negates: nothing but
// verbs and words without meaning follow it.
func (s *scan) openBetween(from, to int) bool {
	if to-from > 10*s.scope {
		return false // and a long text takes no longer than its words
	}
	for _, w := range s.words[from:to] {
		if !s.light[w.text] && !s.verbs[w.text] {
			return false
		}
	}
	return true
}

// followed reports whether the words from i on leave open what stands before them.
func (s *scan) followed(i int) bool {
	here := s.words[i-1]
	same := func(k int) bool {
		return k < len(s.words) && s.words[k].sentence == here.sentence && s.words[k].line == here.line
	}
	if s.numbers && same(i) && s.words[i].text[0] <= '9' && !here.soft {
		return true
	}
	if _, n := s.beside.longest(s.words[i:]); n > 0 && same(i) && !here.ends {
		return true
	}
	for k, ended := i, here.ends; same(k); k++ {
		if class, n := s.operators.longest(s.words[k:]); n > 0 && !ended && class == negates {
			if _, named, _ := s.phrase(s.words[k:]); named == 0 {
				return true // "sound is not the word"
			}
		}
		if _, n := s.after.longest(s.words[k:]); n > 0 && !ended {
			return true
		}
		if _, n := s.denials.longest(s.words[k:]); n > 0 {
			for k += n; same(k) && !s.words[k-1].ends && s.light[s.words[k].text]; k++ {
			}
			return s.words[k-1].ends || !same(k)
		}
		if w := s.words[k].text; !s.light[w] && !s.verbs[w] || ended && k > i {
			return false
		}
		ended = ended || s.words[k].ends
	}
	return false
}

// endSentence begins a new sentence at i.
func (s *scan) endSentence(i int) {
	s.elliptic(i)
	s.release()
	s.supposing, s.doubt, s.seems = false, false, false
	s.start, s.sentence = i, i
	s.previous, s.before, s.clause = s.before, len(s.found), len(s.found)
}

// elliptic leaves open what a negation at the end of a clause or sentence may be about:
// "sound it is not", "It may look sound. It is not."
func (s *scan) elliptic(end int) {
	r := s.reach
	if !r.idle || !s.lightBetween(r.since, end) {
		return
	}
	from := s.clause
	if s.lightBetween(s.start, max(s.start, r.since-1)) || s.retracts(end) {
		if from = s.before; s.before == len(s.found) {
			from = s.previous
		}
	}
	for k := from; k < len(s.found); k++ {
		s.found[k].unsure = true
	}
}

// retracts reports whether the last clause has nothing but a break and a negation:
// "but it is not".
func (s *scan) retracts(end int) bool {
	for i := s.start; i < end; {
		_, n := s.operators.longest(s.words[i:end])
		if n == 0 && !s.light[s.words[i].text] {
			return false
		}
		i += max(1, n)
	}
	return true
}

// endClause ends a clause before i. It returns where to read on: behind an aside between
// commas, "is not, in my view, sound".
func (s *scan) endClause(i int) int {
	r := &s.reach
	last := s.words[i-1]
	sameSentence := i < len(s.words) && s.words[i].sentence == last.sentence
	switch {
	case !sameSentence:
		return i
	case !last.soft:
		s.elliptic(i)
		s.release()
		s.supposing, s.doubt, s.seems = false, false, false
	case r.idle && r.count > 0 && s.openBetween(r.since, i):
		end := s.clauseEnd(i)
		closed := end < len(s.words) && s.words[end-1].soft && s.words[end].sentence == last.sentence
		_, aside := s.asides.longest(s.words[i:])
		if !closed {
			if i == r.since || aside > 0 {
				r.crossed, r.until = true, s.sentenceEnd(i) // it may be about anything that follows
			} else {
				s.release()
				s.doubt = false
			}
			break
		}
		if i != r.since && aside == 0 {
			r.crossed = true
		}
		i = end
		r.until, r.like = i+s.scope, i+s.scope
	case (r.count > 0 || s.doubt) && s.lists(i):
		if r.listed = true; r.count > 0 {
			r.until, r.like = i+s.scope, i+s.scope
		}
	default:
		s.elliptic(i)
		s.release()
		s.doubt, s.seems = false, false
	}
	s.start, s.clause = i, len(s.found)
	return i
}

// clauseEnd is the end of the clause at i.
func (s *scan) clauseEnd(i int) int {
	for i++; i < len(s.words) && !s.words[i-1].ends && s.words[i].sentence == s.words[i-1].sentence; i++ {
	}
	return i
}

func (s *scan) sentenceEnd(i int) int {
	n := s.words[i].sentence
	for i < len(s.words) && s.words[i].sentence == n {
		i++
	}
	return i
}

// lists reports whether the clause at i goes on with a list: it is no statement of its
// own, and a word that joins comes before the list ends, or the list is long.
func (s *scan) lists(i int) bool {
	sentence := s.words[i].sentence
	for items := 0; i < len(s.words) && s.words[i].sentence == sentence; items++ {
		if items > 1 {
			return true
		}
		end := s.clauseEnd(i)
		switch class, n := s.operators.longest(s.words[i:end]); {
		case n > 0 && class >= breaksReach:
			return false
		case n > 0 && class == negatesAgain && items > 0: // "neither a, b, nor c is given"
			return true
		}
		joined := false
		for k := i; k < end; k++ {
			if s.verbs[s.words[k].text] {
				return false
			}
			joined = joined || s.joins[s.words[k].text]
		}
		if joined {
			return true
		}
		if !s.words[end-1].soft {
			return items > 0 || s.reach.listed
		}
		i = end
	}
	return false
}

// oneWord writes a phrase in one word, as in NotSound.
func oneWord(phrase string) string { return strings.Join(Words(phrase), "") }
