package llm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
)

// Hash identifies the request within its turn. Every field that a model sees or
// a bill depends on counts, so a changed prompt or schema is a new request; the
// ladder and its bounds do not, so an answer outlives a change of roles.
func (r Request) Hash() string {
	h := hashers.Get().(*hasher) //nolint:forcetypeassert // nothing else is in the pool.
	h.buf = h.buf[:0]
	h.text(string(r.Tenant), string(r.Thread), string(r.Turn), string(r.Role),
		string(paidBy(r.Account)), r.PromptVersion, r.TaskID, r.Step, r.System)
	h.messages(r.Messages)
	h.schema(r.Schema)
	h.tools(r.Tools, r.MustCall)
	h.number(len(r.Texts))
	h.text(r.Texts...)
	h.number(r.MaxTokens)
	h.number(r.Seq)
	sum := h.sum()
	hashers.Put(h)
	return sum
}

// hasher writes fields with their lengths in front, so that no two lists of
// fields share an encoding.
type hasher struct{ buf []byte }

var hashers = sync.Pool{New: func() any { return &hasher{buf: make([]byte, 0, 8<<10)} }} //nolint:gochecknoglobals // Holds buffers, no state.

func (h *hasher) number(n int) { h.buf = binary.BigEndian.AppendUint64(h.buf, uint64(n)) } //nolint:gosec // any bijection will do.

func (h *hasher) text(fields ...string) {
	for _, f := range fields {
		h.number(len(f))
		h.buf = append(h.buf, f...)
	}
}

func (h *hasher) messages(list []Message) {
	h.number(len(list))
	for i := range list {
		h.text(list[i].Role, list[i].Content)
	}
}

func (h *hasher) schema(s *Schema) {
	if s == nil {
		h.number(-1)
		return
	}
	h.text(s.name)
	h.buf = append(h.buf, s.digest[:]...)
}

func (h *hasher) tools(list []Tool, must bool) {
	h.number(len(list))
	for i := range list {
		h.text(list[i].Name, list[i].Description)
		h.schema(list[i].Input)
	}
	if must {
		h.number(1)
	}
}

func (h *hasher) sum() string {
	sum := sha256.Sum256(h.buf)
	var out [2 * sha256.Size]byte
	hex.Encode(out[:], sum[:])
	return string(out[:])
}
