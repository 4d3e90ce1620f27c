package coord

import (
	"context"
	"sync"
)

// maxNotes is how many notes wait for one subscriber before they become a gap.
const maxNotes = 256

// Hub passes notes to the subscribers in this process. Whoever publishes never
// waits for a subscriber.
type Hub struct {
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	topics map[string]map[*subscriber]struct{}
}

// subscriber is one subscription's waiting notes.
type subscriber struct {
	mu    sync.Mutex
	notes []Note
	some  chan struct{} // has a value when notes wait
}

// NewHub returns a hub without subscribers.
func NewHub() *Hub {
	return &Hub{closed: make(chan struct{}), topics: map[string]map[*subscriber]struct{}{}}
}

// Tell passes a note to the topic's subscribers.
func (h *Hub) Tell(topic string, n Note) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.topics[topic] {
		s.offer(n)
	}
}

// Listen calls f until ctx ends or the hub is closed, as Fanout.Subscribe does.
// Once the subscriber is there, stands tells whether the topic's notes come in:
// then the first gap is told at once, else it is Tell's to bring.
func (h *Hub) Listen(ctx context.Context, topic string, stands func() bool, f func(Note)) {
	s := &subscriber{some: make(chan struct{}, 1)}
	h.mu.Lock()
	if h.topics[topic] == nil {
		h.topics[topic] = map[*subscriber]struct{}{}
	}
	h.topics[topic][s] = struct{}{}
	h.mu.Unlock()
	defer h.leave(topic, s)
	if stands() {
		s.offer(Note{Gap: true})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.closed:
			return
		case <-s.some:
		}
		for _, n := range s.take() {
			if ctx.Err() != nil {
				return
			}
			f(n)
		}
	}
}

// Close ends every subscription.
func (h *Hub) Close() { h.once.Do(func() { close(h.closed) }) }

func (h *Hub) leave(topic string, s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.topics[topic], s); len(h.topics[topic]) == 0 {
		delete(h.topics, topic)
	}
}

func (s *subscriber) offer(n Note) {
	s.mu.Lock()
	switch {
	case n.Gap, len(s.notes) == maxNotes:
		// Who reads everything again has what the waiting notes would tell.
		s.notes = []Note{{Gap: true}}
	default:
		s.notes = append(s.notes, n)
	}
	s.mu.Unlock()
	select {
	case s.some <- struct{}{}:
	default:
	}
}

func (s *subscriber) take() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}
