package soundness

import (
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
)

// TestEnglishLabels: how the shipped English phrases read labels that models write: in one
// word, with hyphens, and behind negations. What is no plain statement is left to people.
func TestEnglishLabels(t *testing.T) {
	const sound, unsound, none = 0, 1, wording.None
	b := opened(t, starter(t))
	for answer, want := range map[string]int{
		"NotSound": unsound, "Notsound": unsound, "NOT SOUND": unsound, "Not-Sound": unsound, "not_sound": unsound,
		"non-sound": unsound, "Resound": none,
		"I would not say that it is sound.":                             unsound,
		"I would not say that it is not sound.":                         sound,
		"I would not say that the reasoning is unsound.":                sound,
		"I don't think that the reasoning in this fragment is sound.":   unsound,
		"It is not the case that the reasoning is sound.":               none,
		"The reasoning is not really what I would call sound.":          none,
		"I do not doubt that it is sound.":                              none,
		"It cannot be denied that it is sound.":                         none,
		"I doubt that it is sound.":                                     none,
		"No one would call it unsound.":                                 sound,
		"The figures do not come from a survey, but the text is sound.": sound,
	} {
		if got := b.reader.labels.Text(answer); got.Label != want {
			t.Errorf("%q is read as %d, want %d", answer, got.Label, want)
		}
		if got := b.reader.labels.Value(answer); got.Label != want {
			t.Errorf("the value %q is read as %d, want %d", answer, got.Label, want)
		}
	}
}

// TestOddAnswers: an object in another one is read with a note; tokens and tags around an
// answer change nothing.
func TestOddAnswers(t *testing.T) {
	b := opened(t, starter(t))
	object := `{"classification": "sound", "rationale": "` + praise + `"}`
	for answer, note := range map[string]string{
		object:                            "",
		object + "</s>":                   "",
		"<answer>" + object + "</answer>": "",
		"[" + object + "]":                "",
		`{"answer": ` + object + `}`:      eval.NoteLenient,
		`{"name": "x", "arguments": ` + object + `}`: eval.NoteLenient,
	} {
		o := b.outcome(eval.Response{Text: answer, Stop: eval.StopEnd}, "")
		a := b.assess(&Fragment{Gold: &Gold{Label: 0}}, &eval.Judged{Outcome: o})
		if a.Label != 0 || a.Rationale != praise || strings.Join(o.Notes, ", ") != note {
			t.Errorf("%s: label %d, rationale %q, notes %q", answer, a.Label, a.Rationale, o.Notes)
		}
	}
}

// TestReasoning: what a model thinks is no label and no rationale, nor is it a judge's word.
func TestReasoning(t *testing.T) {
	b := opened(t, starter(t))
	for _, opens := range []string{"<think>", "<thinking>", "<think></think>\n<thought>", "[THINK]", "<|channel|>analysis<|message|>"} {
		if p := b.reader.read(opens+"It is sound. "+praise, true); p.reason != reasonCut {
			t.Errorf("reasoning that a token limit cut off is read as %+v", p)
		}
	}
	if p := b.reader.read("Analysis: it is sound. "+praise, true); p.label != 0 || p.reason != "" {
		t.Errorf("an analysis is read as %+v", p)
	}
	if p := b.reader.read("<think>Not sound.</think>\nIt is sound. "+praise, false); p.label != 0 || p.rationale != praise {
		t.Errorf("read as %+v", p)
	}
	if says, ok := b.readScreen("<think>INCOHERENT? No.</think>\nCOHERENT"); !ok || says != coherent {
		t.Errorf("the judge's word is %q", says)
	}
	for answer, want := range map[string]string{
		`{"coherent": true} {"coherent": false}`: "", "COHERENT\nNo, wait.\nINCOHERENT": "", `{"verdict": "Coherent"}, or {"label": "incoherent"}`: "",
		`{"coherent": true, "why": "a"} {"coherent": true, "why": "b"}`: coherent, "Incoherent.\nIt fails.\n**INCOHERENT**": incoherent, `{"a": 1}`: "",
	} {
		if says, ok := b.readScreen(answer); ok != (want != "") || ok && says != want {
			t.Errorf("%s: the judge's word is %q", answer, says)
		}
	}
}

// TestEveryFailureHasAType: schema 5 leaves the type open for runs that pass only, so a
// refusal has one too: nothing in it is coherent or correct.
func TestEveryFailureHasAType(t *testing.T) {
	b := opened(t, starter(t))
	f := &Fragment{Gold: &Gold{Label: 0}}
	for name, test := range map[string]struct {
		o    eval.Outcome
		want string
	}{
		"pass":                     {answerOf(b, 0, praise).Outcome, ""},
		"coherent and incorrect":   {answerOf(b, 1, blame).Outcome, failureType1},
		"correct and not coherent": {answerOf(b, 0, blame).Outcome, failureType2},
		"neither":                  {answerOf(b, 1, praise).Outcome, failureType3},
		"too short":                {answerOf(b, 0, "no").Outcome, failureType2},
		"refusal":                  {b.outcome(eval.Response{Text: "I cannot evaluate this conclusion.", Stop: eval.StopEnd}, ""), failureType3},
		"safety stop":              {b.outcome(eval.Response{Stop: eval.StopRefused}, ""), failureType3},
		"in doubt":                 {b.outcome(eval.Response{Text: "One part of it is sound, another is unsound.", Stop: eval.StopEnd}, ""), ""},
		"excluded":                 {b.outcome(eval.Response{Text: "Weighed.", Stop: eval.StopEnd}, ""), ""},
	} {
		vs := []eval.Verdict{{Step: judgeStep, Source: eval.ByModel, Data: []byte(incoherent)}}
		a := b.assess(f, &eval.Judged{Outcome: test.o, Verdicts: vs})
		if a.Failure != test.want {
			t.Errorf("%s: type %q, want %q (%+v)", name, a.Failure, test.want, a)
		}
		if !a.Excluded && a.Pass != (a.Failure == "") {
			t.Errorf("%s: pass %v with type %q", name, a.Pass, a.Failure)
		}
		if a = b.assess(&Fragment{}, &eval.Judged{Outcome: test.o}); a.Failure != "" {
			t.Errorf("%s without gold: type %q", name, a.Failure)
		}
	}
}

// TestRefusalIsReadAgain: a phrase that was taken for a refusal can be removed from the list,
// and the stored answer then has its label. A safety stop of the provider stays one.
func TestRefusalIsReadAgain(t *testing.T) {
	b := opened(t, starter(t))
	answer := `{"classification": "sound or not sound?", "rationale": "I cannot determine which. ` + praise + `"}`
	o := b.outcome(eval.Response{Text: answer, Stop: eval.StopEnd}, "")
	if o.Kind != eval.Refused || o.Reason != reasonRefusal {
		t.Fatalf("the answer is %s, %s", o.Kind, o.Reason)
	}
	b.reader.refusal = wording.NewMatcher(nil)
	if a := b.assess(&Fragment{Gold: &Gold{}}, &eval.Judged{Outcome: o}); a.Reason != reasonUnresolved {
		t.Errorf("without phrases of refusals the reason is %q, want %q", a.Reason, reasonUnresolved)
	}
	o = b.outcome(eval.Response{Text: answer, Stop: eval.StopRefused}, "")
	if a := b.assess(&Fragment{Gold: &Gold{}}, &eval.Judged{Outcome: o}); a.Reason != reasonSafety {
		t.Errorf("the provider's safety stop has the reason %q, want %q", a.Reason, reasonSafety)
	}
}
