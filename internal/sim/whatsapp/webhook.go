package whatsapp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
)

// signature says how a webhook is proved genuine.
type signature string

const (
	signGood signature = ""
	signBad  signature = "bad"
	signNone signature = "none"
)

// Sign returns the value of X-Hub-Signature-256 for body.
func Sign(appSecret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(appSecret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// letter addresses body to the product as the number's provider does: Meta
// signs it, 360dialog proves itself by the secret in the path.
func (s *Simulator) letter(n Number, body []byte, how signature) courier.Letter {
	l := courier.Letter{URL: n.WebhookURL, Body: body, Header: http.Header{}}
	if n.Provider == Dialog360 {
		secret := n.WebhookSecret
		switch how {
		case signBad:
			secret = "wrong-" + secret
		case signNone:
			secret = ""
		case signGood:
		}
		l.URL = secretURL(n.WebhookURL, n.WebhookSecret, secret)
		if n.AppSecret != "" && how == signGood {
			l.Header.Set("X-360dialog-Signature", Sign(n.AppSecret, body))
		}
		return l
	}
	l.Header.Set("User-Agent", "facebookexternalua")
	switch how {
	case signGood:
		l.Header.Set("X-Hub-Signature-256", Sign(n.AppSecret, body))
	case signBad:
		l.Header.Set("X-Hub-Signature-256", Sign("not "+n.AppSecret, body))
	case signNone:
	}
	return l
}

// secretURL puts secret where the webhook's address has the real one: at
// {secret}, or as its last element.
func secretURL(address, real, secret string) string {
	if strings.Contains(address, "{secret}") {
		return strings.ReplaceAll(address, "{secret}", url.PathEscape(secret))
	}
	base := strings.TrimSuffix(strings.TrimSuffix(address, url.PathEscape(real)), "/")
	return base + "/" + url.PathEscape(secret)
}

// faceVerify does Meta's subscription handshake with the product's webhook.
func (s *Simulator) faceVerify(w http.ResponseWriter, r *http.Request) (any, error) {
	var req struct {
		Number string `json:"number"`
	}
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	s.mu.Lock()
	n, ok := s.numberBy(req.Number)
	s.mu.Unlock()
	if !ok || n.Provider != Meta {
		return nil, fault.E(fault.NotFound, "No number of Meta's with that id or phone.")
	}
	challenge := newNumericID(10) + rand.Text()[:6]
	query := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {n.VerifyToken}, "hub.challenge": {challenge}}
	separator := "?"
	if strings.Contains(n.WebhookURL, "?") {
		separator = "&"
	}
	status, body, err := s.courier.Get(r.Context(), n.WebhookURL+separator+query.Encode(), 4096)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "The product's webhook did not answer.")
	}
	if status != http.StatusOK || string(body) != challenge {
		return nil, fault.E(fault.Conflict, fmt.Sprintf("The product answered %d and did not return the challenge.", status))
	}
	return done{OK: true}, nil
}
