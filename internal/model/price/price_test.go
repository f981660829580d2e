package price

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scruple-eval/scruple/internal/eval"
)

func TestLookup(t *testing.T) {
	tests := []struct {
		provider, model string
		input, output   float64 // 0, 0 is unknown
	}{
		{"openai", "gpt-4o", 2.5, 10},
		{"openai", "gpt-4o-2024-08-06", 2.5, 10},
		{"openai", "gpt-4o-2024-05-13", 5, 15}, // dearer than its successors
		{"openai", "gpt-4o-mini", 0.15, 0.6},
		{"openai", "gpt-4o-mini-2024-07-18", 0.15, 0.6},
		{"openai_responses", "gpt-5-mini-2025-08-07", 0.25, 2},
		{"openai", "gpt-5", 1.25, 10},
		{"openai", "gpt-5-chat-latest", 1.25, 10},
		{"openai", "gpt-4-0613", 30, 60},
		{"openai", "gpt-4-0125-preview", 10, 30},
		{"openai", "gpt-5-turbo", 0, 0}, // a variant is not a version
		{"openai", "gpt-5.9", 0, 0},
		{"openai", "gpt-4o-audio-preview", 0, 0},
		{"openai", "", 0, 0},
		{"anthropic", "claude-sonnet-4-5-20250929", 3, 15},
		{"anthropic", "claude-sonnet-4-20250514", 3, 15},
		{"anthropic", "claude-opus-4-20250514", 15, 75},
		{"anthropic", "claude-opus-4-5", 5, 25}, // not a version of claude-opus-4
		{"anthropic", "claude-opus-4-9", 0, 0},
		{"anthropic", "claude-3-5-haiku-latest", 0.8, 4},
		{"anthropic", "claude-haiku-4-5@20251001", 1, 5},
		{"google", "gemini-2.5-flash", 0.3, 2.5},
		{"google", "models/gemini-2.5-flash", 0.3, 2.5},
		{"gemini", "gemini-2.5-flash-preview-09-2025", 0.3, 2.5},
		{"google", "gemini-2.5-flash-lite", 0.1, 0.4},
		{"google", "gemini-2.5-flash-image", 0, 0},
		{"google", "gemini-2.0-flash-001", 0.1, 0.4},
		{"google", "gemini-3-pro-preview", 2, 12},
		{"deepseek", "deepseek-chat", 0.28, 0.42},
		{"moonshot", "kimi-k2-0905-preview", 0.6, 2.5},
		{"zai", "glm-4.6", 0.6, 2.2},
		{"openrouter", "openai/gpt-4o", 0, 0},
		{"nobody", "gpt-4o", 0, 0},
	}
	for _, test := range tests {
		p, ok := Lookup(test.provider, test.model)
		if ok != (test.input != 0) || p.Input != test.input || p.Output != test.output {
			t.Errorf("%s %s: %v/%v, known %v; want %v/%v", test.provider, test.model, p.Input, p.Output, ok, test.input, test.output)
		}
	}
	for _, local := range []string{"ollama", "vllm", "llamacpp"} {
		if p, ok := Lookup(local, "anything"); !ok || p.Cost(eval.Usage{Input: 1e6, Output: 1e6}) != 0 {
			t.Errorf("%s: %+v, known %v; want free", local, p, ok)
		}
	}
}

func rate(x float64) *float64 { return &x }

func TestCost(t *testing.T) {
	plain := Price{Input: 3, Output: 15}
	cached := Price{Input: 3, Output: 15, Cached: rate(0.3), CacheWrite: rate(3.75)}
	stepped := Price{Input: 1.25, Output: 10, Cached: rate(0.125), Above: &Above{200_000, Price{Input: 2.5, Output: 15, Cached: rate(0.25)}}}
	tests := []struct {
		name  string
		price Price
		usage eval.Usage
		want  float64 // by hand, in dollars
	}{
		{"nothing", cached, eval.Usage{}, 0},
		{"input and output", plain, eval.Usage{Input: 1000, Output: 200}, 0.006},
		{"cached tokens counted in (OpenAI)", cached, eval.Usage{Input: 1000, Output: 200, Cached: 600, CachedInInput: true}, (400*3 + 600*0.3 + 200*15) / 1e6},
		{"cached tokens apart (Anthropic)", cached, eval.Usage{Input: 400, Output: 200, Cached: 600}, (400*3 + 600*0.3 + 200*15) / 1e6},
		{"cache written, apart (Anthropic)", cached, eval.Usage{Input: 400, Output: 200, CacheWrite: 100}, (400*3 + 100*3.75 + 200*15) / 1e6},
		{"cache written, counted in (OpenRouter)", cached, eval.Usage{Input: 1000, Output: 200, Cached: 600, CacheWrite: 100, CachedInInput: true}, (300*3 + 600*0.3 + 100*3.75 + 200*15) / 1e6},
		{"no price for the cache", plain, eval.Usage{Input: 1000, Cached: 600, CachedInInput: true}, 0.003},
		{"thinking counted in (OpenAI)", plain, eval.Usage{Input: 1000, Output: 200, Reasoning: 150, ReasoningInOutput: true}, 0.006},
		{"thinking apart (Gemini)", plain, eval.Usage{Input: 1000, Output: 50, Reasoning: 150}, 0.006},
		{"at the step", stepped, eval.Usage{Input: 200_000, Output: 1000, CachedInInput: true}, 0.26},
		{"above the step", stepped, eval.Usage{Input: 200_001, Output: 1000, CachedInInput: true}, (200_001*2.5 + 1000*15) / 1e6},
		{"the step counts cached tokens", stepped, eval.Usage{Input: 100_000, Cached: 150_000, Output: 1000}, (100_000*2.5 + 150_000*0.25 + 1000*15) / 1e6},
		{"more cached than read, as a broken proxy says", plain, eval.Usage{Input: 10, Cached: 20, CachedInInput: true}, 20 * 3 / 1e6},
	}
	for _, test := range tests {
		if got := test.price.Cost(test.usage); !(math.Abs(got-test.want) <= 1e-15) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// However a provider counts, the same tokens cost the same.
func TestCostDoesNotDependOnTheWayOfCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := func(name string) int { return rapid.IntRange(0, 1_000_000).Draw(t, name) }
		fresh, read, written, visible, thinking := tokens("fresh"), tokens("read"), tokens("written"), tokens("visible"), tokens("thinking")
		p := Price{Input: 3, Output: 15, Cached: rate(0.3), CacheWrite: rate(3.75), Above: &Above{200_000, Price{Input: 6, Output: 22.5, Cached: rate(0.6), CacheWrite: rate(7.5)}}}
		apart := p.Cost(eval.Usage{Input: fresh, Cached: read, CacheWrite: written, Output: visible, Reasoning: thinking})
		in := p.Cost(eval.Usage{Input: fresh + read + written, Cached: read, CacheWrite: written, CachedInInput: true,
			Output: visible + thinking, Reasoning: thinking, ReasoningInOutput: true})
		if apart != in {
			t.Fatalf("%v counted apart, %v counted in", apart, in)
		}
	})
}

// The list itself: dated, sourced, and sane.
func TestShipped(t *testing.T) {
	l := parsed()
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil || l.Note == "" {
		t.Errorf("date %q, note %q", l.Date, l.Note)
	}
	for _, provider := range []string{"anthropic", "openai", "google", "deepseek", "moonshot", "zai"} {
		if p := l.Providers[provider]; !strings.HasPrefix(p.Source, "https://") || len(p.Models) < 5 {
			t.Errorf("%s: source %q, %d models", provider, p.Source, len(p.Models))
		}
	}
	for provider, p := range l.Providers {
		for name, m := range p.Models {
			check := func(r Price) {
				if r.Output < r.Input || r.Cached != nil && *r.Cached > r.Input || r.CacheWrite != nil && *r.CacheWrite < r.Input {
					t.Errorf("%s %s: %+v", provider, name, r)
				}
			}
			check(m)
			if m.Above != nil {
				check(m.Above.Price)
				if m.Above.Tokens < 100_000 || m.Above.Input < m.Input || (m.Above.Cached == nil) != (m.Cached == nil) {
					t.Errorf("%s %s: above %+v", provider, name, m.Above)
				}
			}
			if got, ok := Lookup(provider, name); !ok || got.Input != m.Input || got.Output != m.Output {
				t.Errorf("%s %s does not find itself", provider, name)
			}
		}
	}
}
