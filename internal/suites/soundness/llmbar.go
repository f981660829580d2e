package soundness

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
)

func measureCommand() kit.Command {
	return kit.Command{Name: "measure", Sub: "llmbar", Args: []string{"FILE"}, Short: "accuracy and agreement of a judge of LLMBar, from its raw outputs",
		Long: `Reads the outputs of a judge in both orders of the two answers, FILE with one pair per
line: label and results. The last of several results counts, as it is the judge's final
one. The choice is the winner that the file gives; without one it is read from the text
of the output, as answers of a study are. How often that reading differs is counted.

Prints the statistics of LLMBar: accuracy in both orders, and agreement between the
orders. Its kappa_False and kappa_True code the second answer differently in judge and
label, so they do not measure agreement with the label; kappa_expert_False and
kappa_expert_True are.`,
		New: func(*flag.FlagSet) func(kit.Call) (fmt.Stringer, error) {
			return func(c kit.Call) (fmt.Stringer, error) { return measureLLMBar(c.Args[0]) }
		}}
}

// choices counts the outputs of a judge in one order.
type choices struct {
	right int
	one   [2]int // by label, outputs that choose the first answer
	all   [2]int // by label
}

// LLMBar are the statistics of a judge.
type LLMBar struct {
	CorrectFalse   string      `json:"correct_False"`
	CorrectTrue    string      `json:"correct_True"`
	CorrectAverage string      `json:"correct_average"`
	CorrectBoth    string      `json:"correct_both"`
	Equal          string      `json:"equal"`
	KappaFalse     eval.Number `json:"kappa_False"`
	KappaTrue      eval.Number `json:"kappa_True"`
	KappaAverage   eval.Number `json:"kappa_average"`
	Agreement      eval.Number `json:"kappa_agreement"`
	ExpertFalse    eval.Number `json:"kappa_expert_False"`
	ExpertTrue     eval.Number `json:"kappa_expert_True"`
	// How the texts of the outputs read: those that choose neither or both, and those that
	// choose another answer than the winner of the file.
	Unreadable int `json:"unreadable"`
	Differ     int `json:"read_otherwise"`
}

func (m LLMBar) String() string {
	var b strings.Builder
	for _, row := range [][2]string{
		{"correct, given order", m.CorrectFalse}, {"correct, swapped order", m.CorrectTrue}, {"correct, average", m.CorrectAverage}, {"correct in both orders", m.CorrectBoth},
		{"same answer in both orders", m.Equal}, {"kappa between the orders", decimal(m.Agreement)}, {"kappa with the label, given order", decimal(m.ExpertFalse)},
		{"kappa with the label, swapped order", decimal(m.ExpertTrue)}, {"kappa_False as published", decimal(m.KappaFalse)}, {"kappa_True as published", decimal(m.KappaTrue)},
		{"texts without a choice", strconv.Itoa(m.Unreadable)}, {"texts that choose another answer", strconv.Itoa(m.Differ)},
	} {
		fmt.Fprintf(&b, "%-36s %s\n", row[0], row[1])
	}
	return b.String()
}

// decimal shows a kappa, which is undefined if chance alone explains every choice.
func decimal(x eval.Number) string {
	if !x.Defined() {
		return "undefined"
	}
	return strconv.FormatFloat(float64(x), 'f', 4, 64)
}

// percent writes a share as LLMBar does.
func percent(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s + "%"
}

// share writes a count as LLMBar does.
func share(k, n int) string {
	return fmt.Sprintf("%d / %d = %s", k, n, percent(float64(k)/float64(n)*100))
}

// llmBarLabels are the answers as judges name them, as phrases of labels.
var llmBarLabels = []Label{{Name: "1", Phrases: []string{"Output (a)"}, Side: "strength"}, {Name: "2", Phrases: []string{"Output (b)"}, Side: "weakness"}}

func measureLLMBar(file string) (*LLMBar, error) {
	reader, err := newReader(&Study{Labels: llmBarLabels})
	if err != nil {
		return nil, err
	}
	m := &LLMBar{}
	var orders [2]choices
	both, equal, n := 0, 0, 0
	var between [2][2]int // first answer in the given and in the swapped order
	var errs []error
	_, err = dataset.Scan(file, func(line int, data []byte, err error) {
		var label int
		var said, read [2]int
		if err == nil {
			label, said, read, err = reader.pair(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, line, err))
			return
		}
		n++
		right := 0
		for k, choice := range said {
			o := &orders[k]
			o.all[label]++
			if choice == label {
				o.right++
				right++
			}
			if choice == 0 {
				o.one[label]++
			}
			switch read[k] {
			case choice:
			case wording.None:
				m.Unreadable++
			default:
				m.Differ++
			}
		}
		if right == 2 {
			both++
		}
		if said[0] == said[1] {
			equal++
		}
		between[notFirst(said[0])][notFirst(said[1])]++
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%s has no judgements", file)
	}
	m.CorrectFalse, m.CorrectTrue = share(orders[0].right, n), share(orders[1].right, n)
	m.CorrectAverage = percent(float64(orders[0].right+orders[1].right) / 2 / float64(n) * 100)
	m.CorrectBoth, m.Equal = share(both, n), share(equal, n)
	m.KappaFalse, m.KappaTrue = orders[0].published(), orders[1].published()
	m.KappaAverage = (m.KappaFalse + m.KappaTrue) / 2
	m.Agreement = eval.Number(measure.Kappa(float64(between[0][0]), float64(between[0][1]), float64(between[1][0]), float64(between[1][1])))
	m.ExpertFalse, m.ExpertTrue = orders[0].kappa(), orders[1].kappa()
	return m, nil
}

// notFirst is 0 for the choice of the first answer, 1 for any other.
func notFirst(choice int) int {
	if choice == 0 {
		return 0
	}
	return 1
}

// kappa is the agreement of choices with labels. An unreadable output counts as a choice
// of the second answer, as in LLMBar.
func (c *choices) kappa() eval.Number {
	return eval.Number(measure.Kappa(float64(c.one[0]), float64(c.one[1]), float64(c.all[0]-c.one[0]), float64(c.all[1]-c.one[1])))
}

// published is the kappa that LLMBar published. It codes the choices as 1 and 0, the
// labels as 1 and 2, so they can agree on 1 alone.
func (c *choices) published() eval.Number {
	n := float64(c.all[0] + c.all[1])
	agree := float64(c.one[0]) / n
	chance := float64(c.one[0]+c.one[1]) / n * float64(c.all[0]) / n
	return eval.Number((agree - chance) / (1 - chance))
}

// pair reads one line: the label, 0 or 1, and for both orders the judge's choice and what
// its text reads as.
func (r *reader) pair(data []byte) (label int, said, read [2]int, err error) {
	type output struct {
		Completion []string `json:"completion"`
		Winner     *string  `json:"winner"`
	}
	var line struct {
		Label   int `json:"label"`
		Results []struct {
			Given   *output `json:"swap = False"`
			Swapped *output `json:"swap = True"`
		} `json:"results"`
	}
	if err := dataset.DecodeLoose(data, &line); err != nil {
		return 0, said, read, err
	}
	if line.Label != 1 && line.Label != 2 || len(line.Results) == 0 {
		return 0, said, read, fmt.Errorf("want label 1 or 2 and results, got label %d and %d results", line.Label, len(line.Results))
	}
	last := line.Results[len(line.Results)-1]
	for k, o := range []*output{last.Given, last.Swapped} {
		if o == nil || len(o.Completion) == 0 {
			return 0, said, read, errors.New("a result lacks the completion of an order")
		}
		read[k] = r.labels.Text(o.Completion[0]).Label
		if k == 1 && read[k] != wording.None {
			read[k] = 1 - read[k] // (a) is the second answer there
		}
		if said[k] = read[k]; o.Winner != nil {
			said[k] = slices.Index([]string{"1", "2"}, *o.Winner) // wording.None for others
		}
	}
	return line.Label - 1, said, read, nil
}
