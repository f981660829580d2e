package label_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/spanfile"
	"github.com/scruple-eval/scruple/internal/suites/spans/label"
)

func TestDefaultTaxonomy(t *testing.T) {
	var x label.Taxonomy
	if err := x.Complete(); err != nil {
		t.Fatal(err)
	}
	if n := len(x.Roles()); n != 38 { // spec: nine parents and their attributes
		t.Errorf("%d roles", n)
	}
	for role, want := range map[string]string{"camera.framing": "shot", "subject.action": "action", "camera": "camera", "camera.lens": "camera", "sound.x": "sound"} {
		if got := x.Category(role); got != want {
			t.Errorf("%s is of category %s, want %s", role, got, want)
		}
	}
	if !x.Known("camera.framing") || x.Known("camera.shake") || x.Index("shot.type") != 0 || x.Index("sound") != -1 {
		t.Error("roles are not told from others")
	}
	flat := label.Taxonomy{Categories: []label.Category{{Name: "creative-work"}, {Name: "person"}, {Name: "person"}}, Aliases: map[string]string{"PER": "human"}}
	if err := flat.Complete(); err == nil || !strings.Contains(err.Error(), `duplicate role "person"`) || !strings.Contains(err.Error(), `alias "PER": the taxonomy has no role "human"`) {
		t.Error(err)
	}
}

func sectioner(t testing.TB) *label.Sectioner {
	t.Helper()
	s, err := label.NewSectioner(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// headers are headers of the seed, in several cases.
var headers = map[string][]string{
	"technicalSpecs": {"**TECHNICAL SPECS**", "**Technical Specifications**", "**technical specs**"},
	"alternatives":   {"**ALTERNATIVE", "**ALTERNATIVE APPROACHES**", "**Alternatives:**", "**VARIATIONS**"},
}

// Property 3: sections begin where their headers begin, and main before the first.
func TestProperty3SectionBoundaries(t *testing.T) {
	s := sectioner(t)
	plain := rapid.StringOf(rapid.SampledFrom([]rune("ab *ñ🪁\n")))
	rapid.Check(t, func(t *rapid.T) {
		text := plain.Draw(t, "main")
		at := map[string]int{}
		order := rapid.Permutation([]string{"technicalSpecs", "alternatives"}).Draw(t, "order")
		var starts []int
		for _, name := range order[:rapid.IntRange(0, 2).Draw(t, "sections")] {
			if text != "" {
				text += "\n"
			}
			at[name] = utf8.RuneCountInString(text)
			starts = append(starts, at[name])
			text += rapid.SampledFrom(headers[name]).Draw(t, name) + "\n" + plain.Draw(t, "body")
		}
		n := utf8.RuneCountInString(text)
		got := s.Detect(spanfile.NewRuler(text))
		if want := append(starts, n)[0]; *got[0] != (label.Boundary{Start: 0, End: want}) {
			t.Fatalf("main is %+v, want 0 to %d", got[0], want)
		}
		for i, name := range s.Names[1:] {
			start, ok := at[name]
			switch b := got[i+1]; {
			case !ok && b != nil:
				t.Fatalf("%s found at %+v", name, b)
			case ok:
				end := n
				for _, next := range starts {
					if next > start {
						end = min(end, next)
					}
				}
				if b == nil || *b != (label.Boundary{Start: start, End: end}) {
					t.Fatalf("%s is %+v, want %d to %d", name, b, start, end)
				}
			}
		}
	})
}

// Property 4: a span belongs to the section that its start is in, else to main.
func TestProperty4SpanSection(t *testing.T) {
	s := sectioner(t)
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SliceOfN(rapid.IntRange(0, 100), 2, 2).Draw(t, "bounds")
		slices.Sort(bounds)
		n := bounds[1] + rapid.IntRange(0, 50).Draw(t, "rest")
		sections := label.Sections{{Start: 0, End: bounds[0]}, nil, nil}
		if rapid.Bool().Draw(t, "technical") {
			sections[1] = &label.Boundary{Start: bounds[0], End: bounds[1]}
		}
		if rapid.Bool().Draw(t, "alternatives") {
			sections[2] = &label.Boundary{Start: bounds[1], End: n}
		}
		start := rapid.IntRange(-1, n+5).Draw(t, "start")
		want := label.Main
		if b := sections[1]; b != nil && start >= b.Start && start < b.End {
			want = "technicalSpecs"
		} else if b := sections[2]; b != nil && start >= b.Start && start < b.End {
			want = "alternatives"
		}
		if got := s.Of(sections, start); got != want {
			t.Fatalf("%d is in %s, want %s", start, got, want)
		}
	})
}

func TestSections(t *testing.T) {
	s := sectioner(t)
	for text, want := range map[string]label.Sections{
		"":                        {{0, 0}, nil, nil},
		"no header":               {{0, 9}, nil, nil},
		"say **ALTERNATIVE** x":   {{0, 21}, nil, nil}, // not at the start of a line
		"a\n- **Variation 1:** b": {{0, 22}, nil, nil},
		"**technical SPECS**":     {{0, 0}, {0, 19}, nil},
		"é\n**VARIATIONS**\n**VARIATIONS**\n**TECHNICAL SPECS**\n": {{0, 2}, {32, 52}, {2, 32}},
		"a\n  **Alternative**": {{0, 4}, nil, {4, 19}},
	} {
		if d := cmp.Diff(want, s.Detect(spanfile.NewRuler(text))); d != "" {
			t.Errorf("%q (-want +got)\n%s", text, d)
		}
	}
	own, err := label.NewSectioner([]label.Header{{Section: "notes", Pattern: "^notes:"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Detect(spanfile.NewRuler("x\nNOTES: y")); got[1] == nil || got[1].Start != 2 {
		t.Errorf("own header: %+v", got)
	}
	for want, h := range map[string][]label.Header{`duplicate section "main"`: {{Section: "main", Pattern: "x"}}, `section "x": error parsing`: {{Section: "x", Pattern: "("}}} {
		if _, err := label.NewSectioner(h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
