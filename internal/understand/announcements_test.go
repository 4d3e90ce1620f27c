package understand_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/understand"
)

func TestAnnouncements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"STOP": understand.EndAnnouncements, " Acha. ": understand.EndAnnouncements, "*unsubscribe*": understand.EndAnnouncements, "sitaki matangazo": understand.EndAnnouncements,
		"ANZA": understand.TakeAnnouncements, "Start!": understand.TakeAnnouncements,
		"": "", "stop by at four": "", "when do you start": "", "acha nifikirie": "", "bus stop": "",
	} {
		if got := understand.Announcements(text, false); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if understand.Announcements("stop", true) != "" || understand.Announcements("sitaki matangazo", true) != understand.EndAnnouncements {
		t.Error("in the middle of something only the whole words are about announcements")
	}
}
