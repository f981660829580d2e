package text

import "testing"

// Dates of SROIE receipts (data/extraction/sroie_receipts.jsonl.gz) as their gold has
// them, and the same dates with other separators, padding and years. The first eight are
// ambiguous: such answers scored 0 when an ambiguous date was equal to its own text only.
func TestReceiptDatesInAnotherForm(t *testing.T) {
	for _, tt := range []struct {
		source, gold string
		answers      []string
	}{
		{"sroie-002", "12-01-19", []string{"12/01/2019", "12.01.2019", "12-1-19", "12-01-2019", "12012019"}},
		{"sroie-042", "5/3/2018", []string{"05/03/2018", "05-03-2018", "5.3.2018", "05.03.18"}},
		{"sroie-043", "10-03-2018", []string{"10/03/2018", "10.03.2018", "10/3/18"}},
		{"sroie-060", "12/03/18", []string{"12-03-2018", "12/03/2018", "12.3.2018"}},
		{"sroie-065", "9/3/2018", []string{"09/03/2018", "9-3-2018", "09.03.2018"}},
		{"sroie-091", "4/02/2017", []string{"04/02/2017", "4/2/2017", "04-02-17"}},
		{"sroie-233", "9/2/2017", []string{"09/02/2017", "09-02-2017", "9.2.17"}},
		{"sroie-043", "10-03-2018", []string{"10 / 03 / 2018", "10/03/2018 15:04"}},
		{"sroie-209", "11.02.18", []string{"11/02/2018", "11-02-18", "2018-02-11"}}, // full stops: day first
		{"sroie-068", "20180304", []string{"2018-03-04", "4 March 2018"}},
		{"sroie-004", "18-11-18", []string{"18/11/2018", "2018-11-18"}},
	} {
		for _, answer := range tt.answers {
			if !Equal(Date, answer, tt.gold) || !Near(Date, answer, tt.gold) {
				t.Errorf("%s: %q is not equal to %q", tt.source, answer, tt.gold)
			}
			set := NewSet(Date)
			set.Add(tt.gold)
			if !set.Has(answer) {
				t.Errorf("%s: a set of %q does not have %q", tt.source, tt.gold, answer)
			}
		}
	}
	// The other order is another date.
	for gold, answer := range map[string]string{"12-01-19": "01/12/2019", "5/3/2018": "3.5.2018", "10-03-2018": "2018-03-10", "9/3/2018": "9/3/2017"} {
		if Equal(Date, answer, gold) {
			t.Errorf("%q is equal to %q", answer, gold)
		}
	}
}

// There is no half measure between two currencies, nor for a whole number.
func TestNearOfTypes(t *testing.T) {
	for _, tt := range []struct {
		typ     Type
		a, gold string
		want    bool
	}{
		{Money, "$12.49", "$12", true}, {Money, "12.49", "$12", true}, {Money, "€12.49", "$12", false}, {Money, "€12", "$12", false},
		{Number, "€12", "$12", true},
		{Integer, "12.4", "12", false}, {Integer, "12.0", "12", true},
		{Boolean, "yes", "☑", true}, {Boolean, "yes", "no", false},
	} {
		if got := Near(tt.typ, tt.a, tt.gold); got != tt.want {
			t.Errorf("Near(%s, %q, %q) = %v, want %v", tt.typ, tt.a, tt.gold, got, tt.want)
		}
	}
}
