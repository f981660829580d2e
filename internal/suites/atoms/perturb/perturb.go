// Package perturb damages perfect files of atoms in the ways in which real
// extractors fail, at known rates, to test that each metric falls where it should and
// stays where it should not.
//
// The package must not know scores.
package perturb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
)

// A Kind is a kind of damage.
type Kind string

// The kinds of damage.
const (
	BadIDs            Kind = "bad-ids"              // ids with spaces and capitals, everywhere
	PluralDuplicates  Kind = "plural-duplicates"    // an atom twice, in singular and plural
	WrongTypes        Kind = "wrong-types"          // a system typed artifact
	OrphanArtifacts   Kind = "orphan-artifacts"     // an artifact that nothing produces
	SeveralProducers  Kind = "several-producers"    // a second producer of an artifact
	WrongProducers    Kind = "wrong-producers"      // a role that produces
	DanglingEdges     Kind = "dangling-edges"       // a target that does not exist
	ReorderedStages   Kind = "reordered-stages"     // the first two stages swapped
	EnumProse         Kind = "enum-prose"           // prose after the value of an enum
	FabricatedClaims  Kind = "fabricated-rationale" // a claim that no source has
	OmittedClaims     Kind = "omitted-rationale"    // the last of several claims is lost
	LostRationale     Kind = "lost-rationale"       // the writer drops the field
	DroppedEdges      Kind = "dropped-edges"        // the writer drops the last target of uses
	ChangedIDs        Kind = "changed-ids"          // the writer changes an id, not the edges to it
	DroppedAtoms      Kind = "dropped-atoms"        // the file of a system is missing
	BrokenFrontMatter Kind = "broken-front-matter"  // the front matter is not YAML
)

// Kinds lists the kinds of damage.
func Kinds() []Kind {
	return []Kind{BadIDs, PluralDuplicates, WrongTypes, OrphanArtifacts, SeveralProducers, WrongProducers, DanglingEdges, ReorderedStages, EnumProse,
		FabricatedClaims, OmittedClaims, LostRationale, DroppedEdges, ChangedIDs, DroppedAtoms, BrokenFrontMatter}
}

// Damage damages a share of the atoms that can have the damage, rounded up and spread
// evenly over them in the order of their files. Files of others stay as they are.
func Damage(files []okf.File, o *ontology.Ontology, kind Kind, rate float64) ([]okf.File, error) {
	if !(rate > 0 && rate <= 1) {
		return nil, fmt.Errorf("damage %s: rate %v: want more than 0, at most 1", kind, rate)
	}
	sorted, _ := okf.SortFiles(slices.Clone(files))
	d := &damage{base: okf.Load(sorted, nil, o), files: sorted}
	var can []int
	for i := range d.base.Atoms {
		if d.applies(kind, i) {
			can = append(can, i)
		}
	}
	n := int(math.Ceil(rate*float64(len(can)) - 1e-9))
	for k := range n {
		i := can[k*len(can)/n]
		if err := d.apply(kind, i); err != nil {
			return nil, fmt.Errorf("damage %s of %s: %w", kind, d.base.Atoms[i].File, err)
		}
	}
	d.files = append(d.files, d.more...)
	if kind == DroppedAtoms {
		d.files = slices.DeleteFunc(d.files, func(f okf.File) bool { return f.Data == nil })
	}
	return d.files, nil
}

type damage struct {
	base  *okf.Base
	files []okf.File // in the order of the atoms
	more  []okf.File
}

func (d *damage) applies(kind Kind, i int) bool {
	a := &d.base.Atoms[i]
	switch kind {
	case PluralDuplicates, WrongTypes, DroppedAtoms:
		return a.Type == "system"
	case OrphanArtifacts:
		return a.Type == "artifact"
	case SeveralProducers:
		return a.Type == "process" && d.foreign(i) >= 0
	case WrongProducers:
		return a.Type == "role" && d.foreign(i) >= 0
	case DanglingEdges:
		return d.count(i, "relates_to") > 0
	case ReorderedStages:
		return d.count(i, "stages") > 1
	case EnumProse:
		return a.Confidence != ""
	case FabricatedClaims, LostRationale:
		return len(a.Claims) > 0
	case OmittedClaims:
		return len(a.Claims) > 1
	case DroppedEdges:
		return d.count(i, "uses") > 0
	case ChangedIDs:
		return a.Type == "role"
	}
	return true
}

// count counts the targets of an edge.
func (d *damage) count(i int, edge string) (n int) {
	for _, l := range d.base.Atoms[i].Links {
		if l.Edge == edge {
			n++
		}
	}
	return n
}

// foreign finds an artifact that the atom does not produce.
func (d *damage) foreign(i int) int {
	for k := range d.base.Atoms {
		if d.base.Atoms[k].Type == "artifact" && !slices.ContainsFunc(d.base.Atoms[i].Links, func(l okf.Link) bool { return l.Edge == "produces" && l.To == k }) {
			return k
		}
	}
	return -1
}

func (d *damage) targets(i int, edge string) (list []string) {
	for _, l := range d.base.Atoms[i].Links {
		if l.Edge == edge {
			list = append(list, l.Written)
		}
	}
	return list
}

func (d *damage) claims(i int) (list []string) {
	for _, c := range d.base.Atoms[i].Claims {
		list = append(list, c.Text)
	}
	return list
}

// set replaces a field of an atom in its file.
func (d *damage) set(i int, entries ...okf.Entry) error {
	f := &d.files[d.at(i)]
	for _, e := range entries {
		data, err := okf.Parse(f.Path, f.Data).Set(e)
		if err != nil {
			return err
		}
		f.Data = data
	}
	return nil
}

func (d *damage) at(i int) int {
	return slices.IndexFunc(d.files, func(f okf.File) bool { return f.Path == d.base.Atoms[i].File })
}

// add writes a new file.
func (d *damage) add(entries ...okf.Entry) {
	d.more = append(d.more, okf.File{Path: entries[1].List[0] + "/" + entries[0].List[0] + ".md", Data: okf.Compose(entries, "# "+entries[2].List[0]+"\n")})
}

func (d *damage) apply(kind Kind, i int) error {
	a := &d.base.Atoms[i]
	switch kind {
	case BadIDs:
		return d.rename(i, strings.ToUpper(a.ID[:1])+strings.ReplaceAll(a.ID[1:], "-", " "), true)
	case ChangedIDs:
		return d.rename(i, a.ID+"-2", false)
	case PluralDuplicates:
		d.add(okf.ScalarEntry("id", a.ID+"s"), okf.ScalarEntry("type", a.Type), okf.ScalarEntry("title", a.Title+"s"))
	case WrongTypes:
		return d.set(i, okf.ScalarEntry("type", "artifact"))
	case OrphanArtifacts:
		d.add(okf.ScalarEntry("id", "copy-of-"+a.ID), okf.ScalarEntry("type", a.Type), okf.ScalarEntry("title", "Copy of "+a.Title))
	case SeveralProducers, WrongProducers:
		return d.set(i, okf.ListEntry("produces", append(d.targets(i, "produces"), d.base.Atoms[d.foreign(i)].ID)))
	case DanglingEdges:
		list := d.targets(i, "relates_to")
		list[0] = "never-extracted"
		return d.set(i, okf.ListEntry("relates_to", list))
	case ReorderedStages:
		list := d.targets(i, "stages")
		list[0], list[1] = list[1], list[0]
		return d.set(i, okf.ListEntry("stages", list))
	case EnumProse:
		return d.set(i, okf.ScalarEntry("confidence", a.Confidence+" (as stated in the minutes)"))
	case FabricatedClaims:
		return d.set(i, okf.ListEntry("rationale", append(d.claims(i), "Zebra migration patterns persuaded the astronauts.")))
	case OmittedClaims:
		list := d.claims(i)
		return d.set(i, okf.ListEntry("rationale", list[:len(list)-1]))
	case LostRationale:
		return d.set(i, okf.ListEntry("rationale", nil))
	case DroppedEdges:
		list := d.targets(i, "uses")
		return d.set(i, okf.ListEntry("uses", list[:len(list)-1]))
	case DroppedAtoms:
		d.files[d.at(i)].Data = nil
	case BrokenFrontMatter:
		f := &d.files[d.at(i)]
		f.Data = []byte(strings.Replace(string(f.Data), "title: ", "title: [", 1))
	}
	return nil
}

// rename changes the id of an atom and, if all is set, the edges that lead to it.
func (d *damage) rename(i int, id string, all bool) error {
	old := d.base.Atoms[i].ID
	if err := d.set(i, okf.ScalarEntry("id", id)); err != nil || !all {
		return err
	}
	for k := range d.base.Atoms {
		edges := map[string]bool{}
		for n := range d.base.Atoms[k].Links {
			if l := &d.base.Atoms[k].Links[n]; l.To == i || l.Written == old {
				l.Written = id
				edges[l.Edge] = true
			}
		}
		for _, e := range d.base.Ontology.Edges {
			if edges[e.Name] {
				if err := d.set(k, okf.ListEntry(e.Name, d.targets(k, e.Name))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
