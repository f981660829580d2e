package spans

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure/span"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/format"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Bench is the suite bound to one study. It is safe for
// concurrent use.
type Bench struct {
	taxonomy *label.Taxonomy
	reader   *snapshot.Reader
	records  []record // by id
	items    []eval.Item
	byID     map[string]int
	roles    map[string]int // numbers of roles, for macro F1
	arms     []*arm
	byArm    map[string]*arm
	judge    *study.Model // nil for studies without a judge
	judging  judging
	reading  eval.Hash               // of what answers and judgements are read with
	trusted  bool                    // whether the judge's verdicts count
	people   map[[2]string][]checked // by id and arm
	compared []study.Compare         // each pair of arms once
	warnings []string
}

// A record is a text.
type record struct {
	format.Doc
	gold []span.Span // of texts with gold
}

// judging is what every request to the judge has.
type judging struct {
	system string
	schema json.RawMessage
}

type arm struct {
	kit.Arm
	system   string
	local    func(r *record) []label.Span // answers without a call
	recorded map[string]*format.Doc       // answers of a file, by id
	snapshot *snapshot.File               // the file, if it has judgements
}

// The built-in labellers.
const (
	builtinLabeller = "labeller"
	builtinLexicon  = "lexicon"
)

// The arms that calibrate the judge: gold, and gold with an error.
const (
	calibrationGold    = "calibration:gold"
	calibrationPlanted = "calibration:planted"
)

// judgedBefore is the judge of arms with recorded judgements.
const judgedBefore = "recorded"

// judgeOf is the model that judged an arm.
func (b *Bench) judgeOf(a *arm) string {
	switch {
	case a.snapshot != nil:
		return cmp.Or(a.snapshot.JudgeModel, judgedBefore)
	case b.judge != nil:
		return b.judge.Name
	}
	return ""
}

// changedJudges lists the comparisons of arms that two models judged.
func (b *Bench) changedJudges() eval.Table {
	t := eval.Table{Name: "changed_judges", Title: "Arms with different judges", Columns: []string{"arm", "its judge", "compared with", "its judge"}, Summary: true,
		Note: "Their judged difference may be that of the judges."}
	for _, c := range b.compared {
		if x, y := b.byArm[c.A], b.byArm[c.B]; x != nil && y != nil && len(x.Judges) > 0 && len(y.Judges) > 0 && b.judgeOf(x) != b.judgeOf(y) {
			t.Row(eval.Texts(c.A, b.judgeOf(x), c.B, b.judgeOf(y))...)
		}
	}
	return t
}

// Open binds the suite to a study: it reads and validates texts, spans and prompts.
// The error is a [study.Errors].
func Open(f *study.File, s *Study) (*Bench, error) {
	var errs study.Errors
	b := &Bench{byID: map[string]int{}, roles: map[string]int{}, trusted: true, people: map[[2]string][]checked{}}
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
		b.judging = judging{verdict.System(b.taxonomy), verdict.Schema(b.taxonomy)}
	}
	b.plan(f, s, &errs)
	b.readPeople(f, s, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	b.byArm = kit.ByID(b.arms)
	for _, c := range s.Comparisons {
		if !slices.ContainsFunc(b.compared, func(o study.Compare) bool { return o.A == c.A && o.B == c.B }) {
			b.compared = append(b.compared, c)
		}
	}
	for _, row := range b.changedJudges().Rows {
		b.warnings = append(b.warnings, fmt.Sprintf("%s is judged by %s and %s by %s: their judged difference may be that of the judges", row[0], row[1], row[2], row[3]))
	}
	return b, nil
}

func (b *Bench) load(f *study.File, s *Study, errs *study.Errors) {
	unknown := map[string]int{}
	for i, source := range s.Records {
		key := fmt.Sprintf("data[%d].path", i)
		d, err := format.Read(f.Resolve(source.Path), format.Options{Offsets: source.Offsets})
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = f.Errorf(key, "%w", err)
			}
			kit.AddAll(errs, err)
			continue
		}
		b.warnings = append(b.warnings, d.Warnings...)
		docs := d.Docs
		if source.Count > 0 {
			docs = docs[:min(source.Count, len(docs))]
		}
		for _, doc := range docs {
			if at, ok := b.byID[doc.ID]; ok {
				if b.records[at].Text == doc.Text && d.Format == format.Snapshot {
					continue // another snapshot of the same prompts
				}
				errs.Add(f.Errorf(key, "duplicate id %q: %s has it too", doc.ID, b.records[at].Group))
				continue
			}
			doc.Group = cmp.Or(source.Group, doc.Group, groupOf(source.Path))
			if d.Format == format.Snapshot { // its spans are answers, not gold
				doc.Spans, doc.Labelled, doc.Result = nil, false, nil
			}
			for k := range doc.Spans {
				if !b.taxonomy.Known(doc.Spans[k].Role) {
					unknown[doc.Spans[k].Role]++
				}
			}
			b.byID[doc.ID] = len(b.records)
			b.records = append(b.records, record{Doc: doc})
		}
	}
	for _, role := range slices.Sorted(maps.Keys(unknown)) {
		errs.Add(f.Errorf("taxonomy", "gold has the role %q, %s, which the taxonomy does not have%s", role, text.Plural(unknown[role], "time", "times"), kit.DidYouMean(role, b.taxonomy.Roles())))
	}
	// In the order of ids: the order of the files has no effect.
	slices.SortFunc(b.records, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
	for i := range b.records {
		r := &b.records[i]
		b.byID[r.ID] = i
		r.gold = b.spansOf(r.Spans, false)
		slices.SortFunc(r.gold, span.Compare)
		b.items = append(b.items, r.item())
	}
	for i, role := range b.taxonomy.Roles() {
		b.roles[role] = i
	}
	if len(b.records) == 0 && errs.Err() == nil {
		errs.Add(f.Errorf("data", "there are no texts"))
	}
}

// groupOf is the name of a file without its folder and extensions.
func groupOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// spansOf converts spans for matching, by role or by category. A span without a
// place matches nothing.
func (b *Bench) spansOf(spans []label.Span, categories bool) []span.Span {
	out := make([]span.Span, len(spans))
	for i, s := range spans {
		role := b.taxonomy.Canonical(s.Role)
		if categories {
			role = b.taxonomy.Category(role)
		}
		out[i] = span.Span{Start: s.Start, End: s.End, Label: role}
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

// plan makes the arms: every labeller on each of its models, files, pipelines, and
// the calibration arms if there are a judge and gold.
func (b *Bench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "labeller", "use lexicon, spans, outputs, exec, http or run", errs)
	kit.CheckNames(p, s.Labellers, func(e Labeller) string { return e.Name })
	for i := range s.Labellers {
		b.entry(p, i, &s.Labellers[i])
	}
	if b.judge == nil {
		return
	}
	if slices.ContainsFunc(b.records, func(r record) bool { return len(r.Spans) > 0 }) {
		b.calibration(calibrationGold, func(r *record) []label.Span { return r.Spans })
		b.calibration(calibrationPlanted, func(r *record) []label.Span { return b.planted(r) })
	}
	for _, a := range b.arms {
		if len(a.Judges) == 0 {
			a.Judges = []string{b.judge.ID}
		}
	}
}

func (b *Bench) calibration(id string, local func(*record) []label.Span) {
	b.add(id, &arm{local: local, Arm: kit.Local(eval.RoleCalibration, id, "1")})
}

func (b *Bench) add(name string, a *arm) {
	a.Place("labeller", name)
	b.arms = append(b.arms, a)
}

// entry makes the arms of one entry of the study.
func (b *Bench) entry(p *kit.Planner, i int, e *Labeller) {
	given := kit.Given(e.Outside, kit.Way{Key: "prompt", Value: e.Prompt}, kit.Way{Key: "path", Value: e.Path},
		kit.Way{Key: "builtin", Value: e.Builtin}, kit.Way{Key: "spans", Value: e.Spans})
	if !p.One(i, e.Name, given) {
		return
	}
	if len(given) == 0 {
		e.Builtin, given = e.Name, []string{"builtin"}
	}
	prompt := e.Prompt
	switch given[0] {
	case "outputs", "exec", "http", "run":
		if a, ok := p.Pipeline(i, e.Name, e.Models, e.Outside); ok {
			b.add(e.Name, &arm{Arm: a})
		}
		return
	case "spans":
		p.NoModels(i, e.Name, e.Models)
		b.recordedArm(p, i, e)
		return
	case "path":
		text, ok := p.Text(i, e.Path, "prompt")
		if !ok {
			return
		}
		prompt = text
	case "builtin":
		switch e.Builtin {
		case builtinLexicon:
			p.NoModels(i, e.Name, e.Models)
			b.lexiconArm(p, i, e)
			return
		case builtinLabeller:
			prompt = labellerPrompt
		default:
			p.Fault(p.Key(i), "labeller %q: no built-in labeller %q; give it one of prompt, path, spans, outputs, exec, http, run", e.Name, e.Builtin)
			return
		}
	}
	if n := strings.Count(prompt, rolesHole); n != 1 {
		p.Fault(p.Key(i), "labeller %q contains %s %s: want it once, in place of the roles", e.Name, rolesHole, text.Plural(n, "time", "times"))
		return
	}
	for _, on := range p.OnModels(i, e.Name, e.Models) {
		a := &arm{Arm: on, system: b.render(prompt)}
		r := kit.RequestTo(a.Settings)
		a.Hash = kit.Hash(r.Key(), a.Settings.Structured, a.system, PromptVersion).String()
		b.add(e.Name, a)
	}
}

func (b *Bench) lexiconArm(p *kit.Planner, i int, e *Labeller) {
	data, key := videoLexicon, p.Key(i)
	if e.Lexicon != "" {
		key += ".lexicon"
		var err error
		if data, err = dataset.ReadFile(p.Prompt(e.Lexicon)); err != nil {
			p.Fault(key, "reading the lexicon: %v", err)
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
	b.add(e.Name, &arm{local: func(r *record) []label.Span { return l.label(r.Text) }, Arm: kit.Local(eval.RoleArm, builtinLexicon, "1", string(data))})
}

// recordedArm is an arm whose answers, and for a snapshot judgements, are in a
// file.
func (b *Bench) recordedArm(p *kit.Planner, i int, e *Labeller) {
	path := p.Resolve(e.Spans)
	content, err := dataset.ReadFile(path)
	if err != nil {
		p.Fault(p.Key(i)+".spans", "reading spans: %v", err)
		return
	}
	d, err := format.Read(path, format.Options{Offsets: e.Offsets, System: e.System})
	if err != nil {
		p.Fault(p.Key(i)+".spans", "reading spans: %v", err)
		return
	}
	b.warnings = append(b.warnings, d.Warnings...)
	a := &arm{recorded: map[string]*format.Doc{}}
	known, different := 0, 0
	for k := range d.Docs {
		doc := &d.Docs[k]
		at, ok := b.byID[doc.ID]
		switch {
		case !ok:
		case doc.Text != b.records[at].Text:
			different++
		default:
			known++
			a.recorded[doc.ID] = doc
		}
	}
	if different > 0 {
		p.Fault(p.Key(i)+".spans", "labeller %q: %s in %s another text than in the records: use the texts that were labelled", e.Name, text.Plural(different, "id has", "ids have"), e.Spans)
		return
	}
	if known == 0 {
		p.Fault(p.Key(i)+".spans", "labeller %q: %s has none of the %s of the study", e.Name, e.Spans, text.Plural(len(b.records), "text", "texts"))
		return
	}
	if missing := len(b.records) - known; missing > 0 {
		b.warnings = append(b.warnings, fmt.Sprintf("%s: %s not in it: unscored for %s", e.Spans, text.Plural(missing, "text of the study is", "texts of the study are"), e.Name))
	}
	a.Hash = kit.Hash("spans", eval.HashOf(content).String(), string(e.Offsets), e.System).String()
	if d.Format == format.Snapshot {
		a.snapshot = d.Snapshot
		a.Judges = []string{judgedBefore}
	}
	b.add(e.Name, a)
}

// Items are the texts.
func (b *Bench) Items() []eval.Item { return b.items }

// Arms are the labellers on their models, the files, the pipelines and, with a
// judge and gold, the calibration arms.
func (b *Bench) Arms() []eval.Arm { return kit.Arms(b.arms) }

// Pipelines are the external pipelines that arms call.
func (b *Bench) Pipelines() []eval.Pipeline { return kit.Pipelines(b.arms) }

// Close does nothing: the texts are in memory.
func (b *Bench) Close() error { return nil }

// Warnings are about data that look wrong but are legal.
func (b *Bench) Warnings() []string { return b.warnings }

// Capabilities are what the suite has of them.
func (b *Bench) Capabilities() eval.Capabilities {
	return eval.Capabilities{Warnings: b.Warnings, Facts: b.Facts, Report: b.Report, Ratings: b.Ratings, Calibrator: b}
}

// Facts count the texts and gold spans.
func (b *Bench) Facts() []eval.Fact {
	gold, spans := 0, 0
	for i := range b.records {
		if b.records[i].Labelled {
			gold++
			spans += len(b.records[i].Spans)
		}
	}
	return []eval.Fact{{Name: "texts with gold", N: gold}, {Name: "gold spans", N: spans}}
}

func (b *Bench) record(id string) *record {
	if i, ok := b.byID[id]; ok {
		return &b.records[i]
	}
	return nil
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
func (b *Bench) Basis(t eval.Trial) (on eval.Basis) {
	r, a := b.record(t.Item), b.byArm[t.Arm]
	if r == nil || a == nil {
		return on
	}
	gold := kit.Hash(b.reading.String(), b.items[b.byID[t.Item]].Gold.String())
	if on.Read = b.reading; a.Role == eval.RoleCalibration {
		on.Read = gold
	}
	switch {
	case a.Simulated:
		on.Asked = gold
	case a.Pipeline != nil && !a.Answered():
		on.Asked = b.reading
	}
	on.Judged = kit.Hash(b.reading.String(), verdict.PromptVersion)
	if b.judge != nil && b.judge.Provider == kit.SimulatedProvider {
		on.Judged = kit.Hash(gold.String(), verdict.PromptVersion)
	}
	return on
}

// Perform gets the arm's spans of a text.
func (b *Bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	r, a := b.record(t.Item), b.byArm[t.Arm]
	switch {
	case r == nil || a == nil:
		return eval.Outcome{}, fmt.Errorf("spans: %v is not in this study", t)
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
		o := eval.Outcome{Kind: eval.OK, Data: encodeAnswer(doc.Spans)}
		for _, n := range []struct {
			n    int
			note string
		}{{doc.Realigned, label.Realigned}, {doc.Unaligned, label.Unaligned}} {
			if n.n > 0 {
				o.Notes = append(o.Notes, fmt.Sprintf("%s %s", text.Plural(n.n, "span", "spans"), n.note))
			}
		}
		return o
	}
}

func (b *Bench) request(a *arm, r *record) (eval.Request, error) {
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
