package method

import (
	"strconv"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// A Deck keeps the rendered data of items, so that a candidate is rendered once
// for a study and not once for each prompt. All tasks of a study may share one; it
// is safe for concurrent use. It keeps only reviews that are those of the catalog:
// attacked ones differ from request to request.
type Deck struct {
	mu    sync.Mutex
	cards map[deckKey]*card
	bytes int
}

type deckKey struct {
	item    *catalog.Item
	reviews int
}

// deckBytes limits the text that a deck keeps. A full deck starts over.
const deckBytes = 32 << 20

// NewDeck returns an empty deck.
func NewDeck() *Deck { return &Deck{cards: map[deckKey]*card{}} }

// card returns the card of a candidate. A nil deck renders it anew.
func (d *Deck) card(c *Candidate, s *Society) *card {
	own := len(c.Reviews) == 0 || len(c.Reviews) <= len(c.Item.Reviews) && &c.Reviews[0] == &c.Item.Reviews[0]
	if d == nil || !own {
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

// write appends the facts and all reviews under a number.
func (k *card) write(b *strings.Builder, number string) {
	b.WriteString(k.facts)
	for _, r := range k.reviews {
		b.WriteString(reviewTag)
		b.WriteString(number)
		b.WriteString(r)
	}
	if len(k.reviews) == 0 {
		b.WriteString(noReviews)
	}
}

const noReviews = "no reviews\n"
