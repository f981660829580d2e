package osm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
)

// Attribution is what whoever passes the data on must say.
const Attribution = "© OpenStreetMap contributors, Open Database License (ODbL) 1.0, https://www.openstreetmap.org/copyright"

// Main writes the items of a file of restaurants as JSON Lines, and to stderr
// what could not be read and what whoever passes them on must say.
func Main(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: go run ./tools/convert osm RESTAURANTS.json > items.jsonl")
		return 2
	}
	if err := convertFile(args[0], stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "convert osm: %v\n", err)
		return 2
	}
	return 0
}

func convertFile(path string, stdout, stderr io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading restaurants: %w", err)
	}
	items, notes, err := Convert(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	w := bufio.NewWriter(stdout)
	for _, item := range items {
		_, _ = w.WriteString(item.Record() + "\n") // Flush says what went wrong
	}
	for _, n := range notes {
		fmt.Fprintln(stderr, "note:", n)
	}
	_, err = fmt.Fprintln(stderr, Attribution)
	return errors.Join(w.Flush(), err)
}

// Convert reads a JSON list of elements with id, name, lat, lon and tags, and
// makes an item of each. Notes say what could not be read, in the order of the
// elements. An error is about the whole: elements without an id or a name, or
// with an id twice.
func Convert(data []byte) (items []*catalog.Item, notes []string, err error) {
	var elements []struct {
		ID   string            `json:"id"`
		Name string            `json:"name"`
		Lat  float64           `json:"lat"`
		Lon  float64           `json:"lon"`
		Tags map[string]string `json:"tags"`
	}
	if err := json.Unmarshal(data, &elements); err != nil {
		return nil, nil, fmt.Errorf("reading OpenStreetMap elements: %w", err)
	}
	for i, e := range elements {
		switch {
		case e.ID == "" || e.Name == "":
			return nil, nil, fmt.Errorf("element %d: missing id or name", i+1)
		case slices.ContainsFunc(items, func(o *catalog.Item) bool { return o.ID == e.ID }):
			return nil, nil, fmt.Errorf("element %d: duplicate id %s", i+1, e.ID)
		}
		c := converter{tags: map[string]string{}, item: &catalog.Item{ID: e.ID, Attributes: map[string]any{},
			Fields: map[string]any{"latitude": e.Lat, "longitude": e.Lon}}}
		maps.Copy(c.tags, e.Tags)
		c.tags["name"] = e.Name
		c.convert()
		items = append(items, c.item)
		for _, text := range c.notes {
			notes = append(notes, fmt.Sprintf("%s (%s): %s", e.ID, c.item.Name, text))
		}
	}
	return items, notes, nil
}

type converter struct {
	item  *catalog.Item
	notes []string
	tags  map[string]string
}

func (c *converter) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

func (c *converter) convert() {
	for _, key := range slices.Sorted(maps.Keys(c.tags)) {
		if s := Repair(c.tags[key]); s != c.tags[key] {
			c.note("%s: text in the wrong encoding repaired: %s", key, s)
			c.tags[key] = s
		}
	}
	c.item.Name = c.tags["name"]
	c.categories()
	for _, t := range translations {
		if s := c.tags[t.tag]; s == "" {
			continue
		} else if v := t.value(s); v == nil {
			c.note("%s: unsupported value %q", t.tag, s)
		} else {
			c.item.Attributes[t.attribute] = v
		}
	}
	c.wifi()
	for _, f := range fields {
		if v := c.tags[f.tag]; v != "" {
			c.item.Fields[f.field] = v
		}
	}
	if s := c.tags["opening_hours"]; s != "" {
		h, notes, err := ParseHours(s)
		if err != nil {
			notes = []string{err.Error()}
		}
		for _, n := range notes {
			c.note("opening_hours %q: %s", s, n)
		}
		c.item.Hours = h
	}
}

// Repair undoes the reading of UTF-8 as Windows-1251 or Windows-1252 ("CafÃ©"): a
// text is repaired if all of it can be written in that encoding and is then UTF-8
// with more than ASCII in it, which text that was read rightly hardly ever is.
// Marks that cannot be seen are left out.
func Repair(s string) string {
	for _, code := range []*charmap.Charmap{charmap.Windows1252, charmap.Windows1251} {
		b, err := code.NewEncoder().String(s)
		if err == nil && b != s && utf8.ValidString(b) {
			return strings.TrimSpace(strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Cf, r) {
					return -1
				}
				return r
			}, b))
		}
	}
	return s
}

// categories are the cuisines, one a category, and what it is.
func (c *converter) categories() {
	names := strings.FieldsFunc(c.tags["cuisine"], func(r rune) bool { return r == ';' || r == ',' })
	if c.tags["amenity"] == "restaurant" {
		names = append([]string{"restaurants"}, names...)
	}
	for _, s := range names {
		if s = strings.TrimSpace(strings.ReplaceAll(s, "_", " ")); s != "" {
			r, n := utf8.DecodeRuneInString(s)
			c.item.Categories = append(c.item.Categories, string(unicode.ToUpper(r))+s[n:])
		}
	}
}

// translations make attributes of tags; a missing value is not supported.
var translations = []struct {
	tag, attribute string
	value          func(string) any
}{
	{"outdoor_seating", "OutdoorSeating", flag("yes", "pedestrian_zone", "sidewalk", "terrace", "garden", "street", "patio")},
	{"takeaway", "RestaurantsTakeOut", flag("yes", "only")},
	{"delivery", "RestaurantsDelivery", flag("yes", "only")},
	{"dog", "DogsAllowed", flag("yes", "leashed")},
	{"organic", "Organic", flag("yes", "only")},
	{"microbrewery", "Microbrewery", flag("yes")},
	{"lunch_special", "LunchSpecial", flag("yes")},
	{"payment:cash", "AcceptsCash", flag("yes", "only")},
	{"payment:credit_cards", "AcceptsCreditCards", flag("yes")},
	{"payment:debit_cards", "AcceptsDebitCards", flag("yes")},
	{"toilets:wheelchair", "WheelchairToilet", flag("yes")},
	{"wheelchair", "WheelchairAccessible", words("yes", "limited", "no")},
	{"smoking", "Smoking", words("yes", "no", "outside", "isolated", "separated", "dedicated")},
	{"diet:vegan", "Vegan", words("yes", "only", "limited", "no")},
	{"diet:vegetarian", "Vegetarian", words("yes", "only", "limited", "no")},
	{"capacity", "Capacity", number},
	{"level", "Level", number},
}

// fields are tags that are kept as they are.
var fields = []struct{ tag, field string }{
	{"addr:city", "city"}, {"addr:suburb", "suburb"}, {"addr:postcode", "postal_code"}, {"addr:street", "street"},
	{"addr:place", "place"}, {"brand", "brand"}, {"description", "description"},
	{"wheelchair:description:de", "wheelchair_note"}, {"wheelchair:description", "wheelchair_note"},
}

// flag is true for these words and false for no.
func flag(yes ...string) func(string) any {
	return func(s string) (v any) {
		if is := slices.Contains(yes, s); is || s == "no" {
			v = is
		}
		return v
	}
}

func words(known ...string) func(string) any {
	return func(s string) (v any) {
		if slices.Contains(known, s) {
			v = s
		}
		return v
	}
}

func number(s string) (v any) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		v = n
	}
	return v
}

// wifi joins two tags into one attribute: "free", "paid", "no", or "yes" where
// the price is not told.
func (c *converter) wifi() {
	known := map[string]string{"no": "no", "wlan": "yes", "yes": "yes", "wifi": "yes", "": ""}
	access := c.tags["internet_access"]
	said, ok := known[access]
	if !ok {
		c.note("internet_access: unsupported value %q", access)
	}
	if price := map[string]string{"no": "free", "customers": "free", "yes": "paid"}[c.tags["internet_access:fee"]]; said == "yes" && price != "" {
		said = price
	}
	if said != "" {
		c.item.Attributes["WiFi"] = said
	}
}
