package atoms

import "testing"

func TestPreflight(t *testing.T) {
	suite := Suite()
	results, err := suite.Preflight("")
	if err != nil || len(results) < 20 {
		t.Fatalf("%d cases, %v", len(results), err)
	}
	for _, r := range results {
		t.Log(r.Name, r.Cells)
		if !r.OK() {
			t.Errorf("%s: %v", r.Name, r.Wrong)
		}
	}
}
