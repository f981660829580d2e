package extraction

import (
	"strings"
	"testing"
)

// The documents that are kept have a limit of text, apart from the last one.
func TestRecentDocumentsAreBounded(t *testing.T) {
	r := new(recent)
	add := func(item, size int) {
		r.add(&prepared{Document: Document{Text: strings.Repeat("x", size)}, item: item})
	}
	for i := range 100 {
		add(i, 1)
	}
	if r.find(99, false) == nil || r.find(36, false) == nil || r.find(35, false) != nil {
		t.Error("small documents: want the last 64")
	}
	for i := range 10 {
		add(100+i, recentBytes/4)
	}
	if r.find(109, false) == nil || r.find(106, false) == nil || r.find(105, false) != nil || r.find(99, false) != nil {
		t.Error("large documents: want the last 4")
	}
	add(200, 2*recentBytes)
	if r.find(200, false) == nil || r.find(109, false) != nil {
		t.Error("a very large document: want it alone")
	}
}
