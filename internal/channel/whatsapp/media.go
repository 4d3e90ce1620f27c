package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/channel"
)

// lookaside is the host of Meta's file links. Behind 360dialog the same path and
// query are asked of 360dialog's host.
const lookaside = "lookaside.fbsbx.com"

// Fetch implements channel.Fetcher. It asks for the file's link, which lives
// five minutes, and downloads it in the same call. The key goes only to the
// account's own host and to Meta's file hosts.
//
// 360dialog blocks a number's files for 30 minutes after 20 failed requests in
// an hour: do not repeat a Permanent failure.
func (c *Client) Fetch(ctx context.Context, a channel.Account, attachmentID string) (channel.Media, error) {
	if !plainID.MatchString(attachmentID) {
		return channel.Media{}, defect("the attachment's id is not a provider's id")
	}
	address, err := c.address(a, attachmentID)
	if err != nil {
		return channel.Media{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.mediaTimeout)
	defer cancel()
	raw, err := c.get(ctx, a, address, maxAnswer)
	if err != nil {
		return channel.Media{}, err
	}
	var meta struct {
		URL  str `json:"url"`
		MIME str `json:"mime_type"`
		Size num `json:"file_size"`
	}
	if err := json.Unmarshal(raw, &meta); err != nil || meta.URL == "" {
		return channel.Media{}, &channel.Error{Class: channel.Transient, Detail: "the provider named no link for the file", Cause: err}
	}
	if int64(meta.Size.int()) > c.mediaLimit {
		return channel.Media{}, c.tooLarge()
	}
	link, err := fileLink(a, address, string(meta.URL))
	if err != nil {
		return channel.Media{}, err
	}
	data, err := c.get(ctx, a, link, c.mediaLimit)
	if err != nil {
		return channel.Media{}, err
	}
	kind, err := checked(string(meta.MIME), data)
	if err != nil {
		return channel.Media{}, err
	}
	return channel.Media{MIME: kind, Bytes: data}, nil
}

func (c *Client) tooLarge() error {
	return &channel.Error{Class: channel.Permanent, Detail: fmt.Sprintf("the file is larger than %d bytes", c.mediaLimit)}
}

// get reads one address. Reading twice harms nobody, so what would be Unknown
// for a message is Transient here.
func (c *Client) get(ctx context.Context, a channel.Account, address string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, defect("the file's address is not usable")
	}
	authorize(req, a)
	raw, err := c.do(req, limit)
	e, ok := errors.AsType[*channel.Error](err)
	switch {
	case !ok:
		return raw, err
	case errors.Is(err, errTooLong):
		return nil, &channel.Error{Class: channel.Permanent, Detail: e.Detail}
	case e.Class == channel.Unknown:
		e.Class = channel.Transient
	case e.Class == channel.Defect || e.Class == channel.Auth && e.Code == 100:
		e.Class = channel.Permanent // the file is gone
	}
	return nil, e
}

// fileLink returns where the file is downloaded from. Only hosts that may see
// the key are taken.
func fileLink(a channel.Account, address, link string) (string, error) {
	base, err := url.Parse(address)
	if err != nil {
		return "", defect("the account's base address is not usable")
	}
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.User != nil {
		return "", &channel.Error{Class: channel.Permanent, Detail: "the file's link is not usable"}
	}
	if a.Provider == channel.Dialog360 && u.Hostname() == lookaside {
		u.Scheme, u.Host = base.Scheme, base.Host
	}
	own := u.Scheme == base.Scheme && u.Host == base.Host
	metas := u.Scheme == "https" && u.Port() == "" && (u.Hostname() == lookaside || strings.HasSuffix(u.Hostname(), ".fbcdn.net"))
	if !own && (a.Provider != channel.Meta || !metas) {
		return "", &channel.Error{Class: channel.Permanent, Detail: "the file's link leads to a host that must not see the key"}
	}
	return u.String(), nil
}

// byteType returns what the bytes of a file must be, going by what it claims to
// be. Types of WhatsApp's page on supported media; any other claim is refused.
func byteType(claim string) (string, bool) {
	switch claim {
	case "image/jpeg", "image/png", "image/webp", "audio/aac", "audio/amr", "audio/mpeg",
		"video/mp4", "application/pdf", "text/plain":
		return claim, true
	case "audio/ogg", "audio/opus":
		return "application/ogg", true
	case "audio/mp3":
		return "audio/mpeg", true
	case "audio/mp4", "video/3gpp", "video/3gp":
		return "video/mp4", true
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return "application/zip", true
	}
	return "", false
}

// checked returns what the bytes are, as long as that agrees with the claim.
func checked(claim string, data []byte) (string, error) {
	claimed, _, err := mime.ParseMediaType(claim)
	if err != nil {
		claimed = strings.ToLower(strings.TrimSpace(claim))
	}
	want, known := byteType(claimed)
	if !known {
		return "", &channel.Error{Class: channel.Permanent, Detail: "files of the type claimed are not taken"}
	}
	if is := sniffed(data); is != want {
		return "", &channel.Error{Class: channel.Permanent, Detail: fmt.Sprintf("the file claims to be %s and is %s", claimed, is)}
	}
	return claimed, nil
}

// sniffed extends the standard library's sniffing by the kinds of audio and
// video that phones record.
func sniffed(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("#!AMR")):
		return "audio/amr"
	case len(data) >= 2 && data[0] == 0xFF && data[1]&0xF6 == 0xF0: // ADTS frame
		return "audio/aac"
	case len(data) >= 2 && data[0] == 0xFF && data[1]&0xE0 == 0xE0 && data[1]&0x06 != 0: // MPEG audio frame
		return "audio/mpeg"
	case len(data) >= 12 && string(data[4:8]) == "ftyp":
		return "video/mp4"
	}
	is, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if is == "text/plain" && !utf8.Valid(data) {
		return "application/octet-stream"
	}
	return is
}
