package text

import (
	"regexp"
	"strings"
	"unicode"
)

// A Reply is a model's answer without what models put around it.
type Reply struct {
	Text string
	// Marked says that the answer marks the text as final, by <answer> or \boxed{}.
	// Outside is what comes before the mark.
	Marked  bool
	Outside string
	// Lenient says that more than white space and reasoning was left out.
	Lenient bool
}

var (
	// endToken matches a token that ends a turn, which some servers leave in the text.
	endToken = regexp.MustCompile(`(?:</s>|<eos>|<end_of_turn>|<\|(?:eot_id|eom_id|im_end|end|endoftext|end_of_text|return|assistant|stop)\|>|<｜end▁of▁sentence｜>|\[/INST\])$`)
	// rule matches a line that divides texts.
	rule = regexp.MustCompile(`^(?:-{3,}|\*{3,}|_{3,}|={3,}|(?:[-*_] ){2,}[-*_])$`)
	// courtesy matches the beginning of a line that says nothing of the answer.
	courtesy = regexp.MustCompile(`(?i)^(?:please,? )?(?:let me know\b|(?:i )?hope (?:this|that|it|these) helps?\b|feel free to\b|do(?:n't|n’t| not) hesitate\b|if you (?:have|need|want|would like|'d like|’d like)\b|(?:i(?:'m|’m| am) )?(?:always )?happy to help\b|thanks?\b|is there anything else\b|would you like me to\b|have a (?:nice|great|good|lovely) day\b|best regards\b|good luck\b|you(?:'re|’re| are) welcome\b|enjoy\b)`)
	// doubt matches what may change the answer, so that a line is no courtesy.
	doubt = regexp.MustCompile(`(?i)[0-9]|\b(?:but|however|though|although|instead|rather|actually|except|unless|correct\w*|wait|better|wrong|mistake|not sure|no,)`)

	answerOpens = regexp.MustCompile(`(?i)<(?:final_?)?answer>`)
	answerEnds  = regexp.MustCompile(`(?i)</(?:final_?)?answer>$`)
	boxOpens    = regexp.MustCompile(`\\f?boxed\s*\{`)
	latexText   = regexp.MustCompile(`\\(?:text|mathrm|textbf|mathbf|textrm|texttt)\s*\{([^{}]*)\}`)
)

// longestToken is at least the length of every token that ends a turn.
const longestToken = 64

// longestCourtesy is the most bytes of a line that is a courtesy.
const longestCourtesy = 250

// Bare returns an answer without reasoning before it, and without the tokens, rules
// and courtesies after it. If it then ends with a text in <answer> tags or in
// \boxed{}, the reply is that text. An answer with several boxes is not unboxed: it
// may be in parts. Text that may change the answer stays.
func Bare(answer string) Reply {
	return unmark(Reply{Text: answer}.trimmed(true))
}

// Ended is [Bare], but keeps courtesies and marks: of a letter they are a part.
func Ended(answer string) Reply { return Reply{Text: answer}.trimmed(false) }

func (r Reply) trimmed(courtesies bool) Reply {
	whole := strings.TrimFunc(r.Text, isSpace)
	r.Text = string(skipReasoning([]byte(whole)))
	for {
		r.Text = strings.TrimFunc(r.Text, isSpace)
		near := max(0, len(r.Text)-longestToken) // so that many lines take linear time
		shorter := r.Text
		if at := endToken.FindStringIndex(r.Text[near:]); at != nil {
			shorter = strings.TrimRightFunc(r.Text[:near+at[0]], isSpace)
		}
		if shorter == r.Text && courtesies {
			at := strings.LastIndexByte(r.Text, '\n') + 1
			if line := strings.Trim(r.Text[at:], " \t\r"); at > 0 && (rule.MatchString(line) || isCourtesy(line)) {
				shorter = r.Text[:at]
			}
		}
		if shorter == r.Text || isBlank(shorter) {
			return r
		}
		r.Text, r.Lenient = shorter, true
	}
}

// isCourtesy reports whether a line says nothing of the answer.
func isCourtesy(line string) bool {
	line = strings.TrimLeftFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '<' })
	return len(line) <= longestCourtesy && courtesy.MatchString(line) && !doubt.MatchString(line)
}

// unmark takes out the text that the end of an answer marks.
func unmark(r Reply) Reply {
	if end := answerEnds.FindStringIndex(r.Text); end != nil {
		inside := r.Text[:end[0]]
		if open := answerOpens.FindAllStringIndex(inside, -1); open != nil {
			last := open[len(open)-1]
			r.Outside, r.Text, r.Marked = inside[:last[0]], inside[last[1]:], true
		} else { // its opening tag was in the prompt
			r.Text = inside
		}
		r.Text, r.Lenient = strings.TrimFunc(r.Text, isSpace), true
	}
	if boxes := boxOpens.FindAllStringIndex(r.Text, -1); len(boxes) == 1 {
		const around = " \t\r\n$*_."
		end := strings.TrimRight(r.Text, around)
		for _, closing := range []string{`\]`, `\)`} {
			end = strings.TrimRight(strings.TrimSuffix(end, closing), around)
		}
		brace := boxes[0][1] - 1
		if n := closingBrace(end[min(brace, len(end)):]); n >= 0 && brace+n == len(end) {
			outside := strings.TrimRight(r.Text[:boxes[0][0]], around+`[(\`)
			if !r.Marked {
				r.Outside = outside
			} else if outside != "" {
				r.Outside += "\n" + outside
			}
			r.Text, r.Marked, r.Lenient = unlatex(end[brace+1:len(end)-1]), true, true
		}
	}
	return r
}

// closingBrace is the length of the group in braces that s begins with, -1 if it
// does not end.
func closingBrace(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// unlatex removes the commands that only set a text.
func unlatex(s string) string {
	s = latexText.ReplaceAllString(s, "$1")
	s = strings.NewReplacer(`\,`, " ", `\;`, " ", `\ `, " ", `\quad`, " ", `\%`, "%", `\$`, "$", `\#`, "#", `\_`, "_", `{,}`, ",", `\succ`, ">", `\rightarrow`, "→", `\to `, "→ ").Replace(s)
	return strings.TrimFunc(s, isSpace)
}

// Narrow replaces the full-width forms of ASCII characters, such as the digits of
// Chinese and Japanese texts.
func Narrow(s string) string {
	return strings.Map(func(r rune) rune {
		if '！' <= r && r <= '～' {
			return r - '！' + '!'
		}
		return r
	}, s)
}

var codeBlock = regexp.MustCompile("(?s)```([a-zA-Z]*)[ \t]*\r?\n(.*?)\n?[ \t]*```")

// CodeOf returns the only block of code in an answer that is in a language, or in
// none that is named. ok is false if there is none, or several that differ.
func CodeOf(answer, language string) (code string, ok bool) {
	for _, m := range codeBlock.FindAllStringSubmatch(answer, -1) {
		if m[1] != "" && !strings.EqualFold(m[1], language) {
			continue
		}
		found := strings.TrimFunc(m[2], isSpace)
		if ok && found != code {
			return "", false
		}
		code, ok = found, true
	}
	return code, ok
}
