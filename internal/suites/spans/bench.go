package spans

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

// A bench is the suite bound to one study. It is safe for
// concurrent use.
type bench struct {
	kit.Base[*record, *arm]
	taxonomy *label.Taxonomy
	reader   *snapshot.Reader
	judge    *study.Model // nil for studies without a judge
	system   string       // what every request to the judge has
	schema   json.RawMessage
	worded   string              // hash of the study's own words for the judge
	criteria []string            // that the judge sees
	reading  eval.Hash           // of what answers and judgements are read with
	trusted  bool                // whether the judge's verdicts count
	people   map[string]*checked // by [checkedKey]
	compared []study.Compare     // each pair of arms once
	files    map[string]textFile // by path and how it is read, while the study is opened
}

// A record is a text.
type record struct {
	spanfile.Doc
	gold []span.Span // of texts with gold, sorted
}

type arm struct {
	kit.Arm
	system   string
	local    func(r *record) []spanfile.Span // answers without a call
	recorded map[string]*spanfile.Doc        // answers of a file, by id
	snapshot *spanfile.SnapshotFile          // the file, if it has judgements
}

// A textFile is a file of texts that was read, with the hash of its content.
type textFile struct {
	*spanfile.Data
	hash eval.Hash
}

// readSpans reads a file of texts. A text without an id gets one by its content, so that a
// text inserted before it changes nothing.
func readSpans(path string, o spanfile.Options) (textFile, error) {
	content, err := dataset.ReadFile(path)
	if err != nil {
		return textFile{}, err
	}
	o.Name = path
	d, err := spanfile.Parse(content, o)
	if err != nil {
		return textFile{}, err
	}
	n := len(d.Docs)
	d.Docs = slices.DeleteFunc(d.Docs, func(doc spanfile.Doc) bool { return len(doc.Tokens) == 1 && doc.Tokens[0] == spanfile.DocStart })
	if n -= len(d.Docs); n > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s no text", path, text.Plural(n, "line -DOCSTART-, which begins a document, is", "lines -DOCSTART-, which begin documents, are")))
	}
	nameTexts(d)
	return textFile{d, eval.HashOf(content)}, nil
}

// texts reads a file of the study once: a snapshot often is both data and an arm.
func (b *bench) texts(path string, o spanfile.Options) (textFile, error) {
	key := fmt.Sprintf("%q %+v", path, o)
	if was, ok := b.files[key]; ok {
		return was, nil
	}
	d, err := readSpans(path, o)
	if err == nil {
		b.files[key] = d
		for _, w := range d.Warnings {
			b.Warn("%s", w)
		}
	}
	return d, err
}

func nameTexts(d *spanfile.Data) {
	made, prefix := map[string]int{}, "t"
	if d.Format == spanfile.CoNLL {
		prefix = "s"
	}
	for i := range d.Docs {
		if doc := &d.Docs[i]; doc.ID == "" {
			doc.ID = kit.ContentID(made, prefix, doc.Text)
		}
	}
}

// lexiconName is the name of the built-in labeller that needs no model.
const lexiconName = "lexicon"

// The arms that calibrate the judge: gold, and gold with an error.
const (
	calibrationGold    = "calibration:gold"
	calibrationPlanted = "calibration:planted"
)

// judgedBefore is the judge of arms with recorded judgements.
const judgedBefore = "recorded"

// judgeOf is the model that judged an arm.
func (b *bench) judgeOf(a *arm) string {
	switch {
	case a.snapshot != nil:
		return cmp.Or(a.snapshot.JudgeModel, judgedBefore)
	case b.judge != nil:
		return b.judge.Name
	}
	return ""
}

// open binds the suite to a study: it reads and validates texts, spans and prompts.
// The error is a [study.Errors].
func open(f *study.File, s *Study) (*bench, error) {
	var errs study.Errors
	b := &bench{trusted: true, people: map[string]*checked{}, files: map[string]textFile{}}
	t := s.Taxonomy
	if err := t.Complete(); err != nil {
		errs.Add(f.Errorf("taxonomy", "%w", err))
	}
	b.taxonomy = &t
	sections, err := label.NewSectioner(s.Sections)
	if err != nil {
		errs.Add(f.Errorf("sections", "%w", err))
		return nil, errs.Err()
	}
	b.reader = &snapshot.Reader{Taxonomy: b.taxonomy, Sectioner: sections}
	b.load(f, s, &errs)
	b.reading = kit.HashOf(s.Taxonomy, s.Sections)
	if b.judge = s.Judge(); b.judge != nil {
		b.system, b.schema = verdict.System(b.taxonomy, s.Judging.Prompt, s.Judging.List()), verdict.Schema(b.taxonomy)
	}
	b.criteria = s.Judging.Asked()
	s.Judging.Check(f, nil, kit.Lacks{Scale: "a judgement has five scores from 1 to 5, as snapshots have them, and counts errors"}, &errs)
	if s.Judging.Own() {
		b.worded = kit.HashOf(s.Judging.Words()).String()
	}
	b.readCases(f, s, &errs)
	b.plan(f, s, &errs)
	b.readPeople(f, s, &errs)
	b.files = nil
	if err := errs.Err(); err != nil {
		return nil, err
	}
	for _, c := range s.Comparisons {
		if !slices.ContainsFunc(b.compared, func(o study.Compare) bool { return o.A == c.A && o.B == c.B }) {
			b.compared = append(b.compared, c)
		}
	}
	return b, nil
}

func (b *bench) load(f *study.File, s *Study, errs *study.Errors) {
	byID, unknown := map[string]*record{}, map[string]int{}
	var records []*record
	for i, source := range s.Records {
		key := fmt.Sprintf("data[%d].path", i)
		d, err := b.texts(f.Resolve(source.Path), spanfile.Options{Offsets: source.Offsets})
		if err != nil {
			if errors.As(err, new(dataset.OpenError)) {
				err = f.Errorf(key, "%w", err)
			}
			kit.AddAll(errs, err)
			continue
		}
		docs := d.Docs
		if source.Count > 0 {
			docs = docs[:min(source.Count, len(docs))]
		}
		for _, doc := range docs {
			if other := byID[doc.ID]; other != nil {
				if other.Text != doc.Text || d.Format != spanfile.Snapshot { // else another snapshot of the same prompts
					errs.Add(f.Errorf(key, "duplicate id %q: %s has it too", doc.ID, other.Group))
				}
				continue
			}
			doc.Group = cmp.Or(source.Group, doc.Group, groupOf(source.Path))
			if d.Format == spanfile.Snapshot { // its spans are answers, not gold
				doc.Spans, doc.Labelled, doc.Result = nil, false, nil
			}
			for _, s := range doc.Spans {
				if !b.taxonomy.Known(s.Role) {
					unknown[s.Role]++
				}
			}
			byID[doc.ID] = &record{Doc: doc, gold: b.spansOf(doc.Spans, b.taxonomy.Canonical)}
			records = append(records, byID[doc.ID])
		}
	}
	for _, role := range slices.Sorted(maps.Keys(unknown)) {
		errs.Add(f.Errorf("taxonomy", "gold has the role %q, %s, which the taxonomy does not have%s", role, text.Plural(unknown[role], "time", "times"), text.DidYouMean(role, b.taxonomy.Roles())))
	}
	b.Fill(records, (*record).item)
	if len(records) == 0 && errs.Err() == nil {
		errs.Add(f.Errorf("data", "there are no texts"))
	}
}

// groupOf is the name of a file without its folder and extensions.
func groupOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// spansOf converts spans for matching, by what a role counts as. They are sorted. A span
// without a place matches nothing.
func (b *bench) spansOf(spans []spanfile.Span, as func(role string) string) []span.Span {
	return slices.SortedFunc(slices.Values(spansIn(spans, as)), span.Compare)
}

// spansIn are the same in the order of the text.
func spansIn(spans []spanfile.Span, as func(role string) string) []span.Span {
	out := make([]span.Span, len(spans))
	for i, s := range spans {
		out[i] = span.Span{Start: s.Start, End: s.End, Label: as(s.Role)}
	}
	return out
}

func (r *record) item() eval.Item {
	gold := []string{fmt.Sprint(r.Labelled)}
	for _, s := range r.Spans {
		gold = append(gold, s.Role, s.Text, fmt.Sprint(s.Start, s.End))
	}
	return eval.Item{ID: r.ID, Split: r.Split, Cluster: r.Cluster, Strata: []eval.Level{{Name: "group", Value: r.Group}},
		Input: kit.Hash(r.Text), Gold: kit.Hash(gold...)}
}

// independent names what may depend on each other: the texts of a cluster, or those that are equal.
func (r *record) independent() string { return cmp.Or(r.Cluster, r.Text) }

// wrongSpans is as how many wrong spans an answer counts that cannot be read.
func (r *record) wrongSpans() int { return max(1, len(r.Spans)) }

// plan makes the arms: every labeller on each of its models, files, pipelines, and
// the calibration arms if there are a judge and gold.
func (b *bench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "labeller", "use lexicon, spans, outputs, exec, http or run", errs)
	kit.CheckNames(p, s.Labellers)
	for i := range s.Labellers {
		b.entry(p, &s.Labellers[i])
	}
	if b.judge == nil {
		return
	}
	if slices.ContainsFunc(b.Data, func(r *record) bool { return b.plantedAt(r) >= 0 }) {
		b.calibration(calibrationGold, func(r *record) []spanfile.Span { return r.Spans })
		b.calibration(calibrationPlanted, b.planted)
	}
	b.JudgedBy(b.judge.ID)
}

func (b *bench) calibration(id string, local func(*record) []spanfile.Span) {
	b.add(id, &arm{local: local, Arm: kit.Local(eval.RoleCalibration, id, "1")})
}

func (b *bench) add(name string, a *arm) { b.Add("labeller", name, a) }

// entry makes the arms of one entry of the study.
func (b *bench) entry(p *kit.Planner, e *Labeller) {
	prompt := func(text string) {
		if !p.OneHole(&e.Entry, text, rolesHole, "roles") {
			return
		}
		for _, on := range p.OnModels(&e.Entry) {
			a := &arm{Arm: on, system: b.render(text)}
			r := kit.RequestTo(a.Settings)
			a.Hash = kit.Hash(r.Key(), a.Settings.Structured, a.system, PromptVersion).String()
			b.add(e.Name, a)
		}
	}
	p.Make(&e.Entry, func(a kit.Arm) { b.add(e.Name, &arm{Arm: a}) },
		kit.Way{Key: "prompt", Value: e.Prompt, Make: prompt},
		p.FromFile(&e.Entry, e.Path, "prompt", prompt),
		kit.Builtin(e.Builtin,
			kit.Way{Key: "labeller", Make: func(string) { prompt(labellerPrompt) }},
			kit.Way{Key: lexiconName, Make: func(string) { b.lexiconArm(p, e) }}),
		kit.Way{Key: "spans", Value: e.Spans, Make: func(string) { b.recordedArm(p, e) }})
}

func (b *bench) lexiconArm(p *kit.Planner, e *Labeller) {
	p.NoModels(&e.Entry)
	data, key := videoLexicon, p.Key(&e.Entry)
	if e.Lexicon != "" {
		key += ".lexicon"
		var err error
		if data, err = dataset.ReadFile(p.Prompt(e.Lexicon)); err != nil {
			p.Fault(key, "reading the lexicon: %w", err)
			return
		}
	}
	l, err := newLexicon(data, b.taxonomy)
	if err != nil {
		remedy := ""
		if e.Lexicon == "" {
			remedy = "; the default lexicon is for video prompts: give a file of words by role in lexicon"
		}
		p.Fault(key, "reading the lexicon: %v%s", err, remedy)
		return
	}
	b.add(e.Name, &arm{local: func(r *record) []spanfile.Span { return l.label(r.Text) }, Arm: kit.Local(eval.RoleArm, lexiconName, "2", string(data))})
}

// recordedArm is an arm whose answers, and for a snapshot judgements, are in a
// file.
func (b *bench) recordedArm(p *kit.Planner, e *Labeller) {
	p.NoModels(&e.Entry)
	path, key := p.Resolve(e.Spans), p.Key(&e.Entry)+".spans"
	d, err := b.texts(path, spanfile.Options{Offsets: e.Offsets, System: e.System})
	if err != nil {
		p.Fault(key, "reading spans: %w", err)
		return
	}
	if err := d.Unlabelled(e.Spans); err != nil {
		p.Fault(key, "labeller %q: %w", e.Name, err)
		return
	}
	a := &arm{recorded: map[string]*spanfile.Doc{}}
	a.Given = true
	known, different := 0, 0
	var unknown []string
	for k := range d.Docs {
		doc := &d.Docs[k]
		switch r := b.Datum(doc.ID); {
		case r == nil:
			unknown = append(unknown, doc.ID)
		case doc.Text != r.Text:
			different++
		default:
			known++
			doc.Text = r.Text // kept once
			a.recorded[doc.ID] = doc
		}
	}
	if different > 0 {
		p.Fault(key, "labeller %q: %s in %s another text than in the records: use the texts that were labelled", e.Name, text.Plural(different, "id has", "ids have"), e.Spans)
		return
	}
	if known == 0 {
		p.Fault(key, "labeller %q: %s has none of the %s of the study", e.Name, e.Spans, text.Plural(len(b.Data), "text", "texts"))
		return
	}
	if n := len(unknown); n > 0 {
		b.Warn("%s: ignored %s not in the study: %s", e.Spans, text.Plural(n, "text", "texts"), text.Shorten(strings.Join(unknown, ", "), 200))
	}
	if missing := len(b.Data) - known; missing > 0 {
		b.Warn("%s: %s not in it: unscored for %s", e.Spans, text.Plural(missing, "text of the study is", "texts of the study are"), e.Name)
	}
	a.Hash = kit.Hash("spans", d.hash.String(), string(e.Offsets), e.System).String()
	if d.Format == spanfile.Snapshot {
		a.snapshot = d.Snapshot
		a.Judges = []string{strings.TrimSpace(judgedBefore + " " + d.Snapshot.JudgeModel)} // no model of the study has such an id
	}
	b.add(e.Name, a)
}

// Capabilities are what the suite has of them.
func (b *bench) Capabilities() eval.Capabilities {
	c := b.Base.Capabilities()
	c.Facts, c.Report, c.Changes, c.Ratings, c.Calibrator = b.Facts, b.Report, b.Changes, b.Ratings, b
	c.Criteria = b.criteria
	return c
}

// Facts count the texts and gold spans.
func (b *bench) Facts() []eval.Fact {
	gold, spans := 0, 0
	for _, r := range b.Data {
		if r.Labelled {
			gold, spans = gold+1, spans+len(r.Spans)
		}
	}
	return []eval.Fact{{Name: "texts with gold", N: gold}, {Name: "gold spans", N: spans}}
}

// A payload is the JSON request to an external pipeline.
type payload struct {
	ID    string   `json:"id"`
	Text  string   `json:"text"`
	Roles []string `json:"roles"`
}

// Basis returns what a trial depends on beside the text and the prompt: the taxonomy and
// sections that answers and judgements are read with, and the gold that the calibration
// arms and simulated models answer from.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	r, a, err := b.Of(t)
	if err != nil {
		return on
	}
	gold := kit.Hash(b.reading.String(), b.Item(t.Item).Gold.String())
	if on.Read = b.reading; a.Role == eval.RoleCalibration {
		on.Read = kit.Hash(gold.String(), string(encodeAnswer(a.local(r))))
	}
	switch {
	case a.Simulated:
		on.Asked = gold
	case a.Pipeline != nil && !a.Answered():
		on.Asked = b.reading
	}
	version := verdict.PromptVersion
	if b.worded != "" {
		version = b.worded
	}
	on.Judged = kit.Hash(b.reading.String(), version)
	if b.judge != nil && b.judge.Provider == kit.SimulatedProvider {
		on.Judged = kit.Hash(gold.String(), version)
	}
	return on
}

// Perform gets the arm's spans of a text.
func (b *bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	r, a, err := b.Of(t)
	switch {
	case err != nil:
		return eval.Outcome{}, err
	case a.recorded != nil:
		return a.recall(r.ID), nil
	case a.local != nil:
		return eval.Outcome{Kind: eval.OK, Data: encodeAnswer(a.local(r))}, nil
	}
	request, err := b.request(a, r)
	if err != nil {
		return eval.Outcome{}, err
	}
	response, err := ask.Ask(ctx, "label", request)
	if err != nil {
		return eval.Outcome{}, err
	}
	return b.outcomeOf(response, request.Force, r.Text), nil
}

// recall is the outcome that a file has for a text.
func (a *arm) recall(id string) eval.Outcome {
	switch doc := a.recorded[id]; {
	case doc == nil:
		return eval.Outcome{Kind: eval.OK, Notes: []string{noteAbsent}}
	case doc.Failed != "":
		return eval.Outcome{Kind: eval.Failed, Reason: "recorded_error", Detail: doc.Failed}
	default:
		return eval.Outcome{Kind: eval.OK, Data: encodeAnswer(doc.Spans), Notes: placeNotes(doc.Realigned, doc.Unaligned)}
	}
}

func (b *bench) request(a *arm, r *record) (eval.Request, error) {
	if a.Pipeline != nil {
		return a.RequestOutside(r.ID, func() any { return payload{r.ID, r.Text, b.taxonomy.Roles()} })
	}
	q := kit.RequestTo(a.Settings)
	q.Item, q.System = r.ID, a.system
	q.Messages = []eval.Message{{Role: "user", Content: r.Text}}
	kit.Structure(&q, a.Settings, eval.Schema{Name: "spans", Strict: true, JSON: b.answerSchema()},
		eval.Tool{Name: "report_spans", Description: "Reports the spans of the text."})
	if a.Simulated {
		q.Payload = b.simulatedAnswer(r)
	}
	q.Foreseen = func() string { return string(encodeAnswer(r.Spans)) }
	return q, nil
}
