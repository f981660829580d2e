package soundness

import (
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/suites/soundness/wording"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

func exports() []kit.Export {
	return []kit.Export{{Name: "schemas", Doc: "response_database.csv, scored_database.csv, fragment_outcomes.csv (schemas 4 to 6), failure_codes_MODEL.csv (schema 7), call_log.csv and appendix_F1_session_log.csv",
		Write: func(b kit.Bench, k kit.Kept, dir string) (string, error) { return b.(*Bench).export(k, dir) }}}
}

// The columns of schemas 4 to 6.
var (
	responseColumns = strings.Fields(`response_id fragment_id model_family prompt_condition run_number classification_output rationale_text timestamp
		api_latency_seconds token_count_input token_count_output api_version parse_method error_flag error_details`)
	scoredColumns = strings.Fields(`coherence_rule_based strength_indicator_count weakness_indicator_count coherence_llm coherence_final manual_review_flag
		manual_coherence classification_accuracy run_outcome failure_type edge_case_type exclude_from_analysis`)
	outcomeColumns = strings.Fields(`fragment_id model_family prompt_condition pass_count fail_count fragment_outcome unanimous_agreement`)
	callColumns    = strings.Fields(`response_id attempts reason notes visible_output_tokens reasoning_tokens reasoning_allowance parameters_adapted request_id`)
	sessionColumns = strings.Fields(`session first_request last_request requests retries answers fragments fragments_in_all technical_issues`)
)

// none is how the schemas write a missing value.
const none = "None"

// A Row is one response with its score.
type Row struct {
	ID         string
	Trial      eval.Trial
	Family     string // the model, or the arm of a pipeline
	Condition  string
	Outcome    eval.Outcome
	Call       *eval.Call // the last one of the run; nil if it made no call
	Assessment            // zero for a failed call
}

// Failed reports whether the run has no answer.
func (r *Row) Failed() bool { return r.Outcome.Kind == eval.Failed }

// Rows yields the scored responses of a run in plan order. Each comes once, and only
// those of the study's fragments and arms.
func (b *Bench) Rows(k kit.Kept) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		calls := map[eval.Trial]*eval.Call{}
		for c, err := range k.Calls() {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if last := calls[c.Trial]; c.Stage == eval.StageRun && (last == nil || len(c.Step) > len(last.Step) || len(c.Step) == len(last.Step) && c.Step > last.Step) {
				calls[c.Trial] = &c
			}
		}
		seen := map[eval.Trial]bool{}
		for t, err := range k.Outcomes() {
			if err != nil {
				yield(Row{}, err)
				return
			}
			f, a := b.Datum(t.Trial.Item), b.Arm(t.Trial.Arm)
			if f == nil || a == nil {
				continue
			}
			if seen[t.Trial] {
				yield(Row{}, fmt.Errorf("%v is there twice", t.Trial))
				return
			}
			seen[t.Trial] = true
			r := Row{ID: responseID(t.Trial), Trial: t.Trial, Family: a.family(), Condition: a.condition, Outcome: t.Outcome, Call: calls[t.Trial]}
			if r.Label = wording.None; !r.Failed() {
				r.Assessment = b.assess(f, &t)
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// responseID is the key of a response.
func responseID(t eval.Trial) string {
	return fmt.Sprintf("%s/%s/%d", t.Item, t.Arm, t.Replicate)
}

// family is the model of an arm, or the arm of a pipeline.
func (a *arm) family() string {
	if a.Settings != nil {
		return a.Settings.ID
	}
	return a.ID
}

// Expected returns the number of responses and of fragment outcomes of the whole study.
func (b *Bench) Expected() (responses, outcomes int) {
	outcomes = len(b.Data) * len(b.On)
	return outcomes * b.replicates, outcomes
}

// export writes the files of schemas 4 to 6 and of appendix F.1.
func (b *Bench) export(k kit.Kept, dir string) (string, error) {
	var rows []Row
	for r, err := range b.Rows(k) {
		if err != nil {
			return "", fmt.Errorf("exporting responses: %w", err)
		}
		rows = append(rows, r)
	}
	sessions, err := k.Sessions()
	if err != nil {
		return "", fmt.Errorf("exporting sessions: %w", err)
	}
	var responses, scored, calls, log [][]string
	for i := range rows {
		response := b.response(&rows[i], k.Time)
		responses = append(responses, response)
		scored = append(scored, append(response[:len(response):len(response)], scoredCells(&rows[i])...))
		calls = append(calls, callCells(&rows[i]))
	}
	for _, s := range sessions {
		log = append(log, sessionCells(s))
	}
	outcomes := b.outcomes(rows)
	files := []kit.File{
		csvTable("response_database.csv", responseColumns, responses),
		csvTable("scored_database.csv", append(responseColumns[:len(responseColumns):len(responseColumns)], scoredColumns...), scored),
		csvTable("fragment_outcomes.csv", outcomeColumns, outcomes),
		csvTable("call_log.csv", callColumns, calls),
		csvTable("appendix_F1_session_log.csv", sessionColumns, log),
	}
	if b.coded != "" {
		failures, err := b.failureRows(k)
		if err != nil {
			return "", fmt.Errorf("exporting codes of failures: %w", err)
		}
		files = append(files, csvTable("failure_codes_"+b.main+".csv", failureColumns, failures))
	}
	paths, err := kit.WriteFiles(dir, files)
	if err != nil {
		return "", err
	}
	wantResponses, wantOutcomes := b.Expected()
	return fmt.Sprintf("%d files to %s: %d of %d responses, %d of %d fragment outcomes", len(paths), dir, len(responses), wantResponses, len(outcomes), wantOutcomes), nil
}

// csvTable is a CSV file.
func csvTable(name string, columns []string, rows [][]string) kit.File {
	return kit.File{Path: name, Write: func(w io.Writer) error {
		data, err := table.CSV(append([][]string{columns}, rows...))
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}}
}

// response are the cells of schema 4.
func (b *Bench) response(r *Row, clock func(int64) string) []string {
	label := none
	if r.Label != wording.None {
		label = b.labels[r.Label].Name
	}
	method, details := r.Method, ""
	switch {
	case r.Failed():
		method, details = "", strings.TrimSpace(r.Outcome.Reason+": "+text.FirstLine(r.Outcome.Detail))
	case r.Excluded:
		details = r.Reason
	}
	cells := []string{r.ID, r.Trial.Item, r.Family, r.Condition, strconv.Itoa(r.Trial.Replicate), label, r.Rationale, "", "", "", "", "", method, boolean(details != ""), details}
	if c := r.Call; c != nil {
		if n := len(c.Sent); n > 0 {
			cells[7] = clock(c.Sent[n-1].At)
		}
		if c.ErrKind == "" {
			cells[8] = strconv.FormatFloat(c.LatencyMS/1000, 'f', 3, 64)
			cells[9], cells[10] = strconv.Itoa(c.Response.Usage.TotalInput()), strconv.Itoa(c.Response.Usage.TotalOutput())
			cells[11] = c.Response.ModelVersion
		}
	}
	return cells
}

func boolean(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// scoredCells are the cells that schema 5 adds.
func scoredCells(r *Row) []string {
	accuracy, outcome := none, none
	excluded := r.Failed() || r.Excluded
	if !excluded && r.HasGold {
		outcome = r.outcome()
		if r.Coherence == coherent {
			accuracy = "incorrect"
			if r.Correct {
				accuracy = "correct"
			}
		}
	}
	screen := r.Screen
	if screen == "" {
		screen = notChecked
	}
	return []string{orNone(r.Rule), strconv.Itoa(r.Strength), strconv.Itoa(r.Weakness), screen, orNone(r.Automatic), boolean(r.Automatic == ambiguous),
		orNone(r.Manual), accuracy, outcome, orNone(r.Failure), orNone(edgeCase(r.Reason)), boolean(excluded)}
}

// edgeCase is a reason in the words of schema 5, "" for those that it does not have.
func edgeCase(reason string) string {
	switch reason {
	case reasonRefusal, reasonSafety, reasonNonsense:
		return reason
	case reasonShort:
		return reasonNonsense
	case reasonUnresolved:
		return "contradictory_claims"
	}
	return ""
}

// callCells are what the schemas have no column for.
func callCells(r *Row) []string {
	cells := []string{r.ID, "", r.Reason, strings.Join(r.Outcome.Notes, "; "), "", "", "", "", ""}
	if r.Failed() {
		cells[2] = r.Outcome.Reason
	}
	c := r.Call
	if c == nil {
		return cells
	}
	cells[1] = strconv.Itoa(c.Attempts)
	if c.ErrKind == "" {
		u := c.Response.Usage
		cells[4], cells[5] = strconv.Itoa(u.TotalOutput()-u.Reasoning), strconv.Itoa(u.Reasoning)
	}
	for _, p := range c.Parts {
		if p.Name == "allowance" {
			cells[6] = p.Value
		}
	}
	cells[7], cells[8] = strings.Join(c.Response.Adapted, "; "), c.Response.RequestID
	return cells
}

func sessionCells(s kit.Session) []string {
	var issues []string
	for _, e := range s.Errors {
		issues = append(issues, e.Name+" "+e.Value)
	}
	return []string{strconv.Itoa(s.N), s.First, s.Last, strconv.Itoa(s.Requests), strconv.Itoa(s.Retries), strconv.Itoa(s.Answers), strconv.Itoa(s.Items), strconv.Itoa(s.Done), strings.Join(issues, "; ")}
}

// outcomes are the rows of schema 6. Rows of one fragment and arm follow each other.
func (b *Bench) outcomes(rows []Row) [][]string {
	var list [][]string
	for from := 0; from < len(rows); {
		first, to := &rows[from], from
		var runs []Assessment
		for to < len(rows) && rows[to].Trial.Item == first.Trial.Item && rows[to].Trial.Arm == first.Trial.Arm {
			if !rows[to].Failed() {
				runs = append(runs, rows[to].Assessment)
			}
			to++
		}
		d := adjudicate(runs, b.replicates)
		same, known := d.unanimous()
		outcome, unanimous := d.Outcome, boolean(same)
		if !known {
			unanimous = none
		}
		if f := b.Datum(first.Trial.Item); f.Gold == nil {
			outcome, unanimous = none, none
		}
		list = append(list, []string{first.Trial.Item, first.Family, first.Condition, strconv.Itoa(d.Passes), strconv.Itoa(d.Fails), outcome, unanimous})
		from = to
	}
	return list
}
