package soundness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// imports convert published judgements of experts to one file that is corpus and gold.
func imports() []kit.Import {
	var list []kit.Import
	for _, f := range []struct {
		name, doc string
		read      func(c *conversion, line int, data []byte) error
	}{
		{"judgebench", "file of JUDGE-BENCH: its categorical annotations with two labels become gold, by the majority of people", (*conversion).judgeBench},
		{"tofueval", "sentences of summaries of TofuEval, with the experts' labels and reasons", (*conversion).tofuEval},
		{"llmbar", "pairs of outputs of LLMBar, with the experts' choice", (*conversion).llmBar},
	} {
		list = append(list, kit.Import{Name: f.name, Doc: f.doc, Convert: func(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
			return convert(file, f.read, o)
		}})
	}
	return list
}

// A published judgement.
type published struct {
	ID        string `json:"fragment_id"`
	Text      string `json:"fragment_text"`
	Label     string `json:"expert_classification"`
	Rationale string `json:"expert_rationale,omitempty"`
	Criterion string `json:"criterion_addressed,omitempty"`
	Group     string `json:"group,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
}

// A conversion collects the judgements of a file.
type conversion struct {
	Fragments int            `json:"fragments"`
	Labels    map[string]int `json:"labels"`
	Skipped   map[string]int `json:"skipped"` // by reason

	metrics []annotated // of JUDGE-BENCH
	known   bool        // the head of the file was read
	seen    map[string]int
	options kit.ImportOptions
	out     bytes.Buffer
}

func (c *conversion) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", text.Plural(c.Fragments, "fragment", "fragments"))
	for _, l := range sortedKeys(c.Labels) {
		fmt.Fprintf(&b, "%s: %d\n", l, c.Labels[l])
	}
	for _, why := range sortedKeys(c.Skipped) {
		fmt.Fprintf(&b, "skipped, %s: %d\n", why, c.Skipped[why])
	}
	return b.String()
}

func convert(file string, read func(c *conversion, line int, data []byte) error, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	if o.Schema != "" {
		return nil, nil, errors.New("--schema: fragments have no schema")
	}
	c := &conversion{Labels: map[string]int{}, Skipped: map[string]int{}, seen: map[string]int{}, options: o}
	var errs []error
	_, err := dataset.Scan(file, func(line int, data []byte, err error) {
		if err == nil && !c.full() {
			err = read(c, line, data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, line, err))
		}
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, nil, err
	}
	if c.Fragments == 0 {
		return nil, nil, fmt.Errorf("%s has no judgement with one of two labels", file)
	}
	return c.out.Bytes(), c, nil
}

func (c *conversion) full() bool { return c.options.Limit > 0 && c.Fragments == c.options.Limit }

// add adds a judgement. A repeated id gets a number.
func (c *conversion) add(p published) error {
	switch {
	case c.full():
		return nil
	case strings.TrimSpace(p.Text) == "":
		c.Skipped["empty text"]++
		return nil
	case c.options.MaxText > 0 && len(p.Text) > c.options.MaxText:
		c.Skipped["longer than --max-text"]++
		return nil
	}
	p.ID = kit.UniqueID(c.seen, p.ID, "#")
	c.Fragments++
	c.Labels[p.Label]++
	e := json.NewEncoder(&c.out)
	e.SetEscapeHTML(false)
	return e.Encode(p)
}

// annotated is a metric of JUDGE-BENCH.
type annotated struct {
	Metric   string   `json:"metric"`
	Category string   `json:"category"`
	Prompt   string   `json:"prompt"`
	Labels   []string `json:"labels_list"`
}

// judgeBench reads a line of JUDGE-BENCH: the first describes the annotations.
func (c *conversion) judgeBench(line int, data []byte) error {
	if !c.known {
		var head struct {
			Meta *struct {
				Annotations []annotated `json:"annotations"`
			} `json:"_meta"`
		}
		if err := dataset.DecodeLoose(data, &head); err != nil {
			return err
		}
		if head.Meta == nil {
			return errors.New(`the first line has no "_meta" with the annotations`)
		}
		c.known = true
		for _, m := range head.Meta.Annotations {
			if m.Category == "categorical" && len(m.Labels) == 2 {
				c.metrics = append(c.metrics, m)
			} else {
				c.Skipped["metric without two labels: "+m.Metric]++
			}
		}
		return nil
	}
	var item struct {
		ID          json.RawMessage            `json:"id"`
		Instance    string                     `json:"instance"`
		Annotations map[string]json.RawMessage `json:"annotations"`
	}
	if err := dataset.DecodeLoose(data, &item); err != nil {
		return err
	}
	id := strings.Trim(string(item.ID), `"`)
	for _, m := range c.metrics {
		var majority struct {
			Majority *string `json:"majority_human"`
		}
		if raw, ok := item.Annotations[m.Metric]; ok {
			if err := dataset.DecodeLoose(raw, &majority); err != nil {
				return fmt.Errorf("%s: %w", m.Metric, err)
			}
		}
		switch {
		case majority.Majority == nil:
			c.Skipped["no majority"]++
			continue
		case !slices.Contains(m.Labels, *majority.Majority):
			return fmt.Errorf("%s: label %q is none of %s", m.Metric, *majority.Majority, strings.Join(m.Labels, ", "))
		}
		p := published{ID: id, Text: item.Instance, Label: *majority.Majority}
		if len(c.metrics) > 1 {
			p.ID, p.Criterion, p.Cluster = id+":"+strings.ReplaceAll(strings.ToLower(m.Metric), " ", "_"), m.Metric, id
			p.Text = strings.ReplaceAll(m.Prompt, "{{ instance }}", item.Instance) // the question is part of the item
		}
		if err := c.add(p); err != nil {
			return err
		}
	}
	return nil
}

// tofuEval reads a sentence of a summary. Sentences on one document depend on each other.
func (c *conversion) tofuEval(_ int, data []byte) error {
	var s struct {
		Doc      string `json:"doc_id"`
		Note     string `json:"annotation_id"`
		Topic    string `json:"topic"`
		Model    string `json:"model_name"`
		Index    string `json:"sent_idx"`
		Sentence string `json:"summ_sent"`
		Label    string `json:"sent_label"`
		Reason   string `json:"exp"`
		Type     string `json:"type"`
	}
	if err := dataset.DecodeLoose(data, &s); err != nil {
		return err
	}
	if s.Doc == "" || s.Label != "yes" && s.Label != "no" {
		return fmt.Errorf("want doc_id and sent_label yes or no, got %q and %q", s.Doc, s.Label)
	}
	return c.add(published{ID: strings.Join([]string{s.Doc, s.Note, s.Topic, s.Model, s.Index}, "/"), Text: s.Sentence, Label: s.Label, Rationale: s.Reason,
		Criterion: s.Type, Group: s.Model, Cluster: s.Doc})
}

// llmBar reads an instruction with two outputs.
func (c *conversion) llmBar(line int, data []byte) error {
	var pair struct {
		Input string          `json:"input"`
		One   string          `json:"output_1"`
		Two   string          `json:"output_2"`
		Label json.RawMessage `json:"label"`
	}
	if err := dataset.DecodeLoose(data, &pair); err != nil {
		return err
	}
	label := strings.Trim(string(pair.Label), `"`)
	if pair.Input == "" || label != "1" && label != "2" {
		return fmt.Errorf("want input and label 1 or 2, got label %q", label)
	}
	return c.add(published{ID: fmt.Sprintf("%03d", line), Label: label,
		Text: "# Instruction:\n" + pair.Input + "\n\n# Output (a):\n" + pair.One + "\n\n# Output (b):\n" + pair.Two})
}
