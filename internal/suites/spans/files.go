package spans

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/format"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/text"
)

// imports convert other tools' files to the suite's JSON Lines. A study reads these
// formats as they are, too.
func imports() []kit.Import {
	var list []kit.Import
	for _, f := range []struct{ name, doc string }{
		{format.Prompts, "golden set or prompts of the video prompt tool: {\"prompts\": [{\"id\", \"text\", \"groundTruth\"}]}"},
		{format.Snapshot, "snapshot of a span labeller: its spans become gold"},
		{format.WNUT17, "WNUT17, one sentence per line: id, tokens, gold, systems"},
		{format.LabelStudio, "JSON export of Label Studio: the first annotation of each task"},
		{format.Prodigy, "JSON Lines export of Prodigy: ner.manual or spans.manual"},
		{format.CoNLL, "CoNLL file: a token and its tag per line (BIO, BIOES, IOB1)"},
	} {
		list = append(list, kit.Import{Name: f.name, Doc: f.doc, Convert: func(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
			return convert(file, f.name, o)
		}})
	}
	return list
}

// imported reports what was converted.
type imported struct {
	Texts     int      `json:"texts"`
	Spans     int      `json:"spans"`
	Realigned int      `json:"realigned"`
	Unaligned int      `json:"dropped_without_a_place"`
	Too       int      `json:"dropped_too_long"`
	Warnings  []string `json:"warnings"`
}

func (r imported) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s with %s\n", text.Plural(r.Texts, "text", "texts"), text.Plural(r.Spans, "span", "spans"))
	if r.Realigned > 0 {
		fmt.Fprintf(&b, "%s realigned\n", text.Plural(r.Realigned, "span", "spans"))
	}
	if r.Unaligned > 0 {
		fmt.Fprintf(&b, "%s dropped: not in the text\n", text.Plural(r.Unaligned, "span", "spans"))
	}
	if r.Too > 0 {
		fmt.Fprintf(&b, "%s dropped: longer than --max-text\n", text.Plural(r.Too, "text", "texts"))
	}
	for _, w := range r.Warnings {
		b.WriteString("note: " + w + "\n")
	}
	return b.String()
}

func convert(file, want string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	if o.Schema != "" {
		return nil, nil, errors.New("--schema: labelled texts have no schema")
	}
	d, err := format.Read(file, format.Options{})
	if err != nil {
		return nil, nil, err
	}
	if d.Format != want {
		return nil, nil, fmt.Errorf("%s is not of format %s but of %s: name that", file, want, d.Format)
	}
	r := imported{Warnings: []string{}}
	r.Warnings = append(r.Warnings, d.Warnings...)
	var docs []format.Doc
	for _, doc := range d.Docs {
		if o.Limit > 0 && len(docs) == o.Limit {
			break
		}
		if o.MaxText > 0 && len(doc.Text) > o.MaxText {
			r.Too++
			continue
		}
		docs = append(docs, doc)
		r.Texts++
		r.Realigned += doc.Realigned
		for _, s := range doc.Spans {
			if s.Placed() {
				r.Spans++
			} else {
				r.Unaligned++
			}
		}
	}
	var b bytes.Buffer
	if err := format.Writers[format.JSONL](&b, docs); err != nil {
		return nil, nil, err
	}
	return b.Bytes(), r, nil
}

// exports write the spans of every arm in the formats of other tools, and
// snapshots.
func exports() []kit.Export {
	list := []kit.Export{{Name: format.Snapshot, Doc: "ARM.json: a snapshot of each arm, with its judgements", Write: exportSnapshots},
		{Name: peopleFormat, Doc: peopleFormat + ".jsonl: the answers for people to check, for the key human", Write: exportPeople}}
	for _, f := range []struct{ name, extension, doc string }{
		{format.Prompts, ".json", "a golden set"}, {format.LabelStudio, ".json", "tasks for Label Studio"},
		{format.Prodigy, ".jsonl", "examples for Prodigy"}, {format.CoNLL, ".conll", "BIO tags of the words"},
		{format.WNUT17, ".jsonl", "sentences as of WNUT17, with the spans as gold"},
	} {
		list = append(list, kit.Export{Name: f.name, Doc: "ARM" + f.extension + ": " + f.doc + ", from the spans of each arm", Write: func(b kit.Bench, k kit.Kept, dir string) (string, error) {
			return exportDocs(b.(*Bench), k, dir, f.name, f.extension)
		}})
	}
	return list
}

// outcomes lists the first trial of every text by arm.
func (b *Bench) outcomes(k kit.Kept) (map[string][]eval.Judged, error) {
	byArm := map[string][]eval.Judged{}
	for t, err := range k.Outcomes() {
		if err != nil {
			return nil, err
		}
		if a := b.byArm[t.Trial.Arm]; a == nil || a.Role == eval.RoleCalibration || t.Trial.Replicate != 1 || b.record(t.Trial.Item) == nil || absent(&t.Outcome) {
			continue
		}
		byArm[t.Trial.Arm] = append(byArm[t.Trial.Arm], t)
	}
	return byArm, nil
}

func exportDocs(b *Bench, k kit.Kept, dir, name, extension string) (string, error) {
	byArm, err := b.outcomes(k)
	if err != nil {
		return "", err
	}
	var files []kit.File
	for _, arm := range slices.Sorted(maps.Keys(byArm)) {
		var docs []format.Doc
		for _, t := range byArm[arm] {
			r := b.record(t.Trial.Item)
			doc := format.Doc{ID: r.ID, Text: r.Text, Group: r.Group, Labelled: t.Outcome.Kind == eval.OK}
			if a, err := b.readAnswer(t.Outcome.Data, r.Text); err == nil {
				doc.Spans = a.spans
			}
			docs = append(docs, doc)
		}
		files = append(files, kit.File{Path: fileName(arm) + extension, Write: func(w io.Writer) error { return format.Writers[name](w, docs) }})
	}
	return written(dir, files)
}

// fileName is the name of an arm as a file's.
func fileName(arm string) string { return strings.NewReplacer("/", "_", ":", "_").Replace(arm) }

func written(dir string, files []kit.File) (string, error) {
	paths, err := kit.WriteFiles(dir, files)
	if err != nil {
		return "", err
	}
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return fmt.Sprintf("%s to %s", strings.Join(paths, ", "), dir), nil
}

func exportSnapshots(bench kit.Bench, k kit.Kept, dir string) (string, error) {
	b := bench.(*Bench)
	byArm, err := b.outcomes(k)
	if err != nil {
		return "", err
	}
	var files []kit.File
	for _, arm := range slices.Sorted(maps.Keys(byArm)) {
		f := &snapshot.File{Header: snapshot.Header{Timestamp: k.Run().Created, SourceFile: k.Run().Study, JudgeModel: b.judgeOf(arm)}}
		tally := b.reader.NewTally()
		for i := range byArm[arm] {
			r, l := b.result(&byArm[arm][i])
			f.Results = append(f.Results, r)
			tally.Add(b.reader.EntryOf(r.PromptID, r.Text(), l))
		}
		summary := tally.Summary(1)
		files = append(files, kit.File{Path: fileName(arm) + ".json", Write: func(w io.Writer) error {
			out := bufio.NewWriter(w)
			return errors.Join(f.Write(out, summary), out.Flush())
		}})
	}
	return written(dir, files)
}

// judgeOf is the model that judged an arm.
func (b *Bench) judgeOf(arm string) string {
	if judge := b.byArm[arm].judge; judge != "" {
		return judge
	}
	if b.judge != nil {
		return b.judge.Name
	}
	return ""
}

// result is a trial as a result of a snapshot, with offsets in UTF-16.
func (b *Bench) result(t *eval.Judged) (snapshot.Result, snapshot.Labelled) {
	r := b.record(t.Trial.Item)
	ruler := label.NewRuler(r.Text)
	out := snapshot.Result{PromptID: r.ID, Input: r.Text, Output: r.Text, Spans: []snapshot.Span{}, JudgeResult: []byte("null"), Meta: []byte("null")}
	a, _ := b.readAnswer(t.Outcome.Data, r.Text) // without spans there are none
	l := snapshot.Labelled{Spans: a.spans, Notes: a.notes, Sections: b.reader.Sectioner.Detect(ruler), State: snapshot.NotJudged}
	for _, s := range a.spans {
		one := snapshot.Span{Text: s.Text, Role: s.Role, Start: ruler.In(s.Start, label.UTF16), End: ruler.In(s.End, label.UTF16), Section: s.Section}
		if s.Stated() {
			one.Confidence = &s.Confidence
		}
		out.Spans = append(out.Spans, one)
	}
	out.SpanCount = len(out.Spans)
	out.Metadata = b.reader.Metadata(r.Text, a.spans, l.Sections)
	switch j := b.judgement(r, t); {
	case t.Outcome.Kind != eval.OK:
		why := strings.TrimSpace(string(t.Outcome.Kind) + ": " + t.Outcome.Detail)
		out.Error = &why
		l.State, l.Why = snapshot.Errored, why
	case j.missing == "":
		l.State, l.Verdict = snapshot.Judged, j.parsed
		out.JudgeResult = withStep(&j)
	case j.failed: // as the original tool records it, with the raw answer
		l.State, l.Why = snapshot.JudgeFailed, j.missing
		j.parsed.Result.Notes = "Judge failed: " + j.missing
		out.JudgeResult = withStep(&j)
	}
	return out, l
}

// withStep is a judgement with how it was parsed and, if it is not all of the
// answer, the raw answer.
func withStep(j *judgement) []byte {
	j.parsed.Result.Step = j.parsed.Step
	data := j.parsed.Result.Encode()
	extra := map[string]any{}
	if len(j.parsed.Notes) > 0 {
		extra["parseNotes"] = j.parsed.Notes
	}
	if j.parsed.Step != "enhanced" {
		extra["raw"] = j.parsed.Raw
	}
	if len(extra) == 0 {
		return data
	}
	more, err := json.Marshal(extra)
	if err != nil {
		panic("spans: " + err.Error()) // texts always encode
	}
	return append(append(data[:len(data)-1], ','), more[1:]...)
}

// compareFiles compares two snapshots.
func compareFiles() *kit.Files {
	return &kit.Files{
		Doc: "two snapshots of a span labeller and its judge (spans)",
		Is: func(path string) bool {
			r, err := snapshot.Open(path)
			if err != nil {
				return false
			}
			defer r.Close()
			head := make([]byte, 1<<16)
			n, _ := io.ReadFull(r, head) // a short file is read whole
			return snapshot.Is(head[:n])
		},
		Compare: func(baseline, current string, own study.Any) (kit.Compared, error) {
			d, rules := snapshot.DefaultReader(), snapshot.Rules{}
			if s, ok := own.(*Study); ok {
				var err error
				if d, err = s.reader(); err != nil {
					return nil, err
				}
				rules = s.Regressions
			}
			var sides [2]*snapshot.Side
			for i, path := range []string{baseline, current} {
				r, err := snapshot.Open(path)
				if err != nil {
					return nil, err
				}
				sides[i], err = d.ReadSide(r, path)
				if err := errors.Join(err, r.Close()); err != nil {
					return nil, err
				}
			}
			return d.Compare(sides[0], sides[1], rules), nil
		},
	}
}

// reader reads snapshots by the taxonomy and sections of the study.
func (s *Study) reader() (*snapshot.Reader, error) {
	t := s.Taxonomy
	if err := t.Complete(); err != nil {
		return nil, fmt.Errorf("taxonomy: %w", err)
	}
	sections, err := label.NewSectioner(s.Sections)
	if err != nil {
		return nil, fmt.Errorf("sections: %w", err)
	}
	return &snapshot.Reader{Taxonomy: &t, Sectioner: sections}, nil
}
