package text

import "testing"

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 items", 1: "1 item", 2: "2 items"} {
		if got := Plural(n, "item", "items"); got != want {
			t.Errorf("Plural(%d) is %q, want %q", n, got, want)
		}
	}
}
