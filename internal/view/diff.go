package view

import (
	"unicode"
	"unicode/utf8"
)

// An edit is a piece of two texts: in both, only in the first, or only in the second.
type edit struct {
	Text string
	Kind string // "" | del | ins
}

// Texts with more words, or that differ in more, are not compared word by word.
const (
	mostWords   = 20_000
	mostChanges = 1_500
)

// diff compares two texts word by word: by Myers' algorithm, "An O(ND) Difference
// Algorithm and Its Variations", 1986.
func diff(a, b string) []edit {
	x, y := splitWords(a), splitWords(b)
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	var list []edit
	add := func(kind string, words ...string) {
		for _, w := range words {
			if n := len(list); n > 0 && list[n-1].Kind == kind {
				list[n-1].Text += w
			} else {
				list = append(list, edit{w, kind})
			}
		}
	}
	add("", x[:head]...)
	dx, dy := x[head:len(x)-tail], y[head:len(y)-tail]
	for _, s := range shortest(dx, dy) {
		switch s.kind {
		case "ins":
			add("ins", dy[s.at:s.end]...)
		case "del":
			add("del", dx[s.at:s.end]...)
		default:
			add("", dx[s.at:s.end]...)
		}
	}
	add("", x[len(x)-tail:]...)
	return list
}

type run struct {
	kind    string
	at, end int // of the second text for insertions, else of the first
}

// shortest returns the shortest way from x to y.
func shortest(x, y []string) []run {
	n, m := len(x), len(y)
	whole := []run{{"del", 0, n}, {"ins", 0, m}}
	if n == 0 || m == 0 || n+m > mostWords {
		return whole
	}
	limit := min(n+m, mostChanges)
	furthest := make([]int, 2*limit+2)
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), furthest[limit-d:limit+d+1]...))
		for k := -d; k <= d; k += 2 {
			i := 0
			if k == -d || k != d && furthest[limit+k-1] < furthest[limit+k+1] {
				i = furthest[limit+k+1]
			} else {
				i = furthest[limit+k-1] + 1
			}
			j := i - k
			for i < n && j < m && x[i] == y[j] {
				i, j = i+1, j+1
			}
			furthest[limit+k] = i
			if i >= n && j >= m {
				return backtrack(trace, n, m)
			}
		}
	}
	return whole
}

// backtrack follows the trace from the end.
func backtrack(trace [][]int, i, j int) []run {
	var reversed []run
	for d := len(trace) - 1; d >= 0; d-- {
		// trace[d] has the places before step d, for k from -d to d.
		at := func(k int) int { return trace[d][k+d] }
		k := i - j
		from := 0
		switch {
		case d == 0:
			from = 0
		case k == -d || k != d && at(k-1) < at(k+1):
			from = k + 1
		default:
			from = k - 1
		}
		fi, fj := 0, 0
		if d > 0 {
			fi = at(from)
			fj = fi - from
		}
		common := i
		if d > 0 && from == k-1 {
			common = fi + 1
		} else if d > 0 {
			common = fi
		} else {
			common = 0
		}
		if i > common {
			reversed = append(reversed, run{"", common, i})
		}
		if d > 0 {
			if from == k-1 {
				reversed = append(reversed, run{"del", fi, fi + 1})
			} else {
				reversed = append(reversed, run{"ins", fj, fj + 1})
			}
		}
		i, j = fi, fj
	}
	list := make([]run, 0, len(reversed))
	for k := len(reversed) - 1; k >= 0; k-- {
		list = append(list, reversed[k])
	}
	return list
}

// splitWords splits a text into words with the space before them, and single other
// characters. Joined they are the text.
func splitWords(s string) (list []string) {
	for s != "" {
		n := 0
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if !unicode.IsSpace(r) {
				break
			}
			n += size
		}
		first := n
		for n < len(s) {
			r, size := utf8.DecodeRuneInString(s[n:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
				break
			}
			n += size
		}
		if n == first && n < len(s) {
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		}
		list = append(list, s[:n])
		s = s[n:]
	}
	return list
}
