package atoms

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model/simulated"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// instructions are the system prompt of the built-in pipeline.
//
//go:embed instructions.txt
var instructions string

const toolName = "record_atoms"

// A candidate is an atom as a model or the outline proposes it.
type candidate struct {
	Type, Title, Description, Confidence string
	Rationale                            []string
	Edges                                map[string][]string // targets by title or id
}

// candidateSchema is the JSON Schema of the arguments of the tool.
func candidateSchema(o *ontology.Ontology) []byte {
	type object = map[string]any
	texts := object{"type": "array", "items": object{"type": "string"}}
	properties := object{
		"type":        object{"type": "string", "enum": o.TypeNames()},
		"title":       object{"type": "string", "description": "short name, as in the document"},
		"description": object{"type": "string", "description": "one sentence from the document"},
	}
	for _, t := range o.Types {
		if slices.Contains(t.Required, ontology.KeyRationale) {
			properties[ontology.KeyRationale] = object{"type": "array", "items": object{"type": "string"}, "description": "of a " + t.Name + ": its reasons, one claim each"}
		}
	}
	if values := o.Enums["confidence"]; len(values) > 0 {
		properties["confidence"] = object{"type": "string", "enum": values}
	}
	for _, e := range o.Edges {
		what := " (titles)"
		if e.Kind == ontology.Single {
			what = " (title, one at most)" // some providers refuse maxItems
		}
		properties[e.Name] = object{"type": texts["type"], "items": texts["items"], "description": strings.TrimSpace(e.Doc + what)}
	}
	return kit.JSON(object{
		"type": "object", "required": []string{"atoms"}, "additionalProperties": false,
		"properties": object{"atoms": object{"type": "array", "items": object{
			"type": "object", "required": []string{"type", "title"}, "additionalProperties": false, "properties": properties}}},
	})
}

// extractRequest asks for the candidates of one document with a forced tool call,
// unless the model's settings ask for structure in another way.
func (b *bench) extractRequest(a *arm, c *sample, d source) eval.Request {
	r := kit.RequestTo(a.Settings)
	r.Item, r.System = c.id, a.instructions
	r.Messages = []eval.Message{{Role: "user", Content: "Document " + d.Name + ":\n\n" + d.Text}}
	settings := *a.Settings
	settings.Structured = cmp.Or(settings.Structured, "tool")
	kit.Structure(&r, &settings, eval.Schema{Name: toolName, JSON: b.schema}, eval.Tool{Name: toolName, Description: "Records the atoms of a document."})
	if c.gold != nil {
		sheet := sheetOf(c, d)
		if a.Simulated {
			r.Payload = simulated.Encode(sheet)
		}
		r.Foreseen = func() string { return answerOf(sheet) }
	}
	return r
}

// pipeline asks about each document, and then works without a model: it makes ids,
// merges duplicates, links and writes files.
func (b *bench) pipeline(ctx context.Context, a *arm, c *sample, ask eval.Asker) (eval.Outcome, error) {
	var all []candidate
	var unread eval.Outcome // of the last document without a readable answer
	var notes []string
	readable := 0
	for i, d := range c.sources {
		response, err := ask.Ask(ctx, fmt.Sprintf("extract/%d", i+1), b.extractRequest(a, c, d))
		if err != nil {
			return eval.Outcome{}, err
		}
		found, read := b.readCandidates(response)
		if read.Kind != eval.OK {
			unread, notes = read, append(notes, d.Name+": "+read.Reason)
			continue
		}
		for _, note := range read.Notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		readable++
		all = append(all, found...)
	}
	if readable == 0 {
		unread.Notes = notes
		return unread, nil
	}
	return eval.Outcome{Kind: eval.OK, Notes: notes, Data: kit.JSON(bundle{Files: write(all, b.ontology)})}, nil
}

// readCandidates reads the candidates in a model's answer about a document, and what it is.
func (b *bench) readCandidates(r eval.Response) (list []candidate, o eval.Outcome) {
	raw := r.Answer(toolName)
	lacks := func(kind eval.OutcomeKind, reason, detail string) ([]candidate, eval.Outcome) {
		return nil, eval.Outcome{Kind: kind, Reason: reason, Detail: detail, Data: []byte(raw)}
	}
	if r.Stop == eval.StopRefused {
		return lacks(eval.Refused, declined, r.Refusal)
	}
	found, err := text.ReadObjectWith(raw, "atoms")
	if err != nil {
		return lacks(eval.Malformed, noJSON, err.Error())
	}
	if found.Cut || r.Stop == eval.StopLength {
		return lacks(eval.Malformed, cutOff, "the answer ends before its JSON does")
	}
	var answer struct {
		Atoms []map[string]any `json:"atoms"`
	}
	if err := json.Unmarshal(found.JSON, &answer); err != nil {
		return lacks(eval.Malformed, noAtoms, err.Error())
	}
	if answer.Atoms == nil {
		return lacks(eval.Malformed, noAtoms, `want an object with the list "atoms", which may be empty`)
	}
	untitled := 0
	for _, raw := range answer.Atoms {
		if raw == nil {
			continue
		}
		c := candidate{Type: word(raw["type"]), Title: word(raw["title"]), Description: word(raw["description"]), Confidence: word(raw["confidence"]),
			Rationale: words(raw[ontology.KeyRationale]), Edges: map[string][]string{}}
		for _, e := range b.ontology.Edges {
			if targets := words(raw[e.Name]); len(targets) > 0 {
				c.Edges[e.Name] = targets
			}
		}
		if c.Title == "" {
			untitled++
			continue
		}
		list = append(list, c)
	}
	if len(list) == 0 && untitled > 0 {
		return lacks(eval.Malformed, noAtoms, text.Plural(untitled, "entry", "entries")+" without a title, and none with one")
	}
	return list, eval.Outcome{Kind: eval.OK, Notes: notesOn(found)}
}

func word(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
}

func words(v any) (list []string) {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	for _, i := range items {
		if s := word(i); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// A made atom is a candidate with its id.
type made struct {
	candidate
	id string
}

// write turns candidates into files: it makes ids, merges candidates of one type and
// title, links edges to ids and composes the files. An edge whose target was not
// extracted keeps the id the target would have.
func write(candidates []candidate, o *ontology.Ontology) []okf.File {
	var atoms []*made
	byTitle := map[[2]string]*made{}
	ids := map[string]bool{}
	for _, c := range candidates {
		key := [2]string{c.Type, okf.Normal(c.Title)}
		if same := byTitle[key]; same != nil {
			same.merge(c, o)
			continue
		}
		m := &made{candidate: c, id: unique(ids, idOf(c.Title), c.Type)}
		m.Edges = map[string][]string{}
		m.Rationale = nil
		m.merge(c, o)
		byTitle[key] = m
		atoms = append(atoms, m)
	}
	titled, withID := map[string][]int{}, map[string]int{} // indices of atoms
	for i, m := range atoms {
		normal := okf.Normal(m.Title)
		titled[normal], withID[m.id] = append(titled[normal], i), i
	}
	// target finds an atom by title or id, first one of an allowed type.
	target := func(name string, to []string) string {
		found := slices.Clone(titled[okf.Normal(name)])
		if i, ok := withID[idOf(name)]; ok {
			found = append(found, i)
			slices.Sort(found)
		}
		for _, i := range found {
			if ontology.Allows(to, atoms[i].Type) {
				return atoms[i].id
			}
		}
		if len(found) > 0 {
			return atoms[found[0]].id
		}
		return ""
	}
	for _, m := range atoms {
		for _, e := range o.Edges {
			for k, name := range m.Edges[e.Name] {
				m.Edges[e.Name][k] = cmp.Or(target(name, e.To), idOf(name))
			}
		}
	}
	slices.SortStableFunc(atoms, func(a, b *made) int { return strings.Compare(a.id, b.id) })
	files := make([]okf.File, 0, len(atoms))
	for _, m := range atoms {
		name := m.id + ".md"
		if okf.Reserved(name) {
			name = m.id + ".atom.md" // no id has a point
		}
		files = append(files, okf.File{Path: path.Join(okf.Slug(m.Type), name), Data: m.compose(o)})
	}
	return files
}

// idOf makes an id of a title. A long one is cut: a file is named by it.
func idOf(title string) string {
	const most = 160 // bytes, of the 255 that a name may have
	id := cmp.Or(okf.Slug(title), "unnamed")
	if len(id) > most {
		id = strings.ToValidUTF8(id[:most], "") + "-" + kit.Hash(id).String()[:8]
	}
	return id
}

// unique is an id that no other atom has.
func unique(ids map[string]bool, slug, kind string) string {
	id := slug
	if ids[id] {
		id = slug + "-" + okf.Slug(kind)
	}
	for n := 2; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", slug, n)
	}
	ids[id] = true
	return id
}

// merge adds what another candidate of the same atom says. Targets of a set are listed
// once. Those of an ordered edge may occur several times, as a review before and after a
// fix: of two lists the one that contains the other counts, else the targets that only
// the second has follow the first.
func (m *made) merge(c candidate, o *ontology.Ontology) {
	m.Description, m.Confidence = cmp.Or(m.Description, c.Description), cmp.Or(m.Confidence, c.Confidence)
	for name, targets := range c.Edges {
		if e, ok := o.Edge(name); ok && e.Kind == ontology.Ordered {
			switch have := m.Edges[name]; {
			case within(have, targets):
				m.Edges[name] = slices.Clone(targets)
				continue
			case within(targets, have):
				continue
			}
		}
		have := map[string]bool{}
		for _, t := range m.Edges[name] {
			have[okf.Normal(t)] = true
		}
		for _, t := range targets {
			if n := okf.Normal(t); !have[n] {
				have[n] = true
				m.Edges[name] = append(m.Edges[name], t)
			}
		}
	}
	for _, claim := range c.Rationale {
		if !slices.ContainsFunc(m.Rationale, func(have string) bool { return text.Fold(have) == text.Fold(claim) }) {
			m.Rationale = append(m.Rationale, claim)
		}
	}
}

// within reports whether a list has the names of another in their order, perhaps with
// others between them.
func within(part, list []string) bool {
	for _, name := range list {
		if len(part) > 0 && okf.Normal(part[0]) == okf.Normal(name) {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// compose writes the file of an atom.
func (m *made) compose(o *ontology.Ontology) []byte {
	entries := []okf.Entry{
		okf.ScalarEntry(o.Key(ontology.KeyID), m.id),
		okf.ScalarEntry(o.Key(ontology.KeyType), m.Type),
		okf.ScalarEntry(o.Key(ontology.KeyTitle), m.Title),
	}
	for _, e := range o.Edges {
		targets := m.Edges[e.Name]
		if len(targets) == 0 {
			continue
		}
		if e.Kind == ontology.Single && len(targets) == 1 {
			entries = append(entries, okf.ScalarEntry(e.Name, targets[0]))
		} else {
			entries = append(entries, okf.ListEntry(e.Name, targets))
		}
	}
	if len(m.Rationale) > 0 {
		entries = append(entries, okf.ListEntry(ontology.KeyRationale, m.Rationale))
	}
	if m.Confidence != "" {
		entries = append(entries, okf.ScalarEntry("confidence", m.Confidence))
	}
	body := "# " + strings.Join(strings.Fields(m.Title), " ") + "\n"
	if m.Description != "" {
		body += "\n" + m.Description + "\n"
	}
	return okf.Compose(entries, body)
}

// sheetOf is the right answer about a document, an atom each, with the errors that a
// simulated model makes: it misses an atom, drops most of its edges, or invents a claim. An
// atom that no document names is in the first.
func sheetOf(c *sample, d source) simulated.Sheet {
	s := simulated.Sheet{Prefix: `{"atoms": [`, Separator: ", ", Suffix: "]}"}
	for i := range c.gold.Atoms {
		a := &c.gold.Atoms[i]
		if d.Name != c.sources[named(c, a)].Name {
			continue
		}
		right := goldCandidate(c.gold, a)
		wrong := right
		wrong.Edges = map[string][]string{} // but for those that an atom of the graph needs
		for name, targets := range right.Edges {
			if e, _ := c.gold.Ontology.Edge(name); e.Total {
				wrong.Edges[name] = targets
			}
		}
		part := simulated.Part{Right: right.json(), Alternatives: map[string]string{simulated.Miss: "null", simulated.Wrong: wrong.json()}}
		if len(right.Rationale) > 0 {
			invented := right
			invented.Rationale = append(slices.Clone(right.Rationale), "It was required by an external auditor after a failed inspection.")
			part.Alternatives[simulated.Fabricate] = invented.json()
		}
		s.Parts = append(s.Parts, part)
	}
	return s
}

// named is the first document that names an atom.
func named(c *sample, a *okf.Atom) int {
	for i, d := range c.sources {
		if strings.Contains(text.Fold(d.Text), text.Fold(a.Title)) {
			return i
		}
	}
	return 0
}

func goldCandidate(b *okf.Base, a *okf.Atom) candidate {
	c := candidate{Type: a.Type, Title: a.Title, Confidence: a.Confidence, Edges: map[string][]string{}}
	for _, l := range a.Links {
		target := l.Written
		if l.To >= 0 {
			target = b.Atoms[l.To].Title
		}
		c.Edges[l.Edge] = append(c.Edges[l.Edge], target)
	}
	for _, claim := range a.Claims {
		c.Rationale = append(c.Rationale, claim.Text)
	}
	return c
}

func (c candidate) json() string {
	m := map[string]any{"type": c.Type, "title": c.Title}
	if c.Confidence != "" {
		m["confidence"] = c.Confidence
	}
	if len(c.Rationale) > 0 {
		m[ontology.KeyRationale] = c.Rationale
	}
	for name, targets := range c.Edges {
		m[name] = targets
	}
	return string(kit.JSON(m))
}

func answerOf(s simulated.Sheet) string {
	var parts []string
	for _, p := range s.Parts {
		parts = append(parts, p.Right)
	}
	return s.Prefix + strings.Join(parts, s.Separator) + s.Suffix
}
