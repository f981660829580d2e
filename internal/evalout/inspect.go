package evalout

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
)

type object = map[string]any

// An inspectLog is the log of one arm while it is written.
type inspectLog struct {
	arm       Arm
	zip       *zip.Writer
	ids       []string
	summaries *os.File           // a temporary file: they come behind all samples
	usage     map[string]float64 // of the samples of which it is known
	done      int
}

// Summaries have texts that are shortened as Inspect does.
const (
	longestInput = 5120
	longestText  = 1024
)

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// shorten cuts a text after at most so many bytes, between characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Inspect writes a log of Inspect, version 2 of its format, for each arm into a folder that
// exists, and returns the files. A metric is a scorer; a trial that failed is a sample with an
// error and no scores, and an unscored one is NaN. Names of files have no _ in the task, which
// Inspect would split.
func Inspect(dir string, r Run, trials Trials) (files []string, err error) {
	for _, a := range r.Arms {
		name := fmt.Sprintf("%s_%s_%s.eval", r.Created.UTC().Format("2006-01-02T15-04-05-00-00"), unsafeName.ReplaceAllString(r.Study+"-"+a.ID, "-"), id(11, r.ID, a.ID))
		files = append(files, filepath.Join(dir, name))
	}
	temp, remove, err := disk.Temp("inspect", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return files, whole(files, func(to []io.Writer) error {
		logs := map[string]*inspectLog{}
		for i, a := range r.Arms {
			f, err := os.Create(filepath.Join(temp, strconv.Itoa(i)))
			if err != nil {
				return err
			}
			defer f.Close()
			logs[a.ID] = &inspectLog{arm: a, zip: zip.NewWriter(to[i]), usage: map[string]float64{}, ids: []string{}, summaries: f}
		}
		for t, err := range trials {
			if err != nil {
				return err
			}
			if l := logs[t.Trial.Arm]; l != nil {
				if err := l.add(r, t); err != nil {
					return fmt.Errorf("writing %v: %w", t.Trial, err)
				}
			}
		}
		for _, a := range r.Arms {
			if err := logs[a.ID].end(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// put writes a member.
func (l *inspectLog) put(name string, v any) error {
	b, err := encoded(v)
	if err != nil {
		return err
	}
	return l.copy(name, bytes.NewReader(b))
}

func (l *inspectLog) copy(name string, from io.Reader) error {
	w, err := l.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate}) // without a time
	if err == nil {
		_, err = io.Copy(w, from)
	}
	return err
}

// encoded is JSON and a line end. NaN is a bare word, as Inspect writes it.
func encoded(v any) ([]byte, error) {
	b, err := eval.EncodeJSON(v)
	return append(bytes.ReplaceAll(b, []byte(`"value":"`+nan+`"`), []byte(`"value":NaN`)), '\n'), err
}

// summarize adds a summary to the list of them.
func (l *inspectLog) summarize(summary object) error {
	b, err := encoded(summary)
	if err != nil {
		return err
	}
	b[len(b)-1] = ',' // the line end
	_, err = l.summaries.Write(b)
	return err
}

// putSummaries writes the list of summaries without its last comma.
func (l *inspectLog) putSummaries() error {
	size, err := l.summaries.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	list := io.NewSectionReader(l.summaries, 0, max(0, size-1))
	return l.copy("summaries.json", io.MultiReader(strings.NewReader("["), list, strings.NewReader("]\n")))
}

// nan stands for NaN until it is written.
const nan = "scruple: not a number"

func (l *inspectLog) add(r Run, t eval.ScoredTrial) error {
	x, err := t.Show()
	if err != nil {
		return err
	}
	o := t.Outcome
	if n := len(l.ids); n == 0 || l.ids[n-1] != t.Trial.Item { // an item's trials follow each other
		l.ids = append(l.ids, t.Trial.Item)
	}
	answer := string(o.Data)
	scores, brief := object{}, object{} // of the sample, and of its summary
	for _, v := range values(t.Scores) {
		score := object{"value": any(v.number()), "metadata": object{"num": v.Num, "den": v.Den, "units": v.Units}}
		if math.IsNaN(v.number()) {
			score["value"], score["explanation"] = nan, "unscored: "+v.Unscored
		} else if len(scores) == 0 {
			score["answer"] = answer
		}
		scores[v.Metric], brief[v.Metric] = score, score
		if score["answer"] != nil {
			short := maps.Clone(score)
			short["answer"] = shorten(answer, longestText)
			brief[v.Metric] = short
		}
	}
	metadata, facts := object{"outcome": string(o.Kind)}, object{"outcome": string(o.Kind)}
	for _, f := range x.Facts {
		metadata[f.Name], facts[f.Name] = f.Value, shorten(f.Value, longestText)
	}
	sample := object{"id": t.Trial.Item, "epoch": t.Trial.Replicate, "input": input(x), "target": gold(x), "metadata": metadata, "uuid": id(11, r.ID, t.Trial.Item, t.Trial.Arm, fmt.Sprint(t.Trial.Replicate)),
		"messages": []object{{"role": "user", "content": input(x), "source": "input"}}, "scores": scores, "model_usage": object{},
		"output": object{"model": modelOf(l.arm), "choices": []object{}, "completion": ""}, "store": object{}, "events": []object{}, "attachments": object{}}
	summary := object{"id": t.Trial.Item, "epoch": t.Trial.Replicate, "input": shorten(input(x), longestInput), "target": shorten(gold(x), longestInput), "metadata": facts, "scores": brief, "completed": true, "uuid": sample["uuid"]}
	if o.Kind == eval.Failed {
		message := strings.TrimSpace(o.Reason + ": " + o.Detail)
		sample["error"] = object{"message": message, "traceback": "", "traceback_ansi": ""}
		sample["scores"], summary["scores"], summary["error"] = object{}, object{}, shorten(message, longestText)
	} else {
		l.done++
		stop := map[eval.OutcomeKind]string{eval.Refused: "content_filter"}[o.Kind]
		if slices.Contains(o.Notes, eval.NoteTruncated) {
			stop = "max_tokens"
		} else if stop == "" {
			stop = "stop"
		}
		reply := object{"role": "assistant", "content": answer, "source": "generate", "model": modelOf(l.arm)}
		sample["messages"] = append(sample["messages"].([]object), reply)
		sample["output"] = object{"model": modelOf(l.arm), "choices": []object{{"message": reply, "stop_reason": stop}}, "completion": answer}
	}
	known := effort.Known(t)
	if u := usage(known); u != nil {
		for _, name := range []string{effort.TokensIn, effort.TokensOut} {
			l.usage[name] += known[name]
		}
		if cost, ok := known[effort.Cost]; ok {
			u["total_cost"] = cost
		}
		sample["model_usage"] = object{modelOf(l.arm): u}
		if o.Kind != eval.Failed {
			sample["output"].(object)["usage"] = u
		}
	}
	if seconds, ok := known[effort.Latency]; ok {
		sample["working_time"], sample["total_time"], summary["working_time"] = seconds, seconds, seconds
	}
	if err := l.summarize(summary); err != nil {
		return err
	}
	// Inspect finds a sample by this name, with the id as it is. One that leaves the folder would do so
	// where somebody unpacks the log.
	name := t.Trial.Item
	if !filepath.IsLocal(name) || strings.Contains(name, `\`) {
		name = unsafeName.ReplaceAllString(name, "-") + "-" + id(8, name)
	}
	return l.put(fmt.Sprintf("samples/%s_epoch_%d.json", name, t.Trial.Replicate), sample)
}

// end writes the header, which has the estimates with their intervals.
func (l *inspectLog) end(r Run) error {
	scorers, results := []object{}, []object{} // null is no list to Inspect
	for _, m := range r.Metrics {
		e, ok := r.Estimate(l.arm.ID, m.Name)
		if !ok || e.N == 0 {
			continue
		}
		metric := func(name string, v eval.Number) object {
			return object{"name": name, "value": orNil(float64(v)), "params": object{}}
		}
		metrics := object{"mean": metric("mean", e.Value)}
		if e.Low.Defined() {
			metrics["ci_low"] = metric("ci_low", e.Low)
		}
		if e.High.Defined() {
			metrics["ci_high"] = metric("ci_high", e.High)
		}
		if e.Value.Defined() {
			scorers = append(scorers, object{"name": m.Name, "options": object{}, "metadata": object{"scruple_suite": r.Suite}})
			results = append(results, object{"name": m.Name, "scorer": m.Name, "scored_samples": e.N, "params": object{}, "metrics": metrics})
		}
	}
	created := r.Created.UTC().Format("2006-01-02T15:04:05+00:00")
	if err := l.putSummaries(); err != nil {
		return err
	}
	all := object{}
	if u := usage(l.usage); u != nil {
		all[modelOf(l.arm)] = u
	}
	args := object{"arm": l.arm.ID, "run": r.ID}
	if l.arm.Simulated {
		args["simulated"] = true
	}
	status := map[bool]string{false: "success", true: "cancelled"}[r.Unfinished] // as of one that a user stopped
	err := l.put("header.json", object{"version": 2, "status": status,
		"eval": object{"eval_id": id(11, r.ID, l.arm.ID, "eval"), "run_id": id(11, r.ID), "created": created, "task": r.Study + "/" + l.arm.ID, "task_id": id(11, r.Study, l.arm.ID), "task_version": 0, "task_display_name": r.Study,
			"task_args": args, "dataset": object{"name": r.Study, "samples": r.Items, "sample_ids": l.ids, "shuffled": false}, "model": modelOf(l.arm), "model_args": object{},
			"config": object{"epochs": r.Replicates}, "packages": object{"scruple": r.Version}, "scorers": scorers},
		"plan":    object{"name": "plan", "steps": []object{}, "config": object{}},
		"results": object{"total_samples": r.Items * r.Replicates, "completed_samples": l.done, "scores": results},
		"stats":   object{"started_at": created, "completed_at": created, "model_usage": all}})
	if err != nil {
		return err
	}
	return l.zip.Close()
}
