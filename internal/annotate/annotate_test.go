package annotate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/study"
)

// corpus is a source of items, and of answers of two arms.
type corpus struct{ items int }

func (c corpus) Items() (list []eval.Item) {
	for i := range c.items {
		list = append(list, eval.Item{ID: fmt.Sprintf("i%02d", i)})
	}
	return list
}

func (c corpus) Units(string) ([]string, error) { return []string{"u1", "u2"}, nil }

func (c corpus) Trials() (list []eval.Trial, err error) {
	for _, it := range c.Items() {
		for _, arm := range []string{"secret-arm", "other-arm"} {
			list = append(list, eval.Trial{Item: it.ID, Arm: arm, Replicate: 1})
		}
	}
	return list, nil
}

func (corpus) Now(t eval.Trial) (eval.Trial, error) { return t, nil }

func (c corpus) Show(t eval.Trial) (eval.Exhibit, error) {
	x := eval.Exhibit{Item: t.Item, Arm: t.Arm, Title: "title of " + t.Arm, Lead: "question " + t.Item,
		Facts: []eval.Level{{Name: "gold", Value: "GOLD"}}, Expected: "GOLD", Table: &eval.Table{Title: "GOLD"},
		Pages: []eval.ExhibitPage{{Number: 1, Text: "text of " + t.Item, Marks: []eval.Mark{{Start: 0, End: 4, Kind: "gold", Label: "GOLD"}}}}}
	if t.Arm != "" {
		x.Raw = "answer " + map[bool]string{true: "one", false: "two"}[t.Arm == "secret-arm"]
		x.Steps = []eval.ExhibitStep{{Name: "judge", Text: "JUDGED"}}
	}
	x.Pages = append(x.Pages, eval.ExhibitPage{Number: 2, Text: "GOLD", Gold: true})
	for _, u := range []string{"u1", "u2"} {
		x.Rows = append(x.Rows, eval.ExhibitRow{Unit: u, Gold: "GOLD", Answer: x.Raw, Quote: "quote", Note: "NOTE", Scores: []eval.Score{{Metric: "SCORE"}}})
	}
	return x, nil
}

func (c corpus) Leaves(_, unit string) ([]string, bool) { return nil, false }

func (c corpus) About(_, unit string) string { return "about " + unit }

func (c corpus) Fits(_, _, value string) error {
	if value == "unfit" {
		return errors.New("no date")
	}
	return nil
}

func (c corpus) Keeper() eval.GoldKeeper { return nil }

func (c corpus) Practice() ([]eval.Item, error) { return []eval.Item{{ID: "p1"}, {ID: "p2"}}, nil }

// The queue of the corpus has the answers of both arms, in groups by item.
func (c corpus) Queue(name string) (list []eval.Queued, err error) {
	trials, err := c.Trials()
	for i, t := range trials {
		list = append(list, eval.Queued{Trial: t, Stratum: []string{"odd", "even", "rare"}[i%3]})
	}
	return list, err
}

func (c corpus) ShowQueued(_ string, t eval.Trial) ([]eval.Passage, error) {
	return []eval.Passage{{Name: "Answer", Text: "answer to " + t.Item}}, nil
}

func (c corpus) Same(_ string, a, b eval.UnitGold) (bool, error) {
	return a.Missing == b.Missing && strings.Join(a.Values, "|") == strings.Join(b.Values, "|"), nil
}

func (c corpus) Gold(item string, of []eval.UnitGold) ([]byte, error) {
	if slices.Contains(of[0].Values, "nowhere") {
		return nil, fmt.Errorf("document %q: %q is nowhere in the text", item, of[0].Values)
	}
	return []byte("{}"), nil
}

// Whatever a task shows of whatever subject, nothing of arm, gold, scores or judge is
// sent.
func TestNothingElseIsShown(t *testing.T) {
	for _, task := range []study.Task{
		{Name: "t", Kind: "label", Labels: []string{"a", "b"}},
		{Name: "t", Kind: "gold"},
		{Name: "t", Kind: "claim", Arms: []string{"secret-arm"}},
		{Name: "t", Kind: "codes", Labels: []string{"a", "b"}},
		{Name: "t", Kind: "pair", Arms: []string{"secret-arm", "other-arm"}},
		{Name: "t", Kind: "spans", Labels: []string{"a", "b"}},
		{Name: "t", Of: "trial", Show: []string{"lead", "pages", "answer", "quote", "raw"}, Ask: []study.Question{{Name: "q", Type: "text"}}},
	} {
		groups, err := candidates(task.Full(), corpus{3})
		if err != nil || len(groups) == 0 {
			t.Fatal(task.Kind, groups, err)
		}
		for _, s := range groups[0] {
			for _, swapped := range []bool{false, true} {
				shown, err := show(task.Full(), corpus{3}, s, swapped)
				if err != nil {
					t.Fatal(err)
				}
				data, _ := json.Marshal(shown)
				for _, word := range []string{"arm", "GOLD", "JUDGED", "SCORE", "NOTE", "title of"} {
					if strings.Contains(string(data), word) {
						t.Errorf("%s shows %q: %s", task.Kind, word, data)
					}
				}
			}
		}
	}
}

// without shows exhibits that have an answer in no form, and no pages.
type without struct{ corpus }

func (without) Show(eval.Trial) (eval.Exhibit, error) { return eval.Exhibit{Lead: "the request"}, nil }

// An answer of which there is nothing to show is said to be empty, as one of a pair is, and an item
// of which the task shows nothing is not shown.
func TestNothingToShow(t *testing.T) {
	task := study.Task{Name: "t", Of: "trial", Show: []string{"lead", "answer"}, Ask: label.Ask}.Full()
	shown, err := show(task, without{}, Subject{Item: "i", Arm: "a", Replicate: 1}, false)
	if err != nil || len(shown.rows) != 1 || shown.rows[0].Columns()[0].Lines[0].Text != "(empty)" || len(shown.Parts) != 0 {
		t.Errorf("%+v, %v", shown, err)
	}
	task = study.Task{Name: "t", Of: "item", Show: []string{"pages", "gold"}, Ask: label.Ask}.Full()
	task.Show = []string{"pages"}
	if shown, err := show(task, without{}, Subject{Item: "i"}, false); err == nil || !strings.Contains(err.Error(), "there is nothing to see: the task shows only pages") {
		t.Errorf("%+v, %v", shown, err)
	}
}

// renamed is a corpus whose answers have names of their own for units.
type renamed struct{ corpus }

func (r renamed) Show(t eval.Trial) (eval.Exhibit, error) {
	x, err := r.corpus.Show(t)
	x.Rows[1].Own = "item 1"
	return x, err
}

// People are shown the name that a unit has in the answer.
func TestNamesOfUnits(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	for _, task := range []study.Task{
		{Name: "t", Kind: "claim", Arms: []string{"secret-arm"}, Draw: 1},
		{Name: "t", Of: "trial", Show: []string{"answer"}, Arms: []string{"secret-arm"}, Draw: 1, Ask: label.Ask},
	} {
		p := at(t, &clock)
		d := openOf(t, p, task, renamed{corpus{2}}, "anna")
		said := ""
		for _, s := range d.queue.Subjects {
			shown, _, err := d.see(slot{s, passFirst})
			if err != nil {
				t.Fatal(err)
			}
			shown.About = ""
			said += string(encoded(shown)) + d.name(s)
		}
		if strings.Contains(said, "u2") || !strings.Contains(said, "item 1") {
			t.Errorf("people are shown %s", said)
		}
	}
}

func at(t *testing.T, clock *time.Time) Place {
	dir := t.TempDir()
	return Place{Study: "s", Dir: filepath.Join(dir, "annotations"), Ledger: filepath.Join(dir, ledger.Name), Seed: 7, Now: func() time.Time { return *clock }}
}

var label = study.Task{Name: "t", Ask: []study.Question{{Name: "q", Type: "choice", Options: []string{"yes", "no"}}}, Of: "item", Show: []string{"lead"},
	Again: study.Again{Count: 2, After: 4}}

// say answers the next subject with an option of the first question.
func (d *desk) say(t *testing.T, option string) error {
	t.Helper()
	k, place, ok, wait := d.next()
	if !ok {
		t.Fatalf("nothing to answer until %v", wait)
	}
	_, ev, err := d.see(k)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(option)
	ev.Place, ev.Answer = place, Answer{d.task.Ask[0].Name: data}
	_, err = d.append(eventSubmit, ev)
	return err
}

func open(t *testing.T, p Place, task study.Task, person string) *desk {
	t.Helper()
	return openOf(t, p, task, corpus{6}, person)
}

func openOf(t *testing.T, p Place, task study.Task, source Source, person string) *desk {
	t.Helper()
	q, err := p.queue(task.Full(), source)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.open(task.Full(), q, source, person, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.log.Close() })
	return d
}

// The second round opens after the gap, has the drawn number of subjects of the first
// answers, and own answers to these cannot be seen before it is over.
func TestSecondRound(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	d := open(t, at(t, &clock), label, "anna")
	for range 6 {
		clock = clock.Add(time.Minute)
		if err := d.say(t, "yes"); err != nil {
			t.Fatal(err)
		}
	}
	_, _, ok, wait := d.next()
	if ok || wait.Before(clock.Add(20*time.Hour)) {
		t.Fatalf("%v until %v", ok, wait)
	}
	again := d.order(passAgain)
	first := d.firsts(4)
	if len(again) != 2 {
		t.Fatalf("%d subjects, want 2", len(again))
	}
	for _, s := range again {
		if d.mayReview(slot{s, passFirst}) {
			t.Error("the first answer can be seen")
		}
		found := false
		for _, f := range first {
			found = found || f == s
		}
		if !found {
			t.Errorf("%v is not one of the first four", s)
		}
	}
	clock = clock.Add(25 * time.Hour)
	for range 2 {
		if err := d.say(t, "no"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok, wait := d.next(); ok || !wait.IsZero() {
		t.Error("the task has no end")
	}
}

// A clock that was set back is reported once, and the answer is stored with the time that the clock
// says now: a clock that was ahead before would lock the person out for as long.
func TestClockSetBack(t *testing.T) {
	clock := time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC)
	p, reported := at(t, &clock), []string{}
	p.Report = func(err error) { reported = append(reported, err.Error()) }
	d := open(t, p, label, "anna")
	if err := d.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	ahead := d.work.order[0]
	clock = clock.AddDate(-1, 0, 0)
	for range 2 {
		if err := d.say(t, "yes"); err != nil {
			t.Error(err)
		}
	}
	if !ahead.by.Equal(clock) { // when a second round may begin
		t.Errorf("answered by %s, want %s", ahead.by, clock)
	}
	if n := len(d.work.order); n != 3 || !d.work.last.Equal(clock) || d.undoes(ahead) {
		t.Errorf("%d answers, the last one at %s", n, d.work.last)
	}
	if len(reported) != 1 || !strings.Contains(reported[0], "2026-01-01 09:00:00, before the last answer of anna, at 2027-01-01 09:00:00") {
		t.Errorf("reported %q", reported)
	}
}

// Each person has an order of their own, which is the same at every start; whoever
// answers first answers all subjects, the others the drawn share. Looking is no answer.
func TestOrders(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	share := 0.5
	task := label
	task.Double = &share
	ben, anna := open(t, p, task, "ben"), open(t, p, task, "anna")
	if n := len(ben.order(passFirst)); n != 6 {
		t.Errorf("ben gets %d subjects before anybody answered, want 6", n)
	}
	if err := anna.say(t, "yes"); err != nil {
		t.Fatal(err)
	}
	if err := ben.rank(); err != nil {
		t.Fatal(err)
	}
	a, b := fmt.Sprint(anna.order(passFirst)), fmt.Sprint(ben.order(passFirst))
	if len(anna.order(passFirst)) != 6 || len(ben.order(passFirst)) != 3 {
		t.Errorf("%s and %s", a, b)
	}
	anna.log.Close()
	if again := fmt.Sprint(open(t, p, task, "anna").order(passFirst)); again != a {
		t.Errorf("%s, then %s", a, again)
	}
}

// A queue that was edited is refused, and so is a ledger that is gone.
func TestQueueIsRecorded(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	open(t, p, label, "anna")
	path := p.queuePath("t")
	data, _ := os.ReadFile(path)
	os.WriteFile(path, []byte(strings.Replace(string(data), "i01", "i77", 1)), 0o600)
	if _, err := p.readQueue(label.Full()); err == nil || !strings.Contains(err.Error(), "not the file that the ledger recorded") {
		t.Error(err)
	}
	os.WriteFile(path, data, 0o600)
	os.Remove(p.Ledger)
	os.Remove(p.Ledger + ".head")
	if _, err := p.readQueue(label.Full()); err == nil || !strings.Contains(err.Error(), "restore the ledger") {
		t.Error(err)
	}
}

// Two studies in one folder cannot use one name for their tasks: the second neither draws
// over the first, nor takes its subjects.
func TestQueueOfAnotherStudy(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	first := at(t, &clock)
	if _, err := first.queue(label.Full(), corpus{6}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(first.queuePath("t"))
	if err != nil {
		t.Fatal(err)
	}
	for seed, items := range map[int64]int{first.Seed: 6, 8: 5} { // the same subjects, and others
		second := first
		second.Study, second.Seed = "other", seed
		if _, err := second.queue(label.Full(), corpus{items}); err == nil || !strings.Contains(err.Error(), "has the subjects of study s: give the task of study other another name") {
			t.Error(err)
		}
		second.Ledger = filepath.Join(t.TempDir(), ledger.Name) // which knows nothing of the first
		if _, err := second.queue(label.Full(), corpus{items}); items == 5 && (err == nil || !strings.Contains(err.Error(), "has other subjects than would be drawn")) {
			t.Error(err)
		}
	}
	if now, err := os.ReadFile(first.queuePath("t")); err != nil || string(now) != string(data) {
		t.Errorf("the queue of the first study was replaced: %v", err)
	}
	if err := first.CheckQueues([]study.Task{label}); err != nil {
		t.Error(err)
	}
	if err := os.Rename(first.Dir, first.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := first.CheckQueues([]study.Task{label}); err == nil || !strings.Contains(err.Error(), "queue.json does not exist: put the folder back") {
		t.Errorf("a folder of annotations that is away: %v", err)
	}
}

// elsewhere has the items of another split.
type elsewhere struct{ corpus }

func (elsewhere) Items() []eval.Item { return []eval.Item{{ID: "x00"}, {ID: "x01"}} }

// A task that was drawn on one split is not answered for the other.
func TestQueueOfAnotherSplit(t *testing.T) {
	clock := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	p := at(t, &clock)
	for _, source := range []Source{corpus{6}, corpus{5}} { // an item may leave the study
		if _, err := p.queue(label.Full(), source); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.queue(label.Full(), elsewhere{}); err == nil || !strings.Contains(err.Error(), "task t was drawn from other items, such as i00: give the --split") {
		t.Error(err)
	}
}

// Any selection of the visible text is the same passage of the text.
func TestAnySelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(?s)[\x00-\x1f\x{7f}-\x{9f}\x{202a}-\x{202e}a-z\x{1F600}-\x{1F610}\x{300}-\x{310}\x{5d0}-\x{5d9} ]{1,40}`).Draw(t, "text")
		runes := []rune(say.Exactly(text))
		if utf8.RuneCountInString(text) != len(runes) {
			t.Fatalf("%d characters are shown for %d", len(runes), utf8.RuneCountInString(text))
		}
		i := rapid.IntRange(0, len(runes)-1).Draw(t, "i")
		j := rapid.IntRange(i+1, len(runes)).Draw(t, "j")
		q := study.Question{Name: "q", Type: "span"}
		shown := Shown{Pages: []Page{{1, text}}, Ask: []study.Question{q}}
		data, _ := json.Marshal([]Span{{Page: 1, Start: i, End: j, Text: string(runes[i:j])}})
		a := Answer{"q": data}
		if err := a.check(shown, false); err != nil {
			t.Fatal(err)
		}
		if got, want := a.exact(shown).Spans("q")[0].Text, string([]rune(text)[i:j]); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		wrong, _ := json.Marshal([]Span{{Page: 1, Start: i, End: j, Text: string(runes[i:j]) + "x"}})
		if (Answer{"q": wrong}).check(shown, false) == nil {
			t.Fatal("a passage with another text was accepted")
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"q":"yes","s":[{"page":1,"start":0,"end":1,"text":"a"}],"n":1,"m":["x"]}`))
	shown := Shown{Pages: []Page{{1, "abc"}}, Ask: []study.Question{{Name: "q", Type: "choice", Options: []string{"yes", "no"}}, {Name: "s", Type: "span", Optional: true},
		{Name: "n", Type: "number", Optional: true}, {Name: "m", Type: "several", Options: []string{"x", "y"}, Optional: true}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Answer
		if json.Unmarshal(data, &a) != nil || a.check(shown, false) != nil {
			return
		}
		a.exact(shown)
		if a.Text("q") != "yes" && a.Text("q") != "no" {
			t.Fatalf("%s was accepted", data)
		}
	})
}

func TestAPassageIsGivenOnce(t *testing.T) {
	shown := Shown{Pages: []Page{{1, "some words"}}, Ask: []study.Question{{Name: "parts", Type: "span", Options: []string{"a", "b"}}}}
	one, two := `{"page":1,"start":0,"end":4,"text":"some","label":"a"}`, `{"page":1,"start":0,"end":4,"text":"some","label":"b"}`
	for spans, want := range map[string]string{one + "," + two: "", one + "," + one: "is given twice", `{"page":1,"start":0,"end":4,"text":"some"}`: "is not a label"} {
		answer := Answer{"parts": jsontext.Value("[" + spans + "]")}
		if err := answer.check(shown, true); err != nil {
			t.Errorf("a draft of %s: %v", spans, err)
		}
		if err := answer.check(shown, false); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", spans, err, want)
		}
	}
}
