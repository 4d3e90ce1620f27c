package understand_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/understand"
)

func TestHumanRequest(t *testing.T) {
	t.Parallel()
	asks := []string{
		"can I speak to a human", "I want to talk to someone", "let me talk to the team", "Agent please", "human", "connect me to customer service",
		"customer care", "please call me", "nipigie simu tafadhali", "mnipigie", "nataka meneja", "nataka mtu", "naomba kuongea na mhudumu",
		"niunganishe na mtu", "have someone contact me", "can someone call me back", "speak with staff", "I need to speak with the manager now",
		"sitaki kuongea na robot", "I don't want to talk to a bot", "stop, real person please", "transfer me to an agent",
		"is there someone I can talk to", "ningependa kuzungumza na binadamu", "huduma kwa wateja", "naweza ongea na mtu", "niongee na meneja",
		"nataka kuongelesha mtu", "talk to a real person", "get me a manager", "can I get a representative", "operator",
		"Nipe mtu wa kuongea naye", "put me through to reception", "I'd like to chat with a live agent", "I want a human",
		"let someone from the team reach me", "give me someone to talk to", "call me back", "are you a bot? let me talk to a person",
		"massage kesho\nau nipigieni simu", "I WANT TO TALK TO A PERSON!!!", "customer support",
	}
	for _, text := range asks {
		if !understand.HumanRequest(text) {
			t.Errorf("%q asks for a person", text)
		}
	}
	doesNot := []string{
		"are you a real person?", "are you human?", "am I talking to a human?", "is this a bot?", "wewe ni mtu?", "naongea na mtu au roboti?",
		"call me John", "nataka mtu wa kuninyoa", "book me with someone good", "I need someone to do my hair", "can someone help me book",
		"massage for two people", "is anyone available tomorrow", "I want to talk about my booking", "don't call me",
		"I don't want to talk to a human", "cancel", "the staff were great", "your team is great", "who is the manager?",
		"does the manager work on Sunday", "mtu mmoja", "watu wawili", "simu yangu ni 0712345678", "nitapiga simu", "I talked to someone yesterday",
		"my phone is broken", "any staff", "with any staff member", "the person who did my nails was great", "I was talking to Grace", "", "👍",
	}
	for _, text := range doesNot {
		if understand.HumanRequest(text) {
			t.Errorf("%q does not ask for a person", text)
		}
	}
}

func TestAboutBotIsNoRequest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"are you a bot", "are you a real human?", "is this a robot", "am I chatting with a computer?", "wewe ni binadamu?", "wewe ni roboti",
		"ni mtu au mashine?", "naongea na nani", "are you AI?", "you're a bot right?", "human or bot?",
	} {
		in := understand.Tier0(typed(text))
		if !in.AboutBot || in.Intent == "human" {
			t.Errorf("%q: got about_bot %v intent %s", text, in.AboutBot, in.Intent)
		}
	}
	for _, text := range []string{"are you open?", "is this the spa?", "who will do my massage", "you are great"} {
		if in := understand.Tier0(typed(text)); in.AboutBot {
			t.Errorf("%q does not ask about the assistant", text)
		}
	}
}
