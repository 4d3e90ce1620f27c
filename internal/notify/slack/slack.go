// Package slack puts questions before people in Slack and reads what they tap.
//
// Client posts and updates messages by the Web API: each call is made once,
// follows no redirect, and classifies its failure; it is safe for concurrent
// use. Cards renders an escalation as Block Kit within Slack's limits, with
// everything a customer or a model wrote escaped. Verify and ParseTap read what
// Slack posts back. Nothing here logs or keeps state. The package imports
// leaves, vocabulary and the contracts channel, llm and wording.
//
// It has its own thin client in place of a library: three calls are made, and
// each failure has to be told from every other, above all "did not arrive" from
// "may have arrived".
package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/llm"
)

// URL is where Slack's Web API is.
const URL = "https://slack.com/api"

// Bounds of one call: of what is read of an answer, in bytes, and of what is
// believed of Retry-After.
const (
	maxAnswer = 1 << 20
	maxRetry  = 10 * time.Minute
)

// Config is what a Client is made of. Token is required.
type Config struct {
	BaseURL    string        // URL when empty
	Token      string        // of the bot
	HTTPClient *http.Client  // a client with its own pool; its redirect rule and timeout are replaced
	Timeout    time.Duration // for one call, real time; 10 s
}

// Client calls the Web API.
type Client struct {
	http    *http.Client
	base    string
	token   string
	timeout time.Duration
}

// New returns a client.
func New(cfg Config) *Client {
	var h http.Client
	if cfg.HTTPClient != nil {
		h = *cfg.HTTPClient
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		h.Transport = t.Clone()
	}
	h.Timeout = 0
	// A redirect would carry the token to a host nobody chose.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		http: &h, base: strings.TrimRight(cmp.Or(cfg.BaseURL, URL), "/"), token: cfg.Token, timeout: cmp.Or(cfg.Timeout, 10*time.Second),
	}
}

// Message is what is posted: blocks, and text for notifications and for readers
// that show no blocks.
type Message struct {
	Text   string  `json:"text"`
	Blocks []Block `json:"blocks"`
}

// Post posts a message in a channel, named by its id or by #name, and returns
// where it stands. Every error is a *channel.Error; class Unknown means that the
// message may have arrived.
func (c *Client) Post(ctx context.Context, in string, m Message) (llm.Place, error) {
	ok, err := c.call(ctx, "chat.postMessage", map[string]any{
		"channel": in, "text": m.Text, "blocks": m.Blocks, "unfurl_links": false, "unfurl_media": false,
	})
	if err != nil {
		return llm.Place{}, err
	}
	if ok.Channel == "" || ok.TS == "" {
		return llm.Place{}, &channel.Error{Class: channel.Unknown, Detail: "Slack took the message without saying where it stands"}
	}
	return llm.Place{Channel: ok.Channel, Message: ok.TS}, nil
}

// Update replaces a message. It may be repeated at will: an error of class
// Unknown is returned as Transient.
func (c *Client) Update(ctx context.Context, at llm.Place, m Message) error {
	_, err := c.call(ctx, "chat.update", map[string]any{"channel": at.Channel, "ts": at.Message, "text": m.Text, "blocks": m.Blocks})
	if e, ok := errors.AsType[*channel.Error](err); ok && e.Class == channel.Unknown {
		e.Class = channel.Transient
	}
	return err
}

// Whisper shows a text to one person in a channel.
func (c *Client) Whisper(ctx context.Context, in, user, text string) error {
	_, err := c.call(ctx, "chat.postEphemeral", map[string]any{"channel": in, "user": user, "text": text})
	return err
}

// answer is what every method of the Web API answers with.
type answer struct {
	OK      bool   `json:"ok"`
	Error   string `json:"error"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

func (c *Client) call(ctx context.Context, method string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, &channel.Error{Class: channel.Defect, Detail: "the message cannot be written as JSON", Cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// A connection was handed out: from here on bytes may have left.
	var left atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { left.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { left.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+method, bytes.NewReader(raw))
	if err != nil {
		return answer{}, &channel.Error{Class: channel.Defect, Detail: "Slack's address is not usable"}
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, lost(err, left.Load())
	}
	defer func() { _ = res.Body.Close() }()
	raw, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	var out answer
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return out, &channel.Error{Class: channel.Rate, Code: res.StatusCode, Detail: "ratelimited", RetryAfter: retryAfter(res.Header)}
	case res.StatusCode >= http.StatusInternalServerError:
		// Slack says nothing of what it has done by then.
		return out, &channel.Error{Class: channel.Unknown, Code: res.StatusCode, Detail: "Slack is in trouble"}
	case res.StatusCode != http.StatusOK:
		return out, &channel.Error{Class: channel.Permanent, Code: res.StatusCode, Detail: "Slack refused the request"}
	case err != nil:
		return out, lost(err, true)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, &channel.Error{Class: channel.Unknown, Detail: "Slack's answer cannot be read"}
	}
	if !out.OK {
		return out, &channel.Error{Class: classOf(out.Error), Detail: detail(method, out.Error), RetryAfter: retryAfter(res.Header)}
	}
	return out, nil
}

// lost makes the error of a request without an answer. The transport's own error
// is unwrapped, because its text holds the address.
func lost(err error, left bool) *channel.Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if left {
		return &channel.Error{Class: channel.Unknown, Detail: "no answer came", Cause: err}
	}
	return &channel.Error{Class: channel.Transient, Detail: "Slack was not reached", Cause: err}
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetry)
}

// detail names an error of Slack's, as far as it can be one.
func detail(method, code string) string {
	if len(code) > 64 || strings.ContainsFunc(code, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		code = "an error without a name"
	}
	return fmt.Sprintf("%s: %s", method, code)
}

// classOf says what follows from an error of Slack's.
func classOf(code string) channel.Class {
	switch code {
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		return channel.Rate
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope", "no_permission",
		"not_allowed_token_type", "ekm_access_denied", "org_login_required", "team_access_not_granted", "access_denied", "two_factor_setup_required":
		return channel.Auth
	case "invalid_blocks", "invalid_blocks_format", "msg_too_long", "msg_blocks_too_long", "no_text", "invalid_arguments", "invalid_json",
		"invalid_post_type", "invalid_charset", "json_not_object", "missing_post_type", "unknown_method":
		return channel.Defect
	case "service_unavailable", "team_added_to_org", "accesslimited":
		return channel.Transient
	case "internal_error", "fatal_error", "request_timeout":
		return channel.Unknown // some of it may have been done
	}
	return channel.Permanent // channel_not_found, not_in_channel, is_archived, message_not_found, ...
}
