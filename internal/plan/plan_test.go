package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/study"
)

func itemsNamed(n int, prefix string) (items []eval.Item) {
	for i := range n {
		items = append(items, eval.Item{ID: fmt.Sprint(prefix, i)})
	}
	return items
}

func TestPlanNumbersEveryTrialOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := itemsNamed(rapid.IntRange(0, 30).Draw(t, "items"), "i")
		var arms []eval.Arm
		for i := range rapid.IntRange(1, 4).Draw(t, "arms") {
			arms = append(arms, eval.Arm{ID: fmt.Sprint("arm", i)})
		}
		replicates := rapid.IntRange(1, 3).Draw(t, "replicates")
		p, err := plan.New(items, arms, replicates, rapid.Int64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[eval.Trial]bool{}
		for seq := range p.Len() {
			trial := p.Trial(seq)
			if back, ok := p.Seq(trial); !ok || back != seq {
				t.Fatalf("trial %d %v is numbered %d, %v", seq, trial, back, ok)
			}
			seen[trial] = true
		}
		if len(seen) != len(items)*len(arms)*replicates {
			t.Fatalf("%d different trials", len(seen))
		}
	})
}

func TestOrder(t *testing.T) {
	p, err := plan.New(itemsNamed(5, "doc"), []eval.Arm{{ID: "a"}, {ID: "b"}}, 2, 42)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for seq := range p.Len() {
		got = append(got, p.Trial(seq).String())
	}
	// Items keep together, and the order of seed 42 never changes.
	want := []string{"a #1", "a #2", "b #1", "b #2"}
	for i, g := range got {
		if !strings.HasSuffix(g, want[i%4]) {
			t.Errorf("trial %d is %s", i, g)
		}
	}
	order := []string{got[0][:4], got[4][:4], got[8][:4], got[12][:4], got[16][:4]}
	if golden := []string{"doc1", "doc0", "doc4", "doc2", "doc3"}; !slices.Equal(order, golden) {
		t.Errorf("items in order %v, want %v as on every machine", order, golden)
	}
	other, _ := plan.New(itemsNamed(5, "doc"), []eval.Arm{{ID: "a"}}, 1, 7)
	if slices.Equal(order, []string{other.Trial(0).Item, other.Trial(1).Item, other.Trial(2).Item, other.Trial(3).Item, other.Trial(4).Item}) {
		t.Error("another seed gives the same order")
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	twice := append(itemsNamed(2, "x"), eval.Item{ID: "x1"})
	for name, err := range map[string]error{
		"item twice":    second(plan.New(twice, []eval.Arm{{ID: "a"}}, 1, 1)),
		"arm twice":     second(plan.New(nil, []eval.Arm{{ID: "a"}, {ID: "a"}}, 1, 1)),
		"no replicates": second(plan.New(nil, nil, 0, 1)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTreatmentHoldsWhatIsAskedAndNothingElse(t *testing.T) {
	zero, half := 0.0, 0.5
	base := func() *study.Study {
		s := &study.Study{Suite: "extraction", Models: []study.Model{{ID: "m", Provider: "openai", Name: "gpt", Temperature: &zero}, {ID: "unused", Provider: "google"}}}
		s.Execution.Replicates, s.Execution.Seed = 1, 42
		return s
	}
	arms := []eval.Arm{{ID: "ctn", Model: "m", Hash: "h"}}
	was := plan.Treatment(base(), arms)
	for name, c := range map[string]struct {
		change func(*study.Study)
		want   string
	}{
		"temperature": {func(s *study.Study) { s.Models[0].Temperature = &half }, "model m.temperature: was 0, now 0.5"},
		"replicates":  {func(s *study.Study) { s.Execution.Replicates = 3 }, "replicates: was 1, now 3"},
		"unused":      {func(s *study.Study) { s.Models[1].Name = "x" }, ""},
		"limits":      {func(s *study.Study) { s.Models[0].Limits.Concurrency = 3; s.Execution.Concurrency = 9 }, ""},
		"price":       {func(s *study.Study) { s.Models[0].Price = &study.Price{} }, ""},
		"judge":       {func(s *study.Study) { s.JudgeModel = "unused" }, "judge_model: was nothing, now unused"},
	} {
		s := base()
		c.change(s)
		got := strings.Join(eval.DiffParts(was, plan.Treatment(s, arms)), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: difference %q, want %q", name, got, c.want)
		}
	}
}

func TestChangesOfItems(t *testing.T) {
	was := map[string]eval.Item{"a": {ID: "a", Input: 1, Gold: 1}, "b": {ID: "b", Input: 1, Gold: 1}, "c": {ID: "c"}}
	now := []eval.Item{{ID: "a", Input: 2, Gold: 2}, {ID: "b", Input: 1, Gold: 2}, {ID: "d"}}
	if got := plan.Reworded(was, now); !slices.Equal(got, []string{"a"}) {
		t.Errorf("other inputs: %q", got)
	}
	if got := plan.Regraded(was, now); !slices.Equal(got, []string{"b"}) {
		t.Errorf("other gold for the same input: %q", got)
	}
}

// What determines the requests of an arm is in its question, and nothing else.
func TestQuestions(t *testing.T) {
	base := func() *study.Study {
		s := &study.Study{Suite: "x", Models: []study.Model{{ID: "m", BaseURL: "http://h:1/v1", Name: "n"}, {ID: "j"}, {ID: "other"}}}
		s.Execution.Replicates, s.Execution.Seed = 1, 42
		return s
	}
	arm := eval.Arm{ID: "a", Model: "m", Hash: "h", Judges: []string{"j"}}
	was := plan.Questions(base(), []eval.Arm{arm})[0].Hash
	for name, c := range map[string]struct {
		change func(*study.Study, *eval.Arm)
		same   bool
	}{
		"name":        {func(s *study.Study, _ *eval.Arm) { s.Models[0].Name = "n2" }, false},
		"max_tokens":  {func(s *study.Study, _ *eval.Arm) { s.Models[0].MaxTokens = 9 }, false},
		"host":        {func(s *study.Study, _ *eval.Arm) { s.Models[0].BaseURL = "http://i:1/v1" }, false},
		"judge":       {func(s *study.Study, _ *eval.Arm) { s.Models[1].MaxTokens = 9 }, true},
		"prompt":      {func(_ *study.Study, a *eval.Arm) { a.Hash = "i" }, false},
		"seed":        {func(s *study.Study, _ *eval.Arm) { s.Execution.Seed = 1 }, false},
		"port":        {func(s *study.Study, _ *eval.Arm) { s.Models[0].BaseURL = "http://h:2/v1" }, true},
		"other model": {func(s *study.Study, _ *eval.Arm) { s.Models[2].Name = "n2" }, true},
		"replicates":  {func(s *study.Study, _ *eval.Arm) { s.Execution.Replicates = 3 }, true},
		"id":          {func(_ *study.Study, a *eval.Arm) { a.ID = "b" }, true},
	} {
		s, a := base(), arm
		c.change(s, &a)
		if got := plan.Questions(s, []eval.Arm{a})[0].Hash; (got == was) != c.same {
			t.Errorf("%s: the question is the same: %v, want %v", name, got == was, c.same)
		}
		// Judges have a key of their own.
		judges, now := plan.Judges(base(), []eval.Arm{arm})["a"], plan.Judges(s, []eval.Arm{{ID: "a", Judges: a.Judges}})["a"]
		if same := judges == now; same != (name != "judge") {
			t.Errorf("%s: the judge is the same: %v", name, same)
		}
	}
}

// Renamed items keep what they were asked: of one input in the order of their ids.
func TestRenamed(t *testing.T) {
	item := func(id string, input int) eval.Item { return eval.Item{ID: id, Input: eval.Hash(input)} }
	was := map[string]eval.Item{}
	for _, it := range []eval.Item{item("a", 1), item("b", 2), item("c", 3), item("d", 4), item("e", 4), item("f", 5)} {
		was[it.ID] = it
	}
	now := []eval.Item{item("a", 1), item("b", 3), item("c", 2), item("x", 4), item("y", 4), item("z", 4), item("f", 6), item("n", 5)}
	want := map[string]string{"b": "c", "c": "b", "d": "x", "e": "y", "f": "n"}
	if got := plan.Renamed(was, now); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Stored error rates are shown in words, those of a prompt after the others.
func TestReadable(t *testing.T) {
	skill := study.Skill{Wrong: 0.12, Miss: 0.01, Arms: map[string]study.ArmSkill{"few_shot": {Wrong: 0.1}, "a:b": {}}}
	got := plan.Readable([]eval.Part{{Name: "model m.skill", Value: skill.String()}, {Name: "model m.name", Value: "m"}})
	want := []eval.Part{{Name: "model m.skill", Value: "miss 0.01, wrong 0.12; with a:b: no errors; with few_shot: wrong 0.1"}, {Name: "model m.name", Value: "m"}}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The settings of judges are told from those of arms, and a server may have another port.
func TestJudgeParts(t *testing.T) {
	was := []eval.Part{{Name: "seed", Value: "1"}, {Name: "arm a", Value: "h"}, {Name: "judge_model", Value: "j"}, {Name: "judges", Value: "k, rule"},
		{Name: "model j.base_url", Value: "http://127.0.0.1:80/v1"}, {Name: "model j.reasoning.effort", Value: "low"}, {Name: "model k.name", Value: "z"}, {Name: "model jj.name", Value: "y"}}
	want := []eval.Part{was[2], was[3], {Name: "model j.base_url", Value: "http://127.0.0.1/v1"}, was[5], was[6]}
	if got := plan.JudgeParts(was); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
