package evallog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/text"
)

// harbor reads job folders of Harbor, with a folder and its result.json for each trial, by the
// models of its source of 2026.
var harbor = Format{Name: "harbor", Doc: "job folders of Harbor", Read: readHarbor}

type harborTrial struct {
	Version *int   `json:"schema_version"` // is 1 if it is missing
	Task    string `json:"task_name"`
	Agent   *struct {
		Name  string `json:"name"`
		Model *struct {
			Name     string `json:"name"`
			Provider string `json:"provider"`
		} `json:"model_info"`
	} `json:"agent_info"`
	Verifier *struct {
		Rewards map[string]jsontext.Value `json:"rewards"`
		Reward  jsontext.Value            `json:"reward"`
	} `json:"verifier_result"`
	harborStep
	Steps []harborStep `json:"step_results"` // have what the trial has not
	Valid *bool        `json:"reward_valid"`
}

type harborStep struct {
	Result struct {
		Input  *float64 `json:"n_input_tokens"`
		Output *float64 `json:"n_output_tokens"`
		Cost   *float64 `json:"cost_usd"`
	} `json:"agent_result"`
	Exception *struct {
		Type    string `json:"exception_type"`
		Message string `json:"exception_message"`
	} `json:"exception_info"`
	Execution struct {
		Start string `json:"started_at"`
		End   string `json:"finished_at"`
	} `json:"agent_execution"`
}

// took adds up what steps took: a sum is unknown if that of a step is.
func took(steps ...harborStep) map[string]float64 {
	used := map[string]float64{}
	for i, step := range steps {
		var latency *float64
		if start, end := harborTime(step.Execution.Start), harborTime(step.Execution.End); !start.IsZero() && end.After(start) {
			latency = new(end.Sub(start).Seconds())
		}
		for column, x := range map[string]*float64{effort.Cost: step.Result.Cost, effort.TokensIn: step.Result.Input, effort.TokensOut: step.Result.Output, effort.Latency: latency} {
			sum, known := used[column]
			if delete(used, column); x != nil && (i == 0 || known) {
				used[column] = sum + *x
			}
		}
	}
	return used
}

// exception is the first one of a trial and its steps.
func (t *harborTrial) exception() string {
	for _, step := range append([]harborStep{t.harborStep}, t.Steps...) {
		if e := step.Exception; e != nil {
			return firstLine(e.Type + ": " + e.Message)
		}
	}
	return ""
}

// A harborTrajectory is what the agent did, in the Agent Trajectory Interchange Format (ATIF).
type harborTrajectory struct {
	Version string `json:"schema_version"`
	Steps   []struct {
		Source  string         `json:"source"` // system, user or agent
		Message jsontext.Value `json:"message"`
	} `json:"steps"`
}

func readHarbor(folders []string, to *Import) error {
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		trials, missing, excepted := 0, 0, 0
		for _, e := range entries {
			var t harborTrial
			file := filepath.Join(folder, e.Name(), "result.json")
			if _, err := os.Stat(file); err != nil {
				if _, err := os.Stat(filepath.Join(folder, e.Name(), "config.json")); err == nil {
					missing++
				}
				continue
			}
			trials++
			if err := decodeFile(file, mostSample, &t); err != nil {
				return err
			}
			if t.Version != nil && *t.Version != 1 {
				return fmt.Errorf("%s: version %d of a trial: want version 1", file, *t.Version)
			}
			if t.Task == "" || t.Agent == nil || t.Agent.Name == "" {
				return fmt.Errorf("%s: unknown version of a trial: want task_name and agent_info.name", file)
			}
			arm := t.Agent.Name
			if m := t.Agent.Model; m != nil && m.Name != "" {
				arm += "@" + strings.TrimPrefix(m.Provider+"/", "/") + strings.TrimPrefix(m.Name, m.Provider+"/")
			}
			s := t.sample(to.arm(arm, "", folder))
			if s.Prompt, s.Answer, err = harborMessages(filepath.Join(filepath.Dir(file), "agent", "trajectory.json")); err != nil {
				return err
			}
			if s.Error == "" && t.exception() != "" {
				excepted++
			}
			if err := to.Add(s); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
		if excepted > 0 {
			to.Note("%s: %s and a reward, which counts as the others", folder, text.Plural(excepted, "trial has an exception", "trials have an exception"))
		}
		if trials == 0 {
			return errors.Join(fmt.Errorf("%s: no trials of Harbor: want a job folder with TRIAL/result.json in it", folder), err)
		}
		var job struct {
			Trials int `json:"n_total_trials"`
		}
		if err := decodeFile(filepath.Join(folder, "result.json"), mostSample, &job); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if missing = max(missing, job.Trials-trials); missing > 0 {
			to.Note("%s: %s without a result.json left out: killed, or still running", folder, text.Plural(missing, "trial", "trials"))
		}
	}
	return nil
}

// harborMessages are the first message of the user and the last of the agent in a trajectory,
// if there is one.
func harborMessages(file string) (input, answer string, err error) {
	var t harborTrajectory
	if err := decodeFile(file, mostSample, &t); errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	} else if err != nil {
		return "", "", err
	}
	if !strings.HasPrefix(t.Version, "ATIF-v1.") {
		return "", "", fmt.Errorf("%s: unknown version %q of the trajectory: want ATIF-v1", file, t.Version)
	}
	for _, s := range t.Steps {
		switch said := contentText(s.Message, asIs); s.Source {
		case "user":
			input = cmp.Or(input, said)
		case "agent":
			answer = cmp.Or(said, answer)
		}
	}
	return input, answer, nil
}

func (t *harborTrial) sample(arm string) Sample {
	s := Sample{Item: t.Task, Arm: arm, Used: took(t.Steps...)}
	maps.Copy(s.Used, took(t.harborStep)) // of the whole, where the trial has it
	if v := t.Verifier; v != nil {
		for _, name := range sortedKeys(v.Rewards) {
			s.Scores = append(s.Scores, scoreOf(name, v.Rewards[name]))
		}
		if v.Reward.Kind() == '0' {
			s.Scores = append(s.Scores, scoreOf("reward", v.Reward))
		}
	}
	switch {
	case len(s.Scores) == 0:
		s.Error = cmp.Or(t.exception(), "the verifier gave no reward")
	case t.Valid != nil && !*t.Valid: // Harbor's judgement of the exception
		s.Error = cmp.Or(t.exception(), "Harbor says that the reward is not valid")
	}
	return s
}

// harborTime reads a time with or without its zone, as Python writes it. Of any other text it
// returns the zero time.
func harborTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, _ = time.Parse("2006-01-02T15:04:05", s)
	}
	return t
}
