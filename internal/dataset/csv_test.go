package dataset

import (
	"slices"
	"testing"
)

// A spreadsheet writes semicolons where numbers have a decimal comma. Commas separate
// wherever they divide the header.
func TestCSVSeparators(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       []string // the last record
	}{
		{"commas", "a,b\n1;2,3\n", []string{"1;2", "3"}},
		{"semicolons", "\ufeffa;b\r\n1,5;\"2;3\"\r\n", []string{"1,5", "2;3"}},
		{"tabs", "a\tb\n1,5\t2;3\n", []string{"1,5", "2;3"}},
		{"a quoted name with a semicolon", "\"a;b\"\n1;2\n", []string{"1;2"}},
		{"commas, and a name with semicolons", "a,b;c;d\n1,2\n", []string{"1", "2"}},
		{"one column", "a\n1\n", []string{"1"}},
		{"nothing", "", nil},
	} {
		records, err := CSV("f.csv", []byte(tt.data))
		var got []string
		for _, f := range slices.Concat(records[max(0, len(records)-1):]...) {
			got = append(got, f.Text)
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}
