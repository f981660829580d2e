package evallog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// eee reads Every Eval Ever (EvalEval Coalition): instances in JSON Lines, and the aggregate
// JSON files beside them for the ranges of metrics. Schemas 0.2 and 0.3.
var eee = Format{Name: "eee", Doc: "instances of Every Eval Ever: .jsonl, and their aggregates .json", Read: readEEE}

type eeeAggregate struct {
	Version string `json:"schema_version"`
	Results []struct {
		Name   string `json:"evaluation_name"`
		Config struct {
			Lower bool     `json:"lower_is_better"`
			Low   *float64 `json:"min_score"`
			High  *float64 `json:"max_score"`
		} `json:"metric_config"`
	} `json:"evaluation_results"`
}

type eeeInstance struct {
	Version string `json:"schema_version"`
	Model   string `json:"model_id"`
	Name    string `json:"evaluation_name"`
	ID      string `json:"sample_id"`
	Hash    string `json:"sample_hash"`
	Input   struct {
		Raw       string         `json:"raw"`
		Reference jsontext.Value `json:"reference"`
	} `json:"input"`
	Output struct {
		Raw jsontext.Value `json:"raw"`
	} `json:"output"`
	Attribution []struct {
		Value    string `json:"extracted_value"`
		Terminal bool   `json:"is_terminal"`
	} `json:"answer_attribution"`
	Evaluation struct {
		Score jsontext.Value `json:"score"`
	} `json:"evaluation"`
	Tokens *struct {
		Input  float64 `json:"input_tokens"`
		Output float64 `json:"output_tokens"`
	} `json:"token_usage"`
	Performance struct {
		LatencyMS *float64 `json:"latency_ms"`
	} `json:"performance"`
	Error    string         `json:"error"`
	Metadata map[string]any `json:"metadata"`
}

// known reports whether a version of the schema can be read.
func eeeKnown(version string) bool {
	return slices.ContainsFunc([]string{"0.2", "0.3"}, func(v string) bool { return version == v || strings.HasPrefix(version, v+".") })
}

func readEEE(files []string, to *Import) error {
	names := map[string]bool{}
	var instances []string
	for _, file := range files {
		if !strings.HasSuffix(file, ".json") {
			instances = append(instances, file)
			continue
		}
		if err := eeeRanges(file, to); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	visit := func(each func(file string, i *eeeInstance) error) error {
		for _, file := range instances {
			err := jsonLines(file, func(line []byte) error {
				var i eeeInstance
				if err := jsonv2.Unmarshal(line, &i, lenient); err != nil {
					return err
				}
				if !eeeKnown(i.Version) {
					return fmt.Errorf("version %q of the schema: want 0.2 or 0.3", i.Version)
				}
				return each(file, &i)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(func(_ string, i *eeeInstance) error { names[i.Name] = true; return nil }); err != nil {
		return err
	}
	return visit(func(_ string, i *eeeInstance) error {
		s := Sample{Item: i.ID, Arm: i.Model, Input: i.Input.Raw, Expected: contentText(i.Input.Reference, same), Answer: contentText(i.Output.Raw, same),
			Facts: scalars(i.Metadata), Used: map[string]float64{}, Error: firstLine(i.Error)}
		if i.Hash != "" {
			s.Item = "s-" + kit.Hash(i.Hash).String()
			s.Facts = append(s.Facts, eval.Level{Name: "sample_id", Value: i.ID})
		}
		if len(names) > 1 {
			s.Item, s.Strata = i.Name+"/"+s.Item, []eval.Level{{Name: "evaluation", Value: i.Name}}
		}
		for _, a := range i.Attribution {
			if a.Terminal {
				s.Answer = a.Value
			}
		}
		s.Scores = []Score{scoreOf(i.Name, i.Evaluation.Score)}
		if i.Tokens != nil {
			s.Used[effort.TokensIn], s.Used[effort.TokensOut] = i.Tokens.Input, i.Tokens.Output
		}
		if ms := i.Performance.LatencyMS; ms != nil {
			s.Used[effort.Latency] = *ms / 1000
		}
		return to.Add(s)
	})
}

// eeeRanges declares the metrics of an aggregate file.
func eeeRanges(file string, to *Import) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var a eeeAggregate
	if err := jsonv2.UnmarshalRead(finite(io.LimitReader(f, mostSample)), &a, lenient); err != nil {
		return err
	}
	if !eeeKnown(a.Version) {
		return fmt.Errorf("version %q of the schema: want 0.2 or 0.3", a.Version)
	}
	if len(a.Results) == 0 {
		return errors.New("the aggregate has no evaluation_results")
	}
	for _, r := range a.Results {
		low, high := math.Inf(-1), math.Inf(1)
		if r.Config.Low != nil {
			low = *r.Config.Low
		}
		if r.Config.High != nil {
			high = *r.Config.High
		}
		if low < high && (r.Config.Low != nil || r.Config.High != nil) {
			to.Declare(r.Name, low, high, r.Config.Lower)
		} else if r.Config.Lower {
			to.lower(r.Name)
		}
	}
	return nil
}

// nemo reads results.jsonl of NeMo Evaluator, by its documentation of November 2026.
var nemo = Format{Name: "nemo", Doc: "results.jsonl of NeMo Evaluator, or their folders", Read: readNeMo}

type nemoRecord struct {
	Problem   *int64         `json:"problem_idx"`
	Reward    jsontext.Value `json:"reward"`
	Repeat    int            `json:"repeat"`
	Expected  jsontext.Value `json:"expected_answer"`
	Response  jsontext.Value `json:"model_response"`
	Extracted jsontext.Value `json:"extracted_answer"`
	Prompt    jsontext.Value `json:"prompt"`
	Metadata  map[string]any `json:"metadata"`
	Details   map[string]any `json:"scoring_details"`
	Error     jsontext.Value `json:"error"`
}

func readNeMo(files []string, to *Import) error {
	seen := map[string]bool{}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file = filepath.Join(file, "results.jsonl")
		}
		arm := filepath.Base(filepath.Dir(file))
		if base := strings.TrimSuffix(filepath.Base(file), ".jsonl"); base != "results" || arm == "." || arm == string(filepath.Separator) {
			arm = base
		}
		for n, name := 2, arm; seen[arm]; n++ {
			arm = fmt.Sprintf("%s-%d", name, n)
			to.Note("%s has the name of another file: its arm is %s", file, arm)
		}
		seen[arm] = true
		err := jsonLines(file, func(line []byte) error {
			var r nemoRecord
			if err := jsonv2.Unmarshal(line, &r, lenient); err != nil {
				return err
			}
			if r.Problem == nil || r.Reward == nil {
				return errors.New("unknown version of a record: want the members problem_idx and reward")
			}
			s := Sample{Item: fmt.Sprint(*r.Problem), Arm: arm, Replicate: r.Repeat + 1, Input: contentText(r.Prompt, same), Expected: contentText(r.Expected, same),
				Answer: contentText(r.Response, same), Scores: []Score{scoreOf("reward", r.Reward)}, Error: firstLine(contentText(r.Error, same))}
			if s.Answer == "" {
				s.Answer = contentText(r.Extracted, same)
			}
			for _, from := range []map[string]any{r.Metadata, r.Details} {
				if c, ok := from["category"].(string); ok && c != "" && len(s.Strata) == 0 {
					s.Strata = []eval.Level{{Name: "category", Value: c}}
				}
			}
			return to.Add(s)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
