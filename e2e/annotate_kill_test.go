//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The server is killed at random moments while somebody answers, who sends again what was not
// confirmed. Every confirmed answer is stored, once, and the chain is intact.
// SCRUPLE_KILLS sets the number of kills.
func TestKillsWhileAnnotating(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("scruple")
	if err != nil {
		t.Skip("the program is not on PATH")
	}
	kills := 8
	if n, err := strconv.Atoi(os.Getenv("SCRUPLE_KILLS")); err == nil {
		kills = n
	}
	dir, study := contracts(t)
	// Enough subjects: every field of every document.
	edit(t, study, "    draw: 10\n    again: {count: 15}\n", "")
	var confirmed []string
	var unsure sending
	for range kills {
		c := exec.Command(program, "annotate", study, "--task", "fields", "--as", "anna")
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		text, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		base := strings.TrimSpace(strings.TrimPrefix(text, "anna: "))
		alive := answerOne(t, base, &confirmed, &unsure) // however slow the machine is
		time.AfterFunc(time.Duration(rand.IntN(90))*time.Millisecond, func() { c.Process.Kill() })
		for alive {
			alive = answerOne(t, base, &confirmed, &unsure)
		}
		c.Wait()
	}
	stored := submissions(t, filepath.Join(dir, "annotations", "fields", "anna.jsonl"))
	seen := map[string]bool{}
	for _, id := range stored {
		if seen[id] {
			t.Errorf("answer %s is stored twice", id)
		}
		seen[id] = true
	}
	for _, id := range confirmed {
		if !seen[id] {
			t.Errorf("answer %s was confirmed and is lost", id)
		}
	}
	t.Logf("%d kills: %d confirmed, %d stored", kills, len(confirmed), len(stored))
	if len(confirmed) == 0 || len(stored) > len(confirmed)+1 { // the last one may be stored
		t.Errorf("%d confirmed, %d stored", len(confirmed), len(stored))
	}
	ok(t, "test", "ledger", "verify", study)
}

// A sending is an answer whose result is unknown.
type sending struct {
	form
	id string
}

// answerOne answers the next subject, or sends the last answer again whose result is
// unknown. It returns false when the server does not answer any more.
func answerOne(t *testing.T, base string, confirmed *[]string, unsure *sending) bool {
	if unsure.id == "" {
		f, err := formAt(base + "t/fields/")
		if err != nil {
			return false
		}
		if strings.Contains(f.body, `id="continue"`) {
			status, _ := post(t, base, form{task: "fields", kind: "break"}, nil)
			return status == 200
		}
		if f.shown == "" {
			return false
		}
		*unsure = sending{f, freshID()}
	}
	send := func() (int, string) {
		return post(t, base, unsure.form, map[string]any{"id": unsure.id, "answer": map[string]any{"exists": "missing"}})
	}
	status, said := send()
	if status == 0 {
		return false
	}
	if status != 200 {
		t.Error(fmt.Sprint(status, " ", said))
		return false
	}
	*confirmed = append(*confirmed, unsure.id)
	if len(*confirmed)%7 == 0 { // a re-send is harmless
		send()
	}
	*unsure = sending{}
	return true
}
