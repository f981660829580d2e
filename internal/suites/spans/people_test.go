package spans

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

// noErrors is a result of people who found nothing.
const noErrors = `{"missedElements": [], "falsePositives": [], "taxonomyErrors": [], "granularityErrors": []}`

// tenTexts are ten texts of four words, and their answer: a span for each word.
func tenTexts() (texts, answer string) {
	for i := range 10 {
		texts += fmt.Sprintf(`{"id": "t%d", "text": "One two three four, %d."}`+"\n", i, i)
	}
	return texts, `{"spans": [{"text": "One", "role": "style"}, {"text": "two", "role": "style"}, {"text": "three", "role": "style"}, {"text": "four", "role": "style"}]}`
}

// checkedLine is a line of people about the answer of the lexicon to a text.
func checkedLine(id, answer, result string) string {
	spans := strings.TrimSuffix(strings.TrimPrefix(answer, `{"spans": `), "}")
	return fmt.Sprintf(`{"id": %q, "arm": "lexicon", "by": "eve", "spans": %s, "result": %s}`+"\n", id, spans, result)
}

// judgedClean is a judgement without errors.
func judgedClean() eval.Verdict {
	v := verdict.Empty()
	v.Scores = verdict.Scores{Coverage: 5, Precision: 5, Granularity: 5, Taxonomy: 5, TechnicalSpecs: 5}
	return eval.Verdict{Step: judgeStep, Source: eval.ByModel, By: "j", Data: v.Encode()}
}

// asResults are cases as a report reads them.
type asResults struct {
	eval.Results
	cases []eval.Case
}

func (r asResults) Cases() iter.Seq2[eval.Case, error] {
	return func(yield func(eval.Case, error) bool) {
		for _, c := range r.cases {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (r asResults) Estimate(_, _ string) (eval.Measured, bool) { return eval.Measured{}, false }

// tableOf is a table of the report of cases.
func tableOf(t *testing.T, b *bench, name string, cases []eval.Case) [][]string {
	t.Helper()
	blocks, err := b.Report(asResults{cases: cases})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range blocks {
		if x.Table != nil && x.Table.Name == name {
			return x.Table.Strings()
		}
	}
	return nil
}

// TestPeopleWhoFindNothing: ten texts with four spans each are checked, and two spans
// are false positives. The texts without an error count: the rate of people is 2 of
// 40 spans, with and without scores that nobody needs.
func TestPeopleWhoFindNothing(t *testing.T) {
	texts, answer := tenTexts()
	for name, scores := range map[string]string{"four lists": "", "with scores": `, "scores": {"coverage": 4, "precision": 4, "granularity": 4, "taxonomy": 4, "technicalSpecs": 4}, "totalScore": 20, "categoryScores": {}, "notes": ""`} {
		var human strings.Builder
		var cases []eval.Case
		for i := range 10 {
			result := noErrors
			if i < 2 {
				result = strings.Replace(result, `"falsePositives": []`, `"falsePositives": [{"spanIndex": 1, "text": "two", "assignedRole": "style", "reason": "other"}]`, 1)
			}
			id := fmt.Sprint("t", i)
			human.WriteString(checkedLine(id, answer, strings.TrimSuffix(result, "}")+scores+"}"))
			cases = append(cases, answerOf(id, answer, judgedClean()))
		}
		b, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": texts, "h.jsonl": human.String()})
		if err != nil {
			t.Fatal(err)
		}
		rows := tableOf(t, b, "corrected_rates", cases)
		if len(rows) != 4 || rows[1][1] != "false positive" || rows[1][3] != "0.050" || rows[1][5] != "40" {
			t.Errorf("%s: %q", name, rows)
		}
		// All human labels are the same: the interval allows for others. By hand, of 10 clusters of 4:
		// 2.262157·√(3·2.5)/40.
		if want := []string{"lexicon", "taxonomy", "0.000", "0.000", "0.000 (0.000 to 0.155)", "40"}; !cmp.Equal(rows[2], want) {
			t.Errorf("%s: %q, want %q", name, rows[2], want)
		}
		if got, want := tableOf(t, b, "people", cases), [][]string{{"lexicon", "10", "2", "0"}}; !cmp.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		got := figures(b, cases[5])
		for _, kind := range verdict.Kinds {
			if v, ok := got[agreementOfJudge+kind+"_kappa"]; !ok {
				t.Errorf("%s: no kappa of %s on a text without errors: %v", name, kind, v)
			}
		}
	}
}

// TestCorrectedByPeople: the rate of any error is of all answers, as the error rate is: one that
// cannot be read counts as a wrong span, and the note counts those whose errors are unknown. Texts
// of a cluster, and equal ones, depend on each other.
func TestCorrectedByPeople(t *testing.T) {
	texts, answer := tenTexts()
	const one = "– (1 clusters with human labels vary too little for a correction)"
	for name, test := range map[string]struct {
		texts, any string
	}{
		"texts":       {texts, "0.167 (0.000 to 0.622)"},
		"one cluster": {strings.ReplaceAll(texts, `"text"`, `"cluster": "c", "text"`), one},
		"equal":       {regexp.MustCompile(`, \d\.`).ReplaceAllString(texts, "."), one},
	} {
		var human strings.Builder
		var cases []eval.Case
		for i := range 10 {
			id, said, v := fmt.Sprint("t", i), answer, judgedClean()
			switch {
			case i < 4:
				said = "I cannot."
			case i == 4:
				v.Data = []byte(strings.Replace(string(v.Data), `"falsePositives":[],`, "", 1))
			default:
				human.WriteString(checkedLine(id, answer, noErrors))
			}
			cases = append(cases, answerOf(id, said, v))
		}
		b, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": test.texts, "h.jsonl": human.String()})
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := b.Report(asResults{cases: cases})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range blocks {
			if x.Table == nil || x.Table.Name != "corrected_rates" {
				continue
			}
			rows := x.Table.Strings()
			if !strings.HasSuffix(x.Table.Note, " lexicon: without 1 answer whose errors are unknown.") {
				t.Errorf("%s: note %q", name, x.Table.Note)
			}
			// 4 of 4 + 5·4 spans
			if want := []string{"lexicon", "any", "0.167", "0.000", test.any, "20"}; !cmp.Equal(rows[0], want) || rows[1][2] != "0.000" || rows[1][5] != "20" {
				t.Errorf("%s: %q, want %q", name, rows, want)
			}
		}
	}
}

// TestErrorsOfUnknownSpans: an error that names no span is one, so what depends on the span is
// unknown; the span is found by its text but for case.
func TestErrorsOfUnknownSpans(t *testing.T) {
	texts, answer := tenTexts()
	b, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": texts, "h.jsonl": checkedLine("t0", answer, noErrors)})
	if err != nil {
		t.Fatal(err)
	}
	for said, test := range map[string]struct {
		rate   float64 // -1: unscored
		counts string
	}{
		`"falsePositives":[{"spanIndex":9,"text":"TWO ","reason":"other"}]`:  {0.25, "0"},
		`"falsePositives":[{"spanIndex":9,"text":"five","reason":"other"}]`:  {-1, "1"},
		`"taxonomyErrors":[{"text":"five","expectedRole":"shot"}]`:           {-1, "1"},
		`"granularityErrors":[{"text":"five","issue":"too_fine"}]`:           {-1, "1"},
		`"falsePositives":[{"spanIndex":1,"text":"three","reason":"other"}]`: {0.25, "0"},
	} {
		v := judgedClean()
		list, _, _ := strings.Cut(said, "[")
		v.Data = []byte(strings.Replace(string(v.Data), list+"[]", said, 1))
		c := answerOf("t0", answer, v)
		got, unscored := figures(b, c), map[string]string{}
		for _, s := range b.Score(nil, c) {
			unscored[s.Metric] = s.Unscored
		}
		rate, ok := got[metricErrorRate]
		_, ece := got[metricECE]
		if ok != (test.rate >= 0) || ok && rate != test.rate || ece {
			t.Errorf("%s: error rate %v %v, want %v", said, rate, ok, test.rate)
		}
		kind := agreementOfJudge + map[string]string{`"falsePositives":`: "false_positive", `"taxonomyErrors":`: "taxonomy", `"granularityErrors":`: "granularity"}[list] + "_kappa"
		if want := "the judge does not say which span has an error"; !ok && (unscored[metricErrorRate] != want || unscored[kind] != want) {
			t.Errorf("%s: unscored: %q", said, unscored)
		}
		if got[metricTotal] != 25 {
			t.Errorf("%s: total %v", said, got[metricTotal])
		}
		if rows := tableOf(t, b, "results", []eval.Case{c}); !slices.ContainsFunc(rows, func(r []string) bool { return r[1] == "errors of unknown spans" && r[2] == test.counts }) {
			t.Errorf("%s: %q", said, rows)
		}
		x, err := b.Show(c)
		if shown := len(x.Rows) > 4; err != nil || shown != (test.counts == "1") {
			t.Errorf("%s: shown as %+v, %v", said, x.Rows, err)
		}
		if pass, missing := b.CaseVerdict(kit.KnownCase{Item: "t0", Answer: answer}, c.Trials[0].Verdicts); pass || missing != "" {
			t.Errorf("%s: a case passes: %v, %q", said, pass, missing)
		}
		if rated := len(b.Ratings(c)); rated != 4 && ok || rated > 0 && !ok {
			t.Errorf("%s: %d ratings", said, rated)
		}
	}
}

// TestPeopleOfOtherAnswers: a verdict holds for the spans that people checked, in any
// replicate that has them and whatever their confidence, and for no other answer.
func TestPeopleOfOtherAnswers(t *testing.T) {
	texts, answer := tenTexts()
	found := strings.Replace(noErrors, `"falsePositives": []`, `"falsePositives": [{"spanIndex": 1}]`, 1)
	b, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": texts, "h.jsonl": checkedLine("t0", answer, found)})
	if err != nil {
		t.Fatal(err)
	}
	const kappa = agreementOfJudge + "false_positive" + "_recall"
	for name, test := range map[string]struct {
		answer string
		counts bool
	}{
		"the same":         {answer, true},
		"other confidence": {strings.Replace(answer, `"text": "One"`, `"confidence": 0.3, "text": "One"`, 1), true},
		"other role":       {strings.Replace(answer, "style", "subject", 1), false},
		"without the span": {strings.Replace(answer, `{"text": "two", "role": "style"}, `, "", 1), false},
		"one span more":    {strings.Replace(answer, `}]`, `}, {"text": ".", "role": "style"}]`, 1), false},
	} {
		c := answerOf("t0", test.answer, judgedClean())
		if _, ok := figures(b, c)[kappa]; ok != test.counts {
			t.Errorf("%s: the verdict counts: %v", name, ok)
		}
		want := [][]string{{"lexicon", "1", "1", "0"}}
		if !test.counts {
			want = [][]string{{"lexicon", "0", "0", "1"}}
		}
		if got := tableOf(t, b, "people", []eval.Case{c}); !cmp.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestPeopleErrors: a verdict that cannot be used is an error with its line, never
// one that says nothing.
func TestPeopleErrors(t *testing.T) {
	texts, answer := tenTexts()
	with := func(list, entry string) string {
		return checkedLine("t0", answer, strings.Replace(noErrors, `"`+list+`": []`, `"`+list+`": [`+entry+`]`, 1))
	}
	for name, test := range map[string]struct{ line, want string }{
		"empty result":    {checkedLine("t0", answer, `{}`), "result: want all of missedElements, falsePositives, taxonomyErrors and granularityErrors"},
		"a list missing":  {checkedLine("t0", answer, strings.Replace(noErrors, `"taxonomyErrors": [], `, "", 1)), "result: want all of"},
		"misspelt list":   {checkedLine("t0", answer, strings.Replace(noErrors, "taxonomyErrors", "taxonomErrors", 1)), `unknown key "taxonomErrors"`},
		"no object":       {checkedLine("t0", answer, `[]`), "result: want an object with missedElements"},
		"no result":       {`{"id": "t0", "arm": "lexicon", "spans": []}`, "result: want an object with missedElements"},
		"no spans":        {`{"id": "t0", "arm": "lexicon", "result": ` + noErrors + `}`, "spans is missing: want the list of spans that were checked; scruple export RUN --format people writes it"},
		"not spans":       {`{"id": "t0", "arm": "lexicon", "spans": [{"txt": "x"}], "result": ` + noErrors + `}`, `spans: want a list of {"text", "role", "start", "end"}`},
		"another text":    {`{"id": "t0", "arm": "lexicon", "text": "Other.", "spans": [], "result": ` + noErrors + `}`, `the text differs from that of "t0" in the records`},
		"unknown arm":     {strings.Replace(checkedLine("t0", answer, noErrors), `"lexicon"`, `"lexikon"`, 1), `the study has no arm "lexikon": did you mean "lexicon"?`},
		"twice":           {checkedLine("t0", answer, noErrors) + checkedLine("t0", answer, noErrors), "h.jsonl:2: duplicate verdict on these spans of t0 by lexicon"},
		"index too large": {with("falsePositives", `{"spanIndex": 4}`), "result: falsePositives[0]: spanIndex 4 is out of range: there are 4 spans, counted from 0"},
		"index of none":   {with("falsePositives", `{"spanIndex": -1, "text": "One"}`), "spanIndex -1 is out of range"},
		"other text":      {with("granularityErrors", `{"spanIndex": 0, "text": "two"}`), `result: granularityErrors[0]: span 0 is "One", not "two": correct spanIndex or text`},
		"no index":        {with("taxonomyErrors", `{"text": "five"}`), `result: taxonomyErrors[0]: spanIndex is missing, and 0 spans have the text "five"`},
		"misspelt index":  {with("falsePositives", `{"spanindex": 2}`), `unknown key "spanindex"`},
		"no element":      {with("missedElements", `{"severity": "minor"}`), "result: missedElements[0]: text is missing"},
	} {
		_, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": texts, "h.jsonl": test.line})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "h.jsonl:") {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	b, err := openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": texts, "h.jsonl": checkedLine("t0", answer, "null") + with("falsePositives", `{"text": "two"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(b.Capabilities().Warnings(), "\n"); !strings.Contains(w, "1 line without a result: nobody has checked the spans") {
		t.Errorf("warnings %q", w)
	}
	if len(b.people) != 1 {
		t.Errorf("%+v", b.people)
	}
	for key, k := range b.people {
		if !strings.HasPrefix(key, `"t0" "lexicon"`) || !bytes.Equal(k.flags, []byte{0, 1, 0, 0}) {
			t.Errorf("%s: %+v", key, k)
		}
	}
}

// keptAnswers are outcomes as an export reads them.
type keptAnswers struct {
	kit.Kept
	outcomes []eval.Judged
}

func (k keptAnswers) Run() kit.Run                       { return kit.Run{} }
func (k keptAnswers) Calls() iter.Seq2[eval.Call, error] { return func(func(eval.Call, error) bool) {} }

func (k keptAnswers) Outcomes() iter.Seq2[eval.Judged, error] {
	return func(yield func(eval.Judged, error) bool) {
		for _, o := range k.outcomes {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// TestExportPeople: the export has a line for each different answer, without a
// result; filled in, it is about the same answers. A span without a place, one that
// was moved, and equal texts are bound, too.
func TestExportPeople(t *testing.T) {
	texts, first := tenTexts()
	second := `{"spans": [{"text": "five", "role": "style"}, {"text": "two", "role": "style", "start": 0, "end": 3, "confidence": 0.2}, {"text": "two", "label": "style"}]}`
	b, err := openFiles(t, map[string]string{"study.yaml": minimal, "r.jsonl": texts})
	if err != nil {
		t.Fatal(err)
	}
	var kept keptAnswers
	for _, id := range []string{"t1", "t0"} {
		for i, answer := range []string{first, second, first} {
			c := answerOf(id, answer)
			c.Trials[0].Trial.Replicate = i + 1
			kept.outcomes = append(kept.outcomes, c.Trials[0])
		}
	}
	dir := t.TempDir()
	if said, err := exportPeople(b, kept, dir); err != nil || !strings.Contains(said, "people.jsonl") {
		t.Fatalf("%s, %v", said, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "people.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	const want = `{"id":"t0","arm":"lexicon","text":"One two three four, 0.","spans":[{"text":"One","role":"style","start":0,"end":3},{"text":"two","role":"style","start":4,"end":7},{"text":"three","role":"style","start":8,"end":13},{"text":"four","role":"style","start":14,"end":18}],"result":null}` + "\n"
	if len(lines) != 5 || lines[0] != want {
		t.Fatalf("%s, want 4 lines, the first %s", data, want)
	}
	b, err = openFiles(t, map[string]string{"study.yaml": minimal + "human: h.jsonl\n", "r.jsonl": texts, "h.jsonl": strings.ReplaceAll(string(data), `"result":null`, `"result":`+noErrors)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range kept.outcomes {
		o := &kept.outcomes[i]
		if found := b.read(b.Datum(o.Trial.Item), o); !found.readable || b.checkedOf(found) == nil {
			t.Errorf("answer %s of %+v is not checked", o.Outcome.Data, o.Trial)
		}
	}
}

// FuzzPeople: no line makes the reader panic, and what it accepts has a flag for
// every span.
func FuzzPeople(f *testing.F) {
	texts, answer := tenTexts()
	f.Add(checkedLine("t0", answer, noErrors))
	f.Add(checkedLine("t0", answer, strings.Replace(noErrors, `"falsePositives": []`, `"falsePositives": [{"spanIndex": 3}, {"text": "two"}]`, 1)))
	f.Add(`{"id": "t0", "arm": "lexicon", "spans": [null, {}], "result": {"missedElements": [null]}}`)
	f.Add(`{"id": "t0", "arm": "lexicon", "spans": [{"text": "", "role": "x", "start": 3, "end": 1}], "result": null}`)
	b, err := openFiles(f, map[string]string{"study.yaml": minimal, "r.jsonl": texts})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		clear(b.people)
		var w peopleLine
		if dataset.DecodeStrict([]byte(line), &w) == nil && b.addChecked(&w) == nil {
			for _, k := range b.people {
				if len(k.flags) != len(k.spans) {
					t.Fatalf("%+v", k)
				}
			}
		}
	})
}
