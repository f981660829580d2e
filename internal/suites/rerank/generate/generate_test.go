package generate

import (
	"testing"
)

func TestTry(t *testing.T) {
	d, err := Generate(Options{Seed: 42, Items: 200, Reviews: 3000, Requests: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Requests[:20] {
		t.Log(r.ID, r.Group, r.Gold, r.Shorthand, "\n   ", r.Text)
	}
	for _, r := range d.Catalog.Items[0].Reviews[:6] {
		t.Log(r.Stars, r.Text)
	}
}
