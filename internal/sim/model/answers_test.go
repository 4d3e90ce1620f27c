package model_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const intentSchema = `{"type":"object","additionalProperties":false,
"required":["reasoning","intent","confidence","language","language_confidence","sentiment"],
"properties":{"reasoning":{"type":"string"},
"intent":{"type":"string","enum":["book","reschedule","cancel","my_bookings","question","greeting","thanks","affirm","deny","human","complaint","feedback","unknown"]},
"confidence":{"type":"number","minimum":0,"maximum":1},
"language":{"type":"string","enum":["en","sw","other"]},
"language_confidence":{"type":"number","minimum":0,"maximum":1},
"sentiment":{"type":"string","enum":["positive","neutral","negative"]}}}`

const slot = `{"type":"object","additionalProperties":false,"required":["value","confidence"],"properties":{"value":{"type":["string","null"]},"confidence":{"type":"number"}}}`

const slotSchema = `{"type":"object","additionalProperties":false,
"required":["reasoning","service","staff","date","time","time_from","time_to","name"],
"properties":{"reasoning":{"type":"string"},"service":` + slot + `,"staff":` + slot + `,"date":` + slot + `,"time":` + slot +
	`,"time_from":` + slot + `,"time_to":` + slot + `,"name":` + slot + `}}`

const textSchema = `{"type":"object","additionalProperties":false,"required":["reasoning","text","confidence"],
"properties":{"reasoning":{"type":"string"},"text":{"type":"string"},"confidence":{"type":"number"}}}`

// spaSystem is a system prompt as any product might write one. 21 November
// 2026 is a Saturday.
const spaSystem = `You sort messages. report the business's language, en, with low confidence.
Now: Saturday 2026-11-21 14:05
The customer was last asked: EXPECTING
Services:
- Swedish massage (60 min, KES 3,500)
- Deep tissue massage (90 min, KES 5,000)
- Facial (45 min, KES 2,500)
- Manicure (40 min, KES 1,200)
Staff:
- Grace Wanjiru
- Amina
The rest is the customer's.`

func spa(expecting string) string { return strings.Replace(spaSystem, "EXPECTING", expecting, 1) }

// ask puts a question to the OpenAI endpoint and returns the model's answer.
func (l *lab) ask(t *testing.T, system, text, schema string) map[string]any {
	t.Helper()
	status, body := l.post(t, "/openai/v1/chat/completions", openAIBody(system, text, schema), bearer)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	var resp struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	decode(t, body, &resp)
	var out map[string]any
	decode(t, []byte(resp.Choices[0].Message.Content), &out)
	return out
}

func TestIntents(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text, expecting  string
		intent, language string
	}{
		{"Hi, I'd like a 90 minute massage tomorrow afternoon", "", "book", "en"},
		{"Habari, nataka massage kesho saa tisa", "", "book", "sw"},
		{"Any space on Friday?", "", "book", "en"},
		{"naeza pata nafasi kesho?", "", "book", "sw"},
		{"nataka kubook facial", "", "book", "sw"},
		{"Thursday at 4pm with Amina", "which day suits", "book", "en"},
		{"can we change the time to 4pm?", "a yes to the summary", "book", "en"},
		{"Can I reschedule my appointment to Friday?", "", "reschedule", "en"},
		{"Naomba kubadilisha miadi yangu hadi Ijumaa", "", "reschedule", "sw"},
		{"Please cancel my booking", "", "cancel", "en"},
		{"Naomba kufuta miadi yangu", "", "cancel", "sw"},
		{"my bookings", "", "my_bookings", "en"},
		{"Miadi yangu ni lini?", "", "my_bookings", "sw"},
		{"How much is a facial?", "", "question", "en"},
		{"Mko wapi?", "", "question", "sw"},
		{"Mnafungua saa ngapi Jumapili?", "", "question", "sw"},
		{"Bei ya massage ni ngapi?", "", "question", "sw"},
		{"Are you a robot?", "", "question", "en"},
		{"Habari yako", "", "greeting", "sw"},
		{"Good morning", "", "greeting", "en"},
		{"Asante sana", "", "thanks", "sw"},
		{"Thanks, see you", "", "thanks", "en"},
		{"Ndio", "", "affirm", "sw"},
		{"Yes please, go ahead", "", "affirm", "en"},
		{"Hapana", "", "deny", "sw"},
		{"No, not that one", "", "deny", "en"},
		{"I need to speak to someone", "", "human", "en"},
		{"Nataka kuongea na mtu", "", "human", "sw"},
		{"This is the worst service, I want a refund", "", "complaint", "en"},
		{"Huduma yenu ni mbaya sana, nimekasirika", "", "complaint", "sw"},
		{"Can I get a refund if I cancel?", "", "cancel", "en"},
		{"You people are useless", "", "complaint", "en"},
		{"I loved the massage, it was great", "", "feedback", "en"},
		{"Wanjiku Kamau", "their name", "book", "en"},
		{"purple elephants dancing", "", "unknown", "en"},
	}
	l := newLab(t)
	for _, row := range rows {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			got := l.ask(t, spa(row.expecting), tagged(row.text), intentSchema)
			if got["intent"] != row.intent {
				t.Errorf("intent = %v, want %v (%v)", got["intent"], row.intent, got["reasoning"])
			}
			if got["language"] != row.language {
				t.Errorf("language = %v, want %v", got["language"], row.language)
			}
		})
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	type slots = map[string]string
	rows := []struct {
		text, expecting string
		want            slots
	}{
		{"Hi, I'd like a 90 minute massage tomorrow afternoon", "", slots{"service": "Deep tissue massage", "date": "2026-11-22", "time_from": "12:00", "time_to": "17:00"}},
		{"Habari, nataka massage kesho saa tisa", "", slots{"date": "2026-11-22", "time": "15:00"}},
		{"massage ya swedish kesho saa tisa na nusu mchana na Grace", "", slots{"service": "Swedish massage", "staff": "Grace Wanjiru", "date": "2026-11-22", "time": "15:30"}},
		{"Facial on Friday at 4pm", "", slots{"service": "Facial", "date": "2026-11-27", "time": "16:00"}},
		{"Ijumaa saa nne asubuhi", "", slots{"date": "2026-11-27", "time": "10:00"}},
		{"next Friday at noon", "", slots{"date": "2026-11-27", "time": "12:00"}},
		{"leo jioni", "", slots{"date": "2026-11-21", "time_from": "16:00", "time_to": "19:00"}},
		{"kesho kutwa saa mbili usiku", "", slots{"date": "2026-11-23", "time": "20:00"}},
		{"tarehe 25 saa kumi na moja jioni", "", slots{"date": "2026-11-25", "time": "17:00"}},
		{"28th November 10:30", "", slots{"date": "2026-11-28", "time": "10:30"}},
		{"3/12 at half past 3 pm", "", slots{"date": "2026-12-03", "time": "15:30"}},
		{"anytime after 3pm on Monday", "", slots{"date": "2026-11-23", "time_from": "15:00"}},
		{"Jumatatu kabla ya saa sita mchana", "", slots{"date": "2026-11-23", "time_to": "12:00"}},
		{"between 2pm and 5pm tomorrow", "", slots{"date": "2026-11-22", "time_from": "14:00", "time_to": "17:00"}},
		{"Tuesday, no, Thursday", "", slots{"date": "2026-11-26"}},
		{"Thursday, not Tuesday", "", slots{"date": "2026-11-26"}},
		{"manicure na mtu yeyote, si Grace", "", slots{"service": "Manicure"}},
		{"kucha kesho saa tatu kasoro robo asubuhi", "", slots{"service": "Manicure", "date": "2026-11-22", "time": "08:45"}},
		{"Naitwa Wanjiku Kamau", "", slots{"name": "Wanjiku Kamau"}},
		{"My name is Jane and I want a facial", "", slots{"name": "Jane", "service": "Facial"}},
		{"Wanjiku Kamau", "their name", slots{"name": "Wanjiku Kamau"}},
		{"Grace", "service, staff, name", slots{"staff": "Grace Wanjiru"}},
		{"Facial", "service, when, name", slots{"service": "Facial"}},
		{"31/02 at 3pm", "", slots{"time": "15:00"}},
		{"Good afternoon, how are you", "", slots{}},
	}
	l := newLab(t)
	for _, row := range rows {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			got := slots{}
			for name, v := range l.ask(t, spa(row.expecting), tagged(row.text), slotSchema) {
				if pair, ok := v.(map[string]any); ok {
					if value, ok := pair["value"].(string); ok {
						got[name] = value
					}
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

const shapeSystem = `Language: LANG
Facts:
- A facial costs KES 2,500.
- We are on the second floor of Yaya Centre, Kilimani.
- We open Monday to Saturday, 09:00 to 19:00.

The customer's words follow.`

func TestTheShaperAnswersWithTheFactsWordForWord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	system := strings.Replace(shapeSystem, "LANG", "en", 1)
	for question, fact := range map[string]string{
		"How much is a facial?": "A facial costs KES 2,500.",
		"mko wapi?":             "We are on the second floor of Yaya Centre, Kilimani.",
		"When do you open?":     "We open Monday to Saturday, 09:00 to 19:00.",
	} {
		got := l.ask(t, system, tagged(question), textSchema)
		if text, _ := got["text"].(string); !strings.Contains(text, fact) || strings.Count(text, ".") > 1 {
			t.Errorf("%s: got %q, want the fact %q alone", question, text, fact)
		}
	}
	got := l.ask(t, strings.Replace(shapeSystem, "LANG", "sw", 1), tagged("Do you sell giraffes?"), textSchema)
	if c, _ := got["confidence"].(float64); c >= 0.5 || !strings.Contains(got["text"].(string), "Samahani") {
		t.Errorf("an unanswered question: got %v, want an apology in Swahili below 0.5", got)
	}
}

func TestTheRephraserKeepsTheDraftAndEveryFact(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	system := "Language: sw\n<draft>\nUngependa siku gani?\n</draft>\n<facts>\n- Deep tissue massage\n</facts>"
	text, _ := l.ask(t, system, tagged("mmh"), textSchema)["text"].(string)
	for _, want := range []string{"Ungependa siku gani?", "Deep tissue massage"} {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want it to hold %q", text, want)
		}
	}
}

func TestAnUnknownSchemaIsFilledWithPlainValues(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	schema := `{"type":"object","additionalProperties":false,"required":["b","a","c","d"],"$defs":{"n":{"type":"integer"}},
	"properties":{"b":{"type":"string","enum":["x","y"]},"a":{"anyOf":[{"type":"number"},{"type":"null"}]},"c":{"type":"array","items":{"type":"string"}},"d":{"$ref":"#/$defs/n"}}}`
	got, _ := json.Marshal(l.ask(t, "", "anything", schema))
	if want := `{"a":null,"b":"x","c":[],"d":0}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
