package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Marshal encodes an item without its reviews as one line of a file for [Load].
func (i *Item) Marshal() ([]byte, error) {
	o := Object{}
	o.Add("id", i.ID)
	o.Add("name", i.Name)
	o.Add("attributes", JSON(i.Attributes))
	o.Add("categories", i.Categories)
	if !i.Hours.IsZero() {
		o.Add("hours", &i.Hours)
	}
	o.fields(i.Fields)
	return o.JSON()
}

// Marshal encodes a review as one line of a file for [Load].
func (r *Review) Marshal() ([]byte, error) {
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
		o.Add("user", JSON(r.User))
	}
	return o.JSON()
}

// Marshal encodes a user as one line of a file for [Load].
func (u *User) Marshal() ([]byte, error) {
	o := Object{}
	o.Add("id", u.ID)
	o.Add("name", u.Name)
	o.Add("friends", append([]string{}, u.Friends...)) // [] and not null
	return o.JSON()
}

// An Object builds a JSON object with keys in insertion order. It does not escape <, > and &.
type Object struct {
	buf bytes.Buffer
	err error
}

// Add adds a member.
func (o *Object) Add(key string, value any) {
	sep := byte(',')
	if o.buf.Len() == 0 {
		sep = '{'
	}
	o.buf.WriteByte(sep)
	e := json.NewEncoder(&o.buf)
	e.SetEscapeHTML(false)
	for k, v := range []any{key, value} {
		if err := e.Encode(v); err != nil && o.err == nil {
			o.err = fmt.Errorf("writing %s: %w", key, err)
		}
		o.buf.Truncate(o.buf.Len() - 1) // the line end
		if k == 0 {
			o.buf.WriteByte(':')
		}
	}
}

func (o *Object) fields(m map[string]any) {
	for _, key := range Keys(m) {
		if m[key] != nil {
			o.Add(key, JSON(m[key]))
		}
	}
}

// JSON returns the object, which must have a member.
func (o *Object) JSON() ([]byte, error) {
	o.buf.WriteByte('}')
	return o.buf.Bytes(), o.err
}
