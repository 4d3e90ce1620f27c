package understand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

// nairobi has no daylight saving; a fixed zone keeps the tests off the
// machine's zone files.
var nairobi = time.FixedZone("EAT", 3*60*60)

// wednesday is 25 November 2026, 10:00 in Nairobi.
func wednesday() time.Time { return time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC) }

func spa() map[string][]understand.Noun {
	return map[string][]understand.Noun{
		understand.KindService: {
			{ID: "m60", Names: []string{"Swedish massage 60 minutes", "massage", "masaji"}},
			{ID: "m90", Names: []string{"Swedish massage 90 minutes", "massage", "masaji"}},
			{ID: "facial", Names: []string{"Deep cleansing facial", "facial", "facial ya uso"}},
			{ID: "mani", Names: []string{"Manicure", "kucha"}},
			{ID: "cut", Names: []string{"Haircut", "kunyoa", "kunyolewa"}},
		},
		understand.KindStaff: {
			{ID: "grace", Names: []string{"Grace Wanjiru", "Grace"}},
			{ID: "amina", Names: []string{"Dr. Amina Hassan", "Amina"}},
			{ID: "otieno", Names: []string{"Otieno"}},
			{ID: "will", Names: []string{"Will"}},
		},
	}
}

func typed(lines ...string) understand.Request {
	req := understand.Request{Now: wednesday(), Zone: nairobi, Region: "KE", Locale: "en", Nouns: spa()}
	for _, l := range lines {
		req.Messages = append(req.Messages, message.Inbound{Kind: message.Text, Text: l})
	}
	return req
}

func asked(text string, slots ...string) understand.Request {
	req := typed(text)
	req.Expect.Slots = slots
	return req
}

// reading is a text and what tier 0 must make of it.
type reading struct {
	text   string
	intent graph.Intent
	topic  string
	sure   bool
}

const sure, unsure = true, false

func readAll(t *testing.T, rows []reading) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			in := understand.Tier0(typed(row.text))
			isSure := in.Confidence >= understand.Sure
			if isSure != row.sure || (row.sure || row.intent != graph.Unknown) && in.Intent != row.intent || in.Topic != row.topic && in.Intent == row.intent {
				t.Errorf("got %s %q %.2f, want %s %q sure=%v", in.Intent, in.Topic, in.Confidence, row.intent, row.topic, row.sure)
			}
			if in.Tier != 0 {
				t.Errorf("tier %d, want 0", in.Tier)
			}
		})
	}
}

func TestTier0Intents(t *testing.T) {
	t.Parallel()
	readAll(t, []reading{
		{"I want to book", graph.Book, "", sure},
		{"Hi, I'd like a 90 minute massage tomorrow afternoon", graph.Book, "", sure},
		{"Habari, nataka massage kesho saa tisa", graph.Book, "", sure},
		{"can I get a facial on Friday", graph.Book, "", sure},
		{"do you have a slot tomorrow at 3?", graph.Book, "", sure},
		{"nataka kuweka booking", graph.Book, "", sure},
		{"naomba nafasi ya manicure ijumaa", graph.Book, "", sure},
		{"nibook kesho asubuhi", graph.Book, "", sure},
		{"kuna nafasi leo jioni?", graph.Book, "", sure},
		{"nataka kunyolewa kesho na Otieno", graph.Book, "", sure},
		{"naeza kuja leo jioni kunyolewa?", graph.Book, "", sure},
		{"massage kesho saa tisa na Grace", graph.Book, "", sure},
		{"haircut", graph.Book, "", unsure},
		{"book a flight to Mombasa for the whole family", graph.Book, "", unsure},
		{"I don't want to book anything", graph.Book, "", unsure},

		{"please reschedule my appointment", graph.Reschedule, "", sure},
		{"move my booking to Friday", graph.Reschedule, "", sure},
		{"can we move it to Monday", graph.Reschedule, "", sure},
		{"nataka kubadilisha miadi yangu", graph.Reschedule, "", sure},
		{"naomba kuahirisha miadi", graph.Reschedule, "", sure},
		{"nisogezee booking yangu hadi Alhamisi", graph.Reschedule, "", sure},
		{"change the language to French", graph.Unknown, "", unsure},

		{"cancel my appointment", graph.Cancel, "", sure},
		{"please cancel", graph.Cancel, "", sure},
		{"I'd like to cancel", graph.Cancel, "", sure},
		{"ghairi booking yangu", graph.Cancel, "", sure},
		{"futa miadi", graph.Cancel, "", sure},
		{"naomba kufuta miadi yangu ya kesho", graph.Cancel, "", sure},
		{"I can't make it tomorrow", graph.Cancel, "", unsure},
		{"sitaweza kufika kesho", graph.Cancel, "", unsure},
		{"don't cancel my booking", graph.Cancel, "", unsure},
		{"how do I cancel my booking", graph.Cancel, "", unsure},

		{"when is my appointment?", graph.MyBookings, "", sure},
		{"do I have any bookings", graph.MyBookings, "", sure},
		{"my bookings", graph.MyBookings, "", sure},
		{"miadi yangu ni lini?", graph.MyBookings, "", sure},
		{"nionyeshe booking zangu", graph.MyBookings, "", sure},
	})
}

func TestTier0QuestionsAndCourtesies(t *testing.T) {
	t.Parallel()
	readAll(t, []reading{
		{"how much is a facial?", graph.Question, understand.TopicPrice, sure},
		{"bei ya massage ni ngapi", graph.Question, understand.TopicPrice, sure},
		{"mnacharge pesa ngapi", graph.Question, understand.TopicPrice, sure},
		{"what time do you open on Sunday", graph.Question, understand.TopicHours, sure},
		{"are you open today?", graph.Question, understand.TopicHours, sure},
		{"mnafungua saa ngapi kesho", graph.Question, understand.TopicHours, sure},
		{"mko wazi Jumapili?", graph.Question, understand.TopicHours, sure},
		{"where are you located?", graph.Question, understand.TopicLocation, sure},
		{"mko wapi?", graph.Question, understand.TopicLocation, sure},
		{"send me your location", graph.Question, understand.TopicLocation, sure},
		{"what services do you offer", graph.Question, understand.TopicServices, sure},
		{"mnatoa huduma gani?", graph.Question, understand.TopicServices, sure},
		{"what is your cancellation policy", graph.Question, understand.TopicPolicy, sure},
		{"what if I cancel", graph.Question, understand.TopicPolicy, sure},
		{"nikichelewa itakuwaje", graph.Question, understand.TopicPolicy, sure},
		{"can I pay with mpesa", graph.Question, understand.TopicPayment, sure},
		{"nalipaje", graph.Question, understand.TopicPayment, sure},
		{"do you have parking", graph.Question, understand.TopicOther, unsure},
		{"unaweza niambia bei ya facial na mko wapi", graph.Question, understand.TopicPrice, unsure},

		{"hello", graph.Greeting, "", sure},
		{"Hi, good morning", graph.Greeting, "", sure},
		{"Habari za asubuhi", graph.Greeting, "", sure},
		{"niaje", graph.Greeting, "", sure},
		{"Shikamoo", graph.Greeting, "", sure},
		{"thanks a lot", graph.Thanks, "", sure},
		{"asante sana", graph.Thanks, "", sure},
		{"bye, have a nice day", graph.Thanks, "", sure},
		{"kwaheri", graph.Thanks, "", sure},

		{"yes", graph.Affirm, "", sure},
		{"ndiyo tafadhali", graph.Affirm, "", sure},
		{"hapana asante", graph.Deny, "", sure},
		{"can I talk to a person", graph.Human, "", sure},
		{"nataka kuongea na mtu", graph.Human, "", sure},
		{"nataka kuongea na Grace", graph.Human, "", sure},
		{"can I speak to Amina", graph.Human, "", sure},
		{"I want to come with Grace", graph.Book, "", sure},
		{"are you a real person?", graph.Question, understand.TopicOther, sure},
		{"wewe ni mtu au roboti?", graph.Question, understand.TopicOther, sure},

		{"this is the worst service ever", graph.Complaint, "", unsure},
		{"huduma yenu ni mbaya sana", graph.Complaint, "", unsure},
		{"the quick brown fox jumps over seven lazy dogs", graph.Unknown, "", unsure},
		{"my cousin sold his blue motorbike yesterday evening", graph.Unknown, "", unsure},
	})
}

func TestTier0Answers(t *testing.T) {
	t.Parallel()
	rows := map[graph.Answer][]string{
		graph.Yes: {
			"yes", "Yes please", "yep", "YES!!!", "ok", "okay thanks", "sure", "go ahead", "ndiyo", "ndio", "Ndiyo, tafadhali", "sawa",
			"sawa sawa", "eeh", "poa", "naam", "👍", "👍🏾", "yes 🙏", "sounds good", "that's right", "yes, book it", "ok confirm", "Sawa, asante sana",
			"yesss", "of course", "bila shaka", "iko sawa", "sawa hakuna shida",
		},
		graph.No: {
			"no", "No thanks", "nope", "hapana", "la", "siyo", "hapana asante", "not now", "sitaki", "👎", "no, that's wrong", "sio sawa", "wacha",
		},
		graph.NoAnswer: {
			"yes but tomorrow", "yes?", "sawa?", "no, Thursday", "ok how much is it", "yes no", "ok 👎", "ndiyo kesho", "thanks", "yes 2", "",
			"I said yes to my sister", "la kwanza", "no problem", "maybe", "yes and add a facial", "not sure", "🙏", "okay lakini bei ni ngapi",
			"hapana, nataka kesho",
		},
	}
	for want, texts := range rows {
		for _, text := range texts {
			if got := understand.Tier0(typed(text)).Answer; got != want {
				t.Errorf("%q: got answer %q, want %q", text, got, want)
			}
		}
	}
}

func TestTier0LeavesTheYesOfASummaryToTaps(t *testing.T) {
	t.Parallel()
	offer := []message.Choice{{ID: "confirm", Title: "Yes, book it"}, {ID: "change", Title: "Change time"}, {ID: "stop", Title: "No, cancel"}}
	rows := []struct {
		text   string
		answer graph.Answer
		choice string
	}{
		{"yes", graph.Yes, ""},
		{"yes, book it", graph.Yes, ""},
		{"change time", graph.NoAnswer, "change"},
		{"2", graph.NoAnswer, "change"},
		{"1", graph.Yes, ""},
		{"the first one", graph.Yes, ""},
		{"3", graph.No, ""},
	}
	for _, row := range rows {
		req := asked(row.text, understand.SlotConfirm)
		req.Expect.Choices = offer
		in := understand.Tier0(req)
		if in.Answer != row.answer || in.Choice != row.choice {
			t.Errorf("%q: got answer %q choice %q, want %q %q", row.text, in.Answer, in.Choice, row.answer, row.choice)
		}
	}
	tap := typed()
	tap.Expect = understand.Expect{Slots: []string{understand.SlotConfirm}, Choices: offer}
	tap.Messages = []message.Inbound{{Kind: message.Button, Text: "Yes, book it", Choice: "confirm"}}
	in := understand.Tier0(tap)
	if in.Choice != "confirm" || in.Answer != graph.NoAnswer || in.Confidence != 1 || in.Intent != graph.Book {
		t.Errorf("a tap is its choice and no answer: %+v", in)
	}
}

func TestTier0Choices(t *testing.T) {
	t.Parallel()
	times := []message.Choice{{ID: "a", Title: "Thu 26 Nov 14:00"}, {ID: "b", Title: "Thu 26 Nov 15:30"}, {ID: "c", Title: "Fri 27 Nov 16:00"}}
	people := []message.Choice{{ID: "g", Title: "Grace Wanjiru"}, {ID: "o", Title: "Otieno"}, {ID: "any", Title: "Anyone"}}
	rows := []struct {
		text    string
		choices []message.Choice
		want    string
		number  int
	}{
		{"2", times, "b", 2},
		{"2.", times, "b", 2},
		{"option 1", times, "a", 1},
		{"the second one", times, "b", 2},
		{"ya pili", times, "b", 2},
		{"ya kwanza tafadhali", times, "a", 1},
		{"la tatu", times, "c", 3},
		{"the last one", times, "c", 3},
		{"ya mwisho", times, "c", 3},
		{"3:30", times, "b", 0},
		{"half past 3 please", times, "b", 0},
		{"saa tisa na nusu", times, "b", 0},
		{"saa nane", times, "a", 0},
		{"16:00", times, "c", 0},
		{"Friday at 4", times, "c", 0},
		{"Friday 2pm", times, "", 0},
		{"5pm", times, "", 0},
		{"7", times, "", 7},
		{"grace", people, "g", 0},
		{"Graec", people, "g", 0},
		{"otieno please", people, "o", 0},
		{"anyone", people, "any", 0},
		{"Beatrice", people, "", 0},
		{"is grace good?", people, "", 0},
	}
	for _, row := range rows {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			req := typed(row.text)
			req.Expect.Choices = row.choices
			in := understand.Tier0(req)
			if in.Choice != row.want || in.Number != row.number {
				t.Errorf("got choice %q number %d, want %q %d", in.Choice, in.Number, row.want, row.number)
			}
			if in.Choice != "" && in.Confidence < understand.Sure {
				t.Errorf("a picked choice acts alone, confidence %.2f", in.Confidence)
			}
		})
	}
	t.Run("a number that is both a place and another time is left open", func(t *testing.T) {
		t.Parallel()
		req := asked("3", understand.SlotTime)
		req.Expect.Choices = []message.Choice{{ID: "a", Title: "14:00"}, {ID: "b", Title: "15:00"}, {ID: "c", Title: "16:00"}}
		in := understand.Tier0(req)
		if in.Choice != "" || in.Number != 3 || in.Confidence >= understand.Doubt {
			t.Errorf("got %+v", in)
		}
	})
}

func TestTier0Entities(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text       string
		kind, id   string
		candidates []string
		least      float64
	}{
		{"a 90 minute massage please", understand.KindService, "m90", nil, 0.9},
		{"massage ya dakika 90", understand.KindService, "m90", nil, 0.9},
		{"an hour of massage", understand.KindService, "m60", nil, 0.9},
		{"massage", understand.KindService, "", []string{"m60", "m90"}, 0.9},
		{"masaji kesho", understand.KindService, "", []string{"m60", "m90"}, 0.9},
		{"a facal tomorrow", understand.KindService, "facial", nil, 0.85},
		{"I need a hair cut", understand.KindService, "cut", nil, 0.9},
		{"nataka kunyolewa", understand.KindService, "cut", nil, 0.9},
		{"manicures for two", understand.KindService, "mani", nil, 0.85},
		{"with grace", understand.KindStaff, "grace", nil, 0.9},
		{"na Amina kesho", understand.KindStaff, "amina", nil, 0.9},
		{"with Will at noon", understand.KindStaff, "will", nil, 0.9},
		{"I will come tomorrow", understand.KindStaff, "", nil, 0},
		{"not with Grace", understand.KindStaff, "", nil, 0},
		{"where do I park", understand.KindService, "", nil, 0},
	}
	for _, row := range rows {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			e := understand.Tier0(typed(row.text)).Entities[row.kind]
			if e.ID != row.id || !cmp.Equal(e.Candidates, row.candidates) || e.Confidence < row.least {
				t.Errorf("got %+v, want id %q candidates %v", e, row.id, row.candidates)
			}
		})
	}
	t.Run("a common word one slip away from a service is in doubt", func(t *testing.T) {
		t.Parallel()
		e := understand.Tier0(typed("I sent you a message")).Entities[understand.KindService]
		if e.Confidence >= understand.Doubt {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("the length alone picks when the service was asked", func(t *testing.T) {
		t.Parallel()
		e := understand.Tier0(asked("90 minutes", understand.KindService)).Entities[understand.KindService]
		if e.ID != "m90" {
			t.Errorf("got %+v", e)
		}
	})
}

func TestTier0PersonalDetails(t *testing.T) {
	t.Parallel()
	rows := []struct {
		what, text  string
		slots       []string
		name, phone string
		any, bot    bool
	}{
		{"an introduction gives a name", "My name is Wanjiku Kamau", nil, "Wanjiku Kamau", "", false, false},
		{"naitwa gives a name", "naitwa Achieng na nataka facial", nil, "Achieng", "", false, false},
		{"jina langu ni gives a name", "jina langu ni juma", nil, "Juma", "", false, false},
		{"a bare name answers the question", "Peter Mwangi", []string{understand.SlotName}, "Peter Mwangi", "", false, false},
		{"small letters are given a capital", "mary", []string{understand.SlotName}, "Mary", "", false, false},
		{"it's Peter answers the question", "It's Peter", []string{understand.SlotName}, "Peter", "", false, false},
		{"a bare name is none when not asked", "Peter Mwangi", nil, "", "", false, false},
		{"an intent is no name", "cancel", []string{understand.SlotName}, "", "", false, false},
		{"a sentence is no name", "how much is it for two people", []string{understand.SlotName}, "", "", false, false},
		{"a local phone", "0712 345 678", nil, "", "+254712345678", false, false},
		{"an international phone", "my number is +254 733 111 222", nil, "", "+254733111222", false, false},
		{"two phones are none", "0712345678 or 0733111222", nil, "", "+254712345678", false, false},
		{"an impossible phone is none", "0000000000", nil, "", "", false, false},
		{"anyone will do", "any therapist is fine", nil, "", "", true, false},
		{"yeyote will do", "na yeyote", nil, "", "", true, false},
		{"any answers the question for staff", "any", []string{understand.KindStaff}, "", "", true, false},
		{"is anyone there is no choice of staff", "is anyone there?", nil, "", "", false, false},
		{"asks whether it is a bot", "are you a bot?", nil, "", "", false, true},
		{"asks in Swahili", "naongea na roboti ama mtu?", nil, "", "", false, true},
	}
	for _, row := range rows {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			in := understand.Tier0(asked(row.text, row.slots...))
			if row.what == "two phones are none" {
				if in.Phone != "" && in.Confidence >= understand.Sure {
					t.Errorf("two numbers must not act: %+v", in)
				}
				return
			}
			if in.Name != row.name || in.Phone != row.phone || in.AnyStaff != row.any || in.AboutBot != row.bot {
				t.Errorf("got name %q phone %q any %v bot %v", in.Name, in.Phone, in.AnyStaff, in.AboutBot)
			}
		})
	}
}

func TestTier0SlotsThatWereAsked(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text  string
		slots []string
		sure  bool
	}{
		{"tomorrow at 3pm", []string{understand.SlotDate, understand.SlotTime}, true},
		{"kesho saa tisa", []string{understand.SlotTime}, true},
		{"3", []string{understand.SlotTime}, true},
		{"facial", []string{understand.KindService}, true},
		{"with Grace please", []string{understand.KindStaff}, true},
		{"Peter Mwangi", []string{understand.SlotName}, true},
		{"0712345678", []string{understand.SlotPhone}, true},
		{"no, Thursday", []string{understand.SlotConfirm}, true},
		{"I can't on Friday", []string{understand.SlotTime, understand.SlotDate}, false},
		{"how much is it?", []string{understand.SlotTime}, true},
	}
	for _, row := range rows {
		req := asked(row.text, row.slots...)
		req.Expect.Intent = graph.Reschedule
		in := understand.Tier0(req)
		if (in.Confidence >= understand.Sure) != row.sure {
			t.Errorf("%q: confidence %.2f of %s, want sure=%v", row.text, in.Confidence, in.Intent, row.sure)
		}
		if row.sure && in.Intent != graph.Reschedule && in.Intent != graph.Question {
			t.Errorf("%q: a bare answer goes on with what was asked, got %s", row.text, in.Intent)
		}
	}
}

func TestTier0Language(t *testing.T) {
	t.Parallel()
	rows := []struct{ text, previous, locale, want string }{
		{"Habari, nataka massage kesho", "", "en", "sw"},
		{"I'd like a massage tomorrow", "sw", "sw", "en"},
		{"nataka massage", "", "en", "sw"},
		{"naomba facial", "en", "en", "sw"},
		{"Nataka kunyolewa weekend hii, mko na space?", "", "en", "sw"},
		{"2", "sw", "en", "sw"},
		{"👍", "", "sw", "sw"},
		{"ok", "sw", "en", "sw"},
		{"hi", "", "sw", "sw"},
		{"sawa", "en", "en", "en"},
		{"Bonjour, je voudrais un rendez-vous", "", "sw", "sw"},
		{"مرحبا", "", "en", "en"},
	}
	for _, row := range rows {
		req := typed(row.text)
		req.Previous, req.Locale = row.previous, row.locale
		if in := understand.Tier0(req); in.Language != row.want {
			t.Errorf("%q: got %s (%.2f), want %s", row.text, in.Language, in.LanguageConfidence, row.want)
		}
	}
}

func TestTier0Sentiment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"you people are useless":            understand.Negative,
		"mnanikosea sana, hovyo kabisa":     understand.Negative,
		"I am not happy with this":          understand.Negative,
		"😡":                                 understand.Negative,
		"it was lovely, I loved it":         understand.Positive,
		"asante, huduma ilikuwa nzuri":      understand.Positive,
		"hapana asante":                     understand.Positive,
		"what time do you open":             understand.Neutral,
		"nataka massage kesho":              understand.Neutral,
		"not bad at all":                    understand.Neutral,
		"no one is replying to my messages": understand.Negative,
	} {
		if got := understand.Tier0(typed(text)).Sentiment; got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
