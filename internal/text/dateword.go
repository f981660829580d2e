package text

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed months.txt
var monthsFile string

// A dateWord is what a word means in a date: its shape, see [dateText], and its month if
// it is the name of one.
type dateWord struct {
	shape byte
	month int
}

// dateWords are the words of dates by their key.
var dateWords = func() map[string]dateWord {
	all := readMonths(monthsFile)
	for shape, words := range map[byte]string{
		'a': "st nd rd th", 's': "s", 'n': "n", 'r': "r", 't': "t", 'h': "h", 'd': "d", 'o': "er ere re ro e o º",
		'Y': "day", 'O': "of de del", 'T': "the", 'e': "at", 'A': "am pm", 'p': "a p", 'M': "m", 'z': "z utc gmt",
		'L': "dated date as this on effective executed signed made entered into and is from in den dne dnia vom le du el il em",
		'W': "monday mon tuesday tue tues wednesday wed thursday thu thur thurs friday fri saturday sat sunday sun",
		'J': "г год года р року roku", 'N': "年 년", 'G': "月 월", 'D': "日 号 號 일",
	} {
		for w := range strings.FieldsSeq(words) {
			if key := wordKey(w); all[key].shape == 0 {
				all[key] = dateWord{shape: shape}
			} else {
				panic("text: two meanings of the word of dates " + w)
			}
		}
	}
	return all
}()

// readMonths reads the names of months and weekdays in many languages. A name of two
// different months belongs to neither: which is meant would be a guess.
func readMonths(file string) map[string]dateWord {
	all := map[string]dateWord{}
	for line := range strings.Lines(file) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		for i, forms := range words[2:] {
			is := dateWord{shape: 'm', month: i + 1}
			switch {
			case forms == "-":
				continue
			case words[1] == "weekdays":
				is = dateWord{shape: 'W'}
			case words[1] == "short" && words[0] != "en":
				is.shape = 'f'
			}
			for form := range strings.SplitSeq(forms, "/") {
				key := wordKey(form)
				was, ok := all[key]
				switch {
				case ok && was.month != is.month:
					is = dateWord{shape: 'w'}
				case ok && was.shape != 'f':
					continue
				}
				all[key] = is
			}
		}
	}
	return all
}

// wordKey is the form in which words of dates are compared: without case and accents,
// which capitals often lack (FEVRIER, ΜΑΡΤΙΟΥ), and with one form of the Greek s and the
// Turkish i.
func wordKey(word string) string {
	word = strings.ToLower(word)
	if isASCII(word) {
		return word
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == 'ς':
			return 'σ'
		case r == 'ı':
			return 'i'
		}
		return r
	}, norm.NFD.String(word))
}

// longestDateWord is longer than any word of a date, in bytes.
const longestDateWord = 40

// meaning is what a word means in a date.
func meaning(word string) dateWord {
	if len(word) <= longestDateWord {
		if w := dateWords[wordKey(word)]; w.shape != 0 {
			return w
		}
	}
	return dateWord{shape: 'w'}
}

// eras are those of Japan, and the year before their first.
var eras = map[string]int{"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911}

const hanDigits = "〇一二三四五六七八九"

// hanNumber matches a year in four Chinese digits or a number below 70, before the word
// for a year, month or day.
var hanNumber = regexp.MustCompile(`^(?:([零〇一二三四五六七八九]{4})|([二三四五六]?十|廿|卅)?([一二三四五六七八九])?)[年月日号號]`)

// splits reports a character of Chinese and Japanese at which a token begins, as no space
// stands before it: one that may begin an era or a number.
func splits(r rune) bool {
	return r >= 0x3000 && strings.ContainsRune("令平昭大元零十廿卅"+hanDigits, r)
}

// hanToken reads the name of an era, whose first year is 元, or a number in Chinese
// digits. The size is 0 if s begins with neither.
func hanToken(s string, afterEra bool) (is byte, number, size int) {
	for era, year := range eras {
		if strings.HasPrefix(s, era) {
			return 'E', year, len(era)
		}
	}
	if strings.HasPrefix(s, "元年") && afterEra {
		return 'C', 1, len("元")
	}
	m := hanNumber.FindStringSubmatch(s)
	if m == nil || m[1]+m[2]+m[3] == "" {
		return 0, 0, 0
	}
	for _, r := range m[1] {
		number = 10*number + hanValue(r)
	}
	switch tens := strings.TrimSuffix(m[2], "十"); {
	case tens == "廿":
		number = 20
	case tens == "卅":
		number = 30
	case tens != "":
		number = 10 * hanValue([]rune(tens)[0])
	case m[2] != "":
		number = 10
	}
	if m[3] != "" {
		number += hanValue([]rune(m[3])[0])
	}
	return 'C', number, len(m[1] + m[2] + m[3])
}

// hanValue is the value of a Chinese digit; 零 is 0 as well.
func hanValue(r rune) int { return max(0, strings.IndexRune(hanDigits, r)/len("一")) }
