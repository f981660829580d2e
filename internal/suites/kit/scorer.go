package kit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// ownScores is a bench whose answers have scores of metrics of the study beside those of the
// suite: from the study's scorer, a program that judges each answer, or from a file of an arm.
type ownScores struct {
	Bench
	suite   eval.Scorer // the bench, or what it was calibrated to
	metrics []study.Metric
	scorer  *Arm                 // nil for a study without one
	told    map[string]eval.Hash // by item: what the verdicts of the scorer depend on
	arms    []eval.Arm
	judged  map[string]bool        // arms with judges of the suite
	files   map[string]*fileScores // by arm
}

// fileScores are the rows of a file by item and replicate.
type fileScores struct {
	name string
	rows map[eval.Trial]map[string]float64
}

// scorerStep is the step of the verdicts, and the name of the scorer.
const scorerStep = eval.ScorerName

// WithOwnScores adds the scores that the study brings to those of a bench, if it brings any.
// The error is a [study.Errors].
func WithOwnScores(f *study.File, s *study.Study, b Bench) (Bench, error) {
	var errs study.Errors
	metrics := s.Metrics.Own
	if of := b.Capabilities().Metrics; of != nil {
		its := of()
		metrics = slices.DeleteFunc(slices.Clone(metrics), func(m study.Metric) bool {
			return slices.ContainsFunc(its, func(o eval.Metric) bool { return o.Name == m.Name })
		})
	}
	own := &ownScores{Bench: b, suite: b, metrics: metrics, files: map[string]*fileScores{}, judged: map[string]bool{}}
	own.scorer = own.open(f, s.Scorer, &errs)
	for arm, path := range b.ScoreFiles() {
		own.files[arm] = own.read(f, path, &errs)
	}
	if own.scorer == nil && len(own.files) == 0 {
		return b, errs.Err()
	}
	if len(own.metrics) == 0 {
		errs.Add(f.Errorf("metrics.own", "scores that the study brings need their metrics, as in metrics: {own: [{name: NAME, min: 0, max: 1}]}"))
	}
	if own.scorer != nil {
		own.told = map[string]eval.Hash{}
		read := own.scorer.Hash
		for _, m := range own.metrics {
			low, high := m.Range()
			as := fmt.Sprint(low, high, m.Binary)
			if m.Counts {
				as += " counts"
			}
			read = Hash(read, m.Name, as).String()
		}
		for _, it := range b.Items() {
			own.told[it.ID] = Hash(read, it.Gold.String())
		}
	}
	for _, a := range b.Arms() {
		own.judged[a.ID] = len(a.Judges) > 0
		if own.scorer != nil && a.Role != eval.RoleCalibration {
			a.Judges = append(slices.Clip(a.Judges), own.scorer.Model)
		}
		own.arms = append(own.arms, a)
	}
	return own, errs.Err()
}

// Suited is a bench, or a scorer that one was calibrated to, as its suite made it.
func Suited(s eval.Scorer) Bench {
	switch of := s.(type) {
	case *ownScores:
		return Suited(of.suite)
	case *withCases:
		return Suited(of.scorer)
	}
	return s.(Bench) // suites calibrate to benches
}

// open makes the client of the scorer.
func (b *ownScores) open(f *study.File, s *study.Scorer, errs *study.Errors) *Arm {
	if s == nil {
		return nil
	}
	p := &Planner{Noun: "scorer", Resolve: f.Resolve, Program: f.Program, Fault: func(_, format string, args ...any) { errs.Add(f.Errorf("scorer", format, args...)) }}
	e := &Entry{Name: scorerStep, Outside: Outside{Exec: s.Exec, HTTP: s.HTTP, Watch: s.Watch, Version: s.Version}}
	if given := Given(e.Outside); len(given) != 1 {
		errs.Add(f.Errorf("scorer", "want one of exec and http"))
		return nil
	}
	a, ok := p.Pipeline(e)
	if !ok {
		return nil
	}
	a.Rename(strings.TrimPrefix(eval.ScorerModel, eval.PipelinePrefix))
	a.ID = scorerStep
	return &a
}

// read reads a file of scores: a row for each item and replicate.
func (b *ownScores) read(f *study.File, path string, errs *study.Errors) *fileScores {
	scores := &fileScores{name: path, rows: map[eval.Trial]map[string]float64{}}
	names := []string{"item", "replicate"}
	for _, m := range b.metrics {
		names = append(names, m.Name)
	}
	t, known, ok := ReadTable(f, TableKeys{Key: Entries, Path: path, Columns: names}, errs)
	if !ok {
		return scores
	}
	if !known.Has("item") || !slices.ContainsFunc(b.metrics, func(m study.Metric) bool { return known.Has(m.Name) }) {
		errs.Add(fmt.Errorf("%s: want a column item and one of each metric of metrics.own; the columns are %s", t.File, strings.Join(t.Header, ", ")))
		return scores
	}
	for _, row := range t.Rows {
		of := eval.Trial{Item: strings.TrimSpace(known.ID(row, "item")), Replicate: 1}
		if s := strings.TrimSpace(known.Text(row, "replicate")); s != "" {
			var err error
			if of.Replicate, err = strconv.Atoi(s); err != nil || of.Replicate < 1 {
				errs.Add(known.Errorf(row, "replicate", "replicate %q: want a whole number from 1", s))
			}
		}
		if scores.rows[of] != nil {
			errs.Add(known.Errorf(row, "item", "duplicate scores of item %s, replicate %d", of.Item, of.Replicate))
		}
		values := map[string]float64{}
		for _, m := range b.metrics {
			if !known.Has(m.Name) {
				continue
			}
			x, err := ParseScore(m, known.Text(row, m.Name))
			if err != nil {
				errs.Add(known.Errorf(row, m.Name, "%w", err))
			}
			if !math.IsNaN(x) {
				values[m.Name] = x
			}
		}
		scores.rows[of] = values
	}
	return scores
}

func (b *ownScores) Arms() []eval.Arm { return b.arms }

func (b *ownScores) Pipelines() []eval.Pipeline {
	if b.scorer == nil {
		return b.Bench.Pipelines()
	}
	return append(slices.Clip(b.Bench.Pipelines()), *b.scorer.Pipeline)
}

// Basis adds the scorer with its version, the gold that it is sent and the metrics that it is
// read by, and the row of a file.
func (b *ownScores) Basis(t eval.Trial) eval.Basis {
	on := b.Bench.Basis(t)
	if b.scorer != nil {
		on.Judged = Hash(on.Judged.String(), b.told[t.Item].String())
	}
	if f := b.files[t.Arm]; f != nil {
		on.Read = HashOf(on.Read, f.rows[eval.Trial{Item: t.Item, Replicate: t.Replicate}])
	}
	return on
}

// A scorerInput is what a scorer is told of an answer. It is not told the arm.
type scorerInput struct {
	Input   string           `json:"input,omitempty"`
	Answer  string           `json:"answer"`
	Gold    any              `json:"gold,omitempty"` // a text, or texts by unit
	Outcome eval.OutcomeKind `json:"outcome"`        // ok, malformed or refused, by the suite
}

// scores reports whether the scorer is asked about the answers of an arm.
func (b *ownScores) scores(arm string) bool {
	return b.scorer != nil && slices.ContainsFunc(b.arms, func(a eval.Arm) bool { return a.ID == arm && slices.Contains(a.Judges, b.scorer.Model) })
}

// Judge asks the suite's judges, then the scorer.
func (b *ownScores) Judge(ctx context.Context, t eval.Trial, o eval.Outcome, ask eval.Asker) ([]eval.Verdict, error) {
	var verdicts []eval.Verdict
	var err error
	if b.judged[t.Arm] {
		verdicts, err = b.Bench.Judge(ctx, t, o, ask)
	}
	if err != nil || o.Kind == eval.Failed || !b.scores(t.Arm) {
		return verdicts, err
	}
	x, err := b.Bench.Show(eval.CaseOf(t, o, nil))
	if err != nil {
		return nil, err
	}
	r, err := b.scorer.RequestOutside(t.Item, func() any { return inputOf(x, o) })
	if err != nil {
		return nil, err
	}
	said, err := AskJudge(ctx, ask, scorerStep, r, func(v *eval.Verdict) string {
		if _, err := b.said(v.Data); err != nil {
			return err.Error()
		}
		return ""
	})
	for i := range said {
		said[i].Source, said[i].By = eval.ByPipeline, scorerStep
	}
	return append(verdicts, said...), err
}

func inputOf(x eval.Exhibit, o eval.Outcome) scorerInput {
	in := scorerInput{Input: x.Lead, Answer: string(o.Data), Outcome: o.Kind}
	for _, p := range x.Pages {
		if !p.Gold {
			in.Input = strings.TrimPrefix(in.Input+"\n\n"+p.Text, "\n\n")
		}
	}
	gold := map[string]string{}
	for _, row := range x.Rows {
		gold[row.Unit], in.Gold = row.Gold, row.Gold
	}
	if len(x.Rows) > 1 {
		in.Gold = gold
	}
	return in
}

// said reads what a scorer said: a JSON object with the metrics of the study. A metric that
// is missing or null has no score.
func (b *ownScores) said(data []byte) (map[string]float64, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("the scorer said %q: want a JSON object with the metrics of the study, such as {%q: 1, \"note\": \"why\"}", text.Shorten(string(data), 60), b.metrics[0].Name)
	}
	values := map[string]float64{}
	for _, m := range b.metrics {
		raw, ok := object[m.Name]
		if !ok {
			continue
		}
		x, err := ParseScore(m, strings.Trim(string(raw), `"`))
		if err != nil {
			return nil, fmt.Errorf("the scorer said: %w", err)
		}
		values[m.Name] = x
	}
	return values, nil
}

// own returns the scores of a trial, and who gave them.
func (b *ownScores) own(t *eval.Judged) (values map[string]float64, missing string) {
	values = map[string]float64{}
	if b.scorer != nil {
		i := slices.IndexFunc(t.Verdicts, func(v eval.Verdict) bool { return v.Step == scorerStep && v.Source == eval.ByPipeline })
		if i < 0 {
			missing = "not scored yet"
		} else if v := t.Verdicts[i]; v.Err != "" {
			missing = "no score: " + v.Err
		} else if said, err := b.said(v.Data); err != nil {
			missing = err.Error() // of other metrics than now
		} else {
			values, missing = said, "the scorer gave no score"
		}
	}
	if f := b.files[t.Trial.Arm]; f != nil {
		missing = cmp.Or(missing, "no score in "+f.name)
		maps.Copy(values, f.rows[eval.Trial{Item: t.Trial.Item, Replicate: t.Trial.Replicate}])
	}
	return values, cmp.Or(missing, "the arm brings no scores")
}

// Score adds the scores of the study to those of the suite.
func (b *ownScores) Score(dst []eval.Score, c eval.Case) []eval.Score {
	rest := b.suite.Score(nil, c)
	dst = ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		n := 0
		for n < len(rest) && rest[n].Replicate == t.Trial.Replicate {
			n++
		}
		dst, rest = append(dst, rest[:n]...), rest[n:]
		values, missing := b.own(t)
		for _, m := range b.metrics {
			s := eval.Score{Metric: m.Name, Den: 1}
			if x, ok := values[m.Name]; ok && !math.IsNaN(x) {
				s.Num = x
			} else {
				s.Unscored = missing
			}
			dst = append(dst, s)
		}
		return dst
	})
	return append(dst, rest...)
}

// Show adds the scores of the study to an exhibit.
func (b *ownScores) Show(c eval.Case) (eval.Exhibit, error) {
	x, err := b.suite.Show(c)
	if err != nil || len(x.Rows) == 0 || len(c.Trials) == 0 || c.Trials[0].Outcome.Kind == eval.Failed {
		return x, err
	}
	t := c.Trials[0]
	for _, s := range b.Score(nil, eval.CaseOf(t.Trial, t.Outcome, t.Verdicts)) {
		if slices.ContainsFunc(b.metrics, func(m study.Metric) bool { return m.Name == s.Metric }) {
			x.Rows[0].Scores = append(slices.Clip(x.Rows[0].Scores), s)
		}
	}
	return x, nil
}

// Capabilities are those of the suite. What it scores after it measured its judge has the
// scores of the study too.
func (b *ownScores) Capabilities() eval.Capabilities {
	can := b.suite.Capabilities()
	if can.Calibrator != nil {
		can.Calibrator = calibrator{can.Calibrator, func(suite eval.Scorer) eval.Scorer {
			own := *b
			own.suite = suite
			return &own
		}}
	}
	if most := can.MostCalls; most != nil {
		can.MostCalls = func(arm string) (asked, judged int) {
			if asked, judged = most(arm); b.scores(arm) {
				judged++
			}
			return asked, judged
		}
	}
	return can
}

// A calibrator makes the scorer that a suite is calibrated to one of a bench around the suite's.
type calibrator struct {
	eval.Calibrator
	around func(suite eval.Scorer) eval.Scorer
}

func (k calibrator) Calibrate(m eval.Measurement) (eval.Scorer, eval.Calibration) {
	scorer, calibration := k.Calibrator.Calibrate(m)
	return k.around(scorer), calibration
}
