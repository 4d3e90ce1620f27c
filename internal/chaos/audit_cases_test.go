package chaos_test

import (
	"time"

	"github.com/ratiba/ratiba/internal/chaos"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// doctoredCase is a scene with one thing wrong, and the one column that must
// say so.
type doctoredCase struct {
	name   string
	want   chaos.Column
	doctor func(s *scene)
}

func sql(query string, args ...any) func(s *scene) {
	return func(s *scene) { s.sql(query, args...) }
}

func note(e journal.Entry) func(s *scene) { return func(s *scene) { s.note(e) } }

func doctored() []doctoredCase {
	all := []doctoredCase{{name: "all is well"}}
	all = append(all, doctoredMessages()...)
	all = append(all, doctoredSends()...)
	all = append(all, doctoredMoney()...)
	all = append(all, doctoredWork()...)
	return append(all, doctoredVersions()...)
}

func doctoredMessages() []doctoredCase {
	return []doctoredCase{
		{"a webhook is never acknowledged", chaos.Unacknowledged, note(journal.Entry{Kind: journal.InboundPosted, ID: "wamid.C", HTTPStatus: 503, Attempt: 1})},
		{"a receipt is never acknowledged", chaos.Unacknowledged, note(journal.Entry{Kind: journal.StatusPosted, ID: "wamid.o1", Status: "read", Error: "refused"})},
		{"a callback is never posted", chaos.Unacknowledged, func(s *scene) {
			s.without(func(e journal.Entry) bool { return e.Kind == journal.CallbackPost })
		}},
		{"a prompt of which nothing is told ends", "", note(journal.Entry{Kind: journal.PromptEnded, Type: journal.Silent, ID: "ws_8", Status: "timeout"})},
		{"an acknowledged message has no row", chaos.Lost, note(journal.Entry{Kind: journal.InboundPosted, ID: "wamid.C", HTTPStatus: 200, Attempt: 1})},
		{"a message is not done", chaos.Lost, func(s *scene) {
			s.sql("UPDATE inbox SET done_at = NULL WHERE seq = 1")
			s.sql("DELETE FROM turns WHERE id = 't1'")
		}},
		{"a message is done by no turn", chaos.Lost, sql("UPDATE inbox SET turn_id = 'nobody' WHERE seq = 1")},
		{"a message is answered with nothing", chaos.Lost, func(s *scene) {
			s.sql("DELETE FROM outbox WHERE id = 'o1'")
			s.without(func(e journal.Entry) bool { return e.Opaque == "o1" })
		}},
		{"a turn is put aside", chaos.Lost, sql("INSERT INTO tasks (id, kind, task_key, detail, created_at) VALUES ('k', 'poison', 'poison:t1', '', $1)", at(5))},
		{"a message is taken by two turns", chaos.Twice, func(s *scene) { s.turn("t1b", "", at(4), 1) }},
		{"a burst is answered twice", chaos.Twice, func(s *scene) {
			s.sql("UPDATE inbox SET received_at = $1 WHERE seq = 2", at(0.5))
		}},
		{"an event is taken by two turns", chaos.Twice, func(s *scene) { s.turn("t3b", "RESUMED_BY_AGENT", at(52), 3) }},
	}
}

func doctoredSends() []doctoredCase {
	lost := chaos.Fault{At: at(3), Kind: chaos.AnswerLost, Opaque: "o1"}
	lostAgain := chaos.Fault{At: at(70), Kind: chaos.AnswerLost, Opaque: "o1"}
	return []doctoredCase{
		{"a send is called sent and never was", chaos.Lost, func(s *scene) { s.without(func(e journal.Entry) bool { return e.Opaque == "o1" }) }},
		{"a send is given up though the platform would have taken it", chaos.Lost, sql("UPDATE outbox SET state = 'failed', tries = 8 WHERE id = 'o1'")},
		{"a send went stale", chaos.Lost, sql("UPDATE outbox SET state = 'stale' WHERE id = 'o1'")},
		{"a send reached the phone twice on nobody's record", chaos.Twice, func(s *scene) {
			s.note(journal.Entry{Kind: journal.SendAccepted, ID: "wamid.o1.2", Opaque: "o1", At: at(70)})
		}},
		{"a send was repeated though its receipt had come", chaos.Twice, func(s *scene) {
			s.e.Faults = append(s.e.Faults, lost)
			s.again("o1", at(70))
		}},
		{"a send was repeated too soon", chaos.Twice, func(s *scene) {
			s.without(receiptsOf("o1"))
			s.e.Faults = append(s.e.Faults, lost)
			s.again("o1", at(25))
		}},
		{"a send was repeated without a reason", chaos.Twice, func(s *scene) {
			s.without(receiptsOf("o1"))
			s.again("o1", at(70))
		}},
		{"a send was repeated more often than is on record", chaos.Twice, func(s *scene) {
			s.without(receiptsOf("o1"))
			s.e.Faults = append(s.e.Faults, lost, lostAgain)
			s.again("o1", at(70))
			s.note(journal.Entry{Kind: journal.SendAccepted, ID: "wamid.o1.3", Opaque: "o1", At: at(140)})
		}},
		{"a send was repeated again because its second answer was lost as well", chaos.Unavoidable, func(s *scene) {
			s.without(receiptsOf("o1"))
			s.e.Faults = append(s.e.Faults, lost, lostAgain)
			s.again("o1", at(70))
			s.again("o1", at(140))
		}},
		{"a send was repeated because its answer was lost and no receipt came", chaos.Unavoidable, func(s *scene) {
			s.without(receiptsOf("o1"))
			s.e.Faults = append(s.e.Faults, lost)
			s.again("o1", at(70))
		}},
		{"a send was repeated because the process died before it could note it", chaos.Unavoidable, func(s *scene) {
			s.without(receiptsOf("o1"))
			s.e.Kills = append(s.e.Kills, chaos.Kill{N: 1, At: at(3.2), Back: at(4)})
			s.again("o1", at(70))
		}},
		{"two sends change places", chaos.Disordered, func(s *scene) {
			s.out("o4", "c1", "agent", "t3", "{}", at(52))
			s.sql("UPDATE outbox SET seq = -1 WHERE id = 'o4'")
		}},
		{"the agent speaks while a person has the chat", chaos.Spoken, func(s *scene) { s.out("o2", "c1", "agent", "t2", "{}", at(45)) }},
		{"what the agent wrote before a takeover goes out after it", chaos.Spoken, func(s *scene) {
			s.out("o2", "c1", "agent", "t1", "{}", at(35))
			s.sql("UPDATE outbox SET created_at = $1 WHERE id = 'o2'", at(29))
		}},
		{"what the agent wrote under a person goes out after the hand-back", chaos.Spoken, func(s *scene) {
			s.out("o2", "c1", "agent", "t2", "{}", at(55))
			s.sql("UPDATE outbox SET created_at = $1 WHERE id = 'o2'", at(45))
		}},
	}
}

func doctoredMoney() []doctoredCase {
	charge := func(s *scene, id, receipt, secret string) {
		s.note(journal.Entry{Kind: journal.PushAccepted, ID: id, Phone: "254710000001", Amount: 500, URL: "http://gate/webhooks/daraja/route." + secret, At: at(12)})
		s.note(journal.Entry{Kind: journal.PromptEnded, ID: id, Phone: "254710000001", Amount: 500, Status: "success", Receipt: receipt, At: at(14)})
		s.note(journal.Entry{Kind: journal.CallbackPost, ID: id, Status: "success", Receipt: receipt, HTTPStatus: 200, Attempt: 1, At: at(14)})
	}
	second := func(s *scene, created, settled time.Time, hash string) {
		s.sql(`INSERT INTO payment_attempts (id, thread_id, contact_id, subject, provider, reference, account, amount, currency, phone, token_hash,
			checkout_id, status, outcome, receipt, created_at, sent_at, settled_at) VALUES ('p2', 'th1', 'c1', 'b1', 'mpesa', 'RTB-2', 'B1', 50000, 'KES',
			'+254710000001', $1, 'ws_2', 'succeeded', 'success', 'R2', $2, $2, $3)`, hash, created, settled)
	}
	secret2 := hashed("secret2")
	return []doctoredCase{
		{"a charge is on no attempt", chaos.MoneyLost, func(s *scene) {
			s.sql("UPDATE payment_attempts SET receipt = NULL, status = 'unknown_closed'")
			s.sql("UPDATE bookings SET receipt = '', paid_minor = 0 WHERE id = 'b1'")
		}},
		{"a charge's attempt is not settled", chaos.MoneyLost, sql("UPDATE payment_attempts SET status = 'failed'")},
		{"a charge has neither booking nor task", chaos.MoneyLost, sql("UPDATE bookings SET receipt = '', paid_minor = 0 WHERE id = 'b1'")},
		{"a charge's booking has run out", chaos.MoneyLost, func(s *scene) {
			s.sql("UPDATE bookings SET status = 'expired' WHERE id = 'b1'")
			s.sql("DELETE FROM occupancy WHERE booking_id = 'b1'")
		}},
		{"a booking has less than was paid", chaos.MoneyLost, func(s *scene) {
			s.sql("UPDATE bookings SET paid_minor = 40000 WHERE id = 'b1'")
			s.sql("UPDATE payment_attempts SET amount = 40000")
		}},
		{"a prompt belongs to no attempt", chaos.MoneyLost, func(s *scene) {
			s.note(journal.Entry{Kind: journal.PushAccepted, ID: "ws_9", URL: "http://gate/webhooks/daraja/route.other"})
		}},
		{"one confirmation prompts twice", chaos.MoneyDoubled, func(s *scene) {
			s.note(journal.Entry{Kind: journal.PushAccepted, ID: "ws_2", URL: "http://gate/webhooks/daraja/route.secret1"})
		}},
		{"one payment pays for two bookings", chaos.MoneyDoubled, func(s *scene) {
			s.booking("b3", "confirmed", at(110_000), nil)
			s.occupy("b3", at(110_000), 75)
			s.sql("UPDATE bookings SET receipt = 'R1', paid_minor = 50000 WHERE id = 'b3'")
		}},
		{"a booking paid by a query's word has no receipt", "", sql("UPDATE bookings SET receipt = '' WHERE id = 'b1'")},
		{"a booking is paid by nobody", chaos.MoneyDoubled, func(s *scene) { s.sql("UPDATE bookings SET paid_minor = 50000 WHERE id = 'b2'") }},
		{"a booking is paid twice and nothing is given back", chaos.MoneyDoubled, func(s *scene) {
			second(s, at(20), at(25), secret2)
			charge(s, "ws_2", "R2", "secret2")
			s.sql("INSERT INTO tasks (id, kind, task_key, detail, created_at) VALUES ('k', 'mismatch', 'mismatch:p2', '', $1)", at(5))
		}},
		{"a booking is paid twice and one is given back", "", func(s *scene) {
			second(s, at(20), at(25), secret2)
			charge(s, "ws_2", "R2", "secret2")
			s.sql("INSERT INTO tasks (id, kind, task_key, detail, created_at) VALUES ('k', 'refund', 'refund:R2', '', $1)", at(5))
		}},
		{"a prompt is sent while another of the same booking is open", chaos.MoneyDoubled, func(s *scene) {
			second(s, at(20), at(25), secret2)
			s.sql("UPDATE payment_attempts SET status = 'failed', receipt = NULL, settled_at = $1 WHERE id = 'p1'", at(24))
			s.sql("UPDATE bookings SET receipt = 'R2' WHERE id = 'b1'")
			s.without(func(e journal.Entry) bool { return e.Kind != journal.PushAccepted && e.ID == "ws_1" })
			charge(s, "ws_2", "R2", "secret2")
		}},
	}
}

func doctoredWork() []doctoredCase {
	return []doctoredCase{
		{"two bookings overlap by a buffer", chaos.Overlapping, func(s *scene) {
			s.booking("b3", "confirmed", at(90_000).Add(70*time.Minute), nil)
			s.occupy("b3", at(90_000).Add(75*time.Minute), 70)
		}},
		{"a booking has no time reserved", chaos.Overlapping, sql("DELETE FROM occupancy WHERE booking_id = 'b1'")},
		{"a timer is overdue", chaos.Missed, sql("INSERT INTO timers (mailbox_key, scope, name, due_at) VALUES ('contact:c1', 'th1', 'hold', $1)", at(500))},
		{"a timer is lost", chaos.Missed, sql("DELETE FROM timers")},
		{"a cancelled booking keeps its time", chaos.Leaked, func(s *scene) {
			s.booking("b3", "cancelled", at(120_000), nil)
			s.occupy("b3", at(120_000), 75)
		}},
		{"a hold that ran out is in somebody's way", chaos.Leaked, func(s *scene) {
			s.booking("b3", "confirmed", at(120_000), nil)
			s.occupy("b3", at(120_000), 75)
			s.sql("UPDATE bookings SET created_at = $1 WHERE id = 'b3'", at(400))
		}},
		{"a mailbox is still leased", chaos.Leaked, sql("UPDATE mailboxes SET lease_token = 'x', lease_until = $1", at(650))},
		{"an effect is not over", chaos.Leaked, sql("UPDATE outbox SET state = 'doubt' WHERE id = 'o1'")},
		{"an attempt is open long after its prompt", chaos.Leaked, func(s *scene) {
			s.sql(`INSERT INTO payment_attempts (id, thread_id, contact_id, subject, provider, reference, account, amount, currency, phone, status, created_at)
				VALUES ('p2', 'th1', 'c1', 'b2', 'mpesa', 'RTB-2', 'B2', 50000, 'KES', '+254710000001', 'prompted', $1)`, at(20))
		}},
	}
}

func doctoredVersions() []doctoredCase {
	return []doctoredCase{
		{"a chat is given to a person because nobody here reads it", chaos.Unread, func(s *scene) {
			s.e.Handovers = append(s.e.Handovers, chaos.Handover{Node: 1, What: "{}"})
		}},
		{"a process takes eleven seconds to stop", chaos.Lingering, func(s *scene) {
			s.e.Stops = append(s.e.Stops, chaos.Stop{At: at(300), Took: 11 * time.Second})
		}},
		{"a process stops in time", "", func(s *scene) { s.e.Stops = append(s.e.Stops, chaos.Stop{At: at(300), Took: 9 * time.Second}) }},
		{"a process that was asked to stop ends badly", chaos.Lingering, func(s *scene) {
			s.e.Stops = append(s.e.Stops, chaos.Stop{At: at(300), Took: time.Second, Err: "exit status 1"})
		}},
	}
}
