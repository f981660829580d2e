package embed

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCosine(t *testing.T) {
	// (1·2 + 2·1)/(√5·√5) = 0.8
	if got := Cosine([]float32{1, 2}, []float32{2, 1}); !(math.Abs(got-0.8) <= 1e-12) {
		t.Errorf("got %v", got)
	}
}

// TestZeroSet has no vectors and misses none.
func TestZeroSet(t *testing.T) {
	var none Set
	if !none.Has("x") || none.Of("x") != nil {
		t.Error("the set of no model misses a text, or has a vector")
	}
}

func TestCosineWithoutAnAngle(t *testing.T) {
	for _, pair := range [][2][]float32{{nil, nil}, {{1}, nil}, {{0, 0}, {1, 0}}, {{1, 0}, {1}}} {
		if got := Cosine(pair[0], pair[1]); !math.IsNaN(got) {
			t.Errorf("cosine of %v is %v, want none", pair, got)
		}
	}
}

func TestVectorsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-1e9, 1e9), 1, 40).Draw(t, "v")
		text := rapid.String().Draw(t, "text")
		set := NewSet("m")
		if err := set.Add(EncodeBatch([]string{text}, [][]float32{v}), ""); err != nil {
			t.Fatal(err)
		}
		got := set.Of(text)
		if text == "" {
			return // needs none
		}
		for i := range v {
			if got[i] != v[i] {
				t.Fatalf("component %d is %v, want %v", i, got[i], v[i])
			}
		}
	})
}

func TestDoubts(t *testing.T) {
	type answer struct {
		version string
		vector  []float32
	}
	for _, test := range []struct {
		answers []answer
		want    []string
	}{
		{nil, nil},
		{[]answer{{"v1", []float32{1, 2}}, {"v1", []float32{0, 2}}, {"", []float32{1, 0}}}, nil},
		{[]answer{{"", []float32{1, 2}}, {"", []float32{0, 2}}, {"", []float32{1, 2, 3}}},
			[]string{"vectors of m have several lengths (2 components: 2, 3 components: 1), and those of two lengths have no cosine: several models answer to this name"}},
		{[]answer{{"v2", []float32{0, 0}}, {"v1", []float32{0, 2}}, {"", []float32{0, 0}}},
			[]string{"vectors of m are of several versions (v1: 1, v2: 1), and may not be comparable", "2 of 3 vectors of m are zero, and have no cosine"}},
	} {
		set := NewSet("m")
		for i, a := range test.answers {
			if err := set.Add(EncodeBatch([]string{string(rune('a' + i))}, [][]float32{a.vector}), a.version); err != nil {
				t.Fatal(err)
			}
		}
		if got := set.Doubts(); !slices.Equal(got, test.want) {
			t.Errorf("%v: %q, want %q", test.answers, got, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode([]float32{1, -2.5}))
	f.Add("AAAAAA==")
	f.Add("////fw==") // not a number
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Decode(s)
		if err != nil {
			return
		}
		again, err := Decode(Encode(v))
		if err != nil || len(again) != len(v) || len(v) == 0 {
			t.Fatalf("%v, %v", again, err)
		}
		_ = NewSet("m").Add(s, "") // text of a journal: no panic
	})
}
