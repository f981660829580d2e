package okf_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// realFile is a line of testdata/real.jsonl.gz; SOURCE.md has the sources.
type realFile struct {
	Set, Path, Markdown string
	Meta                map[string]any
}

func realFiles(t testing.TB, set string) (files []okf.File, records []realFile) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "real.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var r realFile
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if set == "" || r.Set == set {
			records = append(records, r)
			files = append(files, okf.File{Path: r.Path, Data: []byte(r.Markdown)})
		}
	}
	if len(files) == 0 {
		t.Fatal("no files")
	}
	return files, records
}

// Real files read, and setting a key changes nothing else, byte for byte.
func TestRealFilesSurvive(t *testing.T) {
	files, _ := realFiles(t, "")
	withFront := 0
	for _, f := range files {
		d := okf.Parse(f.Path, f.Data)
		if !bytes.Equal(d.Bytes(), f.Data) {
			t.Errorf("%s: reading changed bytes", f.Path)
		}
		if !bytes.HasSuffix(f.Data, d.Body()) {
			t.Errorf("%s: the text is not the end of the file", f.Path)
		}
		if len(d.Fields) == 0 {
			continue
		}
		withFront++
		for _, finding := range d.Findings {
			t.Errorf("%s", finding)
		}
		const value = "a: \"b\" # c"
		set, err := d.Set(okf.ScalarEntry("new-key", value))
		if err != nil {
			t.Fatal(err)
		}
		again := okf.Parse(f.Path, set)
		if again.Text("new-key") != value || !bytes.Equal(again.Body(), d.Body()) || len(again.Fields) != len(d.Fields)+1 {
			t.Errorf("%s: setting a key lost something", f.Path)
		}
		for i, field := range d.Fields {
			if diff := cmp.Diff(field.Value, again.Fields[i].Value); diff != "" {
				t.Errorf("%s: %s\n%s", f.Path, field.Key, diff)
			}
		}
		title, ok := d.Field("title")
		if !ok {
			continue
		}
		back, err := d.Set(okf.ScalarEntry("title", title.Value.Text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := lines(f.Data) - lines(back); diff != 0 && !strings.Contains(title.Value.Text, "\n") {
			t.Errorf("%s: setting one line changed the number of lines by %d", f.Path, diff)
		}
	}
	if withFront < 130 {
		t.Errorf("only %d files have front matter", withFront)
	}
}

func lines(b []byte) int { return bytes.Count(b, []byte("\n")) }

// EIPs: ids and edges of another format, by an ontology. The edges are those that
// the data set's own list has, between the 80 files and out of them.
func TestEIPs(t *testing.T) {
	files, _ := realFiles(t, "eips")
	o, err := ontology.Parse([]byte(`
keys: {id: eip}
ids: "^[0-9]+$"
types: [{name: Standards Track}, {name: Meta}, {name: Informational}]
edges: [{name: requires, kind: set}]
enums: {status: [Draft, Review, Last Call, Final, Stagnant, Withdrawn, Living, Moved]}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := okf.Load(files, nil, o)
	resolved, dangling := 0, 0
	for _, a := range b.Atoms {
		for _, l := range a.Links {
			if l.To >= 0 {
				resolved++
				if b.Atoms[l.To].ID != l.Written {
					t.Errorf("%s requires %s, which leads to %s", a.File, l.Written, b.Atoms[l.To].File)
				}
			} else {
				dangling++
			}
		}
	}
	if resolved != wantEIPEdges || dangling != wantEIPDangling {
		t.Errorf("%d edges resolved and %d dangle, want %d and %d", resolved, dangling, wantEIPEdges, wantEIPDangling)
	}
	for _, f := range b.Findings() {
		if f.Severity == okf.Error {
			t.Error(f)
		}
	}
}

// Links in the forms that real files have resolve, or are listed.
func TestRealLinks(t *testing.T) {
	files, records := realFiles(t, "")
	for i, r := range records { // KEPs have their front matter in another file
		if r.Meta == nil {
			continue
		}
		var entries []okf.Entry
		for _, key := range []string{"title", "owning-sig", "status"} {
			entries = append(entries, okf.ScalarEntry(key, fmt.Sprint(r.Meta[key])))
		}
		for _, key := range []string{"see-also", "replaces", "superseded-by"} {
			var list []string
			if values, ok := r.Meta[key].([]any); ok {
				for _, v := range values {
					list = append(list, fmt.Sprint(v))
				}
			}
			entries = append(entries, okf.ListEntry(key, list))
		}
		files[i].Data = okf.Compose(entries, r.Markdown)
	}
	o, err := ontology.Parse([]byte("types: [{name: x}]\nedges: [{name: see-also}, {name: replaces}, {name: superseded-by}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := okf.Load(files, nil, o)
	kinds := map[string]map[okf.LinkKind]int{}
	for _, l := range b.BodyLinks() {
		set := records[slices.IndexFunc(records, func(r realFile) bool { return r.Path == l.File })].Set
		if kinds[set] == nil {
			kinds[set] = map[okf.LinkKind]int{}
		}
		kinds[set][l.Kind]++
		if l.Line < 1 || l.Written == "" || (l.To >= 0) != (l.Kind == okf.ToAtom) {
			t.Errorf("%+v", l)
		}
	}
	for set, want := range map[string]okf.LinkKind{"eips": okf.ToAtom, "gds": okf.ToAtom, "18f": okf.ToAtom, "madr": okf.ToAtom, "keps": okf.ToPlace} {
		if kinds[set][want] == 0 {
			t.Errorf("%s: no link leads to %s: %v", set, want, kinds[set])
		}
	}
	byEdge := map[bool]int{}
	for _, a := range b.Atoms {
		for _, l := range a.Links {
			byEdge[l.To >= 0]++
		}
	}
	if byEdge[true] == 0 || byEdge[false] == 0 {
		t.Errorf("of the edges of KEPs %v are resolved", byEdge)
	}
	unresolved := 0
	for _, f := range b.Findings() {
		if f.Code == okf.CodeUnresolved {
			unresolved++
		}
	}
	if unresolved != byEdge[false] {
		t.Errorf("%d findings for %d unresolved edges", unresolved, byEdge[false])
	}
}

// TestResolve: every form of a link.
func TestResolve(t *testing.T) {
	files := []okf.File{
		{Path: "process/intake.md", Data: []byte("---\nid: order-intake\ntype: process\ntitle: The Order Intake\naliases: [Taking orders]\n---\n")},
		{Path: "role/clerk.md", Data: []byte("---\nid: clerk\ntype: role\ntitle: Clerk\n---\n")},
		{Path: "role/nameless.md", Data: []byte("---\ntype: role\ntitle: No id\n---\n")},
		{Path: "artifact/clerk.md", Data: []byte("---\nid: clerk-file\ntype: artifact\ntitle: Clerk\n---\n")},
		{Path: "sub dir/a(b).md", Data: []byte("---\nid: note\ntype: role\ntitle: A note\n---\n")},
		{Path: "role/C#.md", Data: []byte("---\nid: sharp\ntype: role\ntitle: A language\n---\n")},
		{Path: "role/U\u0308berblick.md", Data: []byte("---\nid: overview\ntype: role\ntitle: All of it\n---\n")}, // as macOS writes it
	}
	b := okf.Load(files, nil, ontology.Default())
	for link, want := range map[string]string{
		"order-intake": "order-intake", "Order intake": "order-intake", "the order  intake!": "order-intake", "[[order-intake]]": "order-intake",
		"[[The Order Intake|how]]": "order-intake", "[x](../process/intake.md)": "order-intake", "[x](/process/intake.md#top)": "order-intake",
		"../process/intake": "order-intake", "process/intake.html": "order-intake", "<../process/intake.md>": "order-intake", "taking orders": "order-intake",
		"https://example.org/wiki/process/intake.md?x=1": "order-intake", "[Order intake](gone.md)": "order-intake", "nameless": "role/nameless.md",
		"Clerk": "clerk", "intake": "unresolved", "order-intake-2": "unresolved", "https://example.org/other": "external", "mailto:x@example.org": "external",
		"#below": "place", "Decision: none": "unresolved", "{{site}}/process/intake/": "order-intake",
		"[x](../sub%20dir/a%28b%29.md)": "note", "https://example.org/sub%20dir/a(b).md": "note", "[x](C%23.md#top)": "sharp", "[x](The%20Order%20Intake)": "order-intake", "[x](100%.md)": "unresolved",
		"[x](<../sub dir/a(b).md>)": "note", "[x](<../process/intake.md> \"how\")": "order-intake", "[x](../process/intake.md \"how\")": "order-intake", "[x](<The Order Intake>)": "order-intake",
		"[[Clerk #2]]": "unresolved", "The Order Intake?x=1": "unresolved", "The%20Order%20Intake%20#2": "unresolved", "Taking%20orders": "order-intake",
		"[[Überblick]]": "overview", "[x](Überblick.md)": "overview", "[x](%C3%9Cberblick.md)": "overview", "../role/U\u0308berblick.md": "overview",
	} {
		r := b.Resolve(link, "role/clerk.md", []string{"role", "process"})
		got := string(r.Kind)
		if r.To >= 0 {
			if got = b.Atoms[r.To].ID; got == "" {
				got = b.Atoms[r.To].File
			}
		}
		if got != want {
			t.Errorf("%q leads to %s, want %s", link, got, want)
		}
	}
	if r := b.Resolve("Clerk", "x.md", []string{"artifact"}); r.To < 0 || b.Atoms[r.To].ID != "clerk-file" {
		t.Errorf("an edge to artifacts leads to %+v", r)
	}
}

// TestResolveExactPath: a file of the written path comes before others whose paths end
// so, however many there are and wherever they sort.
func TestResolveExactPath(t *testing.T) {
	var files []okf.File
	for _, p := range []string{"a1/form.md", "a2/form.md", "a3/form.md", "a4/form.md", "a5/form.md", "a6/form.md", "a7/form.md", "a8/form.md", "form.md", "process/order.md", "archive/process/order.md"} {
		files = append(files, okf.File{Path: p, Data: []byte("---\ntype: artifact\ntitle: " + p + "\n---\n")})
	}
	b := okf.Load(files, nil, ontology.Default())
	for _, c := range [][3]string{{"[Form](form.md)", "p.md", "form.md"}, {"../process/order.md", "x/p.md", "process/order.md"}, {"form", "p.md", "form.md"}, {"/a3/form.md", "x/p.md", "a3/form.md"}, {"wiki/form.md", "p.md", "unresolved"}} {
		got := "unresolved"
		if r := b.Resolve(c[0], c[1], nil); r.To >= 0 {
			got = b.Atoms[r.To].File
		}
		if got != c[2] {
			t.Errorf("%q in %s leads to %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// TestIDsOfAnyScript: what Slug makes of a title is a valid id, and resolves.
func TestIDsOfAnyScript(t *testing.T) {
	for _, title := range []string{"Use 漢字", "漢字", "Größe prüfen", "Vérifier l'état", "Заказ принять", "सामान की जाँच", "التحقق من الطلب", "注文 受付"} {
		id := okf.Slug(title)
		b := okf.Load([]okf.File{{Path: id + ".md", Data: []byte("---\nid: " + id + "\ntype: role\ntitle: " + title + "\n---\n")}}, nil, ontology.Default())
		if f := b.Findings(); len(f) > 0 {
			t.Errorf("%q: %v", title, f)
		}
		for _, link := range []string{id, title} {
			if r := b.Resolve(link, "x.md", nil); r.To != 0 {
				t.Errorf("%q does not lead to %q: %+v", link, title, r)
			}
		}
	}
}

// TestFindings: each problem with its code, line and severity.
func TestFindings(t *testing.T) {
	const role = "---\nid: r\ntype: role\ntitle: R\n---\n"
	for name, test := range map[string]struct{ file, want string }{
		"good":             {"---\nid: a\ntype: process\ntitle: A\nowner: r\n---\n", ""},
		"no front matter":  {"# Title\n", "a.md:1: error no-front-matter"},
		"open":             {"---\nid: a\n", "a.md:1: error no-front-matter"},
		"not yaml":         {"---\nid: a\ntitle: [x\ntype: role\n---\n", "a.md:"},
		"a list":           {"---\n- a\n---\n", "a.md:2: error not-yaml: the front matter is not YAML: it is not a mapping"},
		"duplicate key":    {"---\nid: a\ntype: role\ntitle: A\nid: b\n---\n", `a.md:5: error duplicate-key: duplicate key "id": first on line 2`},
		"no type":          {"---\nid: a\ntitle: A\n---\n", "a.md:1: error no-type"},
		"not UTF-8":        {"---\nid: a\ntype: role\ntitle: A\n---\n\xff\n", "a.md:6: error not-utf8: byte 0xff"},
		"control":          {"---\nid: a\ntype: role\ntitle: \"A\x01\"\n---\n", "a.md:4: error not-yaml: control character U+0001"},
		"unknown type":     {"---\nid: a\ntype: case study\ntitle: A\n---\n", `a.md:3: error unknown-type: unknown type "case study"`},
		"bad id":           {"---\nid: My Atom\ntype: role\ntitle: A\n---\n", `a.md:2: error bad-id: id "My Atom"`},
		"duplicate id":     {"---\nid: r\ntype: role\ntitle: A\n---\n", `role.md:2: error duplicate-id: duplicate id "r": also in a.md`},
		"no title":         {"---\nid: a\ntype: role\n---\n", "a.md:1: error missing-key: title is missing"},
		"a list as id":     {"---\nid: [a]\ntype: role\ntitle: A\n---\n", "a.md:2: error missing-key: id is no text"},
		"braces as title":  {"---\nid: a\ntype: role\ntitle: {a: b}\n---\n", "a.md:4: error missing-key: title is no text"},
		"no rationale":     {"---\nid: a\ntype: decision\ntitle: A\nrationale: []\n---\n", "a.md:5: error missing-key: rationale is missing"},
		"map as rationale": {"---\nid: a\ntype: decision\ntitle: A\nrationale: {why: It is fast., cost: low}\n---\n", "a.md:5: error bad-rationale: rationale: want a text"},
		"list in a list":   {"---\nid: a\ntype: decision\ntitle: A\nrationale:\n- It is fast.\n- [x]\n---\n", "a.md:7: error bad-rationale"},
		"enum":             {"---\nid: a\ntype: role\ntitle: A\nconfidence: asserted by the CTO\n---\n", `a.md:5: error bad-enum: confidence is "asserted by the CTO"`},
		"two owners":       {"---\nid: a\ntype: process\ntitle: A\nowner: [r, a]\n---\n", "a.md:5: error several-targets: owner has 2 targets"},
		"source type":      {"---\nid: a\ntype: role\ntitle: A\nstages: [r]\n---\n", "a.md:5: error wrong-source-type: a role must not have stages"},
		"target type":      {"---\nid: a\ntype: process\ntitle: A\nuses: [r]\n---\n", `a.md:5: error wrong-target-type: uses: "r" is a role`},
		"dangling":         {"---\nid: a\ntype: process\ntitle: A\nowner: nobody\n---\n", `a.md:5: warning unresolved-link: owner: no atom "nobody"`},
		"twice":            {"---\nid: a\ntype: role\ntitle: A\nrelates_to: [r, r]\n---\n", `a.md:5: warning duplicate-target: relates_to: "r" is listed twice`},
		"map as edge":      {"---\nid: a\ntype: role\ntitle: A\nrelates_to: {x: y}\n---\n", "a.md:5: error bad-edge: relates_to"},
		"item of no form":  {"---\nid: a\ntype: process\ntitle: A\nrelates_to:\n- r\n- {to: [r, a]}\n---\n", "a.md:7: error bad-edge: relates_to"},
		"list as item":     {"---\nid: a\ntype: process\ntitle: A\nrelates_to:\n- r\n- [r, a]\n---\n", "a.md:7: error bad-edge: relates_to"},
		"empty item":       {"---\nid: a\ntype: process\ntitle: A\nrelates_to:\n- r\n-\n---\n", "a.md:7: error bad-edge: relates_to"},
		"map without to":   {"---\nid: a\ntype: process\ntitle: A\nrelates_to:\n- r\n- {id: a}\n---\n", "a.md:7: error bad-edge: relates_to"},
		"title, of commas": {"---\nid: a\ntype: process\ntitle: A, the first, of two\nrelates_to:\n- [[A, the first, of two]]\n- {to: [[Role, the]]}\n---\n", `a.md:7: warning unresolved-link: relates_to: no atom "Role, the"`},
		"large":            {"---\nid: a\nx: " + strings.Repeat("a ", 32<<10) + "\n---\n", "a.md:1: error not-yaml: the front matter has 65546 bytes, the limit is 65536"},
		"many keys":        {"---\nid: a\n" + strings.Repeat("? a\n", 2000) + "---\n", "a.md:1: error not-yaml: the front matter has more than 2000 lines with keys: move"},
		"CRLF":             {"---\r\nid: a\r\ntype: process\r\ntitle: A\r\nowner: r\r\n---\r\nText\r\n", ""},
		"BOM":              {"\ufeff---\nid: a\ntype: role\ntitle: A\n---\n", ""},
		"nested":           {"---\nx: " + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "\n---\n", "a.md:2: error not-yaml: the front matter is not YAML: nested deeper"},
		"aliases":          {"---\nid: a\ntype: role\ntitle: A\nx: &x [1, 1]\ny: &y [*x, *x]\nz: [*y, *y]\n---\n", ""},
	} {
		b := okf.Load([]okf.File{{Path: "a.md", Data: []byte(test.file)}, {Path: "role.md", Data: []byte(role)}}, nil, ontology.Default())
		var all []string
		for _, f := range b.Findings() {
			all = append(all, f.String())
		}
		text := strings.Join(all, "\n")
		if test.want == "" && text != "" || !strings.Contains(text, test.want) {
			t.Errorf("%s: got\n%s\nwant %s", name, text, test.want)
		}
	}
}

// An edge that is written twice has the findings of its links once.
func TestEdgeTwice(t *testing.T) {
	b := okf.Load([]okf.File{{Path: "a.md", Data: []byte("---\nid: a\ntype: process\ntitle: A\nuses: x\nuses: y\n---\n")}}, nil, ontology.Default())
	var got []string
	for _, f := range b.Findings() {
		got = append(got, f.String())
	}
	if d := cmp.Diff([]string{`a.md:5: warning unresolved-link: uses: no atom "x"`, `a.md:6: error duplicate-key: duplicate key "uses": first on line 5; keep one`}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// The two rates differ: a file can conform to the format and be invalid.
func TestRates(t *testing.T) {
	files := []okf.File{
		{Path: "a.md", Data: []byte("---\nid: a\ntype: role\ntitle: A\n---\n")},
		{Path: "b.md", Data: []byte("---\ntype: anything\n---\n")},
		{Path: "c.md", Data: []byte("no front matter")},
		{Path: "index.md", Data: []byte("# Index")},
	}
	b := okf.Load(files, []okf.Finding{{Code: okf.CodeSymlink, Severity: okf.Error, File: "d.md"}}, ontology.Default())
	n, conformant, valid := b.Rates()
	if n != 4 || conformant != 2 || valid != 1 {
		t.Errorf("%d files, %d conformant, %d valid, want 4, 2, 1: index.md is reserved and the link counts", n, conformant, valid)
	}
	for _, f := range b.Findings() {
		if f.File == "index.md" {
			t.Errorf("%s: an index needs no front matter", f)
		}
	}
}

// TestSet: lists, comments, flow style, line ends and missing line ends.
func TestSet(t *testing.T) {
	for name, test := range map[string]struct {
		file  string
		entry okf.Entry
		want  string
	}{
		"scalar":        {"---\nid: a # the id\nx: 1\n---\nT", okf.ScalarEntry("id", "b c"), "---\nid: b c\nx: 1\n---\nT"},
		"list":          {"---\nuses:\n  - a\n  - b\n\n# about x\nx: 1\n---\n", okf.ListEntry("uses", []string{"c"}), "---\nuses:\n  - c\n\n# about x\nx: 1\n---\n"},
		"empty list":    {"---\nuses: [a, b]\nx: 1\n---\n", okf.ListEntry("uses", nil), "---\nuses: []\nx: 1\n---\n"},
		"CRLF":          {"---\r\nid: a\r\nx: 1\r\n---\r\nT\r\n", okf.ListEntry("id", []string{"b"}), "---\r\nid:\r\n  - b\r\nx: 1\r\n---\r\nT\r\n"},
		"new key":       {"---\nid: a\n---\nT", okf.ScalarEntry("z", "true"), "---\nid: a\nz: \"true\"\n---\nT"},
		"block scalar":  {"---\nwhy: |\n  a\n\n  b\nid: x\n---\n", okf.ScalarEntry("why", "c\nd"), "---\nwhy: \"c\\nd\"\nid: x\n---\n"},
		"looks like it": {"---\nid: a\n---\nid: b\n", okf.ScalarEntry("id", "c"), "---\nid: c\n---\nid: b\n"},
	} {
		got, err := okf.Parse("a.md", []byte(test.file)).Set(test.entry)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, test.want)
		}
	}
	for _, file := range []string{"---\n{id: a, x: 1}\n---\n", "---\nid: [a\n---\n", "no front matter"} {
		if got, err := okf.Parse("a.md", []byte(file)).Set(okf.ScalarEntry("id", "b")); err == nil {
			t.Errorf("%q became %q", file, got)
		}
	}
}

// What was written reads back, whatever the text.
func TestComposeReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " ", "- a", "a: b", "#x", "null", "2024-01-02", "1e3", "'", "\"", "a\nb", "\u2028", "\u0085", "[[x]]", "*a", "&a", "!t", "a #b", "%", "@", "`"}))
		scalar, list := text.Draw(t, "scalar"), rapid.SliceOfN(text, 0, 4).Draw(t, "list")
		d := okf.Parse("a.md", okf.Compose([]okf.Entry{okf.ScalarEntry("s", scalar), okf.ListEntry("l", list)}, "Body\n"))
		if len(d.Findings) > 0 {
			t.Fatal(d.Findings)
		}
		s, _ := d.Field("s")
		l, _ := d.Field("l")
		got, _ := l.Value.Strings()
		if s.Value.Text != scalar || !slices.Equal(got, list) || string(d.Body()) != "Body\n" {
			t.Fatalf("%q became %q, %q became %q, in\n%s", scalar, s.Value.Text, list, got, d.Bytes())
		}
	})
}

// TestBodyLinkLines: every link has its line, whatever the order in which they are
// found, after front matter and with CRLF.
func TestBodyLinkLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"[x](L)", "see [[L]] and [x](L)", "", "text"})).Draw(t, "lines")
		file := "---\nid: a\ntype: role\ntitle: A\n---\n"
		want := map[string]int{}
		for i, l := range lines {
			target := fmt.Sprint("l", i)
			if strings.Contains(l, "L") {
				want[target] = 6 + i
			}
			file += strings.ReplaceAll(l, "L", target) + newline
		}
		b := okf.Load([]okf.File{{Path: "a.md", Data: []byte(file)}}, nil, ontology.Default())
		got := map[string]int{}
		for _, l := range b.BodyLinks() {
			target := strings.Trim(l.Written, "[]")
			if at, ok := got[target]; ok && at != l.Line {
				t.Fatalf("%s is on line %d and %d of\n%s", target, at, l.Line, file)
			}
			got[target] = l.Line
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got)\n%s\n%s", d, file)
		}
	})
}

// BenchmarkBodyLinks finds the links of a text of 200 kB that has nothing else.
func BenchmarkBodyLinks(b *testing.B) {
	file := "---\nid: a\ntype: role\ntitle: A\n---\n" + strings.Repeat("[a](b)\n", 200_000/7)
	base := okf.Load([]okf.File{{Path: "a.md", Data: []byte(file)}}, nil, ontology.Default())
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		base.BodyLinks()
	}
}

func TestSplitClaims(t *testing.T) {
	for text, want := range map[string][]string{
		"One. Two! Three?":                         {"One.", "Two!", "Three?"},
		"- a b\n  c\n- d\n\nE. F":                  {"a b c", "d", "E. F"},
		"- a\n  B\n\nCheap to run\nEasy to\nlearn": {"a B", "Cheap to run", "Easy to learn"},
		"1. First\n2) Second":                      {"First", "Second"},
		"It costs 3.50, e.g. for two. Fine.":       {"It costs 3.50, e.g. for two.", "Fine."},
		"He said \"Stop.\" Then he left.":          {"He said \"Stop.\"", "Then he left."},
		"He said “Stop.” Then he left.":            {"He said “Stop.”", "Then he left."},
		"He said ‘Stop!’) Then he left.":           {"He said ‘Stop!’)", "Then he left."},
		"Stop.” he said.":                          {"Stop.” he said."},
		"Version 1.2 of x.y is used by v. co":      {"Version 1.2 of x.y is used by v. co"},
		"为什么？我们选择了Redis！因为它很快。":                    {"为什么？", "我们选择了Redis！", "因为它很快。"},
		"":    nil,
		"...": nil,
	} {
		if d := cmp.Diff(want, okf.SplitClaims(text)); d != "" {
			t.Errorf("%q (-want +got)\n%s", text, d)
		}
	}
}

// TestClaimsOfRationales: YAML takes a text with a colon for a map, and it is a claim all the same.
func TestClaimsOfRationales(t *testing.T) {
	for rationale, want := range map[string][]string{
		"rationale: It is fast. It is cheap.":                    {"It is fast.", "It is cheap."},
		"rationale:\n- Security: an auditor required it\n- Fast": {"Security: an auditor required it", "Fast"},
		"rationale:\n- \"Security: an auditor required it\"":     {"Security: an auditor required it"},
		"rationale:\n- Cost: 3":                                  {"Cost: 3"},
		"rationale:\n  Speed: It is fast.":                       {"Speed: It is fast."},
		"rationale:\n- a: b\n  c: d\n-\n- Fast":                  {"Fast"},
	} {
		b := okf.Load([]okf.File{{Path: "a.md", Data: []byte("---\nid: a\ntype: decision\ntitle: A\n" + rationale + "\n---\n")}}, nil, ontology.Default())
		var got []string
		for _, c := range b.Atoms[0].Claims {
			got = append(got, c.Text)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got)\n%s", rationale, d)
		}
	}
}

// TestReadFolder: links, large files, other files and hidden ones.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.md")
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, "a.md"): "a", filepath.Join(dir, "b.txt"): "b", filepath.Join(dir, "sub", "c.MD"): "c", filepath.Join(dir, ".git", "d.md"): "d", filepath.Join(dir, ".hf.md"): "h"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link.md": outside, "inner.md": "a.md", "folder": filepath.Dir(outside), "loop": ".",
		// Links that cannot have atoms: to a picture, here and elsewhere, and to nothing.
		"diagram.png": "b.txt", "logo.svg": outside, "gone": "nowhere", "gone.png": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	large := filepath.Join(dir, "large.md")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 100<<20); err != nil {
		t.Fatal(err)
	}
	files, findings, err := okf.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path+"="+string(f.Data))
	}
	for _, f := range findings {
		got = append(got, f.File+" "+string(f.Code))
	}
	slices.Sort(got)
	want := []string{"a.md=a", "folder symbolic-link", "inner.md symbolic-link", "large.md too-large", "link.md symbolic-link", "loop symbolic-link", "sub/c.MD=c"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if _, _, err := okf.ReadFolder(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing folder is no error")
	}
}

// Paths from answers stay inside.
func TestSortFiles(t *testing.T) {
	kept, findings := okf.SortFiles([]okf.File{{Path: "b.md"}, {Path: "../a.md"}, {Path: "/etc/x.md"}, {Path: "b.md"}, {Path: "x/../y.md"}, {Path: "a/b.md"},
		{Path: "a\x00b.md"}, {Path: strings.Repeat("n", 256) + "/c.md"}, {Path: "b.md/c/d.md"}, {Path: "b.md-x"}})
	if len(kept) != 3 || len(findings) != 7 {
		t.Errorf("kept %v, findings %v", kept, findings)
	}
	for _, f := range kept {
		if !fs.ValidPath(f.Path) {
			t.Errorf("%s was kept", f.Path)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\nid: a\ntype: role\nuses:\n  - [[b]]\n---\n# A\n[x](b.md) [[c|d]] `[[e]]`\n"))
	f.Add([]byte("---\r\na: |\r\n  x\r\n---\r\n"))
	f.Add([]byte("---\n{a: 1, a: 2}\n---"))
	f.Add([]byte("\ufeff---\n&a b: *a\n? c\n---\n"))
	o := ontology.Default()
	f.Fuzz(func(t *testing.T, data []byte) {
		d := okf.Parse("a.md", data)
		if !bytes.Equal(d.Bytes(), data) || !bytes.HasSuffix(data, d.Body()) {
			t.Fatal("bytes changed")
		}
		b := okf.Load([]okf.File{{Path: "a.md", Data: data}, {Path: "b.md", Data: data}}, nil, o)
		b.Findings()
		b.BodyLinks()
		n, conformant, valid := b.Rates()
		if valid > conformant || conformant > n {
			t.Fatalf("%d files, %d conformant, %d valid", n, conformant, valid)
		}
		if set, err := d.Set(okf.ListEntry("relates_to", []string{"x y", "- z"})); err == nil {
			again := okf.Parse("a.md", set)
			v, _ := again.Field("relates_to")
			if list, _ := v.Value.Strings(); !slices.Equal(list, []string{"x y", "- z"}) {
				t.Fatalf("%q became %q", data, set)
			}
		}
	})
}

// The numbers of edges of the 80 EIPs in testdata, counted from the data set's own
// list of requirements.
const (
	wantEIPEdges    = 15
	wantEIPDangling = 13
)
