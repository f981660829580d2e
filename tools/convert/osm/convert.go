package osm

import (
	"encoding/json"
	"fmt"
	"maps"
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

// A Note is something of an item that could not be read, or was not.
type Note struct {
	Item, Name string
	Text       string
}

func (n Note) String() string { return fmt.Sprintf("%s (%s): %s", n.Item, n.Name, n.Text) }

type element struct {
	ID   string            `json:"id"`
	Name string            `json:"name"`
	Lat  float64           `json:"lat"`
	Lon  float64           `json:"lon"`
	Tags map[string]string `json:"tags"`
}

// Convert reads a JSON list of elements with id, name, lat, lon and tags, and
// makes an item of each. Notes are in the order of the elements. An error is
// about the whole: elements without an id or a name, or with an id twice.
func Convert(data []byte) (items []*catalog.Item, notes []Note, err error) {
	var elements []element
	if err := json.Unmarshal(data, &elements); err != nil {
		return nil, nil, fmt.Errorf("reading OpenStreetMap elements: %w", err)
	}
	seen := map[string]bool{}
	for i, e := range elements {
		switch {
		case e.ID == "" || e.Name == "":
			return nil, nil, fmt.Errorf("element %d: missing id or name", i+1)
		case seen[e.ID]:
			return nil, nil, fmt.Errorf("element %d: duplicate id %s", i+1, e.ID)
		}
		seen[e.ID] = true
		c := converter{item: &catalog.Item{ID: e.ID, Attributes: map[string]catalog.Value{}, Fields: map[string]catalog.Value{}}}
		c.convert(e)
		items = append(items, c.item)
		for _, text := range c.notes {
			notes = append(notes, Note{e.ID, c.item.Name, text})
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

func (c *converter) convert(e element) {
	c.item.Name = c.text("name", e.Name)
	c.tags = map[string]string{}
	for _, key := range sortedKeys(e.Tags) {
		if key != "name" {
			c.tags[key] = c.text(key, e.Tags[key])
		}
	}
	c.item.Fields["latitude"] = catalog.NumberValue(e.Lat)
	c.item.Fields["longitude"] = catalog.NumberValue(e.Lon)
	c.categories()
	for _, t := range translations {
		c.translate(t)
	}
	c.wifi()
	for _, f := range fields {
		if v := c.tags[f.tag]; v != "" {
			c.item.Fields[f.field] = catalog.TextValue(v)
		}
	}
	c.hours()
}

// text repairs text that was read in the wrong encoding.
func (c *converter) text(key, s string) string {
	repaired, ok := Repair(s)
	if ok {
		c.note("%s: text in the wrong encoding repaired: %s", key, repaired)
	}
	return repaired
}

// Repair undoes the reading of UTF-8 as Windows-1251 or Windows-1252 ("CafÃ©"),
// and reports whether that was so: the text is repaired if all of it can be
// written in that encoding and is then UTF-8 with more than ASCII in it, which
// text that was read rightly hardly ever is. Marks that cannot be seen are left
// out.
func Repair(s string) (string, bool) {
	for _, code := range []*charmap.Charmap{charmap.Windows1252, charmap.Windows1251} {
		b, err := code.NewEncoder().String(s)
		if err == nil && b != s && utf8.ValidString(b) {
			return strings.TrimSpace(strings.Map(visible, b)), true
		}
	}
	return s, false
}

func visible(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// categories are the cuisines, one a category, and what it is.
func (c *converter) categories() {
	add := func(s string) {
		s = strings.TrimSpace(strings.ReplaceAll(s, "_", " "))
		if s == "" {
			return
		}
		r, n := utf8.DecodeRuneInString(s)
		c.item.Categories = append(c.item.Categories, string(unicode.ToUpper(r))+s[n:])
	}
	if c.tags["amenity"] == "restaurant" {
		add("restaurants")
	}
	for _, s := range strings.FieldsFunc(c.tags["cuisine"], func(r rune) bool { return r == ';' || r == ',' }) {
		add(s)
	}
}

// A translation makes an attribute of a tag.
type translation struct {
	tag, attribute string
	value          func(string) (catalog.Value, bool)
}

var translations = []translation{
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
	{"addr:city", "city"}, {"addr:suburb", "suburb"}, {"addr:postcode", "postal_code"}, {"addr:street", "street"}, {"addr:place", "place"},
	{"brand", "brand"}, {"description", "description"}, {"wheelchair:description:de", "wheelchair_note"}, {"wheelchair:description", "wheelchair_note"},
}

// flag is true for these words and false for no.
func flag(yes ...string) func(string) (catalog.Value, bool) {
	return func(s string) (catalog.Value, bool) {
		for _, y := range yes {
			if s == y {
				return catalog.BoolValue(true), true
			}
		}
		return catalog.BoolValue(false), s == "no"
	}
}

func words(known ...string) func(string) (catalog.Value, bool) {
	return func(s string) (catalog.Value, bool) {
		for _, k := range known {
			if s == k {
				return catalog.TextValue(s), true
			}
		}
		return catalog.Value{}, false
	}
}

func number(s string) (catalog.Value, bool) {
	n, err := strconv.ParseFloat(s, 64)
	return catalog.NumberValue(n), err == nil
}

func (c *converter) translate(t translation) {
	s := c.tags[t.tag]
	if s == "" {
		return
	}
	v, ok := t.value(s)
	if !ok {
		c.note("%s: unsupported value %q", t.tag, s)
		return
	}
	c.item.Attributes[t.attribute] = v
}

// wifi joins two tags into one attribute: "free", "paid", "no", or "yes" where
// the price is not told.
func (c *converter) wifi() {
	access, fee := c.tags["internet_access"], c.tags["internet_access:fee"]
	v := ""
	switch {
	case access == "no":
		v = "no"
	case access == "":
		return
	case access != "wlan" && access != "yes" && access != "wifi":
		c.note("internet_access: unsupported value %q", access)
		return
	case fee == "no" || fee == "customers":
		v = "free"
	case fee == "yes":
		v = "paid"
	default:
		v = "yes"
	}
	c.item.Attributes["WiFi"] = catalog.TextValue(v)
}

func (c *converter) hours() {
	s := c.tags["opening_hours"]
	if s == "" {
		return
	}
	h, notes, err := ParseHours(s)
	if err != nil {
		c.note("opening_hours %q: %v", s, err)
		return
	}
	for _, n := range notes {
		c.note("opening_hours %q: %s", s, n)
	}
	c.item.Hours = h
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
