// Package label has the taxonomy of roles and the sections of a text, which are data of a
// study; nothing here knows a model, a judge or a file format.
package label

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A Taxonomy is the set of roles that a span can have, and of the errors that a
// judge can find.
type Taxonomy struct {
	// Task and Guidelines are shown to labellers and judges.
	Task       string     `json:"task,omitempty" jsonschema:"description=What is labelled\\, as in video prompts"`
	Guidelines string     `json:"guidelines,omitempty" jsonschema:"description=What a span is\\, and what should and should not be labelled"`
	Categories []Category `json:"categories,omitempty" jsonschema:"description=Categories of roles (default: the nine of video prompts)"`
	// Aliases map other names to roles.
	Aliases     map[string]string `json:"aliases,omitempty" jsonschema:"description=Other names of roles\\, such as {camera.framing: shot.type}"`
	Reasons     []string          `json:"reasons,omitempty" jsonschema:"description=Why a span should not have been labelled"`
	Severities  []string          `json:"severities,omitempty" jsonschema:"description=Severities of a missed element\\, the worst first"`
	Granularity []string          `json:"granularity,omitempty" jsonschema:"description=What can be wrong with the borders of a span"`

	roles map[string]string // category by role
	list  []string
}

// A Category is a kind of span. A role is its name, or its name and an attribute,
// as in camera.movement.
type Category struct {
	Name       string   `json:"name" jsonschema:"required,minLength=1"`
	Attributes []string `json:"attributes,omitempty"`
}

// Other is the reason of a false positive that has none of the taxonomy.
const Other = "other"

//go:embed video.json
var video []byte

// Default is the taxonomy of visual control points in video prompts.
func Default() Taxonomy { return kit.Embedded[Taxonomy](video) }

// Complete fills in the lists that are missing and checks the taxonomy. A study
// that has categories has none of the default aliases.
func (t *Taxonomy) Complete() error {
	d := Default()
	if len(t.Categories) == 0 {
		t.Categories, t.Task, t.Guidelines = d.Categories, cmp.Or(t.Task, d.Task), cmp.Or(t.Guidelines, d.Guidelines)
		if t.Aliases == nil {
			t.Aliases = d.Aliases
		}
	}
	t.Task = cmp.Or(t.Task, "texts")
	for _, l := range []struct{ of, otherwise *[]string }{{&t.Reasons, &d.Reasons}, {&t.Severities, &d.Severities}, {&t.Granularity, &d.Granularity}} {
		if len(*l.of) == 0 {
			*l.of = *l.otherwise
		}
	}
	if !slices.Contains(t.Reasons, Other) {
		t.Reasons = append(t.Reasons, Other)
	}
	t.roles, t.list = map[string]string{}, nil
	var errs []error
	add := func(role, category string) {
		if _, ok := t.roles[role]; ok {
			errs = append(errs, fmt.Errorf("duplicate role %q", role))
		}
		t.roles[role] = category
		t.list = append(t.list, role)
	}
	for _, c := range t.Categories {
		add(c.Name, c.Name)
		for _, a := range c.Attributes {
			add(c.Name+"."+a, c.Name)
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(t.Aliases)) {
		if _, ok := t.roles[t.Aliases[alias]]; !ok {
			errs = append(errs, fmt.Errorf("alias %q: the taxonomy has no role %q", alias, t.Aliases[alias]))
		}
	}
	return errors.Join(errs...)
}

// Describe lists the roles, a category per line, for prompts.
func (t *Taxonomy) Describe() string {
	var b strings.Builder
	for _, c := range t.Categories {
		b.WriteString("- " + c.Name)
		if len(c.Attributes) > 0 {
			b.WriteString(": " + c.Name + "." + strings.Join(c.Attributes, ", "+c.Name+"."))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Roles lists all roles: each category, then its attributes.
func (t *Taxonomy) Roles() []string { return t.list }

// Canonical resolves an alias.
func (t *Taxonomy) Canonical(role string) string {
	if r, ok := t.Aliases[role]; ok {
		return r
	}
	return role
}

// Known reports whether a role, or its alias, is in the taxonomy.
func (t *Taxonomy) Known(role string) bool {
	_, ok := t.roles[t.Canonical(role)]
	return ok
}

// Category is the category of a role. An unknown role belongs to what stands
// before its first dot.
func (t *Taxonomy) Category(role string) string {
	role = t.Canonical(role)
	if c, ok := t.roles[role]; ok {
		return c
	}
	category, _, _ := strings.Cut(role, ".")
	return category
}

// Index is the place of a role's category among the categories; -1 for one that
// is unknown.
func (t *Taxonomy) Index(role string) int {
	category := t.Category(role)
	return slices.IndexFunc(t.Categories, func(c Category) bool { return c.Name == category })
}
