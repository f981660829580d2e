package view

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/store"
)

// The page of judges compares what a judge says with the labels of people, in the form in
// which annotate writes them.
func TestJudgeAgainstPeople(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	items := []eval.Item{{ID: "i1", Input: 1, Gold: 2}, {ID: "i2", Input: 1, Gold: 2}, {ID: "i3", Input: 1, Gold: 2}, {ID: "i4", Input: 1, Gold: 2}}
	p, err := plan.New(items, []eval.Arm{{ID: "a"}}, 1, 42)
	if err != nil {
		t.Fatal(err)
	}
	r, err := db.CreateRun(t.Context(), store.Run{Study: "s", Suite: "s", StudyPath: "/none/study.yaml", StudyJSON: []byte(`{}`), Replicates: 1, Version: "test", CreatedAt: time.Unix(0, 0)}, items, p)
	if err != nil {
		t.Fatal(err)
	}
	j, err := db.Journal(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	for seq, said := range []struct {
		judge  string
		person annotate.Judgement
	}{
		{"coherent", annotate.Judgement{Label: "coherent"}},
		{"incoherent", annotate.Judgement{Label: "incoherent"}},
		{"coherent", annotate.Judgement{Label: "incoherent"}},
		{"true", annotate.Judgement{Label: "holds", Yes: &yes}},
	} {
		said.person.Answer = annotate.Answer{"coherence": []byte(`"` + said.person.Label + `"`)}
		data, err := json.Marshal(said.person)
		if err != nil {
			t.Fatal(err)
		}
		verdicts := []eval.Verdict{{Step: "coherence", Source: eval.ByModel, By: "judge", Data: []byte(said.judge)}, {Step: "coherence", Source: eval.ByHuman, By: "anna", Data: data}}
		if seq == 0 { // a second round measures the person
			verdicts = append(verdicts, eval.Verdict{Step: "coherence", Source: eval.ByHuman, By: "anna", Round: 2, Data: data})
		}
		if err := errors.Join(j.Outcome(p.Trial(seq), eval.Outcome{Kind: eval.OK}), j.Judged(p.Trial(seq), verdicts)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	read, err := store.OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	page := get(t, newViewer(t, read), "/r/"+r.ID+"/judge")
	if !strings.Contains(page, "3 of 4") {
		t.Errorf("want 3 of 4 in\n%s", page)
	}
	if strings.Contains(page, "answer") && strings.Contains(page, "{&#34;answer") {
		t.Errorf("a dissent shows the stored answer, not the label:\n%s", page)
	}
}

// A page number so large that the place of its rows is no number is refused.
func TestPageTooLarge(t *testing.T) {
	db := bigStore(t, 3)
	v := newViewer(t, db)
	runs, err := db.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := runs[0].ID
	get(t, v, "/r/"+id+"/samples?page=1000")
	for _, page := range []string{"92233720368547759", "9223372036854775807", "99999999999999999999", "0"} {
		for _, path := range []string{"/r/" + id + "/samples?page=", "/r/" + id + "/samples?q=item=doc-000001&page=", "/c?r=" + id + "&s=" + id + "&a=ctn@a&b=ctn@b&page=", "/r/" + id + "/t/1/calls?page=", "/r/" + id + "/i?item=doc-000001&page="} {
			w := httptest.NewRecorder()
			v.ServeHTTP(w, httptest.NewRequest("GET", path+page, nil))
			if w.Code != 400 || !strings.Contains(w.Body.String(), "must be a number from 1 to") {
				t.Errorf("%s: status %d", path+page, w.Code)
			}
		}
	}
}
