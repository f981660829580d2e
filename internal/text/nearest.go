package text

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Nearest returns the known word closest to one that is not known, ignoring
// case, if it is close enough to have been meant: at most a third of the
// letters may differ. Of equally close words the first wins.
func Nearest(word string, known []string) (string, bool) {
	if len(word) > 100 { // not a typo
		return "", false
	}
	best, least := "", (len(word)+2)/3+1
	for _, k := range known {
		d := editDistance([]rune(strings.ToLower(word)), []rune(strings.ToLower(k)))
		if d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best, best != ""
}

// DidYouMean is the end of an error about an unknown word: ": did you mean "x"?", or "" if
// no known word is close.
func DidYouMean(word string, known []string) string {
	if k, ok := Nearest(word, known); ok {
		return ": did you mean " + strconv.Quote(k) + "?"
	}
	return ""
}

// NearestFew returns up to n known words, nearest first: those that contain the word,
// then by edit distance, ignoring case. It does not ask whether they are close.
func NearestFew(word string, known []string, n int) []string {
	word = strings.ToLower(Shorten(word, 100))
	type candidate struct {
		word     string
		distance int
	}
	var list []candidate
	for _, k := range known {
		lower := strings.ToLower(k)
		d := editDistance([]rune(word), []rune(lower))
		if word != "" && strings.Contains(lower, word) {
			d = 0
		}
		list = append(list, candidate{k, d})
	}
	slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.distance, y.distance) })
	var words []string
	for _, c := range list[:min(n, len(list))] {
		words = append(words, c.word)
	}
	return words
}
