package evallog

import (
	"cmp"
	"errors"
	"fmt"
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
		ID     string `json:"evaluation_result_id"`
		Name   string `json:"evaluation_name"`
		Config struct {
			Metric   string   `json:"metric_name"`
			MetricID string   `json:"metric_id"`
			Lower    bool     `json:"lower_is_better"`
			Low      *float64 `json:"min_score"`
			High     *float64 `json:"max_score"`
		} `json:"metric_config"`
	} `json:"evaluation_results"`
}

type eeeInstance struct {
	Version string `json:"schema_version"`
	Of      string `json:"evaluation_id"`
	Model   string `json:"model_id"`
	Result  string `json:"evaluation_result_id"` // a sample has a record for each
	Name    string `json:"evaluation_name"`
	ID      string `json:"sample_id"`
	Hash    string `json:"sample_hash"`
	Input   struct {
		Raw       string         `json:"raw"`
		Reference jsontext.Value `json:"reference"`
	} `json:"input"`
	eeeAnswer
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
	Error    string                    `json:"error"`
	Metadata map[string]jsontext.Value `json:"metadata"`
}

type eeeAnswer struct {
	Output struct {
		Raw jsontext.Value `json:"raw"`
	} `json:"output"`
	Attribution []struct {
		Value    string `json:"extracted_value"`
		Terminal bool   `json:"is_terminal"`
	} `json:"answer_attribution"`
	Messages []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	} `json:"messages"` // of several turns
}

// text is what was taken as the answer, or the output, or the last message of the model.
func (a *eeeAnswer) text() string {
	answer := contentText(a.Output.Raw, asIs)
	for _, from := range a.Attribution {
		if from.Terminal {
			answer = from.Value
		}
	}
	for _, m := range slices.Backward(a.Messages) {
		if m.Role == "assistant" {
			answer = cmp.Or(answer, contentText(m.Content, asIs))
		}
	}
	return answer
}

// known reports whether a version of the schema can be read.
func eeeKnown(version string) bool {
	return slices.ContainsFunc([]string{"0.2", "0.3"}, func(v string) bool { return version == v || strings.HasPrefix(version, v+".") })
}

func readEEE(files []string, to *Import) error {
	r := eeeReader{to: to, metrics: map[string]string{}, all: map[string][]string{}, names: map[string]bool{}, results: map[[2]string][]string{}, ids: map[[4]string]string{}, shared: map[string]bool{}, scores: map[eeeKey][]Score{}, seen: map[eeeKey]int{}, done: map[eeeKey]int{}}
	var instances []string
	for _, file := range files {
		if !strings.HasSuffix(file, ".json") {
			instances = append(instances, file)
			continue
		}
		if err := r.aggregate(file); err != nil {
			return err
		}
	}
	visit := func(each func(file string, i *eeeInstance) error) error {
		for _, file := range instances {
			err := records(file, func(i *eeeInstance) error {
				if !eeeKnown(i.Version) {
					return fmt.Errorf("version %q of the schema: want 0.2 or 0.3", i.Version)
				}
				return each(file, i)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(r.collect); err != nil {
		return err
	}
	return visit(r.add)
}

// An eeeReader collects the scores of all records first: those of one answer by several
// metrics become one sample.
type eeeReader struct {
	to      *Import
	metrics map[string]string      // by the id of a result: its metric, if an aggregate says it
	all     map[string][]string    // the metrics by evaluation
	names   map[string]bool        // evaluations with instances
	results map[[2]string][]string // the ids of results by file and evaluation
	ids     map[[4]string]string   // the sample of a hash, by file, model and evaluation
	shared  map[string]bool        // hashes of several samples, such as that of no input
	scores  map[eeeKey][]Score     // one for each replicate
	seen    map[eeeKey]int         // records that were added
	done    map[eeeKey]int         // replicates that were added of a sample, without a result
}

type eeeKey struct{ file, name, sample, result string }

func (r *eeeReader) key(file string, i *eeeInstance) eeeKey {
	return eeeKey{file, i.Name, i.Hash + "\x00" + i.ID, i.Result}
}

func (r *eeeReader) collect(file string, i *eeeInstance) error {
	of, key := [2]string{file, i.Name}, r.key(file, i)
	if !slices.Contains(r.results[of], i.Result) {
		r.results[of] = append(r.results[of], i.Result)
		if r.metrics[i.Result] == "" && len(r.results[of]) > 1 {
			return fmt.Errorf("%s has several results, and no aggregate says which metric %q is: give its .json too", i.Name, i.Result)
		}
	}
	r.names[i.Name] = true
	hash := [4]string{file, i.Model, i.Name, i.Hash}
	if id, ok := r.ids[hash]; !ok {
		r.ids[hash] = i.ID
	} else if id != i.ID && i.Hash != "" {
		r.shared[i.Hash] = true
		r.to.Note("%s: some sample_hash belongs to several sample_ids: their items are told by the sample_id", file)
	}
	r.scores[key] = append(r.scores[key], scoreOf("", i.Evaluation.Score))
	return nil
}

// metric is the evaluation, with the metric of a result if it has several.
func (r *eeeReader) metric(name, result string) string {
	if m := r.metrics[result]; m != "" && len(r.all[name]) > 1 {
		return name + "/" + m
	}
	return name
}

// add adds the sample of a record, unless another record of it was added before.
func (r *eeeReader) add(file string, i *eeeInstance) error {
	key := r.key(file, i)
	n := r.seen[key]
	r.seen[key]++
	sample := key
	sample.result = "all"
	if n < r.done[sample] {
		return nil
	}
	r.done[sample]++
	name := i.Model
	if arm := contentText(i.Metadata["arm"], asIs); strings.Contains(i.Of, "/"+arm+"/") { // as Scruple exports it
		name = cmp.Or(arm, name)
		delete(i.Metadata, "arm")
	}
	simulated := simulatedModel(i.Model) || contentText(i.Metadata["simulated"], asIs) == "true"
	delete(i.Metadata, "simulated") // the column of its own has it
	s := Sample{Simulated: simulated, Item: i.ID, Arm: r.to.arm(name, i.Name, file), Input: i.Input.Raw, Expected: contentText(i.Input.Reference, asIs), Answer: i.text(),
		Facts: r.to.scalars(i.Metadata), Used: map[string]float64{}, Error: firstLine(i.Error)}
	if i.Hash != "" {
		if !r.shared[i.Hash] {
			s.Item = "s-" + kit.Hash(i.Hash).String()
		}
		s.Facts = append(s.Facts, eval.Level{Name: "sample_id", Value: i.ID})
	}
	if len(r.names) > 1 {
		s.Item, s.Strata = i.Name+"/"+s.Item, []eval.Level{{Name: "evaluation", Value: i.Name}}
	}
	for _, key.result = range r.results[[2]string{file, i.Name}] {
		if scores := r.scores[key]; n < len(scores) {
			scores[n].Metric = r.metric(i.Name, key.result)
			s.Scores = append(s.Scores, scores[n])
		}
	}
	if i.Tokens != nil {
		s.Used[effort.TokensIn], s.Used[effort.TokensOut] = i.Tokens.Input, i.Tokens.Output
	}
	if ms := i.Performance.LatencyMS; ms != nil {
		s.Used[effort.Latency] = *ms / 1000
	}
	return r.to.Add(s)
}

// aggregate reads an aggregate file: which metric each result has, with its range.
func (r *eeeReader) aggregate(file string) error {
	var a eeeAggregate
	if err := decodeFile(file, mostSample, &a); err != nil {
		return err
	}
	if !eeeKnown(a.Version) {
		return fmt.Errorf("%s: version %q of the schema: want 0.2 or 0.3", file, a.Version)
	}
	if len(a.Results) == 0 {
		return fmt.Errorf("%s: the aggregate has no evaluation_results", file)
	}
	for _, result := range a.Results {
		metric := cmp.Or(result.Config.Metric, result.Config.MetricID, result.ID)
		if result.ID != "" {
			r.metrics[result.ID] = metric
		}
		if metric != "" && !slices.Contains(r.all[result.Name], metric) {
			r.all[result.Name] = append(r.all[result.Name], metric)
		}
	}
	for _, result := range a.Results {
		c, name := result.Config, r.metric(result.Name, result.ID)
		low, high := math.Inf(-1), math.Inf(1)
		if c.Low != nil {
			low = *c.Low
		}
		if c.High != nil {
			high = *c.High
		}
		if low < high && (c.Low != nil || c.High != nil) {
			r.to.Declare(name, low, high, c.Lower)
		} else if c.Lower {
			r.to.lower(name)
		}
	}
	return nil
}

// nemo reads results.jsonl of NeMo Evaluator. Read with files of version 0.3.0.
var nemo = Format{Name: "nemo", Doc: "results.jsonl of NeMo Evaluator, or their folders", Read: readNeMo}

type nemoRecord struct {
	Problem   *int64                    `json:"problem_idx"`
	Reward    jsontext.Value            `json:"reward"`
	Scorers   map[string]jsontext.Value `json:"scorer_rewards"`
	Repeat    int                       `json:"repeat"`
	Expected  jsontext.Value            `json:"expected_answer"`
	Response  jsontext.Value            `json:"model_response"`
	Extracted jsontext.Value            `json:"extracted_answer"`
	Prompt    jsontext.Value            `json:"prompt"`
	Metadata  jsontext.Value            `json:"metadata"`
	Details   jsontext.Value            `json:"scoring_details"`
	Error     jsontext.Value            `json:"error"`
	Tokens    float64                   `json:"tokens"`
	LatencyMS *float64                  `json:"latency_ms"`
}

// nemoTold is what NeMo Evaluator tells of a part of a record, such as a judge.
type nemoTold struct {
	Error, Kind, Category string
	Unread                bool                      // the answer of the judge, which counts as 0
	Parts                 map[string]jsontext.Value // is the whole
}

func nemoTells(part jsontext.Value) (t nemoTold) {
	_ = jsonv2.Unmarshal(part, &t.Parts, lenient)
	of := func(name string) string { return contentText(t.Parts[name], asIs) }
	t.Error, t.Kind, t.Unread = firstLine(of("error")), firstLine(of("error_category")), of("parse_error") == "true"
	if category := t.Parts["category"]; category.Kind() == '"' {
		t.Category = of("category")
	}
	return t
}

// sample is the sample of a record. NeMo Evaluator gives the reward 0 where it has none: Kind says
// that there is no answer, and an error alone that nothing scored it.
func (r *nemoRecord) sample(arm string, to *Import) Sample {
	metadata, details := nemoTells(r.Metadata), nemoTells(r.Details)
	s := Sample{Item: fmt.Sprint(*r.Problem), Arm: arm, Replicate: r.Repeat + 1, Prompt: contentText(r.Prompt, asIs), Expected: contentText(r.Expected, asIs),
		Answer: cmp.Or(contentText(r.Response, asIs), contentText(r.Extracted, asIs)), Error: firstLine(contentText(r.Error, asIs)), Used: map[string]float64{}}
	if category := cmp.Or(metadata.Category, details.Category); category != "" {
		s.Strata = []eval.Level{{Name: "category", Value: category}}
	}
	if details.Kind != "" {
		s.Error = cmp.Or(s.Error, details.Error, details.Kind)
	}
	add := func(name string, value jsontext.Value, by nemoTold) {
		score := scoreOf(name, value)
		if score.Unscored = cmp.Or(by.Error, score.Unscored); by.Unread {
			score.Unscored = "the answer of the judge cannot be read"
		}
		s.Scores = append(s.Scores, score)
	}
	by := nemoTells(details.Parts["judge"])
	by.Error = cmp.Or(details.Error, by.Error)
	add("reward", r.Reward, by)
	for _, name := range sortedKeys(r.Scorers) {
		add(strings.TrimPrefix(name, "scorer:"), r.Scorers[name], nemoTells(details.Parts[name]))
	}
	if r.LatencyMS != nil && *r.LatencyMS > 0 {
		s.Used[effort.Latency] = *r.LatencyMS / 1000
	}
	if r.Tokens > 0 {
		to.Note("tokens are left out: a record has the sum of those of prompt and answer")
	}
	return s
}

func readNeMo(files []string, to *Import) error {
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file = filepath.Join(file, "results.jsonl")
		}
		arm := filepath.Base(filepath.Dir(file))
		if base := strings.TrimSuffix(filepath.Base(file), ".jsonl"); base != "results" || arm == "." || arm == string(filepath.Separator) {
			arm = base
		}
		arm = to.arm(arm, "", file)
		err := records(file, func(r *nemoRecord) error {
			if r.Problem == nil || r.Reward == nil {
				return errors.New("unknown version of a record: want the members problem_idx and reward")
			}
			return to.Add(r.sample(arm, to))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
