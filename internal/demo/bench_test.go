package demo_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/demo"
)

// BenchmarkReply measures from the posting of the signed webhook to the reply
// on the phone, over real HTTP, with every write flushed to disk, no quiet time
// and no model: a new customer's first word and the welcome. The three seeded
// businesses take turns, so that no number meets WhatsApp's 80 messages a second.
func BenchmarkReply(b *testing.B) {
	quiet := time.Duration(0)
	d, err := demo.Start(b.Context(), demo.Options{Addr: "127.0.0.1:0", Data: b.TempDir(), QuietTime: &quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Stop() }()
	watch := clock.Real{}
	tenants := d.Server.Tenants()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		number := fmt.Sprintf("+2547%08d", i)
		to := tenants[i%len(tenants)].Numbers[0].Display
		start := watch.Now()
		if status, raw := post(b, d.URL+"/sim/whatsapp/inbound", map[string]any{"from": number, "to": to, "text": "hello"}); status/100 != 2 {
			b.Fatalf("inbound: %d %s", status, raw)
		}
		var all []heard
		get(b, d.URL+"/sim/whatsapp/messages?wait=5&number="+url.QueryEscape(to)+"&phone="+url.QueryEscape(number), &all)
		if len(all) == 0 {
			b.Fatal("no reply")
		}
		took = append(took, watch.Now().Sub(start))
	}
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(ms(0.5), "p50_ms")
	b.ReportMetric(ms(0.99), "p99_ms")
}

// pages is how many pages BenchmarkPage measures at most: more to the same admins
// would measure WhatsApp's limit of one message in six seconds.
const pages = 100

// BenchmarkPage measures from the posting of the signed webhook in which a
// customer asks for a person to the card on an admin's phone: over real HTTP,
// with every write flushed to disk and no quiet time. No model is waited for.
func BenchmarkPage(b *testing.B) {
	quiet := time.Duration(0)
	d, err := demo.Start(b.Context(), demo.Options{Addr: "127.0.0.1:0", Data: b.TempDir(), QuietTime: &quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Stop() }()
	watch := clock.Real{}
	tenants := d.Server.Tenants()
	after := map[string]int64{}
	var took []time.Duration
	b.ResetTimer()
	for i := range min(b.N, pages) {
		t := tenants[i%len(tenants)]
		number, to, admin := fmt.Sprintf("+2547%08d", i), t.Numbers[0].Display, t.Admins[0].Phone
		start := watch.Now()
		if status, raw := post(b, d.URL+"/sim/whatsapp/inbound", map[string]any{"from": number, "to": to, "text": "let me talk to a person"}); status/100 != 2 {
			b.Fatalf("inbound: %d %s", status, raw)
		}
		var all []heard
		get(b, fmt.Sprintf("%s/sim/whatsapp/messages?wait=5&number=%s&phone=%s&after=%d", d.URL, url.QueryEscape(to), url.QueryEscape(admin), after[to]), &all)
		if len(all) == 0 {
			b.Fatal("no card")
		}
		took = append(took, watch.Now().Sub(start))
		if err := d.Server.Idle(b.Context()); err != nil { // the briefing of one page is no part of the next
			b.Fatal(err)
		}
		after[to] = all[len(all)-1].Seq
	}
	slices.Sort(took)
	ms := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(ms(0.5), "p50_ms")
	b.ReportMetric(ms(0.99), "p99_ms")
}
