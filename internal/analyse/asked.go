package analyse

import "github.com/scruple-eval/scruple/internal/eval"

// An Asked says what was asked of whom, for readers who want to check or repeat it.
type Asked struct {
	Program string `json:"scruple"` // version of the program that asked
	Study   string `json:"study"`   // hash of the study with its defaults
	Inputs  string `json:"inputs"`  // hash of what the arms are given about the items
	Gold    string `json:"gold"`    // hash of what answers are scored against
	// Asked are the arms with a model or pipeline, then the judges.
	Parties []Party `json:"parties"`
}

// A Party is an arm or a judge that was asked, with a trial that succeeded as the example.
type Party struct {
	Name     string  `json:"name"` // of the arm, or id of the judge's model
	Judge    bool    `json:"judge,omitempty"`
	Hash     string  `json:"hash,omitempty"` // of the arm's prompts and settings
	Provider string  `json:"provider"`
	Model    string  `json:"model"`              // as asked for
	Answered []Count `json:"answered,omitempty"` // versions, as the provider names them
	// Settings are those of the example's request as it was sent: temperature, limits,
	// hashes of the prompt and of the schema.
	Settings []eval.Level `json:"settings,omitempty"`
	Adapted  []string     `json:"adapted,omitempty"` // settings that the model refuses and that were changed
	Item     string       `json:"item"`              // of the example
	// Prompts are the texts of the first steps of the example, shortened; Steps counts
	// all. Missing says why there are none.
	Prompts []Prompt `json:"prompts,omitempty"`
	Steps   int      `json:"steps"`
	Missing string   `json:"missing,omitempty"`
}

// A Prompt is the text of one request.
type Prompt struct {
	Step string `json:"step"`
	Text string `json:"text"`
}
