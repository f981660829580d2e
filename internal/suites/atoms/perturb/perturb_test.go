package perturb_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/atoms/perturb"
)

func file(path, text string) okf.File { return okf.File{Path: path, Data: []byte(text)} }

// Every kind of damage changes files at its rate, and is the same again. Files that
// it does not concern keep their bytes.
func TestRates(t *testing.T) {
	files := []okf.File{
		file("d1.md", "---\nid: d-one\ntype: decision\ntitle: D one\nrelates_to: [s-one]\nrationale: [A b., C d.]\nconfidence: asserted\n---\n"),
		file("d2.md", "---\nid: d-two\ntype: decision\ntitle: D two\nrelates_to: [s-two]\nrationale: [A b., C d.]\nconfidence: inferred\n---\n"),
		file("p1.md", "---\nid: p-one\ntype: process\ntitle: P one\nowner: r-one\nuses: [s-one]\nproduces: [a-one]\n---\n"),
		file("p2.md", "---\nid: p-two\ntype: process\ntitle: P two\nowner: r-two\nuses: [s-two]\nproduces: [a-two]\n---\n"),
		file("r1.md", "---\nid: r-one\ntype: role\ntitle: R one\n---\n"), file("r2.md", "---\nid: r-two\ntype: role\ntitle: R two\n---\n"),
		file("s1.md", "---\nid: s-one\ntype: system\ntitle: S one\n---\n"), file("s2.md", "---\nid: s-two\ntype: system\ntitle: S two\n---\n"),
		file("a1.md", "---\nid: a-one\ntype: artifact\ntitle: A one\n---\n"), file("a2.md", "---\nid: a-two\ntype: artifact\ntitle: A two\n---\n"),
		file("w1.md", "---\nid: w-one\ntype: workflow\ntitle: W one\nstages: [p-one, p-two]\n---\n"), file("w2.md", "---\nid: w-two\ntype: workflow\ntitle: W two\nstages: [p-two, p-one]\n---\n"),
	}
	before := slices.Clone(files)
	for i := range before {
		before[i].Data = bytes.Clone(files[i].Data)
	}
	o := ontology.Default()
	for _, kind := range perturb.Kinds() {
		changed := func(rate float64) (n int, result []okf.File) {
			result, err := perturb.Damage(files, o, kind, rate)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				at := slices.IndexFunc(result, func(r okf.File) bool { return r.Path == f.Path })
				if at < 0 || !bytes.Equal(result[at].Data, f.Data) {
					n++
				}
			}
			return n + max(0, len(result)-len(files)), result
		}
		half, first := changed(0.5)
		all, _ := changed(1)
		if half == 0 || all < half || all == half && kind != perturb.BadIDs { // ids are in the edges of most files
			t.Errorf("%s changes %d files at 50 %% and %d at 100 %%", kind, half, all)
		}
		_, second := changed(0.5)
		if !slices.EqualFunc(first, second, func(a, b okf.File) bool { return a.Path == b.Path && bytes.Equal(a.Data, b.Data) }) {
			t.Errorf("%s differs the second time", kind)
		}
	}
	for i := range files {
		if !bytes.Equal(files[i].Data, before[i].Data) {
			t.Fatalf("%s was changed in place", files[i].Path)
		}
	}
	if _, err := perturb.Damage(files, o, perturb.BadIDs, 1.5); err == nil {
		t.Error("a rate above 1 is accepted")
	}
}
