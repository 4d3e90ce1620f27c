package demo_test

import (
	"flag"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/sim/page/pagetest"
)

var callPicture = flag.String("call-picture", "", "file that gets a picture of the call page")

// TestBrowserCallPage takes a caller from the first word to being written to, on
// a screen as wide as a phone.
func TestBrowserCallPage(t *testing.T) {
	t.Parallel()
	d := start(t, func(o *demo.Options) { o.Clock = nil })
	b := pagetest.Open(t, d.URL+"/sim/call.html", 390, 844)
	hears := func(text string) {
		b.Until(t, `[...document.querySelectorAll("#said li:not(.caller)")].at(-1)?.textContent.includes("`+text+`")`)
	}
	say := func(text string) {
		b.Do(t, chromedp.Focus(chromedp.CSS("#words")))
		b.Do(t, chromedp.SendKeys(chromedp.CSS("#words"), text+"\r"))
	}
	if wide := pagetest.Eval[bool](t, b, "document.documentElement.scrollWidth > innerWidth"); wide {
		t.Error("the page is wider than the phone")
	}
	pagetest.Eval[string](t, b, `document.getElementById("to").value = "`+spa+`"`)
	b.Click(t, "#call")
	hears("the AI assistant of Serenity Spa")
	say("What are your opening hours? <b>please</b>")
	b.Until(t, `document.querySelectorAll("#said li").length >= 3 && !document.querySelector("#say").disabled`)
	say("let me talk to a person")
	hears("will write to you on WhatsApp")
	if *callPicture != "" {
		picture(t, b, *callPicture)
	}
	b.Click(t, "#keys button")
	hears("Goodbye")
	b.Until(t, `document.querySelector("#status").textContent === "The call is over." && document.querySelector("#say").disabled`)
	b.Quiet(t)
}
