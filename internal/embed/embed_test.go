package embed

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Computed with another program (Python, 20 lines) from the definition in the package
// comment.
func TestLocal(t *testing.T) {
	want := map[int]float64{26: -0.316228, 31: -0.316228, 51: 0.316228, 85: 0.316228, 88: -0.316228, 152: 0.316228,
		171: 0.316228, 205: 0.316228, 213: 0.316228, 233: -0.316228}
	for i, x := range Local("Total €5") {
		if math.Abs(float64(x)-want[i]) > 1e-6 {
			t.Errorf("component %d is %v, want %v", i, x, want[i])
		}
	}
	for _, tt := range []struct {
		a, b string
		want float64
	}{
		{"September 1, 1989", "dated as of September 1, 1989", 0.771099601},
		{"Total", "TOTAL", 1},
		{"ﬁve  apples", "five apples", 1},
		{"alpha", "omega", 0},
		{"Straße 5", "STRASSE 5", 1},
	} {
		if got := Cosine(Local(tt.a), Local(tt.b)); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("cosine of %q and %q is %v, want %v", tt.a, tt.b, got, tt.want)
		}
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
		if err := set.Add(EncodeBatch([]string{text}, [][]float32{v})); err != nil {
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
		_ = NewSet("m").Add(s) // text of a journal: no panic
	})
}
