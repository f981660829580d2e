package soundness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	corpusFile   = "data/fragment_corpus.csv"
	goldFile     = "data/gold_standard.csv"
	examplesFile = "data/calibration_examples.csv"
)

// TestFindings: each violation is found with its file, line and column, and nothing is
// corrected.
func TestFindings(t *testing.T) {
	replace := func(old, with string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, with, 1) }
	}
	for name, test := range map[string]struct {
		file   string
		change func(string) string
		want   string
	}{
		"unknown label":      {goldFile, replace("F_001,sound,", "F_001,Sound,"), `gold_standard.csv:2:7: expert_classification: unknown label "Sound": want one of sound, not_sound: did you mean "sound"?`},
		"opposite label":     {goldFile, replace("F_001,sound,", "F_001,unsound,"), `unknown label "unsound": want one of sound, not_sound: did you mean "not_sound"?`},
		"label with a space": {goldFile, replace("F_001,sound,", "F_001,sound ,"), `gold_standard.csv:2:7: expert_classification: "sound " has white space around it`},
		"empty rationale":    {goldFile, func(s string) string { return cutField(s, 2, 2) }, "gold_standard.csv:2:13: expert_rationale: empty value"},
		"boolean":            {goldFile, replace(",False,", ",nein,"), `boundary_case_flag: want True or False, got "nein"`},
		"date":               {goldFile, replace("2026-03-02", "2.3.2026"), `assessment_date: want a date such as 2026-01-31, got "2.3.2026"`},
		"no such day":        {goldFile, replace("2026-03-02", "2026-02-30"), `assessment_date: want a date such as 2026-01-31, got "2026-02-30"`},
		"domain":             {goldFile, replace(`"1,2,5"`, `"1,2,7"`), `salient_domains: want numbers of domains from 1 to 6 separated by commas, got "1,2,7"`},
		"not in the corpus":  {goldFile, replace("F_001,", "F_099,"), `gold_standard.csv:2:1: fragment_id: "F_099" is not in`},
		"no judgement":       {goldFile, replace("F_001,", "F_099,"), `fragment_corpus.csv:2:1: fragment_id: "F_001" has no judgement in`},
		"no reason for a boundary case": {goldFile, func(s string) string {
			return strings.Replace(s, "Whether two of three conditions suffice is a matter of degree.", "", 1)
		},
			"boundary_case_notes: empty, though boundary_case_flag is True"},
		"duplicate id":          {corpusFile, replace("F_002,", "F_001,"), `fragment_corpus.csv:3:1: fragment_id: duplicate "F_001", also in line 2`},
		"outside of the ids":    {corpusFile, replace("F_002,", "G_002,"), `fragment_corpus.csv:3:1: fragment_id: "G_002" is outside of F_001–F_008`},
		"not a number":          {corpusFile, replace(",271,", ",27I,"), `fragment_corpus.csv:2:7: report_id: want a whole number, got "27I"`},
		"not a URL":             {corpusFile, replace("https://example.org/reports/271", "www.example.org"), `report_url: want a URL that begins with http:// or https://, got "www.example.org"`},
		"missing column":        {corpusFile, replace("report_title", "title"), `fragment_corpus.csv:1:1: column "report_title" is missing`},
		"missing essential":     {corpusFile, replace("fragment_text", "Fragment text"), `column "fragment_text" is missing`},
		"duplicate column":      {corpusFile, replace("report_title", "report_id"), `fragment_corpus.csv:1:23: duplicate column "report_id"`},
		"too few fields":        {corpusFile, replace(",Brevia,2015,", ",Brevia "), "fragment_corpus.csv:2:"},
		"stray quotation mark":  {corpusFile, replace(",relevance,", `,rele"vance,`), "put the field in quotes and double the quotation marks inside it"},
		"example in the corpus": {examplesFile, replace("X_001", "F_003"), `calibration_examples.csv:2:8: fragment_id: "F_003" is in the range of the corpus`},
		"unbalanced":            {examplesFile, replace(",not_sound,", ",sound,"), "3 of the examples are sound, the study wants 2"},
		"empty file":            {goldFile, func(string) string { return "" }, "gold_standard.csv is empty"},
		"not UTF-8":             {goldFile, replace("question", "qu\xffstion"), "is not UTF-8: save the file as UTF-8"},
		"only a header":         {goldFile, func(s string) string { return s[:strings.Index(s, "\n")+1] }, "gold_standard.csv has no records"},
	} {
		t.Run(name, func(t *testing.T) {
			path := starter(t)
			write(t, path, test.file, test.change)
			_, err := openAt(t, path)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// cutField empties a field of a line of CSV whose fields before it have no comma.
func cutField(text string, line, field int) string {
	lines := strings.Split(text, "\n")
	parts := strings.SplitN(lines[line-1], ",", field+1)
	rest := parts[field]
	end := strings.Index(rest, `",`) + 1
	lines[line-1] = strings.Join(parts[:field], ",") + "," + rest[end:]
	return strings.Join(lines, "\n")
}

// TestAllFindings: one reading finds every violation of all files.
func TestAllFindings(t *testing.T) {
	path := starter(t)
	write(t, path, goldFile, func(s string) string {
		return strings.NewReplacer("2026-03-02", "yesterday", "F_004,", "F_004 ,").Replace(s)
	})
	write(t, path, corpusFile, func(s string) string {
		return strings.NewReplacer(",2015,", ",15 BC,", "\",1,20", "\",9,20").Replace(s)
	})
	_, err := openAt(t, path)
	if err == nil {
		t.Fatal("no error")
	}
	if n := strings.Count(err.Error(), `assessment_date: want a date`); n != 8 {
		t.Errorf("%d findings about dates, want 8:\n%v", n, err)
	}
	for _, want := range []string{"gold_standard.csv:5:1: fragment_id", `year: want a whole number, got "15 BC"`, "paragraph_count: 9, but the text has 1 (a warning)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}

// TestFragmentsOfAReport: fragments of one report depend on each other.
func TestFragmentsOfAReport(t *testing.T) {
	path := starter(t)
	write(t, path, corpusFile, func(s string) string { return strings.Replace(s, "F_002,542,", "F_002,271,", 1) })
	b := opened(t, path)
	clusters := map[string]int{}
	for _, it := range b.Items() {
		clusters[it.ClusterID()]++
	}
	if clusters["report 271"] != 2 || len(clusters) != 7 {
		t.Errorf("clusters %v, want two fragments of report 271 and six by themselves", clusters)
	}
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); strings.Count(all, "271 has more than one fragment") != 1 || !strings.Contains(all, "fragment_corpus.csv:3:7: report_id") {
		t.Errorf("warnings: %s", all)
	}
}

// TestSeverities: what is out of range is an error, a warning or nothing, as the study
// says.
func TestSeverities(t *testing.T) {
	check := func(severity string) string {
		return fmt.Sprintf("data.checks=[{column: criterion_addressed, values: [relevance], severity: %s}, {column: paragraph_count, max: 0, severity: %s}]", severity, severity)
	}
	path := starter(t)
	if _, err := openAt(t, path, check("error")); err == nil || !strings.Contains(err.Error(), `criterion_addressed: "effectiveness" is none of relevance`) || !strings.Contains(err.Error(), "paragraph_count: want at most 0, got 1") {
		t.Errorf("errors: %v", err)
	}
	b := opened(t, path, check("warning"))
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); strings.Count(all, "is none of relevance") != 6 || strings.Count(all, "want at most 0") != 8 {
		t.Errorf("warnings: %s", all)
	}
	b = opened(t, path, check("ignore"))
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); strings.Contains(all, "is none of") {
		t.Errorf("ignored: %s", all)
	}
	b = opened(t, path, "gold.checks=[{column: expert_rationale, min: 3, max: 4, severity: warning}]")
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); !strings.Contains(all, "expert_rationale: want at least 3 sentences, got 2") {
		t.Errorf("sentences: %s", all)
	}
	if _, err := openAt(t, path, "data.checks=[{column: yaer, max: 1}]"); err == nil || !strings.Contains(err.Error(), `the schema has no column "yaer": did you mean "year"?`) {
		t.Errorf("unknown column: %v", err)
	}
	if _, err := openAt(t, path, "data.count=150"); err == nil || !strings.Contains(err.Error(), "8 records, the study expects 150") {
		t.Errorf("count: %v", err)
	}
	if _, err := openAt(t, path, "data.ids=F_8-F_001"); err == nil || !strings.Contains(err.Error(), "want the first and the last id, as in F_001–F_150") {
		t.Errorf("ids: %v", err)
	}
}

// TestSpreadsheetsAndJSON: a byte order mark and CRLF line ends are accepted, and JSON
// Lines hold the same study.
func TestSpreadsheetsAndJSON(t *testing.T) {
	want := opened(t, starter(t))
	saved := starter(t)
	for _, file := range []string{corpusFile, goldFile, examplesFile} {
		write(t, saved, file, func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") })
	}
	got := opened(t, saved)
	if d := cmp.Diff(want.Data, got.Data); d != "" {
		t.Errorf("CRLF (-want +got)\n%s", d)
	}
	if d := cmp.Diff(want.Items(), got.Items()); d != "" {
		t.Errorf("hashes of items (-want +got)\n%s", d)
	}
	path := starter(t)
	lines := `{"fragment_id": "F_1", "fragment_text": "A text.", "expert_classification": "sound", "boundary_case_flag": true, "boundary_case_notes": "why", "salient_domains": [1, 2]}
{"fragment_id": "F_2", "fragment_text": "Another.", "expert_classification": "not_sound", "boundary_case_flag": false}
`
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "data.jsonl"), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	own := []string{"data={path: data.jsonl, columns: essential}", "gold={path: data.jsonl, columns: essential}"}
	b := opened(t, path, own...)
	if f := b.Datum("F_1"); len(b.Data) != 2 || !f.Gold.Boundary || b.Datum("F_2").Gold.Label != 1 {
		t.Errorf("%+v", b.Data)
	}
	write(t, path, "../s/data.jsonl", func(s string) string { return strings.Replace(s, `"F_2"`, "7.0", 1) })
	if b := opened(t, path, own...); b.Datum("7") == nil || b.Datum("7").Gold == nil {
		t.Errorf("the number 7.0 is not the id 7: %+v", b.Items())
	}
	write(t, path, "../s/data.jsonl", func(s string) string { return strings.Replace(s, "sound", "sond", 1) + "[1]\n" })
	_, err := openAt(t, path, own...)
	for _, want := range []string{`data.jsonl:1:77: expert_classification: unknown label "sond"`, "data.jsonl:3: want a JSON object for each row, got [1]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestStudyErrors: mistakes in the study.
func TestStudyErrors(t *testing.T) {
	path := starter(t)
	for _, test := range []struct{ override, want string }{
		{"labels[1].side=strength", "both labels are supported by indicators of strength"},
		{"labels[0].phrases=[unsound]", `phrase "unsound" stands for both labels`},
		{"labels[0].phrases=['!!']", `phrase "!!" has no letter or digit`},
		{"main_model=abel", `no condition runs on model "abel": did you mean "able"?`},
		{"families=[{model: able, group: x}]", `model "weak" has no group`},
		{"families=[{model: abel, group: x}]", `the study has no model "abel"`},
		{"prompt=no holes", "the prompt contains {{FRAGMENT}} 0 times: want it once"},
		{"prompt_path=nowhere.txt", "reading the prompt:"},
		{"examples={}", "the study has no worked examples"},
		{"gold.path=nowhere.csv", "nowhere.csv: no such file"},
		{"arms[1].name=zero_shot", `duplicate condition name "zero_shot"`},
	} {
		if _, err := openAt(t, path, test.override); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.override, err, test.want)
		}
	}
	b := opened(t, path, "gold={}")
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); !strings.Contains(all, "the study has no gold") {
		t.Errorf("without gold: %s", all)
	}
	alike := starter(t)
	write(t, alike, examplesFile, func(s string) string { return strings.Replace(s, ",over-generalisation", ",weak warrants", 1) })
	if all := strings.Join(opened(t, alike).Capabilities().Warnings(), "\n"); !strings.Contains(all, `primary_characteristic: another example with this label shows "weak warrants" too`) {
		t.Errorf("examples that show the same: %s", all)
	}
	write(t, alike, examplesFile, func(s string) string { return strings.ReplaceAll(s, ",moderate,", ",straightforward,") })
	if all := strings.Join(opened(t, alike).Capabilities().Warnings(), "\n"); !strings.Contains(all, "complexity_level: every example is straightforward") {
		t.Errorf("examples of one complexity: %s", all)
	}
	b = opened(t, path, "models[1].max_tokens=100")
	if all := strings.Join(b.Capabilities().Warnings(), "\n"); !strings.Contains(all, "models differ in their parameters: able has temperature 0, max_tokens 500, weak has temperature 0, max_tokens 100") {
		t.Errorf("other parameters: %s", all)
	}
}

// TestSentences: what counts as a sentence and as a paragraph.
func TestSentences(t *testing.T) {
	for text, want := range map[string]int{"": 0, "One": 1, "One. Two.": 2, "It rose by 1.5 points. It fell.": 2, "Is it? Yes! It is.": 3, `He said "no." She left.`: 2, "...": 0} {
		if got := sentences(text); got != want {
			t.Errorf("%q has %d sentences, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"": 0, "a": 1, "a\nb": 2, "a\nb\n\nc": 2, "a\r\n\r\nb\n \nc\n": 3} {
		if got := paragraphs(text); got != want {
			t.Errorf("%q has %d paragraphs, want %d", text, got, want)
		}
	}
}

// What a model wrote is no formula in the exported tables.
func TestTablesHaveNoFormulas(t *testing.T) {
	var out strings.Builder
	if err := csvTable("x.csv", "id rationale", [][]string{{"F_001", `=HYPERLINK("http://x")`}, {"F_002", "-1"}, {"F_003", "plain"}}).Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "id,rationale\nF_001,\"'=HYPERLINK(\"\"http://x\"\")\"\nF_002,'-1\nF_003,plain\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
