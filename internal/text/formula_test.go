package text

import (
	"testing"

	"pgregory.net/rapid"
)

// The first characters are those of OWASP's "CSV Injection".
func TestEscapeFormula(t *testing.T) {
	for s, want := range map[string]string{
		"=1+1": "'=1+1", "@x": "'@x", "-x": "'-x", "+x": "'+x", "\t=x": "'\t=x", "\r=x": "'\r=x",
		"\n=1": "'\n=1", "＝1": "'＝1", "＋1": "'＋1", "\xff": "\xff",
		"'=1": "''=1", "x=1": "x=1", "'x'": "'x'", "'": "'", "": "",
	} {
		if got := EscapeFormula(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

func TestUnescapeFormulaRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`['=+@\t\r\n＝x -]{0,5}`).Draw(t, "text")
		if got := UnescapeFormula(EscapeFormula(s)); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
