package text

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEqual(t *testing.T) {
	tests := []struct {
		typ  Type
		a, b string
		want bool
	}{
		{String, "Acme, Inc.", "ACME, INC", true},
		{String, "Acme  Inc", "Acme\nInc", true},
		{String, "Acme", "Acme Inc", false},
		{String, "", "", true},
		{String, "**Acme Inc.**", "Acme Inc", true},
		{String, "grade A*", "grade A", false},
		{Money, "**$5.00**", "$5", true},
		{Date, "*March 5, 2024*", "2024-03-05", true},
		{ID, "**INV-1**", "INV-1", true},
		{Boolean, "**Yes**", "true", true},
		{Enum, "Female", "female", true},
		{Enum, "male", "female", false},

		{ID, "INV-001", "inv-001", true},
		{ID, "INV–001", "INV-001", true}, // en dash
		{ID, "#42183017", "42183017", true},
		{ID, "DE89 3704 0044", "DE8937040044", true},
		{ID, "12-3", "1-23", false},
		{ID, "INV-001", "INV001", false},
		{ID, "INV-001", "INV-0001", false},
		{ID, "007", "7", false},

		{Number, "1,234.50", "1234.5", true},
		{Number, "1.234,50", "1,234.50", true},
		{Number, "5", "-5", false},
		{Number, "(5)", "5", false}, // the brackets are its sign
		{Number, "5.00-", "−5", true},
		{Number, "12%", "12", true},
		{Number, "five", "Five.", true}, // neither is read: by their text
		{Number, "five", "5", false},
		{Number, "0.1", "0.10000000000000000001", false}, // exact
		{Money, "$4.11", "4.11", true},
		{Money, "RM 60.30", "60.3", true},
		{Money, "RM60.30", "USD 60.30", false},
		{Money, "EUR 1.000", "1,000.00", true},
		{Money, "EUR 1.000", "1.000", true}, // read alike
		{Money, "EUR 1.000", "1", false},
		{Money, "$1.000", "1000", false},
		{Money, "$1.5 million", "1,500,000", true},
		{Money, "USD $1,234.56", "1234.56", true}, // a code and a sign may stand together
		{Money, "$1,234.56 USD", "1234.56", true},
		{Money, "US$ 1,234.56", "1234.56", true},
		{Money, "EUR 1.234,56 €", "1234.56", true},
		{Money, "1,234.56 TND", "1234.56", true},

		// The currency is before, behind or absent; the forms are those of CLDR's locales
		// en, de, en-CH, nb and en-IN.
		{Money, "$1,234.56", "1234.56", true},
		{Money, "1.234,56 €", "1234.56", true},
		{Money, "USD 1,234.56", "1,234.56 USD", true},
		{Money, "CHF 12.50", "12.50", true},
		{Money, "kr 1 234,50", "1234.50", true},
		{Money, "₹1,23,456.00", "123456", true},
		{Money, "$١٢٫٥٠", "USD 12.50", true},
		// Two currencies that may be the same one.
		{Money, "$5", "€5", false},
		{Money, "$5", "USD 5", true},
		{Money, "$5", "US$5", true},
		{Money, "$5", "CAD 5", true},
		{Money, "US$5", "CAD 5", false},
		{Money, "$5 CAD", "USD 5", false}, // both marks count
		{Money, "$5", "5 dollars", true},
		{Money, "¥500", "JPY 500", true},
		{Money, "500 CNY", "￥500", true},
		{Money, "RMB 500", "CNY 500", true},
		{Money, "JPY 500", "CNY 500", false},
		{Money, "kr 5", "5 SEK", true},
		{Money, "NOK 5", "5 kr", true},
		{Money, "DKK 5", "5 kr.", true},
		{Money, "NOK 5", "SEK 5", false},
		{Money, "£5", "GBP 5", true},
		{Money, "£5", "5 euros", false},
		{Money, "5", "zł 5", true},
		{Number, "$5", "€5", true}, // a plain number has no currency

		{Integer, "12", "12.0", true},
		{Integer, "1,200", "1200", true},
		{Integer, "1.2 thousand", "1200", true},
		{Integer, "1.234 billion", "1,234,000,000", true},
		{Integer, "１２", "12", true},
		{Integer, "12.5", "12", false},
		{Integer, "12.5", "12.50", false}, // no integers: by their text
		{Integer, "12.5", "12.5.", true},
		{Integer, "EUR 1.200", "1.200", true}, // read alike
		{Integer, "1.000", "1", false},        // or 1000
		{Integer, "1.000", "1000", false},
		{Integer, "1.234", "1234", false},
		{Integer, "1.234", " 1.234.", true}, // by their text
		{Integer, "0.000", "0", true},
		{Integer, "twelve", "Twelve", true},

		{Boolean, "yes", "TRUE", true},
		{Boolean, "1", "Yes.", true},
		{Boolean, "0", "no", true},
		{Boolean, "☑", "true", true},
		{Boolean, "[x]", "[X]", true},
		{Boolean, "[x]", "yes", true},
		{Boolean, "[ ]", "☐", true},
		{Boolean, "☒", "yes", true}, // 10-K: "Yes ☒ No ☐"
		{Boolean, "[ ]", "[x]", false},
		{Boolean, "ja", "oui", true}, // de nl, fr
		{Boolean, "sí", "sì", true},  // es, it
		{Boolean, "si", "sim", true}, // without its accent, pt
		{Boolean, "wahr", "vrai", true},
		{Boolean, "verdadero", "verdadeiro", true},
		{Boolean, "vero", "waar", true},
		{Boolean, "是", "はい", true},
		{Boolean, "예", "yes", true},
		{Boolean, "nein", "non", true},
		{Boolean, "não", "nee", true},
		{Boolean, "falsch", "faux", true},
		{Boolean, "falso", "onwaar", true},
		{Boolean, "否", "いいえ", true},
		{Boolean, "아니오", "no", true},
		{Boolean, "ja", "nein", false},
		{Boolean, "x", "[x]", false}, // a letter is not a box
		{Boolean, "y", "yes", false},
		{Boolean, "maybe", "Maybe.", true},
		{Boolean, "maybe", "no", false},

		{Date, "2024-04-03", "April 3, 2024", true},
		{Date, "3rd day of April, 2024", "03-Apr-24", true},
		{Date, "1/14/02", "2002-01-14", true},
		{Date, "2024-04-03", "2024-04-04", false},
		// An ambiguous order is the same as its own text only.
		{Date, "03/04/2024", "2024-04-03", false},
		{Date, "03/04/2024", "2024-03-04", false},
		{Date, "03/04/2024", "03/04/2024", true},
		{Date, "03/04/2024", " 03/04/2024. ", true},
		// The same numbers in the same order are one date, whichever it is.
		{Date, "03/04/2024", "3/4/2024", true},
		{Date, "03/04/2024", "03-04-2024", true},
		{Date, "03/04/2024", "03/04/24", true}, // the pivot holds for all dates
		{Date, "03/04/2024", "03042024", true},
		{Date, "03/04/2024", "03.04.2024", true}, // though only this is read as April 3
		{Date, "03/04/2024", "04/03/2024", false},
		{Date, "03/04/2024", "04.03.2024", false},
		{Date, "03/04/2024", "3 April 2024", false}, // no order is guessed
		{Date, "03/04/2024", "03/04/2025", false},
		{Date, "03.04.2024", "2024-04-03", true},
		// Dates that lack a part.
		{Date, "May 2019", "2019-05", true},
		{Date, "May 2019", "05/2019", true},
		{Date, "May 2019", "2019-05-01", false},
		{Date, "2019", "2019", true},
		{Date, "January 2019", "2019", false},
		{Date, "July __, 2000", "july __, 2000", true},
		{Date, "July __, 2000", "July 2000", false},
		{Date, "soon", "2024-04-03", false},
	}
	for _, tt := range tests {
		if got := Equal(tt.typ, tt.a, tt.b); got != tt.want {
			t.Errorf("Equal(%s, %q, %q) = %v, want %v", tt.typ, tt.a, tt.b, got, tt.want)
		}
	}
}

// valueText draws texts that are often values.
func valueText() *rapid.Generator[string] {
	return rapid.OneOf(
		anyText(),
		rapid.StringOfN(rapid.RuneFrom([]rune("0123456789.,-() $€%'/")), 0, 12, -1),
		rapid.SampledFrom([]string{"03/04/2024", "2024-04-03", "April 3, 2024", "May 2019", "2019-05", "EUR 1.000", "1.000", "1000", "(5)", "-5", "5", "03.04.2024", "3/4/24", "$5", "CAD 5", "€5", "USD $5", "5.0", "yes", "☑", "[x]", "[ ]", "нет", "2024年3月15日", "令和6年3月15日", "15. März 2024", "٥", "1万円", "2億", "5 Mio. €", "1.234,- €", "7원", "1234元整", "万", "조"}),
	)
}

func TestEqualIsReflexiveAndSymmetric(t *testing.T) {
	types := rapid.SampledFrom([]Type{String, Number, Integer, Money, Date, Boolean, Enum, ID})
	rapid.Check(t, func(t *rapid.T) {
		typ, a, b := types.Draw(t, "type"), valueText().Draw(t, "a"), valueText().Draw(t, "b")
		if !Equal(typ, a, a) {
			t.Errorf("%s %q is not equal to itself", typ, a)
		}
		if Equal(typ, a, b) != Equal(typ, b, a) {
			t.Errorf("Equal(%s, %q, %q) is %v one way only", typ, a, b, Equal(typ, a, b))
		}
	})
}

func TestValues(t *testing.T) {
	tests := []struct {
		typ  Type
		in   string
		want []string
	}{
		{Number, "", nil},
		{Number, "QTY 2 at 1,234.50 each", []string{"2", "1,234.50"}},
		{Number, "thirty (30) days", []string{"30"}},
		{Number, "a 30-day notice", []string{"30"}},
		{Number, "TOTAL:9.00.", []string{"9.00"}},
		{Number, "disc 10.00%  -5.59", []string{"10.00%", "-5.59"}}, // SROIE 001
		{Number, "1 PC * 9.000 0.00 9.00", []string{"1", "9.000", "0.00", "9.00"}},
		{Number, "qty 10 200", []string{"10", "200"}}, // columns, not 10200
		{Number, "somme 1\u00a0234,56", []string{"1\u00a0234,56"}},
		{Number, "INV-001 A4 TD01167104 789B v2", nil},
		{Number, "15/03/2024 at 10:30, tel. 07-3507405, 192.168.1.1", nil},
		{Number, "the 1st and 2nd", nil},
		{Number, "about .50 off", []string{".50"}},
		{Number, "No.5", []string{"5"}},
		{Number, "section 3. Then", []string{"3"}},
		{Number, "0$-1.00", []string{"0", "$-1.00"}}, // the sign belongs to one only
		{Number, "1.2.3 and 1,2,3", nil},

		{Number, "٣ of ۱۲٫۵", []string{"٣", "۱۲٫۵"}},
		{Number, "价格1234元，总 1234개, 총1234", []string{"1234元", "1234", "1234"}},
		{Number, "1万2345 1万23456 1兆 第3조", []string{"1万2345"}},
		{Money, "合計1,234円です 1,500円 2万円", []string{"1,234円", "1,500円", "2万円"}},
		{Money, "1,5 Mio. Euro und 1.234,- € an 3 Mio. Gäste", []string{"1,5 Mio. Euro", "1.234,- €"}},
		{Number, "1.- Objeto. 2 Mio. Next", []string{"1", "2 Mio"}},
		{Integer, "QTY 2 at 1,234.50 and 3.0", []string{"2", "3.0"}},
		{Boolean, "yes or no", nil},

		{Money, "QTY 2, total RM  60.30", []string{"RM  60.30"}},
		{Money, "10.00% of 5.59", []string{"5.59"}},
		{Money, "2.5m EUR, a 5 m $3 rope, Rs 500/- only, 3/-4", []string{"2.5m EUR", "$3", "Rs 500/-"}},
		{Money, "pay $5 or 7 EUR", []string{"$5", "7 EUR"}},
		{Money, "1 RM 60.30", []string{"RM 60.30"}},
		{Money, "one thousand dollars ($1,000)", []string{"$1,000"}},
		{Money, "$  44 $  45", []string{"$  44", "$  45"}}, // 10-Q columns
		{Money, "BOOK SDN BHD 1110644", nil},               // a company number
		{Money, "$2.5 Billion facility", []string{"$2.5 Billion"}},
		{Money, "-RM 0.02", []string{"-RM 0.02"}},
		{Money, "TOTAL RM\n60.30", []string{"60.30"}}, // a mark on another line is not its mark

		{Date, "made this 17t h day of October, 2007 (the “Date”)", []string{"17t h day of October, 2007"}},
		{Date, "DATE: 25/12/2018 8:13:39 PM", []string{"25/12/2018"}},
		{Date, "DATE/TIME  : 20180428/191204", []string{"20180428"}},
		{Date, "from 2024-03-15T10:20:30Z to 2024-03-16", []string{"2024-03-15", "2024-03-16"}},
		{Date, "from May 1, 2013 to April 30, 2015.", []string{"May 1, 2013", "April 30, 2015"}},
		{Date, "on June 1s t 2020 and expiring May 31st 2021", []string{"June 1s t 2020", "May 31st 2021"}},
		{Date, "日期20240315 2024-03-15까지 v20240315", []string{"20240315", "2024-03-15"}},
		{Date, "Praha 15. 3. 2024, see 5. 3. 20 items", []string{"15. 3. 2024"}},
		{Date, "Section 5 March 15, 2024", []string{"March 15, 2024"}},
		{Date, "December 31,  December 31, 2024", []string{"December 31, 2024"}},
		{Date, "December 31 March 31 2024", []string{"March 31 2024"}},
		{Date, "May 5, 20 people may 6", nil},
		{Date, "TD01122018 2018-12-31-0001 1-2-3-2018 July __, 2000", nil},
		{Date, "1st day of\n  September 2004", []string{"1st day of\n  September 2004"}},

		{String, "anything 5", nil},
		{Enum, "anything 5", nil},
		{ID, "INV-5", nil},
	}
	for _, tt := range tests {
		if got := Values(tt.typ, tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("Values(%s, %q) = %q, want %q", tt.typ, tt.in, got, tt.want)
		}
	}
}

func TestContains(t *testing.T) {
	tests := []struct {
		typ          Type
		quote, value string
		want         bool
	}{
		{String, "by and between ACME, Inc. and", "Acme, Inc.", true},
		{String, "Acmeville", "Acme", false},
		{String, "New Acme", "acme", true},
		{String, "anything", "", false},
		{String, "", "anything", false},
		{String, "東京都港区", "港区", true}, // no spaces between words
		{Enum, "sex: female", "male", false},

		{Number, "thirty (30) days", "30", true},
		{Number, "thirty (30) days", "-30", true}, // or an accountant's minus
		{Number, "net loss (1,234)", "-1234", true},
		{Number, "1,234.50", "1234.5", true},
		{Number, "INV-1234", "1234", false},
		{Number, "qty 10 200", "200", true},
		{Number, "somme 10 200", "10200", true}, // or French thousands
		{Number, "1 234,56", "1234.56", true},
		{Number, "five apples", "five", true},
		{Money, "TOTAL (RM): 60.30", "RM 60.30", true},
		{Money, "dollars ($1,000)", "1000", true},
		{Money, "Summe 1.000 €", "1000", true},
		{Money, "Summe 1.000", "EUR 1.000", true},
		{Money, "total 60.31", "60.30", false},
		{Money, "$1.5 million", "1500000", true},
		{Money, "$1.5 million", "1.5", false},

		{Money, "total €60.30", "$60.30", false},
		{Money, "total 60.30 CAD", "$60.30", true},
		{Money, "total: ١٢٫٥٠ ريال", "12.50", true},
		{Money, "价格1234元", "1234", true},
		{Money, "1234원입니다", "1,234 KRW", true},
		{Integer, "총 1234개", "1234", true},
		{Number, "約1万円", "1", false},
		{Number, "約1万円", "10000", true},
		{Money, "合計1万2345円です", "12345", true},
		{Money, "合計1万2345円です", "2345", false},
		{Number, "月薪1万5", "10005", false},
		{Number, "月薪1万5", "5", false},
		{Number, "1.5万2345", "2345", false},
		{Money, "ご請求額 ￥1,234-", "-1234", false},
		{Money, "ご請求額 ￥1,234-", "1234", true},
		{Integer, "12 items of 5.5 kg", "12.0", true},
		{Integer, "12 items of 5.5 kg", "5", false},
		{Boolean, "Insured: Yes", "true", true},
		{Boolean, "Insured: No", "true", false},
		{Boolean, "shell company: Yes ☐", "false", true},
		{Boolean, "[x] smoker", "yes", true},
		{Boolean, "1 item", "true", false}, // a number, unless it is asked for
		{Boolean, "flag: 1", "1", true},
		{Boolean, "notes", "no", false},
		{Boolean, "Invoice no. 17", "false", false}, // a number, or an answer: not known
		{Boolean, "Invoice No.: A-17", "no", false},
		{Boolean, "Order no #17", "false", false},
		{Boolean, "Smoker: no. Children: 2", "false", true},
		{Boolean, "Smoker: no", "false", true},
		{Boolean, "Allergies: No.\n2 tablets a day", "false", true},
		{Boolean, "Ｎｏ．１７", "false", false},
		{Boolean, "是否吸烟", "true", false}, // whether
		{Boolean, "是否吸烟", "否", false},
		{Boolean, "不是", "true", false}, // is not
		{Boolean, "否定", "false", false},
		{Boolean, "入ってはいけない", "true", false},
		{Boolean, "是否吸烟：是", "true", true},
		{Boolean, "喫煙：いいえ。", "false", true},
		{Boolean, "保険加入Yesです", "true", true},
		{Boolean, "既往歴no。", "false", true},
		{Boolean, "1はい", "true", true},
		{Boolean, "①はい", "true", true},
		{Boolean, "1是", "true", true},
		{Boolean, "吸烟：是的", "true", true},
		{Boolean, "吸烟：不是", "false", true},
		{Boolean, "注文No.17", "false", false},

		{Date, "dated as of the 17t h day of October, 2007", "2007-10-17", true},
		{Date, "DATE: 25/12/2018 8:13:39 PM", "2018-12-25", true},
		{Date, "DATE: 03/04/2024", "2024-04-03", true}, // one of the two days it can mean: a date rewritten to ISO keeps its evidence
		{Date, "DATE: 03/04/2024", "2024-05-03", false},
		{Date, "DATE: 03/04/2024", "03/04/2024", true},
		{Date, "DATE: 3/4/2024", "03/04/2024", true},
		{Date, "DATE: 03.04.2024", "03/04/2024", true},
		{Date, "DATE: 4/3/2024", "03/04/2024", false},
		{Date, "April 3, 2024", "03/04/2024", false},
		{Date, "from May 2019 to June 2021", "2019-05", true},
		{Date, "from May 2019 to June 2021", "2019-06", false},
		{Date, "class of 2019", "2019", true},
		{Date, "July __, 2000", "July __, 2000", true},

		{ID, "Invoice no. INV-001.", "inv-001", true},
		{ID, "Invoice no. INV-001-A", "INV-001", false},
		{ID, "Invoice no. X-INV-001", "INV-001", false},
		{ID, "Invoice no. INV-0011", "INV-001", false},
		{ID, "IBAN DE89 3704 0044 0532", "DE89370400440532", true},
		{ID, "IBAN DE8937040044", "DE89 3704 0044", true},
		{ID, "#42183017", "42183017", true},
		{ID, "no. INV–001", "INV-001", true},
		{ID, "INV-001입니다", "INV-001", true},
		{ID, "no id", "", false},
	}
	for _, tt := range tests {
		if got := Contains(tt.typ, tt.quote, tt.value); got != tt.want {
			t.Errorf("Contains(%s, %q, %q) = %v, want %v", tt.typ, tt.quote, tt.value, got, tt.want)
		}
	}
}

// TestValuesStandInTheText: what is found is as written, in order, can be read
// and is contained.
func TestValuesStandInTheText(t *testing.T) {
	piece := rapid.OneOf(valueText(), rapid.SampledFrom([]string{
		"USD", "RM", "€", "million", "15 March 2024", "28 MAR 18", "12-01-19", "20180428", "th", "day of", "T10:30", "5.00-", "(30)", "1 234,56",
	}))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), rapid.SampledFrom([]string{" ", "", "-", ", "}).Draw(t, "between"))
		for _, typ := range []Type{Number, Integer, Money, Date} {
			rest := s
			for _, v := range Values(typ, s) {
				_, after, ok := strings.Cut(rest, v)
				if !ok {
					t.Fatalf("Values(%s, %q): %q is not in order", typ, s, v)
				}
				rest = after
				var err error
				if typ == Date {
					_, err = ParseDate(v)
				} else {
					_, err = ParseNumber(v)
				}
				if err != nil {
					t.Errorf("Values(%s, %q): %q cannot be read: %v", typ, s, v, err)
				}
				if !Contains(typ, s, v) {
					t.Errorf("Values(%s, %q) has %q, but Contains says no", typ, s, v)
				}
			}
		}
	})
}

// A currency sign in another width is the same currency.
func TestWideSigns(t *testing.T) {
	for _, s := range []string{"April 3, 2024 ﹩", "＄5", "￡5.00"} {
		for _, v := range Values(Money, s) {
			if !Contains(Money, s, v) {
				t.Errorf("%q does not contain %q", s, v)
			}
		}
	}
}

func FuzzContains(f *testing.F) {
	f.Add("thirty (30) days, 17t h day of October, 2007; RM 1 234,56- INV–001 A", "INV - 001")
	f.Add("no. 0\x930", "0\xff")
	f.Fuzz(func(t *testing.T, quote, value string) {
		for _, typ := range []Type{String, Number, Integer, Money, Date, Boolean, Enum, ID} {
			Contains(typ, quote, value)
			if !isBlank(value) && !Contains(typ, value, value) {
				t.Errorf("%s %q does not contain itself", typ, value)
			}
			for _, v := range Values(typ, quote) {
				if !Contains(typ, quote, v) {
					t.Errorf("Values(%s, %q) has %q, but Contains says no", typ, quote, v)
				}
			}
		}
	})
}
