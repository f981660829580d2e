package discipline

import (
	"slices"
	"testing"
)

// TestAskedAtLooks: answers that left the plan before anybody saw them are no data of a look.
func TestAskedAtLooks(t *testing.T) {
	for name, c := range map[string]struct {
		at   [][2]int // trials done, and with an outcome outside of the plan
		want []int
	}{
		"left before the first look":  {[][2]int{{31, 7}, {40, 7}}, []int{31, 40}},
		"each arm was shown and left": {[][2]int{{10, 0}, {10, 10}, {32, 20}}, []int{10, 20, 52}},
		"shrank and grew again":       {[][2]int{{60, 0}, {40, 20}, {60, 0}}, []int{60, 60, 60}},
		"ten of these were not shown": {[][2]int{{20, 0}, {15, 30}, {25, 30}}, []int{20, 35, 45}},
		"came back unseen":            {[][2]int{{31, 7}, {38, 0}}, []int{31, 38}},
	} {
		var seen []Look
		var got []int
		for _, at := range c.at {
			l := Look{Trials: at[0]}
			l.Behind(seen, at[1])
			seen, got = append(seen, l), append(got, l.Asked)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: asked %v, want %v", name, got, c.want)
		}
	}
	l := Look{Trials: 20}
	if l.Behind([]Look{{Trials: 30, Asked: 40}}, 20); l.Asked != 40 {
		t.Errorf("behind a look of an earlier version: %+v", l)
	}
}
