package spans

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

// imports convert other tools' files to the suite's JSON Lines. A study reads these
// formats as they are, too.
func imports() []kit.Import {
	list := []kit.Import{{Name: spanfile.Snapshot, Doc: "snapshots of a span labeller and its judge: a study with each of them as an arm", Study: importSnapshots}}
	for _, f := range spanfile.Formats {
		if f.Read != "" {
			list = append(list, kit.Import{Name: f.Name, Doc: f.Read, Convert: func(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
				return convert(file, f.Name, o)
			}})
		}
	}
	return list
}

// readAs reads a file that is said to be of a format.
func readAs(name, path string) (*spanfile.Data, error) {
	d, err := readSpans(path, spanfile.Options{})
	if err == nil && d.Format != name {
		err = fmt.Errorf("%s is not of format %s but of %s: name that", path, name, d.Format)
	}
	return d.Data, err
}

//go:embed recorded.yaml.tmpl
var recordedStudy string

// importSnapshots makes a study of snapshots: a run of it has their spans and judgements as
// trials, without a call. Each is compared with the first.
func importSnapshots(files []string, output string) ([]byte, fmt.Stringer, error) {
	type source struct{ Name, Path, Judge string }
	var arms []source
	r := importedRuns{Warnings: []string{}}
	names := map[string]int{}
	for _, path := range files {
		d, err := readAs(spanfile.Snapshot, path)
		if err != nil {
			return nil, nil, err
		}
		from, errFrom := filepath.Abs(filepath.Dir(output))
		to, errTo := filepath.Abs(path)
		relative, err := filepath.Rel(from, to)
		if err := errors.Join(errFrom, errTo, err); err != nil {
			return nil, nil, fmt.Errorf("naming %s in the study %s: %w", path, output, err)
		}
		name := kit.UniqueID(names, cmp.Or(strings.TrimLeft(kit.StudyName(groupOf(path), ""), "_"), spanfile.Snapshot))
		arms = append(arms, source{name, filepath.ToSlash(relative), cmp.Or(d.Snapshot.JudgeModel, "an unknown model")})
		r.Warnings, r.Arms, r.Texts = append(r.Warnings, d.Warnings...), append(r.Arms, name), r.Texts+len(d.Docs)
	}
	var b bytes.Buffer
	err := template.Must(template.New("").Parse(recordedStudy)).Execute(&b, map[string]any{"Name": kit.StudyName(groupOf(output), spanfile.Snapshot), "Arms": arms})
	return b.Bytes(), r, err
}

// importedRuns reports which snapshots a study has.
type importedRuns struct {
	Arms     []string `json:"arms"`
	Texts    int      `json:"results"`
	Warnings []string `json:"warnings"`
}

func (r importedRuns) String() string {
	return fmt.Sprintf("%s of %s: %s\n", text.Plural(r.Texts, "result", "results"), text.Plural(len(r.Arms), "snapshot", "snapshots"),
		strings.Join(r.Arms, ", ")) + notesOf(r.Warnings)
}

// imported reports what was converted.
type imported struct {
	Texts     int      `json:"texts"`
	Spans     int      `json:"spans"`
	Realigned int      `json:"realigned"`
	Unaligned int      `json:"dropped_without_a_place"`
	Too       int      `json:"dropped_too_long"`
	Beyond    int      `json:"dropped_beyond_limit"`
	Warnings  []string `json:"warnings"`
}

func (r imported) String() string {
	s := fmt.Sprintf("%s with %s\n", text.Plural(r.Texts, "text", "texts"), text.Plural(r.Spans, "span", "spans"))
	count := func(n int, one, many, what string) {
		if n > 0 {
			s += text.Plural(n, one, many) + " " + what + "\n"
		}
	}
	count(r.Realigned, "span", "spans", "realigned")
	count(r.Unaligned, "span", "spans", "dropped: not in the text")
	count(r.Too, "text", "texts", "dropped: longer than --max-text")
	count(r.Beyond, "text", "texts", "dropped: beyond --limit")
	return s + notesOf(r.Warnings)
}

func notesOf(warnings []string) (s string) {
	for _, w := range warnings {
		s += "note: " + w + "\n"
	}
	return s
}

func convert(file, format string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	d, err := readAs(format, file)
	if err != nil {
		return nil, nil, err
	}
	r := imported{Warnings: append([]string{}, d.Warnings...)}
	var docs []spanfile.Doc
	for _, doc := range d.Docs {
		switch {
		case o.MaxText > 0 && len(doc.Text) > o.MaxText:
			r.Too++
		case o.Limit > 0 && len(docs) == o.Limit:
			r.Beyond++
		default:
			docs = append(docs, doc)
			r.Realigned += doc.Realigned
			for _, s := range doc.Spans {
				if s.Placed() {
					r.Spans++
				} else {
					r.Unaligned++
				}
			}
		}
	}
	r.Texts = len(docs)
	var b bytes.Buffer
	err = spanfile.Formats[0].Write(&b, docs) // JSON Lines
	return b.Bytes(), r, err
}

// exports write the spans of every arm in the formats of other tools, and
// snapshots.
func exports() []kit.Export {
	list := []kit.Export{{Name: spanfile.Snapshot, Doc: "ARM.json: a snapshot of each arm, with its judgements", Write: perArm(".json", exportSnapshot)},
		{Name: peopleFormat, Doc: peopleFormat + ".jsonl: the answers for people to check, for the key human", Write: exportPeople}}
	for _, f := range spanfile.Formats {
		if f.Written != "" {
			list = append(list, kit.Export{Name: f.Name, Doc: "ARM" + f.Extension + ": " + f.Written + ", from the spans of each arm",
				Write: perArm(f.Extension, func(_ *bench, _ kit.Kept, trials []*trial, w io.Writer) (string, error) {
					var docs []spanfile.Doc
					for _, t := range trials {
						docs = append(docs, spanfile.Doc{ID: t.record.ID, Text: t.record.Text, Group: t.record.Group, Labelled: t.Outcome.Kind == eval.OK, Spans: t.spans})
					}
					docs, lost := f.Fit(docs)
					return lost.String(), f.Write(w, docs)
				})})
		}
	}
	return list
}

// perArm exports a file for each arm, with the first trial of every text, and says what write says.
func perArm(extension string, write func(b *bench, k kit.Kept, trials []*trial, w io.Writer) (lost string, err error)) func(kit.Bench, kit.Kept, string) (string, error) {
	return func(kb kit.Bench, k kit.Kept, dir string) (string, error) {
		b, byArm := kb.(*bench), map[string][]*trial{}
		for of, err := range k.Outcomes() {
			if err != nil {
				return "", err
			}
			if r, a, err := b.Of(of.Trial); err == nil && a.Role != eval.RoleCalibration && of.Trial.Replicate == 1 && !absent(&of.Outcome) {
				byArm[a.ID] = append(byArm[a.ID], b.read(r, &of))
			}
		}
		var files []kit.File
		all := ""
		for _, arm := range slices.Sorted(maps.Keys(byArm)) {
			name := strings.NewReplacer("/", "_", ":", "_").Replace(arm) + extension
			files = append(files, kit.File{Path: name, Write: func(w io.Writer) error {
				lost, err := write(b, k, byArm[arm], w)
				if lost != "" {
					all += "\n" + name + ": " + lost
				}
				return err
			}})
		}
		paths, err := written(dir, files)
		return paths + all, err
	}
}

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

func exportSnapshot(b *bench, k kit.Kept, trials []*trial, w io.Writer) (string, error) {
	a := trials[0].arm
	f := &spanfile.SnapshotFile{Timestamp: k.Run().Created, SourceFile: k.Run().Study, JudgeModel: b.judgeOf(a)}
	if a.snapshot != nil {
		*f = *a.snapshot
	}
	f.Results = []spanfile.SnapshotResult{}
	took := map[eval.Trial]float64{}
	for c, err := range k.Calls() {
		if err != nil {
			return "", err
		}
		if c.Stage == eval.StageRun {
			took[c.Trial] += c.LatencyMS
		}
	}
	tally := b.reader.NewTally()
	for _, t := range trials {
		l := b.labelled(t)
		out := b.result(t, &l)
		if t.recorded() == nil {
			out.LatencyMS = took[t.Trial]
		}
		f.Results = append(f.Results, out)
		tally.Add(&l)
	}
	summary, lost := tally.Summary(), ""
	if k.Run().Replicates == 1 { // else the analysis has more answers than the file
		of, err := k.Estimates(metricECE, metricAUROC)
		if err != nil {
			lost = "no intervals: " + err.Error()
		}
		estimated(summary, func(metric string) (eval.Measured, bool) {
			i := slices.IndexFunc(of, func(e kit.Estimate) bool { return e.Arm == a.ID && e.Metric == metric && e.Stratum == nil })
			if i < 0 {
				return eval.Measured{}, false
			}
			return of[i].Measured, of[i].Value.Defined()
		})
	}
	buffered := bufio.NewWriter(w)
	return lost, errors.Join(f.Write(buffered, summary), buffered.Flush())
}

// estimated gives a summary what the analysis says of confidences, with its intervals.
func estimated(s *snapshot.Summary, of func(metric string) (eval.Measured, bool)) {
	c := s.ConfidenceAnalysis
	if c == nil {
		return
	}
	for metric, m := range map[string]*eval.Measured{metricECE: &c.ECE, metricAUROC: &c.AUROC} {
		if e, ok := of(metric); ok {
			*m = e
		}
	}
}

// recorded is the result of a snapshot that a trial repeats, or nil.
func (t *trial) recorded() *spanfile.SnapshotResult {
	return t.arm.recorded[t.record.ID].Recorded()
}

// labelled is a trial as a summary counts it. Of a snapshot it is the result that was recorded.
func (b *bench) labelled(t *trial) snapshot.Labelled {
	if was := t.recorded(); was != nil {
		l := b.reader.Label(was)
		l.Cluster = t.record.independent()
		return l
	}
	l := snapshot.Labelled{ID: t.record.ID, Text: t.record.Text, Cluster: t.record.independent(), Spans: t.spans, Notes: t.notes, State: snapshot.NotJudged, Why: t.missing}
	switch {
	case t.Outcome.Kind != eval.OK:
		l.State, l.Why = snapshot.Errored, strings.TrimSpace(string(t.Outcome.Kind)+": "+t.Outcome.Detail)
	case t.missing == "" && b.distrusts(t.arm):
		l.State, l.Why, l.Verdict.Step = snapshot.JudgeFailed, eval.JudgeFailed, t.parsed.Step
	case t.missing == "":
		l.State, l.Verdict = snapshot.Judged, t.parsed
	case t.failed:
		l.State, l.Why, l.Verdict = snapshot.JudgeFailed, strings.TrimPrefix(l.Why, noJudgement), t.parsed
	}
	t.by(&l)
	return l
}

// by says which labeller made the spans, if this run did.
func (t *trial) by(l *snapshot.Labelled) []byte {
	if t.arm.local == nil && t.arm.Settings == nil {
		return nil
	}
	return l.By(t.arm.ID, t.arm.Settings != nil)
}

// result is a trial as a result of a snapshot, with offsets in UTF-16.
func (b *bench) result(t *trial, l *snapshot.Labelled) spanfile.SnapshotResult {
	if was := t.recorded(); was != nil {
		return *was
	}
	of := t.record.Text
	ruler := spanfile.NewRuler(of)
	out := spanfile.SnapshotResult{PromptID: t.record.ID, Input: of, Output: of, Spans: []spanfile.SnapshotSpan{}, JudgeResult: []byte("null"), Meta: []byte("null"),
		SpanCount: len(t.spans), Metadata: b.reader.Metadata(of, t.spans)}
	for _, s := range t.spans {
		one := spanfile.SnapshotSpan{Text: s.Text, Role: s.Role, Start: ruler.In(s.Start, spanfile.UTF16), End: ruler.In(s.End, spanfile.UTF16), Section: s.Section}
		if s.Stated() {
			one.Confidence = &s.Confidence
		}
		out.Spans = append(out.Spans, one)
	}
	if meta := t.by(l); meta != nil {
		out.Meta = meta
	}
	switch {
	case l.State == snapshot.Errored:
		out.Error = &l.Why
	case l.Unanswered():
		out.FailJudge(l.Why)
	case l.State == snapshot.JudgeFailed: // as the original tool records it, with the raw answer
		t.parsed.Result.Notes = spanfile.JudgeFailed + l.Why
		fallthrough
	case l.State == snapshot.Judged:
		out.JudgeResult = withStep(&t.judgement)
	}
	return out
}

// withStep is a judgement with how it was parsed and, if it is not all of the
// answer, the raw answer.
func withStep(j *judgement) []byte {
	out := struct {
		verdict.Result
		Notes []string `json:"parseNotes,omitempty"`
		Raw   *string  `json:"raw,omitempty"`
	}{Result: j.parsed.Result, Notes: j.parsed.Notes}
	if out.Step = j.parsed.Step; out.Step != verdict.Enhanced {
		out.Raw = &j.parsed.Raw
	}
	return kit.JSON(out)
}
