package run

import (
	"testing"

	"pgregory.net/rapid"
)

// Tokens are counted eight bytes at once as they are one by one.
func TestTokensOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		other := 0
		for i := range len(s) {
			if s[i] >= 0x80 {
				other++
			}
		}
		if got, want := tokensOf(s), (len(s)-other+2)/3+(other+1)/2; got != want {
			t.Fatalf("%q has %d tokens, want %d", s, got, want)
		}
	})
}
