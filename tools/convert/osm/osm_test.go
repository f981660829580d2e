package osm

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// week writes hours as a line: the days that are known, M T W T F S S.
func week(h catalog.Hours) string {
	parts := make([]string, 7)
	for day := range catalog.Weekdays {
		parts[day] = "?"
		if v := h.On(day); v != "" {
			parts[day] = strings.ReplaceAll(v, ", ", ",")
		}
	}
	return strings.Join(parts, " ")
}

const closed7 = "closed closed closed closed closed closed closed"

func every(s string) string { return strings.TrimSuffix(strings.Repeat(s+" ", 7), " ") }

// The values are those of the extract, of the examples of the specification,
// and what follows from its rules.
func TestParseHours(t *testing.T) {
	tests := []struct{ in, want, note string }{
		{"Mo-Sa 11:00-19:00", "11:00-19:00 11:00-19:00 11:00-19:00 11:00-19:00 11:00-19:00 11:00-19:00 closed", ""},
		{"Mo-Th 11:00-23:00, Fr,Sa 11:00-01:00, Su 09:00-23:00", "11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00 11:00-01:00 11:00-01:00 09:00-23:00", ""},
		{"Su-Th 07:00-01:00, Fr,Sa 07:00-05:00", "07:00-01:00 07:00-01:00 07:00-01:00 07:00-01:00 07:00-05:00 07:00-05:00 07:00-01:00", ""},
		{"Mo-Th,Su 18:00-01:00, Fr,Sa 18:00-02:00", "18:00-01:00 18:00-01:00 18:00-01:00 18:00-01:00 18:00-02:00 18:00-02:00 18:00-01:00", ""},
		{"Mo-Fr 11:30-15:00, 18:00-22:30", "11:30-15:00,18:00-22:30 11:30-15:00,18:00-22:30 11:30-15:00,18:00-22:30 11:30-15:00,18:00-22:30 11:30-15:00,18:00-22:30 closed closed", ""},
		{"Tu-Sa 12:00-14:30,18:00-24:00; Su-Mo 18:00-24:00", "18:00-24:00 12:00-14:30,18:00-24:00 12:00-14:30,18:00-24:00 12:00-14:30,18:00-24:00 12:00-14:30,18:00-24:00 12:00-14:30,18:00-24:00 18:00-24:00", ""},
		{"11:00-15:00,17:00-24:00", every("11:00-15:00,17:00-24:00"), ""},
		{"Mo-sa 11:30-22:00", "11:30-22:00 11:30-22:00 11:30-22:00 11:30-22:00 11:30-22:00 11:30-22:00 closed", ""},
		{"Mo-Sa 11:00 - 21:30", "11:00-21:30 11:00-21:30 11:00-21:30 11:00-21:30 11:00-21:30 11:00-21:30 closed", ""},
		{"17:00-5:00", every("17:00-05:00"), ""},
		{"18:00-26:00", every("18:00-02:00"), ""},
		{"Su off; Mo-Th 10:00-01:00, Fr-Sa 10:00-02:00", "10:00-01:00 10:00-01:00 10:00-01:00 10:00-01:00 10:00-02:00 10:00-02:00 closed", ""},
		{"Mo-Fr 10:30-16:00;Th-Fr 18:00-22:00", "10:30-16:00 10:30-16:00 10:30-16:00 18:00-22:00 18:00-22:00 closed closed", ""}, // a semicolon replaces
		{"Mo-Fr 10:30-16:00, Th-Fr 18:00-22:00", "10:30-16:00 10:30-16:00 10:30-16:00 10:30-16:00,18:00-22:00 10:30-16:00,18:00-22:00 closed closed", ""},
		{"Mo-Su 10:00-20:00; We closed", "10:00-20:00 10:00-20:00 closed 10:00-20:00 10:00-20:00 10:00-20:00 10:00-20:00", ""},
		{"24/7", every("00:00-24:00"), ""},
		{"Mo-Fr open; Sa 24/7", "00:00-24:00 00:00-24:00 00:00-24:00 00:00-24:00 00:00-24:00 00:00-24:00 closed", ""},
		{"off", closed7, ""},
		{"Mo-Sa 11:00-23:00;Su,PH 12:00-22:00", "11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00 12:00-22:00", "PH (holidays) is ignored"},
		{"Mo-Fr 9:00-17:00; PH off;", "09:00-17:00 09:00-17:00 09:00-17:00 09:00-17:00 09:00-17:00 closed closed", "PH (holidays) is ignored"},
		{`Mo-Fr 9:00-17:00 "by appointment"`, "09:00-17:00 09:00-17:00 09:00-17:00 09:00-17:00 09:00-17:00 closed closed", `the comment "by appointment" is left out`},
		{"Tu-Sa 19:00+", "closed ? ? ? ? ? closed", "open-ended time (+) leaves its days unknown"},
		{"Mo 12:00-14:00,18:00-22:00+", "? closed closed closed closed closed closed", "open-ended time (+) leaves its days unknown"},
		{"Mo-Su 11:00-23:00, Tu off", "11:00-23:00 closed 11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00", ""},
		{"Mo-Su 11:00+, Tu,Fr closed", "? closed ? ? closed ? ?", "open-ended time (+) leaves its days unknown"},
		{"Mo-Su 11:00-23:00, Tu off, Tu 18:00-20:00", "11:00-23:00 18:00-20:00 11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00 11:00-23:00", ""},
		{"Mo 11:00-23:00, PH off", "11:00-23:00 closed closed closed closed closed closed", "PH (holidays) is ignored"},
		{"Mo-Su 23:00-23:00", every("?"), "empty interval leaves its days unknown"},
		{"Mo 10:00-14:00,23:00-23:00; Tu 10:00-34:00; We 9:00-17:00", "? ? 09:00-17:00 closed closed closed closed", "empty interval leaves its days unknown"},
		{"Mo 00:00-00:00; Tu 00:00-24:00", "00:00-24:00 00:00-24:00 closed closed closed closed closed", ""},
		{"Mo-Su 18:00+; We 18:00-23:00", "? ? 18:00-23:00 ? ? ? ?", "open-ended time (+) leaves its days unknown"},
	}
	for _, tt := range tests {
		h, notes, err := ParseHours(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if got := week(h); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
		if got := strings.Join(notes, "; "); got != tt.note {
			t.Errorf("%s: notes %q, want %q", tt.in, got, tt.note)
		}
	}
}

func TestParseHoursRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "empty value",
		"Mo-Fr":                    "want times",
		"Jun-Aug 10:00-20:00":      `got "Jun-Aug"`,
		"sunrise-sunset":           "want times",
		"Mo-Fr 10:00-sunset":       "want an interval",
		"Mo-Fr 10:00":              "want an interval",
		"Mo[1] 10:00-12:00":        "want times",
		"Mo 10:00-12:00 || \"x\"":  "fallbacks",
		"Mo 10:00-25:99":           "not a time of day",
		"Mo 9:00-49:00":            "not a time of day",
		"Mo 25:00-26:00":           "start on its day",
		"Mo-PH 10:00-12:00":        "range of days",
		"Mo 10:00-12:00 off":       "off with times",
		"Mo-Fr 10:00-12:00 week 3": `"week" is not supported`,
		"by arrangement":           "want times",
	} {
		h, _, err := ParseHours(in)
		if err == nil || !strings.Contains(err.Error(), want) || !h.IsZero() {
			t.Errorf("%q: %v, %v, want …%s", in, week(h), err, want)
		}
	}
}

func FuzzParseHours(f *testing.F) {
	for _, s := range []string{"Mo-Fr 10:00-20:00; Sa 24/7", "Su-Th 18:00+, Fr,PH off \"x\"", "11:00–23:00"} {
		f.Add(s)
	}
	f.Add("Mo-Su 23:00-23:00, Tu off")
	f.Fuzz(func(t *testing.T, s string) {
		h, _, err := ParseHours(s)
		if err != nil {
			return
		}
		for day := range catalog.Weekdays { // what is written is read again
			for _, i := range h.Days[day] {
				if back, err := catalog.ParseInterval(i.String()); err != nil || back != i {
					t.Fatalf("%q gives %s, which is read as %v, %v", s, i, back, err)
				}
			}
		}
		for day := range catalog.Weekdays {
			for _, i := range h.Days[day] {
				if i.From < 0 || i.From >= catalog.Day || i.To <= i.From || i.To > i.From+catalog.Day {
					t.Fatalf("%q gives %+v", s, i)
				}
			}
		}
	})
}

func mannheim(t *testing.T) ([]*catalog.Item, []string) {
	t.Helper()
	data, err := os.ReadFile("../../../examples/rerank/osm_restaurants_mannheim.json")
	if err != nil {
		t.Fatal(err)
	}
	items, notes, err := Convert(data)
	if err != nil {
		t.Fatal(err)
	}
	return items, notes
}

// Of the extract's 139 restaurants 103 have opening_hours. All of them are
// read; of one no day has an end.
func TestMannheim(t *testing.T) {
	items, notes := mannheim(t)
	known := 0
	for _, i := range items {
		if !i.Hours.IsZero() {
			known++
		}
	}
	if len(items) != 139 || known != 102 {
		t.Errorf("%d items, of %d some hours are known", len(items), known)
	}
	var hours []string
	for _, n := range notes {
		if strings.Contains(n, "opening_hours") {
			hours = append(hours, n)
		}
	}
	want := []string{
		`node/823457164 (Geiger & Salber): opening_hours "Tu-Sa 19:00+": open-ended time (+) leaves its days unknown`,
		`node/2308337167 (MoschMosch): opening_hours "Mo-Sa 11:00-23:00;Su,PH 12:00-22:00": PH (holidays) is ignored`,
		`node/2450912779 (Dean & David): opening_hours "Mo-Sa 11:00-20:00; Su 12:00-20:00; PH off": PH (holidays) is ignored`,
		`node/2499103203 (Cafe-Bistro Tomek): opening_hours "Mo-Su 17:00+": open-ended time (+) leaves its days unknown`,
		`node/2537617441 (Zwickerstube): opening_hours "Mo-Fr 16:30+; Sa 18:00+": open-ended time (+) leaves its days unknown`,
		`node/4076290332 (Glück & Verstand): opening_hours "Tu-Fr 11:30-15:00;Tu-Sa 18:00+": open-ended time (+) leaves its days unknown`,
	}
	if strings.Join(hours, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(hours, "\n"), strings.Join(want, "\n"))
	}
}

func TestTags(t *testing.T) {
	items, _, err := Convert([]byte(`[{"id":"node/1","name":"Istanbul Restaurant CafГ©","lat":49.49,"lon":8.46,"tags":{
		"amenity":"restaurant","name":"x","cuisine":"turkish;ice_cream","capacity":"100","delivery":"no","takeaway":"only","outdoor_seating":"pedestrian_zone",
		"smoking":"outside","wheelchair":"limited","internet_access":"wlan","internet_access:fee":"no","diet:vegan":"only","addr:city":"Mannheim","opening_hours":"Mo 9:00-17:00"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	i := items[0]
	for path, want := range map[string]string{
		"name": "Istanbul Restaurant Café", "categories": `["Restaurants","Turkish","Ice cream"]`, "attributes.Capacity": "100", "attributes.RestaurantsDelivery": "false",
		"attributes.RestaurantsTakeOut": "true", "attributes.OutdoorSeating": "true", "attributes.Smoking": "outside", "attributes.WheelchairAccessible": "limited",
		"attributes.WiFi": "free", "attributes.Vegan": "only", "city": "Mannheim", "latitude": "49.49", "hours.Monday": "09:00-17:00", "hours.Tuesday": "closed", "attributes.DogsAllowed": "",
	} {
		if got := catalog.Text(i.At(path)); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestWiFi(t *testing.T) {
	for tags, want := range map[string]string{
		`"internet_access":"wlan","internet_access:fee":"no"`: "free", `"internet_access":"wlan","internet_access:fee":"customers"`: "free",
		`"internet_access":"yes","internet_access:fee":"yes"`: "paid", `"internet_access":"wifi"`: "yes", `"internet_access":"wlan","internet_access:fee":"2 EUR"`: "yes",
		`"internet_access":"no","internet_access:fee":"customers"`: "no", `"internet_access:fee":"customers"`: "", `"internet_access":"terminal"`: "",
	} {
		items, _, err := Convert([]byte(`[{"id":"node/1","name":"A","tags":{` + tags + `}}]`))
		if err != nil {
			t.Fatal(err)
		}
		if got := catalog.Text(items[0].At("attributes.WiFi")); got != want {
			t.Errorf("%s is %q, want %q", tags, got, want)
		}
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	items, notes, err := Convert([]byte(`[{"id":"node/1","name":"A","tags":{"wheelchair":"perhaps","capacity":"many","internet_access":"terminal","opening_hours":"sunrise-sunset"}}]`))
	if err != nil || len(items) != 1 || len(items[0].Attributes) != 0 || !items[0].Hours.IsZero() {
		t.Fatal(items, err)
	}
	text := strings.Join(notes, "\n")
	for _, want := range []string{`wheelchair: unsupported value "perhaps"`, `capacity: unsupported value "many"`, `internet_access: unsupported value "terminal"`, `opening_hours "sunrise-sunset": `} {
		if !strings.Contains(text, "node/1 (A): "+want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
	for _, bad := range []string{"{", `[{"id":"a"}]`, `[{"name":"a"}]`, `[{"id":"a","name":"a"},{"id":"a","name":"b"}]`} {
		if _, _, err := Convert([]byte(bad)); err == nil {
			t.Errorf("%s is converted", bad)
		}
	}
}

func TestRepair(t *testing.T) {
	for in, want := range map[string]string{
		"MeГџplatz": "Meßplatz", "CafÃ©": "Café", "Joe PeÃ±as": "Joe Peñas", "Paá¹£am": "Paṣam", "Keller's WeinrestaurantвЂЋ": "Keller's Weinrestaurant",
		"Café": "Café", "Plain": "Plain", "Мой ресторан": "Мой ресторан", "東京": "東京", "": "",
	} {
		if got := Repair(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// The shipped items are those of the extract.
func TestConvertFile(t *testing.T) {
	want, err := os.ReadFile("../../../examples/rerank/data/items.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	if code := Main([]string{"../../../examples/rerank/osm_restaurants_mannheim.json"}, &out, &said); code != 0 || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("exit code %d, %d bytes of %d", code, out.Len(), len(want))
	}
	if !strings.Contains(said.String(), "note: node/823457164 (Geiger & Salber): opening_hours") || !strings.Contains(said.String(), Attribution) {
		t.Errorf("said %s", &said)
	}
	for _, args := range [][]string{nil, {"a", "b"}, {"absent.json"}, {"osm_test.go"}} {
		if code := Main(args, &out, &said); code != 2 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
