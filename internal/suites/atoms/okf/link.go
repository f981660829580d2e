package okf

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"path"
	"regexp"
	"sort"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	mdtext "github.com/yuin/goldmark/text"
	"golang.org/x/text/unicode/norm"

	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Resolution is where a link leads.
type Resolution struct {
	Kind LinkKind
	To   int // index of the atom; -1 if it names none
}

// LinkKind says what a link leads to.
type LinkKind string

// The kinds of link.
const (
	ToAtom     LinkKind = "atom"
	ToPlace    LinkKind = "place" // in the same file
	External   LinkKind = "external"
	Unresolved LinkKind = "unresolved"
)

// names finds atoms by what links call them, a name after its kind. Of several atoms with
// one name, the first that an edge allows counts.
type names map[string][]int

// The kinds of names.
const (
	byID     = "id "
	bySlug   = "slug "
	byTitle  = "title "
	atPath   = "path "
	atEnding = "ending " // of a path, so that links from another root resolve
)

func (n names) add(kind, name string, i int) { n[kind+name] = append(n[kind+name], i) }

func newNames(b *Base) names {
	n := names{}
	title := func(s string, i int) {
		if t := Normal(s); t != "" {
			n.add(byTitle, t, i)
		}
	}
	for i, a := range b.Atoms {
		if a.ID != "" {
			n.add(byID, a.ID, i)
			n.add(bySlug, Slug(a.ID), i)
		}
		title(a.Title, i)
		n.addPath(a.File, i)
		for _, key := range []string{"permalink", "redirect_from", "aliases"} {
			f, _ := b.Documents[b.of[i]].Field(key)
			list, _ := f.Value.Strings()
			for _, s := range list {
				if strings.Contains(s, "/") {
					n.addPath(strings.Trim(s, "/"), i)
				} else {
					title(s, i)
				}
			}
		}
	}
	return n
}

// addPath enters a path and its endings.
func (n names) addPath(file string, i int) {
	key := pathKey(file)
	n.add(atPath, key, i)
	for _, rest, ok := strings.Cut(key, "/"); ok; _, rest, ok = strings.Cut(rest, "/") {
		if len(n[atEnding+rest]) < 8 { // as many as could be of different types
			n.add(atEnding, rest, i)
		}
	}
}

// byPath lists the atoms of a path: the file itself, else those whose paths end so.
func (n names) byPath(p string) []int {
	key := pathKey(p)
	if list := n[atPath+key]; len(list) > 0 && key != "" {
		return list
	}
	return n[atEnding+key]
}

// pathKey is a path without what links leave out: case, endings, README, and which of the
// forms of Unicode a file system gives.
func pathKey(p string) string {
	p = strings.ToLower(norm.NFC.String(strings.Trim(path.Clean("/"+p), "/")))
	for _, end := range []string{".erb", ".md", ".markdown", ".html", ".htm"} {
		p = strings.TrimSuffix(p, end)
	}
	for _, end := range []string{"readme", "index"} {
		if p == end {
			return ""
		}
		p = strings.TrimSuffix(p, "/"+end)
	}
	return p
}

// Normal is the normal form of titles: no case, punctuation or articles, single
// spaces.
func Normal(s string) string {
	words := wordsOf(s)
	kept := words[:0]
	for _, w := range words {
		if w != "a" && w != "an" && w != "the" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// Slug makes an id of a text: lower-case words joined by dashes.
func Slug(s string) string { return strings.Join(wordsOf(s), "-") }

// wordsOf are the words of a text without case and punctuation, in any script.
func wordsOf(s string) []string {
	return strings.FieldsFunc(text.Fold(s), func(r rune) bool { return !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark) })
}

var (
	wikiLink   = regexp.MustCompile(`\[\[([^\[\]|\n]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]`)
	inlineLink = regexp.MustCompile(`^\[([^\]\n]*)\]\((?:<([^<>\n]+)>|([^)\s<>]+))[^)]*\)$`)
	scheme     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(//)?`)
	percent    = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	hole       = regexp.MustCompile(`^(\{\{[^}]*\}\}|<%=[^%]*%>)`) // of a template
)

// Resolve finds what a link in a file leads to. The link is an id, a title, a path,
// a URL, or a wiki or Markdown link to one. To lists the allowed types; empty means
// any. A bare text in the form of an id is an id and nothing else, unless atoms have
// none: a changed id must not go unnoticed because a title or a file is like it. In a
// script without capitals a title can look like an id, so there it may be either.
func (b *Base) Resolve(link, file string, to []string) Resolution {
	link = strings.TrimSpace(link)
	if m := submatch(wikiLink, link); m != nil && m[0] == link {
		return b.resolve(strings.TrimSpace(m[1]), file, to)
	}
	if m := submatch(inlineLink, link); m != nil {
		r := b.resolve(cmp.Or(m[2], m[3]), file, to)
		if r.To < 0 {
			if own := b.resolve(m[1], file, to); own.To >= 0 {
				return own
			}
		}
		return r
	}
	if inner := strings.TrimSuffix(strings.TrimPrefix(link, "<"), ">"); inner != link {
		return b.resolve(inner, file, to)
	}
	caseless := strings.ContainsFunc(link, func(r rune) bool { return unicode.Is(unicode.Lo, r) })
	if b.Ontology.ValidID(link) && !caseless && !IsMarkdown(link) && !strings.Contains(link, "/") {
		if at := b.pick(b.names[byID+link], to); at >= 0 {
			return Resolution{ToAtom, at}
		}
		for _, i := range b.names.byPath(link) {
			if b.Atoms[i].ID == "" {
				return Resolution{ToAtom, i}
			}
		}
		return Resolution{Unresolved, -1}
	}
	return b.resolve(link, file, to)
}

// submatch matches a text that begins with a bracket. Most links do not.
func submatch(r *regexp.Regexp, s string) []string {
	if !strings.HasPrefix(s, "[") {
		return nil
	}
	return r.FindStringSubmatch(s)
}

// resolve is [Base.Resolve] for the target of a link.
func (b *Base) resolve(link, file string, to []string) Resolution {
	if at := b.pick(b.names[byID+link], to); at >= 0 {
		return Resolution{ToAtom, at}
	}
	if strings.HasPrefix(link, "#") {
		return Resolution{ToPlace, -1}
	}
	link = hole.ReplaceAllString(link, "")
	target, _, _ := strings.Cut(link, "#")
	target, _, _ = strings.Cut(target, "?")
	s := scheme.FindString(target)
	if s != "" && !strings.HasSuffix(s, "//") && strings.Contains(target, " ") {
		s = "" // a title with a colon
	}
	if s != "" || strings.HasPrefix(target, "//") {
		for _, target := range []string{target, decoded(target)} {
			if at := b.ofURL(target[len(s):], to); at >= 0 {
				return Resolution{ToAtom, at}
			}
		}
		return Resolution{External, -1}
	}
	for _, as := range [][2]string{{target, link}, {decoded(target), decoded(link)}} {
		target, title := as[0], as[1]
		relative := target
		if !strings.HasPrefix(target, "/") {
			relative = path.Join(path.Dir(file), target)
		}
		for _, try := range [][]int{b.names.byPath(relative), b.names[byTitle+Normal(title)], b.names[bySlug+Slug(title)], b.names.byPath(target)} {
			if at := b.pick(try, to); at >= 0 {
				return Resolution{ToAtom, at}
			}
		}
	}
	return Resolution{Unresolved, -1}
}

// decoded is a link without percent-encoding.
func decoded(link string) string {
	return percent.ReplaceAllStringFunc(link, func(code string) string {
		b, _ := hex.DecodeString(code[1:])
		return string(b)
	})
}

// ofURL finds the atom whose path, with a folder, is the end of a URL.
func (b *Base) ofURL(rest string, to []string) int {
	for {
		_, after, ok := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		if !ok {
			return -1
		}
		if key := pathKey(after); strings.Contains(key, "/") {
			if at := b.pick(b.names[atPath+key], to); at >= 0 && key == pathKey(b.Atoms[at].File) {
				return at
			}
		}
		rest = after
	}
}

// pick returns the first atom of an allowed type, else the first.
func (b *Base) pick(list []int, to []string) int {
	for _, i := range list {
		if ontology.Allows(to, b.Atoms[i].Type) {
			return i
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return -1
}

// A BodyLink is a link in the text of a file.
type BodyLink struct {
	File    string
	Line    int
	Written string
	Resolution
}

// MaxLinked is the size of the longest text that is searched for links.
const MaxLinked = 1 << 20

// BodyLinks lists the links in the texts of all files: Markdown links, reference
// links, links in angle brackets, and wiki links. Those in code are left out.
func (b *Base) BodyLinks() []BodyLink {
	var links []BodyLink
	for _, d := range b.Documents {
		body := d.Body()
		if len(body) > MaxLinked || invalidUTF8(body) >= 0 {
			continue
		}
		before := bytes.Count(d.raw[:len(d.raw)-len(body)], []byte("\n"))
		starts := lineStarts(body, 0)
		for _, l := range linksIn(body) {
			resolve := b.resolve
			if strings.HasPrefix(l.target, "[[") {
				resolve = b.Resolve
			}
			line := sort.SearchInts(starts, l.at+1) // the number of lines that begin at or before it
			links = append(links, BodyLink{File: d.Path, Line: before + line, Written: l.target, Resolution: resolve(l.target, d.Path, nil)})
		}
	}
	return links
}

type placed struct {
	at     int
	target string
}

func linksIn(body []byte) (list []placed) {
	root := goldmark.DefaultParser().Parse(mdtext.NewReader(body))
	at := 0
	var code [][2]int
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			at = n.Segment.Start
			if _, ok := n.Parent().(*ast.CodeSpan); ok {
				code = append(code, [2]int{n.Segment.Start, n.Segment.Stop})
			}
		case *ast.Link:
			if d := string(n.Destination); !strings.HasPrefix(d, "`") { // a footnote with code
				list = append(list, placed{firstText(n, at), d})
			}
		case *ast.Image:
			return ast.WalkSkipChildren, nil // a picture is not an atom
		case *ast.AutoLink:
			list = append(list, placed{at, string(n.URL(body))})
		case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				s := n.Lines().At(i)
				code = append(code, [2]int{s.Start, s.Stop})
			}
		default:
			if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
				at = n.Lines().At(0).Start
			}
		}
		return ast.WalkContinue, nil
	})
	next := 0
	for _, m := range wikiLink.FindAllIndex(body, -1) {
		for next < len(code) && code[next][1] <= m[0] {
			next++
		}
		link := m[1] < len(body) && body[m[1]] == '(' // a Markdown link with brackets in its text
		if !link && (next == len(code) || m[1] <= code[next][0]) {
			list = append(list, placed{m[0], string(body[m[0]:m[1]])})
		}
	}
	return list
}

// firstText is where the text of a node begins.
func firstText(n ast.Node, otherwise int) int {
	for c := n.FirstChild(); c != nil; c = c.FirstChild() {
		if t, ok := c.(*ast.Text); ok {
			return t.Segment.Start
		}
	}
	return otherwise
}
