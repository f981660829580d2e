package report

import (
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// nasty are texts with a meaning for browsers, Markdown or terminals.
func nasty() []string {
	return []string{
		"<script>alert(1)</script>", "</title>", "</style>", "</textarea><b>", "<!--", "-->", "<![CDATA[", "\"'><i onclick=x>",
		"javascript:alert(1)", "&lt;", "&#0;", "{{.}}", "expression(x)", "url(https://evil.example/)", "@import 'https://evil.example'",
		"|", "\\|", "\\", "`", "```", "~~~", "*", "**", "_", "__", "[x](https://evil.example)", "![x](https://evil.example/x.png)",
		"# ", "- ", "1. ", "> ", "---", "| --- |", "\n", "\n\n", "\r\n", "\t", "$x$", "www.evil.example", "<https://evil.example>",
		"\x00", "\x07", "\x08", "\x1b", "\x1b[2J", "\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;https://evil.example\x1b\\", "\x1bP", "\x1b_",
		"\u009b2J", "\u009d0;x\u009c", "\u0085", "\u2028", "\u202e", "\u202c", "\u2066", "\u200b", "\ufeff", "\u00ad", "\xff\xfe",
		"שלום", "مرحبا", "日本語", "🙂", "👩‍👩‍👧", "é", "e\u0301", "\u00a0", "…", "−", "a very long name that has spaces in it and goes on",
		"a_very_long_name_without_a_single_space_that_goes_on_and_on_and_on_and_on",
	}
}

// mutated is the study with all free text replaced, each by a unique text. It
// keeps words that determine the structure of a report.
func mutated(t testing.TB, replace func(n int) string) Report {
	r := load(t, "study")
	for i := range r.Analysis.Samples {
		for j := range r.Analysis.Samples[i].Show.Pages {
			r.Analysis.Samples[i].Show.Pages[j].Marks = nil // their offsets would be wrong
		}
	}
	known := map[string]string{}
	for _, word := range []string{
		"", "primary", "secondary", "other", "require", "outcome", "best", "worst", "bonferroni", "repaired", "truncated",
	} {
		known[word] = word
	}
	swap := func(s string) string {
		if _, ok := known[s]; !ok {
			known[s] = replace(len(known))
		}
		return known[s]
	}
	swapStrings(reflect.ValueOf(r.Analysis), swap)
	swapStrings(reflect.ValueOf(r.Verdict), swap)
	return r
}

func hostile(t *rapid.T, tb testing.TB) Report {
	pieces := rapid.SliceOfN(rapid.SampledFrom(nasty()), 2, 12).Draw(t, "pieces")
	return mutated(tb, func(n int) string {
		return pieces[n%len(pieces)] + "x" + strconv.Itoa(n) + pieces[7*n%len(pieces)]
	})
}

func benign(tb testing.TB) Report {
	return mutated(tb, func(n int) string { return "x" + strconv.Itoa(n) })
}

// swapStrings replaces the plain strings in a value; named string types are closed
// sets.
func swapStrings(v reflect.Value, swap func(string) string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			swapStrings(v.Elem(), swap)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			swapStrings(v.Field(i), swap)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			swapStrings(v.Index(i), swap)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(swap(v.String()))
		}
	}
}

// The mutation must change all texts.
func TestMutationReachesTheData(t *testing.T) {
	r := benign(t)
	a, want := r.Analysis, load(t, "study").Analysis
	if a.Study.Name == want.Study.Name || a.Arms[0].ID == want.Arms[0].ID || a.Samples[0].Show.Raw == want.Samples[0].Show.Raw ||
		r.Verdict.Conditions[0].That == load(t, "study").Verdict.Conditions[0].That {
		t.Error("a text was left as it was")
	}
	if e, ok := a.Estimate(a.Arms[0].ID, a.Metrics[0].Name); !ok || e.Value != want.Estimates[0].Value {
		t.Error("arms and metrics no longer belong to their estimates")
	}
}
