package view

import "regexp"

// An edit is a piece of two texts: in both, only in the first, or only in the second.
type edit struct {
	Text string
	Kind string // "" | del | ins
}

// mostPairs bounds the work: texts with more pairs of words between their common beginning
// and end are not compared word by word.
const mostPairs = 4_000_000

// word is a word with the space before it, or one other character. All together are the text.
var word = regexp.MustCompile(`(?s)\s*[\pL\p{Nd}\pM]+|\s*\S|\s+`)

// diff compares two texts word by word, by their longest common subsequence.
func diff(a, b string) (list []edit) {
	add := func(kind string, words ...string) {
		for _, w := range words {
			if n := len(list); n > 0 && list[n-1].Kind == kind {
				list[n-1].Text += w
			} else {
				list = append(list, edit{w, kind})
			}
		}
	}
	x, y := word.FindAllString(a, -1), word.FindAllString(b, -1)
	head, tail := 0, 0
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	add("", x[:head]...)
	end := x[len(x)-tail:]
	x, y = x[head:len(x)-tail], y[head:len(y)-tail]
	if len(x)*len(y) > mostPairs {
		add("del", x...)
		add("ins", y...)
		x, y = nil, nil
	}
	// common[i][j] is the length of the longest common subsequence of x[i:] and y[j:].
	common := make([][]int32, len(x)+1)
	for i := range common {
		common[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			add("", x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			add("del", x[i])
			i++
		default:
			add("ins", y[j])
			j++
		}
	}
	add("", end...)
	return list
}
