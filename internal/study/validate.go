package study

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// validate runs the checks that a schema cannot express, and reports all findings.
func (f *File) validate(s *Study) error {
	v := validator{file: f}
	v.name(s.Name)
	v.models(s.Models)
	v.judge(s)
	v.comparisons(s.Comparisons)
	v.metrics(s.Metrics.Own)
	v.decide(s.Decide)
	v.tasks(s.Annotation)
	return v.errs.Err()
}

type validator struct {
	file *File
	errs Errors
}

func (v *validator) errorf(path, format string, args ...any) {
	v.errs.Add(v.file.Errorf(path, format, args...))
}

// name rejects the device names of Windows; a pattern checks the rest.
func (v *validator) name(name string) {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	reserved := []string{"CON", "PRN", "AUX", "NUL"}
	port := len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '1' && stem[3] <= '9'
	if port || slices.Contains(reserved, stem) {
		v.errorf("name", "%s is not a valid folder name on every system: choose another name", quote(name))
	}
}

func (v *validator) models(models []Model) {
	// Ids become folder names, and some file systems ignore case.
	first := firsts(models, func(m Model) string { return strings.ToLower(m.ID) })
	for i, m := range models {
		path := elementPath("models", i)
		if first[i] < i {
			v.errorf(path+".id", "duplicate id %s, also of models[%d]: ids are compared without case", quote(m.ID), first[i])
		}
		v.baseURL(path+".base_url", m.BaseURL)
		if s := m.Skill; s != nil && s.Miss+s.Wrong > 1 {
			v.errorf(path+".skill", "miss and wrong sum to %s: want at most 1", decimal(s.Miss+s.Wrong))
		}
		if m.Skill != nil {
			for _, arm := range slices.Sorted(maps.Keys(m.Skill.Arms)) {
				if s := m.Skill.Of(arm); s.Miss+s.Wrong+s.Fabricate > 1 {
					v.errorf(path+".skill.arms."+arm, "miss, wrong and fabricate sum to %s: want at most 1", decimal(s.Miss+s.Wrong+s.Fabricate))
				}
			}
		}
	}
}

func (v *validator) baseURL(path, address string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		v.errorf(path, "%s is not a URL: want one such as http://127.0.0.1:8080/v1", quote(address))
	case u.Hostname() == "":
		v.errorf(path, "%s has no host: want a URL such as http://127.0.0.1:8080/v1", quote(address))
	case u.RawQuery != "" || u.Fragment != "":
		v.errorf(path, "%s has a query or fragment: remove it, since paths are appended to the URL", quote(u.Scheme+"://"+u.Host+u.Path))
	}
}

func (v *validator) judge(s *Study) {
	if s.JudgeModel == "" || s.Judge() != nil {
		return
	}
	var ids []string
	for _, m := range s.Models {
		ids = append(ids, m.ID)
	}
	v.errorf("judge_model", "no model with the id %s: %s", quote(s.JudgeModel), suggest(s.JudgeModel, ids))
}

func (v *validator) comparisons(comparisons []Compare) {
	for i, c := range comparisons {
		path := elementPath("comparisons", i)
		if c.A == c.B && c.A != AllArms {
			v.errorf(path, "a and b are both %s: want two different arms", quote(c.A))
		}
	}
}

func (v *validator) metrics(own []Metric) {
	first := firsts(own, func(m Metric) string { return m.Name })
	for i, m := range own {
		path := elementPath("metrics.own", i)
		if first[i] < i {
			v.errorf(path+".name", "duplicate metric %s, also metrics.own[%d]", quote(m.Name), first[i])
		}
		low, high := m.Range()
		switch {
		case !(low < high):
			v.errorf(path, "metric %s has a range from %v to %v: want min below max", quote(m.Name), low, high)
		case m.Unbounded && (m.Min != nil && m.Max != nil || m.Binary), m.Binary && (low != 0 || high != 1):
			v.errorf(path, "metric %s: want one of unbounded, binary, and a range of min and max", quote(m.Name))
		case m.Counts && (m.Unbounded || m.Binary || m.Min != nil || m.Max != nil):
			v.errorf(path, "metric %s: counts are from 0 on, without a largest: want one of counts, unbounded, binary, and a range of min and max", quote(m.Name))
		}
	}
}

func (v *validator) decide(d Decide) {
	var outcomes, diagnose []Condition
	for _, c := range d.Outcomes {
		outcomes = append(outcomes, Condition{c.Name, c.When})
	}
	for _, c := range d.Diagnose {
		diagnose = append(diagnose, Condition{c.Name, c.When})
	}
	v.rules("require", "", d.Require)
	v.rules("outcomes", "outcome", outcomes)
	v.rules("diagnose", "diagnosis", diagnose)
}

// rules refuses two rules of one name and, of ordered ones, which have a noun, conditions that
// are missing before the last.
func (v *validator) rules(key, noun string, list []Condition) {
	first := firsts(list, func(c Condition) string { return c.Name })
	for i, c := range list {
		path := elementPath("decide."+key, i)
		if first[i] < i {
			v.errorf(path+".name", "duplicate name %s, also of %s[%d]", quote(c.Name), key, first[i])
		}
		if noun != "" && strings.TrimSpace(c.That) == "" && i != len(list)-1 {
			v.errorf(path, "%s has no when: only the last %s may omit it", quote(c.Name), noun)
		}
	}
}

// firsts returns, for each element of a list, the first index with the same key.
func firsts[T any](list []T, key func(T) string) []int {
	seen := map[string]int{}
	first := make([]int, len(list))
	for i, element := range list {
		k := key(element)
		if _, ok := seen[k]; !ok {
			seen[k] = i
		}
		first[i] = seen[k]
	}
	return first
}

// decimal shows a sum without the noise of its last bits.
func decimal(x float64) string { return fmt.Sprintf("%.10g", x) }
