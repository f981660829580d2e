package qa

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/text"
)

// marked finds the line that gives the final answer after reasoning.
var marked = regexp.MustCompile(`(?im)^[\s*_#>]*(?:final )?answer\s*[*_]*\s*:[*_]*[ \t]*`)

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

func afterMark(reply string) string {
	if at := marked.FindAllStringIndex(reply, -1); at != nil {
		if rest := strings.TrimSpace(reply[at[len(at)-1][1]:]); rest != "" {
			reply = rest
		}
	}
	return strings.TrimSpace(reply)
}

// byText reports whether the text of an answer is matched.
func (q *question) byText() bool { return q.match != matchNumeric && q.match != matchChoice }

// lenient reports whether a reply is read although its form is odd.
func (q *question) lenient(reply string) bool {
	answer, lenient := q.final(reply)
	return lenient || !q.byText() && text.Narrow(answer) != answer || q.match == matchChoice && said.MatchString(lastLine(answer))
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
		return answer, ""
	}
	if key = normalize(answer); key == "" {
		key = answer // only punctuation
	}
	return key, ""
}

// right reports whether a valid reply matches. The judge decides rubrics.
func (q *question) right(reply string) bool {
	answer, _ := q.final(reply)
	return q.matches(answer)
}

func (q *question) matches(answer string) bool {
	switch q.match {
	case matchExact:
		return slices.ContainsFunc(q.answers, func(a string) bool { return strings.TrimSpace(a) == answer })
	case matchNumeric:
		x, ok := lastNumber(answer)
		return ok && slices.ContainsFunc(q.numbers, func(n float64) bool { return math.Abs(x-n) <= q.tolerance })
	case matchChoice:
		letter, ok := q.choice(answer)
		return ok && slices.Contains(q.answers, letter)
	case matchRegex:
		return slices.ContainsFunc(q.patterns, func(re *regexp.Regexp) bool { return re.MatchString(answer) })
	}
	return slices.ContainsFunc(q.answers, func(a string) bool { return normalize(a) == normalize(answer) })
}

var (
	letterAlone = regexp.MustCompile(`^(?:(?i:option|choice)\s+)?[(\[*]*([A-Za-z])[)\].:*]*$`)
	letterFirst = regexp.MustCompile(`^[(\[*]*([A-Z])[)\].:*]+\s*(.*)$`)
	// said matches a line that does nothing but name the letter.
	said = regexp.MustCompile(`^(?i:(?:so|thus|therefore|hence),?\s+)?(?i:the|my)\s+(?i:(?:final|correct|best|right)\s+)?(?i:answer|choice|option)\s+(?i:is|would be)\s*:?\s*(?i:(?:option|choice)\s+)?[(\[*"]*([A-Z])[)\]*".!]*$`)
)

// choice parses the letter of a choice: the letter alone, a letter before text,
// the text of a choice, or a last line such as "The answer is B."
func (q *question) choice(answer string) (string, bool) {
	answer = strings.TrimSpace(text.Narrow(answer))
	valid := func(letter string) (string, bool) {
		letter = strings.ToUpper(letter)
		return letter, int(letter[0]-'A') < len(q.choices)
	}
	if m := letterAlone.FindStringSubmatch(answer); m != nil {
		return valid(m[1])
	}
	for i, c := range q.choices {
		if normalize(c) == normalize(answer) && normalize(c) != "" || strings.TrimSpace(c) == answer {
			return string(rune('A' + i)), true
		}
	}
	line, _, _ := strings.Cut(answer, "\n")
	if m := letterFirst.FindStringSubmatch(line); m != nil {
		return valid(m[1])
	}
	if m := said.FindStringSubmatch(lastLine(answer)); m != nil {
		return valid(m[1])
	}
	return "", false
}

var number = regexp.MustCompile(`[-−+]?(?:\d[\d.,'’\x{00a0}\x{202f}]*|\.\d+)(?:[eE][-−+]?\d+)?`)

// aside matches a remark in parentheses: words that may have numbers.
var aside = regexp.MustCompile(`\([^()]*\pL[^()]*\)`)

// lastNumber parses the last number in a text, by the convention of GSM8K; of "5 %
// (of 100)" that is 5. A dash after a letter or digit, as in 12-15, is not a minus sign.
func lastNumber(s string) (float64, bool) {
	s = text.Narrow(s)
	if x, ok := numberAtEnd(aside.ReplaceAllString(s, " ")); ok {
		return x, true
	}
	return numberAtEnd(s)
}

func numberAtEnd(s string) (float64, bool) {
	for _, at := range slices.Backward(number.FindAllStringIndex(s, -1)) {
		found := strings.TrimRight(strings.ReplaceAll(s[at[0]:at[1]], "−", "-"), ".,'’\u00a0\u202f")
		if before, _ := utf8.DecodeLastRuneInString(s[:at[0]]); unicode.IsLetter(before) || unicode.IsDigit(before) {
			found = strings.TrimLeft(found, "-+")
		}
		if x, err := strconv.ParseFloat(found, 64); err == nil {
			return x, true
		}
		if d, err := text.ParseNumber(found); err == nil {
			if x, err := d.Float64(); err == nil && !math.IsInf(x, 0) {
				return x, true
			}
		}
	}
	return 0, false
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// normalize is the normal form of SQuAD (Rajpurkar et al. 2016): lower case,
// without punctuation and articles, single spaces.
func normalize(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) && r < 128 {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	words := slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "a" || w == "an" || w == "the" })
	return strings.Join(words, " ")
}

// tokenF1 is the maximum word F1 over the right answers.
func (q *question) tokenF1(reply string) float64 {
	best := 0.0
	answer, _ := q.final(reply)
	got := strings.Fields(normalize(answer))
	for _, a := range q.answers {
		want := strings.Fields(normalize(a))
		if len(got) == 0 || len(want) == 0 {
			if len(got) == len(want) {
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
