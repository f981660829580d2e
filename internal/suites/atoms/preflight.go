package atoms

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/atoms/perturb"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A preflightCase is files with known scores, or a damage done to the shipped corpus
// at a known rate: the metrics in falls must be worse than those of the undamaged
// corpus, and all others the same.
type preflightCase struct {
	Case     string             `json:"case"`
	Damage   perturb.Kind       `json:"damage,omitempty"`
	Rate     float64            `json:"rate,omitempty"`
	Falls    []string           `json:"falls,omitempty"`
	May      []string           `json:"may,omitempty"` // may be worse or not
	Source   string             `json:"source,omitempty"`
	Gold     map[string]string  `json:"gold,omitempty"`
	Files    map[string]string  `json:"files,omitempty"`
	Expected map[string]float64 `json:"expected,omitempty"`
}

// tabled are the metrics that the table of preflight shows.
var tabled = []string{metricAtomF1, metricTypes, metricEdgeF1, metricConformance, metricValidity, metricErrors, metricWarnings, metricFabrication, metricOmission, metricFaithfulness}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	if c.Damage != "" {
		return checkDamage(&c)
	}
	s := &sample{id: "case", material: material{sources: []source{{"source.md", c.Source}}}, goldFiles: filesOf(c.Gold)}
	b := scorer([]*sample{s}, ontology.Default())
	got := b.pooled(map[string]*bundle{"case": {Files: filesOf(c.Files)}})
	return kit.Result{Name: c.Case, Wrong: kit.Differences(got, c.Expected)}, nil
}

// checkDamage damages the shipped corpus and looks at every metric.
func checkDamage(c *preflightCase) (kit.Result, error) {
	b, err := shippedCorpus()
	if err != nil {
		return kit.Result{}, err
	}
	if !slices.Contains(perturb.Kinds(), c.Damage) {
		return kit.Result{}, fmt.Errorf("unknown damage %q: want one of %v", c.Damage, perturb.Kinds())
	}
	perfect, damaged := map[string]*bundle{}, map[string]*bundle{}
	for _, s := range b.Data {
		perfect[s.id] = &bundle{Files: s.goldFiles}
		files, err := perturb.Damage(s.goldFiles, b.ontology, c.Damage, c.Rate)
		if err != nil {
			return kit.Result{}, err
		}
		damaged[s.id] = &bundle{Files: files}
	}
	was, is := b.pooled(perfect), b.pooled(damaged)
	r := kit.Result{Name: c.Case}
	known := metrics()
	seen := map[string]bool{}
	for i, metric := range slices.Concat(tabled, c.Falls, c.May) {
		if seen[metric] {
			continue
		}
		seen[metric] = true
		m := slices.IndexFunc(known, func(m eval.Metric) bool { return m.Name == metric })
		if m < 0 {
			r.Wrong = append(r.Wrong, fmt.Sprintf("unknown metric %q in falls or may", metric))
			continue
		}
		worse := is[metric] < was[metric]-1e-9
		better := is[metric] > was[metric]+1e-9
		if !known[m].HigherIsBetter {
			worse, better = better, worse
		}
		if i < len(tabled) {
			cell := fmt.Sprintf("%.2f", is[metric])
			if worse {
				cell += " worse"
			}
			r.Cells = append(r.Cells, eval.Level{Name: metric, Value: cell})
		}
		wanted := slices.Contains(c.Falls, metric)
		switch {
		case wanted && !worse:
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s stays at %v, but %s at rate %v must make it worse", metric, is[metric], c.Damage, c.Rate))
		case !wanted && worse && !slices.Contains(c.May, metric):
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s is %v instead of %v, but %s must not change it", metric, is[metric], was[metric], c.Damage))
		case better:
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s is %v, better than %v of the perfect answer", metric, is[metric], was[metric]))
		}
	}
	r.Wrong = append(r.Wrong, kit.Differences(is, c.Expected)...)
	return r, nil
}

// pooled scores an answer for each case, and pools the scores of each metric.
func (b *bench) pooled(answers map[string]*bundle) map[string]float64 {
	var scores []eval.Score
	for _, s := range b.Data {
		o := eval.Outcome{Kind: eval.OK, Data: kit.JSON(answers[s.id])}
		scores = b.Score(scores, eval.CaseOf(eval.Trial{Item: s.id, Arm: "case", Replicate: 1}, o, nil))
	}
	return values(scores)
}

// values are the pooled values of metrics.
func values(scores []eval.Score) map[string]float64 {
	list := map[string]float64{}
	for metric, of := range pool(scores) {
		list[metric] = of.Num / of.Den
	}
	return list
}

// scorer is a bench that only scores.
func scorer(samples []*sample, o *ontology.Ontology) *bench {
	b := &bench{ontology: o}
	var errs study.Errors
	for _, s := range samples {
		s.prepare("case", o, &errs)
	}
	b.Fill(samples, (*sample).asItem)
	return b
}

// shippedCorpus is the corpus of the starter.
func shippedCorpus() (*bench, error) {
	folder, err := fs.Sub(template, "template/corpus")
	if err != nil {
		return nil, err
	}
	samples, err := readFolders(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the shipped corpus: %w", err)
	}
	return scorer(samples, ontology.Default()), nil
}
