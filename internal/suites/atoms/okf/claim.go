package okf

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ClaimsVersion is that of the rules that split a rationale: claims of other ones are judged
// again.
const ClaimsVersion = "2"

// bullet matches the mark of a list item.
var bullet = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+`)

// SplitClaims splits a rationale into claims by rule: each bullet or line, and each
// sentence of it. A line that does not begin with a capital letter goes on with the one
// before, and so does every line of a bullet. The same rule is for gold and answers.
func SplitClaims(rationale string) []string {
	var list []string
	var block []string
	item := false
	flush := func() {
		list = append(list, Sentences(strings.Join(block, " "))...)
		block, item = nil, false
	}
	for l := range strings.Lines(rationale) {
		switch mark := bullet.FindString(l); {
		case strings.TrimSpace(l) == "":
			flush()
		case mark != "":
			flush()
			item = true
			block = append(block, strings.TrimSpace(l[len(mark):]))
		default:
			l = strings.TrimSpace(l)
			if first, _ := utf8.DecodeRuneInString(l); !item && unicode.IsUpper(first) {
				flush()
			}
			block = append(block, l)
		}
	}
	flush()
	return list
}

// abbreviations are words whose full stop does not end a sentence.
var abbreviations = regexp.MustCompile(`(?i)(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|no|dr|mr|mrs|ms|st|fig|approx|[A-Z])\.$`)

// Sentences splits a text into its sentences: after a full stop, question or
// exclamation mark that white space and no lower-case letter follow. Those of Chinese and
// Japanese need no white space.
func Sentences(text string) []string {
	var list []string
	start := 0
	add := func(end int) {
		if s := strings.TrimSpace(text[start:end]); strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			list = append(list, s)
		}
		start = end
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		if r == '\n' && strings.HasPrefix(strings.TrimLeft(text[i:], " \t\r"), "\n") {
			add(i)
			continue
		}
		wide := strings.ContainsRune("。？！", r)
		if r != '.' && r != '?' && r != '!' && !wide {
			continue
		}
		end := i
		for end < len(text) {
			closing, size := utf8.DecodeRuneInString(text[end:])
			if !strings.ContainsRune("\"')]”’", closing) {
				break
			}
			end += size
		}
		rest := strings.TrimLeftFunc(text[end:], unicode.IsSpace)
		next, _ := utf8.DecodeRuneInString(rest)
		if rest != "" && len(rest) == len(text[end:]) && !wide || unicode.IsLower(next) || r == '.' && abbreviations.MatchString(text[max(start, i-12):i]) {
			continue
		}
		add(end)
		i = end
	}
	add(len(text))
	return list
}
