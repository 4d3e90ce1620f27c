package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/bench/lap"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/openai"
	"github.com/ratiba/ratiba/internal/prompt"
)

// SlowUpstream is how long the slow upstream takes, as a quick model would.
const SlowUpstream = 20 * time.Millisecond

// classification is the answer's schema, and answered what the upstream says.
const (
	classification = `{"type":"object","additionalProperties":false,"required":["reasoning","intent","confidence"],` +
		`"properties":{"reasoning":{"type":"string"},"intent":{"type":"string","enum":["book","reschedule","cancel","question","unknown"]},` +
		`"confidence":{"type":"number"}}}`
	answered = `{\"reasoning\":\"They ask for a time on a day, which is a new appointment.\",\"intent\":\"book\",\"confidence\":0.93}`
)

const (
	chatCompletion = `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"` + lap.Model + `","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"` + answered + `","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":412,"completion_tokens":38,"total_tokens":450,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},"service_tier":"default"}`
	anthropicMessage = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-5-5","content":[{"type":"text","text":"` + answered + `"}],` +
		`"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null,"usage":{"input_tokens":412,` +
		`"output_tokens":38,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"service_tier":"standard"}}`
)

// Upstream answers both vendors' wires with one fixed classification, after a
// delay.
func Upstream(delay time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the client has gone
		}
		if delay > 0 {
			t := time.NewTimer(delay)
			defer t.Stop()
			select {
			case <-t.C:
			case <-r.Context().Done():
				return
			}
		}
		body := chatCompletion
		if strings.HasPrefix(r.URL.Path, lap.AnthropicBase) {
			body = anthropicMessage
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body)
	})
}

// llmSetup is the question every client asks: a classification with the
// product's own prompt.
func llmSetup(opt LLMOptions) (lap.Setup, error) {
	prompts, err := prompt.Embedded()
	if err != nil {
		return lap.Setup{}, err
	}
	p, err := prompts.Render(string(llm.IntentClassifier), map[string]string{
		"assistant_name": "Zawadi", "business_name": "Serenity Spa", "locale": "en", "today": "Saturday 2026-11-21 12:00",
		"services": "- Massage 60 min\n- Massage 90 min\n- Facial", "expecting": "",
	})
	if err != nil {
		return lap.Setup{}, err
	}
	return lap.Setup{
		Fast: opt.Fast, Slow: opt.Slow, System: p.System, Text: prompt.Delimit("Habari, naweza pata massage kesho saa tisa?"), Schema: []byte(classification),
	}, nil
}

// llmClients are the bare ones and the router.
func llmClients(s lap.Setup) (lap.Bench, error) {
	var b lap.Bench
	for _, u := range []struct {
		url  string
		list *[]lap.Client
	}{{s.Fast, &b.Fast}, {s.Slow, &b.Slow}} {
		bare, err := lap.Baseline(s, u.url)
		if err != nil {
			return b, err
		}
		ours, err := routerClient(s, u.url)
		if err != nil {
			return b, err
		}
		*u.list = append(bare, ours)
	}
	return b, nil
}

// routerClient calls the router as the product does: a thread of its own for
// each call, the hard ceilings reserved against, the answer validated, priced and
// recorded.
func routerClient(s lap.Setup, upstream string) (lap.Client, error) {
	provider, err := openai.New(openai.Config{BaseURL: upstream + lap.OpenAIBase, Key: "key"})
	if err != nil {
		return lap.Client{}, err
	}
	catalogue, err := llm.DefaultCatalogue()
	if err != nil {
		return lap.Client{}, err
	}
	schema, err := llm.CompileSchema("intent_classifier", s.Schema)
	if err != nil {
		return lap.Client{}, err
	}
	r, err := llm.New(llm.Config{
		Roles:     llm.Roles{llm.IntentClassifier: {{Provider: openai.Name, Model: lap.Model, Effort: "none", MaxTokens: 400, Timeout: time.Minute}}},
		Catalogue: catalogue, Providers: map[string]llm.Provider{openai.Name: provider}, Ledger: llm.NewMemory(clock.Real{}), Owner: "bench",
		Schemas: []*llm.Schema{schema},
	})
	if err != nil {
		return lap.Client{}, err
	}
	var n atomic.Int64
	return lap.Client{Name: router, Call: func(ctx context.Context) error {
		id := strconv.FormatInt(n.Add(1), 10)
		res, err := r.Call(ctx, llm.Request{
			Role: llm.IntentClassifier, Tenant: "bench", Thread: ids.ThreadID(id), Contact: ids.ContactID(id), Turn: ids.TurnID(id),
			PromptVersion: "intent_classifier@bench", System: s.System, Messages: []llm.Message{{Role: llm.User, Content: s.Text}}, Schema: schema,
		})
		if err != nil {
			return err
		}
		if res.Ending != llm.Answered || res.Cost == 0 || len(res.Chain) != 1 || res.Reused {
			return errors.Join(lap.ErrAnswer, fmt.Errorf("result %+v", res))
		}
		return nil
	}}, nil
}
