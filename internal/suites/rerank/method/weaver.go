package method

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/suites/rerank/evidence"
	"github.com/scruple-eval/scruple/internal/suites/rerank/request"
	"github.com/scruple-eval/scruple/internal/suites/rerank/sqltable"
	"github.com/scruple-eval/scruple/internal/text"
)

const (
	weaverAttempts  = 3  // per query, including the first
	weaverBatch     = 10 // candidates whose reviews one prompt shows
	weaverQuestions = 8  // at most; NoteUnasked says so
	weaverRows      = 5000
	weaverBytes     = 64 << 10 // of the cells of a result
)

// weaver combines SQL and model calls: a query over attributes, hours, reviewers
// and friends narrows the candidates, the model answers questions about the
// text of their reviews, the answers become a table, and a last query orders
// the candidates (Khoja et al., Weaver, 2025). An answer about a text that does
// not parse leaves the question unknown.
func weaver(limits sqltable.Limits) ranker {
	return func(ctx context.Context, s *session) ([]int, error) { return weave(ctx, s, limits) }
}

type weaving struct {
	*session
	db        *sqltable.DB
	kept      []int
	first     string   // the first query
	questions []string // q1, q2, …
}

type weaverPlan struct {
	Reasoning string           `json:"reasoning"`
	SQL       string           `json:"sql"`
	Questions []weaverQuestion `json:"questions"`
}

type weaverQuestion struct {
	ID       string `json:"id"`
	Question string `json:"question"`
}

// UnmarshalJSON also accepts the question alone. Ids are not used: they may be duplicate or
// invalid.
func (q *weaverQuestion) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &q.Question)
	}
	type plain weaverQuestion
	return json.Unmarshal(data, (*plain)(q))
}

func weave(ctx context.Context, s *session, limits sqltable.Limits) (ranking []int, err error) {
	db, err := sqltable.Open(ctx, limits, s.tables()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	w := &weaving{session: s, db: db}
	prompt := func(step string, simulated func(Mind) string, parts ...string) Prompt {
		parts = slices.Concat([]string{s.request(), wording("weaver_tables"), s.schemaText()}, parts, []string{strings.Replace(wording("weaver_"+step), "%d", strconv.Itoa(weaverQuestions), 1)})
		return Prompt{System: system("weaver"), Schema: schema(step, "weaver_"+step), Messages: ask1(parts...), Simulated: simulated}
	}
	plan, kept, err := w.sql(ctx, "plan", prompt("plan", w.simulatedPlan))
	if err != nil {
		return nil, err
	}
	w.first, w.kept = plan.SQL, slices.Sorted(slices.Values(kept))
	s.note("plan", "prune", "kept %s", Join(w.kept))
	if len(plan.Questions) > weaverQuestions {
		w.remark("plan", NoteUnasked)
	}
	for _, q := range plan.Questions[:min(len(plan.Questions), weaverQuestions)] {
		w.questions = append(w.questions, q.Question)
	}
	if len(w.kept) == 1 && len(w.questions) == 0 {
		return w.kept, nil
	}
	answers, err := w.texts(ctx)
	if err == nil {
		err = db.Add(ctx, answers)
	}
	if err != nil {
		return nil, err
	}
	_, ranking, err = w.sql(ctx, "order", prompt("order", w.simulatedOrder, w.soFar(answers)))
	return ranking, err
}

// sql asks for a query until one returns candidates, which are in the query's order.
func (w *weaving) sql(ctx context.Context, step string, p Prompt) (plan weaverPlan, found []int, err error) {
	last := ""
	err = w.attempts(ctx, step, p, weaverAttempts, func(name string, a Answer, _ bool) (wrong, again string, err error) {
		if plan, err = w.readSQL(name, a); err != nil {
			last, err = err.Error(), nil
		} else {
			found, last, err = w.try(ctx, name, plan.SQL)
		}
		return last, "That answer cannot be used: " + last + "\nAnswer again with the whole JSON object.", err
	})
	if err == nil && last != "" {
		err = fault(InvalidQuery, "%d attempts, the last: %s", weaverAttempts, last)
	}
	return plan, found, err
}

// startOfSQL matches the beginning of a query.
var startOfSQL = regexp.MustCompile(`(?i)^(?:SELECT|WITH)\s`)

// readSQL reads the query of an answer: in the JSON object that was asked for, in the
// only block of SQL, or alone. Without an object there are no questions.
func (w *weaving) readSQL(step string, a Answer) (plan weaverPlan, err error) {
	err = w.decode(step, a, "sql", &plan)
	from := plan.SQL
	if err != nil || plan.SQL == "" {
		from = a.Text
	} else if startOfSQL.MatchString(plan.SQL) {
		return plan, nil
	}
	sql, inBlock := text.CodeOf(from, "sql")
	if !inBlock {
		sql = text.Bare(from).Text
	}
	if startOfSQL.MatchString(sql) && FaultOf(a.Stop, a.Text) == nil {
		w.remark(step, NoteFormat)
		plan.SQL, err = sql, nil
	}
	return plan, err
}

// try runs a query. It returns the candidates, or what is wrong
// with the query, or an error that the query did not cause.
func (w *weaving) try(ctx context.Context, step, sql string) (found []int, wrong string, err error) {
	w.record(step, "sql", sql)
	r, err := w.db.Query(ctx, sql)
	if bad, ok := errors.AsType[*sqltable.Error](err); ok {
		return nil, bad.Text, nil
	}
	if errors.Is(err, sqltable.ErrTime) {
		return nil, "", fault(InvalidTime, "%v", err)
	}
	if err != nil {
		return nil, "", err
	}
	if r.Truncated {
		if len(r.Rows) < weaverRows {
			return nil, fmt.Sprintf("the result is too large (more than %d KiB of text): select only the column item, each candidate once", weaverBytes>>10), nil
		}
		return nil, fmt.Sprintf("the result is too large (more than %d rows): select each candidate once", weaverRows), nil
	}
	column := slices.IndexFunc(r.Columns, func(c string) bool { return strings.EqualFold(c, "item") })
	if column < 0 {
		return nil, `the result has no column "item"`, nil
	}
	for _, row := range r.Rows {
		i, err := strconv.Atoi(row[column])
		if err != nil || i < 1 || i > len(w.Candidates) {
			return nil, fmt.Sprintf("%q in column item is not the number of a candidate", row[column]), nil
		}
		if !slices.Contains(found, i) { // a join lists a candidate once for each match
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return nil, "the query returns no candidates: keep those for which a condition is unknown", nil
	}
	w.record(step, "order", Join(found))
	return found, "", nil
}

// texts asks all questions about the reviews of the remaining candidates in
// parallel. The answers are a table.
func (w *weaving) texts(ctx context.Context) (sqltable.Table, error) {
	table := sqltable.Table{Name: "answers", Columns: []string{"item", "question", "truth"}}
	leaves := w.textLeaves()
	var list []question
	for q, text := range w.questions {
		for b, batch := range slices.Collect(slices.Chunk(w.kept, weaverBatch)) {
			list = append(list, w.about(fmt.Sprintf("text/q%d/%d", q+1, b+1), rankSystem, batch, w.nth(leaves, q),
				"Answer this question for each of these candidates:\n"+text, w.reviewsBy(batch, nil), w.people(batch)))
		}
	}
	err := w.inParallel(ctx, list, func(q question, truths []evidence.Truth) {
		for i, candidate := range q.asked {
			table.Rows = append(table.Rows, []any{candidate, strings.Split(q.step, "/")[1], int(truths[i])})
		}
	})
	return table, err
}

// soFar tells the model the results of its plan.
func (w *weaving) soFar(answers sqltable.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your first query was\n%s\nand kept the candidates %s.\n\nAnother table holds the answers to your questions:\nanswers(item, question, truth): truth is 1 for yes, -1 for no, 0 for unknown\n", w.first, Join(w.kept))
	for q, text := range w.questions {
		id := fmt.Sprintf("q%d", q+1)
		fmt.Fprintf(&b, "- %s: %s\n", id, text)
		for _, truth := range []evidence.Truth{evidence.True, evidence.False, evidence.Unknown} {
			var list []int
			for _, row := range answers.Rows {
				if row[1] == id && row[2] == int(truth) {
					list = append(list, row[0].(int))
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(&b, "  %d for %s\n", truth, Join(list))
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// textLeaves returns the conditions that SQL cannot check: those about texts.
func (w *weaving) textLeaves() []*request.Node {
	return slices.DeleteFunc(w.leaves(), func(n *request.Node) bool { return !n.Evidence.AboutReviews() })
}

// simulatedPlan is a query that keeps the candidates that attributes and hours do not rule
// out, or, wrongly, drops the best candidate.
func (w *weaving) simulatedPlan(m Mind) string {
	var keep []int
	if m == Rightly {
		keep = w.possible()
	} else {
		keep = w.order(w.everyone(), Wrongly)
		keep = keep[:max(1, len(keep)-1)]
	}
	plan := weaverPlan{Reasoning: "Attributes and hours first.", SQL: "SELECT item FROM items WHERE item IN (" + Join(keep) + ")", Questions: []weaverQuestion{}}
	for i, n := range w.textLeaves() {
		plan.Questions = append(plan.Questions, weaverQuestion{fmt.Sprintf("q%d", i+1), "Does this hold: " + n.Aspect + "?"})
	}
	return jsonText(plan)
}

// simulatedOrder orders by the truth of the structure; wrongly, right candidates are last.
func (w *weaving) simulatedOrder(m Mind) string {
	var places strings.Builder
	for place, i := range w.order(w.kept, m) {
		fmt.Fprintf(&places, " WHEN %d THEN %d", i, place)
	}
	return jsonText(map[string]string{"reasoning": "Order by the truth of the whole request.",
		"sql": "SELECT item FROM items WHERE item IN (" + Join(w.kept) + ") ORDER BY CASE item" + places.String() + " END"})
}
