package flow

import (
	"maps"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

// Slots that a person of the business may decide, by the names they are typed
// as, in English and Swahili.
const (
	slotService = "service"
	slotWhen    = "when"
	slotStaff   = "staff"
	slotName    = "name"
)

var slotNames = map[string]string{ //nolint:gochecknoglobals // a constant table.
	"service": slotService, "huduma": slotService,
	"when": slotWhen, "lini": slotWhen, "wakati": slotWhen, "saa": slotWhen, "date": slotWhen, "time": slotWhen, "tarehe": slotWhen,
	"staff": slotStaff, "mhudumu": slotStaff, "with": slotStaff, "na": slotStaff,
	"name": slotName, "jina": slotName,
}

// Value is a slot as somebody typed it.
type Value struct{ Name, Text string }

// Decide takes what a person of the business decided about the booking a thread
// is about: all of it, or nothing and a saying that tells what is wrong and what
// would be right. It also returns the values as the customer is told them, in
// the input's language. read says what a text means as a time.
//
// The thread then goes on by itself: whether the time is still free is seen when
// it is taken.
func Decide(i in, values []Value, read func(text string) graph.When) (State, []string, *graph.Say) {
	d := decision{in: i, business: about(i), s: i.State, read: read}
	if d.s.At == AwaitPayment || payCancel(d.s) {
		return i.State, nil, d.wrong("fill.paying", nil)
	}
	if !d.s.booking() && !moving(d.s) && !d.s.paying() {
		d.s = d.s.settle()
	}
	typed := map[string]string{}
	for _, v := range values {
		slot, known := slotNames[v.Name]
		if !known {
			return i.State, nil, d.wrong("fill.unknown", facts{"Slot": v.Name})
		}
		if v.Text == "" {
			return i.State, nil, d.wrong("fill.empty", facts{"Slot": v.Name})
		}
		typed[slot] = v.Text
	}
	for _, fill := range []struct {
		slot string
		with func(text string) *graph.Say
	}{{slotService, d.service}, {slotStaff, d.staff}, {slotWhen, d.when}, {slotName, d.name}} {
		text, given := typed[fill.slot]
		if !given {
			continue
		}
		if refused := fill.with(text); refused != nil {
			return i.State, nil, refused
		}
	}
	if refused := d.fits(); refused != nil {
		return i.State, nil, refused
	}
	d.s.At, d.s.Decided = Collect, true
	if moving(i.State) {
		d.s.At = MoveWhen
	}
	return d.s, d.told, nil
}

// decision is one under way.
type decision struct {
	in in
	business
	s    State
	read func(text string) graph.When
	told []string
}

// wrong says what is wrong. Every such text may show a line that would be right.
func (d *decision) wrong(key string, f facts) *graph.Say {
	example := d.now.AddDate(0, 0, 1).Format("02/01") + " 15:00"
	all := facts{"Example": example}
	maps.Copy(all, f)
	s := say(d.in, key, all)
	return &s
}

// among finds what a text calls by its id or one of its names: exactly, else by
// a part that only one of them has.
func among[T any](all []T, text string, names func(T) []string) (T, bool) {
	var none T
	want := strings.ToLower(strings.Join(strings.Fields(text), " "))
	var parts []T
	for _, v := range all {
		for _, n := range names(v) {
			n = strings.ToLower(n)
			if n == want {
				return v, true
			}
			if strings.Contains(n, want) {
				parts = append(parts, v)
				break
			}
		}
	}
	if len(parts) == 1 && len(want) > 2 {
		return parts[0], true
	}
	return none, false
}

func (d *decision) service(text string) *graph.Say {
	sv, ok := among(d.visible(), text, func(s calendar.Service) []string {
		return append([]string{s.ID, s.Name.In(wording.English), s.Name.In(wording.Swahili)}, s.Aliases...)
	})
	if moving(d.s) {
		return d.wrong("fill.moving", nil)
	}
	if !ok {
		var offered []any
		for _, s := range d.visible() {
			offered = append(offered, s.Name)
		}
		return d.wrong("fill.service", facts{"Value": text, "Services": offered})
	}
	d.s.Want.Service, d.s.Want.Services = sv.ID, nil
	d.told = append(d.told, sv.Name.In(d.lang))
	return nil
}

func (d *decision) staff(text string) *graph.Say {
	st, ok := among(d.Staff, text, func(s calendar.Schedule) []string { return append([]string{s.ID, s.Name}, s.Aliases...) })
	if moving(d.s) {
		return d.wrong("fill.moving", nil)
	}
	sv, chosen := d.business.service(d.s.Want.Service)
	if !ok || chosen && !slices.Contains(sv.Staff, st.ID) {
		var names []string
		for _, s := range d.Staff {
			if !chosen || slices.Contains(sv.Staff, s.ID) {
				names = append(names, s.Name)
			}
		}
		return d.wrong("fill.staff", facts{"Value": text, "Names": names})
	}
	d.s.Want.Staff = st.ID
	d.told = append(d.told, st.Name)
	return nil
}

func (d *decision) name(text string) *graph.Say {
	d.s.Want.Name = cut(strings.Join(strings.Fields(text), " "), maxName)
	d.told = append(d.told, d.s.Want.Name)
	return nil
}

func (d *decision) when(text string) *graph.Say {
	w := d.read(text)
	switch {
	case w.Fault != "":
		return d.wrong("fill."+w.Fault, facts{"Value": text})
	case w.Empty():
		return d.wrong("fill.when", facts{"Value": text})
	}
	want := d.s.Want.When.merge(w)
	if !want.dated() {
		if want.Date = d.s.Around.Date; want.Date == "" {
			return d.wrong("fill.no_day", facts{"Value": text})
		}
	}
	if want = want.sensible(d.business, d.s.Want.Service); len(want.Options) > 0 {
		return d.wrong("fill.no_such_time", facts{"Value": text})
	}
	d.s.Want.When = want
	if at, ok := d.at(want.Date, want.Time); ok {
		d.told = append(d.told, wording.FullDay(d.lang, at, d.now)+" "+wording.Spell(d.lang, at))
	} else if at, ok := d.at(want.Date, "12:00"); ok {
		d.told = append(d.told, wording.FullDay(d.lang, at, d.now))
	}
	return nil
}

// fits checks what was decided as a whole: a day the business is open, at a time
// somebody works, not further ahead than it takes bookings.
func (d *decision) fits() *graph.Say {
	d.s.Picked, d.s.Offer, d.s.Misses = nil, nil, 0
	w := d.s.Want.When
	day, err := calendar.ParseDate(w.Date)
	if err != nil {
		return nil
	}
	f := facts{"Date": d.now}
	if at, ok := d.at(w.Date, "12:00"); ok {
		f["Date"] = at
	}
	if ahead := d.Policy.Horizon; ahead > 0 && calendar.DateIn(d.now, d.zone).Days(day) > ahead {
		return d.wrong("fill.too_far", facts{"Days": ahead})
	}
	opens, closes, open := d.hours(day, d.s.Want.Service)
	if !open {
		return d.wrong("fill.closed", f)
	}
	if c, err := calendar.ParseClock(w.Time); err == nil && (c < opens || c >= closes) {
		f["From"], f["To"] = opens.String(), closes.String()
		return d.wrong("fill.outside_hours", f)
	}
	return nil
}

// Collected is what a thread has gathered, as people of the business read it:
// slots by the names they can decide them by.
func Collected(i in) []Value {
	b, s := about(i), i.State
	var out []Value
	add := func(en, sw, text string) {
		if text == "" {
			return
		}
		if b.lang == wording.Swahili {
			en = sw
		}
		out = append(out, Value{Name: en, Text: text})
	}
	if sv, ok := b.service(s.Want.Service); ok {
		add(slotService, "huduma", sv.Name.In(b.lang))
	}
	at, timed := b.at(s.Want.When.Date, s.Want.When.Time)
	if s.Hold != nil {
		at, timed = s.Hold.Slot.Start.In(b.zone), true
	}
	switch day, dated := b.at(s.Want.When.Date, "12:00"); {
	case timed:
		add(slotWhen, "lini", wording.FullDay(b.lang, at, b.now)+" "+wording.Spell(b.lang, at))
	case dated:
		add(slotWhen, "lini", wording.FullDay(b.lang, day, b.now))
	}
	staff := b.staffName(s.Want.Staff)
	if s.Hold != nil {
		staff = s.Hold.Slot.StaffName
	}
	add(slotStaff, "mhudumu", staff)
	add(slotName, "jina", s.Want.Name)
	if s.Booking != nil {
		add("booking", "nafasi", s.Booking.Code+" "+wording.ShortMoment(b.lang, s.Booking.Start.In(b.zone)))
	}
	if s.Pay != nil {
		add("payment", "malipo", strings.TrimSpace(s.Pay.Amount.String()+" "+s.Pay.Failed))
	}
	return out
}

// resumed is how a thread goes on after a person decided something: straight on,
// without the question it rested at.
func (s State) resumed() (State, bool) {
	decided := s.Decided
	s.Decided = false
	return s, decided
}
