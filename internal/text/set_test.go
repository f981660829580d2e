package text

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A set finds a text if and only if Equal does.
func TestSetAgreesWithEqual(t *testing.T) {
	texts := map[Type][]string{
		Number: {"1", "1.0", "1.000", "1,000", "1000", "EUR 1.000", "1.000 €", "EUR 1.00", "EUR 1,000.00", "-1", "−1", "(1)", "1e3", "1.5 million", "1.500.000", "EUR 1.2345.6", "1.2345.6", "n/a", "N/A", "", " ", "0", "-0", "1.00.0", "EUR 1.00.0", "€"},
		Date: {"2024-03-04", "03/04/2024", "04/03/2024", "March 4, 2024", "4.3.2024", "03/04/2024.", "(03/04/2024)", "«03/04/2024»", "2024-03", "March 2024", "2024", "2024-03-01", "2024-01-01",
			"3.4.2024", "3-4-24", "04.03.2024", "03042024", "13/04/2024", "2024-04-13", "unknown", "Unknown", "", "05/05/2024", "2024-05-05", "32/13/2020"},
		ID:      {"12-3", "1-23", "12–3", "# 12-3", "A 1", "a1", ""},
		String:  {"Straße", "STRASSE", "a  b", "A b.", "ab", ""},
		Boolean: {"yes", "1", "☑", "[x]", "x", "(x)", "[ ]", "[]", "", "no", "oui", "maybe", "Maybe"},
		Enum:    {"yes", "Yes", "no", ""},
	}
	texts[Integer] = append([]string{"12.5", "12.50", "EUR 1.5", "1.5 €"}, texts[Number]...)
	texts[Money] = append([]string{"$1", "USD 1", "CAD 1", "CAD 1.00", "$1 CAD", "¥1", "JPY 1", "CNY 1", "kr 1.000", "NOK 1000", "DKK 1.000", "$1.2.3", "€1.2.3"}, texts[Number]...)
	types := []Type{String, Number, Integer, Money, Date, Boolean, Enum, ID}
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SampledFrom(types).Draw(t, "type")
		drawn := rapid.OneOf(rapid.SampledFrom(texts[of]), rapid.StringMatching(`(EUR |€|-)?[0-9]{1,4}[.,]?[0-9]{0,3}|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}|[a-cA-C .]{0,3}`))
		list := rapid.SliceOfN(drawn, 0, 12).Draw(t, "texts")
		set := NewSet(of)
		var members []string
		for _, s := range list {
			equal := false
			for _, m := range members {
				equal = equal || Equal(of, m, s)
			}
			if set.Has(s) != equal {
				t.Fatalf("%s: Has(%q) is %t with %q", of, s, !equal, members)
			}
			if set.Add(s) == equal {
				t.Fatalf("%s: Add(%q) is %t with %q", of, s, equal, members)
			}
			if !equal {
				members = append(members, s)
			}
			if set.Len() != len(members) || !set.Has(s) {
				t.Fatalf("%s: after %q the set has %d texts and not those equal to it; want %q", of, s, set.Len(), members)
			}
		}
	})
}

// The work for a text does not depend on the size of the set.
func TestSetParsesEachTextOnce(t *testing.T) {
	for _, of := range []Type{Number, Date} {
		work := func(n int) float64 {
			return testing.AllocsPerRun(3, func() {
				set := NewSet(of)
				for i := range n {
					set.Add(fmt.Sprintf("%04d-%02d-%02d", 1000+i/300, 1+i/25%12, 1+i%25))
				}
			})
		}
		if few, many := work(100), work(1600); many > 17*few {
			t.Errorf("%s: %v allocations for 100 texts, %v for 1600", of, few, many)
		}
	}
}

// Two currencies make amounts of money different, and not numbers.
func TestSetComparesCurrenciesOfMoney(t *testing.T) {
	for of, same := range map[Type]bool{Number: true, Integer: true, Money: false} {
		set := NewSet(of)
		set.Add("$1")
		if set.Has("€1") != same {
			t.Errorf("%s: $1 is €1: %t, want %t", of, !same, same)
		}
	}
}
