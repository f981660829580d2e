package kit

import (
	"context"
	"fmt"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Base is what benches share: data with an item each, arms, and what is said of them. A
// bench embeds it and fills it while it is opened; then it is safe for concurrent use. D is
// what an item is made from, a pointer, and A the suite's type of arm.
type Base[D any, A Armed] struct {
	Data    []D // in the order of the ids of their items
	OwnArms []A // in the order of the report

	Cases KnownCases // of the judge, of a bench that is a [CaseJudge]

	items    []eval.Item
	index    *eval.ItemIndex // of Data and items
	byID     map[string]A
	warnings []string
	notes    []string
}

// Fill sets the data. They are sorted by the ids of their items: the order of a file has no
// effect, not even on ties of a baseline and on wrong answers that measure a judge.
func (b *Base[D, A]) Fill(data []D, itemOf func(D) eval.Item) {
	items := make([]eval.Item, len(data))
	for i, d := range data {
		items[i] = itemOf(d)
	}
	sortedData, sortedItems := make([]D, len(data)), make([]eval.Item, len(data))
	for to, from := range eval.IndexItems(items).Sorted() {
		sortedData[to], sortedItems[to] = data[from], items[from]
	}
	b.FillInOrder(sortedData, sortedItems)
}

// FillInOrder sets the data with their items.
func (b *Base[D, A]) FillInOrder(data []D, items []eval.Item) {
	b.Data, b.items, b.index = data, items, eval.IndexItems(items)
}

// Add adds the arm of an entry. noun is what the suite calls its arms.
func (b *Base[D, A]) Add(noun, name string, a A) {
	a.shared().Place(noun, name)
	b.Use(a)
}

// Use adds an arm that has its id and levels.
func (b *Base[D, A]) Use(a A) {
	b.OwnArms = append(b.OwnArms, a)
	if b.byID == nil {
		b.byID = map[string]A{}
	}
	b.byID[a.shared().ID] = a
}

// JudgedBy gives every arm without a judge this one.
func (b *Base[D, A]) JudgedBy(id string) {
	for _, a := range b.OwnArms {
		if arm := a.shared(); len(arm.Judges) == 0 {
			arm.Judges = []string{id}
		}
	}
}

// Has reports whether an arm has a role.
func (b *Base[D, A]) Has(role eval.Role) bool {
	return slices.ContainsFunc(b.OwnArms, func(a A) bool { return a.shared().Role == role })
}

// Datum returns what the item with an id is made from; nil if there is none.
func (b *Base[D, A]) Datum(id string) (d D) {
	if i, ok := b.index.Find(id); ok {
		d = b.Data[i]
	}
	return d
}

// Place is the place in the data of an item of the bench.
func (b *Base[D, A]) Place(id string) int {
	i, _ := b.index.Find(id)
	return i
}

// Item returns an item of the bench.
func (b *Base[D, A]) Item(id string) eval.Item { return b.items[b.Place(id)] }

// Arm returns the arm with an id; nil if there is none.
func (b *Base[D, A]) Arm(id string) A { return b.byID[id] }

// Of returns what a trial is about. The error is for a trial of another study.
func (b *Base[D, A]) Of(t eval.Trial) (d D, a A, err error) {
	_, known := b.index.Find(t.Item)
	if a, ok := b.byID[t.Arm]; ok && known {
		return b.Datum(t.Item), a, nil
	}
	return d, a, fmt.Errorf("%v is not in this study", t)
}

// Known are the known cases of the judge.
func (b *Base[D, A]) Known() *KnownCases { return &b.Cases }

// Warn adds a warning about data that look wrong but are legal.
func (b *Base[D, A]) Warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// Note adds what is said once about the data.
func (b *Base[D, A]) Note(notes ...string) { b.notes = append(b.notes, notes...) }

// Items, Arms, Pipelines and Close are those of a [Bench] whose data are in memory.
func (b *Base[D, A]) Items() []eval.Item { return b.items }

// Arms lists the arms.
func (b *Base[D, A]) Arms() []eval.Arm {
	list := make([]eval.Arm, len(b.OwnArms))
	for i, a := range b.OwnArms {
		list[i] = a.shared().Arm
	}
	return list
}

// Pipelines are the external pipelines that arms call.
func (b *Base[D, A]) Pipelines() (list []eval.Pipeline) {
	for _, a := range b.OwnArms {
		if p := a.shared().Pipeline; p != nil {
			list = append(list, *p)
		}
	}
	return list
}

// ScoreFiles are the files of scores that arms bring.
func (b *Base[D, A]) ScoreFiles() map[string]string {
	files := map[string]string{}
	for _, a := range b.OwnArms {
		if arm := a.shared(); arm.Scores != "" {
			files[arm.ID] = arm.Scores
		}
	}
	return files
}

// Close does nothing: the data are in memory.
func (b *Base[D, A]) Close() error { return nil }

// Judge asks nobody; a suite that has a judge asks it.
func (b *Base[D, A]) Judge(context.Context, eval.Trial, eval.Outcome, eval.Asker) ([]eval.Verdict, error) {
	return nil, nil
}

// Capabilities are warnings and notes; a suite adds its own.
func (b *Base[D, A]) Capabilities() eval.Capabilities {
	return eval.Capabilities{Warnings: func() []string { return b.warnings }, Notes: func() []string { return b.notes }}
}

// Shown begins the exhibit of the first trial of a case. did is what the arm did with the
// item, such as "answered by".
func (b *Base[D, A]) Shown(c eval.Case, did string) (d D, t *eval.Judged, x eval.Exhibit, err error) {
	if _, ok := b.index.Find(c.Item); !ok || len(c.Trials) == 0 {
		return d, nil, x, fmt.Errorf("%s × %s cannot be shown: the study does not have the item, or there is no trial", c.Item, c.Arm)
	}
	t = &c.Trials[0]
	x = eval.Exhibit{Item: c.Item, Arm: c.Arm, Title: fmt.Sprintf("%s, %s %s", c.Item, did, c.Arm), Raw: string(t.Outcome.Data)}
	x.Facts = slices.Clone(b.Item(c.Item).Strata)
	return b.Datum(c.Item), t, x, nil
}
