package procedure

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding/unicode"
)

func find(t *testing.T, name string) Procedure {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTableFormats: what spreadsheets and programs write under the name of CSV
// gives the same result.
func TestTableFormats(t *testing.T) {
	const plain = "document,ctn,plain\nd1,0.9,0.7\nd2,0.8,0.7\nd3,0.7,0.65\n"
	p := find(t, "paired_t_test")
	want, err := p.RunTable(strings.NewReader(plain), "t.csv", []string{"ctn", "plain"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	utf16 := func(order unicode.Endianness) string {
		s, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(plain)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("\ufeff" + plain))
	w.Close()
	semicolons := strings.ReplaceAll(plain, ",", ";")
	for name, file := range map[string]string{
		"byte order mark":              "\ufeff" + plain,
		"byte order mark and quotes":   "\ufeff\"document\",\"ctn\",\"plain\"\n" + plain[strings.Index(plain, "\n")+1:],
		"UTF-16, little-endian":        utf16(unicode.LittleEndian),
		"UTF-16, big-endian":           utf16(unicode.BigEndian),
		"gzip":                         packed.String(),
		"semicolons":                   semicolons,
		"tabs":                         strings.ReplaceAll(plain, ",", "\t"),
		"a comma in a semicolon table": strings.Replace(semicolons, "document", "document, id", 1),
		"Windows line ends":            strings.ReplaceAll(plain, "\n", "\r\n"),
		"empty columns":                strings.ReplaceAll(plain, "\n", ",,\n"),
	} {
		got, err := p.RunTable(strings.NewReader(file), "t.csv", []string{"ctn", "plain"}, nil)
		if err != nil || inJSON(t, got) != inJSON(t, want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestTypographicMinus: numbers of Scruple's own reports can be pasted into a table.
// A label keeps its sign.
func TestTypographicMinus(t *testing.T) {
	const table = "x,y,doc\n-0.5,1e-3,a-b\n1.5,-2,a-b\n0.25,-0.25,c-d\n-1,0,c-d\n"
	for method, cols := range map[string]string{"paired_t_test": "x,y", "wilcoxon_signed_rank": "x,y", "cohen_kappa": "x,y"} {
		p := find(t, method)
		run := func(table string) string {
			got, err := p.RunTable(strings.NewReader(table), "t.csv", strings.Split(cols, ","), nil)
			if err != nil {
				t.Fatal(err)
			}
			return inJSON(t, got)
		}
		if got, want := run(strings.ReplaceAll(table, "-", "−")), run(table); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
	if got := asciiMinus("a−b"); got != "a−b" {
		t.Errorf("label %q", got)
	}
}

// TestTableRemedies: what cannot be read as it stands is refused, with what to do.
func TestTableRemedies(t *testing.T) {
	for _, c := range []struct{ method, cols, text, reason string }{
		{"paired_t_test", "a,b", "a;b\n0,9;0,7\n0,8;0,7\n", `t.csv:2:1: column "a" is "0,9", expected a number: write it with a decimal point`},
		{"paired_t_test", "a,b", "a,b\n0,9,0,7\n", `t.csv:2: the record has 4 fields, the header 2`},
		{"paired_t_test", "a,b", "a;b\n−0,9;0,7\n0,8;0,7\n", `write it with a decimal point`},
		{"paired_t_test", "a,b", "a,b\n\"1,234\",2\n", "without separators of thousands"},
		{"paired_t_test", "a,b", "a;b;c\n1;2;3\n", ""},
		{"paired_t_test", "a,x", "a;b;c\n1;2;3\n", `no column "x"; the columns are ["a" "b" "c"]`},
		{"paired_t_test", "a,b", "PK\x03\x04\x14\x00", "open it in a spreadsheet and save it as .xlsx"},
		{"paired_t_test", "a,b", "a\x00,\x00b\x00", "UTF-16 without a byte order mark"},
		{"paired_t_test", "a,b", "\x1f\x8bxxxxxxxxxxxx", "t.csv: unpacking"},
		{"paired_t_test", "a,b", "a,b,\xff\n1,2,3\n", "t.csv:1: the text is not UTF-8"},
		// Decimal commas do not make a column of numbers a factor.
		{"lmm_random_intercepts", "score,doc", "score;doc\n0,5;x\n1;x\n2;y\n3;y\n", "decimal point"},
	} {
		p := find(t, c.method)
		_, err := tableInput(strings.NewReader(c.text), "t.csv", p.Columns, strings.Split(c.cols, ","))
		if (err != nil) != (c.reason != "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.reason)
		}
	}
}

// TestModelsHaveIntervals of their coefficients, by the level; one of the level 1 − p ends at 0, where
// the odds are the same. They say their references and groups.
func TestModelsHaveIntervals(t *testing.T) {
	const rows = "y,arm,g\n1,a,d1\n0,a,d1\n1,b,d2\n1,b,d2\n0,a,d3\n1,b,d3\n0,b,d4\n1,a,d4\n"
	for _, c := range []struct{ method, set, conf, groups, holds string }{
		{"logistic_glmm_laplace", `"formula": "y ~ arm + (1|g)"`, "0.5279891956", `"n_groups":{"g":4}`, `"odds_ratio_ci95":[`},
		{"ols_clustered_se", `"formula": "y ~ arm", "cluster": "g"`, "0.3765360741", `"n_clusters":4`, `"cr2_satterthwaite":[`},
	} {
		got, err := find(t, c.method).RunTable(strings.NewReader(rows), "t.csv", []string{"y", "arm", "g"}, []byte("{"+c.set+`, "conf": `+c.conf+"}"))
		said := inJSON(t, got)
		_, last, _ := strings.Cut(said, `"name":"armb"`)
		_, last, _ = strings.Cut(last, `"ci95":[`)
		low, _, _ := strings.Cut(last, ",")
		x, bad := strconv.ParseFloat(low, 64)
		if err != nil || bad != nil || !(math.Abs(x) <= 1e-5) || !strings.Contains(said, c.groups) || !strings.Contains(said, `"reference_levels":{"arm":"a"}`) ||
			!strings.Contains(said, `"conf":`+c.conf[:7]) || !strings.Contains(said, c.holds) {
			t.Errorf("%s: %v %v: %s", c.method, err, x, said)
		}
	}
}

// TestLabelsKeepTheirText: where a column is of labels, labels that look like numbers stay
// apart, also in the methods whose columns may be of numbers. Alpha is by
// arithmetic, 1 − (n − 1)·differing/(n² − Σ n_c²); six sections are six groups.
func TestLabelsKeepTheirText(t *testing.T) {
	const sections = "score,kernel,section\n1,a,1.1\n2,b,1.1\n2,a,1.10\n4,b,1.10\n3,a,1.2\n3,b,1.2\n1,a,1.20\n5,b,1.20\n2,a,1.3\n2,b,1.3\n4,a,2.1\n6,b,2.1\n"
	const ids = "r1,r2\n12345678901234567891,12345678901234567892\n7,007\n1e2,100\n1_11,11_1\n"
	for _, c := range []struct{ method, table, cols, set, holds string }{
		// 2 of 5 units disagree; 10 values, 2 of each of 5 labels: alpha = 1 − 9·4/(100 − 20) = 0.55.
		{"krippendorff_alpha", "r1,r2\n1.1,1.10\n1.10,1.1\n1.2,1.2\n2,2\n3,3\n", "r1,r2", `{"resamples": 0}`, `"alpha":0.5499999999999999`},
		{"krippendorff_alpha", ids, "r1,r2", `{"resamples": 0}`, `"alpha":0`},                                                   // all 8 labels differ: observed is expected disagreement
		{"krippendorff_alpha", "r1,r2\n1.10,1.10\n2,x\n1.10,1.10\n", "r1,r2", `{"resamples": 0}`, `"alpha":0.4444444444444444`}, // 1 − 5·2/(36 − 18)
		{"krippendorff_alpha", "r1,r2\n1.10,1.1\n2,2\n", "r1,r2", `{"level": "interval", "resamples": 0}`, `"alpha":1`},
		{"lmm_random_intercepts", sections, "score,kernel,section", `{"formula": "score ~ kernel + (1|section)"}`, `"n_groups":{"section":6}`},
		{"ols_clustered_se", sections, "score,kernel,section", `{"formula": "score ~ kernel", "cluster": "section"}`, `"n_clusters":6`},
		{"ols_clustered_se", sections, "score,kernel,section", `{"formula": "score ~ section", "cluster": "kernel", "factor_levels": {"section": ["1.1", "1.10", "1.2", "1.20", "1.3", "2.1"]}}`, `"section1.10"`},
		{"logistic_glmm_laplace", "pass,g\nyes,1\nno,1.0\nno,2\nyes,2\n", "pass,g", `{"formula": "pass ~ 1 + (1|g)"}`, `"n_obs":4`},
	} {
		got, err := find(t, c.method).RunTable(strings.NewReader(c.table), "t.csv", strings.Split(c.cols, ","), []byte(c.set))
		if err != nil {
			t.Errorf("%s of %q: %v", c.method, c.table, err)
		} else if !strings.Contains(inJSON(t, got), c.holds) {
			t.Errorf("%s of %q: %s does not hold %s", c.method, c.table, got, c.holds)
		}
	}
}

// TestFaultsOfCells are said where they stand, whatever the method reads them as.
func TestFaultsOfCells(t *testing.T) {
	const lmm = "score,len,doc\n1,3,a\n2,%s,a\n%s,4,b\n3,5,b\n4,6,%s\n"
	model := []byte(`{"formula": "score ~ len + (1|doc)"}`)
	for _, c := range []struct {
		method, table, cols, set, reason string
	}{
		{"lmm_random_intercepts", fmt.Sprintf(lmm, "NA", "2", "b"), "score,len,doc", string(model), `t.csv:3:3: column "len" is "NA", expected a number; if its numbers are labels, name it in factors`},
		{"lmm_random_intercepts", fmt.Sprintf(lmm, "", "2", "b"), "score,len,doc", string(model), `t.csv:3:3: column "len" is "", expected a number`},
		{"lmm_random_intercepts", fmt.Sprintf(lmm, "4", "NA", "b"), "score,len,doc", string(model), `t.csv:4:1: column "score" is "NA", expected a number`},
		{"lmm_random_intercepts", fmt.Sprintf(lmm, "4", "2", "NaN"), "score,len,doc", string(model), `t.csv:6:5: column "doc" is "NaN", expected a label: leave out rows`},
		{"krippendorff_alpha", "r1,r2\n1,x\n2,2\n", "r1,r2", `{"level": "interval"}`, `t.csv:2:3: column "r2" is "x", expected a number or nothing`},
		{"krippendorff_alpha", "r1,r2\n1,NaN\n2,2\n1,1\n", "r1,r2", `{"level": "interval", "resamples": 0}`, ""},
		{"logistic_glmm_laplace", "pass,g\n1,a\n2,a\n", "pass,g", `{"formula": "pass ~ 1 + (1|g)"}`, `t.csv:3:1: column "pass" is "2", expected 0 or 1`},
		{"cohen_kappa", "a,b\nx,x\nNA,NA\n", "a,b", "", `t.csv:3:1: column "a" is "NA", expected a label: leave out rows`},
		{"chi2_independence", "a,b\nx,x\ny,null\n", "a,b", "", `t.csv:3:3: column "b" is "null", expected a label`},
		{"gwet_ac1", "a,b\n1,1\n2,NA\n2,2\n", "a,b", "", ""},
		{"gwet_ac1", "a,b\n1,1\n2,N/A\n2,2\n", "a,b", "", `t.csv:3:3: column "b" is "N/A", expected a label: leave out rows`},
		{"calibration", "c,o\n0.5,1\n1.2,0\n", "c,o", "", "t.csv:3 has the confidence 1.2, expected 0 to 1"},
		{"confidence_sequence", "d\n0.5\n\n2\n", "d", "", "t.csv:4 has the observation 2, outside of the range low to high, which is -1 to 1"},
		{"cohen_kappa", "a,b\nlow,low\nmid,low\n", "a,b", `{"labels": ["low", "high"]}`, `t.csv:3 is labelled "mid" and "low", want labels from ["low" "high"]`},
		{"gwet_ac1", "a,b\nlow,low\nlow,mid\n", "a,b", `{"labels": ["low", "high"]}`, `t.csv:3 has "mid" as rating 2, expected one of params.labels`},
		{"krippendorff_alpha", "a,b\n1,2\n-1,1\n", "a,b", `{"level": "ratio"}`, "t.csv:3 has the value -1 of rater 1"},
		{"fleiss_kappa", "a,b\n1,2\n5,-2\n", "a,b", `{"columns": "categories"}`, "t.csv:3 has the count -2 in column 2"},
		{"fleiss_kappa", "a,b\n1,2\n1,1\n", "a,b", `{"columns": "categories"}`, "t.csv:3 has 2 ratings, the first has 3"},
		{"fleiss_kappa", "a,b\n1,2\n2.5,1\n", "a,b", `{"columns": "categories"}`, `t.csv:3 has "2.5" in column 1, expected a count`},
		{"fleiss_kappa", "a,b\n1,2\n1,NA\n", "a,b", "", "t.csv:3 lacks rating 2: Fleiss"},
		{"p_adjust", "p\n0.1\n1.1\n", "p", "", "t.csv:3 has the p-value 1.1, expected 0 to 1"},
		{"ols_clustered_se", "y,f,g\n1,a,u\n2,b,u\n3,c,v\n", "y,f,g", `{"formula": "y ~ f", "cluster": "g", "factor_levels": {"f": ["a", "b"]}}`, `t.csv:4 has "c" for factor f, want one of the levels`},
		{"paired_t_test", "a,b\n1_1,1\n2,2\n", "a,b", "", `t.csv:2:1: column "a" is "1_1", expected a number`},
	} {
		got, err := find(t, c.method).RunTable(strings.NewReader(c.table), "t.csv", strings.Split(c.cols, ","), []byte(c.set))
		if (err != nil) != (c.reason != "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s of %q: %v, %v, want %q", c.method, c.table, got, err, c.reason)
		}
	}
}

// TestInputGivenTwice is refused, not half of it dropped.
func TestInputGivenTwice(t *testing.T) {
	for _, c := range []struct{ method, input, reason string }{
		{"binomial_interval", `{"x": 3, "n": 10, "pass": [1, 0]}`, "input has x and n and pass"},
		{"binomial_interval", `{"x": 3, "n": 10, "cases": [{"x": 1, "n": 2}]}`, "input has cases and a case by itself, expected one"},
		{"binomial_interval", `{"cases": [{"x": 1, "n": 2, "pass": [1]}]}`, "input.cases[0] has x and n and pass"},
		{"two_proportion_z", `{"x": [1, 2], "n": [3, 4], "pass": [1, 0], "group": ["a", "b"]}`, "input has x and n and pass and group"},
		{"mcnemar", `{"table": [[1, 2], [3, 4]], "a_pass": [1], "b_pass": [1]}`, "input has table and a_pass"},
		{"tost", `{"estimate": 1, "se": 1, "df": 3, "a": [1, 2]}`, "input has a and b and estimate"},
		{"chi2_independence", `{"table": [[1, 2], [3, 4]], "row": ["x"], "column": ["y"]}`, "input has table and row and column"},
		{"fisher_exact", `{"table": [[1, 2], [3, 4]], "row": ["x"]}`, "input has table and row"},
		{"fleiss_kappa", `{"counts": [[1, 2]], "ratings": [["a", "b"]]}`, "input has counts and ratings"},
		{"gwet_ac1", `{"counts": [[1, 2]], "ratings": [["a", "b"]]}`, "input has ratings and counts"},
		{"sign_flip_exact", `{"diff": [1, 2], "a": [1]}`, "input has diff and a and b, expected one of them"},
		{"confidence_sequence", `{"diff": [0.1], "b": [0.2]}`, "input has diff and a and b"},
	} {
		_, err := find(t, c.method).Run([]byte(map[bool]string{true: `{"margin": 1}`, false: `{}`}[c.method == "tost"]), []byte(c.input))
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s of %s: %v, want %q", c.method, c.input, err, c.reason)
		}
	}
}

// TestIncompleteQuestions say what is missing or impossible.
func TestIncompleteQuestions(t *testing.T) {
	ask := func(kind, dist, params, at string) string {
		return fmt.Sprintf(`{%q: [{"dist": %q, "params": %s, %s}]}`, kind, dist, params, at)
	}
	for _, c := range []struct{ method, input, reason string }{
		{"power_paired_t", `{"n": 20, "power": 0.8, "solve": "n"}`, `expected two of n, dz and power and not what to solve for, got ["n" "power"]`},
		{"power_paired_t", `{"n": 20, "dz": 0.5, "power": 0.8}`, `got ["n" "dz" "power"]`},
		{"power_paired_t", `{"n": 20}`, `got ["n"]`},
		{"power_paired_t", `{"n": 20, "dz": 1, "solve": "x"}`, `solve is "x"`},
		{"power_clustered", `{"size": 3, "sd": 1, "icc": 0.1}`, "clusters is missing"},
		{"power_mcnemar", `{"p10": 0.2}`, "p01 is missing"},
		{"distribution_tails", ask("cases", "student_t", "[-1]", `"x": 0`), "input.cases[0]: student_t takes df above 0, got [-1]"},
		{"distribution_tails", ask("cases", "f", "[0, 1]", `"x": 0`), "f takes df1 and df2 above 0"},
		{"distribution_tails", ask("cases", "beta", "[0, 1]", `"x": 0`), "beta takes a and b above 0"},
		{"distribution_tails", ask("cases", "binomial", "[3, 1.5]", `"x": 0`), "binomial takes a whole number n of trials from 0 and p from 0 to 1, got [3 1.5]"},
		{"distribution_tails", ask("cases", "binomial", "[-3, 0.5]", `"x": 0`), "got [-3 0.5]"},
		{"distribution_tails", ask("cases", "noncentral_t", "[0, 1]", `"x": 0`), "noncentral_t takes df above 0"},
		{"distribution_tails", ask("cases", "chi_squared", "[0]", `"x": 0`), "chi_squared takes df above 0"},
		{"distribution_tails", ask("quantiles", "normal", "[0, 1]", `"p": 1.5`), "p is 1.5, expected a probability"},
	} {
		_, err := find(t, c.method).Run(nil, []byte(c.input))
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s of %s: %v, want %q", c.method, c.input, err, c.reason)
		}
	}
	// What is left out is solved for: R's values in power_paired_t.json of the oracles.
	for input, holds := range map[string]string{`{"n": 100, "power": 0.8}`: `"solve":"dz","n":100,"power":0.8,"alpha":0.05,"alternative":"two.sided","value":0.28291263278`,
		`{"dz": 0.5, "power": 0.8}`: `"value":33.3671289533`} {
		if got, err := find(t, "power_paired_t").Run(nil, []byte(input)); err != nil || !strings.Contains(inJSON(t, got), holds) {
			t.Errorf("%s: %s, %v, want %s", input, got, err, holds)
		}
	}
}

// TestOneLabel: 1 and 1.0 are one label in tables as in cases, and identifiers
// keep their digits.
func TestOneLabel(t *testing.T) {
	p := find(t, "cohen_kappa")
	got, err := p.RunTable(strings.NewReader("x,y\n1,1.0\n2,2.00\n3,3\n1.0,2\n"), "t.csv", []string{"x", "y"}, nil)
	if err != nil || !strings.Contains(inJSON(t, got), `"labels":["1","2","3"]`) || !strings.Contains(inJSON(t, got), `"percent_agreement":0.75`) {
		t.Errorf("%s, %v", got, err)
	}
	got, err = p.RunTable(strings.NewReader("x,y\n1.0,1\n0,0.0\n"), "t.csv", []string{"x", "y"}, []byte(`{"labels": ["0.0", "1.0"]}`))
	if err != nil || !strings.Contains(inJSON(t, got), `"percent_agreement":1`) {
		t.Errorf("labels with a fraction: %s, %v", got, err)
	}
	for in, want := range map[string]string{"1.0": "1", "-0": "0", "0.50": "0.5", "1e3": "1000", "12345678901234567": "12345678901234567",
		"1234567": "1234567", "1e300": "1e+300", "100": "100"} {
		if l, ok := label([]byte(in)); !ok || l != want {
			t.Errorf("the number %s is the label %s, want %s", in, l, want)
		}
	}
	for in, want := range map[string]string{"1.0": "1", "-2.00": "-2", "-0.0": "0", "1.10": "1.10", "01": "01", "1.": "1.", "v1.0": "v1.0", "00.0": "00.0"} {
		if got := textLabel(in); got != want {
			t.Errorf("the text %s is the label %s, want %s", in, got, want)
		}
	}
	for method, input := range map[string]string{
		"krippendorff_alpha":       `{"ratings": [[ONE, 2, 1, 2], [1, 2, ONE, 1]]}`,
		"gwet_ac1":                 `{"ratings": [[ONE, 2, 1, 2], [1, 2, ONE, 1]]}`,
		"cohen_kappa":              `{"rater_a": [ONE, 2, 1, 2], "rater_b": [1, 2, ONE, 1]}`,
		"chi2_independence":        `{"row": [ONE, 1, 2, 2], "column": ["x", "y", "x", "x"]}`,
		"two_proportion_z":         `{"pass": [1, ONE, 0, 1], "group": [ONE, 1, 2, 2]}`,
		"cluster_bootstrap_random": `{"diff": [1, 2, 3, 5], "cluster": [ONE, 1, 2, 2]}`,
		"ols_clustered_se":         `{"y": [1, 2, 3, 5, 4, 2], "x": [0, 1, 0, 1, 1, 0], "g": [ONE, 1, 2, 2, 3, 3]}`,
	} {
		var params []byte
		if method == "ols_clustered_se" {
			params = []byte(`{"formula": "y ~ x", "cluster": "g"}`)
		}
		run := func(one string) string {
			got, err := find(t, method).Run(params, []byte(strings.ReplaceAll(input, "ONE", one)))
			if err != nil {
				t.Errorf("%s: %v", method, err)
			}
			return inJSON(t, got)
		}
		if text, number := run(`"1.0"`), run("1"); text != number {
			t.Errorf("%s of a text 1.0:\n%s\nof 1:\n%s", method, text, number)
		}
	}
	m := find(t, "mcnemar")
	if _, err := m.RunTable(strings.NewReader("a,b\n1.0,0.0\n0.0,1\n"), "t.csv", []string{"a", "b"}, nil); err != nil {
		t.Error(err)
	}
}

// TestResultsNameColumns and groups, and say which way differences go.
func TestResultsNameColumns(t *testing.T) {
	const table = "id,ctn,plain,other,group,second\n1,1,0,0.9,new,yes\n2,0,0,0.3,old,no\n3,1,1,0.2,new,yes\n4,1,0,0.8,old,yes\n"
	for _, c := range []struct{ method, cols, set, holds, shown string }{
		{"paired_t_test", "ctn,other", `{}`, `"roles":{"a":"ctn","b":"other"},"n":4,"direction":"a - b"`, "differences are"},
		{"wilcoxon_signed_rank", "b=ctn,a=other", `{}`, `"roles":{"a":"other","b":"ctn"},"n":4,"direction":"a - b"`, "column other"},
		{"tost", "ctn,other", `{"margin": 1}`, `"roles":{"a":"ctn","b":"other"},"n":4,"direction":"a - b"`, "column other"},
		{"two_proportion_z", "ctn,group", `{}`, `"group1":"new","group2":"old","x1":2,"n1":2,"x2":1,"n2":2,"direction":"group1 - group2"`, "difference, group 1 − group 2"},
		{"two_proportion_z", "ctn,group", `{"first": "old"}`, `"group1":"old","group2":"new","x1":1,`, "proportion of group 1"},
		{"mcnemar", "ctn,plain", `{}`, `"roles":{"a_pass":"ctn","b_pass":"plain"}`, "only the first passes (b)"},
		{"mcnemar", "ctn,plain", `{}`, `"direction":"first - second"`, "column ctn"},
		{"cochran_q", "ctn,plain", `{}`, `"arms":["ctn","plain"],"passes":[3,1]`, "ctn    3"},
		{"chi2_independence", "group,second", `{}`, `"row_i":"new","row_j":"old"`, "new  0   2"},
		{"fisher_exact", "group,second", `{}`, `"rows":["new","old"],"columns":["no","yes"],"table":[[0,2],[1,1]]`, "old  1   1"},
		{"cohen_kappa", "plain,ctn", `{}`, `"roles":{"rater_a":"plain","rater_b":"ctn"}`, "rows: rater_a"},
		{"ppi_difference", "ctn,plain,ctn,plain", `{}`, `"direction":"a - b"`, "column plain"},
		{"confidence_sequence", "a=ctn,b=plain", `{}`, `"roles":{"a":"ctn","b":"plain"},"n":4,"direction":"a - b"`, "differences are"},
		{"fleiss_kappa", "group,group", `{}`, `"categories":["new","old"]`, "column group, group"},
	} {
		p := find(t, c.method)
		got, err := p.RunTable(strings.NewReader(table), "t.csv", strings.Split(c.cols, ","), []byte(c.set))
		if err != nil {
			t.Errorf("%s: %v", c.method, err)
			continue
		}
		if !strings.Contains(inJSON(t, got), c.holds) {
			t.Errorf("%s: %s does not hold %s", c.method, got, c.holds)
		}
		var shown strings.Builder
		if err := Render(&shown, p, got); err != nil || !strings.Contains(shown.String(), c.shown) {
			t.Errorf("%s: %s\ndoes not show %s, %v", c.method, shown.String(), c.shown, err)
		}
	}
	rows := "document,kernel,score\nd1,ctn,0.9\nd1,plain,0.7\nd2,ctn,0.8\nd2,plain,0.7\nd3,ctn,0.7\nd3,plain,0.65\n"
	got, err := find(t, "lmm_random_intercepts").RunTable(strings.NewReader(rows), "t.csv", []string{"score", "kernel", "document"}, []byte(`{"formula": "score ~ kernel + (1|document)", "conf": 0.9}`))
	for _, holds := range []string{`"reference_levels":{"kernel":"ctn"}`, `"emmeans_factor":"kernel"`, `"ci95":[`, `"ci95_unadjusted":[`, `"conf":0.9}`} {
		if err != nil || !strings.Contains(inJSON(t, got), holds) {
			t.Errorf("%s does not hold %s, %v", got, holds, err)
		}
	}
}

// TestProportionsAreNotPValues: P̄ = 0, where nobody agrees, is shown as 0.
func TestProportionsAreNotPValues(t *testing.T) {
	for _, c := range []struct{ text, shown, not string }{
		{`{"method": "fleiss_kappa", "input": {"counts": [[1, 1], [1, 1], [1, 1]]}}`, "observed agreement (mean P) 0 ", "1e-300"},
		{`{"method": "two_proportion_z", "input": {"x": [0, 3], "n": [9, 9]}}`, "proportion of group 1 0 ", "1e-300"},
		{`{"method": "power_mcnemar", "input": {"p10": 0.2, "p01": 0}}`, "p01 0 ", "1e-300"},
		{`{"method": "distribution_tails", "input": {"quantiles": [{"dist": "beta", "params": [1, 1], "p": 0}]}}`, "probability", "1e-300"},
		{`{"method": "distribution_tails", "input": {"cases": [{"dist": "normal", "params": [0, 1], "x": 50}]}}`, "P(X > x)", "1e-300"},
		{`{"method": "chi2_independence", "input": {"table": [[90000, 10], [10, 90000]]}}`, " p < 1e-300 ", " p 0 "},
	} {
		of, err := ReadCase(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		result, err := of.Run()
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		if err := Render(&shown, find(t, of.Method), result); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(shown.String()), " "); !strings.Contains(got, c.shown) || strings.Contains(got, c.not) {
			t.Errorf("%s\ndoes not show %q, or shows %q", got, c.shown, c.not)
		}
	}
}

// TestLevels: conf has the level of the intervals, whose keys do not change, and text shows it.
func TestLevels(t *testing.T) {
	const pairs = `{"a": [1, 2, 3, 4, 6, 9, 8, 5, 7, 3, 6, 9], "b": [0, 1, 1, 5, 2, 4, 9, 1, 2, 4, 5, 8]}`
	for _, c := range []struct{ method, input, key string }{
		{"paired_t_test", pairs, "ci95"}, {"paired_t_test", pairs, "cohen_dz_ci95_noncentral_t"},
		{"wilcoxon_signed_rank", pairs, "hodges_lehmann_ci95_normal"},
		{"two_proportion_z", `{"x": [15, 5], "n": [25, 20]}`, "diff_ci95_newcombe"},
		{"mcnemar", `{"table": [[12, 7], [3, 8]]}`, "odds_ratio_ci95_exact"},
		{"cohen_kappa", `{"rater_a": [1, 2, 2, 1, 1, 2], "rater_b": [1, 2, 1, 1, 2, 2]}`, "unweighted/ci95"},
		{"fleiss_kappa", `{"counts": [[3, 0], [2, 1], [0, 3], [1, 2], [3, 0]]}`, "ci95"},
		{"gwet_ac1", `{"counts": [[3, 0], [2, 1], [0, 3], [1, 2], [3, 0]]}`, "ci95"},
		{"krippendorff_alpha", `{"ratings": [[1, 2, 2, 1, 1, 2], [1, 2, 1, 1, 2, 2]]}`, "bootstrap/ci95"},
		{"calibration", `{"confidence": [0.9, 0.8, 0.3, 0.4, 0.7], "outcome": [1, 0, 0, 1, 1]}`, "bootstrap/ci95"},
		{"auroc", `{"score": [1, 3, 2, 4, 6, 5], "positive": [0, 1, 0, 0, 1, 1]}`, "ci95"},
		{"ppi_mean", `{"judge": [1, 0, 1, 1, 0, 1], "human": [1, 0, 0, 1, null, null]}`, "ci95"},
		{"ir_metrics", `{"queries": [{"ranking": ["a", "b"], "gold": "a", "relevance": {"a": 1}}, {"ranking": ["b", "c"], "gold": "c", "relevance": {"c": 1}}, {"ranking": ["b", "a"], "gold": "z", "relevance": {"a": 1}}]}`, "bootstrap/mean_ndcg_linear@5/ci95"},
	} {
		width := map[string]float64{}
		for conf, shown := range map[string]string{"0.8": "80 % interval", "0.95": "95 % interval", "0.995": "99.5 % interval"} {
			of, err := ReadCase(strings.NewReader(`{"method": "` + c.method + `", "params": {"conf": ` + conf + `}, "input": ` + c.input + `}`))
			if err != nil {
				t.Fatal(err)
			}
			result := answer(t, of)
			var got any
			if err := json.Unmarshal([]byte(result), &got); err != nil {
				t.Fatal(err)
			}
			if stated := got.(map[string]any)["conf"]; jsonText(stated) != conf {
				t.Errorf("%s at %s: conf is %v", c.method, conf, stated)
			}
			for _, key := range strings.Split(c.key, "/") {
				m, _ := got.(map[string]any)
				got = m[key]
			}
			ci, ok := got.([]any)
			if !ok {
				t.Errorf("%s at %s: no %s in %s", c.method, conf, c.key, result)
				continue
			}
			width[conf] = ci[1].(float64) - ci[0].(float64)
			answered, err := of.Run()
			if err != nil {
				t.Fatal(err)
			}
			var page strings.Builder
			if err := Render(&page, find(t, c.method), answered); err != nil || !strings.Contains(page.String(), shown) {
				t.Errorf("%s at %s does not show %s: %s, %v", c.method, conf, shown, &page, err)
			}
		}
		if !(width["0.8"] <= width["0.95"] && width["0.95"] <= width["0.995"] && width["0.8"] < width["0.995"]) {
			t.Errorf("%s: widths %v", c.method, width)
		}
	}
	for _, p := range All() {
		for _, o := range p.Params {
			if o.Name != "conf" {
				continue
			}
			if _, err := p.Run([]byte(`{"conf": 95}`), []byte(`{"a": [1, 2], "b": [2, 1], "x": 1, "n": 2}`)); err == nil {
				t.Errorf("%s takes a level of 95", p.Name)
			}
		}
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// tableInput is the input of a case that a table gives.
func tableInput(r io.Reader, file string, roles []Role, cols []string) (_ jsontext.Value, err error) {
	defer catch(&err)
	return asInput(readTable(r, file, roles, cols), roles), nil
}

func TestCatalogHasEachMethod(t *testing.T) {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
		if p.method == nil || p.Title == "" || p.Summary == "" || p.Source == "" {
			t.Errorf("%s: the catalog or methods lack a part of it", p.Name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, Names()) {
		t.Errorf("catalog %q, methods %q", names, Names())
	}
}
