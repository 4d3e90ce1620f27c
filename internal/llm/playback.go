package llm

import (
	"bytes"
	"fmt"
)

// Played is one exchange of a tape, played again.
type Played struct {
	Line     int     `json:"line"` // of the tape
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Schema   string  `json:"schema,omitempty"` // what the answer was held against, "" for free text
	Outcome  Outcome `json:"outcome"`
	// Confidence is what an answer of a schema states, 1 for one that states none.
	Confidence float64 `json:"confidence"`
	Usage      Usage   `json:"usage"`
	// Complaint says why an answer cannot be used; it may quote the answer.
	Complaint string `json:"complaint,omitempty"`
	// Changed reports that the call would ask something else by now, because its
	// schema is another, or the line is not as it was recorded.
	Changed bool `json:"changed,omitempty"`
}

// Play asks a tape every call that it holds, in their order, and judges the
// recorded answers by the schemas as they are now. Calls of tools, and calls of
// a schema that is not among these, are told with what was recorded and not
// judged. The error is a tape that cannot be read.
func Play(raw []byte, schemas ...*Schema) ([]Played, error) {
	tape, err := ReadTape(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*Schema, len(schemas))
	for _, s := range schemas {
		byName[s.Name()] = s
	}
	var out []Played
	err = eachExchange(bytes.NewReader(raw), func(line int, e exchange) error {
		p := Played{Line: line, Provider: e.Provider, Model: e.Call.Model, Schema: e.Call.Schema, Confidence: 1}
		call := Call{
			Model: e.Call.Model, Effort: e.Call.Effort, System: e.Call.System, Messages: e.Call.Messages, Schema: byName[e.Call.Schema],
			MustCall: e.Call.MustCall, Texts: e.Call.Texts, MaxTokens: e.Call.MaxTokens, Deterministic: e.Call.Deterministic,
		}
		judged := len(e.Call.Tools) == 0 && (e.Call.Schema == "" || call.Schema != nil)
		p.Changed = judged && hashCall(e.Provider, &call) != e.Hash
		answer, failure := (&played{tape, e.Provider}).answer(e.Hash)
		p.judge(&call, answer, failure, judged)
		out = append(out, p)
		return nil
	})
	if err == nil && tape.Left() > 0 {
		err = fmt.Errorf("read tape: %d recordings were not played", tape.Left())
	}
	return out, err
}

func (p *Played) judge(call *Call, answer Answer, failure error, judged bool) {
	p.Outcome, p.Usage = OK, answer.Usage
	if failure != nil {
		fault := describeError(failure)
		p.Outcome, p.Usage, p.Confidence = Outcome(fault.Class), fault.Usage, 0
		return
	}
	if !judged {
		return
	}
	found, err := validate(&Request{Schema: call.Schema, Texts: call.Texts}, &answer)
	if err != nil {
		p.Outcome, p.Confidence, p.Complaint = Outcome(Malformed), 0, err.Error()
		return
	}
	p.Confidence = found.doc.confidence
}
