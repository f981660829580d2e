package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// A Subject is what is judged: an item, a trial, a unit of either, or the answers of
// two arms.
type Subject struct {
	Item      string `json:"item"`
	Arm       string `json:"arm,omitempty"`
	Other     string `json:"other,omitempty"` // the second arm of a pair
	Replicate int    `json:"replicate,omitempty"`
	Unit      string `json:"unit,omitempty"`
}

func subjectOf(t eval.Trial) Subject {
	return Subject{Item: t.Item, Arm: t.Arm, Replicate: t.Replicate}
}

func (s Subject) trial() eval.Trial {
	return eval.Trial{Item: s.Item, Arm: s.Arm, Replicate: s.Replicate}
}

// second is the second answer of a pair.
func (s Subject) second() Subject {
	s.Arm = s.Other
	return s
}

func (s Subject) String() string {
	parts := slices.DeleteFunc([]string{s.Item, s.Arm, s.Other, s.Unit}, func(p string) bool { return p == "" })
	if s.Replicate > 1 {
		parts = append(parts, fmt.Sprintf("#%d", s.Replicate))
	}
	return strings.Join(parts, " · ")
}

// Blind names a subject without its arms.
func (s Subject) Blind() string { return Subject{Item: s.Item, Unit: s.Unit}.String() }

// armOf returns the arm that was shown as A or B; other labels stay as they are.
func (s Subject) armOf(side string, swapped bool) string {
	switch {
	case side == "A" && !swapped, side == "B" && swapped:
		return s.Arm
	case side == "A", side == "B":
		return s.Other
	}
	return side
}

// sideOf returns the side on which an arm of a pair is shown; other labels stay as they are.
func (s Subject) sideOf(label string, swapped bool) string {
	switch {
	case s.Other == "" || label != s.Arm && label != s.Other:
		return label
	case (label == s.Other) != swapped:
		return "B"
	}
	return "A"
}

// A Source has what people judge, and makes gold of their answers.
type Source interface {
	Drawer
	Shower
	GoldMaker
}

// A Drawer lists what subjects can be drawn from.
type Drawer interface {
	Items() []eval.Item
	// Practice are the items for practice.
	Practice() ([]eval.Item, error)
	// Units are the units of an item that people can judge before there are answers.
	Units(item string) ([]string, error)
	// Trials are the trials with an answer, those of calibration arms left out.
	Trials() ([]eval.Trial, error)
	// Queue lists the answers of a queue of the suite.
	Queue(name string) ([]eval.Queued, error)
}

// A Shower shows answers.
type Shower interface {
	// Now is the trial of a subject as the run has it, whose arm may have another id since.
	Now(t eval.Trial) (eval.Trial, error)
	// Show shows an answer, or an item alone if the trial has no arm.
	Show(t eval.Trial) (eval.Exhibit, error)
	// ShowQueued shows an answer of a queue of the suite.
	ShowQueued(name string, t eval.Trial) ([]eval.Passage, error)
	// Leaves are the values of each record of a unit that is a list, see [eval.Annotated].
	Leaves(item, unit string) (leaves []string, ok bool)
	// About says what a unit of an item is, or "".
	About(item, unit string) string
}

// A GoldMaker knows gold in the format of the suite.
type GoldMaker interface {
	// Gold makes a record of what people say of the units of an item.
	Gold(item string, of []eval.UnitGold) ([]byte, error)
	// Same reports whether two people say the same value of a unit.
	Same(item string, a, b eval.UnitGold) (bool, error)
	// Fits returns why a person's value is none of the unit's type.
	Fits(item, unit, value string) error
	// Keeper returns nil if the suite has no gold of whole items.
	Keeper() eval.GoldKeeper
}

// Shown is everything that a person is shown of a subject.
type Shown struct {
	Task  string           `json:"task"`
	Unit  string           `json:"unit,omitempty"`
	About string           `json:"about,omitempty"` // what the unit is
	Lead  string           `json:"lead,omitempty"`
	Pages []Page           `json:"pages,omitempty"`
	Parts []Part           `json:"parts,omitempty"`
	Ask   []study.Question `json:"ask"`

	rows []row // of a page
}

// add adds parts, each in a row of its own.
func (s *Shown) add(parts ...Part) {
	s.Parts = append(s.Parts, parts...)
	for _, p := range parts {
		s.rows = append(s.rows, row{Name: p.Name, Texts: []string{p.Text}})
	}
}

// A Page is text in which passages can be marked.
type Page struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// A Part is a named text, such as an answer.
type Part = eval.Passage

// Hash is the SHA-256 of what was shown.
func (s Shown) Hash() string { return hashOfJSON(s) }

// joined is the text of all pages.
func (s Shown) joined() string {
	var texts []string
	for _, p := range s.Pages {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// text is all that is shown, for tools that show one text. Pages come first, so that
// offsets count in them.
func (s Shown) text() string {
	var texts []string
	if len(s.Pages) > 0 {
		texts = append(texts, s.joined())
	}
	if s.Lead != "" {
		texts = append(texts, s.Lead)
	}
	for _, p := range s.Parts {
		texts = append(texts, p.Name+":\n"+p.Text)
	}
	return strings.Join(texts, "\n\n")
}

// show builds what a task shows of a subject, and nothing else. swapped shows the
// second arm of a pair as A.
func show(t study.Task, source Shower, s Subject, swapped bool) (shown Shown, err error) {
	shown = Shown{Task: t.Name, Unit: s.Unit, Ask: withoutKeys(t.Ask)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("showing %v: %w", s, err)
		}
	}()
	if len(t.Criteria) > 0 { // the question is that of the judge
		shown.add(Part{Name: "Criteria", Text: "- " + strings.Join(t.Criteria, "\n- ")})
	}
	if t.Queue != "" {
		parts, err := source.ShowQueued(t.Queue, s.trial())
		shown.add(parts...)
		return shown, err
	}
	x, err := source.Show(s.trial())
	if err == nil && t.Of == "unit" && s.Arm != "" {
		units := claimed(t, x)
		if i := slices.IndexFunc(units, func(u eval.JudgedUnit) bool { return u.ID == s.Unit }); i >= 0 {
			shown.Unit = units[i].Name
		} else {
			err = fmt.Errorf("the answer says nothing of it: %w", eval.ErrGone)
		}
	}
	if err != nil {
		return shown, err
	}
	if t.Of == "unit" {
		shown.About = source.About(s.Item, s.Unit)
		if leaves, list := source.Leaves(s.Item, s.Unit); list && makesGold(t) {
			shown.Ask = ofList(shown.Ask, leaves)
		}
	}
	shows := func(part string) bool { return slices.Contains(t.Show, part) }
	if shows("lead") {
		shown.Lead = x.Lead
	}
	if shows("pages") {
		for _, p := range x.Pages {
			if !p.Gold {
				shown.Pages = append(shown.Pages, Page{p.Number, p.Text})
			}
		}
	}
	if shows("gold") {
		shown.add(Part{Name: "Gold", Text: goldText(x, s)})
	}
	if s.Other == "" {
		parts := answerParts(x, s, shows)
		shown.add(parts...)
		if len(parts) == 0 && s.Arm != "" && (shows("answer") || shows("quote") || shows("raw")) {
			shown.rows = append(shown.rows, row{Name: "Answer", Texts: []string{""}}) // says that it is empty
		}
		if len(t.Show) > 0 && s.Unit == "" && shown.Lead == "" && len(shown.Pages)+len(shown.rows) == 0 {
			return shown, fmt.Errorf("there is nothing to see: the task shows only %s", strings.Join(t.Show, ", "))
		}
		return shown, nil
	}
	y, err := source.Show(s.second().trial())
	if err != nil {
		return shown, err
	}
	if swapped {
		x, y = y, x
	}
	var rows []row // one for each part that one of them has
	for i, side := range []eval.Exhibit{x, y} {
		var text []string
		for _, p := range answerParts(side, s, shows) {
			text = append(text, p.Text)
			at := slices.IndexFunc(rows, func(r row) bool { return r.Name == p.Name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, row{p.Name, p.Name == rawPart && at > 0, make([]string, 2)})
			}
			rows[at].Texts[i] = p.Text
		}
		shown.Parts = append(shown.Parts, Part{Name: "Answer " + letter(i), Text: strings.Join(text, "\n\n")})
	}
	if rows == nil {
		rows = []row{{Name: "Answer", Texts: make([]string, 2)}}
	}
	shown.rows = append(shown.rows, rows...)
	return shown, nil
}

// claimed lists the units of an answer that people can judge.
func claimed(t study.Task, x eval.Exhibit) []eval.JudgedUnit {
	quoted := x.Quotes() && slices.Contains(t.Show, "quote")
	return slices.DeleteFunc(x.Judged(), func(u eval.JudgedUnit) bool { return u.Quote == "" && quoted })
}

// goldText is the gold of a subject, a line for each unit.
func goldText(x eval.Exhibit, s Subject) string {
	var lines []string
	for _, r := range x.Rows {
		if s.Unit == "" || r.Unit == s.Unit {
			lines = append(lines, strings.TrimSpace(r.Unit+": "+r.Gold+" "+r.GoldEvidence))
		}
	}
	return strings.Join(lines, "\n")
}

// answerParts are the parts of an answer that a task shows.
func answerParts(x eval.Exhibit, s Subject, shows func(string) bool) (parts []Part) {
	if s.Arm == "" {
		return nil
	}
	var answers, quotes []string
	units := x.Judged()
	for _, r := range units {
		if s.Unit != "" && r.ID != s.Unit {
			continue
		}
		name := ""
		if s.Unit == "" && len(units) > 1 {
			name = r.Name + ": "
		}
		answers = append(answers, name+r.Answer)
		if r.Quote != "" {
			quotes = append(quotes, name+r.Quote)
		}
	}
	add := func(part, name, text string) {
		if shows(part) && text != "" {
			parts = append(parts, Part{Name: name, Text: text})
		}
	}
	add("answer", "Answer", strings.Join(answers, "\n"))
	add("quote", "Quoted text", strings.Join(quotes, "\n"))
	add("raw", rawPart, x.Raw)
	return parts
}

// rawPart is the name of an answer that nobody read.
const rawPart = "Answer as written"

// ofList are the questions about gold of a list: its values are in the passages that show them.
func ofList(ask []study.Question, leaves []string) (list []study.Question) {
	for _, q := range ask {
		switch q.Name {
		case goldValue, goldCandidates:
			continue
		case goldExists:
			q.Options = slices.DeleteFunc(slices.Clone(q.Options), func(o string) bool { return o == study.UnitAmbiguous })
		case goldQuote:
			q.Text, q.Max, q.Options, q.Values = "All values, each with its passage", nil, leaves, true
		}
		list = append(list, q)
	}
	return list
}

// withoutKeys returns questions without the keys of the keyboard.
func withoutKeys(ask []study.Question) []study.Question {
	ask = slices.Clone(ask)
	for i := range ask {
		ask[i].Key = ""
	}
	return ask
}

func hashOfJSON(x any) string { return dataset.SHA256(encoded(x)) }

// encoded is JSON of strings, numbers and what was JSON, which always encodes.
func encoded(x any) []byte {
	data, err := json.Marshal(x)
	if err != nil {
		panic("annotate: encoding JSON: " + err.Error())
	}
	return data
}

// titled ends a title with a colon, unless it ends with a mark of its own.
func titled(title string) string {
	if title != "" && strings.Contains("?.!", title[len(title)-1:]) {
		return title
	}
	return title + ":"
}

// A row is a part of what is judged: one text, or those of A and B side by side.
type row struct {
	Name  string
	Raw   bool // answers as written, below those that were read
	Texts []string
}

// A column is a text of a row.
type column struct {
	Name  string
	Lines []line
}

// A line of a text. Differs says that the text beside has no such line.
type line struct {
	Text    string
	Differs bool
}

// Columns divides the texts, and compares two by their lines. Of a single line, such as a label or
// prose, it is plain that it differs.
func (r row) Columns() (list []column) {
	for i, text := range r.Texts {
		list = append(list, column{r.Name + " " + letter(i), lines(text)})
	}
	for i := range list {
		of, other := list[i].Lines, list[len(list)-1-i].Lines
		for j := range of {
			same := func(l line) bool { return strings.TrimSpace(l.Text) == strings.TrimSpace(of[j].Text) }
			of[j].Differs = len(list) == 2 && len(of)+len(other) > 2 && !slices.ContainsFunc(other, same)
		}
	}
	return list
}

// lines divides a text; JSON is indented first.
func lines(text string) (list []line) {
	var b bytes.Buffer
	if s := strings.TrimSpace(text); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if json.Indent(&b, []byte(s), "", "  ") == nil {
			text = b.String()
		}
	}
	for l := range strings.SplitSeq(cmp.Or(text, "(empty)"), "\n") {
		list = append(list, line{Text: l})
	}
	return list
}
