package evalout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
)

// eeeVersion is the version of the schema of Every Eval Ever.
const eeeVersion = "0.3.0"

// unsafePart matches what no folder of the data store may have in its name.
var unsafePart = regexp.MustCompile(`[<>:"/\\|?*\x00-\x1f]|[. ]$|^data$`)

// eeePath is where the data store of Every Eval Ever has the files of an arm, without their
// endings: data/COLLECTION/DEVELOPER/MODEL/UUID4.
func eeePath(r Run, a Arm) string {
	developer, model, _ := strings.Cut(modelOf(a), "/")
	parts := []string{"data"}
	for _, part := range []string{r.Study, developer, model} {
		parts = append(parts, unsafePart.ReplaceAllString(part, "_"))
	}
	x := id(16, r.ID, a.ID)
	return strings.Join(append(parts, x[:8]+"-"+x[8:12]+"-4"+x[13:16]+"-8"+x[17:20]+"-"+x[20:]), "/")
}

// EEE writes a run as Every Eval Ever, laid out as its data store: for each arm an aggregate with
// the estimates and their intervals, and its instances, a line for each trial and metric. Unscored
// ones are left out, as the schema wants numbers, and counted.
func EEE(dir string, r Run, trials Trials) (files []string, unscored int, err error) {
	stamp := strconv.FormatInt(r.Created.Unix(), 10)
	var aggregates []object
	arms := map[string]int{}
	for i, a := range r.Arms {
		base := eeePath(r, a)
		arms[a.ID], aggregates = i, append(aggregates, eeeAggregate(r, a, stamp, base))
		base = filepath.Join(dir, filepath.FromSlash(base))
		files = append(files, base+"_samples.jsonl", base+".json")
		if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
			return nil, 0, err
		}
	}
	err = whole(files, func(to []io.Writer) error {
		for i, a := range aggregates {
			e := json.NewEncoder(to[2*i+1])
			e.SetIndent("", "  ")
			if err := e.Encode(a); err != nil {
				return err
			}
		}
		for t, err := range trials {
			if err != nil {
				return err
			}
			i, ok := arms[t.Trial.Arm]
			if !ok {
				continue
			}
			n, err := eeeInstances(to[2*i], r, r.Arms[i], t, stamp)
			if unscored += n; err != nil {
				return fmt.Errorf("writing %v: %w", t.Trial, err)
			}
		}
		return nil
	})
	for _, file := range files {
		for folder := filepath.Dir(file); err != nil && folder != filepath.Clean(dir); folder = filepath.Dir(folder) {
			_ = os.Remove(folder) // stays if something is in it
		}
	}
	return files, unscored, err
}

func (r Run) evaluation(a, stamp string) string { return r.Study + "/" + a + "/" + stamp }

func eeeAggregate(r Run, a Arm, stamp, base string) object {
	results := []object{} // null is no list to readers
	for _, m := range r.Metrics {
		e, ok := r.Estimate(a.ID, m.Name)
		if !ok || !e.Value.Defined() {
			continue
		}
		config := object{"evaluation_description": m.Doc, "lower_is_better": !m.HigherIsBetter && !m.NoDirection}
		if m.NoDirection { // the schema requires one
			config["additional_details"] = object{"direction": "none"}
		}
		if low, high := orNil(m.Min), orNil(m.Max); low != nil && high != nil {
			config["score_type"], config["min_score"], config["max_score"] = "continuous", low, high
		}
		score := object{"score": float64(e.Value)}
		if e.Low.Defined() && e.High.Defined() {
			score["uncertainty"] = object{"confidence_interval": object{"lower": float64(e.Low), "upper": float64(e.High), "confidence_level": 1 - r.Alpha}, "num_samples": e.N}
		}
		results = append(results, object{"evaluation_result_id": m.Name, "evaluation_name": m.Name, "source_data": object{"dataset_name": r.Study, "source_type": "other"}, "metric_config": config, "score_details": score})
	}
	return object{"schema_version": eeeVersion, "evaluation_id": r.evaluation(a.ID, stamp), "retrieved_timestamp": stamp, "evaluation_timestamp": stamp,
		"source_metadata":             object{"source_name": "scruple", "source_type": "evaluation_run", "source_organization_name": "unknown", "evaluator_relationship": "other"},
		"eval_library":                object{"name": "scruple", "version": r.Version},
		"model_info":                  object{"name": a.ID, "id": modelOf(a), "additional_details": object{"arm": a.ID, "run": r.ID, "deployment_type": "unknown", "model_availability": "unknown"}},
		"evaluation_results":          results,
		"detailed_evaluation_results": object{"format": "jsonl", "file_path": base + "_samples.jsonl"}}
}

// modelOf is what other tools call a model: provider/name.
func modelOf(a Arm) string {
	if a.Model == "" {
		return "none/" + a.ID
	}
	return a.Model
}

// best reports whether a score is the best one of its metric. One without a bound or a
// direction has none.
func (r Run) best(metric string, x float64) bool {
	i := slices.IndexFunc(r.Metrics, func(m eval.Metric) bool { return m.Name == metric })
	switch {
	case i < 0 || r.Metrics[i].NoDirection:
		return false
	case r.Metrics[i].HigherIsBetter:
		return x >= r.Metrics[i].Max
	}
	return x <= r.Metrics[i].Min
}

func eeeInstances(w io.Writer, r Run, a Arm, t eval.ScoredTrial, stamp string) (unscored int, err error) {
	x, err := t.Show()
	if err != nil {
		return 0, err
	}
	in, reference, answer := input(x), gold(x), string(t.Outcome.Data)
	var hash any // null without a content, which would be that of every item
	if in+reference != "" {
		sum := sha256.Sum256([]byte(in + reference))
		hash = hex.EncodeToString(sum[:])
	}
	line := object{"schema_version": eeeVersion, "evaluation_id": r.evaluation(t.Trial.Arm, stamp), "model_id": modelOf(a), "sample_id": t.Trial.Item, "sample_hash": hash, "interaction_type": "single_turn",
		"input": object{"raw": in, "reference": []string{reference}}, "output": object{"raw": []string{answer}},
		"answer_attribution": []object{{"turn_idx": 0, "source": "output.raw", "extracted_value": answer, "extraction_method": "custom", "is_terminal": true}},
		"metadata":           object{"arm": a.ID, "replicate": strconv.Itoa(t.Trial.Replicate), "outcome": string(t.Outcome.Kind)}}
	if a.Simulated {
		line["metadata"].(object)["simulated"] = "true"
	}
	known := effort.Known(t)
	if u := usage(known); u != nil {
		line["token_usage"] = u
	}
	if seconds, ok := known[effort.Latency]; ok {
		line["performance"] = object{"latency_ms": 1000 * seconds}
	}
	if t.Outcome.Kind == eval.Failed { // the schema has no instance without a score
		return 1, nil
	}
	for _, v := range values(t.Scores) {
		x := v.number()
		if math.IsNaN(x) {
			unscored++
			continue
		}
		line["evaluation_name"], line["evaluation_result_id"], line["evaluation"] = v.Metric, v.Metric, object{"score": x, "is_correct": r.best(v.Metric, x)}
		b, err := eval.EncodeJSON(line)
		if err == nil {
			_, err = w.Write(append(b, '\n'))
		}
		if err != nil {
			return unscored, err
		}
	}
	return unscored, nil
}
