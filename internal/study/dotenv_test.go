package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDotEnv(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	text := "\ufeff# keys\r\n" + `
PLAIN=value
SPACED =  some words   # a comment
HASH=a#b
EMPTY=
COMMENTED= # nothing
SINGLE='it is $HOME "quoted" \n # kept'
DOUBLE="line\nbreak \"quoted\" \\ \$HOME # kept" # a comment
export EXPORTED=yes
exported=lower
EQUALS=a=b=c==
GIVEN=from file
LAST=end`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"GIVEN": "from environment", "OTHER": "o"}
	getenv, err := DotEnv(path, func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"PLAIN": "value", "SPACED": "some words", "HASH": "a#b", "EMPTY": "", "COMMENTED": "",
		"SINGLE": `it is $HOME "quoted" \n # kept`, "DOUBLE": "line\nbreak \"quoted\" \\ $HOME # kept",
		"EXPORTED": "yes", "exported": "lower", "EQUALS": "a=b=c==", "LAST": "end",
		"GIVEN": "from environment", "OTHER": "o", "UNSET": "",
	} {
		if got := getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestDotEnvMistakes(t *testing.T) {
	const unshown = "want NAME=value (the line is not shown, since it could hold a key)"
	tests := map[string]string{
		"A=1\nhunter2\n":             ".env:2:1: " + unshown,
		"hunter2hunter2==\n1=x":      ".env:2:1: " + unshown,
		"hunter-2=x":                 ".env:1:1: " + unshown,
		"export A B=hunter2":         ".env:1:1: " + unshown,
		"A='hunter2":                 ".env:1:1: missing closing '",
		`A="hunter2`:                 `.env:1:1: missing closing "`,
		`A="hunter2\`:                `.env:1:1: missing closing "`,
		`A="hunter2" hunter2`:        ".env:1:1: unexpected text after the closing quote: only a comment may follow",
		`A="hunter2\x"`:              `.env:1:1: in double quotes only \n, \t, \", \$ and \\ are valid escapes: use single quotes`,
		"A=hunter2\n\nA=hunter2\n=b": ".env:3:1: duplicate variable: first on line 1; remove one\n.env:4:1: " + unshown,
		"A=hunter2\xff":              ".env: the file is not UTF-8: save it as UTF-8",
	}
	t.Chdir(t.TempDir())
	for text, want := range tests {
		if err := os.WriteFile(".env", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := DotEnv(".env", os.Getenv)
		wantError(t, text, err, want)
		if err != nil && strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: the error shows what stands in the file: %v", text, err)
		}
	}
}

func TestDotEnvIsOptional(t *testing.T) {
	getenv, err := DotEnv(filepath.Join(t.TempDir(), ".env"), func(string) string { return "x" })
	if err != nil || getenv("ANY") != "x" {
		t.Errorf("without a file: got %v, want the environment as it is", err)
	}
	if _, err := DotEnv(t.TempDir(), os.Getenv); err == nil {
		t.Error("a folder called .env is read without an error")
	}
}
