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
	for _, part := range parts {
		eachWord(part, b.add)
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
	eachWord(s, func(word []byte) { list = append(list, string(word)) })
	return list
}

// eachWord calls do for each word of a text, case folded. The word is valid until do
// returns.
func eachWord(s string, do func(word []byte)) {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		var spread strings.Builder // folding does not keep the humps of camel case
		last := ' '
		for _, r := range s {
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				spread.WriteByte(' ')
			}
			spread.WriteRune(r)
			last = r
		}
		s = text.Fold(spread.String())
	}
	word := make([]byte, 0, 64)
	last := ' '
	for _, r := range s {
		upper := 'A' <= r && r <= 'Z'
		inside := upper || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if len(word) > 0 && (!inside || upper && 'a' <= last && last <= 'z') {
			do(word)
			word = word[:0]
		}
		last = r
		switch {
		case !inside:
		case upper:
			word = append(word, byte(r)+'a'-'A')
		default:
			word = utf8.AppendRune(word, r)
		}
	}
	if len(word) > 0 {
		do(word)
	}
}
