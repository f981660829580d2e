package procedure

import (
	"errors"
	"fmt"
	"testing"
)

// TestCatch: the error of a step is returned as it is, and another panic passes through.
func TestCatch(t *testing.T) {
	odd := errors.New("odd")
	half := func(n int) (int, error) {
		if n%2 == 1 {
			return 0, odd
		}
		return n / 2, nil
	}
	quarter := func(n int) (q int, err error) {
		defer catch(&err)
		refuse(n < 0, "%d is below 0", n)
		return must(half(must(half(n)))), nil
	}
	for n, want := range map[int]string{8: "2 <nil>", 6: "0 odd", -4: "0 -4 is below 0"} {
		if q, err := quarter(n); fmt.Sprint(q, err) != want {
			t.Errorf("a quarter of %d: %d, %v; want %s", n, q, err, want)
		}
	}
	if _, err := quarter(3); err != odd {
		t.Errorf("%v is not the error of the step", err)
	}
	defer func() {
		if x := recover(); x != "a fault" {
			t.Errorf("recovered %v", x)
		}
	}()
	_ = func() (err error) {
		defer catch(&err)
		panic("a fault")
	}()
}
