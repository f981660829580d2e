package annotate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A format writes and reads the records of a task.
type format struct {
	name  string
	write func(t study.Task, list []record) ([]byte, error)
	read  func(f File, t study.Task) ([]record, error)
}

// formats are those of exports and imports.
var formats = [...]format{
	{"jsonl", func(_ study.Task, list []record) ([]byte, error) {
		var b bytes.Buffer
		err := dataset.EncodeLines(list)(&b)
		return b.Bytes(), err
	}, File.fromLines},
	{"csv", func(t study.Task, list []record) ([]byte, error) { return table.CSV(tableOf(t, list)) }, File.fromTable},
	{"xlsx", func(t study.Task, list []record) ([]byte, error) {
		return table.Write(table.Sheet{Name: "Answers", Rows: tableOf(t, list)})
	}, File.fromTable},
	{"label-studio", exportLabelStudio, File.fromLabelStudio},
}

// Formats lists the names of the formats of exports and imports.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// formatOf finds the format that a flag names, and what its offsets count.
func formatOf(flag, name, offsets string) (format, text.Unit, error) {
	i := slices.Index(Formats(), name)
	if i < 0 {
		return format{}, "", fmt.Errorf("%s %s: the formats are %s", flag, name, strings.Join(Formats(), ", "))
	}
	unit, err := text.ParseUnit(offsets)
	if err != nil {
		return format{}, "", fmt.Errorf("--offsets %w", err)
	}
	return formats[i], unit, nil
}

// A File is answers of one person to import.
type File struct {
	Name    string
	Data    []byte
	Format  string
	Offsets string
	Person  string
	Version string
}

// A record is an answer on its way from or to another tool. Its text is all pages,
// with a line feed between them, and what else is shown.
type record struct {
	Subject Subject `json:"subject"`
	// ShownAsA is the arm of a pair that was shown as A.
	ShownAsA string    `json:"shown_as_a,omitempty"`
	By       string    `json:"by,omitempty"`
	At       string    `json:"at,omitempty"`
	Answer   Answer    `json:"answer"`
	Shown    string    `json:"shown,omitempty"`
	Seconds  float64   `json:"seconds,omitempty"`
	Text     string    `json:"text,omitempty"`
	Spans    []outSpan `json:"spans,omitempty"`
}

// An outSpan is a passage of the text of a record.
type outSpan struct {
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Text     string `json:"text"`
	Question string `json:"question"`
	Label    string `json:"label,omitempty"`
	Value    string `json:"value,omitempty"`
	Record   int    `json:"record,omitempty"`
}

// blank reports whether a record has no answer.
func (x record) blank() bool { return len(x.Answer) == 0 && len(x.Spans) == 0 }

// Exported is an export and what is in it.
type Exported struct {
	Data       []byte
	Answers    int
	Unanswered int // subjects without an answer
	// Withheld are subjects without an answer that are left out, because the export would
	// name their arms.
	Withheld int
}

// Export writes the final answers of everyone's first round, and the subjects
// without an answer. It draws the task if that was not done, so that the work can begin
// in another tool.
func (p Place) Export(t study.Task, source Source, format, offsets string) (out Exported, err error) {
	to, unit, err := formatOf("--export", format, offsets)
	if err == nil {
		_, err = p.queue(t.Full(), source)
	}
	if err != nil {
		return out, err
	}
	r, err := p.Result(t, source)
	if err != nil {
		return out, err
	}
	var list []record
	answered, fresh := map[Subject]bool{}, newFreshness(r.Task, source)
	for _, w := range r.Everyone {
		for _, g := range w.order {
			if g.pass != passFirst || g.Final == nil {
				continue
			}
			shown, err := show(r.Task, source, g.subject, g.Final.Swapped)
			if err != nil {
				return out, err
			}
			if !fresh.has(g.Final) {
				return out, fmt.Errorf("exporting %v: the study shows something else now than %s saw", g.subject, w.Person)
			}
			list = append(list, exported(r.Task, shown, w.Person, g, unit))
			answered[g.subject] = true
		}
	}
	out.Answers = len(list)
	for _, s := range r.queue.Subjects {
		switch {
		case answered[s]:
		case s.Arm != "":
			out.Withheld++
		default:
			shown, err := show(r.Task, source, s, false)
			if err != nil {
				return out, err
			}
			out.Unanswered++
			list = append(list, record{Subject: s, Answer: Answer{}, Text: shown.text()})
		}
	}
	out.Data, err = to.write(r.Task, list)
	return out, err
}

func exported(t study.Task, shown Shown, person string, g *Given, unit text.Unit) record {
	x := record{Subject: g.subject, ShownAsA: g.subject.armOf("A", g.Final.Swapped), By: person, At: g.FinalAt.UTC().Format("2006-01-02T15:04:05Z"),
		Answer: Answer{}, Shown: g.Final.Shown, Seconds: float64(g.Final.WallMS) / 1000, Text: shown.text()}
	ruler := text.NewRuler(x.Text)
	for _, q := range t.Ask {
		value, given := g.Final.Answer[q.Name]
		if given && q.Type != "span" {
			x.Answer[q.Name] = value
		}
		for _, s := range g.Final.Answer.Spans(q.Name) {
			from := 0
			for _, page := range shown.Pages {
				if page.Number == s.Page {
					break
				}
				from += utf8.RuneCountInString(page.Text) + 1
			}
			x.Spans = append(x.Spans, outSpan{ruler.In(from+s.Start, unit), ruler.In(from+s.End, unit), s.Text, q.Name, s.Label, s.Value, s.Record})
		}
	}
	return x
}

// fromLines reads records, one per line.
func (f File) fromLines(study.Task) (list []record, err error) {
	line := 0
	for data := range bytes.Lines(f.Data) {
		line++
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		x := record{Answer: Answer{}}
		err := dataset.DecodeLoose(data, &x)
		if err == nil && x.Subject.Item == "" {
			err = errors.New("the record has no subject: export the task, and keep this field in the other tool")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.Name, line, err)
		}
		if x.Answer == nil { // null
			x.Answer = Answer{}
		}
		list = append(list, x)
	}
	return list, nil
}
