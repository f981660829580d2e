package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// elements and attributes lists all that a report may use.
func allowed() (elements []string, attributes []string) {
	return strings.Fields(`html head meta title link style body a nav p ol li main header h1 h2 h3 h4 span dl div dt dd section
			ul bdi figure table caption thead tbody tfoot tr th td sup small strong svg g line circle path text figcaption
			pre code mark form label select option button output details summary script`),
		strings.Fields(`lang charset http-equiv content name rel href class id aria-label aria-labelledby aria-hidden role dir
			tabindex scope x y x1 x2 y1 y2 cx cy r d viewBox transform focusable title data-label data-head data-arm data-rank hidden open value type`)
}

func parse(t fataler, page string) *html.Node {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return doc
}

// elementsOf lists the elements of a page in order.
func elementsOf(doc *html.Node) []*html.Node {
	var list []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// A page has only allowed elements and attributes and no external references.
func checkPage(t fataler, page string) []*html.Node {
	elements, attributes := allowed()
	list := elementsOf(parse(t, page))
	for _, n := range list {
		if !slices.Contains(elements, n.Data) {
			t.Fatalf("element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if !slices.Contains(attributes, a.Key) {
				t.Fatalf("attribute %s=%q of <%s>", a.Key, a.Val, n.Data)
			}
			if a.Key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "data:," {
				t.Fatalf("a link to %q", a.Val)
			}
		}
		switch n.Data {
		case "script":
			if textOf(n) != reportScript {
				t.Fatalf("a script that is not ours: %q", textOf(n))
			}
		case "style":
			if textOf(n) != reportStyle {
				t.Fatalf("a style that is not ours: %q", textOf(n))
			}
		}
	}
	return list
}

func TestHTMLNeedsNothingElse(t *testing.T) {
	for _, name := range fixtures() {
		page := render(t, load(t, name), HTML)
		checkPage(t, page)
	}
	for _, own := range []string{reportTemplate, reportStyle, reportScript} {
		if at := regexp.MustCompile(`(?i)https?:|//[a-z]|@import|url\(`).FindString(own); at != "" {
			t.Errorf("the report's own page refers to something outside: %q", at)
		}
	}
}

// The elements of a page do not depend on texts in the data.
func TestHTMLElementsAreOurs(t *testing.T) {
	t.Parallel()
	want := names(checkPage(t, render(t, benign(t), HTML)))
	rapid.Check(t, func(rt *rapid.T) {
		got := names(checkPage(rt, render(t, hostile(rt, t), HTML)))
		if !slices.Equal(got, want) {
			rt.Fatalf("the data changed the elements: %d of them, want %d", len(got), len(want))
		}
	})
}

func names(nodes []*html.Node) []string {
	list := make([]string, len(nodes))
	for i, n := range nodes {
		list[i] = n.Data
	}
	return list
}

func TestHTMLShowsHostileTextAsText(t *testing.T) {
	body := textOf(parse(t, render(t, load(t, "hostile"), HTML)))
	for _, want := range []string{
		"<script>alert(1)</script>", "</style><img src=https://evil.example/x.png onerror=alert(1)>", "&lt; &amp;",
		"an_arm_with_a_very_long_name", "שלום עולם", "␛[2J", "null␀baseline", "</details>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	for _, r := range body {
		if r < ' ' && r != '\n' && r != '\t' || say.Reorders(r) {
			t.Fatalf("control character %U on the page", r)
		}
	}
}

// The policy allows only the script of the page.
func TestHTMLPolicy(t *testing.T) {
	doc := parse(t, render(t, load(t, "hostile"), HTML))
	var policy, script string
	for _, n := range elementsOf(doc) {
		switch {
		case n.Data == "meta" && attribute(n, "http-equiv") == "Content-Security-Policy":
			policy = attribute(n, "content")
		case n.Data == "script":
			script += textOf(n)
		}
	}
	hash := sha256.Sum256([]byte(script))
	for _, want := range []string{
		"default-src 'none'", "style-src 'unsafe-inline'", "img-src data:",
		"script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %q", policy, want)
		}
	}
}

// The text of a page is in the report byte for byte, for any marks.
func TestHTMLShowsTheWholePage(t *testing.T) {
	r := load(t, "study")
	doc := parse(t, render(t, r, HTML))
	var pages []string
	for _, n := range elementsOf(doc) {
		if n.Data == "div" && attribute(n, "class") == "text" {
			pages = append(pages, textOf(n))
		}
	}
	for _, s := range r.Analysis.Samples {
		for _, p := range s.Show.Pages {
			if !slices.Contains(pages, p.Text) {
				t.Errorf("page %d of %s of %s is nowhere whole", p.Number, s.Show.Item, s.Show.Arm)
			}
		}
		if s.Show.Raw != "" && !slices.Contains(pages, s.Show.Raw) {
			t.Errorf("the raw answer to %s of %s is not shown verbatim", s.Show.Item, s.Show.Arm)
		}
	}
}

func TestHTMLIsAccessible(t *testing.T) {
	for _, name := range fixtures() {
		ids := map[string]bool{}
		list := elementsOf(parse(t, render(t, load(t, name), HTML)))
		for _, n := range list {
			if id := attribute(n, "id"); id != "" {
				if ids[id] {
					t.Errorf("%s: two elements with id %q", name, id)
				}
				ids[id] = true
			}
		}
		headings := 0
		for _, n := range list {
			switch n.Data {
			case "a":
				if !ids[strings.TrimPrefix(attribute(n, "href"), "#")] {
					t.Errorf("%s: a link to %s, which is not there", name, attribute(n, "href"))
				}
			case "h1":
				headings++
			case "th":
				if attribute(n, "scope") == "" {
					t.Errorf("%s: a table head without scope: %q", name, textOf(n))
				}
			case "svg":
				outer := n.Parent.Data != "svg"
				if outer && attribute(n, "aria-label") == "" && attribute(n, "aria-hidden") == "" {
					t.Errorf("%s: a drawing that says nothing to those who do not see it", name)
				}
			}
		}
		if headings != 1 {
			t.Errorf("%s: %d first headings", name, headings)
		}
	}
}

// A page stays small however large the documents are: first it leaves out whole pages,
// then samples. The other parts stay.
func TestHTMLStaysSmall(t *testing.T) {
	long := strings.Repeat("All work and no play. ", 5000)
	for _, arms := range []int{2, 12, 20} {
		a := &analyse.Analysis{Format: analyse.Format, Study: analyse.Study{Name: "long"}}
		for i := range arms {
			arm := fmt.Sprintf("arm%d", i)
			a.Arms = append(a.Arms, analyse.Arm{ID: arm})
			for rank := range 6 {
				a.Samples = append(a.Samples, analyse.Sample{Rank: "worst", Metric: "m", Show: eval.Exhibit{Item: fmt.Sprintf("item%d", rank), Arm: arm, Title: "a document",
					Pages: []eval.ExhibitPage{{Number: 1, Text: long, Marks: []eval.Mark{{Start: 50_000, End: 50_010, Kind: "gold"}}}},
					Rows:  []eval.ExhibitRow{{Unit: "u", Gold: long[:1000], Answer: long[:1000]}}}})
			}
		}
		var b bytes.Buffer
		if err := HTML(&b, Report{Analysis: a}); err != nil {
			t.Fatal(err)
		}
		if b.Len() > maxHTML {
			t.Errorf("with %d arms the page has %d bytes, want at most %d", arms, b.Len(), maxHTML)
		}
		if left := strings.Contains(b.String(), "are left out to keep this file small"); left != (arms > 2) {
			t.Errorf("with %d arms: the page says that something is left out: %v", arms, left)
		}
		if !strings.Contains(b.String(), "Methods") {
			t.Errorf("with %d arms the page lost its methods", arms)
		}
	}
}

// Tables that alone are too large leave room for samples.
func TestHTMLKeepsSamples(t *testing.T) {
	for size, want := range map[int]string{1000: "", 100_000: "Some samples are left out", 2_000_000: "All samples are left out"} {
		a := &analyse.Analysis{Format: analyse.Format, Study: analyse.Study{Name: "wide"},
			Warnings: []string{strings.Repeat("w", maxHTML)}}
		for i := range 40 {
			arm := fmt.Sprintf("arm%d", i)
			a.Arms = append(a.Arms, analyse.Arm{ID: arm})
			a.Samples = append(a.Samples, analyse.Sample{Rank: "worst", Metric: "m", Show: eval.Exhibit{Item: "i", Arm: arm, Raw: strings.Repeat("r", size)}})
		}
		page := render(t, Report{Analysis: a}, HTML)
		rest := len(page) - size*strings.Count(page, `<details class="sample"`)
		if rest < maxHTML || len(page) > rest+maxHTML/4 {
			t.Errorf("samples of %d bytes: the page has %d bytes, %d without them", size, len(page), rest)
		}
		if strings.Contains(page, `<details class="sample"`) == strings.HasPrefix(want, "All") || !strings.Contains(page, want) || want == "" && strings.Contains(page, "left out") {
			t.Errorf("samples of %d bytes: %d are left, want %q", size, strings.Count(page, `<details class="sample"`), want)
		}
	}
}

// Commands in our sentences are code; backticks of data stay as they are.
func TestProse(t *testing.T) {
	for s, want := range map[string]string{
		"retry with `scruple run --retry-failed`, or not": "retry with <scruple run --retry-failed>, or not",
		"`tick` and a lone ` of data":                     "`tick` and a lone ` of data",
		"`scruple score x` lists":                         "<scruple score x> lists",
		"":                                                "",
	} {
		got := ""
		for _, r := range prose(s) {
			if r.Code {
				r.Text = "<" + r.Text + ">"
			}
			got += r.Text
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
}

// Page text is shown one for one, so that offsets in it are offsets in the text.
func TestPageTextKeepsOffsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("a\r\n\t\x00\x1b\u202e\u0085é😀")), 0, 40, -1).Draw(t, "s")
		if shown := say.Exactly(s); len([]rune(shown)) != len([]rune(s)) || strings.ContainsAny(shown, "\r\x00\x1b\u202e") {
			t.Fatalf("%q is shown as %q", s, shown)
		}
	})
	if got := say.Exactly("a\r\nb"); got != "a\u240d\nb" {
		t.Errorf("%q", got)
	}
}
