package atoms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A quality is what a study of claims found out about one judge on a set of claims: those
// of another set ask another question. It is written by --format judge-quality and given to
// other studies.
type quality struct {
	Format   string        `json:"format"`
	Judge    string        `json:"judge"` // arm
	Model    string        `json:"model,omitempty"`
	Asked    string        `json:"asked,omitempty"` // hash of what it was asked, and of its settings
	Run      string        `json:"run"`
	Set      string        `json:"set,omitempty"`
	Balanced eval.Measured `json:"balanced_accuracy"`
	Kappa    eval.Measured `json:"kappa"`
	Error    eval.Measured `json:"error"`
	Claims   []labelled    `json:"claims"`
}

// labelled is a claim with the labels of judge and person.
type labelled struct {
	ID      string  `json:"id"`
	Cluster string  `json:"cluster,omitempty"`
	Judge   float64 `json:"judge"`
	Human   float64 `json:"human"`
}

const qualityFormat = "scruple-judge-quality/1"

func readQuality(path string) (*quality, error) {
	data, err := dataset.ReadFile(path)
	if err != nil {
		return nil, err
	}
	q := new(quality)
	if err := dataset.DecodeStrict(data, q); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if q.Format != qualityFormat {
		return nil, fmt.Errorf("%s has the format %q, want %q: export it with --format judge-quality", path, q.Format, qualityFormat)
	}
	for i, c := range q.Claims {
		if c.Judge != 0 && c.Judge != 1 || c.Human != 0 && c.Human != 1 {
			return nil, fmt.Errorf("%s: claims[%d]: labels must be 0 or 1", path, i)
		}
	}
	if len(q.Claims) == 0 {
		return nil, fmt.Errorf("%s has no claims", path)
	}
	return q, nil
}

// asked is a hash of what makes a judge of claims: its words, scale, model and settings.
func (j Judging) asked(m *study.Model) string {
	if m == nil {
		return rules
	}
	r := (&question{in: new(material)}).request(m, j, "")
	return kit.HashOf(r.Key(), j.Judging).String()
}

// fits reports an error if the quality is of another judge than that of a study. Files of
// earlier versions do not say what was asked.
func (q *quality) fits(b *bench, file string) error {
	name := b.judgeName()
	switch {
	case q.Judge != name && q.Model != name:
		return fmt.Errorf("%s measures the judge %q, and this study's is %q: measure it with a study of claims", file, q.Judge, name)
	case q.Asked == "":
		b.Warn("%s does not say what the judge was asked: if prompt, criteria, scale or settings of the model differ from this study's, measure it again", file)
	case q.Asked != b.judging.asked(b.judge):
		return fmt.Errorf("%s measures the judge %q with another prompt, criteria, scale or settings of the model than this study's: measure it again with a study of claims", file, name)
	}
	return nil
}

// measurement is what the claims say of the judge: right verdicts and claims by cluster, and by
// label.
func (q *quality) measurement() (m eval.Measurement) {
	at := map[string]int{}
	m.Known = make([]eval.Known, 2)
	for _, c := range q.Claims {
		i, ok := at[c.cluster()]
		if !ok {
			i = len(m.Cases)
			at[c.cluster()] = i
			m.Right, m.Cases = append(m.Right, 0), append(m.Cases, 0)
		}
		right := kit.Indicator(c.Judge == c.Human)
		m.Right[i], m.Cases[i] = m.Right[i]+right, m.Cases[i]+1
		k := &m.Known[int(c.Human)]
		k.Pass, k.Cases, k.Right = c.Human == 1, k.Cases+1, k.Right+int(right)
	}
	return m
}

func (c *labelled) cluster() string { return cmp.Or(c.Cluster, c.ID) }

func (q *quality) describe() string {
	of := ""
	if q.Set != "" {
		of = " of set " + q.Set
	}
	return fmt.Sprintf("on %d claims%s with human labels: balanced accuracy %s, kappa %s, error %s; the corrected rates of claims allow for it",
		len(q.Claims), of, shown(q.Balanced), shown(q.Kappa), shown(q.Error))
}

// shown is a number with its interval.
func shown(m eval.Measured) string {
	if !m.Value.Defined() {
		return "–"
	}
	s := fmt.Sprintf("%.2f", float64(m.Value))
	if m.Low.Defined() && m.High.Defined() {
		s += fmt.Sprintf(" [%.2f, %.2f]", float64(m.Low), float64(m.High))
	}
	return s
}

// known are the labelled claims in the form of the analysis.
func (q *quality) known() []eval.LabelledTwice {
	list := make([]eval.LabelledTwice, len(q.Claims))
	for i, c := range q.Claims {
		list[i] = eval.LabelledTwice{Cluster: c.cluster(), Judge: c.Judge, Human: c.Human}
	}
	return list
}

func exports() []kit.Export {
	return []kit.Export{{
		Name:  "judge-quality",
		Doc:   "NAME.json, or NAME.SET.json, for each judge of a study of claims, for judge_quality of other studies",
		Write: writeQuality,
	}, {
		Name:  "atom-files",
		Doc:   "the atoms that each arm wrote, in a folder for each arm, case and replicate",
		Write: writeAtoms,
	}}
}

func writeQuality(kb kit.Bench, k kit.Kept, dir string) (string, error) {
	b, ok := kb.(*judgeBench)
	if !ok {
		return "", errors.New("judge-quality is for studies of claims: this one has a corpus")
	}
	found := map[[2]string]*quality{} // by judge and set
	for j, err := range k.Outcomes() {
		if err != nil {
			return "", err
		}
		c, a := b.Datum(j.Trial.Item), b.Arm(j.Trial.Arm)
		if c == nil || a == nil || j.Outcome.Kind == eval.Failed || j.Trial.Replicate > 1 {
			continue
		}
		v := b.read(c, a, &j.Outcome)
		if v.missing || j.Outcome.Kind != eval.OK {
			continue
		}
		set := eval.LevelOf(c.item.Strata, "set")
		key := [2]string{a.ID, set}
		q := found[key]
		if q == nil {
			u := eval.Measured{Value: eval.Undefined(), Low: eval.Undefined(), High: eval.Undefined()}
			q = &quality{Format: qualityFormat, Judge: a.ID, Model: a.Model, Run: k.Run().ID, Set: set, Balanced: u, Kappa: u, Error: u}
			if a.Pipeline == nil {
				q.Asked = b.judging.asked(a.Settings)
			}
			found[key] = q
		}
		q.Claims = append(q.Claims, labelled{ID: c.id, Cluster: c.cluster, Judge: kit.Indicator(v.holds), Human: kit.Indicator(c.grounded)})
	}
	estimates, err := k.Estimates(metricBalanced, metricKappa, metricJudgeError)
	if err != nil {
		return "", err
	}
	sets := map[string]bool{}
	for key := range found {
		sets[key[1]] = true
	}
	for _, e := range estimates {
		key := [2]string{e.Arm, ""}
		switch {
		case e.Stratum != nil && e.Stratum.Name == "set":
			key[1] = e.Stratum.Value
		case e.Stratum == nil && len(sets) == 1: // all claims are of the one set
			key[1] = slices.Collect(maps.Keys(sets))[0]
		default:
			continue
		}
		if q := found[key]; q != nil {
			switch e.Metric {
			case metricBalanced:
				q.Balanced = e.Measured
			case metricKappa:
				q.Kappa = e.Measured
			case metricJudgeError:
				q.Error = e.Measured
			}
		}
	}
	var files []kit.File
	for _, key := range slices.SortedFunc(maps.Keys(found), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		data, err := json.MarshalIndent(found[key], "", " ")
		if err != nil {
			return "", err
		}
		name := key[0]
		if key[1] != "" {
			name += "." + key[1]
		}
		files = append(files, kit.Bytes(name+".json", append(data, '\n')))
	}
	if len(files) == 0 {
		return "", errors.New("no judge has verdicts yet: run the study first")
	}
	paths, err := kit.WriteFiles(dir, files)
	return fmt.Sprintf("%d files to %s", len(paths), dir), err
}

func writeAtoms(kb kit.Bench, k kit.Kept, dir string) (string, error) {
	b, ok := kb.(*bench)
	if !ok {
		return "", errors.New("atom-files is for studies with a corpus: this one has claims")
	}
	var files []kit.File
	for j, err := range k.Outcomes() {
		if err != nil {
			return "", err
		}
		if j.Outcome.Kind != eval.OK || b.Arm(j.Trial.Arm) == nil {
			continue
		}
		pred, _ := load(j.Outcome.Data, b.ontology)
		for _, d := range pred.Documents {
			files = append(files, kit.Bytes(fmt.Sprintf("%s/%s/%d/%s", j.Trial.Arm, j.Trial.Item, j.Trial.Replicate, filepath.ToSlash(d.Path)), d.Bytes()))
		}
	}
	paths, err := kit.WriteFiles(dir, files)
	return fmt.Sprintf("%d files to %s", len(paths), dir), err
}
