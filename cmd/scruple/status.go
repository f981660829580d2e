package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func statusVerb(a *app) *cobra.Command {
	var workers bool
	c := a.verb("status", func(c *cobra.Command, args []string) error {
		if workers {
			return a.workers(c.Context())
		}
		if len(args) == 0 {
			return a.allRuns(c.Context())
		}
		return a.status(c.Context(), args[0])
	})
	c.Flags().BoolVar(&workers, "workers", false, "show what the workers of a shared store have in hand")
	return c
}

func (a *app) status(ctx context.Context, arg string) error {
	db, r, err := a.findRun(ctx, arg)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := experiment.StatusOf(ctx, db, r)
	if err != nil {
		return err
	}
	const most = 10
	if s.Trend, s.Unread, err = experiment.Trend(ctx, db, r.Study, most); err != nil {
		return err
	}
	return a.result(s, func() { a.sayStatus(s, arg) })
}

func (a *app) sayStatus(s experiment.Status, arg string) {
	a.say("run      %s (%s), started %s", s.Run, s.Suite, s.CreatedAt)
	a.say("study    %s", s.File)
	idle := ""
	if s.State == "interrupted" {
		idle = "; no process is working on it"
	}
	a.say("state    %s: %d of %s done, %d failed%s", s.State, s.Done, text.Plural(s.Trials, "trial", "trials"), s.Failed, idle)
	if s.ToJudge+s.JudgeFailed > 0 {
		a.say("judging  %s pending, %d failed", text.Plural(s.ToJudge, "trial", "trials"), s.JudgeFailed)
	}
	for _, e := range s.JudgeErrors {
		a.say("         judge %s, %s: %s", e.Judge, text.Plural(e.Verdicts, "verdict", "verdicts"), say.PlainLine(e.Reason))
	}
	a.say("spent    %s, %s, %s", text.Plural(s.Calls, "call", "calls"), text.Plural(s.Tokens, "token", "tokens"), costOrUnknown(s.CostUSD, s.Unpriced))
	if s.Estimated > 0 {
		a.say("         of which the usage of %s is estimated, on the high side: the provider sent no token counts", text.Plural(s.Estimated, "answer", "answers"))
	}
	for _, u := range s.Reused {
		from := u.Run
		if u.Run == s.Run {
			from = "this run (equal questions to a judge, or trials that had left the plan)"
		}
		a.say("reused   %s of %s, %s not paid again", text.Plural(u.Answers, "answer", "answers"), from, costOrUnknown(u.CostUSD, u.Unpriced))
	}
	for _, n := range s.Sessions {
		a.say("session  %s", sessionLine(n))
	}
	for _, e := range s.Errors {
		a.say("error    %s: %s", text.Plural(e.Calls, "call", "calls"), say.PlainLine(e.Text))
	}
	for _, w := range s.Warnings {
		a.say("warning  %s", say.PlainLine(w))
	}
	for _, e := range s.Events {
		a.say("%s  %s: %s", e.At.Format(time.RFC3339), e.What, e.Note)
	}
	for i, p := range s.Trend {
		var arms []string
		for _, of := range p.Arms {
			arms = append(arms, of.Arm+" "+p.Say(of))
		}
		if i == 0 {
			a.say("trend of %s, newest first:", p.Metric)
		}
		a.say("  %s  %s  %s%s", p.Run, p.Created[:10], strings.Join(arms, ", "), strings.TrimSuffix("  ["+strings.Join(p.Tags, ", ")+"]", "  []"))
	}
	if s.Unread > 0 {
		a.say("  without %s of another version or damaged: `scruple score RUN` analyses one again at no cost", text.Plural(s.Unread, "run, whose analysis is", "runs, whose analyses are"))
	}
	switch s.State {
	case "interrupted":
		a.say("resume with `%s`", a.command("run", arg))
	case "failures":
		a.say("retry failed trials with `%s`", a.command("run", arg, "--retry-failed"))
	}
}

// sessionLine describes a session.
func sessionLine(s store.Session) string {
	line := fmt.Sprintf("%d, %s to %s: %s, of which %s; %s, %d of them new, %d since the start", s.N, minute(s.First), minute(s.Last),
		text.Plural(s.Requests, "request", "requests"), text.Plural(s.Retries, "retry", "retries"), text.Plural(s.Items, "item", "items"), s.New, s.Done)
	for _, e := range s.Errors {
		line += fmt.Sprintf("; %s %d", cmp.Or(string(e.Kind), "interrupted"), e.Requests)
	}
	return line
}

func minute(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04") }

func (a *app) allRuns(ctx context.Context) error {
	db, err := store.OpenRead(ctx, a.storeFor(""))
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := experiment.Statuses(ctx, db)
	if err != nil {
		return err
	}
	return a.result(list, func() {
		for _, s := range list {
			a.say("%-24s %-11s %d/%d done, %d failed, %s, %s  %s", s.Run, s.State, s.Done, s.Trials, s.Failed, text.Plural(s.Calls, "call", "calls"), costOrUnknown(s.CostUSD, s.Unpriced), s.CreatedAt)
		}
		if len(list) == 0 {
			a.say("no runs yet")
		}
	})
}
