package pesapal

import (
	_ "embed" // the page
	"errors"
	"html/template"
	"net/http"

	"github.com/ratiba/ratiba/internal/fault"
)

// pagePath is where the real page stands as well.
const pagePath = Base + "/pesapaliframe/PesapalIframe3/Index/"

//go:embed page.html
var pageSource string

// policy lets the page style itself and post to its own origin.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self' http: https:; frame-ancestors 'none'"

// pageData is what the page shows.
type pageData struct {
	Merchant, Description, Currency, Amount, ID, Reference, Back string
	State                                                        state
	Known                                                        bool
}

func render(w http.ResponseWriter, status int, d pageData) {
	page, err := template.New("page").Parse(pageSource)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = page.Execute(w, d) // The client has gone; nobody is left to tell.
}

func (s *Simulator) data(o *order) pageData {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pageData{
		Merchant: o.Merchant, Description: o.Description, Currency: o.Currency, Amount: o.Amount.String(), ID: o.ID,
		Reference: o.Reference, Back: o.returnURL(), State: o.State, Known: true,
	}
}

// showPage is the page on which an order is paid.
func (s *Simulator) showPage(w http.ResponseWriter, r *http.Request) {
	o, err := s.find(which{TrackingID: r.URL.Query().Get("OrderTrackingId")})
	if err != nil || r.URL.Query().Get("OrderTrackingId") == "" {
		render(w, http.StatusNotFound, pageData{})
		return
	}
	render(w, http.StatusOK, s.data(o))
}

// takePage is the payer's answer. Whoever leaves the page answers nothing, and
// whoever goes on is sent where the merchant wanted.
func (s *Simulator) takePage(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, requestLimit)
	if err := r.ParseForm(); err != nil {
		render(w, http.StatusBadRequest, pageData{})
		return
	}
	o, err := s.find(which{TrackingID: r.PostForm.Get("OrderTrackingId")})
	if err != nil || r.PostForm.Get("OrderTrackingId") == "" {
		render(w, http.StatusNotFound, pageData{})
		return
	}
	action := r.PostForm.Get("action")
	if action != "leave" {
		_, err = s.pay(r.Context(), o, action == "decline")
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.Conflict {
		render(w, http.StatusConflict, s.data(o))
		return
	}
	http.Redirect(w, r, o.returnURL(), http.StatusSeeOther)
}
