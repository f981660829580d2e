package evidence

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// The results of [Validate].
const (
	OK           = "ok"             // gold matches, and nothing else
	NoMatch      = "no_match"       // no item matches
	MultiMatch   = "multi_match"    // gold and others match
	GoldNotMatch = "gold_not_match" // others match, gold, or one of several, does not
)

// A Status is the result of validating a request against a catalog.
type Status struct {
	Request string   `json:"request"`
	Line    int      `json:"line"`
	Status  string   `json:"status"`
	Gold    Truth    `json:"gold"`             // truth of the request for gold, the lowest of several
	Matches []string `json:"matches"`          // ids of the items that satisfy it, in their order
	Unknown int      `json:"unknown"`          // number of other items that are unknown
	Right   int      `json:"right"`            // number of golds
	Missed  []string `json:"missed,omitempty"` // those of several golds that do not match
}

// Validate evaluates every request on every item of a catalog. Requests must
// pass [request.Check]. The result is in the order of the requests.
//
// A condition that several requests share is evaluated once.
func Validate(c *catalog.Catalog, requests []request.Request) []Status {
	place := map[string]int{} // of each distinct condition
	var conditions []*request.Evidence
	for _, r := range requests {
		for _, leaf := range r.Structure.Leaves() {
			if key := leaf.Evidence.Key(); place[key] == 0 {
				conditions = append(conditions, leaf.Evidence)
				place[key] = len(conditions)
			}
		}
	}
	truths := Truths(c, conditions)
	statuses := make([]Status, len(requests))
	parallel(len(requests), func(i int) {
		truth := map[*request.Node][]Truth{}
		for _, leaf := range requests[i].Structure.Leaves() {
			truth[leaf] = truths[place[leaf.Evidence.Key()]-1]
		}
		statuses[i] = status(c, requests[i], truth)
	})
	return statuses
}

// Truths evaluates conditions on all items of a catalog. The result is indexed by
// condition and item.
func Truths(c *catalog.Catalog, conditions []*request.Evidence) [][]Truth {
	evaluator := New(c.Graph)
	truths, tests := make([][]Truth, len(conditions)), make([]test, len(conditions))
	for k, e := range conditions {
		truths[k], tests[k] = make([]Truth, len(c.Items)), evaluator.test(e)
	}
	parallel(len(c.Items), func(i int) {
		item := &subject{Item: c.Items[i]}
		for k, t := range tests {
			truths[k][i], _ = t(item)
		}
	})
	return truths
}

func status(c *catalog.Catalog, r request.Request, truth map[*request.Node][]Truth) Status {
	s := Status{Request: r.ID, Line: r.Line, Gold: Unknown, Right: len(r.Answers()), Matches: []string{}}
	found, right := 0, 0
	for i, item := range c.Items {
		t := Combine(r.Structure, func(n *request.Node) Truth { return truth[n][i] })
		switch {
		case r.IsRight(item.ID):
			if found++; found == 1 || t < s.Gold {
				s.Gold = t
			}
			if t == True {
				right++
			} else if s.Right > 1 {
				s.Missed = append(s.Missed, item.ID)
			}
		case t == Unknown:
			s.Unknown++
		}
		if t == True {
			s.Matches = append(s.Matches, item.ID)
		}
	}
	switch {
	case len(s.Matches) == 0:
		s.Status = NoMatch
	case right < s.Right:
		s.Status = GoldNotMatch
	case len(s.Matches) > right:
		s.Status = MultiMatch
	default:
		s.Status = OK
	}
	return s
}

// parallel calls do for 0 to n-1 on all cores.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
