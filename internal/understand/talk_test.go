package understand_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

// timed are services whose other names hold words of time.
func timed(text string, slots ...string) understand.Request {
	req := asked(text, slots...)
	req.Nouns = map[string][]understand.Noun{understand.KindService: {
		{ID: "m60", Names: []string{"Massage 60 min", "massage", "massage 60", "one hour massage", "massage ya saa moja"}},
		{ID: "m90", Names: []string{"Massage 90 min", "massage", "massage 90", "hour and a half massage"}},
		{ID: "facial", Names: []string{"Facial"}},
	}}
	return req
}

func TestTimesNameNoService(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"jumanne saa tano", "in an hour", "naeza kuja saa hii?", "saa moja"} {
		for _, slot := range []string{understand.KindService, understand.SlotTime, understand.SlotConfirm} {
			if e, ok := understand.Tier0(timed(text, slot)).Entities[understand.KindService]; ok {
				t.Errorf("%q, asked for the %s: found service %+v", text, slot, e)
			}
		}
	}
}

func TestNumberBesideItsServiceTellsItApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"I want a massage 60 on tuesday at 10am": "m60", "massage 90 monday 10am": "m90", "massage 60 with amina": "m60",
		"masage 60 kesho": "m60", "massage ya saa moja kesho": "m60", "massage of 90 mins": "m90",
	} {
		in := understand.Tier0(timed(text))
		if got := in.Entities[understand.KindService].ID; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if text == "massage ya saa moja kesho" && (in.When.Time != "" || len(in.When.Options) > 0) {
			t.Errorf("%q: a length was read as a time: %+v", text, in.When)
		}
	}
	if e := understand.Tier0(timed("massage at 60 Moi Avenue")).Entities[understand.KindService]; e.ID != "" {
		t.Errorf("an address picked a service: %+v", e)
	}
}

func TestPlaceInTheListIsNoDate(t *testing.T) {
	t.Parallel()
	req := asked("2", understand.SlotDate)
	req.Expect.Choices = []message.Choice{{ID: "on/a", Title: "Today"}, {ID: "on/b", Title: "Tomorrow"}, {ID: "soonest", Title: "First free time"}}
	in := understand.Tier0(req)
	if in.Choice != "on/b" || !in.When.Empty() {
		t.Errorf("got choice %q and %+v", in.Choice, in.When)
	}
}

func TestYesThatRepeatsTheQuestion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text   string
		intent graph.Intent
		want   graph.Answer
	}{
		{"ndio ghairi", graph.Cancel, graph.Yes},
		{"yes cancel it", graph.Cancel, graph.Yes},
		{"yes please cancel my booking", graph.Cancel, graph.Yes},
		{"ndiyo ihamishe", graph.Reschedule, graph.Yes},
		{"ok tuma", graph.Book, graph.Yes},
		{"yes send the request", graph.Book, graph.Yes},
		{"yes cancel", graph.Book, graph.NoAnswer},
		{"cancel", graph.Cancel, graph.NoAnswer},
		{"yes, cancel it?", graph.Cancel, graph.NoAnswer},
	} {
		req := asked(row.text, understand.SlotConfirm)
		req.Expect.Intent = row.intent
		if got := understand.Tier0(req).Answer; got != row.want {
			t.Errorf("%q to %s: got %q, want %q", row.text, row.intent, got, row.want)
		}
	}
}

func TestWaysToAskForOnesBookings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"nafasi zangu", "nafasi yangu ni lini", "miadi yangu", "nimebook lini", "niangalie miadi yangu", "booking zangu"} {
		req := asked(text, understand.SlotName)
		if in := understand.Tier0(req); in.Intent != graph.MyBookings || in.Confidence < understand.Sure || in.Name != "" {
			t.Errorf("%q: got %s %.2f name %q", text, in.Intent, in.Confidence, in.Name)
		}
	}
}

func TestWhatIsNoName(t *testing.T) {
	t.Parallel()
	if in := understand.Tier0(asked("Eve", understand.SlotName)); in.Name != "Eve" || !in.When.Empty() {
		t.Errorf("Eve: got %q, %+v", in.Name, in.When)
	}
	for _, text := range []string{"same time next week", "Same time next week", "nafasi zangu"} {
		if in := understand.Tier0(asked(text, understand.SlotName)); in.Name != "" {
			t.Errorf("%q: took the name %q", text, in.Name)
		}
	}
	for text, want := range map[string]string{
		"badilisha jina iwe Kevin Omondi": "Kevin Omondi", "change the name to Kevin": "Kevin", "the name should be Wanjiku": "Wanjiku",
	} {
		if got := understand.Tier0(asked(text, understand.SlotConfirm)).Name; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestQuestionAboutBotIsNoRequestForAPerson(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"am I talking to a real person?", "hello, am i chatting with a real person"} {
		if understand.HumanRequest(text) {
			t.Errorf("%q asks about the assistant, not for a person", text)
		}
	}
	if !understand.HumanRequest("are you a bot? let me talk to a real person") {
		t.Error("the request behind the question was missed")
	}
}

func TestShortHandQuestions(t *testing.T) {
	t.Parallel()
	for text, topic := range map[string]string{
		"hw much 4 facial": understand.TopicPrice, "where r u guys": understand.TopicLocation, "can i get a refund if i cancel": understand.TopicPolicy,
	} {
		if in := understand.Tier0(typed(text)); in.Intent != graph.Question || in.Topic != topic || in.Confidence < understand.Sure {
			t.Errorf("%q: got %s %s %.2f", text, in.Intent, in.Topic, in.Confidence)
		}
	}
}

func TestAskingWhatToBring(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"do I need to bring a towel?", "what should I wear", "nibebe nini?"} {
		if in := understand.Tier0(typed(text)); in.Intent != graph.Question || in.Confidence < understand.Sure {
			t.Errorf("%q: got %s %.2f", text, in.Intent, in.Confidence)
		}
	}
}

func TestServiceThatIsCorrected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello\nI'd like a massage 60\nactually facial\nthursday 2pm": "facial", "facial, sorry, massage 90 min": "m90", "samahani, nataka facial": "facial",
	} {
		if e := understand.Tier0(timed(text)).Entities[understand.KindService]; e.ID != want {
			t.Errorf("%q: got %+v, want %s", text, e, want)
		}
	}
}

func TestNamesAsKenyansGiveThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Wambui wa Kamau": "Wambui wa Kamau", "ni mimi Jay": "Jay", "niite Baraka": "Baraka", "jina yangu ni Akinyi": "Akinyi",
	} {
		if got := understand.Tier0(asked(text, understand.SlotName)).Name; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"Una", "Leo", "Amos wa Njoroge", "Zuhura Mwangi"} {
		req := asked(text, understand.SlotName)
		req.Previous = "en"
		if in := understand.Tier0(req); in.Language != "en" || in.Name != text || !in.When.Empty() {
			t.Errorf("%q: a name changed the language to %s or was not taken: %q %+v", text, in.Language, in.Name, in.When)
		}
	}
	in := understand.Tier0(timed("book massage 60 saturday 28 nov 11am, Joyce Auma 0712345678"))
	if in.Name != "Joyce Auma" || in.Phone != "+254712345678" {
		t.Errorf("got %q %q", in.Name, in.Phone)
	}
	if in := understand.Tier0(timed("call Grace 0712345678")); in.Name != "" {
		t.Errorf("took the name %q", in.Name)
	}
}

func TestMorningIsAnAnswerToWhen(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"morning", "afternoon please", "evening"} {
		if in := understand.Tier0(asked(text, understand.SlotTime)); in.Intent != graph.Book || in.When.From == "" {
			t.Errorf("%q: got %s %+v", text, in.Intent, in.When)
		}
		if in := understand.Tier0(typed("good " + text)); text != "afternoon please" && in.Intent != graph.Greeting {
			t.Errorf("good %q: got %s", text, in.Intent)
		}
	}
	req := asked("good morning", understand.SlotTime)
	if in := understand.Tier0(req); in.Intent != graph.Greeting {
		t.Errorf("good morning: got %s", in.Intent)
	}
}

func TestFoldedHandsThank(t *testing.T) {
	t.Parallel()
	if in := understand.Tier0(typed("🙏🏾🙏🏾")); in.Intent != graph.Thanks {
		t.Errorf("got %s", in.Intent)
	}
	if in := understand.Tier0(asked("🙏", understand.SlotTime)); in.Intent != graph.Unknown {
		t.Errorf("in the middle: got %s", in.Intent)
	}
}

func TestSendItIsAYesToShallISendIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"tuma", "send it please", "tuma tafadhali"} {
		if got := understand.Tier0(asked(text, understand.SlotConfirm)).Answer; got != graph.Yes {
			t.Errorf("%q: got %q", text, got)
		}
		if got := understand.Tier0(asked(text, understand.SlotName)).Answer; got == graph.Yes {
			t.Errorf("%q is no yes where none was asked for", text)
		}
	}
}

func TestHourThatIsAskedAbout(t *testing.T) {
	t.Parallel()
	if in := understand.Tier0(asked("what about 3?", understand.SlotTime)); len(in.When.Options) != 2 {
		t.Errorf("got %+v", in.When)
	}
}

func TestAskingWhenItIsOpen(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"when is the spa open?", "when are you open"} {
		if in := understand.Tier0(typed(text)); in.Intent != graph.Question || in.Topic != understand.TopicHours {
			t.Errorf("%q: got %s %s", text, in.Intent, in.Topic)
		}
	}
}
