package atoms

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A bench is the suite bound to a study of extractors. It is safe for
// concurrent use.
type bench struct {
	kit.Base[*sample, *arm]
	ontology *ontology.Ontology
	judge    *study.Model // nil: the judge by rules
	quality  *quality     // of the judge; nil if it is not known
	byChance bool         // the judge is no better than chance
	judging  Judging
	root     string    // folder of the study
	schema   []byte    // of candidates
	reading  eval.Hash // of the ontology
}

type arm struct {
	kit.Arm
	instructions string                               // of the pipeline; "" for other arms
	folder       map[string]*bundle                   // by case; nil for other arms
	local        func(c *sample, b *bench) []okf.File // answers without a call
}

// The built-in extractors.
const (
	builtinPipeline = "pipeline"
	builtinOutline  = "outline"
	outlineVersion  = "1"
)

// open binds the suite to a study: it reads and validates corpus or claims. The error
// is a [study.Errors].
func open(f *study.File, s *Study) (kit.Bench, error) {
	var errs study.Errors
	switch {
	case s.Corpus == nil && s.Claims == nil:
		errs.Add(f.Errorf("suite", "name a corpus to compare extractors, or claims to measure judges"))
	case s.Corpus != nil && s.Claims != nil:
		errs.Add(f.Errorf("claims", "a study has a corpus or claims, not both: move one to another study"))
	case s.Claims != nil:
		return openJudges(f, s)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return openCorpus(f, s)
}

func openCorpus(f *study.File, s *Study) (kit.Bench, error) {
	var errs study.Errors
	if len(s.Judges) > 0 {
		errs.Add(f.Errorf("judges", "judges are for studies with claims: name the judge of claims in judge_model"))
	}
	if len(s.Extractors) == 0 {
		errs.Add(f.Errorf("data", "list what is compared under extractors, such as {name: outline}"))
	}
	b := &bench{root: f.Place(".")}
	samples, o := readCorpus(f, s, &errs)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	b.ontology = o
	b.Fill(samples, (*sample).asItem)
	b.schema, b.reading = candidateSchema(b.ontology), kit.HashOf(b.ontology)
	if missing := gaps(b.Data, b.ontology); len(missing) > 0 {
		say := fmt.Sprintf("no gold atom has %s", strings.Join(missing, ", "))
		if s.Corpus.AllowGaps {
			b.Warn("%s: answers are not tested for them", say)
		} else {
			errs.Add(f.Errorf("data.path", "%s: add cases with them, mark them as supporting in the ontology, or set data.allow_gaps", say))
		}
	}
	b.judge, b.judging = s.Judge(), s.Judging.words()
	s.Judging.check(f, kit.Lacks{}, &errs)
	b.readCases(f, s, &errs)
	if s.JudgeQuality != "" {
		var err error
		if b.quality, err = readQuality(f.Resolve(s.JudgeQuality)); err == nil {
			err = b.quality.fits(b, s.JudgeQuality)
			b.Cases.Beside, b.Cases.What = kit.HashOf(b.quality), "labels of people on "+text.Plural(len(b.quality.Claims), "claim", "claims")
		}
		if err != nil {
			errs.Add(f.Errorf("judge_quality", "%w", err))
		}
	}
	b.plan(f, s, &errs)
	return b, errs.Err()
}

// plan makes the arms: each extractor on its models, and always the outline as a
// baseline.
func (b *bench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "extractor", "use builtin: outline, folder, outputs, exec, http or run", errs)
	kit.CheckNames(p, s.Extractors)
	for i := range s.Extractors {
		b.entry(p, &s.Extractors[i])
	}
	if !slices.ContainsFunc(s.Extractors, func(e Extractor) bool { return e.Name == builtinOutline || e.Builtin == builtinOutline }) {
		b.add(builtinOutline, newOutline(eval.RoleBaseline))
	}
	if b.judge != nil {
		b.JudgedBy(b.judge.ID)
	}
}

func (b *bench) add(name string, a *arm) { b.Add("extractor", name, a) }

func newOutline(role eval.Role) *arm {
	return &arm{Arm: kit.Local(role, builtinOutline, outlineVersion), local: func(c *sample, b *bench) []okf.File {
		return write(outline(c.sources, b.ontology), b.ontology)
	}}
}

// entry makes the arms of one entry of the study.
func (b *bench) entry(p *kit.Planner, e *Extractor) {
	pipeline := func(instructions string) { b.modelArms(p, e, instructions) }
	p.Make(&e.Entry, func(a kit.Arm) { b.add(e.Name, &arm{Arm: a}) },
		kit.Builtin(e.Builtin, kit.Way{Key: builtinPipeline, Make: func(string) { pipeline(instructions) }},
			kit.Way{Key: builtinOutline, Make: func(string) {
				p.NoModels(&e.Entry)
				b.add(e.Name, newOutline(eval.RoleArm))
			}}),
		p.FromFile(&e.Entry, e.Path, "instructions", pipeline),
		kit.Way{Key: "folder", Value: e.Folder, Make: func(folder string) {
			p.NoModels(&e.Entry)
			if a, err := b.folderArm(p.Resolve(folder)); err != nil {
				p.Fault(p.Key(&e.Entry)+".folder", "%v", err)
			} else {
				b.add(e.Name, a)
			}
		}})
}

func (b *bench) modelArms(p *kit.Planner, e *Extractor, instructions string) {
	for _, on := range p.OnModels(&e.Entry) {
		a := &arm{Arm: on, instructions: instructions}
		r := b.extractRequest(a, &sample{}, source{})
		a.Hash = kit.Hash(r.Key(), "false").String() // as older versions wrote, whose pipeline could repair
		b.add(e.Name, a)
	}
}

// withoutAtoms says what a folder without atoms needs: Git, bundles and workers keep no empty folder.
const withoutAtoms = "with a file that is not Markdown, such as none.txt, if no atoms were found"

// folderArm reads a folder of atoms made elsewhere, with a folder for each case.
func (b *bench) folderArm(dir string) (*arm, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of atoms: %w", err)
	}
	defer root.Close()
	a := &arm{folder: map[string]*bundle{}}
	a.Given = true
	var parts, missing []string
	for _, c := range b.Data {
		if _, err := root.Stat(c.id); errors.Is(err, os.ErrNotExist) {
			missing, parts = append(missing, c.id), append(parts, c.id, "no folder")
			continue
		}
		files, findings, err := okf.ReadBelow(root.FS(), c.id, okf.IsMarkdown)
		if err != nil {
			return nil, err
		}
		a.folder[c.id] = &bundle{Files: append([]okf.File{}, files...), Findings: findings}
		parts = append(parts, c.id, string(kit.JSON(a.folder[c.id])))
	}
	if len(missing) > 0 {
		b.Warn("%s has no folder for %s: these trials fail; make one, "+withoutAtoms, dir, text.Shorten(strings.Join(missing, ", "), 200))
	}
	a.Hash = kit.Hash(parts...).String()
	return a, nil
}

// Capabilities are what the suite has of them.
func (b *bench) Capabilities() eval.Capabilities {
	can := b.Base.Capabilities()
	can.Facts, can.Report, can.Pick, can.Ratings, can.Calibrator = b.Facts, b.Report, b.Pick, b.Ratings, b
	can.Criteria, can.Metrics = b.judging.Asked(), metricsOf(false)
	return can
}

// Facts count the gold atoms, edges and claims.
func (b *bench) Facts() []eval.Fact {
	var atoms, edges, claims int
	for _, c := range b.Data {
		atoms += len(c.gold.Atoms)
		for _, a := range c.gold.Atoms {
			edges += len(a.Links)
			claims += len(a.Claims)
		}
	}
	return []eval.Fact{{Name: "atoms", N: atoms}, {Name: "edges", N: edges}, {Name: "claims", N: claims}}
}

// payload is the JSON request to an external pipeline.
type payload struct {
	ID       string             `json:"id"`
	Sources  []source           `json:"documents"`
	Ontology *ontology.Ontology `json:"ontology"`
}

// Basis returns what a trial depends on beside the documents and the prompt: the ontology
// that files are read with, the claims of gold that the judge is asked about, and the gold
// that simulated models answer from.
func (b *bench) Basis(t eval.Trial) (on eval.Basis) {
	c, a, err := b.Of(t)
	if err != nil {
		return on
	}
	on.Read = b.reading
	switch {
	case a.Simulated:
		on.Asked = kit.Hash(c.item.Gold.String(), b.reading.String())
	case a.Pipeline != nil && !a.Answered():
		on.Asked = b.reading
	}
	if b.judge != nil {
		on.Judged = kit.Hash(c.item.Gold.String(), b.reading.String(), okf.ClaimsVersion)
		if b.judging.own() {
			on.Judged = kit.HashOf(on.Judged.String(), b.judging)
		}
	}
	return on
}

// Perform extracts atoms from the documents of a case.
func (b *bench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	c, a, err := b.Of(t)
	switch {
	case err != nil:
		return eval.Outcome{}, fmt.Errorf("atoms: %w", err)
	case a.folder != nil:
		made := a.folder[c.id]
		if made == nil {
			return eval.Outcome{Kind: eval.Failed, Reason: "no folder", Detail: "there is no folder for this case: make one, " + withoutAtoms}, nil
		}
		return eval.Outcome{Kind: eval.OK, Data: kit.JSON(made)}, nil
	case a.local != nil:
		return eval.Outcome{Kind: eval.OK, Data: kit.JSON(bundle{Files: a.local(c, b)})}, nil
	case a.Pipeline != nil:
		r, err := a.RequestOutside(c.id, func() any { return payload{c.id, c.sources, b.ontology} })
		if err != nil {
			return eval.Outcome{}, err
		}
		response, err := ask.Ask(ctx, "extract", r)
		if err != nil {
			return eval.Outcome{}, err
		}
		return b.outside(response), nil
	}
	return b.pipeline(ctx, a, c, ask)
}

// outside reads the answer of an external pipeline.
func (b *bench) outside(r eval.Response) eval.Outcome {
	if r.Stop == eval.StopRefused {
		return eval.Outcome{Kind: eval.Refused, Reason: declined, Detail: r.Refusal}
	}
	made, notes, reason, detail := readAnswer(r.Answer(""), b.root)
	if reason != "" {
		return eval.Outcome{Kind: eval.Malformed, Reason: reason, Detail: text.Shorten(detail, 300), Data: []byte(r.Answer(""))}
	}
	return eval.Outcome{Kind: eval.OK, Notes: notes, Data: kit.JSON(made)}
}
