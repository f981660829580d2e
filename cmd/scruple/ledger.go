package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

func ledgerVerb(a *app) *cobra.Command {
	c := verb("ledger COMMAND", "show or verify the ledger of a study", `
The ledger records what must not change afterwards: registrations and runs of TEST,
revisions, drawn queues, locked gold, the state of people's files. It is
.scruple/ledger.jsonl, the nearest one in the folder of the study or above it, as far as the
folder of the repository, where it is made.`, cobra.ArbitraryArgs,
		func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("ledger: there is no %q; name show, verify, commit or blind", args[0])
			}
			return fmt.Errorf("ledger: name show, verify, commit or blind")
		})
	c.AddCommand(ledgerCommitVerb(a), ledgerBlindVerb(a))
	for _, sub := range []*cobra.Command{ledgerShowVerb(a), ledgerVerifyVerb(a)} {
		a.takeStudy(sub)
		c.AddCommand(sub)
	}
	return c
}

func ledgerShowVerb(a *app) *cobra.Command {
	return verb("show STUDY|RUN", "print the entries of the ledger and its head", `
A line says when, who and what; --json has all that an entry records. Put the head in a
place of its own, such as a registration: it shows later that nothing was taken out.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error {
			from, err := a.locate(c.Context(), args[0])
			if err != nil {
				return err
			}
			all := []ledger.Entry{}
			for _, path := range ledgersOf(from) {
				entries, err := ledger.Read(path)
				if err != nil {
					return exit(exitNotAllowed, err)
				}
				all = append(all, entries...)
				a.say("%s: %s", path, text.Plural(len(entries), "entry", "entries"))
				for _, e := range entries {
					a.say("%4d  %s  %-16s %-12s %s", e.Seq, second(e.At), e.Kind, say.PlainLine(e.By), text.Shorten(say.PlainLine(entryText(e)), longestEntry))
				}
				if head := ledger.HeadOf(entries); head.Seq > 0 {
					a.say("head: entry %d, SHA-256 %s", head.Seq, head.Hash)
				}
			}
			return a.result(all, func() {})
		})
}

func ledgerVerifyVerb(a *app) *cobra.Command {
	return verb("verify STUDY|RUN", "check the ledger and the files that it records", `
Compares the ledger with the folder and the store, both ways. Reports an edited, missing
or moved line with its number, a missing head, a queue, file of answers or gold that was
changed, cut, removed or added, and a run that only one of ledger and store has.`, cobra.ExactArgs(1),
		a.onStudy(func(c *cobra.Command, _ []string, x *experiment.Experiment, from source) error {
			n, paths := 0, ledgersOf(from)
			for _, path := range paths {
				entries, err := ledger.Read(path)
				if err == nil {
					err = ledger.CheckHead(path, entries)
				}
				if err != nil {
					return exit(exitNotAllowed, err)
				}
				n += len(entries)
			}
			_, files, err := annotationsOf(x, from).Verify()
			if err = errors.Join(err, a.checkRuns(c.Context(), x, from)); err != nil {
				return exit(exitNotAllowed, err)
			}
			return a.result(struct {
				Entries int      `json:"entries"`
				Files   []string `json:"files"`
			}{n, files}, func() {
				a.say("the ledger has %s and is intact (%s); %s checked", text.Plural(n, "entry", "entries"), strings.Join(paths, ", "), text.Plural(len(files), "file of annotation was", "files of annotation were"))
			})
		}))
}

// checkRuns compares the ledger with the store of a study, if there is one.
func (a *app) checkRuns(ctx context.Context, x *experiment.Experiment, from source) (err error) {
	db, err := store.OpenRead(ctx, from.store)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return x.CheckLedger(ctx, db)
}

func ledgerCommitVerb(a *app) *cobra.Command {
	var from string
	c := verb("commit STUDY HASH", "record the commitment of an outsider before a blind run", `
HASH is what scruple kit commit printed at the outsider, who is named with --from. A result
is accepted only for data that were committed to.`, cobra.ExactArgs(2),
		a.onStudy(func(_ *cobra.Command, args []string, x *experiment.Experiment, _ source) error {
			if err := x.RecordCommitment(args[1], from, a.user()); err != nil {
				return err
			}
			return a.result(map[string]string{"data_sha256": args[1], "from": from}, func() {
				a.say("recorded the commitment of %s", say.PlainLine(from))
			})
		}))
	c.Flags().StringVar(&from, "from", "", "the outsider: a name or group")
	a.studyFlags(c)
	return c
}

func ledgerBlindVerb(a *app) *cobra.Command {
	c := verb("blind STUDY FILE", "record the result of a blind validation", `
FILE is an outsider's result on private data, in the format `+analyse.BlindFormat+`, of a kit
that scruple kit build made of the study and of data that scruple ledger commit recorded.
Rules of the study read it as blind_runs, blind_min and blind_max.`, cobra.ExactArgs(2),
		a.onStudy(func(_ *cobra.Command, args []string, x *experiment.Experiment, _ source) error {
			r, err := x.RecordBlind(args[1], a.user())
			if err != nil {
				return err
			}
			return a.result(r, func() {
				a.say("recorded the blind validation of %s: %s", r.By, text.Plural(len(r.Comparisons), "comparison", "comparisons"))
				if len(r.Simulated) > 0 {
					a.say("SIMULATED: the answers of %s were derived from gold and say nothing about real models", strings.Join(r.Simulated, ", "))
				}
			})
		}))
	a.studyFlags(c)
	return c
}

// longestEntry is how many characters of an entry are shown; --json has all.
const longestEntry = 400

// second is a time of the ledger without its fraction.
func second(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return say.PlainLine(at)
	}
	return t.UTC().Format(time.DateTime)
}

// entryText says what an entry records. Entries of other kinds, such as those of a newer
// version, are shown as they are.
func entryText(e ledger.Entry) string {
	said := ""
	switch e.Kind {
	case discipline.RegistrationEntry:
		said = described(e, func(r discipline.Registration) string {
			judge := ""
			if r.Judge != nil {
				judge = "; judge " + r.Judge.String()
			}
			return fmt.Sprintf("study %s, %s, %s; SHA-256 %s%s", r.Study, text.Plural(r.Items, "item", "items"), r.Test, r.Digest, judge)
		})
	case discipline.TestEntry:
		said = described(e, func(t discipline.TestRun) string {
			return fmt.Sprintf("run %s of study %s, store %s; ran what has SHA-256 %s", t.Run, t.Study, t.Store, t.Digest)
		})
	case discipline.SeenEntry:
		said = described(e, func(s discipline.Seen) string {
			on := ""
			if s.Split != "" {
				on = " on " + strings.ToUpper(s.Split)
			}
			return fmt.Sprintf("run %s of study %s%s asks about %s not seen before, store %s", s.Run, s.Study, on, text.Plural(len(s.Inputs), "item", "items"), s.Store)
		})
	case discipline.UnblindingEntry:
		said = described(e, func(u discipline.Unblinding) string {
			return fmt.Sprintf("study %s: %s; it allowed: %s", u.Study, u.Reason, strings.Join(u.Changes, "; "))
		})
	case discipline.RevisionEntry:
		said = described(e, func(v discipline.Revision) string {
			behind := ""
			if v.Run != "" {
				behind = ", DEV run " + v.Run
			}
			if v.After != "" {
				behind += ", after TEST run " + v.After + " began"
			}
			return fmt.Sprintf("study %s%s: %s → %s", v.Study, behind, v.Hypothesis, v.Change)
		})
	case discipline.BlindEntry:
		said = described(e, func(b discipline.Blind) string {
			var r analyse.BlindResult
			if b.Decode(&r) != nil {
				return ""
			}
			return fmt.Sprintf("study %s: %s", b.Study, r)
		})
	case discipline.KitEntry:
		said = described(e, func(k discipline.Kit) string {
			return fmt.Sprintf("study %s: a kit of %s went out, SHA-256 %s", k.Study, text.Plural(len(k.Files), "file", "files"), k.Digest)
		})
	case discipline.CommitEntry:
		said = described(e, func(c discipline.Commitment) string {
			return fmt.Sprintf("study %s: %s committed to data with SHA-256 %s", c.Study, c.Who, c.Data)
		})
	default:
		said = annotate.Describe(e)
	}
	return cmp.Or(said, string(e.Data))
}

// described says what an entry records, "" if its data are others than expected.
func described[T any](e ledger.Entry, say func(T) string) string {
	var data T
	if e.Decode(&data) != nil {
		return ""
	}
	return say(data)
}

// ledgersOf lists the ledger of the study, and one beside the store, which earlier
// versions made.
func ledgersOf(from source) []string {
	own, ofStore := discipline.Path(from.path), filepath.Join(filepath.Dir(from.store), ledger.Name)
	if sameFile(own, ofStore) || ledger.Missing(ofStore) {
		return []string{own}
	}
	return []string{own, ofStore}
}

func sameFile(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}
