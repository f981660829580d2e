package method

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/text"
)

// The usual parameters of BM25: term-frequency saturation and length
// normalisation.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// BM25 ranks by word overlap (Robertson and Zaragoza, Foundations and Trends in
// IR 3(4), 2009). A candidate is one document: its name, facts and the text of
// its reviews as shown, without the numbers and tags around them, so that its
// position in the list does not count. Words are runs of letters or digits,
// case folded, with camel case split; there are no stop words and no stemming.
// Document frequencies are counted over the candidates.
// The weight of a word in n of N documents is ln(1 + (N-n+0.5)/(n+0.5)), which
// is never negative.
func BM25() Method {
	return Method{
		Name: "bm25",
		Rank: ranks(func(_ context.Context, s *session) ([]int, error) {
			query := words(s.Text)
			documents := make([]bag, len(s.Candidates))
			for i := range documents {
				documents[i] = bagOf(query, s.cards.plain(i+1))
			}
			scores := bm25(query, documents)
			return s.sorted(func(a, b int) int { return cmp.Compare(scores[b-1], scores[a-1]) }), nil
		}),
	}
}

// A bag is a document as BM25 sees it.
type bag struct {
	count  map[string]float64 // of the words of the query
	length int                // in words
}

// bagOf counts the words of a query in the parts of a document.
func bagOf(query []string, parts []string) bag {
	b := bag{count: make(map[string]float64, len(query))}
	for _, w := range query {
		b.count[w] = 0
	}
	lower := make([]byte, 0, 64)
	for _, part := range parts {
		if !isASCII(part) {
			for _, w := range anyWords(part) {
				b.add([]byte(w))
			}
			continue
		}
		for w := range plainWords(part) {
			lower = lower[:0]
			for i := range len(w) {
				lower = append(lower, lowerASCII[w[i]])
			}
			b.add(lower)
		}
	}
	return b
}

func (b *bag) add(word []byte) {
	b.length++
	if n, ok := b.count[string(word)]; ok {
		b.count[string(word)] = n + 1
	}
}

// bm25 scores documents for a query; a repeated query word counts repeatedly.
func bm25(query []string, documents []bag) []float64 {
	in := map[string]float64{} // document frequency of a word
	length := 0.0
	for _, d := range documents {
		for w, n := range d.count {
			if n > 0 {
				in[w]++
			}
		}
		length += float64(d.length)
	}
	n := float64(len(documents))
	mean := length / n
	scores := make([]float64, len(documents))
	for i, d := range documents {
		for _, w := range query {
			if f := d.count[w]; f > 0 {
				idf := math.Log(1 + (n-in[w]+0.5)/(in[w]+0.5))
				scores[i] += idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(d.length)/mean))
			}
		}
	}
	return scores
}

// words splits text into words.
func words(s string) (list []string) {
	if !isASCII(s) {
		return anyWords(s)
	}
	for w := range plainWords(s) {
		list = append(list, strings.ToLower(w))
	}
	return list
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lowerASCII folds case. A byte outside of words is 0.
var lowerASCII = func() (t [256]byte) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = byte(c), byte(c)
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = byte(c)
	}
	return t
}()

// plainWords yields the words of ASCII text, without folding case.
func plainWords(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin := -1 // of a word
		for i := 0; i <= len(s); i++ {
			inside := i < len(s) && lowerASCII[s[i]] != 0
			hump := inside && begin >= 0 && s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z'
			if begin >= 0 && (!inside || hump) {
				if !yield(s[begin:i]) {
					return
				}
				begin = -1
			}
			if inside && begin < 0 {
				begin = i
			}
		}
	}
}

func anyWords(s string) []string {
	var spread strings.Builder
	spread.Grow(len(s) + len(s)/16)
	last := ' '
	for _, r := range s {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			spread.WriteByte(' ')
		}
		spread.WriteRune(r)
		last = r
	}
	return strings.FieldsFunc(text.Fold(spread.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
