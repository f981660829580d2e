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
	distance := map[string]int{}
	for _, k := range known {
		if lower := strings.ToLower(k); word == "" || !strings.Contains(lower, word) {
			distance[k] = editDistance([]rune(word), []rune(lower))
		}
	}
	words := slices.Clone(known)
	slices.SortStableFunc(words, func(x, y string) int { return cmp.Compare(distance[x], distance[y]) })
	return words[:min(n, len(words))]
}

// editDistance is the Levenshtein distance of two texts in code points:
// insertions, deletions and substitutions cost one each.
//
// It is the bit-parallel algorithm of Myers (J. ACM 46(3), 1999) with Hyyrö's
// carries between blocks of 64 rows, because what a model wrote can be as long
// as it likes: time is len(a)·len(b)/64.
func editDistance(a, b []rune) int {
	a, b = trimCommon(a, b)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return len(b)
	}
	blocks := (len(a) + 63) / 64
	match := matchMasks(a, blocks)
	none := make([]uint64, blocks)
	plus := make([]uint64, blocks) // vertical differences of +1
	minus := make([]uint64, blocks)
	for k := range plus {
		plus[k] = ^uint64(0)
	}
	last := uint64(1) << ((len(a) - 1) % 64)
	distance := len(a)
	for _, r := range b {
		eq, ok := match[r]
		if !ok {
			eq = none
		}
		// The first row of the matrix grows by one with each column.
		up, down := uint64(1), uint64(0)
		for k := range blocks {
			pv, mv := plus[k], minus[k]
			x := eq[k] | mv
			e := eq[k] | down
			d0 := (((e & pv) + pv) ^ pv) | e | mv
			ph := mv | ^(d0 | pv)
			mh := pv & d0
			if k == blocks-1 {
				if ph&last != 0 {
					distance++
				} else if mh&last != 0 {
					distance--
				}
			}
			phIn, mhIn := up, down
			up, down = ph>>63, mh>>63
			ph = ph<<1 | phIn
			mh = mh<<1 | mhIn
			plus[k] = mh | ^(x | ph)
			minus[k] = ph & x
		}
	}
	return distance
}

// matchMasks has, for every character of a, the set of rows it stands in.
func matchMasks(a []rune, blocks int) map[rune][]uint64 {
	masks := make(map[rune][]uint64)
	for i, r := range a {
		m := masks[r]
		if m == nil {
			m = make([]uint64, blocks)
			masks[r] = m
		}
		m[i/64] |= 1 << (i % 64)
	}
	return masks
}

// trimCommon drops what both texts begin and end with; it costs nothing.
func trimCommon(a, b []rune) ([]rune, []rune) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}
