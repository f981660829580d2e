// Package outputs answers requests from a file of existing answers, so that the
// results of another program or an earlier study are journalled and scored like any
// other arm.
//
// The file is JSON Lines as in package dataset (gzip, byte order marks and blank
// lines are accepted) with one answer per line:
//
//	{"document_id": "doc-17", "output": "…"}
//	{"item": "doc-17", "replicate": 2, "output": {"extractions": []}, "model": "my-pipeline 1.4", "usage": {"input_tokens": 812, "output_tokens": 93}}
//
// "document_id" and "item" are aliases, ids as in [dataset.ID], and "output" is the model's text, byte for
// byte, or an object or a list, which means its JSON text in the file. "replicate"
// counts from 1, the default. The whole file is validated when it is opened, and
// all errors are reported.
//
// A table (CSV, TSV, a workbook, a JSON list) has a column for each key, and tokens in columns
// such as usage.input_tokens.
//
// Texts stay on disk; memory holds the ids and the offsets of their answers.
//
// The package must not know any suite, nor what the answers are about.
package outputs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/model"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Client answers from one file. It implements [model.Client]. Close it.
type Client struct {
	lines *dataset.Lines
	index map[string][]answer // of each item, sorted by replicate
}

// An answer is the place of one, in 8 bytes: a file may have millions.
type answer struct{ replicate, record int32 }

// find returns the record with the answer for an item and replicate.
func (c *Client) find(k key) (record int, ok bool) {
	answers := c.index[k.item]
	at, ok := search(answers, k.replicate)
	if !ok {
		return 0, false
	}
	return int(answers[at].record), true
}

func search(answers []answer, replicate int) (at int, ok bool) {
	return slices.BinarySearchFunc(answers, replicate, func(a answer, n int) int { return int(a.replicate) - n })
}

// A key is what an answer is an answer to.
type key struct {
	item      string
	replicate int
}

func (k key) String() string { return fmt.Sprintf("item %q replicate %d", k.item, k.replicate) }

// keyOf validates a record and returns its item and replicate.
func keyOf(r *dataset.Answer) (k key, err error) {
	k.item, k.replicate, err = r.Key()
	return k, err
}

// Open reads a file from its start to its end and checks it. Errors begin with
// file and line.
func Open(path string) (*Client, error) {
	lines, err := table.OpenLines(path, table.Texts{Names: dataset.AnswerTexts, Verbatim: dataset.AnswerOutput})
	if err != nil {
		return nil, err
	}
	c := &Client{lines: lines, index: map[string][]answer{}}
	if err := c.load(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// maxListed is how many mistakes are worth reading before mending the file.
const maxListed = 20

func (c *Client) load() error {
	var mistakes []error
	var buf []byte
	again := map[string]int{} // by the text of a mistake: on how many lines more it is
	for i := range c.lines.Len() {
		var err error
		if buf, err = c.add(i, buf); err == nil {
			continue
		}
		if _, known := again[cause(err)]; known {
			again[cause(err)]++
			continue
		}
		again[cause(err)], mistakes = 0, append(mistakes, err)
	}
	for i, err := range mistakes {
		if n := again[cause(err)]; n > 0 {
			mistakes[i] = fmt.Errorf("%w (and on %s)", err, text.Plural(n, "line more", "lines more"))
		}
	}
	for item, answers := range c.index {
		c.index[item] = slices.Clone(answers) // half may be spare
	}
	if more := len(mistakes) - maxListed; more > 0 {
		mistakes = append(mistakes[:maxListed], fmt.Errorf("%s: and %d more", c.lines.Path(), more))
	}
	return errors.Join(mistakes...)
}

// cause is the text of a mistake without its place.
func cause(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

// add checks record i and enters it in the index.
func (c *Client) add(i int, buf []byte) ([]byte, error) {
	var r dataset.Answer
	buf, err := c.lines.Decode(i, buf, &r)
	if err != nil {
		return buf, err
	}
	k, err := keyOf(&r)
	if err != nil {
		return buf, c.lines.Locate(i, err)
	}
	if first, ok := c.find(k); ok {
		return buf, c.lines.Errorf(i, "duplicate answer for %v: first on line %d; keep one, or number replicates", k, c.lines.Line(first))
	}
	answers := c.index[k.item]
	at, _ := search(answers, k.replicate)
	c.index[k.item] = slices.Insert(answers, at, answer{int32(k.replicate), int32(i)})
	return buf, nil
}

// Complete answers with what the file holds for the request's item and
// replicate; nothing else of the request counts.
func (c *Client) Complete(ctx context.Context, r *eval.Request) (eval.Response, error) {
	if err := ctx.Err(); err != nil {
		return eval.Response{}, model.FromTransport(ctx, err)
	}
	k := key{r.Item, max(1, r.Replicate)}
	i, ok := c.find(k)
	if !ok {
		return eval.Response{}, c.missing(k)
	}
	var rec dataset.Answer
	_, err := c.lines.Decode(i, nil, &rec)
	var found key
	if err == nil {
		found, err = keyOf(&rec)
	}
	if err == nil && found != k {
		err = c.lines.Errorf(i, "the line is now about %v", found)
	}
	var text string
	if err == nil {
		text, err = rec.Text()
	}
	if err != nil {
		return eval.Response{}, &model.Error{Kind: eval.ErrUnavailable, Err: err, Final: true,
			Message: fmt.Sprintf("reading the answer for %v: %v", k, err), Remedy: "do not change the file during a run"}
	}
	return eval.Response{
		Text: text, Stop: eval.StopEnd, ModelVersion: rec.Model,
		RequestID: filepath.Base(c.lines.Path()) + ":" + strconv.Itoa(c.lines.Line(i)),
		Usage:     eval.Usage{Input: rec.Usage.Input, Output: rec.Usage.Output},
	}, nil
}

// missing is the error for an item without an answer. It leaves the trial
// failed and the run alone, unlike a bad request would.
func (c *Client) missing(k key) error {
	return &model.Error{Kind: eval.ErrUnavailable, Final: true,
		Message: fmt.Sprintf("no answer for item %s replicate %d in %s", k.item, k.replicate, c.lines.Path()),
		Remedy:  "add a line for it, or remove the item from the study"}
}

// Missing lists the answers a study with these items and replicates would not
// find, in the items' order: as an id, or with several replicates as
// "id replicate 2".
func (c *Client) Missing(items []string, replicates int) []string {
	var list []string
	for _, item := range items {
		for replicate := 1; replicate <= replicates; replicate++ {
			if _, ok := c.find(key{item, replicate}); ok {
				continue
			}
			name := item
			if replicates > 1 {
				name = fmt.Sprintf("%s replicate %d", item, replicate)
			}
			list = append(list, name)
		}
	}
	return list
}

// Unknown lists the items the file has answers for and a study does not, in
// the file's order.
func (c *Client) Unknown(items []string) []string {
	known := make(map[string]bool, len(items))
	for _, item := range items {
		known[item] = true
	}
	firstOf := map[string]int32{} // record of each unknown item
	for item, answers := range c.index {
		if !known[item] {
			firstOf[item] = slices.MinFunc(answers, func(a, b answer) int { return int(a.record) - int(b.record) }).record
		}
	}
	return slices.SortedFunc(maps.Keys(firstOf), func(a, b string) int { return int(firstOf[a]) - int(firstOf[b]) })
}

// Most is the highest replicate that any item has an answer of.
func (c *Client) Most() (most int) {
	for _, answers := range c.index {
		for _, a := range answers {
			most = max(most, int(a.replicate))
		}
	}
	return most
}

// Close closes the file.
func (c *Client) Close() error { return c.lines.Close() }
