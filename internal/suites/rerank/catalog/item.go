package catalog

import "strings"

// An Item is one of the things to rank.
type Item struct {
	ID, Name   string
	Attributes map[string]any
	Categories []string
	Hours      Hours
	Fields     map[string]any // other keys of the record: city, stars, …
	Reviews    []Review       // in the order of the file
	Line       int            // in its file, from 1; 0 if not from a file
}

// At returns the value at a path: "name", "categories", "attributes.WiFi",
// "attributes.Ambience.casual", "hours.Monday", or the name of a field such as
// "city". It is nil if there is none. The id has no path.
func (i *Item) At(path string) any {
	switch path {
	case "name":
		return i.Name
	case "categories":
		if len(i.Categories) == 0 {
			return nil
		}
		list := make([]any, len(i.Categories))
		for k, c := range i.Categories {
			list[k] = c
		}
		return list
	case "attributes":
		if len(i.Attributes) == 0 {
			return nil
		}
		return i.Attributes
	}
	if name, ok := strings.CutPrefix(path, "attributes."); ok {
		return At(i.Attributes, name)
	}
	if day, ok := strings.CutPrefix(path, "hours."); ok {
		if hours := i.Hours.On(Weekday(day)); hours != "" {
			return hours
		}
		return nil
	}
	return At(i.Fields, path)
}

// A Review is a user's review of an item. It is encoded as pipelines get it;
// [Review.Record] writes files.
type Review struct {
	ID     string  `json:"-"`
	ItemID string  `json:"-"`
	UserID string  `json:"user_id,omitempty"`
	Stars  float64 `json:"stars,omitempty"` // from 0 to 5; 0 if none are given
	Date   string  `json:"date,omitempty"`
	Text   string  `json:"text"`
	// User holds data about the writer: review_count, fans, elite, …
	// Reviews share the map; it must not be modified.
	User   map[string]any `json:"user,omitempty"`
	Fields map[string]any `json:"fields,omitempty"` // other keys of the record: useful, funny, …
}

// At returns the value at a path: "stars", "text", "date", "user.fans" or a field
// such as "useful". A name that is not a field is looked up in the writer's data.
func (r *Review) At(path string) any {
	switch {
	case path == "text":
		return r.Text
	case path == "stars" && r.Stars != 0:
		return r.Stars
	case path == "date" && r.Date != "":
		return r.Date
	case path == "stars" || path == "date":
		return nil
	}
	if name, ok := strings.CutPrefix(path, "user."); ok {
		return At(r.User, name)
	}
	if v := At(r.Fields, path); v != nil {
		return v
	}
	return At(r.User, path)
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
