package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// The parts of a treatment that say that trials are judged.
const (
	JudgeModelPart = "judge_model"
	JudgesPart     = "judges"
)

// Treatment lists the settings that determine the requests of a run: arms, models,
// replicates, seed. A changed treatment is a new experiment; everything else in a
// study (limits, retries, metrics, comparisons, rules) may change during a run,
// because scoring and deciding again is free.
func Treatment(s *study.Study, arms []eval.Arm) []eval.Part {
	parts := []eval.Part{
		{Name: "suite", Value: s.Suite},
		{Name: "replicates", Value: strconv.Itoa(s.Execution.Replicates)},
		{Name: "seed", Value: strconv.FormatInt(s.Execution.Seed, 10)},
	}
	used := map[string]bool{s.JudgeModel: true}
	var judges []string // beside the judge model
	for _, a := range arms {
		parts = append(parts, eval.Part{Name: "arm " + a.ID, Value: a.Hash})
		used[a.Model] = true
		for _, j := range a.Judges {
			if used[j] = true; j != s.JudgeModel && !slices.Contains(judges, j) {
				judges = append(judges, j)
			}
		}
	}
	if s.JudgeModel != "" {
		parts = append(parts, eval.Part{Name: JudgeModelPart, Value: s.JudgeModel})
	}
	if len(judges) > 0 {
		slices.Sort(judges)
		parts = append(parts, eval.Part{Name: JudgesPart, Value: strings.Join(judges, ", ")})
	}
	for _, m := range s.Models {
		if used[m.ID] {
			parts = append(parts, modelParts(m)...)
		}
	}
	return parts
}

// modelParts lists the settings of a model that affect its answers, including
// base_url; keys, limits and prices do not.
func modelParts(m study.Model) []eval.Part {
	var parts []eval.Part
	add := func(name, value string) {
		if value != "" && value != "0" {
			parts = append(parts, eval.Part{Name: "model " + m.ID + "." + name, Value: value})
		}
	}
	add("provider", m.Provider)
	add("name", m.Name)
	add("base_url", m.BaseURL)
	add("cassette", m.Cassette)
	add("structured", m.Structured)
	for name, v := range map[string]*float64{"temperature": m.Temperature, "top_p": m.TopP} {
		if v != nil {
			parts = append(parts, eval.Part{Name: "model " + m.ID + "." + name, Value: strconv.FormatFloat(*v, 'g', -1, 64)})
		}
	}
	if m.Seed != nil {
		parts = append(parts, eval.Part{Name: "model " + m.ID + ".seed", Value: strconv.FormatInt(*m.Seed, 10)})
	}
	add("max_tokens", strconv.Itoa(m.MaxTokens))
	add("reasoning.effort", m.Reasoning.Effort)
	add("reasoning.budget", strconv.Itoa(m.Reasoning.Budget))
	add("reasoning.allowance", strconv.Itoa(m.Reasoning.Allowance))
	if m.Skill != nil {
		add("skill", fmt.Sprintf("%+v", *m.Skill))
	}
	slices.SortFunc(parts, func(a, b eval.Part) int { return strings.Compare(a.Name, b.Name) })
	return parts
}

// Changes describes the items whose input or gold changed, at most a few of each
// kind.
func Changes(was map[string]eval.Item, now []eval.Item) (input, gold []string) {
	seen := 0
	for _, it := range now {
		w, ok := was[it.ID]
		switch {
		case !ok:
			input = append(input, "item "+it.ID+" is new")
			continue
		case w.Input != it.Input:
			input = append(input, "item "+it.ID+" changed")
		case w.Gold != it.Gold:
			gold = append(gold, it.ID)
		}
		seen++
	}
	if gone := len(was) - seen; gone > 0 {
		noun := "items"
		if gone == 1 {
			noun = "item"
		}
		input = append(input, fmt.Sprintf("%d %s removed", gone, noun))
	}
	return input, gold
}

// Shorten truncates a list and appends the number of omitted entries.
func Shorten(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
