package catalog

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/scruple-eval/scruple/internal/suites/kit"

	"pgregory.net/rapid"
)

func TestParseInterval(t *testing.T) {
	for in, want := range map[string]Interval{
		"11:0-21:0": {660, 1260}, "8:30-17:05": {510, 1025}, "17:0-2:0": {1020, 1560}, "0:0-0:0": {0, 1440}, "0:0-24:0": {0, 1440},
		"9:0-0:0": {540, 1440}, " 09:00 – 12:00 ": {540, 720}, "23:59-23:58": {1439, 2878},
	} {
		if got, err := ParseInterval(in); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "9-17", "9:00", "25:0-26:0", "9:60-10:0", "9:00-9:00", "24:00-3:00", "24:30-25:00", "9:0-17:0-20:0", "nine-ten", "9:00-17:00x", "-1:0-2:0"} {
		if got, err := ParseInterval(in); err == nil {
			t.Errorf("%q is %+v", in, got)
		}
	}
}

func hoursOf(t *testing.T, days map[int][]string) Hours {
	t.Helper()
	var h Hours
	for day, texts := range days {
		var list []Interval
		for _, s := range texts {
			i, err := ParseInterval(s)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, i)
		}
		h.Set(day, list...)
	}
	return h
}

func TestContains(t *testing.T) {
	h := hoursOf(t, map[int][]string{
		0: {"11:30-14:30", "17:00-22:00"},
		1: {}, // Tuesday closed, Wednesday not known
		3: {"18:00-2:00"},
		4: {"18:00-24:00"}, 5: {"0:00-3:00", "20:00-23:00"},
		6: {"22:00-4:00"}, // into the Monday of the next week
	})
	const yes, no, unknown = "yes", "no", "unknown"
	tests := []struct {
		day               int
		asked, want, what string
	}{
		{0, "12:00-14:00", yes, "within"},
		{0, "11:30-14:30", yes, "the whole"},
		{0, "11:29-14:30", no, "starts too early"},
		{0, "14:00-18:00", no, "over a break"},
		{0, "17:00-22:00", yes, "the second interval"},
		{0, "21:00-23:00", no, "ends too late"},
		{1, "12:00-13:00", no, "closed"},
		{2, "12:00-13:00", unknown, "not known"},
		{3, "19:00-1:00", yes, "both past midnight"},
		{3, "23:00-3:00", no, "asked past the end on the next day"},
		{4, "0:30-1:30", yes, "what is left of the day before"},
		{4, "1:00-3:00", no, "longer than what is left of the day before"},
		{4, "20:00-2:00", yes, "intervals of two days that touch"},
		{4, "20:00-4:00", no, "longer than both"},
		{0, "2:00-4:00", yes, "from Sunday into Monday"},
		{6, "23:00-3:30", yes, "from Sunday on"},
		{0, "0:00-0:00", no, "the whole day"},
	}
	for _, tt := range tests {
		i, err := ParseInterval(tt.asked)
		if err != nil {
			t.Fatal(err)
		}
		open, known := h.Contains(tt.day, i.From, i.To)
		got := unknown
		switch {
		case known && open:
			got = yes
		case known:
			got = no
		}
		if got != tt.want {
			t.Errorf("%s %s (%s): %s, want %s", Weekdays[tt.day], tt.asked, tt.what, got, tt.want)
		}
	}
	// What the day before covers is known though the day itself is not.
	wednesday := hoursOf(t, map[int][]string{1: {"20:00-6:00"}})
	if open, known := wednesday.Contains(2, 60, 120); !open || !known {
		t.Error("Tuesday's night is not open on Wednesday")
	}
	allDay := hoursOf(t, map[int][]string{0: {"0:0-0:0"}, 1: {"0:0-0:0"}})
	if open, _ := allDay.Contains(0, 0, 0); !open {
		t.Error("a place that is open all day is not open all day")
	}
	if open, _ := allDay.Contains(0, 23*60, 22*60); !open {
		t.Error("open all of two days, but not from one to the other")
	}
	if _, known := allDay.Contains(9, 0, 60); known {
		t.Error("there is a ninth day")
	}
}

// What is not known may be open; a minute that is known to be closed settles
// it, wherever in the asked time it is.
func TestContainsOverUnknownDays(t *testing.T) {
	tests := []struct {
		monday, tuesday []string // nil: not known
		day             int
		asked           string
		open, known     bool
	}{
		{[]string{"18:00-24:00"}, nil, 0, "23:00-1:00", false, false},
		{[]string{"18:00-24:00"}, []string{"0:00-2:00"}, 0, "23:00-1:00", true, true},
		{[]string{"18:00-24:00"}, []string{}, 0, "23:00-1:00", false, true},
		{[]string{"18:00-23:30"}, nil, 0, "23:00-1:00", false, true}, // closed before midnight already
		{[]string{"18:00-1:00"}, nil, 0, "23:00-1:00", true, true},
		{[]string{"18:00-0:30"}, nil, 0, "23:00-1:00", false, false},
		{[]string{"18:00-24:00"}, nil, 0, "17:00-1:00", false, true},
		{nil, []string{"0:00-2:00"}, 0, "23:00-1:00", false, false},
		{nil, []string{"9:00-17:00"}, 0, "23:00-1:00", false, false}, // Monday's hours may pass midnight
		{nil, []string{}, 0, "23:00-1:00", false, false},
		{nil, []string{"9:00-17:00"}, 1, "10:00-11:00", true, true},
		{nil, nil, 0, "23:00-1:00", false, false},
		{nil, nil, 0, "0:00-24:00", false, false},
	}
	for _, tt := range tests {
		days := map[int][]string{}
		if tt.monday != nil {
			days[0] = tt.monday
		}
		if tt.tuesday != nil {
			days[1] = tt.tuesday
		}
		h := hoursOf(t, days)
		i, err := ParseInterval(tt.asked)
		if err != nil {
			t.Fatal(err)
		}
		if open, known := h.Contains(tt.day, i.From, i.To%Day); open != tt.open || known != tt.known {
			t.Errorf("Monday %v, Tuesday %v, asked %s on %s: open %v, known %v", tt.monday, tt.tuesday, tt.asked, Weekdays[tt.day], open, known)
		}
	}
}

// Minute by minute is another way to tell: open all the time is open at every
// minute, closed if it is known to be closed at one.
func TestContainsMinuteByMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Hours
		var open [7 * Day]bool
		for day := range Weekdays {
			if rapid.IntRange(0, 4).Draw(t, "unknown") == 0 {
				continue
			}
			var list []Interval
			for range rapid.IntRange(0, 2).Draw(t, "intervals") {
				from := rapid.IntRange(0, 47).Draw(t, "from") * 30
				list = append(list, Interval{from, from + rapid.IntRange(1, 48).Draw(t, "length")*30})
			}
			h.Set(day, list...)
			for _, i := range list {
				for m := i.From; m < i.To; m++ {
					open[(day*Day+m)%(7*Day)] = true
				}
			}
		}
		day := rapid.IntRange(0, 6).Draw(t, "day")
		from := rapid.IntRange(0, 47).Draw(t, "asked from") * 30
		length := rapid.IntRange(1, 48).Draw(t, "asked length") * 30
		want, wantKnown := true, true
		for m := from; m < from+length; m++ {
			if open[(day*Day+m)%(7*Day)] {
				continue
			}
			want, wantKnown = false, h.Known[day] && h.Known[(day+m/Day)%7]
			if wantKnown {
				break
			}
		}
		got, known := h.Contains(day, from, (from+length)%Day)
		if known != wantKnown || got != want {
			t.Fatalf("%+v: %s from %d for %d is %v, %v", h, Weekdays[day], from, length, got, known)
		}
	})
}

func TestReadHours(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"Monday":"11:0-21:0","Tuesday":["11:00-14:00","17:00-22:00"],"Wednesday":[["9:00","12:00"]],"Thursday":"11:00-14:00, 17:00-22:00","Friday":"closed","Saturday":[],"Sunday":null}`), &v); err != nil {
		t.Fatal(err)
	}
	h, errs := readHours(v)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for day, want := range []string{"11:00-21:00", "11:00-14:00, 17:00-22:00", "09:00-12:00", "11:00-14:00, 17:00-22:00", "closed", "closed", ""} {
		if got := h.On(day); got != want {
			t.Errorf("%s: %q, want %q", Weekdays[day], got, want)
		}
	}
	var written any
	if err := json.Unmarshal(kit.JSON(&h), &written); err != nil {
		t.Fatal(err)
	}
	if back, errs := readHours(written); len(errs) > 0 || !cmp.Equal(back, h) {
		t.Errorf("%s becomes %s (%v)", kit.JSON(&h), kit.JSON(&back), errs)
	}
	v = nil
	_ = json.Unmarshal([]byte(`{"Monday":"11-21","Moonday":"9:0-10:0","Tuesday":5,"Friday":"9:0-10:0"}`), &v)
	if h, errs = readHours(v); len(errs) != 3 || h.On(4) != "09:00-10:00" {
		t.Errorf("%v, %v", errs, h)
	}
}
