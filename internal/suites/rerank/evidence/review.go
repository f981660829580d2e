package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	prose "github.com/scruple-eval/scruple/internal/text"
)

const noReviews = "no reviews"

// ofReviews is a test that is unknown without reviews.
func ofReviews(t test) test {
	return func(item *subject) (Truth, reason) {
		if len(item.Reviews) == 0 {
			return Unknown, func() string { return noReviews }
		}
		return t(item)
	}
}

// reviewText is true if any review matches the pattern, else false; unknown
// without reviews.
func reviewText(e *request.Evidence) test {
	p := newPattern(e.Pattern)
	return ofReviews(func(item *subject) (Truth, reason) {
		for i := range item.Reviews {
			if item.says(p, i) {
				return True, func() string { return fmt.Sprintf("review %d says %s", i+1, p.quote(&item.Reviews[i])) }
			}
		}
		return False, func() string {
			return fmt.Sprintf("no match for /%[2]s/ in %[1]s", reviews(len(item.Reviews)), e.Pattern)
		}
	})
}

// weighted is true if enough credible reviews match the pattern, else false;
// unknown without reviews. A review is credible if its value of the field is not
// 0 and at least the [percentile] of the nonzero values of the item's reviews.
func weighted(e *request.Evidence) test {
	p, need := newPattern(e.Pattern), cmp.Or(e.MinCredible, request.DefaultMinCredible)
	return ofReviews(func(item *subject) (Truth, reason) {
		amounts := make([]float64, len(item.Reviews))
		for i := range item.Reviews {
			amounts[i] = amount(item.Reviews[i].At(e.WeightBy))
		}
		nonZero := slices.DeleteFunc(slices.Clone(amounts), func(a float64) bool { return a == 0 })
		if len(nonZero) < need {
			return False, func() string {
				return fmt.Sprintf("%d of %s with a %s, want %d", len(nonZero), reviews(len(amounts)), e.WeightBy, need)
			}
		}
		slices.Sort(nonZero)
		threshold := percentile(nonZero, e.Percentile)
		credible, found := 0, 0
		for i, a := range amounts {
			if a == 0 || a < threshold {
				continue
			}
			credible++
			if item.says(p, i) {
				found++
			}
		}
		return truth(found >= need), func() string {
			return fmt.Sprintf("%d of %s with %s of at least %s matching /%s/, want %d", found, reviews(credible), e.WeightBy, number(threshold), e.Pattern, need)
		}
	})
}

// percentile returns a percentile of sorted values by linear interpolation: type
// 7 of Hyndman and Fan (1996), the default of R and NumPy. It needs at least one
// value.
func percentile(sorted []float64, percent float64) float64 {
	at := float64(len(sorted)-1) * percent / 100
	if whole := math.Round(at); math.Abs(at-whole) < 1e-9 { // rounding must not lift it above the value it falls on
		at = whole
	}
	below := int(math.Floor(at))
	if below >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + float64((at-float64(below))*(sorted[below+1]-sorted[below]))
}

// amount converts a value to a number: true is 1, a list is its number of
// non-empty elements, and a text is its number or its number of comma-separated
// parts. Missing, "" and "None" are 0.
func amount(v any) float64 {
	if n, ok := measure(v); ok {
		return n
	}
	switch v := v.(type) {
	case bool:
		return float64(max(truth(v), 0))
	case string:
		parts := []any{}
		for part := range strings.SplitSeq(v, ",") {
			parts = append(parts, strings.TrimSpace(part))
		}
		n, _ := measure(parts)
		return n
	}
	return 0
}

// reviewMeta tests data about reviews and their writers. It is missing without
// reviews. If there are reviews but none has enough stars, any and count are
// false, and all, which has nothing to hold for, is missing.
func reviewMeta(e *request.Evidence) test {
	return func(item *subject) (Truth, reason) {
		found, all := 0, 0
		for i := range item.Reviews {
			if r := &item.Reviews[i]; r.Stars >= e.MinStars {
				all++
				if metaHolds(e, r.At(e.Path)) {
					found++
				}
			}
		}
		if all == 0 {
			t := Truth(e.Missing)
			if len(item.Reviews) > 0 && e.Aggregate != request.All {
				t = False
			}
			return t, func() string {
				if len(item.Reviews) == 0 {
					return noReviews
				}
				return fmt.Sprintf("none of %s has %s stars or more", reviews(len(item.Reviews)), number(e.MinStars))
			}
		}
		need := 1
		switch e.Aggregate {
		case request.All:
			need = all
		case request.Count:
			need = max(e.Count, 1)
		}
		return truth(found >= need), func() string {
			return fmt.Sprintf("%d of %s with %s, want %d", found, reviews(all), metaWanted(e), need)
		}
	}
}

// metaHolds tests a value. gte and lte are false for a value that is not a
// number; a list is compared by its number of elements.
func metaHolds(e *request.Evidence, v any) bool {
	n, ok := measure(v)
	switch e.Test {
	case request.AtLeast:
		return ok && n >= asNumber(e.Value)
	case request.AtMost:
		return ok && n <= asNumber(e.Value)
	}
	if m, ok := v.(map[string]any); ok {
		return len(m) > 0
	}
	return amount(v) != 0
}

// measure returns a number, a text parsed as a number, or the number of the elements of a
// list that are not empty.
func measure(v any) (n float64, ok bool) {
	list, ok := v.([]any)
	if !ok {
		return written(v)
	}
	for _, e := range list {
		if s := catalog.Text(e); s != "" && s != "None" && set(e) {
			n++
		}
	}
	return n, true
}

// written returns a number, or a text read as one.
func written(v any) (n float64, ok bool) {
	s, ok := v.(string)
	if !ok {
		n, ok = v.(float64)
		return n, ok
	}
	d, err := prose.ParseNumber(s)
	if err == nil {
		n, err = d.Float64()
	}
	return n, err == nil
}

func metaWanted(e *request.Evidence) string {
	switch e.Test {
	case request.AtLeast:
		return e.Path + " ≥ " + catalog.Text(e.Value)
	case request.AtMost:
		return e.Path + " ≤ " + catalog.Text(e.Value)
	}
	return e.Path
}

// social is true if enough reviews that match the pattern are by the named people
// or people near them, else false; unknown without reviews.
func (ev *Evaluator) social(e *request.Evidence) test {
	people := map[string]bool{}
	for _, name := range e.Names {
		maps.Copy(people, ev.graph.Within(name, e.Hops))
	}
	p, need := newPattern(e.Pattern), max(e.MinMatches, 1)
	return ofReviews(func(item *subject) (Truth, reason) {
		known, found, last := 0, 0, 0
		for i := range item.Reviews {
			if !people[item.Reviews[i].UserID] {
				continue
			}
			known++
			if item.says(p, i) {
				found++
				last = i
			}
		}
		return truth(found >= need), func() string {
			text := fmt.Sprintf("%d of %s by people within %s of %s", known, reviews(len(item.Reviews)), prose.Plural(e.Hops, "friendship", "friendships"), strings.Join(e.Names, ", "))
			if len(people) == 0 {
				return text + " (no such user)"
			}
			text += fmt.Sprintf(", %d of them matching /%s/", found, e.Pattern)
			if found > 0 {
				text += fmt.Sprintf(": review %d by %s says %s", last+1, cmp.Or(ev.graph.Name(item.Reviews[last].UserID), item.Reviews[last].UserID), p.quote(&item.Reviews[last]))
			}
			return text
		}
	})
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

func reviews(n int) string { return prose.Plural(n, "review", "reviews") }
