package recorded

import (
	"os"
	"path/filepath"
	"testing"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
)

// What a cassette has in a line, YAML reads as it was, whatever the characters.
func TestLinesKeepEveryCharacter(t *testing.T) {
	var all []rune
	for c := rune(0); c <= 0x10ffff; c++ {
		if c < 0xd800 || c > 0xdfff {
			all = append(all, c)
		}
	}
	body := "a \u0085 b " + string(all)
	line, err := lineOf(&cassette.Interaction{Request: cassette.Request{Body: body}, Response: cassette.Response{Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, append([]byte(header), line...), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := cassette.LoadWithFS(file, onDisk{file})
	if err != nil {
		t.Fatal(err)
	}
	got := []rune(c.Interactions[0].Response.Body)
	for i, want := range []rune(body) {
		if i >= len(got) || got[i] != want {
			t.Fatalf("character %U was read as %U", want, got[i:min(len(got), i+3)])
		}
	}
	if c.Interactions[0].Request.Body != body || len(got) != len([]rune(body)) {
		t.Error("the texts differ")
	}
}
