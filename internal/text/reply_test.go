package text

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func TestOddAnswers(t *testing.T) {
	a, err := txtar.ParseFile("testdata/answers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		want, _, _ := strings.Cut(f.Name, "/")
		r, err := ReadObjectWith(string(f.Data), "places")
		got := "plain"
		var v struct {
			Places []int  `json:"places"`
			Why    string `json:"why"`
		}
		switch {
		case err != nil:
			got = "none"
		case json.Unmarshal(r.JSON, &v) != nil || v.Places == nil:
			got = "other"
		case r.Cut:
			got = "cut"
		case r.Repaired:
			got = "repaired"
		case r.Wrapped:
			got = "wrapped"
		}
		if got != want {
			t.Errorf("%s: %s %s, %v", f.Name, got, r.JSON, err)
		}
		if said, _ := json.Marshal(v); v.Places != nil && string(said) != `{"places":[3,1,7],"why":"2 fails"}` {
			t.Errorf("%s: %s", f.Name, said)
		}
	}
}

func TestBare(t *testing.T) {
	for _, c := range []struct {
		in, text, outside string
		marked, lenient   bool
	}{
		{in: " 42\n", text: "42"},
		{in: "<think>41?</think>\n42", text: "42"},
		{in: "41?</think>\n42", text: "42"},
		{in: "<thinking>41?</thinking>\n42", text: "42"},
		{in: "<think></think> <thought>41?</thought> 42", text: "42"},
		{in: "[THINK]41?[/THINK]42", text: "42"},
		{in: "◁think▷41?◁/think▷42", text: "42"},
		{in: "<|channel|>analysis<|message|>41?<|end|><|start|>assistant<|channel|>final<|message|>42", text: "42"},
		{in: "<|channel|>final <|constrain|>json<|message|>42<|return|>", text: "42", lenient: true},
		{in: "analysisMaybe 41?assistantfinal42", text: "42"},
		{in: "<thinking>41? 42", text: "<thinking>41? 42"},
		{in: "42 <reasoning>as 6 times 7</reasoning>", text: "42 <reasoning>as 6 times 7</reasoning>"},
		{in: "B\n<thought>because</thought>\nI am 90% sure.", text: "B\n<thought>because</thought>\nI am 90% sure."},
		{in: "42</s>", text: "42", lenient: true},
		{in: "42<|im_end|>\n<|endoftext|>", text: "42", lenient: true},
		{in: "42\n\n---\n\nI hope this helps! 😊", text: "42", lenient: true},
		{in: "42\n\nLet me know if you have any questions.\nHave a great day!", text: "42", lenient: true},
		{in: "It follows: <answer> 42 </answer>", text: "42", outside: "It follows: ", marked: true, lenient: true},
		{in: "42</answer>", text: "42", lenient: true},
		{in: `Hence $\boxed{42}$.`, text: "42", outside: "Hence", marked: true, lenient: true},
		{in: `\[ \boxed{\text{Bad Gateway}} \]`, text: "Bad Gateway", marked: true, lenient: true},
		{in: `<answer>so \boxed{5\,\%}</answer></s>`, text: "5 %", outside: "\nso", marked: true, lenient: true},
		// What may belong to the answer stays.
		{in: "Thank you.", text: "Thank you."},
		{in: "---", text: "---"},
		{in: "42\nLet me know if 43 is better.", text: "42\nLet me know if 43 is better."},
		{in: "42\nI hope this helps, though it may be wrong.", text: "42\nI hope this helps, though it may be wrong."},
		{in: "42\nOn reflection, it is less.", text: "42\nOn reflection, it is less."},
		{in: `\boxed{3}, \boxed{1}`, text: `\boxed{3}, \boxed{1}`},
		{in: `\boxed{3} and more`, text: `\boxed{3} and more`},
		{in: `\boxed{3`, text: `\boxed{3`},
		{in: "<answer>3</answer> or 4", text: "<answer>3</answer> or 4"},
	} {
		if r := Bare(c.in); r != (Reply{c.text, c.marked, c.outside, c.lenient}) {
			t.Errorf("%q: %+v", c.in, r)
		}
	}
	if r := Ended("Dear Ada,\nthank you.\nThank you!</s>"); r.Text != "Dear Ada,\nthank you.\nThank you!" {
		t.Errorf("a letter: %+v", r)
	}
}

// A long answer takes no more than linear time.
func TestBareLong(t *testing.T) {
	if r := Bare("42" + strings.Repeat("\n---</s>\nThank you.", 200_000)); r.Text != "42" {
		t.Errorf("%.40q", r.Text)
	}
}

func TestCodeOf(t *testing.T) {
	for in, want := range map[string]string{
		"```sql\nSELECT 1\n```":                               "SELECT 1",
		"First:\n```\nSELECT 1;\n```\nDone.":                  "SELECT 1;",
		"```sql\nSELECT 1\n```\nagain\n```sql\nSELECT 1\n```": "SELECT 1",
		"```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```":    "",
		"```python\nprint(1)\n```":                            "",
		"SELECT 1":                                            "",
	} {
		if got, ok := CodeOf(in, "sql"); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", in, got, ok)
		}
	}
}

func FuzzBare(f *testing.F) {
	data, err := os.ReadFile("testdata/answers.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, one := range txtar.Parse(data).Files {
		f.Add(string(one.Data))
	}
	for _, s := range []string{`\boxed{`, `\boxed{}`, `}\boxed{\`, "<answer>", "</answer>", "<answer></answer>", "---\n---", "</s></s>", `$\boxed{1}$</answer>`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		r := Bare(answer)
		if len(r.Text) > len(answer) || r.Marked && !r.Lenient || !r.Lenient && !strings.Contains(answer, r.Text) {
			t.Errorf("%q: %+v", answer, r)
		}
	})
}
