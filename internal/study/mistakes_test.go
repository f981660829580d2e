package study

import (
	"fmt"
	"strings"
	"testing"
)

// Every mistake has its text, and the text says what to do.
func TestMistakes(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		// Keys.
		{"a misspelled key", "name: n\nsuite: s\nkernals: []\n",
			`study.yaml:3:1: unknown key "kernals" in study: did you mean "kernels"?`},
		{"a misspelled key of a section", "name: n\nsuite: s\nexecution:\n  concurency: 8\n",
			`study.yaml:4:3: unknown key "concurency" in execution: did you mean "concurrency"?`},
		{"a misspelled key in a list", "name: n\nsuite: s\nkernels:\n  - name: a\n  - nam: b\n",
			`study.yaml:5:5: unknown key "nam" in kernels[1]: did you mean "name"?`},
		{"a misspelled key in a section of a list", "name: n\nsuite: s\nmodels:\n- {id: a, provider: p, limits: {request_per_minute: 3}}\n",
			`study.yaml:4:33: unknown key "request_per_minute" in models[0].limits: did you mean "requests_per_minute"?`},
		{"a misspelled key in a recursive section", minimal("documents: {source: mixed, parts: [{source: mixed, parts: [{sorce: jsonl}]}]}"),
			`study.yaml:3:61: unknown key "sorce" in documents.parts[0].parts[0]: did you mean "source"?`},
		{"a key of another case", minimal("Execution: {}"),
			`study.yaml:3:1: unknown key "Execution" in study: did you mean "execution"?`},
		{"a key like no other", minimal("output: {colour: red}"),
			`study.yaml:3:10: unknown key "colour" in output: want one of embeddings, generate_report, latency, results_dir, save_raw`},
		{"a key one level too high", minimal("concurrency: 8"),
			`study.yaml:3:1: unknown key "concurrency" in study: it belongs in execution`},
		{"a key one level too high that was another one", minimal("replicates: 3"),
			`study.yaml:3:1: unknown key "replicates" in study: it belongs in execution; the key of that name here is now "replication_of"`},
		{"a key one level too high in a list", minimal("models: [{id: a, provider: p, tokens_per_minute: 8}]"),
			`study.yaml:3:31: unknown key "tokens_per_minute" in models[0]: it belongs in models[0].limits`},
		{"a key given twice", "name: n\nsuite: s\nname: m\n",
			`study.yaml:3:1: duplicate key "name": first on line 1`},
		{"a key without a colon", "name: n\nsuite: s\nexecution\n  concurrency: 8\n", `study.yaml:3:1: this is no key with a value: write a colon behind the key`},
		{"a last key without a colon", "name: n\nsuite: s\nexecution\n", `study.yaml:3:1: this is no key with a value: write a colon behind the key`},
		{"a key that is a list", minimal("? [a]\n: b\n"),
			`study.yaml:4:1: found an invalid key for this map`},
		{"missing keys", "models: [{id: a}]\n",
			"study.yaml:1:1: \"name\" is missing\nstudy.yaml:1:1: \"suite\" is missing\nstudy.yaml:1:10: models[0]: \"provider\" is missing"},
		{"half a price", minimal("models: [{id: a, provider: p, price: {input: 3}}]"),
			`study.yaml:3:31: models[0].price: "output" is missing`},

		// Types.
		{"text for a whole number", minimal("execution: {concurrency: many}"),
			`study.yaml:3:13: execution.concurrency: want a whole number, got "many"`},
		{"a fraction for a whole number", minimal("execution: {replicates: 1.5}"),
			`study.yaml:3:13: execution.replicates: want a whole number, got 1.5`},
		{"a number in quotes", minimal("execution: {replicates: '3'}"),
			`study.yaml:3:13: execution.replicates: want a whole number, got "3"`},
		{"a number for text", "name: n\nsuite: s\nversion: 1.10\n",
			`study.yaml:3:1: version: want text, got 1.10: put it in quotes`},
		{"a switch for text", minimal("description: true"),
			`study.yaml:3:1: description: want text, got true: put it in quotes`},
		{"yes for a switch", minimal("output: {save_raw: yes}"),
			`study.yaml:3:10: output.save_raw: want true or false, got "yes"`},
		{"text for a list", minimal("metrics: {primary: composite}"),
			`study.yaml:3:11: metrics.primary: want a list, got "composite": put it in [ ]`},
		{"a list for a section", minimal("execution: [concurrency]"),
			`study.yaml:3:1: execution: want a section with keys, got a list`},
		{"a section for a list", minimal("models: {id: a}"),
			`study.yaml:3:1: models: want a list, got a section`},
		{"an element of the wrong type", minimal("metrics:\n  primary:\n    - a\n    - 3\n"),
			`study.yaml:6:7: metrics.primary[1]: want text, got 3: put it in quotes`},
		{"nothing", minimal("execution:\n"),
			`study.yaml:3:1: execution: missing value: set one or remove the key`},
		{"nothing in a list", minimal("metrics: {primary: [a, ~]}"),
			`study.yaml:3:24: metrics.primary[1]: missing value: set one or remove the key`},
		{"nothing for a duration", minimal("execution: {timeout: }"),
			`study.yaml:3:13: execution.timeout: missing value: set one or remove the key`},
		{"a number too large for 64 bits", minimal("execution: {seed: 99999999999999999999}"),
			`study.yaml:3:13: execution.seed: want a value of type int64, got number 1e+20`},
		{"infinity", minimal("execution: {max_cost: .inf}"),
			`study.yaml:3:23: ".inf" is not a finite number: use one, or quote it if it is text`},
		{"a number no float holds", minimal("execution: {max_cost: 1e999}"),
			`study.yaml:3:23: "1e999" is not a finite number: use one, or quote it if it is text`},
		{"decimal or octal", minimal("execution: {seed: 010}"),
			`study.yaml:3:19: 010 is ambiguous, decimal or octal: remove the leading zeros, or quote it if it is text`},

		// Ranges and words.
		{"no calls at a time", minimal("execution: {concurrency: 0}"),
			`study.yaml:3:13: execution.concurrency: want at least 1, got 0`},
		{"no replicates", minimal("execution: {replicates: -1}"),
			`study.yaml:3:13: execution.replicates: want at least 1, got -1`},
		{"more replicates than memory", minimal("execution: {replicates: 999999999999}"),
			`study.yaml:3:13: execution.replicates: want at most 100000, got 999999999999`},
		{"a negative budget", minimal("execution: {max_cost: -0.01}"),
			`study.yaml:3:13: execution.max_cost: want at least 0, got -0.01`},
		{"more failures than trials", minimal("execution: {max_failed: 5}"),
			`study.yaml:3:13: execution.max_failed: want at most 1, got 5`},
		{"alpha of nothing", minimal("statistics: {alpha: 0}"),
			`study.yaml:3:14: statistics.alpha: want more than 0, got 0`},
		{"alpha of everything", minimal("statistics: {alpha: 1}"),
			`study.yaml:3:14: statistics.alpha: want less than 0.5, got 1`},
		{"a negative wait", minimal("execution: {retries: [10s, -3s]}"),
			`study.yaml:3:28: execution.retries[1]: want a duration such as 30s, 1m30s, or a number of seconds, not negative, got "-3s"`},
		{"a wait without unit", minimal("execution: {timeout: 1 minute}"),
			`study.yaml:3:13: execution.timeout: want a duration such as 30s, 1m30s, or a number of seconds, not negative, got "1 minute"`},
		{"temperature", minimal("models: [{id: a, provider: p, temperature: 2.1}]"),
			`study.yaml:3:31: models[0].temperature: want at most 2, got 2.1`},
		{"a price below zero", minimal("models: [{id: a, provider: p, price: {input: -1, output: 0}}]"),
			`study.yaml:3:39: models[0].price.input: want at least 0, got -1`},
		{"a rate above one", minimal("models: [{id: a, provider: p, skill: {invent: 20}}]"),
			`study.yaml:3:39: models[0].skill.invent: want at most 1, got 20`},
		{"rates that cannot be together", minimal("models: [{id: a, provider: p, skill: {miss: 0.6, wrong: 0.5}}]"),
			`study.yaml:3:31: models[0].skill: miss and wrong sum to 1.1: want at most 1`},
		{"a misspelled correction", minimal("statistics: {correction: bonferoni}"),
			`study.yaml:3:14: statistics.correction: "bonferoni" is not known: did you mean "bonferroni"?`},
		{"an unknown correction", minimal("statistics: {correction: fdr}"),
			`study.yaml:3:14: statistics.correction: "fdr" is not known: want one of bh, bonferroni, by, hochberg, holm, none`},
		{"an unknown method", minimal("statistics: {method: anova}"),
			`study.yaml:3:14: statistics.method: "anova" is not known: want one of auto, mixed_effects, permutation`},
		{"a former method", minimal("statistics: {method: mcnemar}"),
			`study.yaml:3:14: statistics.method: "mcnemar" is not known: want one of auto, mixed_effects, permutation; write ` + "`beside: [mcnemar]`" + ` to have this test shown beside what decides`},
		{"a word of the suite", minimal("documents: {source: json}"),
			`study.yaml:3:13: documents.source: "json" is not known: did you mean "jsonl"?`},

		{"too few elements", minimal("kernels: [{name: a, models: []}]"),
			`study.yaml:3:21: kernels[0].models: the list is too short: want at least 1, got 0`},
		{"too many elements", minimal("kernels: [{name: a, models: [a, b, c, d]}]"),
			`study.yaml:3:21: kernels[0].models: the list is too long: want at most 3, got 4`},
		{"an element given twice", minimal("kernels: [{name: a, models: [a, b, a]}]"),
			`study.yaml:3:21: kernels[0].models: elements [0] and [2] are the same: remove one`},

		// Names, ids, addresses.
		{"an empty name", "name: ''\nsuite: s\n", `study.yaml:1:1: name: empty value`},
		{"a name that is a path", "name: ../../etc\nsuite: s\n",
			`study.yaml:1:1: name: want a name that can be a folder: letters and digits with . _ - or spaces between, got "../../etc"`},
		{"a name no Windows can have", "name: nul.2\nsuite: s\n",
			`study.yaml:1:1: name: "nul.2" is not a valid folder name on every system: choose another name`},
		{"an id with an at sign", minimal("models: [{id: a@b, provider: p}]"),
			`study.yaml:3:11: models[0].id: want an id of letters and digits with . _ or - inside, got "a@b"`},
		{"an id given twice", minimal("models:\n  - {id: a, provider: p}\n  - {id: A, provider: p}\n"),
			`study.yaml:5:6: models[1].id: duplicate id "A", also of models[0]: ids are compared without case`},
		{"a model without provider", minimal("models: [{id: a, provider: ''}]"),
			`study.yaml:3:18: models[0].provider: empty value`},
		{"a judge that is no model", minimal("models: [{id: sonnet, provider: p}]\njudge_model: sonet\n"),
			`study.yaml:4:1: judge_model: no model with the id "sonet": did you mean "sonnet"?`},
		{"a judge without models", minimal("judge_model: sonnet\n"),
			`study.yaml:3:1: judge_model: no model with the id "sonnet": none are defined`},
		{"an address of a file", minimal("models: [{id: a, provider: p, base_url: 'file:///x'}]"),
			`study.yaml:3:31: models[0].base_url: want a URL such as http://127.0.0.1:8080/v1 without a password, got "file:///x"`},
		{"an address without a host", minimal("models: [{id: a, provider: p, base_url: 'http://:80/v1'}]"),
			`study.yaml:3:31: models[0].base_url: "http://:80/v1" has no host: want a URL such as http://127.0.0.1:8080/v1`},
		{"an address with a query", minimal("models: [{id: a, provider: p, base_url: 'http://h/v1?api-version=3'}]"),
			`study.yaml:3:31: models[0].base_url: "http://h/v1" has a query or fragment: remove it, since paths are appended to the URL`},
		{"an address with a space", minimal("models: [{id: a, provider: p, base_url: 'http://h:port/'}]"),
			`study.yaml:3:31: models[0].base_url: "http://h:port/" is not a URL: want one such as http://127.0.0.1:8080/v1`},
		{"an address with a password", minimal("models: [{id: a, provider: p, base_url: 'https://me:secret@h/v1'}]"),
			`study.yaml:3:31: models[0].base_url: want a URL such as http://127.0.0.1:8080/v1 without a password, got "https://…@h/v1"`},
		{"an address whose password begins like a port", minimal("models: [{id: a, provider: p, base_url: 'https://me:12/secret@h/v1'}]"),
			`study.yaml:3:31: models[0].base_url: want a URL such as http://127.0.0.1:8080/v1 without a password, got "https://…@h/v1"`},
		{"a key for its variable", minimal("models: [{id: a, provider: p, api_key_env: 5f2a9c}]"),
			`study.yaml:3:31: models[0].api_key_env: want the name of an environment variable such as OPENAI_API_KEY, got another value (not shown, since it could be a key)`},
		{"a pasted key", minimal("models:\n  - id: a\n    api_key_env: sk-proj-0a1b2c3d4e5f\n"),
			`study.yaml:5:18: ` + secretFound},
		{"a pasted key in a comment", "name: n\n# AIzaSyB0123456789abcdefghijklmnopq\n",
			`study.yaml:2:3: ` + secretFound},

		// Values that depend on others.
		{"an arm against itself", minimal("comparisons: [{a: x, b: y}, {a: x, b: x}]"),
			`study.yaml:3:29: comparisons[1]: a and b are both "x": want two different arms`},
		{"a key that was dropped", minimal("statistics: {cluster_by: document}"),
			`study.yaml:3:14: unknown key "cluster_by" in statistics: want one of alpha, beside, correction, intervals, looks, max_unscored, method, random, resamples`},
		{"counts with a range", minimal("metrics: {own: [{name: errors, counts: true, max: 9}]}"),
			`study.yaml:3:17: metrics.own[0]: metric "errors": counts are from 0 on, without a largest: want one of counts, unbounded, binary, and a range of min and max`},
		{"a negative weight", minimal("metrics: {composite_weights: {value: 1.5, page: -0.5}}"),
			`study.yaml:3:43: metrics.composite_weights.page: want at least 0, got -0.5`},
		{"a condition named twice", minimal("decide: {require: [{name: a, that: x}, {name: a, that: y}]}"),
			`study.yaml:3:41: decide.require[1].name: duplicate name "a", also of require[0]`},
		{"an outcome named twice", minimal("decide: {outcomes: [{name: a, when: x, verdict: pass}, {name: a, verdict: fail}]}"),
			`study.yaml:3:57: decide.outcomes[1].name: duplicate name "a", also of outcomes[0]`},
		{"an outcome that hides the others", minimal("decide:\n  outcomes:\n    - {name: a, verdict: pass}\n    - {name: b, verdict: fail}\n"),
			`study.yaml:5:7: decide.outcomes[0]: "a" has no when: only the last outcome may omit it`},
		{"a verdict of its own", minimal("decide: {outcomes: [{name: a, verdict: passed}]}"),
			`study.yaml:3:31: decide.outcomes[0].verdict: "passed" is not known: did you mean "pass"?`},
		{"a verdict that is missing", minimal("decide: {outcomes: [{name: a}]}"),
			`study.yaml:3:21: decide.outcomes[0]: "verdict" is missing`},
	}
	for _, tt := range tests {
		_, _, err := loadText(tt.yaml)
		wantError(t, tt.name, err, tt.want)
	}
}

// The first step that finds something reports all it finds, top to bottom,
// overrides last.
func TestMistakesInOnePass(t *testing.T) {
	_, _, err := loadText(`name: a study?
sute: s
models:
  - {id: a, providr: p}
  - id: b
    provider: p
    temperature: hot
execution: {concurrency: many, retries: 10s}
kernals: []
`, "statistics.alpa=1", "output.save_raw=maybe")
	wantError(t, "syntax is right, much else is wrong", err, `study.yaml:1:1: name: want a name that can be a folder: letters and digits with . _ - or spaces between, got "a study?"
study.yaml:2:1: unknown key "sute" in study: did you mean "suite"?
study.yaml:4:13: unknown key "providr" in models[0]: did you mean "provider"?
study.yaml:7:5: models[1].temperature: want a number, got "hot"
study.yaml:8:13: execution.concurrency: want a whole number, got "many"
study.yaml:8:32: execution.retries: want a list, got "10s": put it in [ ]
study.yaml:9:1: unknown key "kernals" in study: did you mean "kernels"?
-o statistics.alpa=1: unknown key "alpa" in statistics: did you mean "alpha"?
-o output.save_raw=maybe: output.save_raw: want true or false, got "maybe"`)

	_, _, err = loadText(minimal(`models: [{id: a, provider: p}, {id: a, provider: p}]
judge_model: b
comparisons: [{a: x, b: x}]
`))
	wantError(t, "types are right, meaning is wrong", err, `study.yaml:3:33: models[1].id: duplicate id "a", also of models[0]: ids are compared without case
study.yaml:4:1: judge_model: no model with the id "b": want a
study.yaml:5:15: comparisons[0]: a and b are both "x": want two different arms`)
}

// Hundreds of findings do not scroll the first ones away.
func TestManyMistakes(t *testing.T) {
	var numbers strings.Builder
	for i := range 200 {
		fmt.Fprintf(&numbers, "%d,", i)
	}
	_, _, err := loadText(minimal("metrics: {primary: [" + numbers.String() + "]}"))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != maxListed+1 || lines[maxListed] != "… and 150 more" {
		t.Errorf("got %d lines, the last %q; want %d and a count of 150 more", len(lines), lines[len(lines)-1], maxListed+1)
	}
}
