package method

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// The reasons for a missing prediction. The set is closed, so that reasons can
// be counted.
const (
	InvalidRefused    = "refused"       // the model, or a safety system, declined
	InvalidCutOff     = "cut_off"       // the answer reached the token limit and may be incomplete
	InvalidNoRanking  = "no_ranking"    // no final line "Ranking: …" and no object with a ranking
	InvalidIndex      = "bad_index"     // an index that is not a number from 1 to N
	InvalidDuplicate  = "index_twice"   // a duplicate index
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

// ReadRanking parses the ranking of n candidates from an answer. It accepts a
// last line "Ranking: 3, 1, 7" and, for structured output, an answer that is an
// object {"ranking": [3, 1, 7]}. Numbers elsewhere are ignored. Indices count
// from 1, each at most once.
func ReadRanking(answer string, n int, structured bool) ([]int, error) {
	if structured {
		if list, ok := readObject(answer); ok {
			return checkRanking(list, n)
		}
	}
	line, ok := finalLine(answer)
	if !ok {
		return nil, fault(InvalidNoRanking, `the last line is not "Ranking: …" but %q`, ellipsis(line, 80))
	}
	return checkRanking(separators.Split(strings.Trim(line, "[]() \t."), -1), n)
}

// readObject parses an answer that is one JSON object, optionally in a code
// fence.
func readObject(answer string) ([]string, bool) {
	var object struct {
		Ranking []json.Number `json:"ranking"`
	}
	body := strings.TrimSpace(unfence(answer))
	if !strings.HasPrefix(body, "{") || json.Unmarshal([]byte(body), &object) != nil || object.Ranking == nil {
		return nil, false
	}
	list := make([]string, len(object.Ranking))
	for i, n := range object.Ranking {
		list[i] = n.String()
	}
	return list, true
}

func unfence(s string) string {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "```"); ok && strings.HasSuffix(inner, "```") {
		return strings.TrimPrefix(strings.TrimSuffix(inner, "```"), "json")
	}
	return s
}

var (
	// rankingLine allows Markdown emphasis around the last line.
	rankingLine = regexp.MustCompile("(?i)^[\\s*_`#>-]*(?:final )?ranking[*_`]*\\s*:[\\s*_`]*(.*?)[\\s*_`]*$")
	// separators split indices; RankGPT's "[2] > [1]" too.
	separators = regexp.MustCompile(`[\])]?\s*[,>]\s*[\[(]?`)
)

// finalLine returns what follows "Ranking:" in the last line, ignoring a closing
// code fence; without "Ranking:" it returns that line and false.
func finalLine(answer string) (string, bool) {
	rest := strings.TrimSpace(answer)
	rest = strings.TrimSpace(strings.TrimSuffix(rest, "```"))
	if i := strings.LastIndexAny(rest, "\n\r"); i >= 0 {
		rest = rest[i+1:]
	}
	if m := rankingLine.FindStringSubmatch(rest); m != nil {
		return m[1], true
	}
	return rest, false
}

func checkRanking(list []string, n int) ([]int, error) {
	ranking := make([]int, 0, len(list))
	seen := make([]bool, n+1)
	for _, s := range list {
		i, err := strconv.Atoi(strings.TrimSpace(s))
		switch {
		case err != nil:
			return nil, fault(InvalidIndex, "%q is not an index", ellipsis(s, 40))
		case i < 1 || i > n:
			return nil, fault(InvalidIndex, "index %d is not from 1 to %d", i, n)
		case seen[i]:
			return nil, fault(InvalidDuplicate, "duplicate index %d", i)
		}
		seen[i] = true
		ranking = append(ranking, i)
	}
	if len(ranking) == 0 {
		return nil, fault(InvalidNoRanking, "the ranking is empty")
	}
	return ranking, nil
}

// readRanking is [ReadRanking] for an answer that may be refused or cut off.
func readRanking(a Answer, n int, structured bool) ([]int, error) {
	if err := incomplete(a); err != nil {
		return nil, err
	}
	return ReadRanking(a.Text, n, structured)
}

// decode parses the JSON object with this key from an answer, ignoring prose
// and code fences around it.
func decode(a Answer, key string, into any) error {
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
	return nil
}

// ellipsis shortens a text to at most n characters on one line.
func ellipsis(s string, n int) string {
	return text.Shorten(strings.Join(strings.Fields(s), " "), n)
}
