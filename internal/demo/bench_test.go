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
