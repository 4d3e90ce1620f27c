package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ratiba/ratiba/internal/llm"
)

// embed asks for one vector for each text.
func (p *Provider) embed(ctx context.Context, call *llm.Call) (llm.Answer, error) {
	b := llm.AppendString([]byte(`{"model":`), call.Model)
	b = append(b, `,"input":[`...)
	for i, text := range call.Texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = llm.AppendString(b, text)
	}
	resp, failed := p.embeddings.Post(ctx, append(b, `],"encoding_format":"float"}`...))
	if failed != nil {
		return llm.Answer{}, failed
	}
	if resp.Status != http.StatusOK {
		return llm.Answer{}, refusal(resp)
	}
	answer, failed := parseVectors(resp.Body, len(call.Texts))
	if failed != nil {
		return llm.Answer{}, failed
	}
	return answer, nil
}

// parseVectors puts the vectors into the order of their texts. One that is
// missing or named twice leaves a gap, which the caller refuses.
func parseVectors(body []byte, texts int) (llm.Answer, *llm.Error) {
	var resp struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage *usage `json:"usage"`
	}
	if err := json.Unmarshal(body, &resp); err != nil || resp.Data == nil {
		return llm.Answer{}, &llm.Error{
			Class: llm.Malformed, Provider: Name, Status: http.StatusOK, Code: "not_embeddings", MayBeBilled: true,
		}
	}
	answer := llm.Answer{Vectors: make([][]float32, texts)}
	answer.Usage, answer.Metered = resp.Usage.buckets()
	for _, d := range resp.Data {
		if d.Index >= 0 && d.Index < texts {
			answer.Vectors[d.Index] = d.Embedding
		}
	}
	return answer, nil
}
