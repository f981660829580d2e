package method

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// The reasons for a missing prediction. The set is closed, so that reasons can
// be counted.
const (
	InvalidRefused    = "refused"       // the model, or a safety system, declined
	InvalidCutOff     = "cut_off"       // the answer reached the token limit and may be incomplete
	InvalidNoRanking  = "no_ranking"    // no ranking at the end of the answer
	InvalidIndex      = "bad_index"     // a ranking that is not a list of places from 1 to N
	InvalidPlan       = "no_plan"       // an invalid plan
	InvalidQuery      = "no_query"      // SQL that failed in every attempt
	InvalidTime       = "query_time"    // SQL that reached the time limit, which depends on the machine
	InvalidUnfinished = "unfinished"    // a loop that reached its limit without an answer
	InvalidRequest    = "no_structure"  // oracle: the request has no structure
	InvalidNone       = "no_candidates" // no candidates to rank
)

// A Fault says why an answer gives no ranking: a Reason from the closed set and
// a Detail in words.
type Fault struct{ Reason, Detail string }

func (f *Fault) Error() string { return f.Reason + ": " + f.Detail }

func fault(reason, format string, args ...any) *Fault {
	return &Fault{reason, fmt.Sprintf(format, args...)}
}

// decode parses the JSON object with this key from an answer, ignoring prose,
// code fences and wrappers around it.
func (s *session) decode(step string, a Answer, key string, into any) error {
	if err := incomplete(a); err != nil {
		return err
	}
	r, err := text.ReadObjectWith(a.Text, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(r.JSON, into); err != nil {
		return fmt.Errorf("reading the answer's JSON: %w", err)
	}
	if r.Repaired || r.Wrapped {
		s.remark(step, NoteFormat)
	}
	return nil
}

// ellipsis shortens a text to at most n characters on one line.
func ellipsis(s string, n int) string {
	return text.Shorten(strings.Join(strings.Fields(s), " "), n)
}
