package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// A mention is a command line that a text names.
type mention struct {
	words  []string
	fenced bool // in a block of code, so meant to be typed as it stands
}

func (m mention) String() string { return strings.Join(m.words, " ") }

var (
	commandLine = regexp.MustCompile(`^(?:\$ )?(?:\./)?scruple (.+?)(?:  .*)?$`) // two spaces begin an explanation
	inlineCode  = regexp.MustCompile("`(?:\\./)?scruple\\s([^`]+)`")
	continued   = regexp.MustCompile(`\\\n\s*`)
	placeholder = regexp.MustCompile(`^(\[.*|<.*|…|[A-Z]+([.|\]…].*)?)$`) // STUDY|RUN, FILE.jsonl, T, but not R01
)

// inMarkdown finds the command lines in the blocks and in the inline code of a document.
func inMarkdown(text string) []mention {
	var list []mention
	var prose strings.Builder
	fence := ""
	for line := range strings.Lines(continued.ReplaceAllString(text, "")) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		case fence != "" && trimmed == fence:
			fence = ""
		case fence != "":
			for part := range strings.SplitSeq(trimmed, " && ") {
				if found := commandLine.FindStringSubmatch(part); found != nil {
					list = append(list, mention{words(found[1]), true})
				}
			}
		case strings.HasPrefix(line, "    ") && commandLine.MatchString(trimmed):
			list = append(list, mention{words(commandLine.FindStringSubmatch(trimmed)[1]), true})
		default:
			prose.WriteString(line)
		}
	}
	return append(list, inText(prose.String())...)
}

// inText finds the command lines in backticks.
func inText(text string) (list []mention) {
	for _, found := range inlineCode.FindAllStringSubmatch(text, -1) {
		list = append(list, mention{words(found[1]), false})
	}
	return list
}

// words splits a command line at white space outside quotes, up to a comment or what a
// shell makes of the rest.
func words(line string) (list []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			list = append(list, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case r == quote:
			quote = 0
		case quote == 0 && strings.ContainsRune(" \t\n", r):
			end()
		case quote == 0 && r == '#' && !begun:
			return list
		case quote == 0 && strings.ContainsRune(";>&|", r):
			end()
			return list
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return list
}

// check reports whether the program has the verb and the flags of a command line, and
// whether a line that is meant to be typed has the right number of arguments.
func (m mention) check() error {
	root := newRoot(&app{})
	root.InitDefaultHelpFlag()
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	if first := m.words[0]; placeholder.MatchString(first) && !strings.HasPrefix(first, "-") {
		return nil // VERB, …
	}
	c, rest, err := root.Find(m.words)
	if err != nil {
		return err
	}
	if c == root && !strings.HasPrefix(m.words[0], "-") {
		return fmt.Errorf("unknown command %q", m.words[0])
	}
	if c.Hidden {
		return c.RunE(c, nil) // it has another name
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil && strings.HasPrefix(err.Error(), "unknown") {
		return err
	}
	for _, o := range flagValues(rest, "-o", "--override") {
		if !strings.Contains(o, "=") && !placeholder.MatchString(o) {
			return fmt.Errorf("-o %s: want KEY=VALUE: -o overrides a key of a study", o)
		}
	}
	if m.fenced && !slices.Contains(rest, "--help") {
		return c.ValidateArgs(c.Flags().Args())
	}
	return nil
}

func flagValues(words []string, names ...string) (values []string) {
	for i, w := range words[:max(0, len(words)-1)] {
		if slices.Contains(names, w) {
			values = append(values, words[i+1])
		}
	}
	return values
}

// Every command in the documents, in the texts of the program and in its help exists,
// with its flags.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	check := func(where string, list []mention) {
		found[strings.SplitN(where, " ", 2)[0]] += len(list)
		for _, m := range list {
			if err := m.check(); err != nil {
				t.Errorf("%s names `scruple %s`: %v", where, m, err)
			}
		}
	}
	repo := filepath.Join("..", "..")
	err := filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repo && (d.Name() == "testdata" || d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") || slices.Contains(ofRuns, d.Name())):
			return fs.SkipDir
		case filepath.Ext(path) == ".md" && d.Name() != "CHANGELOG.md": // history
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			check("document "+path, inMarkdown(string(text)))
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			list, err := inSource(path)
			if err != nil {
				return err
			}
			check("source "+path, list)
		}
		return nil
	})
	must(t, err)
	report, err := os.ReadFile(filepath.Join(repo, "internal", "report", "testdata", "golden", "study.md"))
	must(t, err)
	check("report study.md", inMarkdown(strings.ReplaceAll(string(report), "\\`", "`")))
	var help func(c *cobra.Command)
	help = func(c *cobra.Command) {
		check("help of "+c.CommandPath(), append(inMarkdown("```\n"+c.Example+"\n```\n"+c.Long), inMarkdown("```\n"+c.Long+"\n```")...))
		for _, sub := range c.Commands() {
			help(sub)
		}
	}
	help(newRoot(&app{}))
	for kind, least := range map[string]int{"document": 40, "source": 30, "report": 4, "help": 2} {
		if found[kind] < least {
			t.Errorf("%d commands in kind %s, want at least %d: the search misses some", found[kind], kind, least)
		}
	}
}

// inSource finds the command lines in the strings of a Go file.
func inSource(path string) (list []mention, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	typed := regexp.MustCompile(`^scruple ([a-z]+ (STUDY|[a-z]).*)$`)
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, e := strconv.Unquote(lit.Value)
		err = errors.Join(err, e)
		list = append(list, inText(text)...)
		if found := typed.FindStringSubmatch(text); found != nil && !strings.Contains(text, "\n") {
			list = append(list, mention{words(found[1]), true})
		}
		return true
	})
	return list, err
}

// The search finds what it should, and the check refuses what does not exist.
func TestDocumentedCommandsAreFound(t *testing.T) {
	const document = "Use `scruple\njudge STUDY` or ``no`` `scruple gate --nope`.\n\n```sh\n$ scruple init qa mine && scruple run mine/study.yaml   # offline\nscruple stats lmm --formula \"a ~ b # c\" \\\n  --csv x.csv\nwrote scruple things\n```\n    scruple import conll FILE -o out.jsonl\n"
	var got []string
	for _, m := range inMarkdown(document) {
		got = append(got, strings.Join(m.words, "·")+map[bool]string{true: " ok", false: " refused"}[m.check() == nil])
	}
	want := []string{"init·qa·mine ok", "run·mine/study.yaml ok", "stats·lmm·--formula·a ~ b # c·--csv·x.csv ok", "import·conll·FILE·-o·out.jsonl refused", "judge·STUDY refused", "gate·--nope refused"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for line, ok := range map[string]bool{"run": false, "run a b": false, "--version": true, "run --help": true, "rerank measure --run RUN --qrels QRELS": true, "rerank measure --rum RUN": false, "preregister STUDY": false,
		"export STUDY --format trec --out DIR": true, "frobnicate": false} {
		if err := (mention{words(line), true}).check(); (err == nil) != ok {
			t.Errorf("scruple %s: %v", line, err)
		}
	}
}

// Commands of the documents that need neither a model nor data of the reader run, each
// once: the starters of a suite are one study in all documents, with the examples, which
// make e2e runs, and a few tables beside.
func TestDocumentedCommandsRun(t *testing.T) {
	t.Parallel()
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	var documents []string
	for _, pattern := range []string{"README.md", "SECURITY.md", "docs/*.md", "examples/*/README.md", "examples/*/*/README.md"} {
		list, err := filepath.Glob(filepath.Join(repo, filepath.FromSlash(pattern)))
		must(t, err)
		documents = append(documents, list...)
	}
	examples := t.TempDir()
	must(t, os.CopyFS(examples, shipped("")))
	folders := map[string]string{} // by the suite of the starter in it, "" for none
	folder := func(suite string) string {
		if folders[suite] == "" {
			dir := t.TempDir()
			must(t, os.Symlink(examples, filepath.Join(dir, "examples")))
			for name, table := range tablesOfDocs {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(table), 0o644))
			}
			folders[suite] = dir
		}
		return folders[suite]
	}
	done := map[string]bool{}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		must(t, err)
		suite := ""
		for _, m := range inMarkdown(string(text)) {
			if m.fenced && len(m.words) == 3 && m.words[0] == "init" {
				suite = m.words[1]
			}
			line, dir := m.String(), folder(suite)
			key := suite + ": " + line
			if strings.Contains(line, "examples/") {
				key = line
			}
			if done[key] || !m.runs(dir) || strings.Contains(line, "examples/") && os.Getenv("SCRUPLE_E2E") == "" { // examples are large
				continue
			}
			done[key] = true
			code, _, errs := scrupleIn(t, dir, append(m.words, shorter(line)...)...)
			// The verdict of a gate is not the document's business.
			if code != exitOK && !(m.words[0] == "gate" && (code == exitFail || code == exitNotAllowed)) {
				t.Errorf("%s: scruple %s: exit code %d\n%s", path, line, code, errs)
			}
			t.Logf("%s: scruple %s", filepath.Base(path), line)
		}
	}
	if len(done) < 15 {
		t.Errorf("%d commands ran, want at least 15: the documents have more", len(done))
	}
}

// tablesOfDocs are the tables that the documents call the reader's own.
var tablesOfDocs = map[string]string{
	"scores.csv": "ctn,idiomatic\n0.9,0.8\n0.7,0.75\n0.8,0.6\n0.95,0.9\n0.6,0.5\n",
	"rows.csv":   "score,kernel,document\n0.9,a,1\n0.8,b,1\n0.7,a,2\n0.75,b,2\n0.8,a,3\n0.6,b,3\n0.95,a,4\n0.9,b,4\n",
}

// shorter returns flags that make the longest example short.
func shorter(line string) []string {
	if strings.HasPrefix(line, "run examples/rerank/study.yaml") {
		return []string{"-o", "candidates.sizes=[10]", "-o", "comparisons=[]", "-o", "decide={}"}
	}
	return nil
}

// runs reports whether a command can run in a folder: it has no placeholder, and the
// files it names exist. A mention in a sentence must name a file, or ask for help or a list.
func (m mention) runs(dir string) bool {
	if slices.ContainsFunc(m.words, placeholder.MatchString) || slices.Contains(m.words, "--record") || m.check() != nil || (mention{m.words, true}).check() != nil {
		return false
	}
	if m.words[0] == "worker" || slices.Contains(m.words, "--workers") || slices.Contains(m.words, "--detach") {
		return false // they need a shared store: the script workers runs them
	}
	if slices.Contains(m.words, "generate") { // large on purpose
		return false
	}
	if server := m.words[0] == "view" || m.words[0] == "annotate"; server && !slices.ContainsFunc(m.words, func(w string) bool {
		return w == "--check" || w == "--agreement" || w == "--help"
	}) {
		return false // serves until it is interrupted: the examples of its help run
	}
	if slices.ContainsFunc(m.words, func(w string) bool { return strings.Contains(w, "=annotations/") }) {
		return false // people write this file first
	}
	exists := false
	for _, w := range m.words[1:] {
		if strings.HasPrefix(w, "-") || !strings.ContainsAny(w, "./") || strings.ContainsAny(w, "= ") {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, w)); err == nil {
			exists = true
		} else if strings.Contains(filepath.Base(w), ".") {
			return false
		}
	}
	lists := slices.ContainsFunc(m.words, func(w string) bool { return w == "--help" || w == "--list" || w == "--version" })
	return m.fenced || exists || lists || m.words[0] == "schema"
}

// The files for containers in docs/scale.md are YAML, and start workers with flags that exist.
func TestContainersOfDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	command := regexp.MustCompile(`scruple[ ,]+(worker[^"\]\n]*)`)
	for _, b := range blocks {
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(b[1]), &parsed); err != nil {
			t.Error(err)
		}
		found := command.FindStringSubmatch(b[1])
		if found == nil {
			t.Errorf("no worker in\n%s", b[1])
			continue
		}
		if m := (mention{words(strings.ReplaceAll(found[1], ",", " ")), true}); m.check() != nil {
			t.Errorf("%v: %v", m, m.check())
		}
	}
	if len(blocks) < 2 {
		t.Errorf("%d blocks of YAML, want that of compose and of Kubernetes", len(blocks))
	}
}
