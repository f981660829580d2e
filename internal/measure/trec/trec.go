// Package trec evaluates rankings like NIST's trec_eval: from run and qrels files
// it computes measures by query and over all queries, equal to trec_eval to its
// four decimals. It is independent of suites and works with any system's files.
//
// A run's line is "query Q0 document rank score tag", a judgement's "query iter
// document relevance", fields separated by blanks or tabs; lines that begin
// with # are comments. Documents are ranked by score, highest first, ties by
// the bytes of the document id, last first; the rank column is not read.
// Queries without judgements are ignored, as are judged queries that the run does
// not answer.
//
// Scores are float64, as in trec_eval since version 10. Earlier versions used
// float32, in which more documents tie: the queries for which this changes a
// measure are counted. There is no other silent difference: what trec_eval guesses
// (a score or relevance that is not a number, NaN) is an error, and what it ignores
// is a note in the result.
package trec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
)

// Measures are the names of what is computed, in order.
var Measures = []string{"success_1", "success_5", "success_10", "recip_rank", "ndcg_cut_5", "ndcg_cut_10", "map", "P_5", "P_10", "recall_5", "recall_10"}

// A Result has the measures of each query and their means.
type Result struct {
	Queries  []string // evaluated, in order
	PerQuery map[string]map[string]float64
	All      map[string]float64 // means over the queries evaluated
	Unjudged []string           // queries of the run without judgements
	Missing  []string           // judged queries that the run does not answer
	Notes    []string           // what a reader of the result should know
}

// Evaluate compares a run with judgements. It is an error if they have no
// query in common, or if one of these has a document twice.
func Evaluate(run *Run, qrels *Qrels) (*Result, error) {
	r := &Result{
		PerQuery: map[string]map[string]float64{},
		All:      map[string]float64{},
		Notes:    slices.Concat(run.Notes, qrels.Notes),
	}
	var twice []error
	single, ignored, empty := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(run.queries)) {
		ranked, judged := run.queries[name], qrels.queries[name]
		if judged == nil {
			r.Unjudged = append(r.Unjudged, name)
			ignored += len(ranked.twice)
			continue
		}
		r.Queries = append(r.Queries, name)
		for _, err := range slices.Concat(ranked.twice, judged.twice) {
			twice = append(twice, fmt.Errorf("%w (query %s)", err, name))
		}
		if len(twice) > 0 {
			continue
		}
		var otherwise bool
		r.PerQuery[name], otherwise = evaluate(ranked.entries, judged.entries)
		if otherwise {
			single++
		}
		if !slices.ContainsFunc(judged.entries, func(e entry) bool { return e.value > 0 }) {
			empty++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(qrels.queries)) {
		if run.queries[name] == nil {
			r.Missing = append(r.Missing, name)
			ignored += len(qrels.queries[name].twice)
		}
	}
	switch {
	case len(r.Queries) == 0:
		return nil, fmt.Errorf("the run and the judgements share no query: the run has %s, the judgements %s", some(r.Unjudged), some(r.Missing))
	case len(twice) > maxFindings:
		return nil, errors.Join(append(twice[:maxFindings:maxFindings], fmt.Errorf("and %d more", len(twice)-maxFindings))...)
	case len(twice) > 0:
		return nil, errors.Join(twice...)
	}
	r.average()
	r.Notes = note(r.Notes, "ignored: queries of the run without judgements", len(r.Unjudged), r.Unjudged...)
	r.Notes = note(r.Notes, "ignored: judged queries that the run does not answer (trec_eval -c counts them as 0)", len(r.Missing), r.Missing...)
	r.Notes = note(r.Notes, "duplicate documents in ignored queries", ignored)
	r.Notes = note(r.Notes, "queries without a relevant document, counted as 0", empty)
	r.Notes = note(r.Notes, "queries for which trec_eval before version 10 differs, because it compares scores as float32", single)
	return r, nil
}

// average sums in the order of the queries' bytes, as trec_eval does, so that
// the last bit is the same.
func (r *Result) average() {
	for _, m := range Measures {
		var sum float64
		for _, q := range r.Queries {
			sum += r.PerQuery[q][m]
		}
		r.All[m] = sum / float64(len(r.Queries))
	}
}

// note adds how many there are, if any, and names the first few.
func note(notes []string, text string, n int, names ...string) []string {
	switch {
	case n == 0:
		return notes
	case len(names) > 0:
		return append(notes, fmt.Sprintf("%s: %d (%s)", text, n, some(names)))
	}
	return append(notes, fmt.Sprintf("%s: %d", text, n))
}

// some names the first few.
func some(names []string) string {
	const few = 3
	if len(names) > few {
		return strings.Join(names[:few], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// evaluate measures one query, and says whether scores as float32 would be
// measured otherwise. Both lists are in the order of documents.
func evaluate(run, judged []entry) (values map[string]float64, otherwise bool) {
	var ideal []float64
	for _, j := range judged {
		if j.value > 0 {
			ideal = append(ideal, j.value)
		}
	}
	slices.SortFunc(ideal, func(a, b float64) int { return cmp.Compare(b, a) })

	ranked := slices.Clone(run)
	sortBy(ranked, func(e entry) float64 { return e.value })
	values = measures(relevances(ranked, judged), ideal)
	if tiesAsSingle(ranked) {
		sortBy(ranked, func(e entry) float64 { return float64(float32(e.value)) })
		otherwise = !maps.Equal(values, measures(relevances(ranked, judged), ideal))
	}
	return values, otherwise
}

// sortBy ranks by score, highest first, ties by document, last first.
func sortBy(ranked []entry, score func(entry) float64) {
	slices.SortFunc(ranked, func(a, b entry) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), strings.Compare(b.doc, a.doc))
	})
}

func tiesAsSingle(ranked []entry) bool {
	for i := 1; i < len(ranked); i++ {
		if a, b := ranked[i-1].value, ranked[i].value; a != b && float32(a) == float32(b) {
			return true
		}
	}
	return false
}

// relevances returns the relevance of each ranked document, 0 if not judged.
func relevances(ranked, judged []entry) []float64 {
	relevance := make([]float64, len(ranked))
	for i, e := range ranked {
		at, found := slices.BinarySearchFunc(judged, e.doc, func(j entry, doc string) int { return strings.Compare(j.doc, doc) })
		if found {
			relevance[i] = judged[at].value
		}
	}
	return relevance
}

func measures(relevance, ideal []float64) map[string]float64 {
	first := slices.IndexFunc(relevance, func(rel float64) bool { return rel > 0 }) + 1
	return map[string]float64{
		"success_1": measure.Hit(first, 1), "success_5": measure.Hit(first, 5), "success_10": measure.Hit(first, 10),
		"recip_rank": measure.ReciprocalRank(first, 0),
		"ndcg_cut_5": ndcg(relevance, ideal, 5), "ndcg_cut_10": ndcg(relevance, ideal, 10),
		"map": averagePrecision(relevance, len(ideal)),
		"P_5": precision(relevance, 5), "P_10": precision(relevance, 10),
		"recall_5": recall(relevance, len(ideal), 5), "recall_10": recall(relevance, len(ideal), 10),
	}
}

func relevant(relevance []float64, k int) (n int) {
	for _, rel := range relevance[:min(k, len(relevance))] {
		if rel > 0 {
			n++
		}
	}
	return n
}

// precision divides by k, also where fewer were returned.
func precision(relevance []float64, k int) float64 {
	return float64(relevant(relevance, k)) / float64(k)
}

// recall is 0 where nothing is relevant.
func recall(relevance []float64, total, k int) float64 {
	if total == 0 {
		return 0
	}
	return float64(relevant(relevance, k)) / float64(total)
}

// averagePrecision is 0 where nothing is relevant.
func averagePrecision(relevance []float64, total int) float64 {
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
func ndcg(relevance, ideal []float64, k int) float64 {
	best := dcg(ideal, k)
	if best == 0 {
		return 0
	}
	return dcg(relevance, k) / best
}

// discount is log2(rank+1) of the first ten ranks. math.Log2 is off in the
// last bit at 3 and 9, which can turn a fourth decimal.
var discount = [...]float64{
	1, 1.584962500721156181, 2, 2.321928094887362348, 2.584962500721156181,
	2.807354922057604107, 3, 3.169925001442312363, 3.321928094887362348, 3.459431618637297256,
}

func dcg(relevance []float64, k int) float64 {
	var sum float64
	for i, rel := range relevance[:min(k, len(relevance))] {
		if rel > 0 {
			sum += rel / discount[i]
		}
	}
	return sum
}
