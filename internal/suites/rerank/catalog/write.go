package catalog

import (
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// Record encodes an item without its reviews as one line of a file for [Load].
func (i *Item) Record() string {
	o := Object{}
	o.Add("id", i.ID)
	o.Add("name", i.Name)
	o.Add("attributes", kit.JSON(i.Attributes))
	o.Add("categories", i.Categories)
	if !i.Hours.IsZero() {
		o.Add("hours", &i.Hours)
	}
	o.fields(i.Fields)
	return o.JSON()
}

// Record encodes a review as one line of a file for [Load].
func (r *Review) Record() string {
	o := Object{}
	o.Add("id", r.ID)
	o.Add("item_id", r.ItemID)
	o.Add("user_id", r.UserID)
	if r.Stars != 0 {
		o.Add("stars", r.Stars)
	}
	o.Add("date", r.Date)
	o.Add("text", r.Text)
	o.fields(r.Fields)
	if len(r.User) > 0 {
		o.Add("user", kit.JSON(r.User))
	}
	return o.JSON()
}

// Record encodes a user as one line of a file for [Load].
func (u *User) Record() string {
	o := Object{}
	o.Add("id", u.ID)
	o.Add("name", u.Name)
	o.Add("friends", append([]string{}, u.Friends...)) // [] and not null
	return o.JSON()
}

// An Object builds a JSON object with keys in insertion order. It does not escape <, > and &.
type Object []string

// Add adds a member.
func (o *Object) Add(key string, value any) {
	*o = append(*o, kit.PlainJSON(key)+":"+kit.PlainJSON(value))
}

func (o *Object) fields(m map[string]any) {
	for _, key := range Keys(m) {
		if m[key] != nil {
			o.Add(key, kit.JSON(m[key]))
		}
	}
}

// JSON returns the object.
func (o Object) JSON() string { return "{" + strings.Join(o, ",") + "}" }
