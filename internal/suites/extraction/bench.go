package extraction

import (
	"context"
	"fmt"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Bench is the suite bound to one study. It is safe for
// concurrent use.
type Bench struct {
	study      *Study
	weights    Weights
	judgeModel *study.Model // nil: the deterministic judge
	mix        mix

	schemas  *schemas
	corpus   *corpus
	items    []eval.Item
	places   []place          // of items
	schemaOf []*Schema        // of items
	byID     map[string]int32 // while loading
	index    *eval.ItemIndex  // after loading
	mostGold int              // the largest number of annotated fields in a document
	buffers  *sync.Pool       // of *[]byte: raw records
	hasDev   bool             // there are dev documents: the judge is calibrated on them
	// unannotated counts fields without gold. They are requested but not scored.
	unannotated int
	warnings    []string // the first of the doubtful values of gold
	doubtful    int
	verified    map[string]verification // rows of the checklist by document

	arms    []*arm
	waiting int // prompts of the folder kernels that have no model
	byArm   map[string]*arm
	cache   *cache
}

// Items are the documents.
func (b *Bench) Items() []eval.Item { return b.items }

// Arms are the kernels on their models, the null baseline, and the calibration
// arm if there is a judge.
func (b *Bench) Arms() []eval.Arm { return kit.Arms(b.arms) }

// Pipelines are the external pipelines that arms call.
func (b *Bench) Pipelines() []eval.Pipeline { return kit.Pipelines(b.arms) }

// Close closes the document files.
func (b *Bench) Close() error { return b.corpus.close() }

// A prepared document has its schema and, once ready is called, its text index
// and annotated fields.
type prepared struct {
	Document
	schema *Schema
	item   int32
	split  string
	gold   bool // Truth was decoded

	once   sync.Once
	index  *text.Index
	points []point // annotated fields in the schema's order
}

// document reads a document with its gold.
func (b *Bench) document(id string) (*prepared, error) { return b.read(id, true) }

// read returns a document from the cache or the file. Decoding without gold
// takes half the time.
func (b *Bench) read(id string, gold bool) (*prepared, error) {
	place, ok := b.index.Find(id)
	if !ok {
		return nil, fmt.Errorf("extraction: no document %q in this study", id)
	}
	item := int32(place)
	if d := b.cache.get(item); d != nil && (d.gold || !gold) {
		return d, nil
	}
	d := &prepared{item: item, split: b.items[item].Split, gold: gold}
	if gold {
		d.Truth = make([]Gold, 0, b.mostGold)
	}
	buf, _ := b.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer b.buffers.Put(buf)
	var err error
	if *buf, err = b.corpus.read(b.places[item], *buf, &d.Document, gold); err != nil {
		return nil, err
	}
	if d.schema, err = b.schemas.get(d.Schema); err != nil {
		return nil, fmt.Errorf("document %q changed since it was checked: %w", id, err)
	}
	return b.cache.put(d), nil
}

// ready builds the index and lists the annotated fields, once.
func (d *prepared) ready() *prepared {
	d.once.Do(func() {
		index, err := text.NewIndex(d.Text)
		if err != nil { // it was valid on load: the file has changed
			index, _ = text.NewIndex("")
		}
		d.index = index
		for _, f := range d.schema.Fields {
			for i := range d.Truth {
				if d.Truth[i].Field == f.Name {
					d.points = append(d.points, point{f, &d.Truth[i], index})
				}
			}
		}
	})
	return d
}

// Basis returns what a trial depends on beside the document and the prompt: the fields of
// the schema that programs are sent, and the gold that simulated models and the calibration
// arm answer from, and that decides which quotes the judge is asked about.
func (b *Bench) Basis(t eval.Trial) (on eval.Basis) {
	a := b.byArm[t.Arm]
	place, ok := b.index.Find(t.Item)
	if a == nil || !ok {
		return on
	}
	it, schema := &b.items[place], b.schemaOf[place].sum
	gold := kit.Hash(it.Gold.String(), schema)
	switch {
	case a.Simulated:
		on.Asked = gold
	case a.Pipeline != nil && !a.Answered():
		on.Asked = kit.Hash(schema)
	case a.Role == eval.RoleCalibration:
		if !b.hasDev || it.Split == splitDev {
			on.Read = gold
		}
	case a.local != nil:
		on.Read = kit.Hash(schema)
	}
	if b.judgeModel != nil {
		on.Judged = gold
	}
	return on
}

// Perform gets the arm's answer for the document. It makes at most one call.
func (b *Bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	a := b.byArm[t.Arm]
	if a == nil {
		return eval.Outcome{}, fmt.Errorf("extraction: no arm %q in this study", t.Arm)
	}
	d, err := b.read(t.Item, a.needsGold())
	if err != nil {
		return eval.Outcome{}, err
	}
	if a.local != nil {
		if a.Role == eval.RoleCalibration && b.hasDev && d.split != splitDev {
			return eval.Outcome{Kind: eval.OK, Data: []byte(`{"extractions":[]}`)}, nil
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
	answer := response.Answer(r.Force)
	if response.Stop == eval.StopRefused {
		return eval.Outcome{Kind: eval.Refused, Reason: reasonDeclined, Detail: response.Refusal, Data: []byte(answer)}, nil
	}
	return outcomeOf(answer, response.Stop), nil
}

// needsGold reports whether the arm's answer depends on gold.
func (a *arm) needsGold() bool { return a.Simulated || a.Role == eval.RoleCalibration }

// outcomeOf parses an answer and stores it unchanged.
func outcomeOf(answer string, stop eval.Stop) eval.Outcome {
	o := eval.Outcome{Kind: eval.OK, Data: []byte(answer)}
	a, err := ReadAnswer(answer)
	if err != nil {
		o.Kind, o.Reason, o.Detail = eval.Malformed, ReadReason(err), err.Error()
	}
	if a.Repaired {
		o.Notes = append(o.Notes, noteRepaired)
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
		return a.RequestOutside(d.ID, func() any { return payload{d.ID, d.Text, d.schema.Name, d.schema.Fields} })
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
	DocumentID string  `json:"document_id"`
	Text       string  `json:"text"`
	Schema     string  `json:"schema"`
	Fields     []Field `json:"fields"`
}

// Score turns the outcomes of a case into fractions. It depends only on them
// and the document.
func (b *Bench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	d, err := b.document(c.Item)
	if err == nil {
		d = d.ready()
	}
	role := eval.RoleArm
	if arm := b.byArm[c.Arm]; arm != nil {
		role = arm.Role
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		if err != nil {
			for _, m := range metrics() {
				if m.Kind == eval.Scoring && m.Name != metricGoldVerified {
					dst = append(dst, eval.Score{Metric: m.Name, Unscored: err.Error()})
				}
			}
			return dst
		}
		return b.score(dst, d, &t.Outcome, t.Verdicts, role)
	})
}

// score lists the scores of an outcome: by field in schema order, then those of
// the whole answer.
func (b *Bench) score(dst []eval.Score, d *prepared, o *eval.Outcome, vs []eval.Verdict, role eval.Role) []eval.Score {
	a, results := b.assess(d, o, vs)
	m := emitter{scores: dst}
	for i := range results {
		m.field(&results[i], b.weights)
	}
	m.answer(o, a, d.schema, results)
	if role == eval.RoleBaseline {
		m.distribution(d.points, b.weights)
		confirmed, checked := b.verified[d.ID].counts()
		m.rate(metricGoldVerified, confirmed, checked)
		m.ceiling(d.assess(d.perfect(), b.mix, deterministic), b.weights)
	}
	return m.scores
}

// assess parses an outcome and scores its fields.
func (b *Bench) assess(d *prepared, o *eval.Outcome, vs []eval.Verdict) (Answer, []result) {
	return b.assessWith(d, o, b.mix, b.judge(vs))
}

// assessWith is assess with another mix and judge. In a malformed or refused
// answer every field is omitted.
func (b *Bench) assessWith(d *prepared, o *eval.Outcome, m mix, ask judge) (Answer, []result) {
	var a Answer
	if o.Kind == eval.OK {
		a, _ = ReadAnswer(string(o.Data)) // it parsed when the outcome was stored
	}
	return a, d.assess(a, m, ask)
}
