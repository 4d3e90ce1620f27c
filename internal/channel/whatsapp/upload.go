package whatsapp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/ratiba/ratiba/internal/channel"
)

// uploads is the resource that takes files.
const uploads = "media"

// Upload implements channel.Uploader. The file can be sent for 30 days.
func (c *Client) Upload(ctx context.Context, a channel.Account, m channel.Media, filename string) (string, error) {
	body, kind, err := form(m, filename)
	if err != nil {
		return "", &channel.Error{Class: channel.Defect, Detail: "the file cannot be written as a form", Cause: err}
	}
	address, err := c.address(a, uploads)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.mediaTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return "", defect("the account's address is not usable")
	}
	req.Header.Set("Content-Type", kind)
	authorize(req, a)
	raw, err := c.do(req, maxAnswer)
	if e, ok := errors.AsType[*channel.Error](err); ok && e.Class == channel.Unknown {
		e.Class = channel.Transient // a file that is there twice harms nobody
		return "", e
	}
	if err != nil {
		return "", err
	}
	var ok struct {
		ID str `json:"id"`
	}
	if err := json.Unmarshal(raw, &ok); err != nil || !plainID.MatchString(string(ok.ID)) {
		return "", &channel.Error{Class: channel.Transient, Detail: "the provider took the file without naming it", Cause: err}
	}
	return string(ok.ID), nil
}

// form writes a file as the provider's form takes it.
func form(m channel.Media, filename string) (body io.Reader, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	// A name is data of a stranger's: quotes and line ends would end the header.
	filename = cmp.Or(strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
			return '_'
		}
		return r
	}, filename), "file")
	claim := m.MIME
	if claim == "audio/ogg" {
		claim = "audio/ogg; codecs=opus" // WhatsApp refuses the bare type, and takes no other codec in it
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + filename + `"`}, "Content-Type": {claim},
	})
	if err == nil {
		_, err = part.Write(m.Bytes)
	}
	err = errors.Join(err, w.WriteField("messaging_product", "whatsapp"), w.WriteField("type", claim), w.Close())
	return &b, w.FormDataContentType(), err
}
