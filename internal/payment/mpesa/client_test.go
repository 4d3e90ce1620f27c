package mpesa_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name   string
		change func(*mpesa.Config)
		kind   string
		to     string
	}{
		{"a paybill is asked for a paybill payment", nil, "CustomerPayBillOnline", "600999"},
		{"a till is asked for goods", func(c *mpesa.Config) { c.Type = mpesa.Till }, "CustomerBuyGoodsOnline", "600999"},
		{"a till may differ from its store", func(c *mpesa.Config) { c.Type, c.Till = mpesa.Till, "551122" }, "CustomerBuyGoodsOnline", "551122"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, r.change)
			got, err := b.client.Prompt(t.Context(), prompt())
			if err != nil || got != (payment.Accepted{MerchantID: "8841-200-1", CheckoutID: "ws_CO_0903"}) {
				t.Fatalf("Prompt = %+v, %v", got, err)
			}
			want := map[string]any{
				"path":              "/mpesa/stkpush/v1/processrequest",
				"BusinessShortCode": "600999",
				// 600999 + pass + 20260310000509: past midnight in East Africa.
				"Password": "NjAwOTk5cGFzczIwMjYwMzEwMDAwNTA5", "Timestamp": "20260310000509",
				"TransactionType": r.kind, "Amount": 1500.0, "PartyA": "254711223344", "PartyB": r.to,
				"PhoneNumber": "254711223344", "CallBackURL": "https://ratiba.example/webhooks/daraja/s3cr3t",
				"AccountReference": "SPA7QK2MXWTB", "TransactionDesc": "Deposit",
			}
			if diff := cmp.Diff(want, b.fake.last); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPromptLimits(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name   string
		change func(*payment.Prompt)
		says   string
	}{
		{"cents cannot be asked for", func(p *payment.Prompt) { p.Amount.Minor++ }, "whole shillings"},
		{"nothing cannot be asked for", func(p *payment.Prompt) { p.Amount.Minor = 0 }, "whole shillings"},
		{"nor a negative sum", func(p *payment.Prompt) { p.Amount.Minor = -100 }, "whole shillings"},
		{"nor more than one transaction holds", func(p *payment.Prompt) { p.Amount = money.Major(250_001, "KES") }, "250000"},
		{"nor another currency", func(p *payment.Prompt) { p.Amount.Currency = "USD" }, "KES"},
		{"a foreign phone has no M-Pesa here", func(p *payment.Prompt) { p.Phone = "+255711223344" }, "Kenyan"},
		{"a short phone is none", func(p *payment.Prompt) { p.Phone = "+25471122334" }, "Kenyan"},
		{"the account reference has 12 characters", func(p *payment.Prompt) { p.Account += "X" }, "12"},
		{"the account reference is needed", func(p *payment.Prompt) { p.Account = "" }, "empty"},
		{"the description has 13 characters", func(p *payment.Prompt) { p.Description = "Massage at ten" }, "13"},
		{"the callback needs an address", func(p *payment.Prompt) { p.CallbackURL = "/hook" }, "callback"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			p := prompt()
			r.change(&p)
			_, err := b.client.Prompt(t.Context(), p)
			e, ok := errors.AsType[*payment.RejectedError](err)
			if !ok || e.Transient || !strings.Contains(e.Detail, r.says) {
				t.Errorf("err = %v, want a refusal that says %q", err, r.says)
			}
			if b.fake.last != nil || b.fake.tokens != 0 {
				t.Error("something was sent")
			}
			if err != nil && (strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "11223344")) {
				t.Errorf("the error tells a secret or a phone: %v", err)
			}
		})
	}
}

// TestPromptAnswers: only what certainly put nothing on the phone is a
// RejectedError.
func TestPromptAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name      string
		status    int
		body      string
		rejected  string // its code; "" for an unknown
		transient bool
	}{
		{"a bad request is a refusal", 400, `{"requestId":"1","errorCode":"400.002.02","errorMessage":"Bad Request - Invalid Amount"}`, "400.002.02", false},
		{"a method not allowed is a refusal", 405, `{"errorCode":"405.001","errorMessage":"no"}`, "405.001", false},
		{"being busy is a passing refusal", 500, `{"errorCode":"500.003.02","errorMessage":"System is busy"}`, "500.003.02", true},
		{"a used-up quota is a passing refusal", 500, `{"errorCode":"500.003.03","errorMessage":"Quota Violation"}`, "500.003.03", true},
		{"a rate limit is a passing refusal", 429, ``, "HTTP 429", true},
		{"a forbidden token is a passing refusal", 403, `<html>`, "HTTP 403", true},
		{"a response code other than 0 is a refusal", 200, `{"ResponseCode":"1","ResponseDescription":"no"}`, "1", false},
		{"a response code may be a number", 200, `{"ResponseCode":7,"CheckoutRequestID":"x"}`, "7", false},
		{"another 500 is unknown", 500, `{"errorCode":"500.001.1001","errorMessage":"odd"}`, "", false},
		{"a 503 is unknown", 503, `{"errorCode":"503","errorMessage":"unavailable"}`, "", false},
		{"a 502 without a body is unknown", 502, ``, "", false},
		{"a 4xx without a code is unknown", 400, `<html>proxy</html>`, "", false},
		{"a redirect is not followed and unknown", 302, ``, "", false},
		{"an acceptance without an id is unknown", 200, `{"ResponseCode":"0"}`, "", false},
		{"an unreadable acceptance is unknown", 200, `{"ResponseCode":`, "", false},
		{"an odd shape is unknown", 200, `{"ResponseCode":{"a":1}}`, "", false},
		{"an endless answer is unknown", 200, `{"ResponseCode":"0","CheckoutRequestID":"` + strings.Repeat("x", 70<<10) + `"}`, "", false},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			b.fake.answer = says(r.status, r.body)
			_, err := b.client.Prompt(t.Context(), prompt())
			if err == nil {
				t.Fatal("no error")
			}
			e, ok := errors.AsType[*payment.RejectedError](err)
			if ok != (r.rejected != "") || ok && (e.Code != r.rejected || e.Transient != r.transient) {
				t.Errorf("err = %#v, want code %q, transient %v", err, r.rejected, r.transient)
			}
			if len(b.fake.bearers) != 1 {
				t.Errorf("%d requests, want 1", len(b.fake.bearers))
			}
		})
	}
}

func TestPromptLost(t *testing.T) {
	t.Parallel()
	t.Run("an answer cut off is unknown", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		b.fake.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		_, err := b.client.Prompt(t.Context(), prompt())
		if _, rejected := errors.AsType[*payment.RejectedError](err); err == nil || rejected {
			t.Errorf("err = %v, want an unknown", err)
		}
		if strings.Contains(err.Error(), b.server.URL) {
			t.Errorf("the error holds the address: %v", err)
		}
	})
	t.Run("an answer that does not come in time is unknown", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(c *mpesa.Config) { c.Timeout = 200 * time.Millisecond })
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		b.fake.answer = func(http.ResponseWriter, *http.Request) { <-release }
		_, err := b.client.Prompt(t.Context(), prompt())
		if _, rejected := errors.AsType[*payment.RejectedError](err); rejected || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want a deadline that is no refusal", err)
		}
	})
	t.Run("a server that is not there was not asked", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		if _, err := b.client.Prompt(t.Context(), prompt()); err != nil { // a token is in hand now
			t.Fatal(err)
		}
		b.server.Close()
		_, err := b.client.Prompt(t.Context(), prompt())
		if e, ok := errors.AsType[*payment.RejectedError](err); !ok || !e.Transient || e.Code != "unreachable" {
			t.Errorf("err = %v, want a passing refusal", err)
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	send := func(t *testing.T, b *bundle) error {
		t.Helper()
		_, err := b.client.Prompt(t.Context(), prompt())
		return err
	}
	t.Run("one is kept until a minute before its end", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		for _, step := range []time.Duration{0, 3538 * time.Second, 2 * time.Second} {
			b.clock.Add(step)
			if err := send(t, b); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"tok-1", "tok-1", "tok-2"}, b.fake.bearers); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
	t.Run("a life written as a number is read", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		b.fake.life = `3599`
		_, _ = send(t, b), send(t, b)
		if b.fake.tokens != 1 {
			t.Errorf("%d tokens, want 1", b.fake.tokens)
		}
	})
	t.Run("one of unknown life serves once", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		b.fake.life = `"soon"`
		_, _ = send(t, b), send(t, b)
		if b.fake.tokens != 2 {
			t.Errorf("%d tokens, want 2", b.fake.tokens)
		}
	})
	t.Run("a refused one is replaced once", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		if err := send(t, b); err != nil {
			t.Fatal(err)
		}
		b.fake.refuse = "tok-1"
		if err := send(t, b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"tok-1", "tok-1", "tok-2"}, b.fake.bearers); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
	t.Run("a fresh one that is refused is not fetched for ever", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		b.fake.answer = says(401, `{"errorCode":"401.002.01","errorMessage":"Invalid"}`)
		err := send(t, b)
		if e, ok := errors.AsType[*payment.RejectedError](err); !ok || !e.Transient || b.fake.tokens != 1 {
			t.Errorf("err = %v after %d tokens, want a passing refusal after 1", err, b.fake.tokens)
		}
	})
	t.Run("many callers fetch one", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _ = b.client.Prompt(t.Context(), prompt()) })
		}
		wg.Wait()
		if b.fake.tokens != 1 {
			t.Errorf("%d tokens, want 1", b.fake.tokens)
		}
	})
	for _, r := range []struct {
		name      string
		status    int
		body      string
		transient bool
	}{
		{"wrong credentials are a refusal", 400, `{"errorCode":"400.008.02","errorMessage":"Invalid grant type passed"}`, false},
		{"no token now is a passing refusal", 503, ``, true},
		{"an answer without a token is a refusal", 200, `{}`, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			b.fake.oauth = says(r.status, r.body)
			err := send(t, b)
			if e, ok := errors.AsType[*payment.RejectedError](err); !ok || e.Code != "token" || e.Transient != r.transient {
				t.Errorf("err = %v, want code token, transient %v", err, r.transient)
			}
		})
	}
	t.Run("a lost token answer put nothing on a phone", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		b.fake.oauth = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		if e, ok := errors.AsType[*payment.RejectedError](send(t, b)); !ok || !e.Transient {
			t.Error("want a passing refusal")
		}
	})
	t.Run("who waits for a token may give up", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		asked, release := make(chan struct{}), make(chan struct{})
		b.fake.oauth = func(w http.ResponseWriter, _ *http.Request) {
			close(asked)
			<-release
			says(200, `{"access_token":"t","expires_in":"60"}`)(w, nil)
		}
		done := make(chan struct{})
		go func() { defer close(done); _ = send(t, b) }()
		<-asked
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.client.Prompt(ctx, prompt())
		if e, ok := errors.AsType[*payment.RejectedError](err); !ok || !e.Transient {
			t.Errorf("err = %v, want a passing refusal", err)
		}
		close(release)
		<-done
	})
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name   string
		status int
		body   string
		want   payment.Outcome
		fails  bool
	}{
		{"a prompt on the phone is pending", 500, `{"requestId":"ws_1","errorCode":"500.001.1001","errorMessage":"The transaction is being processed"}`, payment.Outcome{Kind: payment.Pending, CheckoutID: "ws_1", Code: "500.001.1001"}, false},
		{"pending may come as a result", 200, `{"ResponseCode":"0","ResultCode":"4999","ResultDesc":"still"}`, payment.Outcome{Kind: payment.Pending, CheckoutID: "ws_1", Code: "4999", Detail: "still"}, false},
		{"a result code is a string", 200, `{"ResponseCode":"0","MerchantRequestID":"m","CheckoutRequestID":"ws_1","ResultCode":"1032","ResultDesc":"Request cancelled by user"}`, payment.Outcome{Kind: payment.Declined, MerchantID: "m", CheckoutID: "ws_1", Code: "1032", Detail: "Request cancelled by user"}, false},
		{"or a number", 200, `{"ResponseCode":0,"ResultCode":0,"ResultDesc":"ok"}`, payment.Outcome{Kind: payment.Success, CheckoutID: "ws_1", Code: "0", Detail: "ok"}, false},
		{"being busy says nothing", 500, `{"errorCode":"500.003.02","errorMessage":"busy"}`, payment.Outcome{}, true},
		{"a refusal says nothing about the prompt", 400, `{"errorCode":"400.002.02","errorMessage":"Bad Request"}`, payment.Outcome{}, true},
		{"an answer without a result says nothing", 200, `{"ResponseCode":"0"}`, payment.Outcome{}, true},
		{"an answer about another prompt is not believed", 200, `{"ResultCode":"0","CheckoutRequestID":"ws_2"}`, payment.Outcome{}, true},
		{"garbage says nothing", 200, `<html>`, payment.Outcome{}, true},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			b.fake.answer = says(r.status, r.body)
			got, err := b.client.Query(t.Context(), "ws_1")
			if diff := cmp.Diff(r.want, got); diff != "" || (err != nil) != r.fails {
				t.Errorf("err = %v, outcome (-want +got):\n%s", err, diff)
			}
			want := map[string]any{
				"path": "/mpesa/stkpushquery/v1/query", "BusinessShortCode": "600999", "CheckoutRequestID": "ws_1",
				"Password": "NjAwOTk5cGFzczIwMjYwMzEwMDAwNTA5", "Timestamp": "20260310000509",
			}
			if diff := cmp.Diff(want, b.fake.last); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an unreachable Daraja is an error", func(t *testing.T) {
		t.Parallel()
		b := setup(t, nil)
		b.server.Close()
		if _, err := b.client.Query(t.Context(), "ws_1"); err == nil {
			t.Error("no error")
		}
	})
}

func TestNewNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := mpesa.New(mpesa.Config{BaseURL: "daraja", Shortcode: "12a", Type: "shop"})
	for _, want := range []string{"BaseURL", "Shortcode", "Passkey", "shop"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to name %s", err, want)
		}
	}
	if _, err := mpesa.New(mpesa.Config{Shortcode: "600999", Passkey: "p", ConsumerKey: "k", ConsumerSecret: "s"}); err != nil {
		t.Errorf("the defaults do not do: %v", err)
	}
}

// TestRedirect: the token stays with Daraja.
func TestRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	b := setup(t, nil)
	b.fake.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}
	if _, err := b.client.Prompt(t.Context(), prompt()); err == nil {
		t.Error("no error")
	}
}
