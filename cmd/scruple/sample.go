package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/sampling"
	"github.com/scruple-eval/scruple/internal/suites/soundness"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

func filters(flag string, list []string) ([]sampling.Filter, error) {
	fs := []sampling.Filter{}
	for _, s := range list {
		f, err := sampling.ParseFilter(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		fs = append(fs, f)
	}
	return fs, nil
}

func (a *app) sample(o *opened) (err error) {
	list, out := o.arg, o.text("out")
	p := sampling.Plan{N: o.number("n"), Seed: int64(o.number("seed")), ID: o.text("id")}
	if p.Include, err = filters("--include", o.list("include")); err != nil {
		return err
	}
	if p.Exclude, err = filters("--exclude", o.list("exclude")); err != nil {
		return err
	}
	data, err := dataset.ReadFile(list)
	if err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	rows, err := table.Parse(list, o.text("sheet"), data)
	if err != nil {
		return err
	}
	s, err := sampling.Draw(rows, data, p)
	if err != nil {
		return err
	}
	if err := (disk.File{Path: out + ".csv", Allow: notOurs}).Check(); err != nil {
		return err
	}
	var files []disk.New
	for i, made := range []func() ([]byte, error){s.Workbook, s.CSV, s.JSON} {
		data, err := made()
		if err != nil {
			return err
		}
		files = append(files, disk.New{Path: filepath.Base(out) + []string{".xlsx", ".csv", ".json"}[i], Write: disk.Bytes(data)})
	}
	paths, err := disk.CreateAll(filepath.Dir(out), files)
	if err != nil {
		return err
	}
	return a.result(s.Record, func() {
		a.say("drew %d of %s with seed %d", s.N, text.Plural(s.Of, "report", "reports"), s.Seed)
		for _, l := range s.Left {
			a.say("left out: %s: %s", text.Plural(l.Rows, "row", "rows"), l.Why)
		}
		a.say("wrote %s", strings.Join(paths, ", "))
	})
}

func (a *app) track(o *opened) error {
	target, corpus := o.number("target"), o.text("corpus")
	p := sampling.Processed{Eligible: o.number("eligible"), Excluded: o.text("exclude"),
		Note: o.text("note"), By: o.text("by"), Corrects: o.text("correct")}
	t, err := sampling.OpenTracking(o.arg, target)
	if err != nil {
		return err
	}
	if o.cmd.Flags().Changed("target") && t.Target != target {
		return fmt.Errorf("--target %d: the target is %d, recorded with the first report in %s", target, t.Target, t.Path)
	}
	if corpus != "" { // nothing is recorded if it cannot be written
		if _, err := corpusOf(t, corpus); err != nil {
			return err
		}
	}
	if len(o.rest) > 0 {
		p.Report = o.rest[0]
		if p, err = t.Add(p, time.Now()); err != nil {
			return err
		}
		if p.Drawn > 0 {
			a.say("report %s: take fragment %d of %d", p.Report, p.Drawn, p.Eligible)
		}
	} else if p.Eligible != 0 || p.Excluded != "" || p.Corrects != "" {
		return errors.New("--eligible, --exclude and --correct are about a report: name it after the sample")
	}
	var made *writtenCorpus
	if corpus != "" {
		if made, err = a.writeCorpus(t, corpus); err != nil {
			return err
		}
	}
	return a.result(struct {
		*sampling.Tracking
		Corpus *writtenCorpus `json:"corpus,omitempty"`
	}{t, made}, func() {
		fmt.Fprint(a.out, t)
		if made != nil {
			a.tell("corpus", made)
		}
	})
}

// A writtenCorpus says what was added to a corpus, and what its sample does not have.
type writtenCorpus struct {
	File    string   `json:"file"`
	Rows    int      `json:"rows"`
	Added   int      `json:"added"`
	Without []string `json:"not_in_sample"`
}

// corpusOf adds the reports of which a fragment was taken to a corpus.
func corpusOf(t *sampling.Tracking, file string) (c soundness.Corpus, err error) {
	header, taken := t.Taken()
	s := soundness.Sample{Header: header, ID: t.ID()}
	for _, r := range taken {
		day, _, _ := strings.Cut(r.At, "T")
		note := fmt.Sprintf("fragment %d of %d", r.Drawn, r.Eligible)
		if r.Note != "" {
			note += "; " + r.Note
		}
		s.Rows = append(s.Rows, soundness.Taken{Cells: r.Cells, Date: day, Note: note})
	}
	if ending := filepath.Ext(file); ending != ".csv" {
		return c, fmt.Errorf("--corpus %s: want the name of a CSV file, such as fragment_corpus.csv", file)
	}
	was, err := table.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		was, err = nil, nil
	}
	if err != nil {
		return c, fmt.Errorf("reading the corpus: %w", err)
	}
	return s.Corpus(was)
}

// writeCorpus writes what [corpusOf] makes.
func (a *app) writeCorpus(t *sampling.Tracking, file string) (*writtenCorpus, error) {
	c, err := corpusOf(t, file)
	if err != nil {
		return nil, err
	}
	data, err := table.CSV(c.Rows)
	if err == nil && (c.Added > 0 || !isFile(file)) {
		err = disk.File{Path: file, Allow: notOurs}.Write(disk.Bytes(data))
	}
	if err != nil {
		return nil, err
	}
	if len(c.Stale) > 0 {
		a.warn("warning: %s: of the reports of these rows, which stay, no fragment is taken now, or another one: %s: remove them, or replace their text", file, strings.Join(c.Stale, ", "))
	}
	return &writtenCorpus{file, len(c.Rows) - 1, c.Added, c.Without}, nil
}
