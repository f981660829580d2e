package method

import (
	"cmp"
	"context"
	"math"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/text"
)

// The usual parameters of BM25: term-frequency saturation and length
// normalisation.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// bm25 ranks by word overlap (Robertson and Zaragoza, Foundations and Trends in
// IR 3(4), 2009). A candidate is one document: its name, facts and the text of
// its reviews as shown, without the numbers and tags around them, so that its
// position in the list does not count. Words are runs of letters or digits,
// case folded, with camel case split; there are no stop words and no stemming.
// Document frequencies are counted over the candidates.
// The weight of a word in n of N documents is ln(1 + (N-n+0.5)/(n+0.5)), which
// is never negative.
func bm25(_ context.Context, s *session) ([]int, error) {
	documents := make([][]string, len(s.Candidates)) // their words
	for i, c := range s.Candidates {
		documents[i] = append(words(c.Item.Name), words(s.card(i+1).facts())...)
		for _, r := range c.Reviews {
			documents[i] = append(documents[i], words(r.Text)...)
		}
	}
	scores := bm25Scores(words(s.Text), documents)
	return s.sorted(func(a, b int) int { return cmp.Compare(scores[b-1], scores[a-1]) }), nil
}

// bm25Scores scores documents for a query; a repeated query word counts repeatedly.
func bm25Scores(query []string, documents [][]string) []float64 {
	counts := make([]map[string]float64, len(documents)) // of the words of each
	in := map[string]float64{}                           // document frequency of a word
	length, n := 0.0, float64(len(documents))
	for i, d := range documents {
		length += float64(len(d))
		counts[i] = map[string]float64{}
		for _, w := range d {
			if counts[i][w]++; counts[i][w] == 1 {
				in[w]++
			}
		}
	}
	mean := length / n
	scores := make([]float64, len(documents))
	for i, d := range documents {
		for _, w := range query {
			if f := counts[i][w]; f > 0 {
				idf := math.Log(1 + (n-in[w]+0.5)/(in[w]+0.5))
				scores[i] += idf * f * (bm25K1 + 1) / (f + float64(bm25K1*(1-bm25B+bm25B*float64(len(d))/mean))) // not fused: one ranking on all processors
			}
		}
	}
	return scores
}

// words splits text into words, case folded.
func words(s string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range s {
		if unicode.IsUpper(r) && unicode.IsLower(last) { // camel case
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return strings.FieldsFunc(text.Fold(b.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
