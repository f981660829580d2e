package synthetic

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Prose is the sections that long documents of a type have once, and those that follow.
type prose struct{ Once, Again []section }

// A section is a heading and sentences, in a letter between a first and a last line.
type section struct {
	Title, Open, Close string
	Body               []string
}

// A longText is the state of the prose of a document.
type longText struct {
	pages      map[string][]int // of the lines of a field
	sections   int
	heading    string   // number of the section, of those whose paragraphs have one
	paragraphs int      // of the section
	rest       []string // sentences of the section
	last       string   // its last line
}

// A block is lines of a document with the field that they are about, or "".
type block struct {
	field string
	write func()
}

// fieldOf is the field of a line, or "".
func fieldOf(line string) string {
	if at := slot.FindStringSubmatch(line); at != nil {
		return at[1]
	}
	return ""
}

// spread writes the lines of a long document over its pages, with prose between them.
func (w *writer) spread(lines []block) {
	pages := w.levers.Pages
	w.long = &longText{pages: map[string][]int{}}
	pageOf := func(i int) int { return 1 + i*pages/len(lines) }
	for i, b := range lines {
		w.long.pages[b.field] = append(w.long.pages[b.field], pageOf(i))
	}
	for i, b := range lines {
		for w.page < pageOf(i) {
			w.prose(pageWords)
			w.newPage()
		}
		w.prose(min(pageWords/2, w.onPage+40+w.below(80)))
		w.end() // a line in a letter would be about the letter
		before := w.text.Len()
		b.write()
		w.onPage += len(strings.Fields(w.text.String()[before:]))
	}
	for ; w.page < pages; w.newPage() {
		w.prose(pageWords)
	}
	w.prose(pageWords)
}

// prose writes paragraphs on the page, up to a number of words.
func (w *writer) prose(words int) {
	for l := w.long; w.onPage < words; {
		if len(l.rest) == 0 {
			w.end()
			w.section()
		}
		var paragraph []string
		if l.heading != "" {
			l.paragraphs++
			paragraph = append(paragraph, l.heading+strconv.Itoa(l.paragraphs))
		}
		for i := range 1 + w.below(3) {
			if len(l.rest) > 0 && (i == 0 || w.onPage < words) { // no heading stands alone
				sentence := w.said(l.rest[0])
				l.rest, paragraph = l.rest[1:], append(paragraph, sentence)
				w.onPage += len(strings.Fields(sentence))
			}
		}
		w.line(strings.Join(paragraph, " "))
	}
}

// say writes a line of prose.
func (w *writer) say(line string) {
	w.line(line)
	w.onPage += len(strings.Fields(line))
}

// end ends the section.
func (w *writer) end() {
	if w.long.last != "" {
		w.say(w.long.last)
	}
	w.long.rest, w.long.last = nil, ""
	if !strings.HasSuffix(w.text.String(), "\n\n") {
		w.line("")
	}
}

// section begins the next section and draws its sentences.
func (w *writer) section() {
	l, p := w.long, w.words.prose[w.design.typeName]
	var s section
	if again := l.sections - len(p.Once); again < 0 {
		s = p.Once[l.sections]
	} else {
		s = p.Again[again%len(p.Again)]
	}
	l.sections++
	l.heading, l.paragraphs = "", 0
	if strings.HasPrefix(s.Title, "{k}. ") {
		l.heading = strconv.Itoa(l.sections) + "."
	}
	w.say(w.said(s.Title))
	if s.Open != "" {
		w.say(w.said(s.Open))
		l.last = w.said(s.Close)
	}
	l.rest = slices.DeleteFunc(slices.Clone(s.Body), func(s string) bool { return !w.far(s) })
	shuffle(w.maker, l.rest)
	l.rest = l.rest[:len(l.rest)-w.below(min(3, len(l.rest)))]
}

// far reports whether a sentence may stand on this page, or the next, on which its section may
// end: decoys stand on other pages than the values that they are like.
func (w *writer) far(sentence string) bool {
	for _, at := range slot.FindAllStringSubmatch(sentence, -1) {
		switch near := w.long.pages[at[2]]; {
		case at[2] == "":
		case w.design.difficulty == easy:
			return false
		case w.levers.Pages > 1 && (slices.Contains(near, w.page) || slices.Contains(near, w.page+1)):
			return false
		}
	}
	return true
}

// wordings are those of which a sentence has one.
var wordings = regexp.MustCompile(`\[[^\]]*\]`)

// said is a sentence with one of its wordings, and with values.
func (w *writer) said(sentence string) string {
	sentence = wordings.ReplaceAllStringFunc(sentence, func(s string) string {
		return pick(w.maker, strings.Split(strings.Trim(s, "[]"), "|"))
	})
	var b strings.Builder
	end := 0
	for _, at := range slot.FindAllStringSubmatchIndex(sentence, -1) {
		b.WriteString(w.noise(sentence[end:at[0]]))
		end = at[1]
		switch name := sentence[at[2]:at[3]]; {
		case at[4] >= 0:
			b.WriteString(w.decoy(name, sentence[at[4]:at[5]], w.design.difficulty))
		case name == "k":
			b.WriteString(strconv.Itoa(w.long.sections))
		case name == "a":
			b.WriteString(strconv.Itoa(w.long.sections - len(w.words.prose[w.design.typeName].Once)))
		case name == "goods":
			b.WriteString(pick(w.maker, w.words.Goods))
		default:
			b.WriteString(strconv.Itoa(2 + w.below(28)))
		}
	}
	b.WriteString(w.noise(sentence[end:]))
	return b.String()
}
