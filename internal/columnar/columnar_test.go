package columnar

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// TestWrite: what is written is read back, with nulls, by another reader of the same library;
// pyarrow 26 and DuckDB 2.0 read it too. The bytes are the same every time.
func TestWrite(t *testing.T) {
	columns := []Column{{"item", ID}, {"replicate", Int}, {"cost_usd", Float}, {"estimated", Bool}, {"text", Text}, {"value_embedding", Vector}}
	rows := [][]any{{"a", 1, 0.5, true, "one\x00", []float32{1, 2}}, {"b", 2, nil, false, []string{"x", "y"}, nil}, {nil, nil, 1e300, nil, "", []float32{3}}}
	written := func() []byte {
		var b bytes.Buffer
		write, end := Write(&b, columns, [][2]string{{"scruple.run", "r-1"}}, "scruple", "1")
		for _, r := range rows {
			if err := write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	data := written()
	if !bytes.Equal(data, written()) {
		t.Error("the same rows give other bytes")
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if run, _ := f.Lookup("scruple.run"); run != "r-1" {
		t.Errorf("metadata: %q", run)
	}
	type row struct {
		Item      *string   `parquet:"item,optional,dict"`
		Replicate *int64    `parquet:"replicate,optional"`
		Cost      *float64  `parquet:"cost_usd,optional"`
		Estimated *bool     `parquet:"estimated,optional"`
		Text      *string   `parquet:"text,optional"`
		Vector    []float32 `parquet:"value_embedding,list"`
	}
	r := parquet.NewGenericReader[row](bytes.NewReader(data))
	got := make([]row, 3)
	if n, err := r.Read(got); n != 3 || err != nil && err != io.EOF {
		t.Fatal(n, err)
	}
	ptr := func(s string) *string { return &s }
	one, two, half, huge, yes, no := int64(1), int64(2), 0.5, 1e300, true, false
	want := []row{{ptr("a"), &one, &half, &yes, ptr("one\x00"), []float32{1, 2}}, {ptr("b"), &two, nil, &no, ptr(`["x","y"]`), []float32{}}, {nil, nil, &huge, nil, ptr(""), []float32{3}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	write, _ := Write(io.Discard, columns, nil, "scruple", "1")
	if err := write([]any{"a", "one", nil, nil, nil, nil}); err == nil || !strings.Contains(err.Error(), "column replicate: a value of type string") {
		t.Errorf("a text in a column of numbers: %v", err)
	}
}

// TestRead: the values that were written come back, in more rows than a group has.
func TestRead(t *testing.T) {
	columns := []Column{{"id", Int}, {"item", ID}, {"cost", Float}, {"text", Text}, {"none", Text}}
	var b bytes.Buffer
	write, end := Write(&b, columns, nil, "scruple", "1")
	row := func(i int) []any {
		if i%3 == 0 {
			return []any{int64(i), nil, nil, "", nil}
		}
		return []any{int64(i), "a", float64(i) / 2, strings.Repeat("\x00\xff", i%7), nil}
	}
	const n = 2*rowsInGroup + 100
	for i := range n {
		if err := write(row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	names, rows, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || strings.Join(names, " ") != "id item cost text none" {
		t.Fatal(names, err)
	}
	i := 0
	for got, err := range rows {
		if d := cmp.Diff(row(i), got); d != "" || err != nil {
			t.Fatal(i, d, err)
		}
		i++
	}
	if i != n {
		t.Errorf("%d rows, want %d", i, n)
	}
	if _, _, err := Read(bytes.NewReader(b.Bytes()[:b.Len()-9]), int64(b.Len()-9)); err == nil {
		t.Error("a file that was cut is read")
	}
}
