package whatsapp

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/sim/face"
)

// approved is the status of a template that may be sent.
const approved = "APPROVED"

// listed is a template as the platform's lists write it.
func (t Template) listed() map[string]any {
	status := t.Status
	if status == "" {
		status = approved
	}
	body := t.Body
	if body == "" { // only the number of parameters was given
		var marks []string
		for i := range t.Params {
			marks = append(marks, "{{"+strconv.Itoa(i+1)+"}}")
		}
		body = strings.Join(marks, " ")
	}
	components := []any{map[string]any{"type": "BODY", "text": body}}
	if t.Buttons > 0 {
		var buttons []any
		for i := range t.Buttons {
			buttons = append(buttons, map[string]any{"type": "QUICK_REPLY", "text": t.quickReply(i, "").Title})
		}
		components = append(components, map[string]any{"type": "BUTTONS", "buttons": buttons})
	}
	return map[string]any{
		"id": strconv.Itoa(1_000_000 + len(t.Name)), "name": t.Name, "language": t.Language, "status": status, "category": "UTILITY",
		"components": components,
	}
}

// page is one page of the templates, from offset on, and whether there are more.
func (s *Simulator) page(offset, limit int) ([]any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []any{}
	for i := offset; i < len(s.templates) && len(out) < limit; i++ {
		out = append(out, s.templates[i].listed())
	}
	return out, offset+len(out) < len(s.templates)
}

// defaultPage is how many templates a page has when nobody asks for a number.
const defaultPage = 25

func limitOf(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || n < 1 || n > 1000 {
		return defaultPage
	}
	return n
}

// graphEdge serves what hangs on an object: /{version}/{id}/{edge}. Its pattern
// is wide, because the files' own paths have as many parts.
func (s *Simulator) graphEdge(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 4 || parts[3] != "message_templates" {
		refuse(w, misshaped("Unknown path components: %s", r.URL.Path))
		return
	}
	s.graphTemplates(w, r, parts[2])
}

// graphTemplates serves GET /{WABA}/message_templates.
func (s *Simulator) graphTemplates(w http.ResponseWriter, r *http.Request, id string) {
	token := bearer(r)
	s.mu.Lock()
	known, ours := false, false
	for _, n := range s.numbers {
		if n.Provider == Meta && n.AccessToken != "" && n.AccessToken == token {
			known = true
			ours = ours || n.AccountID == id
		}
	}
	s.mu.Unlock()
	switch {
	case !known:
		refuse(w, coded(190, ""))
		return
	case !ours:
		refuse(w, noSuchObject(id))
		return
	}
	offset := 0
	if raw, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("after")); err == nil && len(raw) > 0 {
		offset, _ = strconv.Atoi(string(raw)) // a cursor that is not ours begins anew
	}
	found, more := s.page(max(offset, 0), limitOf(r))
	cursor := base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(max(offset, 0) + len(found))))
	paging := map[string]any{"cursors": map[string]any{"before": "MA", "after": cursor}}
	if more {
		paging["next"] = "https://graph.facebook.com" + r.URL.Path + "?after=" + cursor
	}
	face.Write(w, http.StatusOK, map[string]any{"data": found, "paging": paging})
}

// dialogTemplates serves 360dialog's GET /v1/configs/templates.
func (s *Simulator) dialogTemplates(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.dialogNumber(r); !ok {
		refuseKey(w)
		return
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset")) // none is the beginning
	found, _ := s.page(max(offset, 0), limitOf(r))
	for _, t := range found {
		one, ok := t.(map[string]any)
		if status, isText := one["status"].(string); ok && isText {
			one["status"] = strings.ToLower(status) // as 360dialog writes it
		}
	}
	s.mu.Lock()
	total := len(s.templates)
	s.mu.Unlock()
	face.Write(w, http.StatusOK, map[string]any{"waba_templates": found, "count": len(found), "total": total, "limit": limitOf(r), "offset": offset})
}
