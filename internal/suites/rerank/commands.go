package rerank

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/measure/trec"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/generate"
	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed measure.txt
var measureHelp string

// measureCommand measures rankings of other programs.
func measureCommand() kit.Command {
	return kit.Command{
		Name:  "measure",
		Short: "measure a TREC run against judgements, as trec_eval does",
		Long:  measureHelp,
		New: func(f *flag.FlagSet) func(kit.Call) (fmt.Stringer, error) {
			run := f.String("run", "", "run file, - for standard input")
			qrels := f.String("qrels", "", "judgements, - for standard input")
			perQuery := f.Bool("per-query", false, "also print every query")
			return func(c kit.Call) (fmt.Stringer, error) { return measureRanking(c, *run, *qrels, *perQuery) }
		},
	}
}

func measureRanking(c kit.Call, runFile, qrelsFile string, perQuery bool) (fmt.Stringer, error) {
	if runFile == "" || qrelsFile == "" {
		return nil, errors.New("--run and --qrels are both needed")
	}
	if runFile == "-" && qrelsFile == "-" {
		return nil, errors.New("only one of --run and --qrels can be -")
	}
	run, errRun := readTREC(c, runFile, trec.ReadRun)
	qrels, errQrels := readTREC(c, qrelsFile, trec.ReadQrels)
	if err := errors.Join(errRun, errQrels); err != nil {
		return nil, err
	}
	result, err := trec.Evaluate(run, qrels)
	if err != nil {
		return nil, fmt.Errorf("measuring %s against %s: %w", runFile, qrelsFile, err)
	}
	return measured{result, perQuery}, nil
}

func readTREC[T any](c kit.Call, file string, read func(io.Reader, string) (T, error)) (none T, err error) {
	r, err := c.Open(file)
	if err != nil {
		return none, err
	}
	defer r.Close()
	if file == "-" {
		file = "stdin"
	}
	data, err := io.ReadAll(r)
	if err == nil {
		data, err = dataset.Unpack(data)
	}
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", file, err)
	}
	return read(bytes.NewReader(data), file)
}

// measured is the result of measure ranking.
type measured struct {
	result   *trec.Result
	perQuery bool
}

func (m measured) Notes() []string { return m.result.Notes }

func (m measured) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"all": m.result.All, "per_query": m.result.PerQuery})
}

func (m measured) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(measure string) string) {
		fmt.Fprintf(t, "%s\t", name)
		for _, measure := range trec.Measures {
			fmt.Fprintf(t, "%s\t", cell(measure))
		}
		fmt.Fprintln(t)
	}
	values := func(v map[string]float64) func(string) string {
		return func(measure string) string { return fmt.Sprintf("%.4f", v[measure]) }
	}
	row("query", func(measure string) string { return measure })
	if m.perQuery {
		for _, q := range m.result.Queries {
			row(q, values(m.result.PerQuery[q]))
		}
	}
	row("all", values(m.result.All))
	t.Flush() // to memory
	fmt.Fprintf(&b, "\n%s\n", text.Plural(len(m.result.Queries), "query", "queries"))
	for _, note := range m.result.Notes {
		b.WriteString(note + "\n")
	}
	return b.String()
}

func generateCommand() kit.Command {
	return kit.Command{
		Name:  "generate",
		Args:  []string{"DIR"},
		Short: "generate synthetic data with known answers",
		Long: `Generates and validates a data set in DIR. The same seed and sizes give the same
data. With --from, a file of items, only the reviews, people and
requests are synthetic.`,
		New: func(f *flag.FlagSet) func(kit.Call) (fmt.Stringer, error) {
			var o generate.Options
			f.Uint64Var(&o.Seed, "seed", 42, "random seed")
			f.IntVar(&o.Items, "items", 0, "items (default 100, or all of --from)")
			f.IntVar(&o.Reviews, "reviews", 0, "reviews (default 12 per item)")
			f.IntVar(&o.Users, "users", 0, "people (default one per 10 reviews)")
			f.IntVar(&o.Requests, "requests", 60, "requests")
			from := f.String("from", "", "file of items to use")
			return func(c kit.Call) (fmt.Stringer, error) {
				notes := []string{}
				if *from != "" {
					var err error
					if o.Base, notes, err = given(*from); err != nil {
						return nil, err
					}
					o.Source = filepath.Base(*from)
				}
				d, err := generate.Generate(o)
				if err != nil {
					return nil, fmt.Errorf("generating data: %w", err)
				}
				if d.Repeated > 0 {
					notes = append(notes, fmt.Sprintf("%d of %d requests are duplicates: generate more items to avoid them", d.Repeated, o.Requests))
				}
				files, err := kit.WriteFiles(c.Args[0], d.Files())
				return kit.Written{Files: files, Notes: append([]string{}, notes...)}, err
			}
		},
	}
}

// given reads a file of items. The notes are warnings.
func given(path string) (items []*catalog.Item, notes []string, err error) {
	c, findings, err := catalog.Load(catalog.Files{Items: path})
	if err != nil {
		return nil, nil, fmt.Errorf("reading items: %w", err)
	}
	errs, notes := catalog.Split(findings)
	return c.Items, notes, study.Errors(errs).Err()
}
