package pesapal

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

const (
	requestLimit   = 64 << 10 // bytes
	tokenLife      = 5 * time.Minute
	maxReference   = 50
	maxDescription = 100
)

// stamp is how PesaPal writes an instant.
const stamp = "2006-01-02T15:04:05.000Z07:00"

// refuse answers with PesaPal's error object.
func refuse(w http.ResponseWriter, status int, code, message string) {
	face.Write(w, status, map[string]any{
		"error":  map[string]string{"error_type": "api_error", "code": code, "message": message},
		"status": strconv.Itoa(status),
	})
}

func readBody(w http.ResponseWriter, r *http.Request, dst any) bool {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestLimit))
	if err == nil {
		err = json.Unmarshal(raw, dst)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request", "The request is not the JSON object expected here.")
	}
	return err == nil
}

// requestToken serves POST /api/Auth/RequestToken.
func (s *Simulator) requestToken(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Key    string `json:"consumer_key"`
		Secret string `json:"consumer_secret"`
	}
	if !readBody(w, r, &req) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.merchant(req.Key)
	if !ok || subtle.ConstantTimeCompare([]byte(m.ConsumerSecret), []byte(req.Secret)) != 1 {
		// It is so that the real one answers: an error with HTTP 200.
		face.Write(w, http.StatusOK, map[string]any{
			"error":  map[string]string{"error_type": "api_error", "code": "invalid_consumer_key_or_secret_provided", "message": ""},
			"status": "500",
		})
		return
	}
	now := s.clock.Now()
	text := rand.Text() + rand.Text()
	s.tokens[text] = token{merchant: req.Key, until: now.Add(tokenLife)}
	face.Write(w, http.StatusOK, map[string]any{
		"token": text, "expiryDate": now.Add(tokenLife).UTC().Format(stamp), "error": nil, "status": "200",
		"message": "Request processed successfully",
	})
}

// authorise returns whose token a request has, or answers 401.
func (s *Simulator) authorise(w http.ResponseWriter, r *http.Request) (string, bool) {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	held, ok := s.tokens[text]
	ok = ok && s.clock.Now().Before(held.until)
	s.mu.Unlock()
	if !ok {
		refuse(w, http.StatusUnauthorized, "invalid_api_credentials_provided", "The token is invalid or has expired.")
	}
	return held.merchant, ok
}

// registerIPN serves POST /api/URLSetup/RegisterIPN.
func (s *Simulator) registerIPN(w http.ResponseWriter, r *http.Request) {
	merchant, ok := s.authorise(w, r)
	if !ok {
		return
	}
	var req struct {
		URL    string `json:"url"`
		Method string `json:"ipn_notification_type"`
	}
	if !readBody(w, r, &req) {
		return
	}
	u, err := url.Parse(req.URL)
	if err != nil || u.Host == "" || req.Method != http.MethodGet && req.Method != http.MethodPost {
		refuse(w, http.StatusBadRequest, "invalid_ipn", "The address or its type is not usable.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := ipn{merchant: merchant, id: newID(), url: req.URL, method: req.Method, at: s.clock.Now()}
	s.ipns = append(s.ipns, n)
	face.Write(w, http.StatusOK, map[string]any{
		"url": n.url, "created_date": n.at.UTC().Format(stamp), "ipn_id": n.id, "ipn_notification_type_description": n.method,
		"ipn_status_description": "Active", "error": nil, "status": "200",
	})
}

// listIPN serves GET /api/URLSetup/GetIpnList.
func (s *Simulator) listIPN(w http.ResponseWriter, r *http.Request) {
	merchant, ok := s.authorise(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []map[string]any{}
	for _, n := range s.ipns {
		if n.merchant == merchant {
			list = append(list, map[string]any{
				"url": n.url, "created_date": n.at.UTC().Format(stamp), "ipn_id": n.id, "error": nil, "status": "200",
			})
		}
	}
	face.Write(w, http.StatusOK, list)
}

// submitRequest is the body of SubmitOrderRequest.
type submitRequest struct {
	ID           string      `json:"id"`
	Currency     string      `json:"currency"`
	Amount       json.Number `json:"amount"`
	Description  string      `json:"description"`
	CallbackURL  string      `json:"callback_url"`
	Notification string      `json:"notification_id"`
	Billing      struct {
		Email string `json:"email_address"`
		Phone string `json:"phone_number"`
	} `json:"billing_address"`
}

// fault names what is wrong with an order.
func (q submitRequest) fault() string {
	amount, err := q.Amount.Float64()
	back, urlErr := url.Parse(q.CallbackURL)
	switch {
	case q.ID == "" || utf8.RuneCountInString(q.ID) > maxReference:
		return "id"
	case len(q.Currency) != 3:
		return "currency"
	case err != nil || !(amount > 0):
		return "amount"
	case q.Description == "" || utf8.RuneCountInString(q.Description) > maxDescription:
		return "description"
	case urlErr != nil || back.Host == "":
		return "callback_url"
	case q.Billing.Email == "" && q.Billing.Phone == "":
		return "billing_address"
	}
	return ""
}

// submit serves POST /api/Transactions/SubmitOrderRequest.
func (s *Simulator) submit(w http.ResponseWriter, r *http.Request) {
	merchant, ok := s.authorise(w, r)
	if !ok {
		return
	}
	var req submitRequest
	if !readBody(w, r, &req) {
		return
	}
	o, code, message := s.open(merchant, req)
	if code != 0 {
		s.journal.Add(journal.Entry{Kind: journal.OrderRefused, Code: strconv.Itoa(code), Reference: req.ID, Error: message})
		refuse(w, code, "invalid_request", message)
		return
	}
	s.courier.Go(o.run(s))
	if o.program.Submit == submitLose {
		face.HangUp(w)
		return
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	face.Write(w, http.StatusOK, map[string]any{
		"order_tracking_id": o.ID, "merchant_reference": o.Reference, "error": nil, "status": "200",
		"redirect_url": fmt.Sprintf("%s://%s%s?OrderTrackingId=%s", scheme, r.Host, pagePath, o.ID),
	})
}

// open checks an order and takes it, or returns an HTTP status and why not.
func (s *Simulator) open(key string, req submitRequest) (*order, int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.takeProgram(req.ID)
	switch p.Submit {
	case "401":
		clear(s.tokens)
		return nil, http.StatusUnauthorized, "The token is invalid or has expired."
	case "500":
		return nil, http.StatusInternalServerError, "An error has occurred."
	}
	if what := req.fault(); what != "" {
		return nil, http.StatusBadRequest, "Invalid " + what + "."
	}
	var to *ipn
	for i := range s.ipns {
		if s.ipns[i].id == req.Notification && s.ipns[i].merchant == key {
			to = &s.ipns[i]
		}
	}
	if to == nil {
		return nil, http.StatusBadRequest, "Invalid IPN URL ID."
	}
	if s.refs[key+" "+req.ID] {
		return nil, http.StatusBadRequest, "Duplicate order reference."
	}
	s.refs[key+" "+req.ID] = true
	m, _ := s.merchant(key)
	o := &order{
		ID: newID(), Reference: req.ID, Merchant: m.Name, Phone: face.Digits(req.Billing.Phone), Description: req.Description,
		Amount: req.Amount, Currency: req.Currency, At: s.clock.Now(), State: invalid,
		merchant: key, back: req.CallbackURL, ipn: *to, program: p,
	}
	s.orders = append(s.orders, o)
	s.byID[o.ID] = o
	s.journal.Add(journal.Entry{
		Kind: journal.OrderAccepted, ID: o.ID, Phone: o.Phone, Amount: o.units(), Reference: o.Reference, URL: to.url,
	})
	return o, 0, ""
}

// status serves GET /api/Transactions/GetTransactionStatus.
func (s *Simulator) status(w http.ResponseWriter, r *http.Request) {
	merchant, ok := s.authorise(w, r)
	if !ok {
		return
	}
	id := r.URL.Query().Get("orderTrackingId")
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byID[id]
	if o == nil || o.merchant != merchant {
		s.journal.Add(journal.Entry{Kind: journal.Queried, ID: id, Code: "404"})
		refuse(w, http.StatusNotFound, "payment_details_not_found", "Pending Payment")
		return
	}
	if p := &o.program; p.Query != "" && p.QueryTimes != 0 {
		p.QueryTimes--
		code, _ := strconv.Atoi(p.Query)
		if p.Query == "401" {
			clear(s.tokens)
		}
		s.journal.Add(journal.Entry{Kind: journal.Queried, ID: id, Code: p.Query})
		refuse(w, code, "api_error", "An error has occurred.")
		return
	}
	s.journal.Add(journal.Entry{Kind: journal.Queried, ID: id, Code: string(o.State), Reference: o.Reference})
	face.Write(w, http.StatusOK, o.status())
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails.
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newConfirmation() string {
	const signs = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	var out strings.Builder
	out.WriteString("PSPL")
	for range 8 {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(signs)))) // never fails with rand.Reader.
		out.WriteByte(signs[n.Int64()])
	}
	return out.String()
}

func (s *Simulator) faceExpireTokens(http.ResponseWriter, *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.tokens)
	clear(s.tokens)
	return map[string]int{"expired": n}, nil
}
