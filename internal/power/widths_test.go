package power_test

import (
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/power"
)

// TestWidths: six equal answers have the widths of Wilson and Tango, z²/(n + z²) and twice that, and
// take as many items as these need.
func TestWidths(t *testing.T) {
	equal := func(string, string) (num, den []float64) {
		for range 6 {
			num, den = append(num, 2), append(den, 2)
		}
		return num, den
	}
	d := design(t, "auto", 6, 1)
	list := []power.Width{{Arm: "a"}, {Arm: "a", Other: "b"}}
	if _, err := d.Widths(list, "passed", 0.1, equal); err != nil || !(math.Abs(list[0].Now-0.3903) <= 1e-4) || list[0].Takes != 35 || !(math.Abs(list[1].Now-0.7807) <= 1e-4) || list[1].Takes != 73 {
		t.Errorf("%+v (%v)", list, err)
	}
	if most, err := d.Widths(list, "passed", 0.8, equal); err != nil || list[0].Takes != 6 || list[1].Takes != 6 || most != 0 {
		t.Errorf("%+v (%v)", list, err)
	}
}
