package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// value matches a string of JSON, or a field of CSV.
var value = regexp.MustCompile(`"[^"\n]*"|[^",\n]+`)

// mutations are what happens to data files: slips of people, cuts of programs, and flipped
// bits.
func mutations() map[string]func(r *rand.Rand, data []byte) []byte {
	at := func(r *rand.Rand, data []byte) int { return r.IntN(len(data)) }
	insert := func(text string) func(r *rand.Rand, data []byte) []byte {
		return func(r *rand.Rand, data []byte) []byte {
			spans := value.FindAllIndex(data, -1)
			s := spans[r.IntN(len(spans))]
			i := s[0] + 1 + r.IntN(max(1, s[1]-s[0]-1))
			return []byte(string(data[:i]) + text + string(data[i:]))
		}
	}
	replace := func(text string) func(r *rand.Rand, data []byte) []byte {
		return func(r *rand.Rand, data []byte) []byte {
			spans := value.FindAllIndex(data, -1)
			s := spans[r.IntN(len(spans))]
			return []byte(string(data[:s[0]]) + text + string(data[s[1]:]))
		}
	}
	return map[string]func(r *rand.Rand, data []byte) []byte{
		"cut file": func(r *rand.Rand, data []byte) []byte { return data[:at(r, data)] },
		"cut line": func(r *rand.Rand, data []byte) []byte {
			lines := bytes.SplitAfter(data, []byte("\n"))
			i := r.IntN(len(lines))
			lines[i] = append(bytes.Clone(lines[i][:len(lines[i])/2]), '\n')
			return bytes.Join(lines, nil)
		},
		"lost byte": func(r *rand.Rand, data []byte) []byte {
			i := at(r, data)
			return append(bytes.Clone(data[:i]), data[i+1:]...)
		},
		"flipped bit": func(r *rand.Rand, data []byte) []byte {
			d := bytes.Clone(data)
			d[at(r, d)] ^= 1 << r.IntN(8)
			return d
		},
		"tab":            insert("\t"),
		"NUL":            insert("\x00"),
		"not UTF-8":      insert("\xff"),
		"half surrogate": insert(`\ud800`),
		"quote":          insert(`"`),
		"null":           replace("null"),
		"object":         replace(`{"a": [1e999, {}]}`),
		"deep":           replace(strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)),
		"line twice": func(r *rand.Rand, data []byte) []byte {
			lines := bytes.SplitAfter(data, []byte("\n"))
			i := r.IntN(len(lines))
			lines[i] = append(bytes.Clone(lines[i]), lines[i]...)
			return bytes.Join(lines, nil)
		},
	}
}

// TestMutatedData: no data file makes a suite fail but with an error.
func TestMutatedData(t *testing.T) {
	const each = 5
	cases := 0
	for _, suite := range All() {
		dir := filepath.Join(t.TempDir(), "starter")
		files, err := suite.Init(dir)
		if err != nil {
			t.Fatal(err)
		}
		var data []string
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch filepath.Ext(path) {
			case ".jsonl", ".csv", ".json":
				data = append(data, path)
			case ".md":
				if strings.Contains(path, "corpus") {
					data = append(data, path)
				}
			}
			return err
		})
		if err != nil || len(data) == 0 {
			t.Fatalf("%s has %d data files: %v", suite.Name, len(data), err)
		}
		refused := 0
		for name, mutate := range mutations() {
			for seed := range each {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				path := data[r.IntN(len(data))]
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				write(t, path, mutate(r, whole))
				if err := opened(suite, files[0]); err != nil {
					refused++
					if errors.Is(err, errPanic) {
						t.Errorf("%s, %s, %s, seed %d: %v", suite.Name, filepath.Base(path), name, seed, err)
					}
				}
				write(t, path, whole)
				cases++
			}
		}
		if refused == 0 {
			t.Errorf("%s refuses no mutated file: are they read?", suite.Name)
		}
	}
	if want := len(All()) * len(mutations()) * each; cases != want {
		t.Errorf("%d cases, want %d", cases, want)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

var errPanic = errors.New("panic")

// opened opens a study and asks the first question of two arms about every item.
func opened(suite kit.Suite, file string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	own := suite.Study()
	f, err := study.Load(file, nil, own)
	if err != nil {
		return err
	}
	b, err := suite.Open(f, own)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, item := range b.Items() {
		for _, arm := range b.Arms()[:2] {
			if _, err := b.Perform(context.Background(), eval.Trial{Item: item.ID, Arm: arm.ID, Replicate: 1}, unasked{}); errors.Is(err, errPanic) {
				return err
			}
		}
	}
	return nil
}

// An unasked asker has no answers.
type unasked struct{}

func (unasked) Ask(context.Context, string, eval.Request) (eval.Response, error) {
	return eval.Response{}, errors.New("not asked")
}
