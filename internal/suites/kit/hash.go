package kit

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
)

// Hash hashes strings, including their boundaries.
func Hash(parts ...string) eval.Hash { return eval.HashOf(AppendParts(nil, parts...)) }

// HashOf hashes settings by their JSON. It panics if they have none.
func HashOf(settings ...any) eval.Hash { return eval.HashOf(JSON(settings)) }

// AppendParts appends strings prefixed with their lengths.
func AppendParts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(b, ':')
		b = append(b, p...)
	}
	return b
}

// hashFile is [eval.HashOf] of a file, which may be larger than the memory.
func hashFile(path string) (eval.Hash, error) {
	f, err := dataset.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return 0, err
	}
	return eval.Hash(binary.BigEndian.Uint64(h.Sum(nil))), nil
}
