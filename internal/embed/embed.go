// Package embed keeps the vectors that a provider's embedding model gave for texts, to
// compare what a quote, a value and the description of a field say.
//
// The package must not know what the texts are.
package embed

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Cosine is the cosine of the angle between two vectors of one length: NaN if one of
// them is 0 or missing.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return math.NaN()
	}
	return min(1, max(-1, dot/math.Sqrt(aa*bb)))
}

// A Key identifies a text: the first 16 bytes of its SHA-256, in hexadecimal.
type Key string

// KeyOf returns the key of a text.
func KeyOf(s string) Key {
	sum := sha256.Sum256([]byte(s))
	return Key(hex.EncodeToString(sum[:16]))
}

// Encode writes a vector as base64 of its little-endian 32-bit floats, the form in
// which providers send them.
func Encode(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// Decode reads what [Encode] or a provider wrote.
func Decode(s string) ([]float32, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err == nil && (len(b)%4 != 0 || len(b) == 0) {
		err = fmt.Errorf("%d bytes are not a list of 32-bit floats", len(b))
	}
	if err != nil {
		return nil, fmt.Errorf("reading an embedding: %w", err)
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if x := float64(v[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("reading an embedding: component %d is not a number", i)
		}
	}
	return v, nil
}

// A Batch is the answer to a request: texts by their keys, with their vectors. It is
// what the journal has of the answer.
type Batch struct {
	Texts   []Key    `json:"texts"`
	Vectors []string `json:"vectors"` // see [Encode]
}

// EncodeBatch writes a batch.
func EncodeBatch(texts []string, vectors [][]float32) string {
	var batch Batch
	for i, v := range vectors {
		batch.Texts = append(batch.Texts, KeyOf(texts[i]))
		batch.Vectors = append(batch.Vectors, Encode(v))
	}
	b, err := json.Marshal(batch)
	if err != nil {
		panic("embed: encoding strings: " + err.Error())
	}
	return string(b)
}

// A Set holds the vectors of texts. The zero Set is that of no model: no text has a
// vector, and none is missing.
type Set struct {
	Name    string // of the model
	vectors map[Key]vector
}

type vector struct {
	components []float32
	version    string // of the model, as its answer says
}

// NewSet returns a set of a model's vectors.
func NewSet(name string) *Set { return &Set{Name: name, vectors: map[Key]vector{}} }

// Add adds what [EncodeBatch] wrote, of an answer of a version of the model.
func (s *Set) Add(batch, version string) error {
	var b Batch
	if err := json.Unmarshal([]byte(batch), &b); err != nil {
		return fmt.Errorf("reading embeddings: %w", err)
	}
	if len(b.Texts) != len(b.Vectors) {
		return fmt.Errorf("reading embeddings: %d vectors for %d texts", len(b.Vectors), len(b.Texts))
	}
	for i, k := range b.Texts {
		v, err := Decode(b.Vectors[i])
		if err != nil {
			return err
		}
		s.vectors[k] = vector{v, version}
	}
	return nil
}

// Len returns how many texts have a vector.
func (s *Set) Len() int { return len(s.vectors) }

// Has reports whether the set has the vector of a text. The empty text needs none.
func (s *Set) Has(text string) bool {
	return s.vectors == nil || text == "" || s.Of(text) != nil
}

// Of returns the vector of a text, nil if there is none.
func (s *Set) Of(text string) []float32 {
	if text == "" {
		return nil
	}
	return s.vectors[KeyOf(text)].components
}

// Doubts says which vectors have no cosine although they are there, and which may not be
// comparable.
func (s *Set) Doubts() (list []string) {
	zeros, lengths, versions := 0, map[string]int{}, map[string]int{}
	for _, v := range s.vectors {
		lengths[fmt.Sprintf("%d components", len(v.components))]++
		if v.version != "" {
			versions[v.version]++
		}
		if !slices.ContainsFunc(v.components, func(x float32) bool { return x != 0 }) {
			zeros++
		}
	}
	several := func(of map[string]int, format string) {
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(of)) {
			parts = append(parts, fmt.Sprintf("%s: %d", what, of[what]))
		}
		if len(parts) > 1 {
			list = append(list, fmt.Sprintf(format, s.Name, strings.Join(parts, ", ")))
		}
	}
	several(lengths, "vectors of %s have several lengths (%s), and those of two lengths have no cosine: several models answer to this name")
	several(versions, "vectors of %s are of several versions (%s), and may not be comparable")
	if zeros > 0 {
		list = append(list, fmt.Sprintf("%d of %d vectors of %s are zero, and have no cosine", zeros, s.Len(), s.Name))
	}
	return list
}
