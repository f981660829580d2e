package kit

import (
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Hash hashes strings, including their boundaries.
func Hash(parts ...string) eval.Hash { return eval.HashOf(AppendParts(nil, parts...)) }

// AppendParts appends strings prefixed with their lengths.
func AppendParts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(b, ':')
		b = append(b, p...)
	}
	return b
}
