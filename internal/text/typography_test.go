package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHasTypography(t *testing.T) {
	for _, tt := range []struct {
		doc, quote string
		want       bool
		why        string
	}{
		{"the “Agreement” of", `the "Agreement" of`, true, "curly quotes"},
		{`the "Agreement" of`, "the „Agreement“ of", true, "and the other way"},
		{"the «Accord» of", `the "Accord" of`, true, "those of French"},
		{"the Seller’s right", "the Seller's right", true, "an apostrophe"},
		{"2019–2021", "2019-2021", true, "en dash"},
		{"the term — if any —", "the term - if any -", true, "em dash"},
		{"a loss of −5", "a loss of -5", true, "minus sign"},
		{"a non\u2011profit", "a non-profit", true, "non-breaking hyphen"},
		{"agree\u00adment", "agreement", true, "soft hyphen"},
		{"agree\u200bment", "agreement", true, "zero-width space"},
		{"\ufeffagreement of", "agreement\u2060 of", true, "other characters without width"},
		{"this agree-\nment is", "this agreement is", true, "a divided word"},
		{"this agree-  \r\n  ment is", "this agreement is", true, "with blanks round the break"},
		{"this agree\u00ad\nment is", "this agreement is", true, "divided by a soft hyphen"},
		{"this agree‐\nment is", "this agreement is", true, "by U+2010"},
		{"a well-\nknown rule", "a well-known rule", true, "a hyphen that is a part of the word"},
		{"a well-\nknown rule", "a wellknown rule", true, "which a reader cannot tell"},
		{"from 2019-\n2021", "from 2019-2021", true, "numbers"},
		{"from 2019-\n2021", "from 20192021", false, "are not divided"},
		{"---PAGE 1---\nthis agree-\n---PAGE 2---\nment is", "this agreement is", true, "divided at the end of a page"},
		{"this agreement is", "this agree-\nment is", true, "divided in the quote"},
		{"a-\nb-\nc", "abc", true, "twice"},
		{"pre- and post-war", "preand", false, "a hyphen within a line"},
		{"this agree- ment is", "this agreement is", false, "the same"},
		{"list:\n-\nitem", "list:item", false, "a dash alone"},
		{"wait…", "wait...", false, "NFKC: found strictly"},
		{"ﬁnal", "final", false, "the same"},
		{"wait… “so”", `wait... "so"`, true, "with what NFKC does not change"},
		{"the “Agreement”", `the "agreement"`, false, "case counts"},
		{"the Agreement", "the Agreement", false, "found strictly"},
		{"the Agreement", "", false, "nothing"},
		{"the Agreement", "\u200b\u00ad", false, "nothing that shows"},
		{"the Agreement", "the Contract", false, "fabricated"},
		{"the “café”", `the "cafè"`, false, "another letter"},
		{"日本 – 東京", "日本 - 大阪", false, "others, beside a dash"},
		{"the “price” of 5 €", `the "price" of 5 £`, false, "another sign"},
	} {
		x, err := NewIndex(tt.doc)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.HasTypography(tt.quote); got != tt.want {
			t.Errorf("%q has %q in other typography: %v, want %v (%s)", tt.doc, tt.quote, got, tt.want, tt.why)
		}
	}
}

// typographicText draws texts rich in what the folding changes.
func typographicText() *rapid.Generator[string] {
	return rapid.OneOf(anyText(), rapid.StringOf(rapid.SampledFrom([]rune("ab1ᄀ\u1161e\u0301 \n\r-‐‑–—﹘−\u00ad\u200b\u200d\ufeff‘’“”'\"…ﬁ＂"))))
}

func TestTypographyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, quote := typographicText().Draw(t, "doc"), typographicText().Draw(t, "quote")
		for _, join := range []string{"", "-"} {
			if once := foldTypography(doc, join); foldTypography(once, join) != once {
				t.Errorf("%q folds to %q, and again to %q", doc, once, foldTypography(once, join))
			}
		}
		x, err := NewIndex(doc)
		if err != nil {
			return // a page marker
		}
		if x.Has(quote) && x.HasTypography(quote) {
			t.Errorf("%q has %q both ways", doc, quote)
		}
		// A text stands in itself, however its typography is folded.
		for _, join := range []string{"", "-"} {
			if folded := foldTypography(doc, join); folded != "" && !x.Has(folded) && !x.HasTypography(folded) {
				t.Errorf("%q does not have %q", doc, folded)
			}
		}
	})
}

// Strict use does not build the folded text.
func TestTypographyIsLazy(t *testing.T) {
	doc := strings.Repeat("the “Agreement” of ", 10_000)
	x, err := NewIndex(doc)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(3, func() { x.Has("the “Agreement”") }); n > 20 {
		t.Errorf("a strict search made %v allocations", n)
	}
	x.HasTypography(`the "Agreement"`)
	if n := testing.AllocsPerRun(3, func() { x.HasTypography(`the "Agreement"`) }); n > 100 {
		t.Errorf("the second search made %v allocations", n)
	}
}

func FuzzTypography(f *testing.F) {
	f.Add("the “agree-\nment”", "the \"agreement\"")
	f.Fuzz(func(t *testing.T, doc, quote string) {
		if once := foldTypography(doc, ""); foldTypography(once, "") != once {
			t.Errorf("%q folds to %q, and again to %q", doc, once, foldTypography(once, ""))
		}
		if x, err := NewIndex(doc); err == nil && x.Has(quote) && x.HasTypography(quote) {
			t.Errorf("%q has %q both ways", doc, quote)
		}
	})
}

// FuzzEqual: comparing values is reflexive and symmetric, and a set agrees with it.
func FuzzEqual(f *testing.F) {
	for _, pair := range [][2]string{
		{"$5", "CAD 5.00"}, {"kr 1 234,50", "NOK 1.234,5"}, {"12.0", "12"}, {"EUR 1.200", "1.200"}, {"[ ]", "☐"}, {"はい", "[x]"},
		{"03/04/2024", "3.4.24"}, {"3-4-2024", "[03/04/2024]"}, {"15. März 2024", "2024年3月15日"}, {"令和元年5月1日", "1er mai 2019"}, {"٣", "3"}, {"\xff", ""},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, typ := range []Type{String, Number, Integer, Money, Date, Boolean, Enum, ID} {
			equal := Equal(typ, a, b)
			if !Equal(typ, a, a) || equal != Equal(typ, b, a) {
				t.Errorf("Equal(%s) of %q and %q is not reflexive or not symmetric", typ, a, b)
			}
			if near := Near(typ, a, b); equal && !near {
				t.Errorf("Near(%s, %q, %q) = %v", typ, a, b, near)
			}
			Check(typ, a)
			set := NewSet(typ)
			set.Add(a)
			if set.Has(b) != equal {
				t.Errorf("%s: a set of %q has %q: %v", typ, a, b, !equal)
			}
		}
	})
}
