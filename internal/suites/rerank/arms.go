package rerank

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/rerank/attack"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

const simulatedProvider = "simulated"

// An arm is a method on a model, at a number of candidates, under an attack or
// none, with the defence or without.
type arm struct {
	eval.Arm
	name     string // as the study calls the method
	method   *method.Method
	model    *study.Model
	pipeline *eval.Pipeline
	target   string // of the pipeline, as the study writes it
	size     int
	attack   *attack.Attack
	defended bool
}

var armName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

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
	case a.pipeline != nil:
		kind = a.pipeline.Kind
	}
	if a.attack != nil {
		under = a.attack.Name
	}
	return []string{kind, strconv.Itoa(a.size), under, strconv.FormatBool(a.defended)}
}

// A planner turns methods into arms, gathering findings.
type planner struct {
	study   *Study
	resolve func(string) string
	fault   func(key, format string, args ...any)
	sizes   []int
	attacks []*attack.Attack // nil is none
	arms    []*arm
}

func (p *planner) plan() []*arm {
	p.sizes = p.study.Candidates.Sizes
	if len(p.sizes) == 0 {
		p.sizes = []int{10}
	}
	for i, n := range p.sizes {
		if n < 2 {
			p.fault(fmt.Sprintf("candidates.sizes[%d]", i), "%d candidates leave nothing to rank: want 2 or more", n)
		}
	}
	p.attacks = p.chosenAttacks()
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
		p.fault("attacks", "%v", err)
	}
	for i, name := range a.Names {
		found, err := attack.Parse(name)
		if err != nil {
			p.fault(fmt.Sprintf("attacks.names[%d]", i), "%v", err)
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
	key := fmt.Sprintf("methods[%d]", i)
	if !armName.MatchString(m.Name) {
		p.fault(key+".name", "method name %q: want letters, digits, dots, dashes and underscores", m.Name)
	}
	if slices.ContainsFunc(p.study.Methods[:i], func(o Method) bool { return o.Name == m.Name }) {
		p.fault(key+".name", "method name %q is there twice", m.Name)
	}
	kinds := m.kinds()
	if len(kinds) == 0 {
		m.Builtin = m.Name
		kinds = []string{"builtin"}
	}
	if len(kinds) > 1 {
		p.fault(key, "method %q has %s: want exactly one of them", m.Name, strings.Join(kinds, " and "))
		return
	}
	if kinds[0] != "builtin" {
		p.pipeline(key, m, kinds[0])
		return
	}
	found, err := method.Find(m.Builtin)
	if err != nil {
		p.fault(key, "%v; or say what %q is with outputs, exec or http", err, m.Name)
		return
	}
	if !found.Asks {
		if len(m.Models) > 0 {
			p.fault(key+".models", "method %q asks no model: leave models out", m.Name)
		}
		p.add(&arm{name: m.Name, method: &found}, found.Name == "bm25") // the others read no reviews, or those without the attack
		return
	}
	models := p.models(key, m)
	for _, model := range models {
		a := &arm{name: m.Name, method: &found, model: model}
		if len(models) > 1 {
			a.ID = m.Name + "@" + model.ID
		}
		p.add(a, true)
	}
}

func (m *Method) kinds() []string {
	var given []string
	for _, key := range []struct{ name, value string }{{"builtin", m.Builtin}, {"outputs", m.Outputs}, {"exec", m.Exec}, {"http", m.HTTP}} {
		if key.value != "" {
			given = append(given, key.name)
		}
	}
	return given
}

func (p *planner) models(key string, m *Method) []*study.Model {
	all := p.study.Models
	var list []*study.Model
	for i, id := range m.Models {
		at := slices.IndexFunc(all, func(x study.Model) bool { return x.ID == id })
		if at < 0 {
			p.fault(fmt.Sprintf("%s.models[%d]", key, i), "there is no model %q", id)
			continue
		}
		list = append(list, &all[at])
	}
	if len(m.Models) > 0 {
		return list
	}
	for i := range all {
		if all[i].ID != p.study.JudgeModel {
			list = append(list, &all[i])
		}
	}
	if len(list) == 0 {
		p.fault(key, "method %q asks models and the study has none: add one under models, or take random, bm25 or oracle", m.Name)
	}
	return list
}

func (p *planner) pipeline(key string, m *Method, kind string) {
	target := map[string]string{"outputs": m.Outputs, "exec": m.Exec, "http": m.HTTP}[kind]
	if len(m.Models) > 0 {
		p.fault(key+".models", "method %q asks no model of the study: leave models out", m.Name)
	}
	resolved := target
	if kind == "outputs" {
		resolved = p.resolve(target)
		if _, err := os.Stat(resolved); err != nil {
			p.fault(key+".outputs", "reading answers: %v", err)
			return
		}
	}
	if kind == "outputs" && len(p.sizes) > 1 {
		p.fault(key+".outputs", "answers made elsewhere are places among the candidates of one size, and the study has %d sizes: give method %q a study of its own", len(p.sizes), m.Name)
	}
	p.add(&arm{name: m.Name, target: target, pipeline: &eval.Pipeline{Kind: kind, Target: resolved}}, kind != "outputs")
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
				if a.pipeline != nil {
					own := *base.pipeline
					a.pipeline = &own
				}
				p.finish(&a)
				p.arms = append(p.arms, &a)
			}
		}
	}
}

// canDefend reports whether anybody reads the preamble.
func (a *arm) canDefend() bool {
	if a.pipeline != nil {
		return a.pipeline.Kind != "outputs"
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
	if id == "" {
		id = a.name
	}
	a.Levels = []eval.Level{{Name: "method", Value: a.name}}
	if a.model != nil {
		a.Levels = append(a.Levels, eval.Level{Name: "model", Value: a.model.ID})
		a.Model, a.Simulated = a.model.ID, a.model.Provider == simulatedProvider
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
	a.ID = id
	if a.pipeline != nil {
		a.pipeline.Model = eval.PipelinePrefix + id
		a.Model = a.pipeline.Model
	}
	if a.method != nil && a.method.Name == "random" {
		a.Role = eval.RoleBaseline
	}
}
