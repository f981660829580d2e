package analyse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// tolerated is the share of malformed, refused or truncated answers of an arm above
// which the analysis warns: its scores then say more about the format than about the
// task. It is the default share of failed trials that a study allows.
const tolerated = 0.05

// A Trouble says that many answers of an arm are malformed, refused or truncated, and
// has the first of them in the order of item ids.
type Trouble struct {
	Arm     string  `json:"arm"`
	Kind    string  `json:"kind"` // malformed | refused | truncated
	N       int     `json:"n"`
	Answers int     `json:"answers"`           // of the arm
	Reasons []Count `json:"reasons,omitempty"` // of malformed and refused answers

	Item      string `json:"item"`
	Replicate int    `json:"replicate"`
	Answer    string `json:"answer"`             // of the item, shortened
	Expected  string `json:"expected,omitempty"` // of an answer to the item, shortened
}

// Unread reports whether no answer of the arm could be read.
func (t Trouble) Unread() bool { return t.Kind == string(eval.Malformed) && t.N == t.Answers }

// Brief returns the warning without the example.
func (t Trouble) Brief() string {
	verb := "are"
	if t.N == 1 {
		verb = "is"
	}
	s := fmt.Sprintf("%s: %d of %s (%.0f %%) %s %s", t.Arm, t.N, text.Plural(t.Answers, "answer", "answers"),
		100*float64(t.N)/float64(t.Answers), verb, t.Kind)
	if len(t.Reasons) > 0 {
		var parts []string
		for _, r := range t.Reasons {
			parts = append(parts, fmt.Sprintf("%s (%d)", r.Name, r.N))
		}
		s += ": " + strings.Join(parts, ", ")
	}
	return s
}

// String returns the warning with the example.
func (t Trouble) String() string {
	s := t.Brief() + "; the first is of item " + t.Item + ": "
	if t.Answer == "" {
		s += "it has no text"
	} else {
		s += "“" + t.Answer + "”"
	}
	if t.Expected != "" {
		s += "; expected: " + t.Expected
	}
	return s
}

// TroublesOf returns the troubles of some arms, in the order of the analysis.
func (a *Analysis) TroublesOf(arms ...string) []Trouble {
	return slices.DeleteFunc(slices.Clone(a.Troubles), func(t Trouble) bool { return !slices.Contains(arms, t.Arm) })
}

// troubles finds the arms with too many bad answers. The share is of the answers:
// failed trials have none.
func (c *Collector) troubles(a *Analysis, _ Question, from Sources) error {
	for _, arm := range a.Arms {
		answers := arm.Answers()
		for _, kind := range []string{string(eval.Malformed), string(eval.Refused), eval.NoteTruncated} {
			first, ok := c.arms[c.armIdx[arm.ID]].first[kind]
			if !ok || float64(first.n) <= tolerated*float64(answers) {
				continue
			}
			found := Trouble{Arm: arm.ID, Kind: kind, N: first.n, Answers: answers, Item: c.items[first.item].ID, Replicate: first.replicate}
			for _, r := range arm.Reasons {
				if reason, ok := strings.CutPrefix(r.Name, kind+": "); ok {
					found.Reasons = append(found.Reasons, Count{reason, r.N})
				}
			}
			if from.Show != nil {
				x, err := from.Show(eval.Trial{Item: found.Item, Arm: arm.ID, Replicate: found.Replicate})
				if err != nil {
					return fmt.Errorf("showing %s of %s: %w", found.Item, arm.ID, err)
				}
				found.Answer, found.Expected = example(x)
			}
			a.Troubles = append(a.Troubles, found)
		}
	}
	return nil
}

// longestExample is the length of either text of an example, in code points.
const longestExample = 240

// example returns the answer of an exhibit and what was expected, shortened and each
// on one line.
func example(x eval.Exhibit) (answer, expected string) {
	answer = x.Raw
	for _, s := range x.Steps {
		if !s.Verdict {
			answer = cmp.Or(answer, s.Text)
		}
	}
	expected = x.Expected
	if expected == "" {
		var gold []string
		for _, r := range x.Rows {
			gold = append(gold, r.Unit+" = "+r.Gold)
		}
		expected = strings.Join(gold, "; ")
	}
	line := func(s string) string { return text.Shorten(strings.Join(strings.Fields(s), " "), longestExample) }
	return line(answer), line(expected)
}

// mostTroubles is the largest number of troubles that the warnings of an analysis
// list one by one.
const mostTroubles = 12

// troubleWarnings are the warnings for the whole analysis.
func troubleWarnings(list []Trouble) []string {
	var w []string
	for _, t := range list[:min(len(list), mostTroubles)] {
		w = append(w, t.String())
	}
	if more := len(list) - mostTroubles; more > 0 {
		w = append(w, fmt.Sprintf("and %s of malformed, refused or truncated answers: see the outcomes of the trials", text.Plural(more, "more arm with many", "more arms with many")))
	}
	return w
}

// mixedSettings warns of arms that mix answers to requests with different settings.
func mixedSettings(list []eval.ArmSettings) (w []string) {
	for _, s := range list {
		of := map[bool]string{true: " to its judge"}[s.Stage == eval.StageJudge]
		w = append(w, fmt.Sprintf("%s: the settings of its requests%s differ, as the server did not take the same from all: %d of %s are to adapted ones (`adapted` in the table `calls`), and its numbers mix them", s.Arm, of, s.Adapted, text.Plural(s.Answers, "answer", "answers")))
	}
	return w
}

// CutWarning is the warning of the prompts of an arm that a server cut.
func CutWarning(c eval.ArmCuts) string {
	of, again := "", "ask again with `scruple run --new --no-reuse`"
	switch c.Stage {
	case eval.StageJudge:
		of = " to the judge"
	case eval.StageEmbed:
		of, again = " for embeddings", "embed under another base_url or name, since embeddings are kept"
	}
	return fmt.Sprintf("%s: the server cut %s%s: of one with %d words it counted %d tokens, and every word takes at least one; "+
		"the model did not see the rest. Raise the context length of the server (Ollama: num_ctx in the Modelfile or OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size) and %s",
		c.Arm, text.Plural(c.Cuts, "prompt", "prompts"), of, c.Words, c.Tokens, again)
}
