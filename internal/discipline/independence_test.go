package discipline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
)

// made makes items of "id cluster split input"; "-" is none.
func made(lines ...string) (list []eval.Item) {
	for _, l := range lines {
		f := strings.Fields(l)
		for i := range f {
			f[i] = strings.TrimPrefix(f[i], "-")
		}
		it := eval.Item{ID: f[0], Cluster: f[1], Split: f[2]}
		if f[3] != "" {
			it.Input = eval.HashOf([]byte(f[3]))
		}
		list = append(list, it)
	}
	return list
}

// TestIndependent: equal inputs are one cluster, which joins those of the data.
func TestIndependent(t *testing.T) {
	for name, test := range map[string]struct {
		items    []eval.Item
		clusters string
		note     string
	}{
		"all differ":      {made("a - - x", "b p - y", "c p - z"), "|p|p", ""},
		"no inputs":       {made("a - - -", "b - - -"), "|", ""},
		"equal":           {made("b - - x", "a - - x", "c - - y"), "input of a|input of a|", "1 item repeats the input of another item, so they are one observation, in one cluster: a = b"},
		"equal, one has":  {made("a - - x", "b p - x", "c p - y", "d - - z"), "p|p|p|", "1 item repeats the input of another item, so they are one observation, in one cluster: a = b"},
		"joins clusters":  {made("a q - x", "b p - x", "c p - y", "d q - z"), "p|p|p|p", "1 item repeats the input of another item, so they are one observation, in one cluster: a = b"},
		"chains":          {made("a p - x", "b q - x", "c q - y", "d r - y", "e r - z"), "p|p|p|p|p", "2 items repeat the input of another item, so they are one observation, in one cluster: a = b; c = d"},
		"eight of a kind": {made("a - - x", "b - - x", "c - - x", "d - - x", "e - - x", "f - - x", "g - - x"), strings.Repeat("input of a|", 6) + "input of a", "6 items repeat the input of another item, so they are one observation, in one cluster: a = b = c = d = e = 2 more"},
	} {
		list, note := Independent(test.items)
		var clusters []string
		for _, it := range list {
			clusters = append(clusters, it.Cluster)
		}
		if d := cmp.Diff(test.clusters, strings.Join(clusters, "|")); d != "" || note != test.note {
			t.Errorf("%s: %q\n%s", name, note, d)
		}
	}
	before := made("a - - x", "b - - x")
	if Independent(before); before[0].Cluster != "" {
		t.Error("the suite's items changed")
	}
}

// TestSeparate: a cluster on both splits is refused and named, unless the study allows it.
func TestSeparate(t *testing.T) {
	shared := made("a p dev x", "b p test y", "c q dev z", "d - test w")
	repeated, _ := Independent(made("a - dev x", "b - test x"))
	for name, test := range map[string]struct {
		study study.Study
		items []eval.Item
		err   string
		note  string
	}{
		"no split":        {study.Study{}, shared, "", ""},
		"shared":          {study.Study{Split: "dev"}, shared, "1 cluster has items on DEV and on TEST: p (dev: a, test: b): TEST would confirm", ""},
		"the same inputs": {study.Study{Split: "test"}, repeated, "input of a (dev: a, test: b)", ""},
		"allowed":         {study.Study{Split: "test", SharedClusters: true}, shared, "", "p (dev: a, test: b); what was chosen on DEV passes on TEST too often"},
		"separate":        {study.Study{Split: "test"}, made("a p dev x", "b q test y"), "", ""},
	} {
		note, err := Separate(&test.study, test.items)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || !strings.Contains(note, test.note) || (note == "") != (test.note == "") {
			t.Errorf("%s: %q, %v", name, note, err)
		}
	}
}
