package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/power"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// Decide applies the study's current rules to the stored analysis of a run. It
// rejects an analysis of another study, other metrics or other statistics.
// Verdict is nil for a study without rules.
func (x *Experiment) Decide(ctx context.Context, db *store.DB, r *store.Run, kept Result) (Result, error) {
	if r.Split() == study.SplitTest {
		_, changes, err := x.TestChanges(r)
		if err != nil {
			return Result{}, err
		}
		if len(changes) > 0 {
			return Result{}, discipline.NotAllowed("the study is not what was registered for %s:\n  %s\nundo the change, or give the reason with `%s`: it is recorded for good and printed on every report",
				r.ID, strings.Join(changes, "\n  "), x.commandLine("score", "--unblind", "…"))
		}
	}
	if err := x.Current(ctx, db, r, kept); err != nil {
		return Result{}, err
	}
	before := kept.Verdict
	kept.Verdict = x.decide(kept.Analysis)
	if kept.Verdict != nil && before != nil {
		kept.Verdict.NeedAsBefore(*before)
	}
	history, err := x.rulesNow(ctx, db, r)
	if err != nil {
		return Result{}, err
	}
	kept.NewRules = history.isNew()
	if kept.Verdict != nil {
		kept.Verdict.Changed = history.changes()
	}
	return kept, nil
}

// Current rejects an analysis that is not of the study as it is, but for its rules.
func (x *Experiment) Current(ctx context.Context, db *store.DB, r *store.Run, kept Result) error {
	if err := x.checkSame(ctx, db, r); err != nil {
		return err
	}
	if kept.basis != x.basis() {
		return discipline.NotAllowed("the metrics, comparisons or statistics of the study, or what scores are computed from, changed since run %s was analysed: run `%s` to analyse it again at no cost", r.ID, x.commandLine("score"))
	}
	people, err := (&Run{Experiment: x, Record: r, db: db}).PeopleDiff(ctx)
	if err != nil {
		return err
	}
	if people.Len() > 0 {
		remedy := fmt.Sprintf("run `%s` to analyse it again at no cost", x.commandLine("score"))
		if r.Archive != nil {
			remedy = fmt.Sprintf("%v: `%s` begins another run, which takes its answers", store.ErrArchived, x.commandLine("run", "--new"))
		}
		return discipline.NotAllowed("answers of people changed since run %s was analysed:\n  %s\n%s", r.ID, strings.Join(peopleChanges(people), "\n  "), remedy)
	}
	if x.Study.ReplicationOf == "" {
		return nil
	}
	now := *kept.Analysis
	if err := x.replicate(ctx, db, r, &now); err != nil {
		return err
	}
	if other, err := otherPlaces(kept, Result{Analysis: &now, Verdict: kept.Verdict}); err != nil || len(other) == 0 {
		return err
	}
	return discipline.NotAllowed("the run that the study replicates changed since run %s was analysed: run `%s` to analyse it again at no cost", r.ID, x.commandLine("score"))
}

// decide applies the study's rules. It returns nil if there are none.
func (x *Experiment) decide(a *analyse.Analysis) *gate.Verdict {
	if x.rules.Empty() {
		return nil
	}
	v := x.rules.Decide(a)
	v.Witness(a.Discipline)
	return &v
}

// needs says of each rule that is open how many items it takes. A run that is not complete
// or on DEV decides nothing, nor does more data behind the last planned look.
func (x *Experiment) needs(v *gate.Verdict, a *analyse.Analysis, of power.Scores) error {
	if v == nil || !a.Run.Complete() || a.Run.Exploratory() || a.Run.Looks != nil && a.Run.Looks.Planned > 0 {
		return nil
	}
	design, _ := x.design()
	var open []gate.Rule
	var conditions []int
	for i, c := range v.Conditions {
		for _, rule := range x.rules.All() {
			if c.Open && rule.Name == c.Name && rule.That == c.That && len(rule.Apart) == 0 && !rule.Trials && !rule.Corrected(a) && len(design.Estimated(rule)) == 0 {
				open, conditions = append(open, rule), append(conditions, i)
				break
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	takes, most, err := design.Takes(open, of)
	if err != nil {
		return err
	}
	for k, i := range conditions {
		v.Need(i, takes[k], most)
	}
	return nil
}

// elsewhere are the keys of a study that scores and analysis do not depend on, or that are
// compared in another place: in its plan, its items, its rules or part by part.
var elsewhere = []string{"name", "version", "suite", "description", "models", "split", "shared_clusters", "budget", "execution",
	"decide", "assume", "output", "annotation", "data", "arms"}

// basis is all that scores and analysis depend on beside outcomes, verdicts and gold: hashes of
// the settings, see [Experiment.settings], and of the items, the keys of the suite and what
// the judge is measured by. An analysis with another basis cannot decide.
func (x *Experiment) basis() string {
	keys := x.File.Keys()
	maps.DeleteFunc(keys, func(key string, _ json.RawMessage) bool { return slices.Contains(elsewhere, key) })
	parts := []eval.Part{{Name: "judge", Value: x.Judge.Settings}, {Name: "arms in order", Value: fmt.Sprintf("%q", x.ArmIDs())}}
	if j, ok := kit.Suited(x.Bench).(kit.CaseJudge); ok && j.Known().Beside != 0 {
		parts = append(parts, eval.Part{Name: "judge measured beside", Value: j.Known().Beside.String()})
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		parts = append(parts, eval.Part{Name: key, Value: string(keys[key])})
	}
	for _, it := range slices.SortedFunc(slices.Values(x.Items()), func(a, b eval.Item) int { return strings.Compare(a.ID, b.ID) }) {
		parts = append(parts, eval.Part{Name: "item " + it.ID, Value: fmt.Sprintf("%q %q %q", it.Split, it.Cluster, it.Strata)})
	}
	return x.settings() + "-" + shortHash(parts)
}

// shortHash is the stored form.
func shortHash(parts []eval.Part) string {
	return eval.HashOf([]byte(eval.EncodeParts(parts))).String()[:12]
}

// settings is a hash of the study's metrics, comparisons and statistics, which runs that are
// compared should share.
func (x *Experiment) settings() string {
	keys := x.File.Keys()
	var execution struct {
		MaxFailed json.RawMessage `json:"max_failed"`
	}
	_ = json.Unmarshal(keys["execution"], &execution)
	parts := []eval.Part{{Name: "max_failed", Value: string(execution.MaxFailed)}}
	for _, key := range []string{"metrics", "comparisons", "statistics", "judge_model"} {
		parts = append(parts, eval.Part{Name: key, Value: string(keys[key])})
	}
	for _, m := range x.effort.Metrics { // a rule may name them
		parts = append(parts, eval.Part{Name: "effort", Value: m.Name})
	}
	for _, name := range x.named {
		if !slices.ContainsFunc(x.effort.Metrics, func(m eval.Metric) bool { return m.Name == name }) {
			parts = append(parts, eval.Part{Name: "metric", Value: name})
		}
	}
	limits := x.rules.Limits()
	for _, p := range x.rules.Alternatives() { // they are corrected together
		parts = append(parts, eval.Part{Name: "alternative", Value: strings.Join(p[:], " ")})
		for _, l := range [][]float64{limits[p], limits[[3]string{p[1], p[0], p[2]}]} {
			if len(l) > 0 {
				parts = append(parts, eval.Part{Name: "limits", Value: fmt.Sprint(slices.Sorted(slices.Values(l)))})
			}
		}
	}
	for i, p := range x.families() {
		if p.Family != x.Pairs[i].Family { // what the rules make of it
			parts = append(parts, eval.Part{Name: "family", Value: p.A + " " + p.B + " " + p.Family})
		}
	}
	return shortHash(parts)
}

// CheckFailures returns a [TooManyFailedError] if more trials failed than the
// study allows. Some arms may be left out.
func (r *Run) CheckFailures(result Result, but ...string) error {
	share, of := result.Analysis.WorstFailures(but...)
	if share <= result.Analysis.Run.MaxFailed {
		return nil
	}
	named := r.File.Path + r.ofSplit()
	return &TooManyFailedError{Share: share, Of: of, Allowed: result.Analysis.Run.MaxFailed, Study: named, Remedy: result.Analysis.Run.Remedy(named, result.Analysis.Arms...)}
}

// apart are the keys of a study that [deciding] compares in their own words, beside those that are
// compared elsewhere. What changed of a judge, the history of the plan says.
var apart = append([]string{"metrics", "comparisons", "statistics", "judge", "judge_model"}, elsewhere...)

// deciding is everything in a study by which scores are computed, the gate decides and tests are
// corrected, beside plan, items and gold. In histories of earlier versions, comparisons, metrics,
// settings and cases are nil: not known.
type deciding struct {
	Decide      study.Decide      `json:"decide"`
	Statistics  settings          `json:"statistics"`
	MaxFailed   json.RawMessage   `json:"max_failed"`
	Comparisons study.Comparisons `json:"comparisons,omitzero"`
	Metrics     settings          `json:"metrics,omitzero"`
	// Settings are the other keys that scores and analysis depend on.
	Settings settings `json:"settings,omitzero"`
	// Cases are hashes of what the judge is measured by, and Judged says how often it was right.
	// Beside is the one that is of a file beside the cases, with what that has; earlier versions did not say.
	Cases  []string  `json:"cases,omitzero"`
	Beside [2]string `json:"beside,omitzero"`
	Judged string    `json:"judged,omitempty"`
	// Renamed are arms that have another id from here on; such an event has nothing else.
	Renamed [][2]string `json:"renamed,omitempty"`
	former  [][2]string // arms that were renamed since
}

// full reports whether nothing is missing that this version records.
func (d deciding) full() bool { return d.Settings != nil }

// renamed returns the rules with other ids of arms: rules that only follow an arm to its
// new id did not change.
func (d deciding) renamed(arms [][2]string) deciding {
	var ids []string
	for _, r := range arms {
		for _, quote := range []string{"'", `"`} {
			ids = append(ids, quote+r[0]+quote, quote+r[1]+quote)
		}
	}
	now := strings.NewReplacer(ids...)
	d.Decide.Require, d.Decide.Outcomes = slices.Clone(d.Decide.Require), slices.Clone(d.Decide.Outcomes)
	for i := range d.Decide.Require {
		d.Decide.Require[i].That = now.Replace(d.Decide.Require[i].That)
	}
	for i := range d.Decide.Outcomes {
		d.Decide.Outcomes[i].When = now.Replace(d.Decide.Outcomes[i].When)
	}
	d.former = slices.Concat(d.former, arms)
	return d
}

// decidingOf reads it from a study in canonical JSON. What a rule advises decides
// nothing.
func decidingOf(canonical []byte) (d deciding, err error) {
	s := struct {
		deciding
		Execution struct {
			MaxFailed json.RawMessage `json:"max_failed"`
		} `json:"execution"`
	}{deciding: deciding{Comparisons: study.Comparisons{}, Metrics: settings{}}}
	if err := json.Unmarshal(canonical, &s); err != nil {
		return d, fmt.Errorf("reading the rules of the stored study: %w", err)
	}
	for i := range s.Decide.Outcomes {
		s.Decide.Outcomes[i].Advice = ""
	}
	s.MaxFailed = s.Execution.MaxFailed
	if err := json.Unmarshal(canonical, &s.Settings); err != nil {
		return d, err
	}
	maps.DeleteFunc(s.Settings, func(key string, _ json.RawMessage) bool { return slices.Contains(apart, key) })
	return s.deciding, nil
}

// changes describes what differs, in the order of the study.
func (d deciding) changes(now deciding) []string { return d.compare(now, true) }

// compare is changes; without all, rules, outcomes and comparisons that only one of the two has are no
// difference, as those of two studies.
func (d deciding) compare(now deciding, all bool) []string {
	require, was := d.rules()
	requireNow, is := now.rules()
	list := ruleChanges("rule", require, requireNow, all)
	outcomes := ruleChanges("outcome", was, is, all)
	if len(ruleChanges("outcome", was, is, true)) == 0 && !slices.Equal(was, is) {
		outcomes = []string{"the order of the outcomes was " + names(was) + ", now " + names(is)}
	}
	list = append(list, outcomes...)
	measured := func(d deciding) settings {
		return settings{"require_measured": json.RawMessage(strconv.FormatBool(d.Decide.RequireMeasured))}
	}
	list = append(list, measured(d).changes("decide.", measured(now))...)
	if d.Comparisons != nil && now.Comparisons != nil {
		list = append(list, ruleChanges("comparison", d.following(now).compared(), now.compared(), all)...)
	}
	return slices.Concat(list, d.Metrics.changes("metrics.", now.Metrics), d.Statistics.changes("statistics.", now.Statistics),
		settings{"max_failed": d.MaxFailed}.changes("execution.", settings{"max_failed": now.MaxFailed}),
		d.Settings.changes("", now.Settings), d.caseChanges(now))
}

// caseChanges counts the cases of the judge that differ.
func (d deciding) caseChanges(now deciding) []string {
	var changed []string
	for _, x := range []struct {
		has, lacks deciding
		done       string
	}{{d, now, "removed"}, {now, d, "added"}} {
		n := without(x.has.Cases, x.lacks.Cases)
		if hash, what := x.has.Beside[0], x.has.Beside[1]; hash != "" && !slices.Contains(x.lacks.Cases, hash) {
			changed, n = append(changed, what+" "+x.done), n-1
		}
		text.AddCount(&changed, n, "case", "cases", " %s", x.done)
	}
	if len(changed) == 0 || d.Cases == nil || now.Cases == nil {
		return nil
	}
	if d.Judged != "" {
		changed = append(changed, "it was right on "+d.Judged+" then")
	}
	return []string{"what measures the judge: " + strings.Join(changed, ", ")}
}

// without counts the elements that another list does not have.
func without(list, other []string) (n int) {
	has := text.SetOf(other)
	for _, x := range list {
		if !has[x] {
			n++
		}
	}
	return n
}

// following returns the comparisons with other names of arms where the study no longer has the former:
// an entry of several models, whose arms are NAME@MODEL, may keep its name.
func (d deciding) following(now deciding) deciding {
	d.Comparisons = slices.Clone(d.Comparisons)
	for i, c := range d.Comparisons {
		if !slices.ContainsFunc(now.Comparisons, func(n study.Compare) bool { return n.A == c.A && n.B == c.B }) {
			for _, r := range d.former {
				for _, name := range []*string{&d.Comparisons[i].A, &d.Comparisons[i].B} {
					model, of := strings.CutPrefix(r[0], *name)
					if now, ok := strings.CutSuffix(r[1], model); of && ok && (model == "" || model[0] == '@') {
						*name = now
					}
				}
			}
		}
	}
	return d
}

// compared are the comparisons, each with what the study says of it.
func (d deciding) compared() (list []eval.Level) {
	for _, c := range d.Comparisons {
		name := c.A + " - " + c.B
		if c.A == study.AllArms {
			name = "all"
		}
		c.A, c.B = "", ""
		says, _ := json.Marshal(c) // names can be encoded
		list = append(list, eval.Level{Name: name, Value: strings.NewReplacer(`"a":"","b":"",`, "", `"a":"","b":""`, "").Replace(string(says))})
	}
	return list
}

// unplanned lists the arms and metrics of comparisons that were not planned, or not as primary ones.
func (x *Experiment) unplanned(first deciding) (list [][3]string) {
	if first.Comparisons == nil {
		return nil
	}
	was := x.Study.Metrics
	if first.Metrics != nil {
		was = study.Metrics{}
		for key, list := range map[string]any{"primary": &was.Primary, "secondary": &was.Secondary, "own": &was.Own} {
			_ = json.Unmarshal(first.Metrics[key], list) // the study was valid when it was recorded
		}
	}
	primary, secondary := x.chosen(was)
	isNew := func(name string) bool {
		named := func(m study.Metric) bool { return m.Name == name }
		return slices.ContainsFunc(x.Study.Metrics.Own, named) && !slices.ContainsFunc(was.Own, named)
	}
	planned := map[[3]string]bool{} // arms in both orders and metrics; whether they decide
	for _, c := range first.Comparisons {
		of, _ := analyse.Pairs(study.Comparisons{c}, x.Bench.Arms()) // an arm that is gone has none
		for _, q := range of {
			for _, m := range x.among(q, primary, secondary) {
				if isNew(m) {
					continue
				}
				decides := q.Primary && slices.Contains(primary, m)
				for _, key := range [][3]string{{q.A, q.B, m}, {q.B, q.A, m}} {
					planned[key] = planned[key] || decides
				}
			}
		}
	}
	for _, p := range x.Pairs {
		for _, m := range x.metricsOf(p) {
			decided, ok := planned[[3]string{p.A, p.B, m}]
			if !p.Contrast && !(ok && (decided || !p.Primary || !slices.Contains(x.Primary, m))) {
				list = append(list, [3]string{p.A, p.B, m})
			}
		}
	}
	return list
}

// rules are what each condition asks, and what each outcome says and when.
func (d deciding) rules() (require, outcomes []eval.Level) {
	require = mapped(d.Decide.Require, func(c study.Condition) eval.Level {
		return eval.Level{Name: c.Name, Value: c.That}
	})
	outcomes = mapped(d.Decide.Outcomes, func(c study.Class) eval.Level {
		return eval.Level{Name: c.Name, Value: c.Verdict + " if " + cmp.Or(c.When, "otherwise")}
	})
	return require, outcomes
}

func names(rules []eval.Level) string {
	return strings.Join(mapped(rules, func(r eval.Level) string { return r.Name }), ", ")
}

// ruleChanges compares rules by name. Of rules with one name the first belong
// together. Those that only one of the two has are named if all says so.
func ruleChanges(kind string, was, now []eval.Level, all bool) (list []string) {
	now = slices.Clone(now)
	for _, w := range was {
		i := slices.IndexFunc(now, func(n eval.Level) bool { return n.Name == w.Name })
		switch {
		case i < 0 && all:
			list = append(list, fmt.Sprintf("%s %q was removed, it was %s", kind, w.Name, w.Value))
			continue
		case i < 0:
			continue
		case now[i].Value != w.Value:
			list = append(list, fmt.Sprintf("%s %q was %s, now %s", kind, w.Name, w.Value, now[i].Value))
		}
		now = slices.Delete(now, i, i+1)
	}
	if !all {
		return list
	}
	for _, n := range now {
		list = append(list, fmt.Sprintf("%s %q was added, it is %s", kind, n.Name, n.Value))
	}
	return list
}

// settings are those of a section of the study; nil if they are not known.
type settings map[string]json.RawMessage

// changes compares settings of a section, whose name with a point is before theirs.
func (was settings) changes(section string, now settings) (list []string) {
	if was == nil || now == nil {
		return nil
	}
	keys := maps.Clone(was)
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if encoded(was[key]) != encoded(now[key]) {
			list = append(list, fmt.Sprintf("%s was %s, now %s", section+key, readable(was[key]), readable(now[key])))
		}
	}
	return list
}

// encoded is a value as histories have it.
func encoded(v json.RawMessage) string {
	stored, _ := json.Marshal(v) // of the canonical form, or read back
	return string(stored)
}

// readable is a value as people read it.
func readable(v json.RawMessage) string {
	if v == nil {
		return "not set"
	}
	said, err := strconv.Unquote(string(v))
	if err != nil {
		said = string(v)
	}
	return text.Shorten(said, 200)
}

// A rulesHistory is the rules under which results of a run were seen, oldest first.
type rulesHistory struct {
	seen     []deciding
	recorded int      // of them; a run of an older version has none
	now      deciding // of the study; see [Experiment.rulesNow]
}

// rulesSeen reads the history of the rules from the events of a run. A run of an older version whose
// results were seen began with the rules of its study.
func rulesSeen(events []store.Event, r *store.Run) (h rulesHistory, err error) {
	for _, e := range events {
		if e.What != rulesEvent {
			continue
		}
		var d deciding
		if err := json.Unmarshal([]byte(e.Note), &d); err != nil {
			return h, fmt.Errorf("reading the history of run %s: %w", r.ID, err)
		}
		if n := len(h.seen); n > 0 && d.Renamed != nil {
			h.seen[n-1] = h.seen[n-1].renamed(d.Renamed)
			continue
		}
		h.seen = append(h.seen, d)
	}
	if h.recorded = len(h.seen); h.recorded > 0 || !r.Analysed {
		return h, nil
	}
	d, err := decidingOf(r.StudyJSON)
	d.Settings = nil // in the form of another version
	h.seen = []deciding{d}
	return h, err
}

// first returns the rules under which results were first seen, with the comparisons of arms by
// their ids of now.
func (h *rulesHistory) first() deciding {
	first := h.seen[0]
	for _, d := range h.seen[1:] {
		first.former = slices.Concat(first.former, d.former)
		if !first.full() { // an earlier version did not record them
			first.Settings, first.Cases, first.Beside, first.Judged = d.Settings, d.Cases, d.Beside, d.Judged
		}
	}
	return first.following(h.now)
}

// last returns the rules under which results were seen last.
func (h *rulesHistory) last() deciding { return h.seen[len(h.seen)-1] }

// isNew reports whether the last rules are others than those before and not recorded yet.
func (h *rulesHistory) isNew() bool {
	n := len(h.seen)
	return n > max(1, h.recorded) && len(h.seen[n-2].changes(h.seen[n-1])) > 0
}

// changes describes the changes after results were first seen.
func (h *rulesHistory) changes() (list []string) {
	for i := 1; i < len(h.seen); i++ {
		list = append(list, h.seen[i-1].changes(h.seen[i])...)
	}
	return list
}

// asIn leaves out the rules under which results were seen after they were analysed, as by `gate -o`.
// Those of now must be the last, or what was analysed is not what the study says.
func (h *rulesHistory) asIn(kept Result) {
	var was []string
	for _, said := range kept.Analysis.Run.History {
		if change, ok := strings.CutPrefix(said, afterSeen); ok {
			was = append(was, change)
		}
	}
	if kept.Verdict != nil {
		was = kept.Verdict.Changed
	}
	for n := len(h.seen); n > 0; n-- {
		if then := (rulesHistory{seen: h.seen[:n]}); slices.Equal(then.changes(), was) && len(then.last().changes(h.now)) == 0 {
			h.seen = then.seen
			return
		}
	}
}

// rulesNow returns the history of a run's rules with those of the study, if they differ from the last.
func (x *Experiment) rulesNow(ctx context.Context, db *store.DB, r *store.Run) (h rulesHistory, err error) {
	events, err := db.Events(ctx, r)
	if err == nil {
		h, err = x.rulesOf(events, r)
	}
	return h, err
}

// deciding is that of the study as it is.
func (x *Experiment) deciding() (deciding, error) {
	d, err := decidingOf(x.File.Canonical())
	if j, ok := kit.Suited(x.Bench).(kit.CaseJudge); ok {
		d.Cases, d.Beside = j.Known().Hashes(), [2]string{j.Known().BesideHash(), j.Known().What}
	}
	d.Judged = x.judged
	return d, err
}

// rulesOf is [Experiment.rulesNow] for the events of a run.
func (x *Experiment) rulesOf(events []store.Event, r *store.Run) (h rulesHistory, err error) {
	if h, err = rulesSeen(events, r); err != nil {
		return h, err
	}
	if h.now, err = x.deciding(); err != nil {
		return h, err
	}
	n := len(h.seen)
	if n > 0 && h.now.Judged == "" { // not computed now
		h.now.Judged = h.seen[n-1].Judged
	}
	if n == 0 || !h.seen[n-1].full() || h.seen[n-1].Judged != h.now.Judged || len(h.seen[n-1].changes(h.now)) > 0 {
		h.seen = append(h.seen, h.now)
	}
	return h, nil
}

// RecordRules records that results of the run are seen under the rules of the study,
// if the history of the run does not say so yet.
func (x *Experiment) RecordRules(ctx context.Context, db *store.DB, r *store.Run) error {
	h, err := x.rulesNow(ctx, db, r)
	if err != nil {
		return err
	}
	return db.AddEvents(ctx, r, x.rulesEvents(h)...)
}

// rulesEvents are the events of the rules that are not recorded.
func (x *Experiment) rulesEvents(h rulesHistory) []store.Event {
	return x.eventsOf(rulesEvent, mapped(h.seen[h.recorded:], func(d deciding) string {
		note, _ := json.Marshal(d) // it was JSON
		return string(note)
	})...)
}
