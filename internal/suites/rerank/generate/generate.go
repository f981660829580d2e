package generate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/measure"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

// Options set the sizes of a data set.
type Options struct {
	Seed     uint64
	Items    int // 0 means 100, with Base all of them
	Reviews  int // at least one per item; 0 means 12
	Users    int // 0 means a tenth of the reviews, at least 30
	Requests int
	// Base are items to use instead of generated ones; if there are more than
	// Items, they are sampled. They are not modified; their reviews are ignored.
	Base []*catalog.Item
	// Source names the origin of Base for the README.
	Source string
}

// Data is a data set.
type Data struct {
	Catalog  *catalog.Catalog
	Requests []request.Request
	// Repeated counts requests with the same meaning or text as an earlier one,
	// because no other was found.
	Repeated int

	seed   uint64
	source string
}

// Generate returns a new data set, or an error if the sizes do not fit: with few
// items and reviews, some groups may have no request that only one item
// satisfies.
func Generate(o Options) (*Data, error) {
	if o.Items == 0 {
		if o.Items = 100; o.Base != nil {
			o.Items = len(o.Base)
		}
	}
	o.Reviews = cmp.Or(o.Reviews, 12*o.Items)
	if o.Users == 0 {
		o.Users = max(30, o.Reviews/10)
	}
	switch {
	case o.Base != nil && o.Items > len(o.Base):
		return nil, fmt.Errorf("cannot take %d of %d given items: want at most that many, or give none to generate all", o.Items, len(o.Base))
	case o.Items < 2:
		return nil, fmt.Errorf("%d items: want at least 2", o.Items)
	case o.Reviews < o.Items:
		return nil, fmt.Errorf("%d reviews of %d items: want at least one per item", o.Reviews, o.Items)
	case o.Users < 3:
		return nil, fmt.Errorf("%d users: want at least 3", o.Users)
	case o.Requests < 0:
		return nil, fmt.Errorf("%d requests: want 0 or more", o.Requests)
	}
	g := &generator{words: allWords(), options: o}
	g.choose()
	g.people()
	g.items()
	g.reviews()
	c := catalog.New(g.list, g.users)
	requests, repeated, err := g.requests(c)
	if err != nil {
		return nil, err
	}
	for _, s := range evidence.Validate(c, requests) {
		if s.Status != evidence.OK {
			panic(fmt.Sprintf("generate: request %s is %s", s.Request, s.Status)) // a bug
		}
	}
	return &Data{c, requests, repeated, o.Seed, o.Source}, nil
}

type generator struct {
	words   *words
	options Options
	list    []*catalog.Item
	tastes  []taste
	users   map[string]*catalog.User
	graph   *catalog.Graph // of the users
	byIndex []*catalog.User
	about   []map[string]any // data about each user
	told    []mention
}

// A taste holds properties of an item that only its reviews show.
type taste struct {
	quality float64
	themes  []int
	dishes  []int
}

// A mention is a dish named in a review.
type mention struct{ dish, item, user int }

func (g *generator) stream(names ...string) *stable.Stream {
	return stable.NewStream(g.options.Seed, append([]string{"generate"}, names...)...)
}

func pick[T any](s *stable.Stream, list []T) T { return list[s.IntN(len(list))] }

func chance(s *stable.Stream, percent int) bool { return s.IntN(100) < percent }

// choose samples the items of Base, in their order.
func (g *generator) choose() {
	base := g.options.Base
	if base == nil || len(base) == g.options.Items {
		return
	}
	chosen := measure.UpTo(len(base))
	stable.Shuffle(g.stream("base"), chosen)
	chosen = chosen[:g.options.Items]
	slices.Sort(chosen)
	g.options.Base = nil
	for _, i := range chosen {
		g.options.Base = append(g.options.Base, base[i])
	}
}

// people generates the users. A friend is usually near in the list, sometimes
// anybody.
func (g *generator) people() {
	n := g.options.Users
	g.users = make(map[string]*catalog.User, n)
	width := len(strconv.Itoa(n))
	for i := range n {
		s := g.stream("user", strconv.Itoa(i))
		u := &catalog.User{ID: fmt.Sprintf("u%0*d", width, i+1), Name: g.words.person(i)}
		g.byIndex = append(g.byIndex, u)
		g.users[u.ID] = u
		g.about = append(g.about, aboutUser(s))
	}
	for i := range n {
		s := g.stream("friends", strconv.Itoa(i))
		for range 1 + s.IntN(4) {
			j := (i + 1 + s.IntN(min(40, n-1))) % n
			if chance(s, 20) {
				j = s.IntN(n)
			}
			if j != i {
				g.byIndex[i].Friends = append(g.byIndex[i].Friends, g.byIndex[j].ID)
			}
		}
	}
	g.graph = &catalog.Graph{Users: g.users}
	g.graph.Symmetrize()
}

// aboutUser draws the data of a profile: few users write most reviews, and some
// of those have fans and years of elite status.
func aboutUser(s *stable.Stream) map[string]any {
	reviews := 1 + int(400*math.Pow(s.Float64(), 4))
	fans := int(float64(reviews) * s.Float64() * 0.6)
	if chance(s, 40) {
		fans = 0
	}
	elite := []any{}
	for year := 2019; year <= 2024; year++ {
		if reviews > 60 && chance(s, 45) {
			elite = append(elite, float64(year))
		}
	}
	return map[string]any{"review_count": float64(reviews), "fans": float64(fans), "elite": elite}
}

// items generates the items, or copies those of Base, and draws their tastes.
func (g *generator) items() {
	width := len(strconv.Itoa(g.options.Items))
	named := map[string]int{}
	for i := range g.options.Items {
		s := g.stream("item", strconv.Itoa(i))
		var item *catalog.Item
		if g.options.Base != nil {
			copied := *g.options.Base[i]
			copied.Reviews = nil
			item = &copied
		} else {
			item = g.item(s)
			item.ID = fmt.Sprintf("i%0*d", width, i+1)
			if named[item.Name]++; named[item.Name] > 1 {
				item.Name += fmt.Sprintf(" No. %d", named[item.Name])
			}
		}
		g.list = append(g.list, item)
		g.tastes = append(g.tastes, g.taste(s))
	}
}

func (g *generator) item(s *stable.Stream) *catalog.Item {
	w := g.words
	item := &catalog.Item{
		Name:       pick(s, w.Names.First) + " " + pick(s, w.Names.Second),
		Attributes: map[string]any{},
		Fields:     map[string]any{"city": pick(s, w.Cities)},
		Hours:      week(s),
	}
	for _, a := range w.Attributes {
		missing := chance(s, a.Missing)
		total := 0
		for _, c := range a.Choices {
			total += c.Weight
		}
		at := s.IntN(total)
		for _, c := range a.Choices {
			if at -= c.Weight; at < 0 && !missing {
				item.Attributes[a.Name] = value(c.Value)
				break
			}
		}
	}
	for _, f := range w.Flags {
		missing := chance(s, f.Missing)
		set := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(f.Flags)) {
			set[name] = chance(s, f.Flags[name])
		}
		if !missing {
			item.Attributes[f.Name] = set
		}
	}
	item.Categories = []string{pick(s, w.Kinds), pick(s, w.Cuisines)}
	if second := pick(s, w.Cuisines); chance(s, 30) && second != item.Categories[1] {
		item.Categories = append(item.Categories, second)
	}
	return item
}

// week draws opening hours of one of several kinds of places, in steps of half an
// hour.
func week(s *stable.Stream) catalog.Hours {
	clock := func(hour, spread int) int { return hour*60 + 30*s.IntN(2*spread+1) }
	var parts []catalog.Interval
	switch s.IntN(5) {
	case 0: // a café
		parts = []catalog.Interval{{From: clock(7, 1), To: clock(16, 2)}}
	case 1, 2: // lunch and dinner
		parts = []catalog.Interval{{From: clock(11, 1), To: clock(14, 1)}, {From: clock(17, 1), To: clock(21, 2)}}
	case 3: // all day
		parts = []catalog.Interval{{From: clock(9, 2), To: clock(21, 3)}}
	case 4: // a bar
		parts = []catalog.Interval{{From: clock(16, 2), To: clock(24, 3)}}
	}
	longer := chance(s, 40) // at the end of the week
	closed := s.IntN(10)    // 7 and more: open every day
	var h catalog.Hours
	for day := range catalog.Weekdays {
		list := slices.Clone(parts)
		if (day == 4 || day == 5) && longer {
			list[len(list)-1].To += 60
		}
		switch {
		case chance(s, 4): // unknown
		case day == closed:
			h.Set(day)
		default:
			h.Set(day, list...)
		}
	}
	return h
}

// dishCount keeps a dish on the menu of about eight items, if there are enough, so
// that no dish identifies an item.
func (g *generator) dishCount() int {
	return min(len(g.words.Dishes.Styles)*len(g.words.Dishes.Things), max(12, 3*g.options.Items/8))
}

func (g *generator) taste(s *stable.Stream) taste {
	t := taste{quality: 1.8 + float64(3.1*math.Sqrt(s.Float64()))}
	t.themes = drawn(s, 3+s.IntN(4), len(g.words.Themes))
	t.dishes = drawn(s, 2+s.IntN(3), g.dishCount())
	return t
}

// drawn draws distinct numbers below n.
func drawn(s *stable.Stream, count, n int) []int {
	var list []int
	for len(list) < min(count, n) {
		if i := s.IntN(n); !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// reviews generates the reviews: one per item, the rest in shares that differ by
// a factor of up to three.
func (g *generator) reviews() {
	weights := make([]float64, len(g.list))
	total := 0.0
	for i := range weights {
		weights[i] = 0.5 + g.stream("share", strconv.Itoa(i)).Float64()
		total += weights[i]
	}
	width := len(strconv.Itoa(g.options.Reviews))
	facts := g.facts()
	sum, written, rest := 0.0, 0, float64(g.options.Reviews-len(g.list))
	for i, item := range g.list {
		sum += weights[i]
		upTo := i + 1 + int(math.Round(rest*sum/total))
		writers := map[int]bool{}
		stars := 0.0
		for ; written < upTo; written++ {
			s := g.stream("review", strconv.Itoa(written))
			user := g.writer(s, writers)
			r := g.review(s, i, user, facts[i])
			r.ID = fmt.Sprintf("r%0*d", width, written+1)
			stars += r.Stars
			item.Reviews = append(item.Reviews, r)
		}
		if g.options.Base == nil {
			n := float64(len(item.Reviews))
			item.Fields["review_count"] = n
			item.Fields["stars"] = math.Round(2*stars/n) / 2
		}
	}
}

// writer draws a user, earlier ones in the list more often. It avoids users who
// already reviewed the item; if drawing finds no other, it takes the next in the
// list.
func (g *generator) writer(s *stable.Stream, before map[int]bool) int {
	user := 0
	for range 20 {
		u := s.Float64()
		user = int(u * math.Sqrt(u) * float64(g.options.Users))
		if !before[user] {
			break
		}
	}
	for next := 0; before[user] && next < g.options.Users; next++ {
		user = (user + 1) % g.options.Users
	}
	before[user] = true
	return user
}

func (g *generator) review(s *stable.Stream, i, user int, facts []string) catalog.Review {
	w, t := g.words, g.tastes[i]
	stars := min(max(math.Round(t.quality+float64(1.6*(s.Float64()-0.5))), 1), 5)
	r := catalog.Review{
		ItemID: g.list[i].ID, UserID: g.byIndex[user].ID, Stars: stars, User: g.about[user],
		Date:   fmt.Sprintf("%d-%02d-%02d", 2019+s.IntN(6), 1+s.IntN(12), 1+s.IntN(28)),
		Fields: map[string]any{"useful": math.Floor(25 * math.Pow(s.Float64(), 5))},
	}
	body := []string{pick(s, w.Middles)}
	if chance(s, 50) {
		dish := pick(s, t.dishes)
		g.told = append(g.told, mention{dish, i, user})
		body = append(body, fill(pick(s, w.Dishes.Sentences), "dish", w.dish(dish)))
	}
	if chance(s, 60) {
		body = append(body, pick(s, w.Themes[pick(s, t.themes)].Sentences))
	}
	if len(facts) > 0 && chance(s, 45) {
		body = append(body, pick(s, facts))
	}
	if chance(s, 40) {
		if more := pick(s, w.Middles); more != body[0] {
			body = append(body, more)
		}
	}
	stable.Shuffle(s, body)
	if chance(s, 60) {
		body = slices.Insert(body, 0, pick(s, w.Openers))
	}
	closers := "fair"
	switch {
	case stars >= 4:
		closers = "good"
	case stars <= 2:
		closers = "poor"
	}
	if chance(s, 75) {
		body = append(body, pick(s, w.Closers[closers]))
	}
	r.Text = strings.Join(body, " ")
	return r
}

// facts lists the sentences that are true of each item's attributes.
func (g *generator) facts() [][]string {
	evaluator := evidence.New(nil)
	facts := make([][]string, len(g.list))
	for _, c := range g.words.Conditions {
		if len(c.Facts) == 0 {
			continue
		}
		e := c.evidence(request.ItemMeta)
		for i, item := range g.list {
			if evaluator.Leaf(&e, item) == evidence.True {
				facts[i] = append(facts[i], c.Facts...)
			}
		}
	}
	return facts
}
