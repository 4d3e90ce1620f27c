package whatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
)

// SignatureHeader carries Meta's signature, Dialog360SignatureHeader the one
// that 360dialog adds for its partners.
const (
	SignatureHeader          = "X-Hub-Signature-256"
	Dialog360SignatureHeader = "X-360dialog-Signature"
)

// VerifyMeta reports whether header signs body, the raw bytes as they came, with
// the app's secret. The error is a fault.Unauthorized. An empty secret verifies
// nothing.
func VerifyMeta(secret, header string, body []byte) error {
	digest, found := strings.CutPrefix(header, "sha256=")
	if !found {
		return fault.E(fault.Unauthorized, "The webhook is not signed.")
	}
	return verifyDigest(secret, digest, body)
}

// VerifyDialog360 reports whether the secret in the webhook's path is ours, and,
// where signingSecret is set, whether header signs body. The error is a
// fault.Unauthorized. An empty want verifies nothing.
func VerifyDialog360(want, got, signingSecret, header string, body []byte) error {
	if !sameSecret(want, got) {
		return fault.E(fault.Unauthorized, "The webhook's secret is wrong.")
	}
	if signingSecret == "" {
		return nil
	}
	if header == "" {
		return fault.E(fault.Unauthorized, "The webhook is not signed.")
	}
	return verifyDigest(signingSecret, strings.TrimPrefix(header, "sha256="), body)
}

// VerifyChallenge answers Meta's subscription handshake: the challenge to echo,
// or a fault.Forbidden.
func VerifyChallenge(query url.Values, verifyToken string) (string, error) {
	if query.Get("hub.mode") != "subscribe" || !sameSecret(verifyToken, query.Get("hub.verify_token")) {
		return "", fault.E(fault.Forbidden, "The verify token is wrong.")
	}
	challenge := query.Get("hub.challenge")
	if challenge == "" || len(challenge) > maxID {
		return "", fault.E(fault.Forbidden, "The challenge is missing.")
	}
	return challenge, nil
}

func verifyDigest(secret, digest string, body []byte) error {
	got, err := hex.DecodeString(digest)
	if err != nil || secret == "" {
		return fault.E(fault.Unauthorized, "The webhook's signature is wrong.")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if !hmac.Equal(got, mac.Sum(nil)) {
		return fault.E(fault.Unauthorized, "The webhook's signature is wrong.")
	}
	return nil
}

// sameSecret compares in a time that tells neither content nor length.
func sameSecret(want, got string) bool {
	w, g := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(got))
	return subtle.ConstantTimeCompare(w[:], g[:]) == 1 && want != ""
}
