package evallog

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/eval"
)

// lmEval reads the samples that lm-evaluation-harness logs with --log_samples. A log does not
// name its model: results_*.json beside it does, or its folder. Read with files of lm-eval
// 0.4.13.
var lmEval = Format{Name: "lm-eval", Doc: "samples_*.jsonl of lm-evaluation-harness", Read: readLMEval}

type lmSample struct {
	DocID    jsontext.Value   `json:"doc_id"`
	DocHash  string           `json:"doc_hash"`
	Doc      jsontext.Value   `json:"doc"`
	Target   jsontext.Value   `json:"target"`
	Args     jsontext.Value   `json:"arguments"`
	Filtered []jsontext.Value `json:"filtered_resps"`
	Filter   string           `json:"filter"`
	Metrics  []string         `json:"metrics"`
	// Rest has a score for each metric.
	Rest map[string]jsontext.Value `json:",unknown"`
}

func readLMEval(files []string, to *Import) error {
	models, aggregations := map[string]string{}, map[string]map[string]string{}
	tasks := map[string]bool{}
	for _, file := range files {
		task, ok := lmTask(file)
		if !ok {
			return fmt.Errorf("%s: want a file samples_TASK_DATE.jsonl of lm-evaluation-harness, which --log_samples writes", file)
		}
		tasks[task] = true
		model, by, err := lmModel(file, task, to)
		if err != nil {
			return err
		}
		aggregations[file] = by
		models[file] = to.arm(model, task, file)
	}
	for _, file := range files {
		task, _ := lmTask(file)
		filters, same := map[string]bool{}, map[[2]string]int{}
		err := records(file, func(s *lmSample) error {
			if s.Metrics == nil || s.DocHash == "" {
				return errors.New("unknown version of a sample: want the members doc_hash and metrics")
			}
			filters[s.Filter] = true
			out := Sample{Item: s.DocHash[:min(16, len(s.DocHash))], Arm: models[file], Replicate: 1, Expected: contentText(s.Target, asIs), Prompt: s.input(),
				Facts: []eval.Level{{Name: "doc_id", Value: contentText(s.DocID, asIs)}}}
			// Equal documents of a task are items of a cluster.
			doc := [2]string{s.Filter, out.Item}
			if same[doc]++; same[doc] > 1 {
				out.Cluster = out.Item
				out.Item = fmt.Sprintf("%s-%d", out.Item, same[doc])
				to.Note("%s has equal documents: doc %v is the item %s", file, s.DocID, out.Item)
			}
			if len(tasks) > 1 {
				out.Item, out.Strata = task+"/"+out.Item, []eval.Level{{Name: "task", Value: task}}
			}
			if s.Filter != "" && s.Filter != "none" {
				out.Arm += "-" + s.Filter
			}
			s.answer(&out)
			for _, name := range s.Metrics {
				value, ok := s.Rest[name]
				score := scoreOf(name, value)
				by := cmp.Or(aggregations[file][name], name) // lm-eval has one for each of its metrics, which tasks need not name
				switch {
				case ok && value.Kind() == '[':
					score.Unscored = "the score is a list, which counts only in the sum of all samples"
				case by == "perplexity": // exp(-mean)
					score.Metric += "_loglikelihood"
					to.Note("metric %q: samples have log-likelihoods, so higher is better; lm-eval shows %s", score.Metric, name)
				case by != name && by != "mean" && by != "nanmean":
					to.Note("metric %q: lm-eval aggregates it by %s, and the score of an arm is the mean of its samples", name, by)
				}
				out.Scores = append(out.Scores, score)
			}
			return to.Add(out)
		})
		if err != nil {
			return err
		}
		if len(filters) > 1 {
			to.Note("%s has several filters of the same answers: each is an arm", file)
		}
	}
	return nil
}

// answer sets the answer: the text, or of choices the one with the largest likelihood, whose
// target is a number.
func (s *lmSample) answer(out *Sample) {
	if len(s.Filtered) == 0 {
		return
	}
	var args map[string]map[string]jsontext.Value
	_ = jsonv2.Unmarshal(s.Args, &args, lenient)
	choice := func(i int) string {
		return strings.TrimSpace(contentText(args[fmt.Sprintf("gen_args_%d", i)]["arg_1"], asIs))
	}
	best, most := -1, math.Inf(-1)
	for i, response := range s.Filtered {
		var pair []any // a likelihood, and whether the choice is the greedy one
		if jsonv2.Unmarshal(response, &pair, lenient) != nil || len(pair) != 2 || !strings.Contains(" true false ", " "+strings.ToLower(fmt.Sprint(pair[1]))+" ") {
			out.Answer = contentText(s.Filtered[0], asIs)
			return
		}
		if x, err := strconv.ParseFloat(fmt.Sprint(pair[0]), 64); err == nil && x > most {
			best, most = i, x
		}
	}
	if out.Answer = choice(best); out.Answer == "" {
		return
	}
	if i, err := strconv.Atoi(out.Expected); err == nil && choice(i) != "" {
		out.Expected = choice(i)
	}
}

// lmTask is the task in the name of a file: samples_TASK_2026-11-26T….jsonl.
func lmTask(file string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(file), ".jsonl"), "samples_")
	i := strings.LastIndex(name, "_")
	if !ok || i < 0 {
		return "", false
	}
	return name[:i], true
}

// lmModel is the model of a file: that of the results of the same date, or the folder. It also
// returns how metrics of the task are aggregated.
func lmModel(file, task string, to *Import) (model string, aggregations map[string]string, err error) {
	base := strings.TrimSuffix(filepath.Base(file), ".jsonl")
	date := base[strings.LastIndex(base, "_")+1:]
	path := filepath.Join(filepath.Dir(file), "results_"+date+".json")
	var results struct {
		Name   string                    `json:"model_name"`
		Higher map[string]map[string]any `json:"higher_is_better"`
		Tasks  map[string]struct {
			Metrics []struct {
				Name string         `json:"metric"`
				By   jsontext.Value `json:"aggregation"`
			} `json:"metric_list"`
		} `json:"configs"`
	}
	if err := decodeFile(path, mostSample, &results); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	aggregations = map[string]string{}
	for _, m := range results.Tasks[task].Metrics {
		aggregations[m.Name] = firstLine(contentText(m.By, asIs))
	}
	for _, task := range sortedKeys(results.Higher) {
		for _, metric := range sortedKeys(results.Higher[task]) {
			if results.Higher[task][metric] == false {
				to.lower(metric)
			}
		}
	}
	if results.Name == "" {
		results.Name = filepath.Base(filepath.Dir(file))
		if results.Name == "." || results.Name == string(filepath.Separator) {
			results.Name = base
		}
		to.Note("%s: no %s names the model: its arm is called by the folder, %s", file, filepath.Base(path), results.Name)
	}
	return results.Name, aggregations, nil
}

// input is the first prompt of a sample; without one, its document.
func (s *lmSample) input() string {
	var args map[string]map[string]jsontext.Value
	if jsonv2.Unmarshal(s.Args, &args, lenient) == nil {
		for _, name := range sortedKeys(args) {
			if text := contentText(args[name]["arg_0"], asIs); text != "" {
				return text
			}
		}
	}
	var lists [][]jsontext.Value
	if jsonv2.Unmarshal(s.Args, &lists, lenient) == nil && len(lists) > 0 && len(lists[0]) > 0 {
		return contentText(lists[0][0], asIs)
	}
	return string(s.Doc)
}

// records visits the lines of a file that are not empty as records.
func records[T any](file string, visit func(*T) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(finite(f))
	lines.Buffer(nil, mostSample)
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r T
		err := jsonv2.Unmarshal(slices.Clone(lines.Bytes()), &r, lenient)
		if err == nil {
			err = visit(&r)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: %w", file, n+1, errTooLarge)
	} else if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
