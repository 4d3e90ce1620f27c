// Package flow is the conversation of the booking app: a graph of pure steps.
//
// It promises that nothing a customer said is asked again, that every time on
// offer was free when it was read, that an irreversible call is made only after
// a yes to exactly that call or under the recorded rule that a paid deposit
// confirms, and that no payment is dropped: money that cannot become a visit
// becomes a task and a sentence. It knows no clock, store or model, and imports
// leaves, the graph, the wording, the payment vocabulary and the calendar.
package flow

import (
	"embed"
	"io/fs"

	"github.com/ratiba/ratiba/internal/graph"
)

// Version is the version checkpoints of this graph carry.
const Version = 1

// The nodes. A thread rests at most of them; the others only pass it on.
const (
	Greet          graph.Name = "GREET"
	Collect        graph.Name = "COLLECT"
	Offering       graph.Name = "OFFER"
	Holding        graph.Name = "HOLD"
	Confirming     graph.Name = "CONFIRM"
	AwaitPayment   graph.Name = "AWAITING_PAYMENT"
	PaymentFailed  graph.Name = "PAYMENT_FAILED"
	PayerCancelled graph.Name = "PAYMENT_CANCELLED_BY_CUSTOMER"
	Settled        graph.Name = "PAYMENT_SETTLED"
	PaidTooLate    graph.Name = "PAID_TOO_LATE"
	Refund         graph.Name = "REFUND"
	Confirmed      graph.Name = "CONFIRMED"
	HoldExpired    graph.Name = "HOLD_EXPIRED"
	LetGo          graph.Name = "LET_GO"
	MovePick       graph.Name = "RESCHEDULE_PICK"
	MoveWhen       graph.Name = "RESCHEDULE_WHEN"
	MoveOffer      graph.Name = "RESCHEDULE_OFFER"
	MoveConfirm    graph.Name = "RESCHEDULE_CONFIRM"
	Moved          graph.Name = "RESCHEDULED"
	DropPick       graph.Name = "CANCEL_PICK"
	DropConfirm    graph.Name = "CANCEL_CONFIRM"
	Dropped        graph.Name = "CANCELLED"
	MyBookings     graph.Name = "MY_BOOKINGS"
	Answer         graph.Name = "ANSWER"
	Wait           graph.Name = "WAITLIST"
	Waiting        graph.Name = "WAITLISTED"
	Offered        graph.Name = "WAITLIST_OFFER"
	Rate           graph.Name = "FEEDBACK"
	Back           graph.Name = "BACK"
	Closed         graph.Name = "CLOSED"
)

// Timers of the thread.
const (
	timerHold  = "hold"   // the held time runs out
	timerRetry = "prompt" // another payment prompt may be sent
)

// PolicyDepositPaid is the recorded rule under which a paid deposit confirms
// its booking.
const PolicyDepositPaid = "deposit_paid"

// PolicyPaymentReturned is the recorded rule under which money that comes after
// its booking was given up goes back.
const PolicyPaymentReturned = "payment_returned"

//go:embed texts/*.yaml
var texts embed.FS

// Texts are the catalogue's files, en.yaml and sw.yaml.
func Texts() fs.FS {
	sub, err := fs.Sub(texts, "texts")
	if err != nil {
		panic("flow: the embedded folder is missing: " + err.Error()) // the build put it there
	}
	return sub
}

// New builds the checked graph.
func New() (*graph.Graph[State], error) {
	return graph.New(graph.Def[State]{
		Name: "booking", Version: Version, Start: Greet, Nodes: knowing(nodes()), Route: route,
		Routes: []graph.Name{Settled, HoldExpired, PaymentFailed, Back, Answer, Wait, Offered, Rate, MyBookings, MovePick, DropPick, LetGo, Collect, Greet},
	})
}

type node = graph.Node[State]

// knowing has each node that a turn begins at because of this app's own words say
// that they were understood.
func knowing(nodes []node) []node {
	for n := range nodes {
		step, name := nodes[n].Step, nodes[n].Name
		if step == nil {
			continue
		}
		nodes[n].Step = func(i in) out {
			o := step(i)
			o.Understood = o.Understood || i.Input.Event == nil && !i.State.Spent && tapped(i) == "" && routeWords(i) == name
			return o
		}
	}
	return nodes
}

func nodes() []node {
	edges := func(names ...graph.Name) []graph.Name { return names }
	return []node{
		{Name: Greet, Edges: edges(Greet, Collect, Closed), Step: greet},
		{Name: Collect, Edges: edges(Collect, Offering, Holding, Confirming), Step: collect},
		{Name: Offering, Edges: edges(Offering, Collect, Holding), Step: offer},
		{Name: Holding, Edges: edges(Collect, Confirming, Offering), Step: hold},
		{Name: Confirming, Edges: edges(Confirming, Collect, Offering, AwaitPayment, PaymentFailed, Confirmed), Step: confirm},
		{Name: AwaitPayment, Edges: edges(AwaitPayment, PaymentFailed, Collect, DropConfirm), Step: awaitPayment},
		{Name: PaymentFailed, Edges: edges(PaymentFailed, AwaitPayment, Collect, Offering, DropConfirm), Step: paymentFailed},
		{Name: PayerCancelled, Edges: edges(PayerCancelled, Greet), Step: payerCancelled},
		{Name: Settled, Edges: edges(Back, PaymentFailed, Confirmed, PaidTooLate, Refund), Step: settled},
		{Name: PaidTooLate, Edges: edges(Offering, Back), Step: paidTooLate},
		{Name: Refund, Edges: edges(Refund, Back), Step: refund},
		{Name: Confirmed, Edges: edges(Closed, Collect), Step: confirmed},
		{Name: HoldExpired, Edges: edges(HoldExpired, Collect, LetGo, Back), Step: holdExpired},
		{Name: LetGo, Edges: edges(LetGo, Closed), Step: letGo},
		{Name: MovePick, Edges: edges(MovePick, MoveWhen, Greet), Step: movePick},
		{Name: MoveWhen, Edges: edges(MoveWhen, MoveOffer, Closed), Step: moveWhen},
		{Name: MoveOffer, Edges: edges(MoveOffer, MoveWhen, MoveConfirm), Step: moveOffer},
		{Name: MoveConfirm, Edges: edges(MoveConfirm, MoveWhen, MoveOffer, Moved, Closed), Step: moveConfirm},
		{Name: Moved, Edges: edges(Closed), Step: moved},
		{Name: DropPick, Edges: edges(DropPick, DropConfirm, Greet), Step: dropPick},
		{Name: DropConfirm, Edges: edges(DropConfirm, Dropped, PayerCancelled, Back, Closed), Step: dropConfirm},
		{Name: Dropped, Edges: edges(Dropped, Closed), Step: dropped},
		{Name: MyBookings, Edges: edges(MyBookings, Greet, Back), Step: myBookings},
		{Name: Answer, Edges: edges(Back), Step: answer},
		{Name: Wait, Edges: edges(Wait, Waiting, Collect, Back), Step: wait},
		{Name: Waiting, Edges: edges(Back), Step: waiting},
		{Name: Offered, Edges: edges(Offered, Confirming, Collect, Greet, Closed), Step: offered},
		{Name: Rate, Edges: edges(Rate, Back, Closed), Step: rated},
		{Name: Back, Edges: edges(
			Greet, Collect, Offering, Confirming, AwaitPayment, PaymentFailed, PayerCancelled, HoldExpired,
			MovePick, MoveWhen, MoveOffer, MoveConfirm, DropPick, DropConfirm, MyBookings, Closed,
		), Step: back},
		{Name: Closed, End: true},
	}
}
