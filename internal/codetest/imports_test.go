package codetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/scruple-eval/scruple/"

// rules list the allowed imports by prefix of the importing package; the first
// match applies. A package without a rule fails the test, so that new packages are
// placed deliberately.
var rules = []struct {
	pkg    string
	may    []string // packages of this module, by prefix
	never  []string // other packages, by prefix
	reason string
}{
	{"stats", nil, []string{"net", "database", "os", "time"},
		"stats is a public library of pure functions: it knows nothing of Scruple and does no I/O"},
	{"internal/stable", nil, []string{"net", "database", "os", "time"},
		"a number drawn by name is arithmetic, and does not know what is drawn"},
	{"internal/procedure", []string{"stats", "internal/measure", "internal/text", "internal/table"}, []string{"net", "database", "time"},
		"a procedure is an interface to stats: no study, no store, no model"},
	{"internal/measure", []string{"internal/eval"}, []string{"net", "database", "os", "time"},
		"measures are arithmetic on rankings, sets and graphs, independent of suites"},
	{"internal/say", nil, []string{"net", "database", "os", "time", "github.com", "golang.org"},
		"numbers and text are written without knowing what they mean; every package but stats may use it"},
	{"internal/eval", nil, []string{"net", "database", "os", "time", "github.com", "gopkg.in", "golang.org"},
		"the vocabulary is stdlib only and does no I/O"},
	{"internal/text", []string{"internal/eval"}, []string{"net", "database", "os"},
		"text works on strings in memory"},
	{"internal/errno", nil, []string{"net", "database", "os", "time", "github.com"},
		"numbers of the system, and the names that Windows has for its own"},
	{"internal/disk", []string{"internal/errno"}, []string{"net", "database", "time", "github.com"},
		"files are written without knowing what they hold; it is the standard library and the locks of Windows"},
	{"internal/dataset", []string{"internal/eval", "internal/text"}, []string{"net/http", "database"},
		"data are read from files, independent of suites"},
	{"internal/study", []string{"internal/text"}, []string{"net/http", "database"},
		"a study file is read before anything is opened"},
	{"internal/embed", []string{"internal/text"}, []string{"net", "database", "os", "time"},
		"an embedding is arithmetic on a text, or what a provider returned"},
	{"internal/model", []string{"internal/eval", "internal/text", "internal/model", "internal/dataset", "internal/table", "internal/disk", "internal/errno", "internal/study", "internal/embed"}, []string{"database"},
		"clients know the vocabulary and their provider; no journal, no suite"},
	{"internal/suites/rerank/sqltable", nil, []string{"net", "os"},
		"a model's SQL runs on tables in memory and knows neither data nor suite"},
	{"internal/table", []string{"internal/dataset", "internal/text"}, []string{"net", "database", "os"},
		"a table is read without knowing what its columns mean"},
	{"internal/sampling", []string{"internal/stable", "internal/text", "internal/dataset", "internal/ledger", "internal/table"}, []string{"net", "database"},
		"a sample is drawn from a list before there is a study"},
	{"internal/ledger", []string{"internal/dataset", "internal/disk"}, []string{"net", "database"},
		"a ledger chains lines and does not know what they mean"},
	{"internal/discipline", []string{"internal/eval", "internal/text", "internal/dataset", "internal/study", "internal/ledger", "internal/plan", "internal/store", "internal/analyse"}, []string{"net", "database", "os"},
		"what may run on TEST and be shown follows from the ledger, the plan and what stores say of runs: no suite, no model, and no answer is read"},
	{"internal/spanfile", []string{"internal/text", "internal/dataset", "internal/table", "internal/measure/span"}, []string{"net", "database", "os", "time"},
		"files of labelled texts are read and written without knowing a suite or a task of people"},
	{"internal/annotate", []string{"internal/stable", "internal/eval", "internal/measure", "internal/text", "internal/dataset", "internal/disk", "internal/study", "internal/ledger", "internal/serve", "internal/keys", "internal/spanfile", "internal/table", "stats"}, []string{"database"},
		"people judge what a bench shows them: no model, and the store only through a small interface"},
	{"internal/suites/spans/snapshot", []string{"internal/eval", "internal/measure", "internal/text", "internal/spanfile", "internal/suites/spans/label", "internal/suites/spans/verdict", "stats"}, []string{"net", "database", "time"},
		"the summary in a snapshot has intervals, and is written without the analysis of a run"},
	{"internal/suites/extraction/synthetic", []string{"internal/text"}, []string{"net", "database", "os"},
		"synthetic documents depend on their seed alone; time is for the calendar"},
	{"internal/suites/suitetest", []string{"internal/bundle", "internal/eval", "internal/study", "internal/model/simulated", "internal/run", "internal/store", "internal/experiment", "internal/report", "internal/suites/kit"}, []string{"net"},
		"the tests of every suite take its studies through the program; they know no suite"},
	{"internal/suites/kit", []string{"internal/eval", "internal/measure", "internal/text", "internal/dataset", "internal/disk", "internal/table", "internal/study", "internal/model/simulated"}, []string{"net", "database", "time"},
		"code shared by all suites knows no suite, store or client of models; it encodes the answers of simulated models"},
	{"internal/suites/extraction/benchmark", []string{"internal/dataset", "internal/measure", "internal/suites/kit", "internal/text"}, []string{"net", "database"},
		"public benchmarks become data of one suite: no store, no model"},
	{"internal/suites", []string{"internal/stable", "internal/eval", "internal/text", "internal/measure", "internal/dataset", "internal/table", "internal/spanfile", "internal/study", "internal/suites", "internal/effort", "internal/model/simulated"},
		[]string{"net", "database", "time"},
		"suites know only their task: no store, network, clock or statistics"},
	{"internal/effort", []string{"internal/eval"}, []string{"net", "database", "os", "time"},
		"what an answer takes is arithmetic on the calls of the journal"},
	{"internal/evalout", []string{"internal/effort", "internal/eval", "internal/disk"}, []string{"net", "database"},
		"a run is written for other tools from its trials: no store, no suite, and the sender is an argument"},
	{"internal/columnar", nil, []string{"net", "database", "os", "time"},
		"a table is written without knowing what its columns mean"},
	{"internal/evallog", []string{"internal/effort", "internal/eval", "internal/text", "internal/dataset", "internal/suites/given", "internal/suites/kit"}, []string{"net", "database"},
		"results of other tools become data of one suite: no store, no model"},
	{"internal/plan", []string{"internal/eval", "internal/study", "stats/dist"}, []string{"net", "database", "os"},
		"planning makes no calls and opens no files; an estimate has a margin of error"},
	{"internal/run", []string{"internal/eval", "internal/text", "internal/model"}, []string{"database", "net", "os"},
		"the engine sees models and the journal through small interfaces"},
	{"internal/store", []string{"internal/eval", "internal/disk", "internal/errno", "internal/columnar", "internal/ledger", "internal/study"}, []string{"net/http"},
		"the store stores the types of the vocabulary without interpreting them, and finds the studies beside it by name"},
	{"internal/score", []string{"internal/eval"}, []string{"net", "database", "os", "time"},
		"scoring is arithmetic on stored data: no model"},
	{"internal/analyse", []string{"internal/eval", "internal/text", "internal/study", "stats"}, []string{"net", "database", "os", "time"},
		"analysis is arithmetic on fractions: no model, no clock"},
	{"internal/gate", []string{"internal/eval", "internal/text", "internal/study", "internal/analyse"}, []string{"net", "database", "os", "time"},
		"a gate reads one analysis and computes no statistics"},
	{"internal/power", []string{"internal/eval", "internal/study", "internal/analyse", "internal/gate", "stats"}, []string{"net", "database", "os", "time"},
		"power simulates scores for analysis and gate: no trials, no model, no store"},
	{"internal/report", []string{"internal/eval", "internal/text", "internal/analyse", "internal/gate"}, []string{"net/http", "database", "os", "time"},
		"a report shows one analysis and one verdict: no model, no clock"},
	{"internal/experiment", []string{"internal/eval", "internal/text", "internal/dataset", "internal/embed", "internal/study", "internal/suites/kit", "internal/plan", "internal/run", "internal/store", "internal/score", "internal/effort",
		"internal/discipline", "internal/analyse", "internal/gate", "internal/power", "stats"}, []string{"net", "database", "os", "github.com", "golang.org"},
		"an experiment connects the stages and returns data: suites, prices, models, the clock and the stop signal are arguments, and callers do the printing"},
	{"internal/blind", []string{"internal/dataset", "internal/disk", "internal/study", "internal/ledger", "internal/analyse"}, []string{"net", "database"},
		"a kit is a folder with a protocol: who runs it knows suites, models and stores"},
	{"internal/worker", []string{"internal/eval", "internal/run", "internal/store", "internal/experiment"}, []string{"net", "os", "os/exec"},
		"workers take part in runs that they are given, with their models: they know the queue and the store, and neither suites nor providers"},
	{"internal/bundle", []string{"internal/text", "internal/dataset", "internal/disk", "internal/study", "internal/ledger", "internal/annotate", "internal/store", "internal/experiment", "internal/analyse"},
		[]string{"net", "database", "os/exec"},
		"a bundle packs a run and computes it again: suites and formats of reports are arguments, and it asks nothing"},
	{"internal/appendix", []string{"internal/eval", "internal/text", "internal/study", "internal/suites/kit", "internal/annotate", "internal/analyse", "internal/report"},
		[]string{"net", "database", "os"},
		"appendices are made of an analysis and of people's work: they know no suite and compute nothing"},
	{"internal/view", []string{"internal/eval", "internal/text", "internal/analyse", "internal/gate", "internal/report", "internal/store", "internal/experiment", "internal/keys", "internal/serve"}, []string{"database"},
		"a viewer reads a store and shows it: it knows no suite, provider or command, and sends no request"},
	{"internal/serve", []string{"internal/errno"}, []string{"database", "github.com", "golang.org"},
		"serve decides who may talk to a local server, not what is said; it is net/http alone"},
	{"internal/keys", nil, []string{"net", "os", "github.com", "golang.org"}, "a script and a style of pages"},
	{"internal/codetest", nil, nil, "looks at source only"},
	{"internal/postgrestest", nil, []string{"net/http"}, "a server for tests, which knows no store"},
	{"cmd/scruple", []string{"internal/", "stats"}, nil,
		"only the command names suites and providers, reads flags and prints"},
	{"tools/validity", []string{"internal/eval", "internal/study", "internal/suites/kit", "internal/run", "internal/store", "internal/experiment", "internal/gate"}, []string{"net"},
		"validity takes simulated studies through the program as a command does; it judges stats, so it does not use it"},
	{"tools/convert/osm", []string{"internal/suites/rerank"}, []string{"net", "database"},
		"a converter reads files and writes the data of an example"},
	{"tools/convert/documents", []string{"internal/dataset", "internal/text"}, []string{"net", "database"},
		"likewise; it knows the data of the extraction suite and none of its code"},
	{"tools/convert", nil, nil, "the command only selects a converter"},
	{"tools", nil, nil, "tools measure the program from outside"},
}

type file struct {
	dir, path string
	syntax    *ast.File
}

// sources are all Go files of the module, tests included.
func sources(t *testing.T) []file {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found %d files: the walk went wrong", len(files))
	}
	return files
}

// parsed parses them, once for all tests.
var parsed = sync.OnceValues(func() (files []file, err error) {
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel), syntax})
		return nil
	})
	return files, err
})

func under(path, prefix string) bool {
	return path == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/")
}

func TestImportsPointOneWay(t *testing.T) {
	used := make([]bool, len(rules))
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue // tests may use anything
		}
		i := slices.IndexFunc(rules, func(r struct {
			pkg    string
			may    []string
			never  []string
			reason string
		}) bool {
			return under(f.dir, r.pkg)
		})
		if i < 0 {
			t.Errorf("%s: package %s has no rule in codetest: say what it may import, and why", f.path, f.dir)
			continue
		}
		r := rules[i]
		used[i] = true
		for _, imp := range f.syntax.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if ours, ok := strings.CutPrefix(path, module); ok {
				if ours == "internal/say" && f.dir != "stats" {
					continue
				}
				if !slices.ContainsFunc(r.may, func(p string) bool { return under(ours, p) }) && !under(ours, r.pkg) {
					t.Errorf("%s imports %s: %s", f.path, ours, r.reason)
				}
			} else if slices.ContainsFunc(r.never, func(p string) bool { return under(path, p) }) {
				t.Errorf("%s imports %s: %s", f.path, path, r.reason)
			}
		}
	}
	for i, ok := range used {
		if !ok {
			t.Errorf("the rule of %s is the first that matches for no package: remove it, or move it up", rules[i].pkg)
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		documented[f.dir] = documented[f.dir] || f.syntax.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment: say what it is for and what it must not know", dir)
		}
	}
}

func TestNoHiddenWiring(t *testing.T) {
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s has an init(): registries are functions that return a list", f.path)
			}
		}
		switch name := f.syntax.Name.Name; name {
		case "util", "utils", "common", "helpers", "types", "models":
			t.Errorf("%s: package %s says nothing of what it holds", f.path, name)
		}
	}
}
