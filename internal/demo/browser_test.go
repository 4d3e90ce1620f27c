package demo_test

import (
	"flag"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/sim/page/pagetest"
)

var pictureFile = flag.String("picture", "", "file that gets the README's picture of the demo page")

// TestBrowserPhonePage takes a customer through a paid booking on the demo's page, as
// people see it: typing, tapping a row of the list, the PIN on the phone, and
// the admin's phone beside it. With -picture FILE it also takes the
// README's picture.
func TestBrowserPhonePage(t *testing.T) {
	t.Parallel()
	for _, story := range []struct{ name, first, confirmed string }{
		{"English", "Hi, I'd like a 90 minute massage tomorrow afternoon", "Your booking is confirmed"},
		{"Swahili", "Habari, nataka massage ya dakika 90 kesho mchana", "imethibitishwa"},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			d := start(t, func(o *demo.Options) { o.Clock = nil })
			b := pagetest.Open(t, d.URL+"/sim/", 1400, 900)
			say := func(text string) {
				b.Do(t, chromedp.Focus(chromedp.CSS(pagetest.At("customer-input"))))
				b.Do(t, chromedp.SendKeys(chromedp.CSS(pagetest.At("customer-input")), text+"\r"))
			}
			say(story.first)
			b.Shows(t, "customer-messages", "Savannah")
			b.Click(t, pagetest.At("open-list"))
			b.Click(t, `[data-testid="list-sheet"] [data-testid="choice"][data-choice-id^="slot/"]`)
			b.Until(t, `[...document.querySelectorAll('[data-testid=message-in]')].length >= 2`)
			say("Zawadi Mwende")
			b.Click(t, `[data-testid="choice"][data-choice-id^="yes~"]`)
			b.Until(t, `document.querySelector('[data-testid=mpesa-pin]')`)
			b.Do(t, chromedp.SendKeys(chromedp.CSS(pagetest.At("mpesa-pin")), "1234"))
			b.Click(t, pagetest.At("mpesa-ok"))
			b.Shows(t, "customer-messages", story.confirmed)
			b.Shows(t, "admin-messages", "Zawadi Mwende")
			b.Shows(t, "event-log", "turn.committed")
			b.Quiet(t)
			if *pictureFile != "" && story.name == "English" {
				picture(t, b, *pictureFile)
			}
		})
	}
}

func picture(t *testing.T, b *pagetest.Browser, file string) {
	t.Helper()
	png, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o600); err != nil {
		t.Fatal(err)
	}
}
