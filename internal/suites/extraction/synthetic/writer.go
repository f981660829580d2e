package synthetic

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed words.yaml
var wordsFile []byte

//go:embed prose.yaml
var proseFile []byte

// A vocabulary is the content of words.yaml and prose.yaml, which document it.
type vocabulary struct {
	Pools map[string][]string  `yaml:"pools"`
	Goods []string             `yaml:"goods"`
	Types map[string]*typeWord `yaml:"types"`
	prose map[string]prose
}

type typeWord struct {
	Fields    []field           `yaml:"fields"`
	Bare      []string          `yaml:"bare"`
	Templates [][]string        `yaml:"templates"`
	Again     map[string]string `yaml:"again"`
	Decoys    []string          `yaml:"decoys"`
	Filler    []string          `yaml:"filler"`
}

// A field has values of a kind; those of ids have a prefix.
type field struct{ Name, Kind, Prefix string }

var words = sync.OnceValues(func() (*vocabulary, error) {
	var v vocabulary
	err := yaml.UnmarshalWithOptions(wordsFile, &v, yaml.Strict())
	if err != nil {
		return nil, fmt.Errorf("reading words.yaml: %w", err)
	}
	if err = yaml.UnmarshalWithOptions(proseFile, &v.prose, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("reading prose.yaml: %w", err)
	}
	return &v, nil
})

// A writer writes the text of a document and keeps where its values are.
type writer struct {
	*maker
	design design
	kind   *typeWord
	values map[string][]value
	places map[string][]place

	text   strings.Builder
	page   int
	onPage int    // words of prose
	table  string // the field that stands in a table, "" without one
	long   *longText
	wrong  []decoy
}

// A place is a value in the text with its page and quote.
type place struct {
	page  int
	quote string
}

var slot = regexp.MustCompile(`\{([a-z_]+)(?::([a-z_]+))?\}`)

// write writes one template, the second lines of ambiguous fields last.
func (w *writer) write() string {
	w.places = map[string][]place{}
	w.newPage()
	breaks := w.breaks()
	template := pick(w.maker, w.kind.Templates)
	w.table = w.drawField(func(_ field, of fate) bool { return w.design.table && of != missing })
	bare := w.drawField(func(f field, of fate) bool { // its label is left out
		return w.design.difficulty == adversarial && of == present && f.Name != w.table && slices.Contains(w.kind.Bare, f.Name)
	})
	n := 0
	var lines []block
	add := func(field string, write func()) { lines = append(lines, block{field, write}) }
	for _, line := range template {
		switch line {
		case "---":
			add("", func() {
				if n++; n <= breaks {
					w.newPage()
				}
			})
		case "<items>":
			add("", func() {
				for range 2 + w.below(4) {
					w.line(fmt.Sprintf("%d x %s   %s", 1+w.below(9), w.noise(pick(w.maker, w.words.Goods)), w.price()))
				}
			})
		case "<filler>":
			add("", func() { w.line(w.noise(pick(w.maker, w.kind.Filler))) })
		case "<decoys>":
			if w.levers.Pages == 0 { // the prose of long documents has its own
				add("", w.decoys)
			}
		default:
			add(fieldOf(line), func() { w.fieldLine(line, bare) })
		}
	}
	for _, f := range w.kind.Fields {
		if len(w.values[f.Name]) > 1 {
			add(f.Name, func() { w.fieldLine(w.kind.Again[f.Name], "") })
		}
	}
	if w.levers.Pages > 0 {
		w.spread(lines)
	} else {
		for _, line := range lines {
			line.write()
		}
	}
	return w.text.String()
}

// price is an amount beside goods.
func (w *writer) price() string {
	point := "."
	if locales[w.levers.Locale].months != nil { // not in English
		point = ","
	}
	whole, cents := 1+w.below(90), w.below(100)
	return fmt.Sprintf("%d%s%02d", whole, point, cents)
}

// drawField draws one of the fields that may be drawn, "" without any.
func (w *writer) drawField(may func(f field, of fate) bool) string {
	var can []string
	for i, f := range w.kind.Fields {
		if may(f, w.design.fates[i]) {
			can = append(can, f.Name)
		}
	}
	if len(can) == 0 {
		return ""
	}
	return pick(w.maker, can)
}

// breaks is the number of page breaks.
func (w *writer) breaks() int {
	if w.levers.Pages > 0 {
		return 0 // long documents have their own
	}
	switch w.design.difficulty {
	case easy:
		return 0
	case hard:
		return 1 + w.below(2)
	}
	return w.below(2)
}

func (w *writer) newPage() {
	w.page++
	w.onPage = 0
	fmt.Fprintf(&w.text, "---PAGE %d---\n", w.page)
}

func (w *writer) line(s string) { w.text.WriteString(s + "\n") }

// fieldLine writes the line of a field with its next value, and nothing if it is
// missing. Lines without a field are written as they are.
func (w *writer) fieldLine(line, bare string) {
	at := slot.FindStringSubmatchIndex(line)
	if at == nil {
		if w.levers.Pages > 0 {
			line = strings.TrimLeft(line, "0123456789. ") // sections of prose have numbers of their own
		}
		w.line(w.noise(line))
		return
	}
	name := line[at[2]:at[3]]
	k := len(w.places[name])
	if k >= len(w.values[name]) {
		return
	}
	before, after := w.style(line[:at[0]]), line[at[1]:]
	if name == bare {
		before, after = "", ""
	}
	shown := w.values[name][k].shown
	if name == w.table && k == 0 {
		i := slices.IndexFunc(w.kind.Fields, func(f field) bool { return f.Name == name })
		w.places[name] = append(w.places[name], place{w.page, w.inTable(w.kind.Fields[i], before, shown)})
		return
	}
	w.line(before + shown + after)
	w.places[name] = append(w.places[name], place{w.page, lastWords(before, 3) + shown})
}

// style varies a label: its case in documents of medium difficulty, and noise.
func (w *writer) style(label string) string {
	if w.design.difficulty == medium && w.below(3) == 0 {
		label = strings.ToUpper(label)
	}
	return w.noise(label)
}

// lastWords are the last n words of a label, so that quotes are short.
func lastWords(label string, n int) string {
	words := strings.SplitAfter(label, " ")
	if k := len(words) - 1 - n; k > 0 && words[len(words)-1] == "" {
		words = words[k:]
	}
	return strings.Join(words, "")
}

// decoys writes lines that look like fields but are not. Dates and amounts are
// close to those of fields.
func (w *writer) decoys() {
	if w.design.difficulty != hard {
		return
	}
	list := slices.Clone(w.kind.Decoys)
	shuffle(w.maker, list)
	for _, line := range list[:3] {
		w.line(slot.ReplaceAllStringFunc(line, func(s string) string {
			m := slot.FindStringSubmatch(s)
			return w.decoy(m[1], m[2], hard)
		}))
	}
}

// A decoy is a value in the text that is not that of its field; "" is no field.
type decoy struct {
	kind, field string
	page        int
	value
}

// decoy draws a value that no field of the document has. It is close to that of its field, if
// the field has one and the document is hard.
func (w *writer) decoy(kind, of string, difficulty int) string {
	for {
		var v value
		if values := w.values[of]; len(values) > 0 && difficulty >= hard {
			v = w.near(kind, values[0], hard)
		}
		if v.shown == "" {
			v = w.value(field{Kind: kind}, difficulty)
		}
		if !w.taken(v) {
			w.wrong = append(w.wrong, decoy{kind, of, w.page, v})
			return v.shown
		}
	}
}

// taken reports whether a field has the value, or with levers one that is written like a part of it.
func (w *writer) taken(v value) bool {
	for _, list := range w.values {
		for _, x := range list {
			if x.correct == v.correct || !w.levers.Zero() && overlap(x.shown, v.shown) {
				return true
			}
		}
	}
	return false
}

// misread are characters as a scanner may read them.
var misread = map[rune]rune{'o': '0', 'O': '0', 'l': '1', 'i': '1', 'S': '5', 'B': '8', 'e': 'c', 'n': 'r'}

// noise misreads a few characters of a receipt that is not easy, never those of a
// value.
func (w *writer) noise(s string) string {
	if w.design.typeName != "receipt" || w.design.difficulty == easy {
		return s
	}
	return strings.Map(func(r rune) rune {
		if as, ok := misread[r]; ok && w.below(9) == 0 {
			return as
		}
		return r
	}, s)
}
