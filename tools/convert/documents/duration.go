package documents

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A duration is a length of time as contracts count it: twelve months are not
// a year here, since a term is copied and not converted.
type duration struct {
	n    int
	unit string // day, week, month or year
}

// convertDuration makes gold of a length of time that a quote holds. The
// lawyers' answers are such as "successive 1 year" and "180 days / 6 months".
func convertDuration(d *Document, field, answer string, quotes []Quote) {
	wanted, ok := readAnswer(answer)
	if !ok {
		if strings.Contains(answer, ";") {
			d.Decide(field, Several)
		} else {
			d.Decide(field, NoAnswer)
		}
		return
	}
	for _, q := range quotes {
		for _, w := range writtenDurations(q.Text) {
			for _, want := range wanted {
				if w.duration == want {
					d.Present(field, w.form, q, append(want.forms(), answer)...)
					return
				}
			}
		}
	}
	d.Decide(field, Derived)
}

// answerForm is how the lawyers write a duration, with their misspellings of
// "successive".
var answerForm = regexp.MustCompile(`(?i)^(?:succ?ess?i\w+ )?(\d{1,3}) (day|week|month|year)s?$`)

// readAnswer reads a normalised answer; "/" joins names of one duration.
func readAnswer(answer string) ([]duration, bool) {
	var wanted []duration
	for part := range strings.SplitSeq(answer, "/") {
		m := answerForm.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, false
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n == 0 {
			return nil, false
		}
		wanted = append(wanted, duration{n, strings.ToLower(m[2])})
	}
	return wanted, true
}

// A written is a duration and the words it stands in.
type written struct {
	duration
	form string
}

const numberWord = `one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|` +
	`twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred`

var writtenForm = regexp.MustCompile(`(?i)(?:\b((?:` + numberWord + `)(?:[\s-]+(?:and\s+)?(?:` + numberWord + `))*)[\s-]*)?` +
	`(?:\(\s*(\d{1,3})\s*\)|\b(\d{1,3}))?[\s-]*\b(?:(?:calendar|business|consecutive)\s+)?(day|week|month|year)s?\b`)

// writtenDurations finds durations in running text: "sixty (60) days", "30-
// days", "a thirty-day notice", "one (1) calendar year".
func writtenDurations(s string) []written {
	var found []written
	for _, m := range writtenForm.FindAllStringSubmatch(s, -1) {
		n, ok := count(m[1], m[2]+m[3])
		if ok {
			found = append(found, written{duration{n, strings.ToLower(m[4])}, strings.Trim(m[0], " -")})
		}
	}
	return found
}

// count reads a number given in words, in figures, or in both if they agree.
func count(words, figures string) (int, bool) {
	inWords := wordsToNumber(words)
	inFigures, err := strconv.Atoi(figures)
	switch {
	case figures == "":
		return inWords, inWords > 0
	case words == "":
		return inFigures, err == nil && inFigures > 0
	}
	return inFigures, inFigures == inWords && inWords > 0
}

// wordsToNumber reads English number words below a thousand; 0 is none.
func wordsToNumber(s string) int { return numbers()[numberKey(s)] }

// numbers are the numbers below a thousand by the keys of their words.
var numbers = sync.OnceValue(func() map[string]int {
	byKey := make(map[string]int, 999)
	for n := 1; n <= 999; n++ {
		byKey[numberKey(numberInWords(n))] = n
	}
	return byKey
})

// numberKey is number words in lower case, without the "and" and the "one"
// before "hundred" that may be left out.
func numberKey(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "and" })
	if len(words) > 1 && words[0] == "one" && words[1] == "hundred" {
		words = words[1:]
	}
	return strings.Join(words, " ")
}

// numberInWords is the other direction, for the numbers contracts use.
func numberInWords(n int) string {
	names := strings.Split(numberWord, "|")
	switch {
	case n < 1 || n > 999:
		return ""
	case n < 20:
		return names[n-1]
	case n < 100:
		return strings.TrimSuffix(names[n/10+17]+"-"+numberInWords(n%10), "-")
	}
	return strings.TrimSpace(names[n/100-1] + " hundred " + numberInWords(n%100))
}

// forms are the ways to write a duration that mean the same.
func (d duration) forms() []string {
	units := d.unit
	if d.n != 1 {
		units += "s"
	}
	words := numberInWords(d.n)
	return []string{
		fmt.Sprintf("%d %s", d.n, units), fmt.Sprintf("%s %s", words, units), fmt.Sprintf("%s (%d) %s", words, d.n, units),
		fmt.Sprintf("%d-%s", d.n, d.unit), fmt.Sprintf("%s-%s", words, d.unit),
	}
}
