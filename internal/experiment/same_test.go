package experiment

import (
	"encoding/json"
	"testing"
)

// Processors differ in the last digits of what is computed, and in nothing else.
func TestSameNumber(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"0.11220927586277907", "0.11220927586277896", true},
		{"3.51736054e-09", "3.51735931e-09", true},
		{"0", "7.96e-13", true},
		{"1", "0.9999999999999999", true},
		{"0.9", "0.90001", false},
		{"1000000000", "1000000001", false},
		{"12", "13", false},
		{"0.05", "-0.05", false},
		{"1e400", "1e401", false},
	} {
		if got := sameNumber(json.Number(c.a), json.Number(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
