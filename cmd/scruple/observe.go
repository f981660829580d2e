package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// observer returns how to show a run: JSON events, bars on a terminal, or plain
// lines elsewhere.
func (a *app) observer() (run.Observer, func()) {
	switch {
	case a.json:
		return &jsonObserver{out: json.NewEncoder(a.out)}, func() {}
	case isTerminal(a.err):
		p := mpb.New(mpb.WithOutput(a.err), mpb.WithWidth(40))
		o := &barObserver{plainObserver: plainObserver{w: p}, progress: p, bars: map[string]*armBar{}}
		return o, o.close
	}
	return &plainObserver{w: a.err, every: 5 * time.Second}, func() {}
}

func isTerminal(w io.Writer) bool {
	_, ok := terminalOf(w)
	return ok
}

// terminalOf returns the descriptor of a terminal.
func terminalOf(w io.Writer) (fd int, ok bool) {
	if o, is := w.(*output); is {
		w = o.Writer
	}
	if f, is := w.(*os.File); is {
		fd, ok = int(f.Fd()), term.IsTerminal(int(f.Fd()))
	}
	return fd, ok
}

// terminal returns the options for a report on standard output.
func (a *app) terminal() report.TerminalOptions {
	o := report.TerminalOptions{Width: 80}
	if fd, ok := terminalOf(a.out); ok {
		if w, _, err := term.GetSize(fd); err == nil {
			o.Width = w
		}
		o.Color = a.getenv("NO_COLOR") == ""
	}
	return o
}

// describe formats an event as a line of text. Ids, the words of a provider and
// the standard error of a command are foreign: they must not steer a terminal.
func describe(e run.Event) string {
	line := e.Note
	switch e.Kind {
	case "retry":
		line = fmt.Sprintf("%v: %s; retrying in %v", e.Trial, e.Note, e.Wait)
	case "stopping":
		line = "stopping after the calls in flight: " + e.Note
	}
	return say.PlainLine(line)
}

// summarise formats the progress of a stage as a line of text. Calls and cost are
// those of the whole run.
func summarise(p run.Progress) string {
	var done, planned, failed int
	for _, arm := range p.Arms {
		done, planned, failed = done+arm.Done, planned+arm.Planned, failed+arm.Failed
	}
	line := fmt.Sprintf("%s: %d of %s, %d failed; %s and %s in all, %v", p.Stage, done, text.Plural(planned, "trial", "trials"), failed, text.Plural(p.Spent.Calls, "call", "calls"), costOrUnknown(p.Spent.Cost, p.Spent.Unpriced),
		p.Elapsed.Round(time.Second/10))
	if p.Left > 0 {
		line += fmt.Sprintf(", about %v left", p.Left.Round(time.Second))
	}
	return line
}

// costOrUnknown formats the cost of some calls: a sum that lacks calls of unknown
// cost is a lower bound.
func costOrUnknown(cost float64, unpriced int) string {
	switch {
	case unpriced == 0:
		return fmt.Sprintf("$%.4f", cost)
	case cost == 0:
		return "unknown cost"
	}
	return fmt.Sprintf("≥ $%.4f (%s of unknown cost)", cost, text.Plural(unpriced, "call", "calls"))
}

// causes counts the events of each cause: hundreds of calls may have the same error.
type causes map[string]int

// varying matches what differs between events of one cause: ids and times. A status of
// HTTP does not vary.
var varying = regexp.MustCompile(`[0-9a-zA-Z_-]{5,}[0-9][0-9a-zA-Z_-]*|[0-9a-zA-Z_-]*[0-9][0-9a-zA-Z_-]{5,}|[0-9.]+ ?(ms|s)\b`)

// causesShown is how many causes of a kind of event are printed.
const causesShown = 10

// line returns what to print about an event: the first one of a cause, and at the second
// one that there are more; else "".
func (c causes) line(e run.Event) string {
	why := e.Note
	if _, behind, ok := strings.Cut(why, ": "); ok && e.Kind == "failed" { // the trial
		why = behind
	}
	cause := e.Kind + " " + varying.ReplaceAllString(why, "#")
	if c[cause] == 0 {
		c[e.Kind]++
	}
	switch c[cause]++; {
	case c[e.Kind] == causesShown+1 && c[cause] == 1:
		return fmt.Sprintf("further events of this kind (%s) are not printed; the report counts them", e.Kind)
	case c[e.Kind] > causesShown:
	case c[cause] == 1:
		return describe(e)
	case c[cause] == 2:
		return fmt.Sprintf("further events with this cause (%s) are not printed; the report counts them: %s", e.Kind, text.Shorten(say.PlainLine(why), 100))
	}
	return ""
}

// A plainObserver prints progress from time to time, and events.
type plainObserver struct {
	w     io.Writer
	every time.Duration
	last  time.Time
	said  causes
}

func (o *plainObserver) Event(e run.Event) {
	if o.said == nil {
		o.said = causes{}
	}
	if line := o.said.line(e); line != "" {
		fmt.Fprintln(o.w, line)
	}
}

func (o *plainObserver) Progress(p run.Progress) {
	if p.Ended || time.Since(o.last) >= o.every {
		if o.last.IsZero() && !p.Ended {
			o.last = time.Now()
			return
		}
		o.last = time.Now()
		fmt.Fprintln(o.w, summarise(p))
	}
}

// A jsonObserver prints one JSON object per line.
type jsonObserver struct {
	out  *json.Encoder
	last time.Time
}

func (o *jsonObserver) Event(e run.Event) {
	_ = o.out.Encode(map[string]any{"event": e.Kind, "item": e.Trial.Item, "arm": e.Trial.Arm, "replicate": e.Trial.Replicate,
		"step": e.Step, "error_kind": string(e.Error), "note": say.PlainLine(e.Note), "wait_s": e.Wait.Seconds()})
}

func (o *jsonObserver) Progress(p run.Progress) {
	if !p.Ended && time.Since(o.last) < time.Second {
		return
	}
	o.last = time.Now()
	arms := []map[string]any{}
	for _, a := range p.Arms {
		arms = append(arms, map[string]any{"arm": a.Arm, "planned": a.Planned, "done": a.Done, "failed": a.Failed, "cost_usd": a.Cost, "unpriced_calls": a.Unpriced})
	}
	_ = o.out.Encode(map[string]any{"event": "progress", "stage": string(p.Stage), "arms": arms, "calls": p.Spent.Calls,
		"tokens": p.Spent.Tokens, "uncounted_calls": p.Spent.Uncounted, "cost_usd": p.Spent.Cost, "unpriced_calls": p.Spent.Unpriced, "elapsed_s": p.Elapsed.Seconds(), "left_s": p.Left.Seconds(), "ended": p.Ended})
}

// A barObserver draws one bar per arm, below the events.
type barObserver struct {
	plainObserver // of events
	progress      *mpb.Progress
	bars          map[string]*armBar
}

// An armBar is the progress of an arm. Another goroutine draws it.
type armBar struct {
	*mpb.Bar
	arm atomic.Pointer[run.ArmPlan]
}

// mostBars is how many arms have bars of their own: the bars of two stages fit 24 rows.
// More rows than the terminal has could not be drawn again.
const mostBars = 10

// together returns the arms to draw: one for all if there are many.
func together(arms []run.ArmPlan) []run.ArmPlan {
	if len(arms) <= mostBars {
		return arms
	}
	all := run.ArmPlan{Arm: fmt.Sprintf("all %d arms", len(arms))}
	for _, a := range arms {
		all.Planned, all.Done, all.Failed, all.Cost, all.Unpriced = all.Planned+a.Planned, all.Done+a.Done, all.Failed+a.Failed, all.Cost+a.Cost, all.Unpriced+a.Unpriced
	}
	return []run.ArmPlan{all}
}

func (o *barObserver) Progress(p run.Progress) {
	for _, a := range together(p.Arms) {
		key := string(p.Stage) + " " + a.Arm
		if o.bars[key] == nil {
			o.bars[key] = o.bar(key, &a)
		}
		bar := o.bars[key]
		bar.arm.Store(&a)
		bar.SetCurrent(int64(a.Done))
		if p.Ended && a.Done < a.Planned {
			bar.Abort(false)
		}
	}
}

func (o *barObserver) bar(key string, a *run.ArmPlan) *armBar {
	bar := new(armBar)
	bar.arm.Store(a)
	key = say.PlainLine(key)
	bar.Bar = o.progress.AddBar(int64(a.Planned),
		mpb.PrependDecorators(decor.Name(key, decor.WCSyncSpaceR), decor.CountersNoUnit("%d/%d", decor.WCSyncSpace)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			arm := bar.arm.Load()
			return fmt.Sprintf(" %d failed  %s ", arm.Failed, costOrUnknown(arm.Cost, arm.Unpriced))
		}), decor.AverageETA(decor.ET_STYLE_GO, decor.WCSyncSpace)))
	return bar
}

func (o *barObserver) close() {
	for _, b := range o.bars {
		b.Abort(false) // Wait would block on a bar that is not full
	}
	o.progress.Wait()
}
