package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// rulesEvent is the kind of the events that record under which rules results of a run
// were seen: one when they were first seen, and one for each change. The note is
// [deciding] as JSON; [StatusOf] puts it into words.
const rulesEvent = "rules"

// deciding is everything in a study by which the gate decides, beside the numbers.
type deciding struct {
	Decide     study.Decide               `json:"decide"`
	Statistics map[string]json.RawMessage `json:"statistics"`
	MaxFailed  json.RawMessage            `json:"max_failed"`
}

// decidingOf reads it from a study in canonical JSON. What a rule advises decides
// nothing.
func decidingOf(canonical []byte) (d deciding, err error) {
	var s struct {
		Decide     study.Decide               `json:"decide"`
		Statistics map[string]json.RawMessage `json:"statistics"`
		Execution  struct {
			MaxFailed json.RawMessage `json:"max_failed"`
		} `json:"execution"`
	}
	if err := json.Unmarshal(canonical, &s); err != nil {
		return d, fmt.Errorf("reading the rules of the stored study: %w", err)
	}
	for i := range s.Decide.Outcomes {
		s.Decide.Outcomes[i].Advice = ""
	}
	return deciding{s.Decide, s.Statistics, s.Execution.MaxFailed}, nil
}

// changes describes what differs, in the order of the study.
func (d deciding) changes(now deciding) []string {
	list := ruleChanges("rule", conditionsOf(d.Decide.Require), conditionsOf(now.Decide.Require))
	was, is := classesOf(d.Decide.Outcomes), classesOf(now.Decide.Outcomes)
	outcomes := ruleChanges("outcome", was, is)
	if len(outcomes) == 0 && !slices.Equal(was, is) {
		outcomes = []string{"the order of the outcomes was " + names(was) + ", now " + names(is)}
	}
	list = append(list, outcomes...)
	keys := maps.Clone(d.Statistics)
	maps.Copy(keys, now.Statistics)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		list = append(list, settingChange("statistics."+key, d.Statistics[key], now.Statistics[key])...)
	}
	return append(list, settingChange("execution.max_failed", d.MaxFailed, now.MaxFailed)...)
}

func conditionsOf(list []study.Condition) (rules []eval.Level) {
	for _, c := range list {
		rules = append(rules, eval.Level{Name: c.Name, Value: c.That})
	}
	return rules
}

func classesOf(list []study.Class) (rules []eval.Level) {
	for _, c := range list {
		when := c.When
		if when == "" {
			when = "otherwise"
		}
		rules = append(rules, eval.Level{Name: c.Name, Value: c.Verdict + " if " + when})
	}
	return rules
}

func names(rules []eval.Level) string {
	var list []string
	for _, r := range rules {
		list = append(list, r.Name)
	}
	return strings.Join(list, ", ")
}

// ruleChanges compares rules by name. Of rules with one name the first belong
// together.
func ruleChanges(kind string, was, now []eval.Level) (list []string) {
	now = slices.Clone(now)
	for _, w := range was {
		i := slices.IndexFunc(now, func(n eval.Level) bool { return n.Name == w.Name })
		switch {
		case i < 0:
			list = append(list, fmt.Sprintf("%s %q was removed, it was %s", kind, w.Name, w.Value))
			continue
		case now[i].Value != w.Value:
			list = append(list, fmt.Sprintf("%s %q was %s, now %s", kind, w.Name, w.Value, now[i].Value))
		}
		now = slices.Delete(now, i, i+1)
	}
	for _, n := range now {
		list = append(list, fmt.Sprintf("%s %q was added, it is %s", kind, n.Name, n.Value))
	}
	return list
}

func settingChange(name string, was, now json.RawMessage) []string {
	value := func(v json.RawMessage) string {
		if v == nil {
			return "not set"
		}
		if s, err := strconv.Unquote(string(v)); err == nil {
			return s
		}
		return string(v)
	}
	if value(was) == value(now) {
		return nil
	}
	return []string{fmt.Sprintf("%s was %s, now %s", name, value(was), value(now))}
}

// A rulesHistory is the rules under which results of a run were seen, oldest first.
type rulesHistory struct {
	seen     []deciding
	recorded int // of them; a run of an older version has none
}

// rulesSeen reads the history of the rules of a run. A run of an older version whose
// results were seen began with the rules of its study.
func rulesSeen(ctx context.Context, db *store.DB, r *store.Run) (h rulesHistory, err error) {
	events, err := db.Events(ctx, r)
	if err != nil {
		return h, err
	}
	for _, e := range events {
		if e.What != rulesEvent {
			continue
		}
		var d deciding
		if err := json.Unmarshal([]byte(e.Note), &d); err != nil {
			return h, fmt.Errorf("reading the history of run %s: %w", r.ID, err)
		}
		h.seen = append(h.seen, d)
	}
	if h.recorded = len(h.seen); h.recorded > 0 {
		return h, nil
	}
	if !r.Analysed {
		return h, nil
	}
	d, err := decidingOf(r.StudyJSON)
	h.seen = []deciding{d}
	return h, err
}

// add appends the current rules if they differ from the last.
func (h *rulesHistory) add(now deciding) {
	if n := len(h.seen); n == 0 || len(h.seen[n-1].changes(now)) > 0 {
		h.seen = append(h.seen, now)
	}
}

// changes describes the changes after results were first seen.
func (h *rulesHistory) changes() (list []string) {
	for i := 1; i < len(h.seen); i++ {
		list = append(list, h.seen[i-1].changes(h.seen[i])...)
	}
	return list
}

// rulesNow returns the history of a run's rules with those of the study.
func (x *Experiment) rulesNow(ctx context.Context, db *store.DB, r *store.Run) (h rulesHistory, err error) {
	if h, err = rulesSeen(ctx, db, r); err != nil {
		return h, err
	}
	now, err := decidingOf(x.File.Canonical())
	h.add(now)
	return h, err
}

// RecordRules records that results of the run are seen under the rules of the study,
// if the history of the run does not say so yet.
func (x *Experiment) RecordRules(ctx context.Context, db *store.DB, r *store.Run) error {
	h, err := x.rulesNow(ctx, db, r)
	if err != nil {
		return err
	}
	return x.recordRules(ctx, db, r, h)
}

// recordFirstRules records the rules that a run of an older version began with, before
// its study is replaced.
func (x *Experiment) recordFirstRules(ctx context.Context, db *store.DB, r *store.Run) error {
	h, err := rulesSeen(ctx, db, r)
	if err != nil {
		return err
	}
	return x.recordRules(ctx, db, r, h)
}

func (x *Experiment) recordRules(ctx context.Context, db *store.DB, r *store.Run, h rulesHistory) error {
	for _, d := range h.seen[h.recorded:] {
		note, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if err := db.AddEvent(ctx, r, store.Event{At: x.env.Now(), What: rulesEvent, Note: string(note)}); err != nil {
			return err
		}
	}
	return nil
}

// inWords replaces the events of the rules by sentences.
func inWords(events []store.Event) []store.Event {
	var last *deciding
	for i, e := range events {
		var l look
		if e.What == lookEvent && json.Unmarshal([]byte(e.Note), &l) == nil {
			events[i].Note = l.String()
		}
		var d deciding
		if e.What != rulesEvent || json.Unmarshal([]byte(e.Note), &d) != nil {
			continue
		}
		if last == nil {
			events[i].What, events[i].Note = "results seen", "the study had "+text.Plural(len(d.Decide.Require)+len(d.Decide.Outcomes), "rule", "rules")
		} else {
			events[i].What, events[i].Note = "rules changed", "after results were seen: "+strings.Join(last.changes(d), "; ")
		}
		last = &d
	}
	return events
}
