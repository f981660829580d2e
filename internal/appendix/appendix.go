// Package appendix makes the appendices that a suite declares: documents for a paper or a
// thesis, made of the tables of a report, of people's work, and of pages that people write
// beside the study. What is not there yet is said in the document, so that a set of
// appendices is always complete by name.
//
// The package must not know any suite, and computes nothing but counts.
package appendix

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Source is what appendices are made of.
type Source struct {
	Study    *study.Study
	File     *study.File
	Bench    kit.Bench
	Place    annotate.Place
	Subjects annotate.Source
	Page     func(path string) (text string, exists bool, err error) // of those that people write
	Sessions []eval.Session                                          // of the run
	Time     func(micros int64) string                               // of them
	// Of a run that was scored; nil before it.
	Analysis *analyse.Analysis
	Outdated bool // the study is no longer what the run was analysed with
	Kept     kit.Kept
	Prompts  func(eval.Trial) (map[string]string, error) // as they were sent, by step
}

// A File is an appendix as Markdown.
type File struct {
	Name string // such as H1_performance.md
	Data []byte
}

// A Set is what was made.
type Set struct {
	Files   []File
	Missing []Missing
}

// Make makes the appendices.
func Make(list []kit.Appendix, s Source) (set Set, err error) {
	results, err := s.results()
	if err != nil {
		return set, err
	}
	alpha := s.Study.Statistics.Alpha
	if s.Analysis != nil {
		alpha = s.Analysis.Study.Alpha // of a planned look
	}
	notices := s.notices()
	for _, a := range list {
		d := report.Document{Title: title(a)}
		if a.Tables != nil || a.From == kit.FromRun || a.From == kit.FromPrompts || a.From == kit.FromProgram {
			d.Parts = append(d.Parts, notices...)
		}
		if a.Intro != "" {
			d.Parts = append(d.Parts, report.Part{Prose: []string{a.Intro}})
		}
		parts, err := s.parts(a, results)
		if err != nil {
			return set, fmt.Errorf("appendix %s: %w", cmp.Or(a.Name, a.Title), err)
		}
		own, missing, err := s.written(a)
		if err != nil {
			return set, fmt.Errorf("appendix %s: %w", cmp.Or(a.Name, a.Title), err)
		}
		if len(parts)+len(own) == 0 {
			own = []report.Part{prose("There is nothing to show here yet.")}
		}
		d.Parts, set.Missing = slices.Concat(d.Parts, parts, own), append(set.Missing, missing...)
		var b bytes.Buffer
		if err := report.WriteDocument(&b, d, alpha); err != nil {
			return set, err
		}
		set.Files = append(set.Files, File{fileName(a), b.Bytes()})
	}
	return set, nil
}

// notices stand at the top of every document about the run. They are the same on all machines.
func (s Source) notices() (parts []report.Part) {
	if s.Analysis == nil {
		return nil
	}
	if s.Outdated {
		parts = append(parts, prose("OUTDATED: the study or its files changed since these results were computed, and what is said of them here is of the study as it is now. The command scruple report says what changed."))
	}
	for _, line := range report.Banner(s.Analysis) {
		parts = append(parts, prose("%s", line))
	}
	if looked := s.Analysis.Run.Looks.String(); looked != "" {
		parts = append(parts, prose("LOOKS: %s.", looked))
	}
	return parts
}

func title(a kit.Appendix) string {
	if a.Name == "" {
		return a.Title
	}
	return strings.TrimSpace("Appendix " + a.Name + " " + a.Title)
}

func fileName(a kit.Appendix) string {
	words := strings.FieldsFunc(strings.ToLower(a.Title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.TrimPrefix(strings.ReplaceAll(a.Name, ".", "")+"_", "_") + strings.Join(words, "_") + ".md"
}

// results reads the tasks that were started.
func (s Source) results() (list []*annotate.Result, err error) {
	for _, t := range s.Study.Annotation {
		started, err := s.Place.Started(t.Name)
		if err != nil {
			return nil, err
		}
		if !started {
			continue
		}
		r, err := s.Place.Result(t, s.Subjects)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func (s Source) parts(a kit.Appendix, results []*annotate.Result) ([]report.Part, error) {
	switch a.From {
	case kit.FromPractice:
		return memos(only(results, func(t study.Task) bool { return t.Practice })), nil
	case kit.FromSessions:
		return sessions(only(results, isGold)), nil
	case kit.FromSecondRound:
		return s.secondRounds(only(results, isGold))
	case kit.FromLocks:
		return s.declarations()
	case kit.FromRun:
		return s.runSessions(), nil
	case kit.FromPrompts:
		return s.prompts(a.Arms(s.Bench), a.Judges), nil
	case kit.FromProgram:
		return s.program()
	}
	if a.Tables == nil && a.From == kit.FromTables { // it is what the suite knows
		return nil, nil
	}
	parts := s.tables(a.Tables)
	if a.From == kit.FromAgreements {
		reliability, err := s.reliability(results)
		return append(reliability, parts...), err
	}
	return parts, nil
}

// isGold reports whether the answers to a task are gold of items.
func isGold(t study.Task) bool { return t.Kind == "assessment" && !t.Practice }

func only(list []*annotate.Result, is func(study.Task) bool) (kept []*annotate.Result) {
	for _, r := range list {
		if is(r.Task) {
			kept = append(kept, r)
		}
	}
	return kept
}

func prose(format string, args ...any) report.Part {
	return report.Part{Prose: []string{fmt.Sprintf(format, args...)}}
}

// memos have what people did in practice, and what they wrote about it.
func memos(results []*annotate.Result) (parts []report.Part) {
	for _, r := range results {
		for _, w := range r.Everyone {
			answers := w.Answers()
			parts = append(parts, report.Part{Heading: r.Task.Title + ": " + w.Person, Prose: []string{fmt.Sprintf("%s in %s. They are not part of the gold.",
				text.Plural(len(answers), "practice item", "practice items"), text.Plural(len(w.Sessions()), "session", "sessions"))}})
			choices := slices.DeleteFunc(slices.Clone(r.Task.Ask), func(q study.Question) bool { return q.Type != "choice" && q.Type != "several" })
			t := &eval.Table{Columns: []string{"", "item", "active time, s"}}
			for _, q := range choices {
				t.Columns = append(t.Columns, q.Text)
			}
			for i, a := range answers {
				row := []eval.Cell{eval.Count(i + 1), eval.Text(a.Subject.Blind()), eval.Count(int(a.Active.Round(time.Second) / time.Second))}
				for _, q := range choices {
					row = append(row, eval.Text(cmp.Or(strings.Join(a.Answer.List(q.Name), ", "), a.Answer.Text(q.Name))))
				}
				t.Row(row...)
			}
			parts = append(parts, report.Part{Table: t})
			if log := sessionLog("Sessions", w); len(log.Rows) > 0 {
				parts = append(parts, report.Part{Table: log})
			}
			for _, a := range answers {
				for _, q := range r.Task.Ask { // conditional texts, such as notes on boundary cases
					if words := a.Answer.Text(q.Name); q.When != "" && q.Type == "text" && words != "" {
						parts = append(parts, report.Part{Prose: []string{a.Subject.Blind() + ", " + q.Text + ":"}, Verbatim: words})
					}
				}
			}
			for _, n := range w.Memo(r.Task.Memo) {
				parts = append(parts, report.Part{Heading: n.Topic, Verbatim: n.Text})
			}
		}
	}
	return orNothing(parts, "Nobody has practised yet.")
}

func orNothing(parts []report.Part, otherwise string) []report.Part {
	if len(parts) == 0 {
		return []report.Part{prose("%s", otherwise)}
	}
	return parts
}

// sessions list the sessions of people.
func sessions(results []*annotate.Result) (parts []report.Part) {
	for _, r := range results {
		for _, w := range r.Everyone {
			if t := sessionLog(r.Task.Title+": "+w.Person, w); len(t.Rows) > 0 {
				parts = append(parts, report.Part{Table: t})
			}
		}
	}
	return orNothing(parts, "Nobody has answered yet.")
}

func sessionLog(title string, w *annotate.Work) *eval.Table {
	t := &eval.Table{Title: title, Columns: []string{"session", "date", "first item", "last item", "items", "second round", "decisions", "breaks", "active, min", "observations"}}
	for _, s := range w.Sessions() {
		first, last := "–", "–"
		if n := len(s.Items); n > 0 {
			first, last = s.Items[0].Blind(), s.Items[n-1].Blind()
		}
		t.Row(eval.Count(s.Number), eval.Text(s.Start.UTC().Format(time.DateOnly)), eval.Text(first), eval.Text(last), eval.Count(len(s.Items)), eval.Count(s.Again), eval.Count(s.Decisions),
			eval.Count(s.Breaks), eval.Quantity(eval.Number(s.Active.Minutes())), eval.Text(s.Note))
	}
	return t
}

// secondRounds compare the rounds of each person.
func (s Source) secondRounds(results []*annotate.Result) (parts []report.Part, err error) {
	for _, r := range results {
		list, err := r.Agreements()
		if err != nil {
			return nil, err
		}
		for _, w := range r.Everyone {
			differ, over := r.Discrepancies(w)
			if !over {
				continue
			}
			for _, g := range list {
				if g.Again && g.B == w.Person+", again" {
					parts = append(parts, report.Part{Heading: r.Task.Title + ", " + g.Question + ": " + w.Person, Verbatim: strings.TrimSpace(g.String())})
				}
			}
			parts = append(parts, prose("%s.", text.Plural(len(differ), "answer differs", "answers differ")))
			for _, d := range differ {
				parts = append(parts, report.Part{Heading: d.Subject.Blind(), Verbatim: "First answer\n" + d.First.Readable(r.Task) + "\nSecond answer\n" + d.Second.Readable(r.Task) + "\nNote\n" + cmp.Or(d.Note, "(no note yet)")})
			}
		}
	}
	return orNothing(parts, "Nobody has finished a second round yet."), nil
}

// declarations have the locks of the study.
func (s Source) declarations() (parts []report.Part, err error) {
	list, err := s.Place.Declared()
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		t := &eval.Table{Columns: []string{"", ""}}
		for _, fact := range [][2]string{{"file", cmp.Or(l.Path, "annotations/"+l.File)}, {"MD5", l.MD5}, {"SHA-256", l.SHA256}, {"declared by", l.Name}, {"at", l.At}} {
			t.Row(eval.Texts(fact[:]...)...)
		}
		t.Row(eval.Text("entry of the ledger"), eval.Count(l.Seq))
		if l.Subjects > 0 {
			t.Row(eval.Text("answers"), eval.Count(l.Subjects))
		}
		parts = append(parts, report.Part{Heading: cmp.Or(l.Task, l.File), Verbatim: l.Declaration}, report.Part{Table: t})
	}
	return orNothing(parts, "Nothing is locked yet."), nil
}

func (s Source) runSessions() []report.Part {
	t := &eval.Table{Columns: []string{"session", "first request", "last request", "requests", "retries", "answers", "items", "new items", "items since the start", "technical issues"}}
	for _, x := range s.Sessions {
		t.Row(eval.Count(x.N), eval.Text(s.Time(x.First)), eval.Text(s.Time(x.Last)), eval.Count(x.Requests), eval.Count(x.Retries), eval.Count(x.Answers), eval.Count(x.Items), eval.Count(x.New), eval.Count(x.Done),
			eval.Text(cmp.Or(x.Issues(), "none")))
	}
	if len(t.Rows) == 0 {
		return []report.Part{prose("The study was not run yet.")}
	}
	return []report.Part{{Table: t}}
}

// tables finds tables and figures of the report.
func (s Source) tables(names []string) (parts []report.Part) {
	for _, name := range names {
		i, j := -1, -1
		if s.Analysis != nil {
			i = slices.IndexFunc(s.Analysis.Tables, func(t eval.Table) bool { return t.Name == name })
			j = slices.IndexFunc(s.Analysis.Figures, func(f eval.Figure) bool { return f.Name == name })
		}
		switch {
		case i >= 0 && len(s.Analysis.Tables[i].Rows) == 0:
			parts = append(parts, prose("%s: none.", s.Analysis.Tables[i].Title))
		case i >= 0:
			parts = append(parts, report.Part{Table: &s.Analysis.Tables[i]})
		case j >= 0:
			parts = append(parts, report.Part{Figure: &s.Analysis.Figures[j]})
		}
	}
	return orNothing(parts, "The run has nothing to show here yet.")
}

// reliability has all agreements of people in one table.
func (s Source) reliability(results []*annotate.Result) ([]report.Part, error) {
	t := &eval.Table{Title: "Reliability", Columns: []string{"task", "question", "what is compared", "n", "agreement", "measure", "value and 95 % interval", "target", "standing"},
		Note: "The target is one of Cohen's kappa, which only questions with labels have. Small numbers of subjects make it a screen: read the interval."}
	var parts []report.Part
	for _, r := range results {
		list, err := r.Agreements()
		if err != nil {
			return nil, err
		}
		for _, why := range r.Uncompared {
			parts = append(parts, prose("Task %s: %s.", r.Task.Name, why))
		}
		for i := range list {
			row := reliabilityOf(&list[i])
			t.Row(row...)
			if o := list[i].Measure(annotate.Overlap); o != nil && len(list[i].Labels) > 0 { // of sets of labels
				t.Row(append(slices.Clone(row[:5]), eval.Text(o.Name), measured(o), eval.Ratio(eval.Undefined()), eval.Text("–"))...)
			}
		}
	}
	if len(t.Rows) > 0 {
		parts = append(parts, report.Part{Table: t})
	}
	return orNothing(parts, "There are no two answers to compare yet."), nil
}

// reliabilityOf is the row of an agreement: with kappa and its target if the answers are
// labels, else with the measure of numbers or passages.
func reliabilityOf(g *annotate.Agreement) []eval.Cell {
	m, target, standing := &annotate.Measure{Name: "–", Value: math.NaN()}, eval.Undefined(), "–"
	for _, key := range []string{annotate.Cohen, annotate.Alpha, annotate.Overlap} {
		if of := g.Measure(key); of != nil {
			m = of
			break
		}
	}
	if m.Key == annotate.Cohen && g.Target != nil {
		target, standing = eval.Number(*g.Target), g.Standing()
	}
	return []eval.Cell{eval.Text(g.Task), eval.Text(g.Question), eval.Text(g.A + " / " + g.B), eval.Count(g.N), eval.ShareOf(g.Same, g.N),
		eval.Text(m.Name), measured(m), eval.Ratio(target), eval.Text(standing)}
}

// measured is a measure with its interval.
func measured(m *annotate.Measure) eval.Cell {
	if math.IsNaN(m.Value) && m.Name != "–" {
		return eval.Missing(eval.KindRatio, "undefined")
	}
	return eval.Ratio(eval.Number(m.Value)).Within(eval.Number(m.CI.Low), eval.Number(m.CI.High))
}

// prompts is what was asked of arms, and of judges, as the report has it, but for the length.
func (s Source) prompts(arms []string, judges bool) []report.Part {
	if s.Analysis == nil || s.Analysis.Asked == nil {
		return []report.Part{prose("No model was asked yet.")}
	}
	var asked []analyse.Party
	var short []string // arms whose prompts cannot be built again
	for _, p := range s.Analysis.Asked.Parties {
		switch {
		case p.Judge && judges:
			asked = append(asked, p)
		case !p.Judge && slices.Contains(arms, p.Name):
			whole, ok := s.whole(p)
			if asked = append(asked, whole); !ok {
				short = append(short, p.Name)
			}
		}
	}
	if len(asked) == 0 {
		return []report.Part{prose("No arm of the study has such a prompt.")}
	}
	parts := []report.Part{{Asked: asked}}
	if len(short) > 0 { // the reason may name folders of this machine, and a deposit is the same bytes on all
		parts = slices.Insert(parts, 0, prose("The prompts of %s cannot be built again, so long ones lack their middle; scruple show --prompts says why.", strings.Join(short, ", ")))
	}
	return parts
}

// whole is an arm with its prompts in full, of which an analysis has the beginning and the end, or none
// of many arms. It reports whether they could be built.
func (s Source) whole(p analyse.Party) (analyse.Party, bool) {
	for r := range max(1, s.Study.Execution.Replicates) { // one of them may have failed
		sent, err := s.Prompts(eval.Trial{Item: p.Item, Arm: p.Name, Replicate: r + 1})
		if err != nil || len(sent) == 0 {
			continue
		}
		p.Prompts = slices.Clone(p.Prompts)
		if len(p.Prompts) == 0 {
			first := slices.Min(slices.Collect(maps.Keys(sent)))
			p.Prompts, p.Missing = []analyse.Prompt{{Step: first}}, ""
		}
		for i, x := range p.Prompts {
			p.Prompts[i].Text = cmp.Or(sent[x.Step], x.Text)
		}
		return p, true
	}
	return p, false
}

// program has what it takes to compute the results again.
func (s Source) program() ([]report.Part, error) {
	sums, err := s.File.Sums()
	if err != nil {
		return nil, err
	}
	run := &eval.Table{Title: "Program", Columns: []string{"", ""}}
	files := &eval.Table{Title: "Files that the study reads", Columns: []string{"file", "SHA-256"}}
	files.Row(eval.Texts("the study file", s.File.SHA256())...)
	for _, f := range sums {
		files.Row(eval.Texts(f.Path, f.SHA256)...)
	}
	parts := []report.Part{prose("Scruple asked the models, read, checked and scored the answers, and made all tables. The command scruple verify computes them again from the deposit, and asks nothing.")}
	if s.Analysis == nil {
		return append(parts, report.Part{Table: files}), nil
	}
	run.Row(eval.Texts("Scruple that analysed", s.Analysis.Run.Version)...)
	if a := s.Analysis.Asked; a != nil {
		run.Row(eval.Texts("Scruple that asked", a.Program)...)
	}
	run.Row(eval.Texts("run", s.Analysis.Run.ID)...)
	run.Row(eval.Text("seed"), eval.Text(fmt.Sprint(s.Analysis.Run.Seed)))
	return append(parts, report.Part{Table: run}, report.Part{Table: files}), nil
}
