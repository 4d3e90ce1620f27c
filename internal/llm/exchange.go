package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
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

// Endpoint is one address of one vendor, for adapters. It is safe for
// concurrent use.
type Endpoint struct {
	provider string
	url      *url.URL
	header   http.Header // of every request; never changed
	client   *http.Client
}

// NewEndpoint returns the endpoint at base and path, which takes JSON. The base
// must be absolute. The client is copied: it follows no redirect, because that
// would carry the key to an address nobody configured, and keeps no cookies. A
// nil client gets connections of its own.
func NewEndpoint(provider, base, path string, header http.Header, c *http.Client) (*Endpoint, error) {
	u, err := url.Parse(strings.TrimRight(base, "/") + path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(provider + ": the base URL must be absolute, such as https://api.example.com")
	}
	e := &Endpoint{provider: provider, url: u, header: header.Clone(), client: &http.Client{}}
	if c != nil {
		*e.client = *c
	} else if shared, ok := http.DefaultTransport.(*http.Transport); ok {
		own := shared.Clone() // others may close the shared one's connections
		own.MaxIdleConnsPerHost = idleConnections
		e.client.Transport = own
	}
	e.client.Jar = nil
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if e.header == nil {
		e.header = http.Header{}
	}
	e.header.Set("Content-Type", "application/json")
	return e, nil
}

// idleConnections is how many connections to one vendor wait for the next call.
const idleConnections = 64

// Post sends a JSON body and reads the whole response. Errors are transport
// errors, classified; any HTTP status is a Response.
func (e *Endpoint) Post(ctx context.Context, body []byte) (Response, *Error) {
	// Neither client nor transport changes a request's header or address, so all
	// requests share them.
	req := (&http.Request{
		Method: http.MethodPost, URL: e.url, Host: e.url.Host, Header: e.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	resp, err := e.client.Do(req)
	if err != nil {
		return Response{}, transportError(ctx, e.provider, err)
	}
	defer resp.Body.Close() //nolint:errcheck // The body has been read.
	raw, err := read(resp)
	if err != nil {
		return Response{}, transportError(ctx, e.provider, err)
	}
	if len(raw) > maxResponse {
		return Response{}, &Error{
			Class: Malformed, Provider: e.provider, Status: resp.StatusCode, MayBeBilled: true,
			Cause: fmt.Errorf("response over %d bytes", maxResponse),
		}
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: raw}, nil
}

// read reads a body of at most maxResponse bytes, and one more when there is
// more.
func read(resp *http.Response) ([]byte, error) {
	if n := resp.ContentLength; n >= 0 && n <= maxResponse {
		raw := make([]byte, n)
		_, err := io.ReadFull(resp.Body, raw)
		return raw, err
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
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
