package redis

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/ratiba/ratiba/internal/coord"
)

// listener keeps one connection on which Redis tells of every topic that
// somebody in this process is subscribed to. Redis confirms each subscription,
// on a new connection all of them again: a confirmation is where notes begin,
// so the hub is told of a gap there.
type listener struct {
	c      *Client
	prefix string        // of channels
	kick   chan struct{} // has a value when wanted has changed
	heard  atomic.Uint64 // what came in, pings' answers included

	mu     sync.Mutex
	wanted map[string]int  // subscribers by topic
	stands map[string]bool // confirmed topics
}

func newListener(c *Client, prefix string) *listener {
	return &listener{c: c, prefix: prefix, kick: make(chan struct{}, 1), wanted: map[string]int{}, stands: map[string]bool{}}
}

// join counts a subscriber and reports whether the topic's notes are coming in
// already.
func (l *listener) join(topic string) bool {
	l.mu.Lock()
	l.wanted[topic]++
	stands := l.stands[topic]
	l.mu.Unlock()
	l.changed()
	return stands
}

func (l *listener) leave(topic string) {
	l.mu.Lock()
	if l.wanted[topic]--; l.wanted[topic] == 0 {
		delete(l.wanted, topic)
	}
	l.mu.Unlock()
	l.changed()
}

func (l *listener) changed() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// run listens until ctx ends, on one connection after another.
func (l *listener) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		}
		for l.some() && ctx.Err() == nil {
			l.connect(ctx)
			pause := time.NewTimer(l.c.cfg.Retry)
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
	}
}

func (l *listener) some() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wanted) > 0
}

// connect listens on a new connection until that breaks or ctx ends.
func (l *listener) connect(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	// Whether Redis is there at all is noticed for every operation.
	if l.c.Ping(ctx) != nil {
		return
	}
	conn := l.c.redis.Subscribe(ctx)
	closed := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var asking sync.WaitGroup
	asking.Go(func() {
		defer end()
		l.ask(ctx, conn)
	})
	l.hear(ctx, conn)
	end()
	asking.Wait()
	closed()
	_ = conn.Close()
	l.mu.Lock()
	clear(l.stands)
	l.mu.Unlock()
}

// ask keeps the connection's subscriptions as they are wanted, and tests a
// connection that is silent. It returns when the connection is of no use.
func (l *listener) ask(ctx context.Context, conn *goredis.PubSub) {
	asked := map[string]bool{}
	pulse := time.NewTicker(l.c.cfg.Retry)
	defer pulse.Stop()
	heard, pinged := l.heard.Load(), false
	for {
		more, fewer := l.differ(asked)
		var err error
		if len(more) > 0 {
			err = conn.Subscribe(ctx, more...)
		}
		if len(fewer) > 0 {
			err = errors.Join(err, conn.Unsubscribe(ctx, fewer...))
		}
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		case <-pulse.C:
			// A connection that stays silent over a ping is broken, whatever TCP says.
			if n := l.heard.Load(); n != heard {
				heard, pinged = n, false
			} else if pinged || conn.Ping(ctx) != nil {
				return
			} else {
				pinged = true
			}
		}
	}
}

// hear passes on what comes in until the connection breaks.
func (l *listener) hear(ctx context.Context, conn *goredis.PubSub) {
	for {
		// No deadline: one that passed within a message would lose the rest of it.
		message, err := conn.ReceiveTimeout(ctx, 0)
		if err != nil {
			return
		}
		l.heard.Add(1)
		switch m := message.(type) {
		case *goredis.Subscription:
			l.confirmed(strings.TrimPrefix(m.Channel, l.prefix), m.Kind == "subscribe")
		case *goredis.Message:
			l.c.hub.Tell(strings.TrimPrefix(m.Channel, l.prefix), coord.Note{Payload: []byte(m.Payload)})
		}
	}
}

func (l *listener) confirmed(topic string, stands bool) {
	l.mu.Lock()
	if stands {
		l.stands[topic] = true
	} else {
		delete(l.stands, topic)
	}
	l.mu.Unlock()
	if stands {
		l.c.hub.Tell(topic, coord.Note{Gap: true})
	}
}

// differ returns the channels to subscribe to and those to leave, and brings
// asked up to date.
func (l *listener) differ(asked map[string]bool) (more, fewer []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for topic := range l.wanted {
		if !asked[topic] {
			asked[topic] = true
			more = append(more, l.prefix+topic)
		}
	}
	for topic := range asked {
		if l.wanted[topic] == 0 {
			delete(asked, topic)
			fewer = append(fewer, l.prefix+topic)
		}
	}
	return more, fewer
}
