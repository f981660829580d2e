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
