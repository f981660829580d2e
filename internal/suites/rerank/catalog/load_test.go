package catalog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// files writes data to a folder, "" for a file that is not there.
func files(t *testing.T, items, reviews, users string) Files {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		if content == "" {
			return ""
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return Files{Items: write("items.jsonl", items), Reviews: write("reviews.jsonl", reviews), Users: write("users.jsonl", users)}
}

func load(t *testing.T, f Files) (*Catalog, []string) {
	t.Helper()
	c, findings, err := Load(f)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, x := range findings {
		text := strings.ReplaceAll(x.Error(), filepath.Dir(f.Items)+string(filepath.Separator), "")
		if x.Warning {
			text += " (warning)"
		}
		texts = append(texts, text)
	}
	return c, texts
}

// A record of each of Yelp's files, in its published form.
const (
	yelpItem   = `{"business_id":"b1","name":"St Honore Pastries","address":"935 Race St","city":"Philadelphia","stars":4.0,"review_count":80,"is_open":1,"attributes":{"RestaurantsDelivery":"False","WiFi":"u'free'","BusinessParking":"{'garage': False, 'street': True}","Ambience":"None","RestaurantsPriceRange2":"1","ByAppointmentOnly":"False","Alcohol":"u'none'"},"categories":"Restaurants, Food, Bubble Tea","hours":{"Monday":"7:0-20:0","Tuesday":"0:0-0:0","Friday":"17:0-2:0"}}`
	yelpReview = `{"review_id":"r1","user_id":"u1","business_id":"b1","stars":3.0,"useful":2,"funny":0,"cool":1,"text":"If you decide to eat here…","date":"2018-07-07 22:09:11"}`
	yelpUser   = `{"user_id":"u1","name":"Walker","review_count":585,"yelping_since":"2007-01-25 16:47:26","useful":7217,"elite":"2007,2008","friends":"u2, u3","fans":267,"average_stars":3.91}`
)

func TestYelpLoadsAsItIs(t *testing.T) {
	c, findings := load(t, files(t, yelpItem, yelpReview, yelpUser+"\n"+`{"user_id":"u2","name":"Ann","friends":"None"}`))
	want := []string{
		"users.jsonl: 1 friend not among the users (warning)",
		"users.jsonl: 1 friendship stated by one side only: counted for both (warning)",
	}
	if diff := cmp.Diff(want, findings); diff != "" {
		t.Error(diff)
	}
	i := c.Item("b1")
	for path, want := range map[string]string{
		"name": "St Honore Pastries", "city": "Philadelphia", "stars": "4", "attributes.WiFi": "free", "attributes.RestaurantsDelivery": "false",
		"attributes.BusinessParking.street": "true", "attributes.Ambience": "", "attributes.RestaurantsPriceRange2": "1", "attributes.Alcohol": "none",
		"categories": `["Restaurants","Food","Bubble Tea"]`, "hours.Monday": "07:00-20:00", "hours.Tuesday": "00:00-24:00", "hours.Friday": "17:00-02:00", "hours.Sunday": "", "nothing": "",
	} {
		if got := Text(i.At(path)); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if k := Kind(i.At("attributes.RestaurantsPriceRange2")); k != "number" {
		t.Errorf("a price range is a %v", k)
	}
	r := &i.Reviews[0]
	for path, want := range map[string]string{"stars": "3", "useful": "2", "user.fans": "267", "fans": "267", "user.elite": "[2007,2008]", "date": "2018-07-07 22:09:11", "user.nothing": ""} {
		if got := Text(r.At(path)); got != want {
			t.Errorf("review: %s is %q, want %q", path, got, want)
		}
	}
	if !c.Graph.Within("ann", 1)["u1"] {
		t.Error("Walker is no friend of Ann's")
	}
}

// A catalog in tables is the catalog in JSON Lines.
func TestTables(t *testing.T) {
	lines, none := load(t, files(t, `{"id":"7","name":"Café","attributes":{"WiFi":"free","Seats":40,"Parking":{"street":true}},"categories":"Cafés, Bars","hours":{"Monday":"9:00-12:00"},"postal_code":"08001","rank":3}`,
		`{"id":"r1","item_id":"7","user_id":"u1","stars":4.5,"text":"Quiet, good.","date":"2024-01-02"}`, `{"id":"u1","name":"Ann","friends":["u2"]}`+"\n"+`{"id":"u2","name":"Bo","friends":["u1"]}`))
	dir := t.TempDir()
	paths := map[string]string{}
	for name, content := range map[string]string{
		"items.csv":   "id;name;attributes.WiFi;attributes.Seats;attributes.Parking.street;categories;hours.Monday;postal_code;rank\n7;Café;free;40;true;Cafés, Bars;9:00-12:00;08001;3\n",
		"reviews.tsv": "id\titem_id\tuser_id\tstars\ttext\tdate\nr1\t7\tu1\t4.5\tQuiet, good.\t2024-01-02\n",
		"users.json":  `[{"id":"u1","name":"Ann","friends":["u2"]},{"id":"u2","name":"Bo","friends":["u1"]}]`,
	} {
		paths[name] = filepath.Join(dir, name)
		if err := os.WriteFile(paths[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tables, findings := load(t, Files{Items: paths["items.csv"], Reviews: paths["reviews.tsv"], Users: paths["users.json"]})
	if len(none)+len(findings) > 0 {
		t.Fatalf("findings: %q, %q", none, findings)
	}
	lines.Items[0].Line = 2 // the header is before it
	if diff := cmp.Diff([]any{lines.Items, lines.Users}, []any{tables.Items, tables.Users}, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// In tables, ids of one friend and names of one category may look like numbers.
func TestListsInTables(t *testing.T) {
	dir := t.TempDir()
	paths := map[string]string{}
	for name, content := range map[string]string{
		"items.csv":   "id,name,categories\n7,Café,24\n",
		"reviews.csv": "id,item_id,user_id,text,friends\n1,7,11,good,3\n",
		"users.csv":   "user_id,name,friends\n11,Ann,\"12,13\"\n12,Bo,11\n13,Cy,\"[\"\"11\"\"]\"\n",
	} {
		paths[name] = filepath.Join(dir, name)
		if err := os.WriteFile(paths[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, findings := load(t, Files{Items: paths["items.csv"], Reviews: paths["reviews.csv"], Users: paths["users.csv"]})
	if len(findings) > 0 {
		t.Fatalf("%q", findings)
	}
	got := fmt.Sprint(c.Items[0].Categories, c.Items[0].Reviews[0].At("friends"), c.Users["11"].Friends, c.Users["12"].Friends, c.Users["13"].Friends)
	if got != "[24] 3 [12 13] [11] [11]" {
		t.Error(got)
	}
}

// What is no table and no JSON Lines is one error with the place, not one for each line.
func TestTableThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(path, []byte("id,name\n1,a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(Files{Items: path}); err == nil || !strings.Contains(err.Error(), "items.csv:2: the record has 3 fields, the header 2") {
		t.Error(err)
	}
}

func TestOwnFormGzipped(t *testing.T) {
	f := files(t, "x", "y", "")
	for path, content := range map[string]string{
		f.Items:   `{"id":"a","name":"A","attributes":{"WiFi":"free","Ambience":{"casual":true}},"categories":["Cafe"],"hours":{"Monday":["9:00-12:00","13:00-17:00"]}}` + "\n",
		f.Reviews: `{"id":"r","item_id":"a","user_id":"u","text":"good","user":{"fans":3}}` + "\n",
	} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(content))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, findings := load(t, f)
	if len(findings) > 0 || Text(c.Items[0].At("attributes.Ambience.casual")) != "true" || c.Items[0].Reviews[0].At("fans") != 3.0 {
		t.Error(findings, c.Items[0])
	}
}

// Everything that is wrong is named in one pass, with file and line.
func TestAllFindingsInOnePass(t *testing.T) {
	items := strings.Join([]string{
		`{"id":"a","name":"A"}`,
		`{"id":"a","name":"again"}`,
		`{"name":"no id"}`,
		"{\"id\":\"b\",\"name\":\"B\xfcro\"}",
		`{"id":"c","name":"C","hours":{"Monday":"9-17","Moonday":"9:0-10:0"}}`,
		`{"business_id":"d","name":"D","attributes":{"WiFi":"free","Ambience":"{'casual': True"}}`,
		`{"id":"e","name":"E","attributes":{"Music":"dict(dj=True)"},"categories":7}`,
		`{"id":"f","name":"F"`,
		``,
		`{"id":"g","name":" ","id":"h"}`,
		`{"id":"i"}`,
	}, "\n")
	reviews := strings.Join([]string{
		`{"id":"r1","item_id":"a","user_id":"u1","text":"x"}`,
		`{"id":"r1","item_id":"a","user_id":"u1","text":"x"}`,
		`{"id":"r2","item_id":"zzz","user_id":"u1","text":"x"}`,
		`{"id":"r3","item_id":"a","user_id":"nobody","text":""}`,
		`{"id":"r4","user_id":"u1","text":"x"}`,
		`{"id":"r5","item_id":"a","user_id":"u1","text":7}`,
	}, "\n")
	users := `{"id":"u1","name":"One","friends":["u1","u9"]}` + "\n" + `{"id":"u1","name":"One"}` + "\n" + `{"id":"u2","friends":5}`
	_, got := load(t, files(t, items, reviews, users))
	want := []string{
		`items.jsonl:2: duplicate id "a": first on line 1`,
		`items.jsonl:3: missing id`,
		`items.jsonl:4: byte 20 of the line is not UTF-8: save the file as UTF-8`,
		`items.jsonl:5: item "c": hours of Monday: "9-17" is not an interval: want hours and minutes such as 8:00-17:30`,
		`items.jsonl:5: item "c": hours: "Moonday" is not a day: want Monday to Sunday`,
		`items.jsonl:5: item "c" has no reviews (warning)`,
		`items.jsonl:6: item "d": attribute Ambience is not a Python literal: want None, True, False, a number, a quoted text, [...] or {...}, got "{'casual': True"`,
		`items.jsonl:6: item "d": attribute WiFi is not a Python literal: want None, True, False, a number, a quoted text, [...] or {...}, got "free"`,
		`items.jsonl:6: item "d" has no reviews (warning)`,
		`items.jsonl:7: item "e": attribute Music looks like a Python literal but does not parse; kept as text: want None, True, False, a number, a quoted text, [...] or {...}, got "dict(dj=True)" (warning)`,
		`items.jsonl:7: item "e": categories: want a list of texts or one comma-separated text, got a number`,
		`items.jsonl:7: item "e" has no reviews (warning)`,
		`items.jsonl:8: column 21: unexpected end of JSON: the value is cut off; of JSON Lines each line must hold a whole one`,
		`items.jsonl:10: column 22: duplicate key "id"`,
		`items.jsonl:11: item "i": missing name`,
		`items.jsonl:11: item "i" has no reviews (warning)`,
		`reviews.jsonl:2: duplicate id "r1": first on line 1`,
		`reviews.jsonl:3: review "r2": unknown item: item_id "zzz"`,
		`reviews.jsonl:4: review "r3": unknown user: user_id "nobody" (warning)`,
		`reviews.jsonl:4: review "r3" has no text (warning)`,
		`reviews.jsonl:5: review "r4": missing item_id`,
		`reviews.jsonl:6: column 48: text: want a string, got a number`,
		`users.jsonl: 1 friend not among the users (warning)`,
		`users.jsonl:1: user "u1" is listed as their own friend (warning)`,
		`users.jsonl:2: duplicate id "u1": first on line 1`,
		`users.jsonl:3: user "u2": missing name`,
		`users.jsonl:3: user "u2": friends: want a list of texts or one comma-separated text, got a number`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStrip(t *testing.T) {
	f := files(t, yelpItem, yelpReview, yelpUser)
	f.Strip = []string{
		"stars", "attributes.WiFi", "attributes.BusinessParking", "attributes.BusinessParking.street", "hours.monday", "categories",
		"reviews.useful", "reviews.user.fans", "reviews.stars", "reviews.date", "stars",
	}
	c, findings := load(t, f)
	i := c.Items[0]
	for _, path := range []string{"stars", "attributes.WiFi", "attributes.BusinessParking.garage", "hours.Monday", "categories"} {
		if i.At(path) != nil {
			t.Errorf("%s is still there", path)
		}
	}
	r := &i.Reviews[0]
	for _, path := range []string{"useful", "user.fans", "stars", "date"} {
		if r.At(path) != nil && path != "useful" || r.Fields[path] != nil { // useful is the writer's now
			t.Errorf("reviews.%s is still there", path)
		}
	}
	if i.At("city") == nil || i.At("hours.Friday") == nil || i.At("attributes.Alcohol") == nil || r.At("funny") == nil || r.At("user.review_count") == nil {
		t.Errorf("more is gone than was asked for: %+v", i)
	}
	if strings.Contains(strings.Join(findings, "\n"), "strip") {
		t.Error(findings)
	}
}

// Whatever is named is gone, however deep it is, and nothing beside it.
func TestStripReachesEveryPlace(t *testing.T) {
	item := `{"id":"a","name":"A","city":"X","place":{"zip":{"code":"1","area":"2"}},"attributes":{"Ambience":{"casual":true,"hipster":false},"Text":"{'x': 1, 'y': 2}","a.b":"1"},"hours":{"Monday":"9:0-10:0","Tuesday":"9:0-10:0"}}`
	review := `{"id":"r","item_id":"a","user_id":"u","text":"x","stars":3,"votes":{"up":1,"down":2},"user":{"fans":1,"compliments":{"hot":1,"cute":2}}}`
	tests := []struct{ path, gone, stays string }{
		{"attributes.Ambience.casual", "attributes.Ambience.casual", "attributes.Ambience.hipster"},
		{"attributes.Text.x", "attributes.Text.x", "attributes.Text.y"},
		{"attributes.a.b", "attributes.a.b", "attributes.Text.x"},
		{"attributes", "attributes.Ambience.hipster", "city"},
		{"hours.Monday", "hours.Monday", "hours.Tuesday"},
		{"hours", "hours.Tuesday", "city"},
		{"place.zip.code", "place.zip.code", "place.zip.area"},
		{"place", "place.zip.area", "city"},
		{"reviews.votes.up", "reviews.votes.up", "reviews.votes.down"},
		{"reviews.user.compliments.hot", "reviews.user.compliments.hot", "reviews.user.compliments.cute"},
		{"reviews.user", "reviews.user.fans", "reviews.votes.up"},
	}
	for _, tt := range tests {
		f := files(t, item, review, "")
		f.Strip = []string{tt.path}
		c, findings := load(t, f)
		at := func(path string) any {
			if name, ok := strings.CutPrefix(path, "reviews."); ok {
				return c.Items[0].Reviews[0].At(name)
			}
			return c.Items[0].At(path)
		}
		if at(tt.gone) != nil || at(tt.stays) == nil || len(findings) > 0 {
			t.Errorf("%s: %s is %q, %s is %q, %q", tt.path, tt.gone, at(tt.gone), tt.stays, at(tt.stays), findings)
		}
	}
}

// A leak that stays is an error, not something to overlook.
func TestStripRefuses(t *testing.T) {
	const none, needed = `cannot strip %q: no item has it; paths in reviews begin with "reviews."`, "cannot strip %q: it is required"
	const noReview = "cannot strip %q: no review has it"
	tests := []struct{ path, file, want string }{
		{"nonsense", "items", none}, {"", "items", none}, {"attributes.Nothing", "items", none}, {"attributes.BusinessParking.x", "items", none}, {"attributes.WiFi.x", "items", none},
		{"attributes.Ambience", "items", none}, // None
		{"hours.Sunday", "items", none}, {"hours.Moonday", "items", none}, {"Stars", "items", none},
		{"reviews.nothing", "reviews", noReview}, {"reviews.user.nothing", "reviews", noReview}, {"reviews.fans", "reviews", noReview},
		{"id", "items", needed}, {"business_id", "items", needed}, {"name", "items", needed}, {"reviews", "reviews", needed}, {"reviews.id", "reviews", needed},
		{"reviews.review_id", "reviews", needed}, {"reviews.item_id", "reviews", needed}, {"reviews.business_id", "reviews", needed}, {"reviews.user_id", "reviews", needed}, {"reviews.text", "reviews", needed},
	}
	for _, tt := range tests {
		f := files(t, yelpItem, yelpReview, yelpUser)
		f.Strip = []string{tt.path, "stars"}
		_, findings := load(t, f)
		var got []string
		for _, x := range findings {
			if strings.Contains(x, "strip") {
				got = append(got, x)
			}
		}
		if want := tt.file + ".jsonl: " + fmt.Sprintf(tt.want, tt.path); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %s", tt.path, got, want)
		}
	}
}

// What no record has cannot be stripped, also where records have an empty place for it.
func TestStripOfWhatIsEmpty(t *testing.T) {
	f := files(t, `{"id":"a","name":"A","attributes":{}}`, `{"id":"r","item_id":"a","user_id":"u","text":"x"}`, "")
	for _, path := range []string{"attributes", "hours", "reviews.user", "reviews.stars", "reviews.date"} {
		f.Strip = []string{path}
		if _, findings := load(t, f); len(findings) != 1 || !strings.Contains(findings[0], "cannot strip") {
			t.Errorf("%s: %q", path, findings)
		}
	}
	f = files(t, `{"id":"a","name":"A"}`, `{"id":"r","item_id":"a","user_id":"u","text":"x"}`, `{"id":"u","name":"U","fans":3}`)
	f.Strip = []string{"reviews.user"} // only the users' file has data
	if c, findings := load(t, f); len(findings) > 0 || c.Items[0].Reviews[0].At("user.fans") != nil {
		t.Error(findings)
	}
}

// Elite is a list of years, whichever way it was written, or their number.
func TestElite(t *testing.T) {
	for in, want := range map[string]string{
		`"2018"`: "[2018]", `"2014,2015,2016,2017,2018"`: "[2014,2015,2016,2017,2018]", `"2018, 2019"`: "[2018,2019]", `""`: "[]", `"None"`: "[]",
		`2018`: "[2018]", `[2018,2019]`: "[2018,2019]", `[]`: "[]", `"2019,20,20,2021"`: "[2019,2020,2021]", `"20,20"`: "[2020]", `"2020,20,20"`: "[2020]",
		`null`: "", `0`: "0", `3`: "3", `"0"`: "0", `" 3"`: "3", `20`: "20", `"20"`: "20", `true`: "true", `"gold"`: `["gold"]`,
	} {
		for where, f := range map[string]Files{
			"users":   files(t, `{"id":"a","name":"A"}`, `{"id":"r","item_id":"a","user_id":"u","text":"x"}`, `{"id":"u","name":"U","elite":`+in+`}`),
			"reviews": files(t, `{"id":"a","name":"A"}`, `{"id":"r","item_id":"a","user_id":"u","text":"x","user":{"elite":`+in+`}}`, ""),
			"fields":  files(t, `{"id":"a","name":"A"}`, `{"id":"r","item_id":"a","user_id":"u","text":"x","elite":`+in+`}`, ""),
		} {
			c, findings := load(t, f)
			if got := Text(c.Items[0].Reviews[0].At("elite")); got != want || len(findings) > 0 {
				t.Errorf("elite %s of %s is %s, want %s, %q", in, where, got, want, findings)
			}
		}
	}
}

func TestStars(t *testing.T) {
	for in, want := range map[string]string{
		`4.5`: "4.5", `5`: "5", `null`: "", `0`: ": 1 review with 0 stars: treated as no stars (warning)",
		`7`: ":1: review \"r\": invalid stars 7: want 0 to 5", `-1`: ":1: review \"r\": invalid stars -1: want 0 to 5", `5.1`: ":1: review \"r\": invalid stars 5.1: want 0 to 5",
		`1e999`: ":1: column ", `"NaN"`: ":1: column ", `NaN`: ":1: column ",
	} {
		c, findings := load(t, files(t, `{"id":"a","name":"A"}`, `{"id":"r","item_id":"a","user_id":"u","text":"x","stars":`+in+`}`, ""))
		if text := strings.Join(findings, "\n"); strings.HasPrefix(want, ":") {
			if !strings.Contains(text, "reviews.jsonl"+want) {
				t.Errorf("stars %s: %s, want …%s", in, text, want)
			}
		} else if got := Text(c.Items[0].Reviews[0].At("stars")); got != want || text != "" {
			t.Errorf("stars %s is %q, %s", in, got, text)
		}
	}
	// None that are given are none that are written.
	if line := (&Review{ID: "r", ItemID: "a", Text: "x"}).Record(); strings.Contains(line, "stars") {
		t.Error(line)
	}
}

// What a review says of its writer stands; users.jsonl fills in the rest.
func TestReviewsKnowTheirWritersBest(t *testing.T) {
	reviews := `{"id":"r1","item_id":"a","user_id":"u","text":"x","user":{"fans":3,"cool":null}}
{"id":"r2","item_id":"a","user_id":"u","text":"x"}
{"id":"r3","item_id":"a","user_id":"u","text":"x","user":{"fans":4}}
{"id":"r4","item_id":"a","user_id":"u","text":"x","user":{"fans":3}}`
	c, _ := load(t, files(t, `{"id":"a","name":"A"}`, reviews, `{"id":"u","name":"U","fans":9,"cool":1,"review_count":50}`))
	for k, want := range []string{"3 1 50", "9 1 50", "4 1 50", "3 1 50"} {
		r := &c.Items[0].Reviews[k]
		if got := fmt.Sprintf("%v %v %v", r.At("user.fans"), r.At("user.cool"), r.At("user.review_count")); got != want {
			t.Errorf("review %s: %s, want %s", r.ID, got, want)
		}
	}
}

// Text of our own form may look like Python without being any.
func TestTextThatLooksLikePython(t *testing.T) {
	for in, want := range map[string]string{
		`"(cash only)"`: `attribute Note looks like a Python literal but does not parse; kept as text: want None`, `"'Round the corner"`: "kept as text: want None",
		`{"a":{"b":"(x y)"}}`: "attribute Note looks like a Python literal but does not parse; kept as text: a: b: want None", `"plain (text)"`: "",
	} {
		c, findings := load(t, files(t, `{"id":"a","name":"A","attributes":{"Note":`+in+`}}`, `{"id":"r","item_id":"a","user_id":"u","text":"x"}`, ""))
		text := strings.Join(findings, "\n")
		if got := Text(c.Items[0].At("attributes.Note")); got != strings.Trim(in, `"`) {
			t.Errorf("%s is %s", in, got)
		}
		if (want == "") != (text == "") || !strings.Contains(text, want) || (text != "" && (!strings.HasPrefix(text, `items.jsonl:1: item "a": `) || !strings.HasSuffix(text, "(warning)"))) {
			t.Errorf("%s: %s, want …%s", in, text, want)
		}
	}
}

func TestLoadRefusesWhatIsNotThere(t *testing.T) {
	if _, _, err := Load(Files{Items: filepath.Join(t.TempDir(), "absent.jsonl")}); err == nil {
		t.Error("a file that is not there was read")
	}
	if _, findings := load(t, files(t, "\n", yelpReview, "")); !strings.Contains(strings.Join(findings, "\n"), "items.jsonl: no items") {
		t.Error(findings)
	}
}

func TestWithin(t *testing.T) {
	users := map[string]*User{
		"a1": {ID: "a1", Name: "Alice Ray", Friends: []string{"b"}},
		"a2": {ID: "a2", Name: "alice  ray"},
		"b":  {ID: "b", Name: "Bob"},
		"c":  {ID: "c", Name: "Cy", Friends: []string{"b", "stranger"}},
		"d":  {ID: "d", Name: "Di", Friends: []string{"a2", "d"}},
	}
	g := &Graph{Users: users}
	for _, tt := range []struct {
		name string
		hops int
		want string
	}{
		{"Alice Ray", 0, "a1 a2"}, {"ALICE RAY", 1, "a1 a2 b d"}, {"Alice Ray", 2, "a1 a2 b c d"}, {"Alice Ray", 3, "a1 a2 b c d stranger"},
		{"Bob", 1, "a1 b c"}, {"Alice", 2, ""}, {"c", 1, "b c stranger"}, {"", 2, ""},
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(g.Within(tt.name, tt.hops))), " "); got != tt.want {
			t.Errorf("%s, %d: %q, want %q", tt.name, tt.hops, got, tt.want)
		}
	}
	if n := g.Symmetrize(); n != 3 || strings.Join(users["b"].Friends, " ") != "a1 c" {
		t.Errorf("%d one-sided, %v", n, users["b"].Friends)
	}
	var nobody *Graph
	if nobody.Knows("Alice") || len(nobody.Within("Alice", 2)) > 0 {
		t.Error("a nil graph knows somebody")
	}
}
