package text

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDate(t *testing.T) {
	tests := []struct{ in, want string }{
		// numbers only
		{"2024-03-15", "2024-03-15"},
		{"2024-3-5", "2024-03-05"},
		{"2024/03/15", "2024-03-15"},
		{"2024.03.15", "2024-03-15"},
		{"2024-02-29", "2024-02-29"},
		{"15/03/2024", "2024-03-15"},
		{"3/15/2024", "2024-03-15"},
		{"15.03.2024", "2024-03-15"},
		{"15-03-2024", "2024-03-15"},
		{"03/03/2024", "2024-03-03"}, // both orders are the same day
		{"3-14-18", "2018-03-14"},    // CUAD
		{"1/14/02", "2002-01-14"},    // CUAD
		{"9/21/98", "1998-09-21"},    // CUAD
		{"18/03/18", "2018-03-18"},   // SROIE
		{"14-03-18", "2018-03-14"},   // SROIE
		{"20180428", "2018-04-28"},   // SROIE
		{"25032018", "2018-03-25"},   // SROIE
		{"20122018", "2018-12-20"},   // month 20 does not exist
		{"15 / 03 / 2024", "2024-03-15"},

		{"15. 3. 2024", "2024-03-15"},  // Czech
		{"2024. 3. 15.", "2024-03-15"}, // Korean
		{"15. 3.2024", ""},
		{"15 .3 .2024", ""},
		{"15. 3. 24", ""},

		// day, month, year
		{"15 March 2024", "2024-03-15"},
		{"2 April 2020", "2020-04-02"},
		{"31 January, 1994", "1994-01-31"}, // CUAD
		{"15-Mar-24", "2024-03-15"},
		{"24-MAR-2018", "2018-03-24"}, // SROIE
		{"02/JAN/2017", "2017-01-02"}, // SROIE
		{"05 MAR 2018", "2018-03-05"}, // SROIE
		{"28 MAR 18", "2018-03-28"},   // SROIE
		{"18 april 2014", "2014-04-18"},
		{"15 Sept. 2024", "2024-09-15"},
		{"15 Mar '24", "2024-03-15"},

		// month, day, year
		{"March 15, 2024", "2024-03-15"},
		{"March 15 2024", "2024-03-15"},
		{"Mar. 15, 2024", "2024-03-15"},
		{"MAY 5, 2024", "2024-05-05"},
		{"Mar-15-2024", "2024-03-15"},
		{"Mar-15-24", "2024-03-15"},
		{"August 3 , 2014", "2014-08-03"},             // invoice2data
		{"October 1,1996", "1996-10-01"},              // CUAD
		{"June 1st, 2020", "2020-06-01"},              // CUAD
		{"June 1s t 2020", "2020-06-01"},              // CUAD
		{"September 21, 1998.", "1998-09-21"},         // CUAD
		{"24th day of February, 1998,", "1998-02-24"}, // CUAD
		{"2024-Mar-15", "2024-03-15"},

		// contracts
		{"15th day of March, 2024", "2024-03-15"},
		{"the 26th day of March 2020", "2020-03-26"},
		{"14 day of June 2006", "2006-06-14"},
		{"5th Day of March, 2019", "2019-03-05"},
		{"1st of March, 2003", "2003-03-01"},
		{"17t h day of October, 2007", "2007-10-17"},
		{"21s t day of February 2011", "2011-02-21"},
		{"22n d day of June 2018", "2018-06-22"},
		{"3r d day of June 2018", "2018-06-03"},
		{"(1st) day of January, 1996", "1996-01-01"},
		{"1st day of --- November, 2003", "2003-11-01"},
		{"16 day of August. 2012", "2012-08-16"},
		{"Dated as of the 1st day of June, 2017", "2017-06-01"},
		{"as of December 14, 1997", "1997-12-14"},
		{"Date: 15/03/2024", "2024-03-15"},

		// weekdays and times of day
		{"Friday, March 15, 2024", "2024-03-15"},
		{"Fri 15 Mar 2024", "2024-03-15"},
		{"15/03/2024 (Fri)", ""},
		{"15/03/2024, Friday", "2024-03-15"},
		{"25/12/2018 8:13:39 PM", "2018-12-25"}, // SROIE
		{"19/10/2018 20:49:59", "2018-10-19"},   // SROIE
		{"2024-03-15T10:20:30Z", "2024-03-15"},
		{"2024-03-15T10:20:30.123+02:00", "2024-03-15"},
		{"2024-03-15 10:20", "2024-03-15"},
		{"March 15, 2024 at 5:00 p.m.", "2024-03-15"},
		{"March 15, 2024, 5 p.m.", ""}, // an hour alone is not a time of day
		{"15/03/2024 5:00 a.m UTC", "2024-03-15"},
		{"2024-03-15T10:20-0500", "2024-03-15"},
		{"20180428/191204", "2018-04-28"}, // SROIE

		// round it
		{"“March 15, 2024”", "2024-03-15"},
		{"(March 15, 2024)", "2024-03-15"},
		{"１５/０３/２０２４", "2024-03-15"},

		// with full stops the day is first, if such a day exists
		{"05.11.2024", "2024-11-05"},
		{"11.02.18", "2018-02-11"}, // SROIE
		{"05.13.2024", "2024-05-13"},

		// the pivot
		{"31/12/68", "2068-12-31"},
		{"31/12/69", "1969-12-31"},
	}
	for _, tt := range tests {
		r, err := ParseDate(tt.in)
		if tt.want == "" {
			if err == nil {
				t.Errorf("ParseDate(%q) = %v, want an error", tt.in, r)
			}
			continue
		}
		if err != nil || r.Ambiguous || r.MonthFirst.String() != tt.want {
			t.Errorf("ParseDate(%q) = %v, %v, want %s", tt.in, r, err, tt.want)
		}
		if r.DayFirst != r.MonthFirst {
			t.Errorf("ParseDate(%q) = %v: two readings, but not ambiguous", tt.in, r)
		}
	}
}

func TestParseDateAmbiguous(t *testing.T) {
	for in, want := range map[string]string{
		"03/04/2024":     "2024-03-04 2024-04-03",
		"3/4/11":         "2011-03-04 2011-04-03", // CUAD
		"12-01-19":       "2019-12-01 2019-01-12", // SROIE
		"03042018":       "2018-03-04 2018-04-03",
		"9/3/2018 10:15": "2018-09-03 2018-03-09",
		"(06/12/2016)":   "2016-06-12 2016-12-06", // SROIE
	} {
		r, err := ParseDate(in)
		if got := fmt.Sprint(r.MonthFirst, " ", r.DayFirst); err != nil || got != want || !r.Ambiguous {
			t.Errorf("ParseDate(%q) = %v, %v, want %s, ambiguous", in, r, err, want)
		}
	}
}

func TestParseDateRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "(", "()", "(soon)", "soon", "March", "2024", "May 2019", "2019-05", "05/2019", "15 March", "March 15",
		// CUAD: blanks are not filled in
		"July __, 2000", "[___], 2020", "[·] day of [·], 2019", "______ day of ______________, 2015.", "1st day of December",
		"March ___, 1999", ", 2015.", "9th day of September 200", "day of , 2009", "this _____ day of _________, 20___",
		// days that do not exist
		"2023-02-29", "31/04/2024", "13/13/2024", "2024-00-10", "February 30, 2024", "0/5/2024", "99999999", "1900-02-29",
		// more than a date
		"March 15, 2024 and April 1, 2024", "March 15, 2024 USD", "Invoice 15/03/2024", "This Agreement is dated April 29, 2010",
		"1-15/03/2024", "15/03/2024/7", "15/03-2024", "15. 03. 24", "15, March 2024", "2024-03-15-001", "5.00", "10.5.3", "1.2.3",
		"07/31/2000; 07/[]/2000", "\xff2024-03-15", strings.Repeat("1/", 1000), strings.Repeat("March ", 10000),
	} {
		if r, err := ParseDate(in); err == nil {
			t.Errorf("ParseDate(%q) = %v, want an error", clip(in), r)
		}
	}
}

// TestDatesWrittenAndRead writes a day in every layout of Go's time package
// that people use and reads it back.
func TestDatesWrittenAndRead(t *testing.T) {
	layouts := []string{
		time.DateOnly, "2006/01/02", "20060102", "2 January 2006", "02-Jan-2006", "02/Jan/2006", "January 2, 2006", "Jan. 2, 2006",
		"2.1.2006", "02.01.2006", "Monday, January 2, 2006", "Mon, 02 Jan 2006", time.RFC3339, time.DateTime, "2 January, 2006", "2 of January 2006",
	}
	// 15 is a day in either order, so these are read without doubt from the 13th on.
	unsure := []string{"02/01/2006", "1/2/2006", "02-01-2006", "01/02/2006 15:04:05", "2/1/2006 3:04 PM"}
	rapid.Check(t, func(t *rapid.T) {
		day := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 73048).Draw(t, "days"))
		layout := rapid.SampledFrom(append(unsure, layouts...)).Draw(t, "layout")
		written := day.Format(layout)
		want := day.Format(time.DateOnly)
		r, err := ParseDate(written)
		switch {
		case err != nil:
			t.Fatalf("ParseDate(%q): %v", written, err)
		case !r.Ambiguous && r.MonthFirst.String() != want:
			t.Errorf("ParseDate(%q) = %v, want %s", written, r, want)
		case r.Ambiguous && r.MonthFirst.String() != want && r.DayFirst.String() != want:
			t.Errorf("ParseDate(%q) = %v, want %s among them", written, r, want)
		}
		mayDoubt := strings.Contains(strings.Join(unsure, "|"), layout) && day.Day() <= 12 && day.Day() != int(day.Month())
		if r.Ambiguous != mayDoubt {
			t.Errorf("ParseDate(%q): ambiguous is %v, want %v", written, r.Ambiguous, mayDoubt)
		}
		// A date stands in a sentence as it stands alone.
		if got := Values(Date, "made on "+written+", by"); len(got) != 1 || !strings.HasPrefix(written, got[0]) && !strings.HasSuffix(written, got[0]) {
			t.Errorf("Values found %q in a sentence with %q", got, written)
		}
	})
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2024-03-15T10:20:30.5+02:00", "Friday, 17t h day of October, 2007", "(1st) of Mar. '24", "03/04/2024 8:13 a.m.", "20180428/191204", "July __, 2000", "May 2019", "sexta-feira, 1.º de março de 2024", "2024. március 15., péntek", "15 марта 2024 г.", "令和元年５月1日", "二〇二四年三月十五日", "2024년 3월 15일", "١٥/٠٣/٢٠٢٤"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseDate(s)
		if !Equal(Date, s, s) {
			t.Errorf("%q is not equal to itself", s)
		}
		if err != nil {
			return
		}
		if !r.MonthFirst.valid() || !r.DayFirst.valid() || r.Ambiguous != (r.MonthFirst != r.DayFirst) {
			t.Errorf("ParseDate(%q) = %v", s, r)
		}
		if day := r.MonthFirst; !r.Ambiguous && (!Equal(Date, s, day.String()) || !Contains(Date, s, day.String())) {
			t.Errorf("%q is not equal to %s or does not contain it", s, day)
		}
	})
}

// A date that no calendar has is told from a text that is no date.
func TestCheck(t *testing.T) {
	for s, want := range map[string]error{
		"2024-03-15": nil, "March 2024": nil, "2024": nil, "03/04/2024": nil, "29.2.2024": nil,
		"32/13/2020": ErrNoDay, "2023-02-29": ErrNoDay, "31.4.2020": ErrNoDay, "30 Feb 2024": ErrNoDay, "Feb. 30, 2024": ErrNoDay,
		"0000-00-00": ErrNoDay, "13/13/20": ErrNoDay,
		"perpetual": errNoDate, "July __, 2000": errNoDate, "": errNoDate, "3. März 2024": nil, "30. Februar 2024": ErrNoDay, "31 de abril de 2024": ErrNoDay, "2023年2月29日": ErrNoDay, "2024年3月": nil, "10.1.2.3": errNoDate, "12345/1/1": errNoDate,
	} {
		if got := Check(Date, s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]error{"1,234.50": nil, "EUR 1.000": nil, "": errNoDigits, "1 or 2": errBeyond, "1,23,4": errGroups} {
		if got := Check(Money, s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]error{"12": nil, "1,200": nil, "12.0": nil, "12.5": errNotWhole, "EUR 1.200": nil, "1.234": errGrouped, "1.000": errGrouped, "n/a": errNoDigits, "1 2": errBeyond} {
		if got := Check(Integer, s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]error{"Yes": nil, "[ ]": nil, "0": nil, "はい": nil, "maybe": errNotBoolean, "": errNotBoolean, "2": errNotBoolean} {
		if got := Check(Boolean, s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	if err := Check(String, ""); err != nil {
		t.Error(err)
	}
}
