package method

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A Deck keeps what the tasks of a study have in common: the rendered data of items,
// so that a candidate is rendered once for a study and not once for each prompt, and
// what the arms of one request need alike. It is safe for concurrent use. It keeps only
// cards with reviews that are those of the catalog:
// attacked ones differ from request to request.
type Deck struct {
	mu       sync.Mutex
	cards    map[deckKey]*card
	bytes    int
	truths   map[truthKey]evidence.Truth
	overview []overview // a ring
	oldest   int        // of overview
}

// A truthKey is a condition of a request and an item.
type truthKey struct {
	condition *request.Node
	item      *catalog.Item
}

// An overview is the text of [session.schemaText] for these candidates.
type overview struct {
	cards []*card
	text  string
}

// What a deck keeps of the requests in progress. The arms of one request are
// performed one after the other.
const (
	keptTruths    = 1 << 14
	keptOverviews = 32
)

type deckKey struct {
	item    *catalog.Item
	reviews int
}

// deckBytes limits the text that a deck keeps. A full deck starts over.
const deckBytes = 32 << 20

// NewDeck returns an empty deck.
func NewDeck() *Deck {
	return &Deck{cards: map[deckKey]*card{}, truths: map[truthKey]evidence.Truth{}, overview: make([]overview, keptOverviews)}
}

// truth returns the truth of a condition for an item, which evaluate computes.
func (d *Deck) truth(n *request.Node, item *catalog.Item, evaluate func() evidence.Truth) evidence.Truth {
	key := truthKey{n, item}
	d.mu.Lock()
	t, ok := d.truths[key]
	d.mu.Unlock()
	if ok {
		return t
	}
	t = evaluate()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.truths) >= keptTruths {
		clear(d.truths)
	}
	d.truths[key] = t
	return t
}

// describe returns the overview of candidates, which write formats.
func (d *Deck) describe(cards []*card, write func() string) string {
	d.mu.Lock()
	i := slices.IndexFunc(d.overview, func(o overview) bool { return slices.Equal(o.cards, cards) })
	if i >= 0 {
		defer d.mu.Unlock()
		return d.overview[i].text
	}
	d.mu.Unlock()
	text := write()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.overview[d.oldest] = overview{cards, text}
	d.oldest = (d.oldest + 1) % len(d.overview)
	return text
}

// card returns the card of a candidate.
func (d *Deck) card(c *Candidate, s *Society) *card {
	own := len(c.Reviews) == 0 || len(c.Reviews) <= len(c.Item.Reviews) && &c.Reviews[0] == &c.Item.Reviews[0]
	if !own {
		return newCard(c, s)
	}
	key := deckKey{c.Item, len(c.Reviews)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.cards[key]; found != nil {
		return found
	}
	made := newCard(c, s)
	if d.bytes += made.size; d.bytes > deckBytes {
		clear(d.cards)
		d.bytes = made.size
	}
	d.cards[key] = made
	return made
}

// A card is a rendered candidate, without its number.
type card struct {
	facts   string
	reviews []string // the part of each after its candidate's number
	values  []pathValue
	size    int // bytes
}

// A pathValue is a path with a value, as [session.schemaText] lists them.
type pathValue struct{ path, value string }

func newCard(c *Candidate, s *Society) *card {
	k := &card{facts: facts(c.Item), values: values(c)}
	k.size = len(k.facts) + 64*len(k.values)
	for i := range c.Reviews {
		r := &c.Reviews[i]
		k.reviews = append(k.reviews, `" number="`+strconv.Itoa(i+1)+`"`+head(r, s)+">\n"+fence(r.Text)+"\n</review>\n")
		k.size += len(k.reviews[i])
	}
	return k
}

const reviewTag = `<review candidate="`

// write appends the reviews that are wanted under a number, without the last line
// break.
func (k *card) write(b *strings.Builder, number string, wanted func(review int) bool) {
	any := false
	for i, r := range k.reviews {
		if wanted != nil && !wanted(i) {
			continue
		}
		if any {
			b.WriteByte('\n')
		}
		any = true
		b.WriteString(reviewTag)
		b.WriteString(number)
		b.WriteString(r[:len(r)-1])
	}
	if !any {
		b.WriteString(noReviews[:len(noReviews)-1])
	}
}

const noReviews = "no reviews\n"
