package demo_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	kijani = "+254711000003" // takes M-Pesa and cards
	mutua  = "+254722000004"
)

// gardener is a phone that writes to the business that takes cards too, in the
// middle of a booking whose summary it has been shown.
func (w world) gardener(number, first string) *phone {
	w.t.Helper()
	p := w.phone(number)
	p.to = kijani
	p.say(first)
	book(w.t, p, "Mary Wambui")
	return p
}

var linkForm = regexp.MustCompile(`http://\S+`)

// link is the address to pay at in what was last heard.
func (p *phone) link() string {
	p.t.Helper()
	address := linkForm.FindString(p.last.Text)
	if address == "" {
		p.t.Fatalf("no link in %q", p.last.Text)
	}
	return address
}

// page fetches or answers a page of payment as a browser does, without going
// where it leads.
func (w world) page(method, address, action string) (int, string, string) {
	w.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		w.t.Fatal(err)
	}
	body := ""
	if action != "" {
		body = url.Values{"OrderTrackingId": {u.Query().Get("OrderTrackingId")}, "action": {action}}.Encode()
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Header.Get("Location")
}

// hearsInTime moves the clock on until this phone hears a text: what PesaPal was
// asked just now it is not asked again at once.
func (p *phone) hearsInTime(w world, want string) {
	p.t.Helper()
	if !p.heardInTime(w, want) {
		p.t.Fatalf("%q never came", want)
	}
}

func (p *phone) heardInTime(w world, want string) bool {
	p.t.Helper()
	for range 12 {
		ctxIdle(p.t, w)
		for _, h := range p.poll(1) {
			p.after, p.last = h.Seq, h
			if strings.Contains(h.Text, want) {
				return true
			}
		}
		w.advance(15 * time.Second)
	}
	return false
}

func TestPayByCard(t *testing.T) {
	t.Parallel()
	for _, story := range []struct {
		name, first, both, paying, booked string
	}{
		{"English", "Hi, I need my lawn mowed tomorrow at 10", "by M-Pesa or card", "Here you can pay", "confirmed"},
		{"Swahili", "Habari, nataka kukata nyasi kesho saa nne asubuhi", "kwa M-Pesa au kadi", "Hapa unaweza kulipa", "imethibitishwa"},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			customer, admin := w.gardener("+254700000021", story.first), w.phone(mutua)
			admin.to = kijani
			mustSay(t, customer.last, story.both, "KES 500")
			customer.tap("card")
			mustSay(t, customer.hear(), story.paying, "KES 500")
			address := customer.link()
			if status, html, _ := w.page(http.MethodGet, address, ""); status != http.StatusOK || !strings.Contains(html, "Kijani Lawn Care") || !strings.Contains(html, "width=device-width") {
				t.Fatalf("the page is %d %s", status, html)
			}
			status, _, back := w.page(http.MethodPost, address, "pay")
			if status != http.StatusSeeOther || !strings.Contains(back, "/webhooks/pesapal/return") {
				t.Fatalf("the payer is sent %d to %q", status, back)
			}
			mustSay(t, customer.hear(), story.booked, "PSPL")
			admin.hear()
			if status, html, _ := w.page(http.MethodGet, back, ""); status != http.StatusOK || !strings.Contains(html, "WhatsApp") {
				t.Errorf("the way back is %d %s", status, html)
			}
			customer.quiet()
		})
	}
}

func TestBothRailsInOneDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.gardener("+254700000022", "Hi, I need my lawn mowed tomorrow at 10")
	customer.tap("card")
	customer.hear()
	w.page(http.MethodPost, customer.link(), "decline")
	mustSay(t, customer.hear(), "didn't go through")
	customer.tap("mpesa")
	customer.tap("yes")
	customer.pin("1234")
	mustSay(t, customer.hear(), "confirmed")
}

// A notification is nothing but a reason to ask: whoever sends them, and however
// many, PesaPal is asked a bounded number of times and what it denies is not so.
func TestAClaimThatPesaPalDenies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.gardener("+254700000023", "Hi, I need my lawn mowed tomorrow at 10")
	customer.tap("card")
	customer.hear()
	status, raw := w.post("/sim/pesapal/notify", map[string]any{"phone": customer.number, "times": 200})
	if status != http.StatusOK || !strings.Contains(string(raw), "200") {
		t.Fatalf("notify: %d %s", status, raw)
	}
	customer.quiet()
	asked := 0
	for _, e := range w.Sim.Journal(0) {
		if e.Kind == "query.answered" {
			asked++
		}
	}
	if asked > 2 {
		t.Errorf("PesaPal was asked %d times for claims made at once", asked)
	}
	for _, forged := range []string{
		"", "?OrderTrackingId=x", "?OrderTrackingId=x&OrderMerchantReference=RTB-kijani-01ARZ3NDEKTSV4RRFFQ69G5FAV&OrderNotificationType=IPNCHANGE",
		"?OrderTrackingId=x&OrderMerchantReference=RTB-nobody-x", "?OrderTrackingId=x&OrderMerchantReference=..",
	} {
		if status, _, _ := w.page(http.MethodGet, w.URL+"/webhooks/pesapal/ipn"+forged, ""); status != http.StatusNotFound {
			t.Errorf("a notification of no order, %q, is answered %d", forged, status)
		}
	}
	w.page(http.MethodPost, customer.link(), "pay")
	customer.hearsInTime(w, "confirmed")
}

func TestCardTroubles(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name    string
		program map[string]any
		want    string
	}{
		{"another sum is looked at by a person", map[string]any{"amount": "5", "outcome": "COMPLETED"}, "doesn't match"},
		{"another currency is looked at by a person", map[string]any{"currency": "UGX", "outcome": "COMPLETED"}, "doesn't match"},
		{"no notification comes and the schedule asks", map[string]any{"outcome": "COMPLETED", "notifications": 0}, "confirmed"},
		{"it is notified many times", map[string]any{"outcome": "COMPLETED", "notifications": 5, "upper": true}, "confirmed"},
		{"it is notified before it is paid", map[string]any{"outcome": "COMPLETED", "notify": "early", "delay_ms": 200}, "confirmed"},
		{"the first query fails", map[string]any{"outcome": "COMPLETED", "query": "500"}, "confirmed"},
		{"a token ends while it is asked", map[string]any{"outcome": "COMPLETED", "query": "401"}, "confirmed"},
		{"a declined card is tried again on the same page", map[string]any{"outcome": "FAILED", "then": "COMPLETED", "delay_ms": 100}, "confirmed"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if status, raw := w.post("/sim/pesapal/next", r.program); status != http.StatusOK {
				t.Fatalf("program: %d %s", status, raw)
			}
			customer := w.gardener("+254700000024", "Hi, I need my lawn mowed tomorrow at 10")
			customer.tap("card")
			customer.hearsInTime(w, r.want)
		})
	}
}

func TestNoLinkIsToBeHad(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"500", "lose"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.post("/sim/pesapal/next", map[string]any{"submit": how})
			customer := w.gardener("+254700000025", "Hi, I need my lawn mowed tomorrow at 10")
			customer.tap("card")
			mustSay(t, customer.hear(), "couldn't get a link")
			customer.tap("card")
			mustSay(t, customer.hear(), "Here you can pay")
		})
	}
}

func TestALinkEndsWithTheHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.gardener("+254700000026", "Hi, I need my lawn mowed tomorrow at 10")
	customer.tap("card")
	mustSay(t, customer.hear(), "Here you can pay")
	address := customer.link()
	w.advance(20 * time.Minute)
	mustSay(t, customer.hear(), "released")
	customer.quiet()
	w.page(http.MethodPost, address, "pay")
	customer.hearsInTime(w, "confirmed") // the time was still free
}
