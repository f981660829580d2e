package sampling

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// Kinds of lines of a tracking file.
const (
	startKind  = "start"
	reportKind = "report"
)

// start is the first line.
type start struct {
	Sample string `json:"sample_sha256"`
	Target int    `json:"target"`
	Seed   int64  `json:"seed"`
}

// A Processed is what came of a report.
type Processed struct {
	Report string `json:"report"`
	// Eligible counts the eligible fragments. One is drawn at random, Drawn from 1.
	Eligible int `json:"eligible"`
	Drawn    int `json:"drawn,omitempty"`
	// Excluded is the reason why no fragment was taken.
	Excluded string `json:"excluded,omitempty"`
	Note     string `json:"note,omitempty"`
	// Corrects is the reason of a correction, which replaces what was recorded of the report.
	Corrects string `json:"corrects,omitempty"`
	At       string `json:"-"` // RFC 3339, of the record
	By       string `json:"-"` // who recorded it, of the record
}

// A Tracking is the work on a sample.
type Tracking struct {
	Path      string      `json:"file"`
	Target    int         `json:"target"`
	Fragments int         `json:"fragments"`
	Excluded  []Left      `json:"excluded"`
	Next      string      `json:"next,omitempty"` // report; "" at the end of the sample
	Processed []Processed `json:"processed"`

	order   []string
	list    *table.Table
	id      int // column of the list
	record  Record
	started bool
	lines   int // of the file
}

// OpenTracking reads the work on a sample: its CSV file, with the record of the draw
// beside it. target is the wanted number of fragments, used when the work starts.
func OpenTracking(sample string, target int) (*Tracking, error) {
	t := &Tracking{Path: strings.TrimSuffix(sample, ".csv") + ".tracking.jsonl", Target: target, Excluded: []Left{}, Processed: []Processed{}}
	data, err := os.ReadFile(sample)
	if err != nil {
		return nil, fmt.Errorf("reading the sample: %w", err)
	}
	recordPath := strings.TrimSuffix(sample, ".csv") + ".json"
	switch err := dataset.ReadJSON(recordPath, &t.record); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s has no record of its draw (%s): draw it with `scruple soundness sample`, and name its CSV file", sample, recordPath)
	case err != nil:
		return nil, err
	}
	if hash := dataset.SHA256(data); hash != t.record.Sample {
		return nil, fmt.Errorf("%s changed after it was drawn (SHA-256 %s, %s has %s): restore it", sample, hash, recordPath, t.record.Sample)
	}
	list, err := table.Parse(sample, "", data)
	if err != nil {
		return nil, err
	}
	if t.id, err = list.Column(t.record.ID); err != nil {
		return nil, err
	}
	t.list = list
	for _, r := range list.Rows {
		t.order = append(t.order, r.Text(t.id))
	}
	entries, err := ledger.Read(t.Path)
	for _, e := range entries {
		if err := t.apply(e); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Path, err)
		}
	}
	t.count()
	return t, err
}

func (t *Tracking) apply(e ledger.Entry) error {
	var s start
	var p Processed
	t.lines++
	switch e.Kind {
	case startKind:
		if err := e.Decode(&s); err != nil {
			return err
		}
		if s.Sample != t.record.Sample {
			return errors.New("the file tracks another sample: restore the sample, or move the file away")
		}
		if s.Seed != t.record.Seed {
			return fmt.Errorf("fragments of the sample are drawn with seed %d, its record has %d: restore the record", s.Seed, t.record.Seed)
		}
		t.Target, t.started = s.Target, true
		return nil
	case reportKind:
		err := e.Decode(&p)
		p.At, p.By = e.At, e.By
		t.put(p)
		return err
	}
	return fmt.Errorf("entry %d has the unknown kind %q: it was written by another version", e.Seq, e.Kind)
}

// put adds what came of a report, or replaces it.
func (t *Tracking) put(p Processed) {
	if i := t.at(p.Report); i >= 0 {
		t.Processed[i] = p
	} else {
		t.Processed = append(t.Processed, p)
	}
}

func (t *Tracking) at(report string) int {
	return slices.IndexFunc(t.Processed, func(p Processed) bool { return p.Report == report })
}

func (t *Tracking) count() {
	reasons := map[string]int{}
	t.Fragments, t.Next = 0, ""
	for _, p := range t.Processed {
		if p.Excluded == "" {
			t.Fragments++
		} else {
			reasons[p.Excluded]++
		}
	}
	t.Excluded = leftOf(reasons)
	if n := len(t.Processed); n < len(t.order) {
		t.Next = t.order[n]
	}
}

// Add records what came of a report, and draws one of its eligible fragments. It must be the
// next one of the sample; a correction is of one that was recorded.
func (t *Tracking) Add(p Processed, now time.Time) (Processed, error) {
	p.Excluded, p.Note, p.Corrects = strings.TrimSpace(p.Excluded), strings.TrimSpace(p.Note), strings.TrimSpace(p.Corrects)
	switch recorded := t.at(p.Report) >= 0; {
	case p.Corrects != "" && !recorded:
		return p, fmt.Errorf("report %s: nothing is recorded of it that could be corrected", p.Report)
	case p.Corrects == "" && recorded:
		return p, fmt.Errorf("report %s: it was recorded already: to replace that, say why with --correct REASON", p.Report)
	case recorded:
	case t.Next == "":
		return p, fmt.Errorf("report %s: all %d reports of the sample are processed: draw a larger sample", p.Report, len(t.order))
	case p.Report != t.Next:
		return p, fmt.Errorf("report %s: the next report of the sample is %s: reports are processed in the order of the draw", p.Report, t.Next)
	}
	switch {
	case p.Eligible == 0 && p.Excluded == "":
		return p, fmt.Errorf("report %s: give the number of its eligible fragments, at least 1, or the reason why it is excluded, such as that it has none", p.Report)
	case p.Eligible != 0 && p.Excluded != "":
		return p, fmt.Errorf("report %s: give either the number of its eligible fragments or the reason why it is excluded, not both", p.Report)
	case p.Eligible < 0 || p.Eligible > 1000:
		return p, fmt.Errorf("report %s: %d eligible fragments: want 1 to 1000", p.Report, p.Eligible)
	}
	if p.Eligible > 0 {
		p.Drawn = 1 + stable.Random(t.record.Seed, "fragment", p.Report).IntN(p.Eligible)
	}
	log, err := ledger.Open(t.Path)
	if err != nil {
		return p, err
	}
	if len(log.Entries()) != t.lines {
		return p, errors.Join(fmt.Errorf("%s was changed by another process: try again", t.Path), log.Close())
	}
	if !t.started {
		_, err = log.Append(now, p.By, startKind, start{t.record.Sample, t.Target, t.record.Seed})
		t.started = err == nil
	}
	if err == nil {
		var e ledger.Entry
		e, err = log.Append(now, p.By, reportKind, p)
		p.At = e.At
	}
	lines := len(log.Entries())
	if err := errors.Join(err, log.Close()); err != nil {
		return p, err
	}
	t.lines = lines
	t.put(p)
	t.count()
	return p, nil
}

// ID is the column that names a report, as the header has it.
func (t *Tracking) ID() string { return t.list.Header[t.id] }

// A Taken is a report of which a fragment was taken, with its row of the sample.
type Taken struct {
	Processed
	Cells []string
}

// Taken lists the reports of which a fragment was taken, up to the target, below the header of
// the sample. Those after the target are for practice and examples.
func (t *Tracking) Taken() (header []string, list []Taken) {
	for i, p := range t.Processed { // they are in the order of the sample
		if p.Drawn > 0 && (t.Target <= 0 || len(list) < t.Target) {
			list = append(list, Taken{p, t.list.Rows[i].Texts()})
		}
	}
	return t.list.Header, list
}

// String is the state as text.
func (t *Tracking) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s processed of %d; %s toward the target of %d", text.Plural(len(t.Processed), "report", "reports"), len(t.order), text.Plural(t.Fragments, "fragment", "fragments"), t.Target)
	if beyond := t.Fragments - t.Target; t.Target > 0 && beyond >= 0 {
		fmt.Fprintf(&b, ": reached, with %d more for practice and examples", beyond)
	}
	b.WriteByte('\n')
	for _, l := range t.Excluded {
		fmt.Fprintf(&b, "excluded: %s (%d)\n", l.Why, l.Rows)
	}
	for _, p := range t.Processed {
		if p.Corrects != "" {
			fmt.Fprintf(&b, "corrected: report %s: %s\n", p.Report, p.Corrects)
		}
	}
	if t.Next != "" {
		fmt.Fprintf(&b, "next report: %s\n", t.Next)
	} else {
		b.WriteString("the sample is used up\n")
	}
	return b.String()
}
