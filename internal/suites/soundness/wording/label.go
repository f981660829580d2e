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
	Markers    []string `json:"markers" jsonschema:"description=Words before a label on a line of its own\\, such as classification"`
	Final      []string `json:"final" jsonschema:"description=Markers of the last word on it\\, such as final classification"`
	Concluding []string `json:"concluding" jsonschema:"description=Words that begin a concluding sentence\\, such as therefore"`
	Correcting []string `json:"correcting,omitempty" jsonschema:"description=Words by which a text takes its label back\\, such as on reflection"`
	Uncertain  []string `json:"uncertain,omitempty" jsonschema:"description=Words that leave open what the rest of a clause says of the label\\, such as too and the evidence is"`
	After      []string `json:"after,omitempty" jsonschema:"description=Words right after a label that leave it open\\, such as evidence: it is about something else"`
	Examples   []string `json:"examples,omitempty" jsonschema:"description=Words shortly before an object in JSON that may be an example\\, such as format: it gives way to another object"`
	Rejected   []string `json:"rejected,omitempty" jsonschema:"description=Words right before an object in JSON that is not the answer\\, such as for example and instead of"`
	Fillers    []string `json:"fillers" jsonschema:"description=Words without meaning beside a label\\, such as the and is"`
}

// NewLabels makes a reader of two labels, each with its phrasings. A phrase of several
// words may also be written as one, as in NotSound. Fillers do not count in the reach of
// a negation: "I would not say that it is sound".
func NewLabels(n Negation, f Format, first, second []string) *Labels {
	n.Uncertain = append(slices.Clone(n.Uncertain), f.Uncertain...)
	l := &Labels{finder: newFinder(n, first, second), markers: trieOf(f.Markers, f.Final), concluding: trieOf(f.Concluding), correcting: trieOf(f.Correcting), examples: trieOf(f.Examples), rejected: trieOf(f.Rejected), fillers: setOf(f.Fillers)}
	for class, phrases := range [][]string{first, second} {
		for _, p := range phrases {
			l.finder.phrases.add(oneWord(p), class)
		}
	}
	for class, phrases := range [][]string{first, second} {
		for _, p := range phrases {
			for _, prefix := range n.Prefixes { // such as unsound, if the study does not list it
				l.finder.phrases.add(oneWord(prefix+p), 1-class)
			}
		}
	}
	l.finder.light, l.finder.numbers, l.finder.beside = l.fillers, true, trieOf(f.After)
	return l
}

// label is the label of a mention: a negated one is the other.
func (m mention) label() int {
	if m.negated {
		return 1 - m.class
	}
	return m.class
}

// agreed returns the label that all mentions give, those aside that are unsure. With
// unsure mentions alone there is no agreement.
func agreed(ms []mention) (label int, conflict bool) {
	label = None
	for _, m := range ms {
		switch {
		case m.unsure:
			conflict = conflict || label == None
		case label == None || label == m.label():
			label, conflict = m.label(), false
		default:
			return None, true
		}
	}
	return label, conflict
}

// Value reads a short text that should be a label and nothing else, such as a value
// of JSON.
func (l *Labels) Value(s string) Reading {
	mentions := l.finder.find(split(s))
	label, conflict := agreed(mentions)
	for _, m := range mentions {
		if m.unsure && m.label() != label {
			label, conflict = None, true
		}
	}
	return Reading{Label: label, Conflict: conflict}
}

// Text reads a whole answer. A sentence or line that only names a label, or a marker
// with a label after it, states it. If such statements differ, the last one counts only
// with a final marker. Without them the last concluding sentence gives the label, else
// all mentions must agree. Questions do not count, nor mentions of which it is not sure
// whether the text states them; if there is nothing else, the reading is a conflict.
func (l *Labels) Text(s string) Reading {
	words := split(s)
	mentions := answering(words, l.finder.find(words))
	if len(mentions) == 0 {
		return Reading{Label: None}
	}
	if r, ok := l.stated(words, mentions); ok {
		if r.Label != None && l.corrected(words, mentions, r) {
			return Reading{Label: None, Conflict: true}
		}
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
	inside := within(mentions, from, to)
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
		if !named && !l.fillers[words[i].text] && !l.finder.negating(words[i]) {
			rest++
		}
	}
	switch {
	case marker < 0 && rest > 0:
		return None, notStated
	case marker >= 0 && rest > 0: // what follows the clause is a reason
		label = inside[0].label()
		for i := from + width; i < inside[0].from; i++ {
			if !l.fillers[words[i].text] && !l.finder.negating(words[i]) {
				return None, notStated // the marker is about something else
			}
		}
		if inside[0].unsure || l.differs(words, inside) {
			return None, statedBoth
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

// differs reports whether the clause of the first mention gives the other label too: "sound
// in one part and unsound in another".
func (l *Labels) differs(words []word, inside []mention) bool {
	for _, m := range inside[1:] {
		for i := inside[0].to; i < m.from; i++ {
			if class, n := l.finder.operators.longest(words[i:]); words[i-1].ends || n > 0 && class == breaksReach {
				return false
			}
		}
		if !words[m.from-1].ends && !m.unsure && m.label() != inside[0].label() {
			return true
		}
	}
	return false
}

// corrected reports whether a text takes back the label that it states: behind the
// statement stands a word of correction, and then the other label.
func (l *Labels) corrected(words []word, mentions []mention, r Reading) bool {
	corrects := false
	for i, w := range words {
		if w.start < r.From {
			continue
		}
		if _, n := l.correcting.longest(words[i:]); n > 0 {
			corrects = true
		}
		for _, m := range mentions {
			if corrects && m.from == i && (m.unsure || m.label() != r.Label) {
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
	mentions := answering(words, l.finder.find(words))
	r, stated := l.stated(words, mentions)
	return stated && r.Label != label || l.corrected(words, mentions, Reading{Label: label})
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

// concluded reads the last sentence that begins with a concluding word and gives one
// label.
func (l *Labels) concluded(words []word, mentions []mention) (int, bool) {
	for to := len(words); to > 0; {
		from := to - 1
		for from > 0 && words[from-1].sentence == words[to-1].sentence {
			from--
		}
		const first = 3 // one of the first words is concluding
		if l.concluding.begins(words[from:to], first) {
			if label, conflict := agreed(within(mentions, from, to)); label != None && !conflict {
				return label, true
			}
		}
		to = from
	}
	return None, false
}
