package method

import (
	"cmp"
	"context"
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
			documents := make([][]string, len(s.Candidates))
			for i := range documents {
				documents[i] = words(s.cards.plain(i + 1))
			}
			scores := bm25(words(s.Text), documents)
			return s.sorted(func(a, b int) int { return cmp.Compare(scores[b-1], scores[a-1]) }), nil
		}),
	}
}

// bm25 scores documents for a query; a repeated query word counts repeatedly.
func bm25(query []string, documents [][]string) []float64 {
	count := make([]map[string]float64, len(documents))
	in := map[string]float64{} // document frequency of a word
	asked := map[string]bool{}
	for _, w := range query {
		asked[w] = true
	}
	length := 0.0
	for i, d := range documents {
		count[i] = map[string]float64{}
		for _, w := range d {
			if !asked[w] {
				continue
			}
			if count[i][w]++; count[i][w] == 1 {
				in[w]++
			}
		}
		length += float64(len(d))
	}
	n := float64(len(documents))
	mean := length / n
	scores := make([]float64, len(documents))
	for i, d := range documents {
		for _, w := range query {
			if f := count[i][w]; f > 0 {
				idf := math.Log(1 + (n-in[w]+0.5)/(in[w]+0.5))
				scores[i] += idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(len(d))/mean))
			}
		}
	}
	return scores
}

// words splits text into words.
func words(s string) []string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return anyWords(s)
		}
	}
	return plainWords(s)
}

// plainWords is anyWords for ASCII, many times faster.
func plainWords(s string) []string {
	lower := strings.ToLower(s)
	list := make([]string, 0, len(s)/5)
	begin := -1 // of a word
	for i := 0; i <= len(s); i++ {
		inside := i < len(s) && (lower[i] >= 'a' && lower[i] <= 'z' || lower[i] >= '0' && lower[i] <= '9')
		hump := inside && begin >= 0 && s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z'
		if begin >= 0 && (!inside || hump) {
			list = append(list, lower[begin:i])
			begin = -1
		}
		if inside && begin < 0 {
			begin = i
		}
	}
	return list
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
