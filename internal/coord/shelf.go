package coord

import (
	"container/list"
	"time"
)

// shelf keeps values until their time is over, or until newer ones need the
// room. It is not safe for concurrent use.
type shelf struct {
	room  int // bytes, keys and overhead included
	used  int
	byKey map[string]*list.Element
	age   *list.List // of item, the oldest first
}

// item is one value on a shelf.
type item struct {
	key   string
	value []byte
	until time.Time
}

// itemCost is about what an item takes beside its key and value, in bytes.
const itemCost = 200

func (i item) size() int { return itemCost + len(i.key) + len(i.value) }

func newShelf(room int) *shelf {
	return &shelf{room: room, byKey: map[string]*list.Element{}, age: list.New()}
}

func (s *shelf) get(key string, now time.Time) ([]byte, bool) {
	e := s.byKey[key]
	if e == nil {
		return nil, false
	}
	i := held(e)
	if !i.until.After(now) {
		s.remove(e)
		return nil, false
	}
	return i.value, true
}

func (s *shelf) put(i item) {
	s.del(i.key)
	s.byKey[i.key] = s.age.PushBack(i)
	for s.used += i.size(); s.used > s.room; {
		s.remove(s.age.Front())
	}
}

func (s *shelf) del(key string) {
	if e := s.byKey[key]; e != nil {
		s.remove(e)
	}
}

func (s *shelf) remove(e *list.Element) {
	i := held(e)
	s.age.Remove(e)
	delete(s.byKey, i.key)
	s.used -= i.size()
}

func held(e *list.Element) item {
	i, _ := e.Value.(item)
	return i
}
