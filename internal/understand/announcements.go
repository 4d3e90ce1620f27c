package understand

import "strings"

// What a word says about announcements.
const (
	EndAnnouncements  = "end"
	TakeAnnouncements = "take"
)

// Announcements reads the words by which people end announcements on WhatsApp
// and take them up again, in English and Swahili: "" when the text says anything
// else beside. In the middle of something a bare "stop" is about that.
func Announcements(text string, busy bool) string {
	switch word := strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!\"'*")); word {
	case "stop all", "stop announcements", "unsubscribe", "opt out", "optout", "acha matangazo", "simamisha matangazo", "sitaki matangazo":
		return EndAnnouncements
	case "subscribe", "opt in", "optin", "anza matangazo", "nataka matangazo":
		return TakeAnnouncements
	case "stop", "acha", "simamisha":
		if !busy {
			return EndAnnouncements
		}
	case "start", "anza":
		if !busy {
			return TakeAnnouncements
		}
	}
	return ""
}
