// Command bare asks a server a number of times through an official SDK, 64
// calls at a time, and keeps nothing: what tools/load measures Scruple against.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
)

const concurrency = 64

func main() {
	sdk := flag.String("sdk", "openai", "openai or anthropic")
	url := flag.String("url", "http://127.0.0.1:8099", "address of the server")
	calls := flag.Int("calls", 10_000, "number of calls")
	flag.Parse()
	log.SetFlags(0)
	loop(*sdk, *url, *calls)
}

// loop asks n times.
func loop(sdk, url string, n int) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = concurrency
	client := &http.Client{Transport: transport}
	text := strings.Repeat("Field: value and some words around it\n", 26)
	var ask func(i int64) error
	ctx := context.Background()
	switch sdk {
	case "openai":
		c := openai.NewClient(openaioption.WithBaseURL(url+"/v1"), openaioption.WithAPIKey("none"), openaioption.WithMaxRetries(0), openaioption.WithHTTPClient(client))
		ask = func(i int64) error {
			_, err := c.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "any", Temperature: openai.Float(0), MaxTokens: openai.Int(256),
				Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Extract these fields."), openai.UserMessage(fmt.Sprint(text, i))}})
			return err
		}
	case "anthropic":
		c := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("none"), anthropicoption.WithMaxRetries(0), anthropicoption.WithHTTPClient(client))
		ask = func(i int64) error {
			_, err := c.Messages.New(ctx, anthropic.MessageNewParams{Model: "any", Temperature: anthropic.Float(0), MaxTokens: 256,
				System:   []anthropic.TextBlockParam{{Text: "Extract these fields."}},
				Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(fmt.Sprint(text, i)))}})
			return err
		}
	default:
		log.Fatalf("no bare loop for %q", sdk)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range concurrency {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				check(ask(i))
			}
		})
	}
	wg.Wait()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
