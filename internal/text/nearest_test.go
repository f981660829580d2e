package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"name", "suite", "models", "kernels", "execution", "comparisons", "composite_weights", "a", "b"}
	for word, want := range map[string]string{
		"kernals": "kernels", "kernel": "kernels", "Name": "name", "sute": "suite", "excecution": "execution",
		"comparision": "comparisons", "composite-weights": "composite_weights", "model": "models",
		// Too far from everything to have been meant.
		"colour": "", "c": "", "": "", "nm": "", "xyz": "", strings.Repeat("name", 30): "",
	} {
		if got, _ := Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestNearestFew(t *testing.T) {
	known := []string{"contract-07", "contract-12", "receipt-7", "memo"}
	for word, want := range map[string]string{
		"contract-7": "contract-07 contract-12", "CONTRACT-22": "contract-12 contract-07", "12": "contract-12 memo",
		"": "memo receipt-7", "7": "contract-07 receipt-7",
	} {
		if got := strings.Join(NearestFew(word, known, 2), " "); got != want {
			t.Errorf("nearest to %q are %q, want %q", word, got, want)
		}
	}
	if got := NearestFew(strings.Repeat("x", 1000), known, 9); len(got) != len(known) {
		t.Errorf("nearest to a long word are %q, want all", got)
	}
}
