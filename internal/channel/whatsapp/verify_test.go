package whatsapp_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/fault"
)

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestVerifyMeta(t *testing.T) {
	t.Parallel()
	const secret, body = "app-secret", `{"entry":[]}`
	good := "sha256=" + sign(secret, body)
	for _, r := range []struct {
		name, secret, header, body string
		ok                         bool
	}{
		{"the right signature", secret, good, body, true},
		{"in capitals", secret, "sha256=" + strings.ToUpper(sign(secret, body)), body, true},
		{"of RFC 4231, case 2", "Jefe", "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "what do ya want for nothing?", true},
		{"another body", secret, good, body + " ", false},
		{"another secret", "other", good, body, false},
		{"no secret", "", "sha256=" + sign("", body), body, false},
		{"no header", secret, "", body, false},
		{"no prefix", secret, sign(secret, body), body, false},
		{"a short signature", secret, good[:40], body, false},
		{"an empty signature", secret, "sha256=", body, false},
		{"a long signature", secret, good + "00", body, false},
		{"no hex", secret, "sha256=" + strings.Repeat("zz", 32), body, false},
		{"an older hash", secret, "sha1=" + sign(secret, body), body, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			err := whatsapp.VerifyMeta(r.secret, r.header, []byte(r.body))
			if (err == nil) != r.ok || err != nil && fault.CodeOf(err) != fault.Unauthorized {
				t.Errorf("err = %v, want ok %v", err, r.ok)
			}
		})
	}
}

func TestVerifyDialog360(t *testing.T) {
	t.Parallel()
	const body = `{"entry":[]}`
	for _, r := range []struct {
		name, want, got, signing, header string
		ok                               bool
	}{
		{"the right path", "path-secret", "path-secret", "", "", true},
		{"a wrong path", "path-secret", "path-secreT", "", "", false},
		{"a short path", "path-secret", "path", "", "", false},
		{"no secret", "", "", "", "", false},
		{"the right path and signature", "path-secret", "path-secret", "k", sign("k", body), true},
		{"a prefixed signature", "path-secret", "path-secret", "k", "sha256=" + sign("k", body), true},
		{"a missing signature", "path-secret", "path-secret", "k", "", false},
		{"a wrong signature", "path-secret", "path-secret", "k", sign("j", body), false},
		{"a right signature on a wrong path", "path-secret", "x", "k", sign("k", body), false},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			err := whatsapp.VerifyDialog360(r.want, r.got, r.signing, r.header, []byte(body))
			if (err == nil) != r.ok || err != nil && fault.CodeOf(err) != fault.Unauthorized {
				t.Errorf("err = %v, want ok %v", err, r.ok)
			}
		})
	}
}

func TestVerifyChallenge(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, query, token, want string
	}{
		{"the handshake", "hub.mode=subscribe&hub.verify_token=tok&hub.challenge=77", "tok", "77"},
		{"another token", "hub.mode=subscribe&hub.verify_token=no&hub.challenge=77", "tok", ""},
		{"another mode", "hub.mode=unsubscribe&hub.verify_token=tok&hub.challenge=77", "tok", ""},
		{"no token at all", "hub.mode=subscribe&hub.verify_token=&hub.challenge=77", "", ""},
		{"no challenge", "hub.mode=subscribe&hub.verify_token=tok", "tok", ""},
		{"an endless challenge", "hub.mode=subscribe&hub.verify_token=tok&hub.challenge=" + strings.Repeat("7", 600), "tok", ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			q, err := url.ParseQuery(r.query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := whatsapp.VerifyChallenge(q, r.token)
			if got != r.want || (err == nil) != (r.want != "") || err != nil && fault.CodeOf(err) != fault.Forbidden {
				t.Errorf("VerifyChallenge = %q, %v; want %q", got, err, r.want)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("secret", "sha256=00", []byte("body"))
	f.Add("", "", []byte(nil))
	f.Add("s", "sha256="+sign("s", "b"), []byte("b"))
	f.Fuzz(func(t *testing.T, secret, header string, body []byte) {
		right := strings.EqualFold(header, "sha256="+sign(secret, string(body))) && strings.HasPrefix(header, "sha256=")
		if err := whatsapp.VerifyMeta(secret, header, body); (err == nil) != (right && secret != "") {
			t.Errorf("VerifyMeta = %v, right %v", err, right)
		}
		if err := whatsapp.VerifyMeta(secret, "sha256="+sign(secret, string(body)), body); (err == nil) != (secret != "") {
			t.Errorf("the right signature: %v", err)
		}
	})
}
