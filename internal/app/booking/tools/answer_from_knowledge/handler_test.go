package answerfromknowledge_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/retrieve"
)

func TestAnswersAreQuotations(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Index.Passages = []retrieve.Passage{{Document: "house", Title: "The house", Text: "Parking is behind the house."}}
	got := desktest.Must[struct{ Passages []retrieve.Passage }](s, "asha", calendar.AskKnowledge, calendar.AskKnowledgeArgs{Question: "Is there parking?"})
	if len(got.Passages) != 1 || got.Passages[0].Title != "The house" {
		t.Errorf("got %+v", got)
	}
	desktest.Refused[any](s, "asha", calendar.AskKnowledge, calendar.AskKnowledgeArgs{Question: "the of ya wa"}, calendar.NothingWritten)
	desktest.Refused[any](s, "", calendar.AskKnowledge, calendar.AskKnowledgeArgs{Question: "Do you sell shoes?"}, calendar.NothingWritten)
}
