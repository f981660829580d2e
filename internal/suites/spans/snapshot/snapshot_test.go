package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/suites/spans/label"
	"github.com/scruple-eval/scruple/internal/suites/spans/snapshot"
	"github.com/scruple-eval/scruple/internal/suites/spans/verdict"
)

var reader = snapshot.DefaultReader()

const run1, run2 = "testdata/run1_2025-12-23T18-27.json.gz", "testdata/run2_2025-12-23T18-40.json.gz"

func open(t testing.TB, path string) io.ReadCloser {
	t.Helper()
	r, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func side(t testing.TB, r io.Reader, name string) *snapshot.Side {
	t.Helper()
	s, err := reader.ReadSide(r, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func two(x float64) float64 { return math.Round(100*x) / 100 }

// The real snapshots, summarised again, have the figures that the original tool
// recorded in them; and failed judgements are counted apart from zeros.
func TestRealSnapshots(t *testing.T) {
	for path, want := range map[string]struct {
		judged, failed, errors int
		withFailures           float64 // sum of totals / (judged + failed), from the file with jq
		spans                  float64 // spans / results without an error: 1690/53 and 1649/50, with jq
	}{run1: {45, 8, 1, 15.92, 31.89}, run2: {49, 1, 1, 18.90, 32.98}} {
		s := side(t, open(t, path), path)
		m := s.Summary
		if m.JudgedResults != want.judged || m.JudgeFailures != want.failed || m.ErrorCount != want.errors || m.NotJudged != 0 || m.ZeroScores != 0 || two(m.AvgScoreWithFailures) != want.withFailures {
			t.Errorf("%s: %d judged, %d failed, %d errors, %d zeros, average with failures %v", path, m.JudgedResults, m.JudgeFailures, m.ErrorCount, m.ZeroScores, m.AvgScoreWithFailures)
		}
		var recorded struct {
			AvgScore, AvgSpanCount float64
			ScoreDistribution      map[string]int
			ErrorCount             int
			PipelineSources        snapshot.Pipelines
			SpanSources            snapshot.Sources
			AvgCategoryScores      map[string]verdict.CategoryScore
			FalsePositiveReasons   map[string]int
			TopTaxonomyErrors      []struct{ Count int }
		}
		if err := json.Unmarshal(s.Header.Summary, &recorded); err != nil {
			t.Fatal(err)
		}
		if two(m.AvgScore) != recorded.AvgScore || math.Abs(m.AvgSpanCountAll-recorded.AvgSpanCount) > 0.0051 || m.ErrorCount != recorded.ErrorCount {
			t.Errorf("%s: average %v of %v spans, recorded %v of %v", path, m.AvgScore, m.AvgSpanCountAll, recorded.AvgScore, recorded.AvgSpanCount)
		}
		if two(m.AvgSpanCount) != want.spans {
			t.Errorf("%s: %v spans of results without an error, want %v", path, m.AvgSpanCount, want.spans)
		}
		var distribution map[string]int
		b, err := json.Marshal(m.ScoreDistribution)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &distribution); err != nil {
			t.Fatal(err)
		}
		for what, d := range map[string]string{
			"distribution": cmp.Diff(recorded.ScoreDistribution, distribution), "pipelines": cmp.Diff(recorded.PipelineSources, m.PipelineSources),
			"sources": cmp.Diff(recorded.SpanSources, m.SpanSources), "reasons": cmp.Diff(recorded.FalsePositiveReasons, m.FalsePositiveReasons),
		} {
			if d != "" {
				t.Errorf("%s: %s (-recorded +ours)\n%s", path, what, d)
			}
		}
		for name, score := range m.AvgCategoryScores {
			if got := (verdict.CategoryScore{Coverage: two(score.Coverage), Precision: two(score.Precision)}); got != recorded.AvgCategoryScores[name] {
				t.Errorf("%s: %s is %+v, recorded %+v", path, name, got, recorded.AvgCategoryScores[name])
			}
		}
		for i, c := range recorded.TopTaxonomyErrors[:5] {
			if m.TopTaxonomyErrors[i].Count != c.Count {
				t.Errorf("%s: confusion %d has %d, recorded %d", path, i, m.TopTaxonomyErrors[i].Count, c.Count)
			}
		}
	}
}

// The real prompts have the sections that the tool recorded, and every span is in
// the same one. The tool of that time counted the line breaks before a header to
// its section; the header itself begins the section now.
func TestRealSections(t *testing.T) {
	f, err := snapshot.Read(open(t, run1), run1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Results {
		r := &f.Results[i]
		l := reader.Label(r)
		if l.State == snapshot.Errored {
			continue // recorded without sections
		}
		ruler := label.NewRuler(r.Text())
		found := reader.Sectioner.Detect(ruler)
		for k, recorded := range l.Sections {
			if !l.Known || recorded == nil || found[k] == nil || strings.TrimSpace(ruler.Slice(recorded.Start, found[k].Start)) != "" || found[k].Start-recorded.Start > 2 {
				t.Errorf("%s: %s is %+v, recorded %+v", r.PromptID, reader.Sectioner.Names[k], found[k], recorded)
			}
		}
		for k, s := range l.Spans {
			if own := reader.Sectioner.Of(found, s.Start); own != r.Spans[k].Section || l.Notes[k] != "" {
				t.Errorf("%s: %+v is in %s, recorded %s; %s", r.PromptID, s, own, r.Spans[k].Section, l.Notes[k])
			}
		}
	}
}

// Run 2 against run 1: the paired test of SciPy, and the figures of both.
func TestRealComparison(t *testing.T) {
	c := reader.Compare(side(t, open(t, run1), run1), side(t, open(t, run2), run2), snapshot.Rules{})
	p := c.Paired
	// scipy.stats.ttest_rel 1.17.1 on the 45 prompts with a total above 0 in both.
	for what, x := range map[string][2]float64{
		"baseline": {float64(p.Baseline), 18.755555555555556}, "current": {float64(p.Current), 19.244444444444444}, "difference": {float64(p.Diff), 22.0 / 45},
		"p": {float64(p.P), 0.0028136482325576027}, "low": {float64(p.Low), 0.17757604061990384}, "high": {float64(p.High), 0.8002017371578739},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, x[0], x[1])
		}
	}
	if p.N != 45 || c.Verdict != snapshot.Improved || c.Regressed() || len(c.Regressions) != 0 || c.Baseline.OnlyHere != 3 || c.Unchanged+len(c.Prompts) != 51 {
		t.Errorf("%d pairs, %s: %s; %+v", p.N, c.Verdict, c.Reason, c.Baseline)
	}
	back := reader.Compare(side(t, open(t, run2), run2), side(t, open(t, run1), run1), snapshot.Rules{})
	if back.Verdict != snapshot.Regressed || back.Paired.Diff != -p.Diff {
		t.Errorf("the other way round: %s, %v", back.Verdict, back.Paired.Diff)
	}
	for name, text := range map[string]string{"text": c.Text(false), "markdown": c.Markdown(), "colours": c.Text(true)} {
		for _, want := range []string{"improved", "18.76", "19.24", "[0.18, 0.80]", "judge failed", "15.92", "5YRd34ZpFN5GPmZX6ha6"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, "\x1b") != (name == "colours") {
			t.Errorf("%s: escape sequences", name)
		}
	}
}

// A snapshot that is read and written keeps every field, and the original tool's
// reader accepts it.
func TestRoundTrip(t *testing.T) {
	for _, path := range []string{run1, run2} {
		var was map[string]any
		if err := json.NewDecoder(open(t, path)).Decode(&was); err != nil {
			t.Fatal(err)
		}
		was["future"] = map[string]any{"x": []any{1.0}}
		first := was["results"].([]any)[0].(map[string]any)
		first["future"] = true
		first["spans"].([]any)[0].(map[string]any)["future"] = "span"
		first["judgeResult"].(map[string]any)["future"] = "judge"
		data, err := json.Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		f, err := snapshot.Read(bytes.NewReader(data), path)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b, reader.Summarise(f)); err != nil {
			t.Fatal(err)
		}
		var is map[string]any
		if err := json.Unmarshal(b.Bytes(), &is); err != nil {
			t.Fatal(err)
		}
		accepted(t, is)
		summaryWas, summaryIs := was["summary"].(map[string]any), is["summary"].(map[string]any)
		for key := range summaryWas {
			if _, ok := summaryIs[key]; !ok {
				t.Errorf("the summary lost %s", key)
			}
		}
		delete(was, "summary")
		delete(is, "summary")
		if d := cmp.Diff(was, is); d != "" {
			t.Errorf("%s (-read +written)\n%s", path, d)
		}
		again, err := snapshot.Read(bytes.NewReader(b.Bytes()), "again")
		if err != nil {
			t.Fatal(err)
		}
		var b2 bytes.Buffer
		if err := again.Write(&b2, reader.Summarise(again)); err != nil || b2.String() != b.String() {
			t.Errorf("%s: written again, it differs: %v", path, err)
		}
	}
}

// accepted checks what the types of the original tool require.
func accepted(t *testing.T, s map[string]any) {
	t.Helper()
	want := func(of map[string]any, where string, keys ...string) {
		for _, k := range keys {
			if _, ok := of[k]; !ok {
				t.Errorf("%s has no %s", where, k)
			}
		}
	}
	want(s, "the snapshot", "timestamp", "promptCount", "sourceFile", "judgeModel", "results", "summary")
	want(s["summary"].(map[string]any), "the summary", "avgScore", "avgSpanCount", "scoreDistribution", "errorCount", "pipelineSources", "spanSources",
		"avgCategoryScores", "falsePositiveReasons", "topTaxonomyErrors", "errorsBySection", "confidenceAnalysis")
	for _, r := range s["results"].([]any) {
		want(r.(map[string]any), "a result", "promptId", "input", "output", "spanCount", "spans", "meta", "judgeResult", "error", "latencyMs")
	}
}

// A made-up judged result.
type made struct {
	ID     string
	Spans  []snapshot.Span
	Judge  *verdict.Result
	Failed string
}

func (m made) result() snapshot.Result {
	r := snapshot.Result{PromptID: m.ID, Output: "0123456789", Spans: m.Spans, JudgeResult: []byte("null"), Meta: []byte("null")}
	if m.Judge != nil {
		r.JudgeResult = m.Judge.Encode()
	}
	if m.Failed != "" {
		r.Error = &m.Failed
	}
	return r
}

func file(results []made) *snapshot.File {
	f := &snapshot.File{}
	for _, m := range results {
		f.Results = append(f.Results, m.result())
	}
	return f
}

func results() *rapid.Generator[[]made] {
	return rapid.Custom(func(t *rapid.T) []made {
		var list []made
		for i := range rapid.IntRange(0, 8).Draw(t, "results") {
			m := made{ID: fmt.Sprint("p", i)}
			for k := range rapid.IntRange(0, 5).Draw(t, "spans") {
				confidence := rapid.SampledFrom([]float64{0, 0.3, 0.59, 0.6, 0.7, 0.799, 0.8, 0.95, 1}).Draw(t, "confidence")
				m.Spans = append(m.Spans, snapshot.Span{Text: fmt.Sprint(k), Role: "style", Start: k, End: k + 1, Confidence: &confidence})
			}
			switch rapid.IntRange(0, 5).Draw(t, "state") {
			case 0:
				m.Failed = "no model"
			case 1: // no judgement
			case 2:
				v := verdict.Empty()
				v.Notes = "Judge failed: 429"
				m.Judge = &v
			default:
				v := judged(t, m.Spans)
				m.Judge = &v
			}
			list = append(list, m)
		}
		return list
	})
}

func judged(t *rapid.T, spans []snapshot.Span) verdict.Result {
	v := verdict.Empty()
	score := func(name string) float64 { return float64(rapid.IntRange(1, 5).Draw(t, name)) }
	v.Scores = verdict.Scores{Coverage: score("coverage"), Precision: score("precision"), Granularity: score("granularity"), Taxonomy: score("taxonomy"), TechnicalSpecs: score("technical")}
	v.TotalScore = v.Scores.Total()
	for _, c := range reader.Taxonomy.Categories {
		if rapid.Bool().Draw(t, c.Name) {
			v.CategoryScores[c.Name] = &verdict.CategoryScore{Coverage: score("coverage"), Precision: score("precision")}
		}
	}
	role := rapid.SampledFrom(reader.Taxonomy.Roles())
	for k, s := range spans {
		kinds := rapid.IntRange(0, 15).Draw(t, "errors")
		if kinds&1 != 0 && kinds&8 != 0 {
			v.FalsePositives = append(v.FalsePositives, verdict.FalsePositive{SpanIndex: k, Text: s.Text, AssignedRole: s.Role, Reason: rapid.SampledFrom(reader.Taxonomy.Reasons).Draw(t, "reason")})
		}
		if kinds&2 != 0 && kinds&8 != 0 {
			v.TaxonomyErrors = append(v.TaxonomyErrors, verdict.Confusion{SpanIndex: k, Text: s.Text, AssignedRole: role.Draw(t, "assigned"), ExpectedRole: role.Draw(t, "expected")})
		}
		if kinds&4 != 0 && kinds&8 != 0 {
			v.GranularityErrors = append(v.GranularityErrors, verdict.Granularity{SpanIndex: k, Text: s.Text, Issue: "too_fine"})
		}
	}
	return v
}

func ofJudged(list []made) []*verdict.Result {
	var all []*verdict.Result
	for _, m := range list {
		if m.Judge != nil && m.Failed == "" {
			if _, failed := m.Judge.Failure(); !failed {
				all = append(all, m.Judge)
			}
		}
	}
	return all
}

// Property 5: average category scores are the arithmetic means over the judged
// results that have the category.
func TestProperty5CategoryScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := results().Draw(t, "results")
		s := reader.Summarise(file(list))
		for _, c := range reader.Taxonomy.Categories {
			var coverage, precision, n float64
			for _, v := range ofJudged(list) {
				if score := v.CategoryScores[c.Name]; score != nil {
					coverage, precision, n = coverage+score.Coverage, precision+score.Precision, n+1
				}
			}
			if n > 0 {
				coverage, precision = coverage/n, precision/n
			}
			if got := s.AvgCategoryScores[c.Name]; math.Abs(got.Coverage-coverage) > 1e-12 || math.Abs(got.Precision-precision) > 1e-12 {
				t.Fatalf("%s: %+v, want %v and %v", c.Name, got, coverage, precision)
			}
		}
		total := 0.0
		for _, v := range ofJudged(list) {
			total += v.TotalScore
		}
		if n := float64(len(ofJudged(list))); n > 0 && math.Abs(s.AvgScore-total/n) > 1e-12 || n == 0 && (s.AvgScore != 0 || len(s.TopTaxonomyErrors) != 0) {
			t.Fatalf("average %v of %v", s.AvgScore, total)
		}
		if s.JudgedResults+s.JudgeFailures+s.NotJudged+s.ErrorCount != len(list) {
			t.Fatalf("%+v of %d results", s, len(list))
		}
	})
}

// Property 6: reasons are counted, and the ten most frequent confusions are listed
// by count and then name.
func TestProperty6Errors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := results().Draw(t, "results")
		s := reader.Summarise(file(list))
		reasons, confusions := map[string]int{}, map[string]int{}
		for _, r := range reader.Taxonomy.Reasons {
			reasons[r] = 0
		}
		for _, v := range ofJudged(list) {
			for _, e := range v.FalsePositives {
				reasons[e.Reason]++
			}
			for _, e := range v.TaxonomyErrors {
				if e.AssignedRole != e.ExpectedRole {
					confusions[e.AssignedRole+" → "+e.ExpectedRole]++
				}
			}
		}
		if d := cmp.Diff(reasons, s.FalsePositiveReasons); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
		names := slices.SortedFunc(maps.Keys(confusions), func(a, b string) int {
			if confusions[a] != confusions[b] {
				return confusions[b] - confusions[a]
			}
			return strings.Compare(a, b)
		})
		var want, got []string
		for _, n := range names[:min(10, len(names))] {
			want = append(want, fmt.Sprint(n, " ", confusions[n]))
		}
		for _, c := range s.TopTaxonomyErrors {
			got = append(got, fmt.Sprint(c.AssignedRole, " → ", c.ExpectedRole, " ", c.Count))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Property 7: a snapshot without any of the enhanced fields, or with null for them, loads and
// is summarised anew.
func TestProperty7OldSnapshots(t *testing.T) {
	f, err := snapshot.Read(open(t, run1), run1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var keys map[string]any
		if err := json.Unmarshal(f.Summary, &keys); err != nil {
			t.Fatal(err)
		}
		enhanced := []string{"avgCategoryScores", "falsePositiveReasons", "topTaxonomyErrors", "errorsBySection", "confidenceAnalysis"}
		for _, name := range enhanced {
			switch rapid.IntRange(0, 2).Draw(t, name) {
			case 0:
				delete(keys, name)
			case 1:
				keys[name] = nil
			}
		}
		old := map[string]any{"summary": keys, "results": []any{map[string]any{"promptId": "a", "input": "x"},
			map[string]any{"promptId": "b", "judgeResult": map[string]any{"scores": map[string]any{"coverage": 3, "precision": 3, "granularity": 3, "taxonomy": 3, "technicalSpecs": 3},
				"totalScore": 15, "missedElements": []string{"sky"}, "incorrectExtractions": []string{"x"}, "notes": "n"}}}}
		data, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		read, err := snapshot.Read(bytes.NewReader(data), "old")
		if err != nil {
			t.Fatal(err)
		}
		if m := reader.Summarise(read); m.JudgedResults != 1 || m.NotJudged != 1 || m.AvgScore != 15 || m.ParseSteps[verdict.Basic] != 1 {
			t.Fatalf("%+v", m)
		}
	})
}

// Property 8: spans are counted in the bucket of their confidence, with their
// errors.
func TestProperty8Buckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := results().Draw(t, "results")
		c := reader.Summarise(file(list)).ConfidenceAnalysis
		want := map[string][3]int{}
		for _, m := range list {
			if m.Judge == nil || m.Failed != "" {
				continue
			}
			if _, failed := m.Judge.Failure(); failed {
				continue
			}
			for k, s := range m.Spans {
				name := "low"
				if *s.Confidence >= 0.8 {
					name = "high"
				} else if *s.Confidence >= 0.6 {
					name = "medium"
				}
				n := want[name]
				n[0]++
				flags := m.Judge.Flags(len(m.Spans))[k]
				if flags != 0 {
					n[1]++
				}
				if flags&1 != 0 {
					n[2]++
				}
				want[name] = n
			}
		}
		if len(want) == 0 {
			if c != nil {
				t.Fatalf("an analysis of nothing: %+v", c)
			}
			return
		}
		names, buckets := c.Buckets.List()
		for i, b := range buckets {
			n := want[names[i]]
			rate := 0.0
			if n[0] > 0 {
				rate = float64(n[1]) / float64(n[0])
			}
			if [3]int{b.Total, b.Errors, b.FalsePositives} != n || b.ErrorRate != rate {
				t.Fatalf("%s: %+v, want %v", names[i], b, n)
			}
		}
	})
}

// Property 9: the threshold is the upper border of the highest bucket below 0.8
// with an error rate above one half.
func TestProperty9Threshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := reader.Summarise(file(results().Draw(t, "results"))).ConfidenceAnalysis
		if c == nil {
			return
		}
		switch b, got := c.Buckets, c.RecommendedThreshold; {
		case b.Medium.ErrorRate > 0.5:
			if got == nil || *got != 0.8 {
				t.Fatalf("medium %v: threshold %v", b.Medium.ErrorRate, got)
			}
		case b.Low.ErrorRate > 0.5:
			if got == nil || *got != 0.6 {
				t.Fatalf("low %v: threshold %v", b.Low.ErrorRate, got)
			}
		case got != nil:
			t.Fatalf("threshold %v of %+v", *got, b)
		}
	})
}

// A span without a confidence, or with one that is not from 0 to 1, is in no bucket: it
// is counted apart, however the file is decoded, and written as it was read.
func TestMissingConfidence(t *testing.T) {
	v := verdict.Empty()
	v.Scores = verdict.Scores{Coverage: 3, Precision: 3, Granularity: 3, Taxonomy: 3, TechnicalSpecs: 3}
	v.TotalScore = 15
	v.FalsePositives = []verdict.FalsePositive{{SpanIndex: 1, Text: "b", Reason: "other"}}
	for name, spans := range map[string]string{
		"missing":  `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","start":1,"end":2},{"text":"c","role":"style","start":2,"end":3}`,
		"in depth": `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","start":1,"end":2,"more":[1]},{"text":"c","role":"style","start":2,"end":3}`,
		"null":     `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","confidence":null,"start":1,"end":2},{"text":"c","role":"style","start":2,"end":3}`,
		"per cent": `{"text":"a","role":"style","confidence":0.9,"start":0,"end":1},{"text":"b","role":"style","confidence":95,"start":1,"end":2},{"text":"c","role":"style","confidence":-1,"start":2,"end":3}`,
	} {
		text := `{"results": [{"promptId": "p", "output": "abc", "spans": [` + spans + `], "meta": null, "error": null, "judgeResult": ` + string(v.Encode()) + `}]}`
		f, err := snapshot.Read(strings.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		for how, m := range map[string]*snapshot.Summary{"read": reader.Summarise(f), "side": side(t, strings.NewReader(text), name).Summary} {
			c := m.ConfidenceAnalysis
			if m.NoConfidence != 2 || c == nil || c.Buckets.High.Total != 1 || c.Buckets.Low.Total != 0 || c.Buckets.Medium.Total != 0 || c.RecommendedThreshold != nil || math.Abs(float64(c.ECE.Value)-0.1) > 1e-12 {
				t.Errorf("%s, %s: %d without a confidence, %+v", name, how, m.NoConfidence, c)
			}
		}
		var b bytes.Buffer
		if err := f.Write(&b, reader.Summarise(f)); err != nil || strings.Contains(strings.ReplaceAll(b.String(), " ", ""), `"confidence":0,`) {
			t.Errorf("%s: %v, written with a confidence of 0\n%s", name, err, b.String())
		}
	}
}

func encoded(t interface{ Fatal(...any) }, list []made) io.Reader {
	var b bytes.Buffer
	f := file(list)
	if err := f.Write(&b, reader.Summarise(f)); err != nil {
		t.Fatal(err)
	}
	return &b
}

// Property 10: a comparison has the differences of category scores, and the
// confusions that are new and resolved.
func TestProperty10Comparison(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was, is := results().Draw(t, "baseline"), results().Draw(t, "current")
		a, err := reader.ReadSide(encoded(t, was), "a")
		if err != nil {
			t.Fatal(err)
		}
		b, err := reader.ReadSide(encoded(t, is), "b")
		if err != nil {
			t.Fatal(err)
		}
		c := reader.Compare(a, b, snapshot.Rules{})
		for _, k := range c.Categories {
			x, y := a.Summary.AvgCategoryScores[k.Category], b.Summary.AvgCategoryScores[k.Category]
			if k.Coverage.Defined() != (x.Coverage > 0 && y.Coverage > 0) || k.Coverage.Defined() && (float64(k.Coverage) != y.Coverage-x.Coverage || float64(k.Precision) != y.Precision-x.Precision) {
				t.Fatalf("%+v of %+v and %+v", k, x, y)
			}
		}
		confusions := func(list []made) map[string]bool {
			set := map[string]bool{}
			for _, v := range ofJudged(list) {
				for _, e := range v.TaxonomyErrors {
					if e.AssignedRole != e.ExpectedRole {
						set[e.AssignedRole+"→"+e.ExpectedRole] = true
					}
				}
			}
			return set
		}
		check := func(what string, got []snapshot.Count, in, without map[string]bool) {
			n := 0
			for k := range in {
				if !without[k] {
					n++
				}
			}
			for _, k := range got {
				if name := k.AssignedRole + "→" + k.ExpectedRole; !in[name] || without[name] {
					t.Fatalf("%s: %s", what, name)
				}
			}
			if len(got) != n {
				t.Fatalf("%s: %d, want %d", what, len(got), n)
			}
		}
		check("new", c.NewConfusions, confusions(is), confusions(was))
		check("resolved", c.ResolvedConfusions, confusions(was), confusions(is))
		if !slices.Contains([]snapshot.Verdict{snapshot.Improved, snapshot.Regressed, snapshot.NoEvidence}, c.Verdict) || c.Reason == "" {
			t.Fatalf("%q: %q", c.Verdict, c.Reason)
		}
		if self := reader.Compare(a, a, snapshot.Rules{}); len(self.Prompts) > 0 || len(self.Regressions) > 0 || self.Verdict != snapshot.NoEvidence {
			t.Fatalf("a snapshot against itself: %+v", self)
		}
	})
}

// Rules find a prompt that fell, a fallen average and a new error; a rule that is
// switched off finds nothing.
func TestRules(t *testing.T) {
	judgement := func(score float64) *verdict.Result {
		v := verdict.Empty()
		v.Scores = verdict.Scores{Coverage: score, Precision: 3, Granularity: 3, Taxonomy: 3, TechnicalSpecs: 3}
		return &v
	}
	number := func(x float64) *float64 { return &x }
	off, one := false, 1
	for name, test := range map[string]struct {
		is    []made
		rules snapshot.Rules
		want  []string
	}{
		"nothing":                  {[]made{{ID: "a", Judge: judgement(5)}, {ID: "b", Judge: judgement(4)}}, snapshot.Rules{}, nil},
		"a prompt":                 {[]made{{ID: "a", Judge: judgement(2)}, {ID: "b", Judge: judgement(5)}}, snapshot.Rules{AverageDown: number(9)}, []string{"total_down a"}},
		"the average":              {[]made{{ID: "a", Judge: judgement(4)}, {ID: "b", Judge: judgement(4)}}, snapshot.Rules{}, []string{"average_down "}},
		"an error":                 {[]made{{ID: "a", Failed: "x"}, {ID: "b", Judge: judgement(4)}}, snapshot.Rules{}, []string{"new_errors a"}},
		"errors do not":            {[]made{{ID: "a", Failed: "x"}, {ID: "b", Judge: judgement(4)}}, snapshot.Rules{NewErrors: &off}, nil},
		"a stricter rule":          {[]made{{ID: "a", Judge: judgement(4)}, {ID: "b", Judge: judgement(5)}}, snapshot.Rules{TotalDown: number(1), AverageDown: number(9)}, []string{"total_down a"}},
		"an error of a new prompt": {[]made{{ID: "a", Judge: judgement(5)}, {ID: "b", Judge: judgement(4)}, {ID: "new", Failed: "x"}}, snapshot.Rules{}, []string{"new_errors new"}},
		"a new prompt":             {[]made{{ID: "a", Judge: judgement(5)}, {ID: "b", Judge: judgement(4)}, {ID: "new", Judge: judgement(1)}}, snapshot.Rules{}, nil},
		"a prompt is missing":      {[]made{{ID: "a", Judge: judgement(5)}}, snapshot.Rules{Missing: &one}, []string{"missing_prompts "}},
		"by default it may be":     {[]made{{ID: "a", Judge: judgement(5)}}, snapshot.Rules{}, nil},
		"judge that failed":        {[]made{{ID: "a"}, {ID: "b", Judge: judgement(4)}}, snapshot.Rules{}, nil},
	} {
		was := []made{{ID: "a", Judge: judgement(5)}, {ID: "b", Judge: judgement(4)}}
		c := reader.Compare(side(t, encoded(t, was), "was"), side(t, encoded(t, test.is), "is"), test.rules)
		var got []string
		for _, r := range c.Regressions {
			got = append(got, r.Rule+" "+r.PromptID)
		}
		if !slices.Equal(got, test.want) || c.Regressed() != (len(test.want) > 0) {
			t.Errorf("%s: %v, want %v; %s", name, got, test.want, c.Verdict)
		}
		if missing := len(test.is) == 1; strings.Contains(c.Reason, "1 prompt of the baseline is missing and not compared") != missing {
			t.Errorf("%s: %s", name, c.Reason)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                   "reading a snapshot: EOF",
		`[]`:                 "want a JSON object with results",
		`{"timestamp": "x"}`: "there are no results",
		`{"results": 3}`:     "reading results: want a list",
		`{"results": [1]}`:   "results[0]:",
		`{"results": [{"promptId": "a"}, {"spans": 3}]}`:      "results[1]:",
		`{"results": [{"promptId": "a"}`:                      "reading results[1]",
		`{"results": [{"promptId": "a"}, {"promptId": "a"}]}`: `duplicate promptId "a"`,
		`{"results": [{}]}`:                                   "results[0] has no promptId",
		// Two snapshots in one file, as cat makes it, and lists that would be merged.
		`{"results": []}{"results": []}`:                                                               "there is more after its end: want one JSON object in a file",
		`{"results": [], "x": 1}` + "\n" + `{"results": []}`:                                           "there is more after its end",
		`{"results": []} tail`:                                                                         "reading what follows the snapshot",
		`{"results": [{"promptId": "a"}], "results": []}`:                                              `duplicate key "results": want each key once`,
		`{"timestamp": "t", "results": [], "timestamp": "u"}`:                                          `duplicate key "timestamp"`,
		`{"results": [{"promptId": "a", "promptId": "b"}]}`:                                            `results[0]: `,
		`{"results": [{"promptId": "a", "spans": [{"text": "x", "start": 0, "end": 1, "start": 1}]}]}`: `results[0]: `,
	} {
		if _, err := reader.ReadSide(strings.NewReader(text), "f"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if _, err := snapshot.Read(strings.NewReader(text), "f"); err == nil && !strings.Contains(want, "promptId") {
			t.Errorf("%s: read whole without an error, want %s", text, want)
		}
	}
	for _, text := range []string{`{"results": []}` + "\n \t", `{"results": [], "x": 1}` + "\r\n"} {
		if _, err := reader.ReadSide(strings.NewReader(text), "f"); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzSpans: the decoder of spans reads what the general one does.
func FuzzSpans(f *testing.F) {
	for _, seed := range []string{`[]`, `[{}]`, ` [ {"text" : "x\\n", "start" : -1} ]`, `[{"text":"é","role":"r","confidence":1e-2,"start":1,"end":2,"section":"main"},{"x":{}}]`, `[{"start":1.5}]`, `null`, `[{"confidence":1e999}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spans string) {
		data := []byte(`{"promptId":"a","spans":` + spans + `}`)
		want, errWant := snapshot.Read(strings.NewReader(`{"results":[`+string(data)+`]}`), "f")
		got, err := reader.ReadSide(strings.NewReader(`{"results":[`+string(data)+`]}`), "f")
		if (err == nil) != (errWant == nil) {
			t.Fatalf("%v, but %v", err, errWant)
		}
		if err != nil {
			return
		}
		n := 0
		for i := range want.Results {
			n += len(want.Results[i].Spans)
		}
		if whole := reader.Summarise(want); whole.AvgSpanCount != got.Summary.AvgSpanCount || cmp.Diff(whole.SpanNotes, got.Summary.SpanNotes) != "" {
			t.Fatalf("%d spans: %+v, want %+v", n, got.Summary, whole)
		}
	})
}

// FuzzReadSide: no file makes the reader, the summary or the comparison panic.
func FuzzReadSide(f *testing.F) {
	f.Add([]byte(`{"results": [{"promptId": "a", "output": "x", "spans": [{"text": "x", "start": 9, "end": -1, "confidence": 7}], "judgeResult": {"scores": 1}}]}`))
	f.Add([]byte(`{"results": [{"promptId": "a", "meta": 3, "metadata": {"sections": {"main": null}}, "judgeResult": {"totalScore": 1e300, "categoryScores": {"shot": null}}}], "summary": 7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := reader.ReadSide(bytes.NewReader(data), "f")
		if err != nil {
			return
		}
		_ = s.Summary.String()
		_ = reader.Compare(s, s, snapshot.Rules{}).Markdown()
		file, err := snapshot.Read(bytes.NewReader(data), "f")
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Write(io.Discard, s.Summary); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkSnapshots loads, summarises and compares two snapshots of 100,000
// results each, real ones with other ids: one operation is all of it. Set
// -benchtime 1x.
func BenchmarkSnapshots(b *testing.B) {
	const n = 100_000
	var paths [2]string
	var size int64
	for i, path := range []string{run1, run2} {
		f, err := snapshot.Read(open(b, path), path)
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		out.WriteString(`{"timestamp":"t","promptCount":100000,"sourceFile":"s","judgeModel":"m","results":[`)
		w, err := os.Create(filepath.Join(b.TempDir(), "snapshot.json"))
		if err != nil {
			b.Fatal(err)
		}
		paths[i] = w.Name()
		for k := range n {
			r := f.Results[k%len(f.Results)]
			r.PromptID = fmt.Sprint(r.PromptID, k/len(f.Results))
			if k > 0 {
				out.WriteByte(',')
			}
			if err := jsonv2.MarshalWrite(&out, r); err != nil {
				b.Fatal(err)
			}
			if out.Len() > 1<<20 {
				if _, err := out.WriteTo(w); err != nil {
					b.Fatal(err)
				}
			}
		}
		out.WriteString(`],"summary":{}}`)
		if _, err := out.WriteTo(w); err != nil {
			b.Fatal(err)
		}
		info, err := w.Stat()
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(size)
	for b.Loop() {
		var sides [2]*snapshot.Side
		for i, path := range paths {
			sides[i] = side(b, open(b, path), path)
		}
		if c := reader.Compare(sides[0], sides[1], snapshot.Rules{}); c.Baseline.Results != n {
			b.Fatal(c.Baseline)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "MB-of-memory")
}
