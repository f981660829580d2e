//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The laptops example runs offline: numbers are compared as numbers, requests have
// no groups and several right items, and nDCG is trec_eval's on the exported files.
func TestLaptops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, shipped("rerank-laptops")))
	do := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(t.Context(), args, nil, &out, &errs); code != exitOK {
			t.Fatalf("%v: exit code %d\n%s", args, code, errs.String())
		}
		return out.Bytes()
	}
	study := filepath.Join(dir, "study.yaml")
	if out := do("validate", study); !bytes.Contains(out, []byte("requests ok 20, requests no_match 0, requests multi_match 0, requests gold_not_match 0")) {
		t.Errorf("%s", out)
	}
	do("run", study)
	content, err := os.ReadFile(filepath.Join(dir, "results", "rerank-laptops", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Analysis struct {
			Estimates []struct {
				Arm, Metric string
				Stratum     json.RawMessage
				Value       *float64
			}
		}
	}
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, e := range report.Analysis.Estimates {
		if e.Stratum != nil {
			t.Errorf("requests without groups are broken down by %s", e.Stratum)
		}
		if e.Value != nil {
			got[e.Arm+" "+e.Metric] = *e.Value
		}
	}
	for _, n := range []string{"n10", "n20", "n40"} {
		for _, metric := range []string{"ndcg_5", "ndcg_10", "recall_10", "hits_1", "mrr"} {
			if v, ok := got["oracle/"+n+" "+metric]; !ok || v != 1 {
				t.Errorf("oracle/%s has %s %v", n, metric, v)
			}
		}
	}
	// cot returns ten places, and some of its answers are wrong.
	if all, found := got["oracle/n20 recall_10"], got["cot/n20 recall_10"]; found <= 0 || found >= all {
		t.Errorf("cot/n20 finds %v of the right laptops, the oracle %v", found, all)
	}
	do("export", study, "--format", "trec", "--out", filepath.Join(dir, "trec"))
	var measured struct{ All map[string]float64 }
	out := do("rerank", "measure", "--json", "--run", filepath.Join(dir, "trec", "bm25_n40.run"), "--qrels", filepath.Join(dir, "trec", "qrels.txt"))
	if err := json.Unmarshal(out, &measured); err != nil {
		t.Fatal(err, string(out))
	}
	for ours, theirs := range map[string]string{"ndcg_5": "ndcg_cut_5", "ndcg_10": "ndcg_cut_10", "hits_1": "success_1", "mrr": "recip_rank"} {
		if a, b := got["bm25/n40 "+ours], measured.All[theirs]; !(math.Abs(a-b) <= 1e-12) {
			t.Errorf("%s of bm25/n40 is %v, measured by %s %v", ours, a, theirs, b)
		}
	}
}
