package discipline

import (
	"slices"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Items are known by what they are about too: another name of a schema makes no other document.
// Ledgers of earlier versions know them by their inputs alone.
func TestMaterials(t *testing.T) {
	item := func(input, material eval.Hash) eval.Item { return eval.Item{Input: input, Material: material} }
	dev, test := []eval.Item{item(1, 10)}, []eval.Item{item(2, 20), item(3, 30), item(4, 10), item(9, 0)}
	registered := hashesOf((&Subject{Items: test, All: slices.Concat(dev, test)}).distinct())
	now := []eval.Item{item(5, 20), item(6, 30), item(7, 10)}
	for _, c := range []struct {
		name   string
		ledger Hashes
		items  []eval.Item
		want   int
	}{
		{"the same items", registered, test, 4},
		{"other inputs of the same documents, of which DEV has one too", registered, now, 2},
		{"a document that DEV has with another input", registered, now[2:], 0},
		{"the same inputs in a ledger of an earlier version", Hashes{Inputs: registered.Inputs}, test[1:], 3},
		{"other inputs in a ledger of an earlier version", Hashes{Inputs: registered.Inputs}, now, 0},
	} {
		book := Book{Registrations: []Entry[Registration]{{Data: Registration{Hashes: c.ledger}}}}
		if _, n, _ := book.Registered(hashesOf(c.items)); n != c.want {
			t.Errorf("%s: %d items are registered, want %d", c.name, n, c.want)
		}
	}
	if test[2].Material == 0 {
		t.Error("the items of the study changed")
	}

	// What was seen counts with its material also if the data have it twice.
	seen := Book{Seen: []Entry[Seen]{{Data: Seen{Hashes: hashesOf([]eval.Item{item(5, 20), item(6, 20)})}}}}
	if got := seen.SeenBefore(Registration{Hashes: registered}, nil); len(got) != 1 {
		t.Errorf("seen before: %q", got)
	}
}
