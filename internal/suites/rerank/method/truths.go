package method

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
)

// Methods that split a request ask about one condition for several candidates
// in one prompt.

// A question is a step about one condition.
type question struct {
	step   string
	asked  []int // candidates
	prompt Prompt
}

// about makes a question. Truth is that of the condition, for a simulated model.
func (s *session) about(step, system string, asked []int, truth func(candidate int) evidence.Truth, parts ...string) question {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return question{step, asked, Prompt{System: system, Schema: schema("truths", "truths"), Optional: true, Messages: ask1(append(parts, wording("truths"))...),
		Simulated: func(m Mind) string {
			said := struct {
				Reasoning string `json:"reasoning"`
				Yes       []int  `json:"yes"`
				No        []int  `json:"no"`
			}{Reasoning: "As the reviews say."}
			said.Yes, said.No = s.judged(asked, truth, m)
			return jsonText(said)
		}}}
}

// inParallel asks questions in parallel, and calls learn with the truths in each answer, in
// the order of the questions. The error is that of the first, so that the result does not
// depend on timing.
func (s *session) inParallel(ctx context.Context, list []question, learn func(q question, truths []evidence.Truth)) error {
	answers, errs, steps := make([]Answer, len(list)), make([]error, len(list)), make([]string, len(list))
	var wait sync.WaitGroup
	for i, q := range list {
		steps[i] = q.step
		wait.Go(func() { answers[i], errs[i] = s.put(ctx, q.step, q.prompt) })
	}
	wait.Wait()
	if len(list) > 1 {
		s.result.Parallel = append(s.result.Parallel, steps)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for i, q := range list {
		s.answered(q.step, answers[i])
		learn(q, s.readTruths(q.step, answers[i], q.asked))
	}
	return nil
}

// readTruths parses the truth of each candidate asked about. What does not parse
// leaves candidates unknown and is counted, as is a candidate on both lists.
func (s *session) readTruths(step string, a Answer, asked []int) []evidence.Truth {
	r := truthReader{asked: asked, truths: make([]evidence.Truth, len(asked))}
	if a.Failed != "" {
		return r.truths
	}
	var said map[string]any
	if err := s.decode(step, a, "yes", &said); err != nil {
		r.wrong = append(r.wrong, err.Error())
	} else {
		r.read(said)
	}
	if r.loose {
		s.remark(step, NoteFormat)
	}
	if len(r.wrong) > 0 {
		s.note(step, "fault", "unknown: %s", strings.Join(r.wrong, "; "))
		s.remark(step, NoteUnread)
	}
	return r.truths
}

// A truthReader reads an answer about candidates.
type truthReader struct {
	asked  []int
	truths []evidence.Truth // of the candidates asked about
	loose  bool             // something is not in the format asked for
	wrong  []string         // what could not be read
}

func (r *truthReader) fault(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// read reads the lists "yes" and "no", in upper or lower case, or an object with a truth for
// each candidate, such as {"3": true, "7": false}.
func (r *truthReader) read(said map[string]any) {
	lists := map[string]any{}
	for _, key := range catalog.Keys(said) {
		if name := strings.ToLower(key); name == "yes" || name == "no" {
			lists[name] = said[key]
		}
	}
	if len(lists) == 0 {
		r.keyed(said)
		return
	}
	r.loose = r.loose || len(lists) < 2
	yes, no := booleans(lists["yes"]), booleans(lists["no"])
	switch {
	case yes == nil && no == nil:
		yes, no = r.list("yes", lists["yes"]), r.list("no", lists["no"])
	case len(yes) != len(r.asked) || len(no) != len(r.asked): // one array alone does not say which are unknown
		r.fault("%d and %d booleans for %d candidates", len(yes), len(no), len(r.asked))
		return
	default: // one for each candidate in the order shown
		r.loose = true
	}
	for i, candidate := range r.asked {
		switch {
		case yes[i] && no[i]:
			r.fault("candidate %d is on both lists", candidate)
		case yes[i]:
			r.truths[i] = evidence.True
		case no[i]:
			r.truths[i] = evidence.False
		}
	}
}

// list reads a list of candidates: which of those asked about are on it.
func (r *truthReader) list(name string, v any) []bool {
	on := make([]bool, len(r.asked))
	elements, isList := v.([]any)
	r.loose = r.loose || !isList
	switch v := v.(type) {
	case nil, []any:
	case bool:
		if len(r.asked) > 1 {
			r.fault("%q is %v for %d candidates", name, v, len(r.asked))
		} else {
			on[0] = v
		}
	case string:
		if !slices.Contains([]string{"", "none", "-"}, strings.ToLower(strings.TrimSpace(v))) {
			places, err := readLine(v)
			if err != nil {
				r.fault("%q is %q", name, ellipsis(v, 40))
			}
			for _, p := range places {
				elements = append(elements, p)
			}
		}
	default:
		elements = []any{v}
	}
	for _, e := range elements {
		place, number := element(e)
		candidate, err := strconv.Atoi(place)
		i := slices.Index(r.asked, candidate)
		switch {
		case err != nil:
			r.fault("%s in %q is not a candidate", ellipsis(place, 40), name)
		case i < 0:
			r.fault("%d in %q is not a candidate of this question", candidate, name)
		default:
			r.loose = r.loose || !number
			on[i] = true
		}
	}
	return on
}

// booleans returns the elements of an array of booleans, or nil.
func booleans(v any) (list []bool) {
	array, _ := v.([]any)
	for _, e := range array {
		b, ok := e.(bool)
		if !ok {
			return nil
		}
		list = append(list, b)
	}
	return list
}

// truthWords are what models write for a truth.
var truthWords = map[string]evidence.Truth{"yes": evidence.True, "true": evidence.True, "1": evidence.True,
	"no": evidence.False, "false": evidence.False, "-1": evidence.False, "unknown": evidence.Unknown, "null": evidence.Unknown, "": evidence.Unknown}

// keyed reads an object with a truth for each candidate.
func (r *truthReader) keyed(said map[string]any) {
	found := false
	for _, key := range catalog.Keys(said) {
		place, _ := element(key)
		candidate, err := strconv.Atoi(place)
		i := slices.Index(r.asked, candidate)
		if err != nil || i < 0 {
			continue
		}
		found = true
		truth, ok := truthWords[strings.ToLower(catalog.Text(said[key]))]
		if r.truths[i] = truth; !ok {
			r.fault("%s is the truth of candidate %d", ellipsis(jsonText(said[key]), 40), candidate)
		}
	}
	if r.loose = r.loose || found; !found {
		r.fault(`the object has neither "yes" nor "no"`)
	}
}
