package soundness

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed prompt.txt
var builtinPrompt string

// The holes of a prompt.
const (
	holeFragment  = "{{FRAGMENT}}"
	holeExamples  = "{{EXAMPLES}}"
	holeChecklist = "{{CHECKLIST}}"
	holeLabels    = "{{LABELS}}"
	holeMeanings  = "{{MEANINGS}}"
)

// A prompt is the text before and after the fragment. Conditions differ only in the
// worked examples.
type prompt struct{ before, after string }

// prompts renders the prompt without and with the worked examples.
func (b *bench) prompts(f *study.File, s *Study, errs *study.Errors) (plain, worked prompt) {
	source, key := builtinPrompt, "prompt"
	switch {
	case s.Prompt != "" && s.PromptPath != "":
		errs.Add(f.Errorf("prompt_path", "the study has prompt and prompt_path: remove one"))
	case s.Prompt != "":
		source = s.Prompt
	case s.PromptPath != "":
		key = "prompt_path"
		var err error
		if source, err = kit.ReadText(f.Prompt(s.PromptPath)); err != nil {
			errs.Add(f.Errorf(key, "reading the prompt: %w", err))
			return
		}
	}
	for _, hole := range []string{holeFragment, holeExamples} {
		if n := strings.Count(source, hole); n != 1 {
			errs.Add(f.Errorf(key, "the prompt contains %s %s: want it once", hole, text.Plural(n, "time", "times")))
			return
		}
	}
	fill := func(examples string) prompt {
		before, after, _ := strings.Cut(source, holeFragment)
		r := strings.NewReplacer(holeExamples, examples, holeChecklist, b.checklist(), holeLabels, fmt.Sprintf("%q or %q", b.labels[0].Name, b.labels[1].Name), holeMeanings, b.meanings())
		return prompt{r.Replace(before), r.Replace(after)}
	}
	return fill(""), fill(b.workedExamples())
}

// checklist lists the domains with their checkpoints.
func (b *bench) checklist() string {
	var lines []string
	for i, d := range b.domains {
		var points []string
		for _, c := range d.Checkpoints {
			points = append(points, c.Text)
		}
		lines = append(lines, fmt.Sprintf("%d. %s: %s", i+1, d.Name, strings.Join(points, "; ")))
	}
	return strings.Join(lines, "\n")
}

func (b *bench) meanings() string {
	var lines []string
	for _, l := range b.labels {
		line := "- " + l.Name
		if l.Means != "" {
			line += ": " + l.Means
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// workedExamples is the part of the prompt that only one condition has.
func (b *bench) workedExamples() string {
	var w strings.Builder
	w.WriteString("\nWorked examples, judged by an expert:\n")
	for i, e := range b.examples {
		fmt.Fprintf(&w, "\nExample %d\n<fragment>\n%s\n</fragment>\n%s\n", i+1, fence(e.Text), b.answer(e.Label, e.Rationale))
	}
	w.WriteString("\nNow judge this one.\n")
	return w.String()
}

// answer is an answer in the format that the prompt asks for.
func (b *bench) answer(label int, rationale string) string {
	return kit.PlainJSON(struct {
		Classification string `json:"classification"`
		Rationale      string `json:"rationale"`
	}{b.labels[label].Name, rationale})
}

// fence escapes the tags around fragments, so that a fragment cannot end its block.
func fence(s string) string { return kit.Fence(s, "fragment") }

// with puts a fragment into the prompt.
func (p prompt) with(fragment string) string { return p.before + fence(fragment) + p.after }
