// Package fetch reads what somebody else keeps at an address: bounded in size,
// time and redirects, over HTTPS, and never from the machine's own network
// unless it is allowed. Who names an address to a business must not reach what
// the business's server reaches. The package imports leaves only.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
)

// Bounds of one fetch.
const (
	maxBody      = 2 << 20
	maxTime      = 15 * time.Second
	maxRedirects = 3
)

// Client fetches. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	local bool
}

// New returns a client. local allows plain HTTP and addresses of this machine and
// its network, for installations that read calendars of their own.
func New(local bool) *Client {
	c := &Client{local: local}
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: c.control}
	c.http = &http.Client{
		Timeout: maxTime,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, Proxy: nil, DisableKeepAlives: true, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("it redirects too often")
			}
			return c.check(r.URL)
		},
	}
	return c
}

func (c *Client) check(u *url.URL) error {
	if u.Scheme != "https" && (!c.local || u.Scheme != "http") {
		return errors.New("it is no https address")
	}
	return nil
}

// control looks at the address a name led to, at the moment it is connected to.
func (c *Client) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.New("it leads nowhere")
	}
	if c.local || public(at.Addr().Unmap()) {
		return nil
	}
	return errors.New("it leads into a network of its own")
}

// public reports whether an address is of the open internet.
func public(a netip.Addr) bool {
	shared := netip.MustParsePrefix("100.64.0.0/10") // carriers' own, RFC 6598
	embeds := netip.MustParsePrefix("64:ff9b::/96")  // IPv4 behind a translator, RFC 6052
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !shared.Contains(a) && !embeds.Contains(a)
}

// Get reads an address. With the tag of an earlier answer, body is nil when
// nothing changed since. The address may be a secret: errors do not name it.
func (c *Client) Get(ctx context.Context, address, tag string) (body []byte, newTag string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, "", fault.E(fault.Invalid, "The address cannot be read.")
	}
	if err := c.check(u); err != nil {
		return nil, "", fault.Wrap(err, fault.Invalid, err.Error())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, "", fault.E(fault.Invalid, "The address cannot be read.")
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the outer one names the address
		}
		return nil, "", fmt.Errorf("fetch: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusNotModified && tag != "":
		return nil, tag, nil
	case res.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("fetch: answered %d", res.StatusCode)
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, "", fmt.Errorf("fetch: %w", err)
	}
	if len(body) > maxBody {
		return nil, "", fmt.Errorf("fetch: more than %d bytes", maxBody)
	}
	if newTag = res.Header.Get("Etag"); len(newTag) > 200 {
		newTag = ""
	}
	return append([]byte{}, body...), newTag, nil
}
