package wording

// A reach is the state of the negations that may reach the next word.
type reach struct {
	count   int // negations in effect
	until   int // words before it are reached
	since   int // the word after the last negation
	near    bool
	initial bool // nothing comes before it in its clause: it negates the whole
	idle    bool // it has negated nothing yet
	class   int  // of the phrase that it negated first, −1 before
	crossed bool // it may not count: a verb came since, it stands in parentheses, or it is one of two
	thought bool // a word of thinking came since: what follows is what is not thought
	joined  bool // so did a word that joins, or a comma of a list
	either  bool // which joins alternatives
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
		r.joined, r.either, r.until = true, s.either[w.text], i+1+s.scope
	}
	if s.light[w.text] && i <= r.until {
		r.until++
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
	case r.count > 0 && i < r.until:
		m.negated = opposite != (r.count%2 == 1)
		m.unsure = m.unsure || r.crossed || r.near && s.numbers && !s.openBetween(r.since, i) || r.joined && !same && !(r.either && r.class == None)
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
		next := reach{count: 1, idle: true, class: None, near: class == negatesNear, initial: s.initial(i), crossed: s.words[i].optional}
		switch {
		case class == negatesAgain || r.count == 0:
		case r.joined && !r.thought:
		case i == r.since, r.thought && (i < r.until || r.idle && !r.near):
			next.count, next.crossed = r.count+1, next.crossed || r.crossed || i >= r.until
		case i < r.until || r.idle:
			next.crossed = true // one of two negations, and it is not clear which one counts
		}
		next.since, next.until = i+width, i+width+s.scope
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
// the clause, or if nothing else is in it, the sentence or the one before. "Sound it is
// not", "It may look sound. It is not."
func (s *scan) elliptic(end int) {
	r := s.reach
	if !r.idle || !s.lightBetween(r.since, end) {
		return
	}
	from := s.clause
	if s.lightBetween(s.start, max(s.start, r.since-1)) || s.retracts(end) {
		if from = s.before; from == len(s.found) {
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
			r.crossed, r.until = true, s.sentenceEnd(i) // it may be about anything that follows
			break
		}
		r.crossed = r.crossed || i != r.since && aside == 0
		i = end
		r.until = i + s.scope
	case (r.count > 0 || s.doubt) && s.lists(i):
		if r.joined = true; r.count > 0 {
			r.until = i + s.scope
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
		joined, either, named := false, false, false
		for k := i; k < end; k++ {
			if s.verbs[s.words[k].text] {
				return either && named // "no gaps, flaws or leaps were found"
			}
			_, n, _ := s.phrase(s.words[k:end])
			named = named || n > 0
			joined, either = joined || s.joins[s.words[k].text], either || s.either[s.words[k].text]
		}
		if joined {
			return true
		}
		if !s.words[end-1].soft {
			return items > 0 || s.reach.joined
		}
		i = end
	}
	return false
}
