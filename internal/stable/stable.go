// Package stable draws reproducible random numbers by name: a number depends
// only on a seed and names, not on the order of calls, concurrency, the machine
// or the Go version. A resumed trial therefore has the same prompts.
//
// The package must not know what is drawn.
package stable

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// Random returns a generator for samples, whose protocols name it: PCG with the
// first 16 bytes of a SHA-256 of seed and names.
func Random(seed int64, names ...string) *rand.Rand {
	key := sha256.Sum256(fmt.Appendf(nil, "%d %q", seed, names))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(key[:]), binary.BigEndian.Uint64(key[8:])))
}

// Seed returns a 64-bit hash of a seed and length-delimited names: FNV-1a,
// finished by the mixer of SplitMix64, because FNV alone mixes the high bits of
// short inputs poorly.
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

// A Stream is a SplitMix64 generator. Use it for sequences drawn in one place in
// a fixed order, such as the words of one text.
type Stream struct{ state uint64 }

// NewStream returns the stream of a seed and names.
func NewStream(seed uint64, names ...string) *Stream { return &Stream{Seed(seed, names...)} }

// Uint64 returns the next number.
func (s *Stream) Uint64() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return mix(s.state)
}

// Float64 returns the next number in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Shuffle permutes a list in place (Fisher and Yates).
func Shuffle[T any](s *Stream, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}

// IntN returns the next number in [0, n), as the high half of a product: the
// bias is below 2^-40 for any n that fits in memory. It returns 0 for n < 1.
func (s *Stream) IntN(n int) int {
	if n < 1 {
		return 0
	}
	high, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(high)
}
