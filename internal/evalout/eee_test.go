package evalout

import (
	"errors"
	"os"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Arms whose names have the same letters have files of their own, and an export that fails
// leaves none behind.
func TestEEEFiles(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("the store is away")
	r := Run{ID: "r", Study: "s", Arms: []Arm{{ID: "gpt_4"}, {ID: "gpt-4"}}}
	fails := func(yield func(eval.ScoredTrial, error) bool) { yield(eval.ScoredTrial{}, broken) }
	if _, _, err := EEE(dir, r, fails); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("an export that failed left %v, %v", left, err)
	}
	if files, _, err := EEE(dir, r, func(func(eval.ScoredTrial, error) bool) {}); err != nil || len(files) != 4 {
		t.Errorf("files %v, %v; want 4", files, err)
	}
}
