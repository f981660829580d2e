package rerank

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

// An arm is a method on a model, with a number of candidates, an optional attack
// and an optional defence.
type arm struct {
	kit.Arm
	name     string // of the method in the study
	method   *method.Method
	size     int
	attack   *attack.Attack
	defended bool
}

// knowsTruth reports whether the arm's answers depend on gold: only those of the
// oracle and of simulated models do.
func (a *arm) knowsTruth() bool {
	return a.Simulated || a.method != nil && a.method.Name == "oracle"
}

// does lists what the arm's id may not say: the built-in method, the number of
// candidates, the attack and the defence.
func (a *arm) does() []string {
	kind, under := "", ""
	switch {
	case a.method != nil:
		kind = "builtin " + a.method.Name
	case a.Pipeline != nil:
		kind = a.Pipeline.Kind
	}
	if a.attack != nil {
		under = a.attack.Name
	}
	return []string{kind, strconv.Itoa(a.size), under, strconv.FormatBool(a.defended)}
}

// A planner turns methods into arms and collects errors.
type planner struct {
	kit.Planner
	study   *Study
	sizes   []int
	attacks []*attack.Attack // nil: clean data
	arms    []*arm
}

func newPlanner(s *Study, resolve func(string) string, fault func(key, format string, args ...any)) *planner {
	return &planner{study: s, Planner: kit.Planner{Noun: "method", List: kit.Entries, Models: s.Models,
		Offline: "use random, bm25 or oracle", Resolve: resolve, Prompt: resolve, Fault: fault}}
}

func (p *planner) plan() []*arm {
	p.sizes = p.study.Candidates.Sizes
	if len(p.sizes) == 0 {
		p.sizes = []int{10}
	}
	for i, n := range p.sizes {
		if n < 2 {
			p.Fault(fmt.Sprintf("candidates.sizes[%d]", i), "size is %d: want at least 2 candidates", n)
		}
	}
	p.attacks = p.chosenAttacks()
	kit.CheckNames(&p.Planner, p.study.Methods, func(m Method) string { return m.Name })
	for i := range p.study.Methods {
		p.method(i)
	}
	return p.arms
}

// chosenAttacks lists nil for clean data, then the attacks of the study.
func (p *planner) chosenAttacks() []*attack.Attack {
	list := []*attack.Attack{nil}
	a := p.study.Attacks
	if err := a.options().Check(); err != nil {
		p.Fault("attacks", "%v", err)
	}
	for i, name := range a.Names {
		found, err := attack.Parse(name)
		if err != nil {
			p.Fault(fmt.Sprintf("attacks.names[%d]", i), "%v", err)
			continue
		}
		for k := range found {
			if !slices.ContainsFunc(list, func(b *attack.Attack) bool { return b != nil && b.Name == found[k].Name }) {
				list = append(list, &found[k])
			}
		}
	}
	return list
}

func (p *planner) method(i int) {
	m := &p.study.Methods[i]
	given := kit.Given(m.Outside, kit.Way{Key: "builtin", Value: m.Builtin})
	if !p.One(i, m.Name, given) {
		return
	}
	if m.Outside.Given() {
		p.pipeline(i, m)
		return
	}
	if len(given) == 0 {
		m.Builtin = m.Name
	}
	found, err := method.Find(m.Builtin)
	if err != nil {
		p.Fault(p.Key(i), "%v; or give %q one of outputs, exec, http", err, m.Name)
		return
	}
	if !found.Asks {
		p.NoModels(i, m.Name, m.Models)
		p.add(&arm{Arm: kit.Arm{Arm: eval.Arm{ID: m.Name}}, name: m.Name, method: &found}, found.Name == "bm25") // the others do not read attacked reviews
		return
	}
	for _, a := range p.OnModels(i, m.Name, m.Models) {
		p.add(&arm{Arm: a, name: m.Name, method: &found}, true)
	}
}

func (p *planner) pipeline(i int, m *Method) {
	a, ok := p.Pipeline(i, m.Name, m.Models, m.Outside)
	if !ok {
		return
	}
	if a.Answered() && len(p.sizes) > 1 {
		p.Fault(p.Key(i)+".outputs", "outputs are positions among candidates of one size, but the study has %d sizes: put method %q in a separate study", len(p.sizes), m.Name)
	}
	p.add(&arm{Arm: a, name: m.Name}, !a.Answered())
}

// add makes the arms of a method: one for each size, attack and defence.
func (p *planner) add(base *arm, attackable bool) {
	attacks := p.attacks
	if !attackable {
		attacks = attacks[:1]
	}
	defences := map[string][]bool{"": {false}, "off": {false}, "on": {true}, "both": {false, true}}[p.study.Attacks.Defence]
	if !base.canDefend() {
		defences = []bool{false}
	}
	for _, size := range p.sizes {
		for _, at := range attacks {
			for _, defended := range defences {
				a := *base
				a.size, a.attack, a.defended = size, at, defended
				p.finish(&a)
				p.arms = append(p.arms, &a)
			}
		}
	}
}

// canDefend reports whether the arm sends the preamble to a model or pipeline.
func (a *arm) canDefend() bool {
	if a.Pipeline != nil {
		return !a.Answered()
	}
	return a.method.Asks
}

// shape joins levels into one name.
func shape(levels []eval.Level) string {
	var b strings.Builder
	for _, l := range levels {
		fmt.Fprintf(&b, "%s %q ", l.Name, l.Value)
	}
	return b.String()
}

// finish sets the arm's id, levels and role.
func (p *planner) finish(a *arm) {
	id := a.ID
	a.Levels = []eval.Level{{Name: "method", Value: a.name}}
	if a.Settings != nil {
		a.Levels = append(a.Levels, eval.Level{Name: "model", Value: a.Model})
	}
	if len(p.study.Candidates.Sizes) > 0 {
		id += fmt.Sprintf("/n%d", a.size)
	}
	a.Levels = append(a.Levels, eval.Level{Name: "candidates", Value: fmt.Sprintf("n%d", a.size)})
	a.Shape = shape(a.Levels) // attacks stay within the review budget, and a defence is a few lines
	clean := "clean"
	if a.attack != nil {
		clean = a.attack.Name
		id += "/" + clean
	}
	if len(p.attacks) > 1 {
		a.Levels = append(a.Levels, eval.Level{Name: "attack", Value: clean})
	}
	if p.study.Attacks.Defence == "both" || p.study.Attacks.Defence == "on" {
		word := "undefended"
		if a.defended {
			word = "defended"
		}
		if p.study.Attacks.Defence == "both" && a.defended {
			id += "/defended"
		}
		a.Levels = append(a.Levels, eval.Level{Name: "defence", Value: word})
	}
	a.Rename(id)
	if a.method != nil && a.method.Name == "random" {
		a.Role = eval.RoleBaseline
	}
}
