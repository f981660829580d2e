package text

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestPages(t *testing.T) {
	tests := []struct {
		name, doc string
		want      []string // "number:text"
	}{
		{"nothing", "", []string{"1:"}},
		{"no marker", "one\ntwo", []string{"1:one\ntwo"}},
		{"two pages", "---PAGE 1---\none\n---PAGE 2---\ntwo\n", []string{"1:one\n", "2:two\n"}},
		{"Windows line ends", "---PAGE 1---\r\none\r\n---PAGE 2---\r\ntwo", []string{"1:one\r\n", "2:two"}},
		{"blanks before and after", "\n \n---PAGE 1--- \t\none", []string{"1:one"}},
		{"another first number, and a gap", "---PAGE 7---\na\n---PAGE 9---\nb", []string{"7:a\n", "9:b"}},
		{"empty pages", "---PAGE 1---\n---PAGE 2---", []string{"1:", "2:"}},
		{"a rule is no marker", "---\n--- PAGE 2 ---\n x---PAGE 2---", []string{"1:---\n--- PAGE 2 ---\n x---PAGE 2---"}},
	}
	for _, tt := range tests {
		pages, err := Pages(tt.doc)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, p := range pages {
			got = append(got, strconv.Itoa(p.Number)+":"+tt.doc[p.Start:p.End])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: pages (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestPagesErrors(t *testing.T) {
	tests := []struct{ doc, want string }{
		{"---PAGE 2---\n---PAGE 1---\n", "line 2: page 1 comes after page 2"},
		{"---PAGE 1---\na\n---PAGE 1---\n", "line 3: page 1 comes after page 1"},
		{"---PAGE---\n", `line 1: "---PAGE---": a page marker must be on its own line`},
		{"---PAGE one---\n", `line 1: "---PAGE one---": page "one" is not a whole number`},
		{"---PAGE 0---", `page "0" is not`},
		{"---PAGE -1---", `page "-1" is not`},
		{"---PAGE +1---", `page "+1" is not`},
		{"---PAGE 01---", `page "01" is not`},
		{"---PAGE 99999999999999999999---", "is not a whole number"},
		{"---PAGE 1--- and text\n", "line 1"},
		{"---PAGES---\n", "line 1"},
		{"title\n---PAGE 1---\n", "line 2: text before the first page marker"},
		{"---PAGE " + strings.Repeat("é", 1000), "…"},
	}
	for _, tt := range tests {
		_, err := Pages(tt.doc)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Pages(%q) gave %v, want an error with %q", clip(tt.doc), err, tt.want)
		}
		if _, indexErr := NewIndex(tt.doc); indexErr == nil {
			t.Errorf("NewIndex(%q) gave no error", clip(tt.doc))
		}
	}
}

func TestFind(t *testing.T) {
	const doc = "---PAGE 1---\nThe  total\u00a0is\n$4.11. A ﬁne cafe\u0301, half\n---PAGE 2---\n  of it.\n\nTotal: $4.11 ½\n---PAGE 5---\nend"
	tests := []struct {
		quote string
		want  []string // "page:bytes of the document"
	}{
		{"", nil},
		{" \n", nil},
		{"The total is $4.11.", []string{"1:The  total\u00a0is\n$4.11."}},
		{"the total is", nil}, // case counts
		{" total\tis ", []string{"1:total\u00a0is"}},
		{"$4.11", []string{"1:$4.11", "2:$4.11"}},
		{"A fine café,", []string{"1:A ﬁne cafe\u0301,"}},
		{"A ﬁne", []string{"1:A ﬁne"}},
		{"ne caf", []string{"1:ne caf"}},
		{"cafe", nil},                                               // its é is another letter
		{"ine", []string{"1:ﬁne"}},                                  // the whole ligature
		{"A f", []string{"1:A ﬁ"}},                                  // the same at the end
		{"1⁄2", []string{"2:½"}},                                    // NFKC of ½
		{"half of it.", []string{"1:half\n---PAGE 2---\n  of it."}}, // over the page break
		{"of it. Total", []string{"2:of it.\n\nTotal"}},
		{"½ end", []string{"2:½\n---PAGE 5---\nend"}},
		{"end", []string{"5:end"}},
		{"half\n---PAGE 2---\n  of", []string{"1:half\n---PAGE 2---\n  of"}}, // copied with the marker line
		{"---PAGE 2---", nil},
		{"half ---PAGE 2--- of", nil},
		{"PAGE", nil},
		{"is fabricated", nil},
	}
	x, err := NewIndex(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		var got []string
		for _, o := range x.Find(tt.quote) {
			got = append(got, strconv.Itoa(o.Page)+":"+doc[o.Start:o.End])
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Find(%q) = %q, want %q", tt.quote, got, tt.want)
		}
		if x.Has(tt.quote) != (tt.want != nil) {
			t.Errorf("Has(%q) = %v", tt.quote, x.Has(tt.quote))
		}
	}
}

func TestFindDoesNotOverlap(t *testing.T) {
	x, _ := NewIndex("aaaaa")
	if got := len(x.Find("aa")); got != 2 {
		t.Errorf("aa stands %d times in aaaaa, want 2 that do not overlap", got)
	}
}

func TestPageAt(t *testing.T) {
	const doc = "\n---PAGE 3---\na\n---PAGE 4---\nb"
	x, err := NewIndex(doc)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]int{0: 3, 14: 3, 15: 3, 20: 3, 29: 4, len(doc): 4} {
		if got := x.PageAt(at); got != want {
			t.Errorf("PageAt(%d) = %d, want %d", at, got, want)
		}
	}
}

// withoutMarkers is the text of a range of the document that may hold page
// marker lines.
func withoutMarkers(x *Index, doc string, start, end int) string {
	var b strings.Builder
	for _, p := range x.Pages() {
		if from, to := max(start, p.Start), min(end, p.End); from < to {
			b.WriteString(doc[from:to])
		}
	}
	return b.String()
}

// checkFind is what holds for every document and quote.
func checkFind(t interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}, doc, quote string) {
	t.Helper()
	x, err := NewIndex(doc)
	if err != nil {
		return
	}
	all := withoutMarkers(x, doc, 0, len(doc))
	if want := Minimal(all); x.text != want {
		t.Errorf("text of %q is %q, want %q", doc, x.text, want)
	}
	q := MinimalQuote(quote)
	found := x.Find(quote)
	if want := q != "" && strings.Contains(x.text, q); (len(found) > 0) != want || x.Has(quote) != want {
		t.Errorf("Find(%q) in %q found %d, Has is %v, want %v", quote, doc, len(found), x.Has(quote), want)
	}
	start, end := 0, 0
	for _, o := range found {
		if o.Start < 0 || o.Start >= o.End || o.End > len(doc) {
			t.Fatalf("Find(%q) in %q: %v is not a range of it", quote, doc, o)
		}
		// Two can share a character that is several in normal form.
		if o.Start < start || o.Start < end && !touchesExpansion(doc[o.Start:o.End]) {
			t.Errorf("Find(%q) in %q: %v overlaps the one before", quote, doc, o)
		}
		start, end = o.Start, o.End
		if o.Page != x.PageAt(o.Start) {
			t.Errorf("Find(%q) in %q: %v is on page %d", quote, doc, o, x.PageAt(o.Start))
		}
		got := Minimal(withoutMarkers(x, doc, o.Start, o.End))
		if got != q && !(touchesExpansion(doc[o.Start:o.End]) && strings.Contains(got, q)) {
			t.Errorf("Find(%q) in %q: %v is %q, whose minimal form is %q, want %q", quote, doc, o, doc[o.Start:o.End], got, q)
		}
	}
}

// touchesExpansion reports whether s begins or ends with a character that is
// more than one in normal form, so that a quote may begin inside it.
func touchesExpansion(s string) bool { return !norm.NFKC.IsNormalString(s) }

func TestFindGivesTheQuote(t *testing.T) {
	piece := rapid.OneOf(anyText(), rapid.SampledFrom([]string{"Total", "\n", "\n---PAGE 2---\n", "ab", " "}))
	rapid.Check(t, func(t *rapid.T) {
		doc := strings.Join(rapid.SliceOfN(piece, 0, 10).Draw(t, "doc"), "")
		runes := []rune(doc)
		i := rapid.IntRange(0, len(runes)).Draw(t, "from")
		j := rapid.IntRange(i, len(runes)).Draw(t, "to")
		checkFind(t, doc, string(runes[i:j]))
		checkFind(t, doc, anyText().Draw(t, "quote"))
	})
}

func FuzzFind(f *testing.F) {
	f.Add("---PAGE 1---\nThe  ﬁrst cafe\u0301\n---PAGE 2---\n´ second ½", "first café")
	f.Add("a\u0300\u0316\u00b4b\xff\u1161", "b\xff")
	f.Add("\xff\x81 caf \u00b4\xf2½\xc2", "½")
	f.Fuzz(func(t *testing.T, doc, quote string) { checkFind(t, doc, quote) })
}

func FuzzPages(f *testing.F) {
	f.Add("---PAGE 1---\none\n---PAGE 3---\r\ntwo")
	f.Add("---PAGE x---")
	f.Fuzz(func(t *testing.T, doc string) {
		pages, err := Pages(doc)
		if err != nil {
			return
		}
		if len(pages) == 0 || pages[len(pages)-1].End != len(doc) {
			t.Fatalf("Pages(%q) = %v", doc, pages)
		}
		number, end := 0, 0
		for _, p := range pages {
			if p.Number <= number || p.Start < end || p.End < p.Start {
				t.Errorf("Pages(%q) = %v", doc, pages)
			}
			number, end = p.Number, p.End
			if strings.HasPrefix(doc[p.Start:p.End], markerPrefix) || strings.Contains(doc[p.Start:p.End], "\n"+markerPrefix) {
				t.Errorf("Pages(%q): there is a marker in page %d", doc, p.Number)
			}
		}
	})
}

// contract is ASCII text of about the length of a contract: 60 KB, ten pages.
func contract() string {
	var b strings.Builder
	for page := range 10 {
		b.WriteString("---PAGE " + strconv.Itoa(page+1) + "---\n")
		for range 60 {
			b.WriteString("  This Agreement shall be governed by the laws of the State of New York,\n  without regard to conflicts.\n")
		}
	}
	b.WriteString("Total  due: $4.11")
	return b.String()
}

func BenchmarkNewIndex(b *testing.B) {
	doc := contract()
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewIndex(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewIndexNotASCII(b *testing.B) {
	doc := strings.ReplaceAll(contract(), "Agreement", "“Übereinkunft”")
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewIndex(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	x, err := NewIndex(contract())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(x.Find("Total due: $4.11")) != 1 {
			b.Fatal("not found")
		}
	}
}

// A quote begins on a page if any of its places does, also one that overlaps another.
func TestBeginsOn(t *testing.T) {
	const doc = "---PAGE 1---\nab ab\n---PAGE 2---\nab ab\n---PAGE 4---\nﬁn"
	for _, test := range []struct {
		quote string
		pages []int
	}{
		{"ab", []int{1, 2}},
		{"ab ab ab", []int{1}},
		{"ab\n---PAGE 2---\nab", []int{1, 2}}, // white space joins pages: also twice within page 2
		{"ab fin", []int{2}},
		{"fin", []int{4}},
		{"in", []int{4}},
		{"", nil}, {" ", nil}, {"x", nil},
	} {
		x, err := NewIndex(doc)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for page := range 6 {
			if x.BeginsOn(test.quote, page) {
				got = append(got, page)
			}
		}
		if !slices.Equal(got, test.pages) {
			t.Errorf("%q begins on %v, want %v", test.quote, got, test.pages)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.SliceOfN(rapid.StringMatching(`[ab\n\x{301}ﬁ]{0,6}`), 1, 4).Draw(t, "pages")
		var doc strings.Builder
		for i, p := range pages {
			doc.WriteString("---PAGE " + strconv.Itoa(i+1) + "---\n" + p + "\n")
		}
		x, err := NewIndex(doc.String())
		if err != nil {
			t.Fatal(err)
		}
		quote := rapid.StringMatching(`[ab ]{0,4}`).Draw(t, "quote")
		q := Minimal(quote)
		for page := 1; page <= len(pages); page++ {
			want := false
			for at := range len(x.text) {
				want = want || q != "" && strings.HasPrefix(x.text[at:], q) && x.PageAt(x.spanAt(at).offset(at, x.spanAt(at).from)) == page
			}
			if got := x.BeginsOn(quote, page); got != want {
				t.Fatalf("%q begins on page %d: %t, want %t", quote, page, got, want)
			}
		}
	})
}

// An index holds the numbers that its text contains: it only skips the search for those that no
// number of the text can be.
func TestIndexHoldsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"1", "2.5", "1,234.50", "1.234,50", "1 234", "(5)", "(1,234)", "-5", "5-", "$1,234.50", "CHF 1.234", "EUR 3", "3 million", "4%", "0", "-0", "1e3", "12-34", "A7", "2024-01-05", "x", "\n", "½"})
		doc := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "doc"), " ")
		value := piece.Draw(t, "value")
		x, err := NewIndex(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []Type{Number, Integer, Money} {
			want := !isBlank(value) && (strings.Contains(x.text, Minimal(value)) || Contains(of, x.text, value))
			if got := x.Holds(of, value); got != want {
				t.Errorf("%q holds %s %q: %v, want %v", doc, of, value, got, want)
			}
		}
	})
}

// The values of long lists are looked up in a long text, most of them in vain.
func BenchmarkIndexHolds(b *testing.B) {
	var doc strings.Builder
	for i := range 20_000 {
		doc.WriteString("cost " + strconv.Itoa(i*7) + ".25\n")
	}
	x, err := NewIndex(doc.String())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		x.Holds(Number, "123456789")
	}
}
