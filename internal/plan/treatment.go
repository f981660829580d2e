package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// The parts of a treatment that say that trials are judged.
const (
	judgeModelPart = "judge_model"
	judgesPart     = "judges"
)

// ArmPart begins the name of the part of a treatment that is the hash of an arm; its id follows.
const ArmPart = "arm "

// Treatment lists the settings that determine the requests of a run: arms, models,
// replicates, seed. Where it changes, trials are asked anew; everything else in a
// study (limits, retries, metrics, comparisons, rules) may change at no cost.
func Treatment(s *study.Study, arms []eval.Arm) []eval.Part {
	parts := []eval.Part{
		{Name: "suite", Value: s.Suite},
		{Name: "replicates", Value: strconv.Itoa(s.Execution.Replicates)},
		{Name: "seed", Value: strconv.FormatInt(s.Execution.Seed, 10)},
	}
	used := map[string]bool{s.JudgeModel: true}
	var judges []string // beside the judge model
	for _, a := range arms {
		parts = append(parts, eval.Part{Name: ArmPart + a.ID, Value: a.Hash})
		used[a.Model] = true
		for _, j := range a.Judges {
			if used[j] = true; j != s.JudgeModel && !slices.Contains(judges, j) {
				judges = append(judges, j)
			}
		}
	}
	if s.JudgeModel != "" {
		parts = append(parts, eval.Part{Name: judgeModelPart, Value: s.JudgeModel})
	}
	if len(judges) > 0 {
		slices.Sort(judges)
		parts = append(parts, eval.Part{Name: judgesPart, Value: strings.Join(judges, ", ")})
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

// Readable returns the parts of a treatment with error rates of simulated models in words.
// Stores have them as [study.Skill.String] writes them.
func Readable(parts []eval.Part) []eval.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		if strings.HasPrefix(p.Name, "model ") && strings.HasSuffix(p.Name, ".skill") {
			parts[i].Value = skillWords(p.Value)
		}
	}
	return parts
}

var (
	rateOf = regexp.MustCompile(`([A-Z][a-z]+):([^ }]+)`)
	armOf  = regexp.MustCompile(`([^ \[]+):\{([^}]*)\}`)
)

func skillWords(stored string) string {
	rates := func(text string) string {
		var list []string
		for _, m := range rateOf.FindAllStringSubmatch(text, -1) {
			if m[2] != "0" {
				list = append(list, strings.ToLower(m[1])+" "+m[2])
			}
		}
		return cmp.Or(strings.Join(list, ", "), "no errors")
	}
	own, arms, _ := strings.Cut(stored, " Arms:map")
	text := rates(own)
	for _, m := range armOf.FindAllStringSubmatch(arms, -1) {
		text += "; with " + m[1] + ": " + rates(m[2])
	}
	return text
}

// Questions returns the arms with a hash of everything that determines the requests
// of their trials: the arm's own hash, the suite, the seed, and the settings of the
// model. An arm with another hash is asked anew.
func Questions(s *study.Study, arms []eval.Arm) []eval.Arm {
	out := slices.Clone(arms)
	for i, a := range arms {
		parts := []eval.Part{{Name: "suite", Value: s.Suite}, {Name: "seed", Value: strconv.FormatInt(s.Execution.Seed, 10)}, {Name: "arm", Value: a.Hash}}
		out[i].Hash = eval.KeyOf(append(parts, asks(s, a.Model)...))
	}
	return out
}

// Judges returns a hash of the settings of the judges of each arm. With another one, its
// trials are judged again.
func Judges(s *study.Study, arms []eval.Arm) map[string]string {
	hashes := make(map[string]string, len(arms))
	for _, a := range arms {
		if len(a.Judges) > 0 {
			hashes[a.ID] = eval.KeyOf(asks(s, a.Judges...))
		}
	}
	return hashes
}

// asks lists models with their settings, without the ports of servers.
func asks(s *study.Study, ids ...string) (parts []eval.Part) {
	for _, id := range ids {
		parts = append(parts, eval.Part{Name: "asks", Value: id})
		for _, m := range s.Models {
			if m.ID != id {
				continue
			}
			for _, p := range modelParts(m) {
				p.Value = eval.WithoutPort(p.Value)
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// JudgeParts returns the parts of a treatment that are settings of judges, without the
// ports of servers.
func JudgeParts(treatment []eval.Part) (parts []eval.Part) {
	var judges []string
	names := func(p eval.Part) bool { return p.Name == judgeModelPart || p.Name == judgesPart }
	for _, p := range treatment {
		if names(p) {
			judges = append(judges, strings.Split(p.Value, ", ")...)
		}
	}
	for _, p := range treatment {
		id, isModel := modelOf(p)
		if names(p) || isModel && slices.Contains(judges, id) {
			parts = append(parts, eval.Part{Name: p.Name, Value: eval.WithoutPort(p.Value)})
		}
	}
	return parts
}

// modelOf returns the id of the model of which a part of a treatment is a setting.
func modelOf(p eval.Part) (id string, isModel bool) {
	id, isModel = strings.CutPrefix(p.Name, "model ")
	if i := strings.LastIndex(id, "."); i >= 0 {
		id = strings.TrimSuffix(id[:i], ".reasoning")
	}
	return id, isModel
}

// ModelParts returns the parts of a treatment that are settings of a model, without the ports of servers.
func ModelParts(treatment []eval.Part, model string) (parts []eval.Part) {
	for _, p := range Readable(treatment) {
		if id, isModel := modelOf(p); isModel && id == model {
			parts = append(parts, eval.Part{Name: p.Name, Value: eval.WithoutPort(p.Value)})
		}
	}
	return parts
}

// WithoutScorer returns settings of judges without the scorer of the study, which is asked with them
// and is none, and whether there is one.
func WithoutScorer(judges []eval.Part) (parts []eval.Part, scorer bool) {
	for _, p := range judges {
		if p.Name == judgesPart {
			all := strings.Split(p.Value, ", ")
			rest := eval.WithoutScorer(all)
			if scorer = len(rest) < len(all); len(rest) == 0 {
				continue
			}
			p.Value = strings.Join(rest, ", ")
		}
		parts = append(parts, p)
	}
	return parts, scorer
}

// Unchanged reports which arms of an earlier treatment have the same settings now,
// for stores that have no questions of trials.
func Unchanged(was, now []eval.Part) func(arm string) bool {
	changed, arms := false, map[string]bool{}
	value := map[string]string{}
	for _, p := range was {
		value[p.Name] = p.Value
	}
	for _, p := range now {
		old, known := value[p.Name]
		id, isArm := strings.CutPrefix(p.Name, ArmPart)
		switch {
		case isArm:
			arms[id] = known && old == p.Value
		case strings.HasPrefix(p.Name, "model ") && !known || p.Name == "replicates":
		default:
			changed = changed || old != p.Value
		}
	}
	return func(arm string) bool { return !changed && arms[arm] }
}

// Regraded returns the ids of the items whose gold changed and whose input did not.
func Regraded(was map[string]eval.Item, now []eval.Item) (ids []string) {
	return changed(was, now, func(before, now eval.Item) bool { return before.Input == now.Input && before.Gold != now.Gold })
}

// Reworded returns the ids of the items whose input changed.
func Reworded(was map[string]eval.Item, now []eval.Item) (ids []string) {
	return changed(was, now, func(before, now eval.Item) bool { return before.Input != now.Input })
}

// changed returns the ids of the items that were there before and differ.
func changed(was map[string]eval.Item, now []eval.Item, differ func(before, now eval.Item) bool) (ids []string) {
	for _, it := range now {
		if before, ok := was[it.ID]; ok && differ(before, it) {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// What an analysis groups items by, as [Regrouped] names it.
const (
	Splits   = "split"
	Strata   = "strata"
	Clusters = "clusters"
)

// Regrouped returns the ids of the items that an analysis groups in another way than before, by
// what changed. Of clusters, which items are together counts, and not their names.
func Regrouped(was map[string]eval.Item, now []eval.Item) map[string][]string {
	changed := map[string][]string{}
	first := [2]map[string]string{{}, {}} // the first item of a cluster then and now, of those that both have
	var both []eval.Item
	for _, it := range slices.SortedFunc(slices.Values(now), func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }) {
		w, ok := was[it.ID]
		if !ok {
			continue
		}
		both = append(both, it)
		for k, cluster := range []string{w.Cluster, it.Cluster} {
			if _, ok := first[k][cluster]; !ok {
				first[k][cluster] = it.ID
			}
		}
	}
	in := func(k int, it eval.Item) string {
		if it.Cluster == "" {
			return it.ID
		}
		return first[k][it.Cluster]
	}
	for _, it := range both {
		w := was[it.ID]
		for what, differs := range map[string]bool{Splits: w.Split != it.Split, Strata: !slices.Equal(w.Strata, it.Strata), Clusters: in(0, w) != in(1, it)} {
			if differs {
				changed[what] = append(changed[what], it.ID)
			}
		}
	}
	return changed
}

// Renamed pairs the items of a plan that have another id now: items of an equal input, of
// which neither id has it in the other list. Items of one input are paired in the order of
// their ids. The result maps the id before to the id now.
func Renamed(was map[string]eval.Item, now []eval.Item) map[string]string {
	var left []eval.Item // ids whose input is gone from them
	after := make(map[string]eval.Hash, len(now))
	for _, it := range now {
		after[it.ID] = it.Input
	}
	for id, it := range was {
		if input, ok := after[id]; !ok || input != it.Input {
			left = append(left, it)
		}
	}
	byID := func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(left, byID)
	queues := map[eval.Hash][]string{}
	for _, it := range left {
		queues[it.Input] = append(queues[it.Input], it.ID)
	}
	renamed := map[string]string{}
	for _, it := range slices.SortedFunc(slices.Values(now), byID) {
		if w, ok := was[it.ID]; ok && w.Input == it.Input {
			continue
		}
		if q := queues[it.Input]; len(q) > 0 {
			renamed[q[0]], queues[it.Input] = it.ID, q[1:]
		}
	}
	return renamed
}

// Shorten truncates a list and appends the number of omitted entries.
func Shorten(list []string, most int) []string {
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
}
