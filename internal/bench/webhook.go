package bench

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/clock"
)

// webhookConns is how many connections deliver at once.
const webhookConns = 64

// knownContacts is how many people write to each business, one after the other.
const knownContacts = 500

// Webhook measures acknowledgements: signed webhooks over loopback HTTP into
// the product, which answers them meanwhile. What was acknowledged must be
// stored.
func Webhook(ctx context.Context, opt Options) (r Report, err error) {
	p, err := newProduct(ctx, opt)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	d := &deliveries{p: p, clock: clock.Real{}, client: &http.Client{
		Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: webhookConns, MaxConnsPerHost: webhookConns},
	}}
	defer d.client.CloseIdleConnections()
	opt.Progress("%d businesses, %d webhooks a second for %s", opt.Tenants, opt.Rate, opt.Span)
	paced, err := d.paced(ctx, opt.Rate, opt.Span)
	if err != nil {
		return r, err
	}
	opt.Progress("as many as are acknowledged for %s", opt.Span)
	full, err := d.flood(ctx, opt.Span)
	if err != nil {
		return r, err
	}
	if err := p.stored(ctx, int(d.acknowledged.Load())); err != nil {
		return r, err
	}
	r.add("ack_p50_ms", quantile(paced, 0.5), fmt.Sprintf("from due to answered, %d webhooks a second", opt.Rate))
	r.add("ack_p99_ms", quantile(paced, 0.99), "")
	r.add("max_webhooks_per_s", rate(len(full), opt.Span), "acknowledged, at full speed")
	r.add("max_ack_p50_ms", quantile(full, 0.5), "from sent to answered, at full speed")
	r.add("max_ack_p99_ms", quantile(full, 0.99), "")
	r.add("webhooks", float64(d.acknowledged.Load()), "acknowledged, all found stored")
	r.add("tenants", float64(opt.Tenants), "")
	r.add("flush_p50_ms", p.disk, "of 4 KiB to this disk")
	r.add("load_average_before", p.busy, "of this machine when the run began")
	return r, nil
}

// deliveries post webhooks as Meta does.
type deliveries struct {
	p            *product
	clock        clock.Clock
	client       *http.Client
	sent         atomic.Int64
	acknowledged atomic.Int64
}

// paced delivers speed messages a second, each at its time whether or not
// those before are answered, and returns how long after it each was answered.
func (d *deliveries) paced(ctx context.Context, speed int, span time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over, end := context.WithTimeout(ctx, span+span/5)
	defer end()
	from := d.clock.Now().Add(span / 5)
	var acks, late series
	p := &pacer{clock: d.clock, over: over, due: make(chan time.Time, speed), late: &late}
	var work sync.WaitGroup
	work.Go(func() { p.run(float64(speed)) })
	for range webhookConns {
		work.Go(func() {
			for {
				select {
				case due := <-p.due:
					if err := d.post(ctx); err != nil {
						cancel(err)
						return
					}
					now := d.clock.Now()
					acks.add(now, now.Sub(due))
				case <-over.Done():
					return
				}
			}
		})
	}
	work.Wait()
	return acks.within(from, from.Add(2*span)), context.Cause(ctx)
}

// flood delivers on every connection as soon as the last was acknowledged.
func (d *deliveries) flood(ctx context.Context, span time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from := d.clock.Now()
	var acks series
	var work sync.WaitGroup
	for range webhookConns {
		work.Go(func() {
			for ctx.Err() == nil && d.clock.Now().Sub(from) < span {
				sent := d.clock.Now()
				if err := d.post(ctx); err != nil {
					cancel(err)
					return
				}
				now := d.clock.Now()
				acks.add(now, now.Sub(sent))
			}
		})
	}
	work.Wait()
	return acks.within(from, from.Add(span)), context.Cause(ctx)
}

// post delivers the next message and wants it acknowledged.
func (d *deliveries) post(ctx context.Context) error {
	n := int(d.sent.Add(1))
	t := d.p.tenants[n%len(d.p.tenants)]
	body, err := webhook(t.Numbers[0].ID, fmt.Sprintf("2547%03d%05d", n%len(d.p.tenants), n/len(d.p.tenants)%knownContacts), n, d.clock.Now())
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.p.url+"/webhooks/whatsapp", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	req.Header.Set(whatsapp.SignatureHeader, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := d.client.Do(req)
	if err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	_, err = io.Copy(io.Discard, res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("deliver: answered %s", res.Status)
	}
	d.acknowledged.Add(1)
	return nil
}

// object is a JSON object.
type object map[string]any

// webhook is a text message as the Cloud API delivers it.
func webhook(number, from string, n int, at time.Time) ([]byte, error) {
	texts := []string{"Hello", "where are you?", "Habari", "what does a massage cost?"}
	raw, err := json.Marshal(object{"object": "whatsapp_business_account", "entry": []object{{"id": "1", "changes": []object{{
		"field": "messages", "value": object{
			"messaging_product": "whatsapp", "metadata": object{"display_phone_number": number, "phone_number_id": number},
			"contacts": []object{{"profile": object{"name": "Mary"}, "wa_id": from}},
			"messages": []object{{
				"from": from, "id": fmt.Sprintf("wamid.%d.%d", at.UnixNano(), n), "timestamp": strconv.FormatInt(at.Unix(), 10), "type": "text",
				"text": object{"body": texts[rand.IntN(len(texts))]}, //nolint:gosec // any will do.
			}},
		},
	}}}}})
	if err != nil {
		return nil, fmt.Errorf("encode webhook: %w", err)
	}
	return raw, nil
}

// graph stands in for WhatsApp: it takes every message at once.
func graph() http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is sent is not measured
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{ // who has gone needs no answer
			"success": true, "messaging_product": "whatsapp", "messages": []object{{"id": fmt.Sprintf("wamid.sent.%d", n.Add(1))}},
		})
	})
}

// listen serves a handler on a free port of this machine.
func listen(ctx context.Context, h http.Handler) (url string, stop func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: patience}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	return "http://" + l.Addr().String(), func() error {
		err := srv.Close()
		serving.Wait()
		return err
	}, nil
}
