package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	prose "github.com/scruple-eval/scruple/internal/text"
)

// Files are the paths of a catalog's files: JSON Lines, plain or gzip.
type Files struct {
	Items   string
	Reviews string // "" for none
	Users   string // "" for none
	// Strip lists paths to remove because they reveal the answer: paths of
	// items ("stars", "attributes.Ambience.casual", "hours.Monday") and, after
	// "reviews.", of reviews ("reviews.useful", "reviews.user.fans"). A path
	// that no record has, or a required one (ids, the name, the text of a
	// review), is an error, since the data to hide may still be visible.
	Strip []string
}

// Load reads a catalog and returns all findings about the data, sorted by file
// and line. The catalog holds all valid records; use it only if no finding is an
// error. Load returns an error if a file cannot be read.
//
// A record has one of two formats, recognised by the key of its id: Scruple's
// ("id", "item_id", "user_id") or Yelp's ("business_id", "review_id",
// "user_id"). Other keys are kept as fields. In Yelp's format every attribute
// that is a text must be a Python literal ([ParseLiteral]); in Scruple's it may
// be one. A user's elite becomes a list of years.
func Load(files Files) (*Catalog, []Finding, error) {
	l := loader{files: files, strip: stripping(files.Strip), catalog: &Catalog{Users: map[string]*User{}, byID: map[string]*Item{}},
		metadata: map[string]map[string]Value{}, shared: map[string]map[string]Value{}, text: map[string]string{}}
	sum := sha256.New()
	for _, part := range []struct {
		path string
		read func(line int, text []byte)
	}{{files.Items, l.item}, {files.Users, l.user}, {files.Reviews, l.review}} {
		if part.path == "" {
			continue
		}
		l.File = part.path
		l.lines = map[string]int{}
		hash, err := dataset.Scan(part.path, func(line int, text []byte, err error) {
			if err != nil {
				l.Fault(line, "%v", err)
				return
			}
			part.read(line, text)
		})
		if err != nil {
			return nil, nil, err
		}
		fmt.Fprintln(sum, hash)
	}
	l.finish()
	l.catalog.Hash = hex.EncodeToString(sum.Sum(nil))
	return l.catalog, l.Findings, nil
}

type loader struct {
	Log
	files   Files
	strip   strip
	catalog *Catalog

	lines    map[string]int              // by id, in the current file
	metadata map[string]map[string]Value // by user id, from users.jsonl
	shared   map[string]map[string]Value // deduplicated maps by user id
	text     map[string]string           // interned strings

	strangers int // friends who are not listed
	zeroStars int // reviews with 0 stars
}

// record decodes a record and checks its id, which has one of two keys; yelp reports
// that it has the second. It returns false if it reported an error.
func (l *loader) record(line int, text []byte, into any, of ids) (id string, yelp, ok bool) {
	if err := dataset.DecodeLoose(text, into); err != nil {
		l.Fault(line, "%v", err)
		return "", false, false
	}
	key, id, yelp := of.id()
	first, twice := l.lines[id]
	switch {
	case strings.TrimSpace(id) == "":
		l.Fault(line, "missing %s", key)
	case twice:
		l.Fault(line, "duplicate %s %q: first on line %d", key, id, first)
	default:
		l.lines[id] = line
		return id, yelp, true
	}
	return "", false, false
}

// ids are an id in either format, with their keys.
type ids struct {
	ours, yelps     **string
	ourKey, yelpKey string
}

func (i ids) id() (key, id string, yelp bool) {
	switch {
	case *i.ours != nil:
		return i.ourKey, **i.ours, false
	case *i.yelps != nil:
		return i.yelpKey, **i.yelps, true
	}
	return i.ourKey, "", false
}

// intern returns a shared copy of a text.
func (l *loader) intern(s string) string {
	if kept, ok := l.text[s]; ok {
		return kept
	}
	kept := strings.Clone(s)
	l.text[kept] = kept
	return kept
}

type itemRecord struct {
	ID         *string          `json:"id"`
	BusinessID *string          `json:"business_id"`
	Name       string           `json:"name"`
	Attributes map[string]Value `json:"attributes"`
	Categories Value            `json:"categories"`
	Hours      Value            `json:"hours"`
	Fields     map[string]Value `json:",inline"`
}

func (l *loader) item(line int, text []byte) {
	var r itemRecord
	itemID, yelp, ok := l.record(line, text, &r, ids{&r.ID, &r.BusinessID, "id", "business_id"})
	if !ok {
		return
	}
	i := &Item{ID: itemID, Name: r.Name, Attributes: map[string]Value{}, Fields: r.Fields, Line: line}
	if strings.TrimSpace(r.Name) == "" {
		l.Fault(line, "item %q: missing name", i.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		v, doubts, err := attributeValue(r.Attributes[name], yelp)
		if err != nil {
			l.Fault(line, "item %q: attribute %s is not a Python literal: %v", i.ID, name, err)
			continue
		}
		for _, doubt := range doubts {
			l.Warn(line, "item %q: attribute %s looks like a Python literal but does not parse; kept as text: %v", i.ID, name, doubt)
		}
		if !v.IsZero() {
			i.Attributes[name] = v
		}
	}
	var err error
	if i.Categories, err = texts(r.Categories); err != nil {
		l.Fault(line, "item %q: categories: %v", i.ID, err)
	}
	var errs []error
	i.Hours, errs = readHours(r.Hours)
	for _, err := range errs {
		l.Fault(line, "item %q: %v", i.ID, err)
	}
	l.strip.each("", i.without)
	l.catalog.Items = append(l.catalog.Items, i)
	l.catalog.byID[i.ID] = i
}

// attributeValue parses a value that is a text, also in maps. Doubts are about
// texts that look like literals.
func attributeValue(v Value, yelp bool) (typedValue Value, doubts []error, err error) {
	switch v.Kind() {
	case Text:
		return typed(v.Text(), yelp)
	case Map:
		m := make(map[string]Value, len(v.Keys()))
		for _, key := range v.Keys() {
			part, more, err := attributeValue(v.Get(key), yelp)
			if err != nil {
				return Value{}, nil, fmt.Errorf("%s: %w", key, err)
			}
			for _, doubt := range more {
				doubts = append(doubts, fmt.Errorf("%s: %w", key, doubt))
			}
			m[key] = part
		}
		return MapValue(m), doubts, nil
	}
	return v, nil, nil
}

// texts parses a list, or one comma-separated text.
func texts(v Value) ([]string, error) {
	var list []string
	switch v.Kind() {
	case Missing:
	case Text:
		list = strings.Split(v.Text(), ",")
	case List:
		for _, e := range v.List() {
			if e.Kind() != Text {
				return nil, fmt.Errorf("want texts, got a %v", e.Kind())
			}
			list = append(list, e.Text())
		}
	default:
		return nil, fmt.Errorf("want a list of texts or one comma-separated text, got a %v", v.Kind())
	}
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if len(list) == 0 {
		return nil, nil // written as null
	}
	return list, nil
}

type userRecord struct {
	ID      *string          `json:"id"`
	UserID  *string          `json:"user_id"`
	Name    string           `json:"name"`
	Friends Value            `json:"friends"`
	Fields  map[string]Value `json:",inline"`
}

func (l *loader) user(line int, text []byte) {
	var r userRecord
	userID, _, ok := l.record(line, text, &r, ids{&r.ID, &r.UserID, "id", "user_id"})
	if !ok {
		return
	}
	if strings.TrimSpace(r.Name) == "" {
		l.Fault(line, "user %q: missing name", userID)
	}
	u := &User{ID: userID, Name: r.Name}
	friends, err := texts(r.Friends)
	if err != nil {
		l.Fault(line, "user %q: friends: %v", userID, err)
	}
	for _, f := range friends {
		switch {
		case strings.EqualFold(f, "none"):
		case f == userID:
			l.Warn(line, "user %q is listed as their own friend", userID)
		default:
			u.Friends = append(u.Friends, l.intern(f))
		}
	}
	l.catalog.Users[userID] = u
	years(r.Fields)
	if l.stripUser(r.Fields); len(r.Fields) > 0 {
		l.metadata[userID] = r.Fields
	}
}

type reviewRecord struct {
	ID         *string          `json:"id"`
	ReviewID   *string          `json:"review_id"`
	ItemID     *string          `json:"item_id"`
	BusinessID *string          `json:"business_id"`
	UserID     string           `json:"user_id"`
	Stars      *float64         `json:"stars"`
	Text       string           `json:"text"`
	Date       string           `json:"date"`
	User       map[string]Value `json:"user"`
	Fields     map[string]Value `json:",inline"`
}

func (l *loader) review(line int, text []byte) {
	var r reviewRecord
	reviewID, _, ok := l.record(line, text, &r, ids{&r.ID, &r.ReviewID, "id", "review_id"})
	if !ok {
		return
	}
	itemKey, itemID, _ := ids{&r.ItemID, &r.BusinessID, "item_id", "business_id"}.id()
	item := l.catalog.byID[itemID]
	switch {
	case itemID == "":
		l.Fault(line, "review %q: missing %s", reviewID, itemKey)
	case item == nil:
		l.Fault(line, "review %q: unknown item: %s %q", reviewID, itemKey, itemID)
	}
	if l.files.Users != "" && l.catalog.Users[r.UserID] == nil {
		l.Warn(line, "review %q: unknown user: user_id %q", reviewID, r.UserID)
	}
	if strings.TrimSpace(r.Text) == "" {
		l.Warn(line, "review %q has no text", reviewID)
	}
	if item == nil {
		return
	}
	out := Review{ID: reviewID, ItemID: item.ID, UserID: l.intern(r.UserID), Text: r.Text, Date: r.Date, Fields: r.Fields}
	if r.Stars != nil {
		out.Stars = *r.Stars
		switch {
		case out.Stars < 0 || out.Stars > 5:
			l.Fault(line, "review %q: invalid stars %v: want 0 to 5", reviewID, out.Stars)
		case out.Stars == 0:
			l.zeroStars++
		}
	}
	years(r.Fields)
	years(r.User)
	out.User = l.writer(r.UserID, r.User)
	l.strip.each(ofReviews, out.without)
	item.Reviews = append(item.Reviews, out)
}

func (l *loader) stripUser(data map[string]Value) {
	l.strip.each(ofUsers, func(path string) bool { return cutField(data, path) })
}

// writer returns the data about the writer of a review: the review's own, which
// date from when it was written, completed from users.jsonl.
func (l *loader) writer(userID string, said map[string]Value) map[string]Value {
	listed := l.metadata[userID]
	l.stripUser(said)
	if len(said) == 0 {
		return listed
	}
	for key, v := range listed {
		if said[key].IsZero() {
			said[key] = v
		}
	}
	// A user's reviews usually have the same data: share one map.
	if kept := l.shared[userID]; kept != nil && maps.EqualFunc(kept, said, Value.Equal) {
		return kept
	}
	l.shared[l.intern(userID)] = said
	return said
}

// finish runs the checks that need all records.
func (l *loader) finish() {
	l.File = l.files.Items
	if len(l.catalog.Items) == 0 {
		l.Fault(0, "no items")
	}
	for _, i := range l.catalog.Items {
		if len(i.Reviews) == 0 && l.files.Reviews != "" {
			l.Warn(i.Line, "item %q has no reviews", i.ID)
		}
		i.Reviews = slices.Clip(i.Reviews)
	}
	l.Findings = append(l.Findings, l.strip.findings(l.files)...)
	for _, u := range l.catalog.Users {
		for _, f := range u.Friends {
			if l.catalog.Users[f] == nil {
				l.strangers++
			}
		}
	}
	if l.zeroStars > 0 {
		l.File = l.files.Reviews
		l.Warn(0, "%s with 0 stars: treated as no stars", prose.Plural(l.zeroStars, "review", "reviews"))
	}
	l.File = l.files.Users
	if l.strangers > 0 {
		l.Warn(0, "%s not among the users", prose.Plural(l.strangers, "friend", "friends"))
	}
	if n := symmetrize(l.catalog.Users); n > 0 {
		l.Warn(0, "%s stated by one side only: counted for both", prose.Plural(n, "friendship", "friendships"))
	}
	l.catalog.Graph = &Graph{Users: l.catalog.Users}
	SortFindings(l.Findings)
}
