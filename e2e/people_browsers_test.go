//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/scruple-eval/scruple/internal/ledger"
)

// asking is the key of the subject and the hash of what is shown, which the ledger has too, of the
// question that a page asks, "" on other pages.
const asking = "(f => f ? f.dataset.key + ' ' + f.dataset.shown : '')(document.querySelector('details.unit[open] form.answer') ?? document.querySelector('form.answer'))"

// works says whether a page came, and its script, which shows the button for keys.
const works = "location.protocol === 'http:' && document.querySelector('#keys[hidden]') === null"

// A seat is a person at a browser of their own.
type seat struct {
	*reader
	base, name string
	asked      map[string]bool     // tasks and subjects
	saved      map[string][]string // answers that a page said are saved, by task and what was shown
}

// answer answers subjects of a task by keys. before is called between the choice and the sending
// of each. A page shows the next subject only after the answer was saved.
func (s *seat) answer(task string, subjects int, before, after func(n int)) {
	s.open(s.base + "t/" + task + "/")
	for n := range subjects {
		for s.until("document.body"); !is[bool](s.reader, works); s.until("document.body") {
			time.Sleep(50 * time.Millisecond) // the next page was asked of a killed server: a person tries again
			_ = chromedp.Do(s.ctx, chromedp.Navigate(s.base+"t/"+task+"/"))
		}
		s.until(asking)
		asked := is[string](s.reader, asking)
		subject, shown, _ := strings.Cut(asked, " ")
		if s.asked[task+" "+subject] {
			s.t.Errorf("%s is asked again about %s of %s", s.name, subject, task)
		}
		s.asked[task+" "+subject] = true
		key := []string{"1", "2"}[n%2]
		if task == "fields" {
			key = "2" // missing
		}
		s.press(key)
		s.until("document.querySelector('form.answer input:checked')")
		value := is[string](s.reader, "document.querySelector('form.answer input:checked').value")
		before(n)
		s.submit()
		after(n)
		s.until(fmt.Sprintf("%s !== %q", asking, asked))
		s.saved[task+" "+shown] = append(s.saved[task+" "+shown], value)
	}
}

// TestTwoBrowsersAndAKill has two people answer by keyboard, each in a browser of their own, while
// their server is killed and started again: one sends an answer while the server is away, and the
// other is at any point of the work. Each answer that a page said was saved is in the ledger once,
// and no question is asked twice.
func TestTwoBrowsersAndAKill(t *testing.T) {
	t.Parallel()
	dir, study := contracts(t)
	edit(t, study, "    again: {count: 15}\n", "")
	oddTask(t, study, "kinds", "      - {name: kind, type: choice, options: [a, b]}\n")
	edit(t, study, "    draw: 3\n", "    draw: 8\n")
	h := &host{p: &play{t: t, home: t.TempDir(), counts: map[string]int{}},
		args: []string{"annotate", study, "--as", "anna", "--as", "ben"}}
	h.start()
	defer h.stop(os.Kill)
	seats := map[string]*seat{}
	for _, name := range []string{"anna", "ben"} {
		base := (*h.urls.Load())[name]
		seats[name] = &seat{reader: newReader(t, base), base: base, name: name, asked: map[string]bool{}, saved: map[string][]string{}}
	}
	ready, down, told := make(chan struct{}), make(chan struct{}), make(chan struct{})
	nothing := func(int) {}
	var people sync.WaitGroup
	people.Go(func() {
		seats["anna"].answer("fields", 12, nothing, nothing)
		seats["anna"].answer("kinds", 8, nothing, nothing)
	})
	people.Go(func() {
		s := seats["ben"]
		ends := []func(){sync.OnceFunc(func() { close(ready) }), sync.OnceFunc(func() { close(told) })}
		defer ends[0]()
		defer ends[1]()
		s.answer("kinds", 8, func(n int) {
			if n == 3 {
				ends[0]()
				<-down
			}
		}, func(n int) {
			if n == 3 {
				s.until("document.querySelector('.problem')?.textContent.startsWith('NOT SAVED')")
				ends[1]()
			}
		})
		s.answer("fields", 12, nothing, nothing)
	})
	<-ready
	h.stop(os.Kill)
	close(down)
	<-told
	h.start()
	people.Wait()
	h.stop(os.Interrupt)

	for name, s := range seats {
		stored := map[string][]string{}
		for _, task := range []string{"kinds", "fields"} {
			entries, err := ledger.Read(filepath.Join(dir, "annotations", task, name+".jsonl"))
			must(t, err)
			for _, e := range entries {
				var data struct {
					Shown  string
					Answer struct{ Kind, Exists string }
				}
				if must(t, json.Unmarshal(e.Data, &data)); e.Kind == "submit" {
					subject := task + " " + data.Shown
					stored[subject] = append(stored[subject], data.Answer.Kind+data.Answer.Exists)
				}
			}
		}
		if len(s.asked) != 20 || !maps.EqualFunc(s.saved, stored, slices.Equal) {
			t.Errorf("%s was asked %d times, want 20, and told that these answers are saved: %q; the ledger has %q", name, len(s.asked), s.saved, stored)
		}
	}
	ok(t, "test", "ledger", "verify", study)
}
