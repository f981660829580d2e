package study

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverrides(t *testing.T) {
	tests := []struct {
		overrides []string
		want      func(*contracts)
	}{
		{[]string{"execution.concurrency=8"}, func(c *contracts) { c.Execution.Concurrency = 8 }},
		{[]string{"kernels[0].enabled=false"}, func(c *contracts) { no := false; c.Kernels[0].Enabled = &no }},
		{[]string{"models[fake].name=x"}, func(c *contracts) { c.Models[0].Name = "x" }},
		{[]string{"kernels[ctn].models=[a, b]"}, func(c *contracts) { c.Kernels[0].Models = []string{"a", "b"} }},
		{[]string{"kernels[ctn].models[0]=b"}, func(c *contracts) { c.Kernels[0].Models = []string{"b"} }},
		{[]string{"kernels[ctn].models[1]=b"}, func(c *contracts) { c.Kernels[0].Models = []string{"fake", "b"} }},
		{[]string{"models[0].limits.concurrency=3"}, func(c *contracts) { c.Models[0].Limits.Concurrency = 3 }},
		{[]string{"models[0].price={input: 1, output: 2.5}"}, func(c *contracts) { c.Models[0].Price = &Price{Input: 1, Output: 2.5} }},
		{[]string{"models[1].id=two", "models[1].provider=p", "judge_model=two"}, func(c *contracts) {
			c.Models = append(c.Models, Model{ID: "two", Provider: "p"})
			c.JudgeModel = "two"
		}},
		{[]string{"metrics.composite_weights[value]=0.2", "metrics.composite_weights.page=0.2"}, func(c *contracts) {
			c.Metrics.CompositeWeights["value"], c.Metrics.CompositeWeights["page"] = 0.2, 0.2
		}},
		{[]string{"execution.retries=[]"}, func(c *contracts) { c.Execution.Retries = []Duration{} }},
		{[]string{"description=a = b"}, func(c *contracts) { c.Description = "a = b" }},
		{[]string{`version="1.10"`}, func(c *contracts) { c.Version = "1.10" }},
		{[]string{"name=a", "name=b"}, func(c *contracts) { c.Name = "b" }},
		{[]string{"models[1]={id: two, provider: p}", "models[*].temperature=0.5", "models[two].temperature=0.7"}, func(c *contracts) {
			half, more := 0.5, 0.7
			c.Models[0].Temperature = &half
			c.Models = append(c.Models, Model{ID: "two", Provider: "p", Temperature: &more})
		}},
		{[]string{"kernels[*].models=[a]", "kernels[*].models[*]=b"}, func(c *contracts) {
			for i := range c.Kernels {
				c.Kernels[i].Models = []string{"b"}
			}
		}},
		// An empty value removes the key, so that the default holds.
		{[]string{"execution.seed=7", "execution.seed="}, func(c *contracts) { c.Execution.Seed = 42 }},
		{[]string{"models[0].temperature=null"}, func(c *contracts) { c.Models[0].Temperature = nil }},
		{[]string{"output.save_raw="}, func(c *contracts) {}},
		{[]string{"models[0].price.input="}, func(c *contracts) {}},
	}
	for _, tt := range tests {
		want, _, err := loadText(contractsYAML)
		if err != nil {
			t.Fatal(err)
		}
		tt.want(want)
		got, _, err := loadText(contractsYAML, tt.overrides...)
		if err != nil {
			t.Errorf("%q: %v", tt.overrides, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.overrides, diff)
		}
	}
}

// An override changes the one place it names, also where the file has one
// section in two places.
func TestOverrideOfAnAlias(t *testing.T) {
	c, _, err := loadText(minimal("models:\n  - &m {id: a, provider: p, limits: {concurrency: 1}}\n  - {<<: *m, id: b}\n"), "models[b].limits.concurrency=5")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := c.Models[0].Limits.Concurrency, c.Models[1].Limits.Concurrency; a != 1 || b != 5 {
		t.Errorf("limits are %d and %d, want 1 and 5", a, b)
	}
}

func TestOverrideMistakes(t *testing.T) {
	tests := []struct{ override, want string }{
		{"execution.concurency=8", `-o execution.concurency=8: unknown key "concurency" in execution: did you mean "concurrency"?`},
		{"executon.concurrency=8", `-o executon.concurrency=8: unknown key "executon" in study: did you mean "execution"?`},
		{"execution.concurrency=many", `-o execution.concurrency=many: execution.concurrency: want a whole number, got "many"`},
		{"execution.concurrency=0", `-o execution.concurrency=0: execution.concurrency: want at least 1, got 0`},
		{"execution.concurrency", `-o execution.concurrency: want KEY=VALUE, such as execution.concurrency=8`},
		{"", `-o "": want KEY=VALUE, such as execution.concurrency=8`},
		{"na\nme=8", `-o na\nme=8: path "na\nme": want text on one line`},
		{"na\xffme=8", `-o na\xffme=8: path "na\xffme": want text on one line`},
		{"=8", `-o =8: empty path`},
		{"a..b=8", `-o a..b=8: path "a..b": empty key`},
		{".a=8", `-o .a=8: path ".a": want a dot or [ before ".a"`},
		{"models[0=8", `-o models[0=8: path "models[0": missing ]`},
		{"models[0]name=8", `-o models[0]name=8: path "models[0]name": want a dot or [ before "name"`},
		{"models.name=x", `-o models.name=x: models is a list: give the index of an element, as in models[0].name`},
		{"models[2].name=x", `-o models[2].name=x: models has no element [2]: indices start at 0, and the next new one is [1]`},
		{"kernels[ctm].path=x", `-o kernels[ctm].path=x: kernels: no element with the id or name "ctm": did you mean "ctn"?`},
		{"kernels[xyz].path=x", `-o kernels[xyz].path=x: kernels: no element with the id or name "xyz": want one of ctn, h`},
		{"kernels[0]=", `-o kernels[0]=: cannot remove a list element, since the others would be renumbered: set the whole list`},
		{"kernels[*]=", `-o kernels[*]=: cannot remove a list element, since the others would be renumbered: set the whole list`},
		{"models[*].name.first=x", `-o models[*].name.first=x: models[0]: name holds "any-name", which has no keys`},
		{"name.first=x", `-o name.first=x: name holds "contracts", which has no keys`},
		{"name=[a", `-o name=[a: sequence end token ']' not found`},
		{"name=*x", `-o name=*x: undefined alias: no anchor &x before *x: none are defined`},
		{"name=" + strings.Repeat("x", 101), `-o name=` + strings.Repeat("x", 55) + `…: name: want at most 100 characters, got 101`},
		{"name=[a,\nb]", `-o name=[a,\nb]: name: want text, got a list`},
		{"models[0].api_key_env=0123abcd", `-o models[0].api_key_env=…: models[0].api_key_env: want the name of an environment variable such as OPENAI_API_KEY, got another value (not shown, since it could be a key)`},
		{"models[0].name=sk-ant-api03-0123abcd", `-o models[0].name=…: ` + secretFound},
		{"models[0].base_url=https://me:secret@h/v1", `-o models[0].base_url=https://…@h/v1: models[0].base_url: want a URL such as http://127.0.0.1:8080/v1 without a password, got "https://…@h/v1"`},
		{strings.Repeat("a[0].", 40) + "b=1", `-o ` + strings.Repeat("a[0].", 12) + `…: path with more than 64 levels`},
	}
	for _, tt := range tests {
		_, _, err := loadText(contractsYAML, tt.override)
		wantError(t, tt.override, err, tt.want)
	}
	_, _, err := loadText(contractsYAML, "executon.seed=1", "models[9].id=x", "kernels[h=1")
	wantError(t, "several", err, "-o models[9].id=x: models has no element [9]: indices start at 0, and the next new one is [1]\n-o kernels[h=1: path \"kernels[h\": missing ]")
}

// Two elements of one name cannot be told apart by it.
func TestOverrideOfAmbiguousName(t *testing.T) {
	_, _, err := loadText(minimal("kernels: [{name: a}, {name: b}, {name: a}]"), "kernels[a].path=x")
	wantError(t, "two kernels a", err, `-o kernels[a].path=x: kernels: "a" is ambiguous: use the index, [0] or [2]`)
}
