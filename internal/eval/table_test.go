package eval_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A cell is read back as it was written: an analysis in a file has the numbers of the one
// in memory.
func TestCells(t *testing.T) {
	nan := eval.Undefined()
	for _, tt := range []struct {
		cell       eval.Cell
		text, json string
	}{
		{eval.Text("a"), "a", `"a"`},
		{eval.Count(12345), "12,345", `{"kind":"count","value":12345}`},
		{eval.Count(0), "0", `{"kind":"count","value":0}`},
		{eval.CountOf(3, 12), "3 of 12", `{"kind":"count","value":3,"of":12}`},
		{eval.Share(0.125), "12.5 %", `{"kind":"share","value":0.125}`},
		{eval.ShareOf(1, 0), "–", `{"kind":"share","value":null}`},
		{eval.MeasuredShare(eval.Measured{Value: 0.5, Low: 0.25, High: 0.75}, true), "50.0 % (25.0 to 75.0 %)", `{"kind":"share","value":0.5,"low":0.25,"high":0.75}`},
		{eval.MeasuredRatio(eval.Measured{Value: 0.5, Low: nan, High: nan}, true), "0.500", `{"kind":"ratio","value":0.5}`},
		{eval.MeasuredRatio(eval.Measured{Value: 0.5}, false), "–", `{"kind":"ratio","value":null}`},
		{eval.Difference(0.25).Within(-0.5, 0.75), "+0.250 (−0.500 to +0.750)", `{"kind":"difference","value":0.25,"low":-0.5,"high":0.75}`},
		{eval.Quantity(-12.3456), "−12.35", `{"kind":"number","value":-12.3456}`},
		{eval.P(0.0001), "< 0.001", `{"kind":"p","value":0.0001}`},
		{eval.Missing(eval.KindP, "no pairs"), "– (no pairs)", `{"kind":"p","value":null,"undefined":"no pairs"}`},
		{eval.Is(true), "+", `{"kind":"verdict","value":true}`},
		{eval.Is(false), "-", `{"kind":"verdict","value":false}`},
		{eval.Missing(eval.KindVerdict, ""), "?", `{"kind":"verdict","value":null}`},
		{eval.Textf("%s of %d", eval.Textf("best: %s", eval.Share(1)), 2), "best: 100.0 % of 2",
			`{"kind":"text","text":"best: 100.0 % of 2","parts":[{"kind":"share","value":1}]}`},
	} {
		var table eval.Table
		table.Row(tt.cell)
		if got := table.Strings()[0][0]; got != tt.text {
			t.Errorf("%+v is %q, want %q", tt.cell, got, tt.text)
		}
		b, err := json.Marshal(tt.cell)
		if err != nil || string(b) != tt.json {
			t.Errorf("%s: %s, %v, want %s", tt.text, b, err, tt.json)
		}
		var back eval.Cell
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(b) || back.String() != tt.cell.String() {
			t.Errorf("%s", cmp.Diff(string(b), string(again)))
		}
	}
}
