package whatsapp

import "time"

// pairInterval is the sustained rate to one user: one message in six seconds.
const pairInterval = 6 * time.Second

// bucket holds tokens: burst at most, one more every interval.
type bucket struct {
	burst    float64
	interval time.Duration
	tokens   float64
	at       time.Time
}

func newBucket(burst int, interval time.Duration, now time.Time) *bucket {
	return &bucket{burst: float64(burst), interval: interval, tokens: float64(burst), at: now}
}

// fill adds what has accrued by now and reports whether a token is there.
func (b *bucket) fill(now time.Time) bool {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(b.burst, b.tokens+float64(passed)/float64(b.interval))
		b.at = now
	}
	return b.tokens >= 1
}

func (b *bucket) take() { b.tokens-- }

// spend takes a token from the number's throughput and from the pair's rate,
// or says which of them is empty. Callers hold mu.
func (s *Simulator) spend(n Number, p *person) *apiError {
	now := s.real.Now()
	all := s.rates[n.PhoneNumberID]
	if all == nil {
		all = newBucket(s.throughput, time.Second/time.Duration(s.throughput), now)
		s.rates[n.PhoneNumberID] = all
	}
	pair := p.pair[n.PhoneNumberID]
	if pair == nil {
		pair = newBucket(s.pairBurst, pairInterval, now)
		p.pair[n.PhoneNumberID] = pair
	}
	if !all.fill(now) {
		return coded(130429, "")
	}
	if !pair.fill(now) {
		return coded(131056, "")
	}
	all.take()
	pair.take()
	return nil
}
