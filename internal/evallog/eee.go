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

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// eee reads Every Eval Ever (EvalEval Coalition): instances in JSON Lines, and the aggregate
// JSON files beside them for the ranges of metrics. Schemas 0.2 and 0.3.
var eee = Format{Name: "eee", Doc: "instances of Every Eval Ever: .jsonl, and their aggregates .json", Read: readEEE}

type eeeAggregate struct {
	Version string      `json:"schema_version"`
	Of      string      `json:"evaluation_id"`
	Results []eeeResult `json:"evaluation_results"`
}

type eeeResult struct {
	ID     string `json:"evaluation_result_id"`
	Name   string `json:"evaluation_name"`
	Config struct {
		Metric   string   `json:"metric_name"`
		MetricID string   `json:"metric_id"`
		Lower    bool     `json:"lower_is_better"`
		Low      *float64 `json:"min_score"`
		High     *float64 `json:"max_score"`
	} `json:"metric_config"`
}

// metric is the name of the metric of a result.
func (x eeeResult) metric() string { return cmp.Or(x.Config.Metric, x.Config.MetricID, x.ID) }

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
		LatencyMS    *float64 `json:"latency_ms"`
		GenerationMS float64  `json:"generation_time_ms"` // every_eval_ever 0.3.0 calls the time of waiting the latency
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
	r := eeeReader{to: to, metrics: map[[2]string]string{}, told: map[string]bool{}, all: map[string][]string{}, results: map[[2]string][]string{}, ids: map[[4]string]string{}, shared: map[string]bool{}, scores: map[eeeKey][]Score{}, seen: map[eeeKey]int{}, done: map[eeeKey]int{}}
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
	r.name()
	visit := func(each func(file string, i *eeeInstance) error) error {
		for _, file := range instances {
			err := records(file, func(i *eeeInstance) error {
				if !eeeKnown(i.Version) {
					return fmt.Errorf("version %q of the schema: want 0.2 or 0.3", i.Version)
				}
				i.Result = eeeResultID(i.Result, i.Of)
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

// eeeResultID is the id of a result without that of its evaluation, which other arms do not have.
func eeeResultID(id, evaluation string) string {
	own, ok := strings.CutPrefix(id, evaluation)
	if !ok || !strings.ContainsAny(own[:min(1, len(own))], "/#:") {
		return id
	}
	return own[1:]
}

// An eeeReader collects the scores of all records first: those of one answer by several
// metrics become one sample.
type eeeReader struct {
	to         *Import
	aggregated []eeeResult            // of all aggregates
	metrics    map[[2]string]string   // by evaluation and id of a result; "" if aggregates contradict each other
	told       map[string]bool        // evaluations whose results have ids in aggregates
	all        map[string][]string    // the ids of results by evaluation with instances
	results    map[[2]string][]string // the same by file and evaluation
	ids        map[[4]string]string   // the sample of a hash, by file, model and evaluation
	shared     map[string]bool        // hashes of several samples, such as that of no input
	scores     map[eeeKey][]Score     // one for each replicate
	seen       map[eeeKey]int         // records that were added
	done       map[eeeKey]int         // replicates that were added of a sample, without a result
}

type eeeKey struct{ file, name, sample, result string }

func (r *eeeReader) key(file string, i *eeeInstance) eeeKey {
	return eeeKey{file, i.Name, i.Hash + "\x00" + i.ID, i.Result}
}

// failed reports whether a record says that its sample has no score, and no result of it.
func (i *eeeInstance) failed() bool { return i.Error != "" && i.Result == "" }

func (r *eeeReader) collect(file string, i *eeeInstance) error {
	add := func(list []string) []string {
		if i.failed() || slices.Contains(list, i.Result) {
			return list
		}
		return append(list, i.Result)
	}
	of, key := [2]string{file, i.Name}, r.key(file, i)
	r.results[of], r.all[i.Name] = add(r.results[of]), add(r.all[i.Name])
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

// metric is the metric of a result: its evaluation, unless it has several.
func (r *eeeReader) metric(name, result string) (string, error) {
	m, ok := r.metrics[[2]string{name, result}]
	switch {
	case ok && m == "" && result == "":
		return "", fmt.Errorf("the aggregates have several results of %s without an evaluation_result_id: it is not known of which this record is", name)
	case ok && m == "":
		return "", fmt.Errorf("the aggregates name several metrics for the result %q of %s: import their files apart", result, name)
	case ok:
		return m, nil
	case !r.told[name] && len(r.all[name]) == 1:
		return name, nil
	case result == "":
		return "", fmt.Errorf("%s has results with an evaluation_result_id, and this record has none", name)
	}
	return "", fmt.Errorf("%s has several results, and no aggregate says which metric %q is: give its .json too", name, result)
}

// add adds the sample of a record, unless another record of it was added before.
func (r *eeeReader) add(file string, i *eeeInstance) error {
	if _, err := r.metric(i.Name, i.Result); err != nil && !i.failed() {
		return err
	}
	key := r.key(file, i)
	n := r.seen[key]
	r.seen[key]++
	sample := key
	if !i.failed() {
		sample.result = "all"
	}
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
	if len(r.all) > 1 {
		s.Item, s.Strata = i.Name+"/"+s.Item, []eval.Level{{Name: "evaluation", Value: i.Name}}
	}
	for _, key.result = range r.results[[2]string{file, i.Name}] {
		metric, err := r.metric(i.Name, key.result)
		if scores := r.scores[key]; err == nil && n < len(scores) { // a record with an error is refused in its turn
			scores[n].Metric = metric
			s.Scores = append(s.Scores, scores[n])
		}
	}
	if i.Tokens != nil {
		s.Used[effort.TokensIn], s.Used[effort.TokensOut] = i.Tokens.Input, i.Tokens.Output
	}
	if ms := i.Performance.LatencyMS; ms != nil {
		s.Used[effort.Latency] = max(*ms, i.Performance.GenerationMS) / 1000
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
	for _, x := range a.Results {
		x.ID = eeeResultID(x.ID, a.Of)
		r.aggregated = append(r.aggregated, x)
	}
	return nil
}

// name names and declares the metrics of all results. A name that several results of an
// evaluation have is none: the accuracy of one scorer is not that of another.
func (r *eeeReader) name() {
	of := map[string][]eeeResult{}
	for _, x := range r.aggregated {
		of[x.Name] = append(of[x.Name], x)
	}
	ways := []func(eeeResult) string{eeeResult.metric, func(x eeeResult) string { return x.Config.MetricID }, func(x eeeResult) string { return x.ID }}
	for name, results := range of {
		by := ways[slices.IndexFunc(ways, func(by func(eeeResult) string) bool { return eeeApart(results, by) })]
		metrics := map[string]bool{}
		for _, x := range results {
			metrics[by(x)] = true
			r.told[name] = r.told[name] || x.ID != ""
		}
		delete(metrics, "")
		for _, x := range results {
			metric, key := name, [2]string{name, x.ID}
			if by(x) != "" && len(metrics) > 1 {
				metric += "/" + by(x)
			}
			if other, ok := r.metrics[key]; ok && other != metric {
				metric = ""
			}
			r.metrics[key] = metric
		}
	}
	for _, x := range r.aggregated {
		c, name := x.Config, r.metrics[[2]string{x.Name, x.ID}]
		if name == "" {
			continue
		}
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
}

// eeeApart reports whether names differ where ids of results do.
func eeeApart(results []eeeResult, name func(eeeResult) string) bool {
	ids := map[string]string{}
	for _, x := range results {
		if x.ID == "" {
			continue
		}
		if cmp.Or(ids[name(x)], x.ID) != x.ID {
			return false
		}
		ids[name(x)] = x.ID
	}
	return true
}

// nemo reads results.jsonl of NeMo Evaluator, by its documentation of November 2026. Read with files
// of nemo-evaluator 0.3.0.
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
	LatencyMS float64        `json:"latency_ms"`
	Error     jsontext.Value `json:"error"`
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
		graded := 0
		err := records(file, func(r *nemoRecord) error {
			if r.Problem == nil || r.Reward == nil {
				return errors.New("unknown version of a record: want the members problem_idx and reward")
			}
			s := Sample{Item: fmt.Sprint(*r.Problem), Arm: arm, Replicate: r.Repeat + 1, Prompt: contentText(r.Prompt, asIs), Expected: contentText(r.Expected, asIs),
				Answer: cmp.Or(contentText(r.Response, asIs), contentText(r.Extracted, asIs)), Scores: r.scores(), Error: firstLine(contentText(r.Error, asIs)), Used: map[string]float64{}}
			if r.LatencyMS > 0 {
				s.Used[effort.Latency] = r.LatencyMS / 1000
			}
			switch said, kind := detail(r.Details, "error"), detail(r.Details, "error_category"); {
			case kind == "graceful" || kind == "" && said != "": // such as an agent without turns left
				graded++
			case kind != "":
				s.Error = cmp.Or(firstLine(said), kind)
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
		if graded > 0 {
			to.Note("%s: %s with an error that NeMo Evaluator grades, with its reward", file, text.Plural(graded, "sample", "samples"))
		}
	}
	return nil
}

// detail is a text among the details of a score.
func detail(details any, name string) string {
	m, _ := details.(map[string]any)
	s, _ := m[name].(string)
	return s
}

// scores are the reward, unless it is that from before a judge who failed, and those of
// further scorers.
func (r *nemoRecord) scores() []Score {
	reward, judge := scoreOf("reward", r.Reward), r.Details["judge"]
	if m, _ := judge.(map[string]any); m["parse_error"] == true {
		reward.Unscored = "the judge's answer cannot be read"
	} else if said := detail(judge, "error"); said != "" {
		reward.Unscored = firstLine("the judge failed: " + said)
	}
	list := []Score{reward}
	for _, key := range sortedKeys(r.Details) {
		if name, ok := strings.CutPrefix(key, "scorer:"); ok {
			m, _ := r.Details[key].(map[string]any)
			x, ok := m["reward"].(float64)
			if !ok {
				x = math.NaN()
			}
			list = append(list, Score{Metric: name, Value: x, Unscored: firstLine(detail(m, "error"))})
		}
	}
	return list
}
