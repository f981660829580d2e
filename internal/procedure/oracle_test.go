package procedure

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oracles is where the reference results are; README.md there has the format.
const oracles = "../../stats/testdata/oracles"

type tolerance struct{ Rel, Abs float64 }

type oracle struct {
	Expected  any
	Tolerance struct {
		Default   tolerance
		Overrides map[string]tolerance
	}
}

// TestOracle runs every case the way `scruple stats --case` does and compares
// every leaf of what the reference implementations gave.
func TestOracle(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(oracles, "*.json"))
	if err != nil || len(files) < 60 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want oracle
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			c, err := ReadCase(strings.NewReader(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			result, err := c.Run()
			if expected, _ := want.Expected.(map[string]any); expected["error"] == true {
				if err == nil {
					t.Errorf("accepted; must be refused: %v", expected["reason"])
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal([]byte(inJSON(t, result)), &got); err != nil {
				t.Fatal(err)
			}
			want.compare(t, "", want.Expected, got)
		})
	}
}

// tolerance gives that of the longest override that is a prefix of the leaf.
func (o *oracle) tolerance(leaf string) tolerance {
	tol, length := o.Tolerance.Default, -1
	for path, v := range o.Tolerance.Overrides {
		if len(path) > length && (leaf == path || strings.HasPrefix(leaf, path+".")) {
			tol, length = v, len(path)
		}
	}
	return tol
}

func (o *oracle) compare(t *testing.T, path string, want, got any) {
	switch want := want.(type) {
	case nil:
		if got != nil {
			t.Errorf("%s = %v, want undefined", path, got)
		}
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s = %v, want an object", path, got)
			return
		}
		for key, v := range want {
			o.compare(t, strings.TrimPrefix(path+"."+key, "."), v, m[key])
		}
	case []any:
		l, ok := got.([]any)
		if !ok || len(l) != len(want) {
			t.Errorf("%s = %.200s, want a list of %d", path, fmt.Sprint(got), len(want))
			return
		}
		for i, v := range want {
			o.compare(t, path, v, l[i])
		}
	case float64:
		x, ok := got.(float64)
		if tol := o.tolerance(path); !ok || !(math.Abs(x-want) <= tol.Abs+tol.Rel*math.Abs(want)) {
			t.Errorf("%s = %v, want %.15g (±%g rel, ±%g abs)", path, got, want, tol.Rel, tol.Abs)
		}
	default:
		if got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}
