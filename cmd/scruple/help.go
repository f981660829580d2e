package main

import (
	"context"
	_ "embed" // help.md
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/annotate"
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
	flags       []string
}

// topics are the commands in the order of work.
var topics = sync.OnceValue(func() (list []topic) {
	written := strings.NewReplacer("{{IMPORTS}}", importFormats(), "{{EXPORTS}}", exportFormats(),
		"{{ITEMS}}", explained(), "{{RESULT}}", analyse.BlindFormat, "{{ANSWERS}}", strings.Join(annotate.Formats(), " | "))
	for _, section := range strings.Split(written.Replace(helpText), "\n# ")[1:] {
		entries := strings.Split(section, "\n## ")
		for _, entry := range entries[1:] {
			head, body, _ := strings.Cut(entry, "\n")
			words := strings.Fields(head)
			at := slices.IndexFunc(append(words, "END"), func(w string) bool { return w[0] < 'a' })
			t := topic{group: strings.TrimSpace(entries[0]), path: strings.Join(words[:at], " "), args: words[at:]}
			t.short, body, _ = strings.Cut(body, "\n")
			t.examples, body = indented(body, "scruple ")
			t.flags, body = indented(body, "-")
			t.long = strings.Trim(body, "\n")
			list = append(list, t)
		}
	}
	return list
})

// indented splits off the lines that begin with four spaces and a word.
func indented(body, word string) (lines []string, rest string) {
	rest = strings.TrimLeft(body, "\n")
	for strings.HasPrefix(rest, "    "+word) {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, rest
}

// The form of a flag in help.md, and of what it is by default.
var (
	flagForm    = regexp.MustCompile(`^(?:-(\w), )?--([a-z-]+)(?: (\w+))?  (.*)$`)
	defaultForm = regexp.MustCompile(` \(default (?:"([^"]*)"|([0-9]\S*))\)$`)
)

// addFlag gives a command a flag of help.md.
func addFlag(to *pflag.FlagSet, line string) {
	form := flagForm.FindStringSubmatch(line)
	short, name, doc, given := form[1], form[2], form[4], ""
	if d := defaultForm.FindStringSubmatch(doc); d != nil {
		doc, given = strings.TrimSuffix(doc, d[0]), d[1]+d[2]
	}
	switch form[3] {
	case "":
		to.BoolP(name, short, false, doc)
	case "string":
		to.StringP(name, short, given, doc)
	case "strings":
		to.StringSliceP(name, short, nil, doc)
	case "stringArray":
		to.StringArrayP(name, short, nil, doc)
	case "int":
		n, _ := strconv.Atoi(given)
		to.IntP(name, short, n, doc)
	case "float":
		to.Float64P(name, short, 0, doc)
	case "duration":
		d, _ := time.ParseDuration(given)
		to.DurationP(name, short, d, doc)
	default:
		panic("help.md: a flag of another kind: " + line)
	}
}

// called finds a topic.
func called(path string) topic {
	i := slices.IndexFunc(topics(), func(t topic) bool { return t.path == path })
	if i < 0 {
		panic("help.md has no " + path)
	}
	return topics()[i]
}

// A verb is what a command of help.md opens and does.
type verb struct {
	opens need
	do    func(*app, *opened) error
}

// verbs are those of help.md. A command without one is a group of those below it.
var verbs = map[string]verb{
	"init": {nothing, (*app).init}, "validate": {nothing, (*app).validate},
	"plan": {itsStore, (*app).plan}, "run": {nothing, (*app).runVerb},
	"status": {nothing, (*app).status}, "worker": {nothing, (*app).work}, "stop": {aRun, (*app).stop},
	"show": {nothing, (*app).show}, "report": {aShownRun, (*app).report},
	"view": {nothing, (*app).view}, "compare": {nothing, (*app).compare},
	"annotate": {nothing, (*app).annotate}, "gate": {nothing, (*app).gateVerb},
	"test revise": {nothing, (*app).revise}, "test register": {storeOfTest, (*app).register},
	"test unblind": {nothing, (*app).unblind}, "test lock": {theStudy, (*app).lock},
	"test ledger show":   {nothing, (*app).ledgerShow},
	"test ledger merge":  {nothing, (*app).ledgerMerge},
	"test ledger verify": {itsStore, (*app).ledgerVerify}, "blind build": {nothing, (*app).buildKit},
	"blind commit": {nothing, (*app).commitKit}, "blind run": {nothing, (*app).runKit},
	"blind commitment": {theStudy, (*app).blindCommitment},
	"blind result":     {theStudy, (*app).blindResult}, "score": {itsRun, (*app).score},
	"preflight": {theStudy, (*app).preflight}, "doctor": {nothing, (*app).doctor},
	"archive": {nothing, (*app).archive}, "bundle": {nothing, (*app).bundle},
	"verify": {nothing, (*app).verify}, "import": {nothing, (*app).importData},
	"export": {nothing, (*app).export}, "schema": {nothing, (*app).schema},
	"stats": {nothing, (*app).stats}, "extraction embed": {itsRun, (*app).embed},
	"rerank explain": {nothing, (*app).explain}, "soundness sample": {nothing, (*app).sample},
	"soundness track": {nothing, (*app).track}, "soundness appendix": {theStudy, (*app).appendix},
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
		first = mapped(importing(), func(i ownImport) string { return i.Name })
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
			list := flag.Usage[strings.LastIndex(flag.Usage, ":")+1:]
			values := mapped(strings.FieldsFunc(list, func(r rune) bool { return r == '|' || r == ',' }), strings.TrimSpace)
			values = slices.DeleteFunc(values, func(v string) bool { return strings.Contains(v, " ") })
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
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
		&cobra.Command{Use: "rules", Short: "the results that rules of a study can name", Long: "Rules are expressions over named results:\n\n" + gate.Help() + ruleLanguage})
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
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		show := help.Run
		help.Run, help.RunE = nil, func(c *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 && of.HasSubCommands() {
				return fmt.Errorf("help: there is no command or topic %q; `scruple --help --all` lists them", strings.Join(args, " "))
			}
			show(c, args)
			return nil
		}
	}
	root.SetUsageTemplate(root.UsageTemplate() + `{{with .Annotations.notes}}
{{.}}
{{end}}`)
}

// ruleLanguage names what rules are made of, beside results.
const ruleLanguage = `
They are joined by and, or, not (&&, ||, !), compared by < <= > >= == !=, and computed with by
+ - * / and abs, max, min. Texts are compared by ==, in [...], contains, startsWith and matches,
of a regular expression. It is the language of https://expr-lang.org; filters of view have it too.
`

// made makes the command of a topic.
func (a *app) made(t topic) *cobra.Command {
	if of := verbs[t.path]; of.do != nil {
		return a.verb(t.path, of)
	}
	above, name := splitLast(t.path)
	for _, s := range suites.All() {
		for _, own := range s.Commands {
			if s.Name == above && own.Name == name {
				return a.suiteCommand(t.path, own)
			}
		}
	}
	c := a.verb(t.path, verb{do: func(_ *app, o *opened) error {
		have := strings.Join(mapped(o.cmd.Commands(), (*cobra.Command).Name), ", ")
		if len(o.args) == 0 {
			return fmt.Errorf("%s: name one of %s", t.path, have)
		}
		return fmt.Errorf("%s: there is no %q; name one of %s", t.path, o.arg, have)
	}})
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
	var shown []*cobra.Command
	for _, c := range root.Commands() {
		if slices.Contains(front, c.Name()) {
			shown = append(shown, c)
		}
	}
	fmt.Fprint(root.OutOrStdout(), filled("front", map[string]any{"Long": root.Long, "Verbs": shown}))
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
