package extraction

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// suiteOnce is the suite, whose making takes longer than most checks.
var suiteOnce = sync.OnceValue(Suite)

// checkScores checks that scores are declared, in range and have a positive
// denominator.
func checkScores(t interface{ Fatalf(string, ...any) }, scores []eval.Score) {
	suite := suiteOnce()
	for _, s := range scores {
		m, ok := suite.Metric(s.Metric)
		switch {
		case !ok:
			t.Fatalf("%s is not a metric of the suite", s.Metric)
		case s.Unscored != "":
		case !(s.Den > 0) || s.Num/s.Den < m.Min || s.Num/s.Den > m.Max || math.IsNaN(s.Num):
			t.Fatalf("%s of %q is %v/%v, outside [%v, %v]", s.Metric, s.Unit, s.Num, s.Den, m.Min, m.Max)
		}
	}
}

// A drawn document has a line for every field that is present, two lines for
// every ambiguous one, and none for those that are missing.
func drawDocument(t *rapid.T) *prepared {
	d := &prepared{Document: Document{ID: "d", Schema: "s"}, schema: &Schema{Name: "s"}}
	var pages [2]strings.Builder
	n := rapid.IntRange(1, 6).Draw(t, "fields")
	for i := range n {
		f := Field{Name: fmt.Sprintf("f%d", i), Type: rapid.SampledFrom(fieldTypes).Draw(t, "type")}
		d.schema.Fields = append(d.schema.Fields, f)
		a, b := drawnValue(f.Type, 2*i), drawnValue(f.Type, 2*i+1)
		page := rapid.IntRange(0, 1).Draw(t, "page")
		line := func(v string) string { return fmt.Sprintf("%s: %s", f.Name, v) }
		g := Gold{}
		switch rapid.SampledFrom([]string{"present", "missing", "ambiguous"}).Draw(t, "gold") {
		case "present":
			g = presentGold(a)
			g.Quote, g.Page = line(a), page+1
			pages[page].WriteString(line(a) + "\n")
		case "ambiguous":
			g = ambiguousGold(a, b)
			pages[0].WriteString(line(a) + "\n")
			pages[1].WriteString(line(b) + "\n")
		default:
			g = missingGold()
		}
		g.Field = f.Name
		d.Truth = append(d.Truth, g)
	}
	d.Text = "---PAGE 1---\n" + pages[0].String() + "---PAGE 2---\nend\n" + pages[1].String()
	if err := d.check(d.schema, goldRules{}, func(string) {}); err != nil {
		t.Fatalf("the drawn document is not valid: %v", err)
	}
	return d.ready()
}

// drawnValue is a value of a type, different for every n.
func drawnValue(t text.Type, n int) string {
	switch t {
	case text.Number, text.Money:
		return fmt.Sprintf("%d.50", 100+n)
	case text.Date:
		return fmt.Sprintf("March %d, 2024", n+1)
	case text.ID:
		return fmt.Sprintf("AB-%d", 100+n)
	}
	return fmt.Sprintf("word%d", n)
}

// perfect answers a document from its gold.
func perfect(d *prepared) []string {
	var entries []string
	for i := range d.points {
		p := &d.points[i]
		switch {
		case p.gold.missing():
			entries = append(entries, missing())
		case p.gold.Ambiguous:
			var list []string
			for _, c := range stringsOf(p.gold.Candidates) {
				cite, _ := d.cite(p.field.Type, c)
				list = append(list, candidate(c, cite.Quote.Text, fmt.Sprint(cite.Page.Number)))
			}
			entries = append(entries, ambiguous(list...))
		default:
			entries = append(entries, ok(string(p.gold.Correct), p.gold.Quote, fmt.Sprint(p.gold.Page)))
		}
		entries[i] = named(entries[i], p.field.Name)
	}
	return entries
}

// drawAnswer corrupts a perfect answer: it drops, duplicates and swaps entries,
// or makes them of odd parts.
func drawAnswer(t *rapid.T, d *prepared) []string {
	entries := perfect(d)
	for range rapid.IntRange(0, 4).Draw(t, "spoilings") {
		if len(entries) == 0 {
			break
		}
		i := rapid.IntRange(0, len(entries)-1).Draw(t, "entry")
		switch rapid.SampledFrom([]string{"drop", "double", "rename", "status", "page", "quote", "null", "odd"}).Draw(t, "spoiling") {
		case "drop":
			entries = slices.Delete(entries, i, i+1)
		case "double":
			entries = append(entries, entries[i])
		case "rename":
			entries[i] = strings.Replace(entries[i], `"field":"f`, `"field":"g`, 1)
		case "status":
			entries[i] = strings.Replace(entries[i], `"status":"ok"`, `"status":"ambiguous"`, 1)
		case "page":
			entries[i] = strings.Replace(entries[i], `"page":1`, `"page":2`, 1)
		case "quote":
			entries[i] = strings.Replace(entries[i], `"quote":"f`, `"quote":"x`, 1)
		case "null":
			entries[i] = strings.Replace(entries[i], `"value":"`, `"value":null,"was":"`, 1)
		case "odd":
			entries[i] = rapid.SampledFrom([]string{"7", "null", "{}", `{"field":"f0"}`, `{"field":"f0","value":[],"evidence":1,"status":{},"candidates":[0]}`}).Draw(t, "odd")
		}
	}
	return entries
}

func scoreAll(d *prepared, answer string, role eval.Role) []eval.Score {
	o := outcomeOf(answer, eval.StopEnd, noSchema)
	return plainBench.score(nil, d, &o, nil, role)
}

func TestScoresStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		checkScores(t, scoreAll(d, extractions(drawAnswer(t, d)...), eval.RoleBaseline))
	})
}

// An amount without a currency equals one in each: a claimed candidate counts once, and a value of
// 1 is one of nothing but right candidates.
func TestCandidatesCountOnce(t *testing.T) {
	amounts := []string{"100", "USD 100", "EUR 100", "$100", "CHF 100", "5", "EUR 5", ""}
	value := func(gold, answer []string) (float64, []eval.Score) {
		var list []string
		for _, c := range answer {
			list = append(list, candidate(c, c, "1"))
		}
		d := prepare(text.Money, strings.Join(amounts, "\n"), ambiguousGold(gold...))
		o := outcomeOf(extractions(ambiguous(list...)), eval.StopEnd, noSchema)
		_, results := plainBench.assess(d, &o, nil)
		return results[0].Value, plainBench.score(nil, d, &o, nil, eval.RoleArm)
	}
	for _, test := range []struct {
		gold, answer []string
		want         float64
	}{
		{[]string{"USD 100", "EUR 100"}, []string{"100"}, 2. / 3},
		{[]string{"USD 100", "EUR 100"}, []string{"100", "5"}, 0.5},
		{[]string{"USD 100", "EUR 100"}, []string{"EUR 100", "USD 100"}, 1},
	} {
		if got, _ := value(test.gold, test.answer); got != test.want {
			t.Errorf("gold %q, answer %q: %v, want %v", test.gold, test.answer, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		gold := rapid.SliceOfNDistinct(rapid.SampledFrom(amounts[:7]), 2, 4, rapid.ID).Draw(t, "gold")
		answer := rapid.SliceOfN(rapid.SampledFrom(amounts), 1, 5).Draw(t, "answer")
		got, scores := value(gold, answer)
		checkScores(t, scores)
		equal := func(list []string, c string) (n int) {
			for _, o := range list {
				if text.Equal(text.Money, c, o) {
					n++
				}
			}
			return n
		}
		wrong := slices.ContainsFunc(answer, func(c string) bool { return equal(gold, c) == 0 && equal(answer, c) == 1 })
		if got > 1 || wrong && got == 1 {
			t.Fatalf("value %v", got)
		}
	})
}

func TestPerfectAnswerScoresOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		answer := extractions(perfect(d)...)
		for _, s := range scoreAll(d, answer, eval.RoleArm) {
			m, _ := suiteMetric(s.Metric)
			want := kit.Indicator(m.HigherIsBetter)
			if m.Kind == eval.Scoring && s.Num/s.Den != want {
				t.Fatalf("%s of %q is %v, want %v, for %s\nin %s", s.Metric, s.Unit, s.Num/s.Den, want, answer, d.Text)
			}
		}
	})
}

func suiteMetric(name string) (eval.Metric, bool) {
	s := suiteOnce()
	return s.Metric(name)
}

func TestCompositeIsTheWeightedSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		parts := map[string]map[string]float64{}
		for _, s := range scoreAll(d, extractions(drawAnswer(t, d)...), eval.RoleArm) {
			if parts[s.Unit] == nil {
				parts[s.Unit] = map[string]float64{}
			}
			parts[s.Unit][s.Metric] = s.Num
		}
		delete(parts, "")
		for field, p := range parts {
			want := 0.30*p["value"] + 0.30*p["evidence"] + 0.10*p["page"] + 0.15*p["status"] + 0.15*p["schema"]
			if !(math.Abs(p["composite"]-want) <= 1e-12) {
				t.Fatalf("composite of %s is %v, the weighted sum %v", field, p["composite"], want)
			}
			if p["value"] == 0 && (p["evidence"] != 0 || p["page"] != 0 || p["status"] != 0) {
				t.Fatalf("%s has no right value but scores %v", field, p)
			}
		}
	})
}

// The null baseline scores 1 on missing fields and the weight of the schema on
// the rest (X8.3), which for 25 missing in 100 is
// 0.25·1 + 0.75·0.15 = 0.3625.
func TestNullBaselineIsAsExpected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		var measured, expected float64
		n := 0.0
		for _, s := range scoreAll(d, nullAnswer(d.schema), eval.RoleBaseline) {
			switch s.Metric {
			case metricComposite:
				measured += s.Num
				n++
			case metricNullExpected:
				expected = s.Num / s.Den
			}
		}
		if !(math.Abs(measured/n-expected) <= 1e-12) {
			t.Fatalf("measured %v, expected %v", measured/n, expected)
		}
	})
	d := &prepared{Document: Document{Text: "x"}, schema: &Schema{Name: "s"}}
	for i := range 20 {
		g := presentGold("x")
		if i >= 12 {
			g = ambiguousGold("x", "y")
		}
		if i >= 15 {
			g = missingGold()
		}
		g.Field = fmt.Sprint("f", i)
		d.schema.Fields = append(d.schema.Fields, Field{Name: g.Field, Type: text.String})
		d.Truth = append(d.Truth, g)
	}
	for _, s := range scoreAll(d.ready(), nullAnswer(d.schema), eval.RoleBaseline) {
		want, ok := map[string]float64{metricNullExpected: 0.3625, metricGoldMissing: 0.25, metricGoldAmbiguous: 0.15}[s.Metric]
		if ok && !(math.Abs(s.Num/s.Den-want) <= 1e-12) {
			t.Errorf("%s = %v, want %v", s.Metric, s.Num/s.Den, want)
		}
	}
}

func TestOrderOfEntriesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		entries := drawAnswer(t, d)
		shuffled := rapid.Permutation(entries).Draw(t, "order")
		a := scoreAll(d, extractions(entries...), eval.RoleArm)
		b := scoreAll(d, extractions(shuffled...), eval.RoleArm)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("in another order (-as drawn +shuffled)\n%s", diff)
		}
	})
}

// The ceiling scores the right answer without writing and reading it: both must agree.
func TestPerfectIsWhatReadingWouldGive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDocument(t)
		var entries []Entry
		for i := range d.points {
			entries = append(entries, d.rightEntry(&d.points[i]))
		}
		read, err := readAnswer(answerText(entries), noSchema)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read, d.perfect(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("perfect differs from what ReadAnswer reads (-read +perfect):\n%s", diff)
		}
	})
}
