package report

import (
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
)

// Ids and texts of models may be long words: breaking them takes time in proportion, and
// loses nothing.
func TestLongWordsAreWrappedInTime(t *testing.T) {
	for name, word := range map[string]string{"ASCII": strings.Repeat("x", 1<<19), "wide": strings.Repeat("漢", 1<<14), "marks": "a" + strings.Repeat("\u0301", 1<<14)} {
		begun := time.Now()
		for _, lines := range [][]string{wrapped(word, 80), folded(word, 80)} {
			if strings.Join(lines, "") != word {
				t.Errorf("%s: characters were lost", name)
			}
			for _, line := range lines {
				if lipgloss.Width(line) > 80 {
					t.Errorf("%s: a line is %d wide", name, lipgloss.Width(line))
				}
			}
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}
