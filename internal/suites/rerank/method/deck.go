package method

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// A Memo keeps results that tasks have in common, above all the arms of a request,
// which are performed one after the other: it need not keep many. The zero Memo
// keeps none. It is safe for concurrent use.
type Memo[K comparable, V any] struct {
	Most int         // results kept, or their size; a full memo starts over
	Size func(V) int // nil: 1

	mu   sync.Mutex
	kept map[K]V
	size int
}

// Of returns the result for a key, which do computes. The result must not change.
func (m *Memo[K, V]) Of(key K, do func() V) V {
	m.mu.Lock()
	v, ok := m.kept[key]
	m.mu.Unlock()
	if ok {
		return v
	}
	v = do()
	size := 1
	if m.Size != nil {
		size = m.Size(v)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || m.size+size > m.Most {
		m.kept, m.size = map[K]V{}, 0
	}
	m.kept[key] = v
	m.size += size
	return v
}

// A Deck keeps what the tasks of a study have in common: the rendered data of items,
// so that a candidate is rendered once for a study and not once for each prompt, and
// what the arms of one request need alike. It keeps only cards with reviews that are
// those of the catalog: attacked ones differ from request to request.
type Deck struct {
	cards     Memo[deckKey, *card]
	truths    Memo[truthKey, evidence.Truth]
	overviews Memo[string, overview]
}

type deckKey struct {
	item    *catalog.Item
	reviews int
}

// A truthKey is a condition of a request and an item.
type truthKey struct {
	condition *request.Node
	item      *catalog.Item
}

// An overview is the text of [session.schemaText]. It holds its cards, whose
// addresses are its key.
type overview struct {
	cards []*card
	text  string
}

// NewDeck returns an empty deck.
func NewDeck() *Deck {
	d := new(Deck)
	d.cards.Most, d.cards.Size = 32<<20, func(c *card) int { return c.size }
	d.truths.Most, d.overviews.Most = 1<<14, 32
	return d
}

// describe returns the overview of candidates.
func (d *Deck) describe(cards []*card) string {
	return d.overviews.Of(fmt.Sprint(cards), func() overview { return overview{cards, schemaOf(cards)} }).text
}

// card returns the card of a candidate.
func (d *Deck) card(c *Candidate, s *Society) *card {
	own := len(c.Reviews) == 0 || len(c.Reviews) <= len(c.Item.Reviews) && &c.Reviews[0] == &c.Item.Reviews[0]
	if !own {
		return newCard(c, s)
	}
	return d.cards.Of(deckKey{c.Item, len(c.Reviews)}, func() *card { return newCard(c, s) })
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
