package procedure

import (
	"strings"
	"testing"
)

// TestJudgedAndWatched runs what has no reference case: prediction-powered
// estimates and the confidence sequence, as a user's case or table does.
func TestJudgedAndWatched(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"gaps are null", `{"method": "ppi_mean", "input": {"judge": [1, 0, 1, 0, 1, 1], "human": [1, 0, 0, null, null, null]}}`, `"n_labelled":3,"n_unlabelled":3,"n_clusters_labelled":3`},
		{"clusters are labels", `{"method": "ppi_mean", "params": {"conf": 0.9}, "input": {"judge": [1, 0, 1, 0, 1, 1], "human": [1, 0, 0, 1, null, null], "cluster": ["u", "u", "v", 7, 7, "v"]}}`, `"n_clusters_labelled":3`},
		{"two arms", `{"method": "ppi_difference", "input": {"judge_a": [1, 1, 0, 1], "judge_b": [0, 1, 0, 0], "human_a": [1, 1, 0, null], "human_b": [0, 0, 0, 0]}}`, `"n_labelled":3,"n_unlabelled":1`},
		{"nobody was asked", `{"method": "ppi_mean", "input": {"judge": [1, 0], "human": [null, null]}}`, `"estimate":null`},
		{"a judge with gaps", `{"method": "ppi_mean", "input": {"judge": [1, null], "human": [1, 0]}}`, `refused: stats: judge[1] is NaN`},
		{"clusters too short", `{"method": "ppi_mean", "input": {"judge": [1, 0], "human": [1, 0], "cluster": ["u"]}}`, `refused: stats: every item needs a cluster, got 1 of 2`},
		{"differences", `{"method": "confidence_sequence", "input": {"diff": [0.5, 0.5, 0.5, 0.5]}}`, `"n":4,"mean":0.5`},
		{"not 0 from some row on", `{"method": "confidence_sequence", "input": {"diff": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}}`, `"first_n_excluding_zero":`},
		{"below 0", `{"method": "confidence_sequence", "input": {"diff": [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1]}}`, `"first_n_excluding_zero":`},
		{"pairs", `{"method": "confidence_sequence", "params": {"low": -2, "high": 2}, "input": {"a": [1, 1], "b": [0.5, 0]}}`, `"mean":0.75`},
		{"both", `{"method": "confidence_sequence", "input": {"diff": [1], "a": [1], "b": [0]}}`, `refused: input has diff and a and b, expected one of them`},
		{"out of bounds", `{"method": "confidence_sequence", "input": {"diff": [0, 1.5]}}`, `refused: stats: row 2 has the observation 1.5, outside of the range low to high, which is -1 to 1`},
		{"nothing", `{"method": "confidence_sequence", "input": {"diff": []}}`, `refused: `},
	} {
		parsed, err := ReadCase(strings.NewReader(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := ""
		if result, err := parsed.Run(); err != nil {
			got = "refused: " + err.Error()
		} else {
			got = inJSON(t, result)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
