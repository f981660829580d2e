package soundness

import (
	"fmt"
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
		"fragment_id|report_id|report_title|report_url|report_type|country|year|budget|joint_evaluation|gef_evaluation|criterion_addressed|fragment_text|paragraph_count|extraction_date|extraction_notes|sample_order|Management response|sample_budgets",
		"F_001|7|=One|https://example.org/7|Impact|Brevia|2015||True|False||||2026-02-01|fragment 2 of 3|1|Completed|9",
		"F_002|9|Two||Project|Castovia|2016||False|maybe||||2026-02-02|fragment 1 of 1|2||",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if empty := fmt.Sprint(c.Empty); empty != "[{report_url 1} {budget 2} {criterion_addressed 2} {fragment_text 2} {paragraph_count 2}]" {
		t.Error(empty)
	}
	if !slices.Equal(c.Without, []string{"budget"}) || c.Added != 2 {
		t.Errorf("%q, %d added", c.Without, c.Added)
	}
}

// Rows that are there keep what people wrote; an empty number of paragraphs is counted.
func TestCorpusIsExtended(t *testing.T) {
	s := sampled()
	s.Columns = map[string]string{"budget": "budgets"}
	first := s
	first.Rows = s.Rows[:1]
	c, err := first.Corpus(nil)
	if err != nil || c.Without != nil {
		t.Fatalf("%q (%v)", c.Without, err)
	}
	text := slices.Index(c.Rows[0], columnText)
	c.Rows[1][text], c.Rows[1][2] = "A first \"paragraph\".\n\nA second one.", "'=A title of theirs"
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
	c.Rows[1][text+1] = "2"
	if !slices.Equal(again.Rows[1], c.Rows[1]) {
		t.Errorf("got\n%q\nwant\n%q", again.Rows[1], c.Rows[1])
	}
	if again.Rows[2][0] != "F_002" || again.Rows[2][1] != "9" {
		t.Errorf("%q", again.Rows[2])
	}
	if len(again.Redrawn) > 0 {
		t.Errorf("as they were drawn, yet %v were drawn anew", again.Redrawn)
	}
	anew := s
	anew.Rows = slices.Clone(s.Rows)
	anew.Rows[0].Note = "fragment 4 of 9; four were overlooked"
	if c, err := anew.Corpus(was); err != nil || !slices.Equal(c.Redrawn, []string{"F_001"}) {
		t.Errorf("drawn anew: %v (%v)", c.Redrawn, err)
	}
	first.Rows = s.Rows[1:] // after its record was corrected the first is not taken
	if other, err := first.Corpus(was); err != nil || !slices.Equal(other.Untaken, []string{"F_001"}) || len(other.Rows) != 3 || other.Rows[2][0] != "F_002" {
		t.Errorf("%+v (%v)", other, err)
	}
	for _, tt := range []struct{ known, name, want string }{
		{"budget", "nosuch", `the sample has no column "nosuch"`}, {"fragment_text", "id", `takes no column "fragment_text" from a sample`}, {"nosuch", "id", `no column "nosuch"`},
	} {
		s.Columns = map[string]string{tt.known: tt.name}
		if _, err := s.Corpus(nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s=%s: %v", tt.known, tt.name, err)
		}
	}
}
