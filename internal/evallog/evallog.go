// Package evallog reads results of other evaluation tools and writes them as a study of
// the suite given, with their scores: one file reads one format.
//
// A [Format] yields samples; [Import.write] streams them into scores.jsonl and then writes
// study.yaml, which declares the metrics that were found. What a tool says of a sample
// without a score keeps its meaning: an error is a failed trial, a score that is missing or
// not a number is unscored, and neither is 0.
//
// Files are not trusted. A format of an unknown version is an error. The package must not
// know the store, providers or the command line.
package evallog

import (
	"cmp"
	_ "embed" // the texts
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/given"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Sample is the result of one trial.
type Sample struct {
	Item, Arm string
	Replicate int // from 1; 0 numbers equal samples of an item and arm in the order of the files
	Cluster   string
	Strata    []eval.Level
	Facts     []eval.Level // shown beside the item
	Input     string
	Prompt    string // what this arm was asked: the first of an item is shown as its input
	Expected  string
	Answer    string
	Error     string // why there is no answer: the trial failed
	Simulated bool   // the answer, or the verdict on it
	Scores    []Score
	// Used are numbers beside the scores by column of the suite, such as cost in US dollars,
	// latency_ms, tokens_in and tokens_out; one that is not known is not there.
	Used map[string]float64
}

// use adds a number that is known to those beside the scores.
func (s *Sample) use(column string, x *float64) {
	if x != nil {
		s.Used[column] = *x
	}
}

// simulatedModel reports whether a model of a run of Scruple is none, by its name in other tools.
func simulatedModel(name string) bool { return strings.HasPrefix(name, kit.SimulatedProvider+"/") }

// A Score is a number, or the reason why there is none.
type Score struct {
	Metric   string
	Value    float64 // NaN is unscored
	Unscored string
}

// A Format reads the files of one tool.
type Format struct {
	Name string
	Doc  string // what the files are, for help
	// Read adds the samples of all files. Arms are what differs between the files or in
	// them, such as the model.
	Read func(files []string, to *Import) error
}

// An Import takes the samples of files.
type Import struct {
	Report
	format string
	lines  *json.Encoder
	items  map[string]*item
	taken  map[[2]string]int // samples by item and arm
	placed map[place]bool    // of samples with a number of their replicate
	other  int               // samples with another expected answer than their item
	most   int               // the highest replicate
	strata []string
	lowers []string                // metrics that are better if they are lower
	owners map[[2]string][2]string // the name and the source of an arm in a task, by arm and task
	// dropped are the names of metadata that have no column.
	dropped map[string]bool
}

// An item is what its first samples say of it.
type item struct {
	asked    bool      // its prompt is written
	expected eval.Hash // 0 if none is written
}

type place struct {
	item, arm string
	replicate int
}

// A Report says what an import kept.
type Report struct {
	Files    []string       `json:"files"`
	Samples  int            `json:"samples"`
	Items    int            `json:"items"`
	Arms     []string       `json:"arms"`
	Failed   int            `json:"failed"`
	Unscored map[string]int `json:"unscored,omitempty"` // by the reason
	Notes    []string       `json:"notes,omitempty"`
	Metrics  []*found       `json:"-"`
}

// found is what the values of a metric are.
type found struct {
	Name        string
	N           int
	used        bool // a sample has it, perhaps without a score
	whole       bool // all values are 0 or 1
	Least, Most float64
	declared    bool // Least and Most are the range that the format states
	Lower       bool // is better
	Original    string
}

// Note adds a line to the report of the import, such as what was left out.
func (to *Import) Note(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(to.Notes, line) {
		to.Notes = append(to.Notes, line)
	}
}

// arm is the arm of a name in a source, such as a file. The first source of a task has the
// name for it, another one gets a number behind it.
func (to *Import) arm(name, task, source string) string {
	for n, arm := 1, name; ; n++ {
		if n > 1 {
			arm = fmt.Sprintf("%s-%d", name, n)
		}
		key, owner := [2]string{arm, task}, [2]string{name, source}
		if _, ok := to.owners[key]; !ok {
			to.owners[key] = owner
			if n > 1 {
				to.Note("%s: its arm is %s, since another has the name %s", source, arm, name)
			}
		}
		if to.owners[key] == owner {
			return arm
		}
	}
}

// Declare states the range and the direction of a metric, for formats that have them.
func (to *Import) Declare(metric string, low, high float64, lowerIsBetter bool) {
	m := to.metric(metric)
	m.declared, m.Least, m.Most, m.Lower = true, low, high, lowerIsBetter
}

// lower says that a metric, if there is one, is better if it is lower.
func (to *Import) lower(metric string) { to.lowers = append(to.lowers, metric) }

// Add adds a sample.
func (to *Import) Add(s Sample) error {
	if s.Item == "" || s.Arm == "" {
		return fmt.Errorf("sample %d of the import has no item or no arm", to.Samples+1)
	}
	if !slices.Contains(to.Arms, s.Arm) {
		to.Arms = append(to.Arms, s.Arm)
	}
	if at := (place{s.Item, s.Arm, s.Replicate}); to.placed[at] {
		return fmt.Errorf("item %s has two samples of arm %s and replicate %d: an id is of one item, and an epoch of one sample", s.Item, s.Arm, s.Replicate)
	} else if s.Replicate > 0 {
		to.placed[at] = true
	}
	key := [2]string{s.Item, s.Arm}
	to.taken[key]++
	s.Replicate = cmp.Or(s.Replicate, to.taken[key])
	to.most = max(to.most, s.Replicate)
	to.Samples++
	it := to.items[s.Item]
	if it == nil {
		it = new(item)
		to.items[s.Item] = it
	}
	if s.Prompt != "" && !it.asked {
		s.Input, it.asked = s.Prompt, true
	}
	row := map[string]any{"item": s.Item, "arm": s.Arm, "replicate": s.Replicate}
	if expected := kit.Hash(s.Expected); s.Expected != "" && cmp.Or(it.expected, expected) != expected { // an item is the same for all arms
		to.other++
		row[metaPrefix+"expected"], s.Expected = strings.ToValidUTF8(s.Expected, "\ufffd"), ""
	} else if s.Expected != "" {
		it.expected = expected
	}
	for column, value := range map[string]string{"cluster": s.Cluster, "input": s.Input, "expected": s.Expected, "answer": s.Answer, "error": s.Error} {
		if value != "" {
			row[column] = strings.ToValidUTF8(value, "\ufffd")
		}
	}
	for _, l := range s.Strata {
		name := columnName(l.Name, "stratum")
		if row[name] = l.Value; !slices.Contains(to.strata, name) {
			to.strata = append(to.strata, name)
		}
	}
	for _, l := range s.Facts {
		if name := metaPrefix + columnName(l.Name, "fact"); row[name] == nil {
			row[name] = l.Value
		}
	}
	for column, x := range s.Used {
		if x >= 0 && !math.IsInf(x, 1) {
			row[column] = x
		}
	}
	if s.Simulated {
		row["simulated"] = true
	}
	if s.Error != "" {
		to.Failed++
		s.Scores = nil
	}
	seen := map[string]bool{}
	for _, score := range s.Scores {
		name := score.Metric
		for n := 2; seen[name]; n++ {
			name = score.Metric + "_" + strconv.Itoa(n)
			to.Note("a sample has several scores %q: one is called %s", score.Metric, name)
		}
		seen[name] = true
		m := to.metric(name)
		m.used = true
		if score.Unscored == "" && (math.IsNaN(score.Value) || math.IsInf(score.Value, 0)) {
			score.Unscored = noNumber
		}
		if score.Unscored != "" {
			to.Unscored[score.Unscored]++
			row[m.Name], row[given.UnscoredPrefix+m.Name] = nil, score.Unscored
			continue
		}
		m.add(score.Value)
		row[m.Name] = score.Value
	}
	return to.lines.Encode(row)
}

// metric finds or adds a metric by the name that a format gives it.
func (to *Import) metric(original string) *found {
	for _, m := range to.Metrics {
		if m.Original == original {
			return m
		}
	}
	m := &found{Original: original, Lower: slices.Contains(to.lowers, original), Name: columnName(original, "score"), whole: true, Least: math.Inf(1), Most: math.Inf(-1)}
	for n := 2; slices.ContainsFunc(to.Metrics, func(o *found) bool { return o.Name == m.Name }); n++ {
		m.Name = columnName(original, "score") + "_" + strconv.Itoa(n)
	}
	if m.Name != original {
		to.Note("metric %q is called %s", original, m.Name)
	}
	to.Metrics = append(to.Metrics, m)
	return m
}

func (m *found) add(x float64) {
	m.N++
	m.whole = m.whole && (x == 0 || x == 1)
	if !m.declared {
		m.Least, m.Most = min(m.Least, x), max(m.Most, x)
	}
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// What is shown beside an item has columns with metaPrefix, and reasons have one with that of the
// suite: no metric or stratum has. No metric has the name of a stratum: what a sample says of
// itself is no score.
const metaPrefix = "meta_"

var strata = []string{"task", "evaluation", "category"}

// columnName makes a name valid for a metric or a stratum; one that the suite uses for
// something else gets what behind it.
func columnName(name, what string) string {
	name = strings.Trim(unsafe.ReplaceAllString(name, "_"), "_.-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimSuffix(what+"_"+name, "_")
	}
	if strings.HasPrefix(name, metaPrefix) || strings.HasPrefix(name, given.UnscoredPrefix) {
		name = what + "_" + name
	}
	if slices.Contains(given.Columns(), name) || what == "score" && slices.Contains(strata, name) {
		name += "_" + what
	}
	return name
}

var formats = []Format{inspect, lmEval, promptfoo, deepEval, eee, nemo, harbor}

// Imports lists the formats as imports of the suite.
func Imports() (list []kit.Import) {
	for _, f := range formats {
		list = append(list, kit.Import{Name: f.Name, Doc: f.Doc, Folder: f.into})
	}
	return list
}

func newImport(format string) *Import {
	return &Import{format: format, Report: Report{Unscored: map[string]int{}}, items: map[string]*item{}, taken: map[[2]string]int{}, placed: map[place]bool{}, owners: map[[2]string][2]string{}, dropped: map[string]bool{}}
}

// into reads files and writes the study into a folder.
func (f Format) into(files []string, dir string) (fmt.Stringer, error) {
	for i, name := range files {
		if slices.ContainsFunc(files[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }) {
			return nil, fmt.Errorf("%s is given twice, and its samples would count twice: name it once", name)
		}
	}
	to := newImport(f.Name)
	var reading error // is not of the file that is written
	written, err := kit.WriteFiles(dir, []kit.File{
		{Path: "scores.jsonl", Write: func(w io.Writer) error {
			to.lines = json.NewEncoder(w)
			to.lines.SetEscapeHTML(false)
			if reading = f.Read(files, to); reading != nil {
				return reading
			}
			to.Metrics = slices.DeleteFunc(to.Metrics, func(m *found) bool {
				if !m.used {
					to.Note("metric %q is left out: no sample has it", m.Original)
				}
				return !m.used
			})
			slices.SortStableFunc(to.Metrics, func(a, b *found) int { return min(b.N, 1) - min(a.N, 1) }) // the first is the primary one
			if len(to.dropped) > 0 {
				to.Note("metadata left out, lists, objects or texts above %d bytes: %s", longestFact, text.Shorten(strings.Join(sortedKeys(to.dropped), ", "), 400))
			}
			if to.Samples == 0 {
				return fmt.Errorf("%s: no samples found", strings.Join(files, ", "))
			}
			if len(to.Metrics) == 0 {
				return fmt.Errorf("%s: none of %s has a score", strings.Join(files, ", "), text.Plural(to.Samples, "sample", "samples"))
			}
			if to.other > 0 {
				to.Note("%s another expected answer than the first of its item: it is in meta_expected", text.Plural(to.other, "sample has", "samples have"))
			}
			if all := len(to.items) * len(to.Arms); all > len(to.taken) {
				apart := ""
				if slices.Contains(to.strata, "task") {
					apart = "; import the files of one task at a time"
				}
				to.Note("%d of %d pairs of an item and an arm have no sample, and count as failed trials: arms are compared by the items that both have%s", all-len(to.taken), all, apart)
			}
			return nil
		}},
		{Path: "study.yaml", Write: func(w io.Writer) error {
			_, err := io.WriteString(w, to.study(kit.StudyName(dir, "imported"), files))
			return err
		}},
	})
	if err != nil {
		return nil, cmp.Or(reading, err)
	}
	to.Files, to.Items = written, len(to.items)
	return to.Report, nil
}

//go:embed study.tmpl
var templates string

// written is the study file, or what a report says.
var written = text.Templates(templates, template.FuncMap{"quoted": kit.PlainJSON})

// study is the study file.
func (to *Import) study(name string, files []string) string {
	var from []string
	for _, f := range files {
		from = append(from, filepath.Base(f))
	}
	return written("study", map[string]any{"Format": to.format, "Files": from, "Name": name, "Strata": to.strata, "Metrics": to.Metrics,
		"Replicates": to.most, "Arms": given.ArmIDs(to.Arms)})
}

// Binary, Unbounded and Bounded say what values a metric has, at most one of them.
func (m *found) Binary() bool {
	return m.N > 0 && m.whole && (!m.declared || m.Least == 0 && m.Most == 1)
}

func (m *found) Unbounded() bool {
	return math.IsInf(m.Most-m.Least, 0) || !m.declared && (m.Least < 0 || m.Most > 1)
}

func (m *found) Bounded() bool { return m.declared && (m.Least != 0 || m.Most != 1) }

// firstLine is the first line of a message, shortened.
func firstLine(s string) string { return text.Shorten(text.FirstLine(strings.TrimSpace(s)), 200) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// String has a line for each fact.
func (r Report) String() string { return written("report", r) }
