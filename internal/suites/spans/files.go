package spans

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/format"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/text"
)

// imports convert other tools' files to the suite's JSON Lines. A study reads these
// formats as they are, too.
func imports() []kit.Import {
	list := []kit.Import{{Name: format.Snapshot, Doc: "snapshots of a span labeller and its judge: a study with each of them as an arm", Study: importSnapshots}}
	for _, f := range []struct{ name, doc string }{
		{format.Prompts, "golden set or prompts of the video prompt tool: {\"prompts\": [{\"id\", \"text\", \"groundTruth\"}]}"},
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

// importSnapshots makes a study of snapshots: a run of it has their spans and judgements as
// trials, without a call. Each is compared with the first.
func importSnapshots(files []string, output string) ([]byte, fmt.Stringer, error) {
	var records, arms, comparisons, rules strings.Builder
	var first string
	r := importedRuns{Warnings: []string{}}
	names := map[string]int{}
	for _, path := range files {
		d, err := format.Read(path, format.Options{})
		if err != nil {
			return nil, nil, err
		}
		if d.Format != format.Snapshot {
			return nil, nil, fmt.Errorf("%s is not of format %s but of %s: name that", path, format.Snapshot, d.Format)
		}
		r.Warnings = append(r.Warnings, d.Warnings...)
		relative, err := relativeTo(filepath.Dir(output), path)
		if err != nil {
			return nil, nil, err
		}
		name := kit.UniqueID(names, groupOf(path), "-")
		fmt.Fprintf(&records, "  - {path: %q, group: recorded}\n", relative)
		fmt.Fprintf(&arms, "  - {name: %q, spans: %q} # judged by %q\n", name, relative, cmp.Or(d.Snapshot.JudgeModel, "an unknown model"))
		if first == "" {
			first = name
		} else {
			fmt.Fprintf(&comparisons, "  - {a: %q, b: %q, primary: true}\n", name, first)
			fmt.Fprintf(&rules, "    - {name: %q, that: \"diff_low('%s', '%s', 'judge_total') > -0.5\"}\n", name+" is not worse", name, first)
		}
		r.Arms, r.Texts = append(r.Arms, name), r.Texts+len(d.Docs)
	}
	study := "# Recorded spans and judgements as arms of a study: a run of it calls no model.\n" +
		fmt.Sprintf("name: %q\nsuite: spans\ndata:\n%sarms:\n%s", groupOf(output), records.String(), arms.String()) +
		"metrics:\n  primary: [judge_total]\n  secondary: [error_rate, false_positive_rate, missed_elements, confidence_ece, confidence_auroc]\n"
	if len(r.Arms) > 1 {
		study += "comparisons:\n" + comparisons.String() + "decide:\n  require:\n" + rules.String()
	}
	return []byte(study), r, nil
}

// relativeTo is the path of a file as a study in a folder names it.
func relativeTo(folder, path string) (string, error) {
	from, errFrom := filepath.Abs(folder)
	to, errTo := filepath.Abs(path)
	if err := errors.Join(errFrom, errTo); err != nil {
		return "", err
	}
	relative, err := filepath.Rel(from, to)
	if err != nil {
		return "", fmt.Errorf("naming %s in a study in %s: %w", path, folder, err)
	}
	return filepath.ToSlash(relative), nil
}

// importedRuns reports which snapshots a study has.
type importedRuns struct {
	Arms     []string `json:"arms"`
	Texts    int      `json:"results"`
	Warnings []string `json:"warnings"`
}

func (r importedRuns) String() string {
	s := fmt.Sprintf("%s of %s: %s\n", text.Plural(r.Texts, "result", "results"), text.Plural(len(r.Arms), "snapshot", "snapshots"), strings.Join(r.Arms, ", "))
	for _, w := range r.Warnings {
		s += "note: " + w + "\n"
	}
	return s
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
		f := &snapshot.File{Timestamp: k.Run().Created, SourceFile: k.Run().Study, JudgeModel: b.judgeOf(b.byArm[arm])}
		if was := b.byArm[arm].snapshot; was != nil {
			*f = *was
		}
		f.Results = []snapshot.Result{}
		tally := b.reader.NewTally()
		for i := range byArm[arm] {
			r, l := b.result(&byArm[arm][i])
			f.Results = append(f.Results, r)
			tally.Add(&l)
		}
		summary := tally.Summary(1)
		files = append(files, kit.File{Path: fileName(arm) + ".json", Write: func(w io.Writer) error {
			out := bufio.NewWriter(w)
			return errors.Join(f.Write(out, summary), out.Flush())
		}})
	}
	return written(dir, files)
}

// labelled is a trial as a summary counts it. Of a snapshot it is the result that was recorded.
func (b *Bench) labelled(r *record, t *eval.Judged, found answer, j *judgement) snapshot.Labelled {
	if doc := b.byArm[t.Trial.Arm].recorded[r.ID]; doc != nil && doc.Result != nil {
		return b.reader.Label(doc.Result)
	}
	l := snapshot.Labelled{ID: r.ID, Text: r.Text, Spans: found.spans, Notes: found.notes, State: snapshot.NotJudged, Why: j.missing}
	switch {
	case t.Outcome.Kind != eval.OK:
		l.State, l.Why = snapshot.Errored, strings.TrimSpace(string(t.Outcome.Kind)+": "+t.Outcome.Detail)
	case j.missing == "":
		l.State, l.Verdict = snapshot.Judged, j.parsed
	case j.failed:
		l.State = snapshot.JudgeFailed
	}
	return l
}

// result is a trial as a result of a snapshot, with offsets in UTF-16.
func (b *Bench) result(t *eval.Judged) (snapshot.Result, snapshot.Labelled) {
	r := b.record(t.Trial.Item)
	a, _ := b.readAnswer(t.Outcome.Data, r.Text) // without spans there are none
	j := b.judgement(r, t)
	l := b.labelled(r, t, a, &j)
	if doc := b.byArm[t.Trial.Arm].recorded[r.ID]; doc != nil && doc.Result != nil {
		return *doc.Result, l
	}
	ruler := label.NewRuler(r.Text)
	out := snapshot.Result{PromptID: r.ID, Input: r.Text, Output: r.Text, Spans: []snapshot.Span{}, JudgeResult: []byte("null"), Meta: []byte("null"),
		SpanCount: len(a.spans), Metadata: b.reader.Metadata(r.Text, a.spans)}
	for _, s := range a.spans {
		one := snapshot.Span{Text: s.Text, Role: s.Role, Start: ruler.In(s.Start, label.UTF16), End: ruler.In(s.End, label.UTF16), Section: s.Section}
		if s.Stated() {
			one.Confidence = &s.Confidence
		}
		out.Spans = append(out.Spans, one)
	}
	switch l.State {
	case snapshot.Errored:
		out.Error = &l.Why
	case snapshot.JudgeFailed: // as the original tool records it, with the raw answer
		j.parsed.Result.Notes = "Judge failed: " + j.missing
		fallthrough
	case snapshot.Judged:
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
