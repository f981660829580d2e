package soundness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
)

// TestReadings: what the shipped lists read in the sentences of testdata/readings.txt, as
// an answer and as a label in JSON. Of a sentence that a human can decide, the reader may
// leave the label open; it never reads the opposite.
func TestReadings(t *testing.T) {
	b := opened(t, starter(t))
	name := func(r wording.Reading) string {
		switch {
		case r.Conflict:
			return "unresolved"
		case r.Label == wording.None:
			return "none"
		}
		return b.labels[r.Label].Name
	}
	n := 0
	for place, line := range lines(t, "testdata/readings.txt") {
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 {
			t.Fatalf("%s: want reader | human | sentence", place)
		}
		want, human, sentence := parts[0], parts[1], parts[2]
		n++
		if got := name(b.reader.labels.Text(sentence)); got != want {
			t.Errorf("%s: %q is read as %s, want %s", place, sentence, got, want)
		}
		if (want == "sound" || want == "not_sound") && want != human {
			t.Errorf("%s: %q is read as %s, a human reads %s", place, sentence, want, human)
		}
	}
	if n < 80 {
		t.Errorf("%d sentences, want at least 80", n)
	}
}

// lines are those of a table, without comments, by file and line.
func lines(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			list[fmt.Sprintf("%s:%d", path, i+1)] = line
		}
	}
	return list
}

// TestIndicators: how the shipped lists count the indicators of testdata/indicators.txt.
func TestIndicators(t *testing.T) {
	b := opened(t, starter(t))
	for place, line := range lines(t, "testdata/indicators.txt") {
		want, sentence, _ := strings.Cut(line, " | ")
		strength, weakness, unsure := b.reader.indicators.Count(sentence)
		if got := fmt.Sprint(strength, weakness, unsure); got != want {
			t.Errorf("%s: %q counts %s, want %s", place, sentence, got, want)
		}
	}
}

// TestListsAreNotSure: the rule alone never turns a label against what a list under a
// negation says.
func TestListsAreNotSure(t *testing.T) {
	b := opened(t, starter(t))
	for sentence, label := range map[string]int{
		"There are no gaps, flaws, contradictions or unsupported assertions in the argument.":     0,
		"The reasoning is free of leaps, gaps, contradictions and overstated claims.":             0,
		"The fragment lacks explicit criteria, sufficient evidence, clear warrants.":              1,
		"It does not provide clear criteria, sufficient evidence, or a balanced synthesis.":       1,
		"The report claims the programme is strong, coherent, robust and well supported.":         1,
		"There are no clear criteria, adequate data and convincing, transparent, robust warrants": 1,
	} {
		if got := b.rule(reply{label: label, rationale: sentence}); got.Sure && got.Rule != coherent {
			t.Errorf("%q with %s: %+v", sentence, b.labels[label].Name, got)
		}
	}
}

// TestObjects: which label several objects of an answer give, and where its rationale is.
func TestObjects(t *testing.T) {
	const why = "The evidence is sufficient, the criteria are explicit and each step follows from the one before."
	b := opened(t, starter(t))
	object := func(label, rationale string) string {
		return fmt.Sprintf(`{"classification": %q, "rationale": %q}`, label, rationale)
	}
	for answer, want := range map[string]string{
		object("sound", why):                                                                                          "sound",
		object("sound", why) + object("sound", why):                                                                   "sound",
		object("sound", why) + " " + object("not_sound", why):                                                         "unresolved_labels",
		object("not_sound", why) + "\n\n" + object("sound", why):                                                      "unresolved_labels",
		"[" + object("sound", why) + ", " + object("unsound", why) + "]":                                              "unresolved_labels",
		"Example: " + object("sound", "x") + "\n\nMy answer:\n```json\n" + object("not_sound", why) + "\n```":         "not_sound",
		"For example, " + object("sound", why):                                                                        "unresolved_labels",
		"Here is my answer in the requested format:\n\n" + object("not_sound", why):                                   "not_sound",
		"Following the schema:\n```json\n" + object("sound", why) + "\n```":                                           "sound",
		"This resembles the second worked example.\n\n" + object("not_sound", why):                                    "not_sound",
		"I judge that the conclusion is not sound:\n" + object("not_sound", why):                                      "not_sound",
		"<think>It may look sound. It is not.</think>\n" + object("not_sound", why):                                   "not_sound",
		"More description than evaluation.\n" + object("not_sound", why):                                              "not_sound",
		object("sound", why) + "\nI now think that it is not sound:\n" + object("not_sound", why):                     "unresolved_labels",
		"Not " + object("sound", "x") + " but " + object("not_sound", why):                                            "not_sound",
		"The format is " + object("sound", "x") + ".\nMy answer: " + object("not_sound", why):                         "not_sound",
		object("sound or not_sound", "...") + "\n" + object("not_sound", why):                                         "not_sound",
		"First " + object("sound", why) + ". On reflection: " + object("not_sound", why):                              "not_sound",
		"First " + object("sound", why) + "\nFinal answer: " + object("not_sound", why):                               "not_sound",
		object("sound", why) + "\nFinal classification: not sound":                                                    "unresolved_labels",
		object("sound", why) + "\nActually, the conclusion is unsound.":                                               "unresolved_labels",
		object("sound", why) + "\nThe evidence could be richer.":                                                      "sound",
		`{"classification": "sound", "classification": "not_sound", "rationale": "` + why + `"}`:                      "unresolved_labels",
		`{"classification": "sound", "label": "not_sound", "rationale": "` + why + `"}`:                               "unresolved_labels",
		`{"classification": "partially sound", "rationale": "` + why + `"}`:                                           "unresolved_labels",
		`{"classification": "mostly sound", "rationale": "` + why + `"}`:                                              "sound",
		`{"classification": "sound"} ` + why:                                                                          "sound",
		why + "\n```json\n{\"classification\": \"sound\"}\n```":                                                       "sound",
		`{"classification": "sound or not sound?", "rationale": "I cannot determine which without the report."}`:      "substantive_refusal",
		"I cannot determine whether the conclusion is sound or not sound.":                                            "substantive_refusal",
		"I cannot evaluate this conclusion. Whether it is sound depends on data that I do not have.":                  "substantive_refusal",
		"The conclusion may be sound or not sound. I cannot determine which.":                                         "substantive_refusal",
		"Classification: I cannot determine whether it is sound.":                                                     "substantive_refusal",
		"I am not able to say that it is sound. " + why:                                                               "unresolved_labels",
		"I'm unable to call it sound.":                                                                                "unresolved_labels",
		object("I am unable to conclude that it is sound", why):                                                       "unresolved_labels",
		"I am unable to classify it as sound or not sound.":                                                           "substantive_refusal",
		"Whether it is sound I am not able to tell.":                                                                  "substantive_refusal",
		"Partially sound. " + why + " I cannot assess the sample.":                                                    "unresolved_labels",
		"Partially sound. " + why + " It kept harmful content away from children.":                                    "unresolved_labels",
		"I cannot assess the sample.\nClassification: partially sound\n" + why:                                        "unresolved_labels",
		object("partially sound", why+" I cannot assess the sample."):                                                 "unresolved_labels",
		object("sound", "I cannot assess the sample.") + object("not_sound", why):                                     "unresolved_labels",
		`{"classification": "sound", "rationale": ["` + why + `", "More."]}`:                                          "sound",
		`{"classification": "sound", "rationale": {"evidence": "` + why + `", "limits": ["none", 2]}}`:                "sound",
		`{"classification": "sound", "rationale": [{"text": "` + why + `"}]}`:                                         "sound",
		"<think>At first it is not sound.</think>\nIt is sound. " + why:                                               "sound",
		"<think>I cannot assess this, or can I?</think>\nPartially sound. " + why:                                     "unresolved_labels",
		"<reasoning>" + why + "</reasoning>\n" + object("sound", ""):                                                  "sound",
		"<reasoning>" + why + "</reasoning>\nIt is sound.":                                                            "sound",
		"<think>" + why + "</think>" + object("sound", ""):                                                            "not_substantive",
		"The conclusion is sound in one part and not sound in another.":                                               "unresolved_labels",
		`{"classification": "sound"}`:                                                                                 "not_substantive",
		`{"classification": ["not_sound"], "rationale": "` + why + `"}`:                                               "not_sound",
		`{"sound": false, "rationale": "` + why + `"}`:                                                                "unresolved_labels",
		"<think>Perhaps " + object("sound", why) + "</think>" + object("not_sound", why):                              "not_sound",
		`{"classification": "NotSound", "rationale": "` + why + `"}`:                                                  "not_sound",
		`{"classification": "neither sound nor unsound", "rationale": "` + why + `"}`:                                 "unresolved_labels",
		`{"classification": "sound", "rationale": "` + why + `"} {"classification": "<label>", "rationale": "<why>"}`: "sound",
	} {
		p := b.reader.read(answer, false)
		got := p.reason
		if got == "" {
			got = b.labels[p.label].Name
			if !strings.Contains(p.rationale, why) {
				t.Errorf("%s: the rationale is %q", answer, p.rationale)
			}
		}
		if got != want {
			t.Errorf("%s: read as %s, want %s", answer, got, want)
		}
	}
}

// TestReadingsOfLLMBar: the outputs of the judges of LLMBar read as the winners that its
// authors read in them, or as nothing.
func TestReadingsOfLLMBar(t *testing.T) {
	r := newReader(&Study{Labels: []Label{{Name: "1", Phrases: []string{"Output (a)"}, Side: "strength"}, {Name: "2", Phrases: []string{"Output (b)"}, Side: "weakness"}}})
	files, err := filepath.Glob("testdata/llmbar/*.results.jsonl.gz")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		unreadable, outputs := 0, 0
		_, err := dataset.Scan(file, func(line int, data []byte, err error) {
			var pair struct {
				Results []map[string]struct {
					Completion []string `json:"completion"`
					Winner     *string  `json:"winner"`
				} `json:"results"`
			}
			if err == nil {
				err = dataset.DecodeLoose(data, &pair)
			}
			if err != nil || len(pair.Results) == 0 {
				t.Fatalf("%s:%d: %v, %d results", file, line, err, len(pair.Results))
			}
			for order, o := range pair.Results[len(pair.Results)-1] {
				if o.Winner == nil {
					continue
				}
				outputs++
				read := r.labels.Text(o.Completion[0]).Label
				if order == "swap = True" && read != wording.None {
					read = 1 - read // (a) is the second answer there
				}
				switch winner := slices.Index([]string{"1", "2"}, *o.Winner); {
				case read == winner:
				case read == wording.None:
					unreadable++
				default:
					t.Errorf("%s:%d: reads as answer %d, the winner is %s", file, line, read+1, *o.Winner)
				}
			}
		})
		if err != nil || outputs < 100 || unreadable > 1 {
			t.Errorf("%s: %d of %d outputs read as nothing, %v", file, unreadable, outputs, err)
		}
	}
}

// TestPanel: of the answers of a panel in testdata/panel.txt none is read as the opposite of
// what a person reads, and no clear label counts against the model before a person has read
// the answer; then it is the person's.
func TestPanel(t *testing.T) {
	b := opened(t, starter(t), "annotation=[{name: labels, queue: label}]")
	all, clear, doubt := 0, 0, 0
	for place, line := range lines(t, "testdata/panel.txt") {
		says, answer, _ := strings.Cut(line, " | ")
		answer = strings.ReplaceAll(answer, `\n`, "\n")
		gold := slices.Index(b.names(), says)
		all++
		o := b.outcome(eval.Response{Text: answer, Stop: eval.StopEnd}, "")
		j := eval.Judged{Trial: eval.Trial{Item: "F_001", Arm: b.OwnArms[0].ID, Replicate: 1}, Outcome: o}
		f := &Fragment{ID: "F_001", Gold: &Gold{Label: max(0, gold)}}
		a := b.assess(f, &j)
		if a.Label != wording.None && a.Label != gold {
			t.Errorf("%s: %q is read as %s, a human reads %s", place, answer, b.labels[a.Label].Name, says)
		}
		if gold < 0 {
			continue
		}
		clear++
		if a.Label == wording.None {
			doubt++
			if !a.Excluded || !b.unread(a) {
				t.Errorf("%s: %q counts before a person has read it: %+v", place, answer, a)
			}
			j.Verdicts = []eval.Verdict{human("labels", "anna", says, 1)}
			a = b.assess(f, &j)
		}
		if a.Label != gold || a.Reason != "" && a.Reason != reasonUnjudged {
			t.Errorf("%s: %q: %+v", place, answer, a)
		}
	}
	if all != 99 || doubt > clear/2 {
		t.Errorf("%d answers, %d with a clear label, of which %d wait for a person", all, clear, doubt)
	}
}
