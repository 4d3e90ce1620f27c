package understand_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

func TestVarietyOfIntents(t *testing.T) {
	t.Parallel()
	readAll(t, []reading{
		{"cancell my apointment pls", graph.Cancel, "", sure},
		{"I no longer need my booking", graph.Cancel, "", sure},
		{"achana na hiyo booking", graph.Cancel, "", sure},
		{"ondoa jina langu", graph.Cancel, "", sure},
		{"usifute booking yangu", graph.Unknown, "", unsure},
		{"remove the cancer screening poster", graph.Unknown, "", unsure},
		{"push me to 4pm", graph.Reschedule, "", sure},
		{"swap my lesson to Friday", graph.Reschedule, "", sure},
		{"mnisogezee hadi ijumaa", graph.Reschedule, "", sure},
		{"Can I come on Monday instead of Sunday?", graph.Reschedule, "", unsure},
		{"nina miadi kesho lakini nataka siku nyingine", graph.Reschedule, "", unsure},
		{"am I still booked", graph.MyBookings, "", sure},
		{"nikumbushe saa ya miadi yangu", graph.MyBookings, "", sure},
		{"my lesson is on Friday but I will not come", graph.Unknown, "", unsure},
		{"do I need to shave before waxing?", graph.Question, understand.TopicOther, sure},
		{"jumapili mtakuwa wazi?", graph.Question, understand.TopicHours, sure},
		{"sikukuu mnafanya kazi?", graph.Question, understand.TopicHours, sure},
		{"mnapokea visa", graph.Question, understand.TopicPayment, sure},
		{"nikikosa kuja deposit inarudishwa?", graph.Question, understand.TopicPolicy, sure},
		{"how much are my electricity bills", graph.Question, understand.TopicPrice, unsure},
		{"do I have any meetings with Peter", graph.Unknown, "", unsure},
		{"are you a computer or a real person", graph.Question, understand.TopicOther, sure},
		{"your customer service is poor", graph.Complaint, "", unsure},
		{"naomba namba ya meneja", graph.Human, "", sure},
		{"sawa nashukuru", graph.Thanks, "", sure},
		{"how are you?", graph.Greeting, "", sure},
		{"kazi safi sana", graph.Feedback, "", unsure},
		{"niliwaambia na hakuna mtu alikuja", graph.Unknown, "", unsure},
	})
}

func TestLengthPicksAmongWhatWasOffered(t *testing.T) {
	t.Parallel()
	offer := []message.Choice{{ID: "s", Title: "Massage 60 min"}, {ID: "l", Title: "Massage 90 min"}, {ID: "f", Title: "Facial"}}
	for text, want := range map[string]string{"the 90 minute one": "l", "ya dakika 60": "s", "ya lisaa": "s", "120 minutes": "", "is the 90 minute one good?": ""} {
		req := asked(text, understand.KindService)
		req.Expect.Choices = offer
		if got := understand.Tier0(req).Choice; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestLengthBelongsToEveryNameOfItsService(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"masaji ya dakika tisini": "m90", "massage ya lisaa": "m60", "masaji ya saa moja na Grace": "m60"} {
		if e := understand.Tier0(typed(text)).Entities[understand.KindService]; e.ID != want {
			t.Errorf("%q: got %+v, want %s", text, e, want)
		}
	}
}

func TestAnswersThatLeaveTheChoice(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"doesn't matter", "haijalishi", "no one in particular"} {
		if in := understand.Tier0(asked(text, understand.KindStaff)); !in.AnyStaff || in.Confidence < understand.Sure {
			t.Errorf("%q: got %+v", text, in)
		}
	}
	for _, text := range []string{"the earliest", "as soon as possible", "mapema iwezekanavyo"} {
		if in := understand.Tier0(asked(text, understand.SlotTime)); in.Intent != graph.Book || in.Confidence < understand.Sure || !in.When.Empty() {
			t.Errorf("%q: got %s %.2f %+v", text, in.Intent, in.Confidence, in.When)
		}
	}
	if in := understand.Tier0(typed("doesn't matter")); in.AnyStaff {
		t.Error("nobody asked for a person")
	}
}

func TestNamesThatAreGivenToBeWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"put it under Sharon Akinyi": "Sharon Akinyi", "andika Sharon Akinyi": "Sharon Akinyi", "use the name Kevin": "Kevin",
	} {
		if got := understand.Tier0(asked(text, understand.SlotName)).Name; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAnswersWithTheirVerb(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]graph.Answer{
		"sure thing": graph.Yes, "ndio hivyo": graph.Yes, "sawa basi weka": graph.Yes, "leave it as it is": graph.No, "hapana, iache hivyo": graph.No,
	} {
		if got := understand.Tier0(asked(text, understand.SlotConfirm)).Answer; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAloneTellsWhetherAModelIsAsked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"massage 90 kesho saa tisa mchana": true, "yes": true, "2": true, "my cousin sold his motorbike": false, "I want to book something nice for two": false,
	} {
		in, alone := understand.Alone(typed(text))
		if alone != want {
			t.Errorf("%q: alone is %v", text, alone)
		}
		if d := cmp.Diff(understand.Tier0(typed(text)), in); d != "" {
			t.Errorf("%q: another reading than Tier0's: %s", text, d)
		}
	}
}

func TestOtherLanguagesAreAnsweredInTheBusinesssOwn(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Ich möchte einen Termin für morgen", "Muraho, nshaka gufata gahunda y'ejo"} {
		for _, locale := range []string{understand.English, understand.Swahili} {
			req := typed(text)
			req.Locale = locale
			if in := understand.Tier0(req); in.Language != locale {
				t.Errorf("%q in a business of %s: answered in %s", text, locale, in.Language)
			}
		}
	}
}

func TestThingsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"cancel my Netflix subscription", "I need to reschedule my exam", "naomba kuahirisha mtihani wangu", "gari yangu iko wapi", "what is the price of bitcoin",
		"sukari kilo ni pesa ngapi", "Mombasa iko wapi", "ghairi bima yangu ya gari", "how much is a ticket to Dubai", "did you get my booking?",
	} {
		in := understand.Tier0(typed(text))
		if in.Confidence >= understand.Sure && in.Intent != graph.MyBookings {
			t.Errorf("%q acts as %s %.2f", text, in.Intent, in.Confidence)
		}
	}
	for text, want := range map[string]graph.Intent{"cancel my lesson": graph.Cancel, "how much is a facial": graph.Question, "mnafunga saa ngapi sikukuu": graph.Question} {
		if in := understand.Tier0(typed(text)); in.Intent != want || in.Confidence < understand.Sure {
			t.Errorf("%q: got %s %.2f", text, in.Intent, in.Confidence)
		}
	}
}

func TestEverydayWordsAreNoSlipsInNames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"facial aina gani", "kuna maji ya moto", "we'd like to come"} {
		in := understand.Tier0(typed(text))
		if e := in.Entities[understand.KindStaff]; e.Confidence >= understand.Doubt {
			t.Errorf("%q names %+v", text, e)
		}
		if e := in.Entities[understand.KindService]; e.ID == "mani" && e.Confidence >= understand.Doubt || in.When.Date != "" {
			t.Errorf("%q: got %+v", text, in)
		}
	}
}

func TestChangeOfWhatIsBeingSettled(t *testing.T) {
	t.Parallel()
	req := asked("make it 2:30pm instead", understand.SlotConfirm)
	if in := understand.Tier0(req); in.Intent != graph.Book || in.When.Time != "14:30" || in.Confidence < understand.Sure {
		t.Errorf("got %s %.2f %+v", in.Intent, in.Confidence, in.When)
	}
}
