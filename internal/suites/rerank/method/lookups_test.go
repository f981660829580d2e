package method_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/suites/rerank/catalog"
	"github.com/scruple-eval/scruple/internal/suites/rerank/method"
)

// alike is the scene with n candidates that are the same but for their ids.
func alike(n int) method.Task {
	task := scene(n)
	for i := range task.Candidates {
		item := *task.Candidates[0].Item
		item.ID = fmt.Sprintf("item-%02d", i+1)
		task.Candidates[i] = method.Candidate{Item: &item, Reviews: slices.Clone(task.Candidates[0].Reviews)}
	}
	return task
}

// Numbers and tags are no part of a candidate: what the request says of numbers,
// reviews, stars and dates must not meet them.
func TestBM25KnowsNoPlaces(t *testing.T) {
	for _, text := range []string{"A table for 3 people", "5 stars", "candidate number 12", "a review by somebody, of any date"} {
		task := alike(12)
		task.Text = text
		want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		if r := perform(t, find(t, "bm25"), task, &script{answer: right}); !slices.Equal(r.Ranking, want) {
			t.Errorf("%s: candidates that are alike are ranked %v", text, r.Ranking)
		}
	}
	// The number of reviews is not in the text either: "date", "by" and "stars"
	// of a review's tag would make the second win.
	task := alike(2)
	task.Text = "by stars, date, number, candidate, review"
	task.Candidates[1].Reviews = append(task.Candidates[1].Reviews, catalog.Review{UserID: "u", Text: "x", Stars: 1, Date: "2024-01-01"})
	for i := range task.Candidates {
		item := *task.Candidates[i].Item
		item.Fields = nil
		task.Candidates[i].Item = &item
	}
	if r := perform(t, find(t, "bm25"), task, &script{answer: right}); r.Ranking[0] != 1 {
		t.Errorf("tags are words: ranking %v", r.Ranking)
	}
}

// crowded is the scene with so many reviews of each candidate, all of which
// match "cozy".
func crowded(n, reviews int) method.Task {
	task := scene(n)
	for i := range task.Candidates {
		c := &task.Candidates[i]
		c.Reviews = nil
		for k := range reviews {
			c.Reviews = append(c.Reviews, catalog.Review{UserID: fmt.Sprintf("u%d", k), Text: fmt.Sprintf("Cozy, said guest %d of %s. %s", k+1, c.Item.Name, chatter)})
		}
	}
	return task
}

// observations performs look-ups of plan_act and gives what each showed.
func observations(t *testing.T, task method.Task, actions ...string) []string {
	t.Helper()
	answers := map[string]string{}
	for i, a := range actions {
		answers[fmt.Sprintf("act/%02d", i+1)] = a
	}
	answers[fmt.Sprintf("act/%02d", len(actions)+1)] = `{"action":"finish","ranking":[1]}`
	var seen []string
	for _, e := range perform(t, find(t, "plan_act"), task, steps(answers)).Trace {
		if e.Kind == "action" {
			seen = append(seen, e.Text)
		}
	}
	if len(seen) != len(actions) {
		t.Fatalf("%d look-ups show %d texts", len(actions), len(seen))
	}
	return seen
}

// fenced fails where a review begins and does not end.
func fenced(t *testing.T, text string) {
	t.Helper()
	if opened, closed := strings.Count(text, "<review"), strings.Count(text, "</review>"); opened != closed {
		t.Errorf("%d reviews begin and %d end in\n%s", opened, closed, text)
	}
}

// Whoever matches is on the first page of a search, and what is shown of one
// candidate is the same however many others there are.
func TestSearchShowsEveryCandidate(t *testing.T) {
	const search = `{"action":"search","argument":"cozy","page":%d}`
	of := func(text string, candidate int) string {
		var lines []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, fmt.Sprintf("[%d] ", candidate)) {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	var first []string
	for _, n := range []int{1, 10, 50} {
		var looks []string
		for p := range 11 {
			looks = append(looks, fmt.Sprintf(search, p+1))
		}
		seen := observations(t, crowded(n, 20), looks...)
		shown := map[string]int{}
		for _, text := range seen {
			fenced(t, text)
			for line := range strings.Lines(text) {
				if head, _, ok := strings.Cut(line, ": <review>"); ok {
					shown[head]++
				}
			}
		}
		for i := range n {
			for k := range 20 {
				if head := fmt.Sprintf("[%d] review %d by u%d", i+1, k+1, k); shown[head] != 1 {
					t.Fatalf("of %d candidates, %s is shown %d times on all pages:\n%s", n, head, shown[head], strings.Join(seen, "\n\n"))
				}
			}
			if of(seen[0], i+1) == "" {
				t.Errorf("of %d candidates, %d is not on the first page", n, i+1)
			}
		}
		first = append(first, of(seen[0], 1))
		if !strings.Contains(seen[0], "More matches from page 2 on: [1] ") {
			t.Errorf("the first page does not say that there is more:\n%s", seen[0])
		}
		if last := seen[len(seen)-1]; !strings.HasPrefix(last, "Page 11 does not exist. The result has ") {
			t.Errorf("beyond the last page there is\n%s", last)
		}
	}
	if first[0] != first[1] || first[1] != first[2] {
		t.Errorf("what is shown of a candidate depends on how many there are:\n%s", strings.Join(first, "\n"))
	}
	long := crowded(2, 3)
	for i := range long.Candidates[0].Reviews {
		long.Candidates[0].Reviews[i].Text = strings.Repeat("cozy ", 5000)
	}
	text := observations(t, long, `{"action":"search","argument":"(cozy.)+"}`)[0]
	if fenced(t, text); len(text) > 4000 || !strings.Contains(text, "[2] review 3") {
		t.Errorf("long matches are shown in %d bytes", len(text))
	}
}

// Reviews are cut off whole, and the rest can be seen.
func TestReviewsComeInPages(t *testing.T) {
	task := crowded(3, 42)
	var looks []string
	for p := range 5 {
		looks = append(looks, fmt.Sprintf(`{"action":"reviews","candidate":2,"page":%d}`, p))
	}
	seen := observations(t, task, looks...)
	if seen[0] != seen[1] {
		t.Error("page 0 is not the first")
	}
	all := strings.Join(seen[1:], "\n")
	fenced(t, seen[1])
	fenced(t, all)
	for k := range 42 {
		if n := strings.Count(all, fmt.Sprintf(`number="%d"`, k+1)); n != 1 {
			t.Errorf("review %d is shown %d times", k+1, n)
		}
	}
	if !strings.Contains(seen[1], "of 42 reviews. Page 2 continues.") || !strings.Contains(seen[4], "Page 4 does not exist. The result has 3 pages.") {
		t.Errorf("pages end in\n…%s\nand\n%s", seen[1][len(seen[1])-80:], seen[4])
	}
	if text := observations(t, scene(8), `{"action":"reviews","candidate":2}`)[0]; strings.Contains(text, "Page") || strings.Count(text, "</review>") != 2 {
		t.Errorf("two reviews are shown as\n%s", text)
	}

	plan := `{"conditions": [{"id":"C","kind":"REVIEW","text":"guests call it cozy"}], "logic": "C"}`
	r := perform(t, find(t, "anot"), task, steps(map[string]string{"plan": plan, "expand/01": `{"tool":"read","candidate":2}`,
		"expand/02": `{"tool":"read","candidate":2,"page":2}`, "expand/03": `{"tool":"read","candidate":2,"page":3}`, "expand/04": `{"tool":"done"}`}))
	read := ""
	for _, e := range r.Trace {
		if e.Kind == "action" && e.Text != "done" {
			fenced(t, e.Text)
			read += e.Text
		}
	}
	if strings.Count(read, "</review>") != 42 || strings.Count(read, "attributes.WiFi") != 1 || !strings.Contains(read, "Page 2 continues.") {
		t.Errorf("anot reads\n%s", read)
	}
}

// Attributes are facts: none is lost because there are many candidates.
func TestAttributesAreShownOfAll(t *testing.T) {
	task := scene(50)
	for i := range task.Candidates {
		task.Candidates[i].Item.Attributes["Note"] = strings.Repeat("note ", 50)
	}
	if text := observations(t, task, `{"action":"attribute","argument":"Note"}`)[0]; !strings.Contains(text, "\n[50] note") {
		t.Errorf("the last line is missing in\n%s", text)
	}
}

// Of a person with many friends, those who wrote reviews are never left out.
func TestFriendsWhoWroteReviewsAreListed(t *testing.T) {
	task := social(8)
	alice := task.Graph.Users["a"]
	for i := range 100 {
		alice.Friends = append(alice.Friends, fmt.Sprintf("f%03d", i))
	}
	task.Candidates[gold-1].Reviews[0].UserID = "f090"
	task.Graph = &catalog.Graph{Users: task.Graph.Users}
	for name, step := range map[string]string{"cot": "answer", "ps": "solve", "listwise": "pass1/window1"} {
		s := &script{answer: right}
		perform(t, find(t, name), task, s)
		_, list, _ := strings.Cut(s.prompts[step], "- Alice (a): ")
		list, _, _ = strings.Cut(list, "\n")
		if !strings.Contains(list, "f090") || strings.Count(list, ",") != 61 || !strings.HasSuffix(list, ", and 40 more") {
			t.Errorf("%s: the friends of Alice are %s", name, list)
		}
	}
}

// What is known of people comes in pages of whole lines.
func TestPeopleComeInPages(t *testing.T) {
	task := social(8)
	users := map[string]*catalog.User{}
	for i := range 15 {
		u := &catalog.User{ID: fmt.Sprintf("a%d", i), Name: "Alice"}
		for k := range 60 {
			u.Friends = append(u.Friends, fmt.Sprintf("friend-%d-%d", i, k))
		}
		users[u.ID] = u
	}
	task.Graph = &catalog.Graph{Users: users}
	seen := observations(t, task, `{"action":"people","argument":"Alice"}`, `{"action":"people","argument":"Alice","page":2}`)
	if !strings.Contains(seen[0], "of 16 lines. Page 2 continues.") {
		t.Errorf("the first page is\n%s", seen[0])
	}
	for i := range 15 {
		if n := strings.Count(strings.Join(seen, "\n"), fmt.Sprintf("- Alice (a%d): ", i)); n != 1 {
			t.Errorf("Alice %d is told of %d times", i, n)
		}
	}
}
