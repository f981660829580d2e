package text

import (
	"cmp"
	_ "embed"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed words.txt
var wordsFile string

// wordLines are the lines of a kind in a file of words, without it.
func wordLines(file, kind string) (lines [][]string) {
	for line := range strings.Lines(file) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == kind {
			lines = append(lines, f[1:])
		}
	}
	return lines
}

// A dateWord is what a word means in a date: its shape, see [dateText], and its month if
// it is the name of one.
type dateWord struct {
	shape byte
	month int
}

// dateWords are the words of dates by their key.
var dateWords = readDateWords(wordsFile)

// readDateWords reads words in many languages. A word of two meanings, such as a name of
// two different months, has none: which is meant would be a guess.
func readDateWords(file string) map[string]dateWord {
	all := map[string]dateWord{}
	add := func(form string, is dateWord) {
		key := wordKey(form)
		switch was, ok := all[key]; {
		case ok && (was.month != is.month || is.month == 0 && was != is):
			all[key] = dateWord{shape: 'w'}
		case !ok || is.shape == 'm':
			all[key] = is
		}
	}
	for _, line := range wordLines(file, "shape") {
		for _, word := range line[1:] {
			add(word, dateWord{shape: line[0][0]})
		}
	}
	for shape, kind := range map[byte]string{'m': "names", 'f': "short"} {
		for _, line := range wordLines(file, kind) {
			for i, forms := range line[1:] {
				is := dateWord{shape: shape, month: i + 1}
				for form := range strings.SplitSeq(strings.Trim(forms, "-"), "/") {
					add(form, is)
				}
			}
		}
	}
	delete(all, "")
	return all
}

var oneForm = strings.NewReplacer("ς", "σ", "ı", "i", "i\u0307", "i")

// wordKey is the form in which words of dates are compared: without case and accents,
// which capitals often lack (FEVRIER, ΜΑΡΤΙΟΥ), and with one form of the Greek s and the
// Turkish i.
func wordKey(word string) string {
	word = strings.ToLower(word)
	if isASCII(word) {
		return word
	}
	word = oneForm.Replace(word)
	if d := norm.NFD.String(word); d != word {
		word = strings.Join(strings.FieldsFunc(d, func(r rune) bool { return unicode.Is(unicode.Mn, r) }), "")
	}
	return word
}

// meaning is what a word means in a date.
func meaning(word string) dateWord {
	return cmp.Or(dateWords[wordKey(word)], dateWord{shape: 'w'})
}

// eras are those of Japan, and the year before their first.
var eras = map[string]int{"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911}

const hanDigits = "〇一二三四五六七八九"

// hanNumber matches a year in four Chinese digits or a number below 70, before the word
// for a year, month or day.
var hanNumber = regexp.MustCompile(strings.ReplaceAll(`^([零〇N]{4}|[二三四五六]?十[N]?|[N元])[年月日号號]`, "N", "一二三四五六七八九"))

// splits reports a character at which a token begins, as no space stands before it in
// Chinese and Japanese: one that may begin an era or a number.
func splits(r rune) bool {
	return r >= 0x3000 && strings.ContainsRune("令平昭大元零十"+hanDigits, r)
}

// hanToken reads the name of an era or a number in Chinese digits, of which 元 is the first
// year or month. The size is 0 if s begins with neither.
func hanToken(s string) (is byte, number, size int) {
	for era, year := range eras {
		if strings.HasPrefix(s, era) {
			return 'E', year, len(era)
		}
	}
	m := hanNumber.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, 0
	}
	tens := strings.ContainsAny(m[1], "十")
	for _, r := range strings.ReplaceAll(m[1], "元", "一") {
		v := max(0, strings.IndexRune(hanDigits, r)/len("一")) // 零 is 0 as well
		switch {
		case r == '十':
			number = 10 * max(number, 1)
		case tens:
			number += v
		default:
			number = 10*number + v
		}
	}
	return 'C', number, len(m[1])
}
