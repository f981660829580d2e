package eval

import "testing"

func TestCutIn(t *testing.T) {
	cut := Cut{7700, 2050}
	if got, ok := CutIn([]string{"temperature dropped", cut.String()}); !ok || got != cut {
		t.Errorf("%v, %t", got, ok)
	}
	for _, none := range [][]string{nil, {"temperature dropped"}, {CutNote + "x"}} {
		if got, ok := CutIn(none); ok || got != (Cut{}) {
			t.Errorf("%q: %v, %t", none, got, ok)
		}
	}
}
