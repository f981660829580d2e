package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/table"
	prose "github.com/scruple-eval/scruple/internal/text"
)

// Files are the paths of a catalog's files: JSON Lines, or tables as [table.Records] reads them.
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
	l := loader{files: files, strip: stripping(files.Strip), catalog: New(nil, map[string]*User{}),
		metadata: map[string]map[string]any{}, shared: map[string]map[string]any{}}
	sum := sha256.New()
	for _, part := range []struct {
		path string
		read func(line int, text []byte) error
		list []string // columns with lists of texts
	}{{files.Items, l.item, []string{"categories"}}, {files.Users, l.user, []string{"friends"}}, {files.Reviews, l.review, nil}} {
		if part.path == "" {
			continue
		}
		l.File, l.lines = part.path, map[string]int{}
		hash, err := table.Records(part.path, table.Texts{Names: append(slices.Clip(texts), part.list...)}, func(line int, text []byte, err error) {
			if err == nil {
				err = part.read(line, text)
			}
			if err != nil {
				l.Fault(line, "%v", err)
			}
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

// texts are the keys whose values are texts, also where they look like numbers.
var texts = []string{"id", "item_id", "user_id", "business_id", "review_id", "name", "text", "date", "postal_code"}

type loader struct {
	Log
	files   Files
	strip   strip
	catalog *Catalog

	lines    map[string]int            // by id, in the current file
	metadata map[string]map[string]any // by user id, from the users' file
	shared   map[string]map[string]any // deduplicated maps by user id

	zeroStars int // reviews with 0 stars
}

// identify returns the id of a record, which has one of two keys.
func (l *loader) identify(line int, own, yelp *string, yelpKey string) (id string, err error) {
	key := "id"
	if own == nil && yelp != nil {
		key, own = yelpKey, yelp
	}
	if own == nil || strings.TrimSpace(*own) == "" {
		return "", fmt.Errorf("missing %s", key)
	}
	if first, twice := l.lines[*own]; twice {
		return "", fmt.Errorf("duplicate %s %q: first on line %d", key, *own, first)
	}
	l.lines[*own] = line
	return *own, nil
}

func (l *loader) item(line int, text []byte) error {
	var r struct {
		ID         *string        `json:"id"`
		BusinessID *string        `json:"business_id"`
		Name       string         `json:"name"`
		Attributes map[string]any `json:"attributes"`
		Hours      any            `json:"hours"`
		Fields     map[string]any `json:",inline"`
	}
	if err := dataset.DecodeLoose(text, &r); err != nil {
		return err
	}
	id, err := l.identify(line, r.ID, r.BusinessID, "business_id")
	if err != nil {
		return err
	}
	i := &Item{ID: id, Name: r.Name, Attributes: map[string]any{}, Line: line}
	if strings.TrimSpace(r.Name) == "" {
		l.Fault(line, "item %q: missing name", id)
	}
	for _, name := range Keys(r.Attributes) {
		v, doubts, err := typed(r.Attributes[name], r.ID == nil)
		if err != nil {
			l.Fault(line, "item %q: attribute %s is not a Python literal: %v", id, name, err)
			continue
		}
		for _, doubt := range doubts {
			l.Warn(line, "item %q: attribute %s looks like a Python literal but does not parse; kept as text: %v", id, name, doubt)
		}
		if v != nil {
			i.Attributes[name] = v
		}
	}
	// Paths to strip name attributes and hours as fields.
	data := orEmpty(r.Fields)
	data["hours"] = r.Hours
	if len(i.Attributes) > 0 {
		data["attributes"] = i.Attributes
	}
	l.strip.from(data, "")
	i.Attributes, _ = data["attributes"].(map[string]any)
	i.Attributes = orEmpty(i.Attributes)
	if i.Categories, err = textsOf(data["categories"]); err != nil {
		l.Fault(line, "item %q: categories: %v", id, err)
	}
	var errs []error
	i.Hours, errs = readHours(data["hours"])
	for _, err := range errs {
		l.Fault(line, "item %q: %v", id, err)
	}
	for _, key := range []string{"attributes", "categories", "hours"} {
		delete(data, key)
	}
	i.Fields = data
	l.catalog.Items = append(l.catalog.Items, i)
	l.catalog.byID[id] = i
	return nil
}

// textsOf parses a list, or one comma-separated text.
func textsOf(v any) (list []string, err error) {
	switch v := v.(type) {
	case nil:
	case string:
		list = strings.Split(v, ",")
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("want texts, got a %s", Kind(e))
			}
			list = append(list, s)
		}
	default:
		return nil, fmt.Errorf("want a list of texts or one comma-separated text, got a %s", Kind(v))
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

func (l *loader) user(line int, text []byte) error {
	var r struct {
		ID      *string        `json:"id"`
		UserID  *string        `json:"user_id"`
		Name    string         `json:"name"`
		Friends any            `json:"friends"`
		Fields  map[string]any `json:",inline"`
	}
	if err := dataset.DecodeLoose(text, &r); err != nil {
		return err
	}
	id, err := l.identify(line, r.ID, r.UserID, "user_id")
	if err != nil {
		return err
	}
	if strings.TrimSpace(r.Name) == "" {
		l.Fault(line, "user %q: missing name", id)
	}
	u := &User{ID: id, Name: r.Name}
	friends, err := textsOf(r.Friends)
	if err != nil {
		l.Fault(line, "user %q: friends: %v", id, err)
	}
	for _, f := range friends {
		switch {
		case strings.EqualFold(f, "none"):
		case f == id:
			l.Warn(line, "user %q is listed as their own friend", id)
		default:
			u.Friends = append(u.Friends, f)
		}
	}
	l.catalog.Users[id] = u
	years(r.Fields)
	if l.strip.from(r.Fields, ofUsers); len(r.Fields) > 0 {
		l.metadata[id] = r.Fields
	}
	return nil
}

func (l *loader) review(line int, text []byte) error {
	var r struct {
		ID         *string        `json:"id"`
		ReviewID   *string        `json:"review_id"`
		ItemID     *string        `json:"item_id"`
		BusinessID *string        `json:"business_id"`
		UserID     string         `json:"user_id"`
		Stars      *float64       `json:"stars"`
		Text       string         `json:"text"`
		Date       string         `json:"date"`
		User       map[string]any `json:"user"`
		Fields     map[string]any `json:",inline"`
	}
	if err := dataset.DecodeLoose(text, &r); err != nil {
		return err
	}
	id, err := l.identify(line, r.ID, r.ReviewID, "review_id")
	if err != nil {
		return err
	}
	itemKey, of := "item_id", r.ItemID
	if of == nil && r.BusinessID != nil {
		itemKey, of = "business_id", r.BusinessID
	}
	if of == nil || *of == "" {
		l.Fault(line, "review %q: missing %s", id, itemKey)
		of = new(string)
	} else if l.catalog.byID[*of] == nil {
		l.Fault(line, "review %q: unknown item: %s %q", id, itemKey, *of)
	}
	if l.files.Users != "" && l.catalog.Users[r.UserID] == nil {
		l.Warn(line, "review %q: unknown user: user_id %q", id, r.UserID)
	}
	if strings.TrimSpace(r.Text) == "" {
		l.Warn(line, "review %q has no text", id)
	}
	item := l.catalog.byID[*of]
	if item == nil {
		return nil
	}
	if r.Stars != nil && (*r.Stars < 0 || *r.Stars > 5) {
		l.Fault(line, "review %q: invalid stars %v: want 0 to 5", id, *r.Stars)
	} else if r.Stars != nil && *r.Stars == 0 {
		l.zeroStars++
	}
	years(r.Fields)
	years(r.User)
	// Paths to strip name stars, date and the writer's data as fields.
	data := orEmpty(r.Fields)
	if r.Stars != nil {
		data["stars"] = *r.Stars
	}
	if r.Date != "" {
		data["date"] = r.Date
	}
	if len(r.User) > 0 {
		data["user"] = r.User
	}
	l.strip.from(data, ofReviews)
	out := Review{ID: id, ItemID: item.ID, UserID: r.UserID, Text: r.Text, Fields: data}
	out.Stars, _ = data["stars"].(float64)
	out.Date, _ = data["date"].(string)
	own, _ := data["user"].(map[string]any)
	out.User = l.writer(r.UserID, own)
	for _, key := range []string{"stars", "date", "user"} {
		delete(data, key)
	}
	item.Reviews = append(item.Reviews, out)
	return nil
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	return m
}

// writer returns the data about the writer of a review: the review's own, which
// date from when it was written, completed from the users' file.
func (l *loader) writer(userID string, own map[string]any) map[string]any {
	listed := l.metadata[userID]
	if len(own) == 0 {
		return listed
	}
	for key, v := range listed {
		if own[key] == nil {
			own[key] = v
		}
	}
	// A user's reviews usually have the same data: share one map.
	if kept := l.shared[userID]; kept != nil && Equal(kept, own) {
		return kept
	}
	l.shared[userID] = own
	return own
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
	strangers := 0 // friends who are not listed
	for _, u := range l.catalog.Users {
		for _, f := range u.Friends {
			if l.catalog.Users[f] == nil {
				strangers++
			}
		}
	}
	if l.zeroStars > 0 {
		l.File = l.files.Reviews
		l.Warn(0, "%s with 0 stars: treated as no stars", prose.Plural(l.zeroStars, "review", "reviews"))
	}
	l.File = l.files.Users
	if strangers > 0 {
		l.Warn(0, "%s not among the users", prose.Plural(strangers, "friend", "friends"))
	}
	if n := l.catalog.Graph.Symmetrize(); n > 0 {
		l.Warn(0, "%s stated by one side only: counted for both", prose.Plural(n, "friendship", "friendships"))
	}
	SortFindings(l.Findings)
}
