package say

import (
	"testing"
	"unicode"
)

func TestPlainLine(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"title", "a\x1b]0;owned\x07b", "ab"},
		{"link", "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"eight-bit", "\u009b2Jx", "x"},
		{"an open string hides nothing", "\x1b]0;still here", "]0;still here"},
		{"a lone escape", "a\x1bb", "ab"},
		{"bell, null, backspace", "a\x07\x00\x08b", "ab"},
		{"lines", "a\r\nb\tc\u2028d", "a b c d"},
		{"direction", "\u202eevil\u202c", "evil"},
		{"hidden", "a\u200b\ufeff\u00adb", "ab"},
		{"joined emoji stay", "👩‍👧", "👩‍👧"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
	} {
		if got := PlainLine(tc.in); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// What a page shows hides no character that changes the direction of others, and keeps the
// offsets of Exactly.
func TestVisible(t *testing.T) {
	in := "a\tb\nc\x00\x7f\u0085\u200e\u200f\u061c\u202e\u2066\ufeff\u200dשלום\r"
	if got, want := Visible(in), "a\tb\nc␀␡\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\u200dשלום"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Exactly(in); len([]rune(got)) != len([]rune(in)) {
		t.Errorf("%q has other offsets", got)
	}
}

func FuzzPlainLine(f *testing.F) {
	for _, s := range []string{
		"\x00", "\x07", "\x08", "\x1b", "\x1b[2J", "\x1b[31m", "\x1b]0;title\x07", "\x1b]8;;https://evil.example\x1b\\", "\x1bP", "\x1b_", "\n", "\r\n",
		"\u009b2J", "\u009d0;x\u009c", "\u0085", "\u2028", "\u202e", "\u202c", "\u2066", "\u200b", "\ufeff", "\u00ad", "\xff\xfe", "שלום", "👩‍👩‍👧", "e\u0301",
	} {
		f.Add(s + "x" + s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := PlainLine(s)
		for _, r := range got {
			if unicode.IsControl(r) || Reorders(r) || invisible(r) {
				t.Fatalf("%U is left of %q", r, s)
			}
		}
		if again := PlainLine(got); again != got {
			t.Fatalf("%q becomes %q, and then %q", s, got, again)
		}
	})
}
