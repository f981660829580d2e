package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// An Answer is a record of a file of existing answers.
type Answer struct {
	DocumentID *ID            `json:"document_id"`
	Item       *ID            `json:"item"`
	Replicate  *int           `json:"replicate"`
	Output     jsontext.Value `json:"output"`
	Usage      AnswerUsage    `json:"usage"`
	Model      string         `json:"model"`
}

// AnswerTexts are the keys of an [Answer] whose values are texts, and AnswerOutput is the one whose
// white space counts.
var AnswerTexts = []string{"item", "document_id", "model"}

const AnswerOutput = "output"

// An AnswerUsage is what an answer took.
type AnswerUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// Key validates a record and returns its item and replicate.
func (a *Answer) Key() (item string, replicate int, err error) {
	replicate = 1
	switch {
	case a.Item != nil && a.DocumentID != nil && *a.Item != *a.DocumentID:
		return "", 1, fmt.Errorf(`"item" is %q and "document_id" is %q: they are aliases, use one`, *a.Item, *a.DocumentID)
	case a.Item != nil:
		item = string(*a.Item)
	case a.DocumentID != nil:
		item = string(*a.DocumentID)
	}
	if a.Replicate != nil {
		replicate = *a.Replicate
	}
	switch kind := a.Output.Kind(); {
	case item == "":
		err = errors.New(`missing item id: set "document_id" or "item"`)
	case replicate < 1 || replicate > math.MaxInt32:
		err = fmt.Errorf("invalid replicate %d: want at least 1", replicate)
	case len(a.Output) == 0:
		err = errors.New(`missing "output": set the model's answer, leave the line out if there is none, or write "" in JSON for an empty one`)
	case kind != '"' && kind != '{' && kind != '[':
		err = fmt.Errorf(`"output" is %s: want a text, an object or a list`, a.Output)
	case a.Usage.Input < 0 || a.Usage.Output < 0:
		err = errors.New("usage: invalid negative number of tokens")
	}
	return item, replicate, err
}

// Text is the answer as the model gave it.
func (a *Answer) Text() (string, error) {
	if a.Output.Kind() != '"' {
		return string(a.Output), nil
	}
	var s string
	err := json.Unmarshal(a.Output, &s)
	return s, err
}
