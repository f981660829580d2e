package kit

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/table"
)

// Hash hashes strings, including their boundaries.
func Hash(parts ...string) eval.Hash { return eval.HashOf(AppendParts(nil, parts...)) }

// HashOf hashes settings by their JSON. It panics if they have none.
func HashOf(settings ...any) eval.Hash { return eval.HashOf(JSON(settings)) }

// AppendParts appends strings prefixed with their lengths.
func AppendParts(b []byte, parts ...string) []byte {
	size := 0
	for _, p := range parts {
		size += len(p) + len("1000:")
	}
	b = slices.Grow(b, size)
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

// hashAnswers hashes the answers of a file of outputs, in any order and format. What cannot be read
// counts as it is written: an error of whoever opens the file.
func hashAnswers(path string) (eval.Hash, error) {
	var list []eval.Hash
	if _, err := table.Records(path, table.Texts{Names: dataset.AnswerTexts, Verbatim: dataset.AnswerOutput}, func(_ int, record []byte, _ error) {
		list = append(list, hashAnswer(record))
	}); err != nil || len(list) == 0 {
		return hashFile(path)
	}
	slices.Sort(list)
	return HashOf(list), nil
}

// hashAnswer hashes a record of a file of outputs.
func hashAnswer(record []byte) eval.Hash {
	var a dataset.Answer
	if dataset.DecodeStrict(record, &a) != nil {
		return Hash(string(record))
	}
	item, replicate, err := a.Key()
	answer, unread := a.Text()
	if err != nil || unread != nil {
		return Hash(string(record))
	}
	return Hash(item, strconv.Itoa(replicate), answer, a.Model, strconv.Itoa(a.Usage.Input), strconv.Itoa(a.Usage.Output))
}
