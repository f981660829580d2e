package eval

import (
	"fmt"
	"slices"
	"strings"
)

// A Cut says that a server counted far fewer tokens than a prompt has words, so
// that it read only a part of the prompt. It is noted in [Response.Adapted].
type Cut struct {
	Words  int `json:"words"`  // of the prompt as it was sent
	Tokens int `json:"tokens"` // of input, as the server counted them
}

const cutNote = "prompt cut: %d words sent, %d tokens counted"

// CutNote begins the note of every cut.
const CutNote = "prompt cut: "

func (c Cut) String() string { return fmt.Sprintf(cutNote, c.Words, c.Tokens) }

// CutIn finds a cut among the changes to a request.
func CutIn(adapted []string) (c Cut, ok bool) {
	for _, note := range adapted {
		if n, _ := fmt.Sscanf(note, cutNote, &c.Words, &c.Tokens); n == 2 {
			return c, true
		}
	}
	return Cut{}, false
}

// ArmCuts counts the prompts of an arm that a server cut in one stage.
type ArmCuts struct {
	Arm   string `json:"arm"`
	Stage Stage  `json:"stage"`
	Cuts  int    `json:"n"`
	Cut          // the one of the most words
}

// RaisedNote begins the note of a limit that follows from the request.
const RaisedNote = "max_tokens raised to "

// LeftOut lists the changes to a request that follow from what its model refuses.
func LeftOut(adapted []string) []string {
	return slices.DeleteFunc(slices.Clone(adapted), func(note string) bool {
		return strings.HasPrefix(note, CutNote) || strings.HasPrefix(note, RaisedNote)
	})
}

// ArmSettings counts answers of an arm in one stage, and those to adapted requests.
type ArmSettings struct {
	Arm     string
	Stage   Stage
	Adapted int
	Answers int
}
