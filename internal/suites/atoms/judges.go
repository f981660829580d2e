package atoms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A judgeBench is the suite bound to a study of judges: its items are claims with
// human labels.
type judgeBench struct {
	kit.Base[*claim, *judgeArm]
	judging Judging
}

type judgeArm struct {
	kit.Arm
	constant string // verdict of the baseline
}

// A claim is a claim about a source, with the label of people.
type claim struct {
	id, cluster string
	material
	claim    string
	grounded bool
	item     eval.Item
}

func (c *claim) question() *question { return &question{claim: c.claim, in: &c.material} }

// claimRecord is a line of the file of claims.
type claimRecord struct {
	ID       string `json:"id"`
	Set      string `json:"set,omitempty"`
	Cluster  string `json:"cluster,omitempty"`
	Split    string `json:"split,omitempty"`
	Source   string `json:"source"`
	Claim    string `json:"claim"`
	Grounded *bool  `json:"grounded"`
}

// Built-in judges.
const (
	builtinModel = "model"
	always       = "always_grounded" // the baseline
)

func openJudges(f *study.File, s *Study) (kit.Bench, error) {
	var errs study.Errors
	for _, k := range []struct {
		key   string
		given bool
	}{{"arms", len(s.Extractors) > 0}, {"judge_quality", s.JudgeQuality != ""}, {"ontology", s.Ontology != ""}} {
		if k.given {
			errs.Add(f.Errorf(k.key, "%s is for studies with a corpus: remove it", k.key))
		}
	}
	if len(s.Judges) == 0 {
		errs.Add(f.Errorf("claims", "list the judges to measure under judges, such as {name: rules}"))
	}
	b := &judgeBench{judging: s.Judging.words()}
	s.Judging.check(f, kit.Lacks{Cases: "the claims of the study are the cases"}, &errs)
	b.readClaims(f, s, &errs)
	b.plan(f, s, &errs)
	return b, errs.Err()
}

// readClaims reads the claims.
func (b *judgeBench) readClaims(f *study.File, s *Study, errs *study.Errors) {
	path := f.Resolve(s.Claims.Path)
	ofSet, known := map[string]int{}, map[string]bool{}
	var claims []*claim
	err := kit.Records(path, table.Texts{Names: []string{"id", "set", "cluster", "split", "claim"}, Verbatim: "source", Keys: []string{"set", "cluster", "split"}}, errs, func(_ int, r *claimRecord) error {
		switch {
		case r.ID == "" || strings.TrimSpace(r.Claim) == "" || strings.TrimSpace(r.Source) == "":
			return errors.New("id, source or claim is missing")
		case r.Grounded == nil:
			return errors.New("grounded is missing: want the label of people, true or false")
		case known[r.ID]:
			return fmt.Errorf("duplicate id %q", r.ID)
		}
		if ofSet[r.Set]++; s.Claims.Count > 0 && ofSet[r.Set] > s.Claims.Count {
			return nil
		}
		c := &claim{id: r.ID, cluster: r.Cluster, claim: r.Claim, grounded: *r.Grounded, material: material{[]source{{"source", r.Source}}, sentencesOf(0, r.Source)}}
		c.item = eval.Item{ID: r.ID, Split: r.Split, Cluster: r.Cluster, Input: kit.Hash(r.Source, r.Claim), Gold: kit.Hash(fmt.Sprint(c.grounded))}
		if r.Set != "" {
			c.item.Strata = []eval.Level{{Name: "set", Value: r.Set}}
		}
		known[r.ID] = true
		claims = append(claims, c)
		return nil
	})
	if err != nil {
		errs.Add(f.Errorf("claims.path", "%w", err))
	} else if len(claims) == 0 && errs.Err() == nil {
		errs.Add(fmt.Errorf("%s has no claims", path))
	}
	if len(ofSet) > 1 {
		b.Warn("claims of %d sets: a figure over all of them mixes their questions; read the figures by set, and give other studies the judge_quality of the set that asks as they do", len(ofSet))
	}
	b.Fill(claims, func(c *claim) eval.Item { return c.item })
}

func (b *judgeBench) plan(f *study.File, s *Study, errs *study.Errors) {
	p := kit.NewPlanner(f, &s.Study, "judge", "use builtin: rules, outputs, exec, http or run", errs)
	p.List = "judges"
	p.Skip = "" // judges are what is compared
	kit.CheckNames(p, s.Judges)
	for i := range s.Judges {
		e := &s.Judges[i]
		p.Make(&e.Entry, func(a kit.Arm) { b.add(e.Name, &judgeArm{Arm: a}) }, kit.Builtin(e.Builtin,
			kit.Way{Key: rules, Make: func(string) {
				p.NoModels(&e.Entry)
				b.add(e.Name, &judgeArm{Arm: kit.Local(eval.RoleArm, rules, "1")})
			}},
			kit.Way{Key: builtinModel, Make: func(string) {
				for _, on := range p.OnModels(&e.Entry) {
					a := &judgeArm{Arm: on}
					r := (&question{in: new(material)}).request(a.Settings, b.judging, "")
					a.Hash = kit.Hash(r.Key()).String()
					b.add(e.Name, a)
				}
			}}))
	}
	b.add(always, &judgeArm{constant: verdictText(nil, "grounded", true, ""), Arm: kit.Local(eval.RoleBaseline, always, "1")})
}

func (b *judgeBench) add(name string, a *judgeArm) { b.Add("judge", name, a) }

// Facts count the claims by label.
func (b *judgeBench) Facts() []eval.Fact {
	grounded := 0
	for _, c := range b.Data {
		if c.grounded {
			grounded++
		}
	}
	return []eval.Fact{{Name: "grounded", N: grounded}, {Name: "ungrounded", N: len(b.Data) - grounded}}
}

// Capabilities are what the suite has of them.
func (b *judgeBench) Capabilities() eval.Capabilities {
	can := b.Base.Capabilities()
	can.Facts, can.Metrics = b.Facts, metricsOf(true)
	return can
}

// Basis is the scale that verdicts are read with; else they depend on claim and source alone.
func (b *judgeBench) Basis(eval.Trial) (on eval.Basis) {
	if k := b.judging.Scale; k != nil {
		on.Read = kit.HashOf(k)
	}
	return on
}

// Perform asks a judge about a claim.
func (b *judgeBench) Perform(ctx context.Context, t eval.Trial, ask eval.Asker) (eval.Outcome, error) {
	c, a, err := b.Of(t)
	if err != nil {
		return eval.Outcome{}, fmt.Errorf("atoms: %w", err)
	}
	r, about := eval.Request{}, c.question()
	switch {
	case a.constant != "":
		return eval.Outcome{Kind: eval.OK, Data: []byte(a.constant)}, nil
	case a.Pipeline != nil:
		r, err = a.RequestOutside(c.id, func() any {
			return map[string]string{"id": c.id, "source": c.sources[0].Text, "claim": c.claim}
		})
		if err != nil {
			return eval.Outcome{}, err
		}
	case a.Settings != nil:
		r = about.request(a.Settings, b.judging, c.id)
	default:
		j := about.byRules()
		return eval.Outcome{Kind: eval.OK, Data: []byte(verdictText(nil, "grounded", j.holds, j.evidence))}, nil
	}
	response, err := ask.Ask(ctx, "grounded", r)
	if err != nil {
		return eval.Outcome{}, err
	}
	o := eval.Outcome{Kind: eval.OK, Data: []byte(response.Answer(""))}
	if response.Stop == eval.StopRefused {
		o.Kind, o.Reason = eval.Refused, declined
	} else if j := b.read(c, a, &o); j.missing {
		o.Kind, o.Reason, o.Detail = eval.Malformed, noJSON, j.why
	} else if j.lenient {
		o.Notes = []string{eval.NoteLenient}
	}
	return o, nil
}

// read reads the verdict of a trial.
func (b *judgeBench) read(c *claim, a *judgeArm, o *eval.Outcome) judgement {
	return readVerdict(o.Data, b.judging.Scale, "grounded", func(e string) bool { return a.constant != "" || c.question().stands(e) })
}

// Score compares the verdict with the label of people. A verdict that cannot be read, or
// was refused, is unknown, as it is where the judge scores extractors.
func (b *judgeBench) Score(dst []eval.Score, c eval.Case) []eval.Score {
	k, a := b.Datum(c.Item), b.Arm(c.Arm)
	if k == nil || a == nil {
		return dst
	}
	return kit.ScoreTrials(dst, c, func(dst []eval.Score, t *eval.Judged) []eval.Score {
		j, human := b.read(k, a, &t.Outcome), kit.Indicator(k.grounded)
		share := metricSpecificity
		if k.grounded {
			share = metricSensitivity
		}
		if why := cmp.Or(t.Outcome.Reason, j.why); t.Outcome.Kind != eval.OK || j.missing {
			for _, m := range []string{metricBalanced, metricKappa, metricJudgeError, share} {
				s := eval.Score{Metric: m, Unscored: "no verdict: " + why}
				if m == metricBalanced || m == metricKappa {
					s.Least, s.Most = eval.Row{1 - human, human}, eval.Row{human, human}
				}
				dst = append(dst, s)
			}
			return dst
		}
		holds := kit.Indicator(j.holds)
		row := eval.Row{holds, human}
		dst = append(dst, eval.Score{Metric: metricBalanced, Row: row}, eval.Score{Metric: metricKappa, Row: row},
			eval.Score{Metric: metricJudgeError, Num: kit.Indicator(j.holds != k.grounded), Den: 1})
		dst = append(dst, eval.Score{Metric: share, Num: kit.Indicator(j.holds == k.grounded), Den: 1})
		if j.evidence != "" && (j.holds || strings.HasPrefix(j.why, "ungrounded by")) {
			dst = append(dst, eval.Score{Metric: metricStands, Num: kit.Indicator(j.holds), Den: 1})
		}
		return dst
	})
}

// Show shows the first trial of a case: source, claim, label and verdict.
func (b *judgeBench) Show(c eval.Case) (eval.Exhibit, error) {
	k, t, x, err := b.Shown(c, "judged by")
	a := b.Arm(c.Arm)
	if err != nil || a == nil {
		return x, fmt.Errorf("atoms: showing %s × %s: %w", c.Item, c.Arm, cmp.Or(err, errors.New("the study does not have the judge")))
	}
	j := b.read(k, a, &t.Outcome)
	words := map[bool]string{true: "grounded", false: "not grounded"}
	x.Title, x.Lead = text.Shorten(k.claim, 80), k.claim
	row := eval.ExhibitRow{Unit: "claim", Gold: words[k.grounded], Answer: words[j.holds], Quote: j.evidence, Note: j.why}
	if t.Outcome.Kind != eval.OK {
		row.Answer, row.Note = string(t.Outcome.Kind), t.Outcome.Reason
	} else if j.holds == k.grounded {
		row.Note = ""
	} else if row.Note == "" {
		row.Note = "people find it not grounded"
	}
	for _, s := range b.Score(nil, eval.CaseOf(t.Trial, t.Outcome, t.Verdicts)) {
		if s.Metric == metricJudgeError {
			row.Scores = append(row.Scores, s)
		}
	}
	x.Rows = []eval.ExhibitRow{row}
	x.Pages = []eval.ExhibitPage{{Number: 1, Text: k.sources[0].Text, Marks: marksOf([]string{j.evidence}, nil, k.sources[0].Text)}}
	return x, nil
}
