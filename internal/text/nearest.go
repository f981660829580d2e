package text

import "strings"

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
