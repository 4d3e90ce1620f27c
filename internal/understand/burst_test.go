package understand_test

import (
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

func TestTier0Bursts(t *testing.T) {
	t.Parallel()
	t.Run("texts are joined by newlines", func(t *testing.T) {
		t.Parallel()
		in := understand.Tier0(typed("Hi", "nataka massage", "kesho saa tisa"))
		if in.Text != "Hi\nnataka massage\nkesho saa tisa" || in.Intent != graph.Book || in.When.Time != "15:00" || in.When.Date != "2026-11-26" {
			t.Errorf("got %+v", in)
		}
	})
	t.Run("an edit takes the place of what it corrects", func(t *testing.T) {
		t.Parallel()
		req := typed()
		req.Messages = []message.Inbound{
			{Kind: message.Text, ProviderID: "1", Text: "massage tomorrow at 2pm"},
			{Kind: message.Edit, ProviderID: "2", Target: "1", Text: "massage tomorrow at 4pm"},
		}
		if in := understand.Tier0(req); in.When.Time != "16:00" || strings.Contains(in.Text, "2pm") {
			t.Errorf("got %+v", in)
		}
	})
	t.Run("what was taken back says nothing", func(t *testing.T) {
		t.Parallel()
		req := typed()
		req.Messages = []message.Inbound{{Kind: message.Text, ProviderID: "1", Text: "cancel"}, {Kind: message.Revoke, ProviderID: "2", Target: "1"}}
		if in := understand.Tier0(req); in.Intent != graph.Unknown || in.Text != "" {
			t.Errorf("got %+v", in)
		}
	})
	t.Run("the last tap wins and its title is not read", func(t *testing.T) {
		t.Parallel()
		req := typed()
		req.Messages = []message.Inbound{
			{Kind: message.Button, Text: "Fri 16:00", Choice: "x"}, {Kind: message.List, Text: "Sat 09:00", Choice: "y"},
		}
		if in := understand.Tier0(req); in.Choice != "y" || !in.When.Empty() || in.Kind != "list" || in.Text != "Fri 16:00\nSat 09:00" {
			t.Errorf("got %+v", in)
		}
	})
	t.Run("a reaction pleases and answers nothing", func(t *testing.T) {
		t.Parallel()
		req := typed()
		req.Messages = []message.Inbound{{Kind: message.Reaction, Emoji: "👍", Target: "z"}}
		if in := understand.Tier0(req); in.Answer != graph.NoAnswer || in.Intent != graph.Affirm {
			t.Errorf("got %+v", in)
		}
	})
	t.Run("a shared card gives its only phone", func(t *testing.T) {
		t.Parallel()
		req := typed()
		req.Expect.Slots = []string{understand.SlotPhone}
		req.Messages = []message.Inbound{{Kind: message.ContactCard, Cards: []message.Card{{Name: "Me", Phones: []string{"0712345678", "+254712345678"}}}}}
		if in := understand.Tier0(req); in.Phone != "+254712345678" || in.Confidence < understand.Sure {
			t.Errorf("got %+v", in)
		}
		req.Messages[0].Cards = append(req.Messages[0].Cards, message.Card{Phones: []string{"0733111222"}})
		if in := understand.Tier0(req); in.Phone != "" {
			t.Errorf("two phones are none: %+v", in)
		}
	})
	t.Run("nothing at all is unknown", func(t *testing.T) {
		t.Parallel()
		in := understand.Tier0(understand.Request{})
		if in.Intent != graph.Unknown || in.Confidence != 0 || in.Language != understand.English {
			t.Errorf("got %+v", in)
		}
	})
}
