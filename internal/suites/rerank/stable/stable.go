// Package stable draws numbers that are named and not consumed: what is drawn
// depends on a seed and the names of what it is drawn for, and on nothing
// else. Order, concurrency, machine and Go version change nothing, which is
// what lets a trial that died be performed again with the same prompts.
//
// The package must not know what is drawn.
package stable

import (
	"encoding/binary"
	"hash/fnv"
	"math/bits"
)

// Seed is a 64-bit hash of a seed and names, length-delimited so that no two
// lists of names are confused: FNV-1a, finished by the mixer of SplitMix64
// because FNV alone leaves the high bits of short inputs alike.
func Seed(seed uint64, names ...string) uint64 {
	h := fnv.New64a()
	var b [8]byte
	write := func(n uint64) {
		binary.BigEndian.PutUint64(b[:], n)
		_, _ = h.Write(b[:]) // a hash does not fail
	}
	write(seed)
	for _, n := range names {
		write(uint64(len(n)))
		_, _ = h.Write([]byte(n))
	}
	return mix(h.Sum64())
}

// mix is the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014):
// a bijection in which every input bit changes about half of the output bits.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A Stream is SplitMix64: an endless row of numbers from one seed. It is for
// what is drawn in one place in one order, such as the words of one text.
type Stream struct{ state uint64 }

// NewStream begins the stream of a seed and names.
func NewStream(seed uint64, names ...string) *Stream { return &Stream{Seed(seed, names...)} }

// Uint64 is the next number.
func (s *Stream) Uint64() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return mix(s.state)
}

// Float64 is the next number as a fraction in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Shuffle puts a list into the order that a stream draws (Fisher and Yates).
func Shuffle[T any](s *Stream, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// IntN is the next number in [0, n), by the high half of a product: for n that
// fit in memory its bias is below 2^-40. It is 0 for n < 1.
func (s *Stream) IntN(n int) int {
	if n < 1 {
		return 0
	}
	high, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(high)
}
