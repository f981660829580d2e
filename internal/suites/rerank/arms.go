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

// An arm is a method on a model, at a number of candidates, under an attack or
// none, with the defence or without.
type arm struct {
	kit.Arm
	name     string // as the study calls the method
	method   *method.Method
	size     int
	attack   *attack.Attack
	defended bool
}

// knowsTruth reports whether what an arm answers depends on what is true, which
// nobody else is told.
func (a *arm) knowsTruth() bool {
	return a.Simulated || a.method != nil && a.method.Name == "oracle"
}

// does lists what an arm does that its id need not say: the method behind its
// name, how many candidates, the attack and the defence.
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

// A planner turns methods into arms, gathering findings.
type planner struct {
	kit.Planner
	study   *Study
	sizes   []int
	attacks []*attack.Attack // nil is none
	arms    []*arm
}

func newPlanner(s *Study, resolve func(string) string, fault func(key, format string, args ...any)) *planner {
	return &planner{study: s, Planner: kit.Planner{Noun: "method", Models: s.Models, Skip: s.JudgeModel,
		Offline: "take random, bm25 or oracle", Resolve: resolve, Fault: fault}}
}

func (p *planner) plan() []*arm {
	p.sizes = p.study.Candidates.Sizes
	if len(p.sizes) == 0 {
		p.sizes = []int{10}
	}
	for i, n := range p.sizes {
		if n < 2 {
			p.Fault(fmt.Sprintf("candidates.sizes[%d]", i), "%d candidates leave nothing to rank: want 2 or more", n)
		}
	}
	p.attacks = p.chosenAttacks()
	kit.CheckNames(&p.Planner, p.study.Methods, func(m Method) string { return m.Name })
	for i := range p.study.Methods {
		p.method(i)
	}
	return p.arms
}

// chosenAttacks lists none first, then what the study names.
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
	if (m.Outside != kit.Outside{}) {
		p.pipeline(i, m)
		return
	}
	if len(given) == 0 {
		m.Builtin = m.Name
	}
	found, err := method.Find(m.Builtin)
	if err != nil {
		p.Fault(p.Key(i), "%v; or say what %q is with outputs, exec or http", err, m.Name)
		return
	}
	if !found.Asks {
		p.NoModels(i, m.Name, m.Models)
		p.add(&arm{Arm: kit.Arm{Arm: eval.Arm{ID: m.Name}}, name: m.Name, method: &found}, found.Name == "bm25") // the others read no reviews, or those without the attack
		return
	}
	for _, a := range p.OnModels(i, m.Name, m.Models) {
		p.add(&arm{Arm: a, name: m.Name, method: &found}, true)
	}
}

func (p *planner) pipeline(i int, m *Method) {
	p.NoModels(i, m.Name, m.Models)
	a, ok := p.Pipeline(i, m.Name, m.Outside)
	if !ok {
		return
	}
	if a.Answered() && len(p.sizes) > 1 {
		p.Fault(p.Key(i)+".outputs", "answers made elsewhere are places among the candidates of one size, and the study has %d sizes: give method %q a study of its own", len(p.sizes), m.Name)
	}
	p.add(&arm{Arm: a, name: m.Name}, !a.Answered())
}

// add makes the arms of a method: every size, every attack, with the defence
// and without.
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

// canDefend reports whether anybody reads the preamble.
func (a *arm) canDefend() bool {
	if a.Pipeline != nil {
		return !a.Answered()
	}
	return a.method.Asks
}

// shape joins levels to one name.
func shape(levels []eval.Level) string {
	var b strings.Builder
	for _, l := range levels {
		fmt.Fprintf(&b, "%s %q ", l.Name, l.Value)
	}
	return b.String()
}

// finish names an arm by what it differs in from others.
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
	a.Shape = shape(a.Levels) // attacks keep the budget of reviews, and a defence is a few lines
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
