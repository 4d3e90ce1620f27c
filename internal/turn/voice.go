package turn

import (
	"slices"

	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
)

// called reports whether something that waits was said on the phone.
func called(items []mailbox.Item) bool {
	return slices.ContainsFunc(items, func(it mailbox.Item) bool { return it.Message != nil && it.Message.Channel == message.Voice })
}

// aloud reports whether an addressee is on the phone with this turn: they said
// its last message there.
func (r *run) aloud(to who) bool {
	msgs := r.batch.Messages()
	return to.ID == r.snap.Contact.ID && len(msgs) > 0 && msgs[len(msgs)-1].Channel == message.Voice
}

// speak makes an answer to somebody on the phone one that is said, not sent.
func (r *run) speak(l line, row *outbox.Row) {
	if r.aloud(l.to) {
		row.Kind, row.Lane, row.DueAt = outbox.SpeakMessage, string(l.to.ID)+":voice", row.DueAt.Add(outbox.SpeakTime)
	}
}
