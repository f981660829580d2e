package generate

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/osm"
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

// What is written is read back without a finding, and every request is right
// by the word of the loader and package evidence, not of the generator.
func TestGeneratedDataAreValid(t *testing.T) {
	for _, o := range []Options{small, {Seed: 7, Items: 60, Reviews: 700, Requests: 50}, {Seed: 1, Items: 1000, Reviews: 8000, Users: 500, Requests: 100}} {
		dir := t.TempDir()
		if _, err := generate(t, o).Write(dir); err != nil {
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
	for _, r := range generate(t, small).Requests {
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
	for _, r := range generate(t, small).Requests {
		count[r.Gold]++
	}
	if most := slices.Max(slices.Collect(maps.Values(count))); most > 2 || len(count) < small.Items*9/10 {
		t.Errorf("gold falls on %d of %d items, on one %d times", len(count), small.Items, most)
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	write := func(o Options) map[string][]byte {
		dir, files := t.TempDir(), map[string][]byte{}
		paths, err := generate(t, o).Write(dir)
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
	if _, err := generate(t, small).Write(dir); err == nil {
		t.Error("a file that was there was overwritten")
	}
	if b, _ := os.ReadFile(filepath.Join(dir, UsersFile)); string(b) != "mine" {
		t.Errorf("the file now holds %q", b)
	}
}

func TestTextsGiveNothingAway(t *testing.T) {
	d := generate(t, small)
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
	d := generate(t, small)
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
	data, err := os.ReadFile("../osm/testdata/osm_restaurants_mannheim.json")
	if err != nil {
		t.Fatal(err)
	}
	base, _, err := osm.Convert(data)
	if err != nil {
		t.Fatal(err)
	}
	d := generate(t, Options{Seed: 42, Reviews: 2000, Requests: 100, Base: base, Source: osm.Attribution})
	for i, item := range d.Catalog.Items {
		if item.ID != base[i].ID || len(item.Reviews) == 0 || len(base[i].Reviews) > 0 || item.Fields["stars"].Kind() != catalog.Missing {
			t.Fatalf("item %d: %+v", i, item)
		}
	}
	dir := t.TempDir()
	if _, err := d.Write(dir); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(dir, ReadmeFile))
	if err != nil || !strings.Contains(string(readme), "ODbL") || !strings.Contains(string(readme), "Nobody wrote these reviews") {
		t.Errorf("%s, %v", readme, err)
	}
}

// Names and dishes that are equal would make two people or two dishes one.
func TestNamesAreDifferent(t *testing.T) {
	w, err := readWords()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range 50_000 {
		if name := w.person(i); seen[name] {
			t.Fatalf("person %d is called %s as another is", i, name)
		} else {
			seen[name] = true
		}
	}
	dishes := map[string]bool{}
	for i := range w.Dishes.count() {
		dishes[w.Dishes.name(i)] = true
	}
	if len(dishes) != w.Dishes.count() {
		t.Errorf("%d dishes of %d are different", len(dishes), w.Dishes.count())
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
	w, err := readWords()
	if err != nil {
		t.Fatal(err)
	}
	neutral := slices.Concat(w.Openers, w.Middles, w.Closers.Good, w.Closers.Fair, w.Closers.Poor, w.Dishes.Sentences)
	for i := range w.Dishes.count() {
		neutral = append(neutral, w.Dishes.name(i))
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
