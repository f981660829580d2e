package extraction

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A bench is the suite bound to one study. It is safe for
// concurrent use.
type bench struct {
	kit.Base[*kept, *arm]

	study      *Study
	weights    Weights
	judgeModel *study.Model // nil: the deterministic judge
	mix        mix
	waiting    int // prompts of the folder kernels that have no model

	parts    []part
	schemas  *schemas
	recent   *recent
	verified map[string]verification // rows of the checklist by document
	plain    bool                    // prompts ask for values without evidence
	listed   bool                    // the study names precision, recall or F1
	hasDev   bool                    // there are dev documents: the judge is calibrated on them

	// unannotated counts fields without gold. They are requested but not scored.
	unannotated int
	// ambiguous counts the fields with ambiguous gold.
	ambiguous, fields int
	members           map[string]bool // further members of documents
	warnings          []string        // the first of the doubtful values of gold
	doubtful          int
}

// A kept document is what is kept of one in memory.
type kept struct {
	place
	schema *Schema
}

// open binds the suite to a study: it reads and validates kernels, schemas and
// documents. The error is a [study.Errors] with all errors, each with its file
// and line.
func open(f *study.File, s *Study) (*bench, error) {
	var errs study.Errors
	fault := func(key, format string, args ...any) { errs.Add(f.Errorf(key, format, args...)) }
	b := &bench{study: s, weights: s.weights(), mix: trustedJudge, schemas: newSchemas(f.Resolve(s.Schemas)), recent: new(recent)}
	if s.JudgeModel != "" {
		b.judgeModel = s.Judge()
	}
	b.plain = s.plain()
	for _, name := range slices.Concat(s.Metrics.Primary, s.Metrics.Secondary) {
		b.listed = b.listed || slices.Contains([]string{metricPrecision, metricRecall, metricF1}, name)
	}
	p := planner{bench: b, Planner: kit.NewPlanner(f, &s.Study, "kernel", "use builtin: heuristic to run without a model", &errs)}
	p.Skip = "" // the judge runs kernels too
	p.plan()
	checkWeights(s, fault)
	b.parts = s.open(f.Resolve, fault)
	if checklist := s.Documents.Verification; checklist != "" {
		var err error
		b.verified, err = readChecklist(table.Read(f.Resolve(checklist)))
		for _, e := range kit.Unjoin(err) {
			fault("data.verification", "%v", e)
		}
	}
	b.load(&errs)
	for _, id := range slices.Sorted(maps.Keys(b.verified)) {
		if b.Datum(id) == nil {
			fault("data.verification", "the checklist has a row for %q, which is not a document of this study", id)
		}
	}
	b.checkLists(fault)
	b.checkMapping(fault)
	if err := errs.Err(); err != nil {
		b.Close()
		return nil, err
	}
	renderAll(b.OwnArms, b.schemas.used(), b.plain)
	for _, s := range b.schemas.used() {
		s.ofValues, s.null = b.plain, nullAnswer(s)
	}
	return b, nil
}

// checkWeights checks that the weights belong to components of the composite
// and sum to 1.
func checkWeights(s *Study, fault func(key, format string, args ...any)) {
	components := []string{metricValue, metricEvidence, metricPage, metricStatus, metricSchema}
	given, sum := s.Metrics.CompositeWeights, 0.0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if sum += given[name]; !slices.Contains(components, name) {
			fault("metrics.composite_weights."+name, "the composite has no component %q%s: want one of %s", name,
				text.DidYouMean(name, components), strings.Join(components, ", "))
		}
	}
	if len(given) > 0 && math.Abs(sum-1) > 1e-9 {
		fault("metrics.composite_weights", "the weights sum to %.10g, want 1", sum)
	}
}

// checkLists checks the lists that the study names.
func (b *bench) checkLists(fault func(key, format string, args ...any)) {
	members := map[string][]string{} // of the records of a list
	for _, s := range b.schemas.used() {
		for _, f := range s.Fields {
			for list := listOf(f.Name); list != ""; {
				name := strings.TrimSuffix(list, "[]")
				members[name] = append(members[name], strings.TrimPrefix(f.Name, list+"."))
				list = listOf(name)
			}
		}
	}
	names := slices.Sorted(maps.Keys(members))
	for _, name := range slices.Sorted(maps.Keys(b.study.Lists)) {
		of, known := members[name]
		if !known {
			fault("lists."+name, "no schema has a list %q%s: the lists are %s", name, text.DidYouMean(name, names),
				cmp.Or(strings.Join(names, ", "), "none"))
		}
		for _, k := range b.study.Lists[name].Keys {
			if known && (inList(k) || !slices.Contains(of, k)) {
				fault("lists."+name+".keys", "records of %s have no member %q%s", name, k, text.DidYouMean(k, of))
			}
		}
	}
}

// load reads and validates every document once and keeps what planning and
// analysis need. An error that several documents have is reported once.
func (b *bench) load(errs *study.Errors) {
	strata := map[string][]eval.Level{} // shared between documents
	first := map[string]place{}         // by id
	var items []eval.Item
	type cause struct {
		error
		others int
	}
	found, order := map[string]*cause{}, []*cause{}
	b.members = map[string]bool{}
	for _, p := range b.parts {
		if f, ok := p.source.(*folder); ok && len(f.unused) > 0 {
			b.warn(place{f.records, f.unused[0]}, text.Plural(len(f.unused), "record belongs", "records belong")+" to no document of the folder: this is the first of them")
		}
		for _, i := range p.used {
			at := place{p.source, i}
			d, err := at.read(true)
			if err != nil {
				kit.AddAll(errs, err)
				continue
			}
			d.Split = cmp.Or(d.Split, p.set)
			d.Schema = cmp.Or(d.Schema, b.study.Documents.Schema)
			for _, name := range d.members {
				b.members[name] = true
			}
			s, it, wrong := b.admit(at, &d, first, strata, p.name)
			if s != nil {
				b.Data, items = append(b.Data, &kept{at, s}), append(items, it)
			}
			for _, e := range wrong {
				what := strings.TrimPrefix(e.Error(), fmt.Sprintf("document %q: ", d.ID))
				if found[what] != nil {
					found[what].others++
					continue
				}
				found[what] = &cause{error: at.locate(e)}
				order = append(order, found[what])
			}
		}
	}
	b.FillInOrder(b.Data, items)
	kit.AddAll(errs, errors.Join(b.schemas.broken...))
	for _, c := range order {
		if c.others == 0 {
			errs.Add(c.error)
		} else {
			errs.Add(fmt.Errorf("%w (and in %s)", c.error, text.Plural(c.others, "other document", "other documents")))
		}
	}
}

// admit validates a document, and makes its item if it has a schema.
func (b *bench) admit(at place, d *Document, first map[string]place, strata map[string][]eval.Level, part string) (s *Schema, it eval.Item, errs []error) {
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if d.ID == "" {
		fault("document_id is missing: every document needs one, unique in the study")
	} else if other, dup := first[d.ID]; dup {
		fault("duplicate document_id %q: also in %s", d.ID, strings.TrimSuffix(other.locate(errHere).Error(), ": "+errHere.Error()))
	}
	s, err := b.schemas.get(d.Schema)
	if err != nil {
		fault("document %q: %w", d.ID, err)
	}
	if s == nil {
		return nil, it, errs
	}
	if err := d.expand(s, func(text string) { b.warn(at, text) }); err != nil {
		return nil, it, kit.Unjoin(err)
	}
	for _, e := range kit.Unjoin(d.check(s, goldRules{mayBeEmpty: b.study.forPeople, plain: b.plain}, func(text string) { b.warn(at, text) })) {
		fault("%w", e)
	}
	if !s.nested {
		b.unannotated += len(s.Fields) - len(d.Truth)
	}
	for i := range d.Truth {
		b.fields++
		if d.Truth[i].Ambiguous {
			b.ambiguous++
		}
	}
	first[d.ID] = at
	docType := cmp.Or(d.DocType, s.Name)
	levels, _ := b.study.Documents.levels(d)
	key := fmt.Sprintf("%q", append([]eval.Level{{Name: docType, Value: d.Difficulty}, {Name: part}}, levels...))
	if strata[key] == nil {
		own := []eval.Level{{Name: "doc_type", Value: docType}, {Name: "difficulty", Value: d.Difficulty}, {Name: "source", Value: part}}
		strata[key] = append(slices.DeleteFunc(own, func(l eval.Level) bool { return l.Value == "" }), levels...)
	}
	if d.Split == study.SplitDev && b.study.Split != study.SplitTest { // a TEST run has no DEV trials
		b.hasDev = true
	}
	gold := d.goldHash()
	if v, ok := b.verified[d.ID]; ok { // a filled-in checklist changes scores as gold does
		gold = kit.Hash(gold.String(), string(v[:]))
	}
	return s, eval.Item{ID: d.ID, Split: d.Split, Strata: strata[key],
		Cluster: d.Cluster, Input: d.inputHash(), Material: kit.Hash("text", d.Text), Gold: gold}, errs
}

// errHere is an empty error to locate a document with.
var errHere = errors.New("this document")

// mostWarnings is the number of warnings about data that are kept.
const mostWarnings = 200

func (b *bench) warn(at place, text string) {
	if b.doubtful++; b.doubtful <= mostWarnings {
		b.warnings = append(b.warnings, at.locate(errors.New(text)).Error())
	}
}

// Close closes the document files.
func (b *bench) Close() error {
	var errs []error
	for _, p := range b.parts {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Capabilities are what the suite has of them.
func (b *bench) Capabilities() eval.Capabilities {
	return eval.Capabilities{Warnings: b.Warnings, Notes: b.notes, Facts: b.Facts, Report: b.Report, Records: b.Records, Ratings: b.Ratings, Calibrator: b, Annotated: b}
}

// Warnings are about gold that looks wrong but is legal.
func (b *bench) Warnings() []string {
	list := slices.Clip(b.warnings)
	if more := b.doubtful - len(b.warnings); more > 0 {
		list = append(list, fmt.Sprintf("and %d more values of gold like these", more))
	}
	if b.plain && b.ambiguous > 0 {
		list = append(list, fmt.Sprintf("%d of %s with gold are ambiguous, of which no plain answer is right: it cannot say so", b.ambiguous, text.Plural(b.fields, "field", "fields")))
	}
	return list
}

// notes list the members of documents that Scruple does not know, once.
func (b *bench) notes() []string {
	named := b.study.Documents.named()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(b.members)), func(name string) bool { return slices.Contains(named, name) })
	if len(names) == 0 {
		return nil
	}
	return []string{"data: other members, shown beside the document: " + text.Shorten(strings.Join(names, ", "), 300) + "; data.strata breaks results down by them"}
}

// checkMapping reports keys of the mapping that documents do not have, and what it names and no
// document has.
func (b *bench) checkMapping(fault func(key, format string, args ...any)) {
	m := &b.study.Documents.Mapping
	known := slices.Sorted(maps.Keys(b.members))
	has := func(key, name string) {
		if !b.members[name] && len(b.members)+len(b.Data) > 0 { // if there is no document, another error says why
			fault(key, "no document has %q%s", name, text.DidYouMean(name, known))
		}
	}
	for i, name := range m.Strata {
		has(fmt.Sprintf("data.strata[%d]", i), name)
	}
	for _, field := range slices.Sorted(maps.Keys(m.GoldColumns)) {
		has("data.gold_columns."+field, m.GoldColumns[field])
	}
	for _, key := range slices.Sorted(maps.Keys(m.Columns)) {
		if !slices.Contains(ownKeys, key) {
			fault("data.columns."+key, "documents have no %q%s: want one of %s", key, text.DidYouMean(key, ownKeys),
				strings.Join(ownKeys, ", "))
		} else if name := m.Columns[key]; name != "" {
			has("data.columns."+key, name)
		}
	}
}

// Facts counts the prompts that cannot run; strata count the documents.
func (b *bench) Facts() []eval.Fact {
	if b.waiting == 0 {
		return nil
	}
	return []eval.Fact{{Name: "prompts in kernels/ without a model", N: b.waiting}}
}

// Basis returns what a trial depends on beside the document and the prompt: the fields of
// the schema that programs are sent, and the gold that simulated models and the calibration
// arm answer from, and that decides which quotes the judge is asked about.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	d, a, err := b.Of(t)
	if err != nil {
		return on
	}
	it, schema := b.Item(t.Item), d.schema.sum
	gold := kit.Hash(it.Gold.String(), schema)
	switch {
	case a.Simulated:
		on.Asked = gold
	case a.Pipeline != nil && !a.Answered():
		on.Asked = kit.Hash(schema)
	case a.Pipeline != nil:
		on.Read = kit.Hash(schema) // a plain answer is read by its fields
	case a.Role == eval.RoleCalibration:
		if b.calibrates(it.Split) {
			on.Read = gold
		}
	case a.local != nil:
		on.Read = kit.Hash(schema)
	}
	if b.judgeModel != nil {
		on.Judged = gold
		if len(b.study.Lists) > 0 || b.study.Quotes != "" { // they decide which quotes are of right values
			on.Judged = kit.HashOf(gold.String(), b.study.Lists, b.study.Quotes)
		}
	}
	return on
}

// calibrates reports whether the judge is calibrated on the documents of a split.
func (b *bench) calibrates(split string) bool { return !b.hasDev || split == study.SplitDev }

// Perform gets the arm's answer for the document. It makes at most one call.
func (b *bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	a := b.Arm(t.Arm)
	if a == nil {
		return eval.Outcome{}, fmt.Errorf("extraction: no arm %q in this study", t.Arm)
	}
	d, err := b.read(t.Item, a.needsGold())
	if err != nil {
		return eval.Outcome{}, err
	}
	if a.local != nil {
		if a.Role == eval.RoleCalibration && !b.calibrates(d.Split) {
			return eval.Outcome{Kind: eval.OK, Data: []byte(answerText([]Entry{}))}, nil
		}
		return eval.Outcome{Kind: eval.OK, Data: []byte(a.local(d))}, nil
	}
	r, err := a.request(d)
	if err != nil {
		return eval.Outcome{}, err
	}
	response, err := ask.Ask(ctx, "extract", r)
	if err != nil {
		return eval.Outcome{}, err
	}
	o := kit.Outcome(response, r.Force, reasonDeclined)
	if o.Kind == eval.OK {
		o = outcomeOf(string(o.Data), response.Stop, d.schema)
	}
	return o, nil
}

// needsGold reports whether the arm answers from gold.
func (a *arm) needsGold() bool { return a.Simulated || a.Role == eval.RoleCalibration }

// outcomeOf parses an answer and stores it unchanged.
func outcomeOf(answer string, stop eval.Stop, s *Schema) eval.Outcome {
	o := eval.Outcome{Kind: eval.OK, Data: []byte(answer)}
	a, err := readAnswer(answer, s)
	if e, malformed := err.(*readError); malformed {
		o.Kind, o.Reason, o.Detail = eval.Malformed, e.reason, e.Error()
	}
	if a.Repaired {
		o.Notes = append(o.Notes, noteRepaired)
	}
	if a.Plain != nil {
		o.Notes = append(o.Notes, notePlain)
	}
	if a.Several {
		o.Notes = append(o.Notes, eval.NoteSeveral)
	}
	if a.Wrapped {
		o.Notes = append(o.Notes, eval.NoteLenient)
	}
	if a.Cut || stop == eval.StopLength {
		o.Notes = append(o.Notes, eval.NoteTruncated)
	}
	return o
}

// request makes the arm's request about a document.
func (a *arm) request(d *prepared) (eval.Request, error) {
	if a.Pipeline != nil {
		return a.RequestOutside(d.ID, func() any { return payload{d.ID, d.Text, d.schema.Name, d.schema.Fields, d.schema.json} })
	}
	r := a.modelRequest(d.schema, d.Text)
	r.Item = d.ID
	if a.Simulated {
		r.Payload = answerSheet(d.ready(), a.skilled)
	}
	return r, nil
}

// modelRequest has the rendered kernel as system prompt and the document,
// byte for byte, as its only message.
func (a *arm) modelRequest(s *Schema, document string) eval.Request {
	r, prompt := kit.RequestTo(a.Settings), a.prompts[s]
	r.System = prompt.system
	r.Messages = []eval.Message{{Role: "user", Content: document}}
	kit.Structure(&r, a.Settings, eval.Schema{Name: "extractions", Strict: true, JSON: prompt.answer},
		eval.Tool{Name: toolName, Description: "Reports the fields extracted from the document."})
	return r
}

// toolName names the tool for models with structured: tool.
const toolName = "report_extractions"

// A payload is the JSON request to an external pipeline.
type payload struct {
	DocumentID string          `json:"document_id"`
	Text       string          `json:"text"`
	Schema     string          `json:"schema"`
	Fields     []Field         `json:"fields"`
	JSONSchema json.RawMessage `json:"json_schema,omitempty"` // of a nested schema
}

// Score turns the outcomes of a case into fractions. It depends only on them
// and the document.
func (b *bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	d, err := b.document(c.Item)
	role := eval.RoleArm
	if arm := b.Arm(c.Arm); arm != nil {
		role = arm.Role
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		if err == nil {
			return b.score(dst, d.ready(), &t.Outcome, t.Verdicts, role)
		}
		for _, m := range metrics() {
			if m.Kind == eval.Scoring && m.Name != metricGoldVerified {
				dst = append(dst, eval.Score{Metric: m.Name, Unscored: err.Error()})
			}
		}
		return dst
	})
}

// score lists the scores of an outcome: by field in schema order, then those of
// the whole answer.
func (b *bench) score(dst []eval.Score, d *prepared, o *eval.Outcome, vs []eval.Verdict, role eval.Role) []eval.Score {
	x, results := b.assess(d, o, vs)
	m := emitter{scores: dst, plain: b.plain}
	if d.schema.nested {
		m.at = map[[3]string]int{}
	}
	for i := range results {
		m.field(&results[i], b.weights)
	}
	m.answer(o, x, results)
	if d.schema.nested || b.plain || b.listed {
		m.values(results, x.surplus)
		m.add(metricLongList, kit.Indicator(len(x.long) > 0), 1)
	}
	if role == eval.RoleBaseline {
		m.distribution(d.points, b.weights)
		confirmed, checked := b.verified[d.ID].counts()
		m.rate(metricGoldVerified, float64(confirmed), float64(checked))
		if !b.plain {
			m.ceiling(d.assess(d.perfect(), b.mix, deterministic), b.weights)
		}
	}
	return m.scores
}

// assess parses an outcome and scores its fields.
func (b *bench) assess(d *prepared, o *eval.Outcome, vs []eval.Verdict) (*arranged, []result) {
	x := d.arrange(answerOf(o, d.schema))
	x.plain = x.plain || b.plain && o.Kind != eval.OK
	return x, x.assess(d, b.mix, b.judge(vs))
}

// answerOf parses an outcome. In a malformed or refused answer every field is omitted.
func answerOf(o *eval.Outcome, s *Schema) (a Answer) {
	if o.Kind == eval.OK {
		a, _ = readAnswer(string(o.Data), s) // it parsed when the outcome was stored
		a.Cut = a.Cut || slices.Contains(o.Notes, eval.NoteTruncated)
	}
	return a
}
