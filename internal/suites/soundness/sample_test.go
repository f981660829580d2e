package soundness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/table"
)

func sampled() Sample {
	return Sample{Header: []string{"sample_order", "id", "Title", "Report URL", "type", "Country", "Year", "Joint Evaluation", "GEF", "Management response", "budgets"}, ID: "id",
		Rows: []Taken{
			{[]string{"1", "7", "=One", "https://example.org/7", "Impact", "Brevia", "2015", "Yes", "no", "Completed", "9"}, "2026-02-01", "fragment 2 of 3"},
			{[]string{"2", "9", "Two", "", "Project", "Castovia", "2016", "False", "maybe", "", ""}, "2026-02-02", "fragment 1 of 1"},
		}}
}

// A corpus has what the sample knows of each report, and says what it lacks.
func TestCorpusOfSample(t *testing.T) {
	c, err := sampled().Corpus(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Rows {
		got = append(got, strings.Join(r, "|"))
	}
	want := []string{
		"fragment_id|report_id|report_title|report_url|report_type|country|year|budget|joint_evaluation|gef_evaluation|criterion_addressed|fragment_text|paragraph_count|extraction_date|extraction_notes",
		"F_001|7||https://example.org/7||Brevia|2015||Yes|||||2026-02-01|fragment 2 of 3",
		"F_002|9||||Castovia|2016||False|||||2026-02-02|fragment 1 of 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(c.Without, []string{"report_title", "report_type", "budget", "gef_evaluation"}) || c.Added != 2 {
		t.Errorf("%q, %d added", c.Without, c.Added)
	}
}

// Rows that are there keep what people wrote, and no id is given twice.
func TestCorpusIsExtended(t *testing.T) {
	s := sampled()
	first := s
	first.Rows = s.Rows[:1]
	c, err := first.Corpus(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Rows[1][0], c.Rows[1][2], c.Rows[1][slices.Index(c.Rows[0], columnText)] = "F_007", "'=A title of theirs", " A first \"paragraph\".\n\nA second one."
	data, err := table.CSV(c.Rows)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "corpus.csv")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	was, err := table.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Corpus(was)
	if err != nil || again.Added != 1 || len(again.Rows) != 3 {
		t.Fatalf("%+v (%v)", again, err)
	}
	if !slices.Equal(again.Rows[1], c.Rows[1]) {
		t.Errorf("got\n%q\nwant\n%q", again.Rows[1], c.Rows[1])
	}
	if again.Rows[2][0] != "F_008" || again.Rows[2][1] != "9" {
		t.Errorf("%q", again.Rows[2])
	}
}
