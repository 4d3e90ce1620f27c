package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// ErrNotRecorded is what a replayed provider says to a call that is not on its
// tape, or not that often.
var ErrNotRecorded = errors.New("the call is not on the tape")

// maxTapeLine bounds one exchange.
const maxTapeLine = 16 << 20

// exchange is one line of a tape: what a provider was asked and what came of
// it. The hash finds it; the call is there for people who compare tapes.
type exchange struct {
	Hash     string         `json:"hash"`
	Provider string         `json:"provider"`
	Call     recordedCall   `json:"call"`
	Answer   *recordedSays  `json:"answer,omitempty"`
	Error    *recordedFault `json:"error,omitempty"`
}

type recordedCall struct {
	Model         string    `json:"model"`
	Effort        string    `json:"effort,omitempty"`
	System        string    `json:"system,omitempty"`
	Messages      []Message `json:"messages"`
	Schema        string    `json:"schema,omitempty"` // its name
	Tools         []string  `json:"tools,omitempty"`  // their names
	MustCall      bool      `json:"must_call,omitempty"`
	Texts         []string  `json:"texts,omitempty"`
	MaxTokens     int       `json:"max_tokens"`
	Deterministic bool      `json:"deterministic,omitempty"`
}

type recordedSays struct {
	Text       string         `json:"text,omitempty"`
	Vectors    *storedVectors `json:"vectors,omitempty"`
	ToolCalls  []recordedUse  `json:"tool_calls,omitempty"`
	Usage      Usage          `json:"usage"`
	Metered    bool           `json:"metered"`
	ProviderID string         `json:"provider_id,omitempty"`
}

// recordedUse keeps arguments as text, because a model's may be no JSON.
type recordedUse struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type recordedFault struct {
	Class        Class  `json:"class"`
	Status       int    `json:"status,omitempty"`
	Code         string `json:"code,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	Usage        Usage  `json:"usage"`
	Metered      bool   `json:"metered"`
	MayBeBilled  bool   `json:"may_be_billed"`
	Text         string `json:"text,omitempty"`
	Complaint    string `json:"complaint,omitempty"`
}

// hashCall identifies what a provider is asked: everything it would send.
func hashCall(provider string, c *Call) string {
	h := hashers.Get().(*hasher) //nolint:forcetypeassert // nothing else is in the pool.
	h.buf = h.buf[:0]
	h.text(provider, c.Model, c.Effort, c.System)
	h.messages(c.Messages)
	h.schema(c.Schema)
	h.tools(c.Tools, c.MustCall)
	h.number(len(c.Texts))
	h.text(c.Texts...)
	h.number(c.MaxTokens)
	if c.Deterministic {
		h.number(1)
	}
	sum := h.sum()
	hashers.Put(h)
	return sum
}

// Recorder writes every call that passes through its providers to a tape, one
// line of JSON each. Headers and addresses never reach it; secrets are cut out
// of what does. Customer text stays in: a tape is as private as a transcript.
// It is safe for concurrent use.
type Recorder struct {
	secrets []string

	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewRecorder returns a recorder that writes to w and leaves out the secrets.
func NewRecorder(w io.Writer, secrets ...string) *Recorder {
	return &Recorder{w: w, secrets: slices.DeleteFunc(secrets, func(s string) bool { return s == "" })}
}

// Provider returns p with everything it is asked recorded. name is the
// catalogue's provider name.
func (r *Recorder) Provider(name string, p Provider) Provider {
	return &recorded{Recorder: r, name: name, to: p}
}

// Err returns the first error of writing. Calls are answered all the same.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

type recorded struct {
	*Recorder

	name string
	to   Provider
}

// CheckSchema implements SchemaChecker.
func (r *recorded) CheckSchema(s *Schema) error {
	if checker, ok := r.to.(SchemaChecker); ok {
		return checker.CheckSchema(s)
	}
	return nil
}

// Complete implements Provider.
func (r *recorded) Complete(ctx context.Context, call Call) (Answer, error) {
	answer, err := r.to.Complete(ctx, call)
	line := exchange{Hash: hashCall(r.name, &call), Provider: r.name, Call: describeCall(&call)}
	if err == nil {
		line.Answer = &recordedSays{Text: answer.Text, Usage: answer.Usage, Metered: answer.Metered, ProviderID: answer.ProviderID}
		if len(answer.Vectors) > 0 {
			packed := packVectors(answer.Vectors)
			line.Answer.Vectors = &packed
		}
		for _, c := range answer.ToolCalls {
			line.Answer.ToolCalls = append(line.Answer.ToolCalls, recordedUse{c.Name, string(c.Arguments)})
		}
	} else {
		line.Error = describeError(err)
	}
	r.write(line)
	return answer, err
}

func describeCall(c *Call) recordedCall {
	out := recordedCall{
		Model: c.Model, Effort: c.Effort, System: c.System, Messages: c.Messages, MustCall: c.MustCall, Texts: c.Texts,
		MaxTokens: c.MaxTokens, Deterministic: c.Deterministic,
	}
	if c.Schema != nil {
		out.Schema = c.Schema.Name()
	}
	for i := range c.Tools {
		out.Tools = append(out.Tools, c.Tools[i].Name)
	}
	return out
}

func describeError(err error) *recordedFault {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &recordedFault{Class: Server, MayBeBilled: true}
	}
	return &recordedFault{
		Class: e.Class, Status: e.Status, Code: e.Code, RetryAfterMS: e.RetryAfter.Milliseconds(), Usage: e.Usage,
		Metered: e.Metered, MayBeBilled: e.MayBeBilled, Text: e.Text, Complaint: e.Complaint,
	}
}

func (r *Recorder) write(line exchange) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(line)
	raw := b.Bytes()
	for _, secret := range r.secrets {
		raw = bytes.ReplaceAll(raw, []byte(secret), []byte("<key>"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.w.Write(raw)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("record model call: %w", err)
	}
}

// Tape answers calls as they were answered when it was recorded, without
// network. Equal calls are answered in the order of their recording, each
// recording once. It is safe for concurrent use.
type Tape struct {
	mu    sync.Mutex
	lines map[string][]exchange // by hash
	left  int
}

// ReadTape reads what a Recorder wrote. Empty lines are passed over; anything
// else that is no exchange is an error that names the line.
func ReadTape(r io.Reader) (*Tape, error) {
	t := &Tape{lines: map[string][]exchange{}}
	err := eachExchange(r, func(_ int, e exchange) error {
		t.lines[e.Hash] = append(t.lines[e.Hash], e)
		t.left++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// eachExchange reads a tape line by line.
func eachExchange(r io.Reader, do func(line int, e exchange) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTapeLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("read tape, line %d: %w", n, err)
		}
		if e.Hash == "" || (e.Answer == nil) == (e.Error == nil) {
			return fmt.Errorf("read tape, line %d: want a hash and an answer or an error", n)
		}
		if err := do(n, e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read tape: %w", err)
	}
	return nil
}

// Provider returns the provider of that name as it was recorded. A call that is
// not on the tape fails with ErrNotRecorded.
func (t *Tape) Provider(name string) Provider { return &played{t, name} }

// Left returns how many recordings nobody has asked for: 0 after a faithful
// replay.
func (t *Tape) Left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}

type played struct {
	tape *Tape
	name string
}

// Complete implements Provider.
func (p *played) Complete(ctx context.Context, call Call) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, &Error{Class: Cancelled, Provider: p.name, Cause: err}
	}
	return p.answer(hashCall(p.name, &call))
}

// answer takes the next recording of a call.
func (p *played) answer(hash string) (Answer, error) {
	e, ok := p.tape.take(hash)
	if !ok {
		return Answer{}, &Error{Class: InvalidRequest, Provider: p.name, Code: "not_recorded", Cause: ErrNotRecorded}
	}
	if f := e.Error; f != nil {
		return Answer{}, &Error{
			Class: f.Class, Provider: p.name, Status: f.Status, Code: f.Code, RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
			Usage: f.Usage, Metered: f.Metered, MayBeBilled: f.MayBeBilled, Text: f.Text, Complaint: f.Complaint,
		}
	}
	out := Answer{Text: e.Answer.Text, Usage: e.Answer.Usage, Metered: e.Answer.Metered, ProviderID: e.Answer.ProviderID}
	if e.Answer.Vectors != nil {
		var err error
		if out.Vectors, err = e.Answer.Vectors.unpack(); err != nil {
			return Answer{}, &Error{Class: Malformed, Provider: p.name, Code: "not_vectors", Cause: err}
		}
	}
	for _, c := range e.Answer.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, ToolCall{c.Name, json.RawMessage(c.Arguments)})
	}
	return out, nil
}

func (t *Tape) take(hash string) (exchange, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.lines[hash]
	if len(list) == 0 {
		return exchange{}, false
	}
	t.lines[hash] = list[1:]
	t.left--
	return list[0], true
}
