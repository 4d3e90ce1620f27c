// Package notices is what the booking app does and says without having been
// asked: it gives back holds that ran out, offers times to who waits for them,
// reminds of visits, ends them, and asks how they were.
//
// It is a graph beside the conversation's. Each event is taken from its start,
// opens no thread and keeps no state; what it does rests on the booking as it is
// when the event is taken, so that nothing is said of a booking that has changed
// since. It knows no clock, store or model, and imports leaves, the graph and the
// calendar.
package notices

import (
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
)

// Version is the version of this graph.
const Version = 1

// The nodes. None but the last is rested at.
const (
	Look  graph.Name = "LOOK"
	Visit graph.Name = "VISIT"
	Offer graph.Name = "OFFER"
	Kept  graph.Name = "KEPT"
	Done  graph.Name = "DONE"
)

// Ids of what can be tapped; a booking's id follows. The first two are the
// conversation's own.
const (
	TapMove     = "move/"
	TapDrop     = "drop/"
	TapTake     = "take/" // an offer of the waitlist
	TapPass     = "pass/" // the offer is not wanted
	TapRateUp   = "rate/up/"
	TapRateDown = "rate/down/"
	TapRateSay  = "rate/say/" // asks for a comment
)

//go:embed texts/*.yaml
var texts embed.FS

// Texts are the catalogue's files, en.yaml and sw.yaml.
func Texts() fs.FS {
	sub, err := fs.Sub(texts, "texts")
	if err != nil {
		panic("notices: the embedded folder is missing: " + err.Error()) // the build put it there
	}
	return sub
}

// State is nothing: an event is all there is.
type State struct{}

type (
	in    = graph.In[State]
	out   = graph.Out[State]
	facts = map[string]any
)

// New builds the checked graph.
func New() (*graph.Graph[State], error) {
	edges := func(names ...graph.Name) []graph.Name { return names }
	return graph.New(graph.Def[State]{
		Name: "notices", Version: Version, Start: Look, Route: route, Routes: edges(Visit, Offer),
		Nodes: []graph.Node[State]{
			{Name: Look, Edges: edges(Done), Step: done},
			{Name: Visit, Edges: edges(Kept, Done), Step: visit},
			{Name: Offer, Edges: edges(Done), Step: offer},
			{Name: Kept, Edges: edges(Done), Step: done},
			{Name: Done, End: true},
		},
	})
}

func done(in) out { return out{Rest: Done} }

func route(i in) graph.Name {
	if e := i.Input.Event; e != nil && e.Kind == "timer" && strings.HasPrefix(e.Name, calendar.VisitTimer) {
		return Visit
	} else if e != nil && e.Kind == "notice" && e.Name == calendar.OfferNotice {
		return Offer
	}
	return i.Node
}

// visit does what a booking's own timer is for, and sets it to what follows.
func visit(i in) out {
	var t calendar.Touch
	if err := json.Unmarshal(i.Input.Event.Data, &t); err != nil {
		return out{Rest: Done}
	}
	b, reads := booking(i, t.BookingID)
	if reads != nil {
		return out{Reads: reads}
	}
	if !t.Due(b, i.Now) {
		return out{Rest: Done, Timers: later(b, t, i)}
	}
	switch t.Kind {
	case calendar.TouchExpire:
		return write(calendar.ReleaseHold, calendar.ReleaseHoldArgs{BookingID: b.ID})
	case calendar.TouchComplete:
		return write(calendar.CompleteBooking, calendar.CompleteBookingArgs{BookingID: b.ID})
	case calendar.TouchRemind:
		return out{Rest: Done, Timers: later(b, t, i), Say: []graph.Say{remind(i, b)}}
	case calendar.TouchFeedback:
		return out{Rest: Done, Say: []graph.Say{say(i, "feedback.ask", facts{"Service": service(i, b), "Staff": b.StaffName},
			graph.Choice{ID: TapRateUp + b.ID, Text: "button.rate_up"}, graph.Choice{ID: TapRateDown + b.ID, Text: "button.rate_down"},
			graph.Choice{ID: TapRateSay + b.ID, Text: "button.rate_say"})}}
	}
	return out{Rest: Done}
}

// offer tells somebody of the waitlist of the time that is kept for them, as long
// as it is.
func offer(i in) out {
	var o calendar.Offer
	if err := json.Unmarshal(i.Input.Event.Data, &o); err != nil {
		return out{Rest: Done}
	}
	b, reads := booking(i, o.BookingID)
	if reads != nil {
		return out{Reads: reads}
	}
	if b.Status != calendar.Held || !b.HoldUntil.After(i.Now) {
		return out{Rest: Done}
	}
	return out{Rest: Done, Say: []graph.Say{say(i, "waitlist.offer",
		facts{"Service": service(i, b), "Staff": b.StaffName, "Start": b.Start, "Until": b.HoldUntil},
		graph.Choice{ID: TapTake + b.ID, Text: "button.take"}, graph.Choice{ID: TapPass + b.ID, Text: "button.pass"})}}
}

// later is the timer of what is still to be done about a booking that is as the
// event knew it. One that changed has a timer of its own.
func later(b calendar.Booking, t calendar.Touch, i in) []graph.Timer {
	if b.ID == "" || b.Version != t.Version {
		return nil
	}
	next, due := t, i.Now.Before(t.At) // the clock was put back
	if !due {
		next, due = calendar.NextTouch(b, i.Now)
	}
	if !due {
		return nil
	}
	return []graph.Timer{{Name: calendar.VisitTimer + b.ID, At: next.At, Data: next}}
}

// booking reads the booking an event is about; none when it is gone or became
// somebody else's.
func booking(i in, id string) (calendar.Booking, []graph.Call) {
	read := graph.Call{Tool: calendar.QueryBookings, Args: calendar.QueryBookingsArgs{
		ContactID: i.Facts.Contact.ID, BookingID: id, Past: true,
	}}
	res, ok := i.Results.Get(read)
	if !ok {
		return calendar.Booking{}, []graph.Call{read}
	}
	var found calendar.Bookings
	if err := res.Decode(&found); err != nil || len(found.Bookings) == 0 {
		return calendar.Booking{}, nil
	}
	return found.Bookings[0], nil
}

func write(tool string, args any) out {
	return out{Write: &graph.Write{Call: graph.Call{Tool: tool, Args: args}, Success: Kept, Conflict: Kept}}
}

func remind(i in, b calendar.Booking) graph.Say {
	s, _ := i.Facts.Settings.(calendar.Settings) // the app's own
	f := facts{
		"Service": service(i, b), "Staff": b.StaffName, "Start": b.Start, "Code": b.Code, "Name": b.Name, "Address": s.Address,
	}
	if i.Now.After(b.ChangeUntil) && i.Now.After(b.MoveUntil) {
		return say(i, "reminder.soon", f)
	}
	return say(i, "reminder", f,
		graph.Choice{ID: TapMove + b.ID, Text: "button.remind_move"}, graph.Choice{ID: TapDrop + b.ID, Text: "button.remind_drop"})
}

// service is a booking's service as a fact, its id when it is gone from the
// definition.
func service(i in, b calendar.Booking) any {
	s, _ := i.Facts.Settings.(calendar.Settings) // the app's own
	for _, sv := range s.Services {
		if sv.ID == b.ServiceID {
			return sv.Name
		}
	}
	return b.ServiceID
}

func say(i in, key string, f facts, choices ...graph.Choice) graph.Say {
	all := facts{"Now": i.Now, "Business": i.Facts.Business}
	maps.Copy(all, f)
	return graph.Say{Text: key, Facts: all, Choices: choices}
}
