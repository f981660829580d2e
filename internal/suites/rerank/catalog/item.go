package catalog

import "strings"

// An Item is one of the things to rank.
type Item struct {
	ID, Name   string
	Attributes map[string]Value
	Categories []string
	Hours      Hours
	Fields     map[string]Value // other keys of the record: city, stars, …
	Reviews    []Review         // in the order of the file
	Line       int              // in its file, from 1; 0 if not from a file
}

// At returns the value at a path: "name", "categories", "attributes.WiFi",
// "attributes.Ambience.casual", "hours.Monday", or the name of a field such as
// "city". It is missing if there is none. The id has no path.
func (i *Item) At(path string) Value {
	switch path {
	case "name":
		return TextValue(i.Name)
	case "categories":
		if len(i.Categories) == 0 {
			return Value{}
		}
		list := make([]Value, len(i.Categories))
		for k, c := range i.Categories {
			list[k] = TextValue(c)
		}
		return ListValue(list...)
	case "attributes":
		if len(i.Attributes) == 0 {
			return Value{}
		}
		return MapValue(i.Attributes)
	}
	if name, ok := strings.CutPrefix(path, "attributes."); ok {
		return at(name, func(key string) Value { return i.Attributes[key] })
	}
	if day, ok := strings.CutPrefix(path, "hours."); ok {
		return i.Hours.On(Weekday(day))
	}
	return at(path, func(key string) Value { return i.Fields[key] })
}

// A Review is a user's review of an item. It is encoded as pipelines get it;
// [Review.Marshal] writes files.
type Review struct {
	ID     string  `json:"-"`
	ItemID string  `json:"-"`
	UserID string  `json:"user_id,omitempty"`
	Stars  float64 `json:"stars,omitempty"` // from 0 to 5; 0 if none are given
	Date   string  `json:"date,omitempty"`
	Text   string  `json:"text"`
	// User holds data about the writer: review_count, fans, elite, …
	// Reviews share the map; it must not be modified.
	User   map[string]Value `json:"user,omitempty"`
	Fields map[string]Value `json:"fields,omitempty"` // other keys of the record: useful, funny, …
}

// At returns the value at a path: "stars", "text", "date", "user.fans" or a field
// such as "useful". A name that is not a field is looked up in the writer's data.
func (r *Review) At(path string) Value {
	switch path {
	case "stars":
		if r.Stars == 0 {
			return Value{}
		}
		return NumberValue(r.Stars)
	case "text":
		return TextValue(r.Text)
	case "date":
		if r.Date == "" {
			return Value{}
		}
		return TextValue(r.Date)
	}
	user := func(key string) Value { return r.User[key] }
	if name, ok := strings.CutPrefix(path, "user."); ok {
		return at(name, user)
	}
	if v := at(path, func(key string) Value { return r.Fields[key] }); !v.IsZero() {
		return v
	}
	return at(path, user)
}

// A User writes reviews.
type User struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Friends []string `json:"friends,omitempty"` // ids, sorted; mutual after Load
}

// A Catalog holds items in the order of their file, each with its reviews, and
// the users.
type Catalog struct {
	Items []*Item
	Users map[string]*User
	Graph *Graph
	// Hash is the SHA-256 of the hashes of all files, in hexadecimal.
	Hash string
	byID map[string]*Item
}

// Item returns the item with this id, or nil.
func (c *Catalog) Item(id string) *Item { return c.byID[id] }

// New returns a catalog of items and users that do not come from files. It does
// not copy them; friendships should be mutual.
func New(items []*Item, users map[string]*User) *Catalog {
	c := &Catalog{Items: items, Users: users, Graph: &Graph{Users: users}, byID: make(map[string]*Item, len(items))}
	for _, i := range items {
		c.byID[i.ID] = i
	}
	return c
}
