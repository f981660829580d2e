package annotate_test

import (
	"testing"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/ledger"
)

// Entries of people's work in words; those of other packages, or with other data, have none.
func TestDescribe(t *testing.T) {
	for _, c := range []struct{ kind, data, want string }{
		{"draw", `{"study":"s","task":"t","queue":"q5","subjects":1}`, "task t of study s: 1 subject drawn; queue has SHA-256 q5"},
		{"annotator", `{"study":"s","task":"t","person":"anna"}`, "task t of study s: anna began"},
		{"annotation-head", `{"study":"s","task":"t","person":"anna","seq":3,"hash":"h7"}`, "task t of study s: the file of anna has 3 lines, the last with SHA-256 h7"},
		{"lock", `{"study":"s","task":"t","file":"t.gold.jsonl","md5":"m","sha256":"g9","folder":".","subjects":2,"name":"anna","declaration":"d"}`,
			"task t of study s: 2 subjects locked by anna in t.gold.jsonl, SHA-256 g9"},
		{"draw", `{"study":"s","new":1}`, ""},
		{"revision", `{}`, ""},
	} {
		if got := annotate.Describe(ledger.Entry{Kind: c.kind, Data: []byte(c.data)}); got != c.want {
			t.Errorf("%s: %q, want %q", c.kind, got, c.want)
		}
	}
}
