package experiment

import (
	"errors"
	"slices"
	"testing"
)

// A derived sequence ends at the first error of its source, even if the source goes on.
func TestSequencesEndWithAnError(t *testing.T) {
	failed := errors.New("failed")
	numbers := func(yield func(int, error) bool) {
		_ = yield(1, nil) && yield(2, nil) && yield(0, failed) && yield(3, nil)
	}
	var got []int
	var errs []error
	take := func(n int, err error) { got, errs = append(got, n), append(errs, err) }
	for n, err := range only(numbers, func(n int) bool { return n != 1 }) {
		take(n, err)
	}
	for n, err := range spread(numbers, func(n int) ([]int, error) { return []int{n, -n}, nil }) {
		take(n, err)
	}
	if want := []int{2, 0, 1, -1, 2, -2, 0}; !slices.Equal(got, want) || errs[1] != failed || errs[6] != failed {
		t.Errorf("got %v and %v, want %v", got, errs, want)
	}
	var err error
	for range 2 { // nothing after an error
		for n := range until(&err, numbers) {
			got = append(got, n)
		}
	}
	if n := len(got); n != 9 || err != failed {
		t.Errorf("%d elements, %v", n, err)
	}
}
