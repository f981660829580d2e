package method

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// Why there is no prediction: a closed set, so that reasons can be counted.
const (
	InvalidRefused    = "refused"       // the model, or a safety system, declined
	InvalidCutOff     = "cut_off"       // the answer ended at the limit of its tokens: what stands last may not be all
	InvalidNoRanking  = "no_ranking"    // no final line "Ranking: …", or no object with it
	InvalidIndex      = "bad_index"     // an index that is no number from 1 to N
	InvalidDuplicate  = "index_twice"   // an index that is there twice
	InvalidPlan       = "no_plan"       // a plan that cannot be read
	InvalidQuery      = "no_query"      // SQL that failed in every attempt
	InvalidTime       = "query_time"    // SQL that reached the limit of time, which another machine might not
	InvalidUnfinished = "unfinished"    // a loop that reached its bound without an answer
	InvalidRequest    = "no_structure"  // oracle: the request has no structure
	InvalidNone       = "no_candidates" // there is nothing to rank
)

// A Fault is an answer that gives no ranking: Reason from the closed set, and
// what was wrong in words.
type Fault struct{ Reason, Detail string }

func (f *Fault) Error() string { return f.Reason + ": " + f.Detail }

func fault(reason, format string, args ...any) *Fault {
	return &Fault{reason, fmt.Sprintf(format, args...)}
}

// ReadRanking reads the ranking of n candidates from an answer. Only two things
// are read: a last line "Ranking: 3, 1, 7", and where structured output was
// asked for, an object {"ranking": [3, 1, 7]} that is the whole answer.
// Numbers anywhere else are prose. Indices count from 1, each at most once.
func ReadRanking(answer string, n int, structured bool) ([]int, error) {
	if structured {
		if list, ok := readObject(answer); ok {
			return checkRanking(list, n)
		}
	}
	line, ok := finalLine(answer)
	if !ok {
		return nil, fault(InvalidNoRanking, `the answer does not end in a line "Ranking: …" but in %q`, ellipsis(line, 80))
	}
	return checkRanking(separators.Split(strings.Trim(line, "[]() \t."), -1), n)
}

// readObject takes an answer that is one JSON object and nothing else, but for
// a code fence.
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
	// rankingLine allows for the emphasis that models put round a last line.
	rankingLine = regexp.MustCompile("(?i)^[\\s*_`#>-]*(?:final )?ranking[*_`]*\\s*:[\\s*_`]*(.*?)[\\s*_`]*$")
	// separators are what stands between indices; RankGPT's "[2] > [1]" too.
	separators = regexp.MustCompile(`[\])]?\s*[,>]\s*[\[(]?`)
)

// finalLine is what follows "Ranking:" in the last line that is more than a
// closing code fence; else that line, and false.
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
			return nil, fault(InvalidIndex, "%q is no index", ellipsis(s, 40))
		case i < 1 || i > n:
			return nil, fault(InvalidIndex, "index %d is not from 1 to %d", i, n)
		case seen[i]:
			return nil, fault(InvalidDuplicate, "index %d is there twice", i)
		}
		seen[i] = true
		ranking = append(ranking, i)
	}
	if len(ranking) == 0 {
		return nil, fault(InvalidNoRanking, "the ranking is empty")
	}
	return ranking, nil
}

// readRanking is [ReadRanking] of a model's answer, which may be a refusal.
func readRanking(a Answer, n int, structured bool) ([]int, error) {
	if err := incomplete(a); err != nil {
		return nil, err
	}
	return ReadRanking(a.Text, n, structured)
}

// decode reads the JSON object of an answer that has the key, whatever prose or
// code fence is around it.
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

// ellipsis is a text of at most n characters, on one line.
func ellipsis(s string, n int) string {
	return text.Shorten(strings.Join(strings.Fields(s), " "), n)
}
