package extraction

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/text"
)

// A prepared document has its schema and, once ready is called, its text index
// and annotated fields.
type prepared struct {
	Document
	schema   *Schema
	item     int
	withGold bool

	once   sync.Once
	index  *text.Index
	points []point // annotated fields in the schema's order
	gold   *tree   // the points in the shape of the schema
	lists  map[string]List
	loose  bool // quotes may differ in typography
}

// ready builds the index and lists the annotated fields, once.
func (d *prepared) ready() *prepared {
	d.once.Do(func() {
		var err error
		if d.index, err = text.NewIndex(d.Text); err != nil { // it was valid on load: the file has changed
			d.index, _ = text.NewIndex("")
		}
		d.schema.index()
		d.gold = &tree{}
		order := measure.UpTo(len(d.Truth))
		if !d.schema.nested { // that of the schema
			slices.SortStableFunc(order, func(a, b int) int {
				return cmp.Compare(d.schema.field(d.Truth[a].Field), d.schema.field(d.Truth[b].Field))
			})
		}
		for _, i := range order {
			leaf, n, err := d.gold.at(d.schema.root, d.Truth[i].Field)
			if err != nil { // it was valid on load: the file has changed
				continue
			}
			f := d.schema.Fields[n.field]
			p := point{prepared: d, field: f, gold: &d.Truth[i], unit: f.Name}
			p.field.Name = d.Truth[i].Field
			if inList(p.unit) && p.gold.present() {
				for _, v := range p.rightValues() {
					p.keys = append(p.keys, text.Key(f.Type, v))
				}
			}
			d.points = append(d.points, p)
			leaf.point = len(d.points)
		}
	})
	return d
}

// recent keeps the documents read last: the arms of a document run one after another.
type recent struct {
	mu      sync.Mutex
	docs    []*prepared    // the newest first
	reading [64]sync.Mutex // by item
}

// The limits of recent documents and of their text: a prepared document needs about three times as
// much.
const (
	recentDocuments = 64
	recentBytes     = 2 << 20
)

func (r *recent) find(item int, gold bool) *prepared {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.docs, func(d *prepared) bool { return d.item == item && (d.withGold || !gold) }); i >= 0 {
		return r.docs[i]
	}
	return nil
}

func (r *recent) add(d *prepared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.docs = slices.Insert(r.docs, 0, d)
	size := 0
	for i, kept := range r.docs {
		if size += len(kept.Text); i > 0 && size > recentBytes || i == recentDocuments {
			r.docs = slices.Delete(r.docs, i, len(r.docs))
			break
		}
	}
}

// document reads a document with its gold.
func (b *bench) document(id string) (*prepared, error) { return b.read(id, true) }

// read reads a document. Without gold it may have it all the same.
func (b *bench) read(id string, gold bool) (*prepared, error) {
	of, item := b.Datum(id), b.Place(id)
	if of == nil {
		return nil, fmt.Errorf("extraction: no document %q in this study", id)
	}
	reading := &b.recent.reading[item%len(b.recent.reading)]
	reading.Lock() // arms of a document ask for it at once
	defer reading.Unlock()
	if d := b.recent.find(item, gold); d != nil {
		return d, nil
	}
	read, err := of.place.read(gold)
	if err != nil {
		return nil, err
	}
	read.Schema = cmp.Or(read.Schema, b.study.Documents.Schema)
	read.Split = b.Item(id).Split // that of its source, if it has none
	d := &prepared{Document: read, schema: of.schema, item: item, withGold: gold, lists: b.study.Lists, loose: b.study.Quotes == "typography"}
	if d.Schema != d.schema.Name {
		return nil, fmt.Errorf("document %q changed since it was checked: its schema was %q", id, d.schema.Name)
	}
	if err := d.expand(d.schema, func(string) {}); err != nil {
		return nil, err
	}
	b.recent.add(d)
	return d, nil
}
