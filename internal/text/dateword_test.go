package text

import (
	"os"
	"strings"
	"testing"
)

// TestDatesOfCLDR reads dates of every month in each language, alone and in a sentence.
func TestDatesOfCLDR(t *testing.T) {
	file, err := os.ReadFile("testdata/dates.tsv")
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]int{}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		language, want, written := f[0], f[1], f[2]
		languages[language]++
		for _, s := range []string{written, strings.ToUpper(written)} {
			if r, err := ParseDate(s); err != nil || r.Ambiguous || r.MonthFirst.String() != want {
				t.Errorf("%s: ParseDate(%q) = %v, %v, want %s", language, s, r, err, want)
			}
			if !Contains(Date, "No. 5: "+s+" (3 pages)", want) {
				t.Errorf("%s: a text with %q does not contain %s", language, s, want)
			}
		}
	}
	if len(languages) != 22 {
		t.Errorf("dates of %d languages, want 22", len(languages))
	}
}

func TestDatesOfLanguages(t *testing.T) {
	for _, tt := range []struct{ in, want, why string }{
		{"1er janvier 2024", "2024-01-01", "the French ordinal"},
		{"1.º de janeiro de 2024", "2024-01-01", "the Portuguese one"},
		{"1º gennaio 2024", "2024-01-01", "the Italian one"},
		{"1° gennaio 2024", "2024-01-01", "with a degree sign"},
		{"3e maart 2024", "2024-03-03", "Dutch"},
		{"den 3. maj 2024", "2024-05-03", "the Danish article"},
		{"den 3:e maj 2024", "2024-05-03", "the Swedish ordinal"},
		{"3 de marzo del 2024", "2024-03-03", "Spanish"},
		{"marzo 3 de 2024", "2024-03-03", "Colombian"},
		{"3. Jänner 2024", "2024-01-03", "Austrian"},
		{"12 FEVRIER 2024", "2024-02-12", "French capitals without accents"},
		{"15 ΜΑΡΤΙΟΥ 2024", "2024-03-15", "Greek capitals have none"},
		{"15 HAZİRAN 2024", "2024-06-15", "the Turkish capital of i"},
		{"15 ARALIK 2024", "2024-12-15", "and that of ı"},
		{"15 marca 2024 r.", "2024-03-15", "the Polish word for year"},
		{"15 марта 2024 года", "2024-03-15", "the Russian one"},
		{"2024. március 15.", "2024-03-15", "Hungarian: the year is first"},
		{"2024. március 15-én", "", "a suffix is more than the date"},
		{"15-out-23", "2023-10-15", "a bank statement of Portugal"},
		{"5 out 10", "", "English, not the 5th of October"},
		{"set 5, 2024", "", "English, not the 5th of September"},
		{"15. Mai 24", "2024-05-15", "a full name with a short year"},

		{"2024年3月15日", "2024-03-15", ""},
		{"２０２４年３月１５日", "2024-03-15", "full-width digits"},
		{"2024 年 3 月 15 日", "2024-03-15", "with spaces"},
		{"2024年3月15号", "2024-03-15", "spoken Chinese"},
		{"二〇二四年三月十五日", "2024-03-15", "Chinese digits"},
		{"二零二四年十二月三十一日", "2024-12-31", ""},
		{"一九九九年十一月二十日", "1999-11-20", ""},
		{"二〇二四年三月六十日", "", "no such day"},
		// Reiwa 1 is 2019, Heisei 1 1989, Showa 1 1926, Taisho 1 1912.
		{"令和6年3月15日", "2024-03-15", ""},
		{"令和元年５月1日", "2019-05-01", "the first year"},
		{"2024年元月1日", "2024-01-01", "January in China"},
		{"元年5月1日", "", "of no era"},
		{"平成31年4月30日", "2019-04-30", ""},
		{"昭和六十四年一月七日", "1989-01-07", ""},
		{"大正15年12月25日", "1926-12-25", ""},
		{"2024年3月15日 金曜日", "2024-03-15", "with a weekday"},
		{"2024年13月1日", "", "no such month"},
		{"24年3月15日", "", "no century"},
		{"2024年3月", "", "no day"},
		{"2024년 3월 15일", "2024-03-15", ""},
		{"2024년3월15일", "2024-03-15", ""},

		{"١٥/٠٣/٢٠٢٤", "2024-03-15", "Arabic-Indic digits"},
		{"१५-०३-२०२४", "2024-03-15", "Devanagari"},
	} {
		r, err := ParseDate(tt.in)
		if got := r.MonthFirst.String(); (tt.want == "") != (err != nil) || err == nil && (got != tt.want || r.Ambiguous) {
			t.Errorf("ParseDate(%q) = %v, %v, want %q (%s)", tt.in, r, err, tt.want, tt.why)
		}
	}
}

func TestMonthsOfLanguages(t *testing.T) {
	for a, b := range map[string]string{"März 2024": "2024-03", "março de 2024": "03/2024", "2024年3月": "March 2024", "令和6年3月": "2024-03", "2024년 3월": "2024-03", "2024年": "2024", "平成元年": "1989"} {
		if !Equal(Date, a, b) {
			t.Errorf("%q is not equal to %q", a, b)
		}
	}
	if !Contains(Date, "von März 2019 bis Juni 2021", "2021-06") {
		t.Error("a text does not contain its month")
	}
}

func TestDatesInRunningText(t *testing.T) {
	for in, want := range map[string]string{
		"契約日は令和6年3月15日に、":              "令和6年3月15日",
		"签订于二〇二四年三月十五日。":               "二〇二四年三月十五日",
		"계약일은 2024년 3월 15일에":           "2024년 3월 15일",
		"es gilt ab dem 1. März 2024.": "1. März 2024",
		"a 2024. március 15-én kelt":   "2024. március 15",
		"im Jahr 2024. March 15, 2025": "March 15, 2025", // not a Hungarian date
		"in 2024. May 5 people came":   "",
		"he won 5 out 10 games":        "",
		"2 pro 2024 licences":          "2 pro 2024", // read as Czech: December 2
	} {
		if got := strings.Join(Values(Date, in), "|"); got != want {
			t.Errorf("dates of %q: %q, want %q", in, got, want)
		}
	}
}

// No name belongs to two months, and no other word of dates is a month.
func TestMonthsAreNotGuessed(t *testing.T) {
	for key, w := range readDateWords(wordsFile) {
		if w.shape == 'w' {
			t.Errorf("%q has two meanings: leave it out", key)
		}
	}
	for word, month := range map[string]int{"mars": 3, "mai": 5, "maj": 5, "juli": 7, "listopad": 11, "may": 5, "мая": 5, "lis": 11, "mart": 3, "set": 9} {
		if got := meaning(word).month; got != month {
			t.Errorf("%q is month %d, want %d", word, got, month)
		}
	}
	two := readDateWords("names pl - - - - - - - - - - listopad\nnames hr - - - - - - - - - listopad\nnames cs - - - - - - - - - - listopad\n")
	if w := two["listopad"]; w.month != 0 || w.shape != 'w' {
		t.Errorf("a name of two months is month %d", w.month)
	}
}
