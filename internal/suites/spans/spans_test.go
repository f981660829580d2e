package spans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
	"github.com/scruple-eval/scruple/internal/suites/suitetest"
)

// open writes files into a folder and opens the study among them.
func openFiles(t testing.TB, files map[string]string) (*bench, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return openFile(t, filepath.Join(dir, "study.yaml"))
}

func openFile(t testing.TB, path string) (*bench, error) {
	t.Helper()
	s := new(Study)
	f, err := study.Load(path, nil, s)
	if err != nil {
		return nil, err
	}
	return open(f, s)
}

func starter(t testing.TB) *bench {
	t.Helper()
	suite := Suite()
	files, err := suite.Init(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := openFile(t, files[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConformance: the tests for every suite's bench.
func TestConformance(t *testing.T) {
	suitetest.Bench(t, Suite().Suite, starter(t), func(_ eval.Stage, _ string, r eval.Request) (eval.Response, error) {
		return eval.Response{Text: r.Foreseen(), Stop: eval.StopEnd}, nil
	})
}

// TestConformanceRecorded: the same for recorded answers and judgements.
func TestConformanceRecorded(t *testing.T) {
	b, err := openFile(t, filepath.Join("..", "..", "..", "examples", "spans", "study.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	suitetest.Bench(t, Suite().Suite, b, func(eval.Stage, string, eval.Request) (eval.Response, error) {
		t.Error("a recorded arm asks a model")
		return eval.Response{}, nil
	})
	for _, a := range b.OwnArms {
		if a.Given != (a.recorded != nil) {
			t.Errorf("%s: what it took is of a file: %v", a.ID, a.Given)
		}
	}
}

func TestPreflight(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil || len(results) < 15 {
		t.Fatalf("%d cases, %v", len(results), err)
	}
	for _, r := range results {
		if !r.OK() {
			t.Errorf("%s: %v", r.Name, r.Wrong)
		}
	}
}

const minimal = `name: s
suite: spans
data: [{path: r.jsonl}]
arms: [{name: labeller}, {name: lexicon}]
models: [{id: m, provider: openai, name: x}, {id: j, provider: openai, name: y}]
judge_model: j
`

const twoTexts = `{"id": "a", "text": "A boy runs on the beach.", "spans": [{"start": 2, "end": 5, "label": "subject.identity"}, {"start": 6, "end": 10, "label": "action.movement"}]}
{"id": "b", "text": "Nothing."}
`

func small(t testing.TB) *bench {
	t.Helper()
	b, err := openFiles(t, map[string]string{"study.yaml": minimal, "r.jsonl": twoTexts})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOpenErrors: every error has file, line or key, and what to do.
func TestOpenErrors(t *testing.T) {
	for name, test := range map[string]struct{ from, to, data, want string }{
		"missing file":     {"r.jsonl", "none.jsonl", twoTexts, "data[0].path: open "},
		"unknown role":     {"", "", `{"id": "a", "text": "x", "spans": [{"start": 0, "end": 1, "label": "subject.identiy"}]}`, `gold has the role "subject.identiy", 1 time, which the taxonomy does not have: did you mean "subject.identity"?`},
		"duplicate id":     {"[{path: r.jsonl}]", "[{path: r.jsonl}, {path: r.jsonl}]", twoTexts, `data[1].path: duplicate id "a"`},
		"unknown builtin":  {"{name: lexicon}", "{name: lexikon}", twoTexts, `no built-in labeller "lexikon"`},
		"no roles":         {"{name: lexicon}", "{name: p, prompt: hello}", twoTexts, "contains {{ROLES}} 0 times: want it once"},
		"lexicon":          {"{name: lexicon}", "{name: l, builtin: lexicon, lexicon: r.jsonl}", twoTexts, "arms[1].lexicon: reading the lexicon: column 8"},
		"taxonomy":         {"judge_model", "taxonomy: {categories: [{name: x}, {name: x}]}\njudge_model", twoTexts, `taxonomy: duplicate role "x"`},
		"default lexicon":  {"judge_model", "taxonomy: {categories: [{name: subject, attributes: [identity]}, {name: action, attributes: [movement]}]}\njudge_model", twoTexts, "the default lexicon is for video prompts"},
		"section":          {"judge_model", "sections: [{section: x, pattern: '('}]\njudge_model", twoTexts, `sections: section "x"`},
		"spans of nothing": {"{name: lexicon}", "{name: l, spans: other.jsonl}", twoTexts, "other.jsonl has none of the 2 texts"},
		"other text":       {"{name: lexicon}", "{name: l, spans: changed.jsonl}", twoTexts, "1 id has in changed.jsonl another text"},
		"no list":          {"{name: lexicon}", "{name: l, spans: r.jsonl}", twoTexts, `arms[1].spans: labeller "l": r.jsonl:2: text "b" has no list "spans"`},
		"list, snapshot":   {"{name: lexicon}", "{name: l, spans: entities.json}", twoTexts, `text "a" has no list "spans"`},
		"list, golden set": {"{name: lexicon}", "{name: l, spans: golden.json}", twoTexts, `text "a" has no list "spans"`},
		"human":            {"judge_model", "human: human.jsonl\njudge_model", twoTexts, `human.jsonl:1: the study has no text "zzz"`},
	} {
		yaml := minimal
		if test.from != "" {
			yaml = strings.Replace(minimal, test.from, test.to, 1)
		}
		_, err := openFiles(t, map[string]string{"study.yaml": yaml, "r.jsonl": test.data, "other.jsonl": `{"id": "z", "text": "x", "spans": []}`,
			"changed.jsonl": `{"id": "a", "text": "x", "spans": []}`,
			"entities.json": `{"results": [{"promptId": "a", "input": "A boy runs on the beach.", "entities": []}], "summary": {}}`,
			"golden.json":   `{"prompts": [{"id": "a", "text": "A boy runs on the beach.", "groundTruth": {"entities": []}}]}`, "human.jsonl": `{"id": "zzz", "arm": "lexicon", "result": {}}`})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestRolesOfAllData: a role that a resample lacks counts in its macro F1 as in all the data, so one
// that only a fault brings never leaves the mean.
func TestRolesOfAllData(t *testing.T) {
	right, wrong := eval.Row{0, 1, 1, 1}, eval.Row{1, 0, 1, 0}
	for n := range 3 {
		if f := macroF1([]eval.Counted{{Row: right, N: 3, All: 3}, {Row: wrong, N: float64(n), All: 1}}); f != 0.5 {
			t.Errorf("with the fault %d times: %v, want 0.5", n, f)
		}
	}
	suite := Suite()
	if m, _ := suite.Suite.Metric(metricMacro); !m.Whole {
		t.Error("the estimate is not given the roles of all the data")
	}
}

// figures are the scores of an answer by metric; those without a denominator are
// left out.
func figures(b *bench, c eval.Case) map[string]float64 {
	suite := Suite()
	got := map[string]float64{}
	for _, s := range b.Score(nil, c) {
		switch {
		case s.Unscored != "":
		case s.Row != nil:
			m, _ := suite.Suite.Metric(s.Metric)
			got[s.Metric] = m.Estimate(eval.Once([]eval.Row{s.Row}, m.Parts))
		default:
			got[s.Metric] = s.Num / s.Den
		}
	}
	return got
}

// answerOf is the case of an answer of the lexicon.
func answerOf(item, answer string, vs ...eval.Verdict) eval.Case {
	return eval.CaseOf(eval.Trial{Item: item, Arm: "lexicon", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: []byte(answer)}, vs)
}

// TestSpansWithoutAPlace: a span that is not in the text is wrong, also when gold has
// one with the same role that is not in the text either.
func TestSpansWithoutAPlace(t *testing.T) {
	b, err := openFiles(t, map[string]string{"study.yaml": minimal, "r.jsonl": `{"id": "a", "text": "A boy runs.", "spans": [{"text": "ghost", "label": "subject.identity"}, {"text": "boy", "label": "subject.identity"}]}`})
	if err != nil {
		t.Fatal(err)
	}
	got := figures(b, answerOf("a", `{"spans": [{"text": "phantom", "role": "subject.identity"}, {"text": "boy", "role": "subject.identity"}]}`))
	for _, metric := range []string{metricF1, metricPrecision, metricRecall, metricExact, metricPartial, metricType, metricCategory, metricMacro} {
		if got[metric] != 0.5 {
			t.Errorf("%s is %v, want 0.5: one of two spans is right", metric, got[metric])
		}
	}
}

// TestConfidences: only confidences from 0 to 1 are stated. Others are noted, and
// neither scored nor exported nor shown as one of 1.
func TestConfidences(t *testing.T) {
	b := small(t)
	for name, test := range map[string]struct {
		answer string
		rows   []eval.Row
		note   string
		pages  string
	}{
		"per cent": {`{"spans": [{"text": "boy", "role": "subject.identity", "confidence": 95}, {"text": "runs", "role": "action.movement", "confidence": 10}]}`, nil, "2 confidences outside 0 to 1, not used", "subject.identity; action.movement"},
		"mixed":    {`{"spans": [{"text": "boy", "role": "subject.identity", "confidence": 0.5}, {"text": "runs", "role": "action.movement", "confidence": -0.1}]}`, []eval.Row{{0.5, 1}}, "1 confidence outside 0 to 1, not used", "subject.identity, 0.50; action.movement"},
		"none":     {`{"spans": [{"text": "boy", "role": "subject.identity"}, {"text": "runs", "role": "action.movement"}]}`, nil, "", "subject.identity; action.movement"},
		"wrapper":  {`{"answer": {"spans": [{"text": "boy", "role": "subject.identity"}, {"text": "runs", "role": "action.movement"}]}}`, nil, eval.NoteLenient, "subject.identity; action.movement"},
		"list":     {`[{"spans": [{"text": "boy", "role": "subject.identity"}, {"text": "runs", "role": "action.movement"}]}]`, nil, eval.NoteLenient, "subject.identity; action.movement"},
		"several":  {`{"spans": [{"text": "boy", "role": "subject.identity"}]} or rather {"spans": [{"text": "runs", "role": "action.movement"}]}`, nil, eval.NoteSeveral, "subject.identity; "},
		"borders":  {`{"spans": [{"text": "boy", "role": "subject.identity", "confidence": 1}, {"text": "runs", "role": "style", "confidence": 0}]}`, []eval.Row{{1, 1, 0, 0}}, "", "subject.identity, 1.00; style, 0.00"},
	} {
		o := b.outcomeOf(eval.Response{Text: test.answer, Stop: eval.StopEnd}, "", b.Datum("a").Text)
		if got := strings.Join(o.Notes, "; "); got != test.note {
			t.Errorf("%s: notes %q, want %q", name, got, test.note)
		}
		c := answerOf("a", test.answer)
		found := b.read(b.Datum("a"), &c.Trials[0])
		if !found.readable {
			t.Fatal(name)
		}
		var rows []eval.Row
		for _, s := range confidences(nil, found, func(i int) bool { return found.spans[i].Role != "style" }) {
			if s.Metric == metricECE {
				rows = append(rows, s.Row)
			}
		}
		if !cmp.Equal(rows, test.rows) {
			t.Errorf("%s: rows %v, want %v", name, rows, test.rows)
		}
		x, err := b.Show(c)
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, r := range x.Rows {
			shown = append(shown, r.Answer)
		}
		if got := strings.Join(shown, "; "); got != test.pages {
			t.Errorf("%s: shown %q, want %q", name, got, test.pages)
		}
		l := b.labelled(found)
		r := b.result(found, &l)
		for i, s := range found.spans {
			if own := r.Spans[i].Confidence; (own != nil) != s.Stated() || own != nil && *own != s.Confidence {
				t.Errorf("%s: span %d is exported with confidence %v", name, i, own)
			}
		}
	}
}

// says is a judge or labeller that gives one answer.
type says struct {
	text string
	err  error
	asks *[]eval.Request
}

func (s says) Ask(_ context.Context, _ string, r eval.Request) (eval.Response, error) {
	if s.asks != nil {
		*s.asks = append(*s.asks, r)
	}
	return eval.Response{Text: s.text, Stop: eval.StopEnd}, s.err
}

// TestJudgeSteps: an answer of each kind is a stored verdict, is scored by what
// could be read, and keeps its text.
func TestJudgeSteps(t *testing.T) {
	b := small(t)
	r := b.Datum("a")
	o := eval.Outcome{Kind: eval.OK, Data: encodeAnswer(b.planted(r))}
	right := string(b.foreseen(r, b.planted(r)).Encode())
	tr := eval.Trial{Item: "a", Arm: "labeller", Replicate: 1}
	for name, test := range map[string]struct {
		answer   string
		step     verdict.Step
		unscored string
		errors   float64
	}{
		"enhanced": {right, verdict.Enhanced, "", 0.5},
		"repaired": {strings.TrimSuffix(right, "}") + ",}", verdict.Repaired, "", 0.5},
		"basic":    {`{"scores": {"coverage": 4, "precision": 4, "granularity": 4, "taxonomy": 4, "technicalSpecs": 4}, "incorrectExtractions": ["boy", "runs"]}`, verdict.Basic, "", 1},
		"none":     {"It is fine.", verdict.None, "no judgement: the judgement could not be parsed", 0},
	} {
		var asked []eval.Request
		vs, err := b.Judge(t.Context(), tr, o, says{text: test.answer, asks: &asked})
		if err != nil || len(vs) != 1 || string(vs[0].Data) != test.answer || vs[0].By != "j" || len(asked) != 1 {
			t.Fatalf("%s: %+v, %v", name, vs, err)
		}
		if q := asked[0].Messages[0].Content; !strings.Contains(q, "[0] 'boy' (") || asked[0].Model != "j" {
			t.Errorf("%s: asked %q", name, q)
		}
		c := eval.CaseOf(tr, o, vs)
		if got := b.read(r, &c.Trials[0]).parsed.Step; got != test.step {
			t.Errorf("%s: step %s", name, got)
		}
		for _, s := range b.Score(nil, c) {
			if s.Metric == metricTotal && s.Unscored != test.unscored || s.Metric == metricErrorRate && (s.Num/s.Den != test.errors || s.Unscored != test.unscored) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if _, err := b.Judge(t.Context(), tr, o, says{err: errors.New("stopped")}); err == nil {
		t.Error("an error of the run is lost")
	}
	if vs, err := b.Judge(t.Context(), tr, eval.Outcome{Kind: eval.Malformed, Data: []byte("x")}, says{}); err != nil || vs != nil {
		t.Errorf("a malformed answer is judged: %v, %v", vs, err)
	}
}

// TestUnknownErrors: errors that a judgement does not have in full are unscored, not
// absent; an answer that cannot be read has the lowest scores, not none.
func TestUnknownErrors(t *testing.T) {
	b := small(t)
	r := b.Datum("a")
	full := string(b.foreseen(r, b.planted(r)).Encode())
	at := func(key string) int { return strings.Index(full, `"`+key+`"`) }
	const scores = `{"scores": {"coverage": 4, "precision": 4, "granularity": 4, "taxonomy": 4, "technicalSpecs": 4}`
	for name, test := range map[string]struct {
		answer              string
		errors, missed, bad string // num/den, or ? where it is not known
	}{
		"complete":              {full, "1/2", "0/1", "0/2"},
		"cut in a list":         {full[:at("taxonomyErrors")+len(`"taxonomyErrors":[{"span`)], "?", "0/1", "0/2"},
		"cut before the lists":  {full[:at("missedElements")-1], "?", "?", "?"},
		"cut in the last words": {full[:at("notes")+len(`"notes":"Th`)], "1/2", "0/1", "0/2"},
		"a list is null":        {strings.Replace(full, `"falsePositives":[]`, `"falsePositives":null`, 1), "?", "0/1", "?"},
		"a list is an object":   {strings.Replace(full, `"missedElements":[]`, `"missedElements":{}`, 1), "1/2", "?", "0/2"},
		"an element is a word":  {strings.Replace(full, `"granularityErrors":[]`, `"granularityErrors":["long"]`, 1), "?", "0/1", "0/2"},
		"an error of no span":   {strings.Replace(full, `"falsePositives":[]`, `"falsePositives":[{"spanIndex":7,"text":"zebra","assignedRole":"x","reason":"other"}]`, 1), "?", "0/1", "?"},
		"a border of no span":   {strings.Replace(full, `"granularityErrors":[]`, `"granularityErrors":[{"spanIndex":-1,"text":"zebra","issue":"too_coarse","suggestion":""}]`, 1), "?", "0/1", "0/2"},
		"basic, one list":       {scores + `, "missedElements": [], "incorrectExtractions": ["boy"]}`, "1/2", "0/1", "1/2"},
		"scores alone":          {scores + `}`, "?", "?", "?"},
		"prose":                 {"It is fine.", "?", "?", "?"},
	} {
		vs, err := b.Judge(t.Context(), eval.Trial{Item: "a", Arm: "labeller", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: encodeAnswer(b.planted(r))}, says{text: test.answer})
		if err != nil {
			t.Fatal(err)
		}
		got := shown(b, eval.Outcome{Kind: eval.OK, Data: encodeAnswer(b.planted(r))}, vs)
		for metric, want := range map[string]string{metricErrorRate: test.errors, metricMissed: test.missed, metricFalse: test.bad} {
			if got[metric] != want {
				t.Errorf("%s: %s is %s, want %s", name, metric, got[metric], want)
			}
		}
		if name == "prose" && vs[0].Err == "" {
			t.Error("a judgement that cannot be read is not a failure that can be retried")
		}
	}
	for _, o := range []eval.Outcome{{Kind: eval.Malformed, Data: []byte("x")}, {Kind: eval.Refused}} {
		got := shown(b, o, nil)
		for metric, want := range map[string]string{metricTotal: "5/1", metricErrorRate: "2/2", metricF1: "0/2", "judge_coverage": "1/1"} {
			if got[metric] != want {
				t.Errorf("%s: %s is %s, want %s", o.Kind, metric, got[metric], want)
			}
		}
	}
}

// TestCaseWithUnknownSpan: an error that is about no span of a known case is an error still.
func TestCaseWithUnknownSpan(t *testing.T) {
	b := small(t)
	v := faultless()
	v.FalsePositives = append(v.FalsePositives, verdict.FalsePositive{SpanIndex: 7, Text: "zebra", AssignedRole: "x", Reason: label.Other})
	c := kit.KnownCase{Item: "a", Answer: string(encodeAnswer(b.Datum("a").Spans))}
	pass, missing := b.CaseVerdict(c, []eval.Verdict{{Step: judgeStep, Source: eval.ByModel, Data: v.Encode()}})
	if pass || missing != "" {
		t.Errorf("pass %v, missing %q", pass, missing)
	}
}

// shown are the scores of an answer to text a: num/den, or ? without.
func shown(b *bench, o eval.Outcome, vs []eval.Verdict) map[string]string {
	got := map[string]string{}
	for _, s := range b.Score(nil, eval.CaseOf(eval.Trial{Item: "a", Arm: "labeller", Replicate: 1}, o, vs)) {
		if got[s.Metric] = fmt.Sprintf("%v/%v", s.Num, s.Den); s.Unscored != "" {
			got[s.Metric] = "?"
		}
	}
	return got
}

// TestCalibrate: a judge that finds planted errors is trusted, one that finds
// everything or nothing is not, and then its verdicts are unscored.
func TestCalibrate(t *testing.T) {
	b := small(t)
	r := b.Datum("a")
	all := func(spans []spanfile.Span) *verdict.Result {
		v := verdict.Empty()
		v.Scores = verdict.Scores{Coverage: 1, Precision: 1, Granularity: 1, Taxonomy: 1, TechnicalSpecs: 1}
		for i, s := range spans {
			v.FalsePositives = append(v.FalsePositives, verdict.FalsePositive{SpanIndex: verdict.Index(i), Text: s.Text, Reason: "other"})
		}
		return &v
	}
	for name, test := range map[string]struct {
		judge func(spans []spanfile.Span) *verdict.Result
		trust bool
		right []float64
	}{
		"good":       {func(s []spanfile.Span) *verdict.Result { return b.foreseen(r, s) }, true, []float64{2}},
		"everything": {all, false, []float64{1}},
		"nothing":    {func([]spanfile.Span) *verdict.Result { return b.foreseen(r, r.Spans) }, false, []float64{1}},
	} {
		cases := func(yield func(eval.Case, error) bool) {
			for id, spans := range map[string][]spanfile.Span{calibrationGold: r.Spans, calibrationPlanted: b.planted(r)} {
				v := eval.Verdict{Step: judgeStep, Source: eval.ByModel, By: "j", Data: test.judge(spans).Encode()}
				if !yield(eval.CaseOf(eval.Trial{Item: "a", Arm: id, Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: encodeAnswer(spans)}, []eval.Verdict{v}), nil) {
					return
				}
			}
		}
		m, err := b.Measure(cases)
		scorer, c := b.Calibrate(m)
		if err != nil || !cmp.Equal(c.Right, test.right) || !cmp.Equal(c.Cases, []float64{2}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		v := eval.Verdict{Step: judgeStep, Source: eval.ByModel, By: "j", Data: b.foreseen(r, r.Spans).Encode()}
		judged := eval.CaseOf(eval.Trial{Item: "a", Arm: "labeller", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: encodeAnswer(r.Spans)}, []eval.Verdict{v})
		if x, err := b.Show(judged); err != nil || strings.Contains(x.Lead, "{") {
			t.Errorf("%s: a verdict without notes is said to be %q, %v", name, x.Lead, err)
		}
		for _, s := range scorer.Score(nil, judged) {
			if s.Metric == metricTotal && (s.Unscored == "") != test.trust {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// TestPlantedErrors: a perfect judge is trusted in every taxonomy, since the planted span has
// an error in each: another role, or where there is one role, other borders.
func TestPlantedErrors(t *testing.T) {
	for name, test := range map[string]struct{ taxonomy, gold, want string }{
		"one role":        {"[{name: PER}]", `{"text": "Ford", "label": "PER"}`, "F PER"},
		"one letter":      {"[{name: PER}]", `{"text": "X", "label": "PER"}`, "Ford and X sued. PER"},
		"attributes":      {"[{name: PER, attributes: [boss, clerk]}]", `{"text": "Ford", "label": "PER.boss"}`, "Ford PER.clerk"},
		"last attribute":  {"[{name: PER, attributes: [boss, clerk]}]", `{"text": "Ford", "label": "PER.clerk"}`, "Ford PER.boss"},
		"category":        {"[{name: PER, attributes: [boss]}]", `{"text": "Ford", "label": "PER"}`, "Ford PER.boss"},
		"only attribute":  {"[{name: PER, attributes: [boss]}]", `{"text": "Ford", "label": "PER.boss"}`, "Ford PER"},
		"two categories":  {"[{name: PER}, {name: ORG}]", `{"text": "Ford", "label": "ORG"}`, "Ford PER"},
		"nothing to find": {"[{name: PER}]", `{"text": "ghost", "label": "PER"}`, ""},
	} {
		b, err := openFiles(t, map[string]string{"study.yaml": strings.Replace(minimal, ", {name: lexicon}", "", 1) + "taxonomy: {categories: " + test.taxonomy + "}\n",
			"r.jsonl": `{"id": "a", "text": "Ford and X sued.", "spans": [` + test.gold + `]}`})
		if err != nil {
			t.Fatal(err)
		}
		r := b.Datum("a")
		if has := b.Arm(calibrationPlanted) != nil; has != (test.want != "") {
			t.Errorf("%s: the study has a planted arm: %v", name, has)
		}
		if b.Arm(calibrationPlanted) == nil {
			continue
		}
		m, err := b.Measure(func(yield func(eval.Case, error) bool) {
			for id, spans := range map[string][]spanfile.Span{calibrationGold: r.Spans, calibrationPlanted: b.planted(r)} {
				v := eval.Verdict{Step: judgeStep, Source: eval.ByModel, By: "j", Data: b.foreseen(r, spans).Encode()}
				if !yield(eval.CaseOf(eval.Trial{Item: "a", Arm: id, Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: encodeAnswer(spans)}, []eval.Verdict{v}), nil) {
					return
				}
			}
		})
		if s := b.planted(r)[0]; s.Text+" "+s.Role != test.want || spanfile.NewRuler(r.Text).Slice(s.Start, s.End) != s.Text {
			t.Errorf("%s: planted %+v, want %s", name, s, test.want)
		}
		if _, c := b.Calibrate(m); err != nil || c.Failed {
			t.Errorf("%s: a perfect judge is not trusted: %+v, %v", name, c, err)
		}
	}
}

// TestPeople: a judge that finds one of two errors of people, and one of its own,
// has precision and recall of one half; its rates are corrected.
func TestPeople(t *testing.T) {
	human := `{"id": "a", "arm": "lexicon", "by": "eve", "spans": [{"text": "A", "role": "style"}, {"text": "boy", "role": "style"}, {"text": "runs", "role": "style"}, {"text": "on", "role": "style"}], "result": {"scores": {"coverage": 3, "precision": 3, "granularity": 3, "taxonomy": 3, "technicalSpecs": 3}, "totalScore": 15, "missedElements": [{"text": "the beach"}], "falsePositives": [{"spanIndex": 0, "text": "A", "reason": "other"}, {"spanIndex": 1, "text": "boy", "reason": "other"}], "taxonomyErrors": [], "granularityErrors": []}}`
	b, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": twoTexts, "h.jsonl": human})
	if err != nil {
		t.Fatal(err)
	}
	r := b.Datum("a")
	spans := []spanfile.Span{{Text: "A", Role: "style", Confidence: 1, Start: 0, End: 1}, {Text: "boy", Role: "style", Confidence: 1, Start: 2, End: 5},
		{Text: "runs", Role: "style", Confidence: 1, Start: 6, End: 10}, {Text: "on", Role: "style", Confidence: 1, Start: 11, End: 13}}
	v := verdict.Empty()
	v.Scores = verdict.Scores{Coverage: 3, Precision: 3, Granularity: 3, Taxonomy: 3, TechnicalSpecs: 3}
	v.FalsePositives = []verdict.FalsePositive{{SpanIndex: 1, Text: "boy", Reason: "other"}, {SpanIndex: 2, Text: "runs", Reason: "other"}}
	v.MissedElements = []verdict.Missed{{Text: "beach", Severity: "minor"}, {Text: "sand", Severity: "minor"}}
	c := eval.CaseOf(eval.Trial{Item: "a", Arm: "lexicon", Replicate: 1}, eval.Outcome{Kind: eval.OK, Data: encodeAnswer(spans)},
		[]eval.Verdict{{Step: judgeStep, Source: eval.ByModel, By: "j", Data: v.Encode()}})
	got := figures(b, c)
	for metric, want := range map[string]float64{
		"judge_vs_people_false_positive_precision": 0.5, "judge_vs_people_false_positive_recall": 0.5, "judge_vs_people_false_positive_kappa": 0,
		"judge_vs_people_missed_precision": 0.5, "judge_vs_people_missed_recall": 1,
	} {
		if v, ok := got[metric]; !ok || !(math.Abs(v-want) <= 1e-12) {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
	if _, ok := got["judge_vs_people_taxonomy_recall"]; ok {
		t.Error("a recall of no errors")
	}
	var q snapshot.Quality
	for i := range 40 {
		q.Add(fmt.Sprint("checked", i), []uint8{1, 0}, []uint8{uint8(i % 2), 0})
		q.Add(fmt.Sprint("not", i), []uint8{1, 0}, nil)
	}
	rates := q.Corrected()
	if len(rates) != 4 || rates[0].Judge != 0.5 || rates[0].People != 0.25 || !(math.Abs(float64(rates[0].Value)-0.25) <= 0.02) || !(rates[0].CI.Low < rates[0].Value && rates[0].Value < rates[0].CI.High) || rates[0].Labelled != 80 {
		t.Errorf("%+v", rates)
	}
	x, err := b.Show(c)
	if err != nil || len(x.Pages) != 2 || x.Pages[0].Marks[1].Fault == "" || x.Pages[0].Marks[1].Kind != "style" || x.Pages[1].Title != "Gold" {
		t.Errorf("%+v, %v", x, err)
	}
	_ = r
	var rated []string
	for _, q := range b.Ratings(c) {
		rated = append(rated, fmt.Sprint(q.Unit, " ", q.Yes))
	}
	if got := strings.Join(rated, ", "); got != "span 1 true, span 2 false, span 3 false, span 4 true" {
		t.Errorf("the judge's ratings are %s", got)
	}
	if units := x.Judged(); len(units) != 4 || units[1].ID != "span 2" || units[1].Answer != "[1] boy: style, 1.00" || !x.Pages[1].Gold {
		t.Errorf("people are shown %+v", units)
	}
}

// TestMissedElements: elements are the same if they have the same text or the words of each other,
// whatever their order.
func TestMissedElements(t *testing.T) {
	for name, test := range map[string]struct {
		judge, people string
		want          int
	}{
		"parts of words":      {"a, with", "woman, scattered leaves", 0},
		"equal first":         {"light, soft light", "soft light, key light", 2},
		"in another order":    {"soft light, light", "key light, soft light", 2},
		"equal and not":       {"soft light, light, warm soft light", "soft light", 1},
		"once each":           {"light", "soft light, key light", 1},
		"another case, comma": {"The Beach.", "the beach", 1},
		"equal, not two":      {"soft light, light", "very soft light, soft light", 2},
		"none":                {"", "soft light", 0},
	} {
		var judge []verdict.Missed
		for _, s := range strings.Split(test.judge, ", ") {
			if s != "" {
				judge = append(judge, verdict.Missed{Text: s})
			}
		}
		if got := sameElements(judge, strings.Split(test.people, ", ")); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestLexicon(t *testing.T) {
	var x label.Taxonomy
	if err := x.Complete(); err != nil {
		t.Fatal(err)
	}
	l, err := newLexicon(videoLexicon, &x)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"Extreme close-up of a man, 24 fps.":    "[shot.type Extreme close-up] [subject.identity man] [technical.frameRate 24 fps]",
		"a manual woman's hat":                  "[subject.identity woman] [subject.wardrobe hat]", // not man in manual or woman
		"16:9, f/1.8-f/2.8, 4K":                 "[technical.aspectRatio 16:9] [camera.focus f/1.8-f/2.8] [technical.resolution 4K]",
		"İzmir at SUNSET":                       "[lighting.timeOfDay SUNSET]", // lower case of İ has another length
		"🪁 SUNSET":                              "[lighting.timeOfDay SUNSET]", // offsets are code points
		"medium shot":                           "[shot.type medium shot]",
		"an elderly woman on a train station x": "[subject.identity elderly woman] [environment.location train station]",
	} {
		var got []string
		r := spanfile.NewRuler(text)
		for _, s := range l.label(text) {
			if r.Slice(s.Start, s.End) != s.Text {
				t.Errorf("%q: %+v", text, s)
			}
			got = append(got, fmt.Sprintf("[%s %s]", s.Role, s.Text))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%q: %s, want %s", text, all, want)
		}
	}
	for data, want := range map[string]string{`{}`: "the lexicon is empty", `{"mood": ["sad"]}`: `no role "mood"`, `{"style": ["/(/"]}`: "missing closing )", `{"style": ["/x*/"]}`: "matches the empty text", `{"style": ["x"]}`: "at least 2 characters"} {
		if _, err := newLexicon([]byte(data), &x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
}

// TestRecorded: the recorded runs have unscored judgements where the judge failed,
// a failed trial where the labeller did, and nothing for texts that they lack.
func TestRecorded(t *testing.T) {
	b, err := openFile(t, filepath.Join("..", "..", "..", "examples", "spans", "study.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	total := 0.0
	for _, it := range b.Items() {
		tr := eval.Trial{Item: it.ID, Arm: "run1", Replicate: 1}
		o, err := b.Perform(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		vs, err := b.Judge(t.Context(), tr, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind == eval.Failed {
			counts["failed"]++
			continue
		}
		for _, s := range b.Score(nil, eval.CaseOf(tr, o, vs)) {
			switch {
			case s.Metric != metricTotal:
			case s.Unscored != "":
				reason, _, _ := strings.Cut(s.Unscored, ":")
				counts[reason]++
			default:
				counts["scored"]++
				total += s.Num
			}
		}
	}
	if d := cmp.Diff(map[string]int{"scored": 45, "no judgement": 8, "failed": 1, "the file does not have the text": 24}, counts); d != "" || math.Round(100*total/45) != 1876 {
		t.Errorf("average %v (-want +got)\n%s", total/45, d)
	}
}

// TestExportFailures: a judge's call that failed, or a judge that failed its calibration, ends in
// the error of a result, with its spans and without a judgement; what was answered and could not
// be parsed is kept as totals of 0. Read again, the labeller did not fail.
func TestExportFailures(t *testing.T) {
	calibrated := small(t)
	distrusted := *calibrated
	distrusted.trusted = false
	o := eval.Outcome{Kind: eval.OK, Data: encodeAnswer(calibrated.Datum("a").Spans)}
	for name, test := range map[string]struct {
		bench   *bench
		verdict eval.Verdict
		want    string // error, judgement, errors, judged, judge failures, labeller failures
	}{
		"timeout":    {calibrated, eval.Verdict{Err: "the call timed out"}, "Judge failed: the call timed out; false; 1, 0, 1, 0"},
		"unparsed":   {calibrated, eval.Verdict{Err: unparsed, Data: []byte("It is fine.")}, "; true; 0, 0, 1, 0"},
		"distrusted": {&distrusted, eval.Verdict{Data: faultless().Encode()}, "Judge failed: " + eval.JudgeFailed + "; false; 1, 0, 1, 0"},
		"judged":     {calibrated, eval.Verdict{Data: faultless().Encode()}, "; true; 0, 1, 0, 0"},
	} {
		v := test.verdict
		v.Step, v.Source, v.By = judgeStep, eval.ByModel, "j"
		c := eval.CaseOf(eval.Trial{Item: "a", Arm: "labeller", Replicate: 1}, o, []eval.Verdict{v})
		dir := t.TempDir()
		if _, err := exports()[0].Write(test.bench, keptAnswers{outcomes: c.Trials}, dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "labeller.json")
		again, err := readSpans(path, spanfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var summary snapshot.Summary
		if err := json.Unmarshal(again.Snapshot.Summary, &summary); err != nil {
			t.Fatal(err)
		}
		r, said, failed := again.Docs[0].Recorded(), "", 0
		if r.Error != nil {
			said = *r.Error
		}
		if again.Docs[0].Failed != "" {
			failed++
		}
		got := fmt.Sprintf("%s; %v; %d, %d, %d, %d", said, string(r.JudgeResult) != "null", summary.ErrorCount, summary.JudgedResults, summary.JudgeFailures, failed)
		l := calibrated.reader.Label(r)
		if name != "judged" && l.State != snapshot.JudgeFailed || len(again.Docs[0].Spans) != 2 || got != test.want {
			t.Errorf("%s: %s with %d spans: %s, want %s", name, l.State, len(again.Docs[0].Spans), got, test.want)
		}
		counts := calibrated.reader.NewTally()
		counts.Add(&l)
		var is map[string]any
		if data, err := json.Marshal(counts.Summary()); err != nil || json.Unmarshal(data, &is) != nil || is["errorCount"] != float64(summary.ErrorCount) || is["judgeFailureCount"] != float64(summary.JudgeFailures) {
			t.Errorf("%s: summarised again: %v, %v", name, is, err)
		}
		k := &tally{counts: test.bench.reader.NewTally(), confusion: map[[2]string]int{}, people: map[*checked]bool{}}
		test.bench.count(k, test.bench.read(calibrated.Datum("a"), &c.Trials[0]))
		if s := k.counts.Summary(); s.JudgedResults != summary.JudgedResults || s.ErrorCount != summary.ErrorCount {
			t.Errorf("%s: the report counts %+v, the snapshot %+v", name, s, summary)
		}
	}
	if b, err := openFiles(t, map[string]string{"study.yaml": strings.Replace(minimal, "{name: lexicon}", "{name: old, spans: s.json}", 1), "r.jsonl": twoTexts,
		"s.json": `{"results": [{"promptId": "a", "output": "A boy runs on the beach.", "spans": [{"text": "boy", "role": "style", "start": 2, "end": 5}], "judgeResult": null, "error": "Judge failed: the call timed out"}]}`}); err != nil {
		t.Error(err)
	} else {
		tr := eval.Trial{Item: "a", Arm: "old", Replicate: 1}
		o, err := b.Perform(t.Context(), tr, nil)
		vs, errJudge := b.Judge(t.Context(), tr, o, nil)
		if err != nil || errJudge != nil || o.Kind != eval.OK || len(vs) != 1 || vs[0].Err != "the call timed out" || vs[0].Data != nil {
			t.Errorf("a recorded error of the judge is the labeller's: %+v, %+v, %v, %v", o, vs, err, errJudge)
		}
	}
}

// TestPipeline: a pipeline gets the text and the roles.
func TestPipeline(t *testing.T) {
	b, err := openFiles(t, map[string]string{"study.yaml": strings.Replace(minimal, "{name: lexicon}", `{name: p, exec: "./p"}`, 1), "r.jsonl": twoTexts})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.request(b.Arm("p"), b.Datum("b"))
	var got payload
	if err != nil || json.Unmarshal(r.Payload, &got) != nil || got.ID != "b" || got.Text != "Nothing." || len(got.Roles) != 38 {
		t.Errorf("%s, %v", r.Payload, err)
	}
}

// The prompt is part of the measurement: a change needs another version.
func TestPromptVersion(t *testing.T) {
	b := small(t)
	const version, prompts = "1", "5b8ac9a90788d710"
	if got := eval.HashOf([]byte(b.Arm("labeller").system + string(b.answerSchema()))).String(); got != prompts || PromptVersion != version {
		t.Errorf("version %s with prompts %s, want %s with %s: raise PromptVersion when prompts change", PromptVersion, got, version, prompts)
	}
}

// The judge is no part of what judged arms are asked, but of what their judgements are.
func TestJudgeIsNotOfTheArm(t *testing.T) {
	judged := small(t)
	plain, err := openFiles(t, map[string]string{"study.yaml": strings.Replace(minimal, "judge_model: j\n", "", 1), "r.jsonl": twoTexts})
	if err != nil {
		t.Fatal(err)
	}
	const id = "lexicon"
	if got, want := judged.Arm(id).Hash, plain.Arm(id).Hash; got != want {
		t.Errorf("%s: hash %s, want %s", id, got, want)
	}
	trial := eval.Trial{Item: judged.Items()[0].ID, Arm: id, Replicate: 1}
	other, err := openFiles(t, map[string]string{"study.yaml": minimal, "r.jsonl": strings.Replace(twoTexts, `"start"`, `"start" `, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if judged.Basis(trial).Judged != other.Basis(trial).Judged {
		t.Error("spacing in a file of texts changes what the judge is asked")
	}
}

// FuzzAnswer: no answer makes the parser panic, and every span is in the text or
// has no place.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"spans": [{"text": "boy", "role": "x", "start": 99, "end": -3, "confidence": "high"}]}`, `[{"text": "boy", "label": "x"}, null, 3, {}]`,
		"```json\n{\"spans\": [{\"text\": \"boy\",", `{"spans": {}}`, `{"spans": [{"role": "x", "start": 0, "end": 1}]}`} {
		f.Add(seed)
	}
	d := snapshot.DefaultReader()
	b := &bench{taxonomy: d.Taxonomy, reader: d}
	const text = "Ein Junge 🪁 läuft: boy boy."
	r := spanfile.NewRuler(text)
	f.Fuzz(func(t *testing.T, raw string) {
		o := b.outcomeOf(eval.Response{Text: raw, Stop: eval.StopEnd}, "", text)
		if string(o.Data) != raw {
			t.Fatalf("the answer %q is stored as %q", raw, o.Data)
		}
		a, err := b.readAnswer([]byte(raw), text)
		if (err == nil) != (o.Kind == eval.OK) || len(a.notes) != len(a.spans) {
			t.Fatalf("%v, %+v", err, o)
		}
		for _, s := range a.spans {
			if s.Placed() && r.Slice(s.Start, s.End) != s.Text || !s.Stated() && s.Confidence != spanfile.Unstated || s.Section == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}

// Numbers that a labeller writes as text are read; a span with another text in their place stays.
func TestNumbersAsText(t *testing.T) {
	d := snapshot.DefaultReader()
	b := &bench{taxonomy: d.Taxonomy, reader: d}
	a, err := b.readAnswer([]byte(`{"spans": [{"text": "boy", "role": "x", "start": "4", "end": " 7 ", "confidence": "0.9"},
		{"text": "runs", "role": "y", "start": "there", "end": 3.5, "confidence": "high"}]}`), "one boy runs")
	if err != nil || len(a.spans) != 2 || a.dropped != 0 || a.outside != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	if s := a.spans[0]; s.Start != 4 || s.End != 7 || s.Confidence != 0.9 {
		t.Errorf("%+v", s)
	}
	if s := a.spans[1]; s.Start != 8 || s.Stated() {
		t.Errorf("%+v", s)
	}
}

// The study words its judge: its judgements are asked for again. Without words of its own the
// instructions are the built-in ones.
func TestOwnJudgePrompt(t *testing.T) {
	system := func(judge string) (string, eval.Basis) {
		b, err := openFiles(t, map[string]string{"study.yaml": minimal + judge, "r.jsonl": twoTexts})
		if err != nil {
			t.Fatal(err)
		}
		return b.system, b.Basis(eval.Trial{Item: "a", Arm: b.Arms()[0].ID, Replicate: 1})
	}
	plain, was := system("")
	listed, now := system("judge: {criteria: [names of places count]}\n")
	if !strings.Contains(listed, "Criteria:\n- names of places count\n\nList every error:") || strings.Contains(plain, "Criteria:") || was.Judged == now.Judged {
		t.Errorf("got %s", listed)
	}
	if own, _ := system("judge: {prompt: \"Judge {{ROLES}}\"}\n"); !strings.HasPrefix(own, "Judge ") || strings.Contains(own, "{{") {
		t.Errorf("got %s", own)
	}
}

// An answer that is read in one pass has the spans that it has when it is read with patience.
func TestAnswerAsWritten(t *testing.T) {
	values := rapid.SampledFrom([]string{`"boy"`, `""`, `null`, `4`, `7.0`, `-1`, `2e9`, `0.5`, `"0.5"`, `true`, `"\ud800"`, `[]`, `1e400`})
	keys := rapid.SampledFrom([]string{"text", "role", "label", "confidence", "start", "end", "Text", "note"})
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		var list []string
		for range rapid.IntRange(0, 3).Draw(t, "spans") {
			var members []string
			for _, key := range rapid.SliceOfN(keys, 0, 6).Draw(t, "keys") {
				members = append(members, fmt.Sprintf("%q: %s", key, values.Draw(t, "value")))
			}
			list = append(list, "{"+strings.Join(members, ", ")+"}")
		}
		raw := rapid.SampledFrom([]string{`{"spans": [%s]}`, ` {"spans": [%s]} `, `{"spans": [%s], "more": 1}`, `{"spans": [%s]} and`, `[%s]`}).Draw(t, "form")
		raw = fmt.Sprintf(raw, strings.Join(list, ", "))
		if rapid.Bool().Draw(t, "own") {
			raw = string(encodeAnswer([]spanfile.Span{{Text: "boy", Role: "x", Confidence: rapid.Float64Range(-1, 2).Draw(t, "c"), Start: rapid.IntRange(-1, 3).Draw(t, "at"), End: 3}}))
		}
		got, ok := asWritten([]byte(raw))
		if !ok {
			return
		}
		read++
		var a answer
		want, err := a.entries(raw)
		if err != nil || a.dropped+len(a.notes) > 0 || a.repaired || a.wrapped {
			t.Fatalf("%s: read in one pass, but %v, %+v", raw, err, a)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("%s: %s", raw, d)
		}
	})
	if read == 0 {
		t.Error("no answer was read in one pass")
	}
}

// Texts of a file that the study does not have, and texts that the file lacks, are said.
func TestUnusedSpans(t *testing.T) {
	b, err := openFiles(t, map[string]string{"study.yaml": strings.Replace(minimal, "{name: lexicon}", "{name: l, spans: s.jsonl}", 1), "r.jsonl": twoTexts,
		"s.jsonl": `{"id": "a", "text": "A boy runs on the beach.", "spans": []}` + "\n" + `{"id": "A", "text": "Nothing.", "spans": []}`})
	if err != nil {
		t.Fatal(err)
	}
	w := strings.Join(b.Capabilities().Warnings(), "\n")
	for _, want := range []string{"s.jsonl: ignored 1 text not in the study: A", "s.jsonl: 1 text of the study is not in it"} {
		if !strings.Contains(w, want) {
			t.Errorf("warnings: %s; want %s", w, want)
		}
	}
}

// A list is read wherever models put it, and entries that are no spans are no empty list.
func TestListsOfSpans(t *testing.T) {
	d := snapshot.DefaultReader()
	b := &bench{taxonomy: d.Taxonomy, reader: d}
	const list = `[{"text": "boy", "role": "x"}]`
	for raw, want := range map[string]int{
		list: 1, "```json\n" + list + "\n```": 1, "Here they are:\n```json\n" + list + "\n```\nEnjoy!": 1, "```\n[]\n```": 0,
		"<think>[{]</think>\n" + list: 1, `{"spans": []}`: 0, "[]": 0, `{"spans": [{}]}`: 0,
		`{"entities": ` + list + `}`: -1, `{"spans": null}`: -1, `[{"entities": []}]`: -1, `{"spans": [{"text": "boy", "type": "x"}]}`: -1,
	} {
		o := b.outcomeOf(eval.Response{Text: raw, Stop: eval.StopLength}, "", "a boy")
		a, err := b.readAnswer([]byte(raw), "a boy")
		if (err != nil) != (want < 0) || (o.Kind != eval.OK) != (want < 0) || len(a.spans) != max(0, want) {
			t.Errorf("%s: %d spans, %v, %s; want %d", raw, len(a.spans), err, o.Kind, want)
		}
		if !slices.Contains(o.Notes, eval.NoteTruncated) {
			t.Errorf("%s: an answer that a token limit cut off has the notes %v", raw, o.Notes)
		}
	}
}

// A file that is both data and an arm is read once, so its warnings are given once.
func TestSnapshotReadOnce(t *testing.T) {
	b, err := openFiles(t, map[string]string{"study.yaml": "name: s\nsuite: spans\ndata:\n  - {path: a.json}\narms:\n  - {name: a, spans: a.json}\n",
		"a.json": `{"results": [{"promptId": "p", "input": "A boy runs", "spans": [{"text": "boy", "role": "subject", "start": 0, "end": 3}]}], "summary": {}}`})
	if err != nil {
		t.Fatal(err)
	}
	if w := b.Capabilities().Warnings(); len(w) != 1 || !strings.Contains(w[0], "realigned") {
		t.Errorf("warnings %q", w)
	}
}

// TestImportLimit: an import says how many texts it left out, and why; a text that is too long is
// so beyond the limit as well.
func TestImportLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(file, []byte(`{"prompts": [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}, {"id": "c", "text": "three"}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, report, err := convert(file, spanfile.Prompts, kit.ImportOptions{Limit: 1, MaxText: 3})
	if want := "1 text with 0 spans\n1 text dropped: longer than --max-text\n1 text dropped: beyond --limit\n"; err != nil || fmt.Sprint(report) != want {
		t.Errorf("%v, %v\nwant %s", report, err, want)
	}
}
