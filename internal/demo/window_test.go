package demo_test

import "testing"

// Meta refuses free text outside the window in two ways; either way the words
// arrive as a template, and nobody has to do anything.
func TestWhatTheWindowKeptBackArrivesAsATemplate(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"http", "status"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.post("/sim/whatsapp/next", map[string]any{"phone": mary, "code": 131047, "mode": mode})
			p := w.phone(mary)
			p.send(map[string]any{"text": "What are your opening hours?"})
			h := p.hear()
			if h.Template == nil || h.Template.Name != "ratiba_notice" || len(h.Template.Parameters) != 1 {
				t.Fatalf("got %+v, want the notice", h)
			}
			mustSay(t, h, "Savannah")
			if n, _ := w.tasks("undelivered"); n != 0 {
				t.Errorf("%d tasks, want none", n)
			}
		})
	}
}

// A template that WhatsApp does not know fails, and a person is told.
func TestAMissingTemplateMakesATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Sim.SetTemplates(nil)
	w.post("/sim/whatsapp/next", map[string]any{"phone": mary, "code": 131047, "mode": "http"})
	p := w.phone(mary)
	p.send(map[string]any{"text": "What are your opening hours?"})
	if err := w.Server.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.quiet()
	if n, _ := w.tasks("undelivered"); n != 1 {
		t.Errorf("%d tasks, want one", n)
	}
}
