package kit

import (
	"strconv"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Hash is of texts and their borders.
func Hash(parts ...string) eval.Hash { return eval.HashOf(AppendParts(nil, parts...)) }

// AppendParts adds texts with their lengths, so that their borders count.
func AppendParts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(b, ':')
		b = append(b, p...)
	}
	return b
}
