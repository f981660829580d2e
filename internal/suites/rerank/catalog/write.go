package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Marshal encodes an item without its reviews as one line of a file for [Load].
func (i *Item) Marshal() ([]byte, error) {
	r := record{}
	r.add("id", i.ID)
	r.add("name", i.Name)
	r.add("attributes", MapValue(i.Attributes))
	r.add("categories", i.Categories)
	if !i.Hours.IsZero() {
		r.add("hours", i.Hours.value())
	}
	r.fields(i.Fields)
	return r.line()
}

// Marshal encodes a review as one line of a file for [Load].
func (r *Review) Marshal() ([]byte, error) {
	out := record{}
	out.add("id", r.ID)
	out.add("item_id", r.ItemID)
	out.add("user_id", r.UserID)
	if r.Stars != 0 {
		out.add("stars", r.Stars)
	}
	out.add("date", r.Date)
	out.add("text", r.Text)
	out.fields(r.Fields)
	if len(r.User) > 0 {
		out.add("user", MapValue(r.User))
	}
	return out.line()
}

// Marshal encodes a user as one line of a file for [Load].
func (u *User) Marshal() ([]byte, error) {
	r := record{}
	r.add("id", u.ID)
	r.add("name", u.Name)
	r.add("friends", append([]string{}, u.Friends...)) // [] and not null
	return r.line()
}

// A record builds a JSON object with keys in insertion order.
type record struct {
	buf bytes.Buffer
	err error
}

func (r *record) add(key string, value any) {
	sep := byte(',')
	if r.buf.Len() == 0 {
		sep = '{'
	}
	r.buf.WriteByte(sep)
	e := json.NewEncoder(&r.buf)
	e.SetEscapeHTML(false)
	for k, v := range []any{key, value} {
		if err := e.Encode(v); err != nil && r.err == nil {
			r.err = fmt.Errorf("writing %s: %w", key, err)
		}
		r.buf.Truncate(r.buf.Len() - 1) // the line end
		if k == 0 {
			r.buf.WriteByte(':')
		}
	}
}

func (r *record) fields(m map[string]Value) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !m[key].IsZero() {
			r.add(key, m[key])
		}
	}
}

func (r *record) line() ([]byte, error) {
	r.buf.WriteByte('}')
	return r.buf.Bytes(), r.err
}
