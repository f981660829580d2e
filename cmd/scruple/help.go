package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/procedure"
	"github.com/scruple-eval/scruple/internal/suites"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// A step is a group of verbs in the order of work.
type step struct {
	title string
	verbs []example
}

// An example is a verb with command lines for its help. A test runs those of all
// verbs in their order, as one session.
type example struct {
	verb  *cobra.Command
	lines []string
}

// offerNames has the shell complete suites, formats and methods.
func offerNames(c *cobra.Command) {
	for _, sub := range c.Commands() {
		offerNames(sub)
	}
	var first []string // the first argument
	switch c.Name() {
	case "init":
		first = namesOf(suites.All(), func(s kit.Suite) string { return s.Name })
	case "stats":
		first = namesOf(procedure.All(), func(p procedure.Procedure) string { return p.Name })
	case "import":
		for _, s := range suites.All() {
			first = append(first, namesOf(s.Imports, func(i kit.Import) string { return i.Name })...)
		}
	}
	if first != nil {
		c.ValidArgsFunction = func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(given) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return first, cobra.ShellCompDirectiveNoFileComp
		}
	}
	// The help of these flags lists their values: "terminal | markdown | json | html".
	for _, name := range []string{"format", "table", "export"} {
		if flag := c.Flags().Lookup(name); flag != nil {
			var values []string
			for v := range strings.SplitSeq(flag.Usage[strings.LastIndex(flag.Usage, ":")+1:], " | ") {
				if word, _, _ := strings.Cut(strings.TrimSpace(v), ","); !strings.Contains(word, " ") {
					values = append(values, word)
				}
			}
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

func namesOf[T any](list []T, name func(T) string) (names []string) {
	for _, x := range list {
		names = append(names, name(x))
	}
	return names
}

// steps returns the verbs in the order in which help lists them.
func (a *app) steps() []step {
	own := suiteVerbs(a)
	ofSuites := func(name string, lines ...string) example {
		i := slices.IndexFunc(own, func(c *cobra.Command) bool { return c.Name() == name })
		v := own[i]
		own = slices.Delete(own, i, i+1)
		return example{v, lines}
	}
	steps := []step{
		{"Start a study", []example{
			{initVerb(a), []string{"scruple init extraction mine", "scruple init rerank shop"}},
			{validateVerb(a), []string{"scruple validate mine/study.yaml"}},
			{planVerb(a), []string{"scruple plan mine/study.yaml", "scruple plan mine/study.yaml -o execution.replicates=3"}},
		}},
		{"Run it", []example{
			{runVerb(a), []string{"scruple run mine/study.yaml --gate", "scruple run shop/study.yaml"}},
			{reviseVerb(a), []string{"scruple revise phase1.yaml --hypothesis \"dates are missed\" --change \"name the date formats\""}},
			{preregisterVerb(a), []string{"scruple preregister phase1.yaml"}},
			{unblindVerb(a), []string{"scruple unblind phase1.yaml -o statistics.alpha=0.01 --reason \"a stricter level\""}},
			{statusVerb(a), []string{"scruple status mine/study.yaml"}},
		}},
		{"See what came of it", []example{
			{showVerb(a), []string{"scruple show mine/study.yaml --worst 10", "scruple show mine/study.yaml cuad-00c463d350"}},
			{reportVerb(a), []string{"scruple report mine/study.yaml --verbose", "scruple report mine/study.yaml --format markdown --out report.md"}},
			{viewVerb(a), []string{"scruple view mine/study.yaml --check"}},
			{compareVerb(a), []string{"scruple compare mine/study.yaml --metric composite"}},
			{explainVerb(a), []string{"scruple explain shop/study.yaml R01", "scruple explain shop/study.yaml R01 i01"}},
		}},
		{"Let people judge", []example{
			{annotateVerb(a), []string{"scruple annotate mine/study.yaml --as anna", "scruple annotate mine/study.yaml --agreement"}},
			{appendixVerb(a), []string{"scruple appendix judged/study.yaml"}},
			{lockVerb(a), []string{"scruple lock shop/study.yaml shop/data/requests.jsonl --sign Anna --declare checked"}},
			{ledgerVerb(a), []string{"scruple ledger show mine/study.yaml", "scruple ledger verify mine/study.yaml"}},
		}},
		{"Decide", []example{
			{gateVerb(a), []string{"scruple gate mine/study.yaml", "scruple gate mine/study.yaml --format junit --out gate.xml"}},
		}},
		{"Score again and check", []example{
			{scoreVerb(a), []string{"scruple score mine/study.yaml"}},
			{preflightVerb(a), []string{"scruple preflight mine/study.yaml"}},
			{doctorVerb(a), []string{"scruple doctor mine/study.yaml"}},
		}},
		{"Share it", []example{
			{bundleVerb(a), []string{"scruple bundle mine/study.yaml --out mine.zip"}},
			{verifyVerb(a), []string{"scruple verify mine.zip"}},
			{kitVerb(a), []string{"scruple kit build mine/study.yaml --out mine-kit"}},
		}},
		{"Data in and out", []example{
			{sampleVerb(a), []string{"scruple sample reports.csv --n 2 --include type=Impact"}},
			{trackVerb(a), []string{"scruple track sample.csv"}},
			{importVerb(a), []string{"scruple import conll tagged.conll --out texts.jsonl"}},
			ofSuites("generate", "scruple generate rerank made --items 60 --reviews 600 --requests 20"),
			{embedVerb(a), []string{"scruple embed mine/study.yaml"}},
			{exportVerb(a), []string{"scruple export mine/study.yaml --table outcomes --format csv", "scruple export shop/study.yaml --format trec --out trec"}},
			{schemaVerb(a), []string{"scruple schema extraction"}},
		}},
		{"Numbers of your own", []example{
			{statsVerb(a), []string{"scruple stats --list", "scruple stats paired_t_test"}},
			ofSuites("measure", "scruple measure ranking --run trec/bm25_n10.run --qrels trec/qrels.txt"),
		}},
	}
	for _, v := range own { // verbs that only suites know
		last := &steps[len(steps)-1]
		last.verbs = append(last.verbs, example{verb: v})
	}
	return steps
}

// inOrder keeps the verbs in the order of work. Cobra sorts them unless told not to,
// for the whole process.
var inOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// addVerbs adds all verbs, in groups.
func (a *app) addVerbs(root *cobra.Command) {
	inOrder()
	for _, s := range a.steps() {
		root.AddGroup(&cobra.Group{ID: s.title, Title: s.title + ":"})
		for _, e := range s.verbs {
			e.verb.GroupID = s.title
			e.verb.Example = indented(e.lines)
			for _, sub := range e.verb.Commands() {
				sub.Example = indented(slices.DeleteFunc(slices.Clone(e.lines), func(line string) bool {
					return !strings.HasPrefix(line+" ", "scruple "+e.verb.Name()+" "+sub.Name()+" ")
				}))
			}
			a.takeStudy(e.verb)
			root.AddCommand(e.verb)
		}
	}
	// A command that does nothing is a topic of help.
	root.AddCommand(
		&cobra.Command{Use: "exit-codes", Short: "what the exit code of a command says", Long: exitCodes},
		&cobra.Command{Use: "rules", Short: "the results that rules of a study can name", Long: "Rules are expressions over named results:\n\n" + gate.Help()})
	all := root.Flags().Bool("all", false, "list all commands")
	showHelp := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root && !*all {
			frontPage(root)
			return
		}
		a.showSuiteFlags(c)
		showHelp(c, args)
	})
	root.SetUsageTemplate(root.UsageTemplate() + `{{with .Annotations.notes}}
{{.}}
{{end}}`)
}

// front lists the verbs on the front page: those of most studies.
var front = strings.Fields("init validate plan run status show report view compare annotate gate stats")

// frontPage prints the help of the program.
func frontPage(root *cobra.Command) {
	w := root.OutOrStdout()
	fmt.Fprintf(w, "%s\n", root.Long)
	last := ""
	for _, c := range root.Commands() {
		if !slices.Contains(front, c.Name()) {
			continue
		}
		if c.GroupID != last {
			last = c.GroupID
			fmt.Fprintf(w, "\n%s:\n", last)
		}
		fmt.Fprintf(w, "  %-10s %s\n", c.Name(), c.Short)
	}
	fmt.Fprint(w, `
More:
  scruple COMMAND --help    arguments, flags and examples of a command
  scruple --help --all      all commands
  scruple help rules        the results that rules of a study can name
  scruple help exit-codes   what the exit code of a command says
`)
}

// indented returns lines as help shows them.
func indented(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "  " + strings.Join(lines, "\n  ")
}

// showSuiteFlags shows in the help of a verb the flags of the suite of the study that
// the command line names, or says how to see them.
func (a *app) showSuiteFlags(c *cobra.Command) {
	if !takesStudy(c) {
		return
	}
	note := fmt.Sprintf("`%s STUDY --help` also lists the flags of the study's suite.", c.CommandPath())
	if suite, err := a.suiteOf(context.WithoutCancel(c.Context()), c.Flags().Args()); err == nil {
		note = fmt.Sprintf("Suite %s has no flags of its own.", suite.Name)
		for _, s := range suite.Shortcuts {
			c.Flags().Lookup(s.Flag).Hidden = false
			note = ""
		}
	}
	if hasDefault(c) {
		note = strings.TrimSpace(note + "\nWithout STUDY|RUN, the study is " + defaultStudy + " in the current folder.")
	}
	c.Annotations = map[string]string{"notes": note}
}
