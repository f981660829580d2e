package method

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
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

// FaultOf returns the fault of an answer with this stop reason, whatever its
// text; nil if the model finished.
func FaultOf(stop eval.Stop, text string) *Fault {
	switch stop {
	case eval.StopRefused:
		return fault(InvalidRefused, "%s", ellipsis(text, 200))
	case eval.StopLength:
		return fault(InvalidCutOff, "the answer reached the token limit after %q: raise max_tokens", ellipsis(tail(text, 60), 60))
	}
	return nil
}

func tail(s string, n int) string {
	letters := []rune(s)
	return string(letters[max(0, len(letters)-n):])
}

// decode parses the JSON object with this key from an answer, ignoring prose,
// code fences and wrappers around it.
func (s *session) decode(step string, a Answer, key string, into any) error {
	if f := FaultOf(a.Stop, a.Text); f != nil {
		return f
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
	if len(r.Others) > 0 {
		s.remark(step, eval.NoteSeveral)
	}
	return nil
}

// ellipsis shortens a text to at most n characters on one line.
func ellipsis(s string, n int) string {
	return text.Shorten(strings.Join(strings.Fields(s), " "), n)
}

// A number is a number in a model's JSON. It may be a string with a place in any
// form that [ReadRanking] reads, such as "3" or "#3"; null is 0.
type number int

func (n *number) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil || v == nil || v == "" {
		return err
	}
	i, err := whole(v)
	*n = number(i)
	return err
}

func whole(v any) (int, error) {
	text, _ := element(v)
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s is not a whole number", ellipsis(text, 40))
	}
	return i, nil
}

// numbers is an array of numbers in a model's JSON, or one number alone.
type numbers []int

func (n *numbers) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil || v == nil {
		return err
	}
	array, ok := v.([]any)
	if !ok {
		array = []any{v}
	}
	*n = make(numbers, len(array))
	for k, e := range array {
		i, err := whole(e)
		if err != nil {
			return err
		}
		(*n)[k] = i
	}
	return nil
}

func jsonText(v any) string { return string(kit.JSON(v)) }
