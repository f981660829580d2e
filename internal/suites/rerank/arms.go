package rerank

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
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
	clean    *arm // the same on clean data; nil if it is that
}

// knowsTruth reports whether the arm's answers depend on gold: only those of the
// oracle and of simulated models do.
func (a *arm) knowsTruth() bool {
	return a.Simulated || a.method != nil && a.method.Name == "oracle"
}

// does lists what the arm's id may not say: the built-in method, the number of
// candidates, the attack with its version, and the defence.
func (a *arm) does() []string {
	kind, under := "", ""
	if a.method != nil {
		kind = "builtin " + a.method.Name
	}
	if a.attack != nil {
		under = a.attack.Name + " version " + attack.Version
	}
	return []string{kind, strconv.Itoa(a.size), under, strconv.FormatBool(a.defended)}
}

// A planner turns methods into arms and collects errors.
type planner struct {
	*kit.Planner
	study   *Study
	sizes   []int
	attacks []*attack.Attack // nil: clean data
	arms    []*arm
}

// plan makes the arms of a study.
func plan(f *study.File, s *Study, errs *study.Errors) ([]*arm, []int) {
	p := &planner{study: s, Planner: kit.NewPlanner(f, &s.Study, "method", "use random, bm25 or oracle", errs), sizes: s.Candidates.Sizes}
	p.Skip = "" // the suite has no judge
	if len(p.sizes) == 0 {
		p.sizes = []int{10}
	}
	for i, n := range p.sizes {
		if n < 2 {
			p.Fault(fmt.Sprintf("candidates.sizes[%d]", i), "size is %d: want at least 2 candidates", n)
		}
	}
	p.attacks = p.chosenAttacks()
	kit.CheckNames(p.Planner, s.Methods)
	for i := range s.Methods {
		m := &s.Methods[i]
		p.Make(&m.Entry, func(a kit.Arm) { p.pipeline(m, a) },
			kit.Way{Key: "builtin", Value: m.Builtin, Make: func(builtin string) { p.method(m, builtin) }})
	}
	return p.arms, p.sizes
}

// chosenAttacks lists nil for clean data, then the attacks of the study.
func (p *planner) chosenAttacks() []*attack.Attack {
	list := []*attack.Attack{nil}
	a := p.study.Attacks
	if err := a.Check(); err != nil {
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

func (p *planner) method(m *Method, builtin string) {
	found, err := method.Find(builtin)
	switch {
	case err != nil:
		p.Fault(p.Key(&m.Entry), "%v; or give %q one of outputs, exec, http", err, m.Name)
	case !found.Asks:
		p.NoModels(&m.Entry)
		p.add(arm{Arm: kit.Arm{Arm: eval.Arm{ID: m.Name}}, name: m.Name, method: &found}, found.Name == "bm25") // the others do not read attacked reviews
	default:
		for _, a := range p.OnModels(&m.Entry) {
			p.add(arm{Arm: a, name: m.Name, method: &found}, true)
		}
	}
}

func (p *planner) pipeline(m *Method, a kit.Arm) {
	if a.Answered() && len(p.sizes) > 1 {
		p.Fault(p.Key(&m.Entry)+".outputs", "outputs are positions among candidates of one size, but the study has %d sizes: put method %q in a separate study", len(p.sizes), m.Name)
	}
	p.add(arm{Arm: a, name: m.Name}, !a.Answered())
}

// add makes the arms of a method: one for each size, attack and defence.
func (p *planner) add(base arm, attackable bool) {
	attacks := p.attacks
	if !attackable {
		attacks = attacks[:1]
	}
	defences := map[string][]bool{"": {false}, "off": {false}, "on": {true}, "both": {false, true}}[p.study.Attacks.Defence]
	if base.Pipeline != nil && base.Answered() || base.Pipeline == nil && !base.method.Asks { // there is nobody to send the preamble to
		defences = []bool{false}
	}
	for _, size := range p.sizes {
		clean := map[bool]*arm{} // by defence
		for _, at := range attacks {
			for _, defended := range defences {
				a := base
				a.size, a.attack, a.defended, a.clean = size, at, defended, clean[defended]
				if at == nil {
					clean[defended] = &a
				}
				p.finish(&a)
				p.arms = append(p.arms, &a)
			}
		}
	}
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
	for _, l := range a.Levels { // attacks stay within the review budget, and a defence is a few lines
		a.Shape += fmt.Sprintf("%s %q ", l.Name, l.Value)
	}
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

// title names the arm apart from its size and attack.
func (a *arm) title() string {
	t := a.name
	if a.Settings != nil {
		t += "@" + a.Model
	}
	if a.defended {
		t += ", defended"
	}
	return t
}

func (a *arm) attacked() bool { return a.attack != nil }

func (a *arm) injected() bool { return a.attacked() && a.attack.Injects }
