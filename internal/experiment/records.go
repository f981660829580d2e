package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/scruple-eval/scruple/internal/embed"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/study"
)

// EmbeddingModel is the id of the study's embedding model among the models of an
// [Asking].
const EmbeddingModel = "embeddings"

// Records yields the analysis records of a run in plan order.
func (r *Run) Records(ctx context.Context) iter.Seq2[eval.Record, error] {
	scorer, _, err := r.calibrate(ctx)
	if err != nil {
		return failing[eval.Record](err)
	}
	records := scorer.Capabilities().Records
	if records == nil {
		return failing[eval.Record](fmt.Errorf("suite %s has no analysis records", r.Suite.Name))
	}
	var list []eval.Record
	return spread(r.cases(ctx, r.db, r.Record, false), func(c eval.Case) ([]eval.Record, error) {
		var err error
		if list, err = records(list[:0], c); err != nil {
			err = fmt.Errorf("records of %s: %w", c.Item, err)
		}
		return list, err
	})
}

// Embeddings returns the vectors of the texts of a run that were asked for; a study
// without an embedding model has none.
func (r *Run) Embeddings(ctx context.Context) (*embed.Set, error) {
	m := r.Study.Output.Embeddings
	if m == nil {
		return &embed.Set{}, nil
	}
	set := embed.NewSet(m.Name)
	q, err := embedding(m, "")
	if err != nil {
		return nil, err
	}
	want := ofModel(q.Parts())
	for c := range until(&err, r.db.EmbedCalls(ctx, r.Record)) {
		if c.Err != "" || !slices.Equal(ofModel(c.Parts), want) {
			continue // of another model, server or size
		}
		if err := set.Add(c.Response.Text, c.Response.ModelVersion); err != nil {
			return nil, fmt.Errorf("%v, step %s: %w", c.Trial, c.Step, err)
		}
	}
	return set, err
}

// embedding returns a request for embeddings, without texts.
func embedding(m *study.Embeddings, item string) (eval.Request, error) {
	q := eval.Request{Model: EmbeddingModel, Provider: m.Provider, Endpoint: m.BaseURL, Name: m.Name, Item: item}
	if m.Dimensions == 0 {
		return q, nil
	}
	var err error
	q.Payload, err = json.Marshal(map[string]int{"dimensions": m.Dimensions})
	return q, err
}

// ofModel returns the parts of a request that do not depend on its texts and trial.
func ofModel(parts []eval.Part) []eval.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p eval.Part) bool {
		return p.Name == "messages" || p.Name == "item" || p.Name == "replicate"
	})
}

// A batch is texts to embed in one request, in the journal with the trial that has the
// first of them.
type batch struct {
	trial eval.Trial
	texts []string
}

// unembedded lists the texts of records without a vector, in batches, and returns the vectors
// of the others.
func (r *Run) unembedded(ctx context.Context) (list []batch, set *embed.Set, err error) {
	m := r.Study.Output.Embeddings
	if set, err = r.Embeddings(ctx); m == nil || err != nil {
		return nil, set, err
	}
	size := max(1, m.Batch)
	known := map[embed.Key]bool{}
	for x := range until(&err, r.Records(ctx)) {
		for _, text := range []string{x.Value, x.Quote, x.About} {
			k := embed.KeyOf(text)
			if set.Has(text) || known[k] {
				continue
			}
			known[k] = true
			if n := len(list); n == 0 || len(list[n-1].texts) == size {
				list = append(list, batch{trial: x.Trial})
			}
			last := &list[len(list)-1]
			last.texts = append(last.texts, text)
		}
	}
	return list, set, err
}

// Unembedded counts the texts of records without a vector, and the requests for them. It returns
// the doubts about the other vectors.
func (r *Run) Unembedded(ctx context.Context) (texts, requests int, doubts []string, err error) {
	list, set, err := r.unembedded(ctx)
	if err != nil {
		return 0, 0, nil, err
	}
	for _, b := range list {
		texts += len(b.texts)
	}
	return texts, len(list), set.Doubts(), nil
}

// Embed asks the study's embedding model for the vectors that are missing. Each answer
// is in the journal before the next is asked for, so nothing is paid twice, and the
// limits of the study hold for all calls of the run.
func (r *Run) Embed(ctx context.Context, a Asking) error {
	m := r.Study.Output.Embeddings
	list, set, err := r.unembedded(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	spent, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return err
	}
	s, err := r.Session(ctx, r.leftOf(Part{}, spent), a)
	if err != nil {
		return err
	}
	var plans []run.ArmPlan
	before := min(1, set.Len()) // answers of earlier sessions show that the model accepts requests
	byTrial := map[eval.Trial][][]string{}
	var trials []eval.Trial
	for _, b := range list {
		if byTrial[b.trial] == nil {
			i := slices.IndexFunc(plans, func(p run.ArmPlan) bool { return p.Arm == b.trial.Arm })
			if i < 0 {
				i, plans = len(plans), append(plans, run.ArmPlan{Arm: b.trial.Arm, Planned: before, Done: before})
			}
			plans[i].Planned++
			trials = append(trials, b.trial)
		}
		byTrial[b.trial] = append(byTrial[b.trial], b.texts)
	}
	tasks := func(yield func(run.Task, error) bool) {
		for _, t := range trials {
			if !yield(run.Task{Trial: t, Called: true}, nil) {
				return
			}
		}
	}
	err = s.Embed(ctx, plans, tasks, func(ctx context.Context, t run.Task, ask eval.Asker) (failed error) {
		const enough = 5 // texts of refused batches, if nothing is answered: the study is at fault
		answered, refused := before > 0, 0
		for todo := byTrial[t.Trial]; len(todo) > 0 && (answered || refused < enough); {
			texts, rest := todo[0], todo[1:]
			if refused%2 == 1 { // the shortest and the longest in turn: perhaps only one kind is refused
				texts, rest = todo[len(todo)-1], todo[:len(todo)-1]
			}
			todo = rest
			err := embedTexts(ctx, m, t.Trial.Item, texts, ask)
			var call *run.CallError
			switch {
			case err == nil:
				answered = true
			case !errors.As(err, &call) || call.Fatal():
				return err
			case call.Err.Rejected() && len(texts) > 1: // perhaps for one of them, most likely a long one
				slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
				todo = slices.AppendSeq(slices.Clip(todo), slices.Chunk(texts, 1))
			default:
				failed = errors.Join(failed, err)
				if len(texts) < m.Batch {
					refused++
				}
			}
		}
		return failed
	})
	return errors.Join(err, s.Close())
}

// embedTexts asks for the embeddings of texts in one request.
func embedTexts(ctx context.Context, m *study.Embeddings, item string, texts []string, ask eval.Asker) error {
	q, err := embedding(m, item)
	if err != nil {
		return err
	}
	for _, text := range texts {
		q.Messages = append(q.Messages, eval.Message{Role: "user", Content: text})
	}
	// The step names what is asked, so that other texts are another step. The
	// server is part of it: a key has no port, and at another one is another model.
	_, err = ask.Ask(ctx, "embed/"+string(embed.KeyOf(m.BaseURL))[:8]+"/"+q.Key(), q)
	return err
}
