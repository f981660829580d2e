package wording

import "strings"

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
	fillers    map[string]bool
}

// A Format says how a text gives its label.
type Format struct {
	Markers    []string `json:"markers" jsonschema:"description=Words before a label on a line of its own\\, such as classification"`
	Final      []string `json:"final" jsonschema:"description=Markers of the last word on it\\, such as final classification"`
	Concluding []string `json:"concluding" jsonschema:"description=Words that begin a concluding sentence\\, such as therefore"`
	Fillers    []string `json:"fillers" jsonschema:"description=Words without meaning beside a label\\, such as the and is"`
}

// NewLabels makes a reader of two labels, each with its phrasings. A phrase of several
// words may also be written as one, as in NotSound. Fillers do not count in the reach of
// a negation: "I would not say that it is sound".
func NewLabels(n Negation, f Format, first, second []string) *Labels {
	l := &Labels{finder: newFinder(n, first, second), markers: newTrie(), concluding: newTrie(), fillers: map[string]bool{}}
	for class, phrases := range [][]string{first, second} {
		for _, p := range phrases {
			l.finder.phrases.add(strings.Join(Words(p), ""), class)
		}
	}
	for class, phrases := range [][]string{f.Markers, f.Final} {
		for _, p := range phrases {
			l.markers.add(p, class)
		}
	}
	for _, p := range f.Concluding {
		l.concluding.add(p, 0)
	}
	for _, p := range f.Fillers {
		for _, w := range Words(p) {
			l.fillers[w] = true
		}
	}
	l.finder.light = l.fillers
	return l
}

// label is the label of a mention: a negated one is the other.
func (m mention) label() int {
	if m.negated {
		return 1 - m.class
	}
	return m.class
}

// agreed returns the label that all mentions give.
func agreed(ms []mention) (label int, conflict bool) {
	label = None
	for _, m := range ms {
		switch {
		case label == None:
			label = m.label()
		case label != m.label():
			return None, true
		}
	}
	return label, false
}

// Value reads a short text that should be a label and nothing else, such as a value
// of JSON.
func (l *Labels) Value(s string) Reading {
	label, conflict := agreed(l.finder.find(split(s)))
	return Reading{Label: label, Conflict: conflict}
}

// Text reads a whole answer. A sentence or line that only names a label, or a marker
// with a label after it, states it. If such statements differ, the last one counts only
// with a final marker. Without them the last concluding sentence gives the label, else
// all mentions must agree. Questions do not count.
func (l *Labels) Text(s string) Reading {
	words := split(s)
	mentions := answering(words, l.finder.find(words))
	if len(mentions) == 0 {
		return Reading{Label: None}
	}
	if r, ok := l.stated(words, mentions); ok {
		return r
	}
	if label, ok := l.concluded(words, mentions); ok {
		return Reading{Label: label}
	}
	label, conflict := agreed(mentions)
	return Reading{Label: label, Conflict: conflict}
}

// answering leaves out what is mentioned in a question.
func answering(words []word, mentions []mention) []mention {
	asked := map[int]bool{} // by sentence
	for _, w := range words {
		if w.question {
			asked[w.sentence] = true
		}
	}
	kept := mentions[:0]
	for _, m := range mentions {
		if !asked[words[m.from].sentence] {
			kept = append(kept, m)
		}
	}
	return kept
}

// stated reads the statements of a label: sentences, and lines of a list.
func (l *Labels) stated(words []word, mentions []mention) (Reading, bool) {
	var last, final Reading
	found, differ, finally := false, false, false
	for from := 0; from < len(words); {
		to := from
		for to < len(words) && words[to].line == words[from].line && words[to].sentence == words[from].sentence {
			to++
		}
		label, kind := l.statement(words, from, to, mentions)
		r := Reading{Label: label, From: words[from].start, To: words[to-1].end}
		switch kind {
		case statedBoth:
			differ = true
		case statedFinally:
			final, finally = r, true
		case statedOnce:
			differ = differ || found && label != last.Label
			last, found = r, true
		}
		from = to
	}
	switch {
	case finally:
		return final, true
	case differ:
		return Reading{Label: None, Conflict: true}, true
	}
	return last, found
}

// The ways in which a sentence states a label.
const (
	notStated = iota
	statedOnce
	statedBoth
	statedFinally
)

// statement reads one sentence or line.
func (l *Labels) statement(words []word, from, to int, mentions []mention) (label, kind int) {
	var inside []mention
	for _, m := range mentions {
		if m.from >= from && m.to <= to {
			inside = append(inside, m)
		}
	}
	if len(inside) == 0 {
		return None, notStated
	}
	marker, width := -1, 0
	for i := from; i < inside[0].from; i++ {
		if class, n := l.markers.longest(words[i:to]); n > 0 && i+n <= inside[0].from {
			marker, width = class, i+n-from
			break
		}
		if !l.fillers[words[i].text] {
			break
		}
	}
	rest := 0 // words that are neither marker, label nor filler
	for i := from + width; i < to; i++ {
		named := false
		for _, m := range inside {
			named = named || i >= m.from && i < m.to
		}
		if !named && !l.fillers[words[i].text] && l.finder.class(words[i]) != 0 {
			rest++
		}
	}
	switch {
	case marker < 0 && rest > 0:
		return None, notStated
	case marker >= 0 && rest > 0: // what follows the clause is a reason
		label = inside[0].label()
		for i := from + width; i < inside[0].from; i++ {
			if !l.fillers[words[i].text] && l.finder.class(words[i]) != 0 {
				return None, notStated // the marker is about something else
			}
		}
		kind = statedOnce
	default:
		var conflict bool
		if label, conflict = agreed(inside); conflict {
			return None, statedBoth
		}
		kind = statedOnce
	}
	if marker == 1 {
		kind = statedFinally
	}
	return label, kind
}

// class is 0 for a word that negates.
func (f *finder) class(w word) int {
	c, _ := f.negation.longest([]word{w})
	if c == 3 {
		return 0
	}
	return c
}

// concluded reads the last sentence that begins with a concluding word and gives one
// label.
func (l *Labels) concluded(words []word, mentions []mention) (int, bool) {
	for to := len(words); to > 0; {
		from := to - 1
		for from > 0 && words[from-1].sentence == words[to-1].sentence {
			from--
		}
		if l.concludes(words[from:to]) {
			var inside []mention
			for _, m := range mentions {
				if m.from >= from && m.to <= to {
					inside = append(inside, m)
				}
			}
			if label, conflict := agreed(inside); label != None && !conflict {
				return label, true
			}
		}
		to = from
	}
	return None, false
}

// concludes reports whether one of the first words of a sentence is concluding.
func (l *Labels) concludes(words []word) bool {
	const first = 3
	for i := range min(first, len(words)) {
		if _, n := l.concluding.longest(words[i:]); n > 0 {
			return true
		}
	}
	return false
}
