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

// BadIDs are ids with spaces and capitals, everywhere.
const BadIDs Kind = "bad-ids"

// A way is how a kind of damage is done to an atom, and which atoms can have it; nil means all.
type way struct {
	kind Kind
	can  func(d *damage, i int) bool
	do   func(d *damage, i int) error
}

// ways are the kinds of damage.
var ways = []way{
	{BadIDs, nil, func(d *damage, i int) error {
		id := d.atom(i).ID
		return d.rename(i, strings.ToUpper(id[:1])+strings.ReplaceAll(id[1:], "-", " "), true)
	}},
	{"plural-duplicates", typed("system"), func(d *damage, i int) error { // in singular and plural
		return d.add(d.atom(i).ID+"s", d.atom(i).Type, d.atom(i).Title+"s")
	}},
	{"wrong-types", typed("system"), func(d *damage, i int) error { return d.set(i, okf.ScalarEntry("type", "artifact")) }},
	{"orphan-artifacts", typed("artifact"), func(d *damage, i int) error { // that nothing produces
		return d.add("copy-of-"+d.atom(i).ID, d.atom(i).Type, "Copy of "+d.atom(i).Title)
	}},
	{"several-producers", producing("process"), (*damage).produce},
	{"wrong-producers", producing("role"), (*damage).produce},
	{"dangling-edges", listing("relates_to", 1), edited("relates_to", func(list []string) []string {
		return append([]string{"never-extracted"}, list[1:]...)
	})},
	{"reordered-stages", listing("stages", 2), edited("stages", func(list []string) []string {
		list[0], list[1] = list[1], list[0]
		return list
	})},
	{"enum-prose", func(d *damage, i int) bool { return d.atom(i).Confidence != "" }, func(d *damage, i int) error {
		return d.set(i, okf.ScalarEntry("confidence", d.atom(i).Confidence+" (as stated in the minutes)"))
	}},
	{"fabricated-rationale", listing("rationale", 1), edited("rationale", func(list []string) []string {
		return append(list, "Zebra migration patterns persuaded the astronauts.")
	})},
	{"omitted-rationale", listing("rationale", 2), edited("rationale", withoutLast)},
	{"lost-rationale", listing("rationale", 1), edited("rationale", func([]string) []string { return nil })},
	{"dropped-edges", listing("uses", 1), edited("uses", withoutLast)},
	{"changed-ids", typed("role"), func(d *damage, i int) error { // but not in the edges to them
		return d.rename(i, d.atom(i).ID+"-2", false)
	}},
	{"dropped-atoms", typed("system"), func(d *damage, i int) error {
		d.files[d.at(i)].Data = nil
		return nil
	}},
	{"broken-front-matter", nil, func(d *damage, i int) error {
		f := &d.files[d.at(i)]
		f.Data = []byte(strings.Replace(string(f.Data), "title: ", "title: [", 1))
		return nil
	}},
}

// typed, producing and listing are the atoms of a type, those of a type that could produce another
// artifact, and those with a list of so many targets or claims.
func typed(name string) func(*damage, int) bool {
	return func(d *damage, i int) bool { return d.atom(i).Type == name }
}

func producing(name string) func(*damage, int) bool {
	return func(d *damage, i int) bool { return d.atom(i).Type == name && d.foreign(i) >= 0 }
}

func listing(key string, least int) func(*damage, int) bool {
	return func(d *damage, i int) bool { return len(d.list(i, key)) >= least }
}

// edited changes the list of an edge, or of claims.
func edited(key string, change func([]string) []string) func(*damage, int) error {
	return func(d *damage, i int) error { return d.set(i, okf.ListEntry(key, change(d.list(i, key)))) }
}

func withoutLast(list []string) []string { return list[:len(list)-1] }

// Kinds lists the kinds of damage.
func Kinds() (list []Kind) {
	for _, w := range ways {
		list = append(list, w.kind)
	}
	return list
}

// Damage damages a share of the atoms that can have the damage, rounded up and spread
// evenly over them in the order of their files. Files of others stay as they are.
func Damage(files []okf.File, o *ontology.Ontology, kind Kind, rate float64) ([]okf.File, error) {
	if !(rate > 0 && rate <= 1) {
		return nil, fmt.Errorf("damage %s: rate %v: want more than 0, at most 1", kind, rate)
	}
	sorted, _ := okf.SortFiles(slices.Clone(files))
	d, by := &damage{base: okf.Load(sorted, nil, o), files: sorted}, ways[slices.Index(Kinds(), kind)]
	var can []int
	for i := range d.base.Atoms {
		if by.can == nil || by.can(d, i) {
			can = append(can, i)
		}
	}
	n := int(math.Ceil(rate*float64(len(can)) - 1e-9))
	for k := range n {
		i := can[k*len(can)/n]
		if err := by.do(d, i); err != nil {
			return nil, fmt.Errorf("damage %s of %s: %w", kind, d.base.Atoms[i].File, err)
		}
	}
	d.files = append(d.files, d.more...)
	return slices.DeleteFunc(d.files, func(f okf.File) bool { return f.Data == nil }), nil
}

type damage struct {
	base  *okf.Base
	files []okf.File // in the order of the atoms
	more  []okf.File
}

func (d *damage) atom(i int) *okf.Atom { return &d.base.Atoms[i] }

// foreign finds an artifact that the atom does not produce.
func (d *damage) foreign(i int) int {
	for k := range d.base.Atoms {
		if d.base.Atoms[k].Type == "artifact" && !slices.ContainsFunc(d.base.Atoms[i].Links, func(l okf.Link) bool { return l.Edge == "produces" && l.To == k }) {
			return k
		}
	}
	return -1
}

// produce makes an atom one more producer of an artifact.
func (d *damage) produce(i int) error {
	return d.set(i, okf.ListEntry("produces", append(d.list(i, "produces"), d.atom(d.foreign(i)).ID)))
}

// list lists the targets of an edge, or the claims.
func (d *damage) list(i int, key string) (list []string) {
	for _, c := range d.atom(i).Claims {
		if key == "rationale" {
			list = append(list, c.Text)
		}
	}
	for _, l := range d.atom(i).Links {
		if l.Edge == key {
			list = append(list, l.Written)
		}
	}
	return list
}

// set replaces a field of an atom in its file.
func (d *damage) set(i int, e okf.Entry) error {
	f := &d.files[d.at(i)]
	data, err := okf.Parse(f.Path, f.Data).Set(e)
	if err == nil {
		f.Data = data
	}
	return err
}

func (d *damage) at(i int) int {
	return slices.IndexFunc(d.files, func(f okf.File) bool { return f.Path == d.base.Atoms[i].File })
}

// add writes a new file.
func (d *damage) add(id, kind, title string) error {
	entries := []okf.Entry{okf.ScalarEntry("id", id), okf.ScalarEntry("type", kind), okf.ScalarEntry("title", title)}
	d.more = append(d.more, okf.File{Path: kind + "/" + id + ".md", Data: okf.Compose(entries, "# "+title+"\n")})
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
				if err := d.set(k, okf.ListEntry(e.Name, d.list(k, e.Name))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
