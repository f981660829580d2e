package atoms

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/atoms/graph"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// ontologyFile is an ontology in a folder of atoms.
const ontologyFile = "ontology.yaml"

// ontologyOf reads the ontology of a folder; nil if it has none.
func ontologyOf(dir string) (*ontology.Ontology, error) {
	data, err := dataset.ReadFile(filepath.Join(dir, ontologyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the ontology: %w", err)
	}
	o, err := ontology.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, ontologyFile), err)
	}
	return o, nil
}

// checked is what is known of a folder of atoms.
type checked struct {
	Folder     string         `json:"folder"`
	Ontology   string         `json:"ontology"`
	Files      int            `json:"files"`
	Conformant int            `json:"conformant"`
	Valid      int            `json:"valid"`
	Edges      int            `json:"edges"`
	Links      map[string]int `json:"links"` // in texts, by what they lead to
	Errors     int            `json:"errors"`
	Warnings   int            `json:"warnings"`
	Findings   []okf.Finding  `json:"findings"`
}

// checkFolder reads a folder of atoms and lists its findings, those of its graph and
// the links in its texts that lead nowhere. It changes nothing.
func checkFolder(dir string) (kit.Checked, error) {
	c := &checked{Folder: dir, Ontology: "default", Links: map[string]int{}, Findings: []okf.Finding{}}
	o, err := ontologyOf(dir)
	if err != nil {
		return nil, err
	} else if o != nil {
		c.Ontology = ontologyFile
	} else {
		o = ontology.Default()
	}
	files, findings, err := okf.ReadFolder(dir)
	if err != nil {
		return nil, err
	}
	b := okf.Load(files, findings, o)
	c.Files, c.Conformant, c.Valid = b.Rates()
	c.Findings = append(append(c.Findings, b.Findings()...), graph.Integrity(b)...)
	for _, a := range b.Atoms {
		c.Edges += len(a.Links)
	}
	for _, l := range b.BodyLinks() {
		c.Links[string(l.Kind)]++
		if l.Kind == okf.Unresolved {
			c.Findings = append(c.Findings, okf.Finding{Code: okf.CodeUnresolved, Severity: okf.Warning, File: l.File, Line: l.Line, Text: fmt.Sprintf("text: no atom %q", l.Written)})
		}
	}
	for _, d := range b.Documents {
		if len(d.Body()) > okf.MaxLinked {
			c.Findings = append(c.Findings, okf.Finding{Code: okf.CodeTooLarge, Severity: okf.Warning, File: d.Path, Text: fmt.Sprintf("the text has more than %d bytes: it is not searched for links", okf.MaxLinked)})
		}
	}
	okf.SortFindings(c.Findings)
	c.Errors, c.Warnings = severities(c.Findings)
	if c.Files == 0 {
		return nil, fmt.Errorf("%s has no Markdown files but perhaps index.md and log.md, which are no atoms", dir)
	}
	return c, nil
}

// OK reports whether there are no errors.
func (c *checked) OK() bool { return c.Errors == 0 }

// String lists the findings and the rates.
func (c *checked) String() string {
	var s strings.Builder
	for _, f := range c.Findings {
		s.WriteString(f.String() + "\n")
	}
	fmt.Fprintf(&s, "%s: %s, ontology: %s\n", c.Folder, text.Plural(c.Files, "atom", "atoms"), c.Ontology)
	fmt.Fprintf(&s, "conformant %d of %d, valid %d of %d, %s, %s\n", c.Conformant, c.Files, c.Valid, c.Files, text.Plural(c.Errors, "error", "errors"), text.Plural(c.Warnings, "warning", "warnings"))
	fmt.Fprintf(&s, "edges %d, links in texts: %d to atoms, %d in the same file, %d external, %d unresolved\n", c.Edges, c.Links[string(okf.ToAtom)], c.Links[string(okf.ToPlace)], c.Links[string(okf.External)], c.Links[string(okf.Unresolved)])
	return s.String()
}
