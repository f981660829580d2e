package view

import (
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/store"
)

// trialsPerItem is how many trials a page of an item shows beside each other.
const trialsPerItem = 12

// beside is how many trials are read at a time to find those of an item.
const beside = 64

// rowsOf returns the trials of an item in plan order. near is the id of one of them,
// which finds the others without a search, or 0.
func (v *Viewer) rowsOf(r *request, item string, near int64) (list []store.Row, err error) {
	row, err := v.DB.Row(r.Context(), r.run, near)
	if err != nil || row.Trial.Item != item {
		return collect(v.DB.RowsOf(r.Context(), r.run, item))
	}
	// Trials of an item stand together in the plan.
	for from := row.Place; from > 0; from -= beside {
		rows, err := collect(v.DB.Rows(r.Context(), r.run, max(0, from-beside), from))
		if err != nil {
			return nil, err
		}
		first := len(rows)
		for first > 0 && rows[first-1].Trial.Item == item {
			first--
		}
		list = append(slices.Clone(rows[first:]), list...)
		if first > 0 {
			break
		}
	}
	list = append(list, row)
	for from := row.Place + 1; ; from += beside {
		rows, err := collect(v.DB.Rows(r.Context(), r.run, from, from+beside))
		if err != nil {
			return nil, err
		}
		for _, o := range rows {
			if o.Trial.Item != item {
				return list, nil
			}
			list = append(list, o)
		}
		if len(rows) < beside {
			return list, nil
		}
	}
}

func collect[T any](rows func(func(T, error) bool)) (list []T, err error) {
	for r, err := range rows {
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
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
	metrics := v.metrics(r.Context(), r.run)
	metric := r.param("metric")
	if metric == "" && len(metrics) > 0 {
		metric = metrics[0].Name
	}
	higher := true
	data := itemData{Item: shortItem(item), Metric: metric, Total: len(rows), ID: item, Near: r.param("near")}
	for _, m := range metrics {
		data.Metrics = append(data.Metrics, choice{Text: m.Title, Href: m.Name})
		if m.Name == metric {
			higher = m.HigherIsBetter
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
	data.Units = unitsOf(data.Trials, higher)
	return v.render(r, "item", data.Item, data)
}

// itemTrial is a trial as a column, and its exhibit.
func (v *Viewer) itemTrial(r *request, row store.Row, metric string) (itemTrial, eval.Exhibit, error) {
	t := itemTrial{Row: row, Name: row.Trial.Arm, Href: r.trialLink(r.run, row.ID)}
	if r.run.Replicates > 1 {
		t.Name += " #" + strconv.Itoa(row.Trial.Replicate)
	}
	x, err := v.exhibit(r, row.Trial)
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
func unitsOf(trials []itemTrial, higher bool) []itemUnit {
	var units []itemUnit
	add := func(column int, unit, gold string) *itemCell {
		i := slices.IndexFunc(units, func(u itemUnit) bool { return u.Unit == unit })
		if i < 0 {
			i = len(units)
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
			switch worst, best := sc.Num == 0, sc.Num == sc.Den; {
			case best && higher, worst && !higher:
				c.Tone = "good"
			case worst && higher, best && !higher:
				c.Tone = "bad"
			}
		}
	}
	return units
}
