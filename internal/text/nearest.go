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
		d := editDistance([]rune(strings.ToLower(word)), []rune(strings.ToLower(k)), least)
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
	distance := map[string]int{}
	for _, k := range known {
		if lower := strings.ToLower(k); word == "" || !strings.Contains(lower, word) {
			distance[k] = editDistance([]rune(word), []rune(lower), len(word)+len(lower))
		}
	}
	words := slices.Clone(known)
	slices.SortStableFunc(words, func(x, y string) int { return cmp.Compare(distance[x], distance[y]) })
	return words[:min(n, len(words))]
}

// editDistance is the Levenshtein distance of two texts in code points, or limit+1 if it is above
// the limit: insertions, deletions and substitutions cost one each. It keeps one row of the matrix,
// of which only the cells near the diagonal can be in the limit. (agext/levenshtein with a limit finds
// distances within it for texts that are further apart: TestNearest fails with it.)
func editDistance(a, b []rune, limit int) int {
	above := limit + 1
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return above
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		first, last := max(1, i+1-limit), min(len(b), i+1+limit)
		diagonal, least := row[first-1], above
		row[first-1] = above // it is left of the cells near the diagonal
		if first == 1 {
			row[0] = i + 1
			least = row[0]
		}
		for j := first; j <= last; j++ {
			replaced := diagonal
			if r != b[j-1] {
				replaced++
			}
			diagonal, row[j] = row[j], min(replaced, row[j]+1, row[j-1]+1)
			least = min(least, row[j])
		}
		if least > limit {
			return above
		}
	}
	return min(row[len(b)], above)
}
