package wording

import "slices"

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
	finder  *finder
	markers *trie // classes: 0 names the label, 1 does so finally
	fillers map[string]bool
}

// A Format says how a text gives its label.
type Format struct {
	Markers []string `json:"markers" jsonschema:"description=Words before a label\\, such as classification"`
	Final   []string `json:"final" jsonschema:"description=Markers of the last word on it\\, such as final classification"`
	Fillers []string `json:"fillers" jsonschema:"description=Words that may stand beside a label in the clause that states it\\, such as the and is"`
}

// NewLabels makes a reader of two labels, each with its phrasings. A phrase of several
// words may also be written as one, as in NotSound.
func NewLabels(n Negation, f Format, first, second []string) *Labels {
	return &Labels{finder: newFinder(n, first, second), markers: trieOf(f.Markers, f.Final), fillers: SetOf(f.Fillers)}
}

// A mention is a label that a text names.
type mention struct {
	label  int
	sure   bool   // the text states it
	stated bool   // by a sentence that names nothing else, or behind a marker
	final  bool   // behind the marker of a final label
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
// states must agree. Whatever else names a label is in doubt, which is a conflict if no label is
// stated.
func (l *Labels) Text(s string) Reading {
	all := l.mentions(split(s))
	sure := slices.DeleteFunc(slices.Clone(all), func(m mention) bool { return !m.sure })
	if len(sure) == 0 {
		return Reading{Label: None, Conflict: len(all) > 0}
	}
	last, agreed := sure[0], true
	for _, m := range sure[1:] {
		agreed = m.final || agreed && (last.final || m.label == last.label)
		if m.final || !last.final {
			last = m
		}
	}
	if !agreed {
		return Reading{Label: None, Conflict: true}
	}
	r := Reading{Label: last.label}
	if last.stated {
		r.From, r.To = last.reach[0], last.reach[1]
	}
	return r
}

// mentions reads the labels that a text names, sentence by sentence. A sentence that only negates,
// such as "It is not.", takes back the one before it.
func (l *Labels) mentions(words []word) (list []mention) {
	from := 0
	for _, tokens := range l.finder.sentences(words) {
		for k := from; k < len(list) && l.idle(words, tokens); k++ {
			list[k].sure = false
		}
		from = len(list)
		list = append(list, l.sentence(words, tokens)...)
	}
	return list
}

// sentence reads the labels of a sentence. One is sure if its clause has nothing but words
// without meaning and at most one negation of it, and the rest of the sentence leaves it so.
func (l *Labels) sentence(words []word, tokens []token) (list []mention) {
	if !has(tokens, mentions) {
		return nil
	}
	first, last := words[tokens[0].from], words[tokens[len(tokens)-1].to-1]
	open := has(tokens, leavesOpen) || last.question
	only, marker := true, -1 // only: no clause has anything else
	for from := 0; from < len(tokens); {
		to := from + 1
		for to < len(tokens) && !tokens[to-1].ends && (tokens[to].kind < contrasts || tokens[to].kind > breaks) {
			to++
		}
		clause := tokens[from:to]
		if len(list) == 0 {
			marker = max(marker, l.marker(words, clause))
		}
		named := l.clause(words, clause)
		hangs := len(clause) == 1 && words[clause[0].to-1].comma // "Sound, on the other hand, is the evidence"
		for k := range named {
			m := &named[k]
			m.reach = [2]int{first.start, last.end}
			m.stated, m.final = marker >= 0, marker == 1
			m.sure = m.sure && clause[0].kind != concedes && (marker >= 0 || !hangs && !has(tokens[to:], contrasts))
		}
		list = append(list, named...)
		open = open || l.idle(words, clause)
		only = only && l.empty(words, clause)
		from = to
	}
	open = open || slices.ContainsFunc(list, func(m mention) bool { return m.label != list[0].label })
	for k := range list {
		m := &list[k]
		m.sure = m.sure && !open
		m.stated = m.stated || only
	}
	return list
}

// clause reads the labels of a clause.
func (l *Labels) clause(words []word, tokens []token) (list []mention) {
	negations, empty := 0, l.empty(words, tokens)
	for _, t := range tokens {
		switch t.kind {
		case negates:
			negations++
		case mentions:
			m := mention{label: t.class, sure: empty && negations < 2 && !words[t.to-1].question}
			if negations == 1 {
				m.label = 1 - m.label
			}
			list, negations = append(list, m), 0
		}
	}
	return list
}

// idle reports whether a clause or sentence has a negation that negates nothing in it: "it is
// not".
func (l *Labels) idle(words []word, tokens []token) bool {
	ends := tokens[len(tokens)-1].kind == negates
	return ends || has(tokens, negates) && !has(tokens, mentions) && l.empty(words, tokens)
}

// marker is the class of the marker of a clause, behind words without meaning; -1 without one.
func (l *Labels) marker(words []word, clause []token) int {
	end := clause[len(clause)-1].to
	for _, t := range clause {
		class, n := l.markers.longest(words[t.from:end])
		if n > 0 || t.kind != plain || !l.fillers[words[t.from].text] {
			return class
		}
	}
	return -1
}

// Final reports whether a text ends by announcing a final label, as with "Final answer:".
func (l *Labels) Final(s string) bool {
	words := split(s)
	all := l.finder.sentences(words)
	return len(all) > 0 && l.marker(words, all[len(all)-1]) == 1
}

// empty reports whether a clause has no words with a meaning of their own: nothing but
// labels, markers, fillers and what negates them.
func (l *Labels) empty(words []word, clause []token) bool {
	until := 0
	for _, t := range clause {
		for i := t.from; t.kind == plain && i < t.to; i++ {
			if _, n := l.markers.longest(words[i:clause[len(clause)-1].to]); n > 0 {
				until = max(until, i+n)
			}
			if i >= until && !l.fillers[words[i].text] {
				return false
			}
		}
	}
	return !has(clause, leavesOpen)
}

// Declines reports whether one of some phrases is among the first words of a text that names no
// label, or both: it cannot choose. A text that names one label, if only in doubt, does not decline.
func (l *Labels) Declines(s string, phrases *Matcher, first int) bool {
	words := split(s)
	all := l.mentions(words)
	other := func(m mention) bool { return m.label != all[0].label }
	return phrases.phrases.begins(words, first) && (len(all) == 0 || slices.ContainsFunc(all, other))
}
