package osm

import (
	"os"
	"testing"
)

func TestDump(t *testing.T) {
	data, _ := os.ReadFile("testdata/osm_restaurants_mannheim.json")
	items, notes, err := Convert(data)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, i := range items {
		if !i.Hours.IsZero() {
			n++
		}
	}
	t.Log(len(items), n)
	for _, x := range notes {
		t.Log(x)
	}
}
