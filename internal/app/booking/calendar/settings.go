package calendar

// Settings is the booking app's section of a business's definition. As YAML:
//
//	services:
//	  - key: swedish_60               # its id for life
//	    name: {en: Swedish massage, sw: Masaji ya Kiswidi}
//	    aliases: [swedish]            # other words people use
//	    description: {en: Light pressure}
//	    minutes: 60
//	    interval: 30                  # between starts, counted from midnight; default 30
//	    buffer_before: 0              # minutes kept free around the visit
//	    buffer_after: 15
//	    price: 3500                   # whole units, or "3500.50"
//	    deposit: 1000                 # left out: nothing is due beforehand
//	    staff: [grace]                # left out: everyone
//	    hidden: false
//	    capacity: 1                   # above 1: a group session, a seat for each booking
//	    needs: [room]                 # resources reserved with the staff, by key or kind
//	    day_intervals: {sat: 15}      # minutes between starts on some weekdays
//	    starts: {mon-fri: ["07:00"]}  # in place of the grid: the only starts
//	    skills: [massage]             # left out staff: everyone who has all of them
//	staff:
//	  - key: grace
//	    name: Grace
//	    hours: {mon-fri: ["09:00-13:00", "14:00-18:00"], sat: ["18:00-02:00"]}
//	    exceptions:                   # take the place of a date's hours
//	      - {date: 2026-12-24, hours: ["09:00-12:00"]}
//	      - {date: 2026-12-31, closed: true}
//	    time_off: [{from: 2026-12-01, to: 2026-12-07}]
//	    skills: [massage, facial]
//	    calendar_env: GRACE_CALENDAR  # environment variable with the address of her own calendar
//	resources:
//	  - {key: room_1, name: Room 1, kind: room}
//	blocks:                           # time nobody can book; left out staff and resources: everyone
//	  - {days: mon-fri, hours: ["13:00-14:00"], staff: [grace]}
//	  - {from: 2026-12-28, to: 2026-12-29, resources: [room_1], note: painting}
//	closures: [{from: "2026-12-24 13:00", to: "2026-12-26 24:00", name: {en: Christmas}}]
//	policy:
//	  {notice_minutes: 60, horizon_days: 60, cancel_hours: 24, hold_minutes: 10, max_holds: 2, offer_minutes: 15,
//	   move_hours: 24, max_moves: 0, refunds: [{hours: 24, percent: 100}], no_show_percent: 0, no_show_hours: 72,
//	   reminder_hours: [24, 2], feedback_minutes: 60}
//	address: Ngong Road 12
//	map_link: https://maps.example/x
//	parking: {en: Behind the house}
//	payment: {en: M-Pesa}
//	faqs: [{keys: [wifi], en: "Yes", sw: Ndiyo}]
type Settings struct {
	Services []Service
	Staff    []Schedule
	// Feeds name the environment variables with the addresses of calendars that
	// say when somebody is busy, by member of staff.
	Feeds     map[string]string
	Resources []Resource
	Blocks    []Block
	Closures  []Closure
	Policy    Policy
	Address   string
	MapLink   string
	Parking   Text
	Payment   Text // how one pays here, for people who ask
	FAQs      []FAQ
	Rails     []string // how the business takes payments; not of this section, but of its definition
}

// Closure is a time the whole business is closed.
type Closure struct {
	Span
	Name Text
}

// Block is time that cannot be booked, of some staff and resources: a stretch
// of the calendar, or the same hours every week.
type Block struct {
	Span      // when Weekly is empty
	Weekly    [7][]Shift
	Staff     []string // ids; none of these and no resources: all staff
	Resources []string
	Note      string
}

// Dated reports whether the block is one stretch of the calendar.
func (b Block) Dated() bool { return b.Span != Span{} }

// FAQ is a question the business is often asked: words that point to it, and
// its answer.
type FAQ struct {
	Keys   []string
	Answer Text
}

// In returns the settings with every amount in a currency. A definition names
// its currency once, outside this section.
func (s Settings) In(currency string) Settings {
	services := make([]Service, len(s.Services))
	for i, v := range s.Services {
		v.Price.Currency, v.Deposit.Currency = currency, currency
		services[i] = v
	}
	s.Services = services
	return s
}
