package extraction

import "testing"

func TestPreflight(t *testing.T) {
	results, err := Preflight("")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 10 {
		t.Errorf("%d cases, want the ten of the plan's §3.11", len(results))
	}
	for _, r := range results {
		for _, w := range r.Wrong {
			t.Errorf("%s: %s", r.Case, w)
		}
	}
}
