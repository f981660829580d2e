package okf

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// An Atom is what a file says.
type Atom struct {
	File       string
	ID         string
	Type       string
	Title      string
	Links      []Link // in the order of the ontology's edges
	Claims     []Claim
	Confidence string
}

// Name names the atom in tables.
func (a *Atom) Name() string { return cmp.Or(a.ID, a.Title, a.File) }

// A Link is a typed edge to another atom.
type Link struct {
	Edge     string
	Written  string // as in the file
	To       int    // index of the atom; -1 if it was not resolved
	Line     int
	Evidence []int // numbers of sentences, if the file gives them
}

// A Claim is one claim of a rationale.
type Claim struct {
	Text string
	Line int
}

// A Base is a folder of atoms.
type Base struct {
	Ontology  *ontology.Ontology
	Documents []*Document // of every file, reserved ones included
	Atoms     []Atom      // of the files that are not reserved
	of        []int       // document of each atom
	findings  []Finding
	unread    int
	names     names
}

// Reserved reports whether the name of a file is one of the format that is no atom.
func Reserved(file string) bool {
	return slices.Contains([]string{"index.md", "log.md"}, strings.ToLower(path.Base(file)))
}

// Load reads atoms from files. Findings are those of files that could not be read.
func Load(files []File, findings []Finding, o *ontology.Ontology) *Base {
	b := &Base{Ontology: o, findings: slices.Clone(findings), unread: len(findings)}
	for _, f := range files {
		d := Parse(f.Path, f.Data)
		b.Documents = append(b.Documents, d)
		if Reserved(f.Path) {
			d.Findings = slices.DeleteFunc(d.Findings, func(f Finding) bool { return f.Code == CodeNoFront }) // it needs none
			continue
		}
		if d.Text(o.Key(ontology.KeyType)) == "" && !d.damaged() {
			d.add(CodeNoType, 1, "no %s: name the type of the atom", o.Key(ontology.KeyType))
		}
		b.of = append(b.of, len(b.Documents)-1)
		b.Atoms = append(b.Atoms, b.atom(d))
	}
	for _, d := range b.Documents {
		b.findings = append(b.findings, d.Findings...)
	}
	b.names = newNames(b)
	for i := range b.Atoms {
		a := &b.Atoms[i]
		for k := range a.Links {
			l := &a.Links[k]
			e, _ := o.Edge(l.Edge)
			l.To = b.Resolve(l.Written, a.File, e.To).To
		}
	}
	first := map[string]*Atom{} // by id
	for i := range b.Atoms {
		a := &b.Atoms[i]
		b.findings = append(b.findings, b.check(i)...)
		if a.ID != "" && first[a.ID] == nil {
			first[a.ID] = a
		} else if a.ID != "" {
			f, _ := b.Documents[b.of[i]].Field(o.Key(ontology.KeyID))
			b.findings = append(b.findings, Finding{CodeDuplicateID, Error, a.File, f.Line, fmt.Sprintf("duplicate id %q: also in %s", a.ID, first[a.ID].File)})
		}
	}
	SortFindings(b.findings)
	return b
}

// damaged reports whether the front matter could not be read.
func (d *Document) damaged() bool {
	return slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Code == CodeNoFront || f.Code == CodeYAML || f.Code == CodeUTF8 })
}

func (b *Base) atom(d *Document) Atom {
	o := b.Ontology
	a := Atom{File: d.Path, ID: d.Text(o.Key(ontology.KeyID)), Type: d.Text(o.Key(ontology.KeyType)), Title: d.Text(o.Key(ontology.KeyTitle)), Confidence: d.Text("confidence")}
	for _, e := range o.Edges {
		if f, ok := d.Field(e.Name); ok {
			links, _ := targets(e.Name, f.Value)
			a.Links = append(a.Links, links...)
		}
	}
	if f, ok := d.Field(ontology.KeyRationale); ok {
		a.Claims, _ = claims(f.Value)
	}
	return a
}

// targets reads the targets of an edge: a text, or a list of texts and of maps with
// to and evidence. Bad are the lines of items that are neither.
func targets(edge string, v Value) (links []Link, bad []int) {
	add := func(s string, line int, evidence []int) {
		if s = strings.TrimSpace(s); s != "" {
			links = append(links, Link{Edge: edge, Written: s, To: -1, Line: line, Evidence: evidence})
		}
	}
	item := func(i Value) {
		to, numbers := i, []int(nil)
		if i.Kind == Map {
			to, numbers = i.At("to"), evidence(i)
		}
		if s := targetText(to); s != "" {
			add(s, i.Line, numbers)
		} else {
			bad = append(bad, i.Line)
		}
	}
	switch v.Kind {
	case Scalar:
		if parts := strings.Split(v.Text, ","); len(parts) > 1 && !strings.ContainsAny(v.Text, "[(\"") && short(parts) {
			for _, p := range parts {
				add(p, v.Line, nil)
			}
			break
		}
		add(v.Text, v.Line, nil)
	case List:
		for _, i := range v.Items {
			item(i)
		}
	case Map:
		item(v)
	}
	return links, bad
}

// targetText is the one target that a value names; "" if it does not. A wiki link
// without quotes is a list of a list in YAML, of several items if it has commas.
func targetText(v Value) string {
	if v.Kind == List && len(v.Items) == 1 {
		if v = v.Items[0]; v.Kind == List {
			parts, _ := v.Strings()
			if len(parts) != len(v.Items) {
				return ""
			}
			return strings.TrimSpace(strings.Join(parts, ", "))
		}
	}
	if v.Kind != Scalar {
		return ""
	}
	return strings.TrimSpace(v.Text)
}

// short reports whether parts of a text are ids, not a title with commas.
func short(parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return strings.ContainsAny(strings.TrimSpace(p), " \t\n") })
}

func evidence(v Value) (numbers []int) {
	list, _ := v.At("evidence").Strings()
	for _, s := range list {
		if n, err := strconv.Atoi(s); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// claims splits a rationale by rule: each item of a list, each bullet or line of a
// text, and each sentence of these is a claim. YAML reads "Speed: it is fast" without
// quotes as a map of one key. Bad are the lines of what is no text.
func claims(v Value) (list []Claim, bad []int) {
	items := []Value{v}
	if v.Kind == List {
		items = v.Items
	}
	for _, i := range items {
		text := i.Text
		switch {
		case i.Kind == Empty:
			continue
		case i.Kind == Map && len(i.Keys) == 1 && i.Items[0].Kind == Scalar:
			text = i.Keys[0] + ": " + i.Items[0].Text
		case i.Kind != Scalar:
			bad = append(bad, i.Line)
			continue
		}
		for _, s := range SplitClaims(text) {
			list = append(list, Claim{s, i.Line})
		}
	}
	return list, bad
}

// Findings lists the findings of the format, the ontology and the links, by file
// and line.
func (b *Base) Findings() []Finding { return slices.Clone(b.findings) }

// Rates counts files, those that conform to the format, and those that are valid by
// the ontology.
func (b *Base) Rates() (files, conformant, valid int) {
	badFormat, invalid := map[string]bool{}, map[string]bool{}
	for _, f := range b.findings {
		if f.Severity != Error {
			continue
		}
		invalid[f.File] = true
		if f.OfFormat() {
			badFormat[f.File] = true
		}
	}
	files = len(b.Atoms) + b.unread
	for _, a := range b.Atoms {
		if !badFormat[a.File] {
			conformant++
		}
		if !invalid[a.File] {
			valid++
		}
	}
	return files, conformant, valid
}

// check validates an atom by the ontology.
func (b *Base) check(i int) (list []Finding) {
	o, a, d := b.Ontology, &b.Atoms[i], b.Documents[b.of[i]]
	if d.damaged() {
		return nil
	}
	add := func(code Code, s Severity, line int, format string, args ...any) {
		list = append(list, Finding{code, s, a.File, line, fmt.Sprintf(format, args...)})
	}
	lineOf := func(key string) int {
		f, ok := d.Field(key)
		if !ok {
			return 1
		}
		return f.Line
	}
	required := []string{o.Key(ontology.KeyID), o.Key(ontology.KeyTitle)}
	if t, ok := o.Type(a.Type); ok {
		required = append(required, t.Required...)
	} else if a.Type != "" {
		add(CodeUnknownType, Error, lineOf(o.Key(ontology.KeyType)), "unknown type %q: want one of %s", a.Type, strings.Join(o.TypeNames(), ", "))
	}
	for i, key := range required {
		switch f, ok := d.Field(key); {
		case !ok, f.Value.Kind == Empty, f.Value.Kind == Scalar && strings.TrimSpace(f.Value.Text) == "", f.Value.Kind == List && len(f.Value.Items) == 0:
			add(CodeMissing, Error, lineOf(key), "%s is missing", key)
		case i < 2 && f.Value.Kind != Scalar: // id and title
			add(CodeMissing, Error, f.Line, "%s is no text: write it without brackets and braces, or put quotes around it", key)
		}
	}
	if a.ID != "" && !o.ValidID(a.ID) {
		add(CodeBadID, Error, lineOf(o.Key(ontology.KeyID)), "id %q: want %s", a.ID, o.IDs)
	}
	for i, f := range d.Fields {
		if values, ok := o.Enums[f.Key]; ok && f.Value.Kind != Empty && (f.Value.Kind != Scalar || !slices.Contains(values, f.Value.Text)) {
			add(CodeEnum, Error, f.Line, "%s is %q: want one of %s", f.Key, f.Value.Text, strings.Join(values, ", "))
		}
		again := slices.ContainsFunc(d.Fields[:i], func(o Field) bool { return o.Key == f.Key }) // an edge is its first field
		if e, ok := o.Edge(f.Key); ok && !again {
			b.checkEdge(a, e, f, add)
		}
	}
	if f, ok := d.Field(ontology.KeyRationale); ok {
		_, bad := claims(f.Value)
		for _, line := range bad {
			add(CodeClaimForm, Error, cmp.Or(line, f.Line), "%s: want a text, or a list of texts: put quotes around each", ontology.KeyRationale)
		}
	}
	return list
}

func (b *Base) checkEdge(a *Atom, e ontology.Edge, f Field, add func(Code, Severity, int, string, ...any)) {
	var own []Link
	for _, l := range a.Links {
		if l.Edge == e.Name {
			own = append(own, l)
		}
	}
	_, bad := targets(e.Name, f.Value)
	for _, line := range bad {
		add(CodeEdgeForm, Error, cmp.Or(line, f.Line), "%s: want an id, title or link, or a list of them", e.Name)
	}
	if len(own) == 0 {
		return
	}
	if e.Kind == ontology.Single && len(own) > 1 {
		add(CodeSingle, Error, f.Line, "%s has %d targets: want one", e.Name, len(own))
	}
	if _, known := b.Ontology.Type(a.Type); known && !ontology.Allows(e.From, a.Type) {
		add(CodeFrom, Error, f.Line, "a %s must not have %s: only %s", a.Type, e.Name, strings.Join(e.From, ", "))
	}
	seen := map[int]bool{}
	for _, l := range own {
		switch {
		case l.To < 0:
			add(CodeUnresolved, Warning, l.Line, "%s: no atom %q", e.Name, l.Written)
			continue
		case seen[l.To] && e.Kind != ontology.Ordered:
			add(CodeDuplicateTarget, Warning, l.Line, "%s: %q is listed twice", e.Name, l.Written)
		}
		seen[l.To] = true
		if to := b.Atoms[l.To].Type; !ontology.Allows(e.To, to) {
			add(CodeTo, Error, l.Line, "%s: %q is a %s: want %s", e.Name, l.Written, to, strings.Join(e.To, ", "))
		}
	}
}
