package extraction

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// The arms that make no calls.
const (
	nullBaseline  = "null_baseline"
	heuristicName = "heuristic"
)

// An arm is a [kit.Arm] with its prompt or its local function.
type arm struct {
	kit.Arm
	kernel  string             // the prompt template, for arms that ask models
	skilled string             // name of the kernel, if its simulated model has a skill with it
	prompts map[*Schema]prompt // the rendered template by schema
	local   func(d *prepared) string
}

// A prompt is a kernel rendered for a schema.
type prompt struct {
	system string
	answer json.RawMessage // JSON Schema of the answer
}

// A planner turns kernels into arms and collects errors.
type planner struct {
	*kit.Planner
	*bench
	kernels []Kernel // of the study, then those of the folder kernels
}

// plan makes the arms: every kernel on each of its models, always the null
// baseline, and the calibration arm if the study has a judge.
func (p *planner) plan() {
	p.kernels = p.study.Kernels
	for i := range p.kernels {
		if len(p.kernels[i].given()) == 0 {
			p.byName(&p.kernels[i])
		}
	}
	p.kernels = append(slices.Clip(p.kernels), p.dropped()...)
	p.Skilled = true
	kit.CheckNames(p.Planner, p.kernels)
	if len(p.kernels) == 0 && p.waiting == 0 {
		p.Fault("arms", "the study compares nothing: list a kernel, or put a prompt into %s", p.Resolve(kernelFolder))
	}
	for i := range p.kernels {
		p.kernel(&p.kernels[i])
	}
	if !p.Has(eval.RoleBaseline) {
		name := nullBaseline
		for slices.ContainsFunc(p.kernels, func(k Kernel) bool { return k.Name == name && k.enabled() }) {
			name = "builtin-" + name
		}
		p.nullArm(name)
	}
	if p.study.JudgeModel != "" {
		p.add(kit.CalibrationRight, &arm{local: goldAnswer, Arm: kit.Local(eval.RoleCalibration, "gold", "1")})
		p.JudgedBy(p.study.JudgeModel)
	}
}

func (p *planner) add(name string, a *arm) { p.Add("kernel", name, a) }

func (p *planner) nullArm(name string) {
	p.add(name, &arm{local: func(d *prepared) string { return d.schema.null }, Arm: kit.Local(eval.RoleBaseline, nullBaseline, "1")})
}

// kernel makes the arms of one kernel.
func (p *planner) kernel(k *Kernel) {
	given := k.given()
	switch {
	case len(given) == 0:
		p.Fault(p.Key(&k.Entry), "kernel %[1]q has no source: kernels/%[1]s.txt does not exist; give it one of path, builtin, of, outputs, exec, http", k.Name)
		return
	case !p.One(&k.Entry, given):
		return
	case len(k.Remove) > 0 && k.Of == "":
		p.Fault(p.Key(&k.Entry)+".remove", "remove needs of: name the kernel to remove blocks from")
		return
	case k.Of != "" && len(k.Remove) == 0:
		p.Fault(p.Key(&k.Entry)+".remove", "of needs remove: list the blocks to remove, such as [v1]")
		return
	}
	switch {
	case !k.enabled():
	case k.Outside.Given():
		if a, ok := p.Pipeline(&k.Entry); ok {
			p.add(k.Name, &arm{Arm: a})
		}
	case k.Builtin == nullBaseline:
		p.NoModels(&k.Entry)
		p.nullArm(k.Name)
	case k.Builtin == heuristicName:
		p.NoModels(&k.Entry)
		p.add(k.Name, &arm{local: heuristicAnswer, Arm: kit.Local(eval.RoleArm, "heuristic", heuristicVersion)})
	default:
		p.modelArms(k)
	}
}

// byName resolves a kernel without a source by its name: the file
// kernels/NAME.txt next to the study, else the shipped kernel.
func (p *planner) byName(k *Kernel) {
	path := kernelFolder + "/" + k.Name + ".txt"
	if _, err := os.Stat(p.Resolve(path)); err == nil && kit.ValidName(k.Name) {
		k.Path = path
	} else if slices.Contains(builtins(), k.Name) {
		k.Builtin = k.Name
	}
}

// kernelFolder is the folder next to the study whose prompts are arms.
const kernelFolder = "kernels"

// dropped lists the prompts of the folder that no entry of the study names. They
// run on all models of the study.
func (p *planner) dropped() []Kernel {
	entries, err := os.ReadDir(p.Resolve(kernelFolder))
	if err != nil {
		return nil // most studies have no such folder
	}
	var list []Kernel
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".txt")
		if !ok || e.IsDir() || p.listed(name) {
			continue
		}
		switch k := (Kernel{Entry: kit.Entry{Name: name}, Path: kernelFolder + "/" + e.Name()}); {
		case !kit.ValidName(name):
			p.Fault("arms", "%s: the name of the file names the arm, so rename it with letters, digits, dots, dashes and underscores", p.Resolve(k.Path))
		case len(p.Models) == 0:
			p.Prompt(k.Path)
			p.waiting++
		default:
			list = append(list, k)
		}
	}
	return list
}

// listed reports whether an entry of the study has the name of a prompt or its file.
func (p *planner) listed(name string) bool {
	file := p.Resolve(kernelFolder + "/" + name + ".txt")
	return slices.ContainsFunc(p.kernels, func(k Kernel) bool {
		return k.Name == name || k.Path != "" && p.Resolve(k.Path) == file
	})
}

// given lists the source keys that are set.
func (k *Kernel) given() []string {
	return kit.Given(k.Outside, kit.Way{Key: "path", Value: k.Path}, kit.Way{Key: "builtin", Value: k.Builtin}, kit.Way{Key: "of", Value: k.Of})
}

// modelArms makes one arm for each model of a prompt kernel.
func (p *planner) modelArms(k *Kernel) {
	kernel, key, err := p.text(k)
	if err == nil {
		err = checkKernel(kernel)
	}
	for _, e := range kit.Unjoin(err) {
		p.Fault(p.Key(&k.Entry)+key, "%w", e)
	}
	if err != nil {
		return
	}
	for _, a := range p.OnModels(&k.Entry) {
		made := &arm{Arm: a, kernel: kernel, prompts: map[*Schema]prompt{}}
		if skill := a.Settings.Skill; skill != nil {
			if _, own := skill.Arms[k.Name]; own {
				made.skilled = k.Name
			}
		}
		p.add(k.Name, made)
	}
}

// text reads the text of a kernel. key is where it is from, for errors.
func (p *planner) text(k *Kernel) (template, key string, err error) {
	if k.Of != "" {
		base := p.base(k.Of)
		if base == nil {
			return "", ".of", fmt.Errorf("no kernel %q with a prompt%s", k.Of, text.DidYouMean(k.Of, p.promptNames()))
		}
		if template, _, err = p.text(base); err == nil {
			template, err = ablate(template, k.Remove)
		}
		return template, ".remove", err
	}
	if remove := ablations[k.Builtin]; remove != nil {
		template, err = ablate(shippedKernel(ablated), remove)
		return template, ".builtin", err
	}
	if k.Builtin != "" {
		return shippedKernel(k.Builtin), ".builtin", nil
	}
	if template, err = kit.ReadText(p.Prompt(k.Path)); err != nil {
		err = fmt.Errorf("reading the kernel: %w", err)
	}
	return template, ".path", err
}

// base finds the kernel that an ablation starts from: one of the study, enabled
// or not, or a shipped one.
func (p *planner) base(name string) *Kernel {
	for i := range p.kernels {
		if k := &p.kernels[i]; k.Name == name && k.isPrompt() {
			return k
		}
	}
	if slices.Contains(shippedPrompts(), name) {
		return &Kernel{Entry: kit.Entry{Name: name}, Builtin: name}
	}
	return nil
}

// isPrompt reports whether the kernel has its own text.
func (k *Kernel) isPrompt() bool {
	return k.Path != "" || slices.Contains(shippedPrompts(), k.Builtin)
}

func (p *planner) promptNames() []string {
	names := shippedPrompts()
	for _, k := range p.kernels {
		if k.isPrompt() {
			names = append(names, k.Name)
		}
	}
	return names
}

// renderAll renders the kernels for the schemas in use. The hash of an arm that
// asks a model covers everything it would send.
func renderAll(arms []*arm, used []*Schema, plain bool) {
	for _, a := range arms {
		if a.Settings == nil {
			continue
		}
		var parts []string
		for _, s := range used {
			a.prompts[s] = prompt{render(a.kernel, s, plain), s.answerSchema(plain)}
			r := a.modelRequest(s, "")
			parts = append(parts, r.Key())
		}
		a.Hash = kit.Hash(parts...).String()
	}
}
