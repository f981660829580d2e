package extraction

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// The arms that answer without asking anything.
const (
	nullBaseline   = "null_baseline"
	heuristicName  = "heuristic"
	calibrationArm = "calibration:gold"
)

// An arm is an arm with what performing it needs.
type arm struct {
	eval.Arm
	model    *study.Model       // nil for arms that ask no model
	kernel   string             // the prompt with its holes, for arms that ask models
	prompts  map[*Schema]prompt // the same, filled in
	pipeline *eval.Pipeline     // for arms that ask a pipeline
	target   string             // of the pipeline, as the study writes it
	local    func(d *prepared) string
}

// A prompt is what a model is told about a schema, by the arm's kernel.
type prompt struct {
	system string
	answer json.RawMessage // JSON Schema of the answer
}

// kernelName is what an arm may be called: names end up in commands, file
// names and tables.
var kernelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// A planner turns kernels into arms, gathering findings.
type planner struct {
	study   *Study
	resolve func(string) string
	fault   func(key, format string, args ...any)
	arms    []*arm
}

// plan makes the arms: every kernel on each of its models, the null baseline
// in any case, and with a judge the arm that calibrates it.
func (p *planner) plan() []*arm {
	p.names()
	for i := range p.study.Kernels {
		p.kernel(i)
	}
	if !slices.ContainsFunc(p.arms, func(a *arm) bool { return a.Role == eval.RoleBaseline }) {
		name := nullBaseline
		for slices.ContainsFunc(p.study.Kernels, func(k Kernel) bool { return k.Name == name && k.enabled() }) {
			name = "builtin-" + name
		}
		p.arms = append(p.arms, p.nullArm(name))
	}
	if p.study.JudgeModel != "" {
		p.arms = append(p.arms, &arm{local: goldAnswer, Arm: eval.Arm{ID: calibrationArm, Role: eval.RoleCalibration,
			Levels: []eval.Level{{Name: "kernel", Value: calibrationArm}}, Hash: hashOf("gold", "1")}})
		for _, a := range p.arms {
			a.Judges = []string{p.study.JudgeModel}
		}
	}
	return p.arms
}

func (p *planner) names() {
	for i, k := range p.study.Kernels {
		key := fmt.Sprintf("kernels[%d].name", i)
		if !kernelName.MatchString(k.Name) {
			p.fault(key, "kernel name %q: want letters, digits, dots, dashes and underscores", k.Name)
		}
		if slices.ContainsFunc(p.study.Kernels[:i], func(o Kernel) bool { return o.Name == k.Name }) {
			p.fault(key, "kernel name %q is there twice", k.Name)
		}
	}
}

// kernel makes the arms of one kernel.
func (p *planner) kernel(i int) {
	k := &p.study.Kernels[i]
	key := fmt.Sprintf("kernels[%d]", i)
	if len(k.kinds()) == 0 {
		p.byName(k)
	}
	what := k.kinds()
	switch {
	case len(what) == 0:
		p.fault(key, "kernel %[1]q is nothing yet: there is no kernels/%[1]s.txt; give it one of path, builtin, of, outputs, exec, http", k.Name)
		return
	case len(what) > 1:
		p.fault(key, "kernel %q has %s: want exactly one of them", k.Name, strings.Join(what, " and "))
		return
	case len(k.Remove) > 0 && k.Of == "":
		p.fault(key+".remove", "remove belongs to of: name the kernel the blocks are removed from")
		return
	case k.Of != "" && len(k.Remove) == 0:
		p.fault(key+".remove", "of needs remove: list the blocks to leave out, such as [v1]")
		return
	}
	if !k.enabled() {
		return
	}
	switch kind := what[0]; {
	case kind == "outputs" || kind == "exec" || kind == "http":
		p.noModels(key, k)
		p.pipelineArm(key, k, kind)
	case k.Builtin == nullBaseline:
		p.noModels(key, k)
		p.arms = append(p.arms, p.nullArm(k.Name))
	case k.Builtin == heuristicName:
		p.noModels(key, k)
		p.arms = append(p.arms, &arm{local: heuristicAnswer, Arm: eval.Arm{ID: k.Name, Levels: levels(k.Name, ""), Hash: hashOf("heuristic", heuristicVersion)}})
	default:
		p.modelArms(key, k)
	}
}

// byName finds a kernel of which only the name is given: the file
// kernels/NAME.txt beside the study, else what ships under that name.
func (p *planner) byName(k *Kernel) {
	path := "kernels/" + k.Name + ".txt"
	if _, err := os.Stat(p.resolve(path)); err == nil && kernelName.MatchString(k.Name) {
		k.Path = path
	} else if k.Name == nullBaseline || k.Name == heuristicName || slices.Contains(shippedKernelNames, k.Name) {
		k.Builtin = k.Name
	}
}

// kinds lists which of the keys that say what a kernel is are given.
func (k *Kernel) kinds() []string {
	var given []string
	for _, key := range []struct{ name, value string }{{"path", k.Path}, {"outputs", k.Outputs}, {"exec", k.Exec}, {"http", k.HTTP}, {"builtin", k.Builtin}, {"of", k.Of}} {
		if key.value != "" {
			given = append(given, key.name)
		}
	}
	return given
}

func (p *planner) noModels(key string, k *Kernel) {
	if len(k.Models) > 0 {
		p.fault(key+".models", "kernel %q asks no model of the study: leave models out", k.Name)
	}
}

func (p *planner) nullArm(name string) *arm {
	return &arm{local: nullAnswer, Arm: eval.Arm{ID: name, Levels: levels(name, ""), Role: eval.RoleBaseline, Hash: hashOf(nullBaseline, "1")}}
}

func (p *planner) pipelineArm(key string, k *Kernel, kind string) {
	target := map[string]string{"outputs": k.Outputs, "exec": k.Exec, "http": k.HTTP}[kind]
	a := &arm{target: target, pipeline: &eval.Pipeline{Model: eval.PipelinePrefix + k.Name, Kind: kind, Target: target}}
	content := target
	if kind == "outputs" {
		a.pipeline.Target = p.resolve(target)
		answers, err := os.ReadFile(a.pipeline.Target)
		if err != nil {
			p.fault(key+".outputs", "reading answers: %v", err)
			return
		}
		content = eval.HashOf(answers).String()
	}
	a.Arm = eval.Arm{ID: k.Name, Levels: levels(k.Name, ""), Model: a.pipeline.Model, Hash: hashOf(kind, content)}
	p.arms = append(p.arms, a)
}

// modelArms makes one arm a model of a kernel that is a prompt.
func (p *planner) modelArms(key string, k *Kernel) {
	kernel, ok := p.text(key, k)
	if !ok {
		return
	}
	models := p.models(key, k)
	for _, m := range models {
		id := k.Name
		if len(models) > 1 {
			id += "@" + m.ID
		}
		p.arms = append(p.arms, &arm{model: m, kernel: kernel, prompts: map[*Schema]prompt{}, Arm: eval.Arm{ID: id, Levels: levels(k.Name, m.ID),
			Model: m.ID, Simulated: m.Provider == simulatedProvider}})
	}
}

// models are the models a kernel runs on: those it names, else all.
func (p *planner) models(key string, k *Kernel) []*study.Model {
	all := p.study.Models
	var list []*study.Model
	for i, id := range k.Models {
		at := slices.IndexFunc(all, func(m study.Model) bool { return m.ID == id })
		switch {
		case at < 0:
			p.fault(fmt.Sprintf("%s.models[%d]", key, i), "there is no model %q%s", id, didYouMean(id, modelIDs(all)))
		case slices.Contains(k.Models[:i], id):
			p.fault(fmt.Sprintf("%s.models[%d]", key, i), "model %q is there twice", id)
		default:
			list = append(list, &all[at])
		}
	}
	if len(k.Models) > 0 {
		return list
	}
	for i := range all {
		list = append(list, &all[i])
	}
	if len(list) == 0 {
		p.fault(key, "kernel %q is a prompt and the study has no models: add one under models, or use builtin: heuristic to try the suite without any", k.Name)
	}
	return list
}

// text is the text of a prompt kernel, checked.
func (p *planner) text(key string, k *Kernel) (string, bool) {
	text, where, err := p.rawText(k)
	if err == nil && k.Of != "" {
		base := p.base(k.Of)
		if base == nil {
			p.fault(key+".of", "there is no kernel %q with a prompt%s", k.Of, didYouMean(k.Of, p.promptNames()))
			return "", false
		}
		if text, _, err = p.rawText(base); err == nil {
			where = ".remove"
			text, err = ablate(text, k.Remove)
		}
	}
	if err == nil {
		err = checkKernel(text)
	}
	for _, e := range unjoin(err) {
		p.fault(key+where, "%v", e)
	}
	return text, err == nil
}

// rawText reads the text of a kernel that has one of its own.
func (p *planner) rawText(k *Kernel) (text, where string, err error) {
	switch {
	case k.Builtin != "":
		if !slices.Contains(shippedKernelNames, k.Builtin) {
			known := append(slices.Clone(shippedKernelNames), nullBaseline, heuristicName)
			return "", ".builtin", fmt.Errorf("there is no builtin %q%s", k.Builtin, didYouMean(k.Builtin, known))
		}
		return shippedKernel(k.Builtin), ".builtin", nil
	case k.Path != "":
		b, err := os.ReadFile(p.resolve(k.Path))
		if err != nil {
			return "", ".path", fmt.Errorf("reading the kernel: %w", err)
		}
		if !utf8.Valid(b) {
			return "", ".path", fmt.Errorf("reading the kernel: %s is not UTF-8", p.resolve(k.Path))
		}
		return strings.TrimPrefix(string(b), "\ufeff"), ".path", nil
	}
	return "", "", nil
}

// base finds the kernel an ablation is made from: one of the study, enabled or
// not, or a shipped one.
func (p *planner) base(name string) *Kernel {
	for i := range p.study.Kernels {
		if k := &p.study.Kernels[i]; k.Name == name && k.isPrompt() {
			return k
		}
	}
	if slices.Contains(shippedKernelNames, name) {
		return &Kernel{Name: name, Builtin: name}
	}
	return nil
}

// isPrompt reports a kernel with a text of its own.
func (k *Kernel) isPrompt() bool {
	return k.Path != "" || slices.Contains(shippedKernelNames, k.Builtin)
}

func (p *planner) promptNames() []string {
	names := slices.Clone(shippedKernelNames)
	for _, k := range p.study.Kernels {
		if k.isPrompt() {
			names = append(names, k.Name)
		}
	}
	return names
}

// renderAll renders the kernels for the schemas that documents use, and makes
// the hashes of arms that ask models from everything they would send.
func renderAll(arms []*arm, used []*Schema) {
	for _, a := range arms {
		if a.model == nil {
			continue
		}
		var parts []string
		for _, s := range used {
			a.prompts[s] = prompt{render(a.kernel, s), s.answerSchema()}
			r := a.modelRequest(s, "")
			parts = append(parts, r.Key())
		}
		a.Hash = hashOf(parts...)
	}
}

func levels(kernel, model string) []eval.Level {
	list := []eval.Level{{Name: "kernel", Value: kernel}}
	if model != "" {
		list = append(list, eval.Level{Name: "model", Value: model})
	}
	return list
}

func modelIDs(models []study.Model) []string {
	ids := make([]string, len(models))
	for i, m := range models {
		ids[i] = m.ID
	}
	return ids
}

func hashOf(parts ...string) string { return eval.HashOf(appendParts(nil, parts...)).String() }
