package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
)

// owned calls a tool of a business in its owner's name, who says yes.
func owned(tb testing.TB, d *demo.Demo, t tenant.Tenant, name, args string) graph.Result {
	tb.Helper()
	c, err := d.Server.Counter(t.Slug)
	if err != nil {
		tb.Fatal(err)
	}
	res, q, err := c.Call(tb.Context(), t.Admins[0].Phone, name, json.RawMessage(args), "")
	if err == nil && q != nil {
		res, _, err = c.Call(tb.Context(), t.Admins[0].Phone, name, json.RawMessage(args), q.Token)
	}
	if err != nil || !res.OK {
		tb.Fatalf("%s: %+v, %v", name, res, err)
	}
	return res
}

func spaOf(d *demo.Demo) tenant.Tenant {
	all := d.Server.Tenants()
	return all[slices.IndexFunc(all, func(t tenant.Tenant) bool { return t.Numbers[0].Display == spa })]
}

func TestABroadcastReachesThePhonesOfThoseWhoWantIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asha, ben, cia := w.phone("+254700000021"), w.phone("+254700000022"), w.phone("+254700000023")
	asha.say("hello")
	ben.say("habari")
	mustSay(t, cia.say("STOP"), "no more announcements")
	const text = "We are open on Sunday, *all day*."
	order := `{"broadcast_id":"sunday","text":"` + text + `"}`
	for range 2 { // asked for twice, sent once
		owned(t, w.Demo, spaOf(w.Demo), "broadcast_message", order)
	}
	for _, p := range []*phone{asha, ben} {
		if h := p.hear(); h.Text != text {
			t.Errorf("%s hears %q", p.number, h.Text)
		}
		p.quiet()
	}
	cia.quiet()
	var report struct {
		Broadcasts []struct{ Total, Waiting, Sent int }
	}
	if err := owned(t, w.Demo, spaOf(w.Demo), "query_stats", `{"report":"broadcasts","date":"2026-11-23"}`).Decode(&report); err != nil {
		t.Fatal(err)
	}
	if b := report.Broadcasts; len(b) != 1 || b[0].Total != 2 || b[0].Waiting != 0 || b[0].Sent != 2 {
		t.Errorf("progress: %+v", b)
	}
}

// BenchmarkReplyDuringABroadcast is BenchmarkReply with one business alone,
// while 2,000 of its contacts are told something, and without: p99_ms beside
// p99_quiet_ms.
func BenchmarkReplyDuringABroadcast(b *testing.B) {
	quiet := time.Duration(0)
	d, err := demo.Start(b.Context(), demo.Options{Addr: "127.0.0.1:0", Data: b.TempDir(), QuietTime: &quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Stop() }()
	t := spaOf(d)
	crowd(b, d, t, 2000)
	const each = 150
	alone := replies(b, d, "+25471", each)
	owned(b, d, t, "broadcast_message", `{"broadcast_id":"x","text":"We are open on Sunday."}`)
	var during []time.Duration
	for b.Loop() {
		during = replies(b, d, "+25472", each)
	}
	b.ReportMetric(alone[len(alone)*99/100].Seconds()*1000, "p99_quiet_ms")
	b.ReportMetric(during[len(during)*99/100].Seconds()*1000, "p99_ms")
}

// crowd makes contacts who wrote just now.
func crowd(b *testing.B, d *demo.Demo, t tenant.Tenant, n int) {
	b.Helper()
	rows, err := d.Server.Store(t.ID)
	if err != nil {
		b.Fatal(err)
	}
	ctx, now := context.WithoutCancel(b.Context()), clock.Real{}.Now()
	if err := rows.Write(ctx, func(tx db.Tx) error {
		for i := range n {
			id := fmt.Sprintf("crowd%05d", i)
			if err := db.Exec(ctx, tx, "crowd", "INSERT INTO contacts (id, last_inbound_at, last_number, created_at) VALUES ($1, $2, $3, $2)", id, db.At(now), t.Numbers[0].ID); err != nil {
				return err
			}
			if err := db.Exec(ctx, tx, "crowd", "INSERT INTO contact_identities (kind, value, contact_id) VALUES ('phone', $1, $2)", fmt.Sprintf("+25473%07d", i), id); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}

// replies measures the first words of new customers, one after another.
func replies(b *testing.B, d *demo.Demo, prefix string, n int) (took []time.Duration) {
	b.Helper()
	watch := clock.Real{}
	for i := range n {
		number := fmt.Sprintf("%s%07d", prefix, i)
		start := watch.Now()
		if status, raw := post(b, d.URL+"/sim/whatsapp/inbound", map[string]any{"from": number, "to": spa, "text": "hello"}); status/100 != 2 {
			b.Fatalf("inbound: %d %s", status, raw)
		}
		var all []heard
		get(b, d.URL+"/sim/whatsapp/messages?wait=5&number="+url.QueryEscape(spa)+"&phone="+url.QueryEscape(number), &all)
		if len(all) == 0 {
			b.Fatal("no reply")
		}
		took = append(took, watch.Now().Sub(start))
	}
	slices.Sort(took)
	return took
}
