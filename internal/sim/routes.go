package sim

import (
	"context"
	"net/http"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

// routes is the site map. The providers' APIs stand at:
//
//	/graph/v23.0/{phone-number-id}/messages, .../media, /graph/v23.0/{media-id}   Meta
//	/d360/messages, /d360/media, /d360/{media-id}                                 360dialog
//	/daraja/oauth/v1/generate, /daraja/mpesa/stkpush/v1/processrequest,
//	/daraja/mpesa/stkpushquery/v1/query                                           Daraja
//	/slack/api/chat.postMessage, .../chat.update, .../chat.postEphemeral,
//	.../auth.test                                                                 Slack
//	/pesapal/api/..., /pesapal/pesapaliframe/PesapalIframe3/Index/                PesaPal and its page
func (s *Sim) routes(life context.Context) http.Handler {
	mux := http.NewServeMux()
	s.whatsapp.Routes(mux)
	s.daraja.Routes(mux)
	s.slack.Routes(mux)
	s.voice.Routes(mux)
	s.pesapal.Routes(mux)
	mux.HandleFunc("GET /sim/tenants", face.Handle(s.faceTenants))
	mux.HandleFunc("GET /sim/clock", face.Handle(s.faceClock))
	mux.HandleFunc("POST /sim/clock/advance", face.Handle(s.faceAdvance))
	mux.HandleFunc("GET /sim/journal", face.Handle(s.faceJournal))
	mux.HandleFunc("GET /sim/events", s.streamEvents)
	if s.cfg.Model != nil {
		mux.Handle("/openai/", s.cfg.Model)
		mux.Handle("/anthropic/", s.cfg.Model)
		mux.Handle("/sim/llm/", s.cfg.Model)
	}
	if s.cfg.Page != nil {
		page := http.StripPrefix("/sim", s.cfg.Page)
		mux.Handle("GET /sim/{$}", page)
		mux.Handle("GET /sim/assets/", page)
		mux.Handle("GET /sim/slack/{$}", page)
		mux.Handle("GET /sim/call.html", page)
	}
	mux.HandleFunc("/sim/", func(w http.ResponseWriter, _ *http.Request) {
		face.Fail(w, fault.E(fault.NotFound, "The simulator has nothing at this address with this method."))
	})
	return guard(life, mux)
}

// guard keeps other sites' pages from acting on the face through a visitor's
// browser, and ends long polls and streams with life.
func guard(life context.Context, next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		face.Fail(w, fault.E(fault.Forbidden, "A page of another site may not act here."))
	}))
	protected := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/sim/") {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		protected.ServeHTTP(w, r.WithContext(ctx))
	})
}
