package annotate

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/study"
)

// coding is an answer to the questions of a failure.
func coding(t *testing.T, primary, secondary, tertiary, emergent string) *Event {
	a := Answer{}
	for name, value := range map[string]string{"primary": primary, "secondary": secondary, "tertiary": tertiary, "emergent": emergent} {
		if value != "" {
			data, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			a[name] = jsontext.Value(data)
		}
	}
	return &Event{Answer: a}
}

// People must decide between the names of new codes as between codes.
func TestNamesOfNewCodesDiffer(t *testing.T) {
	task := study.Task{Kind: "failure", Labels: []string{"F1.1", "F2.2", "emergent"}}.Full()
	for name, test := range map[string]struct {
		a, b *Event
		want bool
	}{
		"one name":               {coding(t, "emergent", "", "", "Tone"), coding(t, "emergent", "", "", " tone "), false},
		"two names":              {coding(t, "emergent", "", "", "tone"), coding(t, "emergent", "", "", "terms"), true},
		"a name and none":        {coding(t, "F1.1", "emergent", "", "tone"), coding(t, "F1.1", "emergent", "", ""), true},
		"names of no code":       {coding(t, "F1.1", "", "", "tone"), coding(t, "F1.1", "", "", "terms"), false},
		"codes in another order": {coding(t, "F1.1", "F2.2", "", ""), coding(t, "F2.2", "F1.1", "", ""), true},
	} {
		if got := differ(task, nil, test.a, test.b); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Sets of codes are compared in any place: two people who give the same codes in another
// order agree on them.
func TestCodeSets(t *testing.T) {
	coded := func(primary, secondary, tertiary, emergent string) *Event {
		return coding(t, primary, secondary, tertiary, emergent)
	}
	task, primary := study.Task{Kind: "failure"}, &study.Question{Name: "primary"}
	for name, test := range map[string]struct {
		a, b *Event
		want float64 // common codes in all codes
	}{
		"equal":            {coded("F1.1", "F2.2", "", ""), coded("F1.1", "F2.2", "", ""), 1},
		"another order":    {coded("F1.1", "F2.2", "", ""), coded("F2.2", "F1.1", "", ""), 1},
		"one of three":     {coded("F1.1", "F2.2", "", ""), coded("F1.1", "F3.1", "", ""), 1.0 / 3},
		"none":             {coded("F1.1", "", "", ""), coded("F3.1", "", "", ""), 0},
		"twice is once":    {coded("F1.1", "F1.1", "", ""), coded("F1.1", "", "", ""), 1},
		"one name":         {coded("emergent", "", "", "Reads the title"), coded("emergent", "", "", " reads the title "), 1},
		"another name":     {coded("emergent", "", "", "reads the title"), coded("emergent", "", "", "counts"), 0},
		"two of two, of 3": {coded("F1.1", "F2.2", "F3.3", ""), coded("F3.3", "F1.1", "", ""), 2.0 / 3},
	} {
		g := Agreement{N: 2}
		c := comparison{Agreement: &g, task: task, q: primary, pairs: []pair{{Subject{Item: "a"}, test.a, test.b}, {Subject{Item: "b"}, test.a, test.b}}}
		if c.codeSets(); c.err != nil || g.Measure(Overlap) == nil || !(math.Abs(g.Measure(Overlap).Value-test.want) <= 1e-12) {
			t.Errorf("%s: %+v, %v, want %v", name, g.Measure(Overlap), c.err, test.want)
		}
	}
	for _, other := range []struct {
		task study.Task
		q    *study.Question
	}{{study.Task{Kind: "codes"}, primary}, {task, &study.Question{Name: "secondary"}}} {
		g := Agreement{N: 0}
		c := comparison{Agreement: &g, task: other.task, q: other.q}
		if c.codeSets(); c.err != nil || g.Measure(Overlap) != nil {
			t.Errorf("%+v, %v", g.Measure(Overlap), c.err)
		}
	}
}
