package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// trial finds the trial in the address of a page.
func (v *Viewer) trial(r *request) (store.Row, error) {
	id, err := strconv.ParseInt(r.PathValue("trial"), 10, 64)
	if err != nil {
		return store.Row{}, bad("trial %q: must be a number", r.PathValue("trial"))
	}
	row, err := v.DB.Row(r.Context(), r.run, id)
	r.item = row.Trial.Item
	return row, err
}

// trialData is the page of a trial.
type trialData struct {
	store.Row
	Item, Wrong string
	Neighbours  neighbourhood
	Others      []choice // trials of the item
	AllOfItem   string
	Facts       []eval.Level
	Outcome     eval.Outcome
	Exhibit     template.HTML
	Missing     string // why there is no exhibit, but what is stored
	Stored      string
	Units       []unitScores
	Metrics     []string
	Rulings     []eval.Verdict
	Calls       []call // the first of Total
	Total       int
	CallsOf     string
	Command     string
}

// trialPage shows a trial.
func (v *Viewer) trialPage(r *request) error {
	row, err := v.trial(r)
	if err != nil {
		return err
	}
	data := trialData{Row: row, Item: shortItem(row.Trial.Item), Command: v.command(r.run, row.Trial), CallsOf: r.trialLink(r.run, row.ID) + "/calls"}
	if data.Neighbours, err = v.neighbours(r, row.ID); err != nil {
		data.Wrong = err.Error()
	}
	judged, err := v.DB.OutcomeOf(r.Context(), r.run, row.ID)
	if row.Kind != "" && err != nil {
		return err
	}
	data.Outcome, data.Rulings = judged.Outcome, judged.Verdicts
	if row.Kind != "" {
		metrics := v.metrics(r.Context(), r.run)
		exhibit, err := v.exhibit(r, r.run, row.Trial)
		if err == nil {
			data.Facts = exhibit.Facts
			data.Exhibit, err = report.Trial(exhibit, metrics)
		}
		if err != nil {
			data.Missing, data.Stored = err.Error(), indented(judged.Outcome.Data)
			scores, err := v.DB.ScoresOf(r.Context(), r.run, row.ID)
			if err != nil {
				return err
			}
			data.Metrics, data.Units = byUnit(scores)
		}
	}
	const few = 5
	calls, total, err := v.DB.Transcript(r.Context(), r.run, row.ID, 0, few)
	if err != nil {
		return err
	}
	data.Total = total
	for _, c := range calls {
		data.Calls = append(data.Calls, call{Call: c})
	}
	if data.Others, data.AllOfItem, err = v.others(r, row); err != nil {
		return err
	}
	return v.render(r, "trial", data.Item+" · "+row.Trial.Arm, data)
}

// exhibit shows a trial by the study of its run.
func (v *Viewer) exhibit(r *request, run *store.Run, t eval.Trial) (x eval.Exhibit, err error) {
	l := r.study(v, run)
	if l.err != nil {
		return x, l.err
	}
	if l.input[t.Item] {
		return x, fmt.Errorf("the data of item %s changed since it was asked", t.Item)
	}
	defer func() {
		if p := recover(); p != nil { // data that the store has and the study no longer knows
			err = fmt.Errorf("the trial cannot be shown: %v", p)
		}
	}()
	x, err = l.show(r.Context(), t)
	x.Raw = indented([]byte(x.Raw))
	return x, err
}

func (v *Viewer) command(run *store.Run, t eval.Trial) string {
	rest := []string{t.Item, t.Arm}
	if t.Replicate > 1 {
		rest = append(rest, "--replicate", strconv.Itoa(t.Replicate))
	}
	return v.Command(run, "show", rest...)
}

// others links the trials of the same item: other arms and replicates, and the page that
// shows all.
func (v *Viewer) others(r *request, row store.Row) (list []choice, all string, err error) {
	rows, err := v.rowsOf(r, row.Trial.Item, row.ID)
	if err != nil || len(rows) < 2 {
		return nil, "", err
	}
	all = r.link([]string{"r", r.run.ID, "i"}, "item", row.Trial.Item, "near", strconv.FormatInt(row.ID, 10))
	at := slices.IndexFunc(rows, func(o store.Row) bool { return o.ID == row.ID })
	before, after := (at+len(rows)-1)%len(rows), (at+1)%len(rows)
	for i, o := range rows {
		if i == at || len(rows) > mostOthers && i != before && i != after {
			continue
		}
		name, key := o.Trial.Arm, ""
		if r.run.Replicates > 1 {
			name += " #" + strconv.Itoa(o.Trial.Replicate)
		}
		if i == before {
			key = "A"
		}
		if i == after {
			key += " a" // both lead to the only other trial
		}
		list = append(list, choice{Text: name, Key: key, Href: r.trialLink(r.run, o.ID, "q", r.param("q"), "sort", r.param("sort"), "text", r.param("text"))})
	}
	return list, all, nil
}

// mostOthers is how many trials of an item a page of a trial links; of more, only those
// beside it.
const mostOthers = 12

// unitScores are the stored scores of a unit, by metric.
type unitScores struct {
	Unit   string
	Scores []string
}

func byUnit(scores []eval.Score) (metrics []string, units []unitScores) {
	for _, s := range scores {
		if !slices.Contains(metrics, s.Metric) {
			metrics = append(metrics, s.Metric)
		}
	}
	at := map[string]int{} // in units, of which an answer can have thousands
	for _, s := range scores {
		k, known := at[s.Unit]
		if !known {
			k = len(units)
			at[s.Unit] = k
			units = append(units, unitScores{s.Unit, make([]string, len(metrics))})
		}
		units[k].Scores[slices.Index(metrics, s.Metric)] = scoreText(s)
	}
	return metrics, units
}

func scoreText(s eval.Score) string {
	switch {
	case s.Unscored != "":
		return "unscored: " + s.Unscored
	case s.Row != nil:
		return fmt.Sprint([]float64(s.Row))
	case s.Den == 1:
		return number(s.Num)
	}
	return number(s.Num) + "/" + number(s.Den)
}

// A call as pages show it.
type call struct {
	eval.Call
	Prompt string // rebuilt
}

func (c call) Cost() string {
	if cost, known := c.KnownCost(); known {
		return fmt.Sprintf("$%.6f", cost)
	}
	return "unknown"
}

func (c call) Failed() string { return strings.TrimSpace(string(c.ErrKind) + " " + c.Err) }

// moment is a time of the journal.
func moment(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.000")
}

// indented formats JSON; other texts stay as they are.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// callsData is the page of the calls of a trial.
type callsData struct {
	store.Row
	Item                   string
	Calls                  []call
	Total                  int
	Prompts                bool
	Rebuild, Back, Command string
	Missing                string
	pager
}

// callsPerPage is how many calls a page of a transcript has.
const callsPerPage = 100

// callsPage shows the calls of a trial. With prompts=1 it builds the prompts again and
// checks them against the journal.
func (v *Viewer) callsPage(r *request) error {
	row, err := v.trial(r)
	if err != nil {
		return err
	}
	s, err := stateOf(r)
	if err != nil {
		return err
	}
	calls, total, err := v.DB.Transcript(r.Context(), r.run, row.ID, (s.page-1)*callsPerPage, callsPerPage)
	if err != nil {
		return err
	}
	if len(calls) == 0 && s.page > 1 {
		return bad("page %d: the trial has %s", s.page, text.Plural(total, "call", "calls"))
	}
	to := func(page, prompts string) string {
		return r.link([]string{"r", r.run.ID, "t", strconv.FormatInt(row.ID, 10), "calls"}, "page", page, "prompts", prompts)
	}
	data := callsData{Row: row, Item: shortItem(row.Trial.Item), Total: total, Back: r.trialLink(r.run, row.ID),
		Command: v.command(r.run, row.Trial) + " --prompts", Prompts: r.param("prompts") != "", Rebuild: to(r.param("page"), "1")}
	data.pager = newPager(s.page, total, callsPerPage, func(page int) string { return to(strconv.Itoa(page), r.param("prompts")) })
	prompts := map[eval.Stage]map[string]string{}
	if data.Prompts {
		if l := r.study(v, r.run); l.err != nil {
			data.Missing = l.err.Error()
		} else {
			for _, stage := range []eval.Stage{eval.StageRun, eval.StageJudge} {
				built, err := l.run.Prompts(r.Context(), row.Trial, stage)
				if err != nil {
					data.Missing = err.Error()
				}
				prompts[stage] = built
			}
		}
	}
	for _, c := range calls {
		data.Calls = append(data.Calls, call{c, prompts[c.Stage][c.Step]})
	}
	return v.render(r, "calls", data.Item+": calls", data)
}

// trialsPerItem is how many trials a page of an item shows beside each other.
const trialsPerItem = 12

// beside is how many trials on either side of one are read first to find those of its item.
const beside = 64

// rowsOf returns the trials of an item in plan order. near is the id of one of them,
// which finds the others without a search, or 0.
func (v *Viewer) rowsOf(r *request, item string, near int64) (list []store.Row, err error) {
	row, err := v.DB.Row(r.Context(), r.run, near)
	if err != nil || row.Trial.Item != item {
		return store.Collect(v.DB.RowsOf(r.Context(), r.run, item))
	}
	// Trials of an item stand together in the plan.
	other := func(o store.Row) bool { return o.Trial.Item != item }
	for n := beside; ; n *= 2 {
		from, to := max(0, row.Place-n), row.Place+n
		rows, err := store.Collect(v.DB.Rows(r.Context(), r.run, from, to))
		if err != nil {
			return nil, err
		}
		if begun, ended := from == 0 || len(rows) == 0 || other(rows[0]), len(rows) < to-from || other(rows[len(rows)-1]); begun && ended {
			return slices.DeleteFunc(rows, other), nil
		}
	}
}

// An itemTrial is a trial of an item as a column of its page.
type itemTrial struct {
	store.Row
	Name, Href string
	Score      string // of the whole trial
	Raw        string
	Missing    string // why nothing is shown
	rows       []eval.ExhibitRow
	scores     []eval.Score // of units
}

// An itemCell is what a trial says of a unit.
type itemCell struct {
	Answer, Quote, Score, Tone string
}

type itemUnit struct {
	Unit, Gold string
	Cells      []itemCell
}

// itemData is the page of an item.
type itemData struct {
	Item, Lead, Missing string
	Facts               []eval.Level
	Metrics             []choice
	Metric              string
	Trials              []itemTrial
	Units               []itemUnit
	Total               int
	ID, Near            string
	pager
}

// itemPage shows all trials of an item beside each other: all arms and replicates.
func (v *Viewer) itemPage(r *request) error {
	item := r.param("item")
	r.item = item
	near, _ := strconv.ParseInt(r.param("near"), 10, 64) // a hint alone
	rows, err := v.rowsOf(r, item, near)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return bad("run %s has no item %q", r.run.ID, item)
	}
	s, err := stateOf(r)
	if err != nil {
		return err
	}
	metrics := v.known(r, r.run)
	metric := r.param("metric")
	if metric == "" && len(metrics) > 0 {
		metric = metrics[0].Name
	}
	own := analyse.Metric{NoDirection: true}
	data := itemData{Item: shortItem(item), Metric: metric, Total: len(rows), ID: item, Near: r.param("near")}
	for _, m := range metrics {
		data.Metrics = append(data.Metrics, choice{Text: m.Title, Href: m.Name})
		if m.Name == metric {
			own = m
		}
	}
	data.pager = newPager(s.page, len(rows), trialsPerItem, func(page int) string {
		return r.link([]string{"r", r.run.ID, "i"}, "item", item, "near", r.param("near"), "metric", metric, "page", strconv.Itoa(page))
	})
	if s.page > data.Pages {
		return bad("page %d: the item has %d", s.page, data.Pages)
	}
	for _, row := range rows[(s.page-1)*trialsPerItem : min(len(rows), s.page*trialsPerItem)] {
		t, x, err := v.itemTrial(r, row, metric)
		if err != nil {
			return err
		}
		if t.Missing != "" {
			data.Missing = t.Missing
		}
		if data.Lead == "" {
			data.Lead, data.Facts = x.Lead, x.Facts
		}
		data.Trials = append(data.Trials, t)
	}
	data.Units = unitsOf(data.Trials, own)
	return v.render(r, "item", data.Item, data)
}

// itemTrial is a trial as a column, and its exhibit.
func (v *Viewer) itemTrial(r *request, row store.Row, metric string) (itemTrial, eval.Exhibit, error) {
	t := itemTrial{Row: row, Name: row.Trial.Arm, Href: r.trialLink(r.run, row.ID)}
	if r.run.Replicates > 1 {
		t.Name += " #" + strconv.Itoa(row.Trial.Replicate)
	}
	x, err := v.exhibit(r, r.run, row.Trial)
	if err != nil && row.Kind != "" {
		t.Missing = err.Error()
	}
	t.Raw, t.rows = x.Raw, x.Rows
	scores, err := v.DB.ScoresOf(r.Context(), r.run, row.ID)
	if err != nil {
		return t, x, err
	}
	num, den := 0.0, 0.0
	for _, sc := range scores {
		if sc.Metric != metric || sc.Unscored != "" || sc.Row != nil {
			continue
		}
		num, den = num+sc.Num, den+sc.Den
		if sc.Unit != "" {
			t.scores = append(t.scores, sc)
		}
	}
	if den > 0 {
		t.Score = number(num / den)
	}
	return t, x, nil
}

// unitsOf are the rows of the page, in the order of the first trial that has each.
func unitsOf(trials []itemTrial, metric analyse.Metric) []itemUnit {
	var units []itemUnit
	at := map[string]int{} // in units
	add := func(column int, unit, gold string) *itemCell {
		i, known := at[unit]
		if !known {
			i = len(units)
			at[unit] = i
			units = append(units, itemUnit{Unit: unit, Gold: gold, Cells: make([]itemCell, len(trials))})
		}
		return &units[i].Cells[column]
	}
	for column, t := range trials {
		for _, row := range t.rows {
			c := add(column, row.Unit, row.Gold)
			c.Answer, c.Quote = row.Answer, row.Quote
		}
		for _, sc := range t.scores {
			c := add(column, sc.Unit, "")
			c.Score = scoreText(sc)
			switch worst, best, higher := sc.Num == 0, sc.Num == sc.Den, metric.HigherIsBetter; {
			case metric.NoDirection:
			case best && higher, worst && !higher:
				c.Tone = "good"
			case worst && higher, best && !higher:
				c.Tone = "bad"
			}
		}
	}
	return units
}
