package wording

import (
	"slices"
	"strings"
)

// None is the label of a text that names none.
const None = -1

// A Reading is the label that a text gives.
type Reading struct {
	Label int // 0 or 1, or None
	// Conflict says that the text gives both labels and neither as its final one.
	Conflict bool
	// From and To are the bytes of the statement of the label, whose end may give a
	// reason. To is 0 if the label is not stated.
	From, To int
}

// Labels reads which of two labels a text gives.
type Labels struct {
	finder     *finder
	markers    *trie // classes: 0 names the label, 1 does so finally
	concluding *trie
	correcting *trie
	examples   *trie
	rejected   *trie
	fillers    map[string]bool
}

// A Format says how a text gives its label.
type Format struct {
	Markers    []string `json:"markers" jsonschema:"description=Words before a label\\, such as classification"`
	Final      []string `json:"final" jsonschema:"description=Markers of the last word on it\\, such as final classification"`
	Concluding []string `json:"concluding" jsonschema:"description=Words that begin a concluding sentence\\, such as therefore"`
	Correcting []string `json:"correcting,omitempty" jsonschema:"description=Words by which a text takes its label back\\, such as on reflection"`
	Examples   []string `json:"examples,omitempty" jsonschema:"description=Words shortly before an object in JSON that may be an example\\, such as format: it gives way to another object"`
	Rejected   []string `json:"rejected,omitempty" jsonschema:"description=Words right before an object in JSON that is not the answer\\, such as for example and instead of"`
	Fillers    []string `json:"fillers" jsonschema:"description=Words that may stand beside a label in the clause that states it\\, such as the and is"`
}

// NewLabels makes a reader of two labels, each with its phrasings. A phrase of several
// words may also be written as one, as in NotSound.
func NewLabels(n Negation, f Format, first, second []string) *Labels {
	return &Labels{finder: newFinder(n, first, second), markers: trieOf(f.Markers, f.Final), concluding: trieOf(f.Concluding), correcting: trieOf(f.Correcting),
		examples: trieOf(f.Examples), rejected: trieOf(f.Rejected), fillers: SetOf(f.Fillers)}
}

// A mention is a label that a text names.
type mention struct {
	label  int
	sure   bool // the text states it
	stated bool // by a sentence that names nothing else, or behind a marker
	final  bool // behind the marker of a final label
	marked bool // behind a marker
	closes bool // in a concluding sentence
	word   int
	reach  [2]int // bytes of its sentence
}

// Value reads a short text that should be a label and nothing else, such as a value
// of JSON.
func (l *Labels) Value(s string) Reading {
	all := l.mentions(split(s))
	for _, m := range all {
		if !m.sure || m.label != all[0].label {
			return Reading{Label: None, Conflict: true}
		}
	}
	if len(all) == 0 {
		return Reading{Label: None}
	}
	return Reading{Label: all[0].label}
}

// Text reads a whole answer. The last final label counts, else all labels that it surely
// states must agree, or those of its concluding sentences if nothing but prose names them.
// Whatever else names a label is in doubt, which is a conflict.
func (l *Labels) Text(s string) Reading {
	words := split(s)
	all := l.mentions(words)
	sure := slices.DeleteFunc(slices.Clone(all), func(m mention) bool { return !m.sure })
	if len(sure) == 0 {
		return Reading{Label: None, Conflict: len(all) > 0}
	}
	last := sure[len(sure)-1]
	agreed, stated := true, false
	for _, m := range sure {
		agreed, stated = agreed && m.label == last.label, stated || m.stated
	}
	pick := func(is func(mention) bool) {
		for _, m := range sure {
			if is(m) {
				last, agreed = m, true
			}
		}
	}
	if !agreed && !stated {
		pick(func(m mention) bool { return m.closes })
	}
	pick(func(m mention) bool { return m.final })
	if !agreed || l.corrected(words, all, last) {
		return Reading{Label: None, Conflict: true}
	}
	r := Reading{Label: last.label}
	if last.stated {
		r.From, r.To = last.reach[0], last.reach[1]
	}
	return r
}

// mentions reads the labels that a text names, sentence by sentence.
func (l *Labels) mentions(words []word) (list []mention) {
	sentences := l.finder.sentences(words)
	for i, tokens := range sentences {
		from := len(list)
		list = append(list, l.sentence(words, tokens)...)
		if i+1 == len(sentences) {
			break
		}
		next := sentences[i+1] // it may take back what is said before it
		for k := from; k < len(list); k++ {
			m := &list[k]
			m.sure = m.sure && !(l.elliptic(words, next) && !has(next, mentions)) && (m.stated || next[0].kind != contrasts)
		}
	}
	return list
}

// sentence reads the labels of a sentence. One is sure if its clause has nothing but words
// without meaning, at most one negation of it, and the rest of the sentence leaves it so.
func (l *Labels) sentence(words []word, tokens []token) (list []mention) {
	if !has(tokens, mentions) {
		return nil
	}
	open := has(tokens, leavesOpen)
	only := true // no clause has anything else
	first, last := words[tokens[0].from], words[tokens[len(tokens)-1].to-1]
	concludes := l.concluding.begins(words[tokens[0].from:tokens[len(tokens)-1].to], 3) >= 0
	marker, bare := -1, false // bare: the last clause is a label alone
	for from := 0; from < len(tokens); {
		to := from + 1
		for to < len(tokens) && !tokens[to-1].ends && (tokens[to].kind < contrasts || tokens[to].kind > breaks) {
			to++
		}
		clause := tokens[from:to]
		if class, n := l.marker(words, clause); n > 0 && marker < 1 {
			marker = class
		}
		if n := len(list); bare && words[clause[0].from-1].soft && marker < 0 && !l.empty(words, clause) && (clause[0].kind < contrasts || clause[0].kind > breaks) {
			list[n-1].sure = false // "Sound, on the other hand, is the evidence"
		}
		bare = !slices.ContainsFunc(clause, func(t token) bool { return t.kind != mentions })
		named := l.clause(words, clause)
		for k := range named {
			m := &named[k]
			m.closes, m.reach = concludes, [2]int{first.start, last.end}
			m.marked = marker >= 0
			m.stated = m.marked && len(list) == 0
			m.final = m.stated && marker == 1
			m.sure = m.sure && !open && clause[0].kind != concedes && (marker >= 0 || !has(tokens[to:], contrasts))
		}
		if list = append(list, named...); named == nil {
			open = open || l.elliptic(words, clause)
			only = only && l.empty(words, clause)
		}
		from = to
	}
	for k := range list {
		m := &list[k]
		m.sure = m.sure && !open && !last.question
		m.stated = m.sure && (m.stated || only)
	}
	return list
}

// clause reads the labels of a clause.
func (l *Labels) clause(words []word, tokens []token) (list []mention) {
	negations := 0
	for _, t := range tokens {
		switch t.kind {
		case negates:
			negations++
		case mentions:
			m := mention{label: t.class, sure: negations < 2, word: t.from}
			if negations == 1 {
				m.label = 1 - m.label
			}
			list, negations = append(list, m), 0
		}
	}
	same := !slices.ContainsFunc(list, func(m mention) bool { return m.label != list[0].label })
	for k := range list {
		list[k].sure = list[k].sure && same && negations == 0 && l.empty(words, tokens)
	}
	if n := len(tokens); len(list) > 0 && tokens[n-1].to < len(words) {
		if next := words[tokens[n-1].to]; next.text[0] <= '9' && next.sentence == words[tokens[0].from].sentence {
			list[len(list)-1].sure = false // "sound: 20 %"
		}
	}
	return list
}

// marker is the class and length of the marker of a clause, behind words without meaning.
func (l *Labels) marker(words []word, clause []token) (class, length int) {
	end := clause[len(clause)-1].to
	for _, t := range clause {
		if class, n := l.markers.longest(words[t.from:end]); n > 0 {
			return class, n
		}
		if t.kind != plain || !l.fillers[words[t.from].text] {
			break
		}
	}
	return -1, 0
}

// empty reports whether a clause has no words with a meaning of their own: nothing but
// labels, markers, fillers and what negates them.
func (l *Labels) empty(words []word, clause []token) bool {
	until := 0
	for _, t := range clause {
		for i := t.from; t.kind == plain && i < t.to; i++ {
			for _, list := range []*trie{l.markers, l.concluding} {
				if _, n := list.longest(words[i:clause[len(clause)-1].to]); n > 0 {
					until = max(until, i+n)
				}
			}
			if i >= until && !l.fillers[words[i].text] {
				return false
			}
		}
		if t.kind == leavesOpen {
			return false
		}
	}
	return true
}

// elliptic reports whether a negation has nothing to negate but what was said before: "it is
// not".
func (l *Labels) elliptic(words []word, tokens []token) bool {
	idle := false
	for _, t := range tokens {
		switch {
		case t.kind == negates:
			idle = true
		case t.kind == mentions, t.kind == plain && !l.fillers[words[t.from].text]:
			idle = false
		}
		if t.ends && idle {
			return true
		}
	}
	return idle
}

// corrected reports whether a text takes back the label that it states: behind it stands a
// word of correction, and then a label that is another one or in doubt.
func (l *Labels) corrected(words []word, all []mention, stated mention) bool {
	corrects := false
	for i := range words {
		if _, n := l.correcting.longest(words[i:]); n > 0 && i > stated.word {
			corrects = true
		}
		for _, m := range all {
			if corrects && m.word == i && (!m.sure || m.label != stated.label) {
				return true
			}
		}
	}
	return false
}

// TakesBack reports whether a text that follows a label gives the other one: it states
// it, or corrects the first.
func (l *Labels) TakesBack(s string, label int) bool {
	words := split(s)
	all := l.mentions(words)
	stated := slices.ContainsFunc(all, func(m mention) bool { return m.stated && m.label != label })
	return stated || l.corrected(words, all, mention{label: label, word: -1})
}

// Declines reports whether one of some phrases is among the first words of a text, unless the text
// gives one label, if only in doubt: in a sentence before that of the phrase, behind a marker, or
// right behind the phrase ("I am unable to call it sound", but not "to say whether it is sound").
func (l *Labels) Declines(s string, phrases *Matcher, first int) bool {
	words := split(s)
	at := phrases.phrases.begins(words[:min(first, len(words))], first)
	if at < 0 {
		return false
	}
	_, n := phrases.phrases.longest(words[at:])
	open := func(t []token) bool { return has(t, leavesOpen) }
	label, here, sentence := None, words[at].sentence, -1
	for _, m := range l.mentions(words) {
		switch in := words[m.word].sentence; {
		case in != sentence && (in > here && !m.marked || in == here && (m.word < at+n || slices.ContainsFunc(l.finder.sentences(words[at+n:m.word]), open))):
		case label != None && (m.label != label || in == sentence): // it cannot choose
			return true
		default:
			label, sentence = m.label, in
		}
	}
	return label == None
}

// An Announcement is what the text before an object says of it.
type Announcement int

// The announcements.
const (
	Plain    Announcement = iota
	Example               // it may be an example, or have the format of one
	Rejected              // it is not the answer
	Final                 // it is the final answer
)

// announcing is the number of words before an object that say what it is.
const announcing = 6

// Announces reads what the end of a text says of the object that follows.
func (l *Labels) Announces(s string) Announcement {
	if i := strings.LastIndex(s, "```"); i >= 0 && !strings.ContainsAny(strings.TrimSpace(s[i:]), " \n") {
		s = s[:i] // the object is in a block of code
	}
	words := split(s)
	words = words[max(0, len(words)-announcing):]
	says := Plain
	for i := range words {
		_, n := l.rejected.longest(words[i:])
		if last := i + n - 1; n > 0 && i+n == len(words) && !(words[last].ends && strings.ContainsAny(s[words[last].end:], ".!?")) {
			return Rejected
		}
		class, n := l.markers.longest(words[i:])
		_, concludes := l.concluding.longest(words[i:])
		_, corrects := l.correcting.longest(words[i:])
		if n > 0 && class == 1 || concludes > 0 || corrects > 0 {
			says = Final
		}
		if _, n := l.examples.longest(words[i:]); n > 0 && says == Plain {
			says = Example
		}
	}
	return says
}
