package turn_test

import "testing"

func TestOneWordEndsAnnouncementsAndAnotherTakesThemUpAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const opted = "SELECT CASE WHEN opted_out_at IS NULL THEN 'in' ELSE 'out' END FROM contacts WHERE id IN (SELECT contact_id FROM contact_identities WHERE value = $1)"
	w.say("+254700000001", "STOP")
	w.want("out", opted, "+254700000001")
	w.say("+254700000001", "unsubscribe")
	w.want("out", opted, "+254700000001")
	w.say("+254700000001", "anza matangazo")
	w.want("in", opted, "+254700000001")
	w.say("+254700000001", "stop") // in the middle of a thread it is about that
	w.want("in", opted, "+254700000001")
	w.replays()
}
