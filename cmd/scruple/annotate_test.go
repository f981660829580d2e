package main

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/annotate"
)

// Rules and reports speak of two people.
func TestAgreementOfTwoPeople(t *testing.T) {
	list := ofTwoPeople([]annotate.Agreement{{Task: "again", Again: true}, {Task: "automatic", Automatic: true}, {Task: "people", Same: 3, N: 4}})
	if len(list) != 1 || list[0].Task != "people" || list[0].Same != 3 || list[0].N != 4 {
		t.Errorf("%+v", list)
	}
}
