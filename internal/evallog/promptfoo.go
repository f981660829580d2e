package evallog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// promptfoo reads what promptfoo eval --output writes, version 3 of its results. Read with
// files of promptfoo 0.121.20 and 0.123.1.
var promptfoo = Format{Name: "promptfoo", Doc: "results of promptfoo: --output FILE.json or FILE.jsonl", Read: readPromptfoo}

type promptfooResult struct {
	Prompt *struct {
		Label string `json:"label"`
		Raw   string `json:"raw"`
	} `json:"prompt"`
	Provider *struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	} `json:"provider"`
	PromptIndex int            `json:"promptIdx"` // of a prompt and provider
	Vars        jsontext.Value `json:"vars"`
	TestCase    struct {
		Description string `json:"description"`
	} `json:"testCase"`
	Response struct {
		Output jsontext.Value `json:"output"`
		Cached bool           `json:"cached"`
		Cost   *float64       `json:"cost"` // of providers that state one
	} `json:"response"`
	Error         string                    `json:"error"`
	FailureReason *int                      `json:"failureReason"` // 2: the tool failed, not the answer; before 0.100 there is none
	Success       bool                      `json:"success"`
	Score         jsontext.Value            `json:"score"`
	NamedScores   map[string]jsontext.Value `json:"namedScores"`
	Grading       *struct {
		Reason string `json:"reason"`
		Parts  []struct {
			Assertion struct {
				Metric string `json:"metric"`
			} `json:"assertion"`
			Reason   string `json:"reason"`
			Metadata struct {
				GraderError any `json:"graderError"` // the grader failed, not the answer
			} `json:"metadata"`
		} `json:"componentResults"`
	} `json:"gradingResult"`
	promptfooTaken
}

// A promptfooTaken is what a result took.
type promptfooTaken struct {
	Cost      float64  `json:"cost"` // 0 if it is not known
	LatencyMS *float64 `json:"latencyMs"`
	Tokens    struct {
		Prompt     float64 `json:"prompt"`
		Completion float64 `json:"completion"`
	} `json:"tokenUsage"`
}

func readPromptfoo(files []string, to *Import) error {
	for _, file := range files {
		add := func(r *promptfooResult) error { return addPromptfoo(r, file, to) }
		var err error
		if strings.HasSuffix(file, ".jsonl") {
			err = records(file, add)
		} else {
			err = promptfooJSON(file, 0, to, add)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// promptfooJSON visits the results of a file. If their version is behind them, it reads the file again.
func promptfooJSON(file string, version int, to *Import, visit func(*promptfooResult) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	content := finite(f)
	d := jsontext.NewDecoder(content, lenient)
	found, again, n, named := false, false, 0, map[string]bool{}
	var stats struct{ Successes, Failures, Errors int }
	var prompts []struct {
		Metrics struct {
			Named map[string]jsontext.Value `json:"namedScores"`
		} `json:"metrics"`
	}
	err = members(d, func(key string) error {
		if key != "results" || d.PeekKind() != '{' {
			return d.SkipValue()
		}
		return members(d, func(key string) error {
			switch {
			case key == "version":
				return jsonv2.UnmarshalDecode(d, &version, lenient)
			case key == "stats" && d.PeekKind() == '{':
				return jsonv2.UnmarshalDecode(d, &stats, lenient, jsonv2.MatchCaseInsensitiveNames(true))
			case key == "prompts" && d.PeekKind() == '[':
				return jsonv2.UnmarshalDecode(d, &prompts, lenient)
			case key == "results" && d.PeekKind() == '[':
				if found, again = true, version == 0; again {
					return d.SkipValue()
				}
				if version != 3 {
					return fmt.Errorf("version %d of the results: want version 3", version)
				}
				return elements(d, content, func(r *promptfooResult) error {
					n++
					for name := range r.NamedScores {
						named[name] = true
					}
					return visit(r)
				})
			}
			return d.SkipValue()
		})
	})
	if err == nil && again && version != 0 {
		return promptfooJSON(file, version, to, visit)
	}
	if err == nil && (!found || again) {
		err = errors.New("unknown version of the results: want an object with results.version and results.results")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if all := stats.Successes + stats.Failures + stats.Errors; all > n {
		to.Note("%s: it counts %s and has %d: a .jsonl of the same run may have the others", file, text.Plural(all, "result", "results"), n)
	}
	derived := map[string]bool{}
	for _, p := range prompts {
		for name := range p.Metrics.Named {
			if !named[name] {
				derived[name] = true
			}
		}
	}
	if len(derived) > 0 {
		to.Note("%s: derived metrics left out, which no result has: %s", file, text.Shorten(strings.Join(sortedKeys(derived), ", "), 400))
	}
	return nil
}

// members visits the members of an object.
func members(d *jsontext.Decoder, visit func(key string) error) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.Join(errors.New("want a JSON object"), err)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err == nil {
			err = visit(name.String())
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func addPromptfoo(r *promptfooResult, file string, to *Import) error {
	if r.Prompt == nil || r.Provider == nil {
		return errors.New("unknown version of a result: want the members prompt and provider")
	}
	var vars map[string]jsontext.Value
	_ = jsonv2.Unmarshal(r.Vars, &vars, lenient)
	var lines []string
	for _, name := range sortedKeys(vars) {
		lines = append(lines, name+": "+contentText(vars[name], asIs))
	}
	// The order of vars has no effect.
	item := "t-" + kit.Hash(append(lines, r.TestCase.Description)...).String()
	s := Sample{Item: item, Input: strings.Join(lines, "\n"), Answer: contentText(r.Response.Output, asIs), Used: map[string]float64{},
		// Two prompts of a file may begin with the same line.
		Arm: to.arm(cmp.Or(firstLine(r.Prompt.Label), firstLine(r.Prompt.Raw))+"@"+cmp.Or(r.Provider.Label, r.Provider.ID), "", fmt.Sprintf("%s, prompt %d", file, r.PromptIndex+1))}
	if r.TestCase.Description != "" {
		s.Facts = []eval.Level{{Name: "description", Value: r.TestCase.Description}}
	}
	older := r.FailureReason == nil && r.Grading == nil && r.Error != ""
	if older {
		to.Note("%s: its results have no failureReason, as before promptfoo 0.100: those with an error and without a grading are failed trials", file)
	}
	if older || r.FailureReason != nil && *r.FailureReason == 2 {
		s.Error = cmp.Or(firstLine(r.Error), "an error without a message")
	}
	unscored := r.ungraded()
	add := func(score Score, why string) {
		score.Unscored = cmp.Or(why, score.Unscored)
		s.Scores = append(s.Scores, score)
	}
	add(Score{Metric: "pass", Value: kit.Indicator(r.Success)}, unscored(""))
	add(scoreOf("score", r.Score), unscored(""))
	for _, name := range sortedKeys(r.NamedScores) {
		add(scoreOf(name, r.NamedScores[name]), unscored(name))
	}
	if r.Cost > 0 && r.Response.Cost == nil {
		r.Response.Cost = &r.Cost
	}
	s.use(effort.Cost, r.Response.Cost)
	if r.LatencyMS != nil && !r.Response.Cached {
		s.Used[effort.Latency] = *r.LatencyMS / 1000
	}
	if r.Tokens.Prompt+r.Tokens.Completion > 0 {
		s.Used[effort.TokensIn], s.Used[effort.TokensOut] = r.Tokens.Prompt, r.Tokens.Completion
	}
	return to.Add(s)
}

// ungraded tells why a named score is none, or with no name the scores of all assertions: an
// assertion that it counts has a grader that failed, which promptfoo scores 0, or there is no
// assertion, which it scores 1. A score that is not of single assertions, such as that of a set,
// may count any of them.
func (r *promptfooResult) ungraded() func(name string) string {
	why, all := map[string]string{}, ""
	if r.Grading == nil {
		return func(string) string { return "" }
	}
	if len(r.Grading.Parts) == 0 && r.Grading.Reason == "No assertions" {
		all = "the test has no assertions"
	}
	for _, part := range r.Grading.Parts {
		name, reason := part.Assertion.Metric, ""
		if part.Metadata.GraderError == true {
			reason = cmp.Or(firstLine(part.Reason), "the grader failed")
		}
		why[name], all = cmp.Or(why[name], reason), cmp.Or(all, reason)
	}
	return func(name string) string {
		if reason, ok := why[name]; ok && name != "" {
			return reason
		}
		return all
	}
}
