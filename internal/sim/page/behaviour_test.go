package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ratiba/ratiba/internal/sim/page/pagetest"
)

func TestSendByKeyboardAlone(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)

	b.Press(t, kb.Tab, kb.Enter) // the skip link
	if got := b.Focused(t); got != "customer-input" {
		t.Fatalf("after the skip link: focus on %q, want customer-input", got)
	}
	b.Press(t, "Habari, nataka massage kesho saa tisa", kb.Enter)

	body := f.next(t, "/sim/whatsapp/inbound")
	if body["text"] != "Habari, nataka massage kesho saa tisa" || body["from"] != customer || body["to"] != spaNumber {
		t.Errorf("posted %v, want the text from %s to %s", body, customer, spaNumber)
	}
	b.Shows(t, "customer-messages", "nataka massage kesho")
	b.Until(t, `document.querySelector("[data-testid=message-out]").dataset.status === "delivered"`)
	if got := b.Focused(t); got != "customer-input" {
		t.Errorf("after sending: focus on %q, want customer-input", got)
	}
	if got := pagetest.Eval[string](t, b, `document.activeElement.value`); got != "" {
		t.Errorf("after sending: the box holds %q, want nothing", got)
	}

	f.readAll(customer)
	b.Until(t, `document.querySelector("[data-testid=message-out] .ticks [aria-label=Read]")`)
	f.setTyping(customer, true)
	b.Until(t, `document.querySelector("[data-testid=customer-typing]")`)
	f.deliver(customer, object{"type": "text", "text": "Karibu! Mimi ni *Zuri*, msaidizi wa AI wa _Amani Spa_."})
	b.Shows(t, "customer-messages", "Mimi ni Zuri, msaidizi wa AI wa Amani Spa.")
	if got := pagetest.Eval[string](t, b, `document.querySelector(".in .text strong").textContent`); got != "Zuri" {
		t.Errorf("bold text is %q, want Zuri", got)
	}
	if pagetest.Eval[bool](t, b, `Boolean(document.querySelector("[data-testid=customer-typing]"))`) {
		t.Error("the typing indicator stays after the message came")
	}
	b.Quiet(t)
}

func TestAdminWritesAndAFailedMessageIsSentAgain(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	f.refuseNext("/sim/whatsapp/inbound", "No business number is set up here yet.")
	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("admin-input"))))
	b.Press(t, "What is today like?")
	b.Click(t, pagetest.At("admin-send"))
	b.Until(t, `document.querySelector("#phone-admin [data-status=failed]")`)
	b.Until(t, `document.querySelector("#toast").textContent.includes("No business number")`)
	f.next(t, "/sim/whatsapp/inbound")

	f.refuseNext("/sim/whatsapp/inbound", "")
	b.Click(t, pagetest.At("retry"))
	if body := f.next(t, "/sim/whatsapp/inbound"); body["from"] != manager || body["text"] != "What is today like?" {
		t.Errorf("posted %v, want the text again from %s", body, manager)
	}
	b.Until(t, `document.querySelector("#phone-admin [data-status=delivered]")`)
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll("#phone-admin .out").length`); n != 1 {
		t.Errorf("the chat shows the message %d times, want once", n)
	}
}

func TestSuggestionIsSentByTap(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	b.Click(t, pagetest.At("suggestion"))
	if got := f.next(t, "/sim/whatsapp/inbound")["text"]; got != "Hi, I'd like a 90 minute massage tomorrow afternoon" {
		t.Errorf("the suggestion sent %q", got)
	}
	b.Until(t, `!document.querySelector("[data-testid=suggestion]")`)
	b.Quiet(t)
}

func TestReplyButtonIsTapped(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	f.deliver(customer, object{
		"id": "wamid.ask", "type": "buttons", "text": "Shall I book it?",
		"buttons": []object{{"id": "yes", "title": "Yes, book it"}, {"id": "no", "title": "No"}},
	})
	b.Click(t, `[data-testid="choice"][data-choice-id="yes"]`)

	body := f.next(t, "/sim/whatsapp/inbound")
	button, _ := body["button"].(object)
	if button["id"] != "yes" || button["title"] != "Yes, book it" || body["reply_to"] != "wamid.ask" {
		t.Errorf("posted %v, want the button yes in reply to wamid.ask", body)
	}
	b.Shows(t, "message-out", "Yes, book it")
	b.Shows(t, "message-out", "Shall I book it?") // quoted
	if !pagetest.Eval[bool](t, b, `document.querySelector("[data-choice-id=yes]").disabled`) {
		t.Error("a button stays after its tap, want it spent")
	}
	if got := b.Focused(t); got != "customer-input" {
		t.Errorf("after the tap: focus on %q, want customer-input", got)
	}
	b.Quiet(t)
}

func TestListIsOperatedByKeyboard(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	f.deliver(customer, object{
		"id": "wamid.list", "type": "list", "text": "When suits you?", "list_button": "See times",
		"list": []object{
			{"title": "Tomorrow", "rows": []object{{"id": "t1", "title": "14:00", "description": "with Grace"}, {"id": "t2", "title": "15:00"}}},
			{"title": "Sunday", "rows": []object{{"id": "t3", "title": "10:00"}}},
		},
	})
	b.Until(t, `document.querySelector("[data-testid=open-list]")`)

	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("open-list"))))
	b.Press(t, kb.Enter)
	b.Until(t, `document.querySelector("[role=dialog]")`)
	if got := b.Focused(t); got != "choice t1" {
		t.Errorf("the open list has the focus on %q, want choice t1", got)
	}
	b.Press(t, kb.Escape)
	b.Until(t, `!document.querySelector("[role=dialog]")`)
	if got := b.Focused(t); got != "open-list" {
		t.Errorf("after Escape: focus on %q, want open-list", got)
	}

	b.Press(t, kb.Enter)
	b.Until(t, `document.querySelector("[role=dialog]")`)
	b.Press(t, kb.ArrowDown, kb.ArrowDown, kb.Enter)
	body := f.next(t, "/sim/whatsapp/inbound")
	row, _ := body["list"].(object)
	if row["id"] != "t3" || row["title"] != "10:00" || body["reply_to"] != "wamid.list" {
		t.Errorf("posted %v, want the row t3 in reply to wamid.list", body)
	}
	if got := b.Focused(t); got != "customer-input" {
		t.Errorf("after the choice: focus on %q, want customer-input", got)
	}
	b.Quiet(t)
}

func TestPINPrompt(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)

	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("customer-input"))))
	f.prompt(customer, 1500)
	b.Shows(t, "mpesa-dialog", "KES 1,500")
	if got := b.Focused(t); got != "mpesa-pin" {
		t.Errorf("the prompt has the focus on %q, want mpesa-pin", got)
	}
	b.Press(t, "12", kb.Enter)
	b.Shows(t, "mpesa-dialog", "four digits")
	b.Press(t, "34", kb.Enter)
	if body := f.next(t, "/sim/daraja/pin"); body["pin"] != "1234" || body["phone"] != customer {
		t.Errorf("posted %v, want the PIN 1234 of %s", body, customer)
	}
	b.Until(t, `!document.querySelector("[data-testid=mpesa-dialog]")`)
	if got := b.Focused(t); got != "customer-input" {
		t.Errorf("after the PIN: focus on %q, want customer-input", got)
	}

	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("admin-input"))))
	f.prompt(customer, 700)
	b.Shows(t, "mpesa-dialog", "KES 700")
	if got := b.Focused(t); got != "admin-input" {
		t.Errorf("a prompt took the focus from the admin, who has %q", got)
	}
	b.Click(t, pagetest.At("mpesa-cancel"))
	if body := f.next(t, "/sim/daraja/pin"); body["cancel"] != true {
		t.Errorf("posted %v, want cancel", body)
	}
	b.Quiet(t)
}

func TestPromptThatIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	f.refuseNext("/sim/daraja/pin", "The prompt is gone: its time was over.")
	f.prompt(customer, 900)
	b.Until(t, `document.querySelector("[data-testid=mpesa-dialog]")`)
	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("mpesa-pin"))))
	b.Press(t, "1234", kb.Enter)
	b.Shows(t, "mpesa-dialog", "its time was over")
}

// Whatever customers and businesses write, it is text.
func TestHostileTextIsNotExecuted(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	const hostile = `*<img src=x onerror="window.pwned=1">* <script>window.pwned=1</script> <b>javascript:</b>`

	f.deliver(customer, object{
		"type": "list", "text": hostile, "header": hostile, "footer": hostile, "list_button": hostile,
		"list": []object{{"title": hostile, "rows": []object{{"id": `"><img src=x>`, "title": hostile, "description": hostile}}}},
	})
	f.deliver(customer, object{"type": "link", "text": hostile, "link": object{"title": hostile, "url": "javascript:window.pwned=1"}})
	f.deliver(manager, object{
		"type": "template", "text": hostile,
		"template": object{"name": hostile, "language": hostile, "parameters": []string{hostile}, "buttons": []object{{"id": "x", "title": hostile}}},
	})
	f.emit(object{"event_type": hostile, "stage": hostile, "turn_id": hostile, "duration_ms": hostile, "cost_usd": hostile})
	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("customer-input"))))
	b.Press(t, hostile, kb.Enter)

	f.deliver(customer, object{"type": "text", "text": strings.Repeat("*a _b ", 2000) + "done"})
	b.Shows(t, "customer-messages", "b done")
	b.Shows(t, "message-out", `<img src=x onerror="window.pwned=1">`)
	b.Shows(t, "admin-messages", "<script>window.pwned=1</script>")
	b.Shows(t, "event-log", `<script>window.pwned=1</script>`)
	b.Click(t, pagetest.At("open-list"))
	b.Shows(t, "list-sheet", `<img src=x onerror="window.pwned=1">`)
	b.Press(t, kb.Enter)
	b.Click(t, "#event-log summary")
	b.Until(t, `document.querySelector("#event-log pre")`)

	if pagetest.Eval[bool](t, b, `"pwned" in window`) {
		t.Error("hostile text was executed")
	}
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll("main img, main script, main a, .phone b").length`); n != 0 {
		t.Errorf("hostile text became %d elements, want none", n)
	}
	b.Quiet(t)
}

func TestEventLogFiltersPausesAndStaysBounded(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	rows := `document.querySelectorAll("#event-log > li:not([hidden])").length`

	f.emit(object{"event_type": "turn.committed", "turn_id": "01T", "stage": "commit", "duration_ms": 4.2})
	f.emit(object{"event_type": "llm.call", "turn_id": "01T", "stage": "understand", "duration_ms": 612, "cost_usd": 0.00006, "model": "small"})
	b.Shows(t, "event-log", "turn.committed")
	b.Shows(t, "event-log", "$0.00006")

	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("log-filter"))))
	b.Press(t, "llm")
	b.Until(t, rows+" === 1")
	b.Press(t, kb.Escape)
	b.Until(t, rows+" === 2")

	b.Click(t, pagetest.At("log-pause"))
	f.emit(object{"event_type": "turn.while_paused"})
	b.Until(t, `document.querySelector("#log-summary").textContent.includes("1 waiting")`)
	if got := pagetest.Eval[int](t, b, rows); got != 2 {
		t.Errorf("a paused log shows %d events, want 2", got)
	}
	b.Click(t, pagetest.At("log-pause"))
	b.Shows(t, "event-log", "turn.while_paused")

	for i := range 700 {
		f.emit(object{"event_type": "flood", "n": i})
	}
	b.Until(t, `document.querySelector("#log-summary").textContent.includes("703 events")`)
	if got := pagetest.Eval[int](t, b, `document.querySelectorAll("#event-log > li").length`); got != 500 {
		t.Errorf("the log holds %d rows, want 500", got)
	}
	b.Quiet(t)
}

func TestHeaderControls(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)

	b.Shows(t, "clock-now", "12:04:")
	b.Click(t, `[data-advance="3600"]`)
	if body := f.next(t, "/sim/clock/advance"); body["seconds"] != 3600.0 {
		t.Errorf("posted %v, want 3600 seconds", body)
	}
	b.Shows(t, "clock-now", "13:04:")

	b.Click(t, pagetest.At("faults-toggle"))
	b.Press(t, kb.Tab, kb.Enter) // from the first choice to its button
	if body := f.next(t, "/sim/daraja/next"); body["outcome"] != "cancelled" || body["phone"] != customer {
		t.Errorf("posted %v, want cancelled for %s", body, customer)
	}
	b.Click(t, "#fault-whatsapp button")
	if body := f.next(t, "/sim/whatsapp/next"); body["code"] != 130429.0 || body["mode"] != "http" {
		t.Errorf("posted %v, want code 130429", body)
	}
	b.Click(t, "#fault-model button")
	if body := f.next(t, "/sim/llm/next"); body["fault"] != "429" {
		t.Errorf("posted %v, want 429", body)
	}

	b.Click(t, pagetest.At("new-customer"))
	number := `document.querySelector("[data-testid=customer-phone-number]").value`
	b.Until(t, number+" !== '+254700000001'")
	if got := pagetest.Eval[string](t, b, number); len(got) != len(customer) || !strings.HasPrefix(got, "+2547") {
		t.Errorf("the new customer's number is %q, want a Kenyan mobile", got)
	}

	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("tenant-select"))))
	b.Press(t, kb.ArrowDown)
	b.Shows(t, "suggestion", "kitchen tap")
	b.Quiet(t)
}

func TestHistoryIsThereAfterAReload(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("customer-input"))))
	b.Press(t, "first", kb.Enter)
	f.next(t, "/sim/whatsapp/inbound")
	f.deliver(customer, object{"type": "text", "text": "second"})
	b.Shows(t, "customer-messages", "second")
	b.Do(t, chromedp.Reload())
	b.Shows(t, "customer-messages", "second")
	got := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("#phone-customer .text")].map((p) => p.textContent)`)
	if strings.Join(got, ",") != "first,second" {
		t.Errorf("after a reload the chat is %v, want first, second", got)
	}
	b.Quiet(t)
}

func TestPageSurvivesARestartOfTheDemo(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	f.deliver(customer, object{"type": "text", "text": "before"})
	b.Shows(t, "customer-messages", "before")

	f.restart(t)
	b.Until(t, `!document.querySelector("#phone-customer").textContent.includes("before")`)
	f.deliver(customer, object{"type": "text", "text": "after"})
	b.Shows(t, "customer-messages", "after")
	f.emit(object{"event_type": "turn.after_restart"})
	b.Shows(t, "event-log", "turn.after_restart")
	b.Until(t, `document.querySelector("#offline").hidden`)
}

func TestNarrowScreenHasTabs(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 390, 844)
	if got := pagetest.Eval[float64](t, b, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("the page is %v px wide on a screen of 390", got)
	}
	visible := func(id string) bool {
		return pagetest.Eval[bool](t, b, fmt.Sprintf("document.getElementById(%q).offsetParent !== null", id))
	}
	if !visible("panel-customer") || visible("panel-admin") || visible("panel-log") {
		t.Error("at first not only the customer's phone is seen")
	}
	f.deliver(manager, object{"type": "text", "text": "New booking"})
	b.Until(t, `document.querySelector("#tab-admin .badge").textContent === "1"`)
	b.Do(t, chromedp.Focus(chromedp.CSS("#tab-customer")))
	b.Press(t, kb.ArrowRight)
	b.Until(t, `document.querySelector("#panel-admin").offsetParent !== null`)
	if visible("panel-customer") {
		t.Error("the customer's phone stays beside the admin's")
	}
	if !pagetest.Eval[bool](t, b, `document.querySelector("#tab-admin .badge").hidden`) {
		t.Error("the badge stays on the tab that is looked at")
	}
	b.Quiet(t)
}

// Everything that can be operated has a name that a screen reader can say.
func TestControlsHaveNames(t *testing.T) {
	t.Parallel()
	f := startFake(t)
	b := pagetest.Open(t, f.url, 1400, 900)
	f.deliver(customer, object{
		"type": "list", "text": "When?", "list_button": "Times", "list": []object{{"rows": []object{{"id": "a", "title": "9:00"}}}},
	})
	b.Click(t, pagetest.At("open-list"))
	unnamed := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("button, input, select, textarea, a")].filter((node) =>
		!(node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length)).map((node) => node.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("without a name: %v", unnamed)
	}
	b.Quiet(t)
}
