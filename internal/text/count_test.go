package text

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 items", 1: "1 item", 2: "2 items"} {
		if got := Count(n, "item"); got != want {
			t.Errorf("Count(%d) is %q, want %q", n, got, want)
		}
	}
}
