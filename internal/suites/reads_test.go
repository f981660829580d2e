package suites

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/study"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A changing asker changes the answers of a simulated model, and keeps them.
type changing struct {
	simulatedAsker
	change func(string) string
	said   []string
}

func (c *changing) Ask(ctx context.Context, step string, r eval.Request) (eval.Response, error) {
	a, err := c.simulatedAsker.Ask(ctx, step, r)
	a.Text = c.change(a.Text)
	for i := range a.ToolCalls {
		a.ToolCalls[i].Arguments = []byte(c.change(string(a.ToolCalls[i].Arguments)))
	}
	c.said = append(c.said, step+fmt.Sprint(a.Text, a.ToolCalls))
	return a, err
}

var valueOfJSON = regexp.MustCompile(`": ?"([^"\\]{8,})"`)

// TestOutcomesHaveAVersion: where the same answers give other outcomes, [eval.Suite.Reads] has
// another number, or those of stored runs would count as damaged.
func TestOutcomesHaveAVersion(t *testing.T) {
	changes := []struct {
		name string
		do   func(string) string
	}{
		{"whole", func(s string) string { return s }},
		{"cut", func(s string) string { return strings.ToValidUTF8(s[:len(s)*2/3], "") }},
		{"fenced", func(s string) string { return "Here it is:\n```json\n" + s + "\n```\nIs that right?" }},
		{"long", func(s string) string { return valueOfJSON.ReplaceAllString(s, `": "`+strings.Repeat("$1 ", 10)+`"`) }},
		{"capitals", strings.ToUpper},
		{"twice", func(s string) string { return s + "\n" + s }},
	}
	more := map[string][]string{"extraction": {"comparisons=[]", "decide.require=[]", "models=[{id: m, provider: simulated, name: m}]", "arms=[{name: literal, models: [m]}]"}}
	const golden = "testdata/reads.txt"
	was := map[string][]string{} // version, hash of answers, hash of outcomes
	data, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		was[f[0]+" "+f[1]] = f[2:]
	}
	var b strings.Builder
	for _, s := range All() {
		files, err := s.Init(filepath.Join(t.TempDir(), "starter"))
		if err != nil {
			t.Fatal(err)
		}
		mine := s.Study()
		f, err := study.Load(files[0], more[s.Name], mine)
		if err != nil {
			t.Fatal(err)
		}
		bench, err := s.Open(f, mine)
		if err != nil {
			t.Fatal(err)
		}
		defer bench.Close()
		for _, change := range changes {
			var answers, outcomes []byte
			for _, it := range bench.Items()[:min(4, len(bench.Items()))] {
				for _, a := range bench.Arms() {
					asker := &changing{simulatedAsker{simulated.New(simulated.Skill{Wrong: 0.2}, 1)}, change.do, nil}
					o, err := bench.Perform(t.Context(), eval.Trial{Item: it.ID, Arm: a.ID, Replicate: 1}, asker)
					if err != nil {
						t.Fatal(err)
					}
					slices.Sort(asker.said)
					answers = fmt.Appendf(answers, "%s %s %v %v %q\n", it.ID, a.ID, it.Input, it.Gold, asker.said)
					outcomes = fmt.Appendf(outcomes, "%s %q %q\n", o.Kind, o.Reason, o.Data)
				}
			}
			key := s.Name + " " + change.name
			now := []string{fmt.Sprint(s.Reads), eval.HashOf(answers).String(), eval.HashOf(outcomes).String()}
			switch old := was[key]; {
			case len(old) == 3 && old[0] == now[0] && old[1] == now[1] && old[2] != now[2]:
				t.Errorf("%s: the same answers give other outcomes: raise Reads of the suite above %d, then run this test with -update", key, s.Reads)
			case !*update && !slices.Equal(old, now):
				t.Errorf("%s: the answers or Reads have changed: run this test with -update", key)
			}
			fmt.Fprintln(&b, key, strings.Join(now, " "))
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
