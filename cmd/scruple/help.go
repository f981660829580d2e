package main

import (
	"context"
	_ "embed" // help.md
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

// helpText describes the commands.
//
//go:embed help.md
var helpText string

// A topic is a command as help.md describes it.
type topic struct {
	group       string
	path        string   // such as test register
	args        []string // such as STUDY|RUN
	short, long string
	examples    []string
}

// topics are the commands in the order of work.
var topics = sync.OnceValue(func() (list []topic) {
	for _, section := range strings.Split(helpText, "\n# ")[1:] {
		entries := strings.Split(section, "\n## ")
		for _, entry := range entries[1:] {
			head, body, _ := strings.Cut(entry, "\n")
			words := strings.Fields(head)
			at := slices.IndexFunc(append(words, "END"), func(w string) bool { return w[0] < 'a' })
			t := topic{group: strings.TrimSpace(entries[0]), path: strings.Join(words[:at], " "), args: words[at:]}
			t.short, body, _ = strings.Cut(body, "\n")
			body = strings.TrimLeft(body, "\n")
			for strings.HasPrefix(body, "    scruple ") {
				var line string
				line, body, _ = strings.Cut(body, "\n")
				t.examples = append(t.examples, strings.TrimSpace(line))
			}
			t.long = strings.Trim(body, "\n")
			list = append(list, t)
		}
	}
	return list
})

// called finds a topic.
func called(path string) topic {
	i := slices.IndexFunc(topics(), func(t topic) bool { return t.path == path })
	if i < 0 {
		panic("help.md has no " + path)
	}
	return topics()[i]
}

// verbs has what makes the commands of help.md. One without is a group of those below it.
var verbs = map[string]func(*app) *cobra.Command{
	"init": initVerb, "validate": validateVerb, "plan": planVerb,
	"run": runVerb, "status": statusVerb, "worker": workerVerb, "stop": stopVerb,
	"show": showVerb, "report": reportVerb, "view": viewVerb, "compare": compareVerb,
	"annotate": annotateVerb, "gate": gateVerb,
	"test revise": reviseVerb, "test register": registerVerb, "test unblind": unblindVerb, "test lock": lockVerb,
	"test ledger show": ledgerShowVerb, "test ledger verify": ledgerVerifyVerb,
	"blind build": blindBuildVerb, "blind commit": blindCommitVerb, "blind run": blindRunVerb,
	"blind commitment": blindCommitmentVerb, "blind result": blindResultVerb,
	"score": scoreVerb, "preflight": preflightVerb, "doctor": doctorVerb, "archive": archiveVerb,
	"bundle": bundleVerb, "verify": verifyVerb,
	"import": importVerb, "export": exportVerb, "schema": schemaVerb, "stats": statsVerb,
	"extraction embed": embedVerb, "rerank explain": explainVerb,
	"soundness sample": sampleVerb, "soundness track": trackVerb, "soundness appendix": appendixVerb,
}

// moved has the names that commands had.
var moved = map[string]string{
	"preregister": "test register", "revise": "test revise", "unblind": "test unblind", "lock": "test lock",
	"ledger": "test ledger; its commit is blind commitment, its blind is blind result", "kit": "blind",
	"generate": "extraction generate or rerank generate", "measure": "rerank measure or spans measure",
	"explain": "rerank explain", "embed": "extraction embed",
	"sample": "soundness sample", "track": "soundness track", "appendix": "soundness appendix",
}

// offerNames has the shell complete suites, formats and methods.
func offerNames(c *cobra.Command) {
	for _, sub := range c.Commands() {
		offerNames(sub)
	}
	var first []string // the first argument
	switch c.Name() {
	case "init":
		first = mapped(suites.All(), func(s kit.Suite) string { return s.Name })
	case "stats":
		first = procedure.Names()
	case "import":
		for _, s := range suites.All() {
			first = append(first, mapped(s.Imports, func(i kit.Import) string { return i.Name })...)
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

// mapped returns what a function makes of each element.
func mapped[T, R any](list []T, of func(T) R) (made []R) {
	for _, x := range list {
		made = append(made, of(x))
	}
	return made
}

// inOrder keeps the verbs in the order of work. Cobra sorts them unless told not to,
// for the whole process.
var inOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// addVerbs adds all commands, in groups.
func (a *app) addVerbs(root *cobra.Command) {
	inOrder()
	made := map[string]*cobra.Command{"": root}
	for _, t := range topics() {
		above, _ := splitLast(t.path)
		parent := made[above]
		c := a.made(t)
		if parent == root {
			if !root.ContainsGroup(t.group) {
				root.AddGroup(&cobra.Group{ID: t.group, Title: t.group + ":"})
			}
			c.GroupID = t.group
		}
		parent.AddCommand(c)
		made[t.path] = c
	}
	for old, now := range moved {
		root.AddCommand(&cobra.Command{Use: old, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return fmt.Errorf("scruple %s has another name: scruple %s", old, now)
			}})
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

// made makes the command of a topic.
func (a *app) made(t topic) *cobra.Command {
	if of := verbs[t.path]; of != nil {
		return of(a)
	}
	above, name := splitLast(t.path)
	for _, s := range suites.All() {
		for _, own := range s.Commands {
			if s.Name == above && own.Name == name {
				return a.suiteCommand(t.path, own)
			}
		}
	}
	c := a.verb(t.path, func(c *cobra.Command, args []string) error {
		have := strings.Join(mapped(c.Commands(), (*cobra.Command).Name), ", ")
		if len(args) == 0 {
			return fmt.Errorf("%s: name one of %s", t.path, have)
		}
		return fmt.Errorf("%s: there is no %q; name one of %s", t.path, args[0], have)
	})
	c.Args = cobra.ArbitraryArgs
	return c
}

// splitLast splits off the last word of the name of a command.
func splitLast(path string) (above, name string) {
	if i := strings.LastIndexByte(path, ' '); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// front lists the verbs on the front page: those of most studies.
var front = strings.Fields("init validate plan run status show report view compare annotate gate stats")

// frontPage prints the help of the program.
func frontPage(root *cobra.Command) {
	shown := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return !slices.Contains(front, c.Name()) })
	_ = texts().ExecuteTemplate(root.OutOrStdout(), "front", map[string]any{"Long": root.Long, "Verbs": shown}) // help has no error
}

// showSuiteFlags shows in the help of a verb the flags of the suite of the study that
// the command line names, or says how to see them.
func (a *app) showSuiteFlags(c *cobra.Command) {
	note := ""
	if c.Flags().Lookup("temperature") != nil {
		note = fmt.Sprintf("`%s STUDY --help` also lists the flags of the study's suite.", c.CommandPath())
		if suite, err := a.suiteOf(context.WithoutCancel(c.Context()), c.Flags().Args()); err == nil {
			note = fmt.Sprintf("Suite %s has no flags of its own.", suite.Name)
			for _, s := range suite.Shortcuts {
				c.Flags().Lookup(s.Flag).Hidden = false
				note = ""
			}
		}
	}
	if hasDefault(c) {
		note = strings.TrimSpace(note + "\nWithout STUDY, it is " + defaultStudy + " in the current folder.")
	}
	c.Annotations = map[string]string{"notes": note}
}
