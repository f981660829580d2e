package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMinimal(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"already minimal", "one two", "one two"},
		{"white space only", " \t\n\u00a0\u3000", ""},
		{"runs of white space", "  one \t\n two\r\n\vthree\f", "one two three"},
		{"information separators, as Python's split", "a\x1cb\x1dc\x1ed\x1fe", "a b c d e"},
		{"spaces that are not ASCII", "a\u00a0b\u2003c\u2028d\u0085e", "a b c d e"},
		{"zero width is no space", "a\u200bb", "a\u200bb"},
		{"case is kept", "AcMe", "AcMe"},
		{"ligature", "ﬁnal oﬃce", "final office"},
		{"full width", "ＡＢＣ　１２３", "ABC 123"},
		{"composition", "cafe\u0301", "café"},
		{"fraction", "1½", "11⁄2"},
		{"ellipsis", "wait…", "wait..."},
		{"acute accent alone brings a space", "a´b", "a \u0301b"},
		{"not UTF-8", "a\xff b", "a\xff b"},
		{"a fraction after what is not UTF-8", "\xff\x81\xf2½", "\xff\x81\xf21⁄2"},
	}
	for _, tt := range tests {
		if got := Minimal(tt.in); got != tt.want {
			t.Errorf("%s: Minimal(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestFold(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"case", "ACME Corp", "acme corp"},
		{"full folding", "Straße", "strasse"},
		{"final sigma", "ΟΔΟΣ", "οδοσ"},
		{"full stop at the end", "Acme Inc.", "acme inc"},
		{"quotation marks", "“Acme, Inc.”", "acme, inc"},
		{"single and double", `'"Acme"',`, "acme"},
		{"brackets round the whole", "(Acme)", "acme"},
		{"brackets in brackets", "[ (Acme) ].", "acme"},
		{"brackets round a part", "Acme (USA)", "acme (usa)"},
		{"two pairs are not round the whole", "(a) and (b)", "(a) and (b)"},
		{"half a pair", "(a", "(a"},
		{"inner punctuation", "O'Neil, J.", "o'neil, j"},
		{"blood group keeps its sign", "A-", "a-"},
		{"language keeps its sign", "C#", "c#"},
		{"percent", "12 %", "12 %"},
		{"only punctuation", "...", "..."},
		{"only brackets", "()", "()"},
	}
	for _, tt := range tests {
		if got := Fold(tt.in); got != tt.want {
			t.Errorf("%s: Fold(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestFoldTakesLinearTime(t *testing.T) {
	s := strings.Repeat("(", 1<<20) + strings.Repeat(")", 1<<20)
	if Fold(s) != s {
		t.Error("a text of nothing but brackets has changed")
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, " \n": 0, "one": 1, " one  two\u00a0three\x1cfour ": 4, "a-b, c": 2, "— x": 2,
		"合計は5円です。": 4, "東京都 港区": 3, "ไทย": 2, "삼성전자는 좋다": 2,
	} {
		if got := Words(in); got != want {
			t.Errorf("Words(%q) = %d, want %d", in, got, want)
		}
	}
}

// anyText draws strings rich in what normalisation changes.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune(" \t\n\u00a0\x1caAbZß.,'\"()[]{}-−ﬁ½´e\u0301\u0308\u0345ΣςİıǅＡ１①가각ᄀ\u1161\u11a8\u200d\u034f一、"))),
	)
}

func TestNormalFormsAreIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkIdempotent(t, anyText().Draw(t, "s")) })
}

func checkIdempotent(t interface{ Errorf(string, ...any) }, s string) {
	if once := Minimal(s); Minimal(once) != once {
		t.Errorf("Minimal(%q) = %q, and again %q", s, once, Minimal(once))
	}
	if once := Fold(s); Fold(once) != once {
		t.Errorf("Fold(%q) = %q, and again %q", s, once, Fold(once))
	}
}

func FuzzFold(f *testing.F) {
	f.Add("“Straße (A)”. İ\u0345")
	f.Fuzz(func(t *testing.T, s string) { checkIdempotent(t, s) })
}
