package extraction

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

//go:embed kernels/*.txt
var shippedKernels embed.FS

// The shipped kernels, by their names under `builtin:`.
var shippedKernelNames = []string{ablated, "idiomatic", "literal", "idiomatic_long", "placebo_math"}

// ablated is the kernel that the shipped ablations are made from, and ablations
// are the tensor blocks that each leaves out.
const ablated = "ctn_extraction"

var ablations = map[string][]string{
	"no-v1":   {"v1"},
	"no-v2":   {"v2"},
	"no-v5":   {"v5"},
	"no-v7":   {"v7"},
	"minimal": {"v1", "v2", "v5", "v7"}, // v3, v4 and v6 stay
}

// shippedPrompts are the shipped kernels and ablations.
func shippedPrompts() []string {
	return append(slices.Clone(shippedKernelNames), slices.Sorted(maps.Keys(ablations))...)
}

// builtins are the values of `builtin:`.
func builtins() []string { return append(shippedPrompts(), nullBaseline, heuristicName) }

// The placeholders of a kernel.
const (
	holeSchema = "{{SCHEMA}}"
	holeOutput = "{{OUTPUT_FORMAT}}"
)

var placeholder = regexp.MustCompile(`\{\{[^{}\n]*\}\}`)

// shippedKernel is the text of a shipped kernel or of the output format.
func shippedKernel(name string) string {
	b, err := shippedKernels.ReadFile("kernels/" + name + ".txt")
	if err != nil {
		panic("extraction: " + err.Error()) // names are constants of this package
	}
	return string(b)
}

// checkKernel rejects a kernel with missing or unknown placeholders.
func checkKernel(kernel string) error {
	var errs []error
	for _, hole := range []string{holeSchema, holeOutput} {
		if !strings.Contains(kernel, hole) {
			errs = append(errs, fmt.Errorf("the kernel has no %s: every kernel needs the schema and the output format", hole))
		}
	}
	for i, line := range strings.Split(kernel, "\n") {
		for _, p := range placeholder.FindAllString(line, -1) {
			if p != holeSchema && p != holeOutput {
				errs = append(errs, fmt.Errorf("line %d of the kernel has the unknown placeholder %s: want %s or %s",
					i+1, p, holeSchema, holeOutput))
			}
		}
	}
	return errors.Join(errs...)
}

// render fills in a kernel for a schema. It replaces in one pass: placeholders
// in a description or in the output format stay as they are.
func render(kernel string, s *Schema, plain bool) string {
	format := strings.TrimRight(shippedKernel("output_format"), "\n")
	switch {
	case plain:
		format = strings.TrimRight(shippedKernel("output_format_plain"), "\n")
	case s.hasLists():
		format += "\n- " + strings.TrimRight(shippedKernel("lists"), "\n")
	}
	return strings.NewReplacer(holeSchema, s.prompt(), holeOutput, format).Replace(kernel)
}

// tensorHead is the first line of a tensor block: v, a number in plain or
// subscript digits, an equals sign.
var tensorHead = regexp.MustCompile(`^(\s*)v([0-9]+|[₀-₉]+)\s*=`)

// ablate removes tensor blocks from a kernel: the head, its comment and deeper
// lines, and the blank lines up to the next block. No trace of a block remains.
func ablate(kernel string, remove []string) (string, error) {
	lines := strings.SplitAfter(kernel, "\n")
	blocks := tensorBlocks(lines)
	var names []string
	for _, b := range blocks {
		names = append(names, b.name)
	}
	var errs []error
	dropped := map[string]bool{}
	for _, given := range remove {
		name := text.Minimal(given) // v1 for v₁
		if dropped[name] {
			errs = append(errs, fmt.Errorf("duplicate tensor block %q", given))
		} else if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("no tensor block %q to remove: the kernel has %s", given, cmp.Or(strings.Join(names, ", "), "none")))
		}
		dropped[name] = true
	}
	for _, b := range blocks {
		if dropped[b.name] {
			clear(lines[b.start:b.end])
		}
	}
	return strings.Join(lines, ""), errors.Join(errs...)
}

// A tensorBlock is lines [start, end) of a kernel.
type tensorBlock struct {
	name       string
	start, end int
}

func tensorBlocks(lines []string) []tensorBlock {
	var blocks []tensorBlock
	for i := 0; i < len(lines); i++ {
		m := tensorHead.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		b := tensorBlock{name: "v" + text.Minimal(m[2]), start: i, end: i + 1}
		for b.end < len(lines) && belongs(lines[b.end], len(m[1])) {
			b.end++
		}
		body := b.end
		for b.end < len(lines) && strings.TrimSpace(lines[b.end]) == "" {
			b.end++
		}
		if b.end < len(lines) && !tensorHead.MatchString(lines[b.end]) {
			b.end = body // the last block takes the blank line before it instead
			for b.start > 0 && strings.TrimSpace(lines[b.start-1]) == "" {
				b.start--
			}
		}
		blocks = append(blocks, b)
		i = b.end - 1
	}
	return blocks
}

// belongs reports whether a line continues a block whose head has this indent:
// a comment, or text with a deeper indent.
func belongs(line string, indent int) bool {
	text := strings.TrimLeft(line, " \t")
	if strings.TrimSpace(text) == "" || tensorHead.MatchString(line) {
		return false
	}
	return strings.HasPrefix(text, "#") || len(line)-len(text) > indent
}
