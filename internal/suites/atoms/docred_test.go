package atoms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A node and a relation of a data set with a graph.
type node struct {
	kind, title string
}

type relation struct {
	from, to int
	kind     string
	evidence []int
}

// edgeKeyOf is the front-matter key of a relation.
func edgeKeyOf(relation string) string {
	return "r_" + strings.ReplaceAll(okf.Slug(relation), "-", "_")
}

// atomID is the id of the entity at an index.
func atomID(i int) string { return fmt.Sprintf("e%d", i) }

// graphAtom writes the file of an entity with its relations.
func graphAtom(id string, n node, out []*relation) []byte {
	var b strings.Builder
	entries := []okf.Entry{okf.ScalarEntry("id", id), okf.ScalarEntry("type", n.kind), okf.ScalarEntry("title", n.title)}
	b.Write(okf.Compose(entries, ""))
	front := strings.TrimSuffix(b.String(), "---\n")
	slices.SortStableFunc(out, func(x, y *relation) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.to, y.to)) })
	last := ""
	for _, r := range out {
		if key := edgeKeyOf(r.kind); key != last {
			front += key + ":\n"
			last = key
		}
		front += "  - {to: " + atomID(r.to)
		if len(r.evidence) > 0 {
			slices.Sort(r.evidence)
			front += ", evidence: " + strings.ReplaceAll(fmt.Sprint(slices.Compact(r.evidence)), " ", ", ")
		}
		front += "}\n"
	}
	return []byte(front + "---\n")
}

// docRED is a document of Re-DocRED.
type docRED struct {
	Title     string     `json:"title"`
	Sentences [][]string `json:"sents"`
	Vertices  [][]struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"vertexSet"`
	Labels []struct {
		Head     int    `json:"h"`
		Tail     int    `json:"t"`
		Relation string `json:"r"`
		Evidence []int  `json:"evidence"`
	} `json:"labels"`
}

// atomsOf are the files of the entities of a document with their relations.
func (d *docRED) atomsOf(relations []relation) map[string]string {
	outgoing := make([][]*relation, len(d.Vertices))
	for i, r := range relations {
		outgoing[r.from] = append(outgoing[r.from], &relations[i])
	}
	files := map[string]string{}
	for i, v := range d.Vertices {
		files[atomID(i)+".md"] = string(graphAtom(atomID(i), node{v[0].Type, v[0].Name}, outgoing[i]))
	}
	return files
}

// gold are the relations of a document. One that occurs twice is one edge with the evidence
// of both.
func (d *docRED) gold() (list []relation) {
	for _, l := range d.Labels {
		same := func(r relation) bool { return r.from == l.Head && r.to == l.Tail && r.kind == l.Relation }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].evidence = append(list[i].evidence, l.Evidence...)
			continue
		}
		list = append(list, relation{l.Head, l.Tail, l.Relation, slices.Clone(l.Evidence)})
	}
	return list
}

// corpusOfDocRED is a corpus of documents with their entities as atoms.
func corpusOfDocRED(t testing.TB, documents []docRED) *bench {
	types, edges := map[string]bool{}, map[string]bool{}
	ids := map[string]int{}
	lines := []record{{Ontology: &ontology.Ontology{}}}
	for line, d := range documents {
		for _, v := range d.Vertices {
			types[v[0].Type] = true
		}
		for _, r := range d.gold() {
			edges[edgeKeyOf(r.kind)] = true
		}
		lines = append(lines, record{ID: uniqueID(ids, d.Title, line), Sources: []source{{"document.txt", "A text."}}, Gold: d.atomsOf(d.gold())})
	}
	o := lines[0].Ontology
	for _, name := range slices.Sorted(maps.Keys(types)) {
		o.Types = append(o.Types, ontology.Type{Name: name})
	}
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		o.Edges = append(o.Edges, ontology.Edge{Name: name, Kind: ontology.Set})
	}
	var data strings.Builder
	for _, l := range lines {
		line, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		data.Write(append(line, '\n'))
	}
	return mustOpen(t, map[string]string{"c.jsonl": data.String()}, "data={path: c.jsonl}", "arms=[{name: outline}]")
}

// uniqueID makes an id of a title.
func uniqueID(ids map[string]int, title string, line int) string {
	return kit.UniqueID(ids, cmp.Or(okf.Slug(title), fmt.Sprintf("line-%d", line)))
}

// A triple is a prediction in the terms of Re-DocRED.
type triple struct {
	head, tail int
	relation   string
}

// TestDocRED: scores of perturbed predictions equal those of the data set's own rules:
// micro F1 of triples, each once for a document, and micro F1 of the evidence
// sentences of right triples over all that were given and all of gold (evaluation.py of
// DocRED: correct / submitted and correct / gold).
func TestDocRED(t *testing.T) {
	const few = 5 // documents
	var documents []docRED
	_, err := dataset.Scan(filepath.Join("testdata", "redocred.jsonl.gz"), func(line int, data []byte, err error) {
		var d docRED
		if err == nil {
			err = dataset.DecodeLoose(data, &d)
		}
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		documents = append(documents, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	documents = documents[:few]
	b := corpusOfDocRED(t, documents)
	ids := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		clear(ids)
		answers := map[string]*bundle{}
		var right, submitted, gold, rightEvidence, submittedEvidence, goldEvidence float64
		for line, d := range documents {
			truth := map[triple]map[int]bool{}
			for _, l := range d.Labels {
				k := triple{l.Head, l.Tail, l.Relation}
				if truth[k] == nil {
					truth[k] = map[int]bool{}
				}
				for _, e := range l.Evidence {
					truth[k][e] = true
				}
			}
			gold += float64(len(truth))
			for _, e := range truth {
				goldEvidence += float64(len(e))
			}
			predicted := map[triple][]int{}
			for _, l := range d.Labels {
				switch rapid.IntRange(0, 5).Draw(t, "fate") {
				case 0: // dropped
				case 1:
					predicted[triple{l.Tail, l.Head, l.Relation}] = l.Evidence
				case 2:
					predicted[triple{l.Head, l.Tail, d.Labels[0].Relation}] = []int{0}
				case 3:
					predicted[triple{l.Head, l.Tail, l.Relation}] = []int{0, 1}
				default:
					predicted[triple{l.Head, l.Tail, l.Relation}] = l.Evidence
				}
			}
			var relations []relation
			for k, e := range predicted {
				set := map[int]bool{}
				for _, n := range e {
					set[n] = true
				}
				submitted++
				submittedEvidence += float64(len(set))
				if truth[k] != nil {
					right++
					for n := range set {
						if truth[k][n] {
							rightEvidence++
						}
					}
				}
				relations = append(relations, relation{k.head, k.tail, k.relation, slices.Clone(e)})
			}
			files := d.atomsOf(relations)
			made := new(bundle)
			for _, p := range slices.Sorted(maps.Keys(files)) {
				made.Files = append(made.Files, okf.File{Path: p, Data: []byte(files[p])})
			}
			answers[uniqueID(ids, d.Title, line)] = made
		}
		got := b.pooled(answers)
		f1 := func(right, submitted, gold float64) float64 {
			p, r := right/submitted, right/gold
			return 2 * p * r / (p + r)
		}
		if want := f1(right, submitted, gold); !(math.Abs(got[metricEdgeF1]-want) <= 1e-12) {
			t.Fatalf("edge F1 %v, by the rules of the data %v", got[metricEdgeF1], want)
		}
		if want := f1(rightEvidence, submittedEvidence, goldEvidence); !(math.Abs(got[metricEvidence]-want) <= 1e-12) {
			t.Fatalf("evidence F1 %v, by the rules of the data %v", got[metricEvidence], want)
		}
		if got[metricAtomF1] != 1 || got[metricValidity] != 1 {
			t.Fatalf("atom F1 %v, validity %v", got[metricAtomF1], got[metricValidity])
		}
	})
}
