package method_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
	"pgregory.net/rapid"
)

func TestReadRanking(t *testing.T) {
	for _, c := range []struct {
		answer     string
		structured bool
		want       []int
		reason     string
	}{
		{answer: "Ranking: 3, 1, 7", want: []int{3, 1, 7}},
		{answer: "1 and 2 fail.\nRanking: 3", want: []int{3}},
		{answer: "Ranking: 9\nNo, better:\nRanking: 3, 1", want: []int{3, 1}},
		{answer: "**Ranking: 3, 1**\n\n", want: []int{3, 1}},
		{answer: "```\nRanking: 3,1\n```", want: []int{3, 1}},
		{answer: "final ranking:3 , 1.", want: []int{3, 1}},
		{answer: "Ranking: [3] > [1] > [7]", want: []int{3, 1, 7}},
		{answer: "Ranking: [3, 1]", want: []int{3, 1}},
		{answer: "Ranking: 3,\r\n", reason: method.InvalidIndex},
		{answer: "3, 1, 7", reason: method.InvalidNoRanking},
		{answer: "The best are 3 and 1.", reason: method.InvalidNoRanking},
		{answer: "Ranking: 3, 1\nI hope this helps.", reason: method.InvalidNoRanking},
		{answer: "Ranking:", reason: method.InvalidIndex},
		{answer: "Ranking: none", reason: method.InvalidIndex},
		{answer: "Ranking: 3, 3", reason: method.InvalidDuplicate},
		{answer: "Ranking: 0", reason: method.InvalidIndex},
		{answer: "Ranking: 3, 11", reason: method.InvalidIndex},
		{answer: "Ranking: -1", reason: method.InvalidIndex},
		{answer: "Ranking: 3 because it has WiFi", reason: method.InvalidIndex},
		{answer: "Ranking: 99999999999999999999", reason: method.InvalidIndex},
		{answer: "", reason: method.InvalidNoRanking},
		{answer: `{"ranking": [3, 1]}`, structured: true, want: []int{3, 1}},
		{answer: "```json\n{\"ranking\": [3, 1], \"why\": \"2 fails\"}\n```", structured: true, want: []int{3, 1}},
		{answer: `{"ranking": [3, 1]}`, reason: method.InvalidNoRanking},
		{answer: `{"ranking": []}`, structured: true, reason: method.InvalidNoRanking},
		{answer: `{"ranking": [1.5]}`, structured: true, reason: method.InvalidIndex},
		{answer: `{"order": [3, 1]}`, structured: true, reason: method.InvalidNoRanking},
		{answer: `Sure: {"ranking": [3, 1]}`, structured: true, reason: method.InvalidNoRanking},
	} {
		got, err := method.ReadRanking(c.answer, 10, c.structured)
		var f *method.Fault
		errors.As(err, &f)
		if !slices.Equal(got, c.want) || (f == nil) != (c.reason == "") || f != nil && f.Reason != c.reason {
			t.Errorf("%q reads as %v, %v; want %v %s", c.answer, got, err, c.want, c.reason)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "N")
		all := make([]int, n)
		for i := range all {
			all[i] = i + 1
		}
		want := rapid.Permutation(all).Draw(t, "order")[:rapid.IntRange(1, n).Draw(t, "k")]
		texts := make([]string, len(want))
		for i, k := range want {
			texts[i] = strconv.Itoa(k)
		}
		prose := rapid.String().Draw(t, "prose")
		got, err := method.ReadRanking(prose+"\nRanking: "+strings.Join(texts, ", "), n, false)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v reads as %v, %v", want, got, err)
		}
	})
}

func FuzzReadRanking(f *testing.F) {
	for _, s := range []string{"Ranking: 3, 1", "ranking: [1] > [2]", `{"ranking":[1,2]}`, "```\nRanking: 2\n```", "Ranking: \xff", "Ranking: ,", "**Ranking:** 1"} {
		f.Add(s, 5, true)
		f.Add(s, 3, false)
	}
	f.Fuzz(func(t *testing.T, answer string, n int, structured bool) {
		if n < 0 || n > 1000 {
			return
		}
		ranking, err := method.ReadRanking(answer, n, structured)
		var fault *method.Fault
		if err != nil {
			if !errors.As(err, &fault) || fault.Reason == "" || ranking != nil {
				t.Fatalf("%q: %v, %v", answer, ranking, err)
			}
			return
		}
		seen := map[int]bool{}
		for _, i := range ranking {
			if i < 1 || i > n || seen[i] {
				t.Fatalf("%q of %d reads as %v", answer, n, ranking)
			}
			seen[i] = true
		}
		if len(ranking) == 0 {
			t.Fatalf("%q reads as an empty ranking", answer)
		}
	})
}
