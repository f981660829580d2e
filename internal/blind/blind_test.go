package blind

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/study"
)

// ofData is a study of a suite with data.
type ofData struct {
	study.Study
	Data string `json:"data,omitempty"`
}

// built is a study with a description, and the folder of its kit.
func built(t testing.TB, description string) (*study.File, string) {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	path, kit := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "kit")
	text, err := json.Marshal(description)
	if err == nil {
		err = os.WriteFile(path, fmt.Appendf(nil, "name: n\nsuite: s\ndescription: %s\nexecution: {seed: 9007199254740993}\n", text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := study.Load(path, nil, &ofData{})
	if err == nil {
		_, err = Build(f, kit, Spec{Blind: study.Blind{Arms: "arms", Data: []study.Datum{{Key: "data", Kit: `"data"`, Places: []string{"data"}}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, kit
}

// The study of a kit has the texts of the study that it was made of.
func TestKitKeepsTexts(t *testing.T) {
	same := func(tb interface{ Errorf(string, ...any) }, text string) {
		f, kit := built(t, text)
		var was, now struct{ Description, Execution any }
		made, err := study.Load(filepath.Join(kit, StudyFile), nil, &ofData{})
		if err == nil {
			err = errors.Join(json.Unmarshal(f.Canonical(), &was), json.Unmarshal(made.Canonical(), &now))
		}
		if err != nil || !reflect.DeepEqual(was, now) || !strings.Contains(string(made.Canonical()), "9007199254740993") {
			tb.Errorf("%q becomes %+v: %v", text, now, err)
		}
	}
	for _, text := range []string{"\t{{QUESTION}}", "\n\n  {{QUESTION}}\n a", "a: b # c", "- a: b\n", "null", "yes", "1e3", "|\n x\n", "\u2028", ""} {
		same(t, text)
	}
	piece := rapid.SampledFrom([]string{"\t", "\n", " ", "a", ":", "#", "-", "'", "\"", "{", "|", "é", "1", "\\"})
	rapid.Check(t, func(rt *rapid.T) {
		same(rt, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(rt, "text"), ""))
	})
}

// A kit speaks of the arms' models where the study has such.
func TestKitSpeaksOfModels(t *testing.T) {
	for arms, want := range map[string]bool{`[{id: a, models: [m]}]`: true, `[{id: models, kind: exec}]`: false} {
		dir := t.TempDir()
		path, kit := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "kit")
		if err := os.WriteFile(path, []byte("name: n\nsuite: s\narms: "+arms+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := study.Load(path, nil, &struct {
			ofData
			Arms []map[string]any `json:"arms"`
		}{})
		if err == nil {
			_, err = Build(f, kit, Spec{Blind: study.Blind{Arms: "arms", Data: []study.Datum{{Key: "data", Kit: `"data"`, Places: []string{"data"}}}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{StudyFile, "README.md"} {
			text, err := os.ReadFile(filepath.Join(kit, name))
			if got := regexp.MustCompile("of `?arms`? has").Match(text); err != nil || got != want {
				t.Errorf("%s of arms %s: %v, %v\n%s", name, arms, got, err, text)
			}
		}
	}
}

// Of what a study says of its data, a kit has the members that hold for other data too.
func TestKitKeepsMembers(t *testing.T) {
	dir := t.TempDir()
	path, kit := filepath.Join(dir, "study.yaml"), filepath.Join(dir, "kit")
	err := errors.Join(os.WriteFile(path, []byte("name: n\nsuite: s\ndata: {path: d.csv, columns: {id: key}, ids: [7]}\n"), 0o600), os.WriteFile(filepath.Join(dir, "d.csv"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	var had, made struct {
		study.Study
		Data map[string]any `json:"data"`
	}
	f, err := study.Load(path, nil, &had)
	if err != nil {
		t.Fatal(err)
	}
	f.Resolve("d.csv")
	if _, err := Build(f, kit, Spec{Blind: study.Blind{Arms: "arms", Data: []study.Datum{{Key: "data", Keep: []string{"path", "columns"}}}}}); err != nil {
		t.Fatal(err)
	}
	_, err = study.Load(filepath.Join(kit, StudyFile), nil, &made)
	delete(had.Data, "ids")
	if err != nil || !reflect.DeepEqual(made.Data, had.Data) {
		t.Errorf("the kit has %v, want %v: %v", made.Data, had.Data, err)
	}
}

// The same command completes a kit of which a killed process left the first files, and no other folder.
func TestBuildGoesOn(t *testing.T) {
	f, kit := built(t, "")
	spec := Spec{Blind: study.Blind{Arms: "arms", Data: []study.Datum{{Key: "data", Kit: `"data"`, Places: []string{"data"}}}}}
	if _, err := Build(f, kit, spec); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a kit that is there: %v", err)
	}
	if err := os.Remove(filepath.Join(kit, StudyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(f, kit, spec); err != nil || !IsKit(kit) {
		t.Errorf("a kit without its last file: %v", err)
	}
	whole, recorded := kit+" whole", 0
	spec.Record = func(m Made) error {
		if recorded++; IsKit(whole) != (recorded == 2) {
			t.Errorf("recorded with files: %v", IsKit(whole))
		}
		return nil
	}
	if err := errors.Join(os.Mkdir(whole, 0o755), os.WriteFile(filepath.Join(whole, "."+kitFile+".7.part"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(f, whole, spec); err != nil || recorded != 1 {
		t.Errorf("killed within the first file: %v, recorded %d times", err, recorded)
	}
	if _, err := Build(f, whole, spec); err == nil || recorded != 2 {
		t.Errorf("killed before it was recorded: %v, recorded %d times", err, recorded)
	}
	spec.Record = nil
	readme := filepath.Join(kit, "README.md")
	if err := errors.Join(os.Remove(filepath.Join(kit, StudyFile)), os.WriteFile(readme, []byte("own"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := Build(f, kit, spec)
	if text, errRead := os.ReadFile(readme); err == nil || !strings.Contains(err.Error(), "is not empty") || errRead != nil || string(text) != "own" {
		t.Errorf("another file of this name: %v, %v, %s", err, errRead, text)
	}
}

// A kit without a place for data would commit to nothing.
func TestKitHasPlaces(t *testing.T) {
	f, kit := built(t, "")
	if _, err := Build(f, kit+"2", Spec{Blind: study.Blind{Arms: "arms"}}); err == nil || !strings.Contains(err.Error(), "no data") {
		t.Errorf("a kit without data: %v", err)
	}
	made, err := study.Load(filepath.Join(kit, StudyFile), nil, &ofData{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(kit, made, time.Now); err != nil {
		t.Errorf("a kit with data: %v", err)
	}
}

// What a study reads beside its data, such as cases of the judge, is committed to as they are.
func TestKitCommitsToAllThatItReads(t *testing.T) {
	f, kit := built(t, "")
	for _, rel := range []string{"cases.csv", "prompt.txt", "unread.txt"} {
		if err := os.WriteFile(filepath.Join(f.Dir, rel), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, rel := range []string{"cases.csv", "../kit", "./prompt.txt"} {
		f.Resolve(rel)
	}
	keys := map[string]json.RawMessage{"judge": json.RawMessage(`{"cases": [{"path": "cases.csv", "n": 1}, "unread.txt"]}`), "arms": json.RawMessage(`[{"path": "./prompt.txt", "exec": "cases.csv"}]`)}
	if got, err := reads(f, keys, []string{"prompt.txt"}, "arms"); err != nil || !reflect.DeepEqual(got, []string{"cases.csv"}) {
		t.Errorf("reads %v, %v", got, err)
	}
	keys["arms"] = json.RawMessage(`[{"spans": "cases.csv", "watch": ["cases.csv"]}]`)
	if _, err := reads(f, keys, nil, "arms"); err == nil || !strings.Contains(err.Error(), "arms[0].spans: cases.csv has answers") || strings.Contains(err.Error(), "watch") {
		t.Error(err)
	}
	keys["arms"] = nil
	if err := os.Rename(kit, filepath.Join(filepath.Dir(f.Dir), "kit")); err != nil {
		t.Fatal(err)
	}
	keys["judge"] = json.RawMessage(`{"cases": {"path": "../kit"}}`)
	if _, err := reads(f, keys, nil, ""); err == nil || !strings.Contains(err.Error(), "judge.cases.path: a kit has its data in its own folder") {
		t.Error(err)
	}
}

// A comparison of one to four documents tells of single ones, so its numbers stay.
func TestFinishKeepsSmallComparisons(t *testing.T) {
	k := &Kit{dir: t.TempDir(), Data: "0123", now: func() time.Time { return time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC) }}
	if err := os.MkdirAll(filepath.Dir(k.ledger()), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit("a group", 6); err != nil {
		t.Fatal(err)
	}
	if Ran(k.dir) {
		t.Error("it ran before it ran")
	}
	comparison := func(metric string, pairs int) analyse.BlindComparison {
		return analyse.BlindComparison{A: "a", B: "b", Metric: metric, Diff: 0.25, Low: 0, High: 0.5, P: 0.04, Pairs: pairs}
	}
	given := []analyse.BlindComparison{comparison("composite", 6), comparison("date_f1", analyse.FewestBlind), comparison("money_f1", analyse.FewestBlind-1), comparison("id_f1", 1)}
	if _, err := k.Finish(given, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(k.dir, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Comparisons []struct {
			Metric             string
			Diff, Low, High, P *float64
			Pairs              int
		}
	}
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	for i, c := range written.Comparisons {
		few := given[i].Pairs < analyse.FewestBlind
		if c.Pairs != given[i].Pairs || (c.Diff == nil) != few || (c.Low == nil) != few || (c.High == nil) != few || (c.P == nil) != few {
			t.Errorf("%s of %d pairs is %+v", c.Metric, c.Pairs, c)
		}
	}
	if len(written.Comparisons) != len(given) || !given[3].Diff.Defined() {
		t.Errorf("wrote %d of %d comparisons, and the caller's is %v", len(written.Comparisons), len(given), given[3])
	}
	if !Ran(k.dir) {
		t.Error("it has not run after it ran")
	}
}

// Whoever continues a run with other settings could select a result: they are refused.
func TestOtherSettings(t *testing.T) {
	k := &Kit{dir: t.TempDir(), now: time.Now}
	if err := os.MkdirAll(filepath.Dir(k.ledger()), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Commit("a group", analyse.FewestBlind); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		settings string
		refused  bool
	}{{"one", false}, {"one", false}, {"two", true}, {"one", false}} {
		if err := k.Begin(c.settings); (err != nil) != c.refused || c.refused && !strings.Contains(err.Error(), "restore them") {
			t.Errorf("%d, %s: %v", i, c.settings, err)
		}
	}
	if r, err := k.Finish(nil, nil); err != nil || r.BeganAt == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, kitFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(k.ledger()))
	if KitOf("kit.db") != k.dir || KitOf("scruple.db") != "" || KitOf("../kit.db") != "" {
		t.Errorf("the store of the kit is that of %q", KitOf("kit.db"))
	}
}

// Hidden files are among the data if a suite could read them.
func TestHiddenFiles(t *testing.T) {
	k := &Kit{dir: t.TempDir(), now: time.Now}
	write := func(name string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(k.dir, name)), 0o755), os.WriteFile(filepath.Join(k.dir, name), []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	sum := func() string {
		s, err := hashData(k.dir, []string{"data"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write("data/a.txt")
	write(".scruple/x")
	for _, c := range []struct {
		name  string
		among bool
	}{{"data/.DS_Store", false}, {"data/in/.gitkeep", false}, {"data/.git/HEAD.md", false}, {"data/b.txt", true}, {"data/case/gold/.x.md", true}, {"data/.md", true}, {"data/case/source/.x.txt", true}} {
		before := sum()
		if write(c.name); (sum() != before) != c.among {
			t.Errorf("%s is among the data: %v", c.name, !c.among)
		}
	}
	k.Data = sum()
	if _, err := k.Commit("a group", analyse.FewestBlind); err != nil {
		t.Fatal(err)
	}
	write("data/c.txt")
	k.Data = sum()
	if err := k.Begin(""); err == nil {
		t.Error("data that changed are accepted")
	}
}
