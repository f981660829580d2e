package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// Files are where a catalog's data stand: JSON Lines, plain or gzip.
type Files struct {
	Items   string
	Reviews string // "" for none
	Users   string // "" for none
	// Strip lists what is left out, since it gives an answer away: paths of
	// items ("stars", "attributes.Ambience.casual", "hours.Monday") and, after
	// "reviews.", of reviews ("reviews.useful", "reviews.user.fans"). A path
	// that no record has, or that a record cannot be without (ids, the name, the
	// text of a review), is an error: what was to be hidden may be in sight.
	Strip []string
}

// Load reads a catalog and lists everything that is wrong with the data, in
// the order of files and lines. The catalog holds what could be read; it is
// fit for use if no finding is an error. The error is about a file that cannot
// be read at all.
//
// A record is read in one of two shapes, told by the name of its id: ours
// ("id", "item_id", "user_id") or Yelp's ("business_id", "review_id",
// "user_id"). Both may have further keys, which are kept as fields. In Yelp's
// every attribute that is a text is a Python literal ([ParseLiteral]); in ours
// one that can be read as one is. A writer's elite becomes a list of years
// whether it was one year, several with commas or none.
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
	strip   *strip
	catalog *Catalog

	lines    map[string]int              // of the ids of the file in hand
	metadata map[string]map[string]Value // what users.jsonl says of a user
	shared   map[string]map[string]Value // one map for all that say the same
	text     map[string]string           // one string for all that are the same

	strangers int // friends who are not listed
	zeroStars int // reviews with 0 stars
}

// decode reads a record; false if it said what is wrong with it.
func (l *loader) decode(line int, text []byte, into any) bool {
	if err := dataset.DecodeLoose(text, into); err != nil {
		l.Fault(line, "%v", err)
		return false
	}
	return true
}

// unique checks an id; false if it is not given or there already.
func (l *loader) unique(line int, key, id string) bool {
	if strings.TrimSpace(id) == "" {
		l.Fault(line, "%s is not given", key)
		return false
	}
	if first, ok := l.lines[id]; ok {
		l.Fault(line, "duplicate id: %s %q is there already, on line %d", key, id, first)
		return false
	}
	l.lines[id] = line
	return true
}

// intern keeps one copy of a text that many records have.
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

// id finds the id of a record that has it in one of two ways, with its key.
func id(ours, yelps *string, ourKey, yelpKey string) (key, id string, yelp bool) {
	switch {
	case ours != nil:
		return ourKey, *ours, false
	case yelps != nil:
		return yelpKey, *yelps, true
	}
	return ourKey, "", false
}

func (l *loader) item(line int, text []byte) {
	var r itemRecord
	if !l.decode(line, text, &r) {
		return
	}
	key, itemID, yelp := id(r.ID, r.BusinessID, "id", "business_id")
	if !l.unique(line, key, itemID) {
		return
	}
	i := &Item{ID: itemID, Name: r.Name, Attributes: map[string]Value{}, Fields: r.Fields, Line: line}
	if strings.TrimSpace(r.Name) == "" {
		l.Fault(line, "item %q: name is not given", i.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		v, doubts, err := attributeValue(r.Attributes[name], yelp)
		if err != nil {
			l.Fault(line, "item %q: attribute %s is not a literal: %v", i.ID, name, err)
			continue
		}
		for _, doubt := range doubts {
			l.Warn(line, "item %q: attribute %s begins like a literal and is none, so it stays text: %v", i.ID, name, doubt)
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
	l.strip.item(i)
	l.catalog.Items = append(l.catalog.Items, i)
	l.catalog.byID[i.ID] = i
}

// attributeValue types a value that came as text, in sets of flags too. Doubts
// tell of texts that may have been meant as literals.
func attributeValue(v Value, yelp bool) (typedValue Value, doubts []error, err error) {
	switch v.Kind() {
	case Text:
		v, doubt, err := typed(v.Text(), yelp)
		if doubt != nil {
			doubts = append(doubts, doubt)
		}
		return v, doubts, err
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

// texts reads a list, or one text with commas.
func texts(v Value) ([]string, error) {
	var list []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	switch v.Kind() {
	case Missing:
	case Text:
		for s := range strings.SplitSeq(v.Text(), ",") {
			add(s)
		}
	case List:
		for _, e := range v.List() {
			if e.Kind() != Text {
				return nil, fmt.Errorf("want texts, got a %v", e.Kind())
			}
			add(e.Text())
		}
	default:
		return nil, fmt.Errorf("want a list of texts, or one text with commas, got a %v", v.Kind())
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
	if !l.decode(line, text, &r) {
		return
	}
	key, userID, _ := id(r.ID, r.UserID, "id", "user_id")
	if !l.unique(line, key, userID) {
		return
	}
	if strings.TrimSpace(r.Name) == "" {
		l.Fault(line, "user %q: name is not given", userID)
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
			l.Warn(line, "user %q is listed as a friend of their own", userID)
		default:
			u.Friends = append(u.Friends, l.intern(f))
		}
	}
	l.catalog.Users[userID] = u
	years(r.Fields)
	if fields := l.strip.user(r.Fields); len(fields) > 0 {
		l.metadata[userID] = fields
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
	if !l.decode(line, text, &r) {
		return
	}
	key, reviewID, _ := id(r.ID, r.ReviewID, "id", "review_id")
	if !l.unique(line, key, reviewID) {
		return
	}
	itemKey, itemID, _ := id(r.ItemID, r.BusinessID, "item_id", "business_id")
	item := l.catalog.byID[itemID]
	switch {
	case itemID == "":
		l.Fault(line, "review %q: %s is not given", reviewID, itemKey)
	case item == nil:
		l.Fault(line, "review %q is of an unknown item: %s %q", reviewID, itemKey, itemID)
	}
	if l.files.Users != "" && l.catalog.Users[r.UserID] == nil {
		l.Warn(line, "review %q is by an unknown user: user_id %q", reviewID, r.UserID)
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
			l.Fault(line, "review %q: stars is %v: want 0 to 5", reviewID, out.Stars)
		case out.Stars == 0:
			l.zeroStars++
		}
	}
	years(r.Fields)
	years(r.User)
	out.User = l.writer(r.UserID, r.User)
	l.strip.review(&out)
	item.Reviews = append(item.Reviews, out)
}

// writer is what is known of who wrote a review: what the review says, which
// is how things were when it was written, and what users.jsonl does where the
// review is silent.
func (l *loader) writer(userID string, said map[string]Value) map[string]Value {
	listed := l.metadata[userID]
	said = l.strip.user(said)
	if len(said) == 0 {
		return listed
	}
	for key, v := range listed {
		if said[key].IsZero() {
			said[key] = v
		}
	}
	// The reviews of a person say the same of them: one map is enough.
	if kept := l.shared[userID]; kept != nil && maps.EqualFunc(kept, said, Value.Equal) {
		return kept
	}
	l.shared[l.intern(userID)] = said
	return said
}

// finish checks what only all records together tell.
func (l *loader) finish() {
	l.File = l.files.Items
	if len(l.catalog.Items) == 0 {
		l.Fault(0, "there are no items")
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
		l.Warn(0, "%d reviews have 0 stars, which is read as none given", l.zeroStars)
	}
	l.File = l.files.Users
	if l.strangers > 0 {
		l.Warn(0, "%d friends are not among the users", l.strangers)
	}
	if n := symmetrize(l.catalog.Users); n > 0 {
		l.Warn(0, "%d friendships are stated by one side only: they count for both", n)
	}
	l.catalog.Graph = &Graph{Users: l.catalog.Users}
	SortFindings(l.Findings)
}
