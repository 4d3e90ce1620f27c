package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxResponse bounds a provider's response body: an answer of MaxAnswer bytes,
// escaped, with its envelope.
const maxResponse = 2 << 20

// maxRetryAfter bounds what a provider may ask us to wait.
const maxRetryAfter = 24 * time.Hour

// Response is a provider's answer to one HTTP exchange.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Client returns a copy of c, or a client with connections of its own when c is
// nil, that follows no redirect: a redirect would carry the key to an address
// nobody configured.
func Client(c *http.Client) *http.Client {
	out := http.Client{}
	if c != nil {
		out = *c
	} else if shared, ok := http.DefaultTransport.(*http.Transport); ok {
		out.Transport = shared.Clone() // others may close the shared one's connections
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// Post sends a JSON body and reads the whole response, for adapters. Errors
// are transport errors, classified; any HTTP status is a Response.
func Post(ctx context.Context, c *http.Client, provider, url string, header http.Header, body []byte) (Response, *Error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Response{}, &Error{Class: InvalidRequest, Provider: provider, Cause: fmt.Errorf("build request: %w", err)}
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return Response{}, transportError(ctx, provider, err)
	}
	defer resp.Body.Close() //nolint:errcheck // The body has been read.
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return Response{}, transportError(ctx, provider, err)
	}
	if len(raw) > maxResponse {
		return Response{}, &Error{
			Class: Malformed, Provider: provider, Status: resp.StatusCode, MayBeBilled: true,
			Cause: fmt.Errorf("response over %d bytes", maxResponse),
		}
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: raw}, nil
}

func transportError(ctx context.Context, provider string, err error) *Error {
	e := &Error{Class: Server, Provider: provider, MayBeBilled: true, Cause: err}
	var netErr net.Error
	var op *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, context.Canceled):
		e.Class = Cancelled
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout():
		e.Class = Timeout
	case errors.As(err, &op) && op.Op == "dial":
		e.MayBeBilled = false // The request never left.
	}
	return e
}

// StatusClass sorts an HTTP status that is not 200. Providers refine 400 and
// 429 by their own codes.
func StatusClass(status int) Class {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Auth
	case status == http.StatusPaymentRequired:
		return Quota
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return Timeout
	case status == http.StatusTooManyRequests:
		return Rate
	case status >= http.StatusInternalServerError || status == http.StatusConflict:
		return Server
	case status >= http.StatusBadRequest:
		return InvalidRequest
	default:
		return Malformed
	}
}

// RetryAfter reads what a provider asks us to wait: retry-after-ms, or
// Retry-After in seconds or as a date, taken relative to the response's own
// Date. It is 0 when the header is absent or unreadable, at most a day.
func RetryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseInt(h.Get("retry-after-ms"), 10, 64); err == nil && ms > 0 {
		return time.Duration(min(ms, maxRetryAfter.Milliseconds())) * time.Millisecond
	}
	value := strings.TrimSpace(h.Get("retry-after"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s > 0 {
			return time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
		}
		return 0
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(h.Get("date"))
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(sent), maxRetryAfter))
}

// ErrorCode keeps a provider's code only if it looks like one: what ends up in
// logs is a word, never a sentence.
func ErrorCode(code string) string {
	if len(code) > 64 || strings.ContainsFunc(code, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return ""
	}
	return code
}
