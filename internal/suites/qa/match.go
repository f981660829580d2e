package qa

import (
	"cmp"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/text"
)

// final is the answer in a reply: what <answer> or \boxed{} marks at its end, else the
// text after the last "Answer:" at the start of a line, else the whole reply. Lenient
// means that something else was left out, such as a courtesy after it. Nothing is left
// out of a reply that matches with it, nor of one that a judge reads, but tokens.
func (q *question) final(reply string) (answer string, lenient bool) {
	written := text.Ended(reply)
	answer = afterMark(written.Text)
	if q.match == matchRubric || q.byText() && q.matches(answer) {
		return answer, written.Lenient
	}
	bare := text.Bare(reply)
	return afterMark(bare.Text), bare.Lenient
}

// afterMark is the text after the last mark, "Answer:" or "Final answer:", which may have signs of
// Markdown around it. It goes back from colon to colon: a reply may be long.
func afterMark(reply string) string {
	const space = " \t\n\f\r"
	for at := strings.LastIndexByte(reply, ':'); at >= 0; at = strings.LastIndexByte(reply[:at], ':') {
		before := strings.TrimRight(strings.TrimRight(strings.TrimRight(reply[:at], space), "*_"), space)
		before, found := cutFolded(before, "answer")
		if !found {
			continue
		}
		before, _ = cutFolded(before, "final ")
		if before = strings.TrimRight(before, " \t\f\r*_#>"); before == "" || strings.HasSuffix(before, "\n") {
			return cmp.Or(strings.TrimSpace(strings.TrimLeft(reply[at+1:], "*_")), strings.TrimSpace(reply))
		}
	}
	return strings.TrimSpace(reply)
}

// cutFolded cuts a word off the end of a text, in upper or lower case; an s may be a long one.
func cutFolded(s, word string) (before string, found bool) {
	for n := len(word); n <= min(len(word)+1, len(s)); n++ {
		if strings.EqualFold(s[len(s)-n:], word) {
			return s[:len(s)-n], true
		}
	}
	return s, false
}

// byText reports whether the text of an answer is matched.
func (q *question) byText() bool { return q.match != matchNumeric && q.match != matchChoice }

// lenient reports whether a reply is read although its form is odd.
func (q *question) lenient(reply string) bool {
	answer, lenient := q.final(reply)
	return lenient || !q.byText() && text.Narrow(answer) != answer || q.match == matchChoice && said.MatchString(lastLine(answer))
}

// marks matches what marks an answer, and a box, which in text may be a part of one.
var marks = regexp.MustCompile(`(?im)^[ \t*_#>]*(?:final )?answer[ \t*_]*:[ \t*_]*(\S.*)$|<(?:final_?)?answer>([^<]*)</|boxed\s*\{([^{}]*)\}`)

// several reports whether a reply gives different answers, of which the last is read.
func (q *question) several(reply string) bool {
	reply = text.Ended(reply).Text
	var all, keys []string
	for _, m := range marks.FindAllStringSubmatch(reply, -1) {
		if m[3] == "" || !q.byText() {
			all = append(all, m[1]+m[2]+m[3])
		}
	}
	for line := range strings.Lines(reply) {
		if line = strings.TrimSpace(line); q.match == matchChoice && (said.MatchString(line) || letterAlone.MatchString(line)) {
			all = append(all, line)
		}
	}
	for _, one := range all {
		if key, malformed := q.read(one); malformed == "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return len(slices.Compact(keys)) > 1
}

func lastLine(s string) string { return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:]) }

// Why a reply is malformed.
const (
	emptyReply    = "empty"
	cutOff        = "cut off"
	noNumber      = "no number"
	noChoice      = "no single choice"
	refusedReason = "refused"
)

// read parses a reply by the question's match. It returns a key that is equal
// for equal answers, or the reason why the reply is malformed.
func (q *question) read(reply string) (key, malformed string) {
	answer, _ := q.final(reply)
	if answer == "" {
		return "", emptyReply
	}
	switch q.match {
	case matchNumeric:
		x, ok := lastNumber(answer)
		if !ok {
			return "", noNumber
		}
		return formatNumber(x), ""
	case matchChoice:
		letter, ok := q.choice(answer)
		if !ok {
			return "", noChoice
		}
		return letter, ""
	case matchExact:
		return composed(answer), ""
	}
	return normal(answer), ""
}

// key is equal for questions whose first right answers are.
func (q *question) key() string {
	switch q.match {
	case matchNumeric:
		return formatNumber(q.numbers[0])
	case matchNormalized, matchRubric:
		return normal(q.answers[0])
	case matchExact:
		return composed(q.answers[0])
	}
	return q.answers[0]
}

// right reports whether a valid reply matches. The judge decides rubrics.
func (q *question) right(reply string) bool {
	answer, _ := q.final(reply)
	return q.matches(answer)
}

func (q *question) matches(answer string) bool {
	switch q.match {
	case matchExact:
		return slices.ContainsFunc(q.answers, func(a string) bool { return composed(a) == composed(answer) })
	case matchNumeric:
		x, ok := lastNumber(answer)
		return ok && slices.ContainsFunc(q.numbers, func(n float64) bool { return within(x, n, q.tolerance) })
	case matchChoice:
		letter, ok := q.choice(answer)
		return ok && slices.Contains(q.answers, letter)
	case matchRegex:
		return slices.ContainsFunc(q.patterns, func(re *regexp.Regexp) bool { return re.MatchString(answer) })
	}
	return slices.ContainsFunc(q.answers, func(a string) bool { return normal(a) == normal(answer) })
}

// within reports whether two numbers differ by at most a tolerance, as they are written: in floating
// point, 2.4 and 2.3 differ by more than 0.1.
func within(x, n, tolerance float64) bool {
	if math.Abs(x-n) <= tolerance {
		return true
	}
	exact := func(f float64) *big.Rat {
		r, _ := new(big.Rat).SetString(formatNumber(f))
		return r
	}
	d := exact(x)
	return d.Abs(d.Sub(d, exact(n))).Cmp(exact(tolerance)) <= 0
}

var (
	letterAlone = regexp.MustCompile(`^(?:(?i:option|choice)\s+)?[(\[*]*([A-Za-z])[)\].:*]*$`)
	letterFirst = regexp.MustCompile(`^[(\[*]*([A-Z])[)\].:*]+\s*(.*)$`)
	// said matches a line that does nothing but name the letter.
	said = regexp.MustCompile(`^(?i:(?:so|thus|therefore|hence),?\s+)?(?i:the|my)\s+(?i:(?:final|correct|best|right)\s+)?(?i:answer|choice|option)\s+(?i:is|would be)\s*:?\s*(?i:(?:option|choice)\s+)?[(\[*"]*([A-Z])[)\]*".!]*$`)
	// orAnother matches what follows a letter if a second one is named with it.
	orAnother = regexp.MustCompile(`^(?:(?i:or|and)\s+|[/&,]\s*)(?i:(?:option|choice)\s+)?[(\[*]*([A-Z])\b`)
)

// choice parses the letter of a choice: the letter alone, the text of a choice, a last line
// such as "The answer is B.", or a letter before text or alone on the first line if no other
// line names another one.
func (q *question) choice(answer string) (string, bool) {
	answer = composed(text.Narrow(answer))
	if m := letterAlone.FindStringSubmatch(answer); m != nil {
		if letter, ok := q.letter(m[1]); ok {
			return letter, true
		}
	}
	var found []int
	for i, c := range q.choices {
		switch c = composed(text.Narrow(c)); {
		case c == answer:
			return string(rune('A' + i)), true
		case normal(c) == normal(answer):
			found = append(found, i)
		}
	}
	if len(found) == 1 {
		return string(rune('A' + found[0])), true
	}
	if m := said.FindStringSubmatch(lastLine(answer)); m != nil {
		return q.letter(m[1])
	}
	first, rest, _ := strings.Cut(answer, "\n")
	letter, ok := q.named(first)
	if said.MatchString(strings.TrimSpace(first)) {
		return "", false // what follows may take it back
	}
	whole := q.settles(first)
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if whole && !q.settles(line) && !said.MatchString(line) {
			continue // a remark on another choice
		}
		if other, names := q.named(line); names && other != letter {
			return "", false
		}
	}
	return letter, ok
}

// settles reports whether a line is a letter, alone or before the text of its choice: remarks
// on other choices may follow, but no second line of this kind.
func (q *question) settles(line string) bool {
	line = strings.TrimSpace(line)
	m := letterFirst.FindStringSubmatch(line)
	if m == nil {
		return letterAlone.MatchString(line)
	}
	letter, ok := q.letter(m[1])
	return ok && (m[2] == "" || normal(m[2]) == normal(q.choices[letter[0]-'A']))
}

// letter reports whether a letter is that of a choice.
func (q *question) letter(s string) (string, bool) {
	s = strings.ToUpper(s)
	return s, int(s[0]-'A') < len(q.choices)
}

// named is the one choice that a line begins with the letter of, or names alone.
func (q *question) named(line string) (string, bool) {
	line = strings.TrimSpace(line)
	for _, form := range []*regexp.Regexp{letterAlone, letterFirst, said} {
		m := form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		letter, ok := q.letter(m[1])
		if also := orAnother.FindStringSubmatch(m[len(m)-1]); also != nil {
			other, valid := q.letter(also[1])
			ok = ok && (!valid || other == letter)
		}
		return letter, ok
	}
	return "", false
}

// owed is a minus before a currency, as in -$5, unless it is that of a range.
var owed = regexp.MustCompile(`(^|[^\pL\pN])([` + minuses + `])(\p{Sc})`)

var number = regexp.MustCompile(`[` + minuses + `+]?(?:\d[\d.,'’\x{00a0}\x{202f}]*|\.\d+)(?:[eE][` + minuses + `+]?\d+)?`)

// aside matches a remark in parentheses: words that may have numbers.
var aside = regexp.MustCompile(`\([^()]*\pL[^()]*\)`)

// spaced matches thousands between spaces, as in 10 000.
var spaced = regexp.MustCompile(`[1-9]\d{0,2}(?: \d{3})+`)

// lastNumber parses the last number in a text, by the convention of GSM8K; of "5 %
// (of 100)" that is 5.
func lastNumber(s string) (float64, bool) {
	all := numbers(s)
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)-1], true
}

// numbers are the numbers in a text outside of remarks; if there is none, those in them.
func numbers(s string) []float64 {
	s = joined(strings.Map(text.PlainDigit, owed.ReplaceAllString(text.Narrow(s), "$1$3$2")))
	if list := written(aside.ReplaceAllString(s, " ")); len(list) > 0 {
		return list
	}
	return written(s)
}

// A dash after a letter or a digit and its unit, as in 12-15 and 10%–15%, is not a minus sign.
func written(s string) (list []float64) {
	for end := 0; ; {
		at := number.FindStringIndex(s[end:])
		if at == nil {
			return list
		}
		before := s[:end+at[0]]
		found := s[end+at[0] : end+at[1]]
		if found[0] == '.' && !isPoint(before) { // the number begins behind it
			end = len(before) + 1
			continue
		}
		end += at[1]
		found = strings.TrimRight(minus.Replace(found), ".,'’\u00a0\u202f")
		if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(units, last) && digitBefore(before) {
			found = strings.TrimLeft(found, "-+")
		}
		if x, err := strconv.ParseFloat(found, 64); err == nil {
			list = append(list, x)
		} else if d, err := text.ParseNumber(found); err == nil {
			if x, err := d.Float64(); err == nil && !math.IsInf(x, 0) {
				list = append(list, x)
			}
		}
	}
}

// units stand behind a number.
const units = "%‰°€£¥$)"

func digitBefore(s string) bool {
	before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, units+" \u00a0\u202f"))
	return unicode.IsDigit(before)
}

// joined leaves out the spaces in thousands that no label or other digit stands at. Three and more
// groups before a bracket are a list.
func joined(s string) string {
	var b strings.Builder
	end := 0
	for _, at := range spaced.FindAllStringIndex(s, -1) {
		left := strings.TrimRight(s[:at[0]], ".,'’")
		before, _ := utf8.DecodeLastRuneInString(left)
		after, _ := utf8.DecodeRuneInString(s[at[1]:])
		word := left[len(strings.TrimRightFunc(left, unicode.IsLetter)):]
		list := after == ']' && strings.Count(s[at[0]:at[1]], " ") > 1
		if !list && !labels(word) && !unicode.IsDigit(before) && !unicode.IsDigit(after) {
			b.WriteString(s[end:at[0]] + strings.ReplaceAll(s[at[0]:at[1]], " ", ""))
			end = at[1]
		}
	}
	return b.String() + s[end:]
}

// labels reports whether a number right after a word is part of a name, as in CO2, and not money.
func labels(word string) bool {
	_, err := text.ParseNumber(word + "1")
	return err != nil && word != "R"
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// tokenF1 is the maximum word F1 over the right answers.
func (q *question) tokenF1(reply string) float64 {
	best := 0.0
	answer, _ := q.final(reply)
	got := strings.Fields(normalize(answer))
	for _, a := range q.answers {
		want := strings.Fields(normalize(a))
		if len(got) == 0 || len(want) == 0 {
			if normal(a) == normal(answer) {
				best = 1
			}
			continue
		}
		left := map[string]int{}
		for _, w := range want {
			left[w]++
		}
		common := 0
		for _, w := range got {
			if left[w] > 0 {
				left[w]--
				common++
			}
		}
		best = max(best, 2*float64(common)/float64(len(got)+len(want)))
	}
	return best
}
