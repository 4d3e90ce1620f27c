// Package whatsapp speaks the WhatsApp Cloud API, at Meta itself and behind
// 360dialog: it verifies and parses webhooks, and sends messages.
//
// Parse keeps what it can: one unreadable message never costs the others of its
// webhook. Client enforces the limits of the wire before it sends, sends each
// message at most once per call, follows no redirect, and classifies every
// failure; it keeps no state between calls and is safe for concurrent use.
// Neither logs. The package imports leaves, vocabulary and the contract channel.
package whatsapp

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
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
)

// Name is the channel's name in message.Inbound and message.Receipt.
const Name = "whatsapp"

// Public addresses of the providers and the version of Meta's Graph API.
const (
	MetaURL      = "https://graph.facebook.com"
	Dialog360URL = "https://waba-v2.360dialog.io"
	Version      = "v23.0"
)

// maxAnswer bounds what is read of a provider's JSON answer, in bytes.
const maxAnswer = 64 << 10

// Config is what a Client is made of. The zero value means the defaults named.
type Config struct {
	HTTPClient   *http.Client  // a client with its own pool; its redirect rule and timeout are replaced
	Version      string        // of the Graph API; Version
	Timeout      time.Duration // for one call, real time; 10 s
	MediaTimeout time.Duration // for one download, real time; 60 s
	MediaLimit   int64         // of one download, in bytes; 16 MiB
}

// Client sends messages, marks them read and fetches files.
type Client struct {
	http         *http.Client
	version      string
	timeout      time.Duration
	mediaTimeout time.Duration
	mediaLimit   int64
}

var (
	_ channel.Sender  = (*Client)(nil)
	_ channel.Marker  = (*Client)(nil)
	_ channel.Fetcher = (*Client)(nil)

	_ channel.Uploader = (*Client)(nil)
)

// New returns a client.
func New(cfg Config) *Client {
	var h http.Client
	if cfg.HTTPClient != nil {
		h = *cfg.HTTPClient
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		h.Transport = t.Clone()
	}
	h.Timeout = 0
	// A redirect would carry the key to a host nobody chose.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		http:         &h,
		version:      cmp.Or(cfg.Version, Version),
		timeout:      cmp.Or(cfg.Timeout, 10*time.Second),
		mediaTimeout: cmp.Or(cfg.MediaTimeout, time.Minute),
		mediaLimit:   cmp.Or(cfg.MediaLimit, 16<<20),
	}
}

// Send implements channel.Sender. Where a phone and a BSUID are known both are
// sent; WhatsApp then goes by the phone.
func (c *Client) Send(ctx context.Context, a channel.Account, to []contact.Identity, out message.Outbound, opaque string) (string, error) {
	body, err := payload(to, out, opaque)
	if err != nil {
		return "", err
	}
	raw, err := c.post(ctx, a, body)
	if err != nil {
		return "", err
	}
	var ok struct {
		Messages []struct {
			ID str `json:"id"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &ok); err != nil || len(ok.Messages) == 0 || ok.Messages[0].ID == "" {
		return "", &channel.Error{Class: channel.Unknown, Detail: "the provider accepted the request without naming the message", Cause: err}
	}
	return string(ok.Messages[0].ID), nil
}

// MarkRead implements channel.Marker. The typing mark stays for 25 seconds or
// until the next message.
func (c *Client) MarkRead(ctx context.Context, a channel.Account, providerID string, typing bool) error {
	if providerID == "" {
		return defect("a reading mark needs the id of a message")
	}
	body := map[string]any{"messaging_product": "whatsapp", "status": "read", "message_id": providerID}
	if typing {
		body["typing_indicator"] = map[string]string{"type": "text"}
	}
	_, err := c.post(ctx, a, body)
	return err
}

// post sends body to the account's messages endpoint and returns the answer of
// a success.
func (c *Client) post(ctx context.Context, a channel.Account, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, &channel.Error{Class: channel.Defect, Detail: "the message cannot be written as JSON", Cause: err}
	}
	address, err := c.address(a, "messages")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		return nil, defect("the account's address is not usable")
	}
	req.Header.Set("Content-Type", "application/json")
	authorize(req, a)
	return c.do(req, maxAnswer)
}

// address returns where a resource of the account lies. Messages, and files on
// their way up, lie under the number at Meta and at the root at 360dialog; files
// that are there at the root of both.
func (c *Client) address(a channel.Account, resource string) (string, error) {
	fallback := MetaURL
	if a.Provider == channel.Dialog360 {
		fallback = Dialog360URL
	}
	base, err := url.Parse(strings.TrimRight(cmp.Or(a.BaseURL, fallback), "/"))
	if err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http") {
		return "", defect("the account's base address is not usable")
	}
	switch a.Provider {
	case channel.Meta:
		if resource == "messages" || resource == uploads {
			if !plainID.MatchString(a.Number) {
				return "", defect("the account's number is not a provider's id")
			}
			return base.JoinPath(c.version, a.Number, resource).String(), nil
		}
		return base.JoinPath(c.version, resource).String(), nil
	case channel.Dialog360:
		return base.JoinPath(resource).String(), nil
	}
	return "", defect("unknown provider " + strconv.Quote(string(a.Provider)))
}

// plainID is an id that may stand in a path.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

func authorize(req *http.Request, a channel.Account) {
	if a.Provider == channel.Dialog360 {
		req.Header.Set("D360-API-KEY", a.Token)
		return
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
}

var errTooLong = errors.New("answer too long")

// do performs one request and returns at most limit bytes of a 2xx answer.
func (c *Client) do(req *http.Request, limit int64) ([]byte, error) {
	// A connection was handed out: from here on bytes may have left. The
	// transport asks for another one only when it knows that none did.
	var left atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { left.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { left.Store(true) },
	}))
	res, err := c.http.Do(req)
	if err != nil {
		return nil, lost(err, left.Load())
	}
	defer res.Body.Close() //nolint:errcheck // nothing follows from a failed close of a read body.
	raw, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	ok := res.StatusCode >= 200 && res.StatusCode < 300
	switch {
	case ok && err != nil:
		return nil, lost(err, true)
	case ok && int64(len(raw)) > limit:
		return nil, &channel.Error{Class: channel.Unknown, Detail: fmt.Sprintf("the answer is longer than %d bytes", limit), Cause: errTooLong}
	case ok:
		return raw, nil
	}
	return nil, classify(res.StatusCode, res.Header, raw)
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
	return &channel.Error{Class: channel.Transient, Detail: "the provider was not reached", Cause: err}
}

func defect(detail string) *channel.Error {
	return &channel.Error{Class: channel.Defect, Detail: detail}
}
