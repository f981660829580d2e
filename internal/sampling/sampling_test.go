package sampling

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/table"
)

func reportList(t testing.TB, csv string) (*table.Table, []byte) {
	t.Helper()
	list, err := table.Parse("list.csv", "", []byte(csv))
	if err != nil {
		t.Fatal(err)
	}
	return list, []byte(csv)
}

const reports = "id,type,year\n10,Impact,2020\n11,Project,2021\n12,Other,2020\n13,Impact,2019\n14,Synthesis and Lessons,2022\n15,Impact,2020\n"

func TestDrawFilters(t *testing.T) {
	list, data := reportList(t, reports)
	s, err := Draw(list, data, Plan{ID: "ID", N: 2, Seed: 7,
		Include: []Filter{{"type", "Impact"}, {"type", "Project"}}, Exclude: []Filter{{"year", "2019"}}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range s.main {
		ids = append(ids, r.Text(0))
	}
	if want := []string{"10", "11", "15"}; !slices.Equal(ids, want) || s.Of != 3 {
		t.Errorf("Main has %v, want %v", ids, want)
	}
	want := []Left{{"type is Other, which is not included", 1}, {"type is Synthesis and Lessons, which is not included", 1}, {"year is 2019", 1}}
	if !slices.Equal(s.Left, want) {
		t.Errorf("left out %v", s.Left)
	}
}

// A sample has n different rows that pass the filters, the same for the same seed, and
// every row is as likely as another.
func TestDrawHasNoRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 300).Draw(t, "rows")
		n := rapid.IntRange(1, size).Draw(t, "n")
		var b strings.Builder
		b.WriteString("id\n")
		for i := range size {
			fmt.Fprintf(&b, "%d\n", i)
		}
		list, err := table.Parse("list.csv", "", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		p := Plan{ID: "id", N: n, Seed: rapid.Int64().Draw(t, "seed")}
		s, err := Draw(list, nil, p)
		if err != nil {
			t.Fatal(err)
		}
		seen := slices.Sorted(slices.Values(s.order))
		if len(slices.Compact(seen)) != n {
			t.Fatalf("%v has repeats", s.order)
		}
		again, err := Draw(list, nil, p)
		if err != nil || !slices.Equal(again.order, s.order) {
			t.Fatal("the same seed draws other rows")
		}
	})
	list, data := reportList(t, reports)
	counts := make([]int, 6)
	for seed := range int64(3000) {
		s, err := Draw(list, data, Plan{ID: "id", N: 2, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range s.order {
			counts[i]++
		}
	}
	// 1,000 expected, standard deviation sqrt(3000·⅓·⅔) = 25.8: five of them.
	for i, n := range counts {
		if n < 870 || n > 1130 {
			t.Errorf("row %d is drawn %d times of 3000, want about 1000", i, n)
		}
	}
}

func TestDrawRefuses(t *testing.T) {
	tests := []struct {
		name, csv string
		plan      Plan
		want      []string
	}{
		{"no id column", reports, Plan{ID: "report", N: 1}, []string{`list.csv:1: no column "report"; the columns are id, type, year`}},
		{"duplicate and missing ids", "id\n7\n8\n7\n8\n\"\"\n", Plan{ID: "id", N: 1}, []string{`list.csv:4:1: duplicate id "7", also at list.csv:2:1`, `list.csv:5:1: duplicate id "8"`}},
		{"no id", "id,a\n7,1\n,2\n", Plan{ID: "id", N: 1}, []string{"list.csv:3:1: the report has no id"}},
		{"too many", reports, Plan{ID: "id", N: 7}, []string{"drawing 7 of 6 reports that pass the filters: want 1 to 6"}},
		{"none", reports, Plan{ID: "id"}, []string{"want 1 to 6"}},
		{"a misspelt value", reports, Plan{ID: "id", N: 1, Include: []Filter{{"type", "impact"}}}, []string{"--include type=impact: no row has this value; the values are Impact, Other, Project, Synthesis and Lessons"}},
		{"a misspelt column", reports, Plan{ID: "id", N: 1, Exclude: []Filter{{"typ", "Impact"}}}, []string{`--exclude typ=Impact`, `no column "typ"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, data := reportList(t, tt.csv)
			_, err := Draw(list, data, tt.plan)
			if err == nil {
				t.Fatal("drawn")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			}
		})
	}
	if _, err := ParseFilter("Impact"); err == nil {
		t.Error("a filter without a column")
	}
}

// The workbook has the three tabs, and the rows of Sample are those of Main at the
// positions of Randomizer.
func TestWorkbook(t *testing.T) {
	list, data := reportList(t, reports)
	s, err := Draw(list, data, Plan{ID: "id", N: 4, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Workbook()
	if err != nil {
		t.Fatal(err)
	}
	tab := map[string]*table.Table{}
	for _, name := range []string{"Main", "Randomizer", "Sample"} {
		if tab[name], err = table.Parse("sample.xlsx", name, made); err != nil {
			t.Fatal(err)
		}
	}
	if len(tab["Main"].Rows) != 6 || len(tab["Sample"].Rows) != 4 || tab["Randomizer"].Header[3] != "seed 3" {
		t.Errorf("%d rows in Main, %d in Sample, %q", len(tab["Main"].Rows), len(tab["Sample"].Rows), tab["Randomizer"].Header)
	}
	for k, r := range tab["Randomizer"].Rows {
		var position int
		fmt.Sscan(r.Text(1), &position)
		if from, to := tab["Main"].Rows[position-1].Texts(), tab["Sample"].Rows[k].Texts(); !slices.Equal(from, to[1:]) || r.Text(2) != from[0] {
			t.Errorf("position %d is %q in Main and %q in Sample", position, from, to)
		}
	}
}

func drawn(t *testing.T) string {
	t.Helper()
	list, data := reportList(t, reports)
	s, err := Draw(list, data, Plan{ID: "id", N: 3, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sample.csv")
	csv, err := s.CSV()
	if err != nil {
		t.Fatal(err)
	}
	record, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{path: csv, strings.TrimSuffix(path, ".csv") + ".json": record} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A sample of a sample can be tracked: each order has a name of its own.
func TestSampleOfASample(t *testing.T) {
	path := drawn(t)
	for _, want := range []string{"sample_order_2,sample_order,id,", "sample_order_3,sample_order_2,sample_order,id,"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list, err := table.Parse(path, "", data)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Draw(list, data, Plan{ID: "id", N: 2, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		csv, err := s.CSV()
		if err != nil || !strings.HasPrefix(string(csv), want) {
			t.Fatalf("%v, %s", err, csv)
		}
		record, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(t.TempDir(), "again.csv")
		for name, data := range map[string][]byte{path: csv, strings.TrimSuffix(path, ".csv") + ".json": record} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tr, err := OpenTracking(path, 2)
		if err != nil {
			t.Fatal(err)
		}
		if tr.Next != list.Rows[s.order[0]].Text(s.id) {
			t.Errorf("next is %s of %q", tr.Next, tr.order)
		}
	}
}

func TestTracking(t *testing.T) {
	path := drawn(t)
	now := time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)
	tr, err := OpenTracking(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	order := slices.Clone(tr.order)
	for i, tt := range []struct {
		p    Processed
		want string // of the error
	}{
		{Processed{Report: order[1], Eligible: 1}, "the next report of the sample is " + order[0]},
		{Processed{Report: order[0]}, "give the number of its eligible fragments, at least 1, or the reason"},
		{Processed{Report: order[0], Eligible: 1, Excluded: "x"}, "give either"},
		{Processed{Report: order[0], Eligible: 1001}, "want 1 to 1000"},
		{Processed{Report: order[0], Eligible: 4}, ""},
		{Processed{Report: order[0], Eligible: 4}, "it was recorded already"},
		{Processed{Report: order[1], Excluded: "x", Corrects: "typed"}, "nothing is recorded of it"},
		{Processed{Report: order[2], Eligible: 4}, "the next report of the sample is " + order[1]},
		{Processed{Report: order[1], Excluded: "mainly descriptive"}, ""},
		{Processed{Report: order[2], Eligible: 1}, ""},
		{Processed{Report: "99", Eligible: 1}, "all 3 reports of the sample are processed"},
		{Processed{Report: order[2], Corrects: "miscounted"}, "give the number of its eligible fragments"},
		{Processed{Report: order[2], Eligible: 3, Corrects: "miscounted", By: "anna"}, ""},
	} {
		if tr, err = OpenTracking(path, 99); err != nil { // the target was recorded
			t.Fatal(err)
		}
		if i < 5 {
			tr.Target = 2
		}
		p, err := tr.Add(tt.p, now)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: got %v, want %q", tt.p, err, tt.want)
		}
		if err == nil && p.Eligible > 0 && (p.Drawn < 1 || p.Drawn > p.Eligible) {
			t.Errorf("fragment %d of %d is drawn", p.Drawn, p.Eligible)
		}
	}
	if tr, err = OpenTracking(path, 0); err != nil {
		t.Fatal(err)
	}
	want := "3 reports processed of 3; 2 fragments toward the target of 2: reached, with 0 more for practice and examples\nexcluded: mainly descriptive (1)\ncorrected: report " + order[2] + ": miscounted\nthe sample is used up\n"
	if tr.String() != want {
		t.Errorf("got\n%swant\n%s", tr, want)
	}
	if p := tr.Processed[2]; p.Eligible != 3 || p.By != "anna" || p.Report != order[2] {
		t.Errorf("after the correction: %+v", p)
	}
	again := stable.Random(3, "fragment", order[0]).IntN(4) + 1
	if tr.Processed[0].Drawn != again {
		t.Errorf("the draw of fragment %d cannot be repeated: %d", tr.Processed[0].Drawn, again)
	}
}

func TestTrackingRefusesChangedFiles(t *testing.T) {
	change := func(path, old, new string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := drawn(t)
	tr, err := OpenTracking(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Add(Processed{Report: tr.Next, Excluded: "descriptive"}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	change(tr.Path, "descriptive", "prescriptive")
	if _, err := OpenTracking(path, 2); err == nil || !strings.Contains(err.Error(), "tracking.jsonl:2") {
		t.Errorf("a changed line: %v", err)
	}
	change(tr.Path, "prescriptive", "descriptive")
	record := strings.TrimSuffix(path, ".csv") + ".json"
	seed := fmt.Sprintf(`"seed": %d`, tr.record.Seed)
	change(record, seed, seed+"1")
	if _, err := OpenTracking(path, 2); err == nil || !strings.Contains(err.Error(), "its record has") {
		t.Errorf("a changed seed: %v", err)
	}
	change(record, seed+"1", seed)
	change(path, "Impact", "Project")
	if _, err := OpenTracking(path, 2); err == nil || !strings.Contains(err.Error(), "changed after it was drawn") {
		t.Errorf("a changed sample: %v", err)
	}
	os.Remove(strings.TrimSuffix(path, ".csv") + ".json")
	if _, err := OpenTracking(path, 2); err == nil || !strings.Contains(err.Error(), "no record of its draw") {
		t.Errorf("a missing record: %v", err)
	}
}
