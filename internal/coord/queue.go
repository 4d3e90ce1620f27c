package coord

import (
	"container/heap"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
)

// queue knows when tenants are due, the longest waiting first. It is not safe
// for concurrent use.
type queue struct {
	turn    turns
	known   map[ids.TenantID]*waiting
	claimed map[ids.TenantID]*waiting
	seq     uint64
}

// waiting is a tenant with a known due time. While it is claimed it is not in
// line, and its time is that of wakes meanwhile, zero without one.
type waiting struct {
	tenant ids.TenantID
	at     time.Time
	seq    uint64 // among equal times, who came first
	index  int    // in turns
}

func newQueue() queue {
	return queue{known: map[ids.TenantID]*waiting{}, claimed: map[ids.TenantID]*waiting{}}
}

// add notes a due time; an earlier known one stands. It reports whether the
// head of the line changed.
func (q *queue) add(tenant ids.TenantID, at time.Time) bool {
	if w := q.claimed[tenant]; w != nil {
		if w.at.IsZero() || at.Before(w.at) {
			w.at = at
		}
		return false
	}
	w := q.known[tenant]
	switch {
	case w == nil:
		w = &waiting{tenant: tenant, at: at, seq: q.next()}
		q.known[tenant] = w
		heap.Push(&q.turn, w)
	case at.Before(w.at):
		w.at, w.seq = at, q.next()
		heap.Fix(&q.turn, w.index)
	default:
		return false
	}
	return w.index == 0
}

func (q *queue) next() uint64 {
	q.seq++
	return q.seq
}

// head is the time the first in line is due at.
func (q *queue) head() (time.Time, bool) {
	if len(q.turn) == 0 {
		return time.Time{}, false
	}
	return q.turn[0].at, true
}

// due tells whether anybody in line is due.
func (q *queue) due(now time.Time) bool {
	at, ok := q.head()
	return ok && !at.After(now)
}

// claim takes the first in line out of it until done is called.
func (q *queue) claim() ids.TenantID {
	w := q.turn[0]
	heap.Pop(&q.turn)
	delete(q.known, w.tenant)
	w.at = time.Time{}
	q.claimed[w.tenant] = w
	return w.tenant
}

// done puts a claimed tenant back in line: at next unless that is zero, or when
// it was woken for meanwhile.
func (q *queue) done(tenant ids.TenantID, next time.Time) {
	woken := q.claimed[tenant].at
	delete(q.claimed, tenant)
	for _, at := range []time.Time{next, woken} {
		if !at.IsZero() {
			q.add(tenant, at)
		}
	}
}

// earliest is the earliest known due time, zero when there is none.
func (q *queue) earliest() time.Time {
	at, _ := q.head()
	for _, w := range q.claimed {
		if !w.at.IsZero() && (at.IsZero() || w.at.Before(at)) {
			at = w.at
		}
	}
	return at
}

// turns is a heap by time, then by who came first.
type turns []*waiting

func (t *turns) Len() int { return len(*t) }

func (t *turns) Less(i, j int) bool {
	a, b := (*t)[i], (*t)[j]
	if c := a.at.Compare(b.at); c != 0 {
		return c < 0
	}
	return a.seq < b.seq
}

func (t *turns) Swap(i, j int) {
	line := *t
	line[i], line[j] = line[j], line[i]
	line[i].index, line[j].index = i, j
}

// Push implements heap.Interface.
func (t *turns) Push(x any) {
	w, _ := x.(*waiting)
	w.index = len(*t)
	*t = append(*t, w)
}

// Pop implements heap.Interface.
func (t *turns) Pop() any {
	last := len(*t) - 1
	w := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	return w
}
