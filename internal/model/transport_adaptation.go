package model

import "github.com/scruple-eval/scruple/internal/eval"

// An Adaptation is a request without the parameters that its model refuses, and
// notes on what was changed. The formats share it.
type Adaptation struct {
	Notes   []string
	r       *eval.Request
	refused Refused
}

// Adapt adapts a request to a model that refuses the parameters.
func Adapt(r *eval.Request, refused Refused) *Adaptation {
	return &Adaptation{r: r, refused: refused}
}

// Note notes a change.
func (a *Adaptation) Note(what string) { a.Notes = append(a.Notes, what) }

// Refuses reports whether a parameter is refused.
func (a *Adaptation) Refuses(p Refused) bool { return a.refused.Has(p) }

// Drops reports whether a parameter is refused, and notes that it is dropped.
func (a *Adaptation) Drops(p Refused, name string) bool {
	if a.Refuses(p) {
		a.Note(name + " dropped")
	}
	return a.Refuses(p)
}

// Sampling returns the request's sampling without refused parameters.
func (a *Adaptation) Sampling() eval.Sampling {
	s := a.r.Sampling
	if s.Temperature != nil && a.Drops(Temperature, "temperature") {
		s.Temperature = nil
	}
	if s.TopP != nil && a.Drops(TopP, "top_p") {
		s.TopP = nil
	}
	if s.Seed != nil && a.Drops(Seed, "seed") {
		s.Seed = nil
	}
	if len(s.Stop) > 0 && a.Drops(StopWords, "stop") {
		s.Stop = nil
	}
	return s
}

// A Turn is a message as most formats write it.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Turns splits the system prompt from the messages, or puts it in front of the
// first message where the model has no place for it.
func (a *Adaptation) Turns() (system string, turns []Turn) {
	turns = make([]Turn, 0, len(a.r.Messages)+1)
	for _, m := range a.r.Messages {
		turns = append(turns, Turn(m))
	}
	system = a.r.System
	if system == "" || !a.Refuses(SystemRole) {
		return system, turns
	}
	a.Note("system prompt sent in the first message")
	if len(turns) > 0 && turns[0].Role == "user" {
		turns[0].Content = system + "\n\n" + turns[0].Content
		return "", turns
	}
	return "", append([]Turn{{"user", system}}, turns...)
}
