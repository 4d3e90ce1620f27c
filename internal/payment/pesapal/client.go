// Package pesapal takes payments by card and more through PesaPal's API 3.0: it
// makes orders, hands out the links on which they are paid, and asks what became
// of them.
//
// PesaPal's notifications are not authenticated and carry no status. Whoever
// gets one asks with Query, and believes only what that answers. An order whose
// answer was lost is a RejectedError: nobody has its link, so that nothing can be
// paid by it. A refused token is fetched anew and the request repeated, once.
// The package logs nothing, and no error of it holds a phone, an address or a
// key. It imports leaves and the contract payment.
package pesapal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/payment"
)

// Addresses of PesaPal.
const (
	LiveURL    = "https://pay.pesapal.com/v3"
	SandboxURL = "https://cybqa.pesapal.com/pesapalv3"
)

// Limits of an order, in characters.
const (
	MaxReference   = 50
	MaxDescription = 100
)

// maxAnswer bounds what is read of an answer, maxLink a link, in bytes.
const (
	maxAnswer = 256 << 10
	maxLink   = 1000
)

// Config is what a Client is made of.
type Config struct {
	BaseURL        string // LiveURL when empty
	ConsumerKey    string // required
	ConsumerSecret string // required, a secret
	NotifyURL      string // where PesaPal tells that an order has news; required
	HTTPClient     *http.Client
	Clock          clock.Clock   // ends tokens; the machine's when nil
	Timeout        time.Duration // for one request, real time; 20 s
}

// Client implements payment.Gateway. It is safe for concurrent use.
type Client struct {
	cfg    Config
	secure bool // links must be https
	http   *http.Client
	token  *kept
	ipn    *kept
}

var _ payment.Gateway = (*Client)(nil)

// New returns a client, or every fault of cfg at once.
func New(cfg Config) (*Client, error) {
	cfg.BaseURL = strings.TrimRight(cmp.Or(cfg.BaseURL, LiveURL), "/")
	cfg.Timeout = cmp.Or(cfg.Timeout, 20*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	var faults []error
	base, ok := address(cfg.BaseURL)
	if !ok {
		faults = append(faults, errors.New("pesapal: BaseURL is not an http(s) address"))
	}
	if _, ok := address(cfg.NotifyURL); !ok {
		faults = append(faults, errors.New("pesapal: NotifyURL is not an http(s) address"))
	}
	if cfg.ConsumerKey == "" || cfg.ConsumerSecret == "" {
		faults = append(faults, errors.New("pesapal: ConsumerKey and ConsumerSecret are required"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var h http.Client
	if cfg.HTTPClient != nil {
		h = *cfg.HTTPClient
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		h.Transport = t.Clone()
	}
	h.Timeout = 0
	// A redirect would carry the token to a host nobody chose.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, secure: base.Scheme == "https", http: &h, token: newKept(), ipn: newKept()}, nil
}

func address(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// Prompt implements payment.Gateway: it makes an order and returns the link to
// pay it on. Every error of it is a RejectedError.
func (c *Client) Prompt(ctx context.Context, p payment.Prompt) (payment.Accepted, error) {
	order, err := order(p)
	if err != nil {
		return payment.Accepted{}, err
	}
	made, err := c.submit(ctx, order)
	if err == nil {
		return made, nil
	}
	if refused, ok := errors.AsType[*payment.RejectedError](err); ok {
		return made, refused
	}
	return made, &payment.RejectedError{Code: "lost", Detail: err.Error(), Transient: true}
}

// order is the request for an order, or says which limit p breaks.
func order(p payment.Prompt) (map[string]any, error) {
	reason := ""
	_, back := address(p.ReturnURL)
	switch {
	case p.Amount.Minor <= 0 || len(p.Amount.Currency) != 3:
		reason = "the amount is not above zero in a currency"
	case p.Reference == "" || len(p.Reference) > MaxReference:
		reason = fmt.Sprintf("the reference is empty or over %d characters", MaxReference)
	case p.Description == "" || len(p.Description) > MaxDescription:
		reason = fmt.Sprintf("the description is empty or over %d characters", MaxDescription)
	case p.Phone == "":
		reason = "there is no phone for the bill"
	case !back:
		reason = "the address to return to is not usable"
	}
	if reason != "" {
		return nil, &payment.RejectedError{Code: "limit", Detail: reason}
	}
	return map[string]any{
		"id":              p.Reference,
		"currency":        p.Amount.Currency,
		"amount":          json.Number(decimal(p.Amount)),
		"description":     p.Description,
		"callback_url":    p.ReturnURL,
		"billing_address": map[string]string{"phone_number": strings.TrimPrefix(p.Phone, "+")},
	}, nil
}

func (c *Client) submit(ctx context.Context, order map[string]any) (payment.Accepted, error) {
	ipn, err := c.notification(ctx)
	if err != nil {
		return payment.Accepted{}, err
	}
	order["notification_id"] = ipn
	ans, err := c.call(ctx, http.MethodPost, "/api/Transactions/SubmitOrderRequest", order)
	if err != nil {
		return payment.Accepted{}, err
	}
	if !ans.ok() {
		c.ipn.drop(ipn) // it may be the registration that is no longer known
		return payment.Accepted{}, ans.rejection()
	}
	b := ans.body
	link, ok := address(string(b.RedirectURL))
	switch {
	case b.TrackingID == "" || string(b.Reference) != order["id"]:
		return payment.Accepted{}, errors.New("submit order: the answer is about another order")
	case !ok || len(b.RedirectURL) > maxLink || c.secure && link.Scheme != "https":
		return payment.Accepted{}, errors.New("submit order: the answer has no link that could be sent")
	}
	return payment.Accepted{MerchantID: string(b.Reference), CheckoutID: bounded(b.TrackingID), Link: string(b.RedirectURL)}, nil
}

// notification returns the id under which PesaPal knows NotifyURL, registering
// it where that was not done yet.
func (c *Client) notification(ctx context.Context) (string, error) {
	return c.ipn.get(ctx, c.cfg.Clock.Now(), func() (string, time.Time, error) {
		const long = 24 * time.Hour
		until := c.cfg.Clock.Now().Add(long)
		known, err := c.call(ctx, http.MethodGet, "/api/URLSetup/GetIpnList", nil)
		if err != nil {
			return "", until, err
		}
		for _, n := range known.list {
			if string(n.URL) == c.cfg.NotifyURL && n.ID != "" {
				return string(n.ID), until, nil
			}
		}
		made, err := c.call(ctx, http.MethodPost, "/api/URLSetup/RegisterIPN", map[string]string{
			"url": c.cfg.NotifyURL, "ipn_notification_type": "GET",
		})
		switch {
		case err != nil:
			return "", until, err
		case !made.ok() || made.body.NotificationID == "":
			return "", until, made.rejection()
		}
		return string(made.body.NotificationID), until, nil
	})
}

// Query implements payment.Gateway. Its outcome has every detail.
func (c *Client) Query(ctx context.Context, trackingID string) (payment.Outcome, error) {
	ans, err := c.call(ctx, http.MethodGet, "/api/Transactions/GetTransactionStatus?orderTrackingId="+url.QueryEscape(trackingID), nil)
	if err != nil {
		return payment.Outcome{}, fmt.Errorf("query payment: %w", err)
	}
	kind, known := ans.body.kind()
	switch {
	case !ans.ok():
		return payment.Outcome{}, fmt.Errorf("query payment: %w", ans.fault())
	case !known:
		return payment.Outcome{}, errors.New("query payment: the answer has no status")
	}
	b := ans.body
	o := payment.Outcome{
		Kind: kind, MerchantID: bounded(b.Reference), CheckoutID: trackingID,
		Code: string(b.StatusCode) + " " + bounded(b.StatusText), Detail: bounded(b.Description),
	}
	if kind == payment.Success || kind == payment.Reversed {
		o.Receipt = bounded(b.Confirmation)
	}
	if kind == payment.Success {
		o.Amount = amount(string(b.Amount), bounded(b.Currency))
	}
	return o, nil
}

// call makes a request with a token. A refused token is fetched anew, and the
// request repeated once.
func (c *Client) call(ctx context.Context, method, path string, body any) (answer, error) {
	for refreshed := false; ; refreshed = true {
		token, err := c.bearer(ctx)
		if err != nil {
			return answer{}, err
		}
		ans, err := c.exchange(ctx, method, path, token, body)
		if err != nil || refreshed || ans.status != http.StatusUnauthorized {
			return ans, err
		}
		c.token.drop(token)
	}
}

// exchange performs one request.
func (c *Client) exchange(ctx context.Context, method, path, token string, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return answer{}, fmt.Errorf("write request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.BaseURL+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, errors.New("pesapal: the request cannot be made")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the wrapper's text holds the address
		}
		return answer{}, fmt.Errorf("no answer from PesaPal: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // nothing follows from a failed close of a read body.
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return answer{}, fmt.Errorf("read PesaPal's answer: %w", err)
	}
	return read(res.StatusCode, text), nil
}
