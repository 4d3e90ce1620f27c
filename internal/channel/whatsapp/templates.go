package whatsapp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/channel"
)

// Bounds of a list of templates: of one page, in bytes, and of all, in pages.
const (
	maxTemplatePage  = 4 << 20
	templatesOnAPage = 100
	maxTemplatePages = 50
)

var _ channel.Templater = (*Client)(nil)

// wireTemplate is a template as both providers write it.
type wireTemplate struct {
	Name       str `json:"name"`
	Language   str `json:"language"`
	Category   str `json:"category"`
	Status     str `json:"status"`
	Components []struct {
		Type    str `json:"type"`
		Text    str `json:"text"`
		Buttons []struct {
			Type str `json:"type"`
		} `json:"buttons"`
	} `json:"components"`
}

// templatePage is a page of the list: Meta's goes on behind a cursor,
// 360dialog's at an offset.
type templatePage struct {
	Data   []wireTemplate `json:"data"`
	WABA   []wireTemplate `json:"waba_templates"`
	Paging struct {
		Cursors struct {
			After str `json:"after"`
		} `json:"cursors"`
		Next str `json:"next"`
	} `json:"paging"`
}

// parameter is a place in a template's body: numbered, or named.
var parameter = regexp.MustCompile(`\{\{\s*([A-Za-z0-9_]+)\s*\}\}`)

func (w wireTemplate) read() channel.Template {
	t := channel.Template{
		Name: cut(string(w.Name), maxName), Language: cut(string(w.Language), maxName),
		Category: strings.ToLower(cut(string(w.Category), maxName)), Status: strings.ToLower(cut(string(w.Status), maxName)),
	}
	for _, c := range w.Components {
		switch strings.ToLower(string(c.Type)) {
		case "body":
			t.Body = cut(string(c.Text), maxText)
			seen := map[string]bool{}
			for _, m := range parameter.FindAllStringSubmatch(t.Body, -1) {
				seen[m[1]] = true
			}
			t.Parameters = len(seen)
		case "buttons":
			for _, b := range c.Buttons {
				if strings.EqualFold(string(b.Type), "quick_reply") {
					t.Buttons++
				}
			}
		}
	}
	return t
}

// Templates implements channel.Templater: Meta's list of a business account,
// 360dialog's of a key.
func (c *Client) Templates(ctx context.Context, a channel.Account) ([]channel.Template, error) {
	var out []channel.Template
	after := ""
	for range maxTemplatePages {
		page, err := c.templatePage(ctx, a, after, len(out))
		if err != nil {
			return nil, err
		}
		found := append(page.Data, page.WABA...)
		for _, w := range found {
			out = append(out, w.read())
		}
		after = string(page.Paging.Cursors.After)
		more := page.Paging.Next != "" && after != ""
		if a.Provider == channel.Dialog360 {
			more = len(found) == templatesOnAPage
		}
		if !more || len(found) == 0 {
			return out, nil
		}
	}
	return out, nil
}

func (c *Client) templatePage(ctx context.Context, a channel.Account, after string, offset int) (templatePage, error) {
	query := url.Values{"limit": {strconv.Itoa(templatesOnAPage)}}
	resource := "v1/configs/templates"
	if a.Provider == channel.Dialog360 {
		query.Set("offset", strconv.Itoa(offset))
	} else {
		if !plainID.MatchString(a.Business) {
			return templatePage{}, defect("the id of the WhatsApp business account is not known")
		}
		resource = a.Business + "/message_templates"
		query.Set("fields", "name,language,status,category,components")
		if after != "" {
			query.Set("after", after)
		}
	}
	address, err := c.address(a, resource)
	if err != nil {
		return templatePage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
	if err != nil {
		return templatePage{}, defect("the account's address is not usable")
	}
	authorize(req, a)
	raw, err := c.do(req, maxTemplatePage)
	if err != nil {
		return templatePage{}, err
	}
	var page templatePage
	if err := json.Unmarshal(raw, &page); err != nil {
		return templatePage{}, &channel.Error{Class: channel.Defect, Detail: "the list of templates cannot be read", Cause: err}
	}
	return page, nil
}
