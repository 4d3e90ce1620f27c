package flow_test

import (
	"encoding/json"
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/understand"
)

// person is a talk held in plain words, read by tier 0 as the product reads them.
type person struct {
	*talk
	nouns  map[string][]understand.Noun
	expect func(string, json.RawMessage) understand.Expect
	lang   string // of the last turn
}

func newPerson(t *testing.T, lang string) *person {
	t.Helper()
	a, err := booking.New(tools.Stores{})
	if err != nil {
		t.Fatal(err)
	}
	section, err := a.Section(&tenant.Tenant{Settings: json.RawMessage(settings), Currency: "KES"})
	if err != nil {
		t.Fatal(err)
	}
	k := newTalk(t, lang, &travelled{edges: map[string]bool{}, keys: map[string]bool{}})
	return &person{talk: k, nouns: section.Nouns, expect: a.Expect}
}

func (p *person) reads(m message.Inbound) {
	p.t.Helper()
	in := understand.Tier0(understand.Request{
		Messages: []message.Inbound{m}, Now: p.now, Zone: nairobi, Region: "KE", Locale: "en", Previous: p.lang, Nouns: p.nouns,
		Expect: p.expect(string(p.node), p.state),
	})
	in.Confirmed = p.pending != nil && (in.Answer == graph.Yes || in.Choice == "yes")
	p.lang = in.Language
	if p.lang != p.talk.lang {
		p.t.Errorf("%q was read as %s", m.Text, p.lang)
	}
	p.talk.send(in)
}

func (p *person) writes(text string) {
	p.t.Helper()
	p.reads(message.Inbound{Kind: message.Text, Text: text})
}

// taps presses the first button or row whose id begins so.
func (p *person) taps(prefix string) {
	p.t.Helper()
	id := p.find(prefix)
	for _, s := range p.last {
		for n, c := range s.choices {
			if c.ID == id {
				p.reads(message.Inbound{Kind: message.Button, Choice: id, Text: s.titles[n]})
				return
			}
		}
	}
}

// TestFiveSteps is the whole of a first visit in plain words: asked for, offered,
// picked, paid, and found again.
func TestFiveSteps(t *testing.T) {
	t.Parallel()
	t.Run("in English", func(t *testing.T) {
		t.Parallel()
		p := newPerson(t, "en")
		p.name = ""
		p.writes("Hi, I'd like a 90 minute massage on Monday afternoon")
		p.hears("offer.day")
		p.writes("2 pm please")
		p.hears("ask.name")
		p.writes("Brian Otieno")
		p.hears("summary.deposit")
		p.contains("Massage 90 min", "2:00 pm", "KES 1,000", "Brian Otieno")
		p.writes("where are you?")
		p.hears("answer.location", "summary.deposit")
		p.writes("no, Tuesday")
		p.hears("summary.deposit")
		p.contains("Tuesday 24 November", "2:00 pm")
		p.writes("yes")
		p.hears("pay.sent")
		p.fails(payment.Declined)
		p.hears("pay.failed.cancelled")
		p.taps("yes")
		p.hears("pay.sent")
		p.pays(nil)
		p.hears("confirmed.paid", "@admin.booked")
		p.at(flow.Closed)
		p.writes("my bookings")
		p.hears("bookings.list")
		p.contains("Tuesday 24 November")
		p.writes("change the time")
		p.hears("move.when")
		p.writes("Wednesday at 11 am")
		p.hears("move.summary")
		p.writes("yes")
		p.hears("moved", "@admin.moved")
		p.writes("cancel my booking")
		p.hears("drop.summary")
		p.writes("yes")
		p.hears("dropped.paid", "@admin.dropped")
	})
	t.Run("in Swahili", func(t *testing.T) {
		t.Parallel()
		p := newPerson(t, "sw")
		p.name = ""
		p.writes("Habari, nataka masaji dakika 90 jumatatu saa tisa mchana")
		p.hears("ask.name")
		p.writes("Achieng Atieno")
		p.hears("summary.deposit")
		p.contains("Masaji dakika 90", "saa tisa mchana (3:00 pm)", "KES 1,000")
		p.writes("mko wapi?")
		p.hears("answer.location", "summary.deposit")
		p.writes("hapana, jumanne")
		p.hears("summary.deposit")
		p.contains("Jumanne, 24 Novemba", "saa tisa mchana")
		p.writes("ndiyo")
		p.hears("pay.sent")
		p.fails(payment.WrongPIN)
		p.hears("pay.failed.wrong_pin")
		p.taps("yes")
		p.hears("pay.sent")
		p.pays(nil)
		p.hears("confirmed.paid", "@admin.booked")
		p.writes("miadi yangu")
		p.hears("bookings.list")
		p.contains("Jumanne, 24 Novemba")
		p.writes("badilisha saa")
		p.hears("move.when")
		p.writes("jumatano saa tano asubuhi")
		p.hears("move.summary")
		p.writes("ndiyo")
		p.hears("moved", "@admin.moved")
	})
}

// TestWordsThatCountFromTheVisit moves a visit by words that name no day.
func TestWordsThatCountFromTheVisit(t *testing.T) {
	t.Parallel()
	for lang, words := range map[string][3]string{
		"en": {"I need to reschedule", "same time next week", "actually the following day"},
		"sw": {"nataka kubadilisha siku", "saa hiyo hiyo wiki ijayo", "hapana, kesho yake"},
	} {
		p := newPerson(t, lang)
		p.booked("b1", tuesday, "11:00", 1000)
		p.writes(words[0])
		p.hears("move.when")
		p.writes(words[1])
		p.hears("move.summary")
		p.contains(map[string]string{"en": "Tuesday 1 December, 11:00 am", "sw": "Jumanne, 1 Desemba"}[lang])
		p.writes(words[2])
		p.hears("move.summary")
		p.contains(map[string]string{"en": "Wednesday 2 December, 11:00 am", "sw": "Jumatano, 2 Desemba"}[lang])
	}
}

// TestAnotherDayWhileTheNameIsAskedFor counts from the time that was picked.
func TestAnotherDayWhileTheNameIsAskedFor(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "en")
	p.name = ""
	p.writes("massage 90 min on tuesday at 11 am please")
	p.hears("ask.name")
	p.writes("same time next week")
	p.hears("ask.name")
	p.contains("Tuesday 1 December at 11:00 am")
}
