package rerank

import (
	"embed"
	"fmt"
	"strconv"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
)

//go:embed preflight/*.json
var shippedPreflight embed.FS

// A preflightCase is a hand-written answer with known scores. It is parsed and
// scored like a real answer.
type preflightCase struct {
	Case       string             `json:"case"`
	Answer     string             `json:"answer"`
	Candidates int                `json:"candidates"`
	Gold       int                `json:"gold_position"`
	Expected   map[string]float64 `json:"expected"`
}

func checkCase(data []byte) (kit.Result, error) {
	var c preflightCase
	if err := dataset.DecodeStrict(data, &c); err != nil {
		return kit.Result{}, err
	}
	return kit.Result{Name: c.Case, Wrong: c.check()}, nil
}

func (c *preflightCase) check() []string {
	const most = 10_000
	if c.Candidates < 1 || c.Candidates > most || c.Gold < 1 || c.Gold > c.Candidates {
		return []string{fmt.Sprintf("gold_position %d of %d candidates: want 1 to the number of candidates, and at most %d candidates", c.Gold, c.Candidates, most)}
	}
	rec := record{Gold: c.Gold}
	for place := 1; place <= c.Candidates; place++ {
		rec.Candidates = append(rec.Candidates, strconv.Itoa(place))
	}
	o := eval.Outcome{Kind: eval.OK}
	ranking, err := method.ReadRanking(c.Answer, c.Candidates)
	if err != nil {
		o.Kind, o.Reason = eval.Malformed, err.Error()
	}
	rec.Ranking = ranking.Places
	o.Data = kit.JSON(rec)
	b := &bench{hits: hitsAt(5)}
	got := kit.Shares(b.score(nil, o, &request.Request{Gold: strconv.Itoa(c.Gold)}))
	return kit.Differences(got, c.Expected)
}
