package study

import (
	"strings"
	"testing"
)

func TestFaultsOfTasks(t *testing.T) {
	labels := []string{"a", "b"}
	tests := []struct {
		name string
		task Task
		want string // "" for none
	}{
		{"an assessment", Task{Kind: "assessment", Labels: labels, Checklist: []Heading{{Name: "I"}, {Name: "II"}}}, ""},
		{"an assessment without labels", Task{Kind: "assessment"}, "kind assessment needs at least two labels"},
		{"a queue", Task{Queue: "failures", Kind: "failure", Labels: labels, Strata: []Stratum{{Name: "x"}}}, ""},
		{"a queue of items", Task{Queue: "failures", Kind: "failure", Labels: labels, Of: "item"}, ".queue: a queue picks answers itself"},
		{"a queue of arms", Task{Queue: "failures", Kind: "failure", Labels: labels, Arms: []string{"x"}}, ".queue: a queue picks answers itself"},
		{"groups without a queue", Task{Kind: "label", Labels: labels, Strata: []Stratum{{Name: "x"}}}, ".strata: only a queue of the suite has groups"},
		{"a second round that never begins", Task{Kind: "label", Labels: labels, Draw: 8, Again: Again{Count: 1, After: 9}}, ".again.after: only 8 are drawn, so that the second round never begins: want at most 8"},
		{"count and share", Task{Kind: "label", Labels: labels, Again: Again{Count: 1, Share: 0.5}}, ".again: give count or share, not both"},
		{"practice of answers", Task{Kind: "codes", Labels: labels, Practice: true}, ".practice: practice is about items"},
		{"sentences of a choice", Task{Of: "item", Ask: []Question{{Name: "q", Type: "choice", Options: labels, Sentences: []int{2, 4}}}}, ".ask[0].sentences: want the fewest and the most sentences of a text"},
		{"sentences the wrong way", Task{Of: "item", Ask: []Question{{Name: "q", Type: "text", Sentences: []int{4, 2}}}}, ".ask[0].sentences"},
		{"more than there is", Task{Of: "item", Ask: []Question{{Name: "q", Type: "several", Options: labels, Min: new(3.0)}}}, ".ask[0]: min is 3: there are 2 options"},
		{"too many notes", Task{Of: "item", Ask: []Question{{Name: "q", Type: "choice", Options: labels, Notes: []string{"1", "2", "3"}}}}, ".ask[0].notes: 3 notes for 2 options"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range tt.task.Faults() {
				got = append(got, f.Key+": "+f.Text)
			}
			text := strings.Join(got, "\n")
			if tt.want == "" && text != "" || !strings.Contains(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// The keys of the kinds do not collide with those of every page, and each question has
// one of its own.
func TestKindsHaveKeys(t *testing.T) {
	for _, kind := range []string{"assessment", "failure"} {
		task := Task{Name: "t", Kind: kind, Labels: []string{"a", "b"}, Checklist: []Heading{{Name: "I"}, {Name: "II"}}}
		if f := task.Faults(); len(f) > 0 {
			t.Errorf("%s: %v", kind, f)
		}
	}
}

// Tasks that ask something else than they say are refused.
func TestTaskErrors(t *testing.T) {
	choice := func(name, key string) Question {
		return Question{Name: name, Type: "choice", Options: []string{"a", "b"}, Key: key}
	}
	_, file, err := loadText(contractsYAML)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		task Task
		want string // "" is valid
	}{
		{Task{Name: "t", Kind: "gold"}, ""},
		{Task{Name: "t", Of: "item", Ask: []Question{choice("q", "b"), choice("r", "d")}}, ""},
		{Task{Name: "t"}, "asks nothing"},
		{Task{Name: "t", Kind: "label", Labels: []string{"one"}}, "at least two labels"},
		{Task{Name: "t", Of: "item", Ask: []Question{choice("q", "w")}}, "key w has another use"},
		{Task{Name: "t", Of: "item", Ask: []Question{choice("q", "b"), choice("r", "b")}}, "key b has another use"},
		{Task{Name: "t", Kind: "pair", Arms: []string{"a"}}, "a pair needs two arms"},
	} {
		v := &validator{file: file}
		v.tasks([]Task{c.task})
		got := ""
		if err := v.errs.Err(); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.task, got, c.want)
		}
	}
}
