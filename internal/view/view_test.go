package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
)

func TestTerms(t *testing.T) {
	for _, c := range []struct {
		q    string
		want []string
	}{
		{"", nil},
		{`arm == "a"`, []string{`arm == "a"`}},
		{`arm == "a" && composite < 0.9`, []string{`arm == "a"`, `composite < 0.9`}},
		{`arm == "a && b" && (x || y)`, []string{`arm == "a && b"`, `(x || y)`}},
		{`arm == 'it\'s && so' && y`, []string{`arm == "it's && so"`, "y"}},
		{`a and (b && c) and not d`, []string{"a", "b", "c", "not d"}},
		{`a && (b ? c : d) && e in [1, 0.5]`, []string{"a", "(b ? c : d)", "e in [1, 0.5]"}},
		{` a && `, []string{"a &&"}},
		{`a && b || c`, []string{`a && b || c`}},
		{`a && b or c`, []string{`a && b or c`}},
		{`arm == "this or that" && (a or b) && c`, []string{`arm == "this or that"`, `(a or b)`, "c"}},
		{`a ? b : c && d`, []string{`a ? b : c && d`}},
	} {
		if got, _ := terms(c.q); !slices.Equal(got, c.want) {
			t.Errorf("terms of %s: %q, want %q", c.q, got, c.want)
		}
	}
	if got := with(`a || b`, "c"); got != `(a || b) && c` {
		t.Errorf("with: %s", got)
	}
	for _, q := range []string{"a\tor b", "(a)or(b)", "a and b or c", "let x = a; x or b"} {
		if got := with(q, "c"); got != "("+q+") && c" {
			t.Errorf("with: %s", got)
		}
	}
	if a, b := identifier("год"), identifier("тип"); a == b || identifier("1. größe, m²") != "_1__größe__m_" {
		t.Errorf("names %s, %s and %s", a, b, identifier("1. größe, m²"))
	}
	if got := with(`a && b`, "b"); got != `a && b` {
		t.Errorf("a condition twice: %s", got)
	}
	if got := without(`a && b && c`, 1); got != `a && c` {
		t.Errorf("without: %s", got)
	}
}

// A filter knows the columns and nothing else, and selects what it says.
func TestFilter(t *testing.T) {
	v := newViewer(t, bigStore(t, 50)) // 200 trials
	run, err := v.DB.Run(t.Context(), "big-1")
	if err != nil {
		t.Fatal(err)
	}
	x, err := v.index(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	metric := x.column("metric_0").numbers
	for _, c := range []struct {
		q, sort string
		want    func(i int) bool
	}{
		{"", "", func(int) bool { return true }},
		{`arm == "ctn@a"`, "-tokens", func(i int) bool { return x.column("arm").word(i) == "ctn@a" }},
		{`metric_0 < 0.5 && outcome != "malformed"`, "metric_0", func(i int) bool { return metric[i] < 0.5 && x.column("outcome").word(i) != "malformed" }},
		{`arm in ["ctn@a", "ctn@b"] and item matches "5$"`, "item", func(i int) bool {
			return strings.HasPrefix(x.column("arm").word(i), "ctn") && strings.HasSuffix(x.column("item").word(i), "5")
		}},
		{`missing(metric_0)`, "", func(i int) bool { return math.IsNaN(metric[i]) }},
	} {
		rows, err := x.order(t.Context(), c.q, c.sort)
		if err != nil {
			t.Errorf("%s: %v", c.q, err)
			continue
		}
		var want []int32
		for i := range x.n {
			if c.want(i) {
				want = append(want, int32(i))
			}
		}
		if got := slices.Sorted(slices.Values(rows)); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", c.q, len(got), len(want))
		}
		if name, down := strings.CutPrefix(c.sort, "-"); name == "tokens" || name == "metric_0" {
			for k := 1; k < len(rows); k++ {
				a, b := x.column(name).numbers[rows[k-1]], x.column(name).numbers[rows[k]]
				if down && a < b || !down && a > b {
					t.Errorf("%s: row %d is out of order: %g, %g", c.sort, k, a, b)
				}
			}
		}
	}
	for _, q := range []string{"nope == 1", "arm", "arm == 1", "arm ==", "len(arm) > 1", "all(1..1000000, true)", `filter([1], true)`, "$env", strings.Repeat("x", longestFilter+1), "__proto__ == 1", `arm.x == "1"`} {
		if rows, err := x.order(t.Context(), q, ""); err == nil {
			t.Errorf("%.40s selects %d rows", q, len(rows))
		}
	}
	if _, err := x.order(t.Context(), "", "nope"); err == nil {
		t.Error("an unknown column sorts")
	}
}

// The fractions of a trial add up; trials without a score have none.
func TestScoresAddUp(t *testing.T) {
	c := &column{numbers: []float64{math.NaN(), math.NaN(), math.NaN()}}
	c.addScore(0, 1, 1)
	c.addScore(0, 0, 1)
	c.addScore(1, 3, 4)
	for i := range c.den {
		c.numbers[i] /= c.den[i]
	}
	if c.numbers[0] != 0.5 || c.numbers[1] != 0.75 || !math.IsNaN(c.numbers[2]) {
		t.Errorf("%v", c.numbers)
	}
}

// The pieces of a comparison of words are the two texts.
func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"1 December 1990", "1 December 1991", " 1 December[- 1990][+ 1991]"},
		{"a b c", "a c", " a[- b] c"},
		{"a", "", "[-a]"},
	} {
		got := ""
		for _, e := range diff(c.a, c.b) {
			got += map[string]string{"": e.Text, "ins": "[+" + e.Text + "]", "del": "[-" + e.Text + "]"}[e.Kind]
		}
		if strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("%q to %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
	word := rapid.SampledFrom([]string{"a", "b", "c", " ", "ü", "😀", "\x00", "-", "1"})
	rapid.Check(t, func(rt *rapid.T) {
		a := strings.Join(rapid.SliceOfN(word, 0, 40).Draw(rt, "a"), "")
		b := strings.Join(rapid.SliceOfN(word, 0, 40).Draw(rt, "b"), "")
		var was, now string
		for _, e := range diff(a, b) {
			if e.Kind != "ins" {
				was += e.Text
			}
			if e.Kind != "del" {
				now += e.Text
			}
		}
		if was != a || now != b {
			rt.Fatalf("%q, %q: %q, %q", a, b, was, now)
		}
	})
	if n := len(diff(strings.Repeat("a ", 15000), strings.Repeat("b ", 15000))); n > 3 {
		t.Errorf("long texts have %d pieces", n)
	}
}

// Wins and losses are of the first arm, by the direction of the metric; items come with
// the largest losses first, and in the order that is asked for.
func TestPair(t *testing.T) {
	sums := func(x ...float64) map[string]*sum {
		m := map[string]*sum{}
		for i, s := range x {
			if !math.IsNaN(s) {
				m[string(rune('a'+i))] = &sum{num: 2 * s, den: 2} // two replicates
			}
		}
		return m
	}
	a, b := sums(1, 0.5, 0.25, 0.1, math.NaN()), sums(0.5, 0.5, 1, 0.2, 1)
	for _, higher := range []bool{true, false} {
		m := pair(a, b, higher)
		wins, losses, orders := 1, 2, map[string]string{"": "cdba", "-diff": "abdc", "item": "abcd", "-item": "dcba", "a": "dcba", "-b": "cabd"}
		if !higher {
			wins, losses, orders = 2, 1, map[string]string{"": "abdc", "diff": "cdba"}
		}
		if m.Wins != wins || m.Losses != losses || m.Ties != 1 || m.Without != 1 {
			t.Errorf("higher %v: %+v", higher, m)
		}
		for by, want := range orders {
			got := ""
			if err := arrange(m.list, by, higher); err != nil {
				t.Error(err)
			}
			for _, x := range m.list {
				got += x.item
			}
			if got != want {
				t.Errorf("higher %v, sorted by %q: %s, want %s", higher, by, got, want)
			}
		}
	}
	if err := arrange(nil, "nope", true); err == nil {
		t.Error("an unknown column sorts")
	}
}

// A unit of one side alone is shown.
func TestUnitsOfOneSide(t *testing.T) {
	row := func(unit, answer string) eval.ExhibitRow { return eval.ExhibitRow{Unit: unit, Answer: answer} }
	got := sameUnits([]eval.ExhibitRow{row("x", "1"), row("y", "2"), row("y", "3")}, []eval.ExhibitRow{row("y", "4"), row("z", "5"), row("y", "6")})
	want := [][2]string{{"1", ""}, {"2", "4"}, {"3", "6"}, {"", "5"}}
	for i, p := range got {
		if i >= len(want) || p[0].Answer != want[i][0] || p[1].Answer != want[i][1] {
			t.Errorf("row %d is %+v", i, p)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows", len(got))
	}
}

// An export has the filtered trials in the order of the list, and no formula.
func TestExport(t *testing.T) {
	v := newViewer(t, bigStore(t, 25)) // 100 trials
	lines := strings.Split(strings.TrimSpace(get(t, v, "/r/big-1/export?format=csv&q=outcome+%3D%3D+%22malformed%22&sort=-item")), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "item,arm,rep,outcome,") || lines[1] < lines[2] {
		t.Errorf("%q", lines)
	}
	var record map[string]any
	first, _, _ := strings.Cut(get(t, v, "/r/big-1/export?format=jsonl"), "\n")
	if err := json.Unmarshal([]byte(first), &record); err != nil || record["rep"] != 1.0 || record["metric_0"] == nil {
		t.Errorf("%v: %v", record, err)
	}
	w := httptest.NewRecorder()
	x := &index{n: 1, columns: []*column{{name: "arm", words: []string{"=1+1"}, codes: []int32{0}}}}
	if err := x.write(w, "csv", []int32{0}, nil); err != nil || w.Body.String() != "arm\n'=1+1\n" {
		t.Errorf("a formula becomes %q, %v", w.Body, err)
	}
}

// A long export takes longer than other responses may.
func TestLongExport(t *testing.T) {
	v := newViewer(t, bigStore(t, 5)) // 20 trials
	slow := func(_ context.Context, trial eval.Trial) (eval.Exhibit, error) {
		time.Sleep(30 * time.Millisecond)
		return eval.Exhibit{Item: trial.Item, Arm: trial.Arm, Raw: strings.Repeat("words ", 10_000)}, nil
	}
	v.studies["big-1"] = &studied{loaded: &loaded{show: slow}, rests: time.Now().Add(time.Hour)}
	server := httptest.NewUnstartedServer(v)
	server.Config.WriteTimeout = 200 * time.Millisecond
	server.Start()
	defer server.Close()
	response, err := server.Client().Get(server.URL + "/r/big-1/export?format=csv&texts=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 21 || len(text) < 20*60_000 {
		t.Errorf("%d lines, %d bytes: %v", lines, len(text), err)
	}
}

// A study that changed since a run adds its strata only to the items that are the same, and a
// filter by one that is not known says why.
func TestStrataOfTheStudy(t *testing.T) {
	item := func(id, era string) eval.Item {
		return eval.Item{ID: id, Strata: []eval.Level{{Name: "era", Value: era}}}
	}
	same := []eval.Item{item("doc-000000", "old"), item("doc-000002", "new")}
	for _, c := range []struct {
		l    loaded
		want string
	}{{loaded{items: same}, "(changed) old new"}, {loaded{items: same, err: errors.New("other items")}, ""}} {
		v := newViewer(t, bigStore(t, 3))
		v.studies["big-1"] = &studied{loaded: &c.l, rests: time.Now().Add(time.Hour)}
		run, err := v.DB.Run(t.Context(), "big-1")
		if err != nil {
			t.Fatal(err)
		}
		x, err := v.index(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if era := x.column("era"); era != nil {
			for i := 0; i < x.n; i += 4 {
				got = append(got, era.word(i))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: strata %q, want %q", c.l, got, c.want)
		}
		_, err = x.order(t.Context(), `era == "old"`, "")
		if said := fmt.Sprint(err); c.l.err != nil && !strings.Contains(said, "the study or its data changed: other items") || c.l.err == nil && err != nil {
			t.Errorf("a filter by a stratum says %s", said)
		}
	}
}

// A list that cannot be made offers no export, which could not be made either.
func TestNoExportOfAWrongList(t *testing.T) {
	v := newViewer(t, bigStore(t, 3))
	for path, want := range map[string]bool{"/r/big-1/samples?sort=item": true, "/r/big-1/samples?sort=nope": false} {
		if page := get(t, v, path); strings.Contains(page, "Export this list") != want || strings.Contains(page, "no column") == want {
			t.Errorf("%s: want an export %v", path, want)
		}
	}
}

// Addresses that fit no page are answered with the reason.
func TestWrongAddresses(t *testing.T) {
	v := newViewer(t, bigStore(t, 3))
	for path, want := range map[string]int{
		"/nothing": 404, "/r/other": 404, "/r/..%2F..%2Fetc": 404, "/r/big-1/t/x": 400, "/r/big-1/t/99": 404, "/r/big-1/t/1/calls?page=2": 400, "/r/big-1/samples?page=0": 400, "/r/big-1/samples?page=x": 400,
		"/r/big-1/export?format=exe": 400, "/r/big-1/export?format=csv&q=nope": 400, "/c?r=none": 404, "/c/item?r=big-1&s=big-1&item=none": 400, "/r/big-1/samples?page=999999": 200, "/c?r=big-1&a=none": 200,
	} {
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

// An address of a list that became shorter shows its last page.
func TestPagesBehindTheLast(t *testing.T) {
	v := newViewer(t, bigStore(t, 60)) // 240 trials
	for path, want := range map[string]string{
		"/r/big-1/samples?page=9":                                     "page 3 of 3",
		"/r/big-1/samples?page=9&q=arm+!%3D+%22ctn@a%22":              "page 2 of 2",
		"/c?r=big-1&a=ctn@a&s=big-1&b=idiomatic@a&all=1&page=9":       "page 2 of 2",
		"/r/big-1/samples?page=9&q=item+%3D%3D+%22doc-000001%22":      "4 of 240 trials",
		"/r/big-1/samples?page=2&q=arm+%3D%3D+%22nobody%22&sort=item": "0 of 240 trials",
	} {
		page := get(t, v, path)
		if empty := !strings.Contains(page, "<tr data-row>"); !strings.Contains(page, want) || empty != strings.HasPrefix(want, "0 ") {
			t.Errorf("%s: want rows and %s", path, want)
		}
	}
}

// A form of columns becomes one list in the address and keeps the search, and facets add to the
// expression.
func TestFormsAndFacets(t *testing.T) {
	v := newViewer(t, bigStore(t, 3))
	w := httptest.NewRecorder()
	v.ServeHTTP(w, httptest.NewRequest("GET", "/r/big-1/samples?q=metric_0+%3C+1&text=an+answer&col=item&col=arm", nil))
	want := "../../r/big-1/samples?q=metric_0+%3C+1&text=an+answer&cols=item%2Carm"
	if w.Code != 303 || w.Header().Get("Location") != want {
		t.Errorf("%d to %s", w.Code, w.Header().Get("Location"))
	}
	_, form, _ := strings.Cut(get(t, v, "/r/big-1/samples?text=an+answer"), "<summary>Columns</summary>")
	if form, _, _ = strings.Cut(form, "</form>"); !strings.Contains(form, `name="text" value="an answer"`) {
		t.Errorf("the form of columns drops the search: %s", form)
	}
	html := get(t, v, "/r/big-1/samples?q=metric_0+%3C+1&sort=item")
	if !strings.Contains(html, "q=metric_0&#43;%3C&#43;1&#43;%26%26&#43;arm&#43;%3D%3D&#43;%22ctn%40a%22") && !strings.Contains(html, "%26%26+arm+%3D%3D+%22ctn%40a%22") {
		t.Error("no facet adds a condition on the arm")
	}
}

// The script stays small, and nothing in it makes HTML of text.
func TestScript(t *testing.T) {
	if lines := strings.Count(script, "\n"); len(script) > 15_000 || lines > 300 {
		t.Errorf("%d bytes in %d lines", len(script), lines)
	}
	for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc", "fetch(", "XMLHttpRequest", "https:"} {
		if strings.Contains(script, sink) {
			t.Errorf("the script uses %s", sink)
		}
	}
}

// JSON is indented without a change of its values, and other texts stay as they are.
func TestIndented(t *testing.T) {
	for text, want := range map[string]string{`{"a":1.0,"b":["é"]}`: "{\n  \"a\": 1.0,\n  \"b\": [\n    \"é\"\n  ]\n}", "{no JSON": "{no JSON", "": ""} {
		if got := indented([]byte(text)); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestRulingsKeepTheRound(t *testing.T) {
	v := newViewer(t, bigStore(t, 1))
	var b strings.Builder
	if err := v.pages.ExecuteTemplate(&b, "rulings", []eval.Verdict{{By: "anna", Source: eval.ByHuman, Data: []byte("yes")}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<bdi>anna</bdi>", `<span class="tag">human</span>`, "<td>1</td>", "<code>yes</code>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in %s", want, b.String())
		}
	}
}

// The trials of an item are found from one of them as by a search, at both ends of the plan.
func TestTrialsOfAnItem(t *testing.T) {
	v := newViewer(t, bigStore(t, 50))
	run, err := v.DB.Run(t.Context(), "big-1")
	if err != nil {
		t.Fatal(err)
	}
	r := &request{Request: httptest.NewRequest("GET", "/", nil), run: run}
	for _, place := range []int{0, 1, 3, 4, 66, 127, 128, 196, 199} {
		rows, err := store.Collect(v.DB.Rows(t.Context(), run, place, place+1))
		if err != nil || len(rows) != 1 {
			t.Fatal(err)
		}
		item := rows[0].Trial.Item
		near, err := v.rowsOf(r, item, rows[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		searched, err := v.rowsOf(r, item, 0)
		if err != nil || len(near) != 4 {
			t.Fatal(len(near), err)
		}
		if diff := cmp.Diff(near, searched); diff != "" {
			t.Errorf("place %d: %s", place, diff)
		}
	}
	if none, err := v.rowsOf(r, "nobody", 5); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	page := get(t, v, "/r/big-1/i?item=doc-000007&metric=metric_2")
	for _, words := range []string{"4 trials", "ctn@a", "idiomatic@b", "field_3", "score 0.", "no study here"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page of an item has no %q", words)
		}
	}
	for path, status := range map[string]int{"/r/big-1/i?item=nobody": 400, "/r/big-1/i": 400, "/r/big-1/i?item=doc-000007&page=2": 400, "/r/none/i?item=x": 404} {
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}

// A run that goes on after its analysis is unfinished again, and one without scores says so.
func TestUnfinishedRuns(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 2}}
	p, err := plan.New(items, []eval.Arm{{ID: "a"}, {ID: "b"}}, 1, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyPath: "/none/study.yaml", StudyJSON: []byte(`{}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, items, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.SaveAnalysis(t.Context(), r, []byte(`{}`), nil, ""), db.DropAnalysis(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, db)
	for path, want := range map[string]string{"/r/s-1/samples": "0 of 2</span>", "/c?r=s-1": "run s-1 has no scores yet"} {
		if !strings.Contains(get(t, v, path), want) {
			t.Errorf("%s: want %s", path, want)
		}
	}
}

// No page shows answers of a TEST run before it is finished: who sees them could stop it
// while they are good.
func TestUnfinishedTESTIsNotShown(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 2}}
	p, err := plan.New(items, []eval.Arm{{ID: "a"}, {ID: "b"}}, 1, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyPath: "/none/study.yaml", StudyJSON: []byte(`{"split": "test"}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, items, p)
	if err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, db)
	get(t, v, "/")
	get(t, v, "/r/"+r.ID)
	for _, page := range []string{"/samples", "/export", "/t/1", "/t/1/calls", "/i?item=doc", "/judge"} {
		notAllowed(t, v, "/r/"+r.ID+page)
	}
	notAllowed(t, v, "/c?r="+r.ID)
	notAllowed(t, v, "/c/item?r="+r.ID+"&s="+r.ID+"&item=doc")
}

func notAllowed(t *testing.T, v *Viewer, path string) {
	t.Helper()
	w := httptest.NewRecorder()
	v.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 403 || !strings.Contains(w.Body.String(), "is a TEST run that is not finished") {
		t.Errorf("%s: status %d", path, w.Code)
	}
}

// Pages of a large run do not wait for its index: one that needs it loads again by itself,
// and a trial is shown without its neighbours. Of several large runs, the index that was
// not used for longest is dropped.
func TestLargeRuns(t *testing.T) {
	v := newViewer(t, bigStore(t, 50)) // 200 trials
	v.many = 100
	run, err := v.DB.Run(t.Context(), "big-1")
	if err != nil {
		t.Fatal(err)
	}
	// Another request builds the index.
	held := &indexed{}
	held.mu.Lock()
	v.indexes[run.ID] = held
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w
	}
	const filtered = "/r/big-1/samples?q=metric_0+%3C+0.5"
	for _, path := range []string{filtered, "/c?r=big-1&a=ctn@a&b=ctn@b&metric=metric_0"} {
		if w := ask(path); w.Code != 503 || w.Header().Get("Refresh") != "2" || !strings.Contains(w.Body.String(), "200 trials is prepared") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	for _, path := range []string{"/r/big-1/samples", "/r/big-1/samples?page=2", "/r/big-1/t/7", "/r/big-1/i?item=doc-000007"} {
		if w := ask(path); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	held.mu.Unlock()
	x, err := v.index(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(filtered); w.Code != 200 {
		t.Errorf("with the index: %d", w.Code)
	}
	held.mu.Lock() // a new one is built: the one before is shown
	if w := ask(filtered); w.Code != 200 {
		t.Errorf("with the index before: %d", w.Code)
	}
	held.mu.Unlock()

	for i, id := range []string{"old", "older"} {
		other := &indexed{used: time.Now().Add(-time.Duration(i+1) * time.Hour)}
		other.last.Store(x)
		v.indexes[id] = other
	}
	v.most = 500 // two of three
	v.mu.Lock()
	v.forget(&store.Run{ID: "new", Trials: 100})
	v.mu.Unlock()
	if v.indexes["older"] != nil || v.indexes["old"] == nil || v.indexes["big-1"] == nil {
		t.Errorf("kept are %v", v.indexes)
	}
}

// The list of runs is a trend too: a run has its tags, and what each arm got.
func TestRunsHaveTagsAndFigures(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	items := []eval.Item{{ID: "doc", Input: 1, Gold: 2}}
	p, err := plan.New(items, []eval.Arm{{ID: "a"}}, 1, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyPath: filepath.Join(t.TempDir(), "study.yaml"), StudyJSON: []byte(`{}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, items, p)
	if err != nil {
		t.Fatal(err)
	}
	analysis, err := json.Marshal(analyse.Analysis{
		Format:    analyse.Format,
		Metrics:   []analyse.Metric{{Name: "other", Title: "Other"}, {Name: "m", Title: "Recall <1>", Max: 1, Pooling: eval.RatioOfSums, Rank: "primary"}},
		Arms:      []analyse.Arm{{ID: "a", Role: eval.RoleArm}},
		Estimates: []analyse.Estimate{{Arm: "a", Metric: "m", Items: 30, Bounds: analyse.Bounds{Value: 0.875, Low: 0.5, High: 0.99}}},
	})
	if err == nil {
		err = errors.Join(db.SaveAnalysis(t.Context(), r, analysis, nil, ""), db.AddEvents(t.Context(), r, store.Event{At: time.Unix(0, 0), What: store.EventTag, Note: "main"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyPath: r.StudyPath, StudyJSON: []byte(`{"description": "Is a better?"}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(1, 0)}, items, p); err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, db)
	for q, want := range map[string][]string{"": {"s-1", "s-2"}, "a": {"s-1", "s-2"}, "better": {"s-2"}, "MAIN": {"s-1"}, "heuristic": {}} { // one was not analysed
		page := get(t, v, "/?q="+q)
		for _, id := range []string{"s-1", "s-2"} {
			if slices.Contains(want, id) != strings.Contains(page, "<bdi>"+id+"</bdi>") {
				t.Errorf("filter %q: want runs %q: %s", q, want, page)
			}
		}
	}
	page := get(t, v, "/")
	for _, want := range []string{`<span class="tag">main</span>`, "Recall &lt;1&gt;: <bdi>a</bdi> 87.5\u00a0% (50.0 to 99.0\u00a0%, n = 30)"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
}

// After a search in texts, next and previous lead through its hits, and on to the list.
func TestNextHit(t *testing.T) {
	scores := map[string][2][][]fraction{}
	for i := range 6 { // found: b of items 1 and 4
		num := 0.0
		if i%3 == 1 {
			num = 7
		}
		scores[fmt.Sprint("item-", i)] = [2][][]fraction{{{{"u", 0}}}, {{{"u", num}}}}
	}
	v := newViewer(t, scoredStore(t, scores))
	absolute := func(link string) string { return "/" + strings.TrimLeft(html.UnescapeString(link), "./") }
	list := get(t, v, "/r/s-1/samples?text=u+7")
	if !strings.Contains(list, "Export 12 trials, with the text or without it: ") || strings.Contains(list, "Export this list") {
		t.Errorf("an export of all trials is called one of those found: %s", list)
	}
	hits := regexp.MustCompile(`<th scope="row"><a href="([^"]*)">`).FindAllStringSubmatch(list, -1)
	if len(hits) != 2 {
		t.Fatalf("%d trials are found: %s", len(hits), list)
	}
	addresses := []string{absolute(hits[0][1]), absolute(hits[1][1])}
	follow := func(from, key string) string {
		link := regexp.MustCompile(`<a href="([^"]*)" data-key="` + key + `"`).FindStringSubmatch(get(t, v, from))
		if link == nil {
			t.Fatalf("%s has no link %s", from, key)
		}
		w := httptest.NewRecorder()
		v.ServeHTTP(w, httptest.NewRequest("GET", absolute(link[1]), nil))
		return absolute(w.Header().Get("Location"))
	}
	if got := follow(addresses[0], "n"); got != addresses[1] {
		t.Errorf("next is %s, want %s", got, addresses[1])
	}
	if got := follow(addresses[1], "p"); got != addresses[0] {
		t.Errorf("previous is %s, want %s", got, addresses[0])
	}
	for _, end := range [][2]string{{addresses[1], "n"}, {addresses[0], "p"}} {
		if got := follow(end[0], end[1]); !strings.HasPrefix(got, "/r/s-1/samples?") || !strings.Contains(get(t, v, got), "found in trials") {
			t.Errorf("beyond the last hit: %s", got)
		}
	}
}

// A run is followed until its results are there: trials that are judged and scored say so.
func TestEventsSayWhenResultsAreThere(t *testing.T) {
	path := scoredStore(t, map[string][2][][]fraction{"1": {{{{"", 1}}}, {{{"", 0}}}}}).Path()
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	run, err := db.Run(t.Context(), "s-1")
	if err != nil {
		t.Fatal(err)
	}
	analysis, _, _, err := db.Analysis(t.Context(), run)
	if err = errors.Join(err, db.DropAnalysis(t.Context(), run)); err != nil {
		t.Fatal(err)
	}
	v := newViewer(t, db)
	told := map[string]progress{}
	next := func(want string) {
		t.Helper()
		if news, err := v.news(t.Context(), told); err != nil || !strings.Contains(news, want) {
			t.Errorf("the news are %q, %v; want %q", news, err, want)
		}
	}
	next(`"ready":false,"said":"2 of 2, not scored yet"`)
	for _, path := range []string{"/", "/r/s-1", "/r/s-1/samples"} {
		if page := get(t, v, path); !strings.Contains(page, `data-live="s-1" data-open>`) || !strings.Contains(page, "2 of 2, not scored yet") {
			t.Errorf("%s does not follow the run: %s", path, page)
		}
	}
	if err := db.SaveAnalysis(t.Context(), run, analysis, nil, ""); err != nil {
		t.Fatal(err)
	}
	next(`"ready":true,"said":"2 of 2"`)
	if page := get(t, v, "/"); strings.Contains(page, "data-open") {
		t.Errorf("a run with results is followed: %s", page)
	}
	if news, err := v.news(t.Context(), told); news != "" || err != nil {
		t.Errorf("news without a change: %q, %v", news, err)
	}
	if said := (progress{Tally: store.Tally{Trials: 9, Done: 9}, Judged: 4}).Said(); said != "9 of 9, 4 judged" {
		t.Errorf("while a run is judged its pages say %q", said)
	}
}

// Metrics and strata whose names differ only in signs that the language of filters lacks have
// columns of their own, by which every page finds them.
func TestNamesThatTheLanguageCannotTell(t *testing.T) {
	scores := []fraction{{"sc-ore:", 0.25}, {"sc_ore:", 0.75}}
	v := newViewer(t, scoredStore(t, map[string][2][][]fraction{"1": {{scores}, {{{"sc-ore:", 1}, {"sc_ore:", 0.5}}}}}))
	same := []eval.Item{{ID: "1", Strata: []eval.Level{{Name: "sc.ore", Value: "x"}}}}
	v.studies["s-1"] = &studied{loaded: &loaded{items: same}, rests: time.Now().Add(time.Hour)}
	run, err := v.DB.Run(t.Context(), "s-1")
	if err != nil {
		t.Fatal(err)
	}
	x, err := v.index(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for name, title := range map[string]string{"sc_ore": "sc_ore", "sc_ore_2": "sc-ore", "sc_ore_3": "sc.ore"} {
		if c := x.column(name); c == nil || c.title != title {
			t.Errorf("column %s is %+v, want %s", name, c, title)
		}
	}
	for metric, want := range map[string]string{"sc-ore": "−0.75", "sc_ore": "+0.25"} {
		page := html.UnescapeString(get(t, v, "/c?r=s-1&a=a&b=b&metric="+metric))
		if !strings.Contains(page, ">"+want+"<") {
			t.Errorf("by %s the difference is not %s: %s", metric, want, page)
		}
	}
	a := &analyse.Analysis{Metrics: []analyse.Metric{{Name: "sc-ore"}, {Name: "sc_ore"}}}
	link := v.behind(&request{Request: httptest.NewRequest("GET", "/", nil), run: run, studies: map[string]*loaded{}}, a)
	for metric, want := range map[string]string{"sc-ore": "missing%28sc_ore_2%29", "sc_ore": "missing%28sc_ore%29"} {
		if got := link(report.Behind{Arm: "a", Metric: metric, Stratum: &eval.Level{Name: "sc.ore", Value: "x"}}); !strings.Contains(got, want) || !strings.Contains(got, "sc_ore_3+") {
			t.Errorf("behind %s is %s", metric, got)
		}
	}
}
