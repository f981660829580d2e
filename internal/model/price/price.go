// Package price holds what providers charge, from a list that is shipped with
// the program and says how old it is. Study files can override any price.
//
// The package must not know who asks for a price, nor reach the network: a
// price that is not in the list is unknown, and says so.
package price

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/eval"
)

//go:embed prices.json
var shipped []byte

// A Price is the price of a model in US dollars per million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// Cached and CacheWrite price input tokens read from the provider's cache
	// and written to it; nil is the price of input.
	Cached     *float64 `json:"cached,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
	// Above is the price of requests with a larger input, where that differs.
	Above *Above `json:"above,omitempty"`
}

// Above is the price of a whole request with more than this number of input tokens.
type Above struct {
	Tokens int `json:"tokens"`
	Price
}

// A list is a list of prices, and of when and where they were found.
type list struct {
	Date      string              `json:"date"`
	Note      string              `json:"note"`
	Providers map[string]provider `json:"providers"`
}

// A provider is one provider's part of a list.
type provider struct {
	Source string           `json:"source"`
	Note   string           `json:"note,omitempty"`
	Models map[string]Price `json:"models"`
}

// parsed is the list that comes with the program.
var parsed = sync.OnceValue(func() list {
	var l list
	if err := json.Unmarshal(shipped, &l); err != nil {
		panic("price: prices.json: " + err.Error()) // a test reads it
	}
	return l
})

// version matches what may follow a model's name in the name of one of its
// versions: a date, a number of three or four digits, latest or preview.
var version = regexp.MustCompile(`^[-@](?:[0-9]{8}|[0-9]{6}|[0-9]{3,4}|[0-9]{4}-[0-9]{2}-[0-9]{2}|latest|preview(?:-[0-9]{2}-[0-9]{2,4})?)$`)

// Lookup finds the price of a model, by the name of its provider as study files
// give it: that of the longest name that the model's begins with, if nothing
// but a version follows. A dated or otherwise pinned version has the price of
// its model; a variant (mini, pro …) has only its own. Local servers cost
// nothing.
func Lookup(provider, model string) (Price, bool) {
	switch provider {
	case "ollama", "vllm", "llamacpp":
		return Price{}, true
	case "openai_responses":
		provider = "openai"
	case "gemini":
		provider = "google"
	}
	model = strings.TrimPrefix(model, "models/")
	var best string
	var price Price
	for name, p := range parsed().Providers[provider].Models {
		rest, ok := strings.CutPrefix(model, name)
		if ok && (rest == "" || version.MatchString(rest)) && len(name) > len(best) {
			best, price = name, p
		}
	}
	return price, best != ""
}

// Cost is what an answer cost in US dollars. No token is billed twice: cached
// tokens that the provider counts in the input are taken out of it, and
// thinking is added to the output only where the provider counts it apart.
func (p Price) Cost(u eval.Usage) float64 {
	if p.Above != nil && u.TotalInput() > p.Above.Tokens {
		return p.Above.Cost(u)
	}
	fresh := u.Input
	if u.CachedInInput {
		fresh = max(0, u.Input-u.Cached-u.CacheWrite)
	}
	// Conversions keep products from being fused with sums: one cost on all processors.
	dollars := float64(float64(fresh)*p.Input) +
		float64(float64(u.Cached)*or(p.Cached, p.Input)) +
		float64(float64(u.CacheWrite)*or(p.CacheWrite, p.Input)) +
		float64(float64(u.TotalOutput())*p.Output)
	return dollars / 1e6
}

// String writes the price of a million tokens: $1/$5 of input and output, and what differs for cached,
// written and many tokens.
func (p Price) String() string {
	s := fmt.Sprintf("$%v/$%v", p.Input, p.Output)
	for _, r := range []struct {
		name string
		rate *float64
	}{{"cached", p.Cached}, {"written to the cache", p.CacheWrite}} {
		if r.rate != nil && *r.rate != p.Input {
			s += fmt.Sprintf(", %s $%v", r.name, *r.rate)
		}
	}
	if p.Above != nil {
		s += fmt.Sprintf(", above %d tokens %v", p.Above.Tokens, p.Above.Price)
	}
	return s
}

func or(rate *float64, otherwise float64) float64 {
	if rate == nil {
		return otherwise
	}
	return *rate
}
