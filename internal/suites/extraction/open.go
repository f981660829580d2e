package extraction

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The splits of a corpus.
const (
	splitDev  = "dev"
	splitTest = "test"
)

// Open binds the suite to a study: it reads and validates kernels, schemas and
// documents. The error is a [study.Errors] with all errors, each with its file
// and line.
func Open(f *study.File, s *Study) (*Bench, error) {
	var errs study.Errors
	fault := func(key, format string, args ...any) { errs.Add(f.Errorf(key, format, args...)) }
	b := &Bench{study: s, weights: s.weights(), mix: trustedJudge, byID: map[string]int32{},
		schemas: newSchemas(f.Resolve(s.Schemas)), cache: newCache(), buffers: new(sync.Pool)}
	p := newPlanner(s, f.Resolve, fault)
	p.Prompt = f.Prompt
	b.arms, b.waiting = p.plan(), p.waiting
	checkWeights(s, fault)
	b.corpus = s.open(f.Resolve, fault)
	var err error
	if b.verified, err = s.openChecklist(f.Resolve); err != nil {
		for _, e := range kit.Unjoin(err) {
			fault("data.verification", "%v", e)
		}
	}
	b.load(&errs)
	for _, id := range slices.Sorted(maps.Keys(b.verified)) {
		if _, ok := b.byID[id]; !ok {
			fault("data.verification", "the checklist has a row for %q, which is not a document of this study", id)
		}
	}
	if err := errs.Err(); err != nil {
		b.corpus.close()
		return nil, err
	}
	b.index, b.byID = eval.IndexItems(b.items), nil
	renderAll(b.arms, b.schemas.used())
	b.byArm = kit.ByID(b.arms)
	if s.JudgeModel != "" {
		at := slices.IndexFunc(s.Models, func(m study.Model) bool { return m.ID == s.JudgeModel }) // the loader checked it
		b.judgeModel = &s.Models[at]
	}
	return b, nil
}

// load reads and validates every document once and keeps what planning and
// analysis need.
func (b *Bench) load(errs *study.Errors) {
	total := 0
	for _, p := range b.corpus.parts {
		total += len(p.used)
	}
	b.items, b.places = make([]eval.Item, 0, total), make([]place, 0, total)
	strata := map[string][]eval.Level{} // shared between documents
	var buf []byte
	var d Document
	var err error
	for i, p := range b.corpus.parts {
		for _, r := range p.used {
			at := place{uint32(i), uint32(r)}
			d = Document{Truth: d.Truth[:0]}
			if buf, err = b.corpus.read(at, buf, &d, true); err != nil {
				kit.AddAll(errs, err)
				continue
			}
			d.Split = cmp.Or(d.Split, p.set)
			b.admit(at, &d, p.name, strata, errs)
			b.mostGold = max(b.mostGold, len(d.Truth))
		}
	}
}

// admit validates a document and adds its item.
func (b *Bench) admit(at place, d *Document, part string, strata map[string][]eval.Level, errs *study.Errors) {
	fault := func(format string, args ...any) { errs.Add(b.corpus.locate(at, fmt.Errorf(format, args...))) }
	if d.ID == "" {
		fault("document_id is missing: every document needs one, unique in the study")
	} else if other, dup := b.byID[d.ID]; dup {
		first := b.corpus.locate(b.places[other], errHere).Error()
		fault("duplicate document_id %q: also in %s", d.ID, strings.TrimSuffix(first, ": "+errHere.Error()))
	}
	s, err := b.schemas.get(d.Schema)
	if err != nil {
		var broken *schemaFileError
		if errors.As(err, &broken) {
			kit.AddAll(errs, broken.err)
		} else if err != errReported {
			fault("document %q: %w", d.ID, err)
		}
		return
	}
	check := d.check
	if b.study.forPeople {
		check = d.checkText
	}
	if err := check(s, func(text string) { b.warn(at, text) }); err != nil {
		for _, e := range kit.Unjoin(err) {
			fault("%w", e)
		}
	}
	b.unannotated += len(s.Fields) - len(d.Truth)
	b.byID[d.ID] = int32(len(b.items))
	b.places, b.schemaOf = append(b.places, at), append(b.schemaOf, s)
	docType := d.DocType
	if docType == "" {
		docType = s.Name
	}
	key := strings.Join([]string{docType, d.Difficulty, part}, "\x00")
	if strata[key] == nil {
		strata[key] = strataOf(docType, d.Difficulty, part)
	}
	if d.Split == splitDev && b.study.Split != study.SplitTest { // a TEST run has no DEV trials
		b.hasDev = true
	}
	gold := d.goldHash()
	if v, ok := b.verified[d.ID]; ok { // a filled-in checklist changes scores as gold does
		gold = kit.Hash(gold.String(), string(v[:]))
	}
	b.items = append(b.items, eval.Item{ID: d.ID, Split: d.Split, Strata: strata[key],
		Cluster: d.Cluster, Input: d.inputHash(), Gold: gold})
}

// mostWarnings is the number of warnings about data that are kept.
const mostWarnings = 200

func (b *Bench) warn(at place, text string) {
	if b.doubtful++; b.doubtful <= mostWarnings {
		b.warnings = append(b.warnings, b.corpus.locate(at, errors.New(text)).Error())
	}
}

// Warnings are about gold that looks wrong but is legal.
func (b *Bench) Warnings() []string {
	if more := b.doubtful - len(b.warnings); more > 0 {
		return append(slices.Clip(b.warnings), fmt.Sprintf("and %d more values of gold like these", more))
	}
	return b.warnings
}

// Capabilities are what the suite has of them.
func (b *Bench) Capabilities() eval.Capabilities {
	return eval.Capabilities{Warnings: b.Warnings, Facts: b.Facts, Report: b.Report, Records: b.Records, Ratings: b.Ratings, Calibrator: b, Annotated: b}
}

// Facts counts the prompts that cannot run; strata count the documents.
func (b *Bench) Facts() []eval.Fact {
	if b.waiting == 0 {
		return nil
	}
	return []eval.Fact{{Name: "prompts in kernels/ without a model", N: b.waiting}}
}

func strataOf(docType, difficulty, part string) []eval.Level {
	list := []eval.Level{{Name: "doc_type", Value: docType}}
	if difficulty != "" {
		list = append(list, eval.Level{Name: "difficulty", Value: difficulty})
	}
	if part != "" {
		list = append(list, eval.Level{Name: "source", Value: part})
	}
	return list
}

// errHere is an empty error to locate a document with.
var errHere = errors.New("this document")

// checkWeights checks that the weights belong to components of the composite
// and sum to 1.
func checkWeights(s *Study, fault func(key, format string, args ...any)) {
	given := s.Metrics.CompositeWeights
	components := []string{metricValue, metricEvidence, metricPage, metricStatus, metricSchema}
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		sum += given[name]
		if !slices.Contains(components, name) {
			fault("metrics.composite_weights."+name, "the composite has no component %q%s: want one of %s", name, kit.DidYouMean(name, components), joined(components))
		}
	}
	if len(given) > 0 && math.Abs(sum-1) > 1e-9 {
		fault("metrics.composite_weights", "the weights sum to %.10g, want 1", sum)
	}
}
