package text

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitCommand(t *testing.T) {
	tests := []struct {
		command string
		want    []string
	}{
		{"python3 run.py", []string{"python3", "run.py"}},
		{"  python3\t run.py \n", []string{"python3", "run.py"}},
		{`./my\ tool "two words" 'and $three | more'`, []string{"./my tool", "two words", "and $three | more"}},
		{`x --name="my file".txt`, []string{"x", "--name=my file.txt"}},
		{`x "" ''`, []string{"x", "", ""}},
		{`x "say \"hi\"" 'it'\''s'`, []string{"x", `say "hi"`, "it's"}},
		{`C:\tools\run.exe "C:\my data"`, []string{`C:\tools\run.exe`, `C:\my data`}},
		{`x 'a\b' a\\b "a\\b" a\`, []string{"x", `a\b`, `a\b`, `a\b`, `a\`}},
		{`x "(a | b) > $c; ~*"`, []string{"x", "(a | b) > $c; ~*"}},
		{`x a~b #1 {k} [v] ? ! %`, []string{"x", "a~b", "#1", "{k}", "[v]", "?", "!", "%"}},
		{`x дом 書`, []string{"x", "дом", "書"}},
	}
	for _, tt := range tests {
		got, err := SplitCommand(tt.command)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("SplitCommand(%s) = %q, %v, want %q", tt.command, got, err, tt.want)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for command, says := range map[string]string{
		"":                    "no program",
		" \t\n":               "no program",
		`"" x`:                "no program",
		`x "open`:             `missing closing "`,
		`x 'open`:             "missing closing '",
		`x "open\"`:           `missing closing "`,
		"a | b":               `"|" needs a shell`,
		"a && b":              `"&" needs a shell`,
		"a; b":                `";" needs a shell`,
		"a >out":              `">" needs a shell`,
		"a <in":               `"<" needs a shell`,
		"a $HOME/x":           `"$" needs a shell`,
		"a `date`":            "\"`\" needs a shell",
		"a (b)":               `"(" needs a shell`,
		"a data/*.txt":        `"*" needs a shell`,
		"~/bin/a":             `"~" needs a shell`,
		"a\x00b":              "NUL byte",
		"a 'b\x00'":           "NUL byte",
		"a \"b\x00\"":         "NUL byte",
		"a http://x/?a=1&b=2": "quote the character if it is literal",
	} {
		if words, err := SplitCommand(command); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("SplitCommand(%q) = %q, %v, want an error that says %q", command, words, err, says)
		}
	}
}

// TestSplitUndoesQuoting: whatever the words, quoted the way shells want it
// they come back, and the same words quoted in either way are the same.
func TestSplitUndoesQuoting(t *testing.T) {
	single := func(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }
	double := func(w string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"` }
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune(`'"\ $|~`+"\t\n")), rapid.Rune().Filter(func(r rune) bool { return r != 0 })), 0, 20, -1)
		words := append([]string{"program"}, rapid.SliceOfN(word, 0, 5).Draw(t, "words")...)
		for _, quote := range []func(string) string{single, double} {
			var quoted []string
			for _, w := range words {
				quoted = append(quoted, quote(w))
			}
			command := strings.Join(quoted, " ")
			if got, err := SplitCommand(command); err != nil || !slices.Equal(got, words) {
				t.Fatalf("SplitCommand(%s) = %q, %v, want %q", command, got, err, words)
			}
		}
	})
}

func FuzzSplitCommand(f *testing.F) {
	for _, seed := range []string{"python3 run.py --x 'a b'", `a "b\"c" d\ e`, `"`, `'`, `\`, "a|b", `x ""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words, err := SplitCommand(command)
		if err != nil {
			if words != nil {
				t.Errorf("an error came with words %q", words)
			}
			return
		}
		if len(words) == 0 || words[0] == "" {
			t.Errorf("no program in %q", words)
		}
		total := 0
		for _, w := range words {
			total += len(w)
			if strings.IndexByte(w, 0) >= 0 {
				t.Errorf("word %q cannot be passed to a program", w)
			}
		}
		if total > len(command) {
			t.Errorf("the words hold %d bytes, the command %d", total, len(command))
		}
	})
}
