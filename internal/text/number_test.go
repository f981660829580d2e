package text

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	tests := []struct{ in, want string }{
		{"0", "0"},
		{"-0", "0"},
		{"1234", "1234"},
		{"1234.50", "1234.50"},
		{"+5", "5"},

		// both separators: the last is the decimal point
		{"1,234.56", "1234.56"},
		{"1.234,56", "1234.56"},
		{"1,234,567.89", "1234567.89"},
		{"1.234.567,89", "1234567.89"},
		{"1.234,567", "1234.567"},
		{"1,234.567", "1234.567"},

		// one separator several times: thousands
		{"1,234,567", "1234567"},
		{"1.234.567", "1234567"},
		{"12,34,567", "1234567"}, // Indian grouping
		{"12,34,567.00", "1234567.00"},

		// one comma
		{"1,234", "1234"},
		{"123,456", "123456"},
		{"12,5", "12.5"},
		{"12,50", "12.50"},
		{"1,2345", "1.2345"},
		{"0,125", "0.125"},
		{"1234,567", "1234.567"},
		{",5", "0.5"},

		// one full stop
		{"1.234", "1.234"},
		{"9.000", "9.000"}, // a price per piece, SROIE receipt 000
		{".50", "0.50"},
		{"$1.234", "1.234"},
		{"EUR 1.000", "1000"},
		{"1.000 €", "1000"},
		{"R$ 12.500", "12500"},
		{"Rp 150.000", "150000"},
		{"EUR 0.125", "0.125"},
		{"EUR 1.00", "1.00"},
		{"EUR 1234.567", "1234.567"},

		// spaces and apostrophes
		{"1 234,56", "1234.56"},
		{"1 234 567", "1234567"},
		{"1\u00a0234.56", "1234.56"},
		{"1\u202f234,56", "1234.56"},
		{"1'234.50", "1234.50"},
		{"1’234’567", "1234567"},

		// signs
		{"-5", "-5"},
		{"−5", "-5"},
		{"–5", "-5"},
		{"- 5", "-5"},
		{"5-", "-5"},
		{"1,234.56-", "-1234.56"},
		{"(1,234.56)", "-1234.56"},
		{"($1,234.56)", "-1234.56"},
		{"$ (1,234)", "-1234"},
		{"(5.00) USD", "-5.00"},
		{"-$5", "-5"},
		{"$-5", "-5"},
		{"-RM 0.02", "-0.02"}, // SROIE

		// currencies
		{"$4.11", "4.11"}, // invoice2data
		{"RM 60.30", "60.30"},
		{"RM60.30", "60.30"},
		{"rm60.30", "60.30"},
		{"RM.50", "0.50"},
		{"US$ 1,000", "1000"},
		{"USD 1,000", "1000"},
		{"1,000 usd", "1000"},
		{"$1,000 USD", "1000"},
		{"316,83 zł", "316.83"}, // invoice2data
		{"Rs. 500", "500"},
		{"Rs.500", "500"},
		{"5 dollars", "5"},
		{"CHF 1'234.50", "1234.50"},
		{"¥1,234", "1234"},

		// units
		{"12%", "12"},
		{"12.5 %", "12.5"},
		{"$1.5 million", "1500000"},
		{"1.5 Billion", "1500000000"},
		{"3 thousand", "3000"},
		{"$2.5M", "2500000"},
		{"€3k", "3000"},
		{"176 million RMB", "176000000"}, // CUAD
		{"1e6", "1000000"},
		{"−2.5e−3", "-0.0025"},
		{"−1,234.50", "-1234.50"},
		{"1.5E-3", "0.0015"},

		{"1万", "10000"},
		{"3億円", "300000000"},
		{"1.5万元", "15000"},
		{"500만 원", "5000000"},
		{"1,5 Mio. €", "1500000"},
		{"2 Mrd. Euro", "2000000000"},
		{"2,3 млн. руб.", "2300000"},
		{"5 lakh", "500000"},
		{"1,234円", "1234"},
		{"1,234원", "1234"},
		{"1234元整", "1234"},
		{"￥1,234", "1234"},
		{"1万2345円", "12345"},
		{"2億3456万789", "234560789"},
		{"1万2千円", "12000"},
		{"5만20원", "50020"},
		{"1万05", "10005"},
		{"1万5千", "15000"},
		{"1.234,- €", "1234.00"},
		{"¥1,234-", "1234"},
		{"￥ 1,234−", "1234"},
		{"¥12.50-", "-12.50"},
		{"1,234-", "-1234"},
		{"JPY 1,234-", "-1234"},
		{"CHF 50.-", "50.00"},
		{"CHF 1'250.–", "1250.00"},
		{"EUR 5,--", "5.00"},
		{"Rs 1,00,000/-", "100000"},
		{"1.5M USD", "1500000"},
		{"5 k€", "5000"},

		// padding
		{" 5 ", "5"},
		{"“1,234.56”", "1234.56"},
		{"1,234.", "1234"},
		{"１，２３４", "1234"},

		// digits of other scripts, and the separators of CLDR's Arabic
		{"١٬٢٣٤٫٥٦", "1234.56"},
		{"۱۲۳", "123"},
		{"₹१२,३४,५६७.५०", "1234567.50"},
		{"-٥ USD", "-5"},
	}
	for _, tt := range tests {
		got, err := ParseNumber(tt.in)
		if err != nil || plain(got) != tt.want {
			t.Errorf("ParseNumber(%q) = %s, %v, want %s", tt.in, plain(got), err, tt.want)
		}
	}
}

func TestParseNumberRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "abc", "-", "$", "RM", "1.2.3", "12 34", "1 23", "1,23.45", "1,23,45", "1,2345,678", "0,123,456",
		"1 234.567.890", "1,234.567.890", "192.168.1.1", "15.03.2024", "2024-03-15", "5 apples", "5kg", "2.5M", "5-10",
		"five", "1兆円", "3조", "1万23456円", "1万5", "1万5円", "3千5", "2亿5元", "1万2千5", "1.5万2345", "1万2億", "1e3万5", "1万2万", "5 million 3", "1万5十", "5十", "¥1,234--", "2 mil", "1.234.-", "5,-3", "10²", "½", "1½", "①", "(5", "5)", "--5", "$$5", "12%%", "0x10", "1e999", "1_000", "NaN", "Inf",
		"INV-001", "#5", strings.Repeat("9", 300), strings.Repeat("9", 100000), "\xff5",
	} {
		if got, err := ParseNumber(in); err == nil {
			t.Errorf("ParseNumber(%q) = %s, want an error", clip(in), plain(got))
		}
	}
}

// plain is a number in plain digits, with a minus sign and a decimal point where
// it needs them: "-1234.50".
func plain(d *apd.Decimal) string {
	if d == nil {
		return "no number"
	}
	return d.Text('f')
}

// A number keeps its value and the precision it was written with.
func TestPrecision(t *testing.T) {
	read := func(s string) *apd.Decimal {
		d, err := ParseNumber(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if read("1.50").Cmp(read("1.5")) != 0 || read("1").Cmp(read("2")) >= 0 {
		t.Error("Cmp does not compare values")
	}
	for in, want := range map[string]int32{"1": 0, "1.50": -2, "1,000": 0, "1.5 million": 5, "1e3": 3} {
		if got := read(in).Exponent; got != want {
			t.Errorf("exponent of %s: %d, want %d", in, got, want)
		}
	}
	for _, tt := range []struct {
		in, gold string
		want     bool
	}{
		{"2.345", "2.35", true}, {"-2.345", "-2.35", true}, {"2.344", "2.34", true}, {"2", "2.00", true}, {"1512345", "1.5 million", true},
		{"2.345", "2.34", false}, {"2.344", "2.35", false}, {"1550000", "1.5 million", false},
	} {
		if got := roundsTo(Number, tt.in, tt.gold); got != tt.want {
			t.Errorf("%s rounds to %s: %v, want %v", tt.in, tt.gold, got, tt.want)
		}
	}
}

// TestNumbersWrittenAndRead writes a number in each of the common groupings
// and reads it back.
func TestNumbersWrittenAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Uint64().Draw(t, "whole")
		cents := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), 2, 2, 2).Draw(t, "cents")
		negative := rapid.Bool().Draw(t, "negative")
		style := rapid.SampledFrom([][2]string{{",", "."}, {".", ","}, {" ", ","}, {"'", "."}, {"\u00a0", ","}, {"", "."}}).Draw(t, "style")
		digits := strconv.FormatUint(whole, 10)
		written := groupBy3(digits, style[0]) + style[1] + cents
		want := digits + "." + cents
		if negative {
			written = "-" + written
			if strings.Trim(want, "0.") != "" {
				want = "-" + want
			}
		}
		got, err := ParseNumber(written)
		if err != nil || plain(got) != want {
			t.Errorf("ParseNumber(%q) = %s, %v, want %s", written, plain(got), err, want)
		}
	})
}

func groupBy3(digits, mark string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + mark + digits[i:]
	}
	return digits
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1,234.56", "1.234,56", "(1 234,56)", "$ (1’234)", "EUR 1.000", "5.00-", "−$1.5 million", "Rs.5e-3%", "\xff1", "10²", "CAD $5", "١٬٢٣٤٫٥٦", "१२,३४,५६७"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseNumber(s)
		if err != nil {
			return
		}
		again, err := ParseNumber(plain(d))
		// Plain digits with three decimals read back as they are: no currency.
		if err != nil && len(plain(d)) < maxDigits {
			t.Fatalf("ParseNumber(%q) = %s, which cannot be read: %v", s, d, err)
		}
		if err == nil && again.Cmp(d) != 0 {
			t.Errorf("ParseNumber(%q) = %s, which reads as %s", s, d, again)
		}
		for _, typ := range []Type{Number, Integer, Money} {
			if !Equal(typ, s, s) || !Contains(typ, s, s) {
				t.Errorf("%s %q is not equal to itself or does not contain itself", typ, s)
			}
		}
	})
}
