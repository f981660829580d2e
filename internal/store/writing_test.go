package store_test

import (
	"path/filepath"
	"testing"

	"github.com/scruple-eval/scruple/internal/store"
)

// A reader knows whether a process writes, and does not keep one from it.
func TestWriting(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "s.db")
	writer := open(t, path)
	reader, err := store.OpenRead(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if !writer.Writing(ctx, nil) || !reader.Writing(ctx, nil) {
		t.Error("a store that is open for writing has no writer")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if reader.Writing(ctx, nil) {
		t.Error("a closed store has a writer")
	}
	again, err := store.Open(ctx, path)
	if err != nil {
		t.Fatalf("after a look at the lock: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
