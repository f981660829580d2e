package evallog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/effort"
)

// harbor reads job folders of Harbor, with a folder and its result.json for each trial, by the
// models of its source of 2026.
var harbor = Format{Name: "harbor", Doc: "job folders of Harbor", Read: readHarbor}

type harborTrial struct {
	Task  string `json:"task_name"`
	Agent *struct {
		Name  string `json:"name"`
		Model *struct {
			Name string `json:"name"`
		} `json:"model_info"`
	} `json:"agent_info"`
	Result *struct {
		Input  *float64 `json:"n_input_tokens"`
		Output *float64 `json:"n_output_tokens"`
		Cost   *float64 `json:"cost_usd"`
	} `json:"agent_result"`
	Verifier *struct {
		Rewards map[string]jsontext.Value `json:"rewards"`
		Reward  jsontext.Value            `json:"reward"`
	} `json:"verifier_result"`
	Exception *struct {
		Type    string `json:"exception_type"`
		Message string `json:"exception_message"`
	} `json:"exception_info"`
	Execution *struct {
		Start time.Time `json:"started_at"`
		End   time.Time `json:"finished_at"`
	} `json:"agent_execution"`
}

func readHarbor(folders []string, to *Import) error {
	seen := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*", "result.json")) // sorted
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s: no trials of Harbor: want a job folder with TRIAL/result.json in it", folder)
		}
		for _, file := range files {
			t, err := harborResult(file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			arm := t.Agent.Name
			if t.Agent.Model != nil && t.Agent.Model.Name != "" {
				arm += "@" + t.Agent.Model.Name
			}
			if first := seen[arm]; first != "" && first != folder {
				arm += "-" + filepath.Base(folder)
				to.Note("%s has the agent and model of another job: its arm is %s", folder, arm)
			} else {
				seen[arm] = folder
			}
			if err := to.Add(t.sample(arm)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func harborResult(file string) (*harborTrial, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var t harborTrial
	if err := jsonv2.UnmarshalRead(finite(io.LimitReader(f, mostSample)), &t, lenient); err != nil {
		return nil, err
	}
	if t.Task == "" || t.Agent == nil || t.Agent.Name == "" {
		return nil, errors.New("unknown version of a trial: want task_name and agent_info.name")
	}
	return &t, nil
}

func (t *harborTrial) sample(arm string) Sample {
	s := Sample{Item: t.Task, Arm: arm, Used: map[string]float64{}}
	if v := t.Verifier; v != nil {
		for _, name := range sortedKeys(v.Rewards) {
			s.Scores = append(s.Scores, scoreOf(name, v.Rewards[name]))
		}
		if v.Reward.Kind() == '0' {
			s.Scores = append(s.Scores, scoreOf("reward", v.Reward))
		}
	}
	switch {
	case len(s.Scores) > 0:
	case t.Exception != nil:
		s.Error = firstLine(t.Exception.Type + ": " + t.Exception.Message)
	default:
		s.Scores = []Score{{Metric: "reward", Unscored: "the verifier gave no reward"}}
	}
	if r := t.Result; r != nil {
		for column, x := range map[string]*float64{effort.Cost: r.Cost, effort.TokensIn: r.Input, effort.TokensOut: r.Output} {
			if x != nil {
				s.Used[column] = *x
			}
		}
	}
	if e := t.Execution; e != nil && e.End.After(e.Start) && !e.Start.IsZero() {
		s.Used[effort.Latency] = e.End.Sub(e.Start).Seconds()
	}
	return s
}
