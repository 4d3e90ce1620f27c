package flow

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

// Kinds of noun and slots that were asked for, as understanding knows them.
const (
	kindService = "service"
	kindStaff   = "staff"

	askService = "service"
	askDate    = "date"
	askTime    = "time"
	askName    = "name"
	askPhone   = "phone"
	askConfirm = "confirm"
	askBooking = "booking"
)

// Ids of choices. Those that end in a slash carry what was tapped, so that a
// tap on an old message still means what it said.
const (
	tapBook     = "book"
	tapMine     = "my_bookings"
	tapAsk      = "ask"
	tapHuman    = "human"
	tapStop     = "stop"
	tapYes      = "yes"
	tapChange   = "change"
	tapTime     = "change_time"
	tapKind     = "change_service"
	tapKeep     = "keep"
	tapMore     = "more"
	tapDay      = "another_day"
	tapSoonest  = "soonest"
	tapPhone    = "other_phone"
	tapAgain    = "again"
	tapCard     = "card"
	tapMpesa    = "mpesa"
	tapService  = "service/"
	tapDate     = "on/"
	tapClock    = "at/"
	tapSlot     = "slot/"
	tapMoveSlot = "to/"
	tapShow     = "show/"
	tapMove     = "move/"
	tapDrop     = "drop/"
)

// WhatsApp's limits on what can be tapped.
const (
	maxButtons     = 3
	maxRows        = 10
	maxButtonTitle = 20
	maxRowTitle    = 24
	maxDescription = 72
)

// maxName is how much of a name is kept.
const maxName = 60

type facts = map[string]any

// say is a text with its facts; every text may use Now.
func say(i in, key string, f facts, choices ...graph.Choice) graph.Say {
	all := facts{"Now": i.Now, "Business": i.Facts.Business}
	maps.Copy(all, f)
	return graph.Say{Text: key, Facts: all, Choices: choices}
}

func toAdmins(i in, key string, f facts) graph.Say {
	s := say(i, key, f)
	s.To = graph.ToAdmins
	return s
}

func button(id, key string) graph.Choice { return graph.Choice{ID: id, Text: key} }

func row(id, title, description string) graph.Choice {
	return graph.Choice{ID: id, Literal: cut(title, maxRowTitle), Description: cut(description, maxDescription)}
}

// cut shortens a title of the business's own to what a channel shows.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

// rest ends the turn at a node and remembers what was there to tap.
func rest(i in, s State, at graph.Name, says ...graph.Say) out {
	s.At, s.Spent, s.Repeat, s.Misses = at, false, false, 0
	if l := i.Input.Language; l != "" {
		s.Lang = l
	}
	s = s.showing(says...)
	return out{State: s, Rest: at, Say: says}
}

// showing remembers the choices of the last saying that has some.
func (s State) showing(says ...graph.Say) State {
	for _, say := range says {
		if len(say.Choices) == 0 || say.To != graph.ToContact {
			continue
		}
		s.Shown = nil
		for _, c := range say.Choices {
			s.Shown = append(s.Shown, Shown{ID: c.ID, Text: c.Text, Title: c.Literal})
		}
	}
	return s
}

// onward runs another node in the same turn.
func onward(s State, to graph.Name, says ...graph.Say) out {
	s.Spent = true
	return out{State: s.showing(says...), Go: to, Say: says}
}

// tapped returns what was chosen: by a tap, or by the number of what was shown.
func tapped(i in) string {
	if i.Input.Choice != "" {
		return i.Input.Choice
	}
	if n := i.Input.Number; n >= 1 && n <= len(i.State.Shown) {
		return i.State.Shown[n-1].ID
	}
	return ""
}

// carried returns what a choice's id carries after its prefix.
func carried(id, prefix string) (string, bool) {
	v, ok := strings.CutPrefix(id, prefix)
	return v, ok && v != ""
}

// lost is what is said when nothing was understood: first the question again in
// other words, then a way out. The way out is never withheld twice.
func lost(i in, s State, at graph.Name, question graph.Say) out {
	s.Misses++
	var o out
	if s.Misses == 1 {
		sorry := say(i, "sorry.once", nil)
		sorry.Phrase = true
		o = rest(i, s, at, sorry, question)
	} else {
		way := []graph.Choice{button(tapHuman, "button.human"), button(tapStop, "button.stop")}
		if !s.midway() {
			way = menu()
		} else if s.paying() {
			way = way[:1]
		}
		key := "sorry.again"
		if len(question.Choices) == 0 {
			key = "sorry.again_open" // there are no options to point at
		}
		o = rest(i, s, at, question, say(i, key, nil, way...))
	}
	o.State.Misses, o.Reprompt = s.Misses, true
	return o
}

func menu() []graph.Choice {
	return []graph.Choice{button(tapBook, "button.book"), button(tapMine, "button.mine"), button(tapHuman, "button.human")}
}

// business is what a step knows of the business.
type business struct {
	calendar.Settings
	zone *time.Location
	now  time.Time
	lang string
}

func about(i in) business {
	s, _ := i.Facts.Settings.(calendar.Settings) // the app's own; none for a business without a section
	zone := i.Facts.Zone
	if zone == nil {
		zone = time.UTC
	}
	lang := i.Input.Language
	if lang == "" {
		lang = i.State.Lang
	}
	if lang == "" {
		lang = i.Facts.Locale
	}
	return business{Settings: s, zone: zone, now: i.Now.In(zone), lang: lang}
}

func (b business) service(id string) (calendar.Service, bool) {
	for _, s := range b.Services {
		if s.ID == id {
			return s, true
		}
	}
	return calendar.Service{}, false
}

func (b business) visible() []calendar.Service {
	var out []calendar.Service
	for _, s := range b.Services {
		if !s.Hidden {
			out = append(out, s)
		}
	}
	return out
}

// serviceName returns a service's name as a fact, its id when it is gone from
// the definition.
func (b business) serviceName(id string) any {
	if s, ok := b.service(id); ok {
		return s.Name
	}
	return id
}

func (b business) staffName(id string) string {
	for _, s := range b.Staff {
		if s.ID == id {
			return s.Name
		}
	}
	return ""
}

func (b business) today() string { return b.now.Format(time.DateOnly) }

func (b business) day(offset int) string { return b.now.AddDate(0, 0, offset).Format(time.DateOnly) }

// at returns the instant of a civil date and clock time.
func (b business) at(date, clock string) (time.Time, bool) {
	t, err := time.ParseInLocation("2006-01-02 15:04", date+" "+clock, b.zone)
	return t, err == nil
}

// hours returns the earliest opening and the latest closing of a date, by the
// weekly hours and dated exceptions of whoever offers a service, "" meaning
// everyone; ok is false when nobody works.
func (b business) hours(d calendar.Date, service string) (from, to calendar.Clock, ok bool) {
	sv, offered := b.service(service)
	for _, st := range b.Staff {
		if offered && !slices.Contains(sv.Staff, st.ID) {
			continue
		}
		shifts := st.Hours[d.Weekday()]
		if own, special := st.Exceptions[d]; special {
			shifts = own
		}
		for _, sh := range shifts {
			end := sh.To
			if end <= sh.From {
				end = 24 * 60 // it ends on the next day
			}
			if !ok || sh.From < from {
				from = sh.From
			}
			if !ok || end > to {
				to = end
			}
			ok = true
		}
	}
	return from, to, ok
}

// clockTitle is a time of day as something to tap.
func (b business) clockTitle(t time.Time) string {
	if b.lang == wording.Swahili {
		return "Saa " + wording.ShortClock(b.lang, t)
	}
	return wording.ShortClock(b.lang, t)
}
