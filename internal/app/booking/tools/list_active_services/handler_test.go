package listactiveservices_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestTheCatalogueLeavesHiddenServicesOut(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	c := desktest.Must[calendar.Catalogue](s, "asha", calendar.ListServices, calendar.ListServicesArgs{})
	var got []string
	for _, v := range c.Services {
		got = append(got, v.ID+" "+v.Price.String()+" "+v.Deposit.String())
	}
	if diff := cmp.Diff([]string{"massage KES 3,500 KES 1,000", "facial KES 2,000 KES 0"}, got); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"grace", "jane"}, c.Services[0].Staff); diff != "" {
		t.Errorf("who offers the massage (-want +got):\n%s", diff)
	}
	if len(c.Staff) != 2 || c.Staff[0].Name != "Grace" {
		t.Errorf("staff: %+v", c.Staff)
	}
}
