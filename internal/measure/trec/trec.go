// Package trec evaluates rankings the way NIST's trec_eval does: run and qrels
// files in, measures by query and over all queries out, equal to trec_eval to
// its four decimals. It knows no suite: any system's files will do.
//
// A run's line is "query Q0 document rank score tag", a judgement's "query iter
// document relevance", fields separated by blanks or tabs. Documents are ranked
// by score, highest first, ties by document id, last in the alphabet first; the
// rank column is not read. Queries without judgements are left out, as are
// judged queries that the run does not answer: both are counted.
package trec

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Run holds the ranked documents of each query.
type Run struct {
	Queries []string // in order of appearance
	ranked  map[string][]scored
}

type scored struct {
	doc   string
	score float64
}

// Qrels holds the judged documents of each query and their relevance; below 1
// is not relevant, below 0 not judged.
type Qrels struct {
	Queries []string
	judged  map[string]map[string]int
}

// ReadRun reads a run, plain or gzipped. All that is wrong with it is
// reported, by line.
func ReadRun(r io.Reader, name string) (*Run, error) {
	run := &Run{ranked: map[string][]scored{}}
	type key struct{ query, doc string }
	seen := map[key]int{}
	err := lines(r, name, 6, "query Q0 document rank score tag", func(n int, f []string) error {
		score, err := strconv.ParseFloat(f[4], 64)
		if err != nil || math.IsNaN(score) {
			return fmt.Errorf("the score is %q, expected a number", f[4])
		}
		k := key{f[0], f[2]}
		if first, twice := seen[k]; twice {
			return fmt.Errorf("document %s of query %s is ranked twice, first in line %d", f[2], f[0], first)
		}
		seen[k] = n
		if run.ranked[f[0]] == nil {
			run.Queries = append(run.Queries, f[0])
		}
		run.ranked[f[0]] = append(run.ranked[f[0]], scored{f[2], score})
		return nil
	})
	for _, list := range run.ranked {
		slices.SortFunc(list, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(b.doc, a.doc))
		})
	}
	return run, err
}

// ReadQrels reads judgements, plain or gzipped.
func ReadQrels(r io.Reader, name string) (*Qrels, error) {
	q := &Qrels{judged: map[string]map[string]int{}}
	err := lines(r, name, 4, "query iter document relevance", func(_ int, f []string) error {
		relevance, err := strconv.Atoi(f[3])
		if err != nil || relevance > maxRelevance {
			return fmt.Errorf("the relevance is %q, expected a whole number up to %d", f[3], maxRelevance)
		}
		docs := q.judged[f[0]]
		if docs == nil {
			docs = map[string]int{}
			q.judged[f[0]] = docs
			q.Queries = append(q.Queries, f[0])
		}
		if _, twice := docs[f[2]]; twice {
			return fmt.Errorf("document %s of query %s is judged twice", f[2], f[0])
		}
		docs[f[2]] = relevance
		return nil
	})
	return q, err
}

// maxRelevance keeps gains what a float64 adds exactly.
const maxRelevance = 1 << 30

// maxFindings is how many wrong lines are reported of a file.
const maxFindings = 20

// lines hands the fields of each line to a function and gathers what it finds
// wrong.
func lines(r io.Reader, name string, fields int, form string, line func(n int, f []string) error) error {
	r, err := unzipped(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), 1<<20)
	var wrong []error
	n, read := 0, 0
	for s.Scan() {
		n++
		text := s.Text()
		f := strings.Fields(text)
		if len(f) == 0 {
			continue
		}
		read++
		switch {
		case !utf8.ValidString(text):
			err = errors.New("not valid UTF-8")
		case len(f) != fields:
			err = fmt.Errorf("%d fields, expected %d: %s", len(f), fields, form)
		default:
			err = line(n, f)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n, err))
			if len(wrong) == maxFindings {
				wrong = append(wrong, fmt.Errorf("%s: more lines are wrong; these are the first %d", name, maxFindings))
				break
			}
		}
	}
	if err := s.Err(); err != nil {
		wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n+1, err))
	}
	if read == 0 && len(wrong) == 0 {
		return fmt.Errorf("%s: empty; expected lines of %s", name, form)
	}
	return errors.Join(wrong...)
}

// unzipped looks at the first bytes, so that a name says nothing.
func unzipped(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if magic, _ := b.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(b)
	}
	return b, nil
}

// Measures are the names of what is computed, in order.
var Measures = []string{"success_1", "success_5", "success_10", "recip_rank", "ndcg_cut_5", "ndcg_cut_10", "map", "P_5", "P_10"}

// A Result has the measures of each query and their means.
type Result struct {
	Queries  []string // evaluated, in the run's order
	PerQuery map[string]map[string]float64
	All      map[string]float64 // means over the queries evaluated
	Unjudged []string           // queries of the run without judgements
	Missing  []string           // judged queries that the run does not answer
}

// Evaluate compares a run with judgements. It is an error if they have no
// query in common.
func Evaluate(run *Run, qrels *Qrels) (*Result, error) {
	r := &Result{PerQuery: map[string]map[string]float64{}, All: map[string]float64{}}
	for _, q := range run.Queries {
		judged, ok := qrels.judged[q]
		if !ok {
			r.Unjudged = append(r.Unjudged, q)
			continue
		}
		r.Queries = append(r.Queries, q)
		r.PerQuery[q] = evaluate(run.ranked[q], judged)
	}
	for _, q := range qrels.Queries {
		if run.ranked[q] == nil {
			r.Missing = append(r.Missing, q)
		}
	}
	if len(r.Queries) == 0 {
		return nil, errors.New("the run and the judgements have no query in common")
	}
	for _, m := range Measures {
		var sum float64
		for _, q := range r.Queries {
			sum += r.PerQuery[q][m]
		}
		r.All[m] = sum / float64(len(r.Queries))
	}
	return r, nil
}

func evaluate(ranked []scored, judged map[string]int) map[string]float64 {
	relevance := make([]int, len(ranked))
	for i, d := range ranked {
		relevance[i] = judged[d.doc] // 0 where it was not judged
	}
	var ideal []int
	for _, rel := range judged {
		if rel > 0 {
			ideal = append(ideal, rel)
		}
	}
	slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(b, a) })
	return map[string]float64{
		"success_1": success(relevance, 1), "success_5": success(relevance, 5), "success_10": success(relevance, 10),
		"recip_rank": reciprocalRank(relevance),
		"ndcg_cut_5": ndcg(relevance, ideal, 5), "ndcg_cut_10": ndcg(relevance, ideal, 10),
		"map": averagePrecision(relevance, len(ideal)),
		"P_5": precision(relevance, 5), "P_10": precision(relevance, 10),
	}
}

func relevant(relevance []int, k int) (n int) {
	for _, rel := range relevance[:min(k, len(relevance))] {
		if rel > 0 {
			n++
		}
	}
	return n
}

// success is 1 if any of the first k is relevant: Hits@K.
func success(relevance []int, k int) float64 {
	return float64(min(relevant(relevance, k), 1))
}

// precision divides by k, also where fewer were returned.
func precision(relevance []int, k int) float64 {
	return float64(relevant(relevance, k)) / float64(k)
}

func reciprocalRank(relevance []int) float64 {
	for i, rel := range relevance {
		if rel > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// averagePrecision is 0 where nothing is relevant.
func averagePrecision(relevance []int, total int) float64 {
	var sum float64
	found := 0
	for i, rel := range relevance {
		if rel > 0 {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	if total == 0 {
		return 0
	}
	return sum / float64(total)
}

// ndcg takes the relevance as the gain and log2(rank+1) as the discount
// (Järvelin & Kekäläinen 2002, as trec_eval reads it); the ideal ranking is of
// all judged documents. It is 0 where nothing is relevant.
func ndcg(relevance, ideal []int, k int) float64 {
	best := dcg(ideal, k)
	if best == 0 {
		return 0
	}
	return dcg(relevance, k) / best
}

func dcg(relevance []int, k int) float64 {
	var sum float64
	for i, rel := range relevance[:min(k, len(relevance))] {
		if rel > 0 {
			sum += float64(rel) / math.Log2(float64(i)+2)
		}
	}
	return sum
}
