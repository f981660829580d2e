package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// A record is a line of `scruple export --table records`, and a row of the Parquet
// file. The names are those of the lines.
type record struct {
	Item        string   `json:"item" parquet:"item,dict"`
	Arm         string   `json:"arm" parquet:"arm,dict"`
	Replicate   int64    `json:"replicate" parquet:"replicate"`
	Unit        string   `json:"unit" parquet:"unit,dict"`
	Candidate   int64    `json:"candidate" parquet:"candidate"`
	Status      string   `json:"status" parquet:"status,dict"`
	Value       string   `json:"value" parquet:"value"`
	Quote       string   `json:"quote" parquet:"quote"`
	Description string   `json:"description" parquet:"description,dict"`
	ValueLength int64    `json:"value_length" parquet:"value_length"`
	QuoteLength int64    `json:"quote_length" parquet:"quote_length"`
	ValueWords  int64    `json:"value_words" parquet:"value_words"`
	QuoteWords  int64    `json:"quote_words" parquet:"quote_words"`
	TokenRatio  *float64 `json:"token_ratio" parquet:"token_ratio,optional"`
	JudgeScore  *float64 `json:"judge_score" parquet:"judge_score,optional"`
	QuoteValue  *float64 `json:"cosine_quote_to_value" parquet:"cosine_quote_to_value,optional"`
	QuoteAbout  *float64 `json:"cosine_quote_to_description" parquet:"cosine_quote_to_description,optional"`
	ExtraFields []string `json:"extra_fields" parquet:"extra_fields,list"`
	Embedding   string   `json:"embedding" parquet:"embedding,dict"`

	ValueVector       []float32 `json:"value_embedding" parquet:"value_embedding,list"`
	QuoteVector       []float32 `json:"quote_embedding" parquet:"quote_embedding,list"`
	DescriptionVector []float32 `json:"description_embedding" parquet:"description_embedding,list"`
}

// group is the number of rows of a row group. Vectors of 1,536 components make a group
// of some 20 MB, which is what the writer keeps in memory.
const group = 2000

// convert writes the records of a file as Parquet, compressed with Zstandard.
func convert(file string, to io.Writer) (n int, err error) {
	w := parquet.NewGenericWriter[record](to, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(group),
		parquet.CreatedBy("scruple records", "1", ""))
	err = scan(file, func(r record) error {
		n++
		_, err := w.Write([]record{r})
		return err
	})
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("%s has no records", file)
	}
	if err := w.Close(); err != nil {
		return 0, fmt.Errorf("writing Parquet: %w", err)
	}
	return n, nil
}

// scan reads records one by one.
func scan(file string, visit func(record) error) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("reading records: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s:%d: %w", file, line, err)
		}
		last := err != nil
		if text = bytes.TrimSpace(text); len(text) > 0 {
			var r record
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(&r); err != nil {
				return fmt.Errorf("%s:%d: %w: want a line of `scruple export --table records`", file, line, err)
			}
			if _, err := d.Token(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("%s:%d: more after the record: want one record in a line", file, line)
			}
			if r.Item == "" || r.Unit == "" {
				return fmt.Errorf("%s:%d: no item or unit: want a line of `scruple export --table records`", file, line)
			}
			if err := visit(r); err != nil {
				return fmt.Errorf("%s:%d: %w", file, line, err)
			}
		}
		if last {
			return nil
		}
	}
}
