package soundness

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
	"github.com/scruple-eval/scruple/internal/text"
)

// The queues of answers that people judge.
const (
	queueLabel     = "label"     // answers by the label that the reader reads in them
	queueCoherence = "coherence" // runs with a substantive rationale, by their automatic coherence
	queueFailures  = "failures"  // one run for each fragment on which the main model fails by type 1
	queueSingle    = "single"    // one run of type 1 for each fragment that the main model passes in spite of it
)

// emergent is the failure code that stands for a new one.
const emergent = "emergent"

// codes lists the failure codes with what they mean.
func (b *bench) codes() (names, meanings []string) {
	for i, d := range b.domains {
		for j, c := range d.Checkpoints {
			names = append(names, code(i, j))
			meanings = append(meanings, cmp.Or(c.Failure, c.Text))
		}
	}
	return names, meanings
}

// code is the failure code of a checkpoint, such as F2.1.
func code(domain, place int) string { return fmt.Sprintf("F%d.%d", domain+1, place+1) }

// domainOf returns the domain of a code, from 1; 0 for an emergent one.
func (b *bench) domainOf(name string) int {
	for i, d := range b.domains {
		for j := range d.Checkpoints {
			if name == code(i, j) {
				return i + 1
			}
		}
	}
	return 0
}

// names are the names of the labels, and domainNames those of the domains.
func (b *bench) names() []string { return namesOf(b.labels, func(l Label) string { return l.Name }) }

func (b *bench) domainNames() []string {
	return namesOf(b.domains, func(d Domain) string { return d.Name })
}

func namesOf[T any](list []T, name func(T) string) (names []string) {
	for _, x := range list {
		names = append(names, name(x))
	}
	return names
}

// nameOf is the name of a label, or another text for a run without a label.
func (b *bench) nameOf(label int, without string) string {
	if label == wording.None {
		return without
	}
	return b.labels[label].Name
}

// complete completes a task with the labels, checklist and codes of the study.
func (b *bench) complete(t study.Task) study.Task {
	if t.Kind == "assessment" {
		if t.Labels == nil {
			t.Labels = b.names()
		}
		if t.Checklist == nil {
			for _, d := range b.domains {
				h := study.Heading{Name: d.Name}
				for _, c := range d.Checkpoints {
					h.Points = append(h.Points, c.Text)
				}
				t.Checklist = append(t.Checklist, h)
			}
		}
	}
	ask := func(name, text string, options ...string) {
		if t.Ask == nil && t.Kind == "" {
			t.Ask = []study.Question{{Name: name, Type: "choice", Text: text, Options: options}}
		}
	}
	strata := func(open string, names ...string) {
		if t.Strata != nil {
			return
		}
		for _, name := range names {
			t.Strata = append(t.Strata, study.Stratum{Name: name, Draw: 20, Check: 20})
		}
		t.Strata = append(t.Strata, study.Stratum{Name: open, Check: 10})
	}
	switch t.Queue {
	case queueLabel:
		ask("label", "Which label does the answer give?", append(b.names(), noLabel)...)
		strata(stratumDoubt, b.names()...)
	case queueCoherence:
		ask("coherence", "Does the rationale support the label?", coherent, incoherent)
		strata(ambiguous, coherent, incoherent)
	case queueFailures, queueSingle:
		if t.Ask == nil && t.Labels == nil && len(b.domains) > 0 {
			t.Kind = cmp.Or(t.Kind, "failure")
			names, meanings := b.codes()
			t.Labels = append(names, emergent)
			t.Ask = t.Full().Ask
			for i := range t.Ask {
				if slices.Equal(t.Ask[i].Options, t.Labels) {
					t.Ask[i].Notes = append(slices.Clone(meanings), "none of these: name it below")
				}
				if t.Ask[i].Name == "run" && b.replicates > 1 { // one of those that there are, not any number
					t.Ask[i].Type, t.Ask[i].Min, t.Ask[i].Options = "choice", nil, b.runs()
				}
			}
		}
	}
	return t
}

// runs are the numbers of the runs on a fragment.
func (b *bench) runs() (list []string) {
	for r := range b.replicates {
		list = append(list, strconv.Itoa(r+1))
	}
	return list
}

// Queue lists the answers of a queue.
func (b *bench) Queue(name string, cases iter.Seq2[eval.Case, error]) (list []eval.Queued, err error) {
	queues := []string{queueLabel, queueCoherence, queueFailures, queueSingle}
	if !slices.Contains(queues, name) {
		return nil, fmt.Errorf("there is no queue %q: the queues are %s", name, strings.Join(queues, ", "))
	}
	if codes(name) && b.main == "" {
		return nil, fmt.Errorf("queue %s needs main_model: the model whose failures are coded", name)
	}
	waiting, unread := 0, 0 // runs that wait for a decision on coherence, or for a reader
	for c, err := range cases {
		if err != nil {
			return nil, err
		}
		x := b.cell(c)
		if x == nil {
			continue
		}
		// What people can still decide may change what a queue of failures has.
		open := b.isMain(x.arm) && (x.Outcome != outcomePass || name == queueSingle)
		for _, a := range x.runs {
			group := ""
			switch {
			case a.Failed:
			case name == queueLabel:
				group = b.readAs(&a.Outcome)
			case !codes(name):
				unread += indicator(b.unread(a))
				if a.Checked {
					group = a.Automatic
				}
			case open:
				unread += indicator(b.unread(a))
				waiting += indicator(a.Checked && a.Coherence == ambiguous)
			}
			if group != "" {
				list = append(list, eval.Queued{Trial: a.Trial, Stratum: group})
			}
		}
		if run := b.representative(x, name); codes(name) && run > 0 {
			list = append(list, eval.Queued{Trial: eval.Trial{Item: c.Item, Arm: c.Arm, Replicate: run}})
		}
	}
	switch {
	case unread > 0:
		return nil, fmt.Errorf("queue %s is drawn once, and the label of %s is in doubt: answer task %s, then run `scruple score`", name, text.Plural(unread, "run", "runs"), b.tasks.labels)
	case waiting > 0:
		return nil, fmt.Errorf("queue %s needs decisions on coherence first: %s of %s ambiguous; answer them in task %s, then run `scruple score`", name, text.Plural(waiting, "run", "runs"), b.main, b.tasks.coherence)
	}
	return list, nil
}

// stratumDoubt is the group of the answers whose label the reader leaves to people.
const stratumDoubt = "in doubt"

// readAs is the label that the reader reads in an answer, stratumDoubt, or "" for an answer
// in which there is nothing to read.
func (b *bench) readAs(o *eval.Outcome) string {
	switch p := b.reply(o); {
	case p.label != wording.None:
		return b.labels[p.label].Name
	case inDoubt(p.reason):
		return stratumDoubt
	}
	return ""
}

// unread reports whether a run waits for a person to read its label.
func (b *bench) unread(a Assessment) bool {
	return b.tasks.labels != "" && inDoubt(a.Reason) && a.Read == ""
}

// codes reports whether people code failures in a queue.
func codes(queue string) bool { return queue == queueFailures || queue == queueSingle }

// isMain reports whether an arm runs the model whose failures are coded.
func (b *bench) isMain(a *arm) bool { return a != nil && a.Settings != nil && a.Settings.ID == b.main }

// representative returns the replicate that shows the failure of the main model on a
// fragment most clearly: of the runs of type 1, the one with the largest difference of
// indicators; the first if several are equal. 0: the fragment is not in the queue.
func (b *bench) representative(x *cell, queue string) int {
	wanted := outcomeFail
	if queue == queueSingle {
		wanted = outcomePass
	}
	if !b.isMain(x.arm) || x.Outcome != wanted {
		return 0
	}
	run, clearest := 0, -1
	for _, a := range x.runs {
		if d := max(a.Strength-a.Weakness, a.Weakness-a.Strength); a.Failure == failureType1 && d > clearest {
			run, clearest = a.Trial.Replicate, d
		}
	}
	return run
}

// ShowQueued shows label and rationale of a run, alone or beside the fragment and its
// gold.
func (b *bench) ShowQueued(name string, c eval.Case, replicate int) ([]eval.Passage, error) {
	x := b.cell(c)
	if x == nil {
		return nil, fmt.Errorf("the study has no fragment %s", c.Item)
	}
	f := x.fragment
	if !codes(name) {
		for _, a := range x.runs {
			switch {
			case a.Failed || a.Trial.Replicate != replicate:
			case name == queueLabel:
				return []eval.Passage{{Name: "Answer", Text: string(a.Outcome.Data)}}, nil
			case a.Label != wording.None:
				return []eval.Passage{{Name: "Label", Text: b.labels[a.Label].Name}, {Name: "Rationale", Text: a.Rationale}}, nil
			}
		}
		return nil, fmt.Errorf("run %d of %s on %s has no label: %w", replicate, c.Arm, c.Item, eval.ErrGone)
	}
	if f.Gold == nil {
		return nil, fmt.Errorf("fragment %s has no gold", c.Item)
	}
	parts := []eval.Passage{{Name: "Fragment", Text: f.Text}, {Name: "The expert's label", Text: b.labels[f.Gold.Label].Name},
		{Name: "The expert's rationale", Text: f.Gold.Rationale}}
	for _, a := range x.runs {
		run := a.Trial.Replicate
		if a.Failed || a.Failure != failureType1 && run != replicate {
			continue
		}
		name := fmt.Sprintf("Run %d", run)
		if run == replicate {
			name += ", suggested: the clearest one"
		}
		parts = append(parts, eval.Passage{Name: name, Text: b.nameOf(a.Label, "none") + "\n\n" + a.Rationale})
	}
	return parts, nil
}

// Practice are the fragments for practice.
func (b *bench) Practice() []eval.Item {
	var items []eval.Item
	for _, f := range b.practice {
		items = append(items, eval.Item{ID: f.ID, Input: kit.Hash(f.Text)})
	}
	return items
}

// GoldPath is the file of the expert's judgements.
func (b *bench) GoldPath() string { return b.goldPath }

// A settledAnswer is what people say of a fragment.
type settledAnswer struct {
	Domains   []string `json:"domains"`
	Label     string   `json:"label"`
	Rationale string   `json:"rationale"`
	Boundary  string   `json:"boundary"`
	Notes     string   `json:"boundary_notes"`
}

// GoldFile makes the file of the expert's judgements (schema 2).
func (b *bench) GoldFile(day string, settled []eval.ItemGold) (name string, data []byte, err error) {
	var header []string
	for _, c := range schemas.Gold {
		if c.Name != columnSalient || len(b.domains) > 0 {
			header = append(header, c.Name)
		}
	}
	var rows [][]string
	for _, s := range settled {
		var a settledAnswer
		if err := json.Unmarshal(kit.JSON(s.Answer), &a); err != nil {
			return "", nil, fmt.Errorf("the answer on %s: %w", s.Item, err)
		}
		numbers, err := b.salient(a.Domains)
		if err != nil {
			return "", nil, fmt.Errorf("the domains of %s: %w", s.Item, err)
		}
		day, _, _ := strings.Cut(s.At, "T")
		of := map[string]string{columnID: s.Item, columnSalient: strings.Join(numbers, ","), "session_id": strconv.Itoa(s.Session),
			columnLabel: strings.TrimSpace(a.Label), columnRationale: strings.TrimSpace(a.Rationale), "assessment_date": day,
			columnBoundary: boolean(a.Boundary == study.BoundaryYes), columnBoundaryWhy: strings.TrimSpace(a.Notes)}
		row := make([]string, len(header))
		for i, h := range header {
			row[i] = of[h]
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
	var buf bytes.Buffer
	file := csvTable("gold_standard_locked_"+day+".csv", strings.Join(header, " "), rows)
	err = file.Write(&buf)
	return file.Path, buf.Bytes(), err
}

// salient returns the numbers of the domains that decided. The file must be one that the
// study reads, so a name that the study does not have is an error before anything is locked.
func (b *bench) salient(names []string) (numbers []string, err error) {
	if len(b.domains) == 1 {
		return []string{"1"}, nil // no task asks people
	}
	known := b.domainNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("the study has no domain %q: give the headings of the task's checklist the names of domains", name)
		}
	}
	for i, name := range known {
		if slices.Contains(names, name) {
			numbers = append(numbers, strconv.Itoa(i+1))
		}
	}
	if len(numbers) == 0 && len(known) > 0 {
		return nil, errors.New("no domain was chosen: revise the answer")
	}
	return numbers, nil
}

// checkChecklists checks that the headings that people choose from are domains of the
// study: its file of gold has their numbers.
func (b *bench) checkChecklists(f *study.File, s *Study, errs *study.Errors) {
	names := b.domainNames()
	for i, t := range s.Annotation {
		if t.Kind != "assessment" || t.Practice || len(names) == 0 {
			continue
		}
		for j, h := range t.Checklist {
			if !slices.Contains(names, h.Name) {
				errs.Add(f.Errorf(fmt.Sprintf("annotation[%d].checklist[%d].name", i, j), "the study has no domain %q%s: gold has the numbers of domains, so each heading must be one", h.Name, text.DidYouMean(h.Name, names)))
			}
		}
	}
}
