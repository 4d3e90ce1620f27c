package admin

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/understand/when"
)

// Bounds of what is looked at for one command.
const (
	maxPeople    = 5
	maxChoices   = 10
	maxAnnounced = 900 // runes of an announcement
	pacePerSec   = 50  // recipients of an announcement that are fed a second, at most
)

var (
	codeForm = regexp.MustCompile(`^#?[A-Za-z0-9]{4,12}$`)
	// filler says nothing about who is meant.
	filler = regexp.MustCompile(`(?i)\b(?:the|a|an|my|her|his|their|all|every|everything|booking|bookings|appointment|appointments|visit|visits|of|for|about|on|` +
		`at|from|with|calendar|time|off|is|away|has|give|customer|client|miadi|ya|za|wa|kuhusu|mteja|wateja|zote|yote|wote|kalenda|yangu|wake|lake|yake|` +
		`kwa|siku|saa|ana|mpe|mpatie|likizo|mapumziko|hayupo|hatakuwepo)\b`)
	nobody = regexp.MustCompile(`[^\p{L}\p{N}+#' -]+`)
)

// subject is whom a text is about when the words about time and the filler are
// taken out, "" for nobody.
func subject(text string, w graph.When) string {
	text = possessive.ReplaceAllString(text, "")
	if w.Span != "" {
		if at := strings.Index(strings.ToLower(text), strings.ToLower(w.Span)); at >= 0 {
			text = text[:at] + " " + text[at+len(w.Span):]
		}
	}
	text = nobody.ReplaceAllString(filler.ReplaceAllString(text, " "), " ")
	return clip(strings.Join(strings.Fields(text), " "), 80)
}

// change cancels, moves or reminds of a customer's booking, which is found by
// its code or by the customer's name or phone. What is not clear is asked back.
func change(i in, c Command) outcome {
	w := parseWhen(i, c.Rest)
	who := subject(c.Rest, w)
	if len([]rune(who)) < 2 {
		return tellOf("which_booking", map[string]any{"verb": string(c.Verb)})
	}
	var to time.Time
	if c.Verb == move {
		var ok bool
		if to, ok = startOf(i, c.To); !ok {
			return tellOf("which_start", map[string]any{"who": quote(who)})
		}
	}
	found, o, ok := bookings(i, who)
	if !ok {
		return o
	}
	found = slices.DeleteFunc(found, func(b booking) bool {
		return !b.standing(i.Now, c.Verb) || w.Date != "" && b.Start.In(i.Facts.Zone).Format(time.DateOnly) != w.Date
	})
	switch len(found) {
	case 0:
		return tellOf("no_booking", map[string]any{"who": quote(who)})
	case 1:
		return changeOne(i, c, found[0], to)
	}
	return whichOf(i, c, found)
}

// standing reports whether a booking can still be cancelled, or for the other
// verbs is agreed.
func (b booking) standing(now time.Time, v Verb) bool {
	held := v == cancel && (b.Status == "held" || b.Status == "pending_payment")
	return (b.Status == "confirmed" || held) && b.Start.After(now)
}

func parseWhen(i in, text string) graph.When {
	return when.Parse(text, i.Now, i.Facts.Zone, when.Expect{Date: true, Time: true})
}

// startOf is the moment that is meant by "Friday 3pm". It reports false for one
// that is not said in full, or is over.
func startOf(i in, text string) (time.Time, bool) {
	w := parseWhen(i, text)
	clock := w.Time
	if clock == "" && len(w.Options) > 0 {
		clock = w.Options[0] // the likelier one; the question before it is done names it in full
	}
	t, err := time.ParseInLocation("2006-01-02 15:04", w.Date+" "+clock, i.Facts.Zone)
	return t, err == nil && t.After(i.Now)
}

// bookings finds those that a code, a name or a phone means.
func bookings(i in, who string) (found []booking, o outcome, ok bool) {
	type answer struct {
		Bookings []booking `json:"bookings"`
	}
	if codeForm.MatchString(who) {
		var a answer
		code := strings.ToUpper(strings.TrimPrefix(who, "#"))
		if !o.ask(i, "query_bookings", map[string]any{"code": code}, &a) {
			return nil, o, false
		}
		if len(a.Bookings) > 0 {
			return a.Bookings, o, true
		}
	}
	var people contacts
	if !o.ask(i, "lookup_contact", map[string]any{"query": strings.TrimPrefix(who, "#"), "limit": maxPeople}, &people) {
		return nil, o, false
	}
	for _, p := range people.Contacts {
		var a answer
		if !o.ask(i, "query_bookings", map[string]any{"contact_id": p.ID}, &a) {
			if len(o.says) > 0 {
				return nil, o, false
			}
			continue // all are asked for at once
		}
		found = append(found, a.Bookings...)
	}
	return found, o, len(o.reads) == 0
}

// whichOf asks which booking is meant. What is tapped is the same command with
// its code.
func whichOf(i in, c Command, found []booking) outcome {
	say := note("several", map[string]any{"more": len(found) > maxChoices})
	say.ListLabel = "button_bookings"
	for _, b := range found[:min(len(found), maxChoices)] {
		id := prefix + string(c.Verb) + " " + b.Code
		if c.Verb == move {
			id += " to " + clip(c.To, 80)
		}
		say.Choices = append(say.Choices, graph.Choice{ID: id, Literal: b.Code, Description: clip(plain(b.Name), 30) + ", " + clip(moment(i, b.Start), 40)})
	}
	return outcome{says: []graph.Say{say}}
}

func changeOne(i in, c Command, b booking, to time.Time) outcome {
	nouns := office(i).Nouns
	facts := map[string]any{
		"name": quote(b.Name), "service": nounName(nouns[understand.KindService], b.ServiceID), "staff": plain(b.StaffName), "code": b.Code,
		"at": moment(i, b.Start),
	}
	a := &Action{Args: map[string]any{"booking_id": b.ID}, Text: string(c.Verb), Facts: facts}
	switch { // only these three come here
	case c.Verb == cancel:
		a.Tool, a.Args["reason"], a.Args["version"] = "cancel_booking", "cancelled by the business", b.Version
		facts["paid"] = ""
		if !b.Paid.IsZero() {
			facts["paid"] = b.Paid.String()
		}
	case c.Verb == move:
		a.Tool, a.Args["version"] = "reschedule_booking", b.Version
		a.Args["staff_id"], a.Args["start"] = b.StaffID, to.Format(time.RFC3339)
		if staff := staffIn(i, c.To); staff != "" {
			a.Args["staff_id"], facts["staff"] = staff, nounName(nouns[understand.KindStaff], staff)
		}
		facts["to"] = moment(i, to)
	default:
		a.Tool = "send_reminder"
	}
	return offered(i, a)
}

// offered is an action once its tool is known to this business.
func offered(i in, a *Action) outcome {
	if _, known := office(i).Confirms(a.Tool); !known {
		return tellOf("not_here", nil)
	}
	return outcome{action: a}
}

func blockTime(i in, c Command) outcome {
	w := when.Parse(c.Text, i.Now, i.Facts.Zone, when.Expect{Date: true})
	if w.Date == "" || w.Fault != "" || w.Time != "" || len(w.Options) > 0 || w.DateTo != "" && w.From+w.To != "" {
		return tellOf("which_time", nil)
	}
	staff, nouns := staffIn(i, c.Text), office(i).Nouns[understand.KindStaff]
	own := office(i).Actor.Staff
	if staff == "" && subject(c.Rest, w) == "" && slices.ContainsFunc(nouns, func(n understand.Noun) bool { return n.ID == own }) {
		staff = own
	}
	if staff == "" {
		return tellOf("whose_time", nil)
	}
	from, to, until := w.From, w.To, w.Date
	if w.DateTo != "" {
		until = w.DateTo
	}
	if from == "" {
		from = "00:00"
	}
	if to == "" || to == "00:00" {
		to = "24:00"
	}
	a := &Action{Tool: "create_staff_time_block", Text: string(block), Args: map[string]any{
		"block_id": i.IDs.New(), "staff_id": staff, "from": w.Date + " " + from, "to": until + " " + to,
	}}
	var b struct {
		StaffName string  `json:"staff_name"`
		Standing  []visit `json:"standing"`
	}
	var o outcome
	if !o.preview(i, a.call(), &b) {
		return o
	}
	var standing []string
	for _, v := range b.Standing {
		standing = append(standing, quote(v.Name)+" "+moment(i, v.Start)+" ("+v.Code+")")
	}
	a.Facts = map[string]any{
		"staff": plain(b.StaffName), "from": civil(i, w.Date) + " " + from, "to": civil(i, until) + " " + to, "standing": strings.Join(standing, "; "),
		"count": len(standing),
	}
	o.action = a
	return o
}

func dropService(i in, c Command) outcome {
	id := nounIn(office(i).Nouns[understand.KindService], c.Text)
	if id == "" {
		return tellOf("which_service", nil)
	}
	a := &Action{Tool: "delete_service", Text: string(drop), Args: map[string]any{"service_id": id}}
	var d struct {
		Name     text `json:"name"`
		Upcoming int  `json:"upcoming"`
	}
	var o outcome
	if !o.preview(i, a.call(), &d) {
		return o
	}
	a.Facts = map[string]any{"service": plain(d.Name.In(i.Input.Language)), "upcoming": d.Upcoming}
	o.action = a
	return o
}

// tellEveryone shows the counts and the cost of an announcement before it goes
// out. Its text is the admin's, word for word.
func tellEveryone(i in, c Command) outcome {
	if len([]rune(c.Rest)) > maxAnnounced {
		return tellOf("too_long", map[string]any{"most": maxAnnounced})
	}
	a := &Action{Tool: "broadcast_message", Text: string(tell), Args: map[string]any{"broadcast_id": i.IDs.New(), "text": c.Rest}}
	var n struct {
		InWindow    int    `json:"in_window"`
		ByTemplate  int    `json:"by_template"`
		OptedOut    int    `json:"skipped_opted_out"`
		NeverWrote  int    `json:"skipped_never_wrote"`
		Unreachable int    `json:"skipped_unreachable"`
		CostUSD     string `json:"cost_usd"`
	}
	var o outcome
	if !o.preview(i, a.call(), &n) {
		return o
	}
	all := n.InWindow + n.ByTemplate
	a.Facts = map[string]any{
		"text": c.Rest, "recipients": all, "one": all == 1, "open": n.InWindow, "template": n.ByTemplate, "cost": n.CostUSD, "optedout": n.OptedOut,
		"never": n.NeverWrote, "unreachable": n.Unreachable, "seconds": (all + pacePerSec - 1) / pacePerSec,
	}
	o.action = a
	return o
}

// saveContact adds a customer, or names the one who has the phone.
func saveContact(i in, c Command) outcome {
	phone := phoneIn(i, c.Rest)
	name := strings.TrimSpace(subject(digits.ReplaceAllString(c.Rest, " "), graph.When{}))
	if phone == "" || name == "" {
		return tellOf("which_phone", nil)
	}
	return offered(i, &Action{
		Tool: "upsert_contact", Text: string(save), Args: map[string]any{"phone": phone, "name": name},
		Facts: map[string]any{"name": quote(name), "phone": phone},
	})
}

var digits = regexp.MustCompile(`[+]?\d[\d\s()-]*`)

func phoneIn(i in, text string) string {
	return understand.Tier0(understand.Request{Messages: []message.Inbound{{Kind: message.Text, Text: text}}, Now: i.Now, Zone: i.Facts.Zone}).Phone
}

// renameContact changes the name of the one customer a name or a phone means.
func renameContact(i in, c Command) outcome {
	who := clip(possessive.ReplaceAllString(c.Rest, ""), 80)
	if len([]rune(who)) < 2 || c.To == "" {
		return tellOf("which_customer", nil)
	}
	var found contacts
	var o outcome
	if !o.ask(i, "lookup_contact", map[string]any{"query": who, "limit": maxPeople}, &found) {
		return o
	}
	switch len(found.Contacts) {
	case 0:
		return tellOf("found", map[string]any{"rows": []map[string]any(nil), "who": quote(who)})
	case 1:
	default:
		return tellOf("which_customer", nil)
	}
	name := clip(c.To, 120)
	return offered(i, &Action{
		Tool: "upsert_contact", Text: string(rename), Args: map[string]any{"contact_id": found.Contacts[0].ID, "name": name},
		Facts: map[string]any{"old": quote(found.Contacts[0].called()), "name": quote(name)},
	})
}
