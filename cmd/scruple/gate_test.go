package main

import "testing"

// Rules may have names in quotation marks of three kinds.
func TestNamesInRules(t *testing.T) {
	for _, rule := range []string{`low('ours', 'f1') > 0.9`, `low("ours", "f1") > 0.9`, "low(`ours`, `f1`) > 0.9"} {
		if !quotes(rule, "ours") || quotes(rule, "our") {
			t.Errorf("%s: the arm is not found, or another one is", rule)
		}
	}
}
