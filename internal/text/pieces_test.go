package text

import "testing"

func TestPieces(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, " \n-–": 0, "one": 1, "one two": 2, "one,two": 2, "snake_case": 2, "don't": 2, "a1b2": 1, "1,234.56": 3,
		"Größe é": 2, "한국어 문장": 2, "漢字": 1, "漢字漢字漢": 2, "word漢字word": 3,
	} {
		if got := Pieces(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
