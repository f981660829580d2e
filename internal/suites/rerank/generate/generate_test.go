package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

func generate(t *testing.T, o Options) *Data {
	t.Helper()
	d, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var small = Options{Seed: 42, Items: 150, Reviews: 2000, Requests: 150}

// smallData are those of small, made once. Tests do not change them.
var smallData = sync.OnceValue(func() *Data {
	d, err := Generate(small)
	if err != nil {
		panic(err)
	}
	return d
})

// What is written is read back without a finding, and every request is right
// by the word of the loader and package evidence, not of the generator.
func TestGeneratedDataAreValid(t *testing.T) {
	for _, o := range []Options{small, {Seed: 7, Items: 60, Reviews: 700, Requests: 50}, {Seed: 1, Items: 1000, Reviews: 8000, Users: 500, Requests: 100}} {
		dir := t.TempDir()
		if _, err := kit.WriteFiles(dir, generate(t, o).Files()); err != nil {
			t.Fatal(err)
		}
		c, findings, err := catalog.Load(catalog.Files{Items: filepath.Join(dir, ItemsFile), Reviews: filepath.Join(dir, ReviewsFile), Users: filepath.Join(dir, UsersFile)})
		if err != nil || len(findings) > 0 {
			t.Fatal(err, findings)
		}
		set, findings, err := request.Load(filepath.Join(dir, RequestsFile), c)
		if err != nil || len(findings) > 0 {
			t.Fatal(err, findings)
		}
		reviews := 0
		for _, i := range c.Items {
			reviews += len(i.Reviews)
		}
		if len(c.Items) != o.Items || reviews != o.Reviews || len(set.Requests) != o.Requests {
			t.Errorf("%d items, %d reviews, %d requests, want %+v", len(c.Items), reviews, len(set.Requests), o)
		}
		for _, s := range evidence.Validate(c, set.Requests) {
			if s.Status != evidence.OK {
				t.Errorf("request %s is %s: %v", s.Request, s.Status, s.Matches)
			}
		}
	}
}

func TestEveryGroupComesEquallyOften(t *testing.T) {
	count := map[string]int{}
	for _, r := range smallData().Requests {
		count[r.Group]++
		if err := request.Lint(r); err != nil {
			t.Error(r.ID, err)
		}
	}
	for _, g := range request.Groups() {
		if count[g.ID] != small.Requests/10 {
			t.Errorf("group %s comes %d times", g.ID, count[g.ID])
		}
	}
}

// 150 requests on 150 items: an item that cannot be gold of a group gives its
// turn to the next, so a few come twice, none more often.
func TestGoldIsSpreadEvenly(t *testing.T) {
	count := map[string]int{}
	for _, r := range smallData().Requests {
		count[r.Gold]++
	}
	if most := slices.Max(slices.Collect(maps.Values(count))); most > 2 || len(count) < small.Items*9/10 {
		t.Errorf("gold falls on %d of %d items, on one %d times", len(count), small.Items, most)
	}
	few := small
	few.Requests = 30
	d, late := generate(t, few), 0
	for _, r := range d.Requests {
		if slices.IndexFunc(d.Catalog.Items, func(i *catalog.Item) bool { return i.ID == r.Gold }) >= few.Items/2 {
			late++
		}
	}
	if late < 8 || late > 22 {
		t.Errorf("gold of %d of 30 requests stands in the second half of the items", late)
	}
}

// A group is not to be told by its items, nor an item by its groups: where the
// numbers of items and groups share factors too, gold of each group falls on
// all items alike. And no request is there twice.
func TestGroupsAreNotTiedToItems(t *testing.T) {
	for _, tt := range []struct {
		o                         Options
		leastItems, most, overall int // different golds of a group; how often one is gold of it, and at all
	}{
		{Options{Seed: 42, Items: 100, Reviews: 1200, Requests: 1000}, 90, 2, 12},
		{Options{Seed: 42, Items: 50, Reviews: 600, Users: 600, Requests: 500}, 48, 2, 12},
		{Options{Seed: 1, Items: 60, Reviews: 720, Requests: 60}, 6, 1, 2},
		{Options{Seed: 1, Items: 20, Reviews: 300, Users: 400, Requests: 300}, 19, 2, 18},
	} {
		d := generate(t, tt.o)
		golds, total := map[string]map[string]int{}, map[string]int{}
		structures, texts := map[string]bool{}, map[string]bool{}
		for _, r := range d.Requests {
			if golds[r.Group] == nil {
				golds[r.Group] = map[string]int{}
			}
			golds[r.Group][r.Gold]++
			total[r.Gold]++
			structures[meaning(r.Structure)], texts[r.Text] = true, true
		}
		for group, count := range golds {
			if most := slices.Max(slices.Collect(maps.Values(count))); len(count) < tt.leastItems || most > tt.most {
				t.Errorf("%+v: gold of %s falls on %d items, on one %d times", tt.o, group, len(count), most)
			}
		}
		if most := slices.Max(slices.Collect(maps.Values(total))); most > tt.overall {
			t.Errorf("%+v: one item is gold %d times", tt.o, most)
		}
		if n := len(d.Requests); len(structures) != n || len(texts) != n || d.Repeated != 0 {
			t.Errorf("%+v: %d different structures and %d texts of %d requests, %d repeated", tt.o, len(structures), len(texts), n, d.Repeated)
		}
	}
}

// Where there is not enough to ask, requests repeat, and that is said.
func TestRepeatsAreCounted(t *testing.T) {
	d := generate(t, Options{Seed: 3, Items: 4, Reviews: 12, Users: 5, Requests: 400})
	before, repeated := asked{}, 0
	for _, r := range d.Requests {
		if before.has(r) {
			repeated++
		}
		before.add(r)
	}
	if repeated == 0 || repeated != d.Repeated {
		t.Errorf("%d requests are repeated, and %d said to be", repeated, d.Repeated)
	}
	dir := t.TempDir()
	if _, err := kit.WriteFiles(dir, d.Files()); err != nil {
		t.Fatal(err)
	}
	if readme, _ := os.ReadFile(filepath.Join(dir, ReadmeFile)); !strings.Contains(string(readme), fmt.Sprintf("%d of the requests repeat another", repeated)) {
		t.Errorf("%s", readme)
	}
}

func TestMeaningHeedsNoOrder(t *testing.T) {
	leaf := func(pattern string) *request.Node {
		return &request.Node{Aspect: pattern, Evidence: &request.Evidence{Kind: request.ReviewText, Pattern: pattern}}
	}
	join := func(op string, args ...*request.Node) *request.Node { return &request.Node{Op: op, Args: args} }
	a, b, c := leaf("a"), leaf("b"), leaf("c")
	want := meaning(join("AND", a, join("OR", b, c)))
	for _, tt := range []struct {
		n    *request.Node
		same bool
	}{{join("AND", join("OR", c, b), a), true}, {join("OR", a, join("AND", b, c)), false}, {join("AND", a, b, c), false}, {join("AND", join("NOT", a), join("OR", b, c)), false}} {
		if same := meaning(tt.n) == want; same != tt.same {
			t.Errorf("%s means the same: %v", tt.n.Shorthand(), same)
		}
	}
}

// Each condition that could be left out of a request was.
func TestNoConditionIsForNothing(t *testing.T) {
	d := smallData()
	evaluator := evidence.New(d.Catalog.Graph)
	looked := 0
	for _, r := range d.Requests {
		least := map[string]int{"G01": 3, "G04": 2}[r.Group]
		anchors := 0
		for _, a := range r.Structure.Args {
			if a.Op != request.Or {
				anchors++
			}
		}
		if anchors <= max(least, 1) {
			continue
		}
		for k, a := range r.Structure.Args {
			if a.Op == request.Or || strings.HasPrefix(a.Leaves()[0].Aspect, "review_meta_") {
				continue
			}
			looked++
			without := &request.Node{Op: request.And, Args: slices.Delete(slices.Clone(r.Structure.Args), k, k+1)}
			n := 0
			for _, i := range d.Catalog.Items {
				if evaluator.Evaluate(without, i) == evidence.True {
					n++
				}
			}
			if n == 1 {
				t.Errorf("%s does not need %s: %s", r.ID, a.Shorthand(), r.Shorthand)
			}
		}
	}
	if looked < 20 {
		t.Errorf("%d conditions were looked at", looked)
	}
}

// Nobody reviews an item twice as long as there are others who may.
func TestNobodyReviewsTwice(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		most int
	}{
		{small, 1}, {Options{Seed: 5, Items: 2, Reviews: 36, Users: 30}, 1}, {Options{Seed: 6, Items: 2, Reviews: 16, Users: 10}, 1},
		{Options{Seed: 7, Items: 2, Reviews: 40, Users: 3}, 40}, // there are not enough
	} {
		for _, i := range generate(t, tt.o).Catalog.Items {
			count := map[string]int{}
			for _, r := range i.Reviews {
				if count[r.UserID]++; count[r.UserID] > tt.most {
					t.Errorf("%+v: %s reviews %s again", tt.o, r.UserID, i.ID)
				}
			}
		}
	}
}

// However few are left, one of them is found.
func TestEveryWriterIsFound(t *testing.T) {
	g := &generator{options: Options{Seed: 1, Users: 300}}
	s, before := g.stream("writers"), map[int]bool{}
	for n := range 300 {
		if user := g.writer(s, before); user < 0 || user >= 300 || len(before) != n+1 {
			t.Fatalf("writer %d is %d, who wrote before", n, user)
		}
	}
	if user := g.writer(s, before); user < 0 || user >= 300 {
		t.Errorf("of 300 the next is %d", user)
	}
}

// A request of friends of friends is one that friends alone do not satisfy.
func TestFriendsOfFriendsAreNeeded(t *testing.T) {
	d := smallData()
	evaluator := evidence.New(d.Catalog.Graph)
	looked := 0
	for _, r := range d.Requests {
		if r.Group != "G09" && r.Group != "G10" {
			continue
		}
		looked++
		closer := *r.Structure.Evidence
		closer.Hops--
		if evaluator.Leaf(&closer, d.Catalog.Item(r.Gold)) == evidence.True {
			t.Errorf("%s is satisfied by people closer than it asks for: %s", r.ID, r.Shorthand)
		}
	}
	if looked == 0 {
		t.Error("there is no such request")
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	write := func(o Options) map[string][]byte {
		dir, files := t.TempDir(), map[string][]byte{}
		paths, err := kit.WriteFiles(dir, generate(t, o).Files())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(p)] = b
		}
		return files
	}
	first, again := write(small), write(small)
	other := small
	other.Seed++
	another := write(other)
	for name, b := range first {
		if !bytes.Equal(b, again[name]) {
			t.Errorf("%s differs between two runs of one seed", name)
		}
		if bytes.Equal(b, another[name]) {
			t.Errorf("%s does not depend on the seed", name)
		}
	}
}

func TestWriteOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, UsersFile), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kit.WriteFiles(dir, smallData().Files()); err == nil {
		t.Error("a file that was there was overwritten")
	}
	if b, _ := os.ReadFile(filepath.Join(dir, UsersFile)); string(b) != "mine" {
		t.Errorf("the file now holds %q", b)
	}
	if there, _ := os.ReadDir(dir); len(there) != 1 {
		t.Errorf("beside what was there %d files are left behind", len(there)-1)
	}
}

func TestTextsGiveNothingAway(t *testing.T) {
	d := smallData()
	id := regexp.MustCompile(`\b[iru]\d{2,}\b`)
	for _, r := range d.Requests {
		gold := d.Catalog.Item(r.Gold)
		for _, leak := range []string{gold.ID, gold.Name, "AND(", "{", "}"} {
			if strings.Contains(r.Text, leak) {
				t.Errorf("%s gives %q away: %s", r.ID, leak, r.Text)
			}
		}
	}
	for _, i := range d.Catalog.Items {
		for _, r := range i.Reviews {
			if id.MatchString(r.Text) || strings.ContainsAny(r.Text, "{}") {
				t.Errorf("review %s: %s", r.ID, r.Text)
			}
		}
	}
}

// A request with alternatives is mostly one that its anchors do not decide.
func TestAlternativesDecide(t *testing.T) {
	d := smallData()
	evaluator := evidence.New(d.Catalog.Graph)
	with, decided := 0, 0
	for _, r := range d.Requests {
		anchors := &request.Node{Op: request.And}
		for _, a := range r.Structure.Args {
			if a.Op != request.Or {
				anchors.Args = append(anchors.Args, a)
			}
		}
		if len(anchors.Args) == 0 || len(anchors.Args) == len(r.Structure.Args) {
			continue
		}
		with++
		n := 0
		for _, i := range d.Catalog.Items {
			if evaluator.Evaluate(anchors, i) == evidence.True {
				n++
			}
		}
		if n == 1 {
			decided++
		}
	}
	if with == 0 || decided*10 > with {
		t.Errorf("of %d requests with alternatives %d are decided without them", with, decided)
	}
}

func TestSizesThatDoNotGoTogether(t *testing.T) {
	for _, o := range []Options{{Items: 1, Reviews: 5}, {Items: 10, Reviews: 9}, {Items: 10, Reviews: 20, Users: 2}, {Items: 10, Reviews: 20, Requests: -1}, {Items: 2, Reviews: 2, Requests: 20}} {
		if _, err := Generate(o); err == nil {
			t.Errorf("%+v is made", o)
		}
	}
}

// The restaurants of Mannheim keep what is known of them and get reviews.
func TestRealItems(t *testing.T) {
	c, findings, err := catalog.Load(catalog.Files{Items: "../../../../examples/rerank/data/items.jsonl"})
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	base := c.Items
	d := generate(t, Options{Seed: 42, Reviews: 2000, Requests: 100, Base: base, Source: "mannheim.jsonl"})
	for i, item := range d.Catalog.Items {
		if item.ID != base[i].ID || len(item.Reviews) == 0 || len(base[i].Reviews) > 0 || item.Fields["stars"] != nil {
			t.Fatalf("item %d: %+v", i, item)
		}
	}
	dir := t.TempDir()
	if _, err := kit.WriteFiles(dir, d.Files()); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, ReadmeFile))
	if err != nil || !strings.Contains(string(readme), "mannheim.jsonl") || !strings.Contains(string(readme), "Generated by Scruple: reviews, people") {
		t.Errorf("%s, %v", readme, err)
	}
}

// Fewer of the items that are given may be taken, and none that are not there.
func TestSomeOfTheItemsGiven(t *testing.T) {
	base := generate(t, Options{Seed: 1, Items: 40, Reviews: 400}).Catalog.Items
	ids := func(o Options) []string {
		o.Base, o.Reviews, o.Requests = base, 200, 20
		var list []string
		for _, i := range generate(t, o).Catalog.Items {
			list = append(list, i.ID)
		}
		return list
	}
	some := ids(Options{Seed: 42, Items: 12})
	if len(some) != 12 || !slices.IsSorted(some) || len(slices.Compact(slices.Clone(some))) != 12 {
		t.Errorf("of 40 items 12 are %v", some)
	}
	if !slices.Equal(some, ids(Options{Seed: 42, Items: 12})) || slices.Equal(some, ids(Options{Seed: 43, Items: 12})) {
		t.Error("the items do not depend on the seed alone")
	}
	if n := len(ids(Options{Seed: 42})); n != 40 {
		t.Errorf("without a number %d items are taken", n)
	}
	if n := len(ids(Options{Seed: 42, Items: 40})); n != 40 {
		t.Errorf("of 40 items %d are taken", n)
	}
	if _, err := Generate(Options{Items: 41, Reviews: 400, Base: base}); err == nil || !strings.Contains(err.Error(), "41 of 40 given items") {
		t.Error(err)
	}
	if len(base[0].Reviews) == 0 {
		t.Error("what was given was changed")
	}
}

// Names and dishes that are equal would make two people or two dishes one.
func TestNamesAreDifferent(t *testing.T) {
	w := allWords()
	seen := map[string]bool{}
	for i := range 50_000 {
		if name := w.person(i); seen[name] {
			t.Fatalf("person %d is called %s as another is", i, name)
		} else {
			seen[name] = true
		}
	}
	dishes := map[string]bool{}
	for i := range len(w.Dishes.Styles) * len(w.Dishes.Things) {
		dishes[w.dish(i)] = true
	}
	if len(dishes) != len(w.Dishes.Styles)*len(w.Dishes.Things) {
		t.Errorf("%d dishes of %d are different", len(dishes), len(w.Dishes.Styles)*len(w.Dishes.Things))
	}
	all := slices.Collect(maps.Keys(dishes))
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	text := "\n" + strings.Join(all, "\n") + "\n"
	for _, dish := range all {
		if strings.Count(text, dish) > 1 {
			t.Errorf("%q is part of the name of another dish", dish)
		}
	}
}

// A sentence is about one theme and says what its pattern looks for; whatever
// else a review may say is about none.
func TestPatternsFindTheirSentencesAlone(t *testing.T) {
	w := allWords()
	neutral := slices.Concat(w.Openers, w.Middles, w.Closers["good"], w.Closers["fair"], w.Closers["poor"], w.Dishes.Sentences)
	for i := range len(w.Dishes.Styles) * len(w.Dishes.Things) {
		neutral = append(neutral, w.dish(i))
	}
	for _, c := range w.Conditions {
		neutral = append(neutral, c.Facts...)
	}
	for _, about := range w.Themes {
		re, err := request.Compile(about.Pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range neutral {
			if re.MatchString(s) {
				t.Errorf("/%s/ is found in %q", about.Pattern, s)
			}
		}
		for _, other := range w.Themes {
			for _, s := range other.Sentences {
				if re.MatchString(s) != (other.Aspect == about.Aspect) {
					t.Errorf("/%s/ of %s and %q of %s", about.Pattern, about.Aspect, s, other.Aspect)
				}
			}
		}
	}
}

// Requests ask for a category that some items have, but not most of them.
func TestCategoriesOfMostItemsAreNotAskedFor(t *testing.T) {
	g := &generator{words: allWords()}
	for i := range 10 {
		item := &catalog.Item{ID: fmt.Sprint(i), Categories: []string{"Most"}}
		if i < 4 {
			item.Categories = []string{"Some"}
		}
		g.list = append(g.list, item)
	}
	plain, _ := g.pools(catalog.New(g.list, map[string]*catalog.User{}))
	var aspects []string
	for _, c := range plain[1].conditions {
		aspects = append(aspects, c.node.Aspect)
	}
	if !slices.Equal(aspects, []string{"category_some"}) {
		t.Errorf("conditions on categories are %q, want category_some alone", aspects)
	}
}
