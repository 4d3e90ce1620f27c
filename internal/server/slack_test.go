package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ratiba/ratiba/internal/clock"
)

// post posts a payload as Slack would, signed with a secret, and returns the
// product's answer.
func (w *town) post(payload, secret string) int {
	w.Helper()
	body := url.Values{"payload": {payload}}.Encode()
	stamp := strconv.FormatInt(clock.Real{}.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return w.do(http.MethodPost, "/webhooks/slack", body, nil, "Content-Type", "application/x-www-form-urlencoded",
		"X-Slack-Request-Timestamp", stamp, "X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}
