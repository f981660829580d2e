package extraction

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// judgedStudy has a judge and a document with one field of each kind of gold.
func judgedStudy(lines ...string) map[string]string {
	return map[string]string{
		"study.yaml": `name: test
suite: extraction
data: {source: jsonl, path: docs.jsonl}
models:
  - {id: m, provider: openai, name: x}
  - {id: j, provider: openai, name: small, temperature: 0}
judge_model: j
arms: [{name: k, builtin: idiomatic}]
`,
		"docs.jsonl": strings.Join(lines, "\n"),
	}
}

// judgedLine is a document with four quotes to judge.
func judgedLine(id, split string) string {
	return fmt.Sprintf(`{"document_id":%q,"schema":"invoice","split":%q,"text":"---PAGE 1---\nInvoice INV-7\nDate: March 15, 2024\nTotal: 12.50\nTotal: 13.50\nVendor: Acme\n","ground_truth":[
{"field":"invoice_number","exists_in_document":true,"correct_value":"INV-7","evidence_quote":"Invoice INV-7","page":1},
{"field":"invoice_date","exists_in_document":true,"correct_value":"2024-03-15","evidence_quote":"Date: March 15, 2024","page":1},
{"field":"due_date","exists_in_document":false},
{"field":"total_amount","exists_in_document":true,"is_ambiguous":true,"candidate_values":["12.50","13.50"],"note":"two totals"},
{"field":"vendor_name","exists_in_document":true,"correct_value":"Acme Inc","acceptable_values":["Acme"],"evidence_quote":"Vendor: Acme"}]}`, id, split)
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "") }

var judgedAnswer = extractions(
	named(ok("INV-7", "Invoice INV-7", "1"), "invoice_number"),
	named(ok("2024-03-15", "Date: March 15, 2024", "1"), "invoice_date"),
	named(missing(), "due_date"),
	named(ambiguous(candidate("12.50", "Total: 12.50", "1"), candidate("13.50", "Total: 13.50", "1"), candidate("99", "Total: 12.50", "1")), "total_amount"),
	named(ok("Wrong", "Vendor: Acme", "1"), "vendor_name"),
)

// judgeSays replies by the quote in the prompt.
func judgeSays(replies map[string]string) *fake {
	return &fake{answer: func(_ string, r eval.Request) (eval.Response, error) {
		for quote, reply := range replies {
			if strings.HasSuffix(r.Messages[0].Content, "Text: "+quote) {
				return eval.Response{Text: reply, Stop: eval.StopEnd}, nil
			}
		}
		return eval.Response{}, errors.New("no reply to " + r.Messages[0].Content)
	}}
}

func trial(item, arm string) eval.Trial { return eval.Trial{Item: item, Arm: arm, Replicate: 1} }

// The judge is asked once about each quote that passed the gates with the right
// value, and sees only the field's name and the quote.
func TestJudgeQuestions(t *testing.T) {
	b := mustOpen(t, judgedStudy(oneLine(judgedLine("d", ""))))
	ask := judgeSays(map[string]string{"Invoice INV-7": "INV-7", "Date: March 15, 2024": "15 March 2024", "Total: 12.50": "12.50", "Total: 13.50": "12.50"})
	o := outcomeOf(judgedAnswer, eval.StopEnd, noSchema)
	vs, err := b.Judge(t.Context(), trial("d", "k"), o, ask)
	if err != nil {
		t.Fatal(err)
	}
	// due_date needs no judge; vendor_name has the wrong value; the third
	// candidate's value is not in its quote, which would be asked once anyway.
	want := []string{"judge/invoice_number/a121a505", "judge/invoice_date/99dff4ce", "judge/total_amount/f39ba0b1", "judge/total_amount/1144539c"}
	if d := cmp.Diff(want, ask.steps); d != "" {
		t.Fatalf("asked (-want +got)\n%s", d)
	}
	for i, r := range ask.asked {
		said := r.System + r.Messages[0].Content
		if r.Model != "j" || r.Name != "small" || len(r.Messages) != 1 || r.Payload != nil || vs[i].By != "j" || vs[i].Source != "model" {
			t.Errorf("asked %+v, verdict %+v", r, vs[i])
		}
		for _, leak := range []string{"2024-03-15", "Day the invoice", "issued", "Acme"} {
			if strings.Contains(said, leak) {
				t.Errorf("the judge sees %q in %q", leak, said)
			}
		}
	}
	if !strings.Contains(ask.asked[1].Messages[0].Content, "invoice_date") {
		t.Error("the judge does not see the field")
	}

	scores := map[string]eval.Score{}
	for _, s := range b.Score(nil, eval.CaseOf(trial("d", "k"), o, vs)) {
		scores[s.Unit+"/"+s.Metric] = s
	}
	// total_amount: F1 = 2·2/(2+3) = 0.8. Of three candidates the judge reads
	// the first and not the second, and the third's quote does not contain its
	// value: evidence 0.8·1/3. Pages are right on all: 0.8.
	for name, want := range map[string]float64{"invoice_number/evidence": 1, "invoice_date/evidence": 1, "invoice_date/evidence_judge": 1,
		"total_amount/value": 0.8, "total_amount/evidence": 0.8 / 3, "total_amount/page": 0.8, "total_amount/evidence_judge": 0.5, "vendor_name/evidence": 0} {
		if got := scores[name]; !(math.Abs(got.Num-want) <= 1e-12) || got.Den != 1 {
			t.Errorf("%s = %v/%v, want %v", name, got.Num, got.Den, want)
		}
	}
}

// A quote that several candidates share is judged once and counts for each.
func TestJudgeAsksOncePerQuote(t *testing.T) {
	b := mustOpen(t, judgedStudy(oneLine(judgedLine("d", ""))))
	both := "Total: 12.50 Total: 13.50"
	o := outcomeOf(extractions(named(ambiguous(candidate("12.50", both, "1"), candidate("13.50", both+" ", "1")), "total_amount")), eval.StopEnd, noSchema)
	ask := judgeSays(map[string]string{both: "13.50"})
	vs, err := b.Judge(t.Context(), trial("d", "k"), o, ask)
	if err != nil || !slices.Equal(ask.steps, []string{"judge/total_amount/89f68f56"}) {
		t.Fatalf("%v, asked %v", err, ask.steps)
	}
	for _, s := range b.Score(nil, eval.CaseOf(trial("d", "k"), o, vs)) {
		if s.Unit == "total_amount" && s.Metric == metricEvidence && s.Num != 0.5 {
			t.Errorf("evidence %v, want 1/2", s.Num)
		}
	}
}

// fatal is an error as the engine makes them.
type fatal bool

func (f fatal) Error() string { return "call failed" }
func (f fatal) Fatal() bool   { return bool(f) }

// Without a verdict evidence and composite are unscored, with the reason.
// Everything else is scored.
func TestJudgeFailuresAreUnscored(t *testing.T) {
	b := mustOpen(t, judgedStudy(oneLine(judgedLine("d", ""))))
	o := outcomeOf(judgedAnswer, eval.StopEnd, noSchema)
	responses := map[string]func() (eval.Response, error){
		"call failed":                            func() (eval.Response, error) { return eval.Response{}, fmt.Errorf("asking: %w", fatal(false)) },
		"the judge declined":                     func() (eval.Response, error) { return eval.Response{Stop: eval.StopRefused}, nil },
		"reached its token limit without output": func() (eval.Response, error) { return eval.Response{Stop: eval.StopLength}, nil },
	}
	for reason, respond := range responses {
		ask := &fake{answer: func(string, eval.Request) (eval.Response, error) { return respond() }}
		vs, err := b.Judge(t.Context(), trial("d", "k"), o, ask)
		if err != nil || len(vs) != 4 || !strings.Contains(vs[0].Err, reason) {
			t.Fatalf("%s: %v, %+v", reason, err, vs)
		}
		checkUnscored(t, b.Score(nil, eval.CaseOf(trial("d", "k"), o, vs)), reason)
	}
	checkUnscored(t, b.Score(nil, eval.CaseOf(trial("d", "k"), o, nil)), "not judged")

	for _, end := range []error{fmt.Errorf("asking: %w", fatal(true)), context.Canceled, errors.New("stopped")} {
		ask := &fake{answer: func(string, eval.Request) (eval.Response, error) { return eval.Response{}, end }}
		if _, err := b.Judge(t.Context(), trial("d", "k"), o, ask); !errors.Is(err, end) {
			t.Errorf("%v does not end the run: %v", end, err)
		}
	}
	for _, kind := range []eval.OutcomeKind{eval.Malformed, eval.Refused} {
		if vs, err := b.Judge(t.Context(), trial("d", "k"), eval.Outcome{Kind: kind}, nil); vs != nil || err != nil {
			t.Errorf("%s: asked about nothing: %v %v", kind, vs, err)
		}
	}
}

func checkUnscored(t *testing.T, scores []eval.Score, reason string) {
	t.Helper()
	for _, s := range scores {
		judged := s.Unit == "invoice_number" || s.Unit == "invoice_date" || s.Unit == "total_amount"
		want := judged && (s.Metric == metricEvidence || s.Metric == metricComposite)
		if got := strings.Contains(s.Unscored, reason); got != want {
			t.Errorf("%s of %q: unscored %q, want that: %v", s.Metric, s.Unit, s.Unscored, want)
		}
	}
}

// Without splits every document calibrates the judge.
func TestCalibrationWithoutSplit(t *testing.T) {
	b := mustOpen(t, judgedStudy(oneLine(judgedLine("d", ""))))
	o, err := b.Perform(t.Context(), trial("d", kit.CalibrationRight), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := readAnswer(string(o.Data), noSchema); err != nil || len(a.Entries) != 3 {
		t.Errorf("%d answers from gold, want 3: %v", len(a.Entries), err)
	}
}

// The calibration arm answers from gold, and only on dev documents if there are
// any.
func TestCalibrationArm(t *testing.T) {
	b := mustOpen(t, judgedStudy(oneLine(judgedLine("d1", "dev")), oneLine(judgedLine("t1", "test"))))
	ask := judgeSays(map[string]string{"Invoice INV-7": "INV-7", "Date: March 15, 2024": "March 14", "Vendor: Acme": "Acme."})
	var judged []eval.Case
	for _, item := range []string{"t1", "d1"} {
		tr := trial(item, kit.CalibrationRight)
		o, err := b.Perform(t.Context(), tr, nil)
		if err != nil || o.Kind != eval.OK {
			t.Fatal(o, err)
		}
		vs, err := b.Judge(t.Context(), tr, o, ask)
		if err != nil {
			t.Fatal(err)
		}
		judged = append(judged, eval.CaseOf(tr, o, vs))
	}
	if want := []string{"judge/invoice_number/a121a505", "judge/invoice_date/99dff4ce", "judge/vendor_name/ed3796a9"}; !slices.Equal(ask.steps, want) {
		t.Fatalf("asked %v, want %v", ask.steps, want)
	}
	m, err := b.Measure(seq(judged))
	if err != nil {
		t.Fatal(err)
	}
	_, c := b.Calibrate(m)
	if c.Judge != "j" || !slices.Equal(c.Right, []float64{2}) || !slices.Equal(c.Cases, []float64{3}) || !strings.Contains(c.Effect, "2 of 3") {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(c.Effect, "gold quotes (66.7 %) of DEV, ") {
		t.Error(c.Effect)
	}
	// A TEST run has only its own documents.
	locked := judgedStudy(oneLine(judgedLine("d1", "dev")), oneLine(judgedLine("t1", "test")))
	locked["study.yaml"] += "\nsplit: test\n"
	if m, err := mustOpen(t, locked).Measure(seq(judged[:1])); err != nil || m.On != "" {
		t.Errorf("%+v, %v", m, err)
	}
	// A failed verdict is not a case.
	judged[1].Trials[0].Verdicts[1].Err = "no answer"
	if m, _ = b.Measure(seq(judged)); !slices.Equal(m.Cases, []float64{2}) || m.Missing != 1 {
		t.Errorf("%+v", m)
	}
}

func seq(list []eval.Case) iter.Seq2[eval.Case, error] {
	return func(yield func(eval.Case, error) bool) {
		for _, j := range list {
			if !yield(j, nil) {
				return
			}
		}
	}
}

// The thresholds of trust (X4.4): 95 % is trusted, 80 % is doubted, below that
// the judge is not used.
func TestTrust(t *testing.T) {
	tests := []struct {
		right, cases float64
		want         mix
		effect       string
	}{
		{100, 100, trustedJudge, "0.3·token + 0.7·judge"},
		{95, 100, trustedJudge, "95 % or more"},
		{19, 20, trustedJudge, "0.3·token + 0.7·judge"},
		{94, 100, doubtedJudge, "0.8·token + 0.2·judge"},
		{80, 100, doubtedJudge, "0.8·token + 0.2·judge"},
		{4, 5, doubtedJudge, "0.8·token + 0.2·judge"},
		{79, 100, withoutJudge, "evidence = token"},
		{0, 7, withoutJudge, "evidence = token"},
		{0, 0, withoutJudge, "could not be calibrated"},
	}
	for _, tt := range tests {
		got, effect := trust(eval.Measurement{Right: []float64{tt.right}, Cases: []float64{tt.cases}})
		if got != tt.want || !strings.Contains(effect, tt.effect) {
			t.Errorf("%g of %g: %+v, %s", tt.right, tt.cases, got, effect)
		}
	}
}

// Evidence under each mix, by hand. The quote of invoice_number has 2 words
// for 1, so token is 1; the judge says no. Of the candidates' quotes the judge
// reads one of two.
func TestMixes(t *testing.T) {
	b := mustOpen(t, judgedStudy(oneLine(judgedLine("d", ""))))
	o := outcomeOf(extractions(
		named(ok("INV-7", "Invoice INV-7", "1"), "invoice_number"),
		named(ambiguous(candidate("12.50", "Total: 12.50", "1"), candidate("13.50", "Total: 13.50", "1")), "total_amount")), eval.StopEnd, nil)
	vs, err := b.Judge(t.Context(), trial("d", "k"), o, judgeSays(map[string]string{"Invoice INV-7": "no idea", "Total: 12.50": "12.50", "Total: 13.50": "no idea"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mix               mix
		number, candidate float64
	}{
		{trustedJudge, 0.3, (1 + 0) / 2.},   // candidates: the judge alone
		{doubtedJudge, 0.8, (1 + 0.8) / 2.}, // 0.8·1 + 0.2·judge
		{withoutJudge, 1, 1},
	} {
		with := *b
		with.mix = tt.mix
		for _, s := range with.Score(nil, eval.CaseOf(trial("d", "k"), o, vs)) {
			want := map[string]float64{"invoice_number": tt.number, "total_amount": tt.candidate}
			if w, ok := want[s.Unit]; ok && s.Metric == metricEvidence && !(math.Abs(s.Num-w) <= 1e-12) {
				t.Errorf("%+v: evidence of %s is %v, want %v", tt.mix, s.Unit, s.Num, w)
			}
		}
	}
	with := *b
	with.mix = withoutJudge
	for _, s := range with.Score(nil, eval.CaseOf(trial("d", "k"), o, nil)) {
		if s.Unscored != "" {
			t.Errorf("an unused judge leaves %s of %s unscored", s.Metric, s.Unit)
		}
	}
}

// Without a judge model the rule judges.
func TestDeterministicJudge(t *testing.T) {
	b := mustOpen(t, map[string]string{"study.yaml": invoiceStudy, "docs.jsonl": invoiceLine("1", 100)})
	if vs, err := b.Judge(t.Context(), trial("doc-1", "ctn"), outcomeOf(invoiceAnswer, eval.StopEnd, noSchema), nil); vs != nil || err != nil {
		t.Errorf("%v %v", vs, err)
	}
	s, c := b.Calibrate(eval.Measurement{})
	if s != eval.Scorer(b) || c.Judge != "deterministic" || len(c.Cases) != 0 {
		t.Errorf("%+v", c)
	}
}

// The reply of a judge is read without its dress.
func TestAgrees(t *testing.T) {
	for reply, want := range map[string]bool{"$5": true, "**$5**": true, "<thinking>$4?</thinking>\n$5": true, "`$5`</s>": true, `\boxed{5}`: true, "$4": false, "**$5** or $6": false} {
		if got := agrees(text.Money, reply, "$5"); got != want {
			t.Errorf("%q agrees: %v, want %v", reply, got, want)
		}
	}
}

// A judge that fails is not a bad judge: evidence that needs it is unscored.
func TestJudgeWithoutVerdicts(t *testing.T) {
	got, effect := trust(eval.Measurement{Missing: 12})
	if got != trustedJudge || !strings.Contains(effect, "no verdict on any of 12") {
		t.Errorf("%+v, %s", got, effect)
	}
	if _, effect := trust(eval.Measurement{Right: []float64{17}, Cases: []float64{17}, Missing: 3}); !strings.Contains(effect, "no verdict on 3 more") {
		t.Error(effect)
	}
}
