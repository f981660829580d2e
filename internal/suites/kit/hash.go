package kit

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

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
	if _, err := table.Records(path, table.Texts{Names: []string{"item", "document_id", "model"}, Verbatim: "output"}, func(_ int, record []byte, _ error) {
		list = append(list, hashAnswer(record))
	}); err != nil || len(list) == 0 {
		return hashFile(path)
	}
	slices.Sort(list)
	return HashOf(list), nil
}

// hashAnswer hashes what package outputs reads of a record.
func hashAnswer(record []byte) eval.Hash {
	var r struct {
		DocumentID dataset.ID     `json:"document_id"`
		Item       dataset.ID     `json:"item"`
		Replicate  *int           `json:"replicate"`
		Output     jsontext.Value `json:"output"`
		Model      string         `json:"model"`
		Usage      struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"usage"`
	}
	if dataset.DecodeStrict(record, &r) != nil {
		return Hash(string(record))
	}
	answer, replicate := string(r.Output), 1
	if r.Output.Kind() == '"' && json.Unmarshal(r.Output, &answer) != nil {
		return Hash(string(record))
	}
	if r.Replicate != nil {
		replicate = *r.Replicate
	}
	return Hash(string(cmp.Or(r.Item, r.DocumentID)), strconv.Itoa(replicate), answer, r.Model, strconv.Itoa(r.Usage.Input), strconv.Itoa(r.Usage.Output))
}
