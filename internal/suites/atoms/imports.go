package atoms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/suites/atoms/okf"
	"github.com/scruple-eval/scruple/internal/suites/atoms/ontology"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func imports() []kit.Import {
	return []kit.Import{
		{Name: "redocred", Doc: "Re-DocRED (JSON Lines of title, sents, vertexSet, labels): entities become atoms, relations typed edges with their evidence", Convert: fromDocRED},
		{Name: "re3d", Doc: "re3d (JSON Lines of id, text, entities, relations): entities become atoms, relations typed edges", Convert: fromRE3D},
		{Name: "begin", Doc: "BEGIN (JSON Lines of knowledge, response, begin_label): claims with human labels; generic responses are dropped", Convert: fromBEGIN},
		{Name: "halueval", Doc: "HaluEval general (JSON Lines of user_query, chatgpt_response, hallucination): claims with human labels", Convert: fromHaluEval},
		{Name: "mts-dialog", Doc: "MTS-Dialog: FILE is mts_dialog_automatic_summaries.jsonl.gz, with the manual scores beside it: summaries as claims, grounded where people found no hallucination", Convert: fromMTSDialog},
	}
}

// converted reports what an import kept.
type converted struct {
	Cases   int `json:"cases"`
	Atoms   int `json:"atoms,omitempty"`
	Edges   int `json:"edges,omitempty"`
	Dropped int `json:"dropped,omitempty"`
	// Merged are relations with the same ends and type as another one.
	Merged int    `json:"merged,omitempty"`
	Note   string `json:"note,omitempty"`
}

func (c converted) String() string {
	s := fmt.Sprintf("%d cases", c.Cases)
	if c.Atoms > 0 {
		s += fmt.Sprintf(", %d atoms, %d edges", c.Atoms, c.Edges)
	}
	if c.Merged > 0 {
		s += fmt.Sprintf(", %d duplicate relations merged", c.Merged)
	}
	if c.Dropped > 0 {
		s += fmt.Sprintf(", %d dropped", c.Dropped)
	}
	if c.Note != "" {
		s += ": " + c.Note
	}
	return s + "\n"
}

// each decodes the lines of a file, as many as the limit allows.
func each[T any](file string, limit int, visit func(line int, r *T) error) error {
	n := 0
	var first error
	_, err := dataset.Scan(file, func(line int, data []byte, err error) {
		if first != nil || limit > 0 && n == limit {
			return
		}
		r := new(T)
		if err == nil {
			err = dataset.DecodeLoose(data, r)
		}
		if err == nil {
			n++
			err = visit(line, r)
		}
		if err != nil {
			first = fmt.Errorf("%s:%d: %w", file, line, err)
		}
	})
	return cmp.Or(first, err)
}

// A node and a relation of a data set with a graph.
type node struct {
	kind, title string
}

type relation struct {
	from, to int
	kind     string
	evidence []int
}

// graphWriter collects cases as JSON Lines after the ontology they need.
type graphWriter struct {
	lines  []record
	types  map[string]bool
	edges  map[string]bool
	report converted
}

func newGraphWriter() *graphWriter {
	return &graphWriter{types: map[string]bool{}, edges: map[string]bool{}}
}

// edgeKeyOf is the front-matter key of a relation.
func edgeKeyOf(relation string) string {
	return "r_" + strings.ReplaceAll(okf.Slug(relation), "-", "_")
}

// atomID is the id of the entity at an index.
func atomID(i int) string { return fmt.Sprintf("e%d", i) }

// add adds a case. A relation that occurs twice is one edge with the evidence of both.
func (w *graphWriter) add(id, content string, nodes []node, relations []relation) {
	type key struct {
		from, to int
		kind     string
	}
	merged := map[key]*relation{}
	outgoing := make([][]*relation, len(nodes))
	for _, r := range relations {
		k := key{r.from, r.to, r.kind}
		if have := merged[k]; have != nil {
			w.report.Merged++
			have.evidence = append(have.evidence, r.evidence...)
			continue
		}
		own := r
		merged[k] = &own
		outgoing[r.from] = append(outgoing[r.from], &own)
	}
	gold := map[string]string{}
	for i, n := range nodes {
		w.types[n.kind] = true
		gold[atomID(i)+".md"] = string(graphAtom(atomID(i), n, outgoing[i]))
		for _, r := range outgoing[i] {
			w.edges[edgeKeyOf(r.kind)] = true
			w.report.Edges++
		}
	}
	w.report.Cases++
	w.report.Atoms += len(nodes)
	w.lines = append(w.lines, record{ID: id, Sources: []source{{"document.txt", strings.ToValidUTF8(content, "\ufffd")}}, Gold: gold})
}

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

// write returns the lines, the ontology first.
func (w *graphWriter) write() ([]byte, fmt.Stringer, error) {
	o := &ontology.Ontology{}
	for _, t := range slices.Sorted(maps.Keys(w.types)) {
		o.Types = append(o.Types, ontology.Type{Name: t})
	}
	for _, e := range slices.Sorted(maps.Keys(w.edges)) {
		o.Edges = append(o.Edges, ontology.Edge{Name: e, Kind: ontology.Set})
	}
	return encodeLines(append([]record{{Ontology: o}}, w.lines...), w.report)
}

func encodeLines[T any](lines []T, report converted) ([]byte, fmt.Stringer, error) {
	var data []byte
	for _, l := range lines {
		line, err := json.Marshal(l)
		if err != nil {
			return nil, nil, err
		}
		data = append(append(data, line...), '\n')
	}
	return data, report, nil
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

func fromDocRED(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	w := newGraphWriter()
	ids := map[string]int{}
	err := each(file, o.Limit, func(line int, d *docRED) error {
		var nodes []node
		for i, v := range d.Vertices {
			if len(v) == 0 {
				return fmt.Errorf("vertexSet[%d] has no mention", i)
			}
			nodes = append(nodes, node{v[0].Type, v[0].Name})
		}
		var relations []relation
		for i, l := range d.Labels {
			if l.Head < 0 || l.Tail < 0 || l.Head >= len(nodes) || l.Tail >= len(nodes) {
				return fmt.Errorf("labels[%d] joins %d and %d, but the document has %d entities", i, l.Head, l.Tail, len(nodes))
			}
			relations = append(relations, relation{l.Head, l.Tail, l.Relation, l.Evidence})
		}
		var text []string
		for _, s := range d.Sentences {
			text = append(text, strings.Join(s, " "))
		}
		w.add(uniqueID(ids, d.Title, line), strings.Join(text, "\n"), nodes, relations)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return w.write()
}

// uniqueID makes an id of a title.
func uniqueID(ids map[string]int, title string, line int) string {
	return kit.UniqueID(ids, cmp.Or(okf.Slug(title), fmt.Sprintf("line-%d", line)), "-")
}

// re3d is a document of re3d.
type re3d struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Entities []struct {
		Begin int    `json:"begin"`
		End   int    `json:"end"`
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"entities"`
	Relations []struct {
		Type        string `json:"type"`
		SourceBegin int    `json:"sourceBegin"`
		SourceEnd   int    `json:"sourceEnd"`
		TargetBegin int    `json:"targetBegin"`
		TargetEnd   int    `json:"targetEnd"`
	} `json:"relations"`
}

func fromRE3D(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	w := newGraphWriter()
	ids := map[string]int{}
	err := each(file, o.Limit, func(line int, d *re3d) error {
		var nodes []node
		at := map[[2]int]int{} // by place; of two entities at one place the first
		for _, e := range d.Entities {
			if _, ok := at[[2]int{e.Begin, e.End}]; !ok {
				at[[2]int{e.Begin, e.End}] = len(nodes)
			}
			nodes = append(nodes, node{okf.Slug(e.Type), strings.Join(strings.Fields(e.Value), " ")})
		}
		var relations []relation
		for _, r := range d.Relations {
			from, ok1 := at[[2]int{r.SourceBegin, r.SourceEnd}]
			to, ok2 := at[[2]int{r.TargetBegin, r.TargetEnd}]
			if !ok1 || !ok2 {
				w.report.Dropped++ // an end that is not an entity of the document
				continue
			}
			relations = append(relations, relation{from: from, to: to, kind: r.Type})
		}
		w.add(uniqueID(ids, cmp.Or(d.ID, d.Title), line), d.Text, nodes, relations)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return w.write()
}

func labelledClaims(lines []claimRecord, report converted) ([]byte, fmt.Stringer, error) {
	report.Cases = len(lines)
	return encodeLines(lines, report)
}

func fromBEGIN(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	var lines []claimRecord
	var report converted
	err := each(file, o.Limit, func(line int, r *struct {
		Knowledge string `json:"knowledge"`
		Response  string `json:"response"`
		Label     string `json:"begin_label"`
	}) error {
		grounded := r.Label == "Fully attributable"
		if !grounded && r.Label != "Not fully attributable" {
			report.Dropped++
			return nil
		}
		lines = append(lines, claimRecord{ID: fmt.Sprintf("begin-%04d", line), Set: "begin", Cluster: "begin-" + kit.Hash(r.Knowledge).String(), Source: r.Knowledge, Claim: r.Response, Grounded: &grounded})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return labelledClaims(lines, report)
}

func fromHaluEval(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	var lines []claimRecord
	report := converted{Note: "the query is the only source: many claims can be checked only with knowledge of the world"}
	err := each(file, o.Limit, func(_ int, r *struct {
		ID            string `json:"ID"`
		Query         string `json:"user_query"`
		Response      string `json:"chatgpt_response"`
		Hallucination string `json:"hallucination"`
	}) error {
		grounded := r.Hallucination == "no"
		if !grounded && r.Hallucination != "yes" {
			return fmt.Errorf("hallucination is %q, want yes or no", r.Hallucination)
		}
		lines = append(lines, claimRecord{ID: "halueval-" + r.ID, Set: "halueval", Source: r.Query, Claim: r.Response, Grounded: &grounded})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return labelledClaims(lines, report)
}

func fromMTSDialog(file string, o kit.ImportOptions) ([]byte, fmt.Stringer, error) {
	scores, err := beside(file, "mts_dialog_manual_scores")
	if err != nil {
		return nil, nil, err
	}
	type manual struct {
		Hallucination json.Number `json:"HallucinationRate"`
	}
	var rates []float64
	if err := each(scores, 0, func(_ int, r *manual) error {
		v, err := r.Hallucination.Float64()
		rates = append(rates, v)
		return err
	}); err != nil {
		return nil, nil, err
	}
	var lines []claimRecord
	report := converted{Note: "scores belong to summaries by their order, which the origin does not say"}
	n := 0
	err = each(file, o.Limit, func(_ int, r *struct {
		ID       string `json:"ID"`
		Dialogue string `json:"Dialogue"`
		Summary  string `json:"Automatic Summary"`
	}) error {
		if n++; n > len(rates) {
			return fmt.Errorf("%s has only %d scores", scores, len(rates))
		}
		if strings.TrimSpace(r.Summary) == "" || strings.TrimSpace(r.Dialogue) == "" {
			report.Dropped++
			return nil
		}
		grounded := rates[n-1] == 0
		lines = append(lines, claimRecord{ID: fmt.Sprintf("mts-%04d", n), Set: "mts-dialog", Cluster: "mts-" + kit.Hash(r.Dialogue).String(), Source: strings.ReplaceAll(r.Dialogue, "\r\n", "\n"), Claim: r.Summary, Grounded: &grounded})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return labelledClaims(lines, report)
}

// beside finds the one file in the folder of another with a prefix.
func beside(file, prefix string) (string, error) {
	found, err := fs.Glob(os.DirFS(filepath.Dir(file)), prefix+"*")
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("want one file %s* beside %s, found %s", prefix, file, text.Plural(len(found), "file", "files"))
	}
	return filepath.Join(filepath.Dir(file), found[0]), nil
}
