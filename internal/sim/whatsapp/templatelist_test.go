package whatsapp_test

import (
	"net/http"
	"testing"

	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

func TestTheListOfTemplatesIsHeldToKeysAndPages(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *whatsapp.Config) {
		c.Numbers[0].AccountID = "7300"
		c.Templates = append(c.Templates, whatsapp.Template{Name: "old", Language: "sw", Params: 2, Status: "PAUSED"})
	})
	bearer := http.Header{"Authorization": {"Bearer " + spaToken}}
	var page struct {
		Data []struct {
			Name, Language, Status string
			Components             []struct{ Type, Text string }
		}
		Paging struct {
			Next    string
			Cursors struct{ After string }
		}
	}
	if status := b.do("GET", "/graph/v23.0/7300/message_templates?limit=1", bearer, nil, &page); status != 200 || len(page.Data) != 1 || page.Paging.Next == "" {
		t.Fatalf("first page: %d %+v", status, page)
	}
	after := page.Paging.Cursors.After
	page.Paging.Next = ""
	if b.do("GET", "/graph/v23.0/7300/message_templates?limit=1&after="+after, bearer, nil, &page); page.Data[0].Name != "old" ||
		page.Data[0].Status != "PAUSED" || page.Data[0].Components[0].Text != "{{1}} {{2}}" || page.Paging.Next != "" {
		t.Errorf("second page: %+v", page)
	}
	for path, want := range map[string]int{
		"/graph/v23.0/7301/message_templates": 400, "/graph/v23.0/7300/nothing": 400, "/d360/v1/configs/templates": 401,
	} {
		if status := b.do("GET", path, bearer, nil, nil); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
	if status := b.do("GET", "/graph/v23.0/7300/message_templates", nil, nil, nil); status != 401 {
		t.Errorf("without a key: %d, want 401", status)
	}
	var refused struct{ Error struct{ Code int } }
	b.do("POST", "/graph/v23.0/"+spaID+"/messages", bearer, map[string]any{
		"messaging_product": "whatsapp", "to": jane, "type": "template", "template": map[string]any{
			"name": "old", "language": map[string]any{"code": "sw"}, "components": []any{},
		},
	}, &refused)
	if refused.Error.Code != 132001 {
		t.Errorf("a paused template is answered with %d, want 132001", refused.Error.Code)
	}
}
