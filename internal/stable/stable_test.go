package stable_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/scruple-eval/scruple/internal/stable"
)

// The stream is SplitMix64; from state 0 its first outputs are those of the
// reference implementation by Vigna (https://prng.di.unimi.it/splitmix64.c).
func TestStreamIsSplitMix64(t *testing.T) {
	var s stable.Stream
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := s.Uint64(); got != want {
			t.Errorf("output %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestSeedTellsNamesApart(t *testing.T) {
	seen := map[uint64]string{}
	for name, s := range map[string]uint64{
		"ab c": stable.Seed(1, "ab", "c"), "a bc": stable.Seed(1, "a", "bc"), "abc": stable.Seed(1, "abc"),
		"abc empty": stable.Seed(1, "abc", ""), "other seed": stable.Seed(2, "abc"), "none": stable.Seed(1),
	} {
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s share a seed", name, other)
		}
		seen[s] = name
	}
}

// A change of these values would change every prompt of every stored run.
func TestSeedStaysAsItIs(t *testing.T) {
	if got, want := stable.Seed(42, "R17", "item"), uint64(0x9777b2d88576ec26); got != want {
		t.Errorf("Seed is %#x, want %#x", got, want)
	}
}

func TestIntNIsEven(t *testing.T) {
	const n, draws = 7, 70_000
	s := stable.NewStream(3, "even")
	var counts [n]float64
	for range draws {
		counts[s.IntN(n)]++
	}
	chi2 := 0.0
	for _, c := range counts {
		chi2 += math.Pow(c-draws/n, 2) / (draws / n)
	}
	if chi2 > 22.46 { // chi-squared, 6 degrees of freedom, upper 0.1 %
		t.Errorf("chi-squared of %v is %.1f", counts, chi2)
	}
	if s.IntN(0) != 0 || s.IntN(-1) != 0 {
		t.Error("IntN of nothing is not 0")
	}
}

// A change of these values would change every sample drawn from a protocol: SHA-256 of
// `3 ["sample"]`, as package sampling describes it.
func TestRandomStaysAsItIs(t *testing.T) {
	if got, want := fmt.Sprint(stable.Random(3, "sample").Perm(8)), "[7 0 5 6 3 1 4 2]"; got != want {
		t.Errorf("the permutation is %s, want %s", got, want)
	}
}
