package soundness

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

func exports() []kit.Export {
	return []kit.Export{{Name: "schemas", Packed: true, Doc: "response_database.csv, scored_database.csv, fragment_outcomes.csv (schemas 4 to 6), failure_codes_MODEL.csv and single_failure_codes_MODEL.csv (schema 7), call_log.csv and appendix_F1_session_log.csv",
		Write: func(b kit.Bench, k kit.Kept, dir string) (string, error) { return b.(*bench).export(k, dir) }}}
}

// none is how the schemas write a missing value.
const none = "None"

// The columns of schemas 4 to 7, of the log of calls and of appendix F.1.
const (
	responseColumns = `response_id fragment_id model_family prompt_condition run_number classification_output rationale_text timestamp
		api_latency_seconds token_count_input token_count_output api_version parse_method error_flag error_details`
	scoredColumns = `coherence_rule_based strength_indicator_count weakness_indicator_count coherence_llm coherence_final manual_review_flag
		manual_coherence classification_accuracy run_outcome failure_type edge_case_type exclude_from_analysis`
	outcomeColumns = `fragment_id model_family prompt_condition pass_count fail_count fragment_outcome unanimous_agreement`
	failureColumns = `fragment_id prompt_condition representative_run primary_code secondary_code tertiary_code domain code_type
		coding_justification coding_date coding_session`
	callColumns    = `response_id attempts reason notes visible_output_tokens reasoning_tokens reasoning_allowance parameters_adapted request_id`
	sessionColumns = `session first_request last_request requests retries answers fragments fragments_in_all technical_issues`
)

// A row is one response with its score.
type row struct {
	Assessment
	arm  *arm
	call *eval.Call // the last one of the run; nil if it made no call
	sent string     // when it was last sent
}

func (r *row) id() string {
	return fmt.Sprintf("%s/%s/%d", r.Trial.Item, r.Trial.Arm, r.Trial.Replicate)
}

// details say why there is no score.
func (r *row) details() string {
	switch {
	case r.Failed:
		return strings.TrimSpace(r.Reason + ": " + text.FirstLine(r.Outcome.Detail))
	case r.Excluded:
		return r.Reason
	}
	return ""
}

// response are the cells of schema 4.
func (b *bench) response(r *row) []string {
	call := make([]string, 4)
	if c := r.call; c != nil && c.ErrKind == "" {
		u := c.Response.Usage
		call = cellsOf(strconv.FormatFloat(c.LatencyMS/1000, 'f', 3, 64), u.TotalInput(), u.TotalOutput(), c.Response.ModelVersion)
		if u.Uncounted {
			call[1], call[2] = "", ""
		}
	}
	answer := cellsOf(r.id(), r.Trial.Item, r.arm.family(), r.arm.condition, r.Trial.Replicate, b.nameOf(r.Label, none), r.Rationale, r.sent)
	return slices.Concat(answer, call, cellsOf(r.Method, r.details() != "", r.details()))
}

// scored are the cells that schema 5 adds.
func scored(r *row) []string {
	accuracy, outcome := none, none
	if !r.Excluded && r.HasGold {
		outcome = r.outcome()
		if r.Coherence == coherent {
			accuracy = map[bool]string{true: "correct", false: "incorrect"}[r.Correct]
		}
	}
	return cellsOf(cmp.Or(r.Rule, none), r.Strength, r.Weakness, cmp.Or(r.Screen, notChecked), cmp.Or(r.Automatic, none),
		r.Automatic == ambiguous, cmp.Or(r.Manual, none), accuracy, outcome, cmp.Or(r.Failure, none),
		cmp.Or(edgeCases[r.Reason], none), r.Excluded)
}

// edgeCases are the reasons that schema 5 has a word for.
var edgeCases = map[string]string{reasonRefusal: reasonRefusal, reasonSafety: reasonSafety, reasonNonsense: reasonNonsense,
	reasonShort: reasonNonsense, reasonUnresolved: "contradictory_claims"}

// called are the cells for which the schemas have no column.
func called(r *row) []string {
	attempts, visible, reasoning, allowance, adapted, request := "", "", "", "", "", ""
	if c := r.call; c != nil {
		attempts, adapted, request = strconv.Itoa(c.Attempts), strings.Join(c.Response.Adapted, "; "), c.Response.RequestID
		if u := c.Response.Usage; c.ErrKind == "" && !u.Uncounted {
			visible, reasoning = strconv.Itoa(u.TotalOutput()-u.Reasoning), strconv.Itoa(u.Reasoning)
		}
		for _, p := range c.Parts {
			if p.Name == "allowance" {
				allowance = p.Value
			}
		}
	}
	return cellsOf(r.id(), attempts, r.Reason, strings.Join(r.Outcome.Notes, "; "), visible, reasoning, allowance, adapted, request)
}

// outcome are the cells of schema 6.
func (c *cell) outcome() []string {
	outcome, unanimous := none, none
	if c.fragment.Gold != nil {
		outcome = c.Outcome
		if same, known := c.unanimous(); known {
			unanimous = boolean(same)
		}
	}
	return cellsOf(c.fragment.ID, c.arm.family(), c.arm.condition, c.Passes, c.Fails, outcome, unanimous)
}

// cellsOf are values as the schemas write them.
func cellsOf(values ...any) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		if is, ok := v.(bool); ok {
			v = boolean(is)
		}
		cells[i] = fmt.Sprint(v)
	}
	return cells
}

func boolean(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// family is the model of an arm, or the arm of a pipeline.
func (a *arm) family() string {
	if a.Settings != nil {
		return a.Settings.ID
	}
	return a.ID
}

// export writes the files of schemas 4 to 7 and of appendix F.1.
func (b *bench) export(k kit.Kept, dir string) (string, error) {
	cells, err := b.cells(k)
	calls, errCalls := lastCalls(k)
	sessions, errSessions := k.Sessions()
	if err := errors.Join(err, errCalls, errSessions); err != nil {
		return "", fmt.Errorf("exporting responses: %w", err)
	}
	var responses, judged, outcomes, log, logged, coded, single [][]string
	var errs []error
	for _, c := range cells {
		for _, a := range c.runs {
			r := &row{Assessment: a, arm: c.arm, call: calls[a.Trial]}
			if r.call != nil && len(r.call.Sent) > 0 {
				r.sent = k.Time(r.call.Sent[len(r.call.Sent)-1].At)
			}
			response := b.response(r)
			responses, judged = append(responses, response), append(judged, slices.Concat(response, scored(r)))
			log = append(log, called(r))
		}
		outcomes = append(outcomes, c.outcome())
		if x := b.failed(c); x != nil && x.coding != nil {
			errs, coded = append(errs, b.checkRun(x)), append(coded, b.failureCells(x))
		}
		if x := b.single(c); x != nil && x.coding != nil {
			errs, single = append(errs, b.checkRun(x)), append(single, b.failureCells(x))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "", fmt.Errorf("exporting codes of failures: %w", err)
	}
	for _, s := range sessions {
		logged = append(logged, cellsOf(s.N, k.Time(s.First), k.Time(s.Last), s.Requests, s.Retries, s.Answers, s.Items, s.Done, s.Issues()))
	}
	files := []kit.File{
		csvTable("response_database.csv", responseColumns, responses),
		csvTable("scored_database.csv", responseColumns+" "+scoredColumns, judged),
		csvTable("fragment_outcomes.csv", outcomeColumns, outcomes),
		csvTable("call_log.csv", callColumns, log),
		csvTable("appendix_F1_session_log.csv", sessionColumns, logged),
	}
	if b.tasks.failures != "" {
		files = append(files, csvTable("failure_codes_"+b.main+".csv", failureColumns, coded))
	}
	if b.tasks.single != "" {
		files = append(files, csvTable("single_failure_codes_"+b.main+".csv", failureColumns, single))
	}
	paths, err := kit.WriteFiles(dir, files)
	if err != nil {
		return "", err
	}
	all := len(b.Data) * len(b.OwnArms) // of the whole study
	return fmt.Sprintf("%d files to %s: %d of %d responses, %d of %d fragment outcomes", len(paths), dir,
		len(responses), all*b.replicates, len(cells), all), nil
}

// lastCalls are the last calls of runs.
func lastCalls(k kit.Kept) (map[eval.Trial]*eval.Call, error) {
	calls := map[eval.Trial]*eval.Call{}
	for c, err := range k.Calls() {
		if err != nil {
			return nil, err
		}
		last := calls[c.Trial] // judge, then judge, attempt 2 to 10
		if c.Stage == eval.StageRun && (last == nil || cmp.Or(len(c.Step)-len(last.Step), strings.Compare(c.Step, last.Step)) > 0) {
			calls[c.Trial] = &c
		}
	}
	return calls, nil
}

// cells are the cells of a run in plan order: those of the study's fragments and arms.
func (b *bench) cells(k kit.Kept) (cells []*cell, err error) {
	seen := map[eval.Trial]bool{}
	var of eval.Case
	add := func() { // the trials of a fragment and arm follow each other
		if c := b.cell(of); c != nil && c.arm != nil {
			cells = append(cells, c)
		}
	}
	for t, err := range k.Outcomes() {
		if err != nil {
			return nil, err
		}
		if seen[t.Trial] {
			return nil, fmt.Errorf("%v is there twice", t.Trial)
		}
		seen[t.Trial] = true
		if of.Item != t.Trial.Item || of.Arm != t.Trial.Arm {
			add()
			of = eval.Case{Item: t.Trial.Item, Arm: t.Trial.Arm}
		}
		of.Trials = append(of.Trials, t)
	}
	add()
	return cells, nil
}

// csvTable is a CSV file.
func csvTable(name, columns string, rows [][]string) kit.File {
	return kit.File{Path: name, Write: func(w io.Writer) error {
		data, err := table.CSV(append([][]string{strings.Fields(columns)}, rows...))
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}}
}
