package view

import (
	"errors"
	"html"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// links are the addresses of the links of a page to another, as a browser follows them from a
// page at some depth.
func links(page, to string) (list []string) {
	for _, m := range regexp.MustCompile(`href="(?:\.\./|\./)*(`+to+`[^"]*)"`).FindAllStringSubmatch(page, -1) {
		list = append(list, "/"+html.UnescapeString(m[1]))
	}
	return list
}

// The page of a pair shows every replicate, those that differ first: which of them made the
// difference of the means is what its reader wants to know.
func TestPairShowsAllReplicates(t *testing.T) {
	one := func(x ...float64) (list [][]fraction) {
		for _, num := range x {
			list = append(list, []fraction{{"", num}})
		}
		return list
	}
	v := newViewer(t, scoredStore(t, map[string][2][][]fraction{
		"late":  {one(1, 1, 0), one(1, 1, 1)}, // only the last replicate differs
		"equal": {one(1, 0, 1), one(1, 0, 1)},
		"first": {one(1, 1, 1), one(0, 1, 1)},
	}))
	list := links(get(t, v, "/c?r=s-1"), `c/item\?`)
	if len(list) != 2 || !strings.Contains(list[0], "item=late") || !strings.Contains(list[1], "item=first") {
		t.Fatalf("the items that differ are %q", list)
	}
	page := get(t, v, list[0])
	order := regexp.MustCompile(`<b>Replicate (\d)</b>: ([a-z ,]+)`).FindAllString(page, -1)
	if want := []string{"<b>Replicate 3</b>: different scores", "<b>Replicate 1</b>: different answers, same score", "<b>Replicate 2</b>: different answers, same score"}; !slices.Equal(order, want) {
		t.Errorf("the replicates are %q, want %q", order, want)
	}
	for _, words := range []string{": 0.6667", "<b class=\"bad\">−0.333</b>", "<mark class=\"answer\"> 0</mark>", "<mark class=\"other\"> 1</mark>", "1 of 2 in this list"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), words) {
			t.Errorf("the page has no %q", words)
		}
	}
	filtered := get(t, v, list[0]+"&q=rep+%3D%3D+3")
	for _, words := range []string{`<b class="bad">−1</b>`, "mean of the replicates that <code>rep == 3</code> selects", "<b>Replicate 1</b>"} {
		if !strings.Contains(filtered, words) {
			t.Errorf("with a filter the page has no %q: %s", words, filtered)
		}
	}
	if !strings.Contains(get(t, v, "/r/s-1/t/1"), "· replicate 1</span>") {
		t.Error("a trial does not say which replicate it is")
	}
}

// A page of a pair leads through the list that it came from, and back to its page, filter and
// order; items that are equal have a page too.
func TestPairKeepsTheList(t *testing.T) {
	scores := map[string][2][][]fraction{}
	for _, id := range strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "") {
		scores[id] = [2][][]fraction{{{{"", 1}}}, {{{"", 0}}}}
	}
	scores["equal"] = [2][][]fraction{{{{"", 1}}}, {{{"", 1}}}}
	v := newViewer(t, scoredStore(t, scores))
	second := get(t, v, "/c?r=s-1&a=a&b=b&q=item+!%3D+%22a%22&sort=-item&page=2")
	list := links(second, `c/item\?`)
	if len(list) != 11 {
		t.Fatalf("the second page of 61 items has %d", len(list))
	}
	page := get(t, v, list[1])
	if !strings.Contains(page, "52 of 61 in this list") {
		t.Errorf("the place in the list is missing: %s", page)
	}
	back := links(page, `c\?`)
	if want := `/c?r=s-1&a=a&s=s-1&b=b&metric=m&q=item+%21%3D+%22a%22&sort=-item&page=2`; !slices.Contains(back, want) {
		t.Errorf("back leads to %q, want %s", back, want)
	}
	if beside := links(page, `c/item\?`); !slices.Equal(beside, []string{strings.Replace(list[0], "&page=2", "", 1), strings.Replace(list[2], "&page=2", "", 1)}) {
		t.Errorf("beside it are %q, want those beside it in the list", beside)
	}
	if equal := get(t, v, "/c/item?r=s-1&a=a&s=s-1&b=b&metric=m&item=equal"); !strings.Contains(equal, "<h1><bdi>equal</bdi>") {
		t.Error("an item that is equal has no page")
	}
}

// The comparison counts wins and losses by unit, and lists the units whose means changed.
func TestCompareByUnit(t *testing.T) {
	units := func(x, y float64) []fraction { return []fraction{{"x", x}, {"y", y}} }
	v := newViewer(t, scoredStore(t, map[string][2][][]fraction{
		"1": {{units(1, 0), units(1, 1)}, {units(1, 1), units(1, 1)}},
		"2": {{units(1, 0), units(1, 0)}, {units(1, 1), units(1, 0)}},
		"3": {{units(1, 1), units(1, 1)}, {units(0, 1), units(0, 1)}},
	}))
	page := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(get(t, v, "/c?r=s-1"), " ")), " ")
	for _, words := range []string{"By unit items on which each side is better Unit A better Same B better y 0 1 2 x 1 2 0", "y 1 → 0.5", "y 0.5 → 0", "x 0 → 1", "A better 1", "B better 2"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page has no %q: %s", words, page)
		}
	}
	if page := get(t, v, "/c?r=s-1&q=rep+!%3D+2"); strings.Count(page, "y 1 → 0<") != 2 || !strings.Contains(page, "x 0 → 1") {
		t.Errorf("a filter does not leave replicates out of units: %s", page)
	}
}

// Of two runs the items are compared that both asked alike.
func TestCompareLeavesOutReworded(t *testing.T) {
	one := func(x, y float64) [2][][]fraction { return [2][][]fraction{{{{"", x}}}, {{{"", y}}}} }
	v := newViewer(t, scoredStore(t, map[string][2][][]fraction{"same": one(1, 0), "other": one(1, 0), "gold": one(0, 1), "equal": one(1, 1)}, "other", "gold"))
	page := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(get(t, v, "/c?r=s-1&s=s-2&a=a&b=b"), " ")), " ")
	if want := "A better 1 · same 1 · B better 0 · 2 whose input or gold differs between the runs, left out"; !strings.Contains(page, want) {
		t.Errorf("the page has no %q: %s", want, page)
	}
	w := httptest.NewRecorder()
	v.ServeHTTP(w, httptest.NewRequest("GET", "/c/item?r=s-1&s=s-2&a=a&b=b&item=other", nil))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "its input or gold differs between the runs") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// Whether higher is better comes from the analysis, without one (the run grows) from the study, and
// without both no side is better.
func TestCompareKnowsTheDirection(t *testing.T) {
	path := scoredStore(t, map[string][2][][]fraction{"1": {{{{"u", 1}}}, {{{"u", 0}}}}}).Path()
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	run, err := db.Run(t.Context(), "s-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		drop       bool
		study      *experiment.Experiment
		said, tone string
	}{
		{said: "A better 1", tone: "good"},
		{drop: true, study: &experiment.Experiment{Suite: kit.Suite{Suite: eval.Suite{Metrics: []eval.Metric{{Name: "m"}}}}}, said: "B better 1", tone: "bad"},
		{said: "A higher 1"},
	} {
		if c.drop {
			if err := db.DropAnalysis(t.Context(), run); err != nil {
				t.Fatal(err)
			}
		}
		v := newViewer(t, db)
		v.studies["s-1"] = &studied{loaded: &loaded{x: c.study, err: errors.New("the plan is another")}, rests: time.Now().Add(time.Hour)}
		for _, path := range []string{"/c?r=s-1", "/c/item?r=s-1&a=a&b=b&item=1", "/r/s-1/i?item=1&metric=m"} {
			page := get(t, v, path)
			if path == "/c?r=s-1" && !strings.Contains(page, c.said) {
				t.Errorf("%s has no %q: %s", path, c.said, page)
			}
			for _, tone := range []string{"good", "bad"} {
				if want := tone == c.tone || c.tone != "" && !strings.HasPrefix(path, "/c/item"); want != regexp.MustCompile(`class="(right )?`+tone+`"`).MatchString(page) {
					t.Errorf("%s: %s is %v: %s", path, tone, !want, page)
				}
			}
			if c.tone == "" && strings.Contains(page, "better") {
				t.Errorf("%s says what is better: %s", path, page)
			}
		}
		delete(v.studies, "s-1") // it has no bench to close
	}
}

// An answer can have thousands of values: pairing them takes no time.
func TestManyUnits(t *testing.T) {
	var rows []eval.ExhibitRow
	var scores []eval.Score
	for i := range 100_000 {
		rows = append(rows, eval.ExhibitRow{Unit: strings.Repeat("field ", i%3) + strconv.Itoa(i)})
		scores = append(scores, eval.Score{Unit: rows[i].Unit, Num: 1, Den: 1})
	}
	back := slices.Clone(rows)
	slices.Reverse(back)
	began := time.Now()
	if pairs := sameUnits(rows, back); len(pairs) != len(rows) || pairs[0][1].Unit != rows[0].Unit {
		t.Errorf("%d pairs of %d", len(pairs), len(rows))
	}
	if units := unitsOf([]itemTrial{{rows: rows, scores: scores}}, analyse.Metric{}); len(units) != len(rows) {
		t.Errorf("%d units of %d", len(units), len(rows))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("100,000 values take %v", took)
	}
}
