// Package pagetest drives the demo page in a headless Chromium, for tests.
package pagetest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Patience bounds every wait for the page; a loaded machine is slow.
const Patience = time.Minute

// Browser is one tab of a headless Chromium.
type Browser struct {
	Ctx context.Context

	mu     sync.Mutex
	faults []string // uncaught exceptions, errors on the console
}

// chromium finds the browser. The tests need one: they check what people see.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium on PATH: on Debian `apt-get install chromium` brings it; `make test` does that for you")
	return ""
}

// Open starts a browser of the given size at address. It ends with the test,
// which fails when the page threw or the browser complained.
func Open(t *testing.T, address string, width, height int) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(width, height), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	allocator, freeAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		closeBrowser()
		freeAllocator()
	})
	b := &Browser{Ctx: ctx}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	b.Do(t, chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(address))
	b.Until(t, `document.querySelector("[data-testid=tenant-select]")?.options.length !== 0 && !document.querySelector("[aria-busy]")`)
	return b
}

func (b *Browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			b.faults = append(b.faults, fmt.Sprintf("console.error: %+v", e.StackTrace))
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			b.faults = append(b.faults, fmt.Sprintf("%s (%s)", e.Entry.Text, e.Entry.URL))
		}
	}
}

// Complaints returns what the browser had to say since the last call.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// Quiet fails the test when the page threw or the browser complained.
func (b *Browser) Quiet(t *testing.T) {
	t.Helper()
	if faults := b.Complaints(); len(faults) > 0 {
		t.Errorf("the browser complained:\n%s", strings.Join(faults, "\n"))
	}
}

// Do runs steps in the tab.
func (b *Browser) Do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("drive the page: %v", err)
	}
}

// Eval evaluates an expression in the page.
func Eval[T any](t *testing.T, b *Browser, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// Until waits for a condition of the page to hold.
func (b *Browser) Until(t *testing.T, condition string) {
	t.Helper()
	held := Eval[bool](t, b, fmt.Sprintf(`new Promise((done) => {
		const end = Date.now() + %d;
		const look = () => {
			if (%s) done(true);
			else if (Date.now() > end) done(false);
			else setTimeout(look, 20);
		};
		look();
	})`, (Patience-10*time.Second).Milliseconds(), condition))
	if !held {
		t.Fatalf("the page never came to: %s\nit shows:\n%s", condition, Eval[string](t, b, "document.body.innerText"))
	}
}

// Press types keys wherever the focus is.
func (b *Browser) Press(t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		b.Do(t, chromedp.KeyEvent(k))
	}
}

// Focused returns the test id of the element that has the focus, with the
// choice id where it has one.
func (b *Browser) Focused(t *testing.T) string {
	t.Helper()
	return Eval[string](t, b, `[document.activeElement?.dataset.testid, document.activeElement?.dataset.choiceId].filter(Boolean).join(" ")`)
}

// Click clicks the element once it is there.
func (b *Browser) Click(t *testing.T, selector string) {
	t.Helper()
	b.Until(t, fmt.Sprintf("document.querySelector(%q)", selector))
	b.Do(t, chromedp.Click(chromedp.CSS(selector)))
}

// Shows waits until the element with a test id shows text.
func (b *Browser) Shows(t *testing.T, testid, text string) {
	t.Helper()
	b.Until(t, fmt.Sprintf(`document.querySelector('[data-testid=%q]')?.textContent.includes(%q)`, testid, text))
}

// At is the selector of an element by its test id.
func At(testid string) string { return fmt.Sprintf("[data-testid=%q]", testid) }
