package attack

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed templates.yaml
var templateFile []byte

// templateTexts is the content of templates.yaml.
type templateTexts struct {
	InjectOverride []string           `yaml:"inject_override"`
	InjectFakeSys  []string           `yaml:"inject_fake_sys"`
	InjectHidden   []string           `yaml:"inject_hidden"`
	FakePositive   []string           `yaml:"fake_positive"`
	FakeNegative   []string           `yaml:"fake_negative"`
	Sarcastic      map[string]twisted `yaml:"sarcastic"`
	Heterogeneity  []string           `yaml:"heterogeneity"`
	Defence        string             `yaml:"defence"`
}

// twisted is a fact with texts in an inverted tone.
type twisted struct {
	Paths []string    `yaml:"paths"`
	Cases []twistedTo `yaml:"cases"`
}

type twistedTo struct {
	Values   []string `yaml:"values"`
	Stars    float64  `yaml:"stars"`
	Variants []string `yaml:"variants"`
}

// templates parses the embedded file once.
var templates = sync.OnceValue(func() (t templateTexts) {
	if err := yaml.UnmarshalWithOptions(templateFile, &t, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("attack: templates.yaml: %v", err))
	}
	return t
})

// Defence is the preamble that tells a method how to treat reviews. It can be
// put before the system prompt of every method.
func Defence() string { return templates().Defence }
